"""A table of persons who were not masked, made comparable with an original and its release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.assessment.in_memory import EncodedTable, alike, open_encoded
from anonto.attacks.held_out import HeldOut
from anonto.encoding.columns import encode
from anonto.encoding.comparison import compare_column
from anonto.encoding.frame_adapter import is_spark_frame
from anonto.encoding.prepare import apply_missing_policy, prepare, rows_that_stay
from anonto.encoding.series import as_text_series
from anonto.engine.memory.units import FOR_LOOKING, units_of
from anonto.engine.refusals import not_for_clusters
from anonto.errors import ColumnError, InputError
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.wording import count_of, quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.attacks.comparison import Comparison
    from anonto.encoding.columns import Column
    from anonto.encoding.comparison import ComparedColumn
    from anonto.encoding.description import ColumnDescription
    from anonto.masking.plan import Plan


def open_beside(held_out: Any, original: Any, masked: Any, plan: Plan) -> tuple[EncodedTable, EncodedTable]:
    """A table of persons held out and the original, which must have the same columns and other persons.

    Args:
        held_out: The persons who were not masked.
        original: The persons who were.
        masked: Their release.
        plan: Its plan.
    """
    if any(is_spark_frame(table) for table in (held_out, original, masked)):
        raise not_for_clusters("held_out")
    before, others = open_encoded(original, plan), open_encoded(held_out, plan)
    identifiers = plan.identifiers(before.names)
    lacking = [name for name in before.names if name not in others.names and name not in identifiers]
    if plan.person is not None and plan.person not in others.names:
        lacking.append(plan.person)
    further = [name for name in others.names if name not in before.names]
    if lacking or further:
        raise other_columns(lacking, further)
    if not len(others):
        raise nobody_held_out()
    if plan.person is not None:
        shared = set(_texts(before, plan.person)) & set(_texts(others, plan.person))
        if shared:
            raise persons_in_both(len(shared), plan.person)
    return before, others


def as_held_out_records(others: EncodedTable, records: EncodedTable, plan: Plan) -> EncodedTable:
    """The records of persons held out, with the columns of the original's records.

    Args:
        others: Their rows.
        records: The records of the original.
        plan: The plan of the rows.
    """
    found = units_of(others, plan, FOR_LOOKING).records
    if ROWS_OF_PERSON in records.names and ROWS_OF_PERSON not in found.columns:
        found = found.with_columns(pl.lit(1, pl.Int64).alias(ROWS_OF_PERSON))
    return EncodedTable(found.select([name for name in records.names if name in found.columns]), others.origin)


def encode_held_out(others: EncodedTable, before: EncodedTable, compared: Comparison, plan: Plan) -> HeldOut:
    """Encode the records of persons held out like those of the comparison.

    Args:
        others: The records.
        before: The original's.
        compared: The original and its release.
        plan: The plan of the records.
    """
    dropping = {name: _tolerant(plan.description(name)) for name in plan.dropping_columns(compared.cells)}
    found = {name: apply_missing_policy(name, others.encode(name), one) for name, one in dropping.items()}
    stays = rows_that_stay(found, plan.description, compared.open_once)
    if stays is not None and not stays.any():
        raise nobody_held_out()
    cells = {}
    for name in compared.cells:
        cell = encode(alike(before.series(name).dtype, others.series(name)))
        cells[name] = cell if stays is None else cell.keep_records(stays)
    columns = {name: _compare(one, cells[name], compared) for name, one in compared.columns.items()}
    n_records = len(others) if stays is None else int(np.count_nonzero(stays))
    return HeldOut(n_records=n_records, cells=cells, columns=columns)


def _compare(column: ComparedColumn, own: Column, compared: Comparison) -> ComparedColumn:
    """A column of the comparison with the cells of persons held out."""
    name, description, open_once = column.name, column.description, compared.open_once
    try:
        cells = compared.cells[name]
        return compare_column(name, cells, description, open_once, compared.amounts, column.weights, held_out=own)
    except ColumnError:
        # The original and its release were compared before, so the fault is among these cells: count them alone.
        try:
            prepare(name, own, _tolerant(description), open_once)
        except ColumnError as error:
            error.args = (f"In the table of persons held out: {error}",)
            raise error from None
        raise


def _tolerant(description: ColumnDescription) -> ColumnDescription:
    """Persons held out may have missing cells where the original has none."""
    return replace(description, missing="keep") if description.missing == "refuse" else description


def _texts(table: EncodedTable, name: str) -> list[str]:
    return as_text_series(table.series(name)).cast(pl.String).drop_nulls().unique().to_list()


def other_columns(missing: Sequence[str], values: Sequence[str]) -> ColumnError:
    """Persons held out whose table has other columns than the original.

    The names of further columns may be cells of a table without a header, and are on ``values``.
    """
    parts = []
    if missing:
        parts.append(f"lacks {quote_names(missing)}")
    if values:
        parts.append(f"has {count_of(len(values), 'column')} that the original does not have")
    return ColumnError(
        f"The table of persons held out {' and '.join(parts)}; give a table with the columns of the original.",
        values=values,
    )


def nobody_held_out() -> InputError:
    """A table of persons held out without one."""
    return InputError("The table of persons held out has no record; give one with persons, or leave it out.")


def persons_in_both(n_persons: int, person: str) -> InputError:
    """Persons who are held out and in the original."""
    return InputError(
        f"{count_of(n_persons, 'person is', 'persons are')} in the original and held out, by {person!r}; hold out "
        "persons who were not masked."
    )
