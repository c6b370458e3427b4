"""From hits to a rate with an interval and a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonto.arrays import Floats

Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """The result of one attack. The direction is always the same: 0 is safe, 1 is disclosed."""

    attack: str
    knowledge: str
    """The intruder's knowledge and action."""
    columns: tuple[str, ...]
    """The columns that are known of a person."""
    rate: float
    low: float
    high: float
    baseline: float
    """Success by chance: that of a blind guess, or without the release."""
    n: int
    """How many persons, or cells, were attacked."""
    control: float | None = None
    """Success of the same attack on records that are not in the table."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further plain numbers by name."""

    @classmethod
    def of_hits(
        cls,
        hits: float,
        n: int,
        *,
        attack: str,
        knowledge: str,
        columns: Iterable[str],
        baseline: float,
        details: Mapping[str, Any] | None = None,
    ) -> Risk:
        """Result of an attack on n persons, or cells, from the number of hits, which may be a fraction."""
        low, high = wilson_interval(hits, n)
        return cls(
            attack=attack,
            knowledge=knowledge,
            columns=tuple(columns),
            rate=hits / n if n else 0.0,
            low=low,
            high=high,
            baseline=baseline,
            n=n,
            details=details or {},
        )

    @classmethod
    def of_links(cls, hits: Floats, n_rows: int, **described: Any) -> Risk:
        """Result of a linkage, from each person's probability to be linked; a blind guess takes any of the rows."""
        baseline = 1.0 / n_rows if n_rows else 0.0
        return cls.of_hits(float(hits.sum()), int(hits.size), baseline=baseline, **described)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        keys = ("attack", "knowledge", "columns", "rate", "low", "high", "baseline", "n")
        plain = {key: getattr(self, key) for key in keys} | {"columns": list(self.columns)}
        if self.control is not None:
            plain["control"] = self.control
        return {**plain, **self.details}


def wilson_interval(hits: float, n: int, among: int = 1) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate; hits may be fractions, as with ties.

    Args:
        hits: How many attacks succeeded.
        n: How many were tried.
        among: The number of rates whose intervals hold together with 95 %: each misses with 5 % divided by this number
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
