"""Equivalence classes of a sample: how many sampled persons share all quasi-identifiers, and of how many people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs


@dataclass(frozen=True, eq=False, repr=False)
class SampleClasses:
    """The classes of a sample, and the population that it was drawn from."""

    sizes: Longs
    """Sampled persons of each class; all are above 0."""
    fractions: Floats
    """The share of the people of each class that was sampled, as weights or the sampling fraction say: 0 to 1."""
    n_population: float
    """People of the population."""
    known: Longs | None = None
    """People of each class, where a table of the population was counted; None where they are estimated."""
    known_unique: int | None = None
    """People of that table who are alone in their class."""

    @property
    def n_persons(self) -> int:
        """Sampled persons."""
        return int(self.sizes.sum())

    @property
    def n_classes(self) -> int:
        """Classes of the sample."""
        return int(self.sizes.size)

    @property
    def fraction(self) -> float:
        """The sampling fraction."""
        return self.n_persons / self.n_population

    @property
    def n_unique(self) -> int:
        """Sampled persons who are alone in their class."""
        return int(np.count_nonzero(self.sizes == 1))

    @cached_property
    def histogram(self) -> SizeCounts:
        """How many classes have each size."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        return SizeCounts(sizes.astype(np.float64), counts.astype(np.float64))

    @cached_property
    def kinds(self) -> tuple[Floats, Floats, Longs]:
        """The distinct pairs of a size and a fraction, and for each class the number of its pair."""
        pairs = np.stack([self.sizes.astype(np.float64), self.fractions])
        distinct, kind_of = np.unique(pairs, axis=1, return_inverse=True)
        return distinct[0], distinct[1], kind_of.ravel()


@dataclass(frozen=True, eq=False, repr=False)
class SizeCounts:
    """The sizes that classes have, and how many classes have each."""

    sizes: Floats
    counts: Floats

    @property
    def n_persons(self) -> float:
        """Sampled persons."""
        return float(self.sizes @ self.counts)

    @property
    def n_classes(self) -> float:
        """Classes of the sample."""
        return float(self.counts.sum())

    def of_size(self, size: int) -> float:
        """The number of classes of a size."""
        return float(self.counts[self.sizes == size].sum())

    def resampled(self, rng: np.random.Generator) -> SizeCounts:
        """As many classes as chance gives if each class stands for one of a Poisson number of its size."""
        counts = rng.poisson(self.counts).astype(np.float64)
        return SizeCounts(self.sizes[counts > 0], counts[counts > 0])
