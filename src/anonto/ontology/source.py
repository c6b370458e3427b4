"""A file's bytes, hashed, unpacked within limits and decoded to text; or an error that says why not.

Accepted are UTF-8 (with or without a byte order mark), UTF-16 (with one, or recognised by its zero bytes) and XML in
the 8-bit encoding that it declares, each plain or gzipped.
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
from typing import TYPE_CHECKING, Any

from anonto.errors import FileError, MalformedFileError, MissingFileError
from anonto.ontology.refusals import (
    binary_file,
    empty_file,
    not_a_regular_file,
    oversized_archive,
    unreadable_file,
    wrong_encoding,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

    from anonto.taxonomy.taxonomy import Provenance

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
    """The text of a file, its name and its hash."""

    name: str
    """The file's name without its folder."""
    text: str
    sha256: str
    """SHA-256 of the bytes as stored, compressed or not."""

    def provenance(self, format_name: str, **further: Any) -> Provenance:
        """The provenance of a taxonomy that was read from this file; ``further`` are its other fields."""
        from anonto.taxonomy.taxonomy import Provenance

        return Provenance(source=self.name, format=format_name, sha256=self.sha256, **further)


def read_source(path: Path) -> Source:
    """Read a file as text, whatever its name."""
    stored = _stored_bytes(path)
    content = stored
    if stored.startswith(GZIP_MAGIC):
        content = b"".join(_unpack(path))
    text = decode_text(content, path.name)
    return Source(path.name, text, hashlib.sha256(stored).hexdigest())


def read_unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzipped."""
    return b"".join(_unpack(path)) if is_gzipped(path) else _stored_bytes(path)


def is_gzipped(path: Path) -> bool:
    """Return whether a file starts like gzip."""
    with open_file(path) as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def kind_of_path(path: str | os.PathLike[str], refusal: Callable[[str], FileError] = not_a_regular_file) -> str:
    """``"file"`` or ``"folder"``; pipes and devices are refused, because they may never end."""
    try:
        mode = Path(path).stat().st_mode if os.fspath(path) else None
    except (FileNotFoundError, NotADirectoryError, ValueError):
        mode = None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise MissingFileError(str(path)) from None
        raise unreadable_file(str(path), error.strerror or "unknown reason") from None
    if mode is None:
        raise MissingFileError(str(path))
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise refusal(str(path))


def name_of_folder(folder: Path) -> str:
    """The name of a folder without its path, also if the path is a dot."""
    return folder.resolve().name or str(folder)


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading bytes."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise MissingFileError(str(path)) from None
    except OSError as error:
        raise unreadable_file(str(path), error.strerror or "unknown reason") from None


def file_sha256(path: Path) -> str:
    """The hash of a file's bytes, read in chunks."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> tuple[int, int, int]:
    """Fingerprint that changes when a file is written or replaced: size, time and inode number."""
    with open_file(path) as file:
        found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns, found.st_ino


def _stored_bytes(path: Path) -> bytes:
    with open_file(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise unreadable_file(str(path), error.strerror or "unknown reason") from None


def _unpack(path: Path) -> Iterator[bytes]:
    """The chunks of a gzip file, refused as soon as they expand more than text normally does."""
    total = 0
    with open_file(path) as stored:
        most = max(UNSUSPICIOUS_BYTES, MAX_EXPANSION_RATIO * os.fstat(stored.fileno()).st_size)
        with gzip.GzipFile(fileobj=stored) as unpacked:
            while chunk := _next_chunk(unpacked, path.name):
                total += len(chunk)
                if total > MAX_EXPANDED_BYTES:
                    raise oversized_archive(path.name, f"{MAX_EXPANDED_BYTES >> 30} GiB")
                if total > most:
                    raise oversized_archive(path.name, f"{MAX_EXPANSION_RATIO} times its size")
                yield chunk


def _next_chunk(unpacked: gzip.GzipFile, name: str) -> bytes:
    try:
        return unpacked.read(CHUNK_BYTES)
    except EOFError:
        raise MalformedFileError(name, "gzip", "it ends in the middle") from None
    except (gzip.BadGzipFile, zlib.error):
        raise MalformedFileError(name, "gzip", "its compressed data is damaged") from None


# ---------------------------------------------------------------------------------------------- text


def decode_text(content: bytes, name: str) -> str:
    """The text of some bytes, with line feeds as line endings and without byte order mark."""
    refuse_binary(content, name)
    declared = _declared_encoding(content, name)
    encoding = declared or _encoding(content)
    if encoding == "binary":
        raise binary_file(name)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = line_of(content, error.start, encoding)
        raise wrong_encoding(name, line, declared, other_encodings=False) from None
    if not text or text.isspace():
        raise empty_file(name)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, one at a time; a list would take many times its memory."""
    number, position = 1, 0
    while (end := text.find("\n", position)) >= 0:
        yield number, text[position:end]
        number, position = number + 1, end + 1
    yield number, text[position:]


def refuse_binary(content: bytes, name: str, refusal: Callable[[str, str], FileError] = binary_file) -> None:
    """Refuse binary formats that are known by their first bytes."""
    for pattern, kind in _BINARY_KINDS:
        if re.match(pattern, content, re.DOTALL):
            raise refusal(name, kind)


def _encoding(content: bytes) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) and not content.startswith(b"\xff\xfe\x00\x00"):
        return "utf-16"
    if b"\x00" in content:
        return encoding_by_zeros(content) or "binary"
    return "utf-8"


def _declared_encoding(content: bytes, name: str) -> str | None:
    """The 8-bit encoding that XML declares, or None."""
    declaration = _XML_DECLARATION.match(content[:_ENCODING_SAMPLE])
    declared = declaration.group(1).decode("ascii") if declaration else ""
    if not _DECLARABLE.fullmatch(declared) or b"\x00" in content:
        return None
    try:
        codecs.lookup(declared)
    except LookupError:
        raise unknown_declared_encoding(name, declared) from None
    return declared


def encoding_by_zeros(content: bytes) -> str | None:
    """UTF-16 if, as in mostly Latin text, every second byte is zero and no other is; otherwise None."""
    sample = content[:_ENCODING_SAMPLE]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most = len(sample) // 2 * 0.7
    if odd > most and not even:
        return "utf-16-le"
    if even > most and not odd:
        return "utf-16-be"
    return None


def line_of(content: bytes, position: int, encoding: str) -> int:
    """The number of the line at a position."""
    return content[:position].decode(encoding, errors="ignore").count("\n") + 1


def unknown_declared_encoding(name: str, encoding: str) -> FileError:
    """An XML file that declares a character set that does not exist."""
    return FileError(f"{name!r} declares the encoding {encoding!r}, which does not exist; save the file as UTF-8.")
