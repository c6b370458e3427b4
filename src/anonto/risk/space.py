"""Records in one space: what the kernels of the attacks need of some columns, and the nearest released records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import kernels
from anonto.table.attributes import NumericAttribute
from anonto.table.records import distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

LEAD_GROUPS = 256
"""A leading column of numbers is cut into this many groups."""
TARGETS_AT_ONCE = 256


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Distances of records over some columns: the sum of the squared distances of their cells."""

    tables: Floats
    offsets: Longs
    widths: Longs
    numbers: tuple[Floats | None, ...]
    """For a column of numbers the number of each value, divided by the original's range."""

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn]) -> Space:
        """From the columns that an intruder knows."""
        tables: list[Floats] = []
        widths: list[int] = []
        numbers: list[Floats | None] = []
        for column in columns:
            attribute = column.attribute
            if isinstance(attribute, NumericAttribute):
                scale = attribute.scale
                numbers.append(attribute.numbers / scale if scale else np.zeros(attribute.numbers.size))
                widths.append(0)
                tables.append(np.empty(0))
            else:
                numbers.append(None)
                widths.append(column.n_values)
                tables.append(np.round(attribute.distances() ** 2, 12).ravel())
        sizes = np.array([table.size for table in tables], dtype=np.int64)
        return cls(np.concatenate(tables), np.cumsum(sizes) - sizes, np.array(widths, dtype=np.int64), tuple(numbers))

    def numbers_of(self, codes: Codes) -> Floats:
        """The scaled numbers of records, 0 in columns that have none."""
        out = np.zeros(codes.shape)
        for place, numbers in enumerate(self.numbers):
            if numbers is not None:
                out[:, place] = np.append(numbers, 0.0)[codes[:, place]]
        return out

    def between(self, a: Codes, b: Codes) -> Floats:
        """Squared distances of pairs of records, one by one."""
        out = np.empty(a.shape[0])
        a_numbers, b_numbers = self.numbers_of(a), self.numbers_of(b)
        kernels.squared_distances(a, b, a_numbers, b_numbers, self.tables, self.offsets, self.widths, out)
        return out

    def nearest_some(self, targets: Codes, released: Released, wanted: int) -> tuple[Codes, Floats]:
        """For each target the released records nearest to it, until they have so many rows; −1 behind them."""
        found = np.empty((targets.shape[0], wanted), dtype=np.int32)
        distances = np.empty((targets.shape[0], wanted))
        lead = released.lead
        groups = lead.group_of(targets, self)
        numbers, released_numbers = self.numbers_of(targets), self.numbers_of(released.codes)

        def search(part: slice) -> None:
            kernels.nearest_some(
                targets[part],
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
        groups = lead.group_of(targets, self)
        numbers, released_numbers = self.numbers_of(targets), self.numbers_of(released.codes)

        def search(part: slice) -> None:
            kernels.nearest(
                targets[part],
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
    order: Codes
    starts: Longs

    def group_of(self, codes: Codes, space: Space) -> Codes:
        """The group of each record."""
        own = codes[:, self.column]
        n_groups = self.bounds.shape[0]
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
        amounts = np.bincount(number, minlength=codes.shape[0]).astype(np.int64)
        lead = _lead(codes, space)
        groups = lead.group_of(codes, space)
        by_group = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[by_group], np.arange(lead.bounds.shape[0] + 1)).astype(np.int64)
        lead = Lead(lead.column, lead.edges, lead.bounds, lead.order, starts)
        place_of = np.empty(by_group.size, dtype=np.int32)
        place_of[by_group] = np.arange(by_group.size, dtype=np.int32)
        return cls(np.ascontiguousarray(codes[by_group]), amounts[by_group], lead, place_of[number])


def _lead(codes: Codes, space: Space) -> Lead:
    """Let the column with the most distinct values lead."""
    n_distinct = [np.unique(codes[:, place]).size for place in range(codes.shape[1])]
    column = int(np.argmax(n_distinct))
    numbers = space.numbers[column]
    if numbers is None:
        width = int(space.widths[column])
        start = int(space.offsets[column])
        bounds = np.ones((width + 1, width + 1))
        bounds[:width, :width] = space.tables[start : start + width * width].reshape(width, width)
        bounds[width, width] = 0.0
        return Lead(column, None, bounds, np.argsort(bounds, axis=1, kind="stable").astype(np.int32), np.empty(0, int))
    present = np.unique(numbers)
    cuts = np.unique(np.linspace(0, present.size - 1, min(LEAD_GROUPS, present.size)).astype(np.int64))
    edges = present[cuts]
    lasts = np.append(edges[1:], present[-1])
    apart = np.maximum(0.0, np.maximum(edges[:, None] - lasts[None, :], edges[None, :] - lasts[:, None]))
    bounds = np.ones((edges.size + 1, edges.size + 1))
    bounds[:-1, :-1] = apart**2
    bounds[-1, -1] = 0.0
    return Lead(column, edges, bounds, np.argsort(bounds, axis=1, kind="stable").astype(np.int32), np.empty(0, int))
