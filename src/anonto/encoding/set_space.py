"""Columns whose cells are sets of values, such as all diagnoses of a person.

A cell is a text: the elements of a row, sorted and joined by `ELEMENT`; where the rows of a person are one cell, such
texts joined by `ROW`. `anonto.masking.units` makes these texts from a table and the table from them. Distances look at
the set of all elements; order, repetition and rows do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.set_kernels import SetArrays, set_distances, set_pair_distances
from anonto.encoding.value_space import NominalSpace, TextSpace
from anonto.runtime.shared import digest_of, is_shared, share
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anonto.arrays import Bools, Floats, Integers, Ints, Longs
    from anonto.encoding.columns import Column
    from anonto.encoding.value_space import ValueSpace

ELEMENT = "␟"
"""Between the elements of a row."""
ROW = "␞"
"""Between the rows of a person."""
ROWS_AT_ONCE = 64
PAIRS_AT_ONCE = 1 << 16
SET_DISTANCES = ("matching", "best-match-average")


def elements_of(text: str) -> list[str]:
    """The elements of a cell, in their order, with repetitions."""
    return [element for row in text.split(ROW) for element in row.split(ELEMENT) if element]


def count_rows(column: Column) -> Longs:
    """The number of rows of the person in each cell; a missing cell has one."""
    return np.array([*(text.count(ROW) + 1 for text in column.values), 1], dtype=np.int64)[column.codes]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the elements of a set are laid out in the rows of a table."""

    per_row: int | None = None
    """The largest number of elements in a row; None for any number."""
    in_rows: bool = False
    """True if a set may have several rows."""

    @property
    def most(self) -> int | None:
        """The largest number of elements of a set; None for any number."""
        return None if self.in_rows else self.per_row

    def text(self, elements: Iterable[str]) -> str:
        """The cell of a new set: its rows are full, so that equal sets have equal rows."""
        ordered = sorted(elements)
        if not ordered:
            return ELEMENT
        size = self.per_row or len(ordered)
        rows = [ELEMENT.join(ordered[first : first + size]) for first in range(0, len(ordered), size)]
        return ROW.join(sorted(rows))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetSpace:
    """A column of sets, with the distances of `anonto.stats.set_distance` between them."""

    counts: Longs
    elements: ValueSpace
    """The distinct elements of all sets."""
    starts: Longs
    """Where the elements of each distinct set start in `members`, and behind the last one where they end."""
    members: Ints
    """The distinct elements of all sets, one set after the other, in ascending order."""
    kind: str = "matching"
    cells: tuple[str, ...] = ()
    """The cell of each distinct set."""
    texts: tuple[str, ...] = ()
    """The texts of the elements; concepts that no cell has come behind these."""
    layout: Layout = Layout()
    """How new sets are laid out."""
    _digests: list[bytes] = field(default_factory=list, init=False)
    """The digest of all that the distances follow from, once it was needed."""

    def distances(self) -> Floats:
        """Distances of all pairs of distinct sets; not to be changed, as other parts of a run may share them."""
        return self._pairs().rows(np.arange(self.counts.size))

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct sets."""
        if is_shared(self._bytes_of_pairs):
            return self._pairs().of_some(a, b)
        return _pair_by_pair(self._arrays(), self._by_matching, a, b)

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct sets, a row each, to all distinct sets."""
        if not is_shared(self._bytes_of_pairs):
            return _table(self._arrays(), self._by_matching, codes, np.arange(self.counts.size))
        return self._pairs().rows(codes)

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct sets, a row each, and others to their distances."""
        return partial(_table, self._arrays(), self._by_matching)

    def restrict(self, codes: Integers, counts: Longs) -> SetSpace:
        """The space of some sets with other counts."""
        sizes = np.diff(self.starts)[codes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = np.repeat(self.starts[codes] - starts[:-1], sizes) + np.arange(starts[-1])
        cells = tuple(self.cells[code] for code in codes.tolist()) if self.cells else ()
        return replace(self, counts=counts, starts=starts, members=self.members[members], cells=cells)

    def names(self) -> tuple[str, ...]:
        """The names by which `codes_of` finds elements: their concepts, or their texts if they have none or several."""
        return self.elements.concepts if isinstance(self.elements, NominalSpace) else self.texts

    def sets_from(self, first: int) -> list[tuple[str, ...]]:
        """The names of the elements of all sets from a code on."""
        names = self.names()
        return [tuple(sorted({names[member] for member in key})) for key in self.keys()[first:]]

    def codes_of(self, sets: Sequence[tuple[str, ...]]) -> tuple[SetSpace, Ints]:
        """The codes of some sets as released, and this column with those appended that no cell has.

        A set shares the code of a cell only if it is written like that cell: the rows and the spellings of a person
        must not show in what is released of others.
        """
        wanted = sorted({name for one in sets for name in one})
        elements, texts = self.elements, self.texts
        if isinstance(elements, NominalSpace):
            elements, numbers = elements.codes_of(wanted)
            texts = (*texts, *elements.further_texts)
            number_of = dict(zip(wanted, numbers.tolist(), strict=True))
        else:
            number_of = {text: number for number, text in enumerate(texts)}
        code_of = {cell: code for code, cell in enumerate(self.cells)}
        codes, further = np.empty(len(sets), dtype=np.int32), []
        for place, one in enumerate(sets):
            numbers = np.unique(np.array([number_of[name] for name in one], dtype=np.int32))
            cell = self.layout.text(texts[number] for number in numbers.tolist())
            if cell not in code_of:
                code_of[cell] = len(code_of)
                further.append(numbers)
            codes[place] = code_of[cell]
        extended = replace(
            self,
            counts=np.concatenate([self.counts, np.zeros(len(further), dtype=np.int64)]),
            elements=elements,
            starts=np.concatenate([self.starts, self.starts[-1] + np.cumsum([one.size for one in further])]).astype(
                np.int64
            ),
            members=np.concatenate([self.members, *further]).astype(np.int32),
            cells=tuple(code_of),
        )
        return extended, codes

    def keys(self) -> list[tuple[int, ...]]:
        """The set of each distinct cell, the same for all cells that have the same elements."""
        return [tuple(part.tolist()) for part in np.split(self.members, self.starts[1:-1])]

    @property
    def _by_matching(self) -> bool:
        return self.kind == "matching"

    def _pairs(self) -> SetPairs:
        """The distances of all pairs, which parts of a run share."""

        def make() -> SetPairs:
            return SetPairs.of(self._arrays(), self.counts.size, by_matching=self._by_matching)

        return share("distances of sets", self.digest, self._bytes_of_pairs, make)

    @property
    def _bytes_of_pairs(self) -> int:
        return int(8 * self.counts.size**2)

    def digest(self) -> bytes:
        """The digest of all that the distances follow from."""
        if not self._digests:
            self._digests.append(digest_of(self.kind, *self._arrays()))
        return self._digests[0]

    def _arrays(self) -> SetArrays:
        equal_or_not = isinstance(self.elements, TextSpace)
        table = np.empty((0, 0)) if equal_or_not else np.ascontiguousarray(self.elements.distances())
        return SetArrays(self.starts, self.members, table)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetPairs:
    """Distances of the pairs of some sets, computed row by row when they are first needed."""

    arrays: SetArrays
    by_matching: bool
    table: Floats
    """All pairs; those of two sets of which neither has its row are not filled in."""
    has_row: Bools
    """The sets whose distances to all others are known."""

    @classmethod
    def of(cls, arrays: SetArrays, n: int, *, by_matching: bool) -> SetPairs:
        """Nothing is computed yet; memory is taken as rows are filled in."""
        return cls(arrays, by_matching, np.empty((n, n)), np.zeros(n, dtype=np.bool_))

    def rows(self, codes: Integers) -> Floats:
        """Distances of some sets, a row each, to all; the table itself for all sets in order."""
        wanted = np.zeros(self.has_row.size, dtype=np.bool_)
        wanted[codes] = True
        self._fill(np.flatnonzero(wanted & ~self.has_row))
        self.has_row[wanted] = True
        in_order = codes.size == wanted.size and np.array_equal(codes, np.arange(wanted.size))
        return self.table if in_order else self.table[codes]

    def of_some(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs; those that are not known are computed one by one."""
        known = self.has_row[a] | self.has_row[b]
        out = np.empty(a.size)
        out[known] = self.table[a[known], b[known]]
        out[~known] = _pair_by_pair(self.arrays, self.by_matching, a[~known], b[~known])
        return out

    def _fill(self, missing: Integers) -> None:
        """Compute the rows of these sets, each pair once."""
        is_other = ~self.has_row
        is_other[missing] = False
        others = np.concatenate([missing, np.flatnonzero(is_other)])

        def fill(part: slice) -> None:
            """Compute the pairs of some rows that no part before it has, and mirror them."""
            own, ahead = missing[part], others[part.start :]
            found = np.empty((own.size, ahead.size))
            set_distances(self.arrays, own, ahead, self.by_matching, found)
            self.table[np.ix_(own, ahead)] = found
            self.table[np.ix_(ahead, own)] = found.T

        in_threads(fill, slices(0, missing.size, ROWS_AT_ONCE))


def set_space(
    counts: Longs, sets: Sequence[Sequence[int]], elements: ValueSpace, kind: str, **written: Any
) -> SetSpace:
    """The space of some sets, each given by the numbers of its elements, in any order and with repetitions.

    Args:
        counts: How many records have each set.
        sets: The sets.
        elements: The elements.
        kind: How sets are compared.
        written: For new sets: the ``cells``, the ``texts`` of the elements, and the ``layout``.
    """
    distinct = [np.unique(np.asarray(one, dtype=np.int32)) for one in sets]
    starts = np.concatenate([[0], np.cumsum([one.size for one in distinct])]).astype(np.int64)
    members = np.concatenate([np.empty(0, dtype=np.int32), *distinct]).astype(np.int32)
    return SetSpace(counts, elements, starts, members, kind, **written)


def _pair_by_pair(arrays: SetArrays, by_matching: bool, a: Integers, b: Integers) -> Floats:
    out = np.empty(a.size)

    def fill(part: slice) -> None:
        set_pair_distances(arrays, a[part], b[part], by_matching, out[part])

    in_threads(fill, slices(0, a.size, PAIRS_AT_ONCE))
    return out


def _table(arrays: SetArrays, by_matching: bool, a: Integers, b: Integers) -> Floats:
    out = np.empty((a.size, b.size))

    def fill(part: slice) -> None:
        set_distances(arrays, a[part], b, by_matching, out[part])

    in_threads(fill, slices(0, a.size, ROWS_AT_ONCE))
    return out
