"""Columns that are learnt a stretch at a time: their distinct values with counts, and an example cell of each.

A stretch is turned into raw codes: the numbers of its texts as they were met. The codes may be kept elsewhere, as the
distinct values in their order and where each raw code stands among them are known at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.columns import MISSING, Column, counts_of, look_up
from anonto.table.missing_codes import NULL, text_code
from anonto.table.series import as_text_series, plain_floats
from anonto.table.text_views import texts_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.columns import Rows
    from anonto.table.missing_codes import Code

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BYTES_PER_VALUE = 200
"""What a distinct value takes beside its text: as a text of the interpreter, as a cell, in tables of codes."""
MANY = 1 << 16
"""From so many distinct texts on, those of a stretch are looked up one by one."""
NO_CODES = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountedColumn(Column):
    """A column of which the distinct values and their counts are at hand; its codes are elsewhere."""

    occurrences: NDArray[np.int64]
    n_rows: int
    first_rows: NDArray[np.int64] | None = None
    """For each value the first row of the table that has it; None where rows are elsewhere."""

    def __len__(self) -> int:
        return self.n_rows

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each distinct value occurs."""
        return self.occurrences

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return self.n_rows - int(self.occurrences.sum())

    def without(self, values: NDArray[np.bool_]) -> CountedColumn:
        """The column with some distinct values as missing; the last flag says nothing."""
        staying = np.flatnonzero(~values[:-1])
        names = tuple(self.values[place] for place in staying.tolist())
        first_rows = None if self.first_rows is None else self.first_rows[staying]
        return CountedColumn(names, NO_CODES, self.occurrences[staying], self.n_rows, first_rows)

    def first_row(self, values: NDArray[np.bool_], rows: Rows) -> int | None:  # noqa: ARG002 - it knows its own
        """The first row of the table that has one of some values."""
        return None if self.first_rows is None else int(self.first_rows[values[:-1]].min())


@dataclass(frozen=True, slots=True, eq=False)
class LearntColumn:
    """What was met in a column: cell by cell it has raw codes, −1 for a null."""

    name: str
    texts: pl.Series
    """The text of each raw code; null for a cell that is there and means missing, as a number that is none."""
    cells: pl.Series
    """For each raw code the first cell that had it, in the column's own type."""
    counts: Longs
    n_rows: int
    code_of: Mapping[int, Code] = field(default_factory=dict)
    """What raw codes are called that have no text, where they are something else than a number that is none."""
    type_of_missing: pl.DataType | None = None
    """The type that a code for missing cells must fit; None for that of the cells."""

    def column(self) -> CountedColumn:
        """The distinct values in their order."""
        met = np.flatnonzero(self.counts) if self.counts.size else NO_CODES
        texts = self.texts.gather(met).drop_nulls()
        ordered = texts.sort()
        by_text = dict(zip(self.texts.to_list(), self.counts.tolist(), strict=True))
        values = tuple(ordered.to_list())
        return CountedColumn(values, NO_CODES, np.array([by_text[v] for v in values], dtype=np.int64), self.n_rows)

    def places_in(self, values: Sequence[str], otherwise: int = MISSING) -> Codes:
        """For each raw code, and behind them for a null, its place among some values; or else another number."""
        place_of = {value: place for place, value in enumerate(values)}
        places = [place_of.get(text, otherwise) for text in self.texts.to_list()]
        return np.array([*places, otherwise], dtype=np.int32)

    def missing_codes(self, values: Sequence[str]) -> dict[Code, int]:
        """The codes of missing cells that occur, in their order, each with its raw code: all but those of values."""
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
        """The raw codes of cells that have all been met, here or elsewhere."""
        return Learner(self.name, self.cells.dtype, len(cells), self).learn(cells)

    def bare(self) -> LearntColumn:
        """Without the counts: what is needed to number cells."""
        return self.counting(np.empty(0, dtype=np.int64), 0)

    def counting(self, counts: Longs, n_rows: int) -> LearntColumn:
        """The same values, counted in other rows."""
        return replace(self, counts=counts, n_rows=n_rows)

    def raw_of(self, values: Sequence[str]) -> Codes:
        """The raw code of each of some values."""
        raw = {text: code for code, text in enumerate(self.texts.to_list()) if text is not None}
        return np.array([raw[value] for value in values], dtype=np.int32)


class Learner:
    """Numbers the texts of a column as they come, and counts them."""

    def __init__(self, name: str, dtype: pl.DataType, n_expected: int = 0, known: LearntColumn | None = None) -> None:
        """Begin with nothing, or with what is known; so many rows will come."""
        import polars as pl

        self._name, self._n_rows, self._n_expected = name, 0, n_expected
        self._texts = pl.Series([], dtype=pl.String) if known is None else known.texts
        self._cells = pl.Series(name, [], dtype=dtype) if known is None else known.cells
        self._counts = np.zeros(len(self._texts), dtype=np.int64)
        self._no_number = _only(self._texts.is_null().arg_true().to_list())
        self._code_of: dict[str, int] | None = None
        self._renew()

    def learn(self, cells: pl.Series) -> Codes:
        """The raw codes of a stretch; texts that are new are numbered in their order."""
        import polars as pl

        texts = as_text_series(cells)
        if texts.dtype != pl.String:
            texts = texts.cast(pl.String)
        codes = self._looked_up(texts, cells) if len(self._texts) < MANY else self._by_text(texts, cells)
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

    def _looked_up(self, texts: pl.Series, cells: pl.Series) -> Codes:
        """All texts looked up among those that are known."""
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
        """The distinct texts of the stretch looked up one by one: what is known need not be made ready each time."""
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

    def learnt(self) -> LearntColumn:
        """What was met so far."""
        return LearntColumn(self._name, self._texts, self._cells, self._counts, self._n_rows)

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
        """Make the texts ready to be looked up; a raw code without a text is never found by it."""
        if self._code_of is not None:
            return
        self._known = texts_known(self._texts.drop_nulls(), self._n_expected)
        self._raw_of: Codes | None = None
        if self._no_number is not None:
            self._raw_of = np.append(self._texts.is_not_null().arg_true().to_numpy(), MISSING).astype(np.int32)


def merged(parts: Sequence[LearntColumn]) -> LearntColumn:
    """What several stretches met, each having learnt for itself, as if one had met them in this order."""
    first = parts[0]
    learner = Learner(first.name, first.cells.dtype)
    counts = np.zeros(0, dtype=np.int64)
    for part in parts:
        codes = learner.learn(part.cells)
        counts = np.concatenate([counts, np.zeros(len(learner.learnt().texts) - counts.size, dtype=np.int64)])
        np.add.at(counts, codes, part.counts)
    return learner.learnt().counting(counts, sum(part.n_rows for part in parts))


def recounted(columns: Mapping[str, LearntColumn], counts: Mapping[str, Longs], n_rows: int) -> dict[str, LearntColumn]:
    """Columns with the counts of only some of their rows."""
    return {name: column.counting(counts[name], n_rows) for name, column in columns.items()}


def _only(places: list[int]) -> int | None:
    return places[0] if places else None
