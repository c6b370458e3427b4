"""The second stage of a sweep: a plan that looks safe is tried again before it is called so.

The first stage compares many plans, so it takes a sample of a large table and leaves out the costly attacks. Here a
plan is masked with seeds that it was not chosen by, on all records, and attacked by every attack. Of many plans the one
that seems best is partly the one with the luckiest seeds: only fresh ones tell its risk.

A sample errs in both directions. Groups of k records are as large in it as in the whole table but lie further apart,
so that risk and loss come out too high; a window of k places, however, is a larger share of a sample than of the whole
table, where the same k moves values less and links more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anonto.encoding.prepare import opener
from anonto.sweep.journal import Journal
from anonto.sweep.points import Point
from anonto.sweep.unit import SweepInput, Unit, marks_of, measure_random_swap, run_unit, steps_as_data

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import polars as pl

    from anonto.masking.plan import Plan
    from anonto.masking.plan_sections import Step

    Progress = Callable[[int, int], object]


@dataclass(slots=True)
class RunCounter:
    """How many runs of a sweep are finished, and how many there are so far; told to whoever asked."""

    tell: Progress | None
    n_done: int = 0
    n_all: int = 0

    def expect(self, n: int, *, n_done: int = 0) -> None:
        """So many more, of which some are finished."""
        self.n_all += n
        self._add(n_done)

    def finish_one(self) -> None:
        """One more is finished."""
        self._add(1)

    def _add(self, n: int) -> None:
        self.n_done += n
        if self.tell is not None:
            self.tell(self.n_done, self.n_all)


@dataclass(eq=False, repr=False)
class WholeTable:
    """All records of a table, and the results of plans on them; measured when they are asked for."""

    frame: pl.DataFrame
    """The columns that are masked or attacked, of all records."""
    screened: SweepInput
    """The records of the first stage: these or a sample of them."""
    columns: tuple[str, ...]
    """The columns that are masked."""
    n_seeds: int
    """The number of fresh seeds with which a plan must be safe."""
    resume: str | os.PathLike[str] | None
    """The file that keeps results."""
    first_marks: Mapping[str, str]
    """The marks of the first stage, to which the file belongs."""
    counter: RunCounter
    _found: dict[tuple[tuple[Step, ...], int], dict[str, Any]] = field(default_factory=dict, init=False)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self.frame.height)

    @property
    def is_larger(self) -> bool:
        """Whether the first stage had only a sample of the records."""
        return self.screened.frame.height < self.n_records

    @cached_property
    def _given(self) -> SweepInput:
        given = replace(self.screened, screening=False)
        if not self.is_larger:
            return given
        random_swap = measure_random_swap(self.frame, given.plan, self.columns, opener(given.plan.folder))
        return replace(given, frame=self.frame, at_random=random_swap)

    @cached_property
    def _marks(self) -> dict[str, str]:
        return {**marks_of(self.frame, self.n_records, self.screened.plan), "records": "all", "attacks": "all"}

    def try_plan(self, point: Point, max_risk: float) -> Point | None:
        """A plan with its results here: of all fresh seeds, or up to the first that exceeds a risk.

        None where the plan cannot be carried out on the whole table.
        """
        runs: list[dict[str, Any]] = []
        self.counter.expect(self.n_seeds)
        for number in range(self.n_seeds, 2 * self.n_seeds):
            result = self._result(point.plan, number)
            self.counter.finish_one()
            if "skipped" in result:
                self.counter.expect(number + 1 - 2 * self.n_seeds)
                return None
            runs.append(result)
            if result["upper"] > max_risk:
                self.counter.expect(len(runs) - self.n_seeds)
                break
        return Point(point.plan, tuple(runs), point.is_given)

    def _result(self, plan: Plan, number: int) -> dict[str, Any]:
        place = (plan.steps, number)
        if place not in self._found:
            unit = Unit.of(plan.steps, number, self._marks)
            with Journal(self.resume, self.first_marks) as journal:
                if unit.key not in journal.results:
                    about = {"steps": steps_as_data(plan.steps), "seed": number, "records": self.n_records}
                    journal.add(unit.key, about, run_unit(self._given, unit))
                self._found[place] = journal.results[unit.key]
        return self._found[place]
