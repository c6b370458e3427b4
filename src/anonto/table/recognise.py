"""Recognising the ontology of a column from its values: the one that knows most cells, as they are written.

Short bare numbers say little, for many systems of codes have a 1 and a 38; they count only where the names of column
and ontology agree. Examples of papers are taken only where nothing else fits and they know everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import counted
from anonto.ontology.matching import matcher_of
from anonto.ontology.spelling import usual_spelling
from anonto.table.cell_texts import says_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.ontology.matching import Placement
    from anonto.table.candidates import Candidate
    from anonto.table.facts import Facts

ENOUGH_CELLS = 0.8
TRUST = {"exact": 1.0, "alternative id": 0.98, "replaced id": 0.98, "normalised id": 0.95, "label": 0.95}
TRUST_OF_OTHERS = 0.85
ENOUGH_TELLING = 5
ENOUGH_NUMBERS = 20
TRIED_FIRST = 400
_WORDING = {
    "alternative id": "by another id",
    "replaced id": "by an obsolete id",
    "normalised id": "after mending case, blanks or dots",
    "leading zeros": "after restoring zeros",
    "label": "by label",
    "synonym": "by synonym",
}


@dataclass(frozen=True, slots=True, eq=False)
class Recognised:
    """The ontology of a column, what becomes of values it does not know, and why it was chosen."""

    candidate: Candidate
    unmatched: str
    na: tuple[str, ...]
    """Unmatched texts that say in words that nothing is known."""
    reasons: tuple[str, ...]
    spelling: str = "id"
    """How most cells are spelt."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How a column fits an ontology."""

    facts: Facts
    candidate: Candidate
    placements: tuple[Placement | None, ...]
    likeness: int

    @property
    def is_matched(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which distinct values have a concept."""
        return np.array([placement is not None for placement in self.placements], dtype=np.bool_)

    @property
    def coverage(self) -> float:
        """The share of the cells that have a concept."""
        return float(self.facts.counts[self.is_matched].sum() / self.facts.n_present)

    @property
    def trusted_coverage(self) -> float:
        """The same, cells that had to be repaired counting less."""
        trust = np.array([TRUST.get(p.rule, TRUST_OF_OTHERS) if p else 0.0 for p in self.placements])
        return float(self.facts.counts @ trust / self.facts.n_present)

    @property
    def specificity(self) -> float:
        """The share of the ontology's concepts that occur."""
        return len({p.concept for p in self.placements if p}) / len(self.candidate.taxonomy)

    @property
    def spelling(self) -> str:
        """How most cells are spelt that have a concept."""
        counted = zip(self.facts.values, self.placements, self.facts.counts.tolist(), strict=True)
        placed = ((value, placement.concept, count) for value, placement, count in counted if placement)
        return usual_spelling(placed, self.candidate.taxonomy)

    @property
    def n_telling(self) -> int:
        """Distinct values with a concept that hardly fit by accident."""
        pairs = zip(self.facts.values, self.placements, strict=True)
        return sum(placement is not None and _is_telling(value) for value, placement in pairs)

    def is_convincing(self) -> bool:
        """Whether the values, or fewer of them with the names, can only mean this ontology."""
        n_matched, n_telling = int(self.is_matched.sum()), self.n_telling
        if self.candidate.is_example:
            return n_matched == len(self.placements) and n_telling >= 3
        if self.coverage < ENOUGH_CELLS:
            return False
        if self.likeness and (n_telling >= 2 or n_matched >= ENOUGH_NUMBERS):
            return True
        is_mutual = n_matched == len(self.placements) and self.specificity >= 0.5
        return n_telling >= (2 if is_mutual else max(ENOUGH_TELLING, len(self.placements) // 5))

    def rank(self) -> tuple[float, ...]:
        """The better fit has the higher rank."""
        return (not self.candidate.is_example, round(self.trusted_coverage, 2), self.likeness, self.specificity)


def recognise(facts: Facts, candidates: Sequence[Candidate]) -> Recognised | None:
    """The ontology of a nominal column, if there is a convincing one."""
    fits = [fit for candidate in candidates if (fit := _fit(facts, candidate)) is not None]
    convincing = [fit for fit in fits if fit.is_convincing()]
    if not convincing:
        return None
    best = max(convincing, key=Fit.rank)
    unmatched = [value for value, p in zip(facts.values, best.placements, strict=True) if p is None]
    na = tuple(value for value in unmatched if says_unknown(value))
    left = [value for value in unmatched if value not in na]
    policy = _policy(left, best.candidate)
    reasons = (_why(best), *_what_of_others(facts, na, left, policy))
    return Recognised(best.candidate, policy, na, reasons, best.spelling)


def known_intervals(facts: Facts, candidates: Sequence[Candidate]) -> Candidate | None:
    """A hierarchy named like a numeric column that lists its numbers: groups of numbers, which add little to them."""
    for candidate in candidates:
        if candidate.likeness(facts.words) and not candidate.is_example:
            known = [value in candidate.taxonomy for value in facts.values]
            if facts.counts[known].sum() >= ENOUGH_CELLS * facts.n_present:
                return candidate
    return None


def _fit(facts: Facts, candidate: Candidate) -> Fit | None:
    """How a column fits, or None when its first values say that it does not."""
    matcher = matcher_of(candidate.taxonomy)
    tried = _tried_first(facts)
    placed = {facts.values[n]: matcher.place(facts.values[n]) for n in tried}
    known = [n for n in tried if placed[facts.values[n]] is not None]
    if facts.counts[known].sum() < 0.5 * facts.counts[tried].sum():
        return None
    placements = tuple(placed[v] if v in placed else matcher.place(v) for v in facts.values)
    return Fit(facts, candidate, placements, candidate.likeness(facts.words))


def _tried_first(facts: Facts) -> list[int]:
    """The most frequent values and some from all over the others."""
    n = len(facts.values)
    if n <= 2 * TRIED_FIRST:
        return list(range(n))
    frequent = np.argsort(-facts.counts, kind="stable")[:TRIED_FIRST].tolist()
    return sorted({*frequent, *range(0, n, n // TRIED_FIRST)})


def _is_telling(value: str) -> bool:
    text = value.strip()
    return len(text) > 3 or (len(text) > 1 and not text.isdigit())


def _policy(left: Sequence[str], candidate: Candidate) -> str:
    if not left:
        return "refuse"
    matcher = matcher_of(candidate.taxonomy)
    placed = all(matcher.concept_of(value, nearest=True) is not None for value in left)
    return "nearest-ancestor" if placed else "keep"


def _why(fit: Fit) -> str:
    n_distinct = len(fit.placements)
    rules = [placement.rule for placement in fit.placements if placement]
    sentence = f"ontology: {len(rules):,} of {n_distinct:,} distinct values are codes of {fit.candidate.title}"
    repaired = [(rule, rules.count(rule)) for rule in _WORDING if rule in rules]
    return ", ".join([sentence, *(f"{count:,} {_WORDING[rule]}" for rule, count in repaired)])


def _what_of_others(facts: Facts, na: Sequence[str], left: Sequence[str], policy: str) -> list[str]:
    said = []
    if na:
        said.append(f"na: no code, and words for unknown, in {_how_many(facts, na)}")
    if left and policy == "nearest-ancestor":
        said.append(f"unmatched: the nearest code above is taken for {_how_many(facts, left)}")
    elif left:
        said.append(f"unmatched: there is no code for {_how_many(facts, left)}; these stay as they are")
    return said


def _how_many(facts: Facts, values: Sequence[str]) -> str:
    return f"{counted(len(values), 'distinct value')} ({counted(facts.cells_of(values), 'cell')})"
