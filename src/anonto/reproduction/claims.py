"""What the papers claim, marked with what was found: held, not held, or cannot hold.

A *hard* claim follows from how a method is built and must hold in every run. A *soft* one is expected on most data. A
claim *cannot hold* where no data could make it true; that is argued, not measured, and the numbers only show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonto.reproduction.measured import Measured

Kind = Literal["hard", "soft"]
Verdict = Literal["held", "not held", "cannot hold"]
VERDICTS: tuple[Verdict, ...] = ("held", "not held", "cannot hold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence that can be true or false, and what was found."""

    key: str
    """Its number; letters tell the parts of one claim apart, a P marks what a paper says beside its tables."""
    text: str
    kind: Kind
    verdict: Verdict
    found: str
    """The numbers."""
    why: str = ""
    """Why it does not hold; empty where it does."""

    @property
    def fails(self) -> bool:
        """Whether a run with this finding has failed."""
        return self.kind == "hard" and self.verdict != "held"


def judged(key: str, text: str, *, holds: bool, found: str, why: str, kind: Kind = "soft") -> Claim:
    """A claim that numbers decide.

    Args:
        key: Its number.
        text: What is claimed.
        holds: Whether the numbers say so.
        found: The numbers.
        why: The reason, shown if they do not.
        kind: Hard or soft.
    """
    verdict: Verdict = "held" if holds else "not held"
    return Claim(key=key, text=text, kind=kind, verdict=verdict, found=found, why="" if holds else why)


def impossible(key: str, text: str, *, found: str, why: str) -> Claim:
    """A claim that no data could make true."""
    return Claim(key=key, text=text, kind="soft", verdict="cannot hold", found=found, why=why)


def failures(claims: Iterable[Claim]) -> list[Claim]:
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.fails]


def counted_verdicts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    found = [claim.verdict for claim in claims]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True, slots=True)
class Tally:
    """How many comparisons of means came out as claimed."""

    right: int
    all: int

    @property
    def holds(self) -> bool:
        """Whether all did, and there were any."""
        return 0 < self.all == self.right

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.right + other.right, self.all + other.all)

    def __str__(self) -> str:
        return f"{self.right} of {self.all} comparisons"


NOTHING = Tally(0, 0)


def below(smaller: Measured, larger: Measured) -> Tally:
    """Whether one mean is below another."""
    return Tally(int(smaller.mean < larger.mean), 1)


def growing(numbers: Sequence[Measured]) -> Tally:
    """Whether each mean is above the one before."""
    return total(below(first, second) for first, second in pairwise(numbers))


def falling(numbers: Sequence[Measured]) -> Tally:
    """Whether each mean is below the one before."""
    return growing(numbers[::-1])


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies."""
    return sum(tallies, NOTHING)
