"""One column out of a table file, as text: codes keep their zeros, empty cells are missing."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AllMissingError, MalformedFileError, MissingColumnError
from anonto.ontology.source import decoded, kind_of_path, opened, read_unpacked

if TYPE_CHECKING:
    import os

    import polars as pl

DELIMITERS = ",;\t|"
PARQUET_MAGIC = b"PAR1"


def read_text_column(path: str | os.PathLike[str], name: str, na: tuple[str, ...] = ()) -> pl.Series:
    """Read one column of a CSV (also gzipped) or Parquet file.

    Args:
        path: The table.
        name: The column.
        na: Texts that mean missing, besides the empty cell.
    """
    kind = kind_of_path(path)
    file = Path(path)
    if kind == "folder":
        raise MalformedFileError(file.name, "table", "it is a folder; give one file")
    with opened(file) as stream:
        is_parquet = stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    column = _from_parquet(file, name) if is_parquet else _from_csv(file, name)
    missing = column.is_in(["", *na])
    return column.set(missing.fill_null(value=False), None)


def _from_parquet(file: Path, name: str) -> pl.Series:
    import polars as pl

    from anonto.table.columns import as_text_series

    try:
        names = list(pl.read_parquet_schema(file))
        if name not in names:
            raise MissingColumnError(name, names)
        return as_text_series(pl.read_parquet(file, columns=[name])[name]).cast(pl.String)
    except (pl.exceptions.ComputeError, OSError):
        raise MalformedFileError(file.name, "Parquet", "it cannot be decoded") from None


def _from_csv(file: Path, name: str) -> pl.Series:
    import polars as pl

    text = decoded(read_unpacked(file), file.name)
    first_line = text[: text.find("\n") + 1 or len(text)].rstrip("\n")
    delimiter = max(DELIMITERS, key=first_line.count)
    names = next(csv.reader([first_line], delimiter=delimiter))
    if name not in names:
        raise MissingColumnError(name, names)
    try:
        frame = pl.read_csv(text.encode(), separator=delimiter, infer_schema=False, has_header=True)
    except pl.exceptions.NoDataError:
        raise AllMissingError(0, name) from None
    except pl.exceptions.ComputeError:
        raise MalformedFileError(file.name, "CSV", "its rows do not all have as many cells as its header") from None
    return frame.to_series(names.index(name))
