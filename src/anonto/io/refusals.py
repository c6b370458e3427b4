"""Errors and warnings that several readers and writers of tables share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import AnontoWarning, ColumnError, FileError
from anonto.wording import count_of, list_names, quote_names

if TYPE_CHECKING:
    from collections.abc import Collection


TABLE_FORMATS = "CSV (plain or in gzip), Parquet, Excel, SPSS, Stata or SAS"


def not_a_table(name: str, what: str) -> FileError:
    """A folder, a pipe or a device instead of a table."""
    return FileError(f"{name!r} is {what}, not a table; give a file in the format {TABLE_FORMATS}.")


def binary_table(name: str, kind: str = "binary data") -> FileError:
    """A binary file that is not in one of the table formats."""
    return FileError(
        f"{name!r} is not a table in a known format (it looks like {kind}); give a file in the format {TABLE_FORMATS}."
    )


def no_tables(path: str) -> FileError:
    """A folder or a pattern without Parquet files."""
    return FileError(
        f"{path!r} is not a file and has no Parquet files (.parquet); give a folder or a pattern with some, or one "
        f"file in the format {TABLE_FORMATS}."
    )


def unnamed_columns(name: str, positions: Collection[int]) -> FileError:
    """Columns without a name."""
    return FileError(
        f"{name!r} has {count_of(len(positions), 'column')} without a name (number "
        f"{list_names(str(n) for n in positions)}); name every column in the first record."
    )


def unsupported_columns(name: str, format_name: str, columns: Collection[str], fault: str) -> ColumnError:
    """Columns that the output's format cannot store."""
    verb = "contains" if len(columns) == 1 else "contain"
    return ColumnError(
        f"{count_of(len(columns), 'column')} cannot be written to {name!r}: {quote_names(columns)} {verb} {fault}, "
        f"which {format_name} does not support; drop them or write Parquet."
    )


def changed_file(name: str) -> FileError:
    """A file that changed between two reads."""
    return FileError(f"{name!r} changed while it was being masked; nothing was written: start again.")


def assumed_encoding(name: str) -> AnontoWarning:
    """A text file whose character set is not clear from its bytes."""
    return AnontoWarning(f"{name!r} is not UTF-8 and was read as Windows-1252; give its encoding if that is wrong.")
