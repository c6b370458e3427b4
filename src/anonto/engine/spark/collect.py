"""Columns of a table on a cluster brought to one machine, in the order of the rows: as codes, four bytes a cell."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.count import MANY_ROWS, as_polars
from anonto.engine.spark.rows import pieces
from anonto.table.counted import Learner, merged
from anonto.table.door import gathered
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.spark.rows import RowGroups
    from anonto.engine.spark.table import SparkTable
    from anonto.table.counted import LearntColumn

    Codes = NDArray[np.int32]
    Part = tuple[tuple[int, int], LearntColumn, Codes]
    """Where rows stand, what was met in them, and their codes."""


@dataclass(frozen=True, slots=True, eq=False)
class CollectingTask:
    """Gives the codes of the rows of a task."""

    row_groups: RowGroups
    columns: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each piece of a row group and column."""
        import pyarrow as pa

        stay_alone()
        for piece in pieces(batches, self.row_groups):
            for name in self.columns:
                series = as_polars(piece.cells, name)
                learner = Learner(name, series.dtype, MANY_ROWS)
                codes = learner.learn(series)
                place = piece.group, int(piece.rows[0])
                content = pickle.dumps((place, name, learner.learnt(), codes), protocol=5)
                yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["content"])


def collected(table: SparkTable, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns; texts come as enumerations of what occurs."""
    import polars as pl

    task = CollectingTask(table.row_groups, tuple(columns))
    found: dict[str, list[Part]] = {name: [] for name in columns}
    for content in table.gathered(task, columns, "Bringing columns together"):
        place, name, learnt, codes = pickle.loads(content)  # noqa: S301 - our own tasks wrote it
        found[name].append((place, learnt, codes))
    types = table.types(columns)
    return pl.DataFrame([_series(name, found.pop(name), types[name]) for name in columns])


def _series(name: str, parts: list[Part], dtype: pl.DataType) -> pl.Series:
    import polars as pl

    parts.sort(key=lambda part: part[0])
    whole = merged([learnt for _, learnt, _ in parts]) if parts else Learner(name, dtype).learnt()
    codes = [np.empty(0, np.int32)]
    for _, learnt, own in parts:
        codes.append(np.append(whole.codes_of(learnt.cells), np.int32(-1)).astype(np.int32)[own])
    cells = whole.cells.cast(pl.Enum(whole.texts)) if whole.cells.dtype == pl.String else whole.cells
    return gathered(cells, np.concatenate(codes)).alias(name)
