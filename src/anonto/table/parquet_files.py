"""Parquet files: types are kept, and nothing about the cells stands outside them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import (
    ChangedFileError,
    FileError,
    MalformedFileError,
    UnholdableColumnsError,
    UnreadableFileError,
    WideDecimalsError,
)
from anonto.ontology.source import file_sha256, sign
from anonto.table.limits import MOST_DIGITS, wide_decimals
from anonto.table.parquet_trial import UNDECODABLE, require_decodable
from anonto.table.table import Origin, Table, TextBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    import polars as pl

ROWS_AT_ONCE = 1 << 18
MOST_ROWS_OF_GROUP, FEWEST_ROWS_OF_GROUP, CELLS_OF_GROUP = 1 << 18, 1 << 12, 1 << 19


def read_parquet(path: Path, apart: Collection[str] = ()) -> Table:
    """Read a Parquet file with its types.

    Args:
        path: The file.
        apart: Columns that are to be left in the file, and read a stretch at a time, if they hold text.
    """
    import polars as pl

    require_decodable([path])
    before = sign(path)
    with decoding(str(path)):
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = scan.collect_schema()
        refuse_wide_decimals(schema, path.name)
        left = [name for name, dtype in schema.items() if name in apart and dtype == pl.String]
        frame = scan.drop(left).collect()
        n_rows = int(scan.select(pl.len()).collect().item()) if left else frame.height
    batches = {name: TextBatches(n_rows, partial(_batches, path, before, scan, name, n_rows)) for name in left}
    origin = Origin(
        name=path.name,
        format="parquet",
        sha256=file_sha256(path),
        retyped=retyped(path, schema),
        files=(path.resolve(),),
    )
    if sign(path) != before:
        raise ChangedFileError(path.name)
    return Table(frame, origin, batches, tuple(schema))


def _batches(
    path: Path, before: tuple[int, int, int], scan: pl.LazyFrame, name: str, n_rows: int
) -> Iterator[pl.Series]:
    """The column a stretch at a time; refused at the end if the file is no longer the one that was opened."""
    seen = 0
    try:
        with decoding(path.name):
            for batch in scan.select(name).collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
                seen += batch.height
                yield batch[name]
    except FileError:
        if sign(path) != before:
            raise ChangedFileError(path.name) from None
        raise
    if seen != n_rows or sign(path) != before:
        raise ChangedFileError(path.name)


@contextmanager
def decoding(name: str) -> Iterator[None]:
    """Turn what polars says of a damaged file into a sentence; its own may show cells."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise MalformedFileError(Path(name).name, "Parquet", UNDECODABLE) from None
    except OSError as error:
        raise UnreadableFileError(name, error.strerror or "unknown reason") from None


def refuse_wide_decimals(schema: Mapping[str, pl.DataType], name: str) -> None:
    """Refuse decimals that are too wide, before polars calls their file damaged."""
    if wide := wide_decimals(schema):
        raise WideDecimalsError(name, wide, MOST_DIGITS)


def retyped(path: Path, schema: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Columns that are read with their values but written with another type, as far as pyarrow is there to tell.

    These are times of day that are not stored in nanoseconds, and bytes of a fixed length.
    """
    import polars as pl

    suspects = [name for name, dtype in schema.items() if dtype in (pl.Time, pl.Binary)]
    if not suspects:
        return ()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return ()
    try:
        stored = pq.ParquetFile(path).schema
    except (pa.ArrowException, OSError):  # pyarrow is stricter than polars
        return ()
    found = {stored.column(place).path: stored.column(place) for place in range(len(stored))}
    kept = {name: stored.to_arrow_schema().field(name).type for name in suspects if name in found}
    times = [name for name, kind in kept.items() if pa.types.is_time(kind) and kind != pa.time64("ns")]
    fixed = [name for name in kept if found[name].physical_type == "FIXED_LEN_BYTE_ARRAY"]
    return tuple(name for name in suspects if name in {*times, *fixed})


def write_parquet(table: Table, path: Path, name: str) -> None:
    """Write a Parquet file without statistics: the least and the greatest value of a column are cells of it."""
    sink_parquet(lambda: iter([table.frame]), path, name)


def sink_parquet(parts: Callable[[], Iterator[pl.DataFrame]], path: Path, name: str) -> None:
    """Write a Parquet file, likewise without statistics, from stretches of a table as they are made.

    Row groups are cut by the number of columns alone, so that the file does not tell how long the stretches were.
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
            row_group_size=_rows_of_group(len(first.columns)),
        )
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _rows_of_group(n_columns: int) -> int:
    """Whole row groups are held while they are written, so that of many columns they have fewer rows."""
    return max(FEWEST_ROWS_OF_GROUP, min(MOST_ROWS_OF_GROUP, CELLS_OF_GROUP // max(n_columns, 1)))


def _refuse_objects(schema: Mapping[str, Any], name: str) -> None:
    import polars as pl

    objects = [column for column, dtype in schema.items() if dtype == pl.Object]
    if objects:
        raise UnholdableColumnsError(name, "Parquet", objects, "objects of no one type")
