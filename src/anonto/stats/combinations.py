"""Combinations of columns that single people out: how many records nobody else shares all values with.

A missing cell counts as a value of its own, because an intruder sees that it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.encoding.columns import Column

MOST_COLUMNS_TOGETHER = 3
MOST_COMBINATIONS = 300
GROUP_SIZE = "records of a group"
MOST_CELLS = 200_000_000
"""Records times combinations; beyond it fewer columns are combined."""


@dataclass(frozen=True, slots=True)
class SinglingColumns:
    """Unique records by combination, worst first, and the columns that were not combined."""

    combinations: tuple[tuple[tuple[str, ...], int], ...]
    left_out: tuple[str, ...]
    n_records: int

    @classmethod
    def of(
        cls, columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]], unique_records: Sequence[int]
    ) -> SinglingColumns:
        """From the unique records of each set of columns."""
        n_records = max((len(column) for column in columns.values()), default=0)
        found = sorted(zip(sets, unique_records, strict=True), key=lambda one: (-one[1], len(one[0]), one[0]))
        combined = {name for names in sets for name in names}
        return cls(tuple(found), tuple(name for name in columns if name not in combined), n_records)

    def to_list(self) -> list[dict[str, Any]]:
        """The result as plain data."""
        n = max(self.n_records, 1)
        return [
            {"columns": list(names), "unique_records": unique, "share": unique / n}
            for names, unique in self.combinations
        ]


def combinations_to_count(columns: Mapping[str, Column]) -> list[tuple[str, ...]]:
    """Every combination of up to three columns; of too many columns, the most identifying."""
    n_records = max((len(column) for column in columns.values()), default=0)
    telling = sorted(columns, key=lambda name: (-_entropy(columns[name]), name))
    chosen = telling[: _how_many(len(telling), n_records)]
    return [names for size in range(1, MOST_COLUMNS_TOGETHER + 1) for names in combinations(chosen, size)]


def _how_many(n_columns: int, n_records: int) -> int:
    """As many columns as can be combined within the bounds, at least one."""
    most = min(MOST_COMBINATIONS, max(1, MOST_CELLS // max(n_records, 1)))
    return max((n for n in range(n_columns + 1) if _n_combinations(n) <= most), default=0)


def _n_combinations(n_columns: int) -> int:
    return sum(comb(n_columns, size) for size in range(1, MOST_COLUMNS_TOGETHER + 1))


def _entropy(column: Column) -> float:
    counts = np.append(column.counts, column.n_missing)
    shares = counts[counts > 0] / max(len(column), 1)
    return float(-(shares * np.log2(shares)).sum())


def count_unique_records(columns: Mapping[str, Column], sets: Sequence[tuple[str, ...]]) -> list[int]:
    """The records whose values no other record has, by set of columns."""
    import polars as pl

    together = dict.fromkeys(name for names in sets for name in names)
    frame = pl.DataFrame({name: columns[name].codes for name in together}).lazy()
    only_one = (pl.col(GROUP_SIZE) == 1).sum()
    by_set = [frame.group_by(list(names)).agg(pl.len().alias(GROUP_SIZE)).select(only_one) for names in sets]
    return [int(found.collect().item()) for found in by_set]
