"""Equi-depth swapping: records exchange places with others of their bin, and all bins have about k records.

One column of numbers or ranks is sorted and cut into consecutive bins of k; the last has up to 2k − 1. Otherwise (MEDS)
the two records that are farthest apart are looked for, one bin is made of the first with the k − 1 nearest to it, one
of the second with the k − 1 nearest of the rest, and so on while 2k records are left; what remains is one bin, of
1 … 2k − 1 records. Records that lack the same cells have bins of their own, smaller than k where they are fewer. In
every bin random pairs exchange all columns of the step together; of an odd number one record stays or, with
``odd = "cycle3"``, the last three pass theirs on in a circle.

The squared distance of two records is the sum over the columns: the squared difference of numbers or ranks, the squared
semantic distance of concepts, 0 or 1 for texts without an ontology. With ``standardise`` each column is divided by its
variance, which is half the mean squared distance of two records drawn at random; without, numbers count in their own
units. Distances are compared after rounding; of ties the first record in the order of the values counts.

The bins are exact. Farthest pairs and nearest records are looked for in a tree over the numbers whose boxes shrink as
records leave. Two columns of numbers with 100,000 different pairs take seconds. Columns of concepts do not narrow the
search: each farthest or nearest record then costs a pass over all distinct records, and a table of all pairs of
concepts is kept.

No guarantee is proved. A unique record moves as a whole, so it stays visible that somebody has these values.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithm 1. Departures: the leftover bin, which
the paper forgets; standardised columns; columns that are not numbers.

Step by step: `anonto.methods.plain.equi_depth_swap`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import dot, matrix_product
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.methods import depth_kernels
from anonto.methods.bins import Bins, Odd, exchange_in_pairs, join_bins, strata
from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut, support_in_blocks
from anonto.methods.guarantee import MEASURED_WHOLE_ROWS, Guarantee, Setting
from anonto.methods.parameters import BIN_SIZES, BLOCK_ROWS, ODD, K, flag, sizes_within
from anonto.methods.refusals import one_bin, small_bins
from anonto.methods.words import Words
from anonto.search.space import NominalPart, NumberPart, space_of
from anonto.search.tree import tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.support import Partition
    from anonto.search.space import GroupingSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class EquiDepthSwap(BlockMethod):
    """``k``: records of a bin; ``odd``: what the last of an odd number does; ``standardise``: divide by variances.

    ``block_rows``: where there are more rows, bins form inside blocks of about so many.
    """

    name: ClassVar[str] = "equi-depth-swap"
    words: ClassVar[Words] = Words(
        title="Swap in bins of equal size",
        summary="exchanges records in bins of `k` similar ones, all columns of the step together",
        does=("Puts similar records into bins of about k, and swaps whole sets of values in random pairs."),
        columns="any kinds, together",
        keeps=(
            "Keeps how often every combination of values occurs. Anyone who knows some of a person’s cells may "
            "find the row and read the rest."
        ),
        report=(
            "Similar records were put into bins of about {k} records, and in each bin pairs of records, picked at "
            "random, exchanged their values in these columns, all together. Every value, and "
            "every combination of values in these columns, occurs exactly as often as before; which record has it"
            " has changed."
        ),
    )
    whole_records_if: ClassVar[Mapping[str, Any] | None] = {}
    k: int = field(metadata=K)
    odd: Odd = field(default="stay", metadata=ODD)
    standardise: bool = field(
        default=True, metadata=flag("standardise", "Give every column the same weight, whatever its units.")
    )
    block_rows: int | None = field(default=None, metadata=BLOCK_ROWS)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(BIN_SIZES, n_records)}

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Find the bins and exchange inside them."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        bins = equi_depth_bins(records, self.k, standardise=self.standardise)
        return exchange_in_pairs(records, bins, self.odd, rng)

    def require_strata(self, records: Records) -> None:
        """Refuse patterns of missing cells that too few records have, as `fit` does."""
        _strata(records, self.k)

    def support(self, records: Records) -> Partition:
        """The bins, which depend on the records alone."""
        if is_cut(self, records):
            return support_in_blocks(self, records)
        return equi_depth_bins(records, self.k, standardise=self.standardise).support(self.odd)

    @property
    def lists_rows(self) -> bool:
        """True if its groups are lists of all rows, equal ones too."""
        return True

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """No guarantee is proved."""
        return MEASURED_WHOLE_ROWS


def equi_depth_bins(records: Records, k: int, *, standardise: bool = True) -> Bins:
    """Bins of k records, one stratum of missing cells after the other."""
    parts = _strata(records, k)
    weights = _weights(records.value_spaces, standardise=standardise)
    at_most = min(k, max(records.n_rows, 1))
    return join_bins([_bins_of_stratum(records, part, at_most, weights) for part in parts])


def _strata(records: Records, k: int) -> list[Longs]:
    """The records of each pattern of missing cells, with a warning of those that are too few for a bin of k.

    A single record could exchange with nobody and is refused. Two can, and nothing is promised that would need k.
    """
    parts = strata(records, min(k, 2))
    rows = [int(records.counts[part].sum()) for part in parts]
    if len(parts) == 1 and 2 <= rows[0] <= k:
        warnings.warn(one_bin(k, rows[0]), stacklevel=5)
    small = [n for n in rows if n < k]
    if len(parts) > 1 and small:
        warnings.warn(small_bins(len(small), len(parts), sum(small), k), stacklevel=5)
    return parts


def _bins_of_stratum(records: Records, part: Longs, k: int, weights: Floats) -> Bins:
    present = np.flatnonzero(records.codes[part[0]] >= 0)
    value_spaces = [records.value_spaces[column] for column in present]
    counts = records.counts[part]
    if len(value_spaces) == 1 and isinstance(value_spaces[0], NumericSpace):
        order = part[np.argsort(value_spaces[0].numbers[records.codes[part, present[0]]], kind="stable")]
        return _consecutive(np.repeat(order, records.counts[order]).astype(np.int32), k)
    space = _space(value_spaces, records.codes[np.ix_(part, present)], weights[present])
    largest = _largest_distances(value_spaces, weights[present])
    begins = np.cumsum([0, *(one.size for one in largest)]).astype(np.int64)
    tree = tree_of(space, numbers_only=True)
    members, offsets = depth_kernels.equi_depth(tree, counts, np.concatenate([np.empty(0), *largest]), begins, k)
    return Bins(part[members].astype(np.int32), offsets)


def _consecutive(ordered: Ints, k: int) -> Bins:
    offsets = np.arange(max(1, ordered.size // k) + 1, dtype=np.int64) * k
    offsets[-1] = ordered.size
    return Bins(ordered, offsets)


# ------------------------------------------------------------------------------------------------ distances


def _weights(value_spaces: Sequence[ValueSpace], *, standardise: bool) -> Floats:
    """Weight of the squared distance, from 0 to 1, of each column; the largest weight is 1."""
    if standardise:
        variances = np.array([_variance(value_space) for value_space in value_spaces])
        weights = np.divide(1.0, variances, out=np.zeros(variances.size), where=variances > 0)
    else:
        numbers = [
            value_space.numbers if isinstance(value_space, NumericSpace) else None for value_space in value_spaces
        ]
        halves = np.array([0.5 if one is None else _half_range(one) for one in numbers])
        weights = (halves / max(halves.max(initial=0.0), np.finfo(float).tiny)) ** 2
    return np.asarray(weights / max(weights.max(initial=0.0), np.finfo(float).tiny))


def _half_range(numbers: Floats) -> float:
    return float(numbers.max() / 2 - numbers.min() / 2) if numbers.size else 0.0


def _unit(numbers: Floats) -> Floats:
    """Numbers from 0 to 1; halved first, because the range of very large numbers overflows."""
    half = _half_range(numbers)
    return np.asarray((numbers / 2 - numbers.min() / 2) / half if half else np.zeros(numbers.size))


def _variance(value_space: ValueSpace) -> float:
    """Half the mean squared distance of two records."""
    shares = value_space.counts / max(value_space.counts.sum(), 1)
    if isinstance(value_space, NumericSpace):
        numbers = _unit(value_space.numbers) if shares.size else shares
        return dot(shares, (numbers - dot(shares, numbers)) ** 2)
    if isinstance(value_space, TextSpace):
        return (1.0 - dot(shares, shares)) / 2
    return dot(matrix_product(value_space.distances() ** 2, shares), shares) / 2


def _space(value_spaces: Sequence[ValueSpace], codes: Ints, weights: Floats) -> GroupingSpace:
    """The records of a stratum with the weighted squared distances of their columns."""
    parts: list[NumberPart | NominalPart] = []
    for value_space, of_column, weight in zip(value_spaces, codes.T, weights, strict=True):
        if isinstance(value_space, NumericSpace):
            parts.append(NumberPart((_unit(value_space.numbers) * np.sqrt(weight))[of_column]))
        else:
            squares = None if isinstance(value_space, TextSpace) else value_space.distances() ** 2
            parts.append(NominalPart(of_column, value_space.counts.size, squares, weight))
    return space_of(parts, squared=True)


def _largest_distances(value_spaces: Sequence[ValueSpace], weights: Floats) -> list[Floats]:
    """The largest weighted squared distance of each value of a nominal column, and after them of the column."""
    largest = []
    for value_space, weight in zip(value_spaces, weights, strict=True):
        if isinstance(value_space, TextSpace):
            largest.append(np.full(value_space.counts.size + 1, weight))
        elif not isinstance(value_space, NumericSpace):
            squares = value_space.distances() ** 2 * weight
            largest.append(np.append(squares.max(axis=1, initial=0.0), squares.max(initial=0.0)))
    return largest
