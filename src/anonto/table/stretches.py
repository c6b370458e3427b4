"""Tables that are read a stretch of rows at a time, as often as needed, and never held as a whole.

Parquet, as one file or as the files of a folder or of a pattern in the order of their names, and CSV. Rows come in file
order. A file that is another one when it is read again is refused.
"""

from __future__ import annotations

import glob
import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anonto.errors import (
    ChangedFileError,
    DifferentColumnsError,
    FileError,
    MalformedFileError,
    NoFilesError,
    UnreadableFileError,
)
from anonto.ontology.source import file_sha256, kind_of_path, opened
from anonto.table.reading import table_format
from anonto.table.table import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

ROWS_AT_ONCE = 1 << 18
SAMPLE_ROWS = 10_000


class Stretches(Protocol):
    """A table in one or several files."""

    @property
    def origin(self) -> Origin:
        """What writing it back needs, and the hash of its bytes."""
        ...

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns with their types, in file order."""
        ...

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The files, in order."""
        ...

    def bytes_per_row(self) -> float:
        """About how much a row takes in memory."""
        ...

    def read(self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
        """Some columns, from the first row on, in stretches of about so many rows."""
        ...

    def require_unchanged(self) -> None:
        """Refuse files that are no longer those that were opened."""
        ...


def parquet_files(path: str | os.PathLike[str]) -> list[Path] | None:
    """The Parquet files of a folder or of a pattern, by name; None for the path of one file."""
    text = str(path)
    if glob.has_magic(text) and not Path(text).exists():
        found = [Path(name) for name in glob.glob(text, recursive=True)]  # noqa: PTH207 - patterns may begin at the root
    elif kind_of_path(path) == "folder":
        found = list(Path(path).glob("*.parquet"))
    else:
        return None
    files = sorted((one for one in found if one.is_file()), key=lambda one: (str(one.parent), one.name))
    if not files:
        raise NoFilesError(text)
    return files


def open_stretches(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,  # noqa: ARG001 - neither format has any
) -> Stretches:
    """Open a Parquet or CSV file, or the Parquet files of a folder or of a pattern."""
    files = parquet_files(path)
    if files is not None:
        return ParquetStretches(files, Path(path).name)
    if table_format(path) == "parquet":
        return ParquetStretches([Path(path)], Path(path).name)
    from anonto.table.csv_stretches import CsvStretches

    return CsvStretches(Path(path), delimiter=delimiter, encoding=encoding)


def bytes_in_memory(path: Path, n_masked: int) -> int:
    """About how much memory it takes to mask a file at once, a folder's size left out."""
    found = table_format(path)
    if found == "parquet":
        table = ParquetStretches([path], path.name)
        return int(table.n_rows * (TIMES_HELD * table.bytes_per_row() + BYTES_PER_CODE * n_masked))
    from anonto.table.csv_stretches import plain_bytes

    return TIMES_THE_FILE * plain_bytes(path)


TIMES_HELD = 2
"""A table is held before and after masking."""
BYTES_PER_CODE = 16
"""Of a masked cell: before, after, and between."""
TIMES_THE_FILE = 6
"""The memory that CSV takes, by the size of the file."""


class ParquetStretches:
    """Parquet files of the same columns as one table."""

    def __init__(self, files: Sequence[Path], name: str) -> None:
        """Look at the files' ends, where Parquet says what is in them."""
        import polars as pl

        self.files = list(files)
        self._signs = [sign(one) for one in self.files]
        scans: list[pl.LazyFrame] = []
        for one in self.files:
            with _in_our_words(one.name):
                scan = pl.scan_parquet(one, glob=False, hive_partitioning=False)
                schema = scan.collect_schema()
                if scans and schema != self.schema:
                    raise DifferentColumnsError(one.name, self.files[0].name)
                self.schema: Mapping[str, pl.DataType] = schema
                scans.append(scan)
        with _in_our_words(name):
            self._rows = [int(scan.select(pl.len()).collect().item()) for scan in scans]
        self._scans = scans
        self.n_rows = sum(self._rows)
        self.origin = Origin(name=name, format="parquet", sha256=self._sha256())

    def _sha256(self) -> str:
        """Of one file its hash; of several the hash of their names and hashes."""
        if len(self.files) == 1:
            return file_sha256(self.files[0])
        return hashlib.sha256("".join(f"{one.name}\0{file_sha256(one)}\n" for one in self.files).encode()).hexdigest()

    def bytes_per_row(self) -> float:
        """How much a row takes in memory, by the first ones."""
        with _in_our_words(self.files[0].name):
            sample = self._scans[0].head(SAMPLE_ROWS).collect()
        return sample.estimated_size() / max(sample.height, 1)

    def read(self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
        """Some columns, file by file, in stretches."""
        for file, before, scan, expected in zip(self.files, self._signs, self._scans, self._rows, strict=True):
            seen = 0
            try:
                with _in_our_words(file.name):
                    for batch in scan.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True):
                        seen += batch.height
                        yield batch
            except FileError:
                if sign(file) != before:
                    raise ChangedFileError(file.name) from None
                raise
            if seen != expected:
                raise ChangedFileError(file.name)

    def require_unchanged(self) -> None:
        """Refuse files whose size, time or bytes are no longer those that were opened."""
        for one, before in zip(self.files, self._signs, strict=True):
            if sign(one) != before:
                raise ChangedFileError(one.name)
        if self._sha256() != self.origin.sha256:
            raise ChangedFileError(self.origin.name)


@contextmanager
def _in_our_words(name: str) -> Iterator[None]:
    """Turn what polars says of a damaged file into a sentence; its own may show cells."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise MalformedFileError(name, "Parquet", "it cannot be decoded") from None
    except OSError as error:
        raise UnreadableFileError(name, error.strerror or "unknown reason") from None


def sign(path: Path) -> tuple[int, int, int]:
    """What tells that a file was written to or replaced: its size, its time and its number."""
    with opened(path) as file:
        found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns, found.st_ino
