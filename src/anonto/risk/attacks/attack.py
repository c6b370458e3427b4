"""What every attack has: a name, what the intruder knows and does, when it is tried, and how its result is read.

The texts are here without the computation, which each attack loads when it runs: an app that shows them waits for no
compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from anonto.risk.telling import capital, in_thousand, percent, persons_met

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.risk.rate import Risk
    from anonto.risk.situation import Situation


class Attack:
    """One way to attack a release; a class of its own says what differs."""

    name: ClassVar[str]
    title: ClassVar[str]
    """What the app calls it."""
    summary: ClassVar[str]
    """What the app says of it."""
    knows: ClassVar[str]
    """What the intruder knows, in words that name no parameter."""
    does: ClassVar[str]
    """What the intruder does."""
    verdict: ClassVar[str] = ""
    """What a linkage does, after \"who knows … and\"."""
    not_tried: ClassVar[str] = ""
    """What a report says where it was not tried."""
    once: ClassVar[bool] = False
    """Whether it is tried once for a release, and not by every intruder with what she knows."""
    is_linkage: ClassVar[bool] = False
    """Whether it takes released records for those of persons."""
    of_two_releases: ClassVar[bool] = False
    """Whether it looks at two releases, where proofs are about one."""
    of_known_columns: ClassVar[bool] = False
    """Whether its rate follows from the columns that are known of a person alone; the public edition shows no other."""
    needs_trial: ClassVar[bool] = True
    """Whether a report says so where it was not tried."""
    persons: ClassVar[int | None] = None
    """Of larger tables as many persons, chosen at random, are attacked; None where it needs no such choice."""

    def applies(self, situation: Situation) -> bool:
        """Whether it is tried."""
        del situation
        return True

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Attack.

        Args:
            situation: The original and its release, what the intruder knows, and what other attacks found.
            rng: For every choice that is left to chance.
        """
        raise NotImplementedError

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """What tells apart several results of it, as plain data; None where nothing does."""
        within = found.get("within")
        return within if isinstance(within, str) else None

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence that needs no statistics.

        Args:
            row: The result as the report shows it.
            details: Further numbers; none in the public edition.
        """
        chance = in_thousand(row["baseline"])
        if not self.is_linkage:
            return f"It succeeds for {persons_met(row)}; chance alone for {chance}."
        proven = details.get("proven_share")
        said = f" For {percent(proven)} the link is proved: no other record is possible." if proven else ""
        return f"{capital(persons_met(row))} are linked to their own record; blind guessing links {chance}.{said}"
