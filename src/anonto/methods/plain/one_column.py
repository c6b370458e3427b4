r"""The best groups of one column of numbers: the same loss as the compiled loop of `anonto.methods.one_column`.

With $x_1 \le \dots \le x_n$ and $E(j, i)$ the squared error of $x_{j+1}, \dots, x_i$ around their mean,

$$L(0) = 0, \qquad L(i) = \min_{k \le i - j \le 2k - 1} L(j) + E(j, i).$$

Reference: Hansen, Mukherjee, A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE 15 (2003).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats


def best_cuts(numbers: Floats, k: int) -> list[int]:
    """Where each group starts, and the end of all.

    Args:
        numbers: In their order; at least k.
        k: The least size of a group.
    """
    n = numbers.size
    least, start_of = [0.0] + [math.inf] * n, [0] * (n + 1)
    for end in range(1, n + 1):
        # Step 1: the last group has k to 2k − 1 rows, because a larger one could be divided without loss.
        for start in range(max(end - 2 * k + 1, 0), end - k + 1):
            loss = least[start] + squared_error(numbers[start:end])
            if loss < least[end]:
                least[end], start_of[end] = loss, start
    # Step 2: back from the end, group by group.
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(start_of[cuts[-1]])
    return cuts[::-1]


def squared_error(numbers: Floats) -> float:
    """The sum of the squared differences to the mean, from differences to the first number."""
    apart = numbers - numbers[0]
    return float(((apart - math.fsum(apart) / apart.size) ** 2).sum()) if np.any(apart) else 0.0
