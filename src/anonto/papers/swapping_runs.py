"""One method of swapping on one sample, with every seed: what moved, what stayed, and who could be linked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto import stats
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.global_linkage import global_linkage
from anonto.attacks.compute.method_aware_linkage import method_aware_linkage
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.engine.run import mask
from anonto.errors import AnontoWarning
from anonto.papers.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.encoding.comparison import ComparedColumn
    from anonto.masking.release import Release
    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope

NAME = "rank-swapping"
METHODS = {
    "random-swap": "random",
    "frequency-swap": "frequency",
    "rank-swap-fixed": "fixed ranking",
    "rank-swap": "per column",
    "rank-swap-joint": "joint",
    "group-swap": "group-swap",
}
MODERATE, STRONG, THIRD = "rank moderate", "rank strong", "rank third"
DX, PROCEDURE, SECOND = "principal_dx", "procedure", "secondary_dx"
TABLES = {"rank-swap-fixed": (2, "Algorithm 1"), "rank-swap": (3, "Algorithm 2"), "rank-swap-joint": (4, "Algorithm 3")}

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Features:
    """Statistics of an unmasked table of concepts."""

    mean: dict[str, str]
    """The semantic mean of each column."""
    variance: dict[str, float]
    """The distance variance of each column."""
    correlation: dict[Pair, float]
    categories: dict[str, int]
    linkage: float
    """Share of persons linked in the unmasked table: its distinct records."""


@dataclass(frozen=True, slots=True)
class SwapResult:
    """Effect of swapping, with every seed."""

    rmse: dict[str, Measurement]
    mean_shift: dict[str, Measurement]
    """The distance of the semantic means before and after."""
    variance: dict[str, Measurement]
    correlation: dict[Pair, Measurement]
    changed_frequencies: Measurement
    """Values that occur more or less often than before, over all columns."""
    untouched: Measurement
    """The share of cells without a partner."""
    linkage: Measurement
    global_linkage: Measurement
    method_aware: Measurement
    """The better of the two intruders who know the method and its parameters."""

    @property
    def blind_linkage(self) -> Measurement:
        """The better of the two intruders who do not know the method, by the mean."""
        return max(self.linkage, self.global_linkage, key=lambda one: one.mean)

    @property
    def worst_linkage(self) -> Measurement:
        """The best of all intruders, by the mean."""
        return max(self.blind_linkage, self.method_aware, key=lambda one: one.mean)


def measure_features(sample: Sample) -> Features:
    """The statistics of the unmasked sample."""
    columns = sample.columns
    return Features(
        mean={name: _mean(sample, sample.table, name) for name in columns},
        variance={name: _variance(sample, sample.table, name) for name in columns},
        correlation={pair: sample.correlation(*pair) for pair in combinations(columns, 2)},
        categories={name: sample.table[name].n_unique() for name in columns},
        linkage=distance_linkage(_compare(sample, sample.table, columns)).rate,
    )


def swap_sample(sample: Sample, method: str, parameters: Mapping[str, Any], seeds: Sequence[int]) -> SwapResult:
    """Swap all columns of a sample with each seed."""
    columns = sample.columns
    before = {name: _mean(sample, sample.table, name) for name in columns}
    plan = sample.plan(method, columns, parameters)
    rows = []
    for place, seed in enumerate(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AnontoWarning)
            release = mask(sample.table, plan, seed=seed)
        step, table = release.evidence["steps"][0], release.table
        linked, matched, aware = _measure_linkage(sample, release, columns, np.random.default_rng(place))
        row: dict[tuple[str, ...], float] = {("rmse", name): step["rmse"][name] for name in columns}
        row |= {("variance", name): _variance(sample, table, name) for name in columns}
        row |= {("mean_shift", name): _mean_shift(sample, table, name, before[name]) for name in columns}
        row |= {("correlation", *pair): sample.correlation(*pair, table) for pair in combinations(columns, 2)}
        row["changed_frequencies",] = sum(_changed_frequencies(sample.table, table, name) for name in columns)
        row["untouched",] = sum(step["untouched"].values()) / max(table.height * len(columns), 1)
        row["linkage",], row["global_linkage",], row["method_aware",] = linked, matched, aware
        rows.append(row)

    def measure(*key: str) -> Measurement:
        return Measurement.of(row[key] for row in rows)

    return SwapResult(
        rmse={name: measure("rmse", name) for name in columns},
        mean_shift={name: measure("mean_shift", name) for name in columns},
        variance={name: measure("variance", name) for name in columns},
        correlation={pair: measure("correlation", *pair) for pair in combinations(columns, 2)},
        changed_frequencies=measure("changed_frequencies"),
        untouched=measure("untouched"),
        linkage=measure("linkage"),
        global_linkage=measure("global_linkage"),
        method_aware=measure("method_aware"),
    )


def _mean(sample: Sample, table: pl.DataFrame, column: str) -> str:
    return str(stats.semantic_mean(table[column], sample.taxonomies[column], sample.measure, sample.root))


def _mean_shift(sample: Sample, table: pl.DataFrame, column: str, before: str) -> float:
    after = _mean(sample, table, column)
    return 0.0 if after == before else sample.taxonomies[column].distance(before, after, sample.measure)


def _variance(sample: Sample, table: pl.DataFrame, column: str) -> float:
    return stats.distance_variance(table[column], sample.taxonomies[column], sample.measure, sample.root)


def _changed_frequencies(before: pl.DataFrame, after: pl.DataFrame, column: str) -> int:
    first, second = (table[column].value_counts(name="count") for table in (before, after))
    both = first.join(second, on=column, how="full", coalesce=True).fill_null(0)
    return int((both["count"] != both["count_right"]).sum())


def _description(sample: Sample, column: str) -> ColumnDescription:
    return ColumnDescription(ontology=sample.taxonomies[column], root=sample.root, measure=sample.measure)


def _compare(sample: Sample, table: pl.DataFrame, columns: Sequence[str]) -> list[ComparedColumn]:
    open_once = opener()
    return [
        compare_column(name, BothCells.of(sample.table[name], table[name]), _description(sample, name), open_once)
        for name in columns
    ]


def _measure_linkage(
    sample: Sample, release: Release, columns: Sequence[str], rng: np.random.Generator
) -> tuple[float, float, float]:
    """The share of persons linked by intruders who know all columns: nearest, all at once, knowing the method."""
    table, open_once = release.table, opener()
    compared = _compare(sample, table, columns)
    cells = {name: BothCells.of(sample.table[name], table[name]) for name in columns}
    steps = [
        encode_step(
            step.method,
            step.columns,
            cells,
            lambda name: _description(sample, name),
            open_once,
            compared[0].amounts.original,
        )
        for step in release.plan.steps
        if step.method.is_swap
    ]
    found = distance_linkage(compared).rate, global_linkage(compared, rng).rate
    return *found, max(one.rate for one in method_aware_linkage(compared, steps, {}, rng))


class SwappingRuns:
    """Results of the experiments."""

    def __init__(self, scope: Scope, found: Mapping[tuple[Any, ...], Any]) -> None:
        self.ks = scope.ks
        self._found = found

    def features(self, subject: str) -> Features:
        """Statistics of an unmasked sample."""
        return self._found[NAME, subject]  # type: ignore[no-any-return]

    def one(self, subject: str, method: str, k: int) -> SwapResult:
        """One method with one k; random swapping has none."""
        return self._found[NAME, subject, method, None if method == "random-swap" else k]  # type: ignore[no-any-return]

    def all(self) -> list[SwapResult]:
        """Every run."""
        return [one for key, one in self._found.items() if key[0] == NAME and len(key) == 4]

    def largest_drift(self) -> float:
        """How far a distance variance went from the original's, at most."""
        drifts: list[float] = [
            abs(value - self.features(key[1]).variance[name])
            for key, one in self._found.items()
            if key[0] == NAME and len(key) == 4
            for name, number in one.variance.items()
            for value in number.values
        ]
        return max(drifts)

    def rmse(self, subject: str, method: str, column: str) -> list[Measurement]:
        """The root mean squared distance of a column for each k."""
        return [self.one(subject, method, k).rmse[column] for k in self.ks]

    def correlation(self, subject: str, method: str, pair: tuple[str, str] = (DX, PROCEDURE)) -> list[Measurement]:
        """The correlation of two columns for each k."""
        return [self.one(subject, method, k).correlation[pair] for k in self.ks]
