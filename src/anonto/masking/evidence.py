"""The evidence of a masking: what changed, by how much, and which guarantees hold for what is saved by default.

It is made from a fitted plan and the tallies of the rows; the rows themselves may be anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.errors import FittedInBlocksWarning, MostlyUnchangedWarning, NoRecordsWarning, UnmatchedCellsWarning
from anonto.masking.released import ColumnTally, NumberColumn
from anonto.methods.flows import Moves
from anonto.methods.registry import parameters_of
from anonto.table.attributes import ExtendedAttribute, first_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.errors import AnontoWarning
    from anonto.masking.fitted import FittedStep, FittedSteps
    from anonto.masking.released import OutColumn, StepTally, Tallies
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan, Step
    from anonto.rng import Seed
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn

ENOUGH_TO_JUDGE = 100
"""Cells from which on a column that hardly changed is warned about."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MaskedColumn:
    """What became of the cells of a column."""

    prepared: PreparedColumn
    attribute: Attribute
    """The distances between the values: the column's own, or with missing as a value where missing cells moved."""
    moves: Moves
    """How many cells of each value became each other value; none where any number may have become any other."""
    untouched: int
    """Cells that had no partner."""
    numbers: ColumnTally | None
    """Sums over the cells of a column of which any number may have become any other."""
    recoded: Mapping[str, int]
    """How many missing cells had each code that was replaced by another."""

    @classmethod
    def of(cls, column: OutColumn, step: FittedStep, tally: StepTally) -> MaskedColumn:
        """From a fitted step and what became of all rows."""
        of_rows = tally.columns.get(column.name, ColumnTally())
        nowhere = np.empty(0, dtype=np.int32)
        return cls(
            prepared=column.prepared,
            attribute=column.attribute,
            moves=step.moves.get(column.name) or of_rows.moves or Moves(nowhere, nowhere, np.empty(0, dtype=np.int64)),
            untouched=step.untouched[column.name],
            numbers=of_rows if isinstance(column, NumberColumn) else None,
            recoded={} if column.recoded is None else column.recoded.counts,
        )

    @property
    def name(self) -> str:
        """Of the column."""
        return self.prepared.name

    @property
    def n_values(self) -> int:
        """Distinct values of the column itself; codes from here on stand for cells without one that moved."""
        return len(self.prepared.column.values)

    @property
    def n_cells(self) -> int:
        """Cells with a value, those without a concept included."""
        return len(self.prepared.column) - self.prepared.n_missing

    @property
    def n_unchanged(self) -> int:
        """Cells with a value that mean the same afterwards."""
        if self.numbers is not None:
            return self.numbers.n_same
        moves = self.moves
        with_value = moves.sources < self.n_values
        same = self._meant(moves.sources) == self._meant(moves.targets)
        return int(moves.amounts[with_value & same].sum()) + self.n_unmatched_in_place

    @property
    def n_unmatched_in_place(self) -> int:
        """Cells with a text but without a concept that stay as they are."""
        if not isinstance(self.attribute, ExtendedAttribute):
            return self.prepared.n_unmatched
        moves = self.moves
        unmatched = (moves.sources >= self.n_values) & (moves.sources < self.attribute.first_code)
        return int(moves.amounts[unmatched & (moves.sources == moves.targets)].sum())

    @property
    def hardly_changed(self) -> bool:
        """Whether a column changed less than half as much as it would by swapping at random."""
        n_cells = self.n_cells
        if n_cells < ENOUGH_TO_JUDGE or self.n_values < 2:
            return False
        changed = 1.0 - self.n_unchanged / n_cells
        changed_at_random = 1.0 - float(((self.prepared.attribute.counts / n_cells) ** 2).sum())
        return changed < changed_at_random / 2

    def _meant(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The codes, with one for each released concept and the values that mean it."""
        first = first_codes(self.attribute)
        return codes if first is None else first[codes]

    def how_far(self) -> tuple[float, float]:
        """The root of the mean squared distance between the cells before and after, and the largest of all.

        Counted are cells that have a value before or after: one that gets a value, or loses it, has moved by 1.
        """
        if self.numbers is not None:
            return math.sqrt(self.numbers.squares / self.n_cells) if self.n_cells else 0.0, self.numbers.farthest
        moves = self.moves
        distances = self.attribute.pair_distances(moves.sources, moves.targets)
        farthest = float(distances.max(initial=0.0))
        amounts = moves.amounts
        if isinstance(self.attribute, ExtendedAttribute):
            amounts = np.where(np.minimum(moves.sources, moves.targets) < self.n_values, amounts, 0)
        if not amounts.any():
            return 0.0, farthest
        np.square(distances, out=distances)
        return math.sqrt(dot(amounts, distances) / float(amounts.sum())), farthest


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Outcome:
    """What was done to a table."""

    evidence: dict[str, Any]
    """Plain data."""
    settings: tuple[Setting, ...]
    """For each step what its guarantee rests on."""
    plan: Plan
    masked: Mapping[str, MaskedColumn]

    def in_order(self) -> Outcome:
        """The same where the rows leave in their order."""
        steps = [
            {**said, "guarantee": step.method.guarantee(replace(setting, rows_in_order=True)).to_dict()}
            for step, setting, said in zip(self.plan.steps, self.settings, self.evidence["steps"], strict=True)
        ]
        return replace(self, evidence={**self.evidence, "rows_in_order": True, "steps": steps})

    def warnings(self, names: Sequence[str]) -> Iterator[AnontoWarning]:
        """What a caller must know of the release of a table with these columns."""
        n_records, steps = self.evidence["n_records"], self.evidence["steps"]
        if not n_records:
            yield NoRecordsWarning(self.evidence["dropped_records"])
        yield from self.plan.warnings_about(names)
        # Methods that move missing cells move those without a concept with them.
        stay = [one for one in self.masked.values() if not isinstance(one.attribute, ExtendedAttribute)]
        cells = {one.name: one.n_unmatched_in_place for one in stay if one.n_unmatched_in_place}
        if cells:
            yield UnmatchedCellsWarning(list(cells), list(cells.values()))
        for step in steps:
            for name in step["hardly_changed"]:
                yield MostlyUnchangedWarning(name, step["unchanged"][name] / (n_records - step["missing"][name]))
        for number, (step, said) in enumerate(zip(self.plan.steps, steps, strict=True), start=1):
            if "block_rows" in said and step.method.block_rows is None:
                yield FittedInBlocksWarning(number, said["block_rows"], said["blocks"])

    def report(self) -> str:
        """What was done, as HTML."""
        from anonto.report.data import report_data
        from anonto.report.page import html_report

        return html_report(report_data(self))


def outcome_of(plan: Plan, names: Sequence[str], fitted: FittedSteps, tallies: Tallies, seed: Seed) -> Outcome:
    """The evidence of a masking.

    It is about the rows in random order, as they are saved by default.

    Args:
        plan: The plan.
        names: All columns of the table.
        fitted: The plan fitted to the table.
        tallies: What became of its rows.
        seed: Whether it can be guessed is a reason why nothing is proved.
    """
    columns = [
        [MaskedColumn.of(column, step, tally) for column in step.columns]
        for step, tally in zip(fitted.steps, tallies.steps, strict=True)
    ]
    facts = [
        {**step.facts, **step.counted_facts(tally), **({} if real_k is None else {"real_k": real_k})}
        for step, tally, real_k in zip(fitted.steps, tallies.steps, tallies.real_k(fitted.n_records), strict=True)
    ]
    settings = tuple(
        plan.setting(
            step,
            names,
            {one.name for one in own if one.prepared.n_unmatched},
            guessable_seed=seed.can_be_guessed,
            no_records=not fitted.n_records,
            facts=found,
        )
        for step, own, found in zip(plan.steps, columns, facts, strict=True)
    )
    steps = [
        _step_evidence(step, own, found, tally.unchanged_records, setting)
        for step, own, found, tally, setting in zip(plan.steps, columns, facts, tallies.steps, settings, strict=True)
    ]
    identifiers = plan.identifiers(names)
    evidence = {
        "n_records": fitted.n_records,
        "dropped_records": fitted.n_rows - fitted.n_records,
        "dropped_columns": list(identifiers),
        "released_as_is": [name for name in names if name not in plan.masked and name not in identifiers],
        "rows_in_order": False,
        "steps": steps,
    }
    masked = {one.name: one for own in columns for one in own}
    return Outcome(evidence=evidence, settings=settings, plan=plan, masked=masked)


def _step_evidence(
    step: Step, columns: Sequence[MaskedColumn], facts: Mapping[str, Any], unchanged_records: int, setting: Setting
) -> dict[str, Any]:
    recoded = {one.name: dict(one.recoded) for one in columns if one.recoded}
    how_far = {one.name: one.how_far() for one in columns}
    guarantee = step.method.guarantee(setting)
    links_are_bounded = guarantee.proved and guarantee.k is not None
    return {
        "method": step.method.name,
        "columns": list(step.columns),
        "parameters": parameters_of(step.method),
        "unchanged": {one.name: one.n_unchanged for one in columns},
        "untouched": {one.name: one.untouched for one in columns},
        "missing": {one.name: one.prepared.n_missing for one in columns},
        **({"missing_codes": recoded} if recoded else {}),
        "unmatched": {one.name: one.n_unmatched_in_place for one in columns},
        "hardly_changed": [] if links_are_bounded else [one.name for one in columns if one.hardly_changed],
        "unchanged_records": unchanged_records,
        "rmse": {name: rmse for name, (rmse, _) in how_far.items()},
        "farthest": {name: farthest for name, (_, farthest) in how_far.items()},
        **facts,
        "guarantee": guarantee.to_dict(),
    }
