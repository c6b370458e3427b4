"""A file's bytes, hashed, unpacked within bounds and decoded to text; or the reason why not.

Read are UTF-8 (with or without a byte order mark), UTF-16 (with one, or when its zero bytes show it) and XML
in the 8-bit encoding that it declares, each plain or in gzip.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import os
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import (
    BinaryFileError,
    EmptyFileError,
    EncodingError,
    ExpansionError,
    MalformedFileError,
    MissingFileError,
    NotARegularFileError,
    UnreadableFileError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

GZIP_MAGIC = b"\x1f\x8b"
CHUNK_BYTES = 1 << 20
UNSUSPICIOUS_BYTES = 4 << 20
MAX_EXPANSION_RATIO = 200
MAX_EXPANDED_BYTES = 4 << 30

_ENCODING_SAMPLE = 4096
_BINARY_KINDS = (
    (rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|xl/)", "an Excel workbook"),
    (rb"PK\x03\x04", "a zip archive"),
    (rb"PAR1.*PAR1\Z", "a parquet file"),
    (rb"ARROW1", "an Arrow file"),
    (rb"SQLite format 3\x00", "an SQLite database"),
    (rb"\x7fELF", "a program"),
    (rb"\x89PNG\r\n", "a PNG picture"),
    (rb"\xff\xd8\xff", "a JPEG picture"),
    (rb"GIF8[79]a", "a GIF picture"),
    (rb"%PDF-", "a PDF document"),
    (rb"\xd0\xcf\x11\xe0", "an old Excel or Word file"),
    (rb"\x1f\x8b", "gzip inside gzip"),
    (rb"BZh[1-9]1AY&SY", "a bzip2 archive"),
    (rb"\xfd7zXZ\x00", "an xz archive"),
    (rb"\x28\xb5\x2f\xfd", "a zstandard archive"),
    (rb"7z\xbc\xaf", "a 7-zip archive"),
)
_XML_DECLARATION = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_DECLARABLE = re.compile(
    r"iso-8859-\d+|windows-125\d|us-ascii|latin-?\d|koi8-[ru]|shift_jis|euc-(jp|kr)|gb(2312|k|18030)|big5",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file and what identifies it."""

    name: str
    """The file's name without its folder."""
    text: str
    sha256: str
    """Of the bytes as they are stored, compressed or not."""


def read_source(path: Path) -> Source:
    """Read a file as text, whatever it is called."""
    stored = _stored_bytes(path)
    content = stored
    if stored.startswith(GZIP_MAGIC):
        content = b"".join(_expanded(path))
    text = decoded(content, path.name)
    return Source(path.name, text, hashlib.sha256(stored).hexdigest())


def read_unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzip."""
    with opened(path) as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return b"".join(_expanded(path)) if packed else _stored_bytes(path)


def kind_of_path(path: str | os.PathLike[str]) -> str:
    """``"file"`` or ``"folder"``; what is neither is refused, for a pipe or a device may never end."""
    try:
        mode = Path(path).stat().st_mode if os.fspath(path) else None
    except (FileNotFoundError, NotADirectoryError, ValueError):
        mode = None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise MissingFileError(str(path)) from None
        raise UnreadableFileError(str(path), error.strerror or "unknown reason") from None
    if mode is None:
        raise MissingFileError(str(path))
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise NotARegularFileError(str(path))


def name_of_folder(folder: Path) -> str:
    """The name of a folder without its path, also of one that is written as a dot."""
    return folder.resolve().name or str(folder)


def opened(path: Path) -> BufferedReader:
    """Open a file for reading bytes."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise MissingFileError(str(path)) from None
    except OSError as error:
        raise UnreadableFileError(str(path), error.strerror or "unknown reason") from None


def file_sha256(path: Path) -> str:
    """The hash of a file's bytes, without holding them."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sign(path: Path) -> tuple[int, int, int]:
    """What tells that a file was written to or replaced: its size, its time and its number."""
    with opened(path) as file:
        found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns, found.st_ino


def _stored_bytes(path: Path) -> bytes:
    with opened(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise UnreadableFileError(str(path), error.strerror or "unknown reason") from None


def _expanded(path: Path) -> Iterator[bytes]:
    """The chunks of a gzip file, refused as soon as they grow beyond what honest text does."""
    total = 0
    with opened(path) as stored:
        most = max(UNSUSPICIOUS_BYTES, MAX_EXPANSION_RATIO * os.fstat(stored.fileno()).st_size)
        with gzip.GzipFile(fileobj=stored) as unpacked:
            while chunk := _next_chunk(unpacked, path.name):
                total += len(chunk)
                if total > MAX_EXPANDED_BYTES:
                    raise ExpansionError(path.name, f"{MAX_EXPANDED_BYTES >> 30} GiB")
                if total > most:
                    raise ExpansionError(path.name, f"{MAX_EXPANSION_RATIO} times its size")
                yield chunk


def _next_chunk(unpacked: gzip.GzipFile, name: str) -> bytes:
    try:
        return unpacked.read(CHUNK_BYTES)
    except EOFError:
        raise MalformedFileError(name, "gzip", "it ends in the middle") from None
    except (gzip.BadGzipFile, zlib.error):
        raise MalformedFileError(name, "gzip", "its compressed data is damaged") from None


# ---------------------------------------------------------------------------------------------- text


def decoded(content: bytes, name: str) -> str:
    """The text of some bytes, with one line feed at the end of each line and no byte order mark."""
    refuse_binary(content, name)
    declared = _declared_encoding(content, name)
    encoding = declared or _encoding(content)
    if encoding == "binary":
        raise BinaryFileError(name)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = _line_of(content, error.start, encoding)
        raise EncodingError(name, line, declared, other_encodings=False) from None
    if not text or text.isspace():
        raise EmptyFileError(name)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, one at a time: all at once would need many times its memory."""
    number, position = 1, 0
    while (end := text.find("\n", position)) >= 0:
        yield number, text[position:end]
        number, position = number + 1, end + 1
    yield number, text[position:]


def refuse_binary(content: bytes, name: str, error: type[BinaryFileError] = BinaryFileError) -> None:
    """Refuse what is known not to be text by its first bytes."""
    for pattern, kind in _BINARY_KINDS:
        if re.match(pattern, content, re.DOTALL):
            raise error(name, kind)


def _encoding(content: bytes) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) and not content.startswith(b"\xff\xfe\x00\x00"):
        return "utf-16"
    if b"\x00" in content:
        return _encoding_by_zeros(content[:_ENCODING_SAMPLE])
    return "utf-8"


def _declared_encoding(content: bytes, name: str) -> str | None:
    """The 8-bit encoding that XML declares, if it does."""
    declaration = _XML_DECLARATION.match(content[:_ENCODING_SAMPLE])
    declared = declaration.group(1).decode("ascii") if declaration else ""
    if not _DECLARABLE.fullmatch(declared) or b"\x00" in content:
        return None
    try:
        codecs.lookup(declared)
    except LookupError:
        raise EncodingError(name, None, declared) from None
    return declared


def _encoding_by_zeros(sample: bytes) -> str:
    """UTF-16 of mostly Latin text has a zero in every second byte and none in the others."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most = len(sample) // 2 * 0.7
    if odd > most and not even:
        return "utf-16-le"
    if even > most and not odd:
        return "utf-16-be"
    return "binary"


def _line_of(content: bytes, position: int, encoding: str) -> int:
    return content[:position].decode(encoding, errors="ignore").count("\n") + 1
