r"""How much the values of one column reveal about another: log P(z | x) / P(z), learnt from records.

Values have *groups*, from coarse to fine: the ancestors of a concept along one line of parents, the 2, 4, …, 64
quantiles of a number, and at last the value itself. A value z is drawn group by group down its own line, and each step
is estimated for the groups of x from coarse to fine, each smoothed by the one before:

$$P_l(v \mid x) = \frac{n(x_l, v) + \alpha\, P_{l-1}(v \mid x)}{n(x_l, \text{the group above } v) + \alpha}$$

where n counts records and $P_0$ is the share of v without x. A cell that is missing is a value of its own. A set counts
for each of its elements; what its elements tell is averaged if it is known, and added up if it is read off a record.

Step by step: `anonto.attacks.plain.association_linkage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, hstack

from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import NominalSpace, NumericSpace, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Ints, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.taxonomy.taxonomy import Taxonomy

SMOOTHING = 8.0
"""How many records the estimate of the coarser group counts for."""
UNSEEN = 0.5
"""How many records a value counts for that was never seen."""
QUANTILES = 6
"""How often the values of numbers are halved."""
FINER = 1.2
"""A group that is less than this many times finer than the one before is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedValues:
    """The values of a column with their groups."""

    groups: tuple[Longs, ...]
    """From coarse to fine, the group of each of the finest groups; the last are these themselves."""
    starts: Longs
    """Where the elements of each value begin in `members`, a missing cell at last, and where they end."""
    members: Longs
    """The finest group of each element; a value that is no set has one."""

    @property
    def n_groups(self) -> int:
        """The number of finest groups."""
        return int(self.groups[-1].size)

    def incidence(self, codes: Codes) -> Any:
        """Rows × finest groups: how many elements of each row are in each group; a code of −1 is a missing cell."""
        places = np.where(codes < 0, self.starts.size - 2, codes)
        sizes = np.diff(self.starts)[places]
        ends = np.cumsum(sizes)
        at = np.repeat(self.starts[places] - (ends - sizes), sizes) + np.arange(ends[-1] if ends.size else 0)
        shape = (codes.size, self.n_groups)
        return csr_array((np.ones(at.size), self.members[at], np.concatenate([[0], ends])), shape=shape)


def group_values(space: ValueSpace, counts: Longs, most: int) -> GroupedValues:
    """The groups of the values of a column.

    Args:
        space: The values.
        counts: How often each occurs.
        most: How many groups there may be, or somewhat more: the rarest within each coarser group become one.
    """
    if isinstance(space, SetSpace):
        sizes = np.diff(space.starts)
        owners = np.repeat(np.arange(sizes.size), sizes)
        of_elements = np.bincount(space.members, counts[owners], minlength=space.elements.counts.size)
        inner = group_values(space.elements, of_elements, most)
        nothing = inner.members[-1:]
        # A set without elements counts as a missing cell.
        found = [inner.members[space.members[a:b]] if b > a else nothing for a, b in _pairs(space.starts)]
        found.append(nothing)
        starts = np.concatenate([[0], np.cumsum([one.size for one in found])])
        return GroupedValues(inner.groups, starts, np.concatenate(found))
    labels = _add_missing(_labels_of(space, counts))
    nested = _nest(labels, np.append(counts, 0), most)
    finest = nested[-1]
    firsts = np.unique(finest, return_index=True)[1]
    return GroupedValues(tuple(one[firsts] for one in nested), np.arange(finest.size + 1), finest)


def _pairs(starts: Longs) -> list[tuple[int, int]]:
    return list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))


def _labels_of(space: ValueSpace, counts: Longs) -> list[Longs]:
    """From coarse to fine, a number for the group of each value."""
    own = parts_of(space)[0]
    n_values = int(own.counts.size)
    if isinstance(own, NumericSpace):
        order = np.argsort(own.numbers, kind="stable")
        middle = np.empty(n_values)
        middle[order] = (np.cumsum(counts[order]) - counts[order] / 2.0) / max(float(counts.sum()), 1.0)
        # Equal numbers are one value, however they are written.
        numbers = np.unique(own.numbers, return_inverse=True)[1]
        middle = (np.bincount(numbers, middle) / np.bincount(numbers))[numbers] if n_values else middle
        return [*((middle * (1 << level)).astype(np.int64) for level in range(1, QUANTILES + 1)), numbers]
    if isinstance(own, NominalSpace):
        return _lines_of(own.space.numbers(own.concepts), own.space)
    return [np.arange(n_values, dtype=np.int64)]


def _lines_of(concepts: Ints, taxonomy: Taxonomy) -> list[Longs]:
    """From a root down, the concept of each level on one line of parents: the first one of each."""
    n_parents = np.diff(taxonomy.parent_offsets)
    parent = np.arange(n_parents.size)
    parent[n_parents > 0] = taxonomy.parent_indices[taxonomy.parent_offsets[:-1][n_parents > 0]]
    upwards, length = [concepts.astype(np.int64)], np.ones(concepts.size, dtype=np.int64)
    while (is_below := n_parents[upwards[-1]] > 0).any():
        length += is_below
        upwards.append(parent[upwards[-1]])
    line = np.array(upwards)
    return [line[np.maximum(length - 1 - level, 0), np.arange(concepts.size)] for level in range(len(upwards))]


def _add_missing(labels: Sequence[Longs]) -> list[Longs]:
    """A group of their own for missing cells, at the end."""
    return [np.append(own, own.max(initial=-1) + 1) for own in labels]


def _nest(labels: Sequence[Longs], counts: Floats | Longs, most: int) -> list[Longs]:
    """The group of each value at each level that is finer than the one before, each group inside a coarser one."""
    found: list[Longs] = []
    above = np.zeros(counts.size, dtype=np.int64)
    for place, own in enumerate(labels):
        inside = _number(above * (int(own.max(initial=0)) + 1) + own)
        n_groups = int(inside.max(initial=-1)) + 1
        if n_groups > most:
            kept = np.zeros(n_groups, dtype=np.bool_)
            kept[np.argsort(-np.bincount(inside, counts), kind="stable")[:most]] = True
            inside = _number(np.where(kept[inside], inside, n_groups + above))
        finer = (int(inside.max(initial=-1)) + 1) >= FINER * (int(above.max(initial=0)) + 1)
        if finer or place == len(labels) - 1:
            found.append(inside)
            above = inside
    return found


def _number(keys: Longs) -> Longs:
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class GroupLevel:
    """The groups of a level that are asked for."""

    members: Any
    """A sparse table: these groups × all finest groups."""
    above: Longs
    """The place of each among those of the coarser level that are asked for."""
    n_beside: Longs
    """How many groups the coarser group of each has."""


def levels_of(values: GroupedValues, asked: Longs) -> list[GroupLevel]:
    """From coarse to fine, the groups that have some of the finest groups."""
    out, coarser = [], np.zeros(values.n_groups, dtype=np.int64)
    for groups in values.groups:
        mine, above = np.unique(groups[asked]), np.unique(coarser[asked])
        firsts = np.unique(groups, return_index=True)[1]
        beside = np.bincount(coarser[firsts])[coarser[firsts]]
        place = np.full(firsts.size, -1, dtype=np.int64)
        place[mine] = np.arange(mine.size)
        inside = np.flatnonzero(place[groups] >= 0)
        entries = (np.ones(inside.size), (place[groups[inside]], inside))
        members = csr_array(entries, shape=(mine.size, groups.size))
        out.append(GroupLevel(members, np.searchsorted(above, coarser[firsts[mine]]), beside[mine]))
        coarser = groups
    return out


def log_ratios(together: Any, x: Sequence[GroupLevel], z: Sequence[GroupLevel]) -> Floats:
    """How much more often groups of a column go with groups of another than without knowing it.

    Args:
        together: A sparse table of finest groups × finest groups: how many records, or parts of them, have both.
        x: The groups of the column that is known.
        z: Those of the column that is read off a record.

    Returns:
        The logarithm for each pair of finest groups that are asked for.
    """
    all_of_z = together.sum(axis=1)[:, None]  # all values are one group at first
    total, totals = all_of_z.sum(axis=0), [level.members @ all_of_z for level in x]
    out = np.zeros((1, 1))
    for z_level in z:
        counts = csr_array(together @ z_level.members.T)
        # Without x: the share of each group in the one above.
        alone = counts.sum(axis=0)
        share = (alone + UNSEEN) / (total[z_level.above] + UNSEEN * z_level.n_beside)
        # With x, from its coarse groups to its fine ones.
        estimate, of_level = share[None, :], []
        for x_level, of_all in zip(x, totals, strict=True):
            own = np.asarray((x_level.members @ counts).toarray())
            estimate = (own + SMOOTHING * estimate[x_level.above]) / (of_all[:, z_level.above] + SMOOTHING)
            of_level.append(own)
        out = out[:, z_level.above] + np.log(estimate / share)
        total, totals = alone, of_level
    return out


@dataclass(frozen=True, slots=True, eq=False)
class TrainedColumn:
    """The values of a column with its codes in the rows from which is learnt, and in those that are compared."""

    values: GroupedValues
    learnt: Codes
    compared: Codes


def learn_scores(known: Sequence[TrainedColumn], read: Sequence[TrainedColumn], pairs: Any) -> AssociationScores:
    """Learn what some known columns tell about the columns of a record.

    Args:
        known: The columns that are known, where persons are compared.
        read: The columns of a record, where records are compared.
        pairs: A sparse table of rows × rows from which is learnt: how likely both are of one person.
    """
    records = [one.values.incidence(one.compared) for one in read]
    asked = [np.unique(own.indices) for own in records]
    levels = [levels_of(one.values, some) for one, some in zip(read, asked, strict=True)]
    learnt = [one.values.incidence(one.learnt) for one in read]
    persons, tables = [], []
    for column in known:
        own = column.values.incidence(column.compared)
        mine = np.unique(own.indices)
        lines = levels_of(column.values, mine)
        left = column.values.incidence(column.learnt).T @ pairs
        found = [log_ratios(csr_array(left @ right), lines, level) for right, level in zip(learnt, levels, strict=True)]
        persons.append(csr_array(own[:, mine] / own.sum(axis=1)[:, None]))
        tables.append(np.concatenate(found, axis=1))
    chosen = [own[:, some] for own, some in zip(records, asked, strict=True)]
    return AssociationScores(tuple(persons), tuple(tables), csr_array(hstack(chosen, format="csr")))


@dataclass(frozen=True, slots=True, eq=False)
class AssociationScores:
    """Scores of persons and records."""

    persons: tuple[Any, ...]
    """For each known column a sparse table: persons × groups, the shares of the elements in each group."""
    tables: tuple[Floats, ...]
    """For each known column the groups × those of all columns of a record."""
    records: Any
    """A sparse table: records × the groups of all columns."""

    def between(self, persons: Longs) -> Floats:
        """Some persons × records: the sum of the logarithms over all pairs of columns."""
        told: Any = sum(own[persons] @ table for own, table in zip(self.persons, self.tables, strict=True))
        out: Floats = np.round((self.records @ told.T).T, 9)
        return out
