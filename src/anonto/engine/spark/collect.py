"""Brings columns of a table on a cluster to one machine, in the order of the rows: as codes, four bytes a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.dictionary_encoder import DictionaryEncoder, merge_columns
from anonto.encoding.frame_adapter import gather_values
from anonto.engine.spark.count import MANY_ROWS, as_polars
from anonto.engine.spark.rows import pack, pieces
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from anonto.arrays import Codes
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.engine.spark.rows import RowGroups
    from anonto.engine.spark.table import SparkTable

    Part = tuple[tuple[int, int], ValueDictionary, Codes]
    """The position of rows, their distinct values, and their codes."""


@dataclass(frozen=True, slots=True, eq=False)
class CollectingTask:
    """Returns the codes of the rows of a task."""

    row_groups: RowGroups
    columns: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each piece of a row group and column."""
        stay_alone()
        for piece in pieces(batches, self.row_groups):
            for name in self.columns:
                series = as_polars(piece.cells, name)
                encoder = DictionaryEncoder(name, series.dtype, MANY_ROWS)
                codes = encoder.encode(series)
                place = piece.group, int(piece.rows[0])
                yield pack((place, name, encoder.dictionary(), codes))


def collect_columns(table: SparkTable, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a table; texts come as enumerations."""
    import polars as pl

    task = CollectingTask(table.row_groups, tuple(columns))
    found: dict[str, list[Part]] = {name: [] for name in columns}
    for place, name, dictionary, codes in table.collect_results(task, columns, "Bringing columns together"):
        found[name].append((place, dictionary, codes))
    types = table.types(columns)
    return pl.DataFrame([_series(name, found.pop(name), types[name]) for name in columns])


def _series(name: str, parts: list[Part], dtype: pl.DataType) -> pl.Series:
    import polars as pl

    parts.sort(key=lambda part: part[0])
    whole = (
        merge_columns([dictionary for _, dictionary, _ in parts])
        if parts
        else DictionaryEncoder(name, dtype).dictionary()
    )
    codes = [np.empty(0, np.int32)]
    for _, dictionary, own in parts:
        codes.append(np.append(whole.codes_of(dictionary.cells), np.int32(-1)).astype(np.int32)[own])
    cells = whole.cells.cast(pl.Enum(whole.texts)) if whole.cells.dtype == pl.String else whole.cells
    return gather_values(cells, np.concatenate(codes)).alias(name)
