"""The search tree of grouping (MDAV, V-MDAV, refinement) and of equi-depth swapping, over the records of a space.

Joint rank swapping has a tree of its own; `anonto.search.record_tree_kernels` says why, with the measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from anonto.search.arrays import SearchTree, SpaceArrays, ValueArrays
from anonto.search.tree_kernels import grow
from anonto.search.value_kernels import block_bounds, kept_blocks, split_into_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Floats, Ints, Longs, Singles
    from anonto.search.space import GroupingSpace
    from anonto.search.value_kernels import Blocks

_Kind = TypeVar("_Kind", bound=np.generic)

BOUNDS_KEPT_FROM = 5
"""Blocks of fewer values use the bounds of the block around them, which saves memory and costs little."""


def tree_of(space: GroupingSpace, *, numbers_only: bool = False) -> SearchTree:
    """Grow a tree over all records.

    Args:
        space: The records.
        numbers_only: Whether records are split by their numbers alone; the tree is then complete.
    """
    arrays = space.arrays
    values = values_of(arrays)
    if numbers_only:
        nothing = np.empty((space.n_records, 0), dtype=np.int32)
        nodes = grow(arrays._replace(codes=nothing, squared=False), values)
    else:
        nodes = grow(arrays, values)
    placed = arrays._replace(numbers=arrays.numbers[nodes.records], codes=arrays.codes[nodes.records])
    return SearchTree(placed, values, nodes)


def values_of(arrays: SpaceArrays) -> ValueArrays:
    """The blocks of all nominal columns."""
    columns = [_blocks_of(arrays, column) for column in range(arrays.widths.size)]
    return ValueArrays(
        starts=starts_of([one.kept.size for one in columns]),
        place_starts=starts_of(arrays.widths.tolist()),
        places=_join([one.blocks[0] for one in columns], np.int32),
        first=_join([one.blocks[1] for one in columns], np.int32),
        cut=_join([one.blocks[2] for one in columns], np.int32),
        last=_join([one.blocks[3] for one in columns], np.int32),
        left=_join([one.blocks[4] for one in columns], np.int32),
        right=_join([one.blocks[5] for one in columns], np.int32),
        kept=_join([one.kept for one in columns], np.int32),
        diameters=_join([one.diameters for one in columns], np.float64),
        n_kept=np.array([one.n_kept for one in columns], dtype=np.int64),
        bound_starts=starts_of([one.nearest.size for one in columns]),
        nearest=_join([one.nearest for one in columns], np.float32),
        farthest=_join([one.farthest for one in columns], np.float32),
    )


class _Blocks(NamedTuple):
    """The blocks of one nominal column, and their bounds where it has a table."""

    blocks: Blocks
    kept: Ints
    n_kept: int
    diameters: Floats
    nearest: Singles
    farthest: Singles


def _blocks_of(arrays: SpaceArrays, column: int) -> _Blocks:
    start, width = int(arrays.starts[column]), int(arrays.widths[column])
    if start < 0:
        blocks = split_into_blocks(np.empty(0), width)
        none = np.empty(0, dtype=np.float32)
        return _Blocks(blocks, np.zeros(blocks[1].size, np.int32), 0, np.zeros(blocks[1].size), none, none)
    table = arrays.tables[start : start + width**2]
    blocks = split_into_blocks(table, width)
    kept, n_kept = kept_blocks(blocks, width, BOUNDS_KEPT_FROM)
    nearest, farthest = (np.empty(width * n_kept, dtype=np.float32) for _ in range(2))
    diameters = block_bounds(table, width, blocks, kept, n_kept, nearest, farthest)
    return _Blocks(blocks, kept, n_kept, diameters, nearest, farthest)


def starts_of(sizes: Sequence[int]) -> Longs:
    """Offsets of consecutive parts of these sizes."""
    return np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)].astype(np.int64)


def _join(parts: Sequence[NDArray[_Kind]], kind: type[_Kind]) -> NDArray[_Kind]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)
