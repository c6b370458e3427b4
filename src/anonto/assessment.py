"""Original and masked table to risk and utility: the release attacked, and what an analyst lost."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.errors import (
    ForeignRecordError,
    ForeignReleaseError,
    MissingColumnError,
    ParameterError,
    PrivateRecordError,
    ReleaseShapeError,
    ShuffledRowsError,
    UncheckedRowsError,
)
from anonto.plan import plan_of
from anonto.risk.attribute_inference import attribute_inference
from anonto.risk.classes import real_k, uniqueness
from anonto.risk.distance_linkage import distance_linkage
from anonto.risk.global_linkage import global_linkage
from anonto.risk.interval_disclosure import interval_disclosure
from anonto.risk.permutation_distance import permutation_distance
from anonto.rng import Seed, row_order
from anonto.run import mask
from anonto.table.comparison import compared_column
from anonto.table.door import Door
from anonto.table.prepare import encode_described, opener, records_to_drop
from anonto.table.reading import read_table
from anonto.table.series import as_text_series
from anonto.utility.columns import column_losses
from anonto.utility.pairs import pair_losses
from anonto.utility.table import prediction, propensity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.plan import Plan
    from anonto.risk.rate import Risk
    from anonto.table.comparison import ComparedColumn

PERSONS_LINKED = 20_000
PERSONS_INFERRED = 1_000
"""Of larger tables as many persons, chosen at random, are attacked."""


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What the attacks reached, and what an analyst lost."""

    risk: tuple[Risk, ...]
    utility: Mapping[str, Any]
    n_records: int

    @property
    def worst(self) -> Risk | None:
        """The linkage that reached most: the headline."""
        linkages = [one for one in self.risk if one.attack.endswith("linkage")]
        return max(linkages, key=lambda one: one.rate, default=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "n_records": self.n_records,
            "risk": [one.to_dict() for one in self.risk],
            "utility": dict(self.utility),
        }


def assess(
    original: Any,
    masked: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    private: str | os.PathLike[str] | None = None,
    same_order: bool = False,
    predict: str | None = None,
    seed: int = 0,
) -> Assessment:
    """Attack a release with its original in hand, and measure what was lost.

    Args:
        original: The table that was masked: pandas, polars, pyarrow or a path.
        masked: The release: rows in the order of the original, or in the order of `save` with the private record.
        plan: The plan it was masked with.
        private: The private record of the release, to put shuffled rows back in order, and to check that all belong
            together by masking the original anew.
        same_order: Say that the rows of a file are in the order of the original, where no column tells it.
        predict: A column to be predicted from the others, to see what a model loses.
        seed: For the choice of persons in large tables; it has nothing to do with the seed of the release.

    Returns:
        An assessment with ``.risk``, ``.utility`` and ``.to_dict()``.
    """
    chosen = plan_of(plan)
    columns = _compared(original, masked, chosen, private, same_order=same_order)
    n_records = next(iter(columns.values())).original.size if columns else 0
    if predict is not None and predict not in columns:
        raise MissingColumnError(predict, list(columns))
    rng = np.random.default_rng(seed)
    return Assessment(tuple(_risk(chosen, columns, rng)), _utility(columns, chosen, predict, rng), n_records)


# ------------------------------------------------------------------------------------------------ attacks


def _risk(plan: Plan, columns: Mapping[str, ComparedColumn], rng: np.random.Generator) -> list[Risk]:
    found: list[Risk] = []
    for names in scenarios(plan, columns):
        known = [columns[name] for name in names]
        n = known[0].original.size
        linked = None if n <= PERSONS_LINKED else np.sort(rng.choice(n, PERSONS_LINKED, replace=False))
        fewer = None if n <= PERSONS_INFERRED else np.sort(rng.choice(n, PERSONS_INFERRED, replace=False))
        secrets = [one for one in columns.values() if one.description.role == "confidential" and one.name not in names]
        found += [
            distance_linkage(known, linked),
            global_linkage(known, rng),
            permutation_distance(known, fewer),
            real_k(known),
            uniqueness(known, secrets),
        ]
        found += [attribute_inference(known, secret, fewer) for secret in secrets]
    for name in plan.masked:
        if name in columns:
            found += interval_disclosure(columns[name])
    return found


def scenarios(plan: Plan, columns: Mapping[str, ComparedColumn]) -> list[tuple[str, ...]]:
    """What intruders may know: the columns of each step, and all quasi-identifiers together."""
    quasi = [name for name, one in columns.items() if one.description.role == "quasi-identifier"]
    known = [tuple(name for name in step.columns if name in columns) for step in plan.steps]
    known.append(tuple(quasi))
    return [names for names in dict.fromkeys(tuple(sorted(names)) for names in known) if names]


# ------------------------------------------------------------------------------------------------ losses


def _utility(
    columns: Mapping[str, ComparedColumn], plan: Plan, predict: str | None, rng: np.random.Generator
) -> dict[str, Any]:
    described = list(columns.values())
    losses = {name: column_losses(columns[name]) for name in plan.masked if name in columns}
    rmses = [one["rmse"] for one in losses.values()]
    table: dict[str, Any] = {"mean_rmse": float(np.mean(rmses)) if rmses else 0.0}
    if described and described[0].original.size:
        table |= propensity(described, rng)
        if predict is not None:
            table["prediction"] = {"column": predict, **prediction(described, columns[predict], rng)}
    pairs = pair_losses(described, rng) if len(described) > 1 else []
    masked = set(plan.masked)
    return {"columns": losses, "pairs": [pair for pair in pairs if masked & set(pair["columns"])], "table": table}


# ------------------------------------------------------------------------------------------------ row by row


def _compared(
    original: Any, masked: Any, plan: Plan, private: str | os.PathLike[str] | None, *, same_order: bool
) -> dict[str, ComparedColumn]:
    """Both tables in one space, the rows of the release put in the order of the original."""
    before, after = (_opened(table, plan) for table in (original, masked))
    identifiers = [name for name in before.names if plan.description(name).role == "identifier"]
    expected = [name for name in before.names if name not in identifiers]
    for name in plan.masked:
        if name not in before.names:
            raise MissingColumnError(name, before.names)
    if set(after.names) != set(expected):
        raise ForeignReleaseError(
            [name for name in expected if name not in after.names],
            [name for name in after.names if name not in expected],
        )
    rows = _rows_that_stay(before, plan)
    if rows.size != len(after):
        raise ReleaseShapeError(len(after), int(rows.size))
    series = {name: (before.series(name).gather(rows), after.series(name)) for name in expected}
    as_is = [name for name in expected if name not in plan.masked]
    if private is not None:
        order = _order_of(original, plan, _seed_of(private), {name: series[name][1] for name in expected})
        series = {name: (one, other if order is None else other.gather(order)) for name, (one, other) in series.items()}
    elif not same_order and not as_is and isinstance(masked, str | os.PathLike):
        raise UncheckedRowsError
    _require_same_rows(series, as_is)
    open_once = opener(plan.folder)
    looked_at = [name for name in expected if name in plan.columns or name in plan.masked]
    return {
        name: compared_column(name, *series[name], plan.description(name), open_once)
        for name in looked_at
        if plan.description(name).role != "other" or name in plan.masked
    }


def _opened(table: Any, plan: Plan) -> Door:
    return Door(read_table(table, **plan.table).frame if isinstance(table, str | os.PathLike) else table)


def _rows_that_stay(door: Door, plan: Plan) -> NDArray[np.int64]:
    open_once = opener(plan.folder)
    drops = [
        records_to_drop(encode_described(name, door.series(name), one), one, open_once)
        for name, one in plan.columns.items()
        if name in door.names and one.role != "identifier" and (one.missing == "drop" or one.unmatched == "drop")
    ]
    dropped = [one for one in drops if one is not None]
    stays = ~np.logical_or.reduce(dropped) if dropped else np.ones(len(door), dtype=np.bool_)
    return np.flatnonzero(stays)


def _seed_of(private: str | os.PathLike[str]) -> Seed:
    try:
        return Seed(int(json.loads(Path(private).read_text(encoding="utf-8"))["seed"]))
    except (OSError, ValueError, KeyError, TypeError, ParameterError):
        raise PrivateRecordError(str(private)) from None


def _order_of(original: Any, plan: Plan, seed: Seed, masked: Mapping[str, pl.Series]) -> NDArray[np.int64] | None:
    """For each row of the original the place of its row in the release; None where the order was kept.

    The original is masked anew: only the plan and the record of this release give the same cells.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = Door(mask(original, plan, seed=seed.number).table)
    cells = {name: as_text_series(again.series(name)).cast(pl.String) for name in masked}
    found = {name: as_text_series(column).cast(pl.String) for name, column in masked.items()}
    if all(cells[name].equals(found[name]) for name in masked):
        return None
    n_rows = len(again)
    places = np.empty(n_rows, dtype=np.int64)
    places[row_order(seed, "order of rows", n_rows).part(0, n_rows)] = np.arange(n_rows)
    if not all(cells[name].equals(found[name].gather(places)) for name in masked):
        raise ForeignRecordError
    return places


def _require_same_rows(series: Mapping[str, tuple[pl.Series, pl.Series]], as_is: Sequence[str]) -> None:
    """Columns that no step masked must be the same, row by row."""
    for name in as_is:
        one, other = (as_text_series(cells).cast(pl.String) for cells in series[name])
        if not one.equals(other):
            raise ShuffledRowsError(name)
