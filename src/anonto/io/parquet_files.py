"""Parquet files: types are preserved, and no statistics of the cells are written."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import FileError, MalformedFileError
from anonto.io.decoder import UndecodableError, decode_apart
from anonto.io.refusals import changed_file, unsupported_columns
from anonto.io.table import Origin, Table, TextBatches
from anonto.io.type_coercion import MOST_DIGITS, is_within_calendar, wide_decimals
from anonto.ontology.refusals import unreadable_file
from anonto.ontology.source import file_sha256, fingerprint
from anonto.wording import count_of, quote_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import polars as pl

ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1 << 18, 32
MOST_ROWS_OF_GROUP, FEWEST_ROWS_OF_GROUP, CELLS_OF_GROUP = 1 << 18, 1 << 12, 1 << 19
UNDECODABLE, BEYOND_CALENDAR = "it cannot be decoded", "it has dates or times beyond the calendar"

_tried: dict[Path, tuple[int, int, int]] = {}


def read_parquet(path: Path, apart: Collection[str] = ()) -> Table:
    """Read a Parquet file with its types.

    Args:
        path: The file.
        apart: Columns to leave in the file, if they are text, and to read a batch at a time.
    """
    import polars as pl

    require_decodable([path])
    before = fingerprint(path)
    with refuse_undecodable(str(path)):
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
        retyped=find_retyped_columns(path, schema),
        files=(path.resolve(),),
    )
    if fingerprint(path) != before:
        raise changed_file(path.name)
    return Table(frame, origin, batches, tuple(schema))


def _batches(
    path: Path, before: tuple[int, int, int], scan: pl.LazyFrame, name: str, n_rows: int
) -> Iterator[pl.Series]:
    """A column a batch at a time; a file that changed since it was opened is refused at the end."""
    seen = 0
    try:
        with refuse_undecodable(path.name):
            for batch in scan.select(name).collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
                seen += batch.height
                yield batch[name]
    except FileError:
        if fingerprint(path) != before:
            raise changed_file(path.name) from None
        raise
    if seen != n_rows or fingerprint(path) != before:
        raise changed_file(path.name)


def require_decodable(files: Iterable[Path]) -> None:
    """Refuse files that polars cannot decode; a file that passed is tried again only if it changed."""
    for file in files:
        before, path = fingerprint(file), file.resolve()
        if _tried.get(path) == before:
            continue
        try:
            fault = decode_apart(fault_of_parquet, str(path))
        except UndecodableError as error:
            # A file too large for the decoder can still be read here in parts.
            fault = "" if error.ran_out else UNDECODABLE
        if fault:
            raise MalformedFileError(file.name, "Parquet", fault)
        _tried[path] = before


def fault_of_parquet(path: str) -> str:
    """The fault of a file, found by decoding some columns at a time, batch by batch; empty if there is none.

    If polars panics, its batches just end, so the rows are counted.
    """
    import polars as pl

    scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    schema = scan.collect_schema()
    if wide_decimals(schema):
        return ""  # its reader refuses it and names the columns
    names, n_rows = schema.names(), int(scan.select(pl.len()).collect().item())
    for first in range(0, len(names) or 1, COLUMNS_AT_ONCE):
        seen = 0
        some = scan.select(names[first : first + COLUMNS_AT_ONCE])
        for batch in some.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
            seen += batch.height
            for column in batch.iter_columns():
                if not is_within_calendar(column):
                    return BEYOND_CALENDAR
                if isinstance(column.dtype, pl.Categorical | pl.Enum):
                    column.unique().cast(pl.String).cast(pl.Binary).cast(pl.String)  # raises if it is not UTF-8
        if seen != n_rows:
            return UNDECODABLE
    return ""


@contextmanager
def refuse_undecodable(name: str) -> Iterator[None]:
    """Report a damaged file as our own error; the message of polars may show cells."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise MalformedFileError(Path(name).name, "Parquet", UNDECODABLE) from None
    except OSError as error:
        raise unreadable_file(name, error.strerror or "unknown reason") from None


def refuse_wide_decimals(schema: Mapping[str, pl.DataType], name: str) -> None:
    """Refuse decimals with too many digits, which polars would report as a damaged file."""
    if wide := wide_decimals(schema):
        raise wide_decimal_columns(name, wide, MOST_DIGITS)


def find_retyped_columns(path: Path, schema: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Columns whose values are read but written with another type, if pyarrow is installed to find them.

    These are times of day that are not stored in nanoseconds, and bytes of fixed length.
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


def sink_parquet(parts: Callable[[], Iterator[pl.DataFrame]], path: Path, name: str) -> None:
    """Write batches of a table to a Parquet file without statistics: the least and the greatest value are cells.

    Row groups are cut by the number of columns alone, so that the file does not reveal the size of the batches.
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

    batches = register_io_source(source, schema=first.schema, is_pure=False)
    try:
        batches.sink_parquet(
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
    """Rows per row group: fewer for many columns, because a whole group is held in memory while it is written."""
    return max(FEWEST_ROWS_OF_GROUP, min(MOST_ROWS_OF_GROUP, CELLS_OF_GROUP // max(n_columns, 1)))


def _refuse_objects(schema: Mapping[str, Any], name: str) -> None:
    import polars as pl

    objects = [column for column, dtype in schema.items() if dtype == pl.Object]
    if objects:
        raise unsupported_columns(name, "Parquet", objects, "objects of no one type")


def wide_decimal_columns(name: str, columns: Collection[str], most: int) -> FileError:
    """Decimals with more digits than a column can store."""
    verb = "contains" if len(columns) == 1 else "contain"
    return FileError(
        f"{count_of(len(columns), 'column')} of {name!r} cannot be read: {quote_names(columns)} {verb} "
        f"decimals of more than {most} digits; store them with {most} digits or fewer, or as text."
    )
