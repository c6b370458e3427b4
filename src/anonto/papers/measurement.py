"""A number measured with every seed: its mean and its spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SEEDS = tuple(2**100 + number for number in range(10))
"""The seeds of every experiment. They are public, so these releases protect nobody."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number for each seed."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Measurement:
        """From numbers of any kind."""
        return cls(tuple(float(value) for value in values))

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return math.fsum(self.values) / len(self.values)

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds; 0 for one seed."""
        if len(self.values) < 2:
            return 0.0
        mean = self.mean
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.spread / math.sqrt(len(self.values))

    def less(self, other: Measurement | float) -> Measurement:
        """The difference to a number of the same seeds, seed by seed, or to a fixed one."""
        if isinstance(other, Measurement):
            return Measurement(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))
        return Measurement(tuple(a - other for a in self.values))


def not_above(smaller: Measurement, larger: Measurement) -> bool:
    """Return whether a mean is at most another, or above it by no more than two standard errors of the difference."""
    allowance = 2 * math.hypot(smaller.error, larger.error)
    return smaller.mean <= larger.mean + allowance
