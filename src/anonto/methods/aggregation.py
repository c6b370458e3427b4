"""Replacement values for a group of records: its centre, column by column, or values drawn from around each record.

The centre of numbers and ranks is their mean. That of concepts is, with ``centroid = "taxonomy"``, the concept of the
column's domain with the least sum of squared distances to the values of the group, whether it occurs anywhere or not;
of equals a value of the group goes first, then the concept that the taxonomy lists first. With ``"sample"`` it is the
value of the group with the least sum of distances (the marginality mean); of equals the one of the first record.

That of sets is the set of concepts that `anonto.stats.set_centre` finds.

Where every concept has one parent, the best concept is one of the values or an ancestor of one: any other concept lies
below such an ancestor, has in common with each value exactly what that ancestor has, and is farther away. With several
parents a concept can unite ancestors of different values; then only concepts with a single parent that are above no
value are left out, each being farther from all values than its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace
from anonto.methods import microaggregation_kernels as kernels
from anonto.stats.set_centre import centres_of_sets
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.grouping import RecordGroups


CANDIDATES_AT_ONCE = 4096
"""Concepts whose distances to all values of a column are held at a time."""
DIGITS = 12
"""Decimals to which distances are rounded before they are compared."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueSets:
    """The values of a column that each group has, and how often; those of the first records come first."""

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


def value_sets(groups: RecordGroups, codes: Codes, n_values: int) -> ValueSets:
    """The values of a column in each group.

    Args:
        groups: Groups of records.
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
class CentreCandidates:
    """Candidates for the centre of a group in a nominal column."""

    size: int
    own: Codes
    """The candidate that each value of the column is itself."""
    distances: Callable[[int, int], Floats]
    """All values × the candidates from one number to another."""
    concepts: tuple[str, ...] | None
    """Concepts of the candidates; None where they are the values of the column themselves."""

    def squares(self, first: int, last: int) -> Floats:
        """The squared distances of all values to some candidates."""
        return np.asarray(self.distances(first, last) ** 2)

    def best_of(self, sets: ValueSets, distances: Floats, squares: Floats | None = None) -> tuple[Codes, Floats]:
        """The candidate with the least sum of squared distances for each group, −1 for none, and that sum.

        Args:
            sets: The values of each group.
            distances: All pairs of values.
            squares: The squared distances to all candidates, if already computed.
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


def candidates_of(value_space: NominalSpace | MeanSpace) -> CentreCandidates:
    """Concepts of the domain among which the best one always is; of several ontologies the values of the column."""
    values = np.arange(value_space.counts.size)
    if isinstance(value_space, MeanSpace):
        table = value_space.distance_tables()
        own = values.astype(np.int32)
        return CentreCandidates(values.size, own, lambda first, last: table(values, values[first:last]), None)
    concepts = _concepts_worth_trying(value_space)
    extended, codes = value_space.codes_of(concepts)
    place_of = {concept: place for place, concept in enumerate(concepts)}
    own = np.array([place_of[concept] for concept in value_space.concepts], dtype=np.int32)
    table = extended.distance_tables()
    return CentreCandidates(len(concepts), own, lambda first, last: table(values, codes[first:last]), concepts)


def _concepts_worth_trying(value_space: NominalSpace) -> tuple[str, ...]:
    """Ancestors of values, and concepts with several parents; in the order of the domain."""
    space, domain = value_space.space, value_space.domain
    worth = np.diff(space.parent_offsets) > 1
    worth[closure(space, np.unique(space.numbers(value_space.concepts))).ancestors] = True
    if domain is space:
        return tuple(space.ids[number] for number in np.flatnonzero(worth).tolist())
    return tuple(concept for concept in domain.ids if worth[space.index[concept]])


def centres_of(
    value_space: ValueSpace, sets: ValueSets, distances: Floats | None, *, from_taxonomy: bool
) -> tuple[ValueSpace, Codes]:
    """The centre of each group in a column, by its code, −1 for none; and the column with values that are new.

    Args:
        value_space: The column.
        sets: Its values in each group.
        distances: All pairs of its values; None for numbers, and where two values are equal or not.
        from_taxonomy: Whether concepts that no record of the group has may be centres.
    """
    some = sets.sizes > 0
    if isinstance(value_space, NumericSpace):
        means = means_of(value_space.numbers, sets)[some]
        extended, codes = value_space.codes_of(value_space.settle(means) if value_space.settle is not None else means)
        return extended, _for_groups(codes, some)
    if distances is None:
        return _spell_centres(value_space, kernels.most_frequent(sets.offsets, sets.values, sets.counts), some)
    if from_taxonomy and isinstance(value_space, SetSpace):
        return _centres_of_sets(value_space, sets, some)
    if not from_taxonomy or not isinstance(value_space, NominalSpace | MeanSpace):
        return _spell_centres(
            value_space, kernels.least_of_own(sets.offsets, sets.values, sets.counts, distances, False), some
        )
    candidates = candidates_of(value_space)
    best, _ = candidates.best_of(sets, distances)
    if candidates.concepts is None or not isinstance(value_space, NominalSpace):
        return value_space, best
    named, codes = value_space.codes_of([candidates.concepts[place] for place in best[some].tolist()])
    return named, _for_groups(codes, some)


def _centres_of_sets(value_space: SetSpace, sets: ValueSets, some: Bools) -> tuple[ValueSpace, Codes]:
    """The centres of groups of sets, with the rows and spellings of a release."""
    offsets = np.append(0, np.cumsum(sets.sizes[some]))
    extended, codes = value_space.codes_of(centres_of_sets(value_space, offsets, sets.values, sets.counts))
    return extended, _for_groups(codes, some)


def _spell_centres(value_space: ValueSpace, codes: Codes, some: Bools) -> tuple[ValueSpace, Codes]:
    """Values that are centres, as their concepts are written in a release; those without a concept as they are."""
    if not isinstance(value_space, NominalSpace):
        return value_space, codes
    named, spelt = value_space.codes_of([value_space.concepts[code] for code in codes[some].tolist()])
    return named, _for_groups(spelt, some)


def _for_groups(codes: Codes, some: Bools) -> Codes:
    out = np.full(some.size, -1, dtype=np.int32)
    out[some] = codes
    return out


# ------------------------------------------------------------------------------------------------ synthetic values


def draw_around(
    value_space: ValueSpace,
    sets: ValueSets,
    groups: RecordGroups,
    codes: Codes,
    distances: Floats | None,
    rng: np.random.Generator,
) -> Codes:
    """Draw a value of the column for each row, not farther from its own than the farthest of its group.

    All values of the column that are near enough are equally likely, the own one included.

    Args:
        value_space: The column.
        sets: Its values in each group.
        groups: Groups of records.
        codes: The value of each record; −1 for none, which stays.
        distances: All pairs of values; None for numbers, and where two values are equal or not.
        rng: For the draws.

    References: Domingo-Ferrer, Sánchez, Rufian-Torrell, Information Sciences 242 (2013), Algorithm 1.
    """
    cells = codes[groups.members]
    out = np.full(cells.size, -1, dtype=np.int32)
    present = np.flatnonzero(cells >= 0)
    group, own = groups.group_of_member()[present], cells[present]
    if isinstance(value_space, NumericSpace):
        out[present] = _draw_numbers(value_space, sets, group, own, rng)
    elif distances is None:
        n_values = np.where(sets.sizes[group] > 1, value_space.counts.size, 1)
        drawn = rng.integers(0, n_values)
        out[present] = np.where(n_values > 1, drawn, own)
    else:
        out[present] = _draw_concepts(distances, sets, group, own, rng)
    return out


def _draw_numbers(
    value_space: NumericSpace, sets: ValueSets, group: Longs, own: Codes, rng: np.random.Generator
) -> Codes:
    order = np.argsort(value_space.numbers, kind="stable")
    ordered = value_space.numbers[order]
    starts = sets.offsets[:-1][sets.sizes > 0]
    lowest, highest = np.empty(sets.sizes.size), np.empty(sets.sizes.size)
    for out, reduce in ((lowest, np.minimum), (highest, np.maximum)):
        out[sets.sizes > 0] = reduce.reduceat(value_space.numbers[sets.values], starts) if starts.size else 0.0
    number = value_space.numbers[own]
    radius = np.maximum(number - lowest[group], highest[group] - number) + 10.0**-DIGITS * value_space.scale
    first = np.searchsorted(ordered, number - radius, side="left")
    last = np.searchsorted(ordered, number + radius, side="right")
    return np.asarray(order[rng.integers(first, last)], dtype=np.int32)


def _draw_concepts(distances: Floats, sets: ValueSets, group: Longs, own: Codes, rng: np.random.Generator) -> Codes:
    """Rows with one value at a time, in the order of the values."""
    out = np.empty(own.size, dtype=np.int32)
    by_value = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[by_value], np.arange(distances.shape[0] + 1))
    for value in np.unique(own).tolist():
        rows = by_value[ends[value] : ends[value + 1]]
        away = np.round(distances[value], DIGITS)
        nearest_first = np.argsort(away, kind="stable")
        radius = _radii(away, sets, group[rows])
        n_near = np.searchsorted(away[nearest_first], radius, side="right")
        out[rows] = nearest_first[rng.integers(0, n_near)]
    return out


def _radii(away: Floats, sets: ValueSets, groups: Longs) -> Floats:
    """The distance of a value to the farthest one of each of some groups."""
    wanted, place = np.unique(groups, return_inverse=True)
    sizes = sets.sizes[wanted]
    starts = np.cumsum(sizes) - sizes
    entries = np.arange(int(sizes.sum())) - np.repeat(starts, sizes) + np.repeat(sets.offsets[wanted], sizes)
    return np.asarray(np.maximum.reduceat(away[sets.values[entries]], starts)[place])
