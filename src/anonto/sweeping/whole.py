"""The whole table behind a sample: a plan that looks safe in the sample is tried here before it is called so.

A sample errs in both directions. Groups of k records are as large in it as in the whole table but lie further apart,
so that risk and loss come out too high; a window of k places, however, is a larger share of a sample than of the whole
table, where the same k moves values less and links more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.sweeping.journal import Journal
from anonto.sweeping.points import Point
from anonto.sweeping.unit import Job, Unit, at_random_of, done, steps_as_data

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import polars as pl

    from anonto.plan import Plan, Step
    from anonto.table.prepare import Opener


class WholeTable:
    """All records of a table that was sampled, and what plans were found to do with them."""

    def __init__(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        columns: tuple[str, ...],
        open_once: Opener,
        *,
        is_whole: bool,
        n_seeds: int,
        resume: str | os.PathLike[str] | None,
        marks: Mapping[str, str],
        key_of: Callable[[Plan, int], str],
    ) -> None:
        """Keep what a check needs; nothing is measured before one is asked for.

        Args:
            frame: The columns that are masked or attacked, of all records.
            plan: The columns, with their ontologies opened.
            columns: What every plan masks.
            open_once: Opens ontologies.
            is_whole: Whether the release would have no other columns than these.
            n_seeds: With how many seeds a plan must be safe.
            resume: The file that keeps results.
            marks: What the file belongs to.
            key_of: The key of a plan with a seed, of this table and no other.
        """
        self._frame, self._plan, self._columns, self._open_once = frame, plan, columns, open_once
        self._is_whole, self.n_seeds = is_whole, n_seeds
        self._resume, self._marks, self._key_of = resume, marks, key_of
        self._job: Job | None = None
        self._found: dict[tuple[tuple[Step, ...], int], dict[str, Any]] = {}

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self._frame.height)

    def tried(self, point: Point, max_risk: float) -> Point | None:
        """A plan with what the whole table says of it: of all seeds, or up to the first that exceeds a risk.

        None where the plan cannot be carried out on the whole table.
        """
        runs: list[dict[str, Any]] = []
        for number in range(self.n_seeds):
            result = self._result(point.plan, number)
            if "skipped" in result:
                return None
            runs.append(result)
            if result["upper"] > max_risk:
                break
        return Point(point.plan, tuple(runs), point.is_given)

    def _result(self, plan: Plan, number: int) -> dict[str, Any]:
        place = (plan.steps, number)
        if place not in self._found:
            unit = Unit(plan.steps, number, self._key_of(plan, number))
            with Journal(self._resume, self._marks) as journal:
                if unit.key not in journal.results:
                    about = {"steps": steps_as_data(plan.steps), "seed": number, "records": self.n_records}
                    journal.add(unit.key, about, done(self._whole_job(), unit))
                self._found[place] = journal.results[unit.key]
        return self._found[place]

    def _whole_job(self) -> Job:
        if self._job is None:
            at_random = at_random_of(self._frame, self._plan, self._columns, self._open_once)
            self._job = Job(self._frame, self._plan, at_random, self._is_whole)
        return self._job
