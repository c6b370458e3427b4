"""Equi-width swapping of more records than fit into memory: rows wait on disk, some bins at a time.

1. Rows are scattered to files by the bin that they are in, as many bins to a file as fit.
2. File after file the records of each bin are exchanged, as `anonto.methods.grid_swap` says. The outcome of the rows
   is written to files by the numbers of the rows.
3. These files are put in order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.encoding.records import Records
from anonto.methods.bins import strata
from anonto.methods.grid_swap import exchange_rows, facts_of_parts
from anonto.methods.row_masking import RowMasker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.engine.files.count import CodesOnDisk
    from anonto.engine.files.spill import SpillFile
    from anonto.masking.released import ReleasedColumn
    from anonto.methods.grid_swap import CellMethod, Grid
    from anonto.random.streams import Key
    from anonto.runtime.memory_limit import MemoryLimit


CELL_BITS = 20
"""Rows are counted by this many bits of the identity of their bin before they are scattered."""
OF_ROW, OF_COLUMN = 140, 16
"""Bytes that a row of a file takes during processing, and bytes of each of its columns."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskerOnDisk(RowMasker):
    """Reads the outcome of the rows of a batch from disk; see `anonto.methods.row_masking.RowMasker`."""

    value_spaces: tuple[ValueSpace, ...]
    firsts: Sequence[int]
    """The number of the first row of each batch."""
    files: Sequence[SpillFile]
    """The released codes of each column, batch by batch."""
    evidence: Mapping[str, Any]

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """The released codes of rows of one batch."""
        del columns, key
        if not rows.size:
            return [np.empty(0, dtype=np.int32) for _ in self.files]
        number = bisect_right(self.firsts, int(rows[0])) - 1
        return [file.read(number)[rows - self.firsts[number]] for file in self.files]

    def facts(self) -> Mapping[str, Any]:
        """Evidence about the bins."""
        return self.evidence


@dataclass(slots=True, eq=False)
class BinsOnDisk:
    """A grid swap of rows that wait on disk."""

    method: CellMethod
    columns: tuple[ReleasedColumn, ...]
    value_spaces: tuple[ValueSpace, ...]
    codes: CodesOnDisk
    limit: MemoryLimit
    folder: Path
    new_file: Callable[[str], SpillFile]
    untouched: list[int] = field(default_factory=list)
    """The cells of each column with a value that had no partner, once all rows are exchanged."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def firsts(self) -> list[int]:
        """The number of the first row of each batch, and last the number of all rows."""
        return self.codes.firsts

    def codes_of(self, number: int) -> tuple[list[Codes], Longs]:
        """The codes of the rows of a batch, column by column, and the numbers of these rows."""
        raw, rows = self.codes.read(slice(number, number + 1))
        return [column.codes(raw[column.name]) for column in self.columns], rows

    def masker(self, key: Key, name: str) -> MaskerOnDisk:
        """Exchange all records; the outcome of the rows waits in files whose names begin with a name."""
        grid = self.method.grid(self.names, self.value_spaces)
        per_row = OF_ROW + OF_COLUMN * len(self.names)
        most_rows = max(1, self.limit.for_step // (2 * per_row))
        rows_of_cell = self._count_cells(grid)
        file_of_cell = files_of_cells(rows_of_cell, most_rows)
        largest = int(np.bincount(file_of_cell, weights=rows_of_cell).max())
        if per_row * largest > self.limit.for_step:
            what = f"bins of {largest:,} records"
            raise self.limit.too_small(self.method.name, self.names, per_row * largest, what)
        scattered = self._scatter(grid, file_of_cell)
        groups = _groups(self.firsts, most_rows)
        firsts = np.array([self.firsts[one] for one in groups[:-1]])
        done, facts = self._exchange(grid, key, scattered, int(file_of_cell[-1]) + 1, firsts)
        return MaskerOnDisk(self.value_spaces, self.firsts[:-1], self._in_order(done, groups, name), facts)

    def _count_cells(self, grid: Grid) -> Longs:
        """Count rows by cell; refuse patterns of missing cells that few rows have."""
        rows_of_cell = np.zeros(1 << CELL_BITS, np.int64)
        patterns = RecordCounter(len(self.names))
        for number in range(len(self.firsts) - 1):
            columns, rows = self.codes_of(number)
            patterns.add(CountedRecords.of([np.minimum(column, 0) for column in columns]))
            cells = _cells(grid, _with_any_value(columns, rows)[0])
            rows_of_cell += np.bincount(cells, minlength=rows_of_cell.size)
        found = patterns.totals()
        strata(Records(self.names, self.value_spaces, found.codes, found.counts), 2)
        return rows_of_cell

    def _scatter(self, grid: Grid, file_of_cell: Longs) -> _ScatteredRows:
        scattered = _ScatteredRows(self.folder, "bins", len(self.names))
        for number in range(len(self.firsts) - 1):
            columns, rows = _with_any_value(*self.codes_of(number))
            scattered.add(file_of_cell[_cells(grid, columns)], rows, columns)
        return scattered

    def _exchange(
        self, grid: Grid, key: Key, scattered: _ScatteredRows, n_files: int, groups: Longs
    ) -> tuple[_ScatteredRows, dict[str, Any]]:
        """Rows with the record that they become, by ranges of their numbers; and evidence about the bins."""
        done, facts = _ScatteredRows(self.folder, "done", len(self.names)), []
        self.untouched = [0] * len(self.names)
        for number in range(n_files):
            rows, columns = scattered.read(number)
            if not rows.size:
                continue
            found = exchange_rows(self.method, grid, key, columns)
            del columns
            group = np.searchsorted(groups, rows, side="right") - 1
            done.add(group, rows, found.released)
            facts.append(found.facts)
            self.untouched = [before + now for before, now in zip(self.untouched, found.untouched, strict=True)]
        return done, facts_of_parts(facts)

    def _in_order(self, done: _ScatteredRows, groups: Sequence[int], name: str) -> list[SpillFile]:
        """The released codes of each column in the order of the rows, some batches after the other."""
        files = [self.new_file(f"{name}-{place}") for place in range(len(self.names))]
        for number, (begin, end) in enumerate(pairwise(groups)):
            first = self.firsts[begin]
            rows, columns = done.read(number)
            for file, codes in zip(files, columns, strict=True):
                becomes = np.full(self.firsts[end] - first, -1, dtype=np.int32)
                becomes[rows - first] = codes
                for batch in range(begin, end):
                    file.append(becomes[self.firsts[batch] - first : self.firsts[batch + 1] - first])
        for file in files:
            file.finish()
        return files


def _with_any_value(columns: Sequence[Codes], rows: Longs) -> tuple[Sequence[Codes], Longs]:
    """Without the rows that have no value at all, and so no bin."""
    there = np.logical_or.reduce([column >= 0 for column in columns])
    return (columns, rows) if there.all() else ([column[there] for column in columns], rows[there])


def _cells(grid: Grid, columns: Sequence[Codes]) -> Longs:
    """Some bits of the identity of each row's bin."""
    identities = grid.identities(np.stack(columns, axis=1))
    return (identities >> np.uint64(64 - CELL_BITS)).astype(np.int64)


def files_of_cells(rows_of_cell: Longs, most_rows: int) -> Longs:
    """The file of each cell: consecutive cells with at most this many rows together, or one larger cell."""
    files = np.zeros(rows_of_cell.size, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(rows_of_cell)])
    file = first = 0
    while first < rows_of_cell.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + most_rows, side="right")) - 1)
        files[first:last] = file
        file, first = file + 1, last
    return files


def _groups(firsts: Sequence[int], most_rows: int) -> list[int]:
    """The first batch of each group of about this many rows, and last the number of batches."""
    groups = [0]
    for batch, first in enumerate(firsts[:-1]):
        if first - firsts[groups[-1]] >= most_rows:
            groups.append(batch)
    return [*groups, len(firsts) - 1]


class _ScatteredRows:
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
