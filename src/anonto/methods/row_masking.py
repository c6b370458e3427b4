"""Result of a method that draws for each row: an object that masks rows by their number.

A draw depends on the key and on the number of its row alone, so that rows may be masked in any chunks, in any order,
and later than others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.errors import InternalError
from anonto.methods.transitions import Moves, count_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.random.streams import Key


class RowMasker(ABC):
    """Masks rows with what `fit` found out about the whole table."""

    __slots__ = ()

    if TYPE_CHECKING:  # A property here would be the default of a dataclass's field.

        @property
        def value_spaces(self) -> tuple[ValueSpace, ...]:
            """The columns, with all values that may be released after their own."""

    @abstractmethod
    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows.

        Args:
            columns: For each column the codes of these rows; −1 takes no part and stays −1.
            rows: The numbers of these rows in the whole table.
            key: The secret that all draws come from.

        Returns:
            For each column the codes of the released values in ``value_spaces``, or for a column of numbers the
            released numbers themselves, NaN where the code is −1.
        """

    def apply_and_count(
        self, columns: Sequence[Codes], rows: Longs, key: Key
    ) -> tuple[list[Codes | Floats], Longs | None]:
        """Mask some rows, and count what `counted_facts` asks for: the counts of several batches add up."""
        return self.apply(columns, rows, key), None

    def facts(self) -> Mapping[str, Any]:
        """Further evidence about the step, whatever is drawn: plain numbers by name."""
        return {}

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:  # noqa: ARG002
        """Further evidence about the step, from the counts of all rows; None where there was none."""
        return {}

    @property
    def shares_work(self) -> bool:
        """True if rows with the same values are worked on together, so that many at once cost less."""
        return False

    def for_columns(self, value_spaces: Sequence[ValueSpace]) -> RowMasker:
        """This masker for columns with further values after the known ones, for records that come later."""
        if all(one is other for one, other in zip(self.value_spaces, value_spaces, strict=True)):
            return self
        raise InternalError("This masker knows the values of its own table alone.")

    def slim(self) -> RowMasker:
        """A copy without the ontologies, which draws do not need: it is sent to other processes."""
        return self


def without_values() -> Any:
    """A column without values, in place of one whose ontology is no longer needed."""
    return TextSpace(np.empty(0, dtype=np.int64))


def moves_between(before: Codes, after: Codes) -> Moves:
    """Count the moves of the cells of a column."""
    n_targets = int(after.max(initial=0)) + 1
    keys, amounts = count_pairs(before, after, n_targets, int(before.max(initial=0)) + 1)
    return Moves((keys // n_targets).astype(np.int32), (keys % n_targets).astype(np.int32), amounts)


def as_codes(value_space: ValueSpace, before: Codes, released: Codes | Floats) -> tuple[ValueSpace, Codes]:
    """Released codes as they are; released numbers as codes of a column with new ones after its own; −1 stays −1."""
    if not isinstance(value_space, NumericSpace):
        return value_space, released.astype(np.int32, copy=False)
    present = before >= 0
    extended, new_codes = value_space.codes_of(released[present].astype(np.float64, copy=False))
    codes = np.full(before.size, -1, dtype=np.int32)
    same = value_space.numbers[before[present]] == released[present]
    codes[present] = np.where(same, before[present], new_codes)
    return extended, codes
