"""Two tables side by side, wherever their rows are, to one comparison: each column in one space of values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anonto.risk.classes import real_k
from anonto.risk.comparison import Comparison
from anonto.table.comparison import compared_column
from anonto.table.prepare import described

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.table.comparison import Amounts, BothCells, ComparedColumn
    from anonto.table.prepare import Opener


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Tables:
    """An original and its release, the rows of each beside those of the other."""

    cells: Mapping[str, BothCells]
    """For each column that leaves and is looked at its cells before and after."""
    amounts: Amounts
    """What the rows stand for."""
    others: Sequence[str] = ()
    """Columns that are the same in both, and not looked at."""
    identifiers: Sequence[str]
    rows: NDArray[np.int64]
    """Which row of the original each row was."""
    n_before: int
    n_after: int
    names: Sequence[str]
    """All columns of the release, also those that nobody looks at."""
    in_order: bool
    """Whether the rows are known to stand beside those that they came from."""
    kept_order: bool
    """Whether they leave in the order of the original."""
    settings: Sequence[Setting] | None
    """What the guarantees of the release made anew rest on, if it was."""
    pairs: Mapping[str, tuple[BothCells, Amounts]] = field(default_factory=dict)
    """For each masked column its cells before and after, and how many rows have them, where the rows are elsewhere."""
    unchanged: Sequence[int] | None = None
    """For each step the records that it left as they were, where the rows are elsewhere."""


def comparison_of(tables: Tables, plan: Plan, open_once: Opener) -> Comparison:
    """Both tables in one space; and what a report says."""
    columns = {
        name: compared_column(name, cells, plan.description(name), open_once, tables.amounts)
        for name, cells in tables.cells.items()
        if name in plan.masked or (_is_described(name, plan) and _has_values(cells, plan.description(name).na))
    }
    pairs = {
        name: compared_column(name, cells, plan.description(name), open_once, amounts)
        for name, (cells, amounts) in tables.pairs.items()
    }
    return Comparison(
        steps=plan.steps,
        columns=columns,
        pairs=pairs or columns,
        cells=tables.cells,
        confidential=frozenset(name for name in tables.cells if plan.is_confidential(name)),
        amounts=tables.amounts,
        rows=tables.rows,
        open_once=open_once,
        facts=_facts(tables, plan, columns),
        unchanged=tables.unchanged,
    )


def _is_described(name: str, plan: Plan) -> bool:
    return name in plan.columns and plan.description(name).role != "other"


def _has_values(cells: BothCells, na: Sequence[str]) -> bool:
    """Whether a column that is released as it is has anything to look at."""
    return any(value not in na for value in cells.original.values)


def _facts(tables: Tables, plan: Plan, columns: Mapping[str, ComparedColumn]) -> dict[str, Any]:
    """What a report says of the tables."""
    unmatched = {name: _n_unmatched(columns[name], tables.cells[name]) for name in plan.masked}
    settings = _settings(tables, plan, unmatched, columns)
    return {
        "records": tables.n_after,
        "dropped_records": tables.n_before - tables.n_after,
        "dropped_columns": list(tables.identifiers),
        "released_as_is": [*(name for name in tables.cells if name not in plan.masked), *tables.others],
        "not_attacked": list(tables.others),
        "made_anew": tables.settings is not None,
        "rows_in_order": tables.in_order,
        "kept_order": tables.kept_order,
        "stayed_without_a_concept": {
            name: unmatched[name] for step in plan.steps if not step.method.moves_missing for name in step.columns
        },
        "settings": settings,
        "guarantees": [
            step.method.guarantee(setting).to_dict() for step, setting in zip(plan.steps, settings, strict=True)
        ],
    }


def _settings(
    tables: Tables, plan: Plan, unmatched: Mapping[str, int], columns: Mapping[str, ComparedColumn]
) -> list[Setting]:
    """What the guarantees of the steps rest on; without the private record as far as it can be told."""
    stay = {name for name, n in unmatched.items() if n}
    seen = []
    for step in plan.steps:
        facts = {}
        if step.method.makes_equal:
            facts["real_k"] = real_k([columns[name] for name in step.columns]).details["real_k"]
        released = {"rows_in_order": tables.kept_order, "no_records": not tables.n_after, "facts": facts}
        seen.append(plan.setting(step, tables.names, stay, **released))
    if tables.settings is None:
        return seen
    # The release made anew may lack columns that nobody looks at.
    return [
        replace(known, left_out=one.left_out, rows_in_order=one.rows_in_order)
        for known, one in zip(tables.settings, seen, strict=True)
    ]


def _n_unmatched(column: ComparedColumn, both: BothCells) -> int:
    """How many cells have a text and no concept, where the plan keeps such cells."""
    description = column.description
    if description.unmatched != "keep" or not description.ontologies:
        return 0
    cells = described(column.name, replace(both.original, amounts=column.amounts.original), description)
    return int(column.counts("original")[-1]) - cells.n_missing
