"""Trial decoding of Parquet files, so that a damaged one is refused before this process reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.source import sign
from anonto.table.decoder import UndecodableError, decoded_apart
from anonto.table.limits import is_within_calendar, wide_decimals

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1 << 18, 32
UNDECODABLE, BEYOND_CALENDAR = "it cannot be decoded", "it has dates or times beyond the calendar"

_tried: dict[Path, tuple[int, int, int]] = {}


def require_decodable(files: Iterable[Path]) -> None:
    """Refuse files that polars cannot decode; one that it decoded before is tried again only if it changed."""
    for file in files:
        before, path = sign(file), file.resolve()
        if _tried.get(path) == before:
            continue
        try:
            fault = decoded_apart(fault_of_parquet, str(path))
        except UndecodableError as error:
            fault = "" if error.ran_out else UNDECODABLE  # what is too large there may be read here, in parts
        if fault:
            raise MalformedFileError(file.name, "Parquet", fault)
        _tried[path] = before


def fault_of_parquet(path: str) -> str:
    """What is wrong with a file, if anything: some columns are decoded a batch at a time, then the next ones.

    Where polars panics, its batches just end; so their rows are counted.
    """
    import polars as pl

    scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    schema = scan.collect_schema()
    if wide_decimals(schema):
        return ""  # for its reader to refuse, by their names
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
                    column.unique().cast(pl.String).cast(pl.Binary).cast(pl.String)  # raises over what is not UTF-8
        if seen != n_rows:
            return UNDECODABLE
    return ""
