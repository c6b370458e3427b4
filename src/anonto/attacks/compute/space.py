"""Records in one space: input of the attacks' kernels, and the released records nearest to a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute import kernels
from anonto.attacks.compute.kernels import DistanceTables, LeadGroups, RecordArrays
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.runtime.shared import digest_of, share
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


LEAD_GROUPS = 256
"""A leading numeric column is cut into this many groups."""
TARGETS_AT_ONCE = 256
ROWS_AT_ONCE = 256
"""Rows of a distance table that are computed together."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkageSpace:
    """Distances of persons to released records over some columns: the sum of the squared distances of their cells."""

    tables: DistanceTables
    rows: tuple[Codes | None, ...]
    """The row of each value in its table, by column that is not numeric: −1 for one that no person has."""
    numbers: tuple[Floats | None, ...]
    """The number of each value, by numeric column."""

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn]) -> LinkageSpace:
        """From the columns that an intruder knows; the attacks of a run share it."""

        def digest() -> bytes:
            # No other column has the place in memory of one that is kept with the result.
            return digest_of(*map(id, columns))

        spaces = [column.value_space for column in columns if not isinstance(column.value_space, NumericSpace)]
        n_bytes = sum(8 * one.counts.size**2 for one in spaces)
        return share("linkage space", digest, n_bytes, lambda: (cls._new(columns), tuple(columns)), is_quick=True)[0]

    @classmethod
    def _new(cls, columns: Sequence[ComparedColumn]) -> LinkageSpace:
        values = [np.unique(column.original[column.original >= 0]) for column in columns]
        is_numeric = np.array([isinstance(column.value_space, NumericSpace) for column in columns])
        widths = np.where(is_numeric, 0, np.array([column.n_values for column in columns], dtype=np.int64))
        sizes = np.where(is_numeric, 1, np.array([own.size for own in values], dtype=np.int64) * widths)
        flat, offsets = np.empty(int(sizes.sum())), np.cumsum(sizes) - sizes
        rows: list[Codes | None] = []
        numbers: list[Floats | None] = []
        for column, own, offset, width in zip(columns, values, offsets.tolist(), widths.tolist(), strict=True):
            value_space = column.value_space
            if isinstance(value_space, NumericSpace):
                flat[offset] = 1.0 / value_space.scale if value_space.scale else 0.0
                rows.append(None)
                numbers.append(value_space.numbers)
                continue
            for part in slices(0, own.size, ROWS_AT_ONCE):
                squared = (value_space.distances_from(own[part]) ** 2).ravel()
                np.round(squared, 12, out=flat[offset + part.start * width : offset + part.stop * width])
            row_of = np.full(width, -1, dtype=np.int32)
            row_of[own] = np.arange(own.size, dtype=np.int32)
            rows.append(row_of)
            numbers.append(None)
        return cls(DistanceTables(flat, offsets, widths), tuple(rows), tuple(numbers))

    def persons(self, codes: Codes) -> RecordArrays:
        """Persons as the kernels take them: rows of tables instead of values, and numbers."""
        out = codes.copy()
        for place, rows in enumerate(self.rows):
            if rows is not None:
                out[:, place] = np.append(rows, np.int32(-1))[codes[:, place]]
        return RecordArrays(out, self._numbers_of(codes))

    def released_records(self, codes: Codes) -> RecordArrays:
        """Released records as the kernels take them."""
        return RecordArrays(codes, self._numbers_of(codes))

    def _numbers_of(self, codes: Codes) -> Floats:
        """The numbers of records, 0 in columns that have none."""
        out = np.zeros(codes.shape)
        for place, numbers in enumerate(self.numbers):
            if numbers is not None:
                out[:, place] = np.append(numbers, 0.0)[codes[:, place]]
        return out

    def between(self, persons: Codes, released: Codes) -> Floats:
        """Squared distances of persons and released records, one by one."""
        out = np.empty(persons.shape[0])
        kernels.squared_distances(self.persons(persons), self.released_records(released), self.tables, out)
        return out

    def nearest_some(self, targets: Codes, released: ReleasedRecords, wanted: int) -> tuple[Codes, Floats]:
        """The released records nearest to each target, until they have that many rows; −1 behind them."""
        found = np.empty((targets.shape[0], wanted), dtype=np.int32)
        distances = np.empty((targets.shape[0], wanted))
        self._search(kernels.nearest_some, targets, released, (found, distances))
        return found, distances

    def nearest(self, targets: Codes, released: ReleasedRecords) -> tuple[Floats, Longs]:
        """The least squared distance of each target to a released record, and how many rows are at it."""
        least, n_least = np.empty(targets.shape[0]), np.empty(targets.shape[0], dtype=np.int64)
        self._search(kernels.nearest, targets, released, (least, n_least))
        return least, n_least

    def _search(
        self, kernel: Any, targets: Codes, released: ReleasedRecords, answers: tuple[NDArray[Any], NDArray[Any]]
    ) -> None:
        """Run a search kernel for some targets at a time."""
        persons, records = self.persons(targets), self.released_records(released.codes)
        lead = released.lead
        groups = lead.row_of(targets, self)

        def search(part: slice) -> None:
            own = [answer[part] for answer in answers]
            kernel(persons.part(part), records, released.amounts, self.tables, released.groups, groups[part], *own)

        in_threads(search, slices(0, targets.shape[0], TARGETS_AT_ONCE))


@dataclass(frozen=True, slots=True, eq=False)
class LeadColumn:
    """The column that leads the search: groups of its values, and the least distances between them."""

    column: int
    edges: Floats | None
    """For a numeric column, where its groups begin; None where each value is a group, and missing the last."""
    bounds: Floats
    """Groups of persons, which are fewer where not all values are in the original, × groups of released records."""

    @classmethod
    def of(cls, codes: Codes, space: LinkageSpace) -> LeadColumn:
        """The column with the most distinct released values."""
        n_distinct = [np.unique(codes[:, place]).size for place in range(codes.shape[1])]
        column = int(np.argmax(n_distinct))
        start, rows, numbers = int(space.tables.offsets[column]), space.rows[column], space.numbers[column]
        if numbers is None:
            n_rows, width = int(np.count_nonzero(np.asarray(rows) >= 0)), int(space.tables.widths[column])
            between = space.tables.flat[start : start + n_rows * width].reshape(n_rows, width)
            edges = None
        else:
            present = np.unique(numbers)
            cuts = np.unique(np.linspace(0, present.size - 1, min(LEAD_GROUPS, present.size)).astype(np.int64))
            edges = present[cuts]
            lasts = np.append(edges[1:], present[-1])
            apart = np.maximum(0.0, np.maximum(edges[:, None] - lasts[None, :], edges[None, :] - lasts[:, None]))
            between = (apart * space.tables.flat[start]) ** 2
        bounds = np.ones((between.shape[0] + 1, between.shape[1] + 1))
        bounds[:-1, :-1], bounds[-1, -1] = between, 0.0
        return cls(column, edges, bounds)

    def row_of(self, codes: Codes, space: LinkageSpace) -> Codes:
        """The group of each person."""
        rows = space.rows[self.column]
        if rows is None:
            return self.group_of(codes, space)
        own = np.append(rows, np.int32(-1))[codes[:, self.column]]
        return np.where(own < 0, self.bounds.shape[0] - 1, own).astype(np.int32)

    def group_of(self, codes: Codes, space: LinkageSpace) -> Codes:
        """The group of each released record."""
        own = codes[:, self.column]
        n_groups = self.bounds.shape[1]
        if self.edges is None:
            return np.where(own < 0, n_groups - 1, own).astype(np.int32)
        numbers = np.append(space.numbers[self.column], 0.0)[own]  # type: ignore[arg-type]
        groups = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, n_groups - 2)
        return np.where(own < 0, n_groups - 1, groups).astype(np.int32)


def _order(bounds: Floats) -> Codes:
    """The places of each row, the least first, and of equal ones the first."""
    order = np.empty(bounds.shape, dtype=np.int32)

    def sort(part: slice) -> None:
        order[part] = np.argsort(bounds[part], axis=1, kind="stable")

    in_threads(sort, slices(0, bounds.shape[0], ROWS_AT_ONCE))
    return order


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedRecords:
    """The distinct released records, sorted by their group in the leading column."""

    codes: Codes
    amounts: Longs
    lead: LeadColumn
    groups: LeadGroups
    record_of_row: Codes
    """The record of each released row."""

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn], space: LinkageSpace) -> ReleasedRecords:
        """From the masked rows."""
        codes, number = distinct_rows([column.masked for column in columns])
        amounts = count_records(number, codes.shape[0], columns[0].amounts.masked)
        lead = LeadColumn.of(codes, space)
        group_of = lead.group_of(codes, space)
        by_group = np.argsort(group_of, kind="stable")
        starts = np.searchsorted(group_of[by_group], np.arange(lead.bounds.shape[1] + 1)).astype(np.int64)
        groups = LeadGroups(lead.bounds, _order(lead.bounds), starts)
        place_of = np.empty(by_group.size, dtype=np.int32)
        place_of[by_group] = np.arange(by_group.size, dtype=np.int32)
        return cls(np.ascontiguousarray(codes[by_group]), amounts[by_group], lead, groups, place_of[number])
