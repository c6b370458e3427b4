"""What stands for a group of records: its centre, column by column, or values drawn from around each record.

The centre of numbers and ranks is their mean. That of concepts is, with ``centroid = "taxonomy"``, the concept of the
column's domain with the least sum of squared distances to the values of the group, whether it occurs anywhere or not;
of equals a value of the group goes first, then the concept that the taxonomy lists first. With ``"sample"`` it is the
value of the group with the least sum of distances (the marginality mean); of equals the one of the first record.

Where every concept has one parent, the best concept is one of the values or an ancestor of one: any other concept lies
below such an ancestor, has in common with each value exactly what that ancestor has, and is farther away. With several
parents a concept can unite ancestors of different values; then only concepts with a single parent that are above no
value are left out, each being farther from all values than its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods import microaggregation_kernels as kernels
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonto.methods.grouping import Groups
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

CANDIDATES_AT_ONCE = 4096
"""Concepts whose distances to all values of a column are held at a time."""
DIGITS = 12
"""Distances are compared after rounding to so many decimals."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueSets:
    """Which values of a column each group has, and how often; those of the first records come first."""

    offsets: Longs
    """Where the values of each group start, and behind the last where they end."""
    values: Codes
    counts: Longs

    @property
    def sizes(self) -> Longs:
        """Distinct values of each group; none where the column is missing."""
        return np.diff(self.offsets)

    @property
    def group_of_value(self) -> Longs:
        """The group of each entry."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)


def value_sets(groups: Groups, codes: Codes, n_values: int) -> ValueSets:
    """The values of a column in each group.

    Args:
        groups: Of records.
        codes: The value of each record; −1 for none.
        n_values: How many values there are.
    """
    cells = codes[groups.members]
    present = np.flatnonzero(cells >= 0)
    keys = groups.group_of_member()[present] * np.int64(max(n_values, 1)) + cells[present]
    order = np.argsort(keys, kind="stable")
    keys, members = keys[order], groups.members[present][order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if keys.size else np.empty(0, np.int64)
    counts = np.diff(np.append(starts, keys.size))
    firsts = np.minimum.reduceat(members, starts) if starts.size else members
    group, value = np.divmod(keys[starts], max(n_values, 1))
    by_first = np.lexsort((firsts, group))
    offsets = np.searchsorted(group, np.arange(groups.n_groups + 1))
    return ValueSets(offsets.astype(np.int64), value[by_first].astype(np.int32), counts[by_first].astype(np.int64))


# ------------------------------------------------------------------------------------------------ centres


def means_of(numbers: Floats, sets: ValueSets) -> Floats:
    """The mean of the numbers of each group; NaN for none. Exactly the number where all are equal."""
    means = np.full(sets.sizes.size, np.nan)
    some = np.flatnonzero(sets.sizes > 0)
    starts = sets.offsets[some]
    if not some.size:
        return means
    first = numbers[sets.values[starts]]
    apart = numbers[sets.values] - np.repeat(first, sets.sizes[some])
    means[some] = first + np.add.reduceat(sets.counts * apart, starts) / np.add.reduceat(sets.counts, starts)
    return means


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidates:
    """What the centre of a group may be in a nominal column."""

    size: int
    own: Codes
    """For each value of the column the candidate that it is itself."""
    distances: Callable[[int, int], Floats]
    """All values × the candidates from one number to another."""
    concepts: tuple[str, ...] | None
    """Of the candidates; None where they are the values of the column themselves."""

    def squares(self, first: int, last: int) -> Floats:
        """The squared distances of all values to some candidates."""
        return np.asarray(self.distances(first, last) ** 2)

    def best_of(self, sets: ValueSets, distances: Floats, squares: Floats | None = None) -> tuple[Codes, Floats]:
        """For each group the candidate with the least sum of squared distances, −1 for none, and that sum.

        Args:
            sets: The values of each group.
            distances: All pairs of values.
            squares: The squared distances to all candidates, where they are at hand.
        """
        of_group = kernels.least_of_own(sets.offsets, sets.values, sets.counts, distances, True)
        best = np.where(of_group >= 0, self.own[of_group], np.int32(-1)).astype(np.int32)
        sums = np.full(of_group.size, np.inf)
        starts = sets.offsets[:-1][sets.sizes > 0]
        to_own = distances[of_group[sets.group_of_value], sets.values]
        sums[sets.sizes > 0] = np.add.reduceat(sets.counts * to_own**2, starts) if starts.size else 0.0
        for first in range(0, self.size, CANDIDATES_AT_ONCE if squares is None else max(self.size, 1)):
            last = min(first + CANDIDATES_AT_ONCE, self.size)
            table = self.squares(first, last) if squares is None else squares
            kernels.look_for_less(sets.offsets, sets.values, sets.counts, table, first, best, sums)
        return best, sums


def candidates_of(attribute: NominalAttribute | MeanAttribute) -> Candidates:
    """Concepts of the domain among which the best one always is; of several ontologies the values of the column."""
    values = np.arange(attribute.counts.size)
    if isinstance(attribute, MeanAttribute):
        table = attribute.distance_tables()
        own = values.astype(np.int32)
        return Candidates(values.size, own, lambda first, last: table(values, values[first:last]), None)
    concepts = _concepts_worth_trying(attribute)
    extended, codes = attribute.codes_of(concepts)
    place_of = {concept: place for place, concept in enumerate(concepts)}
    own = np.array([place_of[concept] for concept in attribute.concepts], dtype=np.int32)
    table = extended.distance_tables()
    return Candidates(len(concepts), own, lambda first, last: table(values, codes[first:last]), concepts)


def _concepts_worth_trying(attribute: NominalAttribute) -> tuple[str, ...]:
    """Ancestors of values, and concepts with several parents; in the order of the domain."""
    space, domain = attribute.space, attribute.domain
    worth = np.diff(space.parent_offsets) > 1
    worth[closure(space, np.unique(space.numbers(attribute.concepts))).ancestors] = True
    if domain is space:
        return tuple(space.ids[number] for number in np.flatnonzero(worth).tolist())
    return tuple(concept for concept in domain.ids if worth[space.index[concept]])


def centres_of(
    attribute: Attribute, sets: ValueSets, distances: Floats | None, *, from_taxonomy: bool
) -> tuple[Attribute, Codes]:
    """The centre of each group in a column, by its code, −1 for none; and the column with values that are new.

    Args:
        attribute: The column.
        sets: Its values in each group.
        distances: All pairs of its values; None for numbers, and where two values are equal or not.
        from_taxonomy: Whether concepts that no record of the group has may be centres.
    """
    some = sets.sizes > 0
    if isinstance(attribute, NumericAttribute):
        means = means_of(attribute.numbers, sets)[some]
        extended, codes = attribute.codes_of(attribute.settle(means) if attribute.settle is not None else means)
        return extended, _for_groups(codes, some)
    if distances is None:
        return _spelt(attribute, kernels.most_frequent(sets.offsets, sets.values, sets.counts), some)
    if not from_taxonomy or not isinstance(attribute, NominalAttribute | MeanAttribute):
        return _spelt(attribute, kernels.least_of_own(sets.offsets, sets.values, sets.counts, distances, False), some)
    candidates = candidates_of(attribute)
    best, _ = candidates.best_of(sets, distances)
    if candidates.concepts is None or not isinstance(attribute, NominalAttribute):
        return attribute, best
    named, codes = attribute.codes_of([candidates.concepts[place] for place in best[some].tolist()])
    return named, _for_groups(codes, some)


def _spelt(attribute: Attribute, codes: Codes, some: NDArray[np.bool_]) -> tuple[Attribute, Codes]:
    """Values that are centres, as their concepts are written in a release; those without a concept as they are."""
    if not isinstance(attribute, NominalAttribute):
        return attribute, codes
    named, spelt = attribute.codes_of([attribute.concepts[code] for code in codes[some].tolist()])
    return named, _for_groups(spelt, some)


def _for_groups(codes: Codes, some: NDArray[np.bool_]) -> Codes:
    out = np.full(some.size, -1, dtype=np.int32)
    out[some] = codes
    return out


# ------------------------------------------------------------------------------------------------ synthetic values


def drawn_around(
    attribute: Attribute,
    sets: ValueSets,
    groups: Groups,
    codes: Codes,
    distances: Floats | None,
    rng: np.random.Generator,
) -> Codes:
    """For each row a value of the column, drawn from those not farther from its own than the farthest of its group.

    All values of the column that are near enough are equally likely, the own one included.

    Args:
        attribute: The column.
        sets: Its values in each group.
        groups: Of records.
        codes: The value of each record; −1 for none, which stays.
        distances: All pairs of values; None for numbers, and where two values are equal or not.
        rng: For the draws.

    References: Domingo-Ferrer, Sánchez, Rufian-Torrell, Information Sciences 242 (2013), Algorithm 1.
    """
    cells = codes[groups.members]
    out = np.full(cells.size, -1, dtype=np.int32)
    present = np.flatnonzero(cells >= 0)
    group, own = groups.group_of_member()[present], cells[present]
    if isinstance(attribute, NumericAttribute):
        out[present] = _drawn_numbers(attribute, sets, group, own, rng)
    elif distances is None:
        n_values = np.where(sets.sizes[group] > 1, attribute.counts.size, 1)
        drawn = rng.integers(0, n_values)
        out[present] = np.where(n_values > 1, drawn, own)
    else:
        out[present] = _drawn_concepts(distances, sets, group, own, rng)
    return out


def _drawn_numbers(
    attribute: NumericAttribute, sets: ValueSets, group: Longs, own: Codes, rng: np.random.Generator
) -> Codes:
    order = np.argsort(attribute.numbers, kind="stable")
    ordered = attribute.numbers[order]
    starts = sets.offsets[:-1][sets.sizes > 0]
    lowest, highest = np.empty(sets.sizes.size), np.empty(sets.sizes.size)
    for out, reduce in ((lowest, np.minimum), (highest, np.maximum)):
        out[sets.sizes > 0] = reduce.reduceat(attribute.numbers[sets.values], starts) if starts.size else 0.0
    number = attribute.numbers[own]
    reach = np.maximum(number - lowest[group], highest[group] - number) + 10.0**-DIGITS * attribute.scale
    first = np.searchsorted(ordered, number - reach, side="left")
    last = np.searchsorted(ordered, number + reach, side="right")
    return np.asarray(order[rng.integers(first, last)], dtype=np.int32)


def _drawn_concepts(distances: Floats, sets: ValueSets, group: Longs, own: Codes, rng: np.random.Generator) -> Codes:
    """Rows with one value at a time, in the order of the values."""
    out = np.empty(own.size, dtype=np.int32)
    by_value = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[by_value], np.arange(distances.shape[0] + 1))
    for value in np.unique(own).tolist():
        rows = by_value[ends[value] : ends[value + 1]]
        away = np.round(distances[value], DIGITS)
        nearest_first = np.argsort(away, kind="stable")
        reach = _reaches(away, sets, group[rows])
        n_near = np.searchsorted(away[nearest_first], reach, side="right")
        out[rows] = nearest_first[rng.integers(0, n_near)]
    return out


def _reaches(away: Floats, sets: ValueSets, groups: Longs) -> Floats:
    """The distance of a value to the farthest one of each of some groups."""
    wanted, place = np.unique(groups, return_inverse=True)
    sizes = sets.sizes[wanted]
    starts = np.cumsum(sizes) - sizes
    entries = np.arange(int(sizes.sum())) - np.repeat(starts, sizes) + np.repeat(sets.offsets[wanted], sizes)
    return np.asarray(np.maximum.reduceat(away[sets.values[entries]], starts)[place])
