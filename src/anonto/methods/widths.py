"""The widths that equi-width swapping can take, and the disclosure risk when the width is known or unknown.

The pruning scheme looks at the widths t = range/b for b = b₀, b₀ + 1, …, the same number b of bins for every column of
numbers; columns of concepts keep the bins that a step gives them. b₀ is the smallest number of bins whose widths are
not above the given upper bounds, by default half the range. A width is valid while every bin with records has at least
two; the lower bound is the last width before the first that fails, as bins are not nested and a finer grid may pass
again by chance. Widths with the same size N* of the smallest bin count as one partitioning, with the smallest of them
for all; q is the number of partitionings.

The paper treats the width as a secret, one of q equally likely ones, and the value of a record in the smallest bin to
be guessed with probability 1/(N* − 1); the mean of these is what it calls privacy. An intruder who knows the width, or
the method and a few records, is not hindered by q: the number to look at is 1/(N* − 1) of the width that is used,
and 1 where a bin has a single record.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, section 4. Departures: the constant of Lemma 1
(γ − ln 2 + ½ = 0.384, the paper prints γ + 0.2 at least), and candidates that stop at 10,000 bins or when every
combination of values has a bin of its own.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import distinct_records, distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.errors import ParameterError, TooFewRecordsError
from anonto.methods.bin_kernels import STEPS
from anonto.methods.equi_width_swap import grid_places, one_each, places_of, range_of
from anonto.methods.parameters import KEY, WIDTH
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from anonto.arrays import Codes, Longs
    from anonto.encoding.records import Records


MOST_BINS = 10_000
"""No candidate has more bins per column than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthPartition:
    """The bins that one width makes."""

    bins: int
    """The number of bins of each column of numbers."""
    widths: tuple[float, ...]
    """The width in each column of numbers."""
    degree: int
    """Bins with records."""
    smallest_bin: int
    """Records of the smallest bin, N*."""
    singletons: int
    """Bins with a single record, which never move."""

    @property
    def disclosure(self) -> float:
        """The probability of guessing a record's values in the smallest bin for somebody who knows the width."""
        return disclosure_if_known(self.smallest_bin)

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {**asdict(self), "widths": list(self.widths), "disclosure": self.disclosure}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidWidths:
    """Result of the pruning scheme."""

    columns: tuple[str, ...]
    """The columns of numbers."""
    others: tuple[str, ...]
    """The other columns, which have the same bins under all widths."""
    valid: tuple[WidthPartition, ...]
    """All valid candidates, the widest first."""
    refused: WidthPartition | None
    """The widest candidate that is not valid; None where the search ended for another reason."""

    @property
    def partitionings(self) -> tuple[WidthPartition, ...]:
        """The smallest width of each size of the smallest bin, the widest first."""
        last_of_size = {one.smallest_bin: one for one in self.valid}
        return tuple(sorted(last_of_size.values(), key=lambda one: one.bins))

    @property
    def q(self) -> int:
        """How many partitionings there are."""
        return len(self.partitionings)

    @property
    def disclosure_if_unknown(self) -> float:
        """The paper's P: the mean over the partitionings of 1/(N* − 1)."""
        return sum(one.disclosure for one in self.partitionings) / self.q

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {
            "columns": list(self.columns),
            "others": list(self.others),
            "upper_bounds": list(self.valid[0].widths),
            "lower_bounds": list(self.valid[-1].widths),
            "q": self.q,
            "partitionings": [one.to_dict() for one in self.partitionings],
            "refused": None if self.refused is None else self.refused.to_dict(),
            "disclosure_if_unknown": self.disclosure_if_unknown,
            "lemma_1": equi_depth_disclosure(self.q),
            "lemma_2": equi_width_disclosure(self.q),
        }


# ------------------------------------------------------------------------------------------------ lemmas


def equi_width_disclosure(q: int) -> float:
    """Lemma 2: H(q)/q, the mean of 1/(N* − 1) over q partitionings whose smallest bins have 2, 3, …, q + 1 records.

    It is (ln q + c)/q with c from 1 down to γ = 0.577.
    """
    return _harmonic(_require_count(q)) / q


def equi_depth_disclosure(q: int) -> float:
    """Lemma 1: the same for bins of equal depth k = 2, 3, …, q + 1 in q + 2 records.

    Half of the partitionings have one bin of all records and disclose 1/(q + 2) each. It is (ln q + c)/q with c going
    to γ − ln 2 + ½ = 0.384; the range that the paper prints for c, from γ + 0.2 to 1.2, is wrong by a sign.
    """
    halves = _require_count(q) // 2
    return (_harmonic(halves) + (q - halves) / (q + 2)) / q


def _require_count(q: object) -> int:
    if isinstance(q, bool) or not isinstance(q, int) or q < 1:
        raise ParameterError("q", "a whole number, 1 or more", q)
    return q


def _harmonic(n: int) -> float:
    return math.fsum(1 / i for i in range(1, n + 1))


# ------------------------------------------------------------------------------------------------ the scheme


def numeric_records(columns: Mapping[str, ArrayLike]) -> Records:
    """Columns of numbers as records; NaN is a missing cell."""
    value_spaces, codes = [], []
    for numbers in columns.values():
        given = np.asarray(numbers, dtype=np.float64)
        present = ~np.isnan(given)
        values, place = np.unique(given[present], return_inverse=True)
        code = np.full(given.size, -1, dtype=np.int32)
        code[present] = place
        value_spaces.append(NumericSpace(values, np.bincount(place, minlength=values.size).astype(np.int64)))
        codes.append(code)
    return distinct_records(list(columns), value_spaces, codes)[0]


def valid_widths(
    records: Records,
    *,
    widest: float | Sequence[float] | None = None,
    width: float | Sequence[float] | None = None,
    bins: int | Sequence[int] | None = None,
    merge_singletons: bool = False,
) -> ValidWidths:
    """The pruning scheme.

    Args:
        records: With at least one column of numbers or ranks.
        widest: An upper bound of the width, one for all columns of numbers or one each; by default half the range.
        width: As in a step, where it concerns the other columns: the depth at which concepts are cut into bins.
        bins: The same in place of the width; without either the other columns are one bin.
        merge_singletons: Put a bin with a single record together with the nearest bin that has any, instead of refusing
            the width; the search then ends at the first width with a bin of two. It only changes what is counted here:
            equi-width-swap does not merge.
    """
    grid = _Grid(records, width, bins)
    valid: list[WidthPartition] = []
    refused = None
    for one in grid.candidates(grid.fewest_bins(widest), merge_singletons=merge_singletons):
        if one.smallest_bin < 2:
            refused = one
            break
        valid.append(one)
        if merge_singletons and one.smallest_bin == 2:
            break
    if refused is not None and not valid:
        raise no_valid_width(refused.bins, refused.degree, refused.singletons)
    others = tuple(name for name in records.names if name not in grid.names)
    return ValidWidths(columns=grid.names, others=others, valid=tuple(valid), refused=refused)


def width_for_degree(
    records: Records,
    degree: int,
    *,
    width: float | Sequence[float] | None = None,
    bins: int | Sequence[int] | None = None,
) -> WidthPartition:
    """The number of bins per column whose partition degree comes closest to a wanted one, of several the smallest.

    A cell of a grid meets at most two of a coarser one in each column, so with p columns of numbers a grid has at least
    1/2ᵖ of the bins of any coarser one: the search ends where no finer grid can come closer.

    Args:
        records: With at least one column of numbers or ranks.
        degree: Bins with records that are wanted.
        width: As in a step, for the columns that are not numbers.
        bins: The same in place of the width.
    """
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
        raise ParameterError("degree", "a whole number, 1 or more", degree)
    grid = _Grid(records, width, bins)
    best = grid.partition(1)
    for one in grid.candidates(2):
        if abs(one.degree - degree) < abs(best.degree - degree):
            best = one
        if one.degree >= (degree + abs(best.degree - degree)) << len(grid.names):
            break
    return best


def partition_of(
    records: Records, *, width: float | Sequence[float] | None = None, bins: int | Sequence[int] | None = None
) -> dict[str, int | float]:
    """The bins of a step, and the disclosure risk against an intruder who knows its width."""
    sizes = _put_into_bins(records, places_of(records.names, records.value_spaces, width=width, bins=bins)).sizes
    return {
        "degree": int(sizes.size),
        "smallest_bin": _smallest(sizes),
        "singletons": int(np.count_nonzero(sizes == 1)),
        "disclosure": disclosure_if_known(_smallest(sizes)),
    }


def disclosure_if_known(smallest_bin: int) -> float:
    """The probability that an intruder who knows the width guesses the values of a record in the smallest bin."""
    return 1.0 / (smallest_bin - 1) if smallest_bin > 1 else 1.0


# ------------------------------------------------------------------------------------------------ grids


class _Grid:
    """Records on grids of any number of bins; columns that are not numbers have the same bins on all grids."""

    def __init__(
        self, records: Records, width: float | Sequence[float] | None, bins: int | Sequence[int] | None
    ) -> None:
        self.records = records
        self.numbers = {
            column: value_space.numbers
            for column, value_space in enumerate(records.value_spaces)
            if isinstance(value_space, NumericSpace)
        }
        if not self.numbers:
            raise ParameterError("columns", "numeric or ordinal, at least one of them, to have a width", "none that is")
        self.names = tuple(records.names[column] for column in self.numbers)
        self.ranges = [range_of(numbers) for numbers in self.numbers.values()]
        if width is None and bins is None:
            bins = 1
        others = [column for column in range(len(records.names)) if column not in self.numbers]
        self.others = dict(
            zip(
                others,
                places_of(records.names, records.value_spaces, width=width, bins=bins, columns=others),
                strict=True,
            )
        )

    def fewest_bins(self, widest: float | Sequence[float] | None) -> int:
        """The smallest number of bins for each column whose widths are not above an upper bound."""
        if widest is None:
            return 2
        bounds = one_each("widest", WIDTH[KEY].check("widest", widest), len(self.ranges))
        needed = [
            math.ceil(extent / (bound or 1.0) - 1 / STEPS) for extent, bound in zip(self.ranges, bounds, strict=True)
        ]
        return max(1, *needed)

    def candidates(self, first: int, *, merge_singletons: bool = False) -> Iterator[WidthPartition]:
        """Partitions by more and more bins, until every record has a bin of its own."""
        for bins in range(first, max(first, MOST_BINS) + 1):
            binned = self.put_into_bins(bins)
            yield self._partition(
                bins, _merge_singletons(binned, list(self.numbers)) if merge_singletons else binned.sizes
            )
            if binned.is_finest:
                return

    def partition(self, bins: int) -> WidthPartition:
        """The partition of the records with a number of bins for each column."""
        return self._partition(bins, self.put_into_bins(bins).sizes)

    def put_into_bins(self, bins: int) -> _Binned:
        """The records on the grid with this number of bins for each column."""
        places = dict(self.others)
        for column, numbers in self.numbers.items():
            places[column] = grid_places(numbers, None, bins).astype(np.int32)
        return _put_into_bins(self.records, [places[column] for column in range(len(places))])

    def _partition(self, bins: int, sizes: Longs) -> WidthPartition:
        return WidthPartition(
            bins=bins,
            widths=tuple(extent / bins for extent in self.ranges),
            degree=int(sizes.size),
            smallest_bin=_smallest(sizes),
            singletons=int(np.count_nonzero(sizes == 1)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Binned:
    """Bins with records."""

    places: Codes
    """Bins × columns; −1 for a missing value."""
    sizes: Longs
    is_finest: bool
    """True if every distinct record has a bin of its own."""


def _put_into_bins(records: Records, places: Sequence[Codes]) -> _Binned:
    """Put records into bins; those without any value are in none."""
    codes = records.codes
    columns = [np.append(one, np.int32(-1))[codes[:, column]] for column, one in enumerate(places)]
    rows, number = distinct_rows(columns)
    takes_part = np.asarray((rows >= 0).any(axis=1))
    sizes = np.bincount(number, weights=records.counts, minlength=takes_part.size).astype(np.int64)
    n_records = int(np.count_nonzero(takes_part[number]))
    return _Binned(rows[takes_part], sizes[takes_part], int(np.count_nonzero(takes_part)) == n_records)


def _merge_singletons(binned: _Binned, numeric: Sequence[int]) -> Longs:
    """The sizes of bins once each with one record has joined the nearest, of several the first.

    Nearness is counted in bins of the numbers, among bins that differ in nothing else. A bin that another has joined
    already stays.
    """
    from scipy.spatial import KDTree

    places = binned.places.copy()
    places[:, numeric] = np.minimum(places[:, numeric], 0)
    stratum = distinct_rows(list(places.T))[1]
    sizes, joins = binned.sizes.copy(), np.arange(binned.sizes.size)
    for one in np.unique(stratum[sizes == 1]):
        inside = np.flatnonzero(stratum == one)
        if inside.size == 1:
            continue
        at = binned.places[inside][:, numeric].astype(np.float64)
        tree = KDTree(at)
        for single in np.flatnonzero(sizes[inside] == 1).tolist():
            if sizes[inside[single]] > 1:
                continue
            nearest = tree.query(at[single], k=2)[0][1]
            close = [near for near in tree.query_ball_point(at[single], nearest * (1 + 1e-9)) if near != single]
            _join(joins, sizes, inside[single], inside[min(close)])
    return np.asarray(sizes[joins == np.arange(joins.size)])


def _join(joins: Longs, sizes: Longs, single: int, other: int) -> None:
    """Join a bin to the one that another bin is part of."""
    while joins[other] != other:
        other = joins[other]
    joins[single] = other
    sizes[other] += sizes[single]


def _smallest(sizes: Longs) -> int:
    return int(sizes.min()) if sizes.size else 0


def no_valid_width(n_bins: int, n_occupied: int, n_singletons: int) -> TooFewRecordsError:
    """No width for which every bin has two records."""
    return TooFewRecordsError(
        f"There is no valid width under the pruning scheme: even the widest candidate, {n_bins:,} bins in each "
        f"column, has {count_of(n_singletons, 'bin')} with a single record among {n_occupied:,}; merge singleton "
        "bins (--merge-singletons), leave a column out, or choose bins of equal depth."
    )
