"""Utility as one number, and the four information losses behind it.

Each loss is 0 for the original table and 1 for everything lost:

- ``moved``: how far the cells moved (RMSE), divided by how far they move when every masked column is swapped at random,
  on average over the columns;
- ``distribution``: how far the frequencies of a column moved: Hellinger's distance of nominal values; of numbers and
  ranks the shift of the mean or the change of the standard deviation, whichever is larger, in standard deviations;
- ``dependence``: how much the distance correlations changed, divided by how much they change when every masked column
  is swapped at random, over all pairs with a masked column;
- ``told_apart``: how well a model distinguishes released records from original ones: the propensity score's mean
  squared error, scaled so that random labels give 0 and 1/4 gives 1.

The utility is 1 less their mean: 1 for the original, about 0 for a table without information. They weigh the same
because the use of the table is unknown; if you know it, look at the loss that matters. A loss that cannot be
measured (dependence where the columns have none, a model of a few records) is left out of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from anonto.utility.columns import column_losses
from anonto.utility.pairs import pair_losses
from anonto.utility.sampling import Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Ints
    from anonto.encoding.comparison import ComparedColumn

LOSSES = ("moved", "distribution", "dependence", "told_apart")
LEAST_DEPENDENCE = 0.01
"""If swapping at random changes the distance correlations by less than this on average, no dependence can be lost."""
ALL_TOLD_APART = 0.25


@dataclass(frozen=True, slots=True)
class AtRandom:
    """Loss when every masked column is swapped at random."""

    rmse: Mapping[str, float]
    correlation_change: float
    """The mean absolute change of the distance correlations; 0 where there is no pair."""


def lost_at_random(columns: Mapping[str, ComparedColumn], masked: Sequence[str]) -> AtRandom:
    """Swap the masked columns at random, each for itself and missing cells apart, and measure.

    Where only some persons are available, these are used.
    """
    persons = [one if one.amounts.row_by_row else one.take_rows(np.arange(one.n_persons)) for one in columns.values()]
    swapped = [replace(one, masked=_swap_at_random(one) if one.name in masked else one.original) for one in persons]
    n_rows = swapped[0].original.size if swapped else 0
    pairs = pair_losses(swapped, Sampling(), masked) if len(swapped) > 1 and n_rows else []
    return AtRandom(
        {one.name: column_losses(one)["rmse"] if n_rows else 0.0 for one in swapped if one.name in masked},
        _correlation_change(pairs, masked),
    )


def _swap_at_random(column: ComparedColumn) -> Ints:
    """The codes of the original in another order, the same whatever other columns there are."""
    codes = column.original.copy()
    present = codes >= 0
    codes[present] = np.random.default_rng(crc32(column.name.encode())).permutation(codes[present])
    return codes


def utility_of(measured: Mapping[str, Any], at_random: AtRandom, masked: Sequence[str]) -> dict[str, float | None]:
    """The utility and its losses, from the utility part of an assessment."""
    columns: Mapping[str, Mapping[str, Any]] = measured["columns"]
    moved = [
        min(1.0, one["rmse"] / at_random.rmse[name]) for name, one in columns.items() if at_random.rmse.get(name, 0.0)
    ]
    losses: dict[str, float | None] = {
        "moved": _mean(moved),
        "distribution": _mean([_distribution_loss(one) for one in columns.values()]),
        "dependence": None,
        "told_apart": None,
    }
    if at_random.correlation_change >= LEAST_DEPENDENCE:
        change = _correlation_change(measured["pairs"], masked)
        losses["dependence"] = min(1.0, change / at_random.correlation_change)
    table = measured["table"]
    if "pmse" in table:
        blind = table["pmse_at_random"]
        losses["told_apart"] = min(1.0, max(0.0, (table["pmse"] - blind) / (ALL_TOLD_APART - blind)))
    known = [loss for loss in losses.values() if loss is not None]
    return {"utility": 1.0 - (_mean(known) or 0.0), **losses}


def _distribution_loss(column: Mapping[str, Any]) -> float:
    if "standard_deviation" not in column:
        return float(column["hellinger"])
    spread, mean = column["standard_deviation"], column["mean"]
    if not spread["original"]:
        return float(column["hellinger"])
    shift = abs(mean["masked"] - mean["original"]) / spread["original"]
    return float(min(1.0, max(shift, abs(spread["masked"] / spread["original"] - 1.0))))


def _correlation_change(pairs: Sequence[Mapping[str, Any]], masked: Sequence[str]) -> float:
    both = [one["distance_correlation"] for one in pairs if set(masked) & set(one["columns"])]
    return _mean([abs(one["masked"] - one["original"]) for one in both]) or 0.0


def _mean(numbers: Sequence[float]) -> float | None:
    return float(np.mean(numbers)) if numbers else None
