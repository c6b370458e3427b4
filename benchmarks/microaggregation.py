"""Microaggregation: utility at a given risk, compared with ARX's best local recoding; and the cost of its parts."""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import anonto
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.encoding.columns import Column
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import NumericSpace, nominal_space
from anonto.errors import AnontoWarning
from anonto.methods.loss_bound import without_bounds
from anonto.methods.microaggregate import Microaggregate
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import Finding, at_least, at_most, exponents, interleaved

if TYPE_CHECKING:
    from anonto.encoding.records import Records

K = 10
N_VALUES = 500
NOMINAL = {"principal_dx": "dx", "principal_procedure": "pr"}
ARX = ((0.05, 0.607), (0.054, 0.618), (0.185, 0.725))
"""ARX on the same sample: utility of its best local recoding up to this linkage."""
BUDGETS = (
    (4, 0.055, 0.05, 0.66),
    (2, 0.106, 0.1, 0.715),
    (2, 0.212, 0.2, 0.755),
    (5, 0.055, 0.05, 0.66),
    (5, 0.11, 0.1, 0.71),
)
"""A k, an average risk, and the utility that is wanted at a linkage."""
SLOW_RUN = ((4, 0.172, 0.728), (7, 0.096, 0.685), (15, 0.049, 0.636))
"""A k, and at its linkage the utility of MDAV with two rounds of refining, written plainly."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    growth = [_growth(quick=quick, **further) for further in ({}, {"average_risk": 1 / K})]
    return [*_on_discharges(quick=quick), *_parts(2_000 if quick else 100_000), *growth]


# ------------------------------------------------------------------------------------------------ risk and utility


def _on_discharges(*, quick: bool) -> list[Finding]:
    """Utility is 1 minus the mean root mean squared distance of both columns; the intruder knows both."""
    named = os.environ.get("ANONTO_DATA")
    if not named:
        return [Finding("utility and linkage on discharges", float("nan"), "", note="ANONTO_DATA is not set")]
    measure = _Discharges(Path(named))
    by_k = {k: measure(k) for k in ((4, 7, 14, 15) if quick else range(3, 21))}
    findings = []
    for linked, kept in ARX:
        k = max((k for k, (_, rate) in by_k.items() if rate <= linked), key=lambda k: by_k[k][0])
        utility, rate = by_k[k]
        what = f"utility at a linkage of {linked:g} at most; ARX keeps {kept:g}"
        findings.append(at_least(what, utility, kept, "", note=f"k = {k}, linkage {rate:.3f}"))
    for k, linked, kept in SLOW_RUN:
        utility, rate = by_k[k]
        what = f"utility with k = {k}; a slow run had {kept:g} at a linkage of {linked:g}"
        findings.append(at_least(what, utility, kept, "", note=f"linkage {rate:.3f}"))
    for k, average_risk, linked, kept in BUDGETS:
        utility, rate = measure(k, average_risk=average_risk)
        what = f"utility at a linkage of {linked:g} at most, with k = {k} and average_risk = {average_risk:g}"
        findings.append(at_least(what, utility if rate <= linked else 0.0, kept, "", note=f"linkage {rate:.3f}"))
    facts = {str(k): {"utility": utility, "linkage": rate} for k, (utility, rate) in by_k.items()}
    return [*findings[:-1], Finding(**{**_fields(findings[-1]), "facts": facts})]


def _fields(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in ("what", "measured", "unit", "wanted", "met", "note")}


class _Discharges:
    """1,172 discharges with their principal diagnosis and procedure."""

    def __init__(self, folder: Path) -> None:
        table = pl.read_csv(folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz", infer_schema=False)
        self.table = table[np.random.default_rng(3).choice(20000, 1172, replace=False)]
        self.ontologies = {
            name: anonto.read_ontology(folder / "icd9cm" / f"icd9cm_{kind}_edges.csv") for name, kind in NOMINAL.items()
        }

    def __call__(self, k: int, **further: float) -> tuple[float, float]:
        """Utility and linkage with the other parameters by default."""
        columns = {name: {"ontology": ontology} for name, ontology in self.ontologies.items()}
        step = {"method": "microaggregate", "columns": list(NOMINAL), "k": k, **further}
        with warnings.catch_warnings(), without_bounds():
            warnings.simplefilter("ignore", AnontoWarning)
            release = anonto.mask(self.table, {"columns": columns, "steps": [step]})
        compared = [
            compare_column(
                name, BothCells.of(self.table[name], release.table[name]), ColumnDescription(ontology=one), opener()
            )
            for name, one in self.ontologies.items()
        ]
        lost = list(release.evidence["steps"][0]["rmse"].values())
        return 1 - float(np.mean(lost)), distance_linkage(compared).rate


# ------------------------------------------------------------------------------------------------ speed


def mixed(n: int) -> Records:
    """Two columns of numbers and a nominal one, its frequencies falling as one over the rank."""
    rng = np.random.default_rng(6)
    taxonomy = generated_taxonomy(20_000)
    shares = 1 / np.arange(1, N_VALUES + 1)
    codes = rng.choice(N_VALUES, n, p=shares / shares.sum()).astype(np.int32)
    column = Column(tuple(some_concepts(taxonomy, N_VALUES)), codes)
    value_spaces: list[Any] = [nominal_space(column, taxonomy, measure="wu-palmer")]
    columns = [codes]
    for _ in range(2):
        numbers, place = np.unique(rng.normal(size=n), return_inverse=True)
        value_spaces.append(NumericSpace(numbers, np.bincount(place)))
        columns.append(place.astype(np.int32))
    return distinct_records(["dx", "age", "stay"], value_spaces, columns)[0]


def _fit(records: Records, **parameters: Any) -> object:
    with without_bounds():
        return Microaggregate(k=K, **parameters).fit(records, np.random.default_rng(1))


def _parts(n: int) -> list[Finding]:
    records = mixed(n)
    timings = interleaved(
        {
            "plain": partial(_fit, records, refine=False, centroid="sample"),
            "taxonomy": partial(_fit, records, refine=False),
            "variable": partial(_fit, records, refine=False, centroid="sample", variable=True),
            "default": partial(_fit, records),
            "within a risk": partial(_fit, records, average_risk=1 / K),
        },
        3,
    )
    plain = timings["plain"].median
    note = f"{n:,} records, k = {K}, {N_VALUES} values in 20,000 concepts; as in the paper {plain:.2f} s"
    return [
        at_most(
            "centres from the taxonomy against those of the sample", timings["taxonomy"].median / plain, 2, note=note
        ),
        at_most("groups of varying size against MDAV", timings["variable"].median / plain, 5),
        Finding("refined, with centres from the taxonomy (the default)", timings["default"].median / plain, "×"),
        Finding("within an average risk of 1/k", timings["within a risk"].median / plain, "×"),
    ]


def _growth(*, quick: bool, **further: float) -> Finding:
    sizes = [500, 1_000, 2_000] if quick else [25_000, 50_000, 100_000]
    timings = interleaved({str(n): partial(_fit, mixed(n), **further) for n in sizes}, 3)
    seconds = [timings[str(n)].median for n in sizes]
    powers = exponents(sizes, seconds)
    note = (
        f"{', '.join(f'{power:.2f}' for power in powers)} as the records double; {seconds[-1]:.1f} s at {sizes[-1]:,}"
    )
    how = "within an average risk" if further else "by default"
    return at_most(f"growth with the records {how}, largest exponent", max(powers), 1.5, "", note=note)
