"""A plan carried out on a cluster: rows are counted where they are, methods are fitted here, rows are masked there.

1. Where a policy can drop rows, the columns that have one are counted first.
2. The values of the columns that steps look at are counted by row group, and whole records where a method needs them.
3. Every step is fitted from these counts, with the same randomness as on one machine.
4. What the fit alone does not tell of the outcome is tallied by masking all rows once without writing them.
5. The masked table is a map over the rows: nothing is shuffled, unless its rows are to be. Only for equi-width swapping
   the rows of a cell come together: see `anonto.engine.spark.cells`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.engine.fitting import Fitting
from anonto.engine.room import DEFAULT, LEAST, Room
from anonto.engine.spark.apply import RowMasking, TallyTask, of_columns, tallied
from anonto.engine.spark.cells import CellMasker, CellsOnCluster
from anonto.engine.spark.count import CountingTask, StayingRows, counted, follow_each_other, rows_that_stay
from anonto.engine.spark.sink import MaskedFrame
from anonto.errors import InternalError
from anonto.masking.fit import Counted
from anonto.table.record_counts import CountedRecords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.engine.spark.count import Counted as CountedOnCluster
    from anonto.engine.spark.count import CountsByGroup
    from anonto.engine.spark.source import Taken
    from anonto.masking.fitted import FittedStep, FittedSteps, FlowPart
    from anonto.masking.released import OutColumn, StepTally, Tallies
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.plan import Plan
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]


@dataclass(slots=True, eq=False, repr=False)
class OnCluster:
    """A table on a cluster."""

    source: Taken
    memory: int | None = None
    """What the fitting of a step may take on the driver, in bytes; None for half of its machine."""
    _staying: StayingRows | None = None
    _counted: CountedOnCluster | None = None

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.source.table.frame.columns)

    @property
    def origin(self) -> None:
        """None: no file of this machine declares codes that mean missing."""

    @property
    def fitting(self) -> Fitting:
        """Fits methods within the memory of the driver."""
        return Fitting(Room(driver_memory() if self.memory is None else self.memory))

    def apply(self, fitted: FittedSteps) -> tuple[MaskedFrame, Tallies]:
        """Have the rows masked when they are asked for; count what becomes of them."""
        found, steps = self._found, fitted.steps
        counts = tuple(self._counts_of(step) for step in steps)
        masking = replace(self._no_masking(), fitted=fitted.slim(), counts=counts)
        tallies = self._tallied(fitted, masking)
        partitions = {
            partition: (min(groups), int(found.kept_in[groups].sum())) for partition, groups in found.partitions.items()
        }
        masked = MaskedFrame(
            source=self.source,
            n_records=fitted.n_records,
            steps=steps,
            columns=fitted.columns_holding(tallies),
            partitions=partitions,
            keeps_order=follow_each_other(found.partitions),
            masking=masking.of_steps([number for number, step in enumerate(steps) if not _is_in_cells(step)]),
        )
        return masked, tallies

    def _no_masking(self) -> RowMasking:
        """What tasks must know to tell the rows that stay, and their numbers; of no step."""
        found = self._found
        return RowMasking.of_no_step(self.source.table.row_groups, self._staying, found, found.columns)

    def exchange(self, method: EquiWidthSwap, columns: Sequence[OutColumn], *, fits: bool) -> CellsOnCluster:
        """Exchange rows on the cluster, cell by cell."""
        del fits
        masking = of_columns(self._no_masking(), [one.name for one in columns])
        room = self.fitting.room
        return CellsOnCluster(self.source.table, masking, self._found.n_kept, method, tuple(columns), room)

    # ------------------------------------------------------------------------------------------ counting

    def count(self, plan: Plan, open_once: Opener) -> Counted:
        """Look at columns whose policies refuse cells or drop rows; then count those that steps look at."""
        table, looked_at = self.source.table, plan.looked_at(self.names)
        descriptions = {name: plan.description(name) for name in looked_at}
        of_policies = [name for name in looked_at if descriptions[name].has_policy]
        self._staying = rows_that_stay(table, of_policies, descriptions, open_once)
        needed = {name for step in plan.steps for name in (*step.columns, *step.also_needs)}
        columns = tuple(name for name in looked_at if name in needed)
        whole = (step for step in plan.steps if step.method.together and not step.method.exchanged_in_cells)
        together = dict.fromkeys((*step.columns, *step.also_needs) for step in whole)
        task = CountingTask(table.row_groups, columns, tuple(together), self._staying)
        dropping = () if self._staying is None else self._staying.columns
        read = [*dict.fromkeys([*columns, *dropping])]
        self._counted = counted(table.gathered(task, read, "Counting the values"), task, table.types(columns))
        found = self._counted
        dropped = None if self._staying is None else self._staying.dropping
        return Counted(found.columns, dropped, found.n_rows, found.n_kept)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns, from those that were counted with the values."""
        found = self._found
        place = found.together.index(tuple(names))
        raw = found.records[place]
        codes = np.stack([own[raw[:, k]] for k, own in enumerate(maps)], axis=1).astype(np.int32)
        totals = found.records_by_group[place].totals(raw.shape[0])
        return CountedRecords.together([CountedRecords(codes, totals)])

    def _counts_of(self, step: FittedStep) -> tuple[CountsByGroup, ...]:
        """For each part with flows how many rows of each row group have each value or record."""
        return tuple(self._counts_of_part(part) for part in step.flow_parts)

    def _counts_of_part(self, part: FlowPart) -> CountsByGroup:
        found, groups = self._found, part.groups(self._distinct(part))
        if part.index is None:
            return found.by_group[part.seen[0]].renumbered(groups)
        return found.records_by_group[found.together.index(part.seen)].renumbered(groups)

    def _distinct(self, part: FlowPart) -> dict[str, Codes]:
        """The raw codes of all distinct values, or records, that a part with flows sees."""
        found = self._found
        if part.index is None:
            return {name: np.arange(len(found.columns[name].texts), dtype=np.int32) for name in part.seen}
        records = found.records[found.together.index(part.seen)]
        return {name: records[:, k] for k, name in enumerate(part.seen)}

    @property
    def _found(self) -> CountedOnCluster:
        if self._counted is None:
            raise InternalError("Nothing was counted yet.")
        return self._counted

    # ------------------------------------------------------------------------------------------ what became of the rows

    def _tallied(self, fitted: FittedSteps, masking: RowMasking) -> Tallies:
        """What became of the rows: from the flows, or from masking all rows where these do not tell it."""
        tallies = fitted.tallies()
        told = [number for number, step in enumerate(fitted.steps) if not _needs_rows(step)]
        for number in told:
            tallies.add_to(number, self._tally(fitted.steps[number], fitted.n_records))
        asked = [number for number in range(len(fitted.steps)) if number not in told]
        if not asked:
            return tallies
        partly = masking.of_steps(asked)
        contents = self.source.table.gathered(TallyTask(partly), partly.looked_at, "Counting what becomes of the rows")
        for found in tallied(contents):
            for number, own in zip(asked, found, strict=True):
                for one in own:
                    tallies.add_to(number, one)
        return tallies

    def _tally(self, step: FittedStep, n_records: int) -> StepTally:
        """Of a step that tells what becomes of the rows without masking them."""
        masker = None if step.row_part is None else step.row_part.masker
        if isinstance(masker, CellMasker):
            return masker.tally
        return step.tally_of_flows(self._distinct(step.flow_parts[0]), n_records)


def _is_in_cells(step: FittedStep) -> bool:
    """Whether the rows of a step come together in cells."""
    return step.row_part is not None and isinstance(step.row_part.masker, CellMasker)


def _needs_rows(step: FittedStep) -> bool:
    """Whether only masking tells what becomes of the rows."""
    if _is_in_cells(step):
        return False
    if step.row_part is not None or len(step.flow_parts) > 1 or (step.counts_equal and step.as_they_are):
        return True
    return any(column.staying is not None for column in step.columns)


def driver_memory() -> int:
    """What the fitting of a step may take on the driver: half of the machine."""
    try:
        return max(LEAST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, OSError, ValueError):
        return DEFAULT
