"""Tables of this machine put side by side: the rows of the release in the order of the original."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.comparing.tables import Tables, comparison_of
from anonto.errors import (
    ForeignRecordError,
    ForeignReleaseError,
    MissingColumnError,
    ReleaseShapeError,
    ShuffledRowsError,
    UncheckedRowsError,
)
from anonto.risk.alignment import shows_order
from anonto.rng import row_order
from anonto.run import mask
from anonto.table.columns import encode
from anonto.table.comparison import Amounts, BothCells
from anonto.table.door import Door
from anonto.table.prepare import described, opener, rows_that_stay
from anonto.table.reading import read_table
from anonto.table.recoding import written
from anonto.table.stretches import parquet_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.private_record import PrivateRecord
    from anonto.risk.comparison import Comparison
    from anonto.rng import Seed
    from anonto.table.columns import Column
    from anonto.table.table import Origin


class Compared(Door):
    """A table whose columns are encoded once, however often it is compared and masked anew."""

    def __init__(self, table: Any, origin: Origin | None = None) -> None:
        super().__init__(table, origin=origin)
        self._columns: dict[str, Column] = {}

    def encoded(self, name: str) -> Column:
        """One column as codes."""
        if name not in self._columns:
            column = super().encoded(name)
            column.codes.flags.writeable = False  # masking anew must not write over what is used again
            self._columns[name] = column
        return self._columns[name]


def opened(table: Any, plan: Plan) -> Compared:
    """A table of this machine, or one that is open already; a file is read as the plan says."""
    if isinstance(table, Compared):
        return table
    whole = of_files(table, plan)
    if not isinstance(whole, str | os.PathLike):
        return Compared(whole)
    read = read_table(whole, **plan.reading)
    return Compared(read.frame, read.origin)


def of_files(table: Any, plan: Plan) -> Any:
    """The table of a folder, or of a pattern, of Parquet files; others as they are."""
    files = parquet_files(table) if isinstance(table, str | os.PathLike) else None
    return table if files is None else pl.concat([read_table(file, **plan.reading).frame for file in files])


def made_anew(original: Any, plan: Plan, seed: Seed) -> tuple[Any, Sequence[Setting]]:
    """The table of the release that a plan and a seed make of an original, and what its guarantees rest on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they came with the release
        release = mask(original, plan, seed=seed.number)
        return release.table, release.settings


def compared_in_memory(
    before: Compared,
    masked: Any,
    plan: Plan,
    record: PrivateRecord | None,
    *,
    same_order: bool,
    stored: bool = False,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Compare a release with its original, row by row.

    Args:
        before: The table that was masked.
        masked: Its release.
        plan: Its plan.
        record: Its private record: the release must be the one that it makes.
        same_order: Whether the rows are said to be in the order of the original.
        stored: Whether the release is as it was saved: its order is then the one that it leaves in.
        names: All columns of the release, where the table has not all of them.
    """
    after = opened(masked, plan)
    identifiers = [name for name in before.names if plan.description(name).role == "identifier"]
    expected = [name for name in before.names if name not in identifiers]
    for name in plan.masked:
        if name not in before.names:
            raise MissingColumnError(name, before.names)
    if set(after.names) != set(expected):
        raise ForeignReleaseError(
            [name for name in expected if name not in after.names],
            [name for name in after.names if name not in expected],
        )
    open_once = opener(plan.folder)
    dropping = [name for name in expected if name in plan.columns and "drop" in _policies(plan, name)]
    stays = rows_that_stay(
        {name: described(name, before.encoded(name), plan.description(name)) for name in dropping},
        plan.description,
        open_once,
    )
    rows = np.arange(len(before)) if stays is None else np.flatnonzero(stays)
    if rows.size != len(after):
        raise ReleaseShapeError(len(after), int(rows.size))
    cells = {}
    for name in expected:
        own, new = before.series(name), after.series(name)
        texts = before.encoded(name)
        is_described = name in plan.columns or name in plan.masked
        as_written = (written(before, name), written(after, name)) if is_described else (own, new)
        if as_written[0].dtype.is_float():  # a file of text had to spell a NaN, which is missing all the same
            as_written = as_written[0], _alike(as_written[0].dtype, as_written[1])
        cells[name] = BothCells(
            texts if stays is None else texts.kept(stays),
            encode(_alike(own.dtype, new)),
            (as_written[0] if stays is None else as_written[0].gather(rows), as_written[1]),
        )
    order, settings = None, None
    if record is not None:
        again, settings = made_anew(before, plan, record.seed)
        order = _order_of(Door(again, origin=after.origin), cells, record, before.origin)
    if order is not None:
        cells = {name: _reordered(one, order) for name, one in cells.items()}
    as_is = [name for name in expected if name not in plan.masked]
    for name in as_is:
        if not cells[name].are_same:
            raise ShuffledRowsError(name)
    amounts = Amounts.of_rows(rows.size, rows.size)
    codes = [cells[name].original.codes for name in as_is]
    in_order = record is not None or same_order or shows_order(codes, amounts.original)
    if not in_order and isinstance(masked, str | os.PathLike):
        raise UncheckedRowsError
    tables = Tables(
        cells=cells,
        amounts=amounts,
        identifiers=identifiers,
        rows=rows,
        n_before=len(before),
        n_after=len(after),
        names=names or after.names,
        in_order=in_order,
        kept_order=stored and in_order and order is None and len(after) > 1,
        settings=settings,
    )
    return comparison_of(tables, plan, open_once)


def _policies(plan: Plan, name: str) -> tuple[str, str]:
    description = plan.description(name)
    return description.missing, description.unmatched


def _order_of(
    again: Door, cells: Mapping[str, BothCells], record: PrivateRecord, origin: Origin | None
) -> NDArray[np.int64] | None:
    """For each row of the original the place of its row in the release; None where the order was kept.

    Only the plan and the private record of this release give the same cells again.
    """
    pairs = [(again.encoded(name), one.masked) for name, one in cells.items()]
    n_rows = len(again)
    places = np.empty(n_rows, dtype=np.int64)
    places[row_order(record.seed, "order of rows", n_rows).part(0, n_rows)] = np.arange(n_rows)
    if all(_are_equal(one, found, places) for one, found in pairs):
        return places
    if not all(_are_equal(one, found, slice(None)) for one, found in pairs):
        raise ForeignRecordError(record.other_input_than(origin))
    return None


def _are_equal(one: Column, found: Column, places: NDArray[np.int64] | slice) -> bool:
    """Whether a column has the cells of another one at these places."""
    return one.values == found.values and np.array_equal(one.codes, found.codes[places])


def _reordered(cells: BothCells, order: NDArray[np.int64]) -> BothCells:
    """The released cells in the order of the original ones."""
    masked = replace(cells.masked, codes=cells.masked.codes[order])
    return replace(cells, masked=masked, written=(cells.written[0], cells.written[1].gather(order)))


def _alike(dtype: pl.DataType, released: pl.Series) -> pl.Series:
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
