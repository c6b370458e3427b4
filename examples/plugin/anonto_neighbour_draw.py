"""A masking method in a separate package: each number is replaced by that of a record near to it in rank.

The records are put in the order of their numbers. Each takes the number of one record drawn among the ``k`` before and
the ``k`` behind it, itself left out. Draws are independent, so a number may be taken several times or not at all: the
column is a bootstrap sample of itself, and its distribution is kept about as well as a neighbourhood of ``k`` records
keeps it. Nothing is proved for the method: measure it with ``anonto assess``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.encoding.value_space import NumericSpace
from anonto.errors import ParameterError
from anonto.methods.guarantee import MEASURED_ONLY, Guarantee, Setting
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import GROUP_SIZES, sizes_within, whole
from anonto.methods.transitions import Transitions, transitions_of_rows
from anonto.methods.words import Words

if TYPE_CHECKING:
    from anonto.encoding.value_space import ValueSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourDraw(ColumnMethod):
    """``k``: from how many records on either side a number is drawn."""

    name: ClassVar[str] = "neighbour-draw"
    words: ClassVar[Words] = Words(
        title="Draw a neighbour’s number",
        summary="replaces each number by that of one of the `k` records on either side of it in rank",
        does="Puts the records in the order of their numbers and gives each the number of a record near to it.",
        columns="numeric and ordinal, each alone",
        keeps="Keeps the distribution of the numbers roughly.",
        report=(
            "The records were put in the order of their numbers, and each took the number of a record picked by chance "
            "among its nearest in that order. Some numbers occur more often than before, some no longer."
        ),
    )
    k: int = field(
        metadata=whole(
            "k – neighbours on each side",
            "How many records on either side a number is drawn from. Larger is safer and loses more.",
            start=10,
            offered=(2, 1000, 1),
        )
    )

    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """Draw for each record of the column, in the order of the numbers, and count the transitions."""
        if not isinstance(column, NumericSpace):
            raise ParameterError("columns", f"numeric or ordinal where the method is {self.name}", "a nominal column")
        order = np.argsort(column.numbers, kind="stable")
        ranked = np.repeat(order, column.counts[order]).astype(np.int32)
        n = ranked.size
        if n < 2:
            return transitions_of_rows(ranked, ranked, column.counts)
        places = np.arange(n)
        first, last = np.maximum(places - self.k, 0), np.minimum(places + self.k, n - 1)
        drawn = rng.integers(first, last)
        return transitions_of_rows(ranked, ranked[drawn + (drawn >= places)], column.counts)

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Ranks, places and draws of all records."""
        return 48

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """Nothing is proved."""
        return MEASURED_ONLY

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """Sizes that fit the table."""
        return {"k": sizes_within(GROUP_SIZES, n_records)}
