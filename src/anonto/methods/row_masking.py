"""What a method that draws for each row returns: something that masks rows by their number.

A draw depends on the key and on the number of its row alone, so that rows may be masked in any chunks, in any order,
and later than others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonto.methods.flows import Moves, counted_pairs
from anonto.table.attributes import NumericAttribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.rng import Key
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


class RowMasker(Protocol):
    """Masks rows, having seen what it needs of the whole table."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns, with all values that may be released behind their own."""
        ...

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows.

        Args:
            columns: For each column the codes of these rows; −1 takes no part and stays −1.
            rows: The numbers of these rows in the whole table.
            key: The secret that all draws come from.

        Returns:
            For each column the codes of the released values in ``attributes``, or for a column of numbers the
            released numbers themselves, NaN where the code is −1.
        """
        ...

    def facts(self, before: Sequence[Codes], after: Sequence[Codes | Floats]) -> Mapping[str, Any]:
        """What else the evidence says of the step, from all rows before and after: plain numbers by name."""
        ...


def moves_between(before: Codes, after: Codes) -> Moves:
    """Count what became of the cells of a column."""
    n_targets = int(after.max(initial=0)) + 1
    keys, amounts = counted_pairs(before, after, n_targets, int(before.max(initial=0)) + 1)
    return Moves((keys // n_targets).astype(np.int32), (keys % n_targets).astype(np.int32), amounts)


def as_codes(attribute: Attribute, before: Codes, released: Codes | Floats) -> tuple[Attribute, Codes]:
    """Released codes as they are; released numbers as codes of a column with new ones behind its own; −1 stays −1."""
    if not isinstance(attribute, NumericAttribute):
        return attribute, released.astype(np.int32, copy=False)
    present = before >= 0
    extended, new_codes = attribute.codes_of(released[present].astype(np.float64, copy=False))
    codes = np.full(before.size, -1, dtype=np.int32)
    same = attribute.numbers[before[present]] == released[present]
    codes[present] = np.where(same, before[present], new_codes)
    return extended, codes
