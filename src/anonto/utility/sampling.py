"""Samples of rows on which losses are measured in large tables: only the original decides the choice.

Two releases of one table must be compared with the same original. So a row is chosen by its place in the original and
by the name of what is measured: not by the release, by the plan, or by what was drawn before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.random.streams import Seed, row_words

if TYPE_CHECKING:
    from anonto.arrays import Longs


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Choices of rows by name."""

    seed: Seed = field(default_factory=lambda: Seed(0))
    positions: Longs | None = None
    """The place of each row in the original; None where the rows are those of the original."""

    def some(self, name: str, n_rows: int, most: int) -> Longs:
        """At most this many of the first rows, in their order."""
        return np.sort(self.shuffle(name, np.arange(n_rows))[:most])

    def shuffle(self, name: str, rows: Longs) -> Longs:
        """Some rows in random order."""
        places = rows if self.positions is None else self.positions[rows]
        return np.asarray(rows[np.argsort(row_words(self.seed.key(name), places, "order")[0], kind="stable")])

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for a name."""
        return self.seed.stream(name)
