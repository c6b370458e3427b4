"""One kind of noise on one sample, with every seed: how far values move, and what is left of their correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from anonto import stats
from anonto.encoding.columns import encode
from anonto.encoding.prepare import opener, prepare
from anonto.encoding.records import distinct_records
from anonto.masking.plan import plan_of
from anonto.masking.released import add_counts
from anonto.papers.measurement import Measurement
from anonto.random.streams import Seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Longs
    from anonto.encoding.value_space import NominalSpace
    from anonto.methods.method import RowMethod
    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope

NAME = "noise"
STRONG, WEAK, PLAIN, NARROW = "strong", "weak", "plain", "narrow"
ALL = (STRONG, WEAK, PLAIN, NARROW)
A, B = "principal_dx", "secondary_dx"
ALONE, TOGETHER, TOGETHER_EQUAL = "uncorrelated", "correlated", "correlated, equal variance"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    ALONE: ("semantic-noise", {"scale": "semantic"}),
    TOGETHER: ("semantic-noise-joint", {"scale": "distance"}),
    TOGETHER_EQUAL: ("semantic-noise-joint", {"scale": "semantic"}),
}
EXPONENTIAL = "taxonomy-exponential"
PRINTED_LEVELS = (0.2, 0.4)
DETAILED = PRINTED_LEVELS
"""Noise levels of which means and variances are printed, and computed."""


@dataclass(frozen=True, slots=True)
class OriginalStatistics:
    """The statistics of two unmasked columns."""

    variance: dict[str, float]
    covariance: float
    correlation: float
    corrected: float
    """The correlation without the bias of samples."""


@dataclass(frozen=True, slots=True)
class NoisyResult:
    """Effect of noise, with every seed; what was not asked for is missing."""

    rmse: dict[str, Measurement]
    target: dict[str, Measurement]
    truncated: dict[str, Measurement]
    correlation: Measurement
    corrected: Measurement
    """The correlation without the bias of samples: about 0 for independent columns."""
    covariance: Measurement
    mean_shift: dict[str, Measurement]
    variance: dict[str, Measurement]


def measure_original(sample: Sample) -> OriginalStatistics:
    """The statistics of an unmasked sample."""
    return OriginalStatistics(
        {name: _variance(sample, sample.table, name) for name in sample.columns},
        _covariance(sample, sample.table),
        sample.correlation(*_both(sample)),
        _unbiased_correlation(sample, sample.table),
    )


def add_noise(sample: Sample, method: str, parameters: Mapping[str, Any], seeds: Sequence[int]) -> NoisyResult:
    """Add noise to both columns with each seed."""
    columns = sample.columns
    detailed = parameters.get("noise_level") in DETAILED
    before = {name: _mean(sample, sample.table, name) for name in columns} if detailed else {}
    drawn = FittedNoise(sample, method, parameters)
    rows = []
    for seed in seeds:
        table = drawn.release(seed)
        row: dict[tuple[str, ...], float] = {}
        for name in columns:
            row["rmse", name] = drawn.rmse(name, table)
            if detailed:
                row["mean_shift", name] = _mean_shift(sample, table, name, before[name])
                row["variance", name] = _variance(sample, table, name)
        row["correlation",] = sample.correlation(*_both(sample), table)
        row["corrected",] = _unbiased_correlation(sample, table)
        row["covariance",] = _covariance(sample, table) if detailed else 0.0
        rows.append(row)
    facts = drawn.facts()

    def measure(*key: str) -> Measurement:
        return Measurement.of(row[key] for row in rows)

    def by_column(what: str) -> dict[str, Measurement]:
        return {name: measure(what, name) for name in columns if (what, name) in rows[0]}

    return NoisyResult(
        rmse=by_column("rmse"),
        target={name: Measurement((facts["target_rmse"][name],)) for name in columns if "target_rmse" in facts},
        truncated={
            name: Measurement((facts["truncated_share"][name],)) for name in columns if "truncated_share" in facts
        },
        correlation=measure("correlation"),
        corrected=measure("corrected"),
        covariance=measure("covariance"),
        mean_shift=by_column("mean_shift"),
        variance=by_column("variance"),
    )


class FittedNoise:
    """A method of noise that has measured a sample once and releases it with any seed, as `anonto.mask` does.

    In a large domain the measuring takes far longer than the draws.
    """

    def __init__(self, sample: Sample, method: str, parameters: Mapping[str, Any]) -> None:
        plan = plan_of(sample.plan(method, sample.columns, parameters))
        open_once = opener()
        prepared = [
            prepare(name, encode(sample.table[name]), plan.description(name), open_once) for name in sample.columns
        ]
        self._names = sample.columns
        self._sample = sample
        self._before = [one.column.codes for one in prepared]
        records, _ = distinct_records(self._names, [one.value_space for one in prepared], self._before)
        self._masker = cast("RowMethod", plan.steps[0].method).fit(records, np.random.default_rng(0))
        self._rows = np.arange(sample.table.height)
        self._counts: Longs | None = None

    def release(self, seed: int) -> pl.DataFrame:
        """The released concepts."""
        after, counts = self._masker.apply_and_count(self._before, self._rows, Seed(seed).key("apply", 0))
        self._counts = add_counts(self._counts, counts)
        value_spaces = cast("Sequence[NominalSpace]", self._masker.value_spaces)
        return pl.DataFrame(
            {
                name: np.array(value_space.concepts, dtype=object)[codes.astype(np.int64)]
                for name, value_space, codes in zip(self._names, value_spaces, after, strict=True)
            },
            schema=dict.fromkeys(self._names, pl.String),
        )

    def rmse(self, column: str, table: pl.DataFrame) -> float:
        """The root of the mean squared distance of released and original values."""
        domain = self._sample.taxonomies[column].rooted(self._sample.root)
        moves = pl.DataFrame({"a": self._sample.table[column], "b": table[column]}).group_by("a", "b").len()
        starts, ends = (sorted(set(moves[name])) for name in ("a", "b"))
        apart = domain.distances(starts, ends, self._sample.measure)
        squares = apart[np.searchsorted(starts, moves["a"]), np.searchsorted(ends, moves["b"])] ** 2
        return math.sqrt(float(moves["len"].to_numpy() @ squares) / table.height)

    def facts(self) -> Mapping[str, Any]:
        """Facts about the noise from the evidence, over all releases so far."""
        return {**self._masker.facts(), **self._masker.counted_facts(self._counts)}


def _both(sample: Sample) -> tuple[str, str]:
    first, second = sample.columns
    return first, second


def _mean(sample: Sample, table: pl.DataFrame, column: str) -> str:
    return str(stats.semantic_mean(table[column], sample.taxonomies[column], sample.measure, sample.root))


def _mean_shift(sample: Sample, table: pl.DataFrame, column: str, before: str) -> float:
    """The distance of the semantic means, in the declared domain."""
    domain = sample.taxonomies[column].rooted(sample.root)
    return domain.distance(before, _mean(sample, table, column), sample.measure)


def _variance(sample: Sample, table: pl.DataFrame, column: str) -> float:
    return stats.semantic_variance(table[column], sample.taxonomies[column], sample.measure, sample.root)


def _unbiased_correlation(sample: Sample, table: pl.DataFrame) -> float:
    """The root of the squared correlation without bias, with its sign: that square can be below 0."""
    first, second = _both(sample)
    taxonomies = (sample.taxonomies[first], sample.taxonomies[second])
    square = stats.bias_corrected_distance_correlation(
        table[first], table[second], *taxonomies, sample.measure, sample.root
    )
    return math.copysign(math.sqrt(abs(square)), square)


def _covariance(sample: Sample, table: pl.DataFrame) -> float:
    first, second = _both(sample)
    taxonomies = (sample.taxonomies[first], sample.taxonomies[second])
    return stats.distance_covariance(table[first], table[second], *taxonomies, sample.measure, sample.root)


class NoiseRuns:
    """Results of the experiments."""

    def __init__(self, scope: Scope, found: Mapping[tuple[Any, ...], Any]) -> None:
        self.levels = scope.noise_levels
        self.epsilons = scope.epsilons
        self._found = found

    def original(self, which: str) -> OriginalStatistics:
        """The unmasked sample."""
        return self._found[NAME, which]  # type: ignore[no-any-return]

    def one(self, which: str, variant: str, amount: float) -> NoisyResult:
        """One variant at one noise level, or at one ε."""
        return self._found[NAME, which, variant, amount]  # type: ignore[no-any-return]

    def correlations(self, which: str, variant: str) -> list[Measurement]:
        """A measurement for each noise level."""
        return [self.one(which, variant, level).correlation for level in self.levels]

    def gains(self, which: str, variant: str) -> list[Measurement]:
        """How much more correlation correlated noise keeps, by noise level."""
        pairs = zip(self.correlations(which, variant), self.correlations(which, ALONE), strict=True)
        return [together.less(alone) for together, alone in pairs]

    def corrected_gains(self, which: str, variant: str) -> list[Measurement]:
        """The same without the bias of samples."""
        found = [[self.one(which, one, level).corrected for level in self.levels] for one in (variant, ALONE)]
        return [together.less(alone) for together, alone in zip(*found, strict=True)]
