"""An original and its release side by side: the input of attacks, losses and reports.

It is the same whether the rows are in memory or on a cluster: there a row represents all rows that are equal to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.likelihood import fit_likelihood
from anonto.attacks.compute.simulation import simulate
from anonto.attacks.known import knowledge_scenarios
from anonto.encoding.records import distinct_rows
from anonto.encoding.set_space import count_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Longs
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.compute.likelihood import StepLikelihood
    from anonto.attacks.compute.simulation import Simulation
    from anonto.attacks.findings import PlanStep
    from anonto.attacks.held_out import HeldOut
    from anonto.attacks.known import Knowledge
    from anonto.encoding.comparison import Amounts, BothCells, ComparedColumn
    from anonto.encoding.prepare import Opener
    from anonto.random.streams import Seed


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """Two tables, row by row, and the plan by which one became the other."""

    steps: Sequence[PlanStep]
    """The steps of the plan."""
    columns: Mapping[str, ComparedColumn]
    """The columns that the plan describes, with their distances."""
    pairs: Mapping[str, ComparedColumn]
    """The cells before and after of each masked column."""
    cells: Mapping[str, BothCells]
    """Every released column that is looked at, masked or not."""
    confidential: frozenset[str]
    """Columns that are declared confidential: nobody knows them before."""
    amounts: Amounts
    """Number of original rows that each row represents, in all columns but the pairs."""
    rows: Longs
    """The row number in the original of each row."""
    open_once: Opener
    facts: dict[str, Any]
    """Further facts for a report, as plain data."""
    unchanged: Sequence[int] | None = None
    """The number of records that each step did not change, where the rows are elsewhere."""
    sets: Sequence[str] = ()
    """The columns whose cells are sets."""
    by_person: bool = False
    """True if a record is a person with all her rows."""
    held_out: HeldOut | None = None
    """Persons who were not masked, where the caller has some."""
    shifted: Sequence[str] = ()
    """Columns in no step whose dates were shifted: a person's released row has other dates than hers."""
    before_recoding: Mapping[str, ComparedColumn] = field(default_factory=dict)
    """Columns that the plan recodes: their cells before that, and the released ones."""
    second: Comparison | None = field(default=None)
    """Another release of the same original, where an intruder may have both."""
    simulated: dict[int, list[Simulation]] = field(default_factory=dict)
    """The maskings of an intruder, by the number of her seed, as they are needed."""

    @property
    def n_records(self) -> int:
        """Rows of the release."""
        return int(self.facts["records"])

    @property
    def masked(self) -> tuple[str, ...]:
        """All columns that a step masks."""
        return tuple(name for step in self.steps for name in step.columns)

    @property
    def names_by_step(self) -> list[tuple[str, ...]]:
        """The columns that each step masks."""
        return [step.columns for step in self.steps]

    @property
    def rows_are_joined(self) -> bool:
        """Whether the release says which rows belong to one person."""
        return bool(self.facts.get("rows_are_joined"))

    @cached_property
    def rows_per_record(self) -> tuple[Longs, Longs]:
        """How many rows each person has, before and after; one where records are rows."""
        sets = [self.cells[name] for name in self.sets if self.by_person]
        if not sets:
            return np.ones_like(self.amounts.original), np.ones_like(self.amounts.masked)
        before, after = [count_rows(one.original) for one in sets], [count_rows(one.masked) for one in sets]
        return np.maximum.reduce(before), np.maximum.reduce(after)

    @cached_property
    def as_is(self) -> Mapping[str, BothCells]:
        """The columns that no step masks."""
        return {name: cells for name, cells in self.cells.items() if name not in (*self.masked, *self.shifted)}

    @cached_property
    def swaps(self) -> list[EncodedStep]:
        """The steps that swap, as their methods saw them."""
        return [self._encode(step) for step in self._steps_seen if step.method.is_swap]

    @cached_property
    def grouping_steps(self) -> list[PlanStep]:
        """The steps that give the records of groups the same values, and draw nothing."""
        found = [step for step in self._steps_seen if step.method.makes_equal and step.method.least_group]
        return [step for step in found if all(name in self.columns for name in step.columns)]

    @cached_property
    def groupings(self) -> list[EncodedStep]:
        """These steps as their methods saw them, with the columns that the method looks at and does not mask."""
        steps = [step for step in self.grouping_steps if all(name in self.cells for name in step.method.also_needs)]
        return [self._encode(step, step.method.also_needs) for step in steps]

    @property
    def _steps_seen(self) -> list[PlanStep]:
        """The steps whose cells and strata are in both tables."""
        steps = self.steps if self.n_records else ()
        seen = [step for step in steps if all(name in self.cells for name in step.within)]
        return [step for step in seen if not self._masks_elements(step)]

    def _encode(self, step: PlanStep, further: Sequence[str] = ()) -> EncodedStep:
        """A step as its method saw it."""
        return encode_step(
            step.method,
            (*step.columns, *further),
            self.cells,
            self._description_of,
            self.open_once,
            self.amounts.original,
            step.within,
            step.small_strata,
        )

    def simulations(self, seed: Seed) -> list[Simulation]:
        """Several maskings of each step that swaps, with an intruder's own seed."""
        if seed.number not in self.simulated:
            steps = enumerate(self.swaps)
            found = [simulate(step, seed.stream("simulation", number)) for number, step in steps]
            self.simulated[seed.number] = [one for own in found for one in own]
        return self.simulated[seed.number]

    def _masks_elements(self, step: PlanStep) -> bool:
        """Whether a step masks the elements of sets: then its method says nothing about whole sets."""
        is_set = any(self.columns[name].description.kind == "set" for name in step.columns)
        return is_set and not step.method.takes_sets

    def _description_of(self, name: str) -> Any:
        return self.columns[name].description

    @cached_property
    def likelihoods(self) -> list[StepLikelihood]:
        """Likelihoods of the steps whose method draws for each row."""
        # The noise of a stratum depends on its own variance, which is not modelled.
        steps = [
            (step.method, [self.columns[name] for name in step.columns])
            for step in self.steps
            if not (step.within and step.method.uses_other_rows) and not self._masks_elements(step)
        ]
        found = [fit_likelihood(method, columns, self.open_once) for method, columns in steps]
        return [one for one in found if one is not None]

    @cached_property
    def known(self) -> list[Knowledge]:
        """Scenarios of the intruder's knowledge, the worst case last."""
        changed = [*self.names_by_step, *((name,) for name in self.shifted)]
        return knowledge_scenarios(changed, self.columns, self.as_is, self.confidential, self.amounts)

    @property
    def n_distinct(self) -> int:
        """Number of distinct records of the original in the columns that an intruder knows at most."""
        most = max(self.known, key=lambda one: len(one.names), default=None)
        return 0 if most is None else int(distinct_rows([one.original for one in most.columns])[0].shape[0])
