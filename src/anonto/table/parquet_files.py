"""Parquet files: types are kept, and nothing about the cells stands outside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError, UnholdableColumnsError, UnreadableFileError
from anonto.ontology.source import file_sha256
from anonto.table.table import Origin, Table

if TYPE_CHECKING:
    from pathlib import Path


def read_parquet(path: Path) -> Table:
    """Read a Parquet file with its types."""
    import polars as pl

    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except pl.exceptions.PolarsError:
        raise MalformedFileError(path.name, "Parquet", "it cannot be decoded") from None
    except OSError as error:
        raise UnreadableFileError(str(path), error.strerror or "unknown reason") from None
    return Table(frame, Origin(name=path.name, format="parquet", sha256=file_sha256(path)))


def write_parquet(table: Table, path: Path, name: str) -> None:
    """Write a Parquet file without statistics: the least and the greatest value of a column are cells of it."""
    import polars as pl

    objects = [column for column, dtype in table.frame.schema.items() if dtype == pl.Object]
    if objects:
        raise UnholdableColumnsError(name, "Parquet", objects, "objects of no one type")
    table.frame.write_parquet(path, compression="zstd", statistics=False)
