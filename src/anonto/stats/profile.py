"""What a table is like before it is masked: its columns one by one, in pairs, and what singles people out.

All is counted on distinct values. Nothing in a profile is the value of a single record: numbers are described by their
mean and by quantiles, nominal columns by the concept in their middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonto.errors import AllMissingError, MissingColumnError, UnmatchedValuesError
from anonto.ontology.matching import matcher_of
from anonto.stats.centre import mean_of
from anonto.stats.combinations import singling_out
from anonto.stats.contingency import joint_shares, shares_of_counts
from anonto.stats.dependence import Spread, TwoColumns
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.table.columns import Column
from anonto.table.counted import CountedColumn
from anonto.table.facts import open_table
from anonto.table.prepare import encode_described, opener, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener, PreparedColumn

    Floats = NDArray[np.float64]

MOST_VALUES_IN_PAIRS = 4_000
"""Columns with more distinct values take part in no pair: their distances would fill the memory."""
MOST_PAIRS = 300
QUANTILES = (0.05, 0.5, 0.95)
RECORDS_FOR_TAILS = 40
"""With fewer the outer quantiles would be the smallest and the largest cell."""


class DescribedColumns(Protocol):
    """What a profile needs of a plan."""

    @property
    def columns(self) -> Mapping[str, ColumnDescription]:
        """The descriptions by column."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where relative paths of ontologies start."""
        ...


def profile(table: Any, plan: DescribedColumns) -> dict[str, Any]:
    """Describe the columns that a plan names.

    Args:
        table: A pandas, polars or pyarrow table, a table that was read, or a path.
        plan: What the columns are. Its policies refuse and drop nothing here.

    Returns:
        Plain data: ``n_records``, ``columns`` (one entry each), ``pairs`` (distance correlations, strongest first),
        ``combinations`` (unique records, worst first) and ``left_out`` (columns with too much to count).
    """
    opened = open_table(table)

    def encoded(name: str) -> Column:
        return encode_described(name, opened.series(name), replace(plan.columns[name], missing="keep"))

    return profile_of_counts(plan, opened.names, opened.n_records, encoded, _pairs_here)


def profile_of_counts(
    plan: DescribedColumns,
    names: Sequence[str],
    n_records: int,
    encoded: Callable[[str], Column],
    pairs_of: Callable[[Sequence[tuple[PreparedColumn, PreparedColumn]]], Iterator[Pair | None]],
    unique_records: Callable[[Sequence[tuple[str, ...]]], list[int]] | None = None,
) -> dict[str, Any]:
    """The same, wherever the records are.

    Args:
        plan: What the columns are.
        names: The columns of the table.
        n_records: How many records it has.
        encoded: A column, with its counts if not its codes.
        pairs_of: Counts the pairs of values of two columns; None where too few records have both.
        unique_records: As in `singling_out`.
    """
    open_once = opener(plan.folder)
    entries: list[dict[str, Any]] = []
    prepared: list[PreparedColumn] = []
    quasi: dict[str, Column] = {}
    for name, given in plan.columns.items():
        if name not in names:
            raise MissingColumnError(name, list(names))
        description = replace(given, missing="keep")
        column = encoded(name)
        one = _prepared(name, column, description, open_once)
        coverage = _coverage(column, description, open_once)
        entries.append(_counts(name, column, description) | coverage | (_described(one) if one else {}))
        prepared += [one] if one else []
        if description.role == "quasi-identifier" and len(column.values) > 1:
            quasi[name] = column
    pairs, not_paired = _pairs(prepared, pairs_of)
    found = singling_out(quasi, unique_records)
    return {
        "n_records": n_records,
        "columns": entries,
        "pairs": pairs,
        "combinations": found.to_list(),
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
    """How much each ontology of the column knows, before any policy for what it does not know."""
    if description.kind != "nominal" or not description.ontologies or not column.values:
        return {}
    counts = column.counts
    ontologies = []
    for taxonomy in map(open_once, description.ontologies):
        matcher = matcher_of(taxonomy)
        known = np.array([matcher.place(value) is not None for value in column.values], dtype=np.bool_)
        shares = {"cells": float(counts[known].sum() / counts.sum()), "distinct": float(known.mean())}
        ontologies.append({"ontology": taxonomy.name, "coverage": shares})
    return {"ontologies": ontologies}


def _prepared(name: str, column: Column, description: ColumnDescription, open_once: Opener) -> PreparedColumn | None:
    """The column in its space, with the values that have a place there; None when there are none."""
    if description.role == "identifier":
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


def _described(prepared: PreparedColumn) -> dict[str, Any]:
    attribute = prepared.attribute
    if isinstance(attribute, NumericAttribute):
        return {"numbers": _numbers(attribute)} if prepared.description.kind == "numeric" else {}
    parts = attribute.parts if isinstance(attribute, MeanAttribute) else (attribute,)
    semantic = [_semantic(part) for part in parts if isinstance(part, NominalAttribute)]
    return {"semantic": semantic} if semantic else {}


def _numbers(attribute: NumericAttribute) -> dict[str, float]:
    weights = attribute.counts / attribute.counts.sum()
    mean = float(weights @ attribute.numbers)
    n = int(attribute.counts.sum())
    variance = float(weights @ (attribute.numbers - mean) ** 2) * n / max(n - 1, 1)
    order = np.argsort(attribute.numbers)
    reached = np.cumsum(attribute.counts[order])
    wanted = QUANTILES if n >= RECORDS_FOR_TAILS else (0.5,)
    places = [int(np.searchsorted(reached, q * n)) for q in wanted]
    quantiles = {f"q{q * 100:02.0f}": float(attribute.numbers[order[p]]) for q, p in zip(wanted, places, strict=True)}
    return {"mean": mean, "sd": math.sqrt(variance), **quantiles}


def _semantic(attribute: NominalAttribute) -> dict[str, Any]:
    mean = mean_of(attribute)
    variance = float(attribute.shares @ attribute.distances_to(mean) ** 2)
    found = {"id": mean, "label": attribute.domain.label(mean), "is_root": mean in attribute.domain.roots}
    return {"ontology": attribute.domain.name, "mean": found, "variance": variance}


# ------------------------------------------------------------------------------------------------ pairs


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The values of two columns in the records that have both."""

    counts_a: NDArray[np.int64]
    counts_b: NDArray[np.int64]
    shares: Any
    """Of the records, by value of a and of b: a dense or a sparse table."""

    @property
    def n_records(self) -> int:
        """That have both."""
        return int(self.counts_a.sum())


FEWEST_IN_A_PAIR = 4


def _pairs_here(pairs: Sequence[tuple[PreparedColumn, PreparedColumn]]) -> Iterator[Pair | None]:
    """Count pairs of columns whose codes are at hand."""
    for a, b in pairs:
        complete = (a.column.codes >= 0) & (b.column.codes >= 0)
        if np.count_nonzero(complete) < FEWEST_IN_A_PAIR:
            yield None
            continue
        both_a, both_b = (Column(one.column.values, one.column.codes[complete]) for one in (a, b))
        yield Pair(both_a.counts, both_b.counts, joint_shares(both_a, both_b))


def pair_of_counts(
    a: NDArray[np.int32], b: NDArray[np.int32], counts: NDArray[np.int64], shape: tuple[int, int]
) -> Pair | None:
    """From pairs of codes, −1 where there is no value, and how many records have each."""
    complete = (a >= 0) & (b >= 0)
    a, b, counts = a[complete], b[complete], counts[complete]
    n_records = int(counts.sum())
    if n_records < FEWEST_IN_A_PAIR:
        return None
    margins = (np.bincount(codes, weights=counts, minlength=n) for codes, n in zip((a, b), shape, strict=True))
    counts_a, counts_b = (margin.astype(np.int64) for margin in margins)
    return Pair(counts_a, counts_b, shares_of_counts(a, b, counts, shape))


def _pairs(
    prepared: Sequence[PreparedColumn],
    pairs_of: Callable[[Sequence[tuple[PreparedColumn, PreparedColumn]]], Iterator[Pair | None]],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Distance correlations of all columns with distances, strongest first, and the columns that were too large."""
    has_distances = NominalAttribute | MeanAttribute | NumericAttribute
    spaced = [one for one in prepared if isinstance(one.attribute, has_distances) and len(one.column.values) > 1]
    small = [one for one in spaced if len(one.column.values) <= MOST_VALUES_IN_PAIRS]
    small.sort(key=lambda one: isinstance(one.attribute, NumericAttribute))
    while math.comb(len(small), 2) > MOST_PAIRS:
        small.pop()
    distances = {one.name: one.attribute.distances() for one in small}
    found: list[dict[str, Any]] = []
    together = list(combinations(small, 2))
    for (a, b), pair in zip(together, pairs_of(together), strict=True):
        if pair is not None:
            correlations = _correlations(pair, distances[a.name], distances[b.name])
            found.append({"columns": [a.name, b.name], **correlations})
    found.sort(key=lambda pair: (-pair["distance_correlation"], pair["columns"]))
    return found, [one.name for one in spaced if one.name not in distances]


def _correlations(pair: Pair, distances_a: Floats, distances_b: Floats) -> dict[str, Any]:
    """The distance correlation of the records that have both values, plain and bias-corrected."""
    both = TwoColumns(_spread(pair.counts_a, distances_a), _spread(pair.counts_b, distances_b), pair.shares)
    covariance, unbiased_scale = both.covariance(), both.unbiased_scale()
    scale = math.sqrt(max(both.a.variance().plain, 0.0) * max(both.b.variance().plain, 0.0))
    squared = covariance.plain / scale if unbiased_scale and covariance.plain > covariance.rounding else 0.0
    return {
        "distance_correlation": min(1.0, math.sqrt(squared)),
        "bias_corrected": covariance.unbiased / unbiased_scale if unbiased_scale else 0.0,
        "n_records": pair.n_records,
    }


def _spread(counts: NDArray[np.int64], distances: Floats) -> Spread:
    """The distances of a column's values, with the counts of the records that are left of it."""
    shares = np.asarray(counts / counts.sum())
    return Spread.of(distances, shares, int(counts.sum()))
