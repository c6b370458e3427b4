"""What every engine does: count the values of a table where its rows are, and mask them there with a fitted plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anonto.masking.fit import CountingEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.masking.fitted import FittedSteps
    from anonto.masking.released import Tallies
    from anonto.release import MaskedRows


class Engine(CountingEngine, Protocol):
    """A table, wherever its rows are."""

    @property
    def names(self) -> Sequence[str]:
        """All columns."""
        ...

    def apply(self, fitted: FittedSteps) -> tuple[MaskedRows, Tallies]:
        """Mask all rows, and tell what became of them; nothing is written yet."""
        ...
