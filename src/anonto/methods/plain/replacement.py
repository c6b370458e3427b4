r"""Which concept replaces a value with noise: Algorithm 1 of semantic noise, as `anonto.methods.noise` performs it.

With ε the noise of value a and r its reference, a becomes

$$\arg\min_{c \in F} sd(c, a), \quad F = \{c \in C : sd(c, a) \ge |\varepsilon|\}, \quad
C = \{c : sd(c, r) > sd(a, r)\} \text{ if } \varepsilon > 0, \text{ else } \{c : sd(c, r) < sd(a, r)\}$$

Random bits decide between ties as in the compiled loops, so the replacements are the same for the same bits.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
Algorithm 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.random.kernels import mix_bits

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs


TRUNCATED, CONFLICT = 1, 2
"""Notes on a cell."""
TRIES = 8
"""Blind draws from all that are tied before the chosen ones are listed."""


def replacement(
    away: Floats, directed: Floats, listed: Longs, noise: float, word: int, nearest: bool, by_mean: bool
) -> tuple[int | None, int]:
    """Replace(a, r, ε) of Algorithm 1: which candidate replaces a value, None for itself; and a note.

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
        drawn = tied[below(word, attempt, tied.size)]
        if drawn in chosen:
            return int(drawn)
    return int(chosen[below(word, TRIES, chosen.size)])


def below(word: int, attempt: int, n: int) -> int:
    """A number from 0 to n − 1 from a word and the number of the attempt."""
    bits = int(mix_bits(np.uint64((word + (attempt + 1) * 0x9E3779B97F4A7C15) % 2**64)))
    return int((bits >> 11) * 2.0**-53 * n)
