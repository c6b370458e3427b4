"""Excel workbooks: one sheet, its first row the names.

Excel knows doubles, texts, truth values and moments. Numbers that are all whole come as integers, moments that are
all at midnight as dates, moments of day zero as times of day; a column of several types comes as text.
"""

from __future__ import annotations

import datetime as dt
import logging
import warnings
from typing import TYPE_CHECKING, Any

from anonto.errors import (
    EmptyFileError,
    LostRecordsWarning,
    MalformedFileError,
    MissingPackageError,
    MissingSheetError,
    TableTooLargeError,
    UnholdableColumnsError,
)
from anonto.ontology.source import file_sha256
from anonto.table.headers import RECORDS_LOOKED_AT, refuse_record_as_header
from anonto.table.holding import LARGEST_EXACT, double_columns
from anonto.table.table import Origin, Table, refuse_bad_names

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import polars as pl

MAX_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 1_048_576, 16_384, 32_767
FIRST_DAY = dt.date(1900, 3, 1)
"""Excel counts a 29 February 1900 that never was; moments before March 1900 are not exact and go out as text."""
DAY_ZERO = dt.date(1899, 12, 31)
CREATED = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
DEFAULT_SHEET = "Sheet1"
SPELLINGS = {"date": "yyyy-mm-dd", "moment": "yyyy-mm-dd hh:mm:ss.000", "time": "hh:mm:ss.000", "span": "[h]:mm:ss.000"}


# ---------------------------------------------------------------------------------------------- reading


def read_excel(
    path: Path, sheet: str | None = None, *, header: str | None = None, names: Collection[str] = ()
) -> Table:
    """Read one sheet of a workbook, the first when none is named."""
    try:
        import fastexcel
    except ImportError:
        raise MissingPackageError("Reading Excel workbooks", "fastexcel", "excel") from None
    # Without a handler, its note about a column without cells would reach the terminal.
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    try:
        workbook = fastexcel.read_excel(path)
        sheets = workbook.sheet_names
        if not sheets:
            raise EmptyFileError(path.name)
        if sheet is not None and sheet not in sheets:
            raise MissingSheetError(path.name, sheet, sheets)
        chosen = sheets[0] if sheet is None else sheet
        frame = _frame(workbook, chosen, path.name, header, names)
    except fastexcel.FastExcelError:
        raise MalformedFileError(path.name, "Excel", "it cannot be decoded; it may be damaged or encrypted") from None
    sha256 = file_sha256(path)
    return Table(frame, Origin(name=path.name, format="excel", sha256=sha256, sheet=chosen, files=(path.resolve(),)))


def _frame(workbook: Any, sheet: str, name: str, header: str | None, known: Collection[str]) -> pl.DataFrame:
    first = workbook.load_sheet(sheet, header_row=None, n_rows=1 + RECORDS_LOOKED_AT, dtypes="string").to_polars()
    if not first.height:
        raise EmptyFileError(name)
    names = list(first.row(0))
    refuse_record_as_header(names, first[1:], name, confirmed=header, names=known)
    refuse_bad_names(names, name)
    frame: pl.DataFrame = workbook.load_sheet(sheet, header_row=0, schema_sample_rows=None).to_polars()
    frame.columns = names
    return frame.with_columns([_narrowed(column) for column in frame.iter_columns()])


def _narrowed(column: pl.Series) -> pl.Series:
    """Whole numbers as integers, midnights as dates, moments of day zero as times."""
    import polars as pl

    cells = column.drop_nulls()
    if cells.is_empty():
        return column
    if column.dtype == pl.Float64 and (cells.is_finite() & (cells.abs() <= LARGEST_EXACT)).all():
        return column.cast(pl.Int64) if (cells == cells.round()).all() else column
    if isinstance(column.dtype, pl.Datetime):
        if (cells.dt.date() == DAY_ZERO).all():
            return column.dt.time()
        if (cells.dt.time() == dt.time()).all():
            return column.dt.date()
    return column


# ---------------------------------------------------------------------------------------------- writing


def write_excel(table: Table, path: Path, name: str) -> None:
    """Write one sheet; the same table gives the same bytes, which name no author and no day."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingPackageError("Writing Excel workbooks", "xlsxwriter", "excel") from None
    frame = _holdable(table.frame, name)
    options = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_urls": False, "strings_to_formulas": False}
    workbook = xlsxwriter.Workbook(str(path), options)
    workbook.set_properties({"created": CREATED})
    sheet = workbook.add_worksheet(table.origin.sheet or DEFAULT_SHEET, _exact_worksheet())
    spellings = {kind: workbook.add_format({"num_format": spelling}) for kind, spelling in SPELLINGS.items()}
    for position, column in enumerate(frame.iter_columns()):
        sheet.write_string(0, position, column.name)
        _write_column(sheet, position, column, spellings)
    workbook.close()


def _holdable(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame as a sheet can hold it: moments before Excel's calendar as text, NaN as missing."""
    import polars as pl

    if frame.height >= MAX_ROWS or frame.width > MAX_COLUMNS:
        raise TableTooLargeError(name, "Excel", frame.height, frame.width)
    frame = double_columns(frame, name, "Excel")
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    too_long = [column.name for column in texts if _has_too_long(column)]
    if too_long:
        raise UnholdableColumnsError(name, "Excel", too_long, f"texts of more than {MAX_CELL_LENGTH:,} characters")
    changes = [c.cast(pl.String) for c in frame.iter_columns() if c.dtype in {pl.Date, pl.Datetime} and _is_early(c)]
    changes += [c.fill_nan(None) for c in frame.iter_columns() if c.dtype.is_float()]
    frame = frame.with_columns(changes)
    if lost := _empty_tail(frame):
        warnings.warn(LostRecordsWarning(name, lost), stacklevel=4)
    return frame


def _has_too_long(texts: pl.Series) -> bool:
    suspects = texts.filter(texts.str.len_bytes() > MAX_CELL_LENGTH)
    return any(len(text.encode("utf-16-le")) // 2 > MAX_CELL_LENGTH for text in suspects)


def _is_early(moments: pl.Series) -> bool:
    first = moments.min()
    first = first.date() if isinstance(first, dt.datetime) else first
    return isinstance(first, dt.date) and first < FIRST_DAY


def _empty_tail(frame: pl.DataFrame) -> int:
    """How many records at the end have no value at all."""
    import polars as pl

    if not frame.height:
        return 0
    has_value = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().reverse()
    return int(has_value.arg_max() or 0) if has_value.any() else frame.height


def _write_column(sheet: Any, position: int, column: pl.Series, spellings: dict[str, Any]) -> None:
    import polars as pl

    kinds = {pl.Date: "date", pl.Datetime: "moment", pl.Time: "time", pl.Duration: "span"}
    kind = next((kind for dtype, kind in kinds.items() if column.dtype == dtype), None)
    if kind is not None:
        _write_cells(column, lambda row, cell: sheet.write_datetime(row, position, cell, spellings[kind]))
    elif column.dtype == pl.String:
        _write_cells(column, lambda row, cell: sheet.write_string(row, position, cell))
    elif column.dtype == pl.Boolean:
        _write_cells(column, lambda row, cell: sheet.write_boolean(row, position, cell))
    else:
        _write_cells(column, lambda row, cell: sheet.write_number(row, position, cell))


def _write_cells(column: pl.Series, write: Any) -> None:
    for row, cell in enumerate(column, start=1):
        if cell is not None:
            write(row, cell)


def _exact_worksheet() -> type[Any]:
    """A worksheet that spells every digit of a number: the library's own stops at the sixteenth."""
    from xlsxwriter.worksheet import Worksheet

    class ExactWorksheet(Worksheet):  # type: ignore[misc]
        def _xml_number_element(self, number: float, attributes: Any = ()) -> None:
            spelled = "".join(f' {key}="{value}"' for key, value in attributes)
            self.fh.write(f"<c{spelled}><v>{repr(number).removesuffix('.0')}</v></c>")

    return ExactWorksheet
