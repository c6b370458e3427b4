"""What the bytes of a CSV file do not say: their character set and their delimiter."""

from __future__ import annotations

import codecs
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import (
    AssumedEncodingWarning,
    BinaryTableError,
    EncodingError,
    ParameterError,
    UnknownEncodingError,
)
from anonto.ontology.source import refuse_binary

if TYPE_CHECKING:
    from anonto.table.kernels import Bytes

DELIMITERS = ",;\t|"
MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}

_ALIASES = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "cp1252": "windows-1252", "iso8859-1": "iso-8859-1"}
_ZEROS_SAMPLE = 4096
_DELIMITER_SAMPLE = 1 << 20
_RECORDS_SAMPLED = 100
_NOT_IN_TEXT = re.compile(rb"[\x01-\x08\x0e-\x19\x1b]")


# ---------------------------------------------------------------------------------------------- encoding


def as_utf_8(content: bytes, name: str, asked: str | None = None) -> tuple[bytes, str, bool]:
    """The content in UTF-8 without a mark, the encoding it had, and whether it had a byte order mark."""
    refuse_binary(content, name, BinaryTableError)
    encoding, is_marked = encoding_of(content, name, asked)
    content = content[len(MARKS[encoding]) :] if is_marked else content
    try:
        return _transcoded(content, encoding, name), encoding, is_marked
    except UnicodeDecodeError as error:
        if asked is None and encoding == "utf-8":
            return _as_windows_1252(content, name), "windows-1252", False
        raise EncodingError(name, _line_of(content, error.start, encoding), encoding) from None


def encoding_of(content: bytes, name: str, asked: str | None = None) -> tuple[str, bool]:
    """The encoding that was asked for or that the content tells, and whether a byte order mark of it is there."""
    encoding = _known(asked) if asked is not None else _told_by_bytes(content, name)
    marked = next((of for of, mark in MARKS.items() if content.startswith(mark)), None)
    return (marked, True) if marked and marked[:6] == encoding[:6] else (encoding, False)


def _known(asked: str) -> str:
    try:
        codec = codecs.lookup(asked)
        "".encode(codec.name)
    except (LookupError, ValueError):
        raise UnknownEncodingError(asked) from None
    return _ALIASES.get(codec.name, codec.name)


def _told_by_bytes(content: bytes, name: str) -> str:
    """By a byte order mark, or by where UTF-16 has its zeros; everything else is UTF-8 until it fails."""
    if content.startswith(codecs.BOM_UTF32_LE):
        raise EncodingError(name, 1)
    for encoding, mark in MARKS.items():
        if content.startswith(mark):
            return encoding
    if 0 not in content:
        return "utf-8"
    sample = content[:_ZEROS_SAMPLE]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most = len(sample) // 2 * 0.7
    if odd > most and not even:
        return "utf-16-le"
    if even > most and not odd:
        return "utf-16-be"
    raise BinaryTableError(name)


def _transcoded(content: bytes, encoding: str, name: str) -> bytes:
    if encoding == "utf-8":
        if not content.isascii():
            content.decode()
        utf_8 = content
    else:
        utf_8 = content.decode(encoding).encode()
    if 0 in utf_8:
        raise BinaryTableError(name)
    return utf_8


def refuse_control_characters(content: bytes, name: str) -> None:
    """Refuse what only a program would write."""
    if _NOT_IN_TEXT.search(content):
        raise BinaryTableError(name)


def _as_windows_1252(content: bytes, name: str) -> bytes:
    refuse_control_characters(content, name)
    try:
        utf_8 = content.decode("windows-1252").encode()
    except UnicodeDecodeError as error:
        raise EncodingError(name, _line_of(content, error.start, "windows-1252")) from None
    warnings.warn(AssumedEncodingWarning(name), stacklevel=2)
    return utf_8


def _line_of(content: bytes, position: int, encoding: str) -> int:
    return content[:position].decode(encoding, errors="ignore").count("\n") + 1


# ---------------------------------------------------------------------------------------------- delimiter


def checked_delimiter(delimiter: str) -> str:
    """A delimiter as it was asked for, if it can be one."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError("delimiter", "one ASCII character other than a quote or a line's end", delimiter)
    return delimiter


def detected_delimiter(data: Bytes) -> str | None:
    """The delimiter by which the first records agree best with the header; None for a table of one column."""
    from anonto.table.kernels import field_counts

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
    """A byte that stands nowhere, to read a table of one column with; its cells may hold any delimiter."""
    return next((byte for byte in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)) if byte not in content), ord(","))
