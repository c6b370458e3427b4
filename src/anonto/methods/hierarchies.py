"""The levels to which the cells of a column can be generalised, from the cells as they are to none at all.

- Concepts: at a level every value deeper than some depth of the ontology becomes its ancestor at this depth. Where a
  concept has several parents, the one that is nearest in meaning is above it.
- Numbers: intervals of a round width, then of twice that width, and so on, which nest because all begin at multiples of
  their width; when one interval would hold all numbers, ``*`` stands for it. Ranks are joined in the same way, and so
  are dates, in days since 1970.
- Texts without an ontology: the text, then ``*``.
- A missing cell is a value of its own. Where the level above all others still tells it from the rest, one more level
  releases the whole column as missing.

A level that joins no cells that the level before kept apart is left out. The loss of a cell is the squared distance
from it to what is released, on the scale of `anonto.stats`: to a concept, or to the middle of an interval; 1 for ``*``,
which says nothing, and for a cell that becomes missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.generalised_space import EVERYTHING, EmptiedSpace, with_intervals
from anonto.encoding.value_space import NominalSpace, NumericSpace, TextSpace
from anonto.errors import ParameterError
from anonto.methods.refusals import needs_one_ontology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace

EMPTY = None
"""What a cell becomes that loses its value."""
MOST_INTERVALS = 20
"""The narrowest intervals that are made without a width are the narrowest round ones that are not more than this."""
FARTHEST = 2.0**53
"""Intervals are numbered exactly below this."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Level:
    """What the values of a column become."""

    groups: Codes
    """The number of what each value becomes, and last a missing cell."""
    targets: tuple[Any, ...]
    """What these are: a code of the column, a concept, an interval, or nothing."""
    losses: Floats
    """The squared distance of each value to what it becomes; last 0 for a missing cell."""

    @property
    def is_empty(self) -> bool:
        """True if the column is released without any value."""
        return self.targets == (EMPTY,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """The levels of a column, the cells as they are first."""

    value_space: ValueSpace
    levels: tuple[Level, ...]

    def release(self, cells: Sequence[tuple[int, int]]) -> tuple[ValueSpace, Codes]:
        """The column with what is released, and the code of each released cell.

        Args:
            cells: For each the level and the number of its group there; level −1 for a cell that loses its value.
        """
        targets = [EMPTY if level < 0 else self.levels[level].targets[group] for level, group in cells]
        present = [one for one in targets if one is not EMPTY]
        extended, codes_present = codes_of_targets(self.value_space, present)
        codes = np.empty(len(targets), dtype=np.int32)
        codes[[one is not EMPTY for one in targets]] = codes_present
        if len(present) < len(targets):
            extended = EmptiedSpace(extended)
            codes[[one is EMPTY for one in targets]] = extended.code
        return extended, codes


def codes_of_targets(value_space: ValueSpace, targets: Sequence[Any]) -> tuple[ValueSpace, Codes]:
    """The codes of what values become, and the column with the new ones among them."""
    further = [one for one in targets if not isinstance(one, int)]
    extended, new = value_space, np.empty(0, dtype=np.int32)
    if further and isinstance(value_space, NominalSpace):
        extended, new = value_space.codes_of(further)
    elif further:
        extended, new = with_intervals(value_space).codes_of(further)
    codes = np.array([one if isinstance(one, int) else -1 for one in targets], dtype=np.int32)
    codes[codes < 0] = new
    return extended, codes


def hierarchy_of(
    name: str, value_space: ValueSpace, width: float | None, method: str, *, has_missing: bool
) -> Hierarchy:
    """The levels of a column.

    Args:
        name: The column.
        value_space: Its values.
        width: The width of the narrowest intervals of numbers; None for a round one.
        method: The method, for errors.
        has_missing: Whether cells of it are missing.
    """
    steps: Sequence[Sequence[Any]]
    if isinstance(value_space, NominalSpace):
        steps = _of_concepts(value_space)
    elif isinstance(value_space, NumericSpace):
        steps = _of_numbers(value_space, width)
    elif isinstance(value_space, TextSpace):
        steps = [range(value_space.counts.size), [EVERYTHING] * value_space.counts.size]
    else:
        raise needs_one_ontology(name, method, "has several")
    levels: list[Level] = []
    for targets in steps:
        level = _level(value_space, targets)
        if not levels or len(level.targets) < len(levels[-1].targets):
            levels.append(level)
    n_values = value_space.counts.size
    if n_values and len(levels[-1].targets) + has_missing > 1:
        losses = np.append(np.ones(n_values), 0.0)
        levels.append(Level(np.zeros(n_values + 1, dtype=np.int32), (EMPTY,), losses))
    return Hierarchy(value_space, tuple(levels))


def _level(value_space: ValueSpace, targets: Sequence[Any]) -> Level:
    """A level at which each value becomes something, and a missing cell stays."""
    place_of = {target: place for place, target in enumerate(dict.fromkeys(targets))}
    groups = np.array([*(place_of[target] for target in targets), len(place_of)], dtype=np.int32)
    extended, codes = codes_of_targets(value_space, list(place_of))
    distances = extended.pair_distances(np.arange(len(targets)), codes[groups[:-1]])
    return Level(groups, tuple(place_of), np.append(distances**2, 0.0))


# ------------------------------------------------------------------------------------------------ concepts


def _of_concepts(value_space: NominalSpace) -> list[list[str]]:
    """For each level the concept of each value, the values themselves first."""
    ways: dict[str, tuple[str, ...]] = {}
    for concept in value_space.concepts:
        _way_down(value_space, concept, ways)
    deepest = max((len(ways[concept]) for concept in value_space.concepts), default=1)
    return [
        [ways[concept][min(depth, len(ways[concept])) - 1] for concept in value_space.concepts]
        for depth in range(deepest, 0, -1)
    ]


def _way_down(value_space: NominalSpace, concept: str, ways: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """From a root to a concept, by the parents that are nearest in meaning; remembered for the next one."""
    upwards: list[str] = []
    while concept not in ways:
        upwards.append(concept)
        above = _nearest_parent(value_space, concept)
        if above is None:
            ways[concept] = (concept,)
        else:
            concept = above
    for lower in reversed(upwards):
        if lower not in ways:
            ways[lower] = (*ways[concept], lower)
        concept = lower
    return ways[concept]


def _nearest_parent(value_space: NominalSpace, concept: str) -> str | None:
    """The parent that is nearest in meaning, of equally near ones the first; None for a root."""
    parents = value_space.domain.parents(concept)
    if len(parents) < 2:
        return parents[0] if parents else None
    extended, codes = value_space.codes_of([concept, *parents])
    apart = extended.distance_tables()(codes[:1], codes[1:])[0]
    return parents[int(np.argmin(np.round(apart, 12)))]


# ------------------------------------------------------------------------------------------------ numbers


def _of_numbers(value_space: NumericSpace, width: float | None) -> list[list[Any]]:
    """For each level the interval of each number, the numbers themselves first."""
    numbers = value_space.numbers
    _, codes = value_space.codes_of(numbers)  # equal numbers may be written in several ways
    steps: list[list[Any]] = [codes.tolist()]
    if not numbers.size:
        return steps
    given = 2.0 if value_space.order else width
    narrowest = round_width(float(np.ptp(numbers))) if given is None else given
    if given is None and (numbers == np.rint(numbers)).all():  # whole numbers, or dates without a time
        narrowest = max(narrowest, 1.0)
    if np.abs(numbers).max() / narrowest >= FARTHEST:
        raise ParameterError("width", "large enough to number the intervals of all numbers", width)
    places, decimals = _number_intervals(numbers, narrowest)
    doublings = 0
    while np.ptp(places >> doublings) and narrowest * 2**doublings < 2.0 * float(np.ptp(numbers)):
        own, wide = places >> doublings, narrowest * 2**doublings
        of_place = {one: (_bound(one, wide, decimals), _bound(one + 1, wide, decimals)) for one in set(own.tolist())}
        if value_space.order:  # an interval that holds one rank is this rank
            single = {one for one, (low, high) in of_place.items() if min(high, len(value_space.order)) - low == 1}
            steps.append(
                [
                    code if one in single else of_place[one]
                    for one, code in zip(own.tolist(), codes.tolist(), strict=True)
                ]
            )
        else:
            steps.append([of_place[one] for one in own.tolist()])
        doublings += 1
    return [*steps, [EVERYTHING] * numbers.size]


def round_width(extent: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that cuts a range into few intervals."""
    least = extent / MOST_INTERVALS
    if least <= 0.0 or not math.isfinite(least):
        return 1.0
    power = math.floor(math.log10(least)) - 1
    return next(
        width for more in range(4) for digit in (1, 2, 5) if (width := float(f"{digit}e{power + more}")) >= least
    )


def _number_intervals(numbers: Floats, width: float) -> tuple[Longs, int]:
    """The number of the interval of each number, counted from zero, and the decimals of its bounds."""
    decimals = min(max(-math.floor(math.log10(width)) + 12, 0), 300) if width < 1e12 else 0
    places = np.floor(numbers / width).astype(np.int64)
    for place in np.flatnonzero(np.abs(numbers / width - np.rint(numbers / width)) < 1e-6).tolist():
        near = round(float(numbers[place] / width))  # a bound as it is written decides, not a quotient
        below = near - 1 if numbers[place] < _bound(near, width, decimals) else near
        places[place] = below
    return places, decimals


def _bound(place: int, width: float, decimals: int) -> float:
    return round(place * width, decimals) + 0.0
