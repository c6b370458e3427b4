"""The compiled loop of the best groups of one column of numbers.

The steps named below are those of the plain version, `anonto.methods.plain.one_column`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs


@njit(cache=True, nogil=True)
def spreads(numbers: Floats, start: int, step: int, inverses: Floats, means: Floats, sums: Floats) -> None:
    """The mean of the next 0, 1, 2, … numbers, as a difference from the first, and their squared error.

    Both grow number by number, and nothing is subtracted from a sum, so that no digits cancel.

    Args:
        numbers: In their order.
        start: The first number.
        step: 1 for those that follow it, −1 for those before it.
        inverses: One over each whole number.
        means: Filled.
        sums: Filled.
    """
    means[0] = sums[0] = mean = total = 0.0
    anchor = numbers[min(max(start, 0), numbers.size - 1)]
    for n in range(1, means.size):
        place = start + step * (n - 1)
        if place < 0 or place >= numbers.size:
            return
        away = (numbers[place] - anchor) - mean
        total += away * away * ((n - 1) * inverses[n])
        mean += away * inverses[n]
        means[n], sums[n] = mean, total


@njit(cache=True, nogil=True)
def best_cuts(numbers: Floats, k: int) -> Longs:
    """Where each group starts in the best partition of sorted numbers in groups of k to 2k − 1, and the end of all.

    Args:
        numbers: In their order; at least k.
        k: The least size of a group.
    """
    n = numbers.size
    widest = 2 * k
    inverses = np.zeros(widest + 1)
    for size in range(1, widest + 1):
        inverses[size] = 1.0 / size
    before, before_sums = np.zeros(widest), np.zeros(widest)
    after, after_sums = np.zeros(k + 1), np.zeros(k + 1)
    best, least = np.zeros(k + 1, np.int64), np.zeros(k + 1)
    # Step 1: the loss of the first k … 2k − 1 numbers, which are one group. A loss is the sum of two numbers.
    losses, rests = np.full(n + 1, np.inf), np.zeros(n + 1)
    losses[0] = 0.0
    back = np.zeros(n + 1, np.int32)
    spreads(numbers, 0, 1, inverses, before, before_sums)
    losses[k : min(2 * k, n + 1)] = before_sums[k : min(2 * k, n + 1)]
    # Step 2: k ends at a time; the last group of each starts before the middle, which is where the last k ended.
    for middle in range(2 * k - 1, n, k):
        spreads(numbers, middle - 1, -1, inverses, before, before_sums)
        spreads(numbers, middle, 1, inverses, after, after_sums)
        # Losses are counted from the least one: next to a much larger one the others would lose their digits.
        first = max(k, middle - widest + 2)
        lowest = first + int(np.argmin(losses[first : middle + 1]))
        base, base_rest = losses[lowest], rests[lowest]
        for size in range(widest - 1):
            start = middle - size
            if start >= k:
                before_sums[size] += (losses[start] - base) + (rests[start] - base_rest)
            else:
                before_sums[size] = np.inf
        # Means before the middle are differences from the number there, means after it from the next one.
        before += numbers[middle - 1] - numbers[middle]
        last = min(k, n - middle)
        best_sizes(before, before_sums, after, inverses, k, last, best, least)
        for own in range(1, last + 1):
            end = middle + own
            more = least[own] + after_sums[own]
            losses[end] = base + more
            # What the sum has lost by rounding is kept apart.
            part = losses[end] - base
            rests[end] = base_rest + ((base - (losses[end] - part)) + (more - part))
            back[end] = middle - best[own]
    return follow(back)


@njit(cache=True, nogil=True)
def best_sizes(
    before: Floats, losses: Floats, after: Floats, inverses: Floats, k: int, last: int, best: Longs, least: Floats
) -> None:
    """How far the best last group reaches back beyond the middle, for each end after it, and what is lost then.

    Args:
        before: The mean of the 0, 1, 2, … numbers before the middle.
        losses: What is lost by them and by all numbers before them.
        after: The mean of the 0, 1, 2, … numbers after it.
        inverses: One over each whole number.
        k: The least size of a group.
        last: The number of ends.
        best: Filled, from 1 on.
        least: Filled: the loss without the squared error of the numbers after the middle.
    """
    # Step 3: the best start of the last group of each end. It never moves back as the end moves on, so that the best
    # one of an end lies between those of its neighbours that are known already.
    step = 1
    while step <= last:
        step *= 2
    while step > 1:
        step //= 2
        for own in range(step, last + 1, 2 * step):
            longest, shortest = 2 * k - 1 - own, k - own
            if own > step:
                longest = min(longest, best[own - step])
            if own + step <= last:
                shortest = max(shortest, best[own + step])
            found, loss = longest, np.inf
            for size in range(longest, shortest - 1, -1):
                apart = after[own] - before[size]
                total = losses[size] + size * own * inverses[size + own] * (apart * apart)
                if total < loss:
                    found, loss = size, total
            best[own], least[own] = found, loss


@njit(cache=True, nogil=True)
def follow(back: Ints) -> Longs:
    """Where each group starts, and the end of all, from where the last group of each end starts."""
    # Step 4: back from the end, group by group.
    n_groups, end = 0, back.size - 1
    while end > 0:
        end = back[end]
        n_groups += 1
    cuts = np.zeros(n_groups + 1, np.int64)
    end = back.size - 1
    for group in range(n_groups, 0, -1):
        cuts[group] = end
        end = back[end]
    return cuts
