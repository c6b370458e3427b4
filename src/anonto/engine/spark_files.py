"""Parquet files where the cluster keeps them, reached through Hadoop's file systems: disks, HDFS, object stores.

A table that is written is a folder of part files, as everything around Spark expects. It is written beside its name
and moved there when it is whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from anonto.engine.spark import jobs
from anonto.errors import (
    ExistingFileError,
    MalformedFileError,
    MissingFileError,
    UnwritableFileError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARQUET_OPTIONS = {
    "compression": "zstd",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}
"""No statistics: the least and the greatest value of a column are cells of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """The file systems that a session of Spark sees."""

    session: Any

    def path(self, name: str) -> Any:
        """A path as Hadoop takes it, with its scheme."""
        path = self._java.org.apache.hadoop.fs.Path(name)
        system = path.getFileSystem(self._settings)
        return system.makeQualified(path)

    def spelt(self, uri: str) -> str:
        """The URI of a file as Spark spells it in the rows that come from it."""
        return str(self._java.org.apache.hadoop.fs.Path(self._of_uri(uri).toString()).toUri().toString())

    def exists(self, name: str) -> bool:
        """Whether there is a file or a folder of this name."""
        return bool(self._system(name).exists(self.path(name)))

    def stamp(self, uris: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """How long files are and when they were last written, to see whether they change."""
        found = []
        for uri in uris:
            path = self._of_uri(uri)
            status = path.getFileSystem(self._settings).getFileStatus(path)
            found.append((int(status.getLen()), int(status.getModificationTime())))
        return tuple(found)

    def row_groups(self, uri: str) -> list[int]:
        """The rows of each row group of a Parquet file, from its footer."""
        hadoop = self._java.org.apache.parquet.hadoop
        file = hadoop.util.HadoopInputFile.fromPath(self._of_uri(uri), self._settings)
        reader = hadoop.ParquetFileReader.open(file)
        try:
            return [int(block.getRowCount()) for block in reader.getFooter().getBlocks()]
        finally:
            reader.close()

    def parts(self, name: str) -> list[str]:
        """The URIs of the Parquet files right in a folder, by name."""
        found = self._system(name).listStatus(self.path(name))
        uris = [str(one.getPath().toUri().toString()) for one in found if one.isFile()]
        return sorted(uri for uri in uris if _name(uri).startswith("part-"))

    def rename(self, uri: str, name: str) -> None:
        """Give a file another name in its folder."""
        path = self._of_uri(uri)
        target = self._java.org.apache.hadoop.fs.Path(path.getParent(), name)
        if not path.getFileSystem(self._settings).rename(path, target):
            raise UnwritableFileError(name, "it could not be renamed")

    def delete_file(self, uri: str) -> None:
        """Remove a file that is given by its URI."""
        path = self._of_uri(uri)
        path.getFileSystem(self._settings).delete(path, False)

    def delete(self, name: str) -> None:
        """Remove a file or a folder with all that is in it; nothing happens if there is none."""
        self._system(name).delete(self.path(name), True)

    @contextmanager
    def written_beside(self, name: str, *, force: bool) -> Iterator[str]:
        """A name for a folder beside the target, moved onto the target after the block, and removed if it fails."""
        if self.exists(name) and not force:
            raise ExistingFileError(name)
        target = self.path(name)
        self._clear_left_over(target.getParent())
        beside = self._java.org.apache.hadoop.fs.Path(
            target.getParent(), f"{_own_prefix()}{secrets.token_hex(8)}.parquet"
        )
        try:
            yield str(beside.toString())
            self._put_in_place(beside, target, name, force=force)
        finally:
            self.delete(str(beside.toString()))

    def _put_in_place(self, beside: Any, target: Any, name: str, *, force: bool) -> None:
        system = target.getFileSystem(self._settings)
        old = None
        if system.exists(target):
            if not force:
                raise ExistingFileError(name)
            old = self._java.org.apache.hadoop.fs.Path(target.getParent(), f".anonto-{secrets.token_hex(8)}.old")
            if not system.rename(target, old):
                raise UnwritableFileError(name, "what is there cannot be moved away")
        if not system.rename(beside, target):
            if old is not None:
                system.rename(old, target)
            raise UnwritableFileError(name, "the new table could not be put there")
        if old is not None:
            system.delete(old, True)

    def _clear_left_over(self, folder: Any) -> None:
        """Remove what runs of this machine left that were killed."""
        pattern = self._java.org.apache.hadoop.fs.Path(folder, f".anonto-{_machine()}-*.parquet")
        system = folder.getFileSystem(self._settings)
        for status in system.globStatus(pattern) or ():
            process = str(status.getPath().getName()).split("-")[2]
            if process.isdecimal() and not _is_alive(int(process)):
                system.delete(status.getPath(), True)

    def _of_uri(self, uri: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self._java.java.net.URI(uri))

    def _system(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(name).getFileSystem(self._settings)

    @property
    def _java(self) -> Any:
        return self.session._jvm  # noqa: SLF001 - the only way to Hadoop's file systems

    @property
    def _settings(self) -> Any:
        return self.session._jsc.hadoopConfiguration()  # noqa: SLF001


def _machine() -> str:
    """A word for this machine that does not show its name."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def _own_prefix() -> str:
    return f".anonto-{_machine()}-{os.getpid()}-"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def local_path(uri: str) -> Path | None:
    """The path of a file of this machine; None for one elsewhere."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in {"", "file"} else None


_GLOB = re.compile(r"[\\*?\[\]{}]")
"""What Spark would take for a pattern."""


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]


def read_parquet(session: Any, name: str) -> Any:
    """A Parquet file, or a folder of them, as a DataFrame."""
    from pyspark.errors import PySparkException

    with jobs(session, "Looking for the table"):
        if not Storage(session).exists(name):
            raise MissingFileError(name)
        try:
            return session.read.parquet(_GLOB.sub(r"\\\g<0>", name))
        except PySparkException:
            raise MalformedFileError(_name(name.rstrip("/")), "Parquet", "Spark cannot read it") from None


def write_parquet(frame: Any, name: str) -> None:
    """Write a DataFrame to a folder of Parquet files, in which nothing about the cells stands outside them."""
    frame.write.options(**PARQUET_OPTIONS).parquet(name)
