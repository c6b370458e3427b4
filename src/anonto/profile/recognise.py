"""Recognition of the ontology of a column: the one that has most of its cells, preferably as they are written.

Short numbers prove little, because many code systems have a 1 and a 38; they only count if the names of column and
ontology agree. The examples of the papers are only used if nothing else fits and they have all values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.io.cell_texts import says_unknown
from anonto.ontology.matching import matcher_of
from anonto.ontology.spelling import usual_spelling
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.ontology.matching import Placement
    from anonto.profile.candidates import Candidate
    from anonto.profile.column_profile import ColumnProfile

ENOUGH_CELLS = 0.8
TRUST = {"exact": 1.0, "alternative id": 0.98, "replaced id": 0.98, "normalised id": 0.95, "label": 0.95}
TRUST_OF_OTHERS = 0.85
ENOUGH_TELLING = 5
ENOUGH_NUMBERS = 20
TRIED_FIRST = 400
_WORDING = {
    "alternative id": "by another id",
    "replaced id": "by an obsolete id",
    "normalised id": "after fixing case, blanks or dots",
    "leading zeros": "after restoring zeros",
    "label": "by label",
    "synonym": "by synonym",
}


@dataclass(frozen=True, slots=True, eq=False)
class Recognised:
    """The ontology of a column, the policy for values that it does not have, and the reasons."""

    candidate: Candidate
    unmatched: str
    na: tuple[str, ...]
    """Unmatched texts that are words for unknown."""
    reasons: tuple[str, ...]
    spelling: str = "id"
    """The spelling of most cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How a column fits an ontology."""

    column: ColumnProfile
    candidate: Candidate
    placements: tuple[Placement | None, ...]
    likeness: int

    @property
    def is_matched(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mask of the distinct values that have a concept."""
        return np.array([placement is not None for placement in self.placements], dtype=np.bool_)

    @property
    def coverage(self) -> float:
        """The share of the cells that have a concept."""
        return float(self.column.counts[self.is_matched].sum() / self.column.n_present)

    @property
    def trusted_coverage(self) -> float:
        """The same, with a lower weight for cells that do not match exactly."""
        trust = np.array([TRUST.get(p.rule, TRUST_OF_OTHERS) if p else 0.0 for p in self.placements])
        return float(self.column.counts @ trust / self.column.n_present)

    @property
    def specificity(self) -> float:
        """The share of the ontology's concepts that occur."""
        return len({p.concept for p in self.placements if p}) / len(self.candidate.taxonomy)

    @property
    def spelling(self) -> str:
        """The spelling of most cells with a concept."""
        counted = zip(self.column.values, self.placements, self.column.counts.tolist(), strict=True)
        placed = ((value, placement.concept, count) for value, placement, count in counted if placement)
        return usual_spelling(placed, self.candidate.taxonomy)

    @property
    def n_telling(self) -> int:
        """The number of distinct values with a concept that are unlikely to match by accident."""
        pairs = zip(self.column.values, self.placements, strict=True)
        return sum(placement is not None and _is_telling(value) for value, placement in pairs)

    def is_convincing(self) -> bool:
        """Return whether the values, or some values and the names, leave no doubt about this ontology."""
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
        """A sort key: better fits are greater."""
        return (not self.candidate.is_example, round(self.trusted_coverage, 2), self.likeness, self.specificity)


def recognise(column: ColumnProfile, candidates: Sequence[Candidate]) -> Recognised | None:
    """The ontology of a nominal column, if there is a convincing one."""
    fits = [fit for candidate in candidates if (fit := _fit(column, candidate)) is not None]
    convincing = [fit for fit in fits if fit.is_convincing()]
    if not convincing:
        return None
    best = max(convincing, key=Fit.rank)
    unmatched = [value for value, p in zip(column.values, best.placements, strict=True) if p is None]
    na = tuple(value for value in unmatched if says_unknown(value))
    left = [value for value in unmatched if value not in na]
    policy = _policy(left, best.candidate)
    reasons = (_why(best), *_what_of_others(column, na, left, policy))
    return Recognised(best.candidate, policy, na, reasons, best.spelling)


def known_intervals(column: ColumnProfile, candidates: Sequence[Candidate]) -> Candidate | None:
    """A hierarchy with the name of a numeric column that lists its numbers: intervals, which add little meaning."""
    for candidate in candidates:
        if candidate.likeness(column.words) and not candidate.is_example:
            known = [value in candidate.taxonomy for value in column.values]
            if column.counts[known].sum() >= ENOUGH_CELLS * column.n_present:
                return candidate
    return None


def _fit(column: ColumnProfile, candidate: Candidate) -> Fit | None:
    """The fit of a column, or None if few of its first values match."""
    matcher = matcher_of(candidate.taxonomy)
    tried = _codes_to_try(column)
    placed = {column.values[n]: matcher.place(column.values[n]) for n in tried}
    known = [n for n in tried if placed[column.values[n]] is not None]
    if column.counts[known].sum() < 0.5 * column.counts[tried].sum():
        return None
    placements = tuple(placed[v] if v in placed else matcher.place(v) for v in column.values)
    return Fit(column, candidate, placements, candidate.likeness(column.words))


def _codes_to_try(column: ColumnProfile) -> list[int]:
    """The most frequent values and a sample of the others."""
    n = len(column.values)
    if n <= 2 * TRIED_FIRST:
        return list(range(n))
    frequent = np.argsort(-column.counts, kind="stable")[:TRIED_FIRST].tolist()
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


def _what_of_others(column: ColumnProfile, na: Sequence[str], left: Sequence[str], policy: str) -> list[str]:
    said = []
    if na:
        said.append(f"na: no code, and words for unknown, in {_how_many(column, na)}")
    if left and policy == "nearest-ancestor":
        said.append(f"unmatched: the nearest code above is taken for {_how_many(column, left)}")
    elif left:
        said.append(f"unmatched: there is no code for {_how_many(column, left)}; these stay as they are")
    return said


def _how_many(column: ColumnProfile, values: Sequence[str]) -> str:
    return f"{count_of(len(values), 'distinct value')} ({count_of(column.cells_of(values), 'cell')})"
