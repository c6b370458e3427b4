"""Classes of a table by all its quasi-identifiers together, wherever its rows are.

A missing cell counts as a value of its own, because an intruder sees that it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.assessment.in_memory import open_encoded
from anonto.encoding.frame_adapter import is_spark_frame
from anonto.encoding.prepare import apply_missing_policy
from anonto.encoding.records import count_records, distinct_rows
from anonto.engine.memory.units import FOR_LOOKING, units_of
from anonto.engine.refusals import units_assessed_in_memory, weights_only_in_memory
from anonto.errors import PlanError
from anonto.io.table import missing_column
from anonto.masking.weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.columns import Column
    from anonto.masking.plan import Plan


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeyClasses:
    """The distinct records of the quasi-identifiers, each with its number of persons."""

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """The distinct values of each column."""
    codes: Codes
    """Classes × columns; −1 for a missing cell."""
    counts: Longs
    """Persons of each class."""
    people: Floats | None = None
    """People of the population that each class stands for, where the plan names weights."""
    class_of: Codes | None = None
    """The class of each record, in the order of the records; None where they are on a cluster."""


def count_key(table: Any, plan: Plan) -> KeyClasses:
    """Count the classes of a table by the quasi-identifiers of its plan."""
    if is_spark_frame(table):
        return _count_on_cluster(table, plan)
    whole = open_encoded(table, plan)
    if plan.has_units:
        units = units_of(whole, plan, FOR_LOOKING)
        whole, plan = open_encoded(units.records, units.plan), units.plan
    columns = {name: whole.encode(name) for name in key_of(plan, whole.names)}
    return classes_of(columns, plan, weights_of(whole, plan))


def classes_of(
    encoded: Mapping[str, Column], plan: Plan, weights: Floats | None, amounts: Longs | None = None
) -> KeyClasses:
    """The classes of encoded records.

    Args:
        encoded: The quasi-identifiers.
        plan: Their plan.
        weights: How many people each record stands for.
        amounts: How many persons each record is, perhaps none, where records are counted; else each is one.
    """
    columns = [_encode(name, column, plan) for name, column in encoded.items()]
    if amounts is not None:
        present = np.flatnonzero(amounts)
        columns, amounts = [replace(one, codes=one.codes[present]) for one in columns], amounts[present]
    codes, class_of = distinct_rows([column.codes for column in columns])
    return KeyClasses(
        names=tuple(encoded),
        values=tuple(column.values for column in columns),
        codes=codes,
        counts=count_records(class_of, codes.shape[0], amounts),
        people=None if weights is None else count_records(class_of, codes.shape[0], weights),
        class_of=class_of,
    )


def key_of(plan: Plan, names: Sequence[str]) -> tuple[str, ...]:
    """The quasi-identifiers of a plan, all of which the table must have."""
    found = named_key(plan)
    if not found:
        raise no_key()
    for name in found:
        if name not in names:
            raise missing_column(name, list(names))
    return found


def named_key(plan: Plan) -> tuple[str, ...]:
    """The quasi-identifiers of a plan; perhaps none."""
    named = (*plan.columns, *(name for name in plan.masked if name not in plan.columns))
    return tuple(name for name in named if plan.description(name).role == "quasi-identifier")


def _encode(name: str, column: Column, plan: Plan) -> Column:
    return apply_missing_policy(name, column, replace(plan.description(name), missing="keep"))


def _count_on_cluster(frame: Any, plan: Plan) -> KeyClasses:
    """Count the classes of a Spark DataFrame."""
    from anonto.engine.spark.count import CountingTask, merge_counts
    from anonto.engine.spark.numbered_frame import number_rows

    if plan.weight is not None:
        raise weights_only_in_memory("the risk in the population")
    if plan.has_units:
        raise units_assessed_in_memory()
    names = key_of(plan, frame.columns)
    table = number_rows(frame, None).table
    task = CountingTask(table.row_groups, names, (names,))
    found = merge_counts(table.collect_results(task, names, "Counting classes"), task, table.types(names))
    columns = [_encode(name, found.columns[name].column(), plan) for name in names]
    raw = found.records[0]
    placed = [
        found.columns[name].places_in(column.values)[raw[:, place]]
        for place, (name, column) in enumerate(zip(names, columns, strict=True))
    ]
    codes, class_of = distinct_rows([codes.astype(np.int32) for codes in placed])
    amounts = found.records_by_group[0].totals(raw.shape[0])
    return KeyClasses(names, tuple(column.values for column in columns), codes, _sum(class_of, codes, amounts))


def _sum(class_of: Codes, codes: Codes, amounts: Longs) -> Longs:
    return np.asarray(count_records(class_of, codes.shape[0], amounts))


def no_key() -> PlanError:
    """A plan without quasi-identifiers."""
    return PlanError(
        "The plan has no quasi-identifier, so no column tells who a person could be; give at least one column the "
        'role "quasi-identifier".'
    )
