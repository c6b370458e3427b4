"""Table files of every format, told apart by their content."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import EmptyFileError, NotARegularFileError, NotATableError
from anonto.ontology.source import kind_of_path, opened

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from anonto.table.table import Table, TableFormat

_HEAD_BYTES = 64
_ZIP_MAGIC = b"PK\x03\x04"
UNREADABLE_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)
"""What Python raises over a zip archive that is damaged, encrypted or of a later version."""
_MAGIC: tuple[tuple[bytes, TableFormat], ...] = (
    (b"PAR1", "parquet"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"<stata_dta>", "stata"),
    (b"HEADER RECORD*******LIB", "sas"),
    (bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", "sas"),
)


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header: str | None = None,
    names: Collection[str] = (),
    apart: Collection[str] = (),
) -> Table:
    """Read a table.

    Args:
        path: A CSV file (plain or in gzip), or one of Parquet, Excel, SPSS, Stata or SAS, whatever its name.
        delimiter: What stands between the cells of a CSV file; detected when None.
        encoding: The character set of a CSV file; detected when None.
        sheet: The sheet of a workbook; the first when None.
        header: ``"names"`` where the first row of a CSV file or a workbook holds names though they look like values.
        names: Names of columns that are known; a first row that has one of them holds names.
        apart: Columns of text that may stay in the file, where its format allows that, to be read in stretches.
    """
    found = table_format(path)
    file = Path(path)
    if found == "csv":
        from anonto.table.csv_files import read_csv

        return read_csv(file, delimiter=delimiter, encoding=encoding, header=header, names=names)
    if found == "parquet":
        from anonto.table.parquet_files import read_parquet

        return read_parquet(file, apart)
    if found == "excel":
        from anonto.table.excel_files import read_excel

        return read_excel(file, sheet, header=header, names=names)
    from anonto.table.stat_files import read_stat

    return read_stat(file, found)


def table_format(path: str | os.PathLike[str]) -> TableFormat:
    """The format of a file by its first bytes; what is none of the others is taken for CSV."""
    file = Path(path)
    if file_or_folder(path) == "folder":
        raise NotATableError(str(path), "a folder")
    with opened(file) as stream:
        head = stream.read(_HEAD_BYTES)
    if not head:
        raise EmptyFileError(file.name)
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return found
    if head.startswith(_ZIP_MAGIC) and _is_workbook(file):
        return "excel"
    return "stata" if _is_old_stata(head) else "csv"


def file_or_folder(path: str | os.PathLike[str]) -> str:
    """``"file"`` or ``"folder"``, for what is to hold a table."""
    try:
        return kind_of_path(path)
    except NotARegularFileError:
        raise NotATableError(str(path), "a pipe or a device") from None


def _is_workbook(file: Path) -> bool:
    """Whether a zip archive is a workbook of Excel or of an office suite with open documents."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            return any(name.startswith("xl/workbook.") for name in names) or "content.xml" in names
    except UNREADABLE_ARCHIVE:
        return True  # a damaged archive is refused by the reader of workbooks, in its words


def _is_old_stata(head: bytes) -> bool:
    """Stata before 13: release, byte order (1 or 2), file type 1, a zero."""
    return len(head) > 4 and 104 <= head[0] <= 115 and head[1] in {1, 2} and head[2] == 1 and head[3] == 0
