"""From hits to a rate with an interval and a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """The result of one attack. The direction is always the same: 0 is safe, 1 is disclosed."""

    attack: str
    knowledge: str
    """What the intruder knows and does."""
    columns: tuple[str, ...]
    """The columns that are known of a person."""
    rate: float
    low: float
    high: float
    baseline: float
    """What somebody without the release, or a blind guess, reaches."""
    n: int
    """How many persons, or cells, were attacked."""
    control: float | None = None
    """What the same attack reaches on records that are not in the table."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further plain numbers by name."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        plain = {
            "attack": self.attack,
            "knowledge": self.knowledge,
            "columns": list(self.columns),
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "baseline": self.baseline,
            "n": self.n,
        }
        if self.control is not None:
            plain["control"] = self.control
        return {**plain, **self.details}


def wilson_interval(hits: float, n: int, among: int = 1) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate; hits may be fractions, as of ties.

    Args:
        hits: How many were met.
        n: Of how many.
        among: Of how many rates the intervals shall hold all together with 95 %: each misses with 5 % divided by them
            (Bonferroni).

    Reference: Wilson, Journal of the American Statistical Association 22 (1927).
    """
    if n == 0:
        return 0.0, 1.0
    rate = hits / n
    z = Z_95 if among <= 1 else NormalDist().inv_cdf(1 - 0.025 / among)
    square = z**2
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))
