"""Combinations of columns that single people out: how many records nobody else shares all values with.

A missing cell counts as a value of its own, for whoever looks at the table sees that it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from anonto.table.columns import Column

MOST_COLUMNS_TOGETHER = 3
MOST_COMBINATIONS = 300
GROUP_SIZE = "records of a group"
MOST_CELLS = 200_000_000
"""Records times combinations; beyond it fewer columns are combined."""


@dataclass(frozen=True, slots=True)
class SinglingOut:
    """Unique records by combination, worst first, and the columns that were not combined."""

    combinations: tuple[tuple[tuple[str, ...], int], ...]
    left_out: tuple[str, ...]
    n_records: int

    def to_list(self) -> list[dict[str, Any]]:
        """As plain data."""
        n = max(self.n_records, 1)
        return [
            {"columns": list(names), "unique_records": unique, "share": unique / n}
            for names, unique in self.combinations
        ]


def singling_out(
    columns: Mapping[str, Column], unique_records: Callable[[Sequence[tuple[str, ...]]], list[int]] | None = None
) -> SinglingOut:
    """Count the unique records of every combination of up to three columns; of too many the most telling ones.

    Args:
        columns: All columns.
        unique_records: Counts them for some combinations where the records are elsewhere; None to count here.
    """
    n_records = max((len(column) for column in columns.values()), default=0)
    telling = sorted(columns, key=lambda name: (-_entropy(columns[name]), name))
    chosen = telling[: _how_many(len(telling), n_records)]
    sizes = range(1, MOST_COLUMNS_TOGETHER + 1)
    together = [names for size in sizes for names in combinations(chosen, size)]
    if unique_records is None:
        frame = _frame({name: columns[name] for name in chosen})
        unique = [_unique_records(frame, names) for names in together]
    else:
        unique = unique_records(together)
    found = list(zip(together, unique, strict=True))
    found.sort(key=lambda one: (-one[1], len(one[0]), one[0]))
    left_out = tuple(name for name in columns if name not in chosen)
    return SinglingOut(tuple(found), left_out, n_records)


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


def _frame(columns: Mapping[str, Column]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({name: column.codes for name, column in columns.items()})


def _unique_records(frame: pl.DataFrame, names: Sequence[str]) -> int:
    """Records whose values no other record has."""
    import polars as pl

    groups = frame.lazy().group_by(list(names)).agg(pl.len().alias(GROUP_SIZE))
    return int(groups.select((pl.col(GROUP_SIZE) == 1).sum()).collect().item())
