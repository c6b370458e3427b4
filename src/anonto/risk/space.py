"""Records in one space: what the kernels of the attacks need of some columns, and the nearest released records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import kernels
from anonto.table.attributes import NumericAttribute
from anonto.table.records import counted, distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

LEAD_GROUPS = 256
"""A leading column of numbers is cut into this many groups."""
TARGETS_AT_ONCE = 256
ROWS_AT_ONCE = 256
"""Rows of a table that are found together."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Distances of persons to released records over some columns: the sum of the squared distances of their cells."""

    tables: Floats
    offsets: Longs
    widths: Longs
    rows: tuple[Codes | None, ...]
    """For a column that has none of numbers, which row of its table each value of the original has; −1 for others."""
    numbers: tuple[Floats | None, ...]
    """For a column of numbers the number of each value; its table is what differences are multiplied by."""

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn]) -> Space:
        """From the columns that an intruder knows."""
        numbers = [_numbers(column.attribute) for column in columns]
        values = [
            np.unique(column.original[column.original >= 0]) if of_column is None else np.empty(0, dtype=np.int32)
            for column, of_column in zip(columns, numbers, strict=True)
        ]
        widths = np.array(
            [column.n_values if of_column is None else 0 for column, of_column in zip(columns, numbers, strict=True)],
            dtype=np.int64,
        )
        sizes = np.where(widths > 0, np.array([each.size for each in values], dtype=np.int64) * widths, 1)
        tables, offsets = np.empty(int(sizes.sum())), np.cumsum(sizes) - sizes
        for column, own, offset, width in zip(columns, values, offsets.tolist(), widths.tolist(), strict=True):
            if isinstance(column.attribute, NumericAttribute):
                tables[offset] = 1.0 / column.attribute.scale if column.attribute.scale else 0.0
            for part in slices(0, own.size, ROWS_AT_ONCE):
                squared = column.attribute.distances_from(own[part]) ** 2
                tables[offset + part.start * width : offset + part.stop * width] = np.round(squared, 12).ravel()
        rows = tuple(
            _row_of(own, column.n_values) if of_column is None else None
            for column, own, of_column in zip(columns, values, numbers, strict=True)
        )
        return cls(tables, offsets, widths, rows, tuple(numbers))

    def rows_of(self, codes: Codes) -> Codes:
        """Persons as the kernels take them: rows of tables instead of values, and numbers as they are."""
        out = codes.copy()
        for place, rows in enumerate(self.rows):
            if rows is not None:
                out[:, place] = np.append(rows, np.int32(-1))[codes[:, place]]
        return out

    def numbers_of(self, codes: Codes) -> Floats:
        """The numbers of records, 0 in columns that have none."""
        out = np.zeros(codes.shape)
        for place, numbers in enumerate(self.numbers):
            if numbers is not None:
                out[:, place] = np.append(numbers, 0.0)[codes[:, place]]
        return out

    def between(self, a: Codes, b: Codes) -> Floats:
        """Squared distances of persons and released records, one by one."""
        out = np.empty(a.shape[0])
        a_numbers, b_numbers = self.numbers_of(a), self.numbers_of(b)
        kernels.squared_distances(self.rows_of(a), b, a_numbers, b_numbers, self.tables, self.offsets, self.widths, out)
        return out

    def nearest_some(self, targets: Codes, released: Released, wanted: int) -> tuple[Codes, Floats]:
        """For each target the released records nearest to it, until they have so many rows; −1 behind them."""
        found = np.empty((targets.shape[0], wanted), dtype=np.int32)
        distances = np.empty((targets.shape[0], wanted))
        lead = released.lead
        groups, rows = lead.row_of(targets, self), self.rows_of(targets)
        numbers, released_numbers = self.numbers_of(targets), self.numbers_of(released.codes)

        def search(part: slice) -> None:
            kernels.nearest_some(
                rows[part],
                numbers[part],
                released.codes,
                released_numbers,
                released.amounts,
                self.tables,
                self.offsets,
                self.widths,
                lead.bounds,
                lead.order,
                lead.starts,
                groups[part],
                wanted,
                found[part],
                distances[part],
            )

        in_threads(search, slices(0, targets.shape[0], TARGETS_AT_ONCE))
        return found, distances

    def nearest(self, targets: Codes, released: Released) -> tuple[Floats, Longs]:
        """For each target the least squared distance to a released record, and how many rows are at it."""
        least, n_least = np.empty(targets.shape[0]), np.empty(targets.shape[0], dtype=np.int64)
        lead = released.lead
        groups, rows = lead.row_of(targets, self), self.rows_of(targets)
        numbers, released_numbers = self.numbers_of(targets), self.numbers_of(released.codes)

        def search(part: slice) -> None:
            kernels.nearest(
                rows[part],
                numbers[part],
                released.codes,
                released_numbers,
                released.amounts,
                self.tables,
                self.offsets,
                self.widths,
                lead.bounds,
                lead.order,
                lead.starts,
                groups[part],
                least[part],
                n_least[part],
            )

        in_threads(search, slices(0, targets.shape[0], TARGETS_AT_ONCE))
        return least, n_least


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """The column by which the search is led: groups of its values, and how far groups are apart at least."""

    column: int
    edges: Floats | None
    """For a column of numbers, where its groups begin; None where each value is a group, and missing the last."""
    bounds: Floats
    """Groups of persons, which are fewer where not all values are in the original, × groups of released records."""
    order: Codes
    starts: Longs

    def row_of(self, codes: Codes, space: Space) -> Codes:
        """The group of each person."""
        rows = space.rows[self.column]
        if rows is None:
            return self.group_of(codes, space)
        own = np.append(rows, np.int32(-1))[codes[:, self.column]]
        return np.where(own < 0, self.bounds.shape[0] - 1, own).astype(np.int32)

    def group_of(self, codes: Codes, space: Space) -> Codes:
        """The group of each released record."""
        own = codes[:, self.column]
        n_groups = self.bounds.shape[1]
        if self.edges is None:
            return np.where(own < 0, n_groups - 1, own).astype(np.int32)
        numbers = np.append(space.numbers[self.column], 0.0)[own]  # type: ignore[arg-type]
        groups = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, n_groups - 2)
        return np.where(own < 0, n_groups - 1, groups).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """The distinct released records, sorted by their group in the leading column."""

    codes: Codes
    amounts: Longs
    lead: Lead
    record_of_row: Codes
    """The record of each released row."""

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn], space: Space) -> Released:
        """From the masked rows."""
        codes, number = distinct_rows([column.masked for column in columns])
        amounts = counted(number, codes.shape[0], columns[0].amounts.masked)
        lead = _lead(codes, space)
        groups = lead.group_of(codes, space)
        by_group = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[by_group], np.arange(lead.bounds.shape[1] + 1)).astype(np.int64)
        lead = Lead(lead.column, lead.edges, lead.bounds, lead.order, starts)
        place_of = np.empty(by_group.size, dtype=np.int32)
        place_of[by_group] = np.arange(by_group.size, dtype=np.int32)
        return cls(np.ascontiguousarray(codes[by_group]), amounts[by_group], lead, place_of[number])


def _numbers(attribute: Attribute) -> Floats | None:
    """The numbers of values; None for values that are none."""
    return attribute.numbers if isinstance(attribute, NumericAttribute) else None


def _row_of(values: Codes, n_values: int) -> Codes:
    rows = np.full(n_values, -1, dtype=np.int32)
    rows[values] = np.arange(values.size, dtype=np.int32)
    return rows


def _lead(codes: Codes, space: Space) -> Lead:
    """Let the column with the most distinct values lead."""
    n_distinct = [np.unique(codes[:, place]).size for place in range(codes.shape[1])]
    column = int(np.argmax(n_distinct))
    numbers = space.numbers[column]
    if numbers is None:
        width = int(space.widths[column])
        start, n_rows = int(space.offsets[column]), int(np.count_nonzero(space.rows[column] >= 0))  # type: ignore[operator]
        bounds = np.ones((n_rows + 1, width + 1))
        bounds[:n_rows, :width] = space.tables[start : start + n_rows * width].reshape(n_rows, width)
        bounds[n_rows, width] = 0.0
        return Lead(column, None, bounds, np.argsort(bounds, axis=1, kind="stable").astype(np.int32), np.empty(0, int))
    present = np.unique(numbers)
    cuts = np.unique(np.linspace(0, present.size - 1, min(LEAD_GROUPS, present.size)).astype(np.int64))
    edges = present[cuts]
    lasts = np.append(edges[1:], present[-1])
    apart = np.maximum(0.0, np.maximum(edges[:, None] - lasts[None, :], edges[None, :] - lasts[:, None]))
    bounds = np.ones((edges.size + 1, edges.size + 1))
    bounds[:-1, :-1] = (apart * space.tables[space.offsets[column]]) ** 2
    bounds[-1, -1] = 0.0
    return Lead(column, edges, bounds, np.argsort(bounds, axis=1, kind="stable").astype(np.int32), np.empty(0, int))
