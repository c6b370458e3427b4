"""What a profile asks of a table, counted on a cluster: values of columns, pairs of values, and whole combinations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.count import CountingTask, counted
from anonto.stats.profile import pair_of_counts, profile_of_counts
from anonto.table.prepare import described
from anonto.table.record_counts import CountedRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from anonto.engine.spark.count import Counted
    from anonto.engine.spark.table import SparkTable
    from anonto.stats.profile import DescribedColumns, Pair
    from anonto.table.columns import Column
    from anonto.table.prepare import PreparedColumn

SETS_AT_ONCE = 50
"""Sets of columns that are counted in one pass over the table."""


def profile_on_cluster(table: SparkTable, plan: DescribedColumns) -> dict[str, Any]:
    """Describe the columns that a plan names: see `anonto.stats.profile`."""
    names = tuple(name for name in plan.columns if name in table.frame.columns)
    found = _Found(table, plan, names)
    return profile_of_counts(
        plan, table.frame.columns, found.n_records, found.encoded, found.pairs, found.unique_records
    )


class _Found:
    """What was counted."""

    def __init__(self, table: SparkTable, plan: DescribedColumns, names: tuple[str, ...]) -> None:
        self._table, self._plan = table, plan
        counted_columns = self._counted(names, (), "Counting the values")
        self._learnt = counted_columns.columns
        self.n_records = counted_columns.n_rows

    def encoded(self, name: str) -> Column:
        """A column with its counts."""
        return described(name, self._learnt[name].column(), replace(self._plan.columns[name], missing="keep"))

    def pairs(self, pairs: Sequence[tuple[PreparedColumn, PreparedColumn]]) -> Iterator[Pair | None]:
        """The pairs of values of two columns each."""
        of_pairs = self._records([(a.name, b.name) for a, b in pairs], "Counting pairs of values")
        for (a, b), (learnt, records) in zip(pairs, of_pairs, strict=True):
            values = [one.column.values for one in (a, b)]
            codes = _placed(learnt, (a.name, b.name), records.codes, values)
            merged = CountedRecords.together([CountedRecords(codes, records.counts)])
            shape = (len(values[0]), len(values[1]))
            yield pair_of_counts(merged.codes[:, 0], merged.codes[:, 1], merged.counts, shape)

    def unique_records(self, sets: Sequence[tuple[str, ...]]) -> list[int]:
        """How many records are alone with their values in each set of columns."""
        found = []
        for names, (learnt, records) in zip(sets, self._records(sets, "Counting combinations"), strict=True):
            codes = _placed(learnt, names, records.codes, [self.encoded(name).values for name in names])
            merged = CountedRecords.together([CountedRecords(codes, records.counts)])
            found.append(int(np.count_nonzero(merged.counts == 1)))
        return found

    def _records(self, sets: Sequence[tuple[str, ...]], what: str) -> Iterator[tuple[Counted, CountedRecords]]:
        for first in range(0, len(sets), SETS_AT_ONCE):
            some = tuple(sets[first : first + SETS_AT_ONCE])
            found = self._counted(tuple(dict.fromkeys(name for names in some for name in names)), some, what)
            for codes, by_group in zip(found.records, found.records_by_group, strict=True):
                yield found, CountedRecords(codes, by_group.totals(codes.shape[0]))

    def _counted(self, columns: tuple[str, ...], together: tuple[tuple[str, ...], ...], what: str) -> Counted:
        task = CountingTask(self._table.row_groups, columns, together)
        return counted(self._table.gathered(task, columns, what), task, self._table.types(columns))


def _placed(
    found: Counted, names: Sequence[str], raw: NDArray[np.int32], values: Sequence[Sequence[str]]
) -> NDArray[np.int32]:
    """Records by raw codes as records by the places of their values; −1 for none."""
    placed = [
        found.columns[name].places_in(own)[raw[:, column]]
        for column, (name, own) in enumerate(zip(names, values, strict=True))
    ]
    return np.stack(placed, axis=1).astype(np.int32)
