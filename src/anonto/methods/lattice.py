"""The best level for each column so that classes keep to what is asked: the optimum over the lattice of all levels.

A node of the lattice is a level for each column; records that are equal there form a class, and the records of classes
that are not good enough are suppressed, as far as the budget goes. The loss of a node is at least the sum over the
columns of what their level loses on all records, because a suppressed cell loses the most there is. Two things leave
out nodes that cannot be the best:

- **Monotony.** Records in classes smaller than k do not become fewer where levels are lower. A node with more of them
  than the budget allows rules out all nodes below it.
- **Bounds.** A node whose bound is not below the loss of the best node so far need not be looked at.

First the search walks down from the top, always to the neighbour that loses least. Then it looks at the highest of the
nodes whose bound is below the best loss, and rules out those below it, until no node is left: the best is then proved.
With more nodes than `MOST_NODES`, or more looks than `MOST_LOOKS`, the best node found is taken, with a bound below
which no node can be.

Suppressed records are equal in the release, so they are a class too: there are none, or at least k. Where there would
be fewer, the smallest good classes are suppressed with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs

    IsGood = Callable[[Longs], bool]
    """Called with the records of a class of k rows: does it keep to what else is asked?"""

MOST_NODES = 1 << 20
MOST_LOOKS = 3_000
DIGITS = 10
"""Decimals to which losses are rounded before they are compared."""

Node = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leveled:
    """A column of the records at each of its levels."""

    groups: tuple[Codes, ...]
    """The group of each record, by level."""
    losses: tuple[Floats, ...]
    """The squared distance of each record's cell to what it becomes, by level."""
    present: Floats
    """What the cell of each record loses if it is suppressed: 1, and 0 for a missing one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Asked:
    """What the classes must keep to."""

    k: int
    budget: int
    """Rows that may be suppressed."""
    is_good: IsGood | None = None
    """What else classes of k rows must keep to; None for nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Look:
    """What a node makes of the records."""

    classes: Codes
    """The class of each record."""
    suppressed: Bools
    """Mask of the records that are suppressed."""
    loss: float
    """The sum of the squared distances of all rows."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FoundNode:
    """The best node that was found."""

    node: Node
    look: Look
    bound: float
    """No node has a lower loss."""
    n_looks: int

    @property
    def kept_classes(self) -> list[int]:
        """The numbers of the classes that are not suppressed."""
        return [int(one) for one in np.unique(self.look.classes[~self.look.suppressed])]


def best_node(columns: Sequence[Leveled], counts: Longs, asked: Asked) -> FoundNode | None:
    """The node with the least loss; None if even the top does not keep to what is asked."""
    search = _LatticeSearch(columns, counts, asked)
    if search.look(search.top) is None:
        return None
    search.walk_down()
    n_nodes = float(np.prod([len(one.groups) for one in columns], dtype=np.float64))
    if n_nodes <= MOST_NODES:
        bound = search.prove()
    else:
        search.exchange()
        bound = bound_of_parts(columns, counts, asked)
    node, look = search.best
    return FoundNode(node, look, min(bound, look.loss), search.n_looks)


def bound_of_parts(columns: Sequence[Leveled], counts: Longs, asked: Asked) -> float:
    """A bound for a lattice that is too large: the sum of the optima of parts of its columns.

    Classes over some of the columns are unions of classes over all, so the best node keeps to k in each part.
    """
    part: list[Leveled] = []
    total, size = 0.0, 1
    plain = Asked(asked.k, asked.budget)
    for one in [*columns, None]:
        if one is None or size * len(one.groups) > MOST_NODES >> 8:
            found = best_node(part, counts, plain) if part else None
            total += 0.0 if found is None else found.bound
            part, size = [], 1
        if one is not None:
            part.append(one)
            size *= len(one.groups)
    return total


class _LatticeSearch:
    """A search for the best node."""

    def __init__(self, columns: Sequence[Leveled], counts: Longs, asked: Asked) -> None:
        self.columns, self.counts, self.asked = columns, counts, asked
        self.level_losses = [np.array([_rounded(dot(counts, own)) for own in one.losses]) for one in columns]
        self.top: Node = tuple(len(one.groups) - 1 for one in columns)
        self.n_looks = 0
        self.seen: dict[Node, Look | None] = {}
        self.ruled_out: list[Node] = []
        """Nodes below which none keeps to k."""

    @property
    def best(self) -> tuple[Node, Look]:
        """The best node so far, of equally good ones the one with the lower levels in the first columns."""
        return min(
            ((node, look) for node, look in self.seen.items() if look is not None),
            key=lambda one: (one[1].loss, one[0]),
        )

    def bound(self, node: Node) -> float:
        """A loss that the node has at least."""
        return sum(float(own[level]) for own, level in zip(self.level_losses, node, strict=True))

    def look(self, node: Node) -> Look | None:
        """What a node makes of the records; None if more would be suppressed than the budget allows."""
        if node in self.seen:
            return self.seen[node]
        if any(all(a <= b for a, b in zip(node, other, strict=True)) for other in self.ruled_out):
            return None
        self.n_looks += 1
        classes = number_classes([one.groups[level] for one, level in zip(self.columns, node, strict=True)])
        sizes = np.bincount(classes, weights=self.counts).astype(np.int64)
        small = sizes < self.asked.k
        if int(sizes[small].sum()) > self.asked.budget:
            self.ruled_out.append(node)
            self.seen[node] = None
            return None
        self.seen[node] = self._with_suppressed(node, classes, sizes, small)
        return self.seen[node]

    def _with_suppressed(self, node: Node, classes: Codes, sizes: Longs, small: Bools) -> Look | None:
        """The classes with those that are suppressed; None if these are too many."""
        is_good, k, budget = self.asked.is_good, self.asked.k, self.asked.budget
        bad = small if is_good is None else self._bad_classes(classes, sizes, small)
        n_bad = int(sizes[bad].sum())
        for further in np.argsort(sizes, kind="stable").tolist() if 0 < n_bad < k else ():
            if n_bad >= k:
                break
            if not bad[further]:
                bad[further] = True
                n_bad += int(sizes[further])
        if n_bad > budget:
            if not budget:  # Where nothing is suppressed, all that can be asked of classes is monotone.
                self.ruled_out.append(node)
            return None
        suppressed = bad[classes]
        if n_bad and is_good is not None and not is_good(np.flatnonzero(suppressed)):
            return None
        loss = self.bound(node)
        if n_bad:
            own = np.sum([one.losses[level] for one, level in zip(self.columns, node, strict=True)], axis=0)
            lost = np.sum([one.present for one in self.columns], axis=0)
            loss += _rounded(dot(self.counts[suppressed], (lost - own)[suppressed]))
        return Look(classes, suppressed, _rounded(loss))

    def _bad_classes(self, classes: Codes, sizes: Longs, small: Bools) -> Bools:
        """Classes that are too small or not good otherwise; no more are looked for once the budget is spent."""
        bad, spent = small.copy(), int(sizes[small].sum())
        order = np.argsort(classes, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(classes))[:-1])
        for number in np.flatnonzero(~small).tolist():
            if self.asked.is_good is not None and not self.asked.is_good(parts[number]):
                bad[number] = True
                spent += int(sizes[number])
                if spent > self.asked.budget:
                    break
        return bad

    def walk_down(self) -> None:
        """From the top to neighbours that lose less, as far as that goes."""
        node = self.top
        while True:
            below = [(*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level]
            found = [(look.loss, one) for one in below if (look := self.look(one)) is not None]
            if not found:
                return
            node = min(found)[1]

    def exchange(self) -> None:
        """From the best node to neighbours that lose less, where one level goes up for others to go down."""
        while self.n_looks < MOST_LOOKS:
            node, look = self.best
            for up in range(len(node)):
                for down in range(len(node)):
                    one = list(node)
                    one[up] = min(one[up] + (up != down), self.top[up])
                    one[down] = max(one[down] - 1, 0)
                    if tuple(one) != node and self.bound(tuple(one)) < look.loss:
                        self.look(tuple(one))
            if self.best[0] == node:
                return

    def prove(self) -> float:
        """Look at nodes until none is left that could be better; the bound then is the best loss."""
        shape = tuple(level + 1 for level in self.top)
        bounds, heights = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        for place, own in enumerate(self.level_losses):
            along = [1] * len(shape)
            along[place] = own.size
            bounds = bounds + own.reshape(along)
            heights = heights + np.arange(own.size).reshape(along)
        open_nodes = np.ones(shape, dtype=np.bool_)
        for node, look in self.seen.items():
            open_nodes[node if look is not None else _below(node, node in self.ruled_out)] = False
        while True:
            open_nodes &= bounds < self.best[1].loss
            places = np.flatnonzero(open_nodes)
            if not places.size:
                return self.best[1].loss
            if self.n_looks >= MOST_LOOKS:
                return float(bounds[open_nodes].min())
            high = heights.ravel()[places]
            places = places[high == high.max()]
            place = places[np.argmin(bounds.ravel()[places])]
            node = tuple(int(one) for one in np.unravel_index(place, shape))
            look = self.look(node)
            open_nodes[node] = False
            if look is None:
                open_nodes[_below(node, node in self.ruled_out)] = False


def _below(node: Node, everything: bool) -> tuple[slice | int, ...]:
    """The node, with everything below it where that is ruled out too."""
    return tuple(slice(0, level + 1) for level in node) if everything else node


def number_classes(columns: Sequence[Codes]) -> Codes:
    """The number of the class of each record: records with the same groups are in one."""
    return distinct_rows([np.ascontiguousarray(one, dtype=np.int32) for one in columns])[1]


def _rounded(loss: float) -> float:
    return round(loss, DIGITS)
