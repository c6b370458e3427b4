"""Information loss of a masked column: how far its cells moved, and what of its distribution is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace
from anonto.stats.centre import mean_of
from anonto.stats.dependence import Spread, mean_differences
from anonto.utility.cells import Ancestry, cell_distances

if TYPE_CHECKING:
    from anonto.arrays import Floats
    from anonto.encoding.comparison import ComparedColumn


MOST_VALUES = 5_000
"""Above this many distinct values the distance variance of a nominal column is left out."""
ROUNDING = 1e-13


def column_losses(column: ComparedColumn) -> dict[str, Any]:
    """Information loss of one column, as plain numbers.

    ``rmse``, ``mean_distance`` and ``farthest`` say how far cells moved, and ``changed`` how many: of the cells that
    have a value before or after, where one that gets a value, or loses it, has moved by 1. ``hellinger`` says how far
    the frequencies of values are from those before, and ``frequency_change`` how far those of the concepts of each
    level of the taxonomy; both from 0 to 1. ``il1s`` is the mean distance divided by √2 times the column's own spread;
    it is left out where the column had none and moved all the same. ``mean_shift`` says how far the mean moved, and
    spreads are given before and after; both are of the cells that have a value there.

    Where rows have weights, all but ``cells``, ``missing`` and ``farthest`` are about the people that they stand for.
    """
    either = (column.original >= 0) | (column.masked >= 0)
    moved = cell_distances(column, column.original[either], column.masked[either])
    amounts = column.weighed("masked")[either]
    n_or_one = float(amounts.sum()) or 1.0
    changed = ~column.same()[either]
    before, after = column.frequencies("original"), column.frequencies("masked")
    losses: dict[str, Any] = {
        "cells": int(column.amounts.masked[either].sum()),
        "changed": float(changed @ amounts) / n_or_one,
        "rmse": math.sqrt(float(moved**2 @ amounts) / n_or_one),
        "mean_distance": float(moved @ amounts) / n_or_one,
        "farthest": float(moved.max(initial=0.0)),
        "hellinger": _hellinger(_shares_of_meanings(column, before), _shares_of_meanings(column, after)),
        "missing": {which: int(column.counts(which)[-1]) for which in ("original", "masked")},
    }
    before, after = before[:-1], after[:-1]
    if not before.any() or not after.any():
        return losses
    spread = _spread_of_meaning(column, before, after)
    own = spread.pop("own_spread")
    if own or not losses["mean_distance"]:
        losses["il1s"] = losses["mean_distance"] / (math.sqrt(2.0) * own) if own else 0.0
    return losses | spread | _distance_variances(column, before, after) | _frequency_changes(column, before, after)


def _spread_of_meaning(column: ComparedColumn, before: Any, after: Any) -> dict[str, Any]:
    value_space = column.value_space
    if isinstance(value_space, NumericSpace):
        scale = value_space.scale or 1.0
        (mean, deviation), (new_mean, new_deviation) = (_moments(value_space.numbers, each) for each in (before, after))
        means, deviations = (mean, new_mean), (deviation, new_deviation)
        return {
            "mean": {"original": means[0], "masked": means[1]},
            "mean_shift": abs(means[1] - means[0]) / scale,
            "standard_deviation": {"original": deviations[0], "masked": deviations[1]},
            "own_spread": deviations[0] / scale,
        }
    part = value_space.parts[0] if isinstance(value_space, MeanSpace) else value_space
    if not isinstance(part, NominalSpace):
        return {"own_spread": math.sqrt(1.0 - float(before.max()) / float(before.sum()))}
    counts = (before, after)
    centre = mean_of(replace(part, counts=counts[0]))
    centres = [centre, centre if np.array_equal(counts[0], counts[1]) else mean_of(replace(part, counts=counts[1]))]
    variances = [
        float(each @ part.distances_to(centre) ** 2 / each.sum()) for each, centre in zip(counts, centres, strict=True)
    ]
    among, codes_of = part.codes_of(centres)
    return {
        "semantic_mean": {"original": centres[0], "masked": centres[1]},
        "mean_shift": float(among.pair_distances(codes_of[:1], codes_of[1:])[0]),
        "semantic_variance": {"original": variances[0], "masked": variances[1]},
        "own_spread": math.sqrt(variances[0]),
    }


def _moments(numbers: Floats, counts: Floats) -> tuple[float, float]:
    """The mean and the standard deviation of numbers, from how often each occurs."""
    present = counts > 0
    own, weights = numbers[present], counts[present] / counts.sum()
    mean = float(weights @ own)
    return mean, math.sqrt(float(weights @ (own - mean) ** 2))


def _distance_variances(column: ComparedColumn, before: Floats, after: Floats) -> dict[str, Any]:
    value_space = column.value_space
    counts = (before, after)
    if isinstance(value_space, NumericSpace):
        numbers = value_space.numbers / (value_space.scale or 1.0)
        squares = [_square_of_numbers(numbers, each / each.sum()) for each in counts]
    elif column.n_values > MOST_VALUES:
        return {}
    else:
        distances = value_space.distances()
        squares = [
            Spread.of(distances, each / each.sum(), float(each.sum())).variance().plain
            if np.count_nonzero(each) > 1
            else 0.0
            for each in counts
        ]
    original, masked = (math.sqrt(max(square, 0.0)) for square in squares)
    return {"distance_variance": {"original": original, "masked": masked}}


def _square_of_numbers(numbers: Floats, shares: Floats) -> float:
    """The squared distance variance of numbers, from their sums in ascending order."""
    order = np.argsort(numbers, kind="stable")
    x, shares = numbers[order] - numbers[order[0]], shares[order]
    row_means = mean_differences(x, shares)
    mean, centred = float(shares @ row_means), x - float(shares @ x)
    found = 2.0 * float(shares @ centred**2) + mean**2 - 2.0 * float(shares @ row_means**2)
    return found if found > ROUNDING * mean**2 else 0.0


def _frequency_changes(column: ComparedColumn, before: Floats, after: Floats) -> dict[str, Any]:
    """Level by level below the root, half the sum of the absolute differences of the shares of its concepts.

    A record counts for every concept of the level that is its value or an ancestor of it; a value above the level
    counts for itself. Several roots form a level of their own, below a virtual root.
    """
    value_space = column.value_space
    part = value_space.parts[0] if isinstance(value_space, MeanSpace) else value_space
    if not isinstance(part, NominalSpace):
        return {}
    taxonomy = part.domain
    ancestry = Ancestry.of(part)
    changes = []
    first = 1 if len(taxonomy.roots) > 1 else 2
    for depth in range(first, int(ancestry.depth[ancestry.is_own].max(initial=1)) + 1):
        values, ancestors = ancestry.at_level(depth)
        sums = [np.bincount(ancestors, counts[values], len(taxonomy)) for counts in (before, after)]
        shares = [each / each.sum() for each in sums]
        changes.append({"depth": depth, "change": float(np.abs(shares[0] - shares[1]).sum()) / 2.0})
    return {"frequency_change": changes}


def _shares_of_meanings(column: ComparedColumn, counts: Floats) -> Floats:
    """The share of the rows, or people, with each value, however it is written; and last of those with none."""
    meanings = column.meanings()
    places = np.where(meanings < 0, np.int32(column.n_values), meanings)
    return np.asarray(np.bincount(places, weights=counts) / (float(counts.sum()) or 1.0), dtype=np.float64)


def _hellinger(a: Floats, b: Floats) -> float:
    return math.sqrt(max(0.0, 1.0 - float(np.sqrt(a * b).sum()))) if a.sum() and b.sum() else 0.0
