"""The engine for tables on a Spark cluster: rows are counted and masked there, methods are fitted on the driver.

1. Where a policy can drop rows, the columns that have one are counted first.
2. The values of the columns that steps look at are counted by row group, and whole records where a method needs them.
3. Every step is fitted from these counts, with the same randomness as on one machine.
4. Tallies that the fit does not determine are made by masking all rows once without writing them.
5. The masked table is a map over the rows: they are only moved to shuffle them, or to exchange them in the cells of
   equi-width swapping, see `anonto.engine.spark.cells`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.record_counts import CountedRecords
from anonto.engine.spark.apply import RowMasking, TallyTask, only_columns
from anonto.engine.spark.cells import CellsOnCluster, cell_masker_of
from anonto.engine.spark.count import CountingTask, RowFilter, find_staying_rows, follow_each_other, merge_counts
from anonto.engine.spark.sink import MaskedFrame
from anonto.errors import InternalError
from anonto.masking.fitted import TableCounts
from anonto.methods.row_transitions import RowTransitions
from anonto.runtime.memory_limit import LEAST, MemoryLimit, bytes_of_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes
    from anonto.encoding.prepare import Opener
    from anonto.encoding.value_space import ValueSpace
    from anonto.engine.spark.count import ClusterCounts, CountsByGroup
    from anonto.engine.spark.numbered_frame import NumberedFrame
    from anonto.masking.fitted import FittedPlan, FittedStep, TransitionPart
    from anonto.masking.plan import Plan
    from anonto.masking.released import ReleasedColumn, StepTally, Tallies
    from anonto.methods.grid_swap import CellMethod


@dataclass(slots=True, eq=False, repr=False)
class OnCluster:
    """A table on a cluster."""

    source: NumberedFrame
    memory: int | None = None
    """Memory that fitting a step may use on the driver, in bytes; None for half of the machine."""
    _staying: RowFilter | None = None
    _counted: ClusterCounts | None = None

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.source.table.frame.columns)

    @property
    def origin(self) -> None:
        """None: no file of this machine declares codes that mean missing."""

    @property
    def limit(self) -> MemoryLimit:
        """The memory of the driver that fitting a step may use."""
        return MemoryLimit(driver_memory() if self.memory is None else self.memory)

    def apply(self, fitted: FittedPlan) -> tuple[MaskedFrame, Tallies]:
        """Prepare the masking of all rows, and tally their outcomes."""
        found, steps = self._counts, fitted.steps
        counts = tuple(self._counts_of(step) for step in steps)
        masking = replace(self._no_masking(), fitted=fitted.slim(), counts=counts)
        tallies = self._tally_rows(fitted, masking)
        partitions = {
            partition: (min(groups), int(found.kept_in[groups].sum())) for partition, groups in found.partitions.items()
        }
        masked = MaskedFrame(
            source=self.source,
            n_records=fitted.counts.n_records,
            steps=steps,
            columns=fitted.widen_columns(tallies),
            partitions=partitions,
            keeps_order=follow_each_other(found.partitions),
            masking=masking.of_steps([number for number, step in enumerate(steps) if cell_masker_of(step) is None]),
        )
        return masked, tallies

    def _no_masking(self) -> RowMasking:
        """Masking without steps, which finds the rows that stay and their numbers."""
        found = self._counts
        return RowMasking.without_steps(self.source.table.row_groups, self._staying, found, found.columns)

    def exchange(
        self,
        method: CellMethod,
        columns: Sequence[ReleasedColumn],
        value_spaces: Sequence[ValueSpace],
        *,
        fits: bool,  # noqa: ARG002
    ) -> CellsOnCluster:
        """Exchange rows on the cluster, cell by cell."""
        return CellsOnCluster(
            self.source.table,
            only_columns(self._no_masking(), [one.name for one in columns]),
            self._counts.n_kept,
            method,
            tuple(columns),
            tuple(value_spaces),
            self.limit,
        )

    # ------------------------------------------------------------------------------------------ counting

    def count(self, plan: Plan, open_once: Opener) -> TableCounts:
        """Count the columns with policies first, then those that steps look at."""
        table, looked_at = self.source.table, plan.needed_columns(self.names)
        self._staying = find_staying_rows(table, plan.policy_columns(self.names), plan, open_once)
        needed = {name for step in plan.steps for name in (*step.columns, *step.also_needs)}
        columns = tuple(name for name in looked_at if name in needed)
        together = dict.fromkeys(names for step in plan.steps for names in step.counted_together)
        task = CountingTask(table.row_groups, columns, tuple(together), self._staying)
        dropping = () if self._staying is None else self._staying.columns
        read = [*dict.fromkeys([*columns, *dropping])]
        self._counted = merge_counts(
            table.collect_results(task, read, "Counting the values"), task, table.types(columns)
        )
        found = self._counted
        return TableCounts(found.columns, found.n_rows, found.n_kept)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns, from those that were counted with the values."""
        found = self._counts
        place = found.together.index(tuple(names))
        raw = found.records[place]
        codes = np.stack([own[raw[:, k]] for k, own in enumerate(maps)], axis=1).astype(np.int32)
        totals = found.records_by_group[place].totals(raw.shape[0])
        return CountedRecords.together([CountedRecords(codes, totals)])

    def _counts_of(self, step: FittedStep) -> tuple[CountsByGroup, ...]:
        """The number of rows of each row group with each value or record, by part with transitions."""
        return tuple(self._counts_of_part(part) for part in step.transition_parts)

    def _counts_of_part(self, part: TransitionPart) -> CountsByGroup:
        found, groups = self._counts, part.groups(self._distinct(part))
        if part.index is None:
            return found.by_group[part.seen[0]].renumber(groups)
        return found.records_by_group[found.together.index(part.seen)].renumber(groups)

    def _distinct(self, part: TransitionPart) -> dict[str, Codes]:
        """The raw codes of all distinct values, or records, that a part with transitions sees."""
        found = self._counts
        if part.index is None:
            return {name: np.arange(len(found.columns[name].texts), dtype=np.int32) for name in part.seen}
        records = found.records[found.together.index(part.seen)]
        return {name: records[:, k] for k, name in enumerate(part.seen)}

    @property
    def _counts(self) -> ClusterCounts:
        if self._counted is None:
            raise InternalError("Nothing was counted yet.")
        return self._counted

    # ------------------------------------------------------------------------------------------ what became of the rows

    def _tally_rows(self, fitted: FittedPlan, masking: RowMasking) -> Tallies:
        """Tallies of the rows: from the transitions, or from masking all rows where the transitions are not enough."""
        tallies = fitted.tallies()
        settled = [number for number, step in enumerate(fitted.steps) if not _needs_rows(step)]
        for number in settled:
            tallies.add_to(number, self._tally(fitted.steps[number], fitted.counts.n_records))
        asked = [number for number in range(len(fitted.steps)) if number not in settled]
        if not asked:
            return tallies
        partly = masking.of_steps(asked)
        found = self.source.table.collect_results(
            TallyTask(partly), partly.needed_columns, "Tallying the outcomes of the rows"
        )
        for _, of_steps in sorted(found, key=lambda part: part[0]):  # in the order of the rows
            for number, own in zip(asked, of_steps, strict=True):
                for one in own:
                    tallies.add_to(number, one)
        return tallies

    def _tally(self, step: FittedStep, n_records: int) -> StepTally:
        """Tally of a step whose transitions determine it without masking the rows."""
        masker = cell_masker_of(step)
        if masker is not None:
            return masker.tally
        return step.tally_transitions(self._distinct(step.transition_parts[0]), n_records)


def _needs_rows(step: FittedStep) -> bool:
    """Return whether the tallies require masking the rows."""
    if cell_masker_of(step) is not None:
        return False
    if step.row_part is not None or len(step.transition_parts) > 1 or (step.counts_equal and step.as_they_are):
        return True
    if isinstance(step.transition_parts[0].transitions, RowTransitions):
        return True
    return any(column.staying is not None for column in step.columns)


def driver_memory() -> int:
    """Memory that fitting a step may use on the driver: half of the machine."""
    return max(LEAST, bytes_of_machine() // 2)
