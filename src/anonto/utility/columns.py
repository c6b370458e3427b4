"""What a masked column lost: how far its cells moved, and what of its distribution is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.stats.centre import mean_of
from anonto.stats.dependence import Spread
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]

MOST_VALUES = 5_000
"""Above this many distinct values the distance variance of a column is left out."""


def column_losses(column: ComparedColumn) -> dict[str, Any]:
    """Everything that is said of one column, as plain numbers.

    ``rmse`` and ``mean_distance`` say how far cells moved; ``changed`` how many; ``hellinger`` how far the frequencies
    of values are from those before, from 0 to 1; ``il1s`` is the mean distance divided by √2 times the column's own
    spread; ``mean_shift`` how far the mean moved; and the spread is given before and after.
    """
    present = (column.original >= 0) & (column.masked >= 0)
    before, after = column.original[present], column.masked[present]
    moved = column.attribute.pair_distances(before, after) if before.size else np.zeros(0)
    losses: dict[str, Any] = {
        "cells": int(before.size),
        "changed": float(np.mean(before != after)) if before.size else 0.0,
        "rmse": float(np.sqrt(np.mean(moved**2))) if moved.size else 0.0,
        "mean_distance": float(moved.mean()) if moved.size else 0.0,
        "farthest": float(moved.max(initial=0.0)),
        "hellinger": _hellinger(_shares(column, column.original), _shares(column, column.masked)),
        "missing": {"original": _n_missing(column.original), "masked": _n_missing(column.masked)},
    }
    if not before.size:
        return losses
    spread = _spread_of_meaning(column, before, after)
    own = spread.pop("own_spread")
    losses["il1s"] = losses["mean_distance"] / (math.sqrt(2.0) * own) if own else 0.0
    return losses | spread | _distance_variances(column, before, after)


def _spread_of_meaning(column: ComparedColumn, before: Codes, after: Codes) -> dict[str, Any]:
    attribute = column.attribute
    if isinstance(attribute, NumericAttribute):
        scale = attribute.scale or 1.0
        numbers = [attribute.numbers[codes] for codes in (before, after)]
        means, deviations = [float(each.mean()) for each in numbers], [float(each.std()) for each in numbers]
        return {
            "mean": {"original": means[0], "masked": means[1]},
            "mean_shift": abs(means[1] - means[0]) / scale,
            "standard_deviation": {"original": deviations[0], "masked": deviations[1]},
            "own_spread": deviations[0] / scale,
        }
    part = attribute.parts[0] if isinstance(attribute, MeanAttribute) else attribute
    if not isinstance(part, NominalAttribute):
        return {"own_spread": 0.0}
    counted = [replace(part, counts=_counts(column, codes)) for codes in (before, after)]
    centres = [mean_of(each) for each in counted]
    variances = [
        float(one.shares @ one.distances_to(centre) ** 2) for one, centre in zip(counted, centres, strict=True)
    ]
    return {
        "semantic_mean": {"original": centres[0], "masked": centres[1]},
        "mean_shift": part.space.distance(centres[0], centres[1], measure=part.measure),
        "semantic_variance": {"original": variances[0], "masked": variances[1]},
        "own_spread": math.sqrt(variances[0]),
    }


def _distance_variances(column: ComparedColumn, before: Codes, after: Codes) -> dict[str, Any]:
    if column.n_values > MOST_VALUES:
        return {}
    distances = column.attribute.distances()
    found = [
        Spread.of(distances, _counts(column, codes) / codes.size, codes.size).variance().plain
        for codes in (before, after)
    ]
    original, masked = (math.sqrt(max(square, 0.0)) for square in found)
    return {"distance_variance": {"original": original, "masked": masked}}


def _counts(column: ComparedColumn, codes: Codes) -> NDArray[np.int64]:
    return np.bincount(codes[codes >= 0], minlength=column.n_values)


def _shares(column: ComparedColumn, codes: Codes) -> Floats:
    """The share of the rows that each value has, and last the missing cells."""
    counts = np.append(_counts(column, codes), _n_missing(codes))
    return np.asarray(counts / max(codes.size, 1))


def _n_missing(codes: Codes) -> int:
    return int(np.count_nonzero(codes < 0))


def _hellinger(a: Floats, b: Floats) -> float:
    return math.sqrt(max(0.0, 1.0 - float(np.sqrt(a * b).sum()))) if a.sum() and b.sum() else 0.0
