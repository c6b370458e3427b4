"""Encodes columns in memory: their values in order, then the codes of missing cells, with the first row of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING, counts_of, encode, first_positions
from anonto.encoding.dictionary_encoder import NO_CODES, CountedColumn, ValueDictionary
from anonto.encoding.missing_cells import missing_in, type_of
from anonto.encoding.missing_codes import NULL
from anonto.encoding.series import plain_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Codes, Longs
    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.io.table import TextBatches


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn(ValueDictionary):
    """A column whose raw codes are its values in order, then the different codes of missing cells."""

    values: tuple[str, ...] = ()
    first_rows: Longs = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The first row of the table that has each raw code, and last a null."""

    def column(self) -> CountedColumn:
        """The distinct values in their order."""
        n_values = len(self.values)
        counts, first_rows = self.counts[:n_values], self.first_rows[:n_values] if self.first_rows.size else None
        everything = CountedColumn(self.values, NO_CODES, counts, self.n_rows, first_rows)
        gone = counts == 0
        return everything.without(np.append(gone, np.False_)) if gone.any() else everything

    def places_in(self, values: Sequence[str], otherwise: int = MISSING) -> Codes:
        """The place among some values of each raw code, and last of a null, or else another number."""
        if values is not self.values:
            return super(EncodedColumn, self).places_in(values, otherwise)
        places = np.full(len(self.texts) + 1, otherwise, dtype=np.int32)
        places[: len(values)] = np.arange(len(values), dtype=np.int32)
        return places

    def raw_of(self, values: Sequence[str]) -> Codes:
        """The raw code of each of some values."""
        if values is self.values:
            return np.arange(len(values), dtype=np.int32)
        return super(EncodedColumn, self).raw_of(values)

    def count_in(self, codes: Codes, rows: Longs | None, cells: pl.Series | None) -> EncodedColumn:
        """The column counted in the rows that stay, with the first of these for each raw code, and its cell.

        Args:
            codes: The raw codes of these rows.
            rows: Their numbers; None where all rows stay.
            cells: The cells of all rows in the column's own type; None where they are its texts.
        """
        n_raw = len(self.texts)
        first = np.append(first_positions(codes, n_raw), np.argmax(codes < 0) if codes.size else 0)
        first = np.minimum(first, max(codes.size - 1, 0))  # any row for a raw code that does not occur
        if rows is not None and codes.size:
            first = rows[first]
        examples = self.texts.alias(self.name)
        if cells is not None:
            examples = plain_floats(cells.gather(first[:-1]) if len(cells) else cells.clear(n_raw))
        counts = self.counts if rows is None else counts_of(codes, n_raw)
        return replace(self, counts=counts, n_rows=codes.size, first_rows=first, cells=examples)


def encode_column(
    adapter: FrameAdapter, name: str, apart: TextBatches | None, *, tell_missing_apart: bool
) -> tuple[EncodedColumn, Codes]:
    """A column of a table, and the raw code of each of its rows.

    Args:
        adapter: The table.
        name: Of the column.
        apart: How to read the column where it was left in its file.
        tell_missing_apart: Whether cells that are missing in different ways get different raw codes.
    """
    import polars as pl

    given = adapter.encode(name) if apart is None else encode(apart)
    codes, values = given.codes, given.values
    missing = missing_in(adapter, name, given) if tell_missing_apart and apart is None else None
    further = [] if missing is None else [code for code in missing.codes if code != NULL]
    if missing is not None and further:
        raw_of = {code: len(values) + place for place, code in enumerate(further)}
        new = np.array([*(raw_of.get(code, MISSING) for code in missing.codes), MISSING], dtype=np.int32)
        codes = np.where(codes < 0, new[missing.of_records], codes)
    texts = pl.Series([*values, *(None for _ in further)], dtype=pl.String)
    column = EncodedColumn(
        name,
        texts,
        cells=texts,
        counts=counts_of(codes, len(texts)),
        n_rows=codes.size,
        code_of={len(values) + place: code for place, code in enumerate(further)},
        type_of_missing=None if apart is not None else type_of(adapter.native(name), adapter.library),
        values=values,
    )
    return column, codes
