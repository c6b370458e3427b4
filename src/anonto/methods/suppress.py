"""Local suppression: the fewest, least important cells become missing, until k holds in combinations of columns.

``combinations = 2`` stands for all pairs of columns of the step, and ``[["age", "sex"], ["age", "ward"]]`` names some.
In each combination every released record is equal to at least k − 1 others. All other cells stay exactly as they are.

- **Missing cells.** A suppressed cell looks like one that was missing before, and missing is a value of its own: two
  records are equal in a combination if they have the same values and lack the same cells. sdcMicro counts a missing
  cell as equal to every value (``alpha = 1``). What is released here keeps to k by that rule too; the reverse does not
  hold: by that rule k − 1 records without any cell would make everybody else safe, and somebody whose suppressed value
  is known could be the only one who lacks it.
- **Cost.** A suppressed cell costs the ``importance`` of its column, 1 by default: important columns keep their cells.
- **How.** `anonto.methods.local_suppression`: the optimum for a few cells, otherwise greedy with cells that come back.
  Equal records lose the same cells. The evidence has the cost and a bound below which no such suppression can be.

Nothing is drawn. Columns keep their types.

Reference: Templ, Kowarik, Meindl, Statistical disclosure control for micro-data using the R package sdcMicro, Journal
of Statistical Software 67 (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations as subsets
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.encoding.generalised_space import EmptiedSpace
from anonto.errors import ParameterError
from anonto.methods.guarantee import EQUAL_IN_GROUPS, Guarantee, Setting, promise
from anonto.methods.local_suppression import Task, suppress_cells
from anonto.methods.memory import BYTES_PER_RECORD
from anonto.methods.method import RecordMethod
from anonto.methods.parameters import GROUP_SIZES, K, number, public, sizes_within, whole
from anonto.methods.record_transitions import record_transitions
from anonto.methods.refusals import too_few_for_groups
from anonto.methods.words import Words

if TYPE_CHECKING:
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.memory import Budget
    from anonto.methods.method import Family
    from anonto.methods.record_transitions import RecordTransitions

KIND = "k-anonymity of combinations"
MOST_COMBINATIONS = 5_000
BYTES_PER_COMBINATION = 200
"""Bytes of a distinct record in each combination, while cells come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress(RecordMethod):
    """``k``: records that are equal in a combination; ``combinations``: of how many columns, or which ones."""

    name: ClassVar[str] = "suppress"
    words: ClassVar[Words] = Words(
        title="Leave out rare cells",
        summary="empties the fewest cells until `k` records are equal in each combination of columns",
        does=(
            "Removes the fewest, least important cells, until in each combination of the columns every record is "
            "equal to at least k − 1 others. All other cells stay as they are."
        ),
        columns="any kinds but sets, together",
        keeps="Keeps every cell that is not emptied exactly, and the type of each column.",
        proves="k-anonymity of combinations, on conditions",
        proved="k-anonymity of combinations. In each of them, each record is equal to at least k − 1 others.",
        report=(
            "Cells of these columns were emptied, as few and as unimportant ones as possible, until at least {k} "
            "records are equal in each combination of columns that was named, with empty cells as a value of their "
            "own. All other cells are as they were."
        ),
    )
    family: ClassVar[Family] = "aggregation"
    k: int = field(metadata=public(K))
    combinations: int | tuple[tuple[str, ...], ...] = field(
        metadata=public(
            whole(
                "columns of a combination",
                "k holds in all combinations of so many columns of the step, or in those that are listed.",
                must="a whole number, 1 or more, or a list of lists of different columns of the step",
                takes_names=True,
                start=2,
                offered=(1, 10, 1),
                sweep=(2, 3),
            )
        )
    )
    importance: float | tuple[float, ...] | None = field(
        default=None,
        metadata=number(
            "importance",
            "What an emptied cell of each column costs: those of important columns are kept longer.",
            above=0,
            must="a number above 0 for each column",
            lists="only",
        ),
    )

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(GROUP_SIZES[:3], n_records), "combinations": [2, 3]}

    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes of a distinct record, with all pairs of columns."""
        return BYTES_PER_RECORD + BYTES_PER_COMBINATION * n_columns * max(n_columns - 1, 1) // 2

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordTransitions:
        """Fit all distinct records at once, or refuse them."""
        each = BYTES_PER_RECORD + BYTES_PER_COMBINATION * len(self._combinations(records.names))
        budget.require(each * records.counts.size, "so many different records")
        return self.fit(records, rng)

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Find the cells, and what each record becomes."""
        del rng
        n_columns = len(records.names)
        if 0 < records.n_rows < self.k:
            raise too_few_for_groups(records.n_rows, self.k)
        combinations = self._combinations(records.names)
        importance = np.ones(n_columns) if self.importance is None else np.array(self.importance, dtype=np.float64)
        if importance.shape != (n_columns,):
            raise ParameterError("importance", f"a number for each of the {n_columns} columns", list(importance.shape))
        task = Task(records.codes, records.counts, combinations, self.k, importance)
        left, bound = suppress_cells(task) if records.counts.size else (records.codes, 0.0)
        released = records.codes.copy()
        value_spaces: list[ValueSpace] = []
        gone = left != records.codes
        for place, own in enumerate(records.value_spaces):
            is_gone = gone[:, place]
            value_spaces.append(EmptiedSpace(own) if is_gone.any() else own)
            released[is_gone, place] = own.counts.size
        cells = (gone * records.counts[:, None]).sum(axis=0).tolist()
        facts = {
            "smallest_group": min(int(task.sizes(left, one).min(initial=records.n_rows)) for one in combinations),
            "suppressed_cells": dict(zip(records.names, cells, strict=True)),
            "suppression_cost": task.cost(left),
            "suppression_bound": bound,
            "columns_outside": n_columns - max(len(one) for one in combinations),
        }
        return record_transitions(
            records,
            np.arange(records.counts.size),
            released,
            records.counts,
            [0] * n_columns,
            facts,
            tuple(value_spaces),
        )

    def _combinations(self, names: tuple[str, ...]) -> list[tuple[int, ...]]:
        """The places of the columns of each combination."""
        if isinstance(self.combinations, int):
            size = min(self.combinations, len(names))
            found = list(subsets(range(len(names)), size))
        else:
            unknown = [name for one in self.combinations for name in one if name not in names]
            if unknown:
                raise ParameterError("combinations", "lists of columns of the step", unknown[0])
            found = [tuple(sorted(names.index(name) for name in one)) for one in self.combinations]
        # What holds for some columns holds for fewer of them.
        distinct = sorted(set(found))
        kept = [one for one in distinct if not any(set(one) < set(other) for other in distinct)]
        if len(kept) > MOST_COMBINATIONS:
            raise ParameterError("combinations", f"at most {MOST_COMBINATIONS:,} combinations", len(kept))
        return kept

    def guarantee(self, setting: Setting) -> Guarantee:
        """k-anonymity by every combination, if one of them has all columns that an intruder may know."""
        broken = []
        if setting.facts.get("columns_outside") != 0:
            broken.append(
                "an intruder who knows more columns of the step than one combination has may find fewer than k records"
            )
        if setting.codes_apart:
            broken.append("missing cells keep different codes, which may part the records of a class")
        if self.k == 1:
            broken.append("groups of one record are no groups")
        return promise(setting, KIND, EQUAL_IN_GROUPS, k=self.k, broken=broken)
