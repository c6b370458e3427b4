"""One kind of noise on one sample, with every seed: how far values move, and what is left of their correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from anonto import stats
from anonto.masking.released import added
from anonto.plan import plan_of
from anonto.reproduction.measured import Measured
from anonto.rng import Seed
from anonto.table.columns import encode
from anonto.table.prepare import opener, prepare
from anonto.table.records import distinct_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.method import RowMethod
    from anonto.reproduction.samples import Sample
    from anonto.reproduction.scope import Scope
    from anonto.table.attributes import NominalAttribute

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
class Original:
    """The statistics of two unmasked columns."""

    variance: dict[str, float]
    covariance: float
    correlation: float
    corrected: float
    """The correlation without the bias of samples."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """What noise did, with every seed; what was not asked for is missing."""

    rmse: dict[str, Measured]
    target: dict[str, Measured]
    truncated: dict[str, Measured]
    correlation: Measured
    corrected: Measured
    """The correlation without the bias of samples: about 0 for independent columns."""
    covariance: Measured
    mean_shift: dict[str, Measured]
    variance: dict[str, Measured]


def original(sample: Sample) -> Original:
    """The statistics of an unmasked sample."""
    return Original(
        {name: _variance(sample, sample.table, name) for name in sample.columns},
        _covariance(sample, sample.table),
        sample.correlation(*_both(sample)),
        _corrected(sample, sample.table),
    )


def noisy(sample: Sample, method: str, parameters: Mapping[str, Any], seeds: Sequence[int]) -> Noisy:
    """Add noise to both columns with each seed."""
    columns = sample.columns
    detailed = parameters.get("noise_level") in DETAILED
    before = {name: _mean(sample, sample.table, name) for name in columns} if detailed else {}
    drawn = FittedNoise(sample, method, parameters)
    rows = []
    for seed in seeds:
        table = drawn.released(seed)
        row: dict[tuple[str, ...], float] = {}
        for name in columns:
            row["rmse", name] = drawn.rmse(name, table)
            if detailed:
                row["mean_shift", name] = _mean_shift(sample, table, name, before[name])
                row["variance", name] = _variance(sample, table, name)
        row["correlation",] = sample.correlation(*_both(sample), table)
        row["corrected",] = _corrected(sample, table)
        row["covariance",] = _covariance(sample, table) if detailed else 0.0
        rows.append(row)
    facts = drawn.facts()

    def measured(*key: str) -> Measured:
        return Measured.of(row[key] for row in rows)

    def by_column(what: str) -> dict[str, Measured]:
        return {name: measured(what, name) for name in columns if (what, name) in rows[0]}

    return Noisy(
        rmse=by_column("rmse"),
        target={name: Measured((facts["target_rmse"][name],)) for name in columns if "target_rmse" in facts},
        truncated={name: Measured((facts["truncated_share"][name],)) for name in columns if "truncated_share" in facts},
        correlation=measured("correlation"),
        corrected=measured("corrected"),
        covariance=measured("covariance"),
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
        records, _ = distinct_records(self._names, [one.attribute for one in prepared], self._before)
        self._masker = cast("RowMethod", plan.steps[0].method).fit(records, np.random.default_rng(0))
        self._rows = np.arange(sample.table.height)
        self._counts: NDArray[np.int64] | None = None

    def released(self, seed: int) -> pl.DataFrame:
        """The released concepts."""
        after, counts = self._masker.apply_and_count(self._before, self._rows, Seed(seed).key("apply", 0))
        self._counts = added(self._counts, counts)
        attributes = cast("Sequence[NominalAttribute]", self._masker.attributes)
        return pl.DataFrame(
            {
                name: np.array(attribute.concepts, dtype=object)[codes.astype(np.int64)]
                for name, attribute, codes in zip(self._names, attributes, after, strict=True)
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
        """What the evidence says of the noise, over all releases so far."""
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


def _corrected(sample: Sample, table: pl.DataFrame) -> float:
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


class Runs:
    """What the jobs found."""

    def __init__(self, scope: Scope, found: Mapping[tuple[Any, ...], Any]) -> None:
        self.levels = scope.noise_levels
        self.epsilons = scope.epsilons
        self._found = found

    def original(self, which: str) -> Original:
        """The unmasked sample."""
        return self._found[NAME, which]  # type: ignore[no-any-return]

    def one(self, which: str, variant: str, amount: float) -> Noisy:
        """One variant at one noise level, or at one ε."""
        return self._found[NAME, which, variant, amount]  # type: ignore[no-any-return]

    def correlations(self, which: str, variant: str) -> list[Measured]:
        """By noise level."""
        return [self.one(which, variant, level).correlation for level in self.levels]

    def gains(self, which: str, variant: str) -> list[Measured]:
        """What correlated noise keeps more, by noise level."""
        pairs = zip(self.correlations(which, variant), self.correlations(which, ALONE), strict=True)
        return [together.less(alone) for together, alone in pairs]

    def corrected_gains(self, which: str, variant: str) -> list[Measured]:
        """The same without the bias of samples."""
        found = [[self.one(which, one, level).corrected for level in self.levels] for one in (variant, ALONE)]
        return [together.less(alone) for together, alone in zip(*found, strict=True)]
