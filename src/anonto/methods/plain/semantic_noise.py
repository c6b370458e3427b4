r"""Semantic noise of one column, cell by cell: the same replacements as `anonto.methods.noise`.

With ε the noise of value a and r its reference, a becomes

$$\arg\min_{c \in F} sd(c, a), \quad F = \{c \in C : sd(c, a) \ge |\varepsilon|\}, \quad
C = \{c : sd(c, r) > sd(a, r)\} \text{ if } \varepsilon > 0, \text{ else } \{c : sd(c, r) < sd(a, r)\}$$

The random words of a cell decide between ties as in the compiled loops, so the replacements are the same.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
Algorithm 1; eq. 7 and 8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.noise import replacements
from anonto.methods.noise_kernels import CONFLICT, TRIES, TRUNCATED
from anonto.rng import row_words
from anonto.rng_kernels import mixed, normals
from anonto.stats.centre import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.noise import Replacements
    from anonto.rng import Key
    from anonto.table.attributes import NominalAttribute

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Words = NDArray[np.uint64]


def semantic_noise(
    name: str, column: NominalAttribute, noise_level: float, codes: Codes, rows: Longs, key: Key, *, nearest: bool
) -> Codes:
    """Mask a column of concepts with normal noise in the scale of its semantic variance; all concepts are candidates.

    Args:
        name: Of the column.
        column: With the counts of its values.
        noise_level: α, the share of the variance that is added.
        codes: The values of some rows; −1 stays.
        rows: The numbers of these rows.
        key: The secret of the step.
        nearest: Whether the noise is rounded to the nearest concept and not up.
    """
    # Step 1: the semantic mean (eq. 7) and the semantic variance, the mean squared distance to it (eq. 8).
    mean = mean_of(column)
    variance = float(column.shares @ column.distances_to(mean) ** 2)
    # Step 2: ε ~ N(0, α·variance) for each row.
    first, second = row_words(key, rows, f"noise of {name}")
    noise = math.sqrt(noise_level) * math.sqrt(variance) * normals(first)
    # Step 3: replace each value, with the mean as reference.
    found = replacements(column, column.domain.ids, (mean,))
    return replaced(found, noise, second, codes, None, nearest=nearest)[0]


def replaced(
    found: Replacements, noise: Floats, words: Words, codes: Codes, references: Codes | None, *, nearest: bool
) -> tuple[Codes, NDArray[np.uint8]]:
    """As `Replacements.replaced`, which explains the arguments: released codes, and what is noted of each cell."""
    concepts = [*found.candidates, *found.references, *found.attribute.concepts]
    everything, number_of = found.attribute.codes_of(concepts)
    n_candidates, n_references = len(found.candidates), len(found.references)
    distances = np.round(everything.distances()[np.ix_(number_of, number_of)], 12)
    out, fate = np.full(codes.size, -1, dtype=np.int32), np.zeros(codes.size, dtype=np.uint8)
    for cell in np.flatnonzero(codes >= 0).tolist():
        value = n_candidates + n_references + int(codes[cell])
        reference = n_candidates + (0 if references is None else int(references[cell]))
        # Where the reference is not the mean, ties are listed by their direction from the mean first.
        side = np.sign(distances[n_candidates, :n_candidates] - distances[n_candidates, value])
        listed = np.argsort(side, kind="stable")
        directed = np.sign(distances[reference, :n_candidates] - distances[reference, value])
        away = distances[value, :n_candidates]
        by_mean = reference == n_candidates
        word = int(words[cell])
        place, fate[cell] = replacement(away, directed, listed, float(noise[cell]), word, nearest, by_mean)
        out[cell] = found.released_codes[found.places[codes[cell]] if place is None else place]
    return out, fate


def replacement(
    away: Floats, directed: Floats, listed: Longs, noise: float, word: int, nearest: bool, by_mean: bool
) -> tuple[int | None, int]:
    """Replace(a, r, ε) of Algorithm 1: which candidate replaces a value, None for itself; and what is noted.

    Args:
        away: The distance of each candidate to the value.
        directed: For each candidate −1 if it is closer to the reference than the value, 1 if it is farther.
        listed: The order in which ties are listed.
        noise: ε.
        word: Random bits for ties.
        nearest: Whether the noise is rounded to the nearest candidate, the value itself included.
        by_mean: Whether the reference is the mean; then only candidates in the right direction are listed.
    """
    # Step 1: a value without noise stays.
    if noise == 0.0:
        return None, 0
    # Step 2: C has the candidates in the direction of the noise. A conflict: there is none, and all count.
    admissible, note = directed == np.sign(noise), 0
    if not admissible.any():
        admissible, note = np.ones(away.size, dtype=np.bool_), CONFLICT
    # Step 3: F has those of C that are far enough, and the nearest of them is taken.
    far_enough = away[admissible & (away >= abs(noise))]
    wanted = far_enough.min(initial=math.inf)
    # Step 4: if F is empty the noise is truncated, and the farthest of C is taken.
    if wanted == math.inf:
        note |= TRUNCATED
    below = float(away[admissible & (away < abs(noise))].max(initial=0.0))
    if nearest and abs(noise) - below <= wanted - abs(noise):
        if below == 0.0:
            return None, note
        wanted = below
    elif wanted == math.inf:
        wanted = below
    # Step 5: of several at that distance one is drawn.
    tied = listed[away[listed] == wanted]
    chosen = tied[admissible[tied]]
    return _one_of(chosen if by_mean else tied, chosen, word), note


def _one_of(tied: Longs, chosen: Longs, word: int) -> int:
    """A random one of those that are chosen, by some blind draws from all that are tied, as in the compiled loop."""
    for attempt in range(TRIES):
        drawn = tied[_below(word, attempt, tied.size)]
        if drawn in chosen:
            return int(drawn)
    return int(chosen[_below(word, TRIES, chosen.size)])


def _below(word: int, attempt: int, n: int) -> int:
    """A number from 0 to n − 1 from a word and the number of the attempt."""
    bits = int(mixed(np.uint64((word + (attempt + 1) * 0x9E3779B97F4A7C15) % 2**64)))
    return int((bits >> 11) * 2.0**-53 * n)
