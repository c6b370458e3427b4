"""Centre, variance and dependence of sets of concepts, such as the diagnoses of persons.

The centre of some sets is a set with a small sum of squared distances to them. There are too many sets of concepts to
try all, so it is searched: the search starts at the set with the least sum and, as long as the sum falls, adds, removes
or replaces one element, of all such changes the one that lowers the sum most. Elements of the sets and their ancestors
may come in. How far that is from the best set is measured in `docs/explanation/sets.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot, matrix_product
from anonto.encoding.columns import MISSING, Column, encode, require_equal_lengths
from anonto.encoding.refusals import all_missing
from anonto.encoding.set_kernels import SetArrays
from anonto.encoding.set_space import SET_DISTANCES, Layout, SetSpace, set_space
from anonto.encoding.value_space import NominalSpace, NumericSpace, TextSpace, nominal_space
from anonto.errors import ParameterError
from anonto.runtime.shared import digest_of, share
from anonto.runtime.threads import in_threads, slices
from anonto.stats.contingency import shares_of_counts
from anonto.stats.dependence import Spread, TwoColumns
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.arrays import Bools, Codes, Floats, Integers, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.taxonomy.taxonomy import Taxonomy

GROUPS_AT_ONCE = 16
MOST_CANDIDATES = 3_000
"""With more candidates nothing is searched: the centre is the set of the group with the least sum."""


def set_mean(
    sets: Any,
    tax: Taxonomy,
    measure: str = "wu-palmer",
    kind: str = "matching",
    *,
    root: str = "ontology",
    information_content: str = "sanchez",
) -> tuple[str, ...]:
    r"""A set of concepts with a small sum of squared distances to all sets, found by a heuristic.

    $$\bar S \approx \arg\min_{C \subseteq \tau} \sum_i d(C, S_i)^2$$

    The search starts at the set with the least sum and changes one element at a time while the sum falls. In 300 random
    trees of 10 concepts it found the best of all 1,024 sets 297 times, and its sum was 0.02 % too large on average; see
    `docs/explanation/sets.md`. Of one set, or of equal ones, it is that set.

    Args:
        sets: Collections of concept ids, one per record; None is missing, an empty one is the empty set.
        tax: The taxonomy of the concepts.
        measure: One of `anonto.MEASURES`.
        kind: ``"matching"`` or ``"best-match-average"``, as in `set_distance`.
        root: ``"ontology"``, ``"lcs"`` (of all elements) or a concept id: the domain of the mean.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        Concept ids in their order.

    Examples:
        >>> import anonto
        >>> ills = anonto.read_ontology("illnesses")
        >>> anonto.stats.set_mean([["flu", "burn"], ["flu"], ["flu", "burn"]], ills)
        ('burn', 'flu')
    """
    return _mean_of(_space_of_sets(sets, tax, measure, kind, root, information_content))[0]


def set_variance(
    sets: Any,
    tax: Taxonomy,
    measure: str = "wu-palmer",
    kind: str = "matching",
    *,
    root: str = "ontology",
    information_content: str = "sanchez",
) -> float:
    r"""The mean squared distance of the sets to their `set_mean`; 0 if all are equal.

    $$\frac{1}{n} \sum_i d(\bar S, S_i)^2$$

    The arguments are those of `set_mean`.
    """
    mean, space = _mean_of(_space_of_sets(sets, tax, measure, kind, root, information_content))
    extended, code = space.codes_of([mean])
    distances = extended.distances_from(code)[0]
    return dot(space.counts, distances[: space.counts.size] ** 2) / int(space.counts.sum())


def set_distance_correlation(
    a: Any,
    b: Any,
    tax_a: Taxonomy | None,
    tax_b: Taxonomy | None = None,
    measure: str = "wu-palmer",
    kind: str = "matching",
    *,
    root: str = "ontology",
    information_content: str = "sanchez",
) -> float:
    """The distance correlation of a column of sets with another column of the same records, from 0 to 1.

    It is that of `distance_correlation` with the distances of sets. 0 when a column is constant. Distances of all pairs
    of distinct values are held in memory.

    Args:
        a: Collections of concept ids, one per record; None is missing. Records that lack either value are left out.
        b: Collections too, or concept ids, numbers or texts.
        tax_a: The taxonomy of ``a``; without one, two elements are equal or not.
        tax_b: The taxonomy of ``b``; without one, numbers are apart by their difference, and texts are equal or not.
        measure: One of `anonto.MEASURES`, for both.
        kind: ``"matching"`` or ``"best-match-average"``, for sets.
        root: ``"ontology"``, ``"lcs"`` (of the values) or a concept id.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Warns:
        AnontoWarning: With the number, when a squared covariance is below 0 and was set to 0.
    """
    columns = [_Values.of(one, name) for one, name in ((a, "a"), (b, "b"))]
    require_equal_lengths([one.present.size for one in columns])
    both = columns[0].present & columns[1].present
    if not both.any():
        raise all_missing(both.size)
    (space_a, codes_a), (space_b, codes_b) = (
        one.space_of(both, tax, measure, kind, root, information_content)
        for one, tax in zip(columns, (tax_a, tax_b), strict=True)
    )
    n, shape = int(both.sum()), (space_a.counts.size, space_b.counts.size)
    shares = shares_of_counts(codes_a, codes_b, np.ones(n, dtype=np.int64), shape)
    of_a, of_b = (Spread.of(one.distances(), one.counts / n, n) for one in (space_a, space_b))
    variances = [one.variance().root("distance variance") for one in (of_a, of_b)]
    if 0.0 in variances:
        return 0.0
    covariance = TwoColumns(of_a, of_b, shares).covariance().root("distance covariance")
    return min(1.0, covariance / math.sqrt(variances[0] * variances[1]))


# ------------------------------------------------------------------------------------------------ centres of groups


def centres_of_sets(space: SetSpace, offsets: Longs, values: Codes, counts: Longs) -> list[tuple[str, ...]]:
    """The centre of each group of sets, as the names of its elements.

    Args:
        space: The column of sets.
        offsets: Where the sets of each group start, and behind the last where they end; each has one at least.
        values: The codes of the distinct sets of each group, those of the first records first.
        counts: How often each occurs in its group.
    """
    candidates = _Candidates.of(space)
    most = space.layout.most

    def digest() -> bytes:
        every = np.arange(len(candidates.names))
        about = candidates.names, candidates.of_element, candidates.above, candidates.distances(every, every)
        return digest_of(space.digest(), about, most, offsets, values, counts)

    def search() -> list[tuple[str, ...]]:
        return _search(candidates, offsets, values, counts, most)

    # The digest looks at all pairs of candidates; where they are very many, the search is sooner done again.
    few = len(candidates.names) <= MOST_CANDIDATES
    return share("centres of sets", digest, values.nbytes, search) if few else search()


def _search(
    candidates: _Candidates, offsets: Longs, values: Codes, counts: Longs, most: int | None
) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = [()] * (offsets.size - 1)

    def some(part: slice) -> None:
        for group in range(part.start, part.stop):
            own = slice(offsets[group], offsets[group + 1])
            out[group] = candidates.centre(values[own], counts[own].astype(np.float64), most)

    in_threads(some, slices(0, len(out), GROUPS_AT_ONCE))
    return out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Candidates:
    """The elements of all sets and their ancestors, as candidates for the elements of centres."""

    space: SetSpace
    names: tuple[str, ...]
    of_element: Codes
    """For each element its candidate."""
    above: Sequence[Integers]
    """For each candidate the candidates above it, itself included; for an element only."""
    distances: Callable[[Integers, Integers], Floats]
    """Between candidates."""

    @classmethod
    def of(cls, space: SetSpace) -> _Candidates:
        elements, own = space.elements, space.names()
        if not isinstance(elements, NominalSpace):
            places = np.arange(len(own), dtype=np.int32)
            return cls(space, own, places, [np.array([place]) for place in places], elements.distance_tables())
        domain, used = elements.space, sorted(set(own))
        found = closure(domain, domain.numbers(used))
        groups = [[domain.ids[n] for n in part] for part in np.split(found.ancestors, found.offsets[1:-1])]
        names = tuple(sorted({one for group in groups for one in group if one in elements.domain}.union(used)))
        place_of = {name: place for place, name in enumerate(names)}
        above: list[Integers] = [np.array([place]) for place in range(len(names))]
        for name, group in zip(used, groups, strict=True):
            above[place_of[name]] = np.array([place_of[name], *(place_of[one] for one in group if one in place_of)])
        extended, codes = elements.codes_of(names)
        table = extended.distance_tables()
        of_element = np.array([place_of[name] for name in own], dtype=np.int32)
        return cls(space, names, of_element, above, lambda a, b: table(codes[a], codes[b]))

    def centre(self, values: Codes, weights: Floats, most: int | None) -> tuple[str, ...]:
        """The centre of some sets, by the names of its elements."""
        from anonto.stats.set_centre_kernels import centre_of_sets

        starts, members = self.space.starts, self.space.members
        sets = [np.unique(self.of_element[members[starts[code] : starts[code + 1]]]) for code in values.tolist()]
        elements = np.unique(np.concatenate(sets))
        if not elements.size:
            return ()
        tried = np.unique(np.concatenate([self.above[place] for place in elements.tolist()]))
        if tried.size > MOST_CANDIDATES:
            squares = self.space.distance_tables()(values, values) ** 2
            chosen = sets[int(np.argmin(matrix_product(squares, weights)))]
            return tuple(sorted(self.names[place] for place in chosen.tolist()))
        ends = np.cumsum([0, *(one.size for one in sets)])
        room = np.concatenate([*(np.searchsorted(tried, one) for one in sets), np.zeros(tried.size)]).astype(np.int32)
        table = np.ascontiguousarray(self.distances(tried, tried))
        arrays = SetArrays(np.append(ends, ends[-1]).astype(np.int64), room, table)
        limit = tried.size if most is None else min(most, tried.size)
        found = centre_of_sets(arrays, weights, limit, self.space.kind == "matching")
        return tuple(sorted(self.names[place] for place in tried[found].tolist()))


# ------------------------------------------------------------------------------------------------ columns


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Values:
    """A column as it was given: sets, or single values."""

    present: Bools
    column: Column
    """The values of the records, or the elements of all of them."""
    sizes: Longs | None
    """How many elements each record has; None for single values."""
    are_numbers: bool = False

    @classmethod
    def of(cls, given: Any, name: str) -> _Values:
        if isinstance(given, str | bytes):
            raise ParameterError(name, "a column of collections or of values", type(given).__name__)
        cells = list(given)
        if not any(_is_set(cell) for cell in cells):
            column = encode(given)
            numeric = all(cell is None or (isinstance(cell, Real) and not isinstance(cell, bool)) for cell in cells)
            return cls(column.codes >= 0, column, None, are_numbers=numeric)
        if not all(cell is None or _is_set(cell) for cell in cells):
            raise ParameterError(name, "a column in which every value is a collection, or none is", "both")
        present = np.array([cell is not None for cell in cells])
        parts = [[] if cell is None else list(cell) for cell in cells]
        sizes = np.array([len(one) for one in parts], dtype=np.int64)
        return cls(present, encode([element for one in parts for element in one]), sizes)

    def space_of(
        self, chosen: Bools, tax: Taxonomy | None, measure: str, kind: str, root: str, information_content: str
    ) -> tuple[ValueSpace, Codes]:
        """The value space of some records, and their codes in it."""
        options: dict[str, Any] = {"measure": measure, "root": root, "information_content": information_content}
        if self.sizes is None:
            column = self.column.keep_records(chosen)
            if tax is not None:
                return nominal_space(column, tax, **options), column.codes
            if self.are_numbers:
                numbers = np.array([float(value) for value in column.values])
                return NumericSpace(numbers, column.counts), column.codes
            return TextSpace(column.counts), column.codes
        if kind not in SET_DISTANCES:
            raise ParameterError("kind", " or ".join(map(repr, SET_DISTANCES)), kind)
        elements, ends = self.column, np.cumsum(self.sizes)
        keys = [
            tuple(np.unique(part[part != MISSING]).tolist())
            for part, is_chosen in zip(np.split(elements.codes, ends[:-1]), chosen, strict=True)
            if is_chosen
        ]
        distinct = sorted(set(keys))
        code_of = {key: code for code, key in enumerate(distinct)}
        codes = np.array([code_of[key] for key in keys], dtype=np.int32)
        counts = np.bincount(codes, minlength=len(distinct))
        used = sorted({member for key in distinct for member in key})
        place_of = {member: place for place, member in enumerate(used)}
        occurring = np.array([place_of[member] for key in keys for member in key], dtype=np.int32)
        column = Column(tuple(elements.values[member] for member in used), occurring)
        placed: ValueSpace = TextSpace(column.counts)
        if tax is not None and used:
            placed = nominal_space(column, tax, **options)
        sets = [[place_of[member] for member in key] for key in distinct]
        texts = column.values
        cells = tuple(Layout().text(texts[member] for member in one) for one in sets)
        return set_space(counts, sets, placed, kind, cells=cells, texts=texts), codes


def _is_set(cell: Any) -> bool:
    """Whether a cell is a collection: anything that can be gone through and is no text."""
    return hasattr(cell, "__iter__") and not isinstance(cell, str | bytes)


def _space_of_sets(sets: Any, tax: Taxonomy, measure: str, kind: str, root: str, information_content: str) -> SetSpace:
    values = _Values.of(sets, "sets")
    if not values.present.any():
        raise all_missing(values.present.size)
    space, _ = values.space_of(values.present, tax, measure, kind, root, information_content)
    if not isinstance(space, SetSpace):
        raise ParameterError("sets", "a column of collections of concept ids", "single values")
    return space


def _mean_of(space: SetSpace) -> tuple[tuple[str, ...], SetSpace]:
    """The centre of a whole column, and the column."""
    n = space.counts.size
    values = np.lexsort((np.arange(n), -space.counts)).astype(np.int32)
    return centres_of_sets(space, np.array([0, n]), values, space.counts[values])[0], space
