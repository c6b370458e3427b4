"""Base class of the attacks: a name, what the intruder knows and does, when it is tried, and how its result is read.

The texts are here without the computation, which each attack loads when it runs: an app that shows them waits for no
compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from anonto.attacks.criteria import INFERENCE, LINKABILITY, SINGLING_OUT
from anonto.attacks.shares import capital, in_thousand, percent, share_of_persons

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.criteria import Criterion
    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation

CRITERION_OF = {"classes": SINGLING_OUT, "secrets": INFERENCE, "cells": INFERENCE}
"""The criterion on which a rate is evidence, by its subject, unless the attack says otherwise."""


class Attack:
    """One way to attack a release; a class of its own says what differs."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Its title in the app."""
    summary: ClassVar[str]
    """Its description in the app."""
    knows: ClassVar[str]
    """The intruder's knowledge, in words that name no parameter."""
    does: ClassVar[str]
    """The intruder's action."""
    verdict: ClassVar[str] = ""
    """Action of a linkage, after \"who knows … and\"."""
    not_tried: ClassVar[str] = ""
    """Text of a report where it was not tried."""
    once: ClassVar[bool] = False
    """True if it is tried once for a release, and not by every intruder with what she knows."""
    is_linkage: ClassVar[bool] = False
    """True if it links released records to persons."""
    of_two_releases: ClassVar[bool] = False
    """True if it looks at two releases, where proofs are about one."""
    of_unknown_columns: ClassVar[bool] = False
    """True if it reads columns that are not known of a person, where proofs are about the known ones alone."""
    of_known_columns: ClassVar[bool] = False
    """True if its rate follows from the columns that are known of a person alone; the public edition shows no other."""
    measures: ClassVar[Literal["persons", "classes", "secrets", "cells"]] = "persons"
    """Subject of the rate: persons who are recognised, records that are alone in their class, confidential values
    that are inferred, or released cells near the original ones. Each has a table of its own in the app."""
    answers: ClassVar[tuple[Criterion, ...] | None] = None
    """The criteria of Opinion 05/2014 on which its rate is evidence; None for those that follow from `measures`, and
    from `is_linkage`."""
    of_saving: ClassVar[bool] = False
    """Whether its rate follows from how the release was saved, whatever its cells are: both editions of a report show
    it, and another masking of the table that is saved in the same way has the same."""
    of_few_columns: ClassVar[bool] = False
    """Whether its result is `Assessment.partial`."""
    finding: ClassVar[str] = ""
    """A finding of the report wherever it has a result."""
    weakness: ClassVar[str] = ""
    """The finding as a part of the public verdict, after \"that\"."""
    advice: ClassVar[str] = ""
    """Advice on the finding."""
    is_costly: ClassVar[bool] = False
    """Whether a sweep leaves it out while it compares many plans, and tries it only on the plans worth recommending."""
    needs_trial: ClassVar[bool] = True
    """True if a report says so where it was not tried."""
    persons: ClassVar[int | None] = None
    """Number of persons, chosen at random, that are attacked in larger tables; None to attack all."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria of Opinion 05/2014 on which its rate is evidence; none for what they do not ask about."""
        if self.answers is not None:
            return self.answers
        if self.is_linkage:
            return SINGLING_OUT, LINKABILITY  # a right link isolates the person's record, and links two of hers
        return (CRITERION_OF[self.measures],) if self.measures in CRITERION_OF else ()

    def applies(self, situation: Situation) -> bool:
        """Return whether it is tried."""
        del situation
        return True

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Attack.

        Args:
            situation: The original and its release, what the intruder knows, and what other attacks found.
            rng: For every random choice.
        """
        raise NotImplementedError

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Attack a release that another tool made; nothing by default.

        Args:
            situation: The original, the release and, if there are some, persons held out.
        """
        del situation
        return []

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """Key that distinguishes several results of it, as plain data; None for a single result."""
        within = found.get("within")
        return within if isinstance(within, str) else None

    def before_masking(self, found: Mapping[str, Any]) -> list[tuple[str, str, str]]:  # noqa: ARG002
        """The app's summary of its result on an unmasked table: words, the term that explains them, and a number.

        Args:
            found: The result as plain data.
        """
        return []

    def judge_unmasked(self, found: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The app's sentence about its result on an unmasked table; nothing by default."""
        return ""

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence that needs no statistics.

        Args:
            row: The result as the report shows it.
            details: Further numbers; none in the public edition.
        """
        chance = in_thousand(row["baseline"])
        if not self.is_linkage:
            return f"It succeeds for {share_of_persons(row)}; chance alone for {chance}."
        proven = details.get("proven_share")
        said = f" For {percent(proven)} the link is proved: no other record is possible." if proven else ""
        return f"{capital(share_of_persons(row))} are linked to their own record; blind guessing links {chance}.{said}"


class ForeignAttack(Attack):
    """One way to attack a release that another tool made; where a plan is known, other attacks do better."""

    once = True
    needs_trial = False

    def applies(self, situation: Situation) -> bool:
        """Not where a plan is known."""
        del situation
        return False
