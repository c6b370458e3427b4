"""What a method that draws for each row returns: something that masks rows by their number.

A draw depends on the key and on the number of its row alone, so that rows may be masked in any chunks, in any order,
and later than others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import InternalError
from anonto.methods.flows import Moves, counted_pairs
from anonto.table.attributes import NumericAttribute, TextAttribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.rng import Key
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


class RowMasker(ABC):
    """Masks rows, having seen what it needs of the whole table."""

    __slots__ = ()

    if TYPE_CHECKING:  # A property here would be the default of a dataclass's field.

        @property
        def attributes(self) -> tuple[Attribute, ...]:
            """The columns, with all values that may be released behind their own."""

    @abstractmethod
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

    def apply_and_count(
        self, columns: Sequence[Codes], rows: Longs, key: Key
    ) -> tuple[list[Codes | Floats], Longs | None]:
        """Mask some rows, and count what `counted_facts` asks for: the counts of several batches add up."""
        return self.apply(columns, rows, key), None

    def facts(self) -> Mapping[str, Any]:
        """What else the evidence says of the step, whatever is drawn: plain numbers by name."""
        return {}

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:  # noqa: ARG002
        """What else the evidence says of the step, from the counts of all rows; None where there was none."""
        return {}

    @property
    def shares_work(self) -> bool:
        """Whether rows with the same values are worked on together, so that many at once cost less."""
        return False

    def for_columns(self, attributes: Sequence[Attribute]) -> RowMasker:
        """The same for columns with further values behind those that are known, of records that come later."""
        if all(one is other for one, other in zip(self.attributes, attributes, strict=True)):
            return self
        raise InternalError("This masker knows the values of its own table alone.")

    def slim(self) -> RowMasker:
        """Without the ontologies, which the draws no longer need: what goes to another process."""
        return self


def without_values() -> Any:
    """A column without values, in place of one whose ontology is no longer needed."""
    return TextAttribute(np.empty(0, dtype=np.int64))


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
