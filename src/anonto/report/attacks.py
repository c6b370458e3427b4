"""The attacks of an assessment as rows of a report: what the intruder knows, what she reaches, and what that means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks, is_linkage
from anonto.attacks.shares import capital, percent
from anonto.report.counts import NOT_SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.attacks.rate import Risk
    from anonto.report.gate import Gate, MeasuredGate

ABOUT = ("inferred", "within", "score")
"""Details that distinguish several results of an attack."""
SAID = (*ABOUT, "matching", "whole_rows")
"""Details that are shown elsewhere."""


def is_shown(one: Risk, gate: Gate) -> bool:
    """Return whether an edition shows an attack; how it was saved is visible to everybody who has the original."""
    return attacks()[one.attack].of_saving or _figures(one, gate).shows(one.n)


def _figures(one: Risk, gate: Gate) -> MeasuredGate:
    """The gate of the result of an attack."""
    return gate.about(one.columns, alone=attacks()[one.attack].of_known_columns)


def _rate(one: Risk, gate: Gate) -> dict[str, Any]:
    """The rate and its interval; one that follows from how the release was saved is no figure of the records."""
    if not attacks()[one.attack].of_saving:
        return _figures(one, gate).rate(one.rate, one.low, one.high, one.n)
    ends = {name: gate.known(value) for name, value in (("rate", one.rate), ("low", one.low), ("high", one.high))}
    return {**ends, "shown": percent(one.rate)}


def attack_row(one: Risk, gate: Gate) -> dict[str, Any]:
    """One attack as a report shows it."""
    figures = _figures(one, gate)
    about = next((one.details[name] for name in ABOUT if one.details.get(name)), None)
    row: dict[str, Any] = {
        "attack": one.attack,
        "columns": list(one.columns),
        "about": str(about) if about else None,
        "matching": one.details.get("matching"),
        "what": attacks()[one.attack].does,
        "knowledge": _sentence(one.knowledge) if gate.is_internal else attacks()[one.attack].knows,
        **_rate(one, gate),
        "baseline": _baseline(one, gate),
        "control": None if one.control is None else figures.share(one.control, one.n),
        "n": figures.size(one.n),
        "whole_rows": bool(one.details.get("whole_rows")),
    }
    details = _finite(dict(one.details)) if gate.is_internal else {}
    row["reading"] = _reading(row, details)
    if gate.is_internal:
        row["details"] = {name: value for name, value in details.items() if name not in SAID}
    return row


def _finite(value: Any) -> Any:
    """Plain data without numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _baseline(one: Risk, gate: Gate) -> float | None:
    """Success by chance; for a linkage it is one over the number of records, which the release shows."""
    if is_linkage(one.attack) and one.baseline and math.isclose(1 / one.baseline, round(1 / one.baseline)):
        return gate.known(one.baseline if gate.is_internal else round(one.baseline, 6))
    return _figures(one, gate).share(one.baseline, one.n)


def _sentence(text: str) -> str:
    return capital(text) + ("" if text.endswith(".") else ".")


def _reading(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    if row["shown"] == NOT_SHOWN:
        return "Too few were attacked, or met, to publish how many."
    if not row["n"]:
        return "Nobody could be attacked: there is no such record."
    return attacks()[row["attack"]].reading(row, details)
