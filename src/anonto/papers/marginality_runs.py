"""Microaggregation of discharges: squared errors, equivalence classes, and the example of the paper."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.engine.run import mask
from anonto.errors import AnontoWarning
from anonto.methods.loss_bound import without_bounds
from anonto.papers.measurement import Measurement
from anonto.papers.printed_tables import printed_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope

NAME = "marginality"
AGE, STAY, DX = "age", "length_of_stay", "principal_dx"
CHARGE = "synthetic_charge"
MIXED, NOMINAL, WITH_CHARGE = "mixed", "nominal", "mixed with a continuous column"
COLUMNS = {MIXED: (AGE, STAY, DX), NOMINAL: (DX,), WITH_CHARGE: (AGE, STAY, CHARGE, DX)}
AS_PRINTED = {"refine": False, "centroid": "sample"}
VARIANTS: dict[str, dict[str, Any]] = {
    "classic": {**AS_PRINTED, "scale": "paper", "semantics": "classic"},
    "marginality": {**AS_PRINTED, "scale": "paper"},
    "classic, corrected": {**AS_PRINTED, "scale": "mean", "semantics": "classic"},
    "marginality, corrected": {**AS_PRINTED, "scale": "mean"},
    "defaults": {},
}
NOMINAL_VARIANTS = ("classic", "marginality", "defaults")
"""A single column is divided by one number whatever the scale, so the scales do not differ."""
PRINTED_TABLES = {("neoplasm", MIXED): 2, ("digestive", MIXED): 3, ("neoplasm", NOMINAL): 4, ("digestive", NOMINAL): 5}
CHARGE_SEED = 2013
CLASS_SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))
EXAMPLE = (
    *("lung cancer", "paranoia", "schizophrenia", "vascular dementia"),
    *("Alzheimer", "Alzheimer", "meningitis", "meningitis", "multiple sclerosis"),
)


def measure_squared_errors(
    sample: Sample, kind: str, variant: str, k: int, seeds: Sequence[int]
) -> dict[str, Measurement]:
    """The sum of squared distances of each column, with the codes renamed at random for each seed."""
    columns = COLUMNS[kind]
    sample = add_charge(sample) if kind == WITH_CHARGE else sample
    rows = []
    for seed in seeds:
        renamed = rename_at_random(sample, DX, np.random.default_rng(seed))
        plan = renamed.plan("microaggregate", columns, {"k": k, **VARIANTS[variant]})
        with warnings.catch_warnings(), without_bounds():
            warnings.simplefilter("ignore", AnontoWarning)
            release = mask(renamed.table.select(columns), plan, seed=seed)
        rows.append(release.evidence["steps"][0]["sse"])
    return {column: Measurement.of(row[column] for row in rows) for column in columns}


def add_charge(sample: Sample) -> Sample:
    """The same records with a synthetic continuous charge that grows with the stay, so that no two records tie."""
    noise = np.random.default_rng(CHARGE_SEED).normal(0.0, 0.8, sample.table.height)
    charge = 4_000.0 * (pl.col(STAY) + 1) * pl.Series(np.exp(noise))
    return replace(sample, table=sample.table.with_columns(charge.alias(CHARGE)))


def rename_at_random(sample: Sample, column: str, rng: np.random.Generator) -> Sample:
    """The same records with the concepts of a column renamed, so that the order of their names says nothing."""
    taxonomy = sample.taxonomies[column]
    numbers = rng.permutation(len(taxonomy)).tolist()
    names = {concept: f"{number:07d} {concept}" for concept, number in zip(taxonomy.ids, numbers, strict=True)}
    renamed = replace(taxonomy, ids=tuple(names.values()), alternative_ids={}, obsolete={})
    return replace(
        sample,
        table=sample.table.with_columns(pl.col(column).replace_strict(names)),
        taxonomies={**sample.taxonomies, column: renamed},
    )


@dataclass(frozen=True, slots=True)
class EquivalenceClasses:
    """Records by the size of their equivalence class, as shares."""

    shares: dict[str, tuple[float, ...]]
    n_classes: dict[str, int]
    n_records: int


def count_classes(sample: Sample) -> EquivalenceClasses:
    """The equivalence classes of the mixed columns and of the diagnosis alone."""
    shares, n_classes = {}, {}
    for kind in (MIXED, NOMINAL):
        sizes = sample.table.group_by(COLUMNS[kind]).len()["len"].to_numpy()
        n_classes[kind] = int(sizes.size)
        shares[kind] = tuple(
            float(sizes[(sizes >= low) & (sizes <= (np.inf if high is None else high))].sum() / sizes.sum())
            for low, high in CLASS_SIZES
        )
    return EquivalenceClasses(shares, n_classes, sample.table.height)


class MarginalityRuns:
    """Results of the experiments."""

    def __init__(self, scope: Scope, found: Mapping[tuple[Any, ...], Any]) -> None:
        self.ks = scope.group_sizes
        self._found = found

    def sse(self, category: str, kind: str, variant: str, column: str = DX) -> list[Measurement]:
        """Squared errors of a column, by k."""
        return [self._found[NAME, category, kind, variant, k][column] for k in self.ks]

    def gap(self, category: str, kind: str) -> list[Measurement]:
        """How much smaller the squared error of the diagnosis is with marginality than without, by k."""
        classic, marginality = (self.sse(category, kind, variant) for variant in ("classic", "marginality"))
        return [a.less(b) for a, b in zip(classic, marginality, strict=True)]

    def saving_at_smallest_k(self, category: str, kind: str) -> float:
        """The share of the classic squared error of the diagnosis that marginality saves at the smallest k."""
        classic, ours = (
            self._found[NAME, category, kind, variant, self.ks[0]][DX].mean for variant in ("classic", "marginality")
        )
        return float(1 - ours / classic)

    def classes(self, category: str) -> EquivalenceClasses:
        """Equivalence classes of the unmasked sample."""
        return self._found[NAME, category]  # type: ignore[no-any-return]


def printed_marginalities() -> list[float]:
    """The marginalities that follow from the printed distances: the sums of their rows."""
    matrix = printed_table(f"{NAME}-example-distances").drop("")
    return [sum(row) for row in matrix.rows()]
