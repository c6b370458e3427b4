"""Columns counted one batch at a time: their distinct values with counts, and an example cell of each.

Each batch becomes raw codes, which number the texts in the order of their first appearance. Callers may store these
codes; after the last batch the sorted values are known, and the place of each raw code among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING, Column, counts_of, look_up
from anonto.encoding.missing_codes import NULL, text_code
from anonto.encoding.series import as_text_series, plain_floats
from anonto.encoding.text_views import texts_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.arrays import Bools, Codes, Longs
    from anonto.encoding.columns import Rows
    from anonto.encoding.missing_codes import Code


BYTES_PER_VALUE = 200
"""Memory of a distinct value apart from its characters: a Python string, a cell, entries in tables of codes."""
MANY = 1 << 16
"""From this many distinct texts on, the texts of a batch are looked up one by one."""
NO_CODES = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountedColumn(Column):
    """A column with its distinct values and counts, but without the codes of its cells."""

    occurrences: Longs
    n_rows: int
    first_rows: Longs | None = None
    """The first row of the table that has each value; None if unknown."""

    def __len__(self) -> int:
        return self.n_rows

    @property
    def counts(self) -> Longs:
        """How often each distinct value occurs."""
        return self.occurrences

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return self.n_rows - int(self.occurrences.sum())

    def without(self, values: Bools) -> CountedColumn:
        """The column with some distinct values as missing; the last flag is ignored."""
        staying = np.flatnonzero(~values[:-1])
        names = tuple(self.values[place] for place in staying.tolist())
        first_rows = None if self.first_rows is None else self.first_rows[staying]
        return CountedColumn(names, NO_CODES, self.occurrences[staying], self.n_rows, first_rows)

    def first_row(self, values: Bools, rows: Rows) -> int | None:  # noqa: ARG002 - it knows its own
        """The first row of the table that has one of some values."""
        return None if self.first_rows is None else int(self.first_rows[values[:-1]].min())


@dataclass(frozen=True, slots=True, eq=False)
class ValueDictionary:
    """The distinct values found in a column; cells have raw codes, −1 for a null."""

    name: str
    texts: pl.Series
    """The text of each raw code; null for a cell such as NaN, which is not null but means missing."""
    cells: pl.Series
    """The first cell that had each raw code, in the column's own type."""
    counts: Longs
    n_rows: int
    code_of: Mapping[int, Code] = field(default_factory=dict)
    """The missing code of raw codes without a text that are not NaN."""
    type_of_missing: pl.DataType | None = None
    """The type that the code of missing cells must fit; None for the type of the cells."""

    def column(self) -> CountedColumn:
        """The distinct values in their order."""
        met = np.flatnonzero(self.counts) if self.counts.size else NO_CODES
        texts = self.texts.gather(met).drop_nulls()
        ordered = texts.sort()
        by_text = dict(zip(self.texts.to_list(), self.counts.tolist(), strict=True))
        values = tuple(ordered.to_list())
        return CountedColumn(values, NO_CODES, np.array([by_text[v] for v in values], dtype=np.int64), self.n_rows)

    def places_in(self, values: Sequence[str], otherwise: int = MISSING) -> Codes:
        """The place among some values of each raw code, and last of a null, or ``otherwise``."""
        place_of = {value: place for place, value in enumerate(values)}
        places = [place_of.get(text, otherwise) for text in self.texts.to_list()]
        return np.array([*places, otherwise], dtype=np.int32)

    def missing_codes(self, values: Sequence[str]) -> dict[Code, int]:
        """The missing codes that occur, sorted, with their raw codes: all raw codes except those of values."""
        found: dict[Code, int] = {}
        if len(values) < np.count_nonzero(self.counts):
            known = set(values)
            texts = enumerate(zip(self.texts.to_list(), self.counts.tolist(), strict=True))
            met = ((raw, text) for raw, (text, count) in texts if count and text not in known)
            found = {self.code_of.get(raw) or text_code(text): raw for raw, text in met}
        if self.n_rows > int(self.counts.sum()):
            found[NULL] = MISSING
        return dict(sorted(found.items()))

    def count_of(self, raw: int) -> int:
        """How many cells have a raw code, or are null."""
        return int(self.counts[raw]) if raw >= 0 else self.n_rows - int(self.counts.sum())

    def codes_of(self, cells: pl.Series) -> Codes:
        """The raw codes of cells whose values are all known."""
        return DictionaryEncoder(self.name, self.cells.dtype, len(cells), self).encode(cells)

    def bare(self) -> ValueDictionary:
        """The same values without counts, for encoding only."""
        return self.with_counts(np.empty(0, dtype=np.int64), 0)

    def with_counts(self, counts: Longs, n_rows: int) -> ValueDictionary:
        """The same values, counted in other rows."""
        return replace(self, counts=counts, n_rows=n_rows)

    def raw_of(self, values: Sequence[str]) -> Codes:
        """The raw code of each of some values."""
        raw = {text: code for code, text in enumerate(self.texts.to_list()) if text is not None}
        return np.array([raw[value] for value in values], dtype=np.int32)


class DictionaryEncoder:
    """Numbers the texts of a column as they come, and counts them."""

    def __init__(
        self, name: str, dtype: pl.DataType, n_expected: int = 0, known: ValueDictionary | None = None
    ) -> None:
        """Start empty or with known values; ``n_expected`` rows will follow."""
        import polars as pl

        self._name, self._n_rows, self._n_expected = name, 0, n_expected
        self._texts = pl.Series([], dtype=pl.String) if known is None else known.texts
        self._cells = pl.Series(name, [], dtype=dtype) if known is None else known.cells
        self._counts = np.zeros(len(self._texts), dtype=np.int64)
        self._no_number = _only(self._texts.is_null().arg_true().to_list())
        self._code_of: dict[str, int] | None = None
        self._renew()

    def encode(self, cells: pl.Series) -> Codes:
        """The raw codes of a batch; its new texts are numbered in sorted order."""
        import polars as pl

        texts = as_text_series(cells)
        if texts.dtype != pl.String:
            texts = texts.cast(pl.String)
        codes = self._look_up_all(texts, cells) if len(self._texts) < MANY else self._by_text(texts, cells)
        if texts.null_count() > cells.null_count():
            there = (texts.is_null() & cells.is_not_null()).to_numpy()
            if self._no_number is None:
                self._no_number = len(self._texts)
                self._add(pl.Series([None], dtype=pl.String), cells.filter(pl.Series(there)).head(1))
                self._renew()
            codes = np.where(there, np.int32(self._no_number), codes)
        self._counts += counts_of(codes, self._counts.size)
        self._n_rows += len(cells)
        return codes

    def _look_up_all(self, texts: pl.Series, cells: pl.Series) -> Codes:
        """Look up all texts among the known ones."""
        import polars as pl

        places = np.empty(len(texts), dtype=np.int32)
        if look_up(texts, self._known, places) > texts.null_count():
            unknown = pl.Series(places == MISSING) & texts.is_not_null()
            new = texts.filter(unknown).unique().sort()
            self._add(new, self._firsts(texts, unknown, new, cells))
            self._renew()
            look_up(texts, self._known, places)
        return places if self._raw_of is None else np.asarray(self._raw_of[places])

    def _by_text(self, texts: pl.Series, cells: pl.Series) -> Codes:
        """Look up the distinct texts of the batch one by one, which needs no look-up table of all known texts."""
        import polars as pl

        if self._code_of is None:
            known = enumerate(self._texts.to_list())
            self._code_of = {text: code for code, text in known if text is not None}
        own = texts.drop_nulls().unique().sort()
        codes = np.array([*(self._code_of.get(text, MISSING) for text in own.to_list()), MISSING], dtype=np.int32)
        places = np.empty(len(texts), dtype=np.int32)
        look_up(texts, texts_known(own, len(texts)), places)
        is_new = np.flatnonzero(codes[:-1] == MISSING)
        if is_new.size:
            new, first = own.gather(is_new), len(self._texts)
            unknown = pl.Series((codes[places] == MISSING) & (places >= 0))
            self._add(new, self._firsts(texts, unknown, new, cells))
            codes[is_new] = first + np.arange(is_new.size, dtype=np.int32)
            self._code_of.update(zip(new.to_list(), range(first, first + is_new.size), strict=True))
        return np.asarray(codes[places])

    def dictionary(self) -> ValueDictionary:
        """The values collected so far."""
        return ValueDictionary(self._name, self._texts, self._cells, self._counts, self._n_rows)

    @property
    def n_bytes(self) -> int:
        """About how much memory the distinct values will take."""
        return BYTES_PER_VALUE * len(self._texts) + int(self._texts.estimated_size())

    @staticmethod
    def _firsts(texts: pl.Series, unknown: pl.Series, new: pl.Series, cells: pl.Series) -> pl.Series:
        """The first cell of each new text."""
        import polars as pl

        if cells.dtype == pl.String:
            return new.alias(cells.name)
        rows = unknown.arg_true()
        met = pl.DataFrame({"text": texts.gather(rows), "row": rows})
        first = met.unique(subset="text", keep="first", maintain_order=True).sort("text")
        return cells.gather(first["row"])

    def _add(self, texts: pl.Series, cells: pl.Series) -> None:
        import polars as pl

        self._texts = pl.concat([self._texts, texts])
        self._cells = pl.concat([self._cells, plain_floats(cells.cast(self._cells.dtype))])
        self._counts = np.concatenate([self._counts, np.zeros(len(texts), dtype=np.int64)])

    def _renew(self) -> None:
        """Rebuild the look-up table; a raw code without a text is not in it."""
        if self._code_of is not None:
            return
        self._known = texts_known(self._texts.drop_nulls(), self._n_expected)
        self._raw_of: Codes | None = None
        if self._no_number is not None:
            self._raw_of = np.append(self._texts.is_not_null().arg_true().to_numpy(), MISSING).astype(np.int32)


def merge_columns(parts: Sequence[ValueDictionary]) -> ValueDictionary:
    """Merge dictionaries of several parts, as if one encoder had read the parts in this order."""
    first = parts[0]
    encoder = DictionaryEncoder(first.name, first.cells.dtype)
    counts = np.zeros(0, dtype=np.int64)
    for part in parts:
        codes = encoder.encode(part.cells)
        counts = np.concatenate([counts, np.zeros(len(encoder.dictionary().texts) - counts.size, dtype=np.int64)])
        np.add.at(counts, codes, part.counts)
    return encoder.dictionary().with_counts(counts, sum(part.n_rows for part in parts))


def recount_columns(
    columns: Mapping[str, ValueDictionary], counts: Mapping[str, Longs], n_rows: int
) -> dict[str, ValueDictionary]:
    """Columns with the counts of some of their rows."""
    return {name: column.with_counts(counts[name], n_rows) for name, column in columns.items()}


def _only(places: list[int]) -> int | None:
    return places[0] if places else None
