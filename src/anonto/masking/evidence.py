"""The evidence of a masking: what changed, by how much, and which guarantees hold for what is saved by default.

It is made from a fitted plan and the tallies of the rows; the rows themselves may be anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.generalised_space import first_codes
from anonto.encoding.value_space import ExtendedSpace
from anonto.errors import AnontoWarning
from anonto.masking.released import ColumnTally, NumberColumn
from anonto.methods.registry import parameters_of
from anonto.methods.transitions import Moves
from anonto.wording import clip, count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonto.arrays import Ints
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.masking.fitted import FittedPlan, FittedStep
    from anonto.masking.plan import Plan
    from anonto.masking.plan_sections import Step
    from anonto.masking.released import ReleasedColumn, StepTally, Tallies
    from anonto.methods.guarantee import Setting
    from anonto.random.streams import Seed

ENOUGH_TO_JUDGE = 100
"""Cells from which on a column that hardly changed is warned about."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MaskedColumn:
    """Evidence about the cells of a column."""

    prepared: PreparedColumn
    value_space: ValueSpace
    """The distances between the values: the column's own, or with missing as a value where missing cells moved."""
    moved: Moves | ColumnTally
    """How many cells of each value became each other value; sums over the cells where any number may have become any
    other."""
    untouched: int
    """Cells that had no partner."""
    merged_codes: Mapping[str, int]
    """How many missing cells had each code that was replaced by another."""

    @classmethod
    def of(cls, column: ReleasedColumn, step: FittedStep, tally: StepTally) -> MaskedColumn:
        """From a fitted step and what became of all rows."""
        fitted, of_rows = step.fitted[column.name], tally.columns.get(column.name, ColumnTally())
        return cls(
            prepared=fitted.prepared,
            value_space=fitted.value_space,
            moved=of_rows if isinstance(column, NumberColumn) else fitted.moves or of_rows.moves,
            untouched=fitted.untouched,
            merged_codes={} if column.merged_codes is None else column.merged_codes.counts,
        )

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.prepared.name

    @property
    def n_values(self) -> int:
        """Distinct values of the column itself; larger codes are of cells without a value that moved."""
        return len(self.prepared.column.values)

    @property
    def n_cells(self) -> int:
        """Cells with a value, those without a concept included."""
        return len(self.prepared.column) - self.prepared.n_missing

    @property
    def moves(self) -> Moves | None:
        """How many cells of each value became each other value; None where any number may have become any other."""
        return self.moved if isinstance(self.moved, Moves) else None

    @property
    def n_unchanged(self) -> int:
        """Cells with a value that mean the same afterwards."""
        moves = self.moved
        if isinstance(moves, ColumnTally):
            return moves.n_same
        with_value = moves.sources < self.n_values
        same = self._meanings(moves.sources) == self._meanings(moves.targets)
        return int(moves.amounts[with_value & same].sum()) + self.n_unmatched_in_place

    @property
    def n_unmatched_in_place(self) -> int:
        """Cells with a text but without a concept that stay as they are."""
        moves = self.moves
        if moves is None or not isinstance(self.value_space, ExtendedSpace):
            return self.prepared.n_unmatched
        unmatched = (moves.sources >= self.n_values) & (moves.sources < self.value_space.first_code)
        return int(moves.amounts[unmatched & (moves.sources == moves.targets)].sum())

    @property
    def hardly_changed(self) -> bool:
        """True if a column changed less than half as much as it would by swapping at random."""
        n_cells = self.n_cells
        if n_cells < ENOUGH_TO_JUDGE or self.n_values < 2:
            return False
        changed = 1.0 - self.n_unchanged / n_cells
        changed_at_random = 1.0 - float(((self.prepared.value_space.counts / n_cells) ** 2).sum())
        return changed < changed_at_random / 2

    def _meanings(self, codes: Ints) -> Ints:
        """The codes, with one for each released concept and the values that mean it."""
        first = first_codes(self.value_space)
        return codes if first is None else first[codes]

    def how_far(self) -> tuple[float, float]:
        """The root of the mean squared distance between the cells before and after, and the largest of all.

        Counted are cells that have a value before or after: one that gets a value, or loses it, has moved by 1.
        """
        moves = self.moved
        if isinstance(moves, ColumnTally):
            return math.sqrt(moves.squares / self.n_cells) if self.n_cells else 0.0, moves.farthest
        distances = self.value_space.pair_distances(moves.sources, moves.targets)
        farthest = float(distances.max(initial=0.0))
        amounts = moves.amounts
        if isinstance(self.value_space, ExtendedSpace):
            amounts = np.where(np.minimum(moves.sources, moves.targets) < self.n_values, amounts, 0)
        if not amounts.any():
            return 0.0, farthest
        np.square(distances, out=distances)
        return math.sqrt(dot(amounts, distances) / float(amounts.sum())), farthest


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Outcome:
    """Evidence about a masked table."""

    evidence: dict[str, Any]
    """Plain data."""
    settings: tuple[Setting, ...]
    """The facts that the guarantee of each step rests on."""
    plan: Plan
    masked: Mapping[str, MaskedColumn]
    names: tuple[str, ...]
    """All columns of the table."""

    def in_order(self) -> Outcome:
        """The evidence of a release that keeps the order of its rows."""
        steps = [
            {**said, "guarantee": step.method.guarantee(replace(setting, rows_in_order=True)).to_dict()}
            for step, setting, said in zip(self.plan.steps, self.settings, self.evidence["steps"], strict=True)
        ]
        return replace(self, evidence={**self.evidence, "rows_in_order": True, "steps": steps})

    def warnings(self) -> Iterator[AnontoWarning]:
        """Warnings for the caller about the release."""
        n_records, steps = self.evidence["n_records"], self.evidence["steps"]
        if not n_records:
            yield no_records(self.evidence["dropped_records"])
        yield from self.plan.warnings_about(self.names)
        # Methods that move missing cells move those without a concept with them.
        stay = [one for one in self.masked.values() if not isinstance(one.value_space, ExtendedSpace)]
        cells = {one.name: one.n_unmatched_in_place for one in stay if one.n_unmatched_in_place}
        if cells:
            yield unmatched_cells(list(cells), list(cells.values()))
        for step in steps:
            # A method that empties the fewest cells is meant to leave the others.
            for name in [] if "suppressed_cells" in step else step["hardly_changed"]:
                n_cells = step.get("elements", n_records) - step["missing"][name]
                yield mostly_unchanged(name, step["unchanged"][name] / n_cells)
        for number, (step, said) in enumerate(zip(self.plan.steps, steps, strict=True), start=1):
            if "block_rows" in said and step.method.block_rows is None:
                yield fitted_in_blocks(number, said["block_rows"], said["blocks"])

    def report(self) -> str:
        """The evidence as HTML."""
        from anonto.report.data import report_data
        from anonto.report.page import html_report

        return html_report(report_data(self))


def outcome_of(plan: Plan, names: Sequence[str], fitted: FittedPlan, tallies: Tallies, seed: Seed) -> Outcome:
    """The evidence of a masking.

    It is about the rows in random order, as they are saved by default.

    Args:
        plan: The plan.
        names: All columns of the table.
        fitted: The plan fitted to the table.
        tallies: Of all its rows.
        seed: If it can be guessed, no guarantee is proved.
    """
    columns = [
        [MaskedColumn.of(column, step, tally) for column in step.columns]
        for step, tally in zip(fitted.steps, tallies.steps, strict=True)
    ]
    facts = [
        {
            **step.facts,
            **step.counted_facts(tally.counts),
            **({} if real_k is None else {"real_k": real_k}),
            **({"real_groups": real_groups} if step.method.bounds_groups and real_groups is not None else {}),
        }
        for step, tally, real_k, real_groups in zip(
            fitted.steps,
            tallies.steps,
            tallies.real_k(fitted.counts.n_records),
            tallies.real_groups(),
            strict=True,
        )
    ]
    settings = tuple(
        plan.setting(
            step,
            names,
            {one.name for one in own if one.prepared.n_unmatched},
            guessable_seed=seed.can_be_guessed,
            no_records=not fitted.counts.n_records,
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
        "n_records": fitted.counts.n_records,
        "dropped_records": fitted.counts.n_rows - fitted.counts.n_records,
        "dropped_columns": list(identifiers),
        "released_as_is": [name for name in names if name not in plan.masked and name not in identifiers],
        **({} if plan.weight is None else {"weight": plan.weight}),
        "rows_in_order": False,
        "steps": steps,
    }
    masked = {one.name: one for own in columns for one in own}
    return Outcome(evidence=evidence, settings=settings, plan=plan, masked=masked, names=tuple(names))


def _step_evidence(
    step: Step, columns: Sequence[MaskedColumn], facts: Mapping[str, Any], unchanged_records: int, setting: Setting
) -> dict[str, Any]:
    merged_codes = {one.name: dict(one.merged_codes) for one in columns if one.merged_codes}
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
        **({"missing_codes": merged_codes} if merged_codes else {}),
        "unmatched": {one.name: one.n_unmatched_in_place for one in columns},
        "hardly_changed": [] if links_are_bounded else [one.name for one in columns if one.hardly_changed],
        "unchanged_records": unchanged_records,
        "rmse": {name: rmse for name, (rmse, _) in how_far.items()},
        "farthest": {name: farthest for name, (_, farthest) in how_far.items()},
        **facts,
        "guarantee": guarantee.to_dict(),
    }


def no_records(n_dropped: int) -> AnontoWarning:
    """A release without a record."""
    start, advice = "The table has no record", "check that it is the right one"
    if n_dropped:
        start = f"The plan drops {count_of(n_dropped, 'record')}, and the table has no other"
        advice = "look at the keys missing and unmatched of its columns"
    return AnontoWarning(f"{start}: the release has column names only, and nothing is proved about it; {advice}.")


def unmatched_cells(columns: Sequence[str], cells: Sequence[int]) -> AnontoWarning:
    """Cells of masked columns that stay in their record because they have no concept."""
    found = list_names([f"{n:,} of {clip(name)!r}" for name, n in zip(columns, cells, strict=True)])
    return AnontoWarning(
        f"Cells without a concept are released as they are, in their own record ({found}); fix their codes, or "
        "set unmatched to 'nearest-ancestor' or 'drop' for these columns."
    )


def mostly_unchanged(column: str, share: float) -> AnontoWarning:
    """A masked column that is hardly masked."""
    return AnontoWarning(
        f"{math.floor(100 * share)}% of the cells of column {column!r} are released unchanged; choose another method, "
        "or a larger k, width or noise."
    )


def fitted_in_blocks(number: int, block_rows: int, n_blocks: int) -> AnontoWarning:
    """A step that was fitted block by block though its plan does not say so."""
    return AnontoWarning(
        f"Step {number} was fitted in {count_of(n_blocks, 'block')}, as all records at once would not fit into "
        f"memory; write block_rows = {block_rows} into this step of the plan that you keep or publish: without it "
        "the release can neither be reproduced with another memory limit nor verified."
    )
