"""The released records that could be a person's, given how a method works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute import candidate_kernels as kernels
from anonto.attacks.compute.candidate_kernels import NearestCandidates, ReleasedArrays
from anonto.attacks.compute.space import LinkageSpace
from anonto.encoding.records import count_records, distinct_rows
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.attacks.compute.constraints import Constraint
    from anonto.encoding.comparison import ComparedColumn


MOST_CELLS = 1 << 22
MOST_TARGETS_AT_ONCE = 128
"""Persons whose candidates are found at once; fewer where the table would have more cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Persons whom the intruder cannot distinguish by what she knows are one target."""

    codes: Codes
    numbers: Codes
    """Targets × constraints: the number that each constraint gives the known cells."""
    of_person: Codes
    """The target of each person."""
    rows: Longs
    """The row of each person, in the original and in the release."""
    sorted_persons: Longs
    """The persons target by target."""
    ends: Longs
    """The places where those of each target begin there, and at last where they end."""

    @classmethod
    def of(cls, codes: Codes, numbers: Codes, of_person: Codes, rows: Longs) -> Targets:
        """Sort the persons by target."""
        order = np.argsort(of_person, kind="stable")
        return cls(codes, numbers, of_person, rows, order, np.searchsorted(of_person[order], np.arange(len(codes) + 1)))

    def persons_of(self, part: slice) -> Longs:
        """The persons of some targets."""
        return self.sorted_persons[self.ends[part.start] : self.ends[part.stop]]


@dataclass(frozen=True, slots=True, eq=False)
class FoundCandidates:
    """Result of a search."""

    nearest: NearestCandidates
    """The nearest candidates of each target."""
    has_own: Bools
    """Whether each person's own released record is a candidate, as it is if the plan made it."""
    listed: Codes
    """Targets × places: the nearest candidates, −1 behind them."""
    distances: Floats
    """Their squared distances."""

    @classmethod
    def room_for(cls, targets: Targets, wanted: int = 0) -> FoundCandidates:
        """Empty arrays, with a list of the nearest candidates until they have the wanted number of rows."""
        n_targets = targets.codes.shape[0]
        n_least, n_candidates = np.zeros((2, n_targets), dtype=np.int64)
        return cls(
            NearestCandidates(np.full(n_targets, np.inf), n_least, n_candidates),
            np.zeros(targets.rows.size, dtype=np.bool_),
            np.empty((n_targets, wanted), dtype=np.int32),
            np.empty((n_targets, wanted)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRecords:
    """The distinct released records, and the constraints that decide whose candidates they are."""

    columns: tuple[ComparedColumn, ...]
    constraints: tuple[Constraint, ...]
    space: LinkageSpace
    released: ReleasedArrays
    width: int
    """How many numbers all parts of all constraints have together."""
    n_classes: int
    record_of_row: Codes

    @classmethod
    def of(
        cls, columns: Sequence[ComparedColumn], constraints: Sequence[Constraint], classes: Codes | None = None
    ) -> CandidateRecords:
        """Candidates of a release.

        Args:
            columns: The columns that are known of persons.
            constraints: Constraints of these columns.
            classes: For each released row the class of rows of another release that may be the same person's.
        """
        released = [each for constraint in constraints for each in constraint.released]
        widths = [width for constraint in constraints for width in constraint.widths]
        class_of = np.zeros(columns[0].masked.size, dtype=np.int32) if classes is None else classes
        records, record_of_row = distinct_rows([*(column.masked for column in columns), *released, class_of])
        begins = np.cumsum([0, *widths])
        n_columns, space = len(columns), LinkageSpace.of(columns)
        parts = np.ascontiguousarray(records[:, n_columns:-1] + begins[:-1].astype(np.int32))
        by_number = np.argsort(parts.T.ravel(), kind="stable")
        arrays = ReleasedArrays(
            space.released_records(np.ascontiguousarray(records[:, :n_columns])),
            parts,
            begins,
            np.searchsorted(parts.T.ravel()[by_number], np.arange(sum(widths) + 1)),
            (by_number % max(1, len(parts))).astype(np.int32),
            np.ascontiguousarray(records[:, -1]),
            count_records(record_of_row, records.shape[0], columns[0].amounts.masked),
        )
        n_classes = int(class_of.max(initial=0)) + 1
        return cls(tuple(columns), tuple(constraints), space, arrays, sum(widths), n_classes, record_of_row)

    def targets(self, rows: Longs) -> Targets:
        """Known values of some persons."""
        known = [column.original[rows] for column in self.columns]
        records, of_person = distinct_rows([*known, *(constraint.persons[rows] for constraint in self.constraints)])
        n_columns = len(self.columns)
        return Targets.of(np.ascontiguousarray(records[:, :n_columns]), records[:, n_columns:], of_person, rows)

    def allowed_rows(self, targets: Targets, part: slice) -> Bools:
        """The numbers of released records that are allowed for some targets, constraint by constraint."""
        numbers = targets.numbers[part]
        blocks = [constraint.allowed_rows(numbers[:, place]) for place, constraint in enumerate(self.constraints)]
        return np.concatenate([np.empty((numbers.shape[0], 0), dtype=np.bool_), *blocks], axis=1)

    def in_parts(self, work: Callable[[slice], None], targets: Targets) -> None:
        """Call a function for all targets, some at a time."""
        n_targets = targets.codes.shape[0]
        width = max(1, self.width, self.n_classes)
        in_threads(work, slices(0, n_targets, min(MOST_TARGETS_AT_ONCE, max(1, MOST_CELLS // width))))

    def search(self, targets: Targets, wanted: int = 0) -> FoundCandidates:
        """The nearest candidates of targets, listed until they have the wanted number of rows."""
        found = FoundCandidates.room_for(targets, wanted)

        def search(part: slice) -> None:
            allowed = self.allowed_rows(targets, part)
            persons = targets.persons_of(part)
            own = self.released.parts[self.record_of_row[targets.rows[persons]]]
            found.has_own[persons] = allowed[targets.of_person[persons, None] - part.start, own].all(axis=1)
            self.search_part(targets, part, allowed, np.zeros((allowed.shape[0], self.n_classes)), found)

        self.in_parts(search, targets)
        return found

    def search_part(
        self, targets: Targets, part: slice, allowed: Bools, further: Floats, found: FoundCandidates
    ) -> None:
        """Search for the nearest candidates of some targets, with further distances by target and class."""
        kernels.search(
            self.space.persons(targets.codes[part]),
            allowed,
            self.released,
            self.space.tables,
            further,
            found.nearest.part(part),
            found.listed[part],
            found.distances[part],
        )

    def least_by_class(self, targets: Targets, part: slice) -> Floats:
        """The least squared distance of a candidate, by target and class; infinite where there is none."""
        out = np.empty((part.stop - part.start, self.n_classes))
        persons, allowed = self.space.persons(targets.codes[part]), self.allowed_rows(targets, part)
        kernels.least_by_class(persons, allowed, self.released, self.space.tables, out)
        return out

    def own_distances(self, targets: Targets) -> Floats:
        """Squared distance of each person to her own released record."""
        own = self.released.records.codes[self.record_of_row[targets.rows]]
        return self.space.between(targets.codes[targets.of_person], own)
