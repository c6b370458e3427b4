"""Counts for a profile, made on a cluster: values of columns, pairs of values, and combinations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.prepare import apply_missing_policy
from anonto.encoding.record_counts import CountedRecords
from anonto.engine.refusals import units_assessed_in_memory, weights_only_in_memory
from anonto.engine.spark.count import CountingTask, merge_counts
from anonto.profile.profile import pair_of_counts, profile_of_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonto.arrays import Floats, Ints
    from anonto.encoding.columns import Column
    from anonto.encoding.prepare import PreparedColumn
    from anonto.engine.spark.count import ClusterCounts
    from anonto.engine.spark.table import SparkTable
    from anonto.masking.plan import Plan
    from anonto.profile.profile import Pair

SETS_AT_ONCE = 50
"""Sets of columns that are counted in one pass over the table."""


def profile_on_cluster(table: SparkTable, plan: Plan) -> dict[str, Any]:
    """Describe the columns that a plan names: see `anonto.profile.profile`."""
    if plan.weight is not None:
        raise weights_only_in_memory("a profile")
    if plan.has_units:
        raise units_assessed_in_memory()
    names = tuple(name for name in plan.columns if name in table.frame.columns)
    return profile_of_counts(plan, _ClusterCounts(table, plan, names))


class _ClusterCounts:
    """Counts of values, pairs and combinations, made when they are needed."""

    weights: Floats | None = None

    def __init__(self, table: SparkTable, plan: Plan, names: tuple[str, ...]) -> None:
        self._table, self._plan = table, plan
        counted_columns = self._count(names, (), "Counting the values")
        self._columns = counted_columns.columns
        self.names, self.n_records = table.frame.columns, counted_columns.n_rows

    def encode(self, name: str) -> Column:
        """A column with its counts."""
        return apply_missing_policy(
            name, self._columns[name].column(), replace(self._plan.columns[name], missing="keep")
        )

    def pairs(self, pairs: Sequence[tuple[PreparedColumn, PreparedColumn]]) -> Iterator[Pair | None]:
        """The pairs of values of two columns each."""
        of_pairs = self._records([(a.name, b.name) for a, b in pairs], "Counting pairs of values")
        for (a, b), (columns, records) in zip(pairs, of_pairs, strict=True):
            values = [one.column.values for one in (a, b)]
            codes = _place_codes(columns, (a.name, b.name), records.codes, values)
            merged = CountedRecords.together([CountedRecords(codes, records.counts)])
            shape = (len(values[0]), len(values[1]))
            yield pair_of_counts(merged.codes[:, 0], merged.codes[:, 1], merged.counts, shape)

    def unique_records(self, columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]]) -> list[int]:
        """The number of unique records in each set of columns."""
        return [int(np.count_nonzero(records.counts == 1)) for records in self._placed(columns, sets)]

    def classes(self, columns: Mapping[str, Column]) -> CountedRecords:
        """The distinct records of all these columns together."""
        return next(self._placed(columns, [tuple(columns)]))

    def _placed(self, columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]]) -> Iterator[CountedRecords]:
        """The distinct records of each set of columns, by the values of these columns."""
        for names, (counted, records) in zip(sets, self._records(sets, "Counting combinations"), strict=True):
            codes = _place_codes(counted, names, records.codes, [columns[name].values for name in names])
            yield CountedRecords.together([CountedRecords(codes, records.counts)])

    def _records(self, sets: Sequence[tuple[str, ...]], what: str) -> Iterator[tuple[ClusterCounts, CountedRecords]]:
        for first in range(0, len(sets), SETS_AT_ONCE):
            some = tuple(sets[first : first + SETS_AT_ONCE])
            found = self._count(tuple(dict.fromkeys(name for names in some for name in names)), some, what)
            for codes, by_group in zip(found.records, found.records_by_group, strict=True):
                yield found, CountedRecords(codes, by_group.totals(codes.shape[0]))

    def _count(self, columns: tuple[str, ...], together: tuple[tuple[str, ...], ...], what: str) -> ClusterCounts:
        task = CountingTask(self._table.row_groups, columns, together)
        return merge_counts(self._table.collect_results(task, columns, what), task, self._table.types(columns))


def _place_codes(found: ClusterCounts, names: Sequence[str], raw: Ints, values: Sequence[Sequence[str]]) -> Ints:
    """Records in raw codes as records in places of values; −1 for no value."""
    placed = [
        found.columns[name].places_in(own)[raw[:, column]]
        for column, (name, own) in enumerate(zip(names, values, strict=True))
    ]
    return np.stack(placed, axis=1).astype(np.int32)
