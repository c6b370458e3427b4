"""Methods for whole records, fitted block by block: where the plan says so, or all rows would not fit into memory.

Records that lack the same cells are cut into blocks like the leaves of a k-d tree: again and again in two along one
column, near the middle of its rows, until a block is small enough. Numbers and ranks are cut by size. Concepts are cut
between branches of their taxonomy: of the cuts that leave a quarter of the rows on each side, the one between the
largest branches. The column is the one in which the rows of the block are spread the most, relative to their spread in
the whole table. Equal records stay together.

Scales, variances and distances are those of the whole table, so that a block differs from the whole only at its edges.
The cost is measured: some neighbouring blocks, two at least, are fitted once more as one, and the sums of the
squared distances between the cells before and after are compared.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.generalised_space import EmptiedSpace, GeneralisedSpace, never_empty, with_intervals
from anonto.encoding.records import Records, distinct_rows
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import NominalSpace, NumericSpace, parts_of
from anonto.errors import AnontoWarning, TooFewRecordsError
from anonto.methods.memory import has_sets
from anonto.methods.method import RecordMethod
from anonto.methods.parameters import LEAST_PER_K, check_parameters, require_block_rows
from anonto.methods.record_transitions import RecordTransitions
from anonto.methods.refusals import ONE_BIN, not_close_in_blocks
from anonto.methods.support import Partition
from anonto.methods.transition_kernels import guides
from anonto.methods.transitions import Transitions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import Require

    Fit = Callable[[Records, np.random.Generator], RecordTransitions]

SAMPLE_ROWS = 100_000
"""Rows that are fitted a second time to measure the cost of blocks; at least two blocks."""
OF_ALL = ("loss", "loss_bound")
"""Facts that are told only if they are known about all parts of a table."""
MIDDLE = 0.25
"""A cut between branches leaves at least this share of the rows on each side."""


class BlockMethod(RecordMethod):
    """A method for whole records that puts ``k`` rows together and can be fitted in blocks of ``block_rows``."""

    __slots__ = ()
    has_tables: ClassVar[bool] = True
    k: int
    """Rows that it puts together."""

    def __post_init__(self) -> None:
        check_parameters(self, self.one_of, but=("block_rows",))
        require_block_rows(self.block_rows, self.k)

    def in_blocks(self, rows: int | None) -> Self:
        """The same method with blocks of so many rows, or without."""
        return replace(self, block_rows=rows)  # type: ignore[type-var]

    @property
    def least_block(self) -> int:
        """Rows of a block, at least."""
        return max(LEAST_PER_K * self.k, self.least_rows)

    def could_be_cut(self, n_records: int) -> bool:
        """True if the table may be cut though `block_rows` is not given: there are enough records for two blocks."""
        return self.block_rows is None and n_records >= 2 * LEAST_PER_K * self.k

    def require_strata(self, records: Records) -> None:
        """Refuse patterns of missing cells that `fit` refuses, before the records are cut into blocks."""

    def fit_in_parts(
        self, records: Records, rng: np.random.Generator, most_rows: int, require: Require
    ) -> RecordTransitions:
        """Fit in blocks of `block_rows` or, without it, in blocks so small that two fit into memory at once."""
        least = self.least_block
        method = self if self.block_rows is not None else self.in_blocks(max(most_rows // 2, least))
        if is_cut(method, records):
            return fit_in_blocks(method, records, rng, require)
        return super().fit_in_parts(records, rng, most_rows, require)


def is_cut(method: BlockMethod, records: Records) -> bool:
    """Return whether a method goes through the records block by block."""
    return method.block_rows is not None and records.n_rows > method.block_rows


def no_limit(n_rows: int, what: str, n_transitions: int) -> None:
    """Refuse nothing."""


def fit_in_blocks(
    method: BlockMethod, records: Records, rng: np.random.Generator, require: Require = no_limit
) -> RecordTransitions:
    """Fit a method to each block of the records, and put the transitions together.

    What the method refuses in the whole table for its missing cells is refused here too, before it is cut.

    Args:
        method: The method; a block has at least `LEAST_PER_K` times as many rows as it puts together.
        records: All distinct records.
        rng: From which each block gets a generator of its own.
        require: Called with the largest block before any is fitted, and with the transitions after each.
    """
    method.require_strata(records)
    blocks, whole = _blocks_of(method, records), method.in_blocks(None)
    sizes = [int(records.counts[members].sum()) for members in blocks.members]
    largest = max([*sizes, _least_of_neighbours(sizes, blocks)], default=0)
    require(largest, f"a block of {largest:,} records", 0)
    generators = rng.spawn(len(blocks.members) + 1)
    fitted: list[RecordTransitions] = []
    n_transitions = 0
    with warnings.catch_warnings():
        if len(sizes) > 1:  # a bin of one block is not a bin of the whole table
            warnings.filterwarnings("ignore", f".*{ONE_BIN}", AnontoWarning)
        for members, generator in zip(blocks.members, generators[:-1], strict=True):
            fitted.append(_fit_block(whole, part_of(records, members), generator, len(sizes)))
            n_transitions += fitted[-1].transitions.targets.size
            require(largest, f"a block of {largest:,} records and what becomes of all", n_transitions)
        require(0, "what becomes of so many records", 2 * n_transitions)
        cost = _cost(whole.fit, records, blocks, fitted, generators[-1])
    of_blocks = all_facts([one.facts for one in fitted], sizes)
    of_blocks.pop("loss_bound", None)  # groups across blocks could lose less
    facts = {
        **of_blocks,
        "blocks": len(sizes),
        "block_rows": method.block_rows,
        "smallest_block": min(sizes, default=0),
        "largest_block": max(sizes, default=0),
        **cost,
    }
    return join_blocks(records, blocks.members, fitted, facts)


def _blocks_of(method: BlockMethod, records: Records) -> Blocks:
    """The blocks, cut along the columns that are masked."""
    n_columns = len(records.names) - len(method.also_needs)
    return cut_into_blocks(records, n_columns, method.block_rows or records.n_rows, method.least_block)


def _fit_block(method: BlockMethod, records: Records, rng: np.random.Generator, n_blocks: int) -> RecordTransitions:
    try:
        return method.fit(records, rng)
    except TooFewRecordsError as error:
        if n_blocks == 1 or error.closeness is None:
            raise
        column, distance, t = error.closeness
        raise not_close_in_blocks(column, records.n_rows, distance, t) from None


def support_in_blocks(method: BlockMethod, records: Records) -> Partition:
    """Partition of records that a method, fitted block by block, could have exchanged."""
    whole = method.in_blocks(None)
    members, sizes, stays = [np.empty(0, np.int32)], [np.zeros(1, np.int64)], [np.empty(0, np.bool_)]
    apart = False
    for block in _blocks_of(method, records).members:
        own = whole.support(part_of(records, block))
        members.append(block[own.members].astype(np.int32))
        sizes.append(np.diff(own.offsets))
        stays.append(own.stays)
        apart = own.apart
    offsets = np.cumsum(np.concatenate(sizes)).astype(np.int64)
    return Partition(np.concatenate(members), offsets, apart=apart, stays=np.concatenate(stays))


def _least_of_neighbours(sizes: Sequence[int], blocks: Blocks) -> int:
    """The rows of the smallest neighbouring blocks, which are fitted as one to see what cutting cost; 0 for none."""
    return min((sum(sizes[one] for one in each) for each in blocks.neighbours), default=0)


# ------------------------------------------------------------------------------------------------ blocks


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Records by block, each in their order."""

    members: list[Longs]
    neighbours: list[range]
    """Blocks that were one before they were cut, two at least."""


def cut_into_blocks(records: Records, n_columns: int, most_rows: int, least_rows: int) -> Blocks:
    """Cut the records along the first columns until blocks have few rows, but never too few."""
    lines = [_lay_out_values(value_space) for value_space in records.value_spaces[:n_columns]]
    members: list[Longs] = []
    neighbours: list[range] = []

    def cut(part: Longs) -> None:
        rows = int(records.counts[part].sum())
        halves = _halves(records, lines, part, least_rows) if rows > max(most_rows, 2 * least_rows - 1) else None
        if halves is None:
            members.append(part)
            return
        first = len(members)
        cut(halves[0])
        cut(halves[1])
        neighbours.append(range(first, len(members)))

    patterns = distinct_rows([np.asarray(codes < 0, dtype=np.int32) for codes in records.codes[:, :n_columns].T])[1]
    for pattern in np.unique(patterns):
        cut(np.flatnonzero(patterns == pattern))
    return Blocks(members, neighbours)


@dataclass(frozen=True, slots=True, eq=False)
class _ValueLine:
    """The values of a column side by side."""

    places: Floats
    """Position of each value; the values of a branch are consecutive."""
    spread: float
    """The variance of the places in the whole table."""
    depths: Longs | None
    """For concepts, in their order: how deep the branch is that a value shares with the one before it."""


def _lay_out_values(value_space: ValueSpace) -> _ValueLine:
    """The values of a column on a line, so that it can be cut."""
    part = parts_of(value_space)[0]
    part = getattr(part, "base", part)
    depths = None
    if isinstance(part, NumericSpace):
        places = np.append(
            part.numbers, np.full(value_space.counts.size - part.numbers.size, part.numbers.max(initial=0))
        )
    elif isinstance(part, NominalSpace):
        ways = [_way_down(part, concept) for concept in part.concepts]
        order = sorted(range(len(ways)), key=ways.__getitem__)
        places = np.arange(value_space.counts.size, dtype=np.float64)
        places[order] = np.arange(len(ways))
        depths = np.zeros(value_space.counts.size, dtype=np.int64)
        for place in range(1, len(order)):
            depths[place] = _count_shared(ways[order[place - 1]], ways[order[place]])
    else:
        places = np.arange(value_space.counts.size, dtype=np.float64)
    weights = value_space.counts / max(int(value_space.counts.sum()), 1)
    return _ValueLine(places, dot(weights, (places - dot(weights, places)) ** 2), depths)


def _way_down(value_space: NominalSpace, concept: str) -> tuple[int, ...]:
    """From a root to a concept, along the first parents."""
    domain, way = value_space.domain, [value_space.domain.number(concept)]
    while above := domain.parents(domain.ids[way[-1]]):
        way.append(domain.number(above[0]))
    return tuple(reversed(way))


def _count_shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same


def _halves(records: Records, lines: Sequence[_ValueLine], part: Longs, least_rows: int) -> tuple[Longs, Longs] | None:
    """Two parts cut along the column with the largest spread that can be cut; None if none can."""
    counts = records.counts[part]
    n = int(counts.sum())
    candidates = []
    for column, line in enumerate(lines):
        codes = records.codes[part, column]
        if codes[0] < 0 or line.spread == 0.0:
            continue
        places = line.places[codes]
        mean = dot(counts, places) / n
        candidates.append((-dot(counts, (places - mean) ** 2) / n / line.spread, column, places))
    for _, column, places in sorted(candidates, key=lambda one: one[:2]):
        at = _cut(places, counts, lines[column].depths, least_rows)
        if at is not None:
            return part[places < at], part[places >= at]
    return None


def _cut(places: Floats, counts: Longs, depths: Longs | None, least_rows: int) -> float | None:
    """Where to cut: before a place, near the middle of the rows or between the largest branches; None for nowhere."""
    distinct, which = np.unique(places, return_inverse=True)
    before = np.cumsum(np.bincount(which, weights=counts))[:-1]
    n = int(counts.sum())
    possible = np.flatnonzero((before >= least_rows) & (n - before >= least_rows))
    if not possible.size:
        return None
    middle = np.abs(before[possible] - n / 2)
    if depths is None:
        return float(distinct[possible[middle.argmin()] + 1])
    # The branch that two groups of values share is the least that any two neighbours between them share.
    shared = np.array([depths[int(a) + 1 : int(b) + 1].min() for a, b in pairwise(distinct)])
    inside = np.minimum(before, n - before)[possible] >= MIDDLE * n
    some = possible[inside] if inside.any() else possible
    nearness = np.abs(before[some] - n / 2)
    return float(distinct[some[np.lexsort((nearness, shared[some]))[0]] + 1])


# ------------------------------------------------------------------------------------------------ transitions


def part_of(records: Records, members: Longs) -> Records:
    """Some of the records."""
    return Records(records.names, records.value_spaces, records.codes[members], records.counts[members])


def join_blocks(
    records: Records, blocks: Sequence[Longs], fitted: Sequence[RecordTransitions], facts: Mapping[str, Any]
) -> RecordTransitions:
    """The transitions of all blocks as those of one table."""
    n_columns = fitted[0].released.shape[1]
    value_spaces, translated = _one_numbering(records, fitted, n_columns)
    released, place = distinct_rows(list(np.concatenate(translated).T))
    firsts = np.cumsum([0, *(one.released.shape[0] for one in fitted)])
    n_transitions = np.zeros(records.counts.size, dtype=np.int64)
    for members, one in zip(blocks, fitted, strict=True):
        n_transitions[members] = np.diff(one.transitions.offsets)
    offsets = np.concatenate([[0], np.cumsum(n_transitions)])
    targets, ends = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1], dtype=np.int64)
    for members, one, first in zip(blocks, fitted, firsts[:-1], strict=True):
        own = np.diff(one.transitions.offsets)
        to = np.arange(one.transitions.targets.size) - np.repeat(one.transitions.offsets[:-1] - offsets[members], own)
        targets[to] = place[first + one.transitions.targets]
        ends[to] = one.transitions.ends
    transitions = Transitions(records.counts, offsets, targets, ends, guides(records.counts, offsets, ends), 0)
    untouched = tuple(sum(one.untouched[column] for one in fitted) for column in range(n_columns))
    return RecordTransitions(transitions, released, untouched, facts, value_spaces)


def _one_numbering(
    records: Records, fitted: Sequence[RecordTransitions], n_columns: int
) -> tuple[tuple[ValueSpace, ...] | None, list[Codes]]:
    """The new values of all blocks behind those of the columns, and the released records in these codes."""
    if all(one.value_spaces is None for one in fitted):
        return None, [one.released for one in fitted]
    value_spaces: list[ValueSpace] = []
    translated = [one.released.copy() for one in fitted]
    for column in range(n_columns):
        own = records.value_spaces[column]
        n_own = own.counts.size
        new = [() if one.value_spaces is None else new_values(one.value_spaces[column], n_own) for one in fitted]
        everything = sorted({value for values in new for value in values})
        joined = _with_new_values(own, everything)
        spaces = [None if one.value_spaces is None else one.value_spaces[column] for one in fitted]
        empties = any(isinstance(one, EmptiedSpace) for one in spaces)
        value_spaces.append(EmptiedSpace(joined) if empties else joined)
        code_of = {value: n_own + code for code, value in enumerate(everything)}
        for released, values in zip(translated, new, strict=True):
            of_new = [*(code_of[value] for value in values), joined.counts.size]  # last those that lose their value
            codes = np.append(np.arange(n_own), of_new).astype(np.int32)
            there = released[:, column] >= 0
            released[there, column] = codes[released[there, column]]
    return tuple(value_spaces), translated


def new_values(value_space: ValueSpace, n_own: int) -> Sequence[Any]:
    """The numbers, the concepts, the names of the elements of the sets, or generalised cells, after the first ones."""
    value_space = never_empty(value_space)
    if isinstance(value_space, GeneralisedSpace):
        return value_space.intervals
    if isinstance(value_space, NumericSpace):
        return [float(number) for number in value_space.numbers[n_own:]]
    if isinstance(value_space, SetSpace):
        return value_space.sets_from(n_own)
    return value_space.concepts[n_own:] if isinstance(value_space, NominalSpace) else ()


def _with_new_values(value_space: ValueSpace, values: Sequence[Any]) -> ValueSpace:
    if values and isinstance(values[0], tuple) and not isinstance(value_space, SetSpace):
        return with_intervals(value_space).codes_of(values)[0]
    if isinstance(value_space, NumericSpace):
        return value_space.with_numbers(np.array(values, dtype=np.float64))
    return (
        value_space.codes_of(values)[0] if isinstance(value_space, NominalSpace | SetSpace) and values else value_space
    )


# ------------------------------------------------------------------------------------------------ evidence


def all_facts(facts: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> dict[str, Any]:
    """The facts of all blocks as those of one table; a fact need not be known about all."""
    out = {}
    for key in dict.fromkeys(key for one in facts for key in one):
        known = [(one[key], size) for one, size in zip(facts, sizes, strict=True) if key in one]
        if key in OF_ALL and len(known) < len(facts):
            continue
        out[key] = _one_fact(key, [value for value, _ in known], [size for _, size in known])
    return out


def _one_fact(key: str, values: Sequence[Any], sizes: Sequence[int]) -> Any:
    if isinstance(values[0], dict):
        return {name: _one_fact(key, [one[name] for one in values], sizes) for name in values[0]}
    if key.startswith("smallest") or key == "block_rows":
        return min(values)
    if key.startswith("largest") or key == "t_closeness":
        return max(values)
    if key.startswith("loss") or key in {"block_cost", "average_risk"}:
        return float(np.average(values, weights=sizes)) if sum(sizes) else 0.0
    return sum(values)


def _cost(
    fit: Fit, records: Records, blocks: Blocks, fitted: Sequence[RecordTransitions], rng: np.random.Generator
) -> dict[str, Any]:
    """Increase of the sum of squared distances by cutting neighbouring blocks apart; nothing for one block."""
    if not blocks.neighbours:
        return {}
    sizes = [sum(int(records.counts[blocks.members[one]].sum()) for one in each) for each in blocks.neighbours]
    # The distances of sets take memory by the square of the rows, so only as many rows as any two blocks have.
    most_rows = min(sizes) if has_sets(records) else max(SAMPLE_ROWS, min(sizes))
    affordable = [place for place, size in enumerate(sizes) if size <= most_rows]
    chosen = max(affordable, key=lambda place: (len(blocks.neighbours[place]), -sizes[place]))
    members = np.sort(np.concatenate([blocks.members[one] for one in blocks.neighbours[chosen]]))
    together = _squares(part_of(records, members), fit(part_of(records, members), rng))
    apart = sum(_squares(part_of(records, blocks.members[one]), fitted[one]) for one in blocks.neighbours[chosen])
    return {
        "block_sample": sizes[chosen],
        "block_cost": apart / together - 1.0 if together > 0 else 0.0,
    }


def _squares(records: Records, fitted: RecordTransitions) -> float:
    """The sum of the squared distances between the cells before and after."""
    total = 0.0
    for column in range(fitted.released.shape[1]):
        moves = fitted.moves(records, column)
        there = moves.targets >= 0
        value_space = (fitted.value_spaces or records.value_spaces)[column]
        moved = value_space.pair_distances(moves.sources[there], moves.targets[there])
        total += dot(moves.amounts[there], moved**2)
    return total
