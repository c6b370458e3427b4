"""Parquet files: types are kept, and nothing about the cells stands outside them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.errors import MalformedFileError, UnholdableColumnsError, UnreadableFileError
from anonto.ontology.source import file_sha256
from anonto.table.columns import TextBatches
from anonto.table.table import Origin, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    import polars as pl

ROWS_AT_ONCE = 1 << 18


def read_parquet(path: Path, apart: Collection[str] = ()) -> Table:
    """Read a Parquet file with its types.

    Args:
        path: The file.
        apart: Columns that are to be left in the file, and read a stretch at a time, if they hold text.
    """
    import polars as pl

    try:
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = scan.collect_schema()
        left = [name for name, dtype in schema.items() if name in apart and dtype == pl.String]
        frame = scan.drop(left).collect()
        n_rows = int(scan.select(pl.len()).collect().item()) if left else frame.height
    except pl.exceptions.PolarsError:
        raise MalformedFileError(path.name, "Parquet", "it cannot be decoded") from None
    except OSError as error:
        raise UnreadableFileError(str(path), error.strerror or "unknown reason") from None
    batches = {name: TextBatches(n_rows, partial(_batches, path, scan, name)) for name in left}
    origin = Origin(name=path.name, format="parquet", sha256=file_sha256(path))
    return Table(frame, origin, batches, tuple(schema))


def _batches(path: Path, scan: pl.LazyFrame, name: str) -> Iterator[pl.Series]:
    import polars as pl

    try:
        for batch in scan.select(name).collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
            yield batch[name]
    except pl.exceptions.PolarsError:
        raise MalformedFileError(path.name, "Parquet", "it cannot be decoded") from None


def write_parquet(table: Table, path: Path, name: str) -> None:
    """Write a Parquet file without statistics: the least and the greatest value of a column are cells of it."""
    _refuse_objects(table.frame.schema, name)
    table.frame.write_parquet(path, compression="zstd", compression_level=1, statistics=False)


def sink_parquet(
    parts: Callable[[], Iterator[pl.DataFrame]], path: Path, name: str, row_group_size: int | None = None
) -> None:
    """Write a Parquet file, likewise without statistics, from stretches of a table as they are made.

    Whole row groups are held; None for rows as polars puts them together.
    """
    from polars.io.plugins import register_io_source

    made = parts()
    first = next(made)
    _refuse_objects(first.schema, name)
    failed: list[Exception] = []

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        yield first
        try:
            yield from made
        except Exception as error:
            failed.append(error)
            raise

    stretches = register_io_source(source, schema=first.schema, is_pure=False)
    try:
        stretches.sink_parquet(
            path,
            compression="zstd",
            compression_level=1,
            statistics=False,
            maintain_order=True,
            row_group_size=row_group_size,
        )
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _refuse_objects(schema: Mapping[str, Any], name: str) -> None:
    import polars as pl

    objects = [column for column, dtype in schema.items() if dtype == pl.Object]
    if objects:
        raise UnholdableColumnsError(name, "Parquet", objects, "objects of no one type")
