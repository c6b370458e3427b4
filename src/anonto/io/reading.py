"""Readers of table files; the format is recognised by content."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.io.refusals import not_a_table
from anonto.ontology.refusals import empty_file
from anonto.ontology.source import kind_of_path, open_file

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from anonto.io.table import Table, TableFormat

_HEAD_BYTES = 64
_ZIP_MAGIC = b"PK\x03\x04"
UNREADABLE_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)
"""Exceptions of Python for a zip archive that is damaged, encrypted or of a later version."""
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
        path: A CSV (plain or gzipped), Parquet, Excel, SPSS, Stata or SAS file, whatever its name.
        delimiter: The delimiter of a CSV file; detected if None.
        encoding: The character set of a CSV file; detected if None.
        sheet: The sheet of a workbook; the first if None.
        header: ``"names"`` if the first row of a CSV file or workbook holds names that look like values.
        names: Known names of columns; a first row with one of them holds names.
        apart: Columns of text to leave in the file and read in batches, if its format allows that.
    """
    found = table_format(path)
    file = Path(path)
    if found == "csv":
        from anonto.io.csv_files import read_csv

        return read_csv(file, delimiter=delimiter, encoding=encoding, header=header, names=names)
    if found == "parquet":
        from anonto.io.parquet_files import read_parquet

        return read_parquet(file, apart)
    if found == "excel":
        from anonto.io.excel_files import read_excel

        return read_excel(file, sheet, header=header, names=names)
    from anonto.io.stat_files import read_stat

    return read_stat(file, found)


def table_format(path: str | os.PathLike[str]) -> TableFormat:
    """The format of a file by its first bytes; CSV if it is none of the others."""
    file = Path(path)
    if file_or_folder(path) == "folder":
        raise not_a_table(str(path), "a folder")
    with open_file(file) as stream:
        head = stream.read(_HEAD_BYTES)
    if not head:
        raise empty_file(file.name)
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return found
    if head.startswith(_ZIP_MAGIC) and _is_workbook(file):
        return "excel"
    return "stata" if _is_old_stata(head) else "csv"


def file_or_folder(path: str | os.PathLike[str]) -> str:
    """``"file"`` or ``"folder"``; anything else cannot hold a table."""
    return kind_of_path(path, lambda name: not_a_table(name, "a pipe or a device"))


def _is_workbook(file: Path) -> bool:
    """Return whether a zip archive is a workbook of Excel or of an office suite with open documents."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            return any(name.startswith("xl/workbook.") for name in names) or "content.xml" in names
    except UNREADABLE_ARCHIVE:
        return True  # the reader of workbooks refuses a damaged archive with its own message


def _is_old_stata(head: bytes) -> bool:
    """Stata before 13: release, byte order (1 or 2), file type 1, a zero."""
    return len(head) > 4 and 104 <= head[0] <= 115 and head[1] in {1, 2} and head[2] == 1 and head[3] == 0
