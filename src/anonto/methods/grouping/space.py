"""How records to be grouped are compared: what their columns contribute is added up.

A column contributes a difference of numbers, a distance looked up in a table of all pairs of its values, or a weight
where two values differ. The joint distance of group swapping adds distances, the S-distance of microaggregation squared
ones; both are of this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from anonto.methods.grouping.arrays import SpaceArrays
from anonto.table.attributes import ExtendedAttribute, NumericAttribute, TextAttribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.records import Records

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]

_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberPart:
    """A column of numbers, scaled so that their differences (or squared ones) can be added to other columns."""

    numbers: Floats
    """Of each record; NaN where it is missing."""
    gap: float = 1.0
    """What a missing number contributes against a present one; two missing ones contribute nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NominalPart:
    """A column of values with the distances between them, scaled like the numbers."""

    codes: Ints
    """The value of each record."""
    n_values: int
    distances: Floats | None = None
    """All pairs of values; None where two values are equal or not."""
    weight: float = 1.0
    """What each distance is multiplied by; without distances, what two different values contribute."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Space:
    """Distinct records and what the distance between two of them is made of."""

    arrays: SpaceArrays
    names: tuple[str, ...] = ()
    """Of the columns, for messages."""

    @property
    def n_records(self) -> int:
        """Distinct records."""
        return int(self.arrays.codes.shape[0])

    def of(self, records: NDArray[np.integer]) -> Space:
        """The same space with some of its records, in the order given."""
        arrays = self.arrays
        return Space(arrays._replace(numbers=arrays.numbers[records], codes=arrays.codes[records]), self.names)


def space_of(parts: Sequence[NumberPart | NominalPart], *, squared: bool, names: Sequence[str] = ()) -> Space:
    """A space from its columns.

    Args:
        parts: The columns, in any order; at least one.
        squared: Whether differences of numbers are squared before they are added, and the distance is the root of the
            sum. Distances of nominal columns are added as they are.
        names: Of the columns, for messages.
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
    return Space(
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


def joint_space(records: Records) -> Space:
    """The records with the mean over their columns of the distance of each, in which a missing cell is a value."""
    share = 1.0 / max(len(records.attributes), 1)
    parts = [
        joint_part(attribute, records.codes[:, column], share) for column, attribute in enumerate(records.attributes)
    ]
    return space_of(parts, squared=False, names=records.names)


def joint_part(attribute: Attribute, codes: Ints, share: float) -> NumberPart | NominalPart:
    """A column with its own distances, multiplied by a share."""
    base = attribute.base if isinstance(attribute, ExtendedAttribute) else attribute
    if isinstance(base, NumericAttribute):
        extent = float(np.ptp(base.numbers)) if base.numbers.size else 0.0
        scaled = (base.numbers - base.numbers.min()) / extent * share if extent else np.zeros(base.numbers.size)
        present = (codes >= 0) & (codes < scaled.size)
        return NumberPart(np.where(present, np.append(scaled, np.nan)[np.where(present, codes, -1)], np.nan), share)
    n_values = attribute.counts.size
    if isinstance(base, TextAttribute):
        if isinstance(attribute, ExtendedAttribute):
            codes = attribute.one_missing(codes).astype(np.int32, copy=False)
        return NominalPart(codes, n_values, None, share)
    return NominalPart(codes, n_values, attribute.distances(), share)


def _side_by_side(columns: list[NDArray[_Kind]], n: int, kind: type[_Kind]) -> NDArray[_Kind]:
    out = np.empty((n, len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        out[:, place] = column
    return out
