"""Random pairs of a bin exchange their records: the last step of both swaps in bins.

Of an odd number one row stays or, with ``cycle``, the last three pass theirs on in a circle.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithms 1 and 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Bools, Ints, Longs
    from anonto.methods.bins import Bins


def exchange_in_pairs(bins: Bins, rng: np.random.Generator, *, cycle: bool) -> tuple[Ints, Ints, Ints]:
    """Shuffle each bin and let neighbours exchange, with the draws of the compiled loop.

    Returns the record of each row in its new order, the record that it takes, and the records without a partner.
    """
    members, alone = bins.members.copy(), []
    taken = members.copy()
    for start, end in zip(bins.offsets[:-1].tolist(), bins.offsets[1:].tolist(), strict=True):
        order = start + shuffle(end - start, lambda n: int(rng.integers(0, n)))
        members[start:end] = members[order]
        partners, is_alone = partners_of(end - start, cycle=cycle)
        taken[start:end] = members[start:end][partners]
        alone.extend(members[start:end][is_alone].tolist())
    return members, taken, np.array(alone, dtype=np.int32)


def shuffle(n: int, below: Callable[[int], int]) -> Longs:
    """0 … n − 1 in random order (Fisher and Yates); ``below`` draws a number below another."""
    order = np.arange(n)
    for last in range(n - 1, 0, -1):
        drawn = below(last + 1)
        order[[last, drawn]] = order[[drawn, last]]
    return order


def partners_of(n: int, *, cycle: bool) -> tuple[Longs, Bools]:
    """The place that each of n places in random order takes from, and whether it has no partner."""
    places = np.arange(n)
    in_pairs = n - n % 2
    if n % 2 and cycle and n >= 3:
        in_pairs = n - 3
        places[in_pairs:] = [n - 2, n - 1, n - 3]
    places[:in_pairs] ^= 1
    return places, (places == np.arange(n))
