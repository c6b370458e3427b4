"""Errors about files that the readers of ontologies and of tables share."""

from __future__ import annotations

from anonto.errors import FileError


def not_a_folder(name: str, contents: str = "ontologies") -> FileError:
    """A file where a folder is expected."""
    return FileError(f"{name!r} is a file, not a folder; name a folder that contains {contents}.")


def unreadable_file(name: str, reason: str) -> FileError:
    """A file that the operating system refuses to read."""
    return FileError(f"{name!r} cannot be read ({reason}); check its permissions.")


def not_a_regular_file(name: str) -> FileError:
    """A pipe or a device, which may never end."""
    return FileError(f"{name!r} is a pipe or a device, not a file; save its content to a file, and give that.")


def empty_file(name: str) -> FileError:
    """A file without content."""
    return FileError(f"{name!r} is empty; give a file with content.")


def binary_file(name: str, kind: str = "binary data") -> FileError:
    """A file that is not text."""
    return FileError(f"{name!r} is not a text file (it looks like {kind}); give it as text, plain or in gzip.")


def wrong_encoding(name: str, line: int, encoding: str | None = None, *, other_encodings: bool = True) -> FileError:
    """Bytes that are not text in the expected character set."""
    found = f"not {encoding}" if encoding else "neither UTF-8 nor UTF-16"
    return FileError(
        f"{name!r} is {found}: line {line:,} has a byte that is not text; save the file as UTF-8"
        f"{' or give its encoding' if encoding and other_encodings else ''}."
    )


def oversized_archive(name: str, limit: str) -> FileError:
    """A compressed file that expands beyond any reasonable size."""
    return FileError(f"{name!r} expands beyond {limit} and was not read further: unpack and inspect it yourself.")
