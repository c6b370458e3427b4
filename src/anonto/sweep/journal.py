"""The results of finished units, one JSON line each, so that a sweep that was stopped can be resumed.

The first line says which table and plan they belong to. A line is written whole or, when the machine stops in the
middle of it, is the last of the file and cut off when the file is opened again. The file holds risks and losses of
plans, no cell and no seed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anonto.errors import FileError, UnwritableFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1


class Journal:
    """An open file of results; a sweep without one keeps them in memory alone."""

    def __init__(self, path: str | os.PathLike[str] | None, belongs_to: Mapping[str, str]) -> None:
        """Open or make the file, and take up what is in it."""
        self.results: dict[str, dict[str, Any]] = {}
        self._descriptor: int | None = None
        if path is None:
            return
        self._name = str(path)
        file = Path(path)
        try:
            whole = self._take_up(file.read_bytes(), belongs_to) if file.exists() else 0
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._descriptor, whole)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError as error:
            self.close()
            raise UnwritableFileError(self._name, error.strerror or "unknown reason") from None
        if not whole:
            self._write({"anonto-sweep": FORMAT, **belongs_to})

    def add(self, key: str, about: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Keep a result, on the disk before this returns."""
        self.results[key] = result
        self._write({"key": key, **about, "result": result})

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            return
        rest = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise UnwritableFileError(self._name, error.strerror or "unknown reason") from None

    def _take_up(self, content: bytes, belongs_to: Mapping[str, str]) -> int:
        """Read the lines; how many bytes of the file are whole."""
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        if not lines:
            # A first line that was being written when the machine stopped; anything else is not ours to overwrite.
            if content and not b'{"anonto-sweep"'.startswith(content[:15]):
                raise not_a_sweep_file(self._name)
            return 0
        head = self._parse(lines[0])
        if head.get("anonto-sweep") != FORMAT:
            raise not_a_sweep_file(self._name)
        for what, mark in belongs_to.items():
            if head.get(what) != mark:
                raise foreign_sweep(self._name, what)
        for line in lines[1:]:
            one = self._parse(line)
            if not isinstance(one.get("key"), str) or not isinstance(one.get("result"), dict):
                raise not_a_sweep_file(self._name)
            self.results[one["key"]] = one["result"]
        return whole

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(line)
        except ValueError:
            raise not_a_sweep_file(self._name) from None
        if not isinstance(parsed, dict):
            raise not_a_sweep_file(self._name)
        return parsed


def foreign_sweep(name: str, what: str) -> FileError:
    """A resume file that belongs to something else."""
    return FileError(
        f"{name!r} has the results of another {what}; give the {what} it was made with, or another file to resume from."
    )


def not_a_sweep_file(name: str) -> FileError:
    """A file that does not contain the results of a sweep."""
    return FileError(f"{name!r} is not a file of a sweep's results; give the name of a new file.")
