"""Equi-width swapping of more distinct records than fit into memory: cells and rows wait on disk, bin by bin.

The outcome is the same as in memory, where records have numbers in the order of their codes, bins are gone through in
theirs, and what becomes of a row depends on its record, on its place among the rows of its record, and on its bin:

1. Rows are scattered to files by the stretch of records that theirs is in. File after file records get their numbers,
   and each row its place by the keyed permutation of its record.
2. Records and rows go on to files by the stretch of bins that they are in. Stretch after stretch the records of each
   bin are exchanged, and each row gets the record that stands at its place.
3. The rows go back to files by their own numbers, and are put there in order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import MoreMemoryError, TooManyCombinationsError
from anonto.methods import bin_kernels
from anonto.methods.bin_parts import exchanged_in_bins, facts_of_parts, parts_of_bins
from anonto.methods.bins import strata
from anonto.methods.equi_width_swap import places_of
from anonto.table.records import Records, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anonto.engine.memory import Room
    from anonto.engine.spilling import Spilled
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.rng import PermutationsInTurn
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

CELLS = 1 << 20
"""Records, and bins, are counted in so many stretches of their numbers."""
MOST_KEYS = 1 << 62
BYTES_PER_ROW = 140
"""What a row of a file takes while it is worked on; a record takes about as much."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskerOnDisk:
    """Hands the rows of a stretch what they become; see `anonto.methods.row_masking.RowMasker`."""

    attributes: tuple[Attribute, ...]
    firsts: Sequence[int]
    """The number of the first row of each stretch."""
    files: Sequence[Spilled]
    """For each column the released codes, stretch by stretch."""
    told: Mapping[str, Any]

    def apply(self, columns: Sequence[Codes], rows: Longs, key: np.uint64) -> list[Codes | NDArray[np.float64]]:
        """The released codes of rows of one stretch."""
        del columns, key
        if not rows.size:
            return [np.empty(0, dtype=np.int32) for _ in self.files]
        number = bisect_right(self.firsts, int(rows[0])) - 1
        return [file.read(number)[rows - self.firsts[number]] for file in self.files]

    def facts(self, before: Sequence[Codes], after: Sequence[Any]) -> Mapping[str, Any]:
        """What the evidence says of the bins."""
        del before, after
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

    def masker(self, rng: np.random.Generator, permutations: PermutationsInTurn, name: str) -> MaskerOnDisk:
        """Exchange all records; what becomes of the rows waits in files that begin with a name."""
        keys = _Keys.of(self.method, self._records(np.empty((0, len(self.names)), np.int32), np.empty(0, np.int64)))
        if keys is None:
            raise TooManyCombinationsError(self.method.name, self.names, self.room.memory)
        most_rows = max(1, self.room.of_step // (4 * BYTES_PER_ROW))
        rows_of_records, rows_of_bins = self._looked_through(keys)
        by_record, by_bin = _stretches(rows_of_records, most_rows), _stretches(rows_of_bins, most_rows)
        for stretch, n_rows in ((by_record, rows_of_records), (by_bin, rows_of_bins)):
            self._require(np.bincount(stretch, weights=n_rows))
        scattered = self._scattered(keys, by_record)
        records, rows, n_records = self._with_places(keys, scattered, int(by_record[-1]) + 1, by_bin, permutations)
        self._require(np.bincount(by_bin, weights=rows_of_bins), n_records)
        groups = _groups(self.firsts, most_rows)
        firsts = np.array([self.firsts[one] for one in groups[:-1]])
        done, facts = self._exchanged(keys, records, rows, n_records.size, firsts, rng)
        return MaskerOnDisk(self.attributes, self.firsts[:-1], self._in_order(keys, done, groups, name), facts)

    def _in_order(self, keys: _Keys, done: _Scattered, groups: Sequence[int], name: str) -> list[Spilled]:
        """For each column the released codes in the order of the rows, some stretches after the other."""
        files = [self.new_file(f"{name}-{place}") for place in range(len(self.names))]
        for number, (begin, end) in enumerate(pairwise(groups)):
            first, found = self.firsts[begin], done.read(number)
            becomes = np.zeros(self.firsts[end] - first, dtype=np.int64)
            becomes[found[:, 0] - first] = found[:, 1]
            del found
            for stretch in range(begin, end):
                part = becomes[self.firsts[stretch] - first : self.firsts[stretch + 1] - first]
                for file, codes in zip(files, keys.codes(part).T, strict=True):
                    file.append(codes)
        for file in files:
            file.finish()
        return files

    def _records(self, codes: Codes, counts: Longs) -> Records:
        return Records(self.names, self.attributes, codes, counts)

    def _require(self, n_rows: NDArray[Any], n_records: Longs | int = 0) -> None:
        """Refuse what cannot be cut small enough, by the rows, and the records, of each file."""
        needed = BYTES_PER_ROW * (n_rows + n_records)
        most = int(needed.argmax())
        if needed[most] > self.room.of_step:
            raise self._too_much(int(needed[most]), f"bins of {int(n_rows[most]):,} records")

    def _too_much(self, needed: int, what: str) -> MoreMemoryError:
        return MoreMemoryError(self.method.name, self.names, needed, self.room.memory, what)

    def _looked_through(self, keys: _Keys) -> tuple[Longs, Longs]:
        """Rows by stretches of records and of bins; patterns of missing cells that few rows have are refused."""
        rows_of_cell, rows_of_bins = np.zeros(CELLS, np.int64), np.zeros(CELLS, np.int64)
        patterns: dict[tuple[int, ...], int] = {}
        for number in range(len(self.firsts) - 1):
            columns, _ = self.codes_of(number)
            rows_of_cell += np.bincount(keys.of_rows(columns) // keys.per_cell, minlength=CELLS)
            codes = np.stack(columns, axis=1)
            rows_of_bins += np.bincount(keys.bins(codes) // keys.bins_per_cell, minlength=CELLS)
            own, which = distinct_rows([(column < 0).astype(np.int32) for column in columns])
            for pattern, count in zip(own.tolist(), np.bincount(which).tolist(), strict=True):
                patterns[tuple(pattern)] = patterns.get(tuple(pattern), 0) + count
        lacking = np.array(list(patterns), dtype=np.int32).reshape(-1, len(self.names))
        strata(self._records(-lacking, np.array(list(patterns.values()), dtype=np.int64)), 2)
        return rows_of_cell, rows_of_bins

    def _scattered(self, keys: _Keys, by_record: Longs) -> _Scattered:
        scattered = _Scattered(self.folder, "records", 2)
        for number in range(len(self.firsts) - 1):
            columns, rows = self.codes_of(number)
            own = keys.of_rows(columns)
            scattered.add(by_record[own // keys.per_cell], own, rows)
        return scattered

    def _with_places(
        self, keys: _Keys, scattered: _Scattered, n_files: int, by_bin: Longs, permutations: PermutationsInTurn
    ) -> tuple[_Scattered, _Scattered, Longs]:
        """Records with their counts, and rows with their record, their place and their number, by stretches of bins."""
        records, rows = _Scattered(self.folder, "bins", 2), _Scattered(self.folder, "rows", 3)
        n_records = np.zeros(int(by_bin[-1]) + 1, dtype=np.int64)
        for number in range(n_files):
            found = scattered.read(number)
            distinct, which = np.unique(found[:, 0], return_inverse=True)
            counts = np.bincount(which, minlength=distinct.size)
            by_row = np.argsort(which, kind="stable")
            positions = np.empty(which.size, dtype=np.int64)
            positions[by_row] = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
            del by_row
            places = permutations.of_next(counts)(which.astype(np.int32), positions)
            part = by_bin[keys.bins(keys.codes(distinct)) // keys.bins_per_cell]
            in_part = _counted_on(part, n_records)
            records.add(part, distinct, counts)
            rows.add(part[which], in_part[which], places, found[:, 1])
            n_records += np.bincount(part, minlength=n_records.size)
        return records, rows, n_records

    def _exchanged(
        self, keys: _Keys, records: _Scattered, rows: _Scattered, n_parts: int, groups: Longs, rng: np.random.Generator
    ) -> tuple[_Scattered, dict[str, Any]]:
        """Rows with the record that they become, by stretches of their numbers; and what is known of the bins."""
        done, facts = _Scattered(self.folder, "done", 2), []
        self.untouched = [0] * len(self.names)
        for part in range(n_parts):
            found = records.read(part)
            own = self._records(keys.codes(found[:, 0]), np.ascontiguousarray(found[:, 1]))
            one = exchanged_in_bins(self.method, own, keys.bins(own.codes), rng)
            becomes = np.repeat(one.flows.targets, one.flows.amounts)
            begins = np.cumsum(own.counts) - own.counts
            of_row = rows.read(part)
            target = becomes[begins[of_row[:, 0]] + of_row[:, 1]]
            group = np.searchsorted(groups, of_row[:, 2], side="right") - 1
            done.add(group, of_row[:, 2], found[target, 0])
            facts.append(one.facts)
            self.untouched = [before + now for before, now in zip(self.untouched, one.untouched, strict=True)]
        return done, facts_of_parts(facts)


def _stretches(rows_of_cell: Longs, most_rows: int) -> Longs:
    """For each cell its stretch: as many that follow each other as have so many rows, one at least."""
    return parts_of_bins(np.concatenate([[0], rows_of_cell]), most_rows)[1:] - 1


def _groups(firsts: Sequence[int], most_rows: int) -> list[int]:
    """With which stretches of the table groups of about so many rows begin, and behind them how many there are."""
    groups = [0]
    for stretch, first in enumerate(firsts[:-1]):
        if first - firsts[groups[-1]] >= most_rows:
            groups.append(stretch)
    return [*groups, len(firsts) - 1]


def _counted_on(part: Longs, before: Longs) -> Longs:
    """For each record its number inside its part, of which some have been counted before."""
    by_part = np.argsort(part, kind="stable")
    sizes = np.bincount(part, minlength=before.size)
    numbers = np.empty(part.size, dtype=np.int64)
    numbers[by_part] = np.arange(part.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(numbers + before[part])


@dataclass(frozen=True, slots=True, eq=False)
class _Keys:
    """Records and bins as numbers in their order."""

    widths: tuple[int, ...]
    """How many codes each column has, none included."""
    per_cell: int
    places: Codes
    """Of each code on the grid, column after column."""
    begins: Longs
    n_places: Longs
    bins_per_cell: int

    @classmethod
    def of(cls, method: EquiWidthSwap, records: Records) -> _Keys | None:
        """For the columns of records; None where one number cannot hold them."""
        places = places_of(records, width=method.width, bins=method.bins)
        widths = tuple(attribute.counts.size + 1 for attribute in records.attributes)
        n_places = [int(one.max(initial=-1)) + 2 for one in places]
        n_keys, n_bins = math.prod(widths), math.prod(n_places)
        if max(n_keys, n_bins) >= MOST_KEYS:
            return None
        begins = np.cumsum([0, *(one.size for one in places)])[:-1]
        return cls(widths, -(-n_keys // CELLS), np.concatenate(places), begins, np.array(n_places), -(-n_bins // CELLS))

    def of_rows(self, columns: Sequence[Codes]) -> Longs:
        """The keys of rows."""
        keys = np.zeros(columns[0].size, dtype=np.int64)
        for codes, width in zip(columns, self.widths, strict=True):
            keys *= width
            keys += codes
            keys += 1
        return keys

    def codes(self, keys: Longs) -> Codes:
        """Records × columns."""
        codes, rest = np.empty((keys.size, len(self.widths)), dtype=np.int32), keys
        for place in range(len(self.widths) - 1, -1, -1):
            rest, own = np.divmod(rest, self.widths[place])
            codes[:, place] = own - 1
        return codes

    def bins(self, codes: Codes) -> Longs:
        """The bin of each record; 0 for none."""
        bins: Longs = bin_kernels.combined(codes, self.places, self.begins, self.n_places)
        return bins


class _Scattered:
    """Rows of numbers in files that are each read once, in the order in which they came."""

    def __init__(self, folder: Path, name: str, width: int) -> None:
        self._folder, self._name, self._width = folder, name, width

    def add(self, files: Longs, *columns: Longs) -> None:
        """Write each row to its file."""
        order = np.argsort(files.astype(np.uint16) if files.max(initial=0) < 1 << 16 else files, kind="stable")
        ends = np.cumsum(np.bincount(files)) if files.size else np.empty(0, np.int64)
        rows = np.stack([column[order] for column in columns], axis=1, dtype=np.int64)
        first = 0
        for number, last in enumerate(ends.tolist()):
            if last > first:
                with self._path(number).open("ab") as file:
                    file.write(rows[first:last].data)
            first = last

    def read(self, number: int) -> Longs:
        """The rows of a file, which is then gone."""
        path = self._path(number)
        if not path.exists():
            return np.empty((0, self._width), dtype=np.int64)
        rows = np.fromfile(path, dtype=np.int64).reshape(-1, self._width)
        path.unlink()
        return rows

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number}"
