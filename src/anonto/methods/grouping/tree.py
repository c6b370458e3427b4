"""A tree over the records of a space, and the blocks of values that it bounds distances by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from anonto.methods.grouping.arrays import SpaceArrays, TreeArrays, ValueArrays
from anonto.methods.grouping.tree_kernels import grow
from anonto.methods.grouping.value_kernels import block_bounds, kept_blocks, nested_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.grouping.space import Space
    from anonto.methods.grouping.value_kernels import Blocks

_Kind = TypeVar("_Kind", bound=np.generic)

BOUNDS_KEPT_FROM = 5
"""Blocks of fewer values use the bounds of the block around them, which saves memory and costs little."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """The records of a space in the order of a tree over them."""

    space: SpaceArrays
    values: ValueArrays
    nodes: TreeArrays


def tree_of(space: Space) -> Tree:
    """Grow a tree over all records."""
    arrays = space.arrays
    values = values_of(arrays)
    nodes = grow(arrays, values)
    placed = arrays._replace(numbers=arrays.numbers[nodes.records], codes=arrays.codes[nodes.records])
    return Tree(placed, values, nodes)


def values_of(arrays: SpaceArrays) -> ValueArrays:
    """The blocks of all nominal columns."""
    columns = [_blocks_of(arrays, column) for column in range(arrays.widths.size)]
    return ValueArrays(
        starts=starts_of([one.kept.size for one in columns]),
        place_starts=starts_of(arrays.widths.tolist()),
        places=_joined([one.blocks[0] for one in columns], np.int32),
        first=_joined([one.blocks[1] for one in columns], np.int32),
        cut=_joined([one.blocks[2] for one in columns], np.int32),
        last=_joined([one.blocks[3] for one in columns], np.int32),
        left=_joined([one.blocks[4] for one in columns], np.int32),
        right=_joined([one.blocks[5] for one in columns], np.int32),
        kept=_joined([one.kept for one in columns], np.int32),
        diameters=_joined([one.diameters for one in columns], np.float64),
        n_kept=np.array([one.n_kept for one in columns], dtype=np.int64),
        bound_starts=starts_of([one.nearest.size for one in columns]),
        nearest=_joined([one.nearest for one in columns], np.float32),
        farthest=_joined([one.farthest for one in columns], np.float32),
    )


class _Blocks(NamedTuple):
    """The blocks of one nominal column, and their bounds where it has a table."""

    blocks: Blocks
    kept: NDArray[np.int32]
    n_kept: int
    diameters: NDArray[np.float64]
    nearest: NDArray[np.float32]
    farthest: NDArray[np.float32]


def _blocks_of(arrays: SpaceArrays, column: int) -> _Blocks:
    start, width = int(arrays.starts[column]), int(arrays.widths[column])
    if start < 0:
        blocks = nested_blocks(np.empty(0), width)
        none = np.empty(0, dtype=np.float32)
        return _Blocks(blocks, np.zeros(blocks[1].size, np.int32), 0, np.zeros(blocks[1].size), none, none)
    table = arrays.tables[start : start + width**2]
    blocks = nested_blocks(table, width)
    kept, n_kept = kept_blocks(blocks, width, BOUNDS_KEPT_FROM)
    nearest, farthest = (np.empty(width * n_kept, dtype=np.float32) for _ in range(2))
    diameters = block_bounds(table, width, blocks, kept, n_kept, nearest, farthest)
    return _Blocks(blocks, kept, n_kept, diameters, nearest, farthest)


def starts_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where each part starts when parts of these sizes are put one behind the other."""
    return np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)].astype(np.int64)


def _joined(parts: Sequence[NDArray[_Kind]], kind: type[_Kind]) -> NDArray[_Kind]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)
