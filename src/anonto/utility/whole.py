"""Information loss as plain data: column by column, pair by pair, and of the table as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.utility.columns import column_losses
from anonto.utility.pairs import pair_losses
from anonto.utility.table import prediction, propensity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.encoding.comparison import ComparedColumn
    from anonto.utility.sampling import Sampling


def losses_of(
    columns: Mapping[str, ComparedColumn],
    pairs: Mapping[str, ComparedColumn],
    masked: Sequence[str],
    predict: str | None,
    sampling: Sampling,
) -> dict[str, Any]:
    """Measure all losses.

    Args:
        columns: Columns of both tables.
        pairs: For each masked column its cells before and after.
        masked: The columns that some step masks.
        predict: A column to be predicted from the others.
        sampling: For the choice of rows in large tables.
    """
    described = list(columns.values())
    losses = {name: column_losses(pairs[name]) for name in masked if name in columns}
    rmses = [one["rmse"] for one in losses.values()]
    table: dict[str, Any] = {"mean_rmse": float(np.mean(rmses)) if rmses else 0.0}
    if described and described[0].original.size:
        table |= propensity(described, sampling)
        if predict is not None:
            table["prediction"] = {"column": predict, **prediction(described, columns[predict], sampling)}
    related = pair_losses(described, sampling) if len(described) > 1 else []
    about_masked = [pair for pair in related if set(masked) & set(pair["columns"])]
    return {"columns": losses, "pairs": about_masked, "table": table}
