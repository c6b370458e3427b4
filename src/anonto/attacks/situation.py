"""One intruder and one release: what she knows, whom she looks for, and what was found so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.known import Knowledge
    from anonto.attacks.rate import Risk
    from anonto.encoding.comparison import BothCells, ComparedColumn
    from anonto.random.streams import Seed

    Persons = Longs | None


@dataclass(slots=True, eq=False, repr=False)
class Situation:
    """Input of an attack."""

    compared: Comparison
    """The original and its release."""
    seed: Seed
    """For choices that must not depend on what other attacks drew."""
    who: Knowledge | None = None
    """The intruder's knowledge; None for an attack that is tried once for the release."""
    found: list[Risk] = field(default_factory=list)
    """Results of earlier attacks."""
    drawn: dict[int, Persons] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are known."""
        return () if self.who is None else self.who.names

    @property
    def known(self) -> Sequence[ComparedColumn]:
        """These columns, to be compared with released records."""
        return () if self.who is None else self.who.columns

    @property
    def cells(self) -> Mapping[str, BothCells]:
        """The cells of the known columns that no step masks."""
        return {} if self.who is None else self.who.cells

    @property
    def secrets(self) -> list[ComparedColumn]:
        """Confidential columns, which are not known."""
        described = self.compared.columns.values()
        return [one for one in described if one.description.role == "confidential" and one.name not in self.names]

    @property
    def is_worst(self) -> bool:
        """True if the intruder knows every released column that is not confidential."""
        return self.who is not None and self.who.is_worst

    @property
    def all_are_linked(self) -> bool:
        """True if the worst case links everybody by distance: then no further linkage can reach more."""
        return self.is_worst and bool(self.found) and self.found[0].rate == 1.0

    def draw(self, most: int, rng: np.random.Generator) -> None:
        """Choose persons to be attacked."""
        amounts = self.compared.amounts
        if amounts.n_persons > most:
            self.drawn[most] = np.sort(rng.choice(amounts.n_persons, most, replace=False))
        else:
            self.drawn[most] = None if amounts.row_by_row else np.arange(amounts.n_persons)

    def choose_persons(self, most: int) -> Persons:
        """At most this many persons, the same for all attacks with the same limit; None for all rows."""
        if most not in self.drawn:
            self.draw(most, self.seed.stream("persons", most))
        return self.drawn[most]
