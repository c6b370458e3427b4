"""Equi-width swapping of more records than fit into memory: rows wait on disk, some bins at a time.

1. Rows are scattered to files by the bin that they are in, as many bins to a file as fit.
2. File after file the records of each bin are exchanged, as `anonto.methods.cells` says. What becomes of the rows goes
   on to files by their own numbers.
3. There they are put in order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.methods.bins import strata
from anonto.methods.cells import facts_of_parts
from anonto.methods.equi_width_swap import exchanged_rows
from anonto.methods.row_masking import RowMasker
from anonto.table.record_counts import CountedRecords, RecordCounter
from anonto.table.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anonto.engine.files.spilling import Spilled
    from anonto.engine.room import Room
    from anonto.methods.cells import Grid
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.rng import Key
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

CELL_BITS = 20
"""Rows are counted by so many bits of what stands for their bin, before they are scattered."""
OF_ROW, OF_COLUMN = 140, 16
"""What a row of a file takes while it is worked on, and what each of its columns takes."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskerOnDisk(RowMasker):
    """Hands the rows of a stretch what they become; see `anonto.methods.row_masking.RowMasker`."""

    attributes: tuple[Attribute, ...]
    firsts: Sequence[int]
    """The number of the first row of each stretch."""
    files: Sequence[Spilled]
    """For each column the released codes, stretch by stretch."""
    told: Mapping[str, Any]

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | NDArray[np.float64]]:
        """The released codes of rows of one stretch."""
        del columns, key
        if not rows.size:
            return [np.empty(0, dtype=np.int32) for _ in self.files]
        number = bisect_right(self.firsts, int(rows[0])) - 1
        return [file.read(number)[rows - self.firsts[number]] for file in self.files]

    def facts(self) -> Mapping[str, Any]:
        """What the evidence says of the bins."""
        return self.told


@dataclass(slots=True, eq=False)
class BinsOnDisk:
    """A step in the making."""

    method: EquiWidthSwap
    names: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    codes_of: Callable[[int], tuple[list[Codes], Longs]]
    """For the number of a stretch the codes of its rows, column by column, and the numbers of these rows."""
    firsts: Sequence[int]
    """The number of the first row of each stretch, and behind them that of all rows."""
    room: Room
    folder: Path
    new_file: Callable[[str], Spilled]
    untouched: list[int] = field(default_factory=list)
    """When all is done: for each column the cells with a value that had no partner."""

    def masker(self, key: Key, name: str) -> MaskerOnDisk:
        """Exchange all records; what becomes of the rows waits in files that begin with a name."""
        grid = self.method.grid(self._records(CountedRecords.of([np.empty(0, np.int32) for _ in self.names])))
        per_row = OF_ROW + OF_COLUMN * len(self.names)
        most_rows = max(1, self.room.of_step // (2 * per_row))
        rows_of_cell = self._looked_through(grid)
        file_of_cell = files_of_cells(rows_of_cell, most_rows)
        largest = int(np.bincount(file_of_cell, weights=rows_of_cell).max())
        if per_row * largest > self.room.of_step:
            what = f"bins of {largest:,} records"
            raise self.room.too_small(self.method.name, self.names, per_row * largest, what)
        scattered = self._scattered(grid, file_of_cell)
        groups = _groups(self.firsts, most_rows)
        firsts = np.array([self.firsts[one] for one in groups[:-1]])
        done, facts = self._exchanged(grid, key, scattered, int(file_of_cell[-1]) + 1, firsts)
        return MaskerOnDisk(self.attributes, self.firsts[:-1], self._in_order(done, groups, name), facts)

    def _records(self, counted: CountedRecords) -> Records:
        return Records(self.names, self.attributes, counted.codes, counted.counts)

    def _looked_through(self, grid: Grid) -> Longs:
        """Rows by cells; patterns of missing cells that few rows have are refused."""
        rows_of_cell = np.zeros(1 << CELL_BITS, np.int64)
        patterns = RecordCounter(len(self.names))
        for number in range(len(self.firsts) - 1):
            columns, rows = self.codes_of(number)
            patterns.add(CountedRecords.of([np.minimum(column, 0) for column in columns]))
            cells = _cells(grid, _with_any_value(columns, rows)[0])
            rows_of_cell += np.bincount(cells, minlength=rows_of_cell.size)
        strata(self._records(patterns.counted()), 2)
        return rows_of_cell

    def _scattered(self, grid: Grid, file_of_cell: Longs) -> _Scattered:
        scattered = _Scattered(self.folder, "bins", len(self.names))
        for number in range(len(self.firsts) - 1):
            columns, rows = _with_any_value(*self.codes_of(number))
            scattered.add(file_of_cell[_cells(grid, columns)], rows, columns)
        return scattered

    def _exchanged(
        self, grid: Grid, key: Key, scattered: _Scattered, n_files: int, groups: Longs
    ) -> tuple[_Scattered, dict[str, Any]]:
        """Rows with the record that they become, by stretches of their numbers; and what is known of the bins."""
        done, facts = _Scattered(self.folder, "done", len(self.names)), []
        self.untouched = [0] * len(self.names)
        for number in range(n_files):
            rows, columns = scattered.read(number)
            if not rows.size:
                continue
            found = exchanged_rows(self.method, self.names, self.attributes, grid, key, columns)
            del columns
            group = np.searchsorted(groups, rows, side="right") - 1
            done.add(group, rows, found.released)
            facts.append(found.facts)
            self.untouched = [before + now for before, now in zip(self.untouched, found.untouched, strict=True)]
        return done, facts_of_parts(facts)

    def _in_order(self, done: _Scattered, groups: Sequence[int], name: str) -> list[Spilled]:
        """For each column the released codes in the order of the rows, some stretches after the other."""
        files = [self.new_file(f"{name}-{place}") for place in range(len(self.names))]
        for number, (begin, end) in enumerate(pairwise(groups)):
            first = self.firsts[begin]
            rows, columns = done.read(number)
            for file, codes in zip(files, columns, strict=True):
                becomes = np.full(self.firsts[end] - first, -1, dtype=np.int32)
                becomes[rows - first] = codes
                for stretch in range(begin, end):
                    file.append(becomes[self.firsts[stretch] - first : self.firsts[stretch + 1] - first])
        for file in files:
            file.finish()
        return files


def _with_any_value(columns: Sequence[Codes], rows: Longs) -> tuple[Sequence[Codes], Longs]:
    """Without the rows that take no part, as they are in no bin."""
    there = np.logical_or.reduce([column >= 0 for column in columns])
    return (columns, rows) if there.all() else ([column[there] for column in columns], rows[there])


def _cells(grid: Grid, columns: Sequence[Codes]) -> Longs:
    """For each row some of the bits that stand for its bin."""
    identities = grid.identities(np.stack(columns, axis=1))
    return (identities >> np.uint64(64 - CELL_BITS)).astype(np.int64)


def files_of_cells(rows_of_cell: Longs, most_rows: int) -> Longs:
    """For each cell its file: consecutive cells that together have at most so many rows, or one that has more alone."""
    files = np.zeros(rows_of_cell.size, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(rows_of_cell)])
    file = first = 0
    while first < rows_of_cell.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + most_rows, side="right")) - 1)
        files[first:last] = file
        file, first = file + 1, last
    return files


def _groups(firsts: Sequence[int], most_rows: int) -> list[int]:
    """With which stretches of the table groups of about so many rows begin, and behind them how many there are."""
    groups = [0]
    for stretch, first in enumerate(firsts[:-1]):
        if first - firsts[groups[-1]] >= most_rows:
            groups.append(stretch)
    return [*groups, len(firsts) - 1]


class _Scattered:
    """Numbers of rows, and their codes, in files that are each read once, in the order in which they came."""

    def __init__(self, folder: Path, name: str, n_columns: int) -> None:
        self._folder, self._name, self._width = folder, name, 2 + n_columns

    def add(self, files: Longs, rows: Longs, columns: Sequence[Codes]) -> None:
        """Write each row to its file."""
        order = np.argsort(files.astype(np.uint16) if files.max(initial=0) < 1 << 16 else files, kind="stable")
        ends = np.cumsum(np.bincount(files)) if files.size else np.empty(0, np.int64)
        written = np.empty((rows.size, self._width), dtype=np.int32)
        written[:, :2] = rows[order].view(np.int32).reshape(-1, 2)
        for place, codes in enumerate(columns):
            written[:, 2 + place] = codes[order]
        first = 0
        for number, last in enumerate(ends.tolist()):
            if last > first:
                with self._path(number).open("ab") as file:
                    file.write(written[first:last].data)
            first = last

    def read(self, number: int) -> tuple[Longs, list[Codes]]:
        """The rows of a file, which is then gone, and column by column their codes."""
        path = self._path(number)
        if not path.exists():
            return np.empty(0, dtype=np.int64), [np.empty(0, dtype=np.int32) for _ in range(self._width - 2)]
        found = np.fromfile(path, dtype=np.int32).reshape(-1, self._width)
        path.unlink()
        rows = np.ascontiguousarray(found[:, :2]).view(np.int64).ravel()
        return rows, [np.ascontiguousarray(column) for column in found[:, 2:].T]

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number}"
