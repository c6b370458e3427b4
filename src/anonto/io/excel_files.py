"""Excel workbooks: one sheet, with the names in its first row.

Excel has doubles, texts, booleans and datetimes. A column of integral numbers is read as integers, datetimes that are
all at midnight as dates, datetimes of day zero as times of day; a column of several types is read as text.
"""

from __future__ import annotations

import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from anonto.errors import AnontoWarning, FileError, MalformedFileError, MissingPackageError
from anonto.io.decoder import UndecodableError, decode_apart
from anonto.io.headers import RECORDS_LOOKED_AT, refuse_record_as_header
from anonto.io.reading import UNREADABLE_ARCHIVE
from anonto.io.refusals import unsupported_columns
from anonto.io.table import Origin, Table, refuse_bad_names
from anonto.io.type_coercion import LARGEST_EXACT, double_columns
from anonto.ontology.refusals import empty_file, oversized_archive
from anonto.ontology.source import CHUNK_BYTES, MAX_EXPANSION_RATIO, UNSUSPICIOUS_BYTES, file_sha256
from anonto.wording import count_of, did_you_mean, list_names

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import polars as pl

MAX_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 1_048_576, 16_384, 32_767
FIRST_DAY = dt.date(1900, 3, 1)
"""Excel counts a 29 February 1900 that never existed; datetimes before March 1900 are written as text."""
DAY_ZERO = dt.date(1899, 12, 31)
CREATED = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
UNSUSPICIOUS_CELLS, CELLS_PER_BYTE = 5_000_000, 10
"""A sheet may span this many cells, or more in proportion to the size of its file."""
LONGEST_PLACE = 24
_CELL = re.compile(rb' r="([A-Za-z]{1,7})(\d{1,10})"')
DEFAULT_SHEET = "Sheet1"
SPELLINGS = {"date": "yyyy-mm-dd", "moment": "yyyy-mm-dd hh:mm:ss.000", "time": "hh:mm:ss.000", "span": "[h]:mm:ss.000"}


# ---------------------------------------------------------------------------------------------- reading


def read_excel(
    path: Path, sheet: str | None = None, *, header: str | None = None, names: Collection[str] = ()
) -> Table:
    """Read one sheet of a workbook, by default the first."""
    try:
        import fastexcel  # noqa: F401 - used in the decoder
    except ImportError:
        raise MissingPackageError("Reading Excel workbooks", "fastexcel", "excel") from None
    _refuse_expansion(path)
    try:
        found = decode_apart(decode_sheet, path.absolute(), sheet, n_bytes=path.stat().st_size)
    except UndecodableError as error:
        _refuse_far_cells(*_span_of_parts(path), path)
        reason = error.reason("it cannot be decoded; it may be damaged or encrypted")
        raise MalformedFileError(path.name, "Excel", reason) from None
    if not found.sheets:
        raise empty_file(path.name)
    if found.chosen is None:
        raise missing_sheet(path.name, str(sheet), found.sheets)
    _refuse_far_cells(found.n_rows, found.n_columns, path)
    if found.head is None or found.frame is None:
        raise empty_file(path.name)
    own_names = list(found.head.row(0))
    refuse_record_as_header(own_names, found.head[1:], path.name, confirmed=header, names=names)
    refuse_bad_names(own_names, path.name)
    frame = found.frame
    frame.columns = own_names
    frame = frame.with_columns([_narrow(column) for column in frame.iter_columns()])
    origin = Origin(
        name=path.name, format="excel", sha256=file_sha256(path), sheet=found.chosen, files=(path.resolve(),)
    )
    return Table(frame, origin)


class DecodedSheet(NamedTuple):
    """A decoded sheet; parts that were not found are None."""

    sheets: list[str]
    chosen: str | None = None
    n_rows: int = 0
    n_columns: int = 0
    head: pl.DataFrame | None = None
    """The first rows as texts, names included."""
    frame: pl.DataFrame | None = None


def decode_sheet(path: Path, sheet: str | None) -> DecodedSheet:
    """Decode a sheet; only called in the decoder process, because it may take all memory."""
    import fastexcel

    workbook = fastexcel.read_excel(path)
    sheets = workbook.sheet_names
    chosen = next((one for one in sheets if sheet in {None, one}), None)
    if chosen is None:
        return DecodedSheet(sheets)
    first = workbook.load_sheet(chosen, header_row=None, n_rows=1 + RECORDS_LOOKED_AT, dtypes="string")
    found = DecodedSheet(sheets, chosen, first.total_height, first.width)
    if _is_far(found.n_rows, found.n_columns, path):
        return found
    head = first.to_polars()
    if not head.height:
        return found
    frame = workbook.load_sheet(chosen, header_row=0, schema_sample_rows=None).to_polars()
    return found._replace(head=head, frame=frame)


def _is_far(n_rows: int, n_columns: int, path: Path) -> bool:
    """Return whether a sheet spans more cells than Excel allows or than a file of that size can have."""
    most_cells = max(UNSUSPICIOUS_CELLS, CELLS_PER_BYTE * path.stat().st_size)
    return n_rows > MAX_ROWS or n_columns > MAX_COLUMNS or n_rows * n_columns > most_cells


def _refuse_far_cells(n_rows: int, n_columns: int, path: Path) -> None:
    if _is_far(n_rows, n_columns, path):
        raise far_cells(path.name, n_rows, n_columns)


def _refuse_expansion(path: Path) -> None:
    """Refuse a workbook that unpacks to far more than its size."""
    most = max(UNSUSPICIOUS_BYTES, MAX_EXPANSION_RATIO * path.stat().st_size)
    n_bytes = 0
    with suppress(*UNREADABLE_ARCHIVE), zipfile.ZipFile(path) as archive:
        n_bytes = sum(part.file_size for part in archive.infolist())
    if n_bytes > most:
        raise oversized_archive(path.name, f"{MAX_EXPANSION_RATIO} times its size")


def _span_of_parts(path: Path) -> tuple[int, int]:
    """The farthest row and column of any sheet, for a workbook that could not be decoded."""
    n_rows = n_columns = 0
    with suppress(*UNREADABLE_ARCHIVE), zipfile.ZipFile(path) as archive:
        for part in archive.namelist():
            if not part.startswith("xl/worksheets/"):
                continue
            with archive.open(part) as stream:
                rest = b""
                while chunk := stream.read(CHUNK_BYTES):
                    for letters, digits in _CELL.findall(rest + chunk):
                        n_rows = max(n_rows, int(digits))
                        n_columns = max(n_columns, _column_number(letters))
                    rest = chunk[-LONGEST_PLACE:]
    return n_rows, n_columns


def _column_number(letters: bytes) -> int:
    """The number of a column by its letters: ``A`` is 1, ``XFD`` is 16,384."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _narrow(column: pl.Series) -> pl.Series:
    """Integral numbers as integers, midnights as dates, datetimes of day zero as times."""
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
    """Write one sheet; the same table gives the same bytes, without an author or a date."""
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
    """The frame as a sheet can hold it: datetimes before Excel's calendar as text, NaN as missing."""
    import polars as pl

    if frame.height >= MAX_ROWS or frame.width > MAX_COLUMNS:
        raise table_too_large(name, "Excel", frame.height, frame.width)
    frame = double_columns(frame, name, "Excel")
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    too_long = [column.name for column in texts if _has_too_long(column)]
    if too_long:
        raise unsupported_columns(name, "Excel", too_long, f"texts of more than {MAX_CELL_LENGTH:,} characters")
    changes = [c.cast(pl.String) for c in frame.iter_columns() if c.dtype in {pl.Date, pl.Datetime} and _is_early(c)]
    changes += [c.fill_nan(None) for c in frame.iter_columns() if c.dtype.is_float()]
    frame = frame.with_columns(changes)
    if lost := _empty_tail(frame):
        warnings.warn(lost_records(name, lost), stacklevel=4)
    return frame


def _has_too_long(texts: pl.Series) -> bool:
    suspects = texts.filter(texts.str.len_bytes() > MAX_CELL_LENGTH)
    return any(len(text.encode("utf-16-le")) // 2 > MAX_CELL_LENGTH for text in suspects)


def _is_early(moments: pl.Series) -> bool:
    first = moments.min()
    first = first.date() if isinstance(first, dt.datetime) else first
    return isinstance(first, dt.date) and first < FIRST_DAY


def _empty_tail(frame: pl.DataFrame) -> int:
    """The number of records at the end without any value."""
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
    """A worksheet that writes all digits of a number: the library's own stops at the sixteenth."""
    from xlsxwriter.worksheet import Worksheet

    class ExactWorksheet(Worksheet):  # type: ignore[misc]
        def _xml_number_element(self, number: float, attributes: Any = ()) -> None:
            spelled = "".join(f' {key}="{value}"' for key, value in attributes)
            self.fh.write(f"<c{spelled}><v>{repr(number).removesuffix('.0')}</v></c>")

    return ExactWorksheet


def far_cells(name: str, n_rows: int, n_columns: int) -> FileError:
    """A sheet that spans far more cells than its file can have."""
    return FileError(
        f"The sheet of {name!r} spans {n_rows:,} rows and {n_columns:,} columns, nearly all of them empty; "
        "delete the cells that lie far from the others, or save the table as CSV."
    )


def missing_sheet(name: str, sheet: str, sheets: Collection[str]) -> FileError:
    """A sheet that the workbook does not have."""
    return FileError(
        f"{name!r} has no sheet {sheet!r}{did_you_mean(sheet, sheets)}; its sheets are "
        f"{list_names(repr(one) for one in sheets)}."
    )


def table_too_large(name: str, format_name: str, n_records: int, n_columns: int) -> FileError:
    """More records or columns than the output's format can store."""
    return FileError(
        f"{count_of(n_records, 'record')} of {count_of(n_columns, 'column')} do not fit into {name!r}: "
        f"{format_name} has no room for them; write Parquet or CSV."
    )


def lost_records(name: str, n_records: int) -> AnontoWarning:
    """Records at the end of a worksheet that have no value at all."""
    return AnontoWarning(
        f"The last {count_of(n_records, 'record')} of {name!r} {'has' if n_records == 1 else 'have'} no value; "
        "Excel does not keep such records, so write CSV or Parquet to keep them."
    )
