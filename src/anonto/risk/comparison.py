"""An original and its release side by side: all that attacks, losses and reports look at.

It is the same whether the rows are here or on a cluster: there a row stands for all that are like it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from anonto.risk.known import all_known
from anonto.risk.known_law import known_law
from anonto.risk.seen_step import seen_step
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from anonto.methods.method import Method
    from anonto.risk.known import Known
    from anonto.risk.known_law import KnownLaw
    from anonto.risk.seen_step import SeenStep
    from anonto.table.comparison import Amounts, BothCells, ComparedColumn
    from anonto.table.prepare import Opener


class Step(Protocol):
    """A step of a plan."""

    @property
    def method(self) -> Method:
        """What masked."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """What it masked."""
        ...


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """Two tables, row by row, and what is known of how one became the other."""

    steps: Sequence[Step]
    """Those of the plan."""
    columns: Mapping[str, ComparedColumn]
    """The columns that the plan describes, with their distances."""
    pairs: Mapping[str, ComparedColumn]
    """For each masked column its cells before and after."""
    cells: Mapping[str, BothCells]
    """Every column that leaves and is looked at, masked or not."""
    confidential: frozenset[str]
    """Columns that are declared so: nobody knows them before."""
    amounts: Amounts
    """What the rows of all columns but the pairs stand for."""
    rows: NDArray[np.int64]
    """For each row which row of the original it was."""
    open_once: Opener
    facts: dict[str, Any]
    """What a report says besides, as plain data."""
    unchanged: Sequence[int] | None = None
    """For each step the records that it left as they were, where the rows are elsewhere."""
    second: Comparison | None = field(default=None)
    """Another release of the same original, where somebody has both."""

    @property
    def n_records(self) -> int:
        """Rows of the release."""
        return int(self.facts["records"])

    @property
    def masked(self) -> tuple[str, ...]:
        """All columns that a step masks."""
        return tuple(name for step in self.steps for name in step.columns)

    @property
    def names_by_step(self) -> list[tuple[str, ...]]:
        """The columns that each step masks."""
        return [step.columns for step in self.steps]

    @cached_property
    def as_is(self) -> Mapping[str, BothCells]:
        """The columns that no step masks."""
        return {name: cells for name, cells in self.cells.items() if name not in self.masked}

    @cached_property
    def swaps(self) -> list[SeenStep]:
        """The steps that swap, as their methods saw them."""
        return [
            seen_step(
                step.method, step.columns, self.cells, self._description_of, self.open_once, self.amounts.original
            )
            for step in self.steps
            if step.method.is_swap and self.n_records
        ]

    def _description_of(self, name: str) -> Any:
        return self.columns[name].description

    @cached_property
    def laws(self) -> list[KnownLaw]:
        """Of the steps whose method draws for each row from a law that is known."""
        steps = [(step.method, [self.columns[name] for name in step.columns]) for step in self.steps]
        laws = [known_law(method, columns, self.open_once) for method, columns in steps]
        return [law for law in laws if law is not None]

    @cached_property
    def known(self) -> list[Known]:
        """What intruders may know, the worst case last."""
        return all_known(self.names_by_step, self.columns, self.as_is, self.confidential, self.amounts)

    @property
    def n_distinct(self) -> int:
        """How many different records the original has in what an intruder knows: as far as an unmasked table tells."""
        most = max(self.known, key=lambda one: len(one.names), default=None)
        return 0 if most is None else int(distinct_rows([one.original for one in most.columns])[0].shape[0])
