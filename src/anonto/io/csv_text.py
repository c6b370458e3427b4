"""Detection of the character set and the delimiter of a CSV file."""

from __future__ import annotations

import codecs
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import FileError, ParameterError
from anonto.io.refusals import assumed_encoding, binary_table
from anonto.ontology.refusals import wrong_encoding
from anonto.ontology.source import encoding_by_zeros, line_of, refuse_binary

if TYPE_CHECKING:
    from anonto.arrays import Bytes

DELIMITERS = ",;\t|"
MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}

_ALIASES = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "cp1252": "windows-1252", "iso8859-1": "iso-8859-1"}
_DELIMITER_SAMPLE = 1 << 20
_RECORDS_SAMPLED = 100
_NOT_IN_TEXT = re.compile(rb"[\x01-\x08\x0e-\x19\x1b]")


# ---------------------------------------------------------------------------------------------- encoding


def as_utf_8(content: bytes, name: str, asked: str | None = None) -> tuple[bytes, str, bool]:
    """The content in UTF-8 without a byte order mark, its original encoding, and whether it had a mark."""
    refuse_binary(content, name, binary_table)
    encoding, is_marked = encoding_of(content, name, asked)
    content = content[len(MARKS[encoding]) :] if is_marked else content
    try:
        return _transcode(content, encoding, name), encoding, is_marked
    except UnicodeDecodeError as error:
        if asked is None and encoding == "utf-8":
            return _as_windows_1252(content, name), "windows-1252", False
        raise wrong_encoding(name, line_of(content, error.start, encoding), encoding) from None


def encoding_of(content: bytes, name: str, asked: str | None = None) -> tuple[str, bool]:
    """The requested or detected encoding, and whether the content has its byte order mark."""
    encoding = _canonical_encoding(asked) if asked is not None else _detect_encoding(content, name)
    marked = next((of for of, mark in MARKS.items() if content.startswith(mark)), None)
    return (marked, True) if marked and marked[:6] == encoding[:6] else (encoding, False)


def _canonical_encoding(asked: str) -> str:
    try:
        codec = codecs.lookup(asked)
        "".encode(codec.name)
    except (LookupError, ValueError):
        raise unknown_encoding(asked) from None
    return _ALIASES.get(codec.name, codec.name)


def _detect_encoding(content: bytes, name: str) -> str:
    """Detect a byte order mark or the zeros of UTF-16; everything else is UTF-8 until it fails."""
    if content.startswith(codecs.BOM_UTF32_LE):
        raise wrong_encoding(name, 1)
    for encoding, mark in MARKS.items():
        if content.startswith(mark):
            return encoding
    if 0 not in content:
        return "utf-8"
    utf_16 = encoding_by_zeros(content)
    if utf_16 is None:
        raise binary_table(name)
    return utf_16


def _transcode(content: bytes, encoding: str, name: str) -> bytes:
    if encoding == "utf-8":
        if not content.isascii():
            content.decode()
        utf_8 = content
    else:
        utf_8 = content.decode(encoding).encode()
    if 0 in utf_8:
        raise binary_table(name)
    return utf_8


def refuse_control_characters(content: bytes, name: str) -> None:
    """Refuse characters that do not occur in text."""
    if _NOT_IN_TEXT.search(content):
        raise binary_table(name)


def _as_windows_1252(content: bytes, name: str) -> bytes:
    refuse_control_characters(content, name)
    try:
        utf_8 = content.decode("windows-1252").encode()
    except UnicodeDecodeError as error:
        raise wrong_encoding(name, line_of(content, error.start, "windows-1252")) from None
    warnings.warn(assumed_encoding(name), stacklevel=2)
    return utf_8


# ---------------------------------------------------------------------------------------------- delimiter


def check_delimiter(delimiter: str) -> str:
    """A requested delimiter, refused if it cannot be one."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError("delimiter", "one ASCII character other than a quote or a line's end", delimiter)
    return delimiter


def detect_delimiter(data: Bytes) -> str | None:
    """The delimiter for which the first records agree best with the header; None for a table of one column."""
    from anonto.io.csv_kernels import field_counts

    sample = data[:_DELIMITER_SAMPLE]
    best, best_score = None, (0.0, 1)
    for delimiter in DELIMITERS:
        counts = field_counts(sample, ord(delimiter), _RECORDS_SAMPLED)
        if sample.size < data.size and 1 < counts.size < _RECORDS_SAMPLED:
            counts = counts[:-1]
        if counts.size and counts[0] > 1:
            score = (float(np.mean(counts == counts[0])), int(counts[0]))
            if score > best_score:
                best, best_score = delimiter, score
    return best


def unused_byte(content: bytes) -> int:
    """A byte that does not occur, as the delimiter of a table of one column, whose cells may hold any other."""
    return next((byte for byte in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)) if byte not in content), ord(","))


def unknown_encoding(encoding: str) -> FileError:
    """A character set that does not exist."""
    return FileError(f"There is no encoding {encoding!r}; give one such as 'utf-8', 'utf-16' or 'windows-1252'.")
