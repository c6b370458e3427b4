"""Rows on which losses are measured where all would be too many: a choice that only the original decides.

Two releases of one table must be told against the same original. So a row is chosen by its place in the original and by
the name of what is measured: not by the release, by the plan, or by what was drawn before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.rng import Seed, row_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Choices of rows by name."""

    seed: Seed = field(default_factory=lambda: Seed(0))
    positions: Longs | None = None
    """For each row its place in the original; None where the rows are those of the original."""

    def some(self, name: str, n_rows: int, most: int) -> Longs:
        """So many of the first rows, in their order."""
        return np.sort(self.shuffled(name, np.arange(n_rows))[:most])

    def shuffled(self, name: str, rows: Longs) -> Longs:
        """Some rows in an order by chance."""
        places = rows if self.positions is None else self.positions[rows]
        return np.asarray(rows[np.argsort(row_words(self.seed.key(name), places, "order")[0], kind="stable")])

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for a name."""
        return self.seed.stream(name)
