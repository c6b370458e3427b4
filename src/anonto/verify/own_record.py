"""A person's own record, and how the released cells compare with hers, column by column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.recoded_values import labelled
from anonto.encoding.refusals import missing_cells, unmatched_values
from anonto.encoding.series import as_text_series, not_unicode
from anonto.encoding.value_space import NumericSpace
from anonto.engine.memory.recode import recode_table
from anonto.engine.refusals import not_with_recoding
from anonto.errors import InputError
from anonto.io.reading import read_table
from anonto.masking.plan import Plan
from anonto.wording import is_unicode

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats
    from anonto.encoding.comparison import ComparedColumn
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener


def own_record(record: Any, plan: Plan) -> FrameAdapter:
    """A table with one row, or with the rows of one person, from whatever the person has."""
    if isinstance(record, Mapping):
        lists = {str(name): [*cell] for name, cell in record.items() if name in plan.sets and isinstance(cell, list)}
        for name, cell in record.items():
            if name not in lists and isinstance(cell, list | tuple | dict | set):
                raise not_one_record(None)
        texts = {str(name): None if cell is None else str(cell) for name, cell in record.items() if name not in lists}
        said = [*texts, *filter(None, texts.values()), *(str(one) for cell in lists.values() for one in cell)]
        n_broken = sum(not is_unicode(text) for text in said)
        if n_broken:
            raise not_unicode(n_broken)
        frame = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
        return FrameAdapter(frame.with_columns(pl.Series(name, [cell]) for name, cell in lists.items()))
    adapter = open_table(record, plan)
    if len(adapter) != 1 and (plan.person is None or not len(adapter)):
        raise not_one_record(len(adapter))
    return adapter


def recode_own(own: FrameAdapter, released: FrameAdapter, plan: Plan) -> tuple[FrameAdapter, Plan]:
    """A person's own record with her cells recoded as the plan says, and the plan of the recoded table."""
    there = {name: one for name, one in plan.columns.items() if name in own.names}
    recoded, recoding = recode_table(own, Plan(MappingProxyType(there), folder=plan.folder), None)
    after = dict(recoding.plan.columns)
    shifted = [name for name, one in plan.columns.items() if one.recode is not None and one.recode.shift is not None]
    if set(shifted).intersection(plan.masked):
        raise not_with_recoding("Verifying", shifted)
    after |= {name: replace(plan.columns[name], recode=None, role="identifier") for name in shifted}
    for name, one in recoding.columns.items():
        recode = one.given.recode
        if recode is not None and recode.has_labels and name in released.names:
            texts = {*released.encode(name).values, *recoded.encode(name).values} - set(one.given.na)
            after[name] = labelled(replace(one.given, recode=None), recode, texts)
    return recoded, replace(plan, columns=MappingProxyType({**plan.columns, **after}))


def open_table(table: Any, plan: Plan) -> FrameAdapter:
    """A table in memory, or the file at a path."""
    if not isinstance(table, str | os.PathLike):
        return FrameAdapter(table)
    read = read_table(table, **plan.reading)
    return FrameAdapter(read.frame, origin=read.origin)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedCell:
    """A masked column: her cell, and how the released ones compare with it."""

    name: str
    compared: ComparedColumn
    is_equal: Bools
    """Flags for the released cells that have her value."""
    distances: Floats
    """From her cell to each released one."""
    shifts: Floats
    """How many places in rank each released cell is from hers; infinite where one of the two has no value."""
    same_text: Bools
    """Flags for the released cells that read like hers, missing ones included."""
    is_dropped: bool
    has_unmatched: bool
    """True if her cell or a released one has no concept, and so took no part."""

    @property
    def occurs(self) -> bool:
        """True if anybody in the release has her value."""
        return bool(self.is_equal.any())


def compare_cell(
    name: str, own: FrameAdapter, released: FrameAdapter, description: ColumnDescription, open_once: Opener
) -> ComparedCell:
    """Compare a person's cell with the released ones."""
    cell, cells = own.series(name), released.series(name)
    text, texts = as_text_series(cell).cast(pl.String), as_text_series(cells).cast(pl.String)
    if description.na:
        text, texts = (one.set(one.is_in(list(description.na)), None) for one in (text, texts))
    compared = compare_column(name, BothCells.of(text, texts), description, open_once)
    is_missing = bool(text.is_null()[0])
    is_unmatched = not is_missing and compared.original[0] < 0
    _require_allowed(name, description, open_once, text, is_missing=is_missing, is_unmatched=is_unmatched)
    same_text = texts.is_null().to_numpy() if is_missing else (texts == text[0]).fill_null(value=False).to_numpy()
    compared = _on_scale_of_release(compared)
    codes = compared.masked
    has_unmatched = is_unmatched or bool(((codes < 0) & ~texts.is_null().to_numpy()).any())
    if compared.original[0] < 0:
        return ComparedCell(
            name,
            compared,
            same_text,
            np.where(same_text, 0.0, 1.0),
            np.where(codes < 0, 0.0, np.inf),
            same_text,
            (is_missing and description.missing == "drop") or (is_unmatched and description.drops_unmatched),
            has_unmatched,
        )
    meant = compared.meanings()
    is_equal = meant[codes] == meant[compared.original[0]]
    from_own = np.minimum(compared.value_space.distances_from(compared.original)[0], 1.0)
    if isinstance(compared.value_space, NumericSpace) and not compared.value_space.scale:
        # All released numbers are the same: one that differs is as far as can be, not at no distance.
        from_own = np.where(meant[:-1] == meant[compared.original[0]], 0.0, 1.0)
    return ComparedCell(
        name,
        compared,
        is_equal,
        np.where(is_equal, 0.0, np.append(from_own, 1.0)[codes]),
        _shifts(compared, from_own),
        same_text,
        is_dropped=False,
        has_unmatched=has_unmatched,
    )


def _shifts(column: ComparedColumn, from_own: Floats) -> Floats:
    """Differences of mid-ranks among the released cells; nominal values are ranked by their distance from hers."""
    is_numeric = isinstance(column.value_space, NumericSpace)
    keys = column.value_space.numbers if is_numeric else np.round(from_own, 12)  # type: ignore[attr-defined]
    distinct, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(column.masked[column.masked >= 0], minlength=column.n_values)
    at_key = np.bincount(place, weights=counts, minlength=distinct.size)
    ranks = (np.cumsum(at_key) - at_key + (at_key + 1.0) / 2.0)[place]
    return np.asarray(np.append(np.abs(ranks - ranks[column.original[0]]), np.inf)[column.masked])


def _require_allowed(
    name: str,
    description: ColumnDescription,
    open_once: Opener,
    text: pl.Series,
    *,
    is_missing: bool,
    is_unmatched: bool,
) -> None:
    if is_missing and description.missing == "refuse":
        raise missing_cells(name, 1)
    if is_unmatched and description.unmatched in {"refuse", "nearest-ancestor"}:
        raise unmatched_values([str(text[0])], 1, open_once(description.ontologies[0]).name, name)


def _on_scale_of_release(column: ComparedColumn) -> ComparedColumn:
    """Differences of numbers are divided by the range of the release: of the original there is one number only."""
    value_space = column.value_space
    if not isinstance(value_space, NumericSpace):
        return column
    numbers = value_space.numbers[np.unique(column.masked[column.masked >= 0])]
    return replace(column, value_space=replace(value_space, extent=float(np.ptp(numbers)) if numbers.size else 0.0))


def not_one_record(found: int | None) -> InputError:
    """Several records, or none, instead of a person's own."""
    given = "several cells in a column" if found is None else f"{found:,}"
    return InputError(f"Expected one record, your own, got {given}; give one record with one cell per column.")
