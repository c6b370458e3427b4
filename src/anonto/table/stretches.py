"""Tables that are read a stretch of rows at a time, as often as needed, and never held as a whole.

Parquet, as one file or as the files of a folder or of a pattern in the order of their names, and CSV. Rows come in file
order. A file that is another one when it is read again is refused.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anonto.errors import (
    AmongInputsError,
    ChangedFileError,
    DifferentColumnsError,
    FileError,
    NoTablesError,
)
from anonto.ontology.source import file_sha256, sign
from anonto.table.parquet_files import decoding, refuse_wide_decimals, retyped
from anonto.table.parquet_trial import require_decodable
from anonto.table.reading import file_or_folder, table_format
from anonto.table.table import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import polars as pl

ROWS_AT_ONCE = 1 << 18
SAMPLES, SAMPLE_ROWS = 16, 512
"""What a row takes is told by so many rows at so many places of a table."""
FEWEST_ROWS = 1 << 6
"""Of a stretch that is cut smaller as its rows are wide."""


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

    def read(
        self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE, n_bytes: float = math.inf
    ) -> Iterator[pl.DataFrame]:
        """Some columns, from the first row on, in stretches of about so many rows, fewer where so many are too wide."""
        ...

    def require_unchanged(self) -> None:
        """Refuse files that are no longer those that were opened."""
        ...


def parquet_files(path: str | os.PathLike[str]) -> list[Path] | None:
    """The Parquet files of a folder or of a pattern, by name; None for the path of one file.

    In a folder, names that begin with a dot or an underscore are somebody's working files, and left out.
    """
    text = str(path)
    if glob.has_magic(text) and not Path(text).exists():
        found = [Path(name) for name in glob.glob(text, recursive=True)]  # noqa: PTH207 - patterns may begin at the root
    elif file_or_folder(path) == "folder":
        found = [one for one in Path(path).glob("*.parquet") if not one.name.startswith((".", "_"))]
    else:
        return None
    files = sorted((one for one in found if one.is_file()), key=lambda one: (str(one.parent), one.name))
    if not files:
        raise NoTablesError(text)
    return files


def require_outside(path: str | os.PathLike[str], outputs: Iterable[Path]) -> None:
    """Refuse an output that a folder or a pattern would have as one of its files the next time."""
    if Path(path).is_dir():
        folders, name = [Path(path)], "[!._]*.parquet"
    else:
        folder, name = os.path.split(os.fspath(path))
        if name == "**":
            folder, name = os.fspath(path), "*"
        folders = [Path(one) for one in glob.glob(folder, recursive=True)] if folder else [Path()]  # noqa: PTH207
    real = {one.resolve() for one in folders}
    for output in outputs:
        places = (output.parent.resolve() / output.name, output.resolve())
        if any(one.parent in real and _is_matched(one.name, name) for one in places):
            raise AmongInputsError(str(output))


def _is_matched(name: str, pattern: str) -> bool:
    """Whether a pattern finds a name; one that is hidden only if the pattern says so."""
    return fnmatch.fnmatch(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def open_stretches(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,  # noqa: ARG001 - neither format has any
    header: str | None = None,
    names: Collection[str] = (),
) -> Stretches:
    """Open a Parquet or CSV file, or the Parquet files of a folder or of a pattern."""
    files = parquet_files(path)
    if files is not None:
        return ParquetStretches(files, Path(path).name)
    if table_format(path) == "parquet":
        return ParquetStretches([Path(path)], Path(path).name)
    from anonto.table.csv_stretches import CsvStretches

    return CsvStretches(Path(path), delimiter=delimiter, encoding=encoding, header=header, names=names)


def bytes_in_memory(
    path: Path, n_masked: int, of_step: float = 0.0, enough: float = math.inf, delimiter: str | None = None
) -> float:
    """About how much memory it takes to mask a CSV or Parquet file at once.

    Args:
        path: The file.
        n_masked: How many columns are masked.
        of_step: What a row takes while the step that needs most is fitted.
        enough: Where it is clear that it takes more, no more is read.
        delimiter: What stands between the cells of CSV, if it is none of the usual ones.
    """
    of_row = BYTES_PER_CODE * n_masked + of_step
    if table_format(path) == "parquet":
        table = ParquetStretches([path], path.name)
        n_bytes = table.n_rows * of_row
        for frame in table.read(list(table.schema)) if n_bytes <= enough else ():
            n_bytes += TIMES_HELD * bytes_of_frame(frame)
            if n_bytes > enough:
                break
        return n_bytes
    from anonto.table.csv_stretches import BYTES_PER_VIEW, text_size

    size = text_size(path, enough / TIMES_THE_TEXT, delimiter)
    return TIMES_THE_TEXT * size.n_bytes + size.n_lines * (TIMES_HELD * BYTES_PER_VIEW * size.n_columns + of_row)


TIMES_HELD = 2
"""A table is held before and after masking."""
BYTES_PER_CODE = 16
"""Of a masked cell: before, after, and between."""
TIMES_THE_TEXT = 3
"""CSV is held as it is stored, in UTF-8, and as the texts of cells."""


def bytes_of_frame(frame: pl.DataFrame) -> int:
    """What the cells take in memory; a text takes 16 bytes, and its characters besides."""
    import polars as pl

    total = 0
    for column in frame.iter_columns():
        total += int(column.estimated_size())
        if column.dtype in (pl.String, pl.Binary):
            total += 16 * len(column)
    return total


class ParquetStretches:
    """Parquet files of the same columns as one table."""

    def __init__(self, files: Sequence[Path], name: str) -> None:
        """Look at the files' ends, where Parquet says what is in them."""
        import polars as pl

        self.files = list(files)
        require_decodable(self.files)
        self._signs = [sign(one) for one in self.files]
        scans: list[pl.LazyFrame] = []
        for one in self.files:
            with decoding(one.name):
                scan = pl.scan_parquet(one, glob=False, hive_partitioning=False)
                schema = scan.collect_schema()
                refuse_wide_decimals(schema, one.name)
                if scans and schema != self.schema:
                    raise DifferentColumnsError(one.name, self.files[0].name)
                self.schema: Mapping[str, pl.DataType] = schema
                scans.append(scan)
        with decoding(name):
            self._rows = [int(scan.select(pl.len()).collect().item()) for scan in scans]
        self._scans = scans
        self.n_rows = sum(self._rows)
        real = tuple(one.resolve() for one in self.files)
        changed = retyped(self.files[0], self.schema)
        self.origin = Origin(name=name, format="parquet", sha256=self._sha256(), retyped=changed, files=real)

    def _sha256(self) -> str:
        """Of one file its hash; of several the hash of their names and hashes."""
        if len(self.files) == 1:
            return file_sha256(self.files[0])
        return hashlib.sha256("".join(f"{one.name}\0{file_sha256(one)}\n" for one in self.files).encode()).hexdigest()

    def bytes_per_row(self) -> float:
        """How much a row takes in memory, by some rows at places all over the files."""
        n_bytes = n_rows = 0
        step = max(SAMPLE_ROWS, self.n_rows // SAMPLES)
        first = 0
        for file, scan, rows in zip(self.files, self._scans, self._rows, strict=True):
            for place in range(-first % step, rows, step):
                with decoding(file.name):
                    sample = scan.slice(place, SAMPLE_ROWS).collect()
                n_bytes += bytes_of_frame(sample)
                n_rows += sample.height
            first += rows
        return n_bytes / max(n_rows, 1)

    def read(
        self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE, n_bytes: float = math.inf
    ) -> Iterator[pl.DataFrame]:
        """Some columns, file by file, in stretches."""
        for file, before, scan, expected in zip(self.files, self._signs, self._scans, self._rows, strict=True):
            seen = 0
            try:
                with decoding(file.name):
                    for batch in _batches(scan.select(columns), n_rows, n_bytes):
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


def _batches(scan: pl.LazyFrame, n_rows: int, n_bytes: float) -> Iterator[pl.DataFrame]:
    """The rows in batches; where they turn out to be too wide, from there on in batches of fewer."""
    seen, is_at_end = 0, False
    while not is_at_end:
        rest = scan.slice(seen) if seen else scan
        is_at_end = True
        for batch in rest.collect_batches(chunk_size=n_rows, maintain_order=True):
            seen += batch.height
            parts = list(_cut(batch, n_bytes))
            yield from parts
            fewest = min(part.height for part in parts)
            if len(parts) > 1 and fewest < n_rows:
                n_rows, is_at_end = fewest, False
                break


def _cut(frame: pl.DataFrame, n_bytes: float) -> Iterator[pl.DataFrame]:
    """A frame, or halves of halves of it that are not too large."""
    if math.isinf(n_bytes) or frame.height <= FEWEST_ROWS or bytes_of_frame(frame) <= n_bytes:
        yield frame
        return
    middle = frame.height // 2
    yield from _cut(frame[:middle], n_bytes)
    yield from _cut(frame[middle:], n_bytes)
