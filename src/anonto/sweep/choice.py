"""The plan that keeps most under a risk, with the reasons: its cost, and that of the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import InputError
from anonto.io.atomic_write import atomic_write
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from anonto.sweep.points import Point
    from anonto.sweep.whole import WholeTable

MOST_TRIED_ON_ALL = 5
"""The largest number of plans that looked safe and are tried again, on all records and by every attack."""
LOSS_WORDS = {
    "moved": "cells moved",
    "distribution": "frequencies changed",
    "dependence": "dependence lost",
    "told_apart": "records distinguished from original ones",
}


@dataclass(frozen=True, eq=False, slots=True)
class WholeTableCheck:
    """Results of plans that looked safe: on the whole table, with fresh seeds, attacked by every attack."""

    n_records: int
    n_seeds: int
    is_larger: bool
    """Whether the plans looked safe in a sample only."""
    point: Point | None
    """The plan that is recommended, measured here with all fresh seeds."""
    unsafe: tuple[tuple[str, float | None], ...]
    """The plans that are not safe here, with the upper end; None where a plan cannot be carried out."""
    n_not_tried: int
    """How many plans that looked safe were not tried again."""

    @property
    def where(self) -> str:
        """How the plans were tried, for a sentence."""
        table = f" on the whole table of {count_of(self.n_records, 'record')}" if self.is_larger else ""
        return f"{table} with {count_of(self.n_seeds, 'fresh seed')} and every attack"

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {
            "n_records": self.n_records,
            "n_seeds": self.n_seeds,
            "sampled_before": self.is_larger,
            "plan": None if self.point is None else self.point.to_dict(),
            "unsafe": [{"plan": label, "high": high} for label, high in self.unsafe],
            "n_not_tried": self.n_not_tried,
        }


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """A plan that is recommended, or None where none is allowed, and what it was compared with."""

    max_risk: float
    point: Point | None
    """The plan that keeps most of those allowed."""
    runner_up: Point | None
    """The allowed plan that keeps second most."""
    next_cheaper: Point | None
    """The safest of the plans that keep more and are not allowed: the gain from a slightly higher limit."""
    safest: Point | None
    """The plan with the lowest upper end of all."""
    hardly_masked: tuple[Point, ...] = ()
    """The plans within the limit that leave most cells of a column as they were, which `mask` would warn about."""
    on_all: WholeTableCheck | None = None
    """Results of the second try of the plans that looked safe; the other points were tried once."""

    @property
    def why(self) -> list[str]:
        """The reasons, in sentences."""
        return _reasons(self)

    def save_plan(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the plan as TOML, with the reasons as comments; refused where none is allowed."""
        from anonto.sweep.plan_file import plan_text

        target = Path(path)
        if self.point is None:
            raise no_safe_plan(str(target), self.max_risk)
        text = plan_text(self.point.plan, target.absolute().parent, self.why)
        with atomic_write(target, force=force) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {
            "max_risk": self.max_risk,
            "feasible": self.point is not None,
            "plan": _label(self.point),
            "runner_up": _label(self.runner_up),
            "next_cheaper": _label(self.next_cheaper),
            "safest": _label(self.safest),
            "hardly_masked": [one.label for one in self.hardly_masked],
            "on_all": None if self.on_all is None else self.on_all.to_dict(),
            "why": self.why,
        }


def choose(points: Sequence[Point], max_risk: float, whole: WholeTable | None = None) -> Choice:
    """The plan with the most utility of those whose risk, at its highest, is allowed.

    Args:
        points: The plans that were tried.
        max_risk: What is allowed.
        whole: All records, every attack and fresh seeds: there too it must be allowed.
    """
    within = sorted((one for one in points if one.high <= max_risk), key=_best_first)
    allowed = [one for one in within if not one.hardly_changed]
    on_all = None if whole is None else _check_on_all(allowed, max_risk, whole)
    if on_all is not None:
        n_tried = len(on_all.unsafe)
        allowed = allowed[n_tried:] if on_all.point is not None else []
    best = allowed[0] if allowed else None
    more = [one for one in points if one.high > max_risk and (best is None or one.utility > best.utility)]
    return Choice(
        max_risk,
        best,
        allowed[1] if len(allowed) > 1 else None,
        min(more, key=_safest_first, default=None) if best is not None else None,
        min(points, key=_safest_first, default=None),
        tuple(one for one in within if one.hardly_changed),
        on_all,
    )


def _check_on_all(allowed: Sequence[Point], max_risk: float, whole: WholeTable) -> WholeTableCheck:
    """Try plans again, those that keep most first, until one is allowed by every attack too."""
    unsafe: list[tuple[str, float | None]] = []
    safe = None
    for one in allowed[:MOST_TRIED_ON_ALL]:
        found = whole.try_plan(one, max_risk)
        if found is not None and found.high <= max_risk and not found.hardly_changed:
            safe = found
            break
        unsafe.append((one.label, None if found is None else found.high))
    n_tried = len(unsafe) + (safe is not None)
    return WholeTableCheck(whole.n_records, whole.n_seeds, whole.is_larger, safe, tuple(unsafe), len(allowed) - n_tried)


def _best_first(point: Point) -> tuple[float, float, float, str]:
    return -point.utility, point.high, point.risk, point.label


def _safest_first(point: Point) -> tuple[float, float, str]:
    return point.high, -point.utility, point.label


def _label(point: Point | None) -> str | None:
    return None if point is None else point.label


def _reasons(choice: Choice) -> list[str]:
    limit = f"{100 * choice.max_risk:g} %"
    best, on_all = choice.point, choice.on_all
    if best is None:
        return _explain_none(choice, limit)
    in_sample = " in the sample" if on_all is not None and on_all.is_larger else ""
    measured = best
    told = [
        f"{best.label} keeps the most utility, {best.utility:.3f}{in_sample}, of the plans that are safe at {limit} "
        "from the attackers tried."
    ]
    if on_all is not None and on_all.point is not None:
        measured = on_all.point
        told.append(
            f"Tried again{on_all.where}, it keeps {measured.utility:.3f}; the upper end of its risk is "
            f"{_percent(measured.high)}, a margin of {100 * (choice.max_risk - measured.high):.2f} percentage points."
        )
    told += [
        f"Its worst attacker: {_describe_worst(measured)}.",
        f"What is lost, from 0 to 1: {_describe_losses(measured)}.",
    ]
    if measured.proved:
        told.append("Its guarantee is proved for this table, under the conditions listed in the evidence of a release.")
    once = "" if on_all is None else f"{in_sample}, and was not tried again"
    if choice.runner_up is not None:
        one = choice.runner_up
        told.append(f"The runner-up, {one.label}, keeps {one.utility:.3f}{once}; {_describe_linked(one)}.")
    if choice.next_cheaper is not None:
        one = choice.next_cheaper
        told.append(
            f"The next plan that keeps more, {one.label}, would keep {one.utility:.3f}, but is not allowed: "
            f"{_describe_linked(one)}."
        )
    told += _describe_hardly_masked(choice)
    return told if on_all is None else [*told, *_describe_unsafe(on_all, choice.max_risk)]


def _describe_hardly_masked(choice: Choice) -> list[str]:
    """Why the plan within the limit that keeps most was not taken, where it hardly masks."""
    if not choice.hardly_masked:
        return []
    one, n = choice.hardly_masked[0], len(choice.hardly_masked)
    others = f", and {count_of(n - 1, 'other plan')}" if n > 1 else ""
    return [
        f"{one.label}{others} would be within the limit, but most cells of some column are released unchanged "
        f"({list_names([repr(name) for name in one.hardly_changed])}): masking would warn about it."
    ]


def _explain_none(choice: Choice, limit: str) -> list[str]:
    safest, on_all = choice.safest, choice.on_all
    if safest is None:
        return ["No plan could be tried."]
    if on_all is not None and on_all.unsafe:
        told = [
            f"No plan was found to be safe at {limit}{on_all.where}.",
            *_describe_unsafe(on_all, choice.max_risk),
        ]
        if on_all.n_not_tried:
            n = on_all.n_not_tried
            told.append(
                f"{count_of(n, 'more plan')} {'was' if n == 1 else 'were'} within the limit at first and "
                f"{'was' if n == 1 else 'were'} not tried again."
            )
        if on_all.is_larger:
            told.append(
                "Take a larger sample, or windows that are a share of the records (percent) instead of a number."
            )
        return told
    tried = " in the sample" if on_all is not None and on_all.is_larger else ""
    if choice.hardly_masked:
        return [
            f"No plan that was tried is safe at {limit}{tried} and masks every column.",
            *_describe_hardly_masked(choice),
        ]
    return [
        f"No plan that was tried is safe at {limit}{tried}.",
        f"The safest is {safest.label}, which keeps a utility of {safest.utility:.3f}.",
        f"Its worst attacker: {_describe_worst(safest)}.",
        _advise(safest, choice.max_risk),
    ]


def _describe_unsafe(on_all: WholeTableCheck, max_risk: float) -> list[str]:
    """Sentences about plans that only looked safe."""
    return [
        f"{label} looked safe{' in the sample' if on_all.is_larger else ''}, but {_describe_again(high, max_risk)} "
        f"when tried again{on_all.where}."
        for label, high in on_all.unsafe
    ]


def _describe_again(high: float | None, max_risk: float) -> str:
    if high is None:
        return "could not be carried out"
    if high <= max_risk:
        return "left most cells of some column unchanged"
    return f"had an upper end of {_percent(high)}"


def _describe_worst(point: Point) -> str:
    worst = point.worst
    if worst is None:
        return "no linkage could be tried"
    known = ", ".join(worst["columns"])
    return f"{worst['attack']} by someone who knows {known}; {_describe_linked(point)}"


def _describe_linked(point: Point) -> str:
    return f"{_percent(point.risk)} of the persons are linked, {_percent(point.high)} at the upper end of an interval"


def _describe_losses(point: Point) -> str:
    told = [f"{LOSS_WORDS[name]} {loss:.3f}" for name, loss in point.losses.items() if loss is not None]
    return ", ".join(told) or "nothing could be measured"


def _advise(safest: Point, max_risk: float) -> str:
    worst = safest.worst
    if worst is not None and worst["low"] <= max_risk and worst["rate"] <= max_risk:
        return (
            "Its rate is within the limit, but so few persons were attacked that the interval is not: a larger table "
            "or sample would show more."
        )
    return "Mask all quasi-identifiers together, leave one out of the release, or try wider groups."


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.0995 else f"{100 * share:.1f} %"


def no_safe_plan(name: str, max_risk: float) -> InputError:
    """No plan of a grid is safe enough to be written."""
    return InputError(
        f"None of the plans that were tried is safe at {100 * max_risk:g} %, so {name!r} was not written; allow more "
        "risk, try a wider grid, or leave a column out of the release."
    )
