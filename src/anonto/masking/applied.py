"""Evidence about rows that come batch by batch: sums, so that the batches add up whatever new values each brings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.masking.evidence import MaskedColumn
from anonto.masking.released import ColumnTally, add_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Longs
    from anonto.masking.fitted import FittedPlan, FittedStep
    from anonto.masking.plan import Plan
    from anonto.masking.released import StepTally, Tallies


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AppliedColumn:
    """Counts of the changes in the cells of a column."""

    unchanged: int = 0
    missing: int = 0
    unmatched: int = 0
    masked: int = 0
    """Cells whose distance counts."""
    squares: float = 0.0
    """The sum of their squared distances."""
    farthest: float = 0.0

    @classmethod
    def of(cls, one: MaskedColumn) -> AppliedColumn:
        """From the evidence about the column in one batch."""
        rmse, farthest = one.how_far()
        masked = one.n_cells if isinstance(one.moved, ColumnTally) else int(one.moved.amounts.sum())
        missing, unmatched = one.prepared.n_missing, one.n_unmatched_in_place
        return cls(one.n_unchanged, missing, unmatched, masked, rmse**2 * masked, farthest)

    def __add__(self, other: AppliedColumn) -> AppliedColumn:
        return AppliedColumn(
            self.unchanged + other.unchanged,
            self.missing + other.missing,
            self.unmatched + other.unmatched,
            self.masked + other.masked,
            self.squares + other.squares,
            max(self.farthest, other.farthest),
        )

    @property
    def rmse(self) -> float:
        """The root of the mean squared distance."""
        return math.sqrt(self.squares / self.masked) if self.masked else 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AppliedStep:
    """Counts of the changes of a step."""

    unchanged_records: int
    counts: Longs | None
    columns: tuple[AppliedColumn, ...]

    @classmethod
    def of(cls, step: FittedStep, tally: StepTally) -> AppliedStep:
        """From a step for one batch and what became of its rows."""
        columns = tuple(AppliedColumn.of(MaskedColumn.of(column, step, tally)) for column in step.columns)
        return cls(tally.unchanged_records, tally.counts, columns)

    def __add__(self, other: AppliedStep) -> AppliedStep:
        columns = tuple(one + more for one, more in zip(self.columns, other.columns, strict=True))
        counts = add_counts(self.counts, other.counts)
        return AppliedStep(self.unchanged_records + other.unchanged_records, counts, columns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AppliedRows:
    """Counts of the changes of a fitted plan in all rows that came so far."""

    n_rows: int = 0
    """Dropped ones included."""
    n_records: int = 0
    steps: tuple[AppliedStep, ...] = ()

    def with_batch(self, fitted: FittedPlan, tallies: Tallies) -> AppliedRows:
        """The same counts with the rows of one more batch."""
        found = tuple(AppliedStep.of(step, tally) for step, tally in zip(fitted.steps, tallies.steps, strict=True))
        steps = tuple(one + more for one, more in zip(self.steps, found, strict=True)) if self.steps else found
        return AppliedRows(self.n_rows + fitted.counts.n_rows, self.n_records + fitted.counts.n_records, steps)

    def evidence(self, plan: Plan, fitted: Sequence[FittedStep]) -> dict[str, Any]:
        """Plain data, with the keys that the evidence of a masked table has."""
        steps = []
        nothing = AppliedColumn()
        for number, (step, own) in enumerate(zip(plan.steps, fitted, strict=True)):
            came = self.steps[number] if self.steps else AppliedStep(0, None, (nothing,) * len(step.columns))
            columns = dict(zip(step.columns, came.columns, strict=True))
            steps.append(
                {
                    "method": step.method.name,
                    "columns": list(step.columns),
                    "unchanged": {name: one.unchanged for name, one in columns.items()},
                    "missing": {name: one.missing for name, one in columns.items()},
                    "unmatched": {name: one.unmatched for name, one in columns.items()},
                    "unchanged_records": came.unchanged_records,
                    "rmse": {name: one.rmse for name, one in columns.items()},
                    "farthest": {name: one.farthest for name, one in columns.items()},
                    **own.counted_facts(came.counts),
                }
            )
        return {"n_records": self.n_records, "dropped_records": self.n_rows - self.n_records, "steps": steps}


NO_ROWS = AppliedRows()
"""Before any row came."""
