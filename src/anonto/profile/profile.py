"""Profile of a table before it is masked: its columns, pairs of columns, and what singles people out.

Everything is counted on distinct values. A profile never shows the value of a single record: numbers are described by
their mean and quantiles, nominal columns by their semantic mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonto.encoding.columns import Column, count_weighted
from anonto.encoding.dictionary_encoder import CountedColumn
from anonto.encoding.prepare import distinct_elements, encode_described, opener, prepare
from anonto.encoding.record_counts import CountedRecords
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace, parts_of
from anonto.engine.memory.units import FOR_LOOKING, units_of
from anonto.errors import AllMissingError, UnmatchedValuesError
from anonto.io.table import Table, missing_column
from anonto.masking.weights import weights_of
from anonto.ontology.matching import matcher_of
from anonto.profile.column_profile import open_table
from anonto.profile.persons import notice_persons
from anonto.stats.centre import mean_of
from anonto.stats.combinations import SinglingColumns, combinations_to_count, count_unique_records
from anonto.stats.contingency import joint_shares, shares_of_counts
from anonto.stats.dependence import Spread, TwoColumns
from anonto.stats.singling import describe_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener, PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.masking.plan import Plan
    from anonto.profile.column_profile import OpenTable


MOST_VALUES_IN_PAIRS = 4_000
"""Columns with more distinct values are left out of pairs: their distances would fill the memory."""
MOST_PAIRS = 300
QUANTILES = (0.05, 0.5, 0.95)
RECORDS_FOR_TAILS = 40
"""The fewest records for quantiles: with fewer the outer ones would be the smallest and the largest cell."""


def profile(table: Any, plan: Plan) -> dict[str, Any]:
    """Describe the columns that a plan names.

    Args:
        table: A pandas, polars or pyarrow table, a table that was read, or a path.
        plan: The descriptions of the columns. Its policies do not refuse or drop records here.

    Returns:
        Plain data: ``n_records``, ``columns`` (one entry each), ``pairs`` (distance correlations, strongest first),
        ``combinations`` (unique records, worst first), ``key`` (all quasi-identifiers together, with the sets of
        columns that make records unique) and ``left_out`` (columns with too many values). Where the plan names a
        weight (``weighted_by``), means, spreads, quantiles and correlations are of the people that the records stand
        for; all else counts records. If it names no person column but a column seems to be one, ``person`` says
        what was noticed.
    """
    noticed = {}
    if plan.person is None:
        rows = open_table(table)
        person = notice_persons(rows, plan.identifiers(rows.names))
        noticed = {} if person is None else {"person": {**person.to_dict(), "sentence": person.sentence}}
    if plan.has_units:
        units = units_of(table.frame if isinstance(table, Table) else table, plan, FOR_LOOKING)
        found = profile_of_counts(units.plan, _CountsInMemory(open_table(units.records), units.plan))
        return {**units.found.evidence(plan, units.n_rows), **found, **noticed}
    return {**profile_of_counts(plan, _CountsInMemory(open_table(table), plan)), **noticed}


class ProfileCounts(Protocol):
    """The counts that a profile is made from, wherever the records are."""

    @property
    def names(self) -> Sequence[str]:
        """All columns of the table."""
        ...

    @property
    def n_records(self) -> int:
        """The number of records."""
        ...

    @property
    def weights(self) -> Floats | None:
        """How many people each record stands for; None if each counts once."""
        ...

    def encode(self, name: str) -> Column:
        """A column with its counts; codes are not needed."""
        ...

    def pairs(self, pairs: Sequence[tuple[PreparedColumn, PreparedColumn]]) -> Iterator[Pair | None]:
        """The pairs of values of two columns each; None if too few records have both."""
        ...

    def unique_records(self, columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]]) -> list[int]:
        """The number of unique records in each set of columns."""
        ...

    def classes(self, columns: Mapping[str, Column]) -> CountedRecords:
        """The distinct records of all these columns together, and how many records each is."""
        ...


class _CountsInMemory:
    """Counts of a table in memory."""

    def __init__(self, table: OpenTable, plan: Plan) -> None:
        self._table, self._plan = table, plan
        self.names, self.n_records = table.names, table.n_records
        self.weights = weights_of(table, plan)

    def encode(self, name: str) -> Column:
        """A column with its codes."""
        return encode_described(name, self._table.series(name), replace(self._plan.columns[name], missing="keep"))

    def pairs(self, pairs: Sequence[tuple[PreparedColumn, PreparedColumn]]) -> Iterator[Pair | None]:
        """Count pairs of columns by their codes."""
        for a, b in pairs:
            complete = (a.column.codes >= 0) & (b.column.codes >= 0)
            amounts = None if self.weights is None else self.weights[complete]
            n_records = int(np.count_nonzero(complete))
            if n_records < FEWEST_IN_A_PAIR or (amounts is not None and not amounts.any()):
                yield None
                continue
            both_a, both_b = (Column(one.column.values, one.column.codes[complete], amounts=amounts) for one in (a, b))
            yield Pair(both_a.counts, both_b.counts, joint_shares(both_a, both_b), n_records)

    @staticmethod
    def unique_records(columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]]) -> list[int]:
        """Count them by the codes of the columns."""
        return count_unique_records(columns, sets)

    @staticmethod
    def classes(columns: Mapping[str, Column]) -> CountedRecords:
        """Count them by the codes of the columns."""
        return CountedRecords.of([column.codes for column in columns.values()])


def profile_of_counts(plan: Plan, table: ProfileCounts) -> dict[str, Any]:
    """The profile of a table from its counts.

    Args:
        plan: The descriptions of the columns.
        table: The counts.
    """
    open_once = opener(plan.folder)
    entries: list[dict[str, Any]] = []
    prepared: list[PreparedColumn] = []
    quasi: dict[str, Column] = {}
    for name, given in plan.columns.items():
        if name not in table.names:
            raise missing_column(name, list(table.names))
        description = replace(given, missing="keep")
        column = table.encode(name)
        one = _prepare(name, column, description, open_once)
        coverage = _coverage(column, description, open_once)
        described = _describe(one, _weigh(one, table.weights)) if one else {}
        entries.append(_counts(name, column, description) | coverage | described)
        prepared += [one] if one else []
        if description.role == "quasi-identifier" and len(column.values) > 1:
            quasi[name] = column
    pairs, not_paired = _pairs(prepared, table)
    sets = combinations_to_count(quasi)
    found = SinglingColumns.of(quasi, sets, table.unique_records(quasi, sets))
    classes = table.classes(quasi) if quasi else None
    return {
        "n_records": table.n_records,
        **({} if table.weights is None else {"weighted_by": plan.weight}),
        "columns": entries,
        "pairs": pairs,
        "combinations": found.to_list(),
        "key": None if classes is None else describe_key(list(quasi), classes.codes, classes.counts),
        "left_out": {"pairs": not_paired, "combinations": list(found.left_out)},
    }


# ------------------------------------------------------------------------------------------------ one column


def _counts(name: str, column: Column, description: ColumnDescription) -> dict[str, Any]:
    once = int(np.count_nonzero(column.counts == 1))
    return {
        "name": name,
        "kind": description.kind,
        "role": description.role,
        "distinct": len(column.values),
        "missing": column.n_missing,
        "once": once,
        "once_share": once / max(len(column) - column.n_missing, 1),
    }


def _coverage(column: Column, description: ColumnDescription, open_once: Opener) -> dict[str, Any]:
    """The share of values, or of elements of sets, that each ontology has, before any policy for the others."""
    if description.kind == "set":
        column = distinct_elements(column)
    if not description.has_concepts or not column.values:
        return {}
    counts = column.counts
    ontologies = []
    for taxonomy in map(open_once, description.ontologies):
        matcher = matcher_of(taxonomy)
        known = np.array([matcher.place(value) is not None for value in column.values], dtype=np.bool_)
        shares = {"cells": float(counts[known].sum() / counts.sum()), "distinct": float(known.mean())}
        ontologies.append({"ontology": taxonomy.name, "coverage": shares})
    return {"ontologies": ontologies}


def _prepare(name: str, column: Column, description: ColumnDescription, open_once: Opener) -> PreparedColumn | None:
    """The column in its value space, with the values that have a concept; None if there are none."""
    if description.is_dropped:
        return None
    rows = None if isinstance(column, CountedColumn) else range(len(column))
    policies = ("nearest-ancestor", "keep") if description.unmatched == "nearest-ancestor" else ("keep",)
    for policy in policies:
        try:
            return prepare(name, column, replace(description, unmatched=policy), open_once, rows)
        except UnmatchedValuesError:
            continue
        except AllMissingError:
            return None
    return None


def _weigh(prepared: PreparedColumn, weights: Floats | None) -> ValueSpace | None:
    """The values of a column with how many people have each, not how many records; None where nobody has any."""
    value_space = prepared.value_space
    if weights is None:
        return value_space
    codes = prepared.column.codes + np.int32(1)
    sums = count_weighted(codes, value_space.counts.size + 1, weights)[1:]
    return value_space.restrict(np.arange(sums.size), sums) if sums.any() else None


def _describe(prepared: PreparedColumn, value_space: ValueSpace | None) -> dict[str, Any]:
    if isinstance(value_space, NumericSpace):
        records = prepared.value_space.counts
        return {"numbers": _numbers(value_space, records)} if prepared.description.kind == "numeric" else {}
    if value_space is None:
        return {}
    semantic = [_semantic(part) for part in parts_of(value_space) if isinstance(part, NominalSpace)]
    return {"semantic": semantic} if semantic else {}


def _numbers(value_space: NumericSpace, records: Longs) -> dict[str, float]:
    n, order = value_space.counts.sum().item(), np.argsort(value_space.numbers)
    weights = value_space.counts / n
    mean = float(weights @ value_space.numbers)
    variance = float(weights @ (value_space.numbers - mean) ** 2) * n / max(n - 1, min(n, 1))
    reached = np.cumsum(value_space.counts[order])
    places = {q: int(np.searchsorted(reached, q * n)) for q in QUANTILES}
    if not _are_of_several([*places.values()], records[order]):
        places = {0.5: places[0.5]}
    quantiles = {f"q{q * 100:02.0f}": float(value_space.numbers[order[p]]) for q, p in places.items()}
    return {"mean": mean, "sd": math.sqrt(variance), **quantiles}


def _are_of_several(places: Sequence[int], records: Longs) -> bool:
    """Whether the outer quantiles are not the smallest or the largest cell, which could be that of one record."""
    below = np.cumsum(records)
    above = below[-1] - below + records
    return bool(below[-1] >= RECORDS_FOR_TAILS and min(below[places[0]], above[places[-1]]) > 1)


def _semantic(value_space: NominalSpace) -> dict[str, Any]:
    mean = mean_of(value_space)
    variance = float(value_space.shares @ value_space.distances_to(mean) ** 2)
    found = {"id": mean, "label": value_space.domain.label(mean), "is_root": mean in value_space.domain.roots}
    return {"ontology": value_space.domain.name, "mean": found, "variance": variance}


# ------------------------------------------------------------------------------------------------ pairs


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The values of two columns in the records that have both."""

    counts_a: Longs
    """Records, or people where records have weights, by value of a."""
    counts_b: Longs
    shares: Any
    """Shares of the records, or people, by value of a and of b, as a dense or sparse table."""
    n_records: int
    """Number of records that have both."""

    @property
    def is_weighted(self) -> bool:
        """Whether people are counted."""
        return self.counts_a.dtype.kind == "f"


FEWEST_IN_A_PAIR = 4


def pair_of_counts(a: Ints, b: Ints, counts: Longs, shape: tuple[int, int]) -> Pair | None:
    """Build a pair from pairs of codes, −1 for no value, and their counts."""
    complete = (a >= 0) & (b >= 0)
    a, b, counts = a[complete], b[complete], counts[complete]
    n_records = int(counts.sum())
    if n_records < FEWEST_IN_A_PAIR:
        return None
    margins = (np.bincount(codes, weights=counts, minlength=n) for codes, n in zip((a, b), shape, strict=True))
    counts_a, counts_b = (margin.astype(np.int64) for margin in margins)
    return Pair(counts_a, counts_b, shares_of_counts(a, b, counts, shape), n_records)


def _pairs(prepared: Sequence[PreparedColumn], table: ProfileCounts) -> tuple[list[dict[str, Any]], list[str]]:
    """Distance correlations of all columns with distances, strongest first, and the columns that were too large."""
    has_distances = NominalSpace | MeanSpace | NumericSpace | SetSpace
    spaced = [one for one in prepared if isinstance(one.value_space, has_distances) and len(one.column.values) > 1]
    small = [one for one in spaced if len(one.column.values) <= MOST_VALUES_IN_PAIRS]
    small.sort(key=lambda one: isinstance(one.value_space, NumericSpace))
    while math.comb(len(small), 2) > MOST_PAIRS:
        small.pop()
    distances = {one.name: one.value_space.distances() for one in small}
    found: list[dict[str, Any]] = []
    together = list(combinations(small, 2))
    for (a, b), pair in zip(together, table.pairs(together), strict=True):
        if pair is not None:
            correlations = _correlations(pair, distances[a.name], distances[b.name])
            found.append({"columns": [a.name, b.name], **correlations})
    found.sort(key=lambda pair: (-pair["distance_correlation"], pair["columns"]))
    return found, [one.name for one in spaced if one.name not in distances]


def _correlations(pair: Pair, distances_a: Floats, distances_b: Floats) -> dict[str, Any]:
    """The distance correlation of the records that have both values, plain and, without weights, bias-corrected."""
    both = TwoColumns(_spread(pair.counts_a, distances_a), _spread(pair.counts_b, distances_b), pair.shares)
    covariance, variances = both.covariance(), (both.a.variance(), both.b.variance())
    unbiased_scale = 0.0 if pair.is_weighted else both.unbiased_scale()
    varies = all(one.plain > one.rounding for one in variances) if pair.is_weighted else unbiased_scale > 0.0
    scale = math.sqrt(max(variances[0].plain, 0.0) * max(variances[1].plain, 0.0))
    squared = covariance.plain / scale if varies and covariance.plain > covariance.rounding else 0.0
    found: dict[str, Any] = {"distance_correlation": min(1.0, math.sqrt(squared)), "n_records": pair.n_records}
    if not pair.is_weighted:
        found["bias_corrected"] = covariance.unbiased / unbiased_scale if unbiased_scale else 0.0
    return found


def _spread(counts: Longs, distances: Floats) -> Spread:
    """The distances of a column's values, weighted by the remaining records."""
    shares = np.asarray(counts / counts.sum())
    return Spread.of(distances, shares, counts.sum().item())
