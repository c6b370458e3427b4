"""Compares tables of this machine, with the rows of the release in the order of the original."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.assessment.before_recoding import compare_before_recoding
from anonto.assessment.intervals import compare_intervals
from anonto.assessment.tables import Tables, comparison_of, match_columns
from anonto.attacks.alignment import shows_order
from anonto.encoding.columns import encode
from anonto.encoding.comparison import Amounts, BothCells
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.missing_cells import raw_cells
from anonto.encoding.prepare import apply_missing_policy, opener, rows_that_stay
from anonto.engine.memory.recode import recode_as_known
from anonto.engine.refusals import shuffled_rows, wrong_row_count
from anonto.engine.run import mask
from anonto.errors import ReleaseError
from anonto.io.batches import parquet_files
from anonto.io.reading import read_table
from anonto.masking.private_record import foreign_record
from anonto.masking.weights import weights_of
from anonto.random.streams import row_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bools, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.encoding.columns import Column
    from anonto.io.table import Origin
    from anonto.masking.plan import Plan
    from anonto.masking.private_record import PrivateRecord
    from anonto.masking.recoding import Recoding
    from anonto.masking.release import Release
    from anonto.methods.guarantee import Setting
    from anonto.random.streams import Seed


class EncodedTable(FrameAdapter):
    """A table whose columns are encoded once, however often it is compared and masked again."""

    def __init__(self, table: Any, origin: Origin | None = None) -> None:
        super().__init__(table, origin=origin)
        self._columns: dict[str, Column] = {}

    def encode(self, name: str) -> Column:
        """One column as codes."""
        if name not in self._columns:
            column = super().encode(name)
            column.codes.flags.writeable = False  # masking again must not overwrite arrays that are reused
            self._columns[name] = column
        return self._columns[name]


def open_encoded(table: Any, plan: Plan) -> EncodedTable:
    """A table whose columns are encoded once; a file is read as the plan says."""
    if isinstance(table, EncodedTable):
        return table
    whole = read_parquet_files(table, plan)
    if not isinstance(whole, str | os.PathLike):
        return EncodedTable(whole)
    read = read_table(whole, **plan.reading)
    return EncodedTable(read.frame, read.origin)


def read_parquet_files(table: Any, plan: Plan) -> Any:
    """The table of a folder, or of a pattern, of Parquet files; other tables as they are."""
    files = parquet_files(table) if isinstance(table, str | os.PathLike) else None
    return table if files is None else pl.concat([read_table(file, **plan.reading).frame for file in files])


def mask_again(original: Any, plan: Plan, seed: Seed) -> tuple[Any, Sequence[Setting]]:
    """Mask an original again with the seed of a release: the masked table, and what its guarantees rest on."""
    release = release_again(original, plan, seed)
    return release.table, release.settings


def release_again(original: Any, plan: Plan, seed: Seed) -> Release:
    """Mask an original again with the seed of a release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they came with the release
        return mask(original, plan, seed=seed.number)


def compare_in_memory(
    before: EncodedTable,
    masked: Any,
    plan: Plan,
    record: PrivateRecord | None,
    *,
    same_order: bool,
    stored: bool = False,
    names: Sequence[str] | None = None,
    recoded: tuple[EncodedTable, Recoding] | None = None,
) -> Comparison:
    """Compare a release with its original, row by row.

    Args:
        before: The table that was masked.
        masked: Its release.
        plan: Its plan.
        record: Its private record: the release must be the one that it makes.
        same_order: Whether the caller says that the rows are in the order of the original.
        stored: Whether the release was saved: its order is then the order that others see.
        names: All columns of the release, if the table lacks some.
        recoded: If ``before`` is recoded already: the table before that, and how it was recoded.
    """
    if plan.recoded:
        how: dict[str, Any] = {"same_order": same_order, "stored": stored, "names": names}
        table, recoding = recode_as_known(before, plan, None if record is None else record.seed)
        own = EncodedTable(table.table, before.origin)
        after = open_encoded(masked, plan)
        hidden = [name for name in plan.recoded if plan.has_pseudonyms(name)]
        masked = EncodedTable(after.without(hidden), after.origin)
        found = compare_in_memory(own, masked, recoding.plan, record, recoded=(before, recoding), **how)
        return _with_losses_of_recoding(found, before, recoding)
    after = open_encoded(masked, plan)
    expected, identifiers = match_columns(before.names, after.names, plan)
    open_once = opener(plan.folder)
    dropping = {
        name: apply_missing_policy(name, before.encode(name), plan.description(name))
        for name in plan.dropping_columns(expected)
    }
    stays = rows_that_stay(dropping, plan.description, open_once)
    rows = np.arange(len(before)) if stays is None else np.flatnonzero(stays)
    if rows.size != len(after):
        raise wrong_row_count(len(after), int(rows.size))
    cells = {name: _both_cells(name, before, after, plan, stays) for name in expected}
    order, settings = None, None
    if record is not None:
        source, given = (before, plan) if recoded is None else (recoded[0], recoded[1].given)
        again, settings = mask_again(source, given, record.seed)
        order = _order_of(FrameAdapter(again, origin=after.origin), cells, record, before.origin)
    if order is not None:
        cells = {name: _reorder(one, order) for name, one in cells.items()}
    as_is = [name for name in expected if name not in (*plan.masked, *plan.shifted)]
    for name in as_is:
        if not cells[name].are_same:
            raise shuffled_rows(name)
    amounts = Amounts.of_rows(rows.size, rows.size)
    codes = [cells[name].original.codes for name in as_is]
    in_order = record is not None or same_order or shows_order(codes, amounts.original)
    if not in_order and isinstance(masked, str | os.PathLike):
        raise unchecked_rows()
    tables = Tables(
        cells=cells,
        amounts=amounts,
        weights=weights_of(before, plan, stays),
        identifiers=identifiers,
        rows=rows,
        n_before=len(before),
        n_after=len(after),
        names=names or after.names,
        in_order=in_order,
        kept_order=stored and in_order and order is None and len(after) > 1,
        settings=settings,
        shifted=[name for name in plan.shifted if name in expected and name not in plan.masked],
    )
    return comparison_of(tables, plan, open_once)


def _with_losses_of_recoding(found: Comparison, before: EncodedTable, recoding: Recoding) -> Comparison:
    """A comparison of a release with its recoded original, with losses from the cells before they were recoded.

    The plan is public, so an intruder recodes what she knows herself: the release depends on her cells in no other way.
    She does not know by how much dates were shifted, so those are compared as they were.
    """
    as_before = {
        name: compare_before_recoding(one, before.encode(name), found.columns[name], found.rows, found.open_once)
        for name, one in recoding.columns.items()
        if name in found.columns
    }
    as_is = [name for name in found.facts["released_as_is"] if name not in recoding.columns]
    dropped = [name for name in found.facts["dropped_columns"] if name not in recoding.columns]
    found.facts.update(released_as_is=as_is, dropped_columns=dropped, recoded=recoding.evidence)
    columns = {**found.columns, **compare_intervals(found.columns, recoding)}
    return replace(found, columns=columns, before_recoding={**found.before_recoding, **as_before})


def _both_cells(name: str, before: EncodedTable, after: EncodedTable, plan: Plan, stays: Bools | None) -> BothCells:
    """The cells of a column in both tables, in the rows that stay."""
    own, new = before.series(name), after.series(name)
    texts, as_written = before.encode(name), (own, new)
    if name in plan.columns or name in plan.masked:
        as_written = raw_cells(before, name), raw_cells(after, name)
    if as_written[0].dtype.is_float():  # a file of text had to spell a NaN, which is missing all the same
        as_written = as_written[0], alike(as_written[0].dtype, as_written[1])
    if stays is not None:
        texts, as_written = texts.keep_records(stays), (as_written[0].filter(pl.Series(stays)), as_written[1])
    return BothCells(texts, encode(alike(own.dtype, new)), as_written)


def _order_of(
    again: FrameAdapter, cells: Mapping[str, BothCells], record: PrivateRecord, origin: Origin | None
) -> Longs | None:
    """The place in the release of each row of the original; None where the order was kept.

    Only the plan and the private record of this release give the same cells again.
    """
    pairs = [(again.encode(name), one.masked) for name, one in cells.items()]
    n_rows = len(again)
    places = np.empty(n_rows, dtype=np.int64)
    places[row_order(record.seed, "order of rows", n_rows).part(0, n_rows)] = np.arange(n_rows)
    if all(_are_equal(one, found, places) for one, found in pairs):
        return places
    if not all(_are_equal(one, found, slice(None)) for one, found in pairs):
        raise foreign_record(record.other_input_than(origin))
    return None


def _are_equal(one: Column, found: Column, places: Longs | slice) -> bool:
    """Return whether a column has the cells of another one at these places."""
    return one.values == found.values and np.array_equal(one.codes, found.codes[places])


def _reorder(cells: BothCells, order: Longs) -> BothCells:
    """The released cells in the order of the original ones."""
    masked = replace(cells.masked, codes=cells.masked.codes[order])
    return replace(cells, masked=masked, written=(cells.written[0], cells.written[1].gather(order)))


def alike(dtype: pl.DataType, released: pl.Series) -> pl.Series:
    """Released cells in the type of the original ones where the release's file could not hold that.

    The number 3.0 is the text ``3.0`` in a CSV file, and a moment is written otherwise than a text of it.
    """
    if dtype == released.dtype or dtype.is_nested() or dtype in (pl.String, pl.Object):
        return released
    try:
        cells = _in_type(released, dtype)
    except pl.exceptions.PolarsError:
        return released
    return released if cells.null_count() > released.null_count() else cells


def _in_type(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Cells of another type, null where they have no such cell."""
    if cells.dtype == pl.String and isinstance(dtype, pl.Datetime):
        return cells.str.to_datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone, strict=False)
    if cells.dtype == pl.String and dtype == pl.Time:
        return cells.str.to_time("%H:%M:%S%.f", strict=False)
    return cells.cast(dtype, strict=False)


def unchecked_rows() -> ReleaseError:
    """A release whose row order cannot be checked."""
    return ReleaseError(
        "Without a column that is released as it is, it is unknown whether the rows of the release are in the order of "
        "the original; give its private record, or say that the order was kept (--same-order, same_order=True)."
    )
