"""Value spaces: the distinct values of a column with their counts and the distances between them.

All distances are 0 for equal values and at most 1: semantic distances of concepts, differences of ranks or numbers
divided by their range, or equality of texts (0 or 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypedDict

import numpy as np

from anonto.encoding.columns import Column
from anonto.encoding.refusals import not_a_taxonomy, unmatched_values
from anonto.ontology.spelling import BY_ID, Spelling, spelling_of
from anonto.runtime.threads import slices
from anonto.taxonomy.distance import MEASURES, OF_THE_WHOLE_ONTOLOGY
from anonto.taxonomy.matrix import distance_bands, distance_matrix, weighted_sums
from anonto.taxonomy.refusals import unknown_measure
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.arrays import Floats, Integers, Ints, Longs

    class _ContentOptions(TypedDict):
        information_content: str
        counts: Mapping[str, int]


class ValueSpace(Protocol):
    """The values of a column, with their counts and the distances between them."""

    @property
    def counts(self) -> Longs:
        """How many records have each distinct value."""
        ...

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        ...

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        ...

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        ...

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances.

        The work that all its tables need is done once.
        """
        ...

    def restrict(self, codes: Integers, counts: Longs) -> ValueSpace:
        """The space of some distinct values, with the counts of some records and the distances of the whole column."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NominalSpace:
    """A column whose values are placed in a taxonomy, or in the part of it that a root policy chose."""

    column: Column
    concepts: tuple[str, ...]
    """The concept of each distinct value."""
    counts: Longs
    domain: Taxonomy
    """The concepts that a value could have; means are searched here."""
    space: Taxonomy
    """The taxonomy in which distances are measured; the whole ontology for measures of ancestor sets."""
    measure: str
    information_content: str
    root: str = "ontology"
    """The policy that chose the domain."""
    spelling: Spelling = BY_ID
    """How released concepts are written."""

    @property
    def further_texts(self) -> tuple[str, ...]:
        """The texts of the concepts that follow those of the column's own values."""
        further = self.concepts[len(self.column.values) :]
        return tuple(self.spelling.text(concept, self.space) for concept in further)

    @property
    def n_records(self) -> float:
        """Records with a value, or the sum of their weights; a whole number unless they are weighted."""
        total: float = self.counts.sum().item()
        return total

    @property
    def shares(self) -> Floats:
        """The share of the records that each distinct value has."""
        return np.asarray(self.counts / self.n_records)

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        return distance_matrix(self.space, self._numbers(), None, self.measure, **self._content())

    def distance_bands(self, use: Callable[[slice, Longs, Floats], None]) -> None:
        """Process the distances of all pairs without storing them: see `matrix.distance_bands`."""
        distance_bands(self.space, self._numbers(), self.measure, use, **self._content())

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values, computed in blocks of the rows that occur."""
        out = np.empty(a.size)
        times = np.bincount(a)
        rows = np.flatnonzero(times)
        ends = np.cumsum(times[rows])
        at_once = min(ROWS_AT_ONCE, max(1, DISTANCES_AT_ONCE // max(self.counts.size, 1)))
        order = np.argsort(a, kind="stable") if rows.size > at_once else None
        place_of = np.zeros(times.size, dtype=np.int32)
        for start in range(0, rows.size, at_once):
            some = rows[start : start + at_once]
            place_of[some] = np.arange(some.size)
            block = self.distances_from(some)
            first, last = (ends[start - 1] if start else 0), ends[start + some.size - 1]
            for part in slices(first, last, CELLS_AT_ONCE):
                inside = part if order is None else order[part]
                out[inside] = block[place_of[a[inside]], b[inside]]
        return out

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        numbers = self._numbers()
        return distance_matrix(self.space, numbers[codes], numbers, self.measure, **self._content())

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        numbers, content = self._numbers(), self._content()
        return lambda a, b: distance_matrix(self.space, numbers[a], numbers[b], self.measure, **content)

    def mean_distances(self) -> Floats:
        """The mean distance of each distinct value to the records."""
        return self._weighted_sums(self._numbers())

    def mean_distances_of_domain(self) -> Floats:
        """The mean distance of each concept of the domain to the records."""
        return self._weighted_sums(self.space.numbers(self.domain.ids))

    def distances_to(self, concept: str) -> Floats:
        """The distance of each distinct value to one concept."""
        one = self.space.numbers([concept])
        row: Floats = distance_matrix(self.space, one, self._numbers(), self.measure, **self._content())[0]
        return row

    def codes_of(self, concepts: Sequence[str]) -> tuple[NominalSpace, Ints]:
        """The codes of some concepts as released, and this value space with new concepts appended to its values.

        A concept shares the code of a value only if the value is written as the released concept is: a released cell
        must not show how original cells of its concept were spelt.
        """
        own, n_own = self.column.values, len(self.column.values)
        code_of = {
            concept: code
            for code, concept in enumerate(self.concepts)
            if code >= n_own or own[code] == self.spelling.text(concept, self.space)
        }
        further = list(dict.fromkeys(concept for concept in concepts if concept not in code_of))
        code_of.update({concept: len(self.concepts) + place for place, concept in enumerate(further)})
        counts = np.concatenate([self.counts, np.zeros(len(further), dtype=np.int64)])
        extended = replace(self, concepts=(*self.concepts, *further), counts=counts)
        return extended, np.array([code_of[concept] for concept in concepts], dtype=np.int32)

    def first_codes(self) -> Ints | None:
        """The first code of the same concept for each code, and last −1; None if each code is the first.

        Exchanged cells keep their spelling, so each spelling is a value; a released concept has a code of its own if
        its values are spelt differently.
        """
        if len(self.concepts) == len(self.column.values):
            return None
        first: dict[str, int] = {}
        codes = [first.setdefault(concept, code) for code, concept in enumerate(self.concepts)]
        return None if len(first) == len(codes) else np.array([*codes, -1], dtype=np.int32)

    def restrict(self, codes: Integers, counts: Longs) -> NominalSpace:
        """The space of some values with other counts; information content from the data is that of these counts."""
        chosen = codes.tolist()
        column = Column(tuple(self.column.values[code] for code in chosen), self.column.codes[:0])
        return replace(self, column=column, concepts=tuple(self.concepts[code] for code in chosen), counts=counts)

    def _weighted_sums(self, rows: Ints) -> Floats:
        return weighted_sums(self.space, rows, self._numbers(), self.shares, self.measure, **self._content())

    def _numbers(self) -> Ints:
        return self.space.numbers(self.concepts)

    def _content(self) -> _ContentOptions:
        counts: dict[str, int] = {}
        if self.information_content != "data":
            return {"information_content": self.information_content, "counts": counts}
        for concept, count in zip(self.concepts, self.counts.tolist(), strict=True):
            counts[concept] = counts.get(concept, 0) + count
        return {"information_content": self.information_content, "counts": counts}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeanSpace:
    """A column placed in several ontologies: the mean of their distances."""

    parts: tuple[NominalSpace, ...]

    @property
    def counts(self) -> Longs:
        """How many records have each distinct value."""
        return self.parts[0].counts

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        return np.asarray(np.mean([part.distances() for part in self.parts], axis=0))

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        return np.asarray(np.mean([part.pair_distances(a, b) for part in self.parts], axis=0))

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        return np.asarray(np.mean([part.distances_from(codes) for part in self.parts], axis=0))

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        tables = [part.distance_tables() for part in self.parts]
        return lambda a, b: np.asarray(np.mean([table(a, b) for table in tables], axis=0))

    def restrict(self, codes: Integers, counts: Longs) -> MeanSpace:
        """The space of some values with other counts."""
        return MeanSpace(tuple(part.restrict(codes, counts) for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumericSpace:
    """A column of numbers or ranks: differences divided by the range."""

    numbers: Floats
    counts: Longs
    extent: float | None = None
    """Divisor of differences; None for the range of the numbers."""
    settle: Callable[[Floats], Floats] | None = None
    """Rounds new numbers to those that the column can hold; None if it can hold any."""
    order: tuple[str, ...] = ()
    """The texts of the ranks, lowest first; none for numbers."""

    def with_numbers(self, further: Floats) -> NumericSpace:
        """This attribute with numbers appended that no record has, on the same scale."""
        counts = np.concatenate([self.counts, np.zeros(further.size, dtype=np.int64)])
        return NumericSpace(np.concatenate([self.numbers, further]), counts, self.scale)

    def codes_of(self, numbers: Floats) -> tuple[NumericSpace, Ints]:
        """The codes of some numbers, and this value space with the new ones appended."""
        distinct, place = np.unique(numbers, return_inverse=True)
        own, first = np.unique(self.numbers, return_index=True)
        nearest = np.minimum(np.searchsorted(own, distinct), own.size - 1)
        known = own[nearest] == distinct if own.size else np.zeros(distinct.size, dtype=np.bool_)
        code_of = np.empty(distinct.size, dtype=np.int32)
        code_of[known] = first[nearest[known]]
        code_of[~known] = self.numbers.size + np.arange(np.count_nonzero(~known))
        return self.with_numbers(distinct[~known]), code_of[place]

    @property
    def scale(self) -> float:
        """Divisor of differences; 0 when all numbers are equal."""
        if self.extent is not None:
            return self.extent
        return float(np.ptp(self.numbers)) if self.numbers.size else 0.0

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        return self._scale(np.subtract.outer(self.numbers, self.numbers))

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        return self._scale(self.numbers[a] - self.numbers[b])

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        return self._scale(np.subtract.outer(self.numbers[codes], self.numbers))

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        return lambda a, b: self._scale(np.subtract.outer(self.numbers[a], self.numbers[b]))

    def restrict(self, codes: Integers, counts: Longs) -> NumericSpace:
        """The space of some values with other counts, on the same scale."""
        return replace(self, numbers=self.numbers[codes], counts=counts, extent=self.scale)

    def _scale(self, differences: Floats) -> Floats:
        scale = self.scale
        return np.asarray(np.abs(differences) / scale if scale else np.zeros_like(differences))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextSpace:
    """A nominal column without an ontology: two values are equal or not."""

    counts: Longs

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        return 1.0 - np.eye(self.counts.size)

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        return np.asarray(a != b, dtype=np.float64)

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        return np.not_equal.outer(codes, np.arange(self.counts.size)).astype(np.float64)

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        return lambda a, b: np.not_equal.outer(a, b).astype(np.float64)

    def restrict(self, codes: Integers, counts: Longs) -> TextSpace:  # noqa: ARG002 - spaces need them
        """The space of some values with other counts."""
        return TextSpace(counts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExtendedSpace:
    """A column with further values of unknown meaning, at distance 1 to every other value.

    The last of them are the codes of missing cells, at distance 0 to each other.
    """

    base: ValueSpace
    further: Longs
    """How many records have each further value."""
    n_codes: int = 1
    """How many of the further values are codes of missing cells."""

    @property
    def first_code(self) -> int:
        """The first of the values that are codes of missing cells."""
        return int(self.base.counts.size + self.further.size - self.n_codes)

    def one_missing(self, codes: Integers) -> Integers:
        """Codes in which all missing cells are one value."""
        return np.minimum(codes, self.first_code)

    @property
    def counts(self) -> Longs:
        """How many records have each distinct value."""
        return np.concatenate([self.base.counts, self.further])

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        known, n_values = self.base.counts.size, self.counts.size
        out = np.empty((n_values, n_values))
        out[known:], out[:, known:] = 1.0, 1.0
        out[np.arange(known, n_values), np.arange(known, n_values)] = 0.0
        out[:known, :known] = self.base.distances()
        out[self.first_code :, self.first_code :] = 0.0
        return out

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        known = (a < self.base.counts.size) & (b < self.base.counts.size)
        out = np.asarray(self.one_missing(a) != self.one_missing(b), dtype=np.float64)
        out[known] = self.base.pair_distances(a[known], b[known])
        return out

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        n_known = self.base.counts.size
        values = self.one_missing(np.arange(n_known + self.further.size))
        out = np.not_equal.outer(self.one_missing(codes), values).astype(np.float64)
        known = np.flatnonzero(codes < n_known)
        out[known, :n_known] = self.base.distances_from(codes[known])
        return out

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        n_known, of_known = self.base.counts.size, self.base.distance_tables()

        def table(a: Integers, b: Integers) -> Floats:
            out = np.not_equal.outer(self.one_missing(a), self.one_missing(b)).astype(np.float64)
            rows, columns = np.flatnonzero(a < n_known), np.flatnonzero(b < n_known)
            out[np.ix_(rows, columns)] = of_known(a[rows], b[columns])
            return out

        return table

    def restrict(self, codes: Integers, counts: Longs) -> ExtendedSpace:
        """The space of some values, in order, with other counts; all codes of missing cells must be among them."""
        known = codes < self.base.counts.size
        return ExtendedSpace(self.base.restrict(codes[known], counts[known]), counts[~known], self.n_codes)


def parts_of(value_space: ValueSpace) -> tuple[ValueSpace, ...]:
    """The value spaces of a column, one for each of its ontologies; itself for a column with one ontology or none."""
    return value_space.parts if isinstance(value_space, MeanSpace) else (value_space,)


ROWS_AT_ONCE = 1024
DISTANCES_AT_ONCE = 1 << 23
CELLS_AT_ONCE = 1 << 17


def nominal_space(
    column: Column,
    taxonomy: Taxonomy,
    *,
    measure: str,
    root: str = "ontology",
    information_content: str = "sanchez",
    name: str | None = None,
    concepts: Sequence[str] | None = None,
    spelling: str = "id",
) -> NominalSpace:
    """Place the values of a column in a taxonomy.

    Without ``concepts`` every value must be the id of one.
    """
    if not isinstance(taxonomy, Taxonomy):
        raise not_a_taxonomy(taxonomy)
    if measure not in MEASURES:
        raise unknown_measure(measure, MEASURES)
    counts = column.counts
    placed = tuple(column.values if concepts is None else concepts)
    unmatched = [n for n, concept in enumerate(placed) if concept not in taxonomy]
    if unmatched:
        records = column if counts.dtype.kind == "i" else replace(column, amounts=None)
        cells = int(records.counts[unmatched].sum())
        raise unmatched_values([column.values[n] for n in unmatched], cells, taxonomy.name, name)
    domain = taxonomy.rooted(root, placed)
    space = taxonomy if measure in OF_THE_WHOLE_ONTOLOGY else domain
    written = spelling_of(taxonomy, spelling)
    return NominalSpace(column, placed, counts, domain, space, measure, information_content, root, written)
