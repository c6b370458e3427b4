"""Claims of the papers, with a verdict: held, not held, or cannot hold.

A *hard* claim follows from how a method is built and must hold in every run. A *soft* one is expected on most data. A
claim *cannot hold* where no data could make it true; that is argued, not measured, and the numbers only show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonto.papers.measurement import Measurement

Kind = Literal["hard", "soft"]
Verdict = Literal["held", "not held", "cannot hold"]
VERDICTS: tuple[Verdict, ...] = ("held", "not held", "cannot hold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence that can be true or false, and its verdict."""

    key: str
    """Its number; letters mark the parts of a claim, a P marks what a paper says outside its tables."""
    text: str
    kind: Kind
    verdict: Verdict
    found: str
    """The numbers."""
    why: str = ""
    """Why it does not hold; empty where it does."""

    @property
    def fails(self) -> bool:
        """True if a run with this finding has failed."""
        return self.kind == "hard" and self.verdict != "held"


def judge(key: str, text: str, *, holds: bool, found: str, why: str, kind: Kind = "soft") -> Claim:
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


def count_verdicts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    found = [claim.verdict for claim in claims]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True, slots=True)
class Comparisons:
    """How many comparisons of means came out as claimed."""

    right: int
    all: int

    @property
    def holds(self) -> bool:
        """True if all came out as claimed, and there was at least one."""
        return 0 < self.all == self.right

    def __add__(self, other: Comparisons) -> Comparisons:
        return Comparisons(self.right + other.right, self.all + other.all)

    def __str__(self) -> str:
        return f"{self.right} of {self.all} comparisons"


NOTHING = Comparisons(0, 0)


def count_below(smaller: Measurement, larger: Measurement) -> Comparisons:
    """Return whether one mean is below another."""
    return Comparisons(int(smaller.mean < larger.mean), 1)


def count_growing(numbers: Sequence[Measurement]) -> Comparisons:
    """How many means are above the one before."""
    return total(count_below(first, second) for first, second in pairwise(numbers))


def count_falling(numbers: Sequence[Measurement]) -> Comparisons:
    """How many means are below the one before."""
    return count_growing(numbers[::-1])


def total(tallies: Iterable[Comparisons]) -> Comparisons:
    """The sum of tallies."""
    return sum(tallies, NOTHING)
