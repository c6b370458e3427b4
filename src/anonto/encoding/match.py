"""Matching of a whole column: every distinct value is looked up once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonto.encoding.columns import encode
from anonto.encoding.refusals import not_a_taxonomy
from anonto.encoding.series import as_text_series
from anonto.io.reading import read_table
from anonto.ontology.matching import RULES, matcher_of
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl

    from anonto.arrays import Bools
    from anonto.encoding.columns import Column
    from anonto.ontology.matching import Matcher, Placement, Suggestion

MAX_VALUES_WITH_SUGGESTIONS = 1_000


class Coverage(float):
    """The share of the cells with a value that were matched; ``distinct`` is the share of the distinct values."""

    distinct: float
    n_cells: int
    n_distinct: int
    n_missing: int

    def __new__(cls, cells: float, distinct: float, n_cells: int, n_distinct: int, n_missing: int) -> Self:
        """Build it from the two shares and the counts behind them."""
        self = super().__new__(cls, cells)
        self.distinct = distinct
        self.n_cells = n_cells
        self.n_distinct = n_distinct
        self.n_missing = n_missing
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[float, float, int, int, int]]:
        return type(self), (self.cells, self.distinct, self.n_cells, self.n_distinct, self.n_missing)

    @classmethod
    def of(cls, column: Column, is_matched: Bools) -> Self:
        """The coverage of a column, given whether each distinct value was matched."""
        counts = column.counts
        n_cells = int(counts.sum())
        cells = float(counts[is_matched].sum() / n_cells) if n_cells else 0.0
        distinct = float(is_matched.mean()) if is_matched.size else 0.0
        return cls(cells, distinct, n_cells, len(column.values), column.n_missing)

    @property
    def cells(self) -> float:
        """The share of the cells with a value that were matched."""
        return float(self)


@dataclass(frozen=True, eq=False)
class Matches:
    """The match of each value of a column."""

    column: Column
    placements: tuple[Placement | None, ...]
    """The placement of each distinct value, in the order of ``column.values``; None for no concept."""
    matcher: Matcher

    def __repr__(self) -> str:
        return (
            f"<Matches in {self.matcher.taxonomy.name!r}: {self.coverage.cells:.1%} of {self.coverage.n_cells:,} "
            f"cells, {self.coverage.distinct:.1%} of {self.coverage.n_distinct:,} distinct values>"
        )

    @cached_property
    def concepts(self) -> list[str | None]:
        """The concept of each cell; None where it is missing or has none."""
        per_value = np.array([*(p.concept if p else None for p in self.placements), None], dtype=object)
        concepts: list[str | None] = per_value[self.column.codes].tolist()
        return concepts

    @cached_property
    def mapping(self) -> Mapping[str, str]:
        """Distinct value → its concept, for those that have one."""
        pairs = zip(self.column.values, self.placements, strict=True)
        return {value: placement.concept for value, placement in pairs if placement}

    @cached_property
    def coverage(self) -> Coverage:
        """How much was matched, by cells and by distinct values."""
        return Coverage.of(self.column, np.array([p is not None for p in self.placements], dtype=np.bool_))

    @cached_property
    def unmatched(self) -> Mapping[str, int]:
        """Distinct values without a concept → their number of cells, most frequent first."""
        rows = zip(self.column.values, self.column.counts.tolist(), self.placements, strict=True)
        without = [(value, count) for value, count, placement in rows if placement is None]
        return dict(sorted(without, key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def suggestions(self) -> Mapping[str, tuple[Suggestion, ...]]:
        """The concepts that the most frequent unmatched values may have meant."""
        frequent = list(self.unmatched)[:MAX_VALUES_WITH_SUGGESTIONS]
        return {value: self.matcher.suggest(value) for value in frequent}

    @cached_property
    def by_rule(self) -> Mapping[str, Mapping[str, str]]:
        """The values that each rule placed → their concepts, for the rules that were used."""
        placed = list(zip(self.column.values, self.placements, strict=True))
        by_rule = {rule: {v: p.concept for v, p in placed if p and p.rule == rule} for rule in RULES}
        return {rule: values for rule, values in by_rule.items() if values}

    @property
    def padded(self) -> Mapping[str, str]:
        """The values that were matched by restoring or dropping leading zeros → their concepts."""
        return self.by_rule.get("leading zeros", {})

    def summary(self) -> dict[str, Any]:
        """Counts without any value, fit for a report."""
        counts = dict(zip(self.column.values, self.column.counts.tolist(), strict=True))
        return {
            "taxonomy": self.matcher.taxonomy.name,
            "cells": self.coverage.n_cells,
            "missing": self.coverage.n_missing,
            "distinct": self.coverage.n_distinct,
            "coverage": {"cells": self.coverage.cells, "distinct": self.coverage.distinct},
            "rules": {
                rule: {"distinct": len(values), "cells": sum(counts[value] for value in values)}
                for rule, values in self.by_rule.items()
            },
            "unmatched": {"distinct": len(self.unmatched), "cells": sum(self.unmatched.values())},
        }


def match(values: Any, tax: Taxonomy, *, fuzzy: bool = False) -> Matches:
    """Find the concept of every value of a column.

    Args:
        values: Texts, one per record, in any kind of column; None is missing.
        tax: The taxonomy to place them in.
        fuzzy: Whether a value may be placed by likeness to a label when nothing else fits.

    Returns:
        ``.concepts`` (one per record), ``.unmatched`` (value → cells), ``.coverage`` (share of cells; its
        ``.distinct`` the share of distinct values), ``.suggestions`` (for unmatched values), ``.by_rule``.
    """
    if not isinstance(tax, Taxonomy):
        raise not_a_taxonomy(tax)
    column = encode(values)
    matcher = matcher_of(tax)
    return Matches(column, tuple(matcher.place(value, fuzzy=fuzzy) for value in column.values), matcher)


def read_text_column(path: str | os.PathLike[str], name: str, na: tuple[str, ...] = ()) -> pl.Series:
    """Read one column of a table file as text: codes keep their zeros, empty cells are missing.

    Args:
        path: The table.
        name: The column.
        na: Texts that mean missing, in addition to empty cells and codes that the file declares as missing.
    """
    import polars as pl

    cells = as_text_series(read_table(path, names=[name]).column(name)).cast(pl.String)
    missing = cells.is_in(["", *na])
    return cells.set(missing.fill_null(value=False), None)
