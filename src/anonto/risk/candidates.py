"""The released records that could be a person's, given how a method works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import candidate_kernels as kernels
from anonto.risk.space import Space
from anonto.table.records import counted, distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from anonto.risk.relations import Relation
    from anonto.table.comparison import ComparedColumn

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

MOST_CELLS = 1 << 22
MOST_TARGETS_AT_ONCE = 128
"""What the relations allow is found for so many persons at once, fewer where its table would have more cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Distinct persons: what the intruder knows of them."""

    codes: Codes
    numbers: Codes
    """Targets × relations: the number of what is known in each."""
    of_person: Codes
    """The target of each person."""
    rows: Longs
    """The row of each person, in the original and in the release."""
    sorted_persons: Longs
    """The persons target by target."""
    ends: Longs
    """Where those of each target begin there, and behind the last where they end."""

    def persons_of(self, part: slice) -> Longs:
        """The persons of some targets."""
        return self.sorted_persons[self.ends[part.start] : self.ends[part.stop]]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found of each target."""

    least: Floats
    """The least squared distance of a candidate; infinite without one."""
    n_least: Longs
    """Rows at this distance."""
    n_candidates: Longs
    """Rows that could be the person's."""
    has_own: Bools
    """For each person, not each target, whether her own released record is among them, as it is if the plan made it."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The distinct released records, and what the relations say of them."""

    columns: tuple[ComparedColumn, ...]
    relations: tuple[Relation, ...]
    space: Space
    codes: Codes
    parts: Codes
    """Released records × parts of all relations: where to look in a row of what is allowed."""
    width: int
    """How long such a row is."""
    classes: Codes
    """The class of each released record: to which rows of another release it could belong."""
    n_classes: int
    amounts: Longs
    record_of_row: Codes

    @classmethod
    def of(
        cls, columns: Sequence[ComparedColumn], relations: Sequence[Relation], classes: Codes | None = None
    ) -> Candidates:
        """Of a release.

        Args:
            columns: What is known of persons.
            relations: Of these columns.
            classes: For each released row the class of rows of another release that it could belong to.
        """
        released = [each for relation in relations for each in relation.released]
        widths = [width for relation in relations for width in relation.widths]
        class_of = np.zeros(columns[0].masked.size, dtype=np.int32) if classes is None else classes
        records, record_of_row = distinct_rows([*(column.masked for column in columns), *released, class_of])
        begins = (np.cumsum([0, *widths])[:-1]).astype(np.int32)
        n_columns = len(columns)
        return cls(
            tuple(columns),
            tuple(relations),
            Space.of(columns),
            np.ascontiguousarray(records[:, :n_columns]),
            np.ascontiguousarray(records[:, n_columns:-1] + begins),
            sum(widths),
            np.ascontiguousarray(records[:, -1]),
            int(class_of.max(initial=0)) + 1,
            counted(record_of_row, records.shape[0], columns[0].amounts.masked),
            record_of_row,
        )

    def targets(self, rows: Longs) -> Targets:
        """What is known of some persons."""
        known = [column.original[rows] for column in self.columns]
        records, of_person = distinct_rows([*known, *(relation.persons[rows] for relation in self.relations)])
        n_columns = len(self.columns)
        order = np.argsort(of_person, kind="stable")
        ends = np.searchsorted(of_person[order], np.arange(records.shape[0] + 1))
        return Targets(
            np.ascontiguousarray(records[:, :n_columns]), records[:, n_columns:], of_person, rows, order, ends
        )

    def allowed(self, targets: Targets, part: slice) -> Bools:
        """Which numbers of released records go with some targets, relation behind relation."""
        numbers = targets.numbers[part]
        blocks = [relation.allowed(numbers[:, place]) for place, relation in enumerate(self.relations)]
        return np.concatenate([np.empty((numbers.shape[0], 0), dtype=np.bool_), *blocks], axis=1)

    def for_all(self, work: Callable[[slice], None], targets: Targets) -> None:
        """Do something for all targets, some at a time."""
        n_targets = targets.codes.shape[0]
        width = max(1, self.width, self.n_classes)
        in_threads(work, slices(0, n_targets, min(MOST_TARGETS_AT_ONCE, max(1, MOST_CELLS // width))))

    def search(self, targets: Targets, wanted: int = 0) -> tuple[Found, Codes, Floats]:
        """The nearest candidates of targets: what was found, and lists of them until they have enough rows."""
        n_targets = targets.codes.shape[0]
        found = room_for(targets)
        listed, distances = np.empty((n_targets, wanted), dtype=np.int32), np.empty((n_targets, wanted))
        target_rows = self.space.rows_of(targets.codes)
        target_numbers, numbers = self.space.numbers_of(targets.codes), self.space.numbers_of(self.codes)

        def look(part: slice) -> None:
            allowed = self.allowed(targets, part)
            self.look_for_own(targets, part, allowed, found)
            kernels.search(
                target_rows[part],
                target_numbers[part],
                allowed,
                self.codes,
                numbers,
                self.parts,
                self.amounts,
                self.space.tables,
                self.space.offsets,
                self.space.widths,
                wanted,
                found.least[part],
                found.n_least[part],
                found.n_candidates[part],
                listed[part],
                distances[part],
            )

        self.for_all(look, targets)
        return found, listed, distances

    def look_for_own(self, targets: Targets, part: slice, allowed: Bools, found: Found) -> None:
        """Note of the persons of some targets whether their own released records are allowed."""
        persons = targets.persons_of(part)
        own = self.parts[self.record_of_row[targets.rows[persons]]]
        found.has_own[persons] = allowed[targets.of_person[persons, None] - part.start, own].all(axis=1)

    def least_by_class(self, targets: Targets, part: slice) -> Floats:
        """For some targets and all classes the least squared distance of a candidate; infinite where there is none."""
        out = np.empty((part.stop - part.start, self.n_classes))
        kernels.least_by_class(
            self.space.rows_of(targets.codes[part]),
            self.space.numbers_of(targets.codes[part]),
            self.allowed(targets, part),
            self.codes,
            self.space.numbers_of(self.codes),
            self.parts,
            self.classes,
            self.space.tables,
            self.space.offsets,
            self.space.widths,
            out,
        )
        return out


def room_for(targets: Targets) -> Found:
    """For what a search will find."""
    n_targets = targets.codes.shape[0]
    n_least, n_candidates = np.zeros((2, n_targets), dtype=np.int64)
    return Found(np.full(n_targets, np.inf), n_least, n_candidates, np.zeros(targets.rows.size, dtype=np.bool_))
