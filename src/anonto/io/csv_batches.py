"""CSV files that are read a batch of records at a time, with the same result as reading them at once.

A first pass over all bytes finds what no single batch can show: the character set, faults, the usual line ending.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import math
import os
import warnings
import zlib
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from anonto.errors import FileError, MalformedFileError
from anonto.io.csv_files import check_facts, first_cells, line_ending
from anonto.io.csv_text import (
    DELIMITERS,
    MARKS,
    check_delimiter,
    detect_delimiter,
    encoding_of,
    refuse_control_characters,
    unused_byte,
)
from anonto.io.headers import RECORDS_LOOKED_AT, refuse_record_as_header
from anonto.io.refusals import assumed_encoding, binary_table, changed_file, unnamed_columns
from anonto.io.table import Dialect, Origin, refuse_bad_names
from anonto.ontology.refusals import empty_file, oversized_archive, unreadable_file, wrong_encoding
from anonto.ontology.source import (
    MAX_EXPANSION_RATIO,
    UNSUSPICIOUS_BYTES,
    fingerprint,
    is_gzipped,
    open_file,
    refuse_binary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    import polars as pl

    from anonto.arrays import Bytes, Longs


BYTES_AT_ONCE = 8 << 20
HEAD_BYTES = 1 << 16
LONGEST_RECORD = 256 << 20
DELIMITER_SAMPLE = (1 << 20) + 1
POSSIBLY_UNUSED = bytes((0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)))


class CsvBatches:
    """A CSV file, plain or in gzip."""

    def __init__(
        self,
        path: Path,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        header: str | None = None,
        names: Collection[str] = (),
    ) -> None:
        """Scan the whole file; options that are not given are detected."""
        import polars as pl

        self.files = [path]
        self._path, self._sign = path, fingerprint(path)
        self._is_packed = is_gzipped(path)
        self._sha256, sample, used = self._detect(encoding)
        found = check_delimiter(delimiter) if delimiter is not None else detect_delimiter(sample)
        self._separator = ord(found) if found else unused_byte(used)
        self._facts = self._all_facts()
        first_row, *records = self._first_records()
        below = pl.DataFrame(records, {str(place): pl.String for place in range(len(first_row))}, orient="row")
        refuse_record_as_header(first_row, below, path.name, confirmed=header, names=names)
        self._has_one_too_many = len(first_row) > 1 and not first_row[-1]
        own = first_row[:-1] if self._has_one_too_many else first_row
        refuse_bad_names(own, path.name)
        self.schema: Mapping[str, pl.DataType] = {name: pl.String() for name in own}
        dialect = Dialect(
            delimiter=found or ",",
            encoding=self._encoding,
            has_mark=self._has_mark,
            line_ending=line_ending(self._facts),
            is_packed=self._is_packed,
        )
        files = (path.resolve(),)
        self.origin = Origin(name=path.name, format="csv", sha256=self._sha256, dialect=dialect, files=files)

    @property
    def n_rows(self) -> int:
        """How many records there are."""
        from anonto.io import csv_kernels as kernels

        blank = int(self._facts[kernels.N_BLANK]) if self._is_one_column else 0
        return int(self._facts[kernels.N_RECORDS]) + blank

    @property
    def _is_one_column(self) -> bool:
        from anonto.io import csv_kernels as kernels

        return int(self._facts[kernels.N_COLUMNS]) == 1

    def bytes_per_row(self) -> float:
        """Memory per row: its text, and a view of each cell."""
        return self._n_bytes / max(self.n_rows, 1) + BYTES_PER_VIEW * len(self.schema)

    def read(self, columns: Sequence[str], n_rows: int = 0, n_bytes: float = 0) -> Iterator[pl.DataFrame]:  # noqa: ARG002
        """Some columns in batches of fixed size in bytes; a changed file is refused."""
        import polars as pl

        from anonto.io import csv_kernels as kernels

        facts = self._facts
        n_columns = int(facts[kernels.N_COLUMNS])
        positions = [place for place, name in enumerate(self.schema) if name in set(columns)]
        names = [list(self.schema)[place] for place in positions]
        last = n_columns - 1 if self._has_one_too_many else None
        header = self._separator_byte.join(b"%d" % place for place in range(n_columns)) + b"\n"
        is_odd = bool(facts[kernels.N_STRAY_QUOTES] or facts[kernels.N_RETURNS])
        is_odd |= bool(facts[kernels.N_BLANK]) and not self._is_one_column
        seen, is_first = 0, True
        for part in self._records():
            body = part[int(facts[kernels.HEADER_END]) :] if is_first else part
            is_first = False
            content = header + body
            if is_odd or (facts[kernels.N_BLANK] and b"\r" in body):
                data = np.frombuffer(content, np.uint8)
                strays = int(kernels.scan_records(data, self._separator)[kernels.N_STRAY_QUOTES])
                content = kernels.canonical_records(data, self._separator, strays, self._is_one_column).tobytes()
            wanted = positions if last is None else [*positions, last]
            try:
                frame = pl.read_csv(content, separator=chr(self._separator), infer_schema=False, columns=wanted)
            except pl.exceptions.PolarsError:
                raise MalformedFileError(self._path.name, "CSV", "its records cannot be separated") from None
            if last is not None:
                if frame.to_series(-1).null_count() < frame.height:
                    raise unnamed_columns(self._path.name, [n_columns])
                frame = frame.drop(frame.columns[-1])
            frame.columns = names
            seen += frame.height
            yield frame.select(columns)
        if seen != self.n_rows:
            raise MalformedFileError(self._path.name, "CSV", "its records cannot be separated")

    def require_unchanged(self) -> None:
        """Refuse a file whose size, time or inode changed; its bytes are compared whenever they are read."""
        if fingerprint(self._path) != self._sign:
            raise changed_file(self._path.name)

    # ------------------------------------------------------------------------------------------ the first look

    def _detect(self, asked: str | None) -> tuple[str, Bytes, bytes]:
        """Detect the character set; the hash, the beginning in UTF-8, and the possible separators that occur."""
        head = b""
        with closing(self._stored_chunks(lambda _: None)) as chunks:
            while len(head) < HEAD_BYTES and (chunk := next(chunks, b"")):
                head += chunk
        refuse_binary(head, self._path.name, binary_table)
        self._encoding, self._has_mark = encoding_of(head, self._path.name, asked)
        try:
            return self._scan_text()
        except UnicodeDecodeError:
            if asked is not None or self._encoding != "utf-8":
                raise wrong_encoding(self._path.name, self._line_of_fault(), self._encoding) from None
        self._encoding, self._has_mark = "windows-1252", False
        try:
            look = self._scan_text()
        except UnicodeDecodeError:
            raise wrong_encoding(self._path.name, self._line_of_fault(), "windows-1252") from None
        warnings.warn(assumed_encoding(self._path.name), stacklevel=2)
        return look

    def _scan_text(self) -> tuple[str, Bytes, bytes]:
        digests: list[str] = []
        beginning, used, is_blank, self._n_bytes = bytearray(), set(), True, 0
        for chunk in self._in_utf_8(digests.append):
            self._n_bytes += len(chunk)
            if 0 in chunk:
                raise binary_table(self._path.name)
            if self._encoding == "windows-1252":
                refuse_control_characters(chunk, self._path.name)
            if len(beginning) < DELIMITER_SAMPLE:
                beginning += chunk[: DELIMITER_SAMPLE - len(beginning)]
            used |= {byte for byte in POSSIBLY_UNUSED if byte in chunk}
            is_blank = is_blank and (not chunk or chunk.isspace())
        if is_blank:
            raise empty_file(self._path.name)
        return digests[0], np.frombuffer(bytes(beginning), np.uint8), bytes(used)

    def _line_of_fault(self) -> int:
        line = 1
        try:
            for chunk in self._in_utf_8(lambda _: None):
                line += chunk.count(b"\n")
        except UnicodeDecodeError as error:
            line += bytes(error.object)[: error.start].decode(self._encoding, errors="ignore").count("\n")
        return line

    def _all_facts(self) -> Longs:
        """The result of `scan_records` for the whole file, computed batch by batch."""
        from anonto.io import csv_kernels as kernels

        firsts = (kernels.RAGGED_LINE, kernels.UNCLOSED_LINE, kernels.OVERFULL_LINE)
        total: Longs | None = None
        for part in self._records():
            data = np.frombuffer(part, np.uint8)
            if total is None:
                total = kernels.scan_records(data, self._separator)
                continue
            line, n_columns = int(total[kernels.NEXT_LINE]), int(total[kernels.N_COLUMNS])
            own = kernels.scan_records(data, self._separator, n_columns, line)
            kept = {place: total[place] or own[place] for place in firsts}
            kept |= {place: total[place] for place in (kernels.N_COLUMNS, kernels.HEADER_START, kernels.HEADER_END)}
            kept[kernels.NEXT_LINE] = own[kernels.NEXT_LINE]
            total = total + own
            for place, number in kept.items():
                total[place] = number
        if total is None:
            raise empty_file(self._path.name)
        return check_facts(total, self._path.name)

    def _first_records(self) -> list[list[str]]:
        """The cells of the first row and of some rows below it, without blank or broken rows."""
        from anonto.io import csv_kernels as kernels

        end = int(self._facts[kernels.HEADER_END])
        header: list[str] = []
        records: list[list[str]] = []
        with closing(self._records()) as parts:
            for part in parts:
                below = part if header else part[end:]
                header = header or first_cells(part[int(self._facts[kernels.HEADER_START]) : end], self._separator)
                reader = csv.reader(io.StringIO(below.decode(), newline=""), delimiter=chr(self._separator))
                with suppress(csv.Error):  # such as a cell that is too long for the module; the other records suffice
                    wanted = RECORDS_LOOKED_AT - len(records)
                    records += [cells for cells in islice(reader, wanted) if len(cells) == len(header)]
                if len(records) >= RECORDS_LOOKED_AT:
                    break
        return [header, *records]

    # ------------------------------------------------------------------------------------------ bytes

    @property
    def _separator_byte(self) -> bytes:
        return bytes((self._separator,))

    def _records(self) -> Generator[bytes]:
        """Whole records in UTF-8, the first batch with the header."""
        from anonto.io import csv_kernels as kernels

        rest, line, has_header = b"", 1, False
        digests: list[str] = []
        for chunk in self._in_utf_8(digests.append):
            rest += chunk
            end = int(kernels.whole_records(np.frombuffer(rest, np.uint8), self._separator)) if rest else 0
            if end and (has_header or not rest[:end].isspace()):
                has_header = True
                yield rest[:end]
                line += rest.count(b"\n", 0, end)
                rest = rest[end:]
            if len(rest) > LONGEST_RECORD:
                raise too_long_record(self._path.name, line)
        if rest:
            yield rest
        if digests[0] != self._sha256:
            raise changed_file(self._path.name)

    def _in_utf_8(self, hashed: Callable[[str], object]) -> Iterator[bytes]:
        """The text in UTF-8 without a mark; the hash of the stored file is available at the end."""
        decoder = codecs.getincrementaldecoder(self._encoding)()
        to_skip = len(MARKS[self._encoding]) if self._has_mark else 0
        for chunk in self._stored_chunks(hashed):
            content, to_skip = chunk[to_skip:], max(0, to_skip - len(chunk))
            if self._encoding == "utf-8" and content.isascii() and decoder.getstate()[0] == b"":
                yield content
            else:
                yield decoder.decode(content).encode()
        yield decoder.decode(b"", final=True).encode()

    def _stored_chunks(self, hashed: Callable[[str], object]) -> Generator[bytes]:
        """The unpacked bytes; ``hashed`` gets the hash of the stored file at the end."""
        with open_file(self._path) as file:
            watched = _Hashing(cast("IO[bytes]", file))
            source = gzip.GzipFile(fileobj=watched) if self._is_packed else watched
            most = max(UNSUSPICIOUS_BYTES, MAX_EXPANSION_RATIO * os.fstat(file.fileno()).st_size)
            total = 0
            try:
                while chunk := source.read(BYTES_AT_ONCE):
                    total += len(chunk)
                    if total > most:
                        raise oversized_archive(self._path.name, f"{MAX_EXPANSION_RATIO} times its size")
                    yield chunk
                watched.finish()
            except EOFError:
                raise MalformedFileError(self._path.name, "gzip", "it ends in the middle") from None
            except (gzip.BadGzipFile, zlib.error):
                raise MalformedFileError(self._path.name, "gzip", "its compressed data is damaged") from None
            except OSError as error:
                raise unreadable_file(str(self._path), error.strerror or "unknown reason") from None
        hashed(watched.sha256.hexdigest())


class _Hashing(io.RawIOBase):
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Some bytes."""
        chunk = self._file.read(size)
        self.sha256.update(chunk)
        return chunk

    def finish(self) -> None:
        """Hash the bytes that were not read."""
        while self.read(BYTES_AT_ONCE):
            pass


BYTES_PER_VIEW = 16
"""Memory of a cell apart from its text."""


class TextSize(NamedTuple):
    """The size of the text of a CSV file, unpacked."""

    n_bytes: int
    n_lines: int
    n_columns: int


def text_size(path: Path, enough: float = math.inf, delimiter: str | None = None) -> TextSize:
    """Count bytes, lines and the columns of the first line; stop when there are more than ``enough`` bytes.

    A damaged file is counted as far as it can be read; refusing it is left to its reader.
    """
    n_bytes, n_feeds, n_returns, head = 0, 0, 0, b""
    is_packed = is_gzipped(path)
    with open_file(path) as file, suppress(EOFError, gzip.BadGzipFile, zlib.error):
        source = gzip.GzipFile(fileobj=file) if is_packed else file
        while n_bytes <= enough and (chunk := source.read(BYTES_AT_ONCE)):
            head = head or chunk.lstrip()[:HEAD_BYTES]
            n_bytes += len(chunk)
            n_feeds += chunk.count(b"\n")
            n_returns += chunk.count(b"\r")
    first = head.splitlines()[0] if head else b""
    marks = {*DELIMITERS, *([delimiter] if delimiter else [])}
    n_columns = 1 + max(first.count(mark.encode()) for mark in marks)
    return TextSize(n_bytes, max(n_feeds, n_returns) + 1, n_columns)


def too_long_record(name: str, line: int) -> FileError:
    """A record of a CSV file that does not end."""
    return FileError(
        f"{name!r} has a record at line {line:,} that is too long to be read in batches; a quote that opens there may "
        "never be closed."
    )
