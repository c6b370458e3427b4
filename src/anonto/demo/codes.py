"""Diagnoses to draw from: codes with their frequencies, and whether they fit a patient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.demo.chapters import (
    CHAPTERS,
    FOR_ALL,
    FOR_MEN,
    FOR_MOTHERS,
    FOR_NEWBORNS,
    FOR_WOMEN,
    RANGES,
    WORDS,
)

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Longs, SignedBytes
    from anonto.taxonomy.taxonomy import Taxonomy


N_TAIL = 150
"""The number of occasional codes of a chapter, in addition to the common ones."""
SHARE_TAIL = 0.45
SHARE_RARE = 0.006
"""The share of a chapter's diagnoses with any other code."""
REDRAWS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Codes in groups, each with its frequency in the group."""

    codes: Longs
    groups: Longs
    bounds: Floats
    """Where the codes end if each group g fills the way from g to g + 1."""

    def draw(self, groups: Longs, rng: np.random.Generator) -> Longs:
        """A code of each group; −1 where the group is empty."""
        places = np.searchsorted(self.bounds, groups + rng.random(groups.size), side="right")
        found = np.minimum(places, self.codes.size - 1)
        return np.where(self.groups[found] == groups, self.codes[found], -1)


def pool_of(codes: Longs, groups: Longs, weights: Floats) -> Pool:
    """A pool of codes with these weights in their groups; codes of weight 0 are never drawn."""
    order = np.lexsort((codes, groups))
    order = order[weights[order] > 0]
    grouped, ordered = groups[order], weights[order]
    totals = np.bincount(grouped, weights=ordered, minlength=int(groups.max()) + 1)
    running = np.cumsum(ordered / totals[grouped])
    first = np.searchsorted(grouped, grouped)
    within = running - np.concatenate([[0.0], running])[first]
    last = np.append(grouped[1:] != grouped[:-1], True)
    bounds: Floats = grouped.astype(np.float64) + np.where(last, 1.0, np.minimum(within, 1.0))
    return Pool(codes[order], grouped, bounds)


@dataclass(frozen=True, slots=True, eq=False)
class Diagnoses:
    """The codes of a release of ICD-10-CM that discharges are drawn from."""

    chapter_of: Longs
    """The chapter of each concept, as its place in `CHAPTERS`; −1 for a chapter that is not used."""
    block_of: Longs
    fits: SignedBytes
    """The patients that each concept is possible for."""
    by_chapter: Pool
    by_block: Pool
    neutral: int
    """A code that fits everyone."""


def diagnoses_of(taxonomy: Taxonomy, rng: np.random.Generator) -> Diagnoses:
    """Give the codes of a release their frequencies."""
    leaves = np.flatnonzero(np.diff(taxonomy.child_offsets) == 0)
    leaves = leaves[[_is_first_encounter(taxonomy.ids[leaf]) for leaf in leaves.tolist()]]
    chapter_of = np.full(len(taxonomy), -1, dtype=np.int64)
    above = _ancestors_at(taxonomy, 2)
    weights = np.zeros(len(taxonomy))
    is_usual = np.zeros(len(taxonomy), dtype=np.bool_)
    for place, chapter in enumerate(CHAPTERS):
        common = np.array([taxonomy.index[code] for code in chapter.common if code in taxonomy], dtype=np.int64)
        chapter_of[np.isin(above, above[common])] = place
        others = rng.permutation(np.setdiff1d(leaves[chapter_of[leaves] == place], common))
        weights[common] = _falling_weights(common.size, 1.0) * (1 - SHARE_TAIL - SHARE_RARE)
        weights[others[:N_TAIL]] = _falling_weights(min(N_TAIL, others.size), 0.9) * SHARE_TAIL
        weights[others[N_TAIL:]] = SHARE_RARE / max(others.size - N_TAIL, 1)
        is_usual[common] = is_usual[others[:N_TAIL]] = True
    used = np.flatnonzero(weights)
    usual = np.flatnonzero(is_usual)
    block_of = _ancestors_at(taxonomy, 3)
    return Diagnoses(
        chapter_of=chapter_of,
        block_of=block_of,
        fits=_fits(taxonomy),
        by_chapter=pool_of(used, chapter_of[used], weights[used]),
        by_block=pool_of(usual, block_of[usual], weights[usual] ** 0.7),
        neutral=taxonomy.index["R69"] if "R69" in taxonomy else int(used[0]),
    )


def draw_codes(
    pool: Pool,
    groups: Longs,
    allowed: Bools,
    fits: SignedBytes,
    rng: np.random.Generator,
    avoid: Longs | None = None,
) -> Longs:
    """Draw a code of each record's group that is possible for its patient; −1 if none was found.

    Args:
        pool: The codes.
        groups: The group of each record.
        allowed: For each record and each kind of code, whether the code is possible.
        fits: The kind of each concept.
        rng: The generator of the draws.
        avoid: For each record a code that it already has.
    """
    codes = np.full(groups.size, -1, dtype=np.int64)
    open_records = np.arange(groups.size)
    for _ in range(REDRAWS):
        drawn = pool.draw(groups[open_records], rng)
        good = (drawn >= 0) & allowed[open_records, fits[drawn]]
        if avoid is not None:
            good &= drawn != avoid[open_records]
        codes[open_records[good]] = drawn[good]
        open_records = open_records[~good]
        if not open_records.size:
            break
    return codes


def allowed_kinds(age: Longs, is_woman: Bools) -> Bools:
    """The kinds of codes that go with each person's age and sex."""
    kinds = np.empty((age.size, 5), dtype=np.bool_)
    kinds[:, FOR_ALL] = True
    kinds[:, FOR_WOMEN] = is_woman & (age > 0)
    kinds[:, FOR_MEN] = ~is_woman
    kinds[:, FOR_MOTHERS] = is_woman & (age >= 15) & (age <= 49)
    kinds[:, FOR_NEWBORNS] = age == 0
    return kinds


def _falling_weights(size: int, exponent: float) -> Floats:
    weights = 1.0 / np.arange(2, size + 2) ** exponent
    return np.asarray(weights / weights.sum())


def _is_first_encounter(code: str) -> bool:
    """Codes of injuries end in a letter for the encounter; people in hospital have the first one."""
    letters = code.replace(".", "")
    return len(letters) < 7 or letters.endswith("A")


def _ancestors_at(taxonomy: Taxonomy, depth: int) -> Longs:
    """The ancestor of each concept at a depth (itself above it), following one parent each."""
    found = np.arange(len(taxonomy))
    for concept in taxonomy.order:
        if taxonomy.depths[concept] > depth:
            found[concept] = found[taxonomy.parent_indices[taxonomy.parent_offsets[concept]]]
    return found


def _fits(taxonomy: Taxonomy) -> SignedBytes:
    kinds = np.full(len(taxonomy), FOR_ALL, dtype=np.int8)
    labels = pl.Series([f" {label.lower()} " for label in taxonomy.labels], dtype=pl.String)
    for kind, words in WORDS.items():
        kinds[labels.str.contains_any(list(words)).to_numpy()] = kind
    starts = np.array([code[:3] for code in taxonomy.ids])
    for kind, texts in RANGES.items():
        for text in texts:
            kinds[(text[:3] <= starts) & (starts <= text[-3:])] = kind
    return kinds
