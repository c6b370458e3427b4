"""Compiled loops that both kinds of rank swapping share: random partners by their counts, and the state of a run.

Records of one value are alike, so the loops count them: how many of each value are *free*, that is not exchanged yet.
Distances are compared as whole numbers of steps of 10⁻¹², so that ties are exact.

The steps named in the kernels of rank swapping are those of the plain version, `anonto.methods.plain.rank_swap`: 1 the
first reference, 2 the interval of a reference, 3 the exchange, 4 the next reference.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.arrays import Ints, Longs

Generator = np.random.Generator

Tally = tuple[Longs, Longs, Ints, Ints]
"""Free records of each value, exchanges within each value, and the values of the other exchanges."""

STEPS = 1e12
"""Distances are rounded to this part of 1."""
REFERENCE, PHASE, RANK, FREE, UNTOUCHED, PAIRS = 0, 1, 2, 3, 4, 5
"""Places in the state that a loop leaves behind when it is interrupted."""
NOBODY, INNER, LAST = 0, 1, 2
SHORT = 32
"""Rings and windows of up to this many values are counted whole rather than looked into."""


@njit(cache=True, nogil=True)
def none_drawn(population: int, marked: int, drawn: int, chance: float) -> bool:
    """Return whether none of the marked is among those drawn without replacement; ``chance`` is uniform from 0 to 1."""
    if marked == 0 or drawn == 0:
        return True
    if marked + drawn > population:
        return False
    # The probability is Π (population − many − i)/(population − i); a power bounds it, and decides most draws.
    few, many = min(marked, drawn), max(marked, drawn)
    bound, power, left = 1.0, 1.0 - many / population, few
    while left > 0:
        if left & 1:
            bound *= power
        power *= power
        left >>= 1
    if chance >= bound:
        return False
    # Close to the bound the product decides, factor by factor until it falls below the chance.
    product = 1.0
    for i in range(few):
        product *= (population - many - i) / (population - i)
        if chance >= product:
            return False
    return True


@njit(cache=True, nogil=True)
def first_free(
    inside: int, free_inside: int, wanted: int, population: int, free_on_ring: int, generator: Generator
) -> int:
    """Where the partner is: the first free record when those of an interval are looked at in random order (step 3).

    The interval has some records inside, and needs some (``wanted``) of the population of its last ring.
    """
    # Only one of the two parts has free records: no need to look at records one by one.
    if free_inside == 0:
        return NOBODY if none_drawn(population, free_on_ring, wanted, generator.random()) else LAST
    if free_on_ring == 0 or wanted == 0:
        return INNER
    while True:
        look = generator.random() * (inside + wanted)
        # A record that is not free leaves the interval, and the next one is looked at.
        if look < inside:
            if look < free_inside:
                return INNER
            inside -= 1
        else:
            if (look - inside) * population < free_on_ring * wanted:
                return LAST
            wanted -= 1
            population -= 1
            if wanted == 0:
                return INNER


@njit(cache=True, nogil=True)
def note_exchange(value: int, partner: int, state: Longs, free: Longs, within: Longs, left: Ints, right: Ints) -> None:
    """Step 3: count an exchange, or that there was none; the lists of exchanges have a place to spare."""
    found, own, place = partner >= 0, partner == value, state[PAIRS]
    free[max(partner, 0)] -= found
    state[FREE] -= found
    state[UNTOUCHED] += not found
    within[value] += own
    left[place] = value
    right[place] = partner
    state[PAIRS] += found and not own
