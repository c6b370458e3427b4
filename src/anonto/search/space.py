"""How records to be grouped are compared: the contributions of their columns are added.

A column contributes a difference of numbers, a distance looked up in a table of all pairs of its values, or a weight
where two values differ. The joint distance of group swapping adds distances, the S-distance of microaggregation squared
ones; both are of this form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import ExtendedSpace, NumericSpace, TextSpace
from anonto.runtime.shared import digest_of, share
from anonto.search.arrays import SpaceArrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Floats, Integers, Ints
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace


_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberPart:
    """A column of numbers, scaled so that their differences (or squared ones) can be added to other columns."""

    numbers: Floats
    """The number of each record; NaN where it is missing."""
    gap: float = 1.0
    """Contribution of a missing number against a present one; two missing ones contribute nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NominalPart:
    """A column of values with the distances between them, scaled like the numbers."""

    codes: Ints
    """The value of each record."""
    n_values: int
    distances: Floats | None = None
    """All pairs of values; None where two values are equal or not."""
    weight: float = 1.0
    """Factor of each distance; without distances, the contribution of two different values."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupingSpace:
    """Distinct records and the parts of the distance between two of them."""

    arrays: SpaceArrays
    names: tuple[str, ...] = ()
    """Names of the columns, for messages."""
    _digests: list[bytes] = field(default_factory=list, init=False)
    """The digest of the arrays, once it was needed."""

    @property
    def n_records(self) -> int:
        """Distinct records."""
        return int(self.arrays.codes.shape[0])

    def digest(self) -> bytes:
        """The digest of all that distances follow from."""
        if not self._digests:
            self._digests.append(digest_of(*self.arrays))
        return self._digests[0]

    def of(self, records: Integers) -> GroupingSpace:
        """The same space with some of its records, in the order given."""
        arrays = self.arrays
        return GroupingSpace(arrays._replace(numbers=arrays.numbers[records], codes=arrays.codes[records]), self.names)


def space_of(parts: Sequence[NumberPart | NominalPart], *, squared: bool, names: Sequence[str] = ()) -> GroupingSpace:
    """A space from its columns.

    Args:
        parts: The columns, in any order; at least one.
        squared: Whether differences of numbers are squared before they are added, and the distance is the root of the
            sum. Distances of nominal columns are added as they are.
        names: Names of the columns, for messages.
    """
    numeric = [part for part in parts if isinstance(part, NumberPart)]
    nominal = [part for part in parts if isinstance(part, NominalPart)]
    n = parts[0].numbers.size if isinstance(parts[0], NumberPart) else parts[0].codes.size
    widths = np.array([part.n_values for part in nominal], dtype=np.int64)
    has_table = np.array([part.distances is not None for part in nominal], dtype=np.bool_)
    sizes = np.where(has_table, widths**2, 0)
    starts = np.where(has_table, np.cumsum(sizes) - sizes, -1).astype(np.int64)
    tables = np.empty(int(sizes.sum()))
    for part, start, size in zip(nominal, starts, sizes, strict=True):
        if part.distances is not None:
            np.multiply(part.distances.ravel(), part.weight, out=tables[start : start + size])
    return GroupingSpace(
        SpaceArrays(
            numbers=_side_by_side([part.numbers for part in numeric], n, np.float64),
            gaps=np.array([part.gap for part in numeric], dtype=np.float64),
            codes=_side_by_side([part.codes for part in nominal], n, np.int32),
            tables=tables,
            starts=starts,
            widths=widths,
            weights=np.array([part.weight for part in nominal], dtype=np.float64),
            squared=squared,
        ),
        tuple(names),
    )


def joint_space(records: Records) -> GroupingSpace:
    """The records with the mean over their columns of the distance of each, in which a missing cell is a value."""
    spaces = records.value_spaces
    of_column = 1.0 / max(len(spaces), 1)

    def make() -> tuple[GroupingSpace, Sequence[ValueSpace]]:
        parts = [joint_part(one, records.codes[:, column], of_column) for column, one in enumerate(spaces)]
        return space_of(parts, squared=False, names=records.names), spaces

    def digest() -> bytes:
        # No other value space has the place in memory of one that is kept with the result.
        return digest_of(*records.names, *map(id, spaces), records.codes)

    n_bytes = sum(8 * one.counts.size**2 for one in spaces if not isinstance(one, NumericSpace | TextSpace))
    return share("joint distances", digest, n_bytes, make, is_quick=True)[0]


def joint_part(value_space: ValueSpace, codes: Ints, share: float) -> NumberPart | NominalPart:
    """A column with its own distances, multiplied by a share."""
    base = value_space.base if isinstance(value_space, ExtendedSpace) else value_space
    if isinstance(base, NumericSpace):
        extent = float(np.ptp(base.numbers)) if base.numbers.size else 0.0
        scaled = (base.numbers - base.numbers.min()) / extent * share if extent else np.zeros(base.numbers.size)
        present = (codes >= 0) & (codes < scaled.size)
        return NumberPart(np.where(present, np.append(scaled, np.nan)[np.where(present, codes, -1)], np.nan), share)
    n_values = value_space.counts.size
    if isinstance(base, TextSpace):
        if isinstance(value_space, ExtendedSpace):
            codes = value_space.one_missing(codes).astype(np.int32, copy=False)
        return NominalPart(codes, n_values, None, share)
    if isinstance(base, SetSpace):
        value_space, codes = _only_sets_of(value_space, base.counts.size, codes)
    return NominalPart(codes, value_space.counts.size, value_space.distances(), share)


def _only_sets_of(value_space: ValueSpace, n_sets: int, codes: Ints) -> tuple[ValueSpace, Ints]:
    """A space of sets without those that no record has, and the codes in it: most sets are in one block only."""
    occurring = np.union1d(codes[codes >= 0], np.arange(n_sets, value_space.counts.size))
    own = np.where(codes < 0, codes, np.searchsorted(occurring, codes)).astype(np.int32)
    return value_space.restrict(occurring, value_space.counts[occurring]), own


def _side_by_side(columns: list[NDArray[_Kind]], n: int, kind: type[_Kind]) -> NDArray[_Kind]:
    out = np.empty((n, len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        out[:, place] = column
    return out
