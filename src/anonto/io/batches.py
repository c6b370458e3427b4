"""Tables that are read a batch of rows at a time, as often as needed, and never held as a whole.

They are CSV files, or Parquet: one file, or the files of a folder or pattern, sorted by name. Rows keep the order of
the file. A file that changed since it was opened is refused.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anonto.errors import FileError
from anonto.io.parquet_files import find_retyped_columns, refuse_undecodable, refuse_wide_decimals, require_decodable
from anonto.io.reading import file_or_folder, table_format
from anonto.io.refusals import changed_file, no_tables
from anonto.io.table import Origin
from anonto.ontology.source import file_sha256, fingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import polars as pl

ROWS_AT_ONCE = 1 << 18
SAMPLES, SAMPLE_ROWS = 16, 512
"""The size of a row is estimated from this many samples of this many rows each."""
FEWEST_ROWS = 1 << 6
"""A batch with wide rows is not split below this number of rows."""


class TableBatches(Protocol):
    """A table in one or several files."""

    @property
    def origin(self) -> Origin:
        """Everything needed to write the table back, and the hash of its bytes."""
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
        """Estimated memory per row."""
        ...

    def read(
        self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE, n_bytes: float = math.inf
    ) -> Iterator[pl.DataFrame]:
        """Some columns in batches of about ``n_rows`` rows, or fewer if these exceed ``n_bytes``."""
        ...

    def require_unchanged(self) -> None:
        """Refuse files that changed since they were opened."""
        ...


def parquet_files(path: str | os.PathLike[str]) -> list[Path] | None:
    """The Parquet files of a folder or pattern, sorted by name; None for the path of one file.

    In a folder, names that begin with a dot or an underscore are skipped: other programs use them for working files.
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
        raise no_tables(text)
    return files


def require_outside(path: str | os.PathLike[str], outputs: Iterable[Path]) -> None:
    """Refuse an output that a folder or pattern of inputs would include next time."""
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
            raise among_inputs(str(output))


def _is_matched(name: str, pattern: str) -> bool:
    """Return whether a pattern matches a name; hidden names only if the pattern begins with a dot."""
    return fnmatch.fnmatch(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def open_batches(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,  # noqa: ARG001 - neither format has any
    header: str | None = None,
    names: Collection[str] = (),
) -> TableBatches:
    """Open a Parquet or CSV file, or the Parquet files of a folder or of a pattern."""
    files = parquet_files(path)
    if files is not None:
        return ParquetBatches(files, Path(path).name)
    if table_format(path) == "parquet":
        return ParquetBatches([Path(path)], Path(path).name)
    from anonto.io.csv_batches import CsvBatches

    return CsvBatches(Path(path), delimiter=delimiter, encoding=encoding, header=header, names=names)


def bytes_in_memory(
    path: Path, n_masked: int, of_step: float = 0.0, enough: float = math.inf, delimiter: str | None = None
) -> float:
    """Estimated memory for masking a CSV or Parquet file at once.

    Args:
        path: The file.
        n_masked: Number of masked columns.
        of_step: Bytes per row while the most expensive step is fitted.
        enough: Stop reading as soon as the estimate exceeds this.
        delimiter: The delimiter of a CSV file, if it is unusual.
    """
    of_row = BYTES_PER_CODE * n_masked + of_step
    if table_format(path) == "parquet":
        table = ParquetBatches([path], path.name)
        n_bytes = table.n_rows * of_row
        for frame in table.read(list(table.schema)) if n_bytes <= enough else ():
            n_bytes += TIMES_HELD * bytes_of_frame(frame)
            if n_bytes > enough:
                break
        return n_bytes
    from anonto.io.csv_batches import BYTES_PER_VIEW, text_size

    size = text_size(path, enough / TIMES_THE_TEXT, delimiter)
    return TIMES_THE_TEXT * size.n_bytes + size.n_lines * (TIMES_HELD * BYTES_PER_VIEW * size.n_columns + of_row)


TIMES_HELD = 2
"""A table is held in memory before and after masking."""
BYTES_PER_CODE = 16
"""Bytes per masked cell: before, after and in between."""
TIMES_THE_TEXT = 3
"""CSV is held as stored, in UTF-8, and as the texts of cells."""


def bytes_of_frame(frame: pl.DataFrame) -> int:
    """Memory of the cells; a text takes 16 bytes plus its characters."""
    import polars as pl

    total = 0
    for column in frame.iter_columns():
        total += int(column.estimated_size())
        if column.dtype in (pl.String, pl.Binary):
            total += 16 * len(column)
    return total


class ParquetBatches:
    """Parquet files of the same columns as one table."""

    def __init__(self, files: Sequence[Path], name: str, *, made_from: Origin | None = None) -> None:
        """Read the metadata at the end of each file.

        Args:
            files: The files, in order.
            name: Their name in messages.
            made_from: Where their rows came from, if they are working files of this process, which are neither tried
                nor hashed.
        """
        import polars as pl

        self.files = list(files)
        if made_from is None:
            require_decodable(self.files)
        self._signs = [fingerprint(one) for one in self.files]
        scans: list[pl.LazyFrame] = []
        for one in self.files:
            with refuse_undecodable(one.name):
                scan = pl.scan_parquet(one, glob=False, hive_partitioning=False)
                schema = scan.collect_schema()
                refuse_wide_decimals(schema, one.name)
                if scans and schema != self.schema:
                    raise different_columns(one.name, self.files[0].name)
                self.schema: Mapping[str, pl.DataType] = schema
                scans.append(scan)
        with refuse_undecodable(name):
            self._rows = [int(scan.select(pl.len()).collect().item()) for scan in scans]
        self._scans = scans
        self.n_rows = sum(self._rows)
        self._is_ours = made_from is not None
        if made_from is not None:
            self.origin = made_from
            return
        real = tuple(one.resolve() for one in self.files)
        changed = find_retyped_columns(self.files[0], self.schema)
        self.origin = Origin(name=name, format="parquet", sha256=self._sha256(), retyped=changed, files=real)

    def _sha256(self) -> str:
        """The hash of a single file, or a hash over the names and hashes of several."""
        if len(self.files) == 1:
            return file_sha256(self.files[0])
        return hashlib.sha256("".join(f"{one.name}\0{file_sha256(one)}\n" for one in self.files).encode()).hexdigest()

    def bytes_per_row(self) -> float:
        """Memory per row, estimated from samples all over the files."""
        n_bytes = n_rows = 0
        step = max(SAMPLE_ROWS, self.n_rows // SAMPLES)
        first = 0
        for file, scan, rows in zip(self.files, self._scans, self._rows, strict=True):
            for place in range(-first % step, rows, step):
                with refuse_undecodable(file.name):
                    sample = scan.slice(place, SAMPLE_ROWS).collect()
                n_bytes += bytes_of_frame(sample)
                n_rows += sample.height
            first += rows
        return n_bytes / max(n_rows, 1)

    def read(
        self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE, n_bytes: float = math.inf
    ) -> Iterator[pl.DataFrame]:
        """Some columns, file by file, in batches."""
        for file, before, scan, expected in zip(self.files, self._signs, self._scans, self._rows, strict=True):
            seen = 0
            try:
                with refuse_undecodable(file.name):
                    for batch in _batches(scan.select(columns), n_rows, n_bytes):
                        seen += batch.height
                        yield batch
            except FileError:
                if fingerprint(file) != before:
                    raise changed_file(file.name) from None
                raise
            if seen != expected:
                raise changed_file(file.name)

    def require_unchanged(self) -> None:
        """Refuse files whose size, time or content changed since they were opened."""
        for one, before in zip(self.files, self._signs, strict=True):
            if fingerprint(one) != before:
                raise changed_file(one.name)
        if not self._is_ours and self._sha256() != self.origin.sha256:
            raise changed_file(self.origin.name)


def _batches(scan: pl.LazyFrame, n_rows: int, n_bytes: float) -> Iterator[pl.DataFrame]:
    """The rows in batches; once rows turn out to be too wide, the following batches are smaller."""
    seen, is_at_end = 0, False
    while not is_at_end:
        rest = scan.slice(seen) if seen else scan
        is_at_end = True
        for batch in rest.collect_batches(chunk_size=n_rows, maintain_order=True):
            seen += batch.height
            parts = list(_halve(batch, n_bytes))
            yield from parts
            fewest = min(part.height for part in parts)
            if len(parts) > 1 and fewest < n_rows:
                n_rows, is_at_end = fewest, False
                break


def _halve(frame: pl.DataFrame, n_bytes: float) -> Iterator[pl.DataFrame]:
    """A frame, halved until the parts are small enough."""
    if math.isinf(n_bytes) or frame.height <= FEWEST_ROWS or bytes_of_frame(frame) <= n_bytes:
        yield frame
        return
    middle = frame.height // 2
    yield from _halve(frame[:middle], n_bytes)
    yield from _halve(frame[middle:], n_bytes)


def among_inputs(name: str) -> FileError:
    """An output that would be read as part of the input the next time."""
    return FileError(
        f"The output {name!r} would be read as part of the input the next time; write it where the input's "
        "folder or pattern does not find it."
    )


def different_columns(name: str, first: str) -> FileError:
    """Parquet files of one folder that are not parts of one table."""
    return FileError(
        f"{name!r} does not have the columns and types of {first!r}; all files of a table must have the same."
    )
