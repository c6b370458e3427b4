"""Two tables side by side, made one comparison: both sides of a column share one space of values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anonto.attacks.comparison import Comparison
from anonto.attacks.compute.classes import real_k
from anonto.encoding.comparison import compare_column
from anonto.encoding.prepare import apply_missing_policy
from anonto.engine.refusals import foreign_columns
from anonto.io.table import missing_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import Amounts, BothCells, ComparedColumn
    from anonto.encoding.prepare import Opener
    from anonto.masking.plan import Plan
    from anonto.methods.guarantee import Setting


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Tables:
    """An original and its release, row by row."""

    cells: Mapping[str, BothCells]
    """The cells before and after of each released column that is compared."""
    amounts: Amounts
    """How many rows of the tables each row counts for."""
    weights: Floats | None = None
    """How many people of the population each row stands for, where the plan names weights."""
    others: Sequence[str] = ()
    """Columns that are the same in both and are not attacked."""
    identifiers: Sequence[str]
    rows: Longs
    """The original row of each released row."""
    n_before: int
    n_after: int
    names: Sequence[str]
    """All columns of the release, including those that are not compared."""
    in_order: bool
    """True if each released row is known to be next to the original row that it came from."""
    kept_order: bool
    """True if the release has the order of the original."""
    settings: Sequence[Setting] | None
    """The facts that the guarantees rest on, from masking the original again; None where that was not done."""
    pairs: Mapping[str, tuple[BothCells, Amounts]] = field(default_factory=dict)
    """The pairs of cells of each masked column and their counts, if the rows are on a cluster."""
    shifted: Sequence[str] = ()
    """Columns in no step whose dates were shifted by a secret number of days."""
    unchanged: Sequence[int] | None = None
    """The number of unchanged records of each step, if the rows are on a cluster."""


def match_columns(before: Sequence[str], after: Sequence[str], plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The released columns of an original, and its identifiers; the release must have exactly the former."""
    identifiers = plan.identifiers(before)
    expected = [name for name in before if name not in identifiers]
    for name in plan.masked:
        if name not in before:
            raise missing_column(name, list(before))
    if set(after) != set(expected):
        raise foreign_columns(
            [name for name in expected if name not in after], [name for name in after if name not in expected]
        )
    return tuple(expected), identifiers


def comparison_of(tables: Tables, plan: Plan, open_once: Opener) -> Comparison:
    """Compare two tables, with the facts that a report needs."""
    changed = {*plan.masked, *tables.shifted}
    columns = {
        name: compare_column(name, cells, plan.description(name), open_once, tables.amounts, tables.weights)
        for name, cells in tables.cells.items()
        if name in changed or (_is_described(name, plan) and _has_values(cells, plan.description(name).na))
    }
    pairs = {
        name: compare_column(name, cells, plan.description(name), open_once, amounts)
        for name, (cells, amounts) in tables.pairs.items()
    }
    return Comparison(
        steps=plan.steps,
        columns=columns,
        pairs=pairs or columns,
        cells=tables.cells,
        shifted=tuple(tables.shifted),
        before_recoding={name: columns[name] for name in tables.shifted},
        confidential=frozenset(name for name in tables.cells if plan.is_confidential(name)),
        amounts=tables.amounts,
        rows=tables.rows,
        open_once=open_once,
        facts=_facts(tables, plan, columns),
        unchanged=tables.unchanged,
        sets=[name for name in tables.cells if name in plan.sets],
        by_person=plan.by_person,
    )


def _is_described(name: str, plan: Plan) -> bool:
    return name in plan.columns and plan.description(name).role != "other"


def _has_values(cells: BothCells, na: Sequence[str]) -> bool:
    """Return whether a column has any value."""
    return any(value not in na for value in cells.original.values)


def _facts(tables: Tables, plan: Plan, columns: Mapping[str, ComparedColumn]) -> dict[str, Any]:
    """Facts about the tables for a report."""
    unmatched = {name: _n_unmatched(columns[name], tables.cells[name]) for name in plan.masked}
    settings = _settings(tables, plan, unmatched, columns)
    return {
        "records": tables.n_after,
        "dropped_records": tables.n_before - tables.n_after,
        "dropped_columns": list(tables.identifiers),
        **({} if plan.weight is None else {"weight": plan.weight}),
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
    """The facts that the guarantee of each step rests on; without the private record, as far as the tables show."""
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
    # Masking again may have left out columns that are not compared.
    return [
        replace(known, left_out=one.left_out, rows_in_order=one.rows_in_order)
        for known, one in zip(tables.settings, seen, strict=True)
    ]


def _n_unmatched(column: ComparedColumn, both: BothCells) -> int:
    """How many cells have a text but no concept, where the plan keeps such cells."""
    description = column.description
    if description.unmatched != "keep" or not description.ontologies:
        return 0
    cells = apply_missing_policy(column.name, replace(both.original, amounts=column.amounts.original), description)
    return int(column.counts("original")[-1]) - cells.n_missing
