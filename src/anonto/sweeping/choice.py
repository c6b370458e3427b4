"""The answer to "what keeps most under this risk?", with the reasons: what it costs, and what the others would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import NoSafePlanError, counted, listed
from anonto.table.beside import written_beside

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from anonto.sweeping.points import Point
    from anonto.sweeping.whole import WholeTable

MOST_TRIED_ON_ALL = 5
"""Plans that are safe in a sample and are tried on the whole table, at most."""
LOSS_WORDS = {
    "moved": "cells moved",
    "distribution": "frequencies changed",
    "dependence": "dependence lost",
    "told_apart": "records told from original ones",
}


@dataclass(frozen=True, eq=False, slots=True)
class OnAll:
    """What the whole table says of plans that are safe in a sample of it."""

    n_records: int
    n_seeds: int
    point: Point | None
    """The plan that is recommended, measured on all records with all seeds."""
    unsafe: tuple[tuple[str, float | None], ...]
    """The plans that were safe in the sample only, with the upper end on the whole table; None where a plan cannot be
    carried out there."""
    n_not_tried: int
    """How many plans that are safe in the sample were not tried on the whole table."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "n_records": self.n_records,
            "n_seeds": self.n_seeds,
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
    """The safest of the plans that keep more and are not allowed: what giving way a little would bring."""
    safest: Point | None
    """The plan with the lowest upper end of all."""
    hardly_masked: tuple[Point, ...] = ()
    """The plans within the limit that leave most cells of a column as they were, which `mask` would warn about."""
    on_all: OnAll | None = None
    """Where the plans were tried on a sample, what the whole table says; the other points are of the sample."""

    @property
    def why(self) -> list[str]:
        """The reasons, in sentences."""
        return _reasons(self)

    def save_plan(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the plan as TOML, with the reasons as comments; refused where none is allowed."""
        from anonto.sweeping.plan_file import plan_text

        target = Path(path)
        if self.point is None:
            raise NoSafePlanError(str(target), self.max_risk)
        text = plan_text(self.point.plan, target.absolute().parent, self.why)
        with written_beside(target, force=force) as beside:
            beside.write_text(text, encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
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
        whole: All records, where the points are of a sample: there too it must be allowed.
    """
    within = sorted((one for one in points if one.high <= max_risk), key=_best_first)
    allowed = [one for one in within if not one.hardly_changed]
    on_all = None if whole is None else _on_all(allowed, max_risk, whole)
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


def _on_all(allowed: Sequence[Point], max_risk: float, whole: WholeTable) -> OnAll:
    """Try plans on all records, those that keep most first, until one is allowed there too."""
    unsafe: list[tuple[str, float | None]] = []
    for one in allowed[:MOST_TRIED_ON_ALL]:
        found = whole.tried(one, max_risk)
        if found is not None and found.high <= max_risk and not found.hardly_changed:
            return OnAll(whole.n_records, whole.n_seeds, found, tuple(unsafe), len(allowed) - len(unsafe) - 1)
        unsafe.append((one.label, None if found is None else found.high))
    return OnAll(whole.n_records, whole.n_seeds, None, tuple(unsafe), len(allowed) - len(unsafe))


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
        return _why_none(choice, limit)
    if on_all is None or on_all.point is None:
        measured = best
        told = [f"{best.label} keeps the most utility, {best.utility:.3f}, of the plans that are safe at {limit}."]
    else:
        measured = on_all.point
        told = [
            f"{best.label} keeps the most utility, {best.utility:.3f} in the sample, of the plans that are safe at "
            f"{limit} there and were found so on the whole table, {counted(on_all.n_records, 'record')} with "
            f"{counted(on_all.n_seeds, 'seed')}.",
            f"On the whole table it keeps {measured.utility:.3f}.",
        ]
    told += [f"Its worst attacker: {_attacked(measured)}.", f"What is lost, from 0 to 1: {_losses(measured)}."]
    if measured.proved:
        told.append("Its guarantee is proved for this table, under the conditions that the evidence of a release says.")
    in_sample = "" if on_all is None else " in the sample, and was not tried on the whole table"
    if choice.runner_up is not None:
        one = choice.runner_up
        told.append(f"The runner-up, {one.label}, keeps {one.utility:.3f}{in_sample}; {_linked(one)}.")
    if choice.next_cheaper is not None:
        one = choice.next_cheaper
        told.append(
            f"The next plan that keeps more, {one.label}, would keep {one.utility:.3f}, but is not allowed: "
            f"{_linked(one)}."
        )
    told += _left_out(choice)
    return told if on_all is None else [*told, *_only_in_sample(on_all, choice.max_risk)]


def _left_out(choice: Choice) -> list[str]:
    """Why the plan within the limit that keeps most was not taken, where it hardly masks."""
    if not choice.hardly_masked:
        return []
    one, n = choice.hardly_masked[0], len(choice.hardly_masked)
    others = f", and {counted(n - 1, 'other plan')}" if n > 1 else ""
    return [
        f"{one.label}{others} would be within the limit, but most cells of some column leave as they were "
        f"({listed([repr(name) for name in one.hardly_changed])}): masking would warn about it."
    ]


def _why_none(choice: Choice, limit: str) -> list[str]:
    safest, on_all = choice.safest, choice.on_all
    if safest is None:
        return ["No plan could be tried."]
    if on_all is not None and on_all.unsafe:
        told = [
            f"No plan was found to be safe at {limit} on the whole table.",
            *_only_in_sample(on_all, choice.max_risk),
        ]
        if on_all.n_not_tried:
            n = on_all.n_not_tried
            told.append(
                f"{counted(n, 'more plan')} {'is' if n == 1 else 'are'} within the limit in the sample and "
                f"{'was' if n == 1 else 'were'} not tried on the whole table."
            )
        told.append("Take a larger sample, or windows that are a share of the records (percent) instead of a number.")
        return told
    tried = "" if on_all is None else " in the sample"
    if choice.hardly_masked:
        return [f"No plan that was tried is safe at {limit}{tried} and masks every column.", *_left_out(choice)]
    return [
        f"No plan that was tried is safe at {limit}{tried}.",
        f"The safest is {safest.label}, which keeps a utility of {safest.utility:.3f}.",
        f"Its worst attacker: {_attacked(safest)}.",
        _what_to_do(safest, choice.max_risk),
    ]


def _only_in_sample(on_all: OnAll, max_risk: float) -> list[str]:
    """The plans that a sample flatters."""
    return [
        f"{label} is within the limit in the sample only: {_on_whole(high, max_risk)}." for label, high in on_all.unsafe
    ]


def _on_whole(high: float | None, max_risk: float) -> str:
    if high is None:
        return "it cannot be carried out on the whole table"
    if high <= max_risk:
        return "on the whole table most cells of some column leave as they were"
    return f"on the whole table the upper end is {_percent(high)}"


def _attacked(point: Point) -> str:
    worst = point.worst
    if worst is None:
        return "no linkage could be tried"
    known = ", ".join(worst["columns"])
    return f"{worst['attack']} by someone who knows {known}; {_linked(point)}"


def _linked(point: Point) -> str:
    return f"{_percent(point.risk)} of the persons are linked, {_percent(point.high)} at the upper end of an interval"


def _losses(point: Point) -> str:
    told = [f"{LOSS_WORDS[name]} {loss:.3f}" for name, loss in point.losses.items() if loss is not None]
    return ", ".join(told) or "nothing could be measured"


def _what_to_do(safest: Point, max_risk: float) -> str:
    worst = safest.worst
    if worst is not None and worst["low"] <= max_risk and worst["rate"] <= max_risk:
        return (
            "Its rate is within the limit, but so few persons were attacked that the interval is not: a larger table "
            "or sample would tell more."
        )
    return "Mask all quasi-identifiers together, leave one out of the release, or try wider groups."


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.0995 else f"{100 * share:.1f} %"
