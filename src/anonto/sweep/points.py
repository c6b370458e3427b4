"""The plans that were tried, each with its risk and its utility over the seeds, and the front of those worth having.

The risk of a plan is the share of persons that the worst linkage reaches, on average over its seeds; the worst intruder
knows every released column that is not declared confidential. Where rows are released whole, reading them by a
few columns counts like a linkage. Its ``high`` is the largest upper end of a 95 % interval of any of these attacks with
any of its seeds, and what a limit is compared with: a plan is allowed where even that is below it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ParameterError
from anonto.io.atomic_write import atomic_write
from anonto.methods.registry import parameters_of
from anonto.report.frames.registry import limit_named
from anonto.sweep.choice import Choice, choose
from anonto.sweep.grid import label_of
from anonto.sweep.unit import steps_as_data
from anonto.utility.score import LOSSES

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from anonto.masking.plan import Plan
    from anonto.sweep.grid import SkippedPlan
    from anonto.sweep.whole import WholeTable


@dataclass(frozen=True, eq=False, repr=False)
class Point:
    """A plan and what was measured of it, one run for each seed."""

    plan: Plan
    runs: tuple[Mapping[str, Any], ...]
    """The worst linkage, all attacks in short, the losses and what is proved, for each seed, as plain data."""
    is_given: bool = False
    """True if it is the plan that the sweep was started with."""

    def __repr__(self) -> str:
        return f"<{self.label}: risk {self.risk:.4f} (at most {self.high:.4f}), utility {self.utility:.4f}>"

    @property
    def label(self) -> str:
        """Method and parameters in a few words."""
        return label_of(self.plan.steps)

    @property
    def method(self) -> str:
        """The name of the method; of several steps joined by a plus."""
        return " + ".join(step.method.name for step in self.plan.steps)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the first step's method."""
        return parameters_of(self.plan.steps[0].method)

    @property
    def rates(self) -> tuple[float, ...]:
        """The rate of the worst linkage, seed by seed."""
        return tuple(float(run["worst"]["rate"]) if run["worst"] else 0.0 for run in self.runs)

    @cached_property
    def risk(self) -> float:
        """The rate of the worst linkage, on average over the seeds."""
        return float(np.mean(self.rates))

    @cached_property
    def low(self) -> float:
        """The smallest lower end of the worst linkage's interval."""
        return min(float(run["worst"]["low"]) if run["worst"] else 0.0 for run in self.runs)

    @cached_property
    def high(self) -> float:
        """The largest upper end of an interval, of any linkage with any seed: what a limit is compared with."""
        return max(float(run["upper"]) for run in self.runs)

    @cached_property
    def worst(self) -> Mapping[str, Any] | None:
        """The linkage that reached most, with the seed that it reached most with."""
        found: list[Mapping[str, Any]] = [run["worst"] for run in self.runs if run["worst"]]
        return max(found, key=lambda one: one["rate"], default=None)

    @property
    def utilities(self) -> tuple[float, ...]:
        """The utility, seed by seed."""
        return tuple(float(run["losses"]["utility"]) for run in self.runs)

    @cached_property
    def utility(self) -> float:
        """From about 0 (nothing is left) to 1 (as the original), on average over the seeds."""
        return float(np.mean(self.utilities))

    @cached_property
    def losses(self) -> dict[str, float | None]:
        """The losses behind the utility, each from 0 to 1, on average over the seeds; None where it has no meaning."""
        found = {name: [run["losses"][name] for run in self.runs] for name in LOSSES}
        return {name: None if None in each else float(np.mean(each)) for name, each in found.items()}

    @property
    def proved(self) -> bool:
        """True if every step has a guarantee that is proved for this table."""
        return all(one.get("proved", False) for one in self.runs[0]["guarantees"])

    @property
    def hardly_changed(self) -> tuple[str, ...]:
        """The columns that `mask` would warn about: with some seed most of their cells are released unchanged."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run["hardly_changed"]))

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {
            "label": self.label,
            "method": self.method,
            "parameters": self.parameters,
            "steps": steps_as_data(self.plan.steps),
            "is_given": self.is_given,
            "risk": self.risk,
            "low": self.low,
            "high": self.high,
            "worst": dict(self.worst) if self.worst else None,
            "utility": self.utility,
            "losses": self.losses,
            "proved": self.proved,
            "hardly_changed": list(self.hardly_changed),
            "runs": [{"seed": number, **run} for number, run in enumerate(self.runs)],
        }


def pareto_front(points: Sequence[Point]) -> tuple[Point, ...]:
    """The plans that no other beats: none has less risk and as much utility, or more utility and as little risk.

    Safest first. Of plans that are equal in both, all are there.
    """
    front: list[Point] = []
    for one in sorted(points, key=lambda one: (one.risk, -one.utility)):
        if not front or one.utility > front[-1].utility or (one.risk, one.utility) == _place(front[-1]):
            front.append(one)
    return tuple(front)


def _place(point: Point) -> tuple[float, float]:
    return point.risk, point.utility


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sweep:
    """The risk-utility map of a table."""

    points: tuple[Point, ...]
    """The plans that were tried, in the order of the grid."""
    skipped: tuple[SkippedPlan, ...]
    """The plans that could not be tried on this table, with the reason."""
    columns: tuple[str, ...]
    """The columns that every plan of the grid masks."""
    n_records: int
    n_sampled: int
    """How many records were masked and attacked: all, or a sample of a large table."""
    n_seeds: int
    max_risk: float | None = None
    whole: WholeTable | None = None
    """All records, to try again what looks safe."""

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.points)} plans, {len(self.pareto)} on the front, {len(self.skipped)} skipped>"

    @cached_property
    def pareto(self) -> tuple[Point, ...]:
        """The plans that no other beats in both risk and utility, safest first."""
        return pareto_front(self.points)

    def best(self, max_risk: float | str | None = None) -> Choice:
        """The plan that keeps most utility while no linkage exceeds a risk, and why.

        A plan is allowed where the upper end of the 95 % interval of every linkage, with every seed, is at most the
        risk, and where `mask` would not warn that it hardly changes a column. Of plans of equal utility the safer is
        taken. Where none is allowed the answer has no point, and names the safest. Plans that are allowed are tried
        again on the whole table, with fresh seeds and by every attack, those that keep most first, until one is
        allowed there too, but not more than a few: none is called safe that was only lucky with its seeds or its
        sample.

        Args:
            max_risk: From 0 to 1, or a named threshold such as ``"ema-0070"``; without one, that of the sweep.
        """
        limit = self.max_risk if max_risk is None else max_risk
        return choose(self.points, require_risk(limit), self.whole)

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        on_front = set(map(id, self.pareto))
        return {
            "columns": list(self.columns),
            "n_records": self.n_records,
            "n_sampled": self.n_sampled,
            "n_seeds": self.n_seeds,
            "max_risk": self.max_risk,
            "answer": None if self.max_risk is None else self.best().to_dict(),
            "points": [{**one.to_dict(), "on_front": id(one) in on_front} for one in self.points],
            "skipped": [one.to_dict() for one in self.skipped],
        }

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON."""
        with atomic_write(Path(path)) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    def to_html(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the map as one page that needs nothing but itself."""
        from anonto.report.page import sweep_html

        with atomic_write(Path(path), force=force) as temporary:
            temporary.write_text(sweep_html(self.to_dict()), encoding="utf-8")


def require_risk(max_risk: object) -> float:
    """A limit to risk: a number from 0 to 1, or the name of a frame with a threshold, such as ``"ema-0070"``."""
    if isinstance(max_risk, str):
        max_risk = limit_named(max_risk)
    if isinstance(max_risk, bool) or not isinstance(max_risk, int | float) or not 0 <= max_risk <= 1:
        raise ParameterError("max_risk", "a number from 0 to 1", max_risk)
    return float(max_risk)
