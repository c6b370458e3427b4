"""CSV files: every cell is text, is read unchanged, and is written in the dialect of its file.

An unquoted empty cell is missing, a quoted one is an empty text. A blank line is a missing cell in a table of one
column, and is ignored in other tables. A last column without a name and values comes from one delimiter too many.
"""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from anonto.errors import AnontoWarning, FileError, MalformedFileError
from anonto.io.csv_text import (
    DELIMITERS,
    MARKS,
    as_utf_8,
    check_delimiter,
    detect_delimiter,
    unused_byte,
)
from anonto.io.headers import refuse_record_as_header
from anonto.io.refusals import unnamed_columns
from anonto.io.table import Dialect, Origin, Table, refuse_bad_names
from anonto.io.type_coercion import flat_columns
from anonto.ontology.refusals import empty_file
from anonto.ontology.source import file_sha256, is_gzipped, read_unpacked
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    import polars as pl

    from anonto.arrays import Bytes, Longs


RECORDS_AT_A_TIME = 200_000
TAB_ENDINGS = (".tsv", ".tab", ".tsv.gz", ".tab.gz")

# ---------------------------------------------------------------------------------------------- reading


def read_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: str | None = None,
    names: Collection[str] = (),
) -> Table:
    """Read a CSV file, plain or gzipped; options that are not given are detected."""
    content, found_encoding, has_mark = as_utf_8(read_unpacked(path), path.name, encoding)
    if not content or content.isspace():
        raise empty_file(path.name)
    data = np.frombuffer(content, np.uint8)
    found = check_delimiter(delimiter) if delimiter is not None else detect_delimiter(data)
    separator = ord(found) if found else unused_byte(content)
    from anonto.io.csv_kernels import scan_records

    facts = check_facts(scan_records(data, separator), path.name)
    dialect = Dialect(
        delimiter=found or ",",
        encoding=found_encoding,
        has_mark=has_mark,
        line_ending=line_ending(facts),
        is_packed=is_gzipped(path),
    )
    first_row, records = _records(content, data, separator, facts, path.name)
    refuse_record_as_header(first_row, records, path.name, confirmed=header, names=names)
    frame = _name_columns(records, first_row, path.name)
    sha256 = file_sha256(path)
    return Table(frame, Origin(name=path.name, format="csv", sha256=sha256, dialect=dialect, files=(path.resolve(),)))


def check_facts(facts: Longs, name: str) -> Longs:
    """The facts about a file, which is refused if it has faults."""
    from anonto.io import csv_kernels as kernels

    if line := int(facts[kernels.UNCLOSED_LINE]):
        raise MalformedFileError(name, "CSV", "the quote that opens there is never closed", line)
    if line := int(facts[kernels.OVERFULL_LINE]):
        raise MalformedFileError(name, "CSV", "text follows a closing quote; double the quotes inside a cell", line)
    if n_ragged := int(facts[kernels.N_RAGGED]):
        first_line, n_columns = int(facts[kernels.RAGGED_LINE]), int(facts[kernels.N_COLUMNS])
        raise ragged_records(name, n_ragged, first_line, n_columns)
    return facts


def line_ending(facts: Longs) -> str:
    """The line ending of most records."""
    from anonto.io.csv_kernels import N_BOTH, N_LINE_FEEDS, N_RETURNS

    by_ending = {"\n": facts[N_LINE_FEEDS], "\r\n": facts[N_BOTH], "\r": facts[N_RETURNS]}
    return max(by_ending, key=lambda ending: int(by_ending[ending]))


def first_cells(content: bytes, separator: int) -> list[str]:
    """The cells of a record in UTF-8."""
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=chr(separator))
    return next(reader)


def _records(content: bytes, data: Bytes, separator: int, facts: Longs, name: str) -> tuple[list[str], pl.DataFrame]:
    """The cells of the first row, and the rows below it."""
    import polars as pl

    from anonto.io import csv_kernels as kernels

    names = first_cells(content[int(facts[kernels.HEADER_START]) : int(facts[kernels.HEADER_END])], separator)
    is_one_column = len(names) == 1
    is_odd = facts[kernels.N_STRAY_QUOTES] or facts[kernels.N_RETURNS] or facts[kernels.N_LEADING_BLANK]
    if is_odd or (facts[kernels.N_BLANK] and (not is_one_column or b"\r" in content)):
        strays = int(facts[kernels.N_STRAY_QUOTES])
        content = kernels.canonical_records(data, separator, strays, is_one_column).tobytes()
    try:
        frame = pl.read_csv(content, separator=chr(separator), infer_schema=False)
    except pl.exceptions.PolarsError:
        raise MalformedFileError(name, "CSV", "its records cannot be separated") from None
    expected = int(facts[kernels.N_RECORDS]) + (int(facts[kernels.N_BLANK]) if is_one_column else 0)
    if frame.shape != (expected, len(names)):
        raise MalformedFileError(name, "CSV", "its records cannot be separated")
    return names, frame


def _name_columns(frame: pl.DataFrame, names: list[str], name: str) -> pl.DataFrame:
    """Name the columns of the records."""
    if len(names) > 1 and not names[-1]:
        refuse_bad_names(names[:-1], name)
        if frame.to_series(-1).null_count() < frame.height:
            raise unnamed_columns(name, [len(names)])
        names, frame = names[:-1], frame.drop(frame.columns[-1])
    refuse_bad_names(names, name)
    frame.columns = names
    return frame


# ---------------------------------------------------------------------------------------------- writing


def sink_csv(parts: Callable[[], Iterator[pl.DataFrame]], origin: Origin, path: Path, name: str) -> None:
    """Write batches of a table, at least one, in the dialect of its origin; they are made again if need be.

    Args:
        parts: Starts to make the batches.
        origin: Has the dialect; without one it is the common one.
        path: The file to write.
        name: The name that the file will get.
    """
    dialect = origin.dialect or Dialect()
    if name.lower().endswith(TAB_ENDINGS):
        dialect = replace(dialect, delimiter="\t")
    is_packed = name.lower().endswith(".gz")
    try:
        _write(parts(), path, name, dialect, is_packed=is_packed)
    except UnicodeEncodeError:
        warnings.warn(replaced_encoding(name, dialect.encoding), stacklevel=2)
        _write(parts(), path, name, replace(dialect, encoding="utf-8", has_mark=True), is_packed=is_packed)


def _write(frames: Iterator[pl.DataFrame], path: Path, name: str, dialect: Dialect, *, is_packed: bool) -> None:
    first = _spell_durations(next(frames), name)
    header = _header(first.columns, dialect)
    with _sink(path, is_packed=is_packed) as file:
        if dialect.has_mark:
            file.write(MARKS.get(dialect.encoding, b""))
        file.write(header.encode(dialect.encoding))
        _write_frame(first, file, dialect, is_packed=is_packed)
        for frame in frames:
            _write_frame(_spell_durations(frame, name), file, dialect, is_packed=is_packed)


def _spell_durations(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """A frame as CSV can hold it, with durations in ISO 8601."""
    import polars as pl

    frame = flat_columns(frame, name, "CSV")
    spans = [column for column, dtype in frame.schema.items() if dtype == pl.Duration]
    return frame.with_columns(pl.col(spans).dt.to_string("iso")) if spans else frame


def _write_frame(frame: pl.DataFrame, file: IO[bytes], dialect: Dialect, *, is_packed: bool) -> None:
    if dialect.encoding == "utf-8" and not is_packed:
        file.flush()
        _write_records(frame, dialect, file)
        return
    for part in frame.iter_slices(RECORDS_AT_A_TIME):
        text = io.BytesIO()
        _write_records(part, dialect, text)
        written = text.getvalue()
        file.write(written if dialect.encoding == "utf-8" else written.decode().encode(dialect.encoding))


def _write_records(frame: pl.DataFrame, dialect: Dialect, file: IO[bytes]) -> None:
    frame.write_csv(file, include_header=False, separator=dialect.delimiter, line_terminator=dialect.line_ending)


def _header(names: Sequence[str], dialect: Dialect) -> str:
    """The first line; a name with any usual delimiter is quoted, so that none is taken for the file's own."""
    special = {*DELIMITERS, dialect.delimiter, *'"\r\n'}
    quoted = ['"' + name.replace('"', '""') + '"' if special & set(name) else name for name in names]
    return dialect.delimiter.join(quoted) + dialect.line_ending


@contextmanager
def _sink(path: Path, *, is_packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if not is_packed:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def ragged_records(name: str, n_ragged: int, first_line: int, n_columns: int) -> FileError:
    """Records with more or fewer cells than the header has names."""
    what = count_of(n_ragged, "record that does not have", "records that do not have")
    return FileError(
        f"{name!r} has {what} {count_of(n_columns, 'cell')} as its header, the first at line {first_line:,}; "
        "quote cells that contain the delimiter, or give the right delimiter."
    )


def replaced_encoding(name: str, encoding: str) -> AnontoWarning:
    """A cell that the table's own character set cannot represent."""
    return AnontoWarning(
        f"{name!r} was written as UTF-8 with a byte order mark: {encoding} cannot represent every cell."
    )
