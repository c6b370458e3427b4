"""What a masked column lost: how far its cells moved, and what of its distribution is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.stats.centre import mean_of
from anonto.stats.dependence import Spread, mean_differences
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

MOST_VALUES = 5_000
"""Above this many distinct values the distance variance of a nominal column is left out."""
ROUNDING = 1e-13


def column_losses(column: ComparedColumn) -> dict[str, Any]:
    """Everything that is said of one column, as plain numbers.

    ``rmse``, ``mean_distance`` and ``farthest`` say how far cells moved, and ``changed`` how many: of the cells that
    have a value before or after, where one that gets a value, or loses it, has moved by 1. ``hellinger`` says how far
    the frequencies of values are from those before, and ``frequency_change`` how far those of the concepts of each
    level of the taxonomy; both from 0 to 1. ``il1s`` is the mean distance divided by √2 times the column's own spread;
    it is left out where the column had none and moved all the same. ``mean_shift`` says how far the mean moved, and
    spreads are given before and after; both are of the cells that have a value there.
    """
    moved = _distances_moved(column)
    either = (column.original >= 0) | (column.masked >= 0)
    amounts = column.amounts.masked[either]
    n_cells = int(amounts.sum())
    n_or_one = max(n_cells, 1)
    changed = ~column.same()[either]
    before, after = column.counts("original"), column.counts("masked")
    losses: dict[str, Any] = {
        "cells": n_cells,
        "changed": float(changed @ amounts) / n_or_one,
        "rmse": math.sqrt(float(moved**2 @ amounts) / n_or_one),
        "mean_distance": float(moved @ amounts) / n_or_one,
        "farthest": float(moved.max(initial=0.0)),
        "hellinger": _hellinger(_shares_of_meanings(column, before), _shares_of_meanings(column, after)),
        "missing": {"original": int(before[-1]), "masked": int(after[-1])},
    }
    before, after = before[:-1], after[:-1]
    if not before.any() or not after.any():
        return losses
    spread = _spread_of_meaning(column, before, after)
    own = spread.pop("own_spread")
    if own or not losses["mean_distance"]:
        losses["il1s"] = losses["mean_distance"] / (math.sqrt(2.0) * own) if own else 0.0
    return losses | spread | _distance_variances(column, before, after) | _frequency_changes(column, before, after)


def _distances_moved(column: ComparedColumn) -> Floats:
    """Of the cells that have a value before or after, in the order of the rows."""
    both = (column.original >= 0) & (column.masked >= 0)
    out = np.ones(column.original.size)
    if both.any():
        out[both] = column.attribute.pair_distances(column.original[both], column.masked[both])
    return np.asarray(out[(column.original >= 0) | (column.masked >= 0)])


def _spread_of_meaning(column: ComparedColumn, before: Longs, after: Longs) -> dict[str, Any]:
    attribute = column.attribute
    if isinstance(attribute, NumericAttribute):
        scale = attribute.scale or 1.0
        (mean, deviation), (new_mean, new_deviation) = (_moments(attribute.numbers, each) for each in (before, after))
        means, deviations = (mean, new_mean), (deviation, new_deviation)
        return {
            "mean": {"original": means[0], "masked": means[1]},
            "mean_shift": abs(means[1] - means[0]) / scale,
            "standard_deviation": {"original": deviations[0], "masked": deviations[1]},
            "own_spread": deviations[0] / scale,
        }
    part = attribute.parts[0] if isinstance(attribute, MeanAttribute) else attribute
    if not isinstance(part, NominalAttribute):
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


def _moments(numbers: Floats, counts: Longs) -> tuple[float, float]:
    """The mean and the standard deviation of numbers that occur so often."""
    present = counts > 0
    own, weights = numbers[present], counts[present] / counts.sum()
    mean = float(weights @ own)
    return mean, math.sqrt(float(weights @ (own - mean) ** 2))


def _distance_variances(column: ComparedColumn, before: Longs, after: Longs) -> dict[str, Any]:
    attribute = column.attribute
    counts = (before, after)
    if isinstance(attribute, NumericAttribute):
        numbers = attribute.numbers / (attribute.scale or 1.0)
        squares = [_square_of_numbers(numbers, each / each.sum()) for each in counts]
    elif column.n_values > MOST_VALUES:
        return {}
    else:
        distances = attribute.distances()
        squares = [
            Spread.of(distances, each / each.sum(), int(each.sum())).variance().plain
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


def _frequency_changes(column: ComparedColumn, before: Longs, after: Longs) -> dict[str, Any]:
    """Level by level below the root, half the sum of the absolute differences of the shares of its concepts.

    A record counts for every concept of the level that its value is or lies below; a value above the level for itself.
    Several roots are a level: that below a root which is not written down.
    """
    attribute = column.attribute
    part = attribute.parts[0] if isinstance(attribute, MeanAttribute) else attribute
    if not isinstance(part, NominalAttribute):
        return {}
    taxonomy = part.domain
    numbers = taxonomy.numbers(part.concepts)
    above = closure(taxonomy, numbers)
    value = np.repeat(np.arange(numbers.size), above.sizes)
    ancestor = above.ancestors[: value.size]
    depth_of, is_own = taxonomy.depths[ancestor], numbers[value] == ancestor
    changes = []
    first = 1 if len(taxonomy.roots) > 1 else 2
    for depth in range(first, int(taxonomy.depths[numbers].max(initial=1)) + 1):
        at_level = (depth_of == depth) | (is_own & (depth_of < depth))
        sums = [np.bincount(ancestor[at_level], counts[value[at_level]], len(taxonomy)) for counts in (before, after)]
        shares = [each / each.sum() for each in sums]
        changes.append({"depth": depth, "change": float(np.abs(shares[0] - shares[1]).sum()) / 2.0})
    return {"frequency_change": changes}


def _shares_of_meanings(column: ComparedColumn, counts: Longs) -> Floats:
    """The share of the rows that have each value, however it is spelt; and last of those that have none."""
    meanings = column.meanings()
    places = np.where(meanings < 0, np.int32(column.n_values), meanings)
    return np.asarray(np.bincount(places, weights=counts) / max(column.n_rows, 1), dtype=np.float64)


def _hellinger(a: Floats, b: Floats) -> float:
    return math.sqrt(max(0.0, 1.0 - float(np.sqrt(a * b).sum()))) if a.sum() and b.sum() else 0.0
