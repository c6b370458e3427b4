"""Success of an attack on members, with the success on others as a control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.rate import Risk, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonto.arrays import Floats


def gain(success: float, control: float) -> float:
    """Success beyond the control, from 0 to 1."""
    return max(0.0, (success - control) / (1.0 - control)) if control < 1.0 else 0.0


def risk_of_success(
    hits: Floats,
    others: Floats | None,
    *,
    attack: str,
    knowledge: str,
    columns: Iterable[str],
    baseline: float,
    details: Mapping[str, Any],
) -> Risk:
    """Result of an attack: what it gains over a control; without one, its success.

    Args:
        hits: For each member the chance of success.
        others: The same for persons who are not in the table; None if there are none.
        attack: The name of the attack.
        knowledge: What the intruder knows and does.
        columns: The known columns.
        baseline: Success by chance, where there is no control.
        details: Further plain numbers.
    """
    success = float(hits.mean()) if hits.size else 0.0
    low, high = wilson_interval(float(hits.sum()), int(hits.size))
    control = None if others is None or not others.size else float(others.mean())
    if control is not None:
        rate, low, high, baseline = gain(success, control), gain(low, control), gain(high, control), 0.0
    else:
        rate = success
    return Risk(
        attack=attack,
        knowledge=knowledge,
        columns=tuple(columns),
        rate=rate,
        low=low,
        high=high,
        baseline=baseline,
        control=control,
        n=int(hits.size),
        details={**details, "success": success},
    )
