"""Distance correlation: against counting the same table, against dcor, as records double."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto import stats
from anonto.encoding.columns import encode_together
from anonto.encoding.value_space import nominal_space
from anonto.stats.contingency import joint_shares
from anonto.stats.dependence import Spread, TwoColumns, spread
from benchmarks.generated import dependent_codes, generated_taxonomy, some_concepts
from benchmarks.measuring import Finding, at_least, at_most, exponents, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Floats, Longs
    from anonto.encoding.value_space import NominalSpace
    from anonto.taxonomy.taxonomy import Taxonomy

N_A, N_B = 1_000, 500
MILLION = 1_000_000
MEASURE = "wu-palmer"
AFTER = "the rest of"


@dataclass(frozen=True, slots=True)
class Domain:
    """Two taxonomies, and the concepts of each that records may have."""

    tax_a: Taxonomy
    tax_b: Taxonomy
    values_a: list[str]
    values_b: list[str]

    def correlation(self, a: pl.Series, b: pl.Series) -> float:
        """The measured call."""
        return stats.distance_correlation(a, b, self.tax_a, self.tax_b, MEASURE)


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    tax_a, tax_b = generated_taxonomy(4_000, seed=5), generated_taxonomy(2_000, several_parents=0.0, seed=6)
    n_a, n_b = (N_A // 10, N_B // 10) if quick else (N_A, N_B)
    domain = Domain(tax_a, tax_b, some_concepts(tax_a, n_a), some_concepts(tax_b, n_b))
    sizes = (1, 2, 4) if quick else (1, 2, 4, 8, 16, 32, 64, 100)
    return [
        *_against_counting(domain, MILLION // 100 if quick else MILLION),
        *_against_dcor(domain, 200 if quick else 5_000, n_a, n_b),
        *_against_dcor(domain, 200 if quick else 5_000, n_a // 10, n_b // 10),
        *_growth(domain, tuple(size * (MILLION // 100 if quick else MILLION) for size in sizes)),
    ]


# ------------------------------------------------------------------------------------------------ peers


def _against_counting(domain: Domain, n: int) -> list[Finding]:
    n_a, n_b = len(domain.values_a), len(domain.values_b)
    codes = dependent_codes(n, n_a, n_b)
    a, b = (
        pl.Series(name, np.array(values)[code])
        for name, values, code in zip("ab", (domain.values_a, domain.values_b), codes, strict=True)
    )
    table = pl.DataFrame([a, b])
    timings = interleaved(
        {
            "anonto": lambda: domain.correlation(a, b),
            "group_by": lambda: table.group_by("a", "b").len(),
            "encoding": lambda: encode_together(a, b),
        },
        9,
    )
    ours, theirs, encoding = (timings[name].median for name in ("anonto", "group_by", "encoding"))
    note = f"{n:,} records of text, {n_a:,} × {n_b:,} values; {encoding / ours:.0%} of our time is encoding"
    facts = {name: timing.repeats for name, timing in timings.items()}
    return [at_most("distance correlation, against polars' group_by", ours / theirs, 3, note=note, facts=facts)]


def _against_dcor(domain: Domain, n: int, n_a: int, n_b: int) -> list[Finding]:
    """dcor gets precomputed distances between records: it only centres and multiplies them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import dcor

    codes_a, codes_b = dependent_codes(n, n_a, n_b)
    a = pl.Series([domain.values_a[code] for code in codes_a.tolist()])
    b = pl.Series([domain.values_b[code] for code in codes_b.tolist()])
    of_values_a = domain.tax_a.distances(domain.values_a[:n_a])
    of_values_b = domain.tax_b.distances(domain.values_b[:n_b])

    def between_records() -> tuple[Floats, Floats]:
        return of_values_a[np.ix_(codes_a, codes_a)], of_values_b[np.ix_(codes_b, codes_b)]

    def theirs(between_a: Floats, between_b: Floats) -> float:
        of_a, of_b = dcor.double_centered(between_a), dcor.double_centered(between_b)
        covariance = dcor.mean_product(of_a, of_b)
        variances = dcor.mean_product(of_a, of_a) * dcor.mean_product(of_b, of_b)
        return float(np.sqrt(covariance / np.sqrt(variances)))

    columns = encode_together(a, b)
    tables = [tax.distances(column.values) for column, tax in zip(columns, (domain.tax_a, domain.tax_b), strict=True)]

    def given_distances() -> float:
        of_a, of_b = (Spread.of(table, one.counts / n, n) for table, one in zip(tables, columns, strict=True))
        variances = of_a.variance().plain * of_b.variance().plain
        return math.sqrt(TwoColumns(of_a, of_b, joint_shares(*columns)).covariance().plain / math.sqrt(variances))

    ready = between_records()
    difference = abs(theirs(*ready) - domain.correlation(a, b))
    timings = interleaved(
        {
            "anonto": lambda: domain.correlation(a, b),
            "anonto given distances": given_distances,
            "dcor": lambda: theirs(*ready),
            "dcor with its input": lambda: theirs(*between_records()),
        },
        9,
    )
    facts = {name: timing.repeats for name, timing in timings.items()}

    def faster(what: str, name: str, note: str, own: str = "anonto") -> Finding:
        return at_least(what, timings[name].median / timings[own].median, 50, note=note, facts=facts)

    values = f"{n_a:,} × {n_b:,} values"
    return [
        faster(
            f"… against dcor, {values}",
            "dcor",
            f"{n:,} records; both are given the distances: dcor of records, we of values and their codes",
            "anonto given distances",
        ),
        faster("… the same, but we find the distances ourselves", "dcor", "dcor is given them"),
        faster("… and the time to lay out its two matrices", "dcor with its input", "from the distances of values"),
        at_most("… difference of the two results", difference, 1e-10, unit=""),
    ]


# ------------------------------------------------------------------------------------------------ growth


def _growth(domain: Domain, sizes: tuple[int, ...]) -> list[Finding]:
    codes = dependent_codes(sizes[0], len(domain.values_a), len(domain.values_b))
    values = (domain.values_a, domain.values_b)
    columns = {n: [_categories(code, texts, n) for code, texts in zip(codes, values, strict=True)] for n in sizes}
    sides = {str(n): partial(domain.correlation, *columns[n]) for n in sizes}
    seconds = [timing.median for timing in interleaved(sides, 5).values()]
    found = []
    for place, power in enumerate(exponents(sizes, seconds)):
        less, more = sizes[place : place + 2]
        what = f"exponent of growth, {less:,} → {more:,} records"
        note = f"{more / seconds[place + 1] / MILLION:.0f} M records/s"
        found.append(Finding(what, power, "", "about 1", note=note))
    fewest, most = sizes[0], sizes[-1]
    stages = {n: _stages(domain, *columns[n]) for n in (fewest, most)}
    timings = interleaved({f"{name} {n}": run for n, runs in stages.items() for name, run in runs.items()}, 5)
    for name in stages[fewest]:
        first, last = timings[f"{name} {fewest}"].median, timings[f"{name} {most}"].median
        what = f"{name} {most:,} records ÷ {fewest:,} records"
        wanted = "about 1" if name == AFTER else f"about {most // fewest}"
        found.append(Finding(what, last / first, "×", wanted, note=f"{last:.3g} s against {first:.3g} s"))
    return found


def _categories(codes: Longs, values: list[str], n: int) -> pl.Series:
    """A column of categories with n records, the codes repeated: only counting is left to do."""
    physical = np.resize(codes.astype(np.uint16), n)
    return pl.Series(physical).cat.to(pl.Enum(values))


def _stages(domain: Domain, a: pl.Series, b: pl.Series) -> dict[str, Callable[[], object]]:
    """The stages of `stats.distance_correlation`, each to be run alone."""
    columns = encode_together(a, b)

    def count() -> tuple[Floats, list[NominalSpace]]:
        placed = [
            nominal_space(column, taxonomy, measure=MEASURE)
            for column, taxonomy in zip(columns, (domain.tax_a, domain.tax_b), strict=True)
        ]
        return joint_shares(*columns), placed

    shares, value_spaces = count()

    def after() -> float:
        of_a, of_b = (spread(value_space) for value_space in value_spaces)
        variances = of_a.variance().plain * of_b.variance().plain
        return TwoColumns(of_a, of_b, shares).covariance().plain / math.sqrt(variances)

    return {"encoding": partial(encode_together, a, b), "counting": count, AFTER: after}
