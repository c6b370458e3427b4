"""Parquet files where the cluster keeps them, reached through Hadoop's file systems: disks, HDFS, object stores.

A table that is written is a folder of part files, as everything around Spark expects. It is written beside its name
and moved there when it is whole; what it replaces waits in a folder of its own until then. What a killed process leaves
has the machine and the process in its name, so that the next run can tell that nobody needs it any more.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from anonto.engine.spark.session import is_about_absence, is_about_damage, is_of_spark, jobs
from anonto.errors import (
    AmongInputsError,
    ExistingFileError,
    ForeignFilesError,
    LeftOverWarning,
    MalformedFileError,
    MissingFileError,
    NoFilesError,
    SameFileError,
    TableChangedError,
    UnwritableFileError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Place: TypeAlias = tuple[str, ...]

PARQUET_OPTIONS = {
    "compression": "zstd",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}
"""No statistics: the least and the greatest value of a column are cells of it."""
RENAMES_AT_ONCE = {"file", "hdfs", "viewfs"}
"""Schemes of stores that move a folder in one step; others may copy its files one by one."""
OLD = ".old"
"""The ending of a folder in which a table waits that is being replaced."""
_GLOB, _ESCAPED = re.compile(r"[\\*?\[\]{}]"), r"\\\g<0>"
"""What Hadoop would take for a pattern, and how it is told not to."""
_PORT = re.compile(r":\d*$")


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
            with _looking_at(uri):
                status = path.getFileSystem(self._settings).getFileStatus(path)
            found.append((int(status.getLen()), int(status.getModificationTime())))
        return tuple(found)

    def row_groups(self, uri: str) -> list[int]:
        """The rows of each row group of a Parquet file, from its footer."""
        hadoop = self._java.org.apache.parquet.hadoop
        with _looking_at(uri):
            file = hadoop.util.HadoopInputFile.fromPath(self._of_uri(uri), self._settings)
            reader = hadoop.ParquetFileReader.open(file)
        try:
            return [int(block.getRowCount()) for block in reader.getFooter().getBlocks()]
        finally:
            reader.close()

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of this name."""
        return bool(self._system(name).getFileStatus(self.path(name)).isDirectory())

    def files(self, name: str) -> list[str]:
        """The URI of a file, or those of the files right in a folder that are not hidden."""
        found = self._system(name).listStatus(self.path(name))
        uris = [str(one.getPath().toUri().toString()) for one in found if one.isFile()]
        return sorted(uri for uri in uris if not file_name(uri).startswith((".", "_")))

    def parts(self, name: str) -> list[str]:
        """The URIs of the part files that Spark wrote into a folder, by name."""
        return [uri for uri in self.files(name) if file_name(uri).startswith("part-")]

    def rename(self, uri: str, name: str) -> None:
        """Give a file another name in its folder."""
        path = self._of_uri(uri)
        target = self._in(path.getParent(), name)
        if not path.getFileSystem(self._settings).rename(path, target):
            raise UnwritableFileError(name, "it could not be renamed")

    def delete_file(self, uri: str) -> None:
        """Remove a file that is given by its URI."""
        path = self._of_uri(uri)
        path.getFileSystem(self._settings).delete(path, False)

    def delete(self, name: str) -> None:
        """Remove a file or a folder with all that is in it; nothing happens if there is none."""
        self._system(name).delete(self.path(name), True)

    def place(self, name: str) -> Place:
        """Where a name leads: see `place_of`."""
        return place_of(str(self.path(name).toUri().toString()))

    @contextmanager
    def written_beside(self, name: str, *, force: bool, then: Callable[[], None] | None = None) -> Iterator[str]:
        """A name for a folder beside the target, moved onto the target after the block, and removed if it fails.

        Args:
            name: The target.
            force: Whether what is there is replaced.
            then: Called as soon as the folder is in place.
        """
        target = self.path(name)
        self.clear_left_over(str(target.getParent().toString()))
        if self.exists(name) and not force:
            raise ExistingFileError(name)
        own = f".{own_prefix()}{secrets.token_hex(8)}"
        beside, old = (self._in(target.getParent(), f"{own}{ending}") for ending in (".parquet", OLD))
        try:
            yield str(beside.toString())
            self._put_in_place(beside, target, old, name, force=force)
            if then is not None:
                then()
        finally:
            with suppress(Exception):  # it must not hide what went wrong; the next run removes it
                self.delete(str(beside.toString()))

    def _put_in_place(self, beside: Any, target: Any, old: Any, name: str, *, force: bool) -> None:
        """Move a folder to its name; what is there waits in the old folder, and goes back if anything fails."""
        system = target.getFileSystem(self._settings)
        replaces = bool(system.exists(target))
        if replaces and not force:
            raise ExistingFileError(name)
        try:
            if replaces:
                system.mkdirs(old)
                kept = self._in(old, target.getName())
                _require(_renamed(system, target, kept), name, "what is there cannot be moved away")
            _require(_renamed(system, beside, target), name, "the new table could not be put there")
        except BaseException:
            with suppress(Exception):  # it must not hide what went wrong; the next run puts it back
                self._put_back(system, old)
            raise
        if replaces:
            with suppress(Exception):  # the new table is in place; the next run removes the old one
                system.delete(old, True)

    def _put_back(self, system: Any, old: Any) -> None:
        """Move what was replaced back to its name if nothing is there, else remove it.

        Where a rename copies file by file, what is under the name may not be whole: then what was replaced stays.
        """
        at_once = str(system.getUri().getScheme()) in RENAMES_AT_ONCE
        for status in system.listStatus(old):
            target = self._in(old.getParent(), status.getPath().getName())
            is_there = bool(system.exists(target))
            if (is_there and not at_once) or not (is_there or _renamed(system, status.getPath(), target)):
                return
        system.delete(old, True)

    def clear_left_over(self, folder: str) -> None:
        """Remove what runs of this machine left that were killed, and put back what they were about to replace."""
        n_removed = 0
        with suppress(Exception):  # what cannot be removed is no reason to stop
            system = self._system(folder)
            for hidden in (".", ""):
                pattern = f"{_GLOB.sub(_ESCAPED, folder.rstrip('/'))}/{hidden}anonto-{_machine()}-*"
                for status in system.globStatus(self._java.org.apache.hadoop.fs.Path(pattern)) or ():
                    with suppress(Exception):
                        n_removed += self._is_cleared(system, status.getPath())
        if n_removed:
            warnings.warn(LeftOverWarning(folder, n_removed, 0), stacklevel=2)

    def _is_cleared(self, system: Any, left: Any) -> bool:
        name = str(left.getName())
        process = name.split("-")[2]
        if not process.isdecimal() or _is_alive(int(process)):
            return False
        if name.endswith(OLD):
            self._put_back(system, left)
            return False
        return bool(system.delete(left, True))

    def _in(self, folder: Any, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(folder, name)

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


def own_prefix() -> str:
    """How the names begin of what this process leaves if it is killed."""
    return f"anonto-{_machine()}-{os.getpid()}-"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def _looking_at(uri: str) -> Iterator[None]:
    """Tell which file is damaged; one that is gone was there when the table was opened."""
    try:
        yield
    except Exception as error:
        if is_about_absence(error):
            raise TableChangedError from None
        if is_about_damage(error):
            raise MalformedFileError(file_name(uri), "Parquet", "it cannot be decoded") from None
        raise


def _renamed(system: Any, source: Any, target: Any) -> bool:
    """Whether a rename was done; some stores say no by their answer, and others by an exception."""
    try:
        return bool(system.rename(source, target))
    except Exception as error:
        if not is_of_spark(error):
            raise
        return False


def _require(done: bool, name: str, fault: str) -> None:
    if not done:
        raise UnwritableFileError(name, fault)


def local_path(uri: str) -> Path | None:
    """The path of a file of this machine; None for one elsewhere."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in {"", "file"} else None


def file_name(uri: str) -> str:
    """The name of a file without its folders, which may tell values of columns."""
    return unquote(uri.rpartition("/")[2])


def place_of(uri: str) -> Place:
    """Where a URI leads, the same however it is spelt: the store, and the names on the way.

    Schemes and ports are left out, since several of them lead to one store; links of this machine are followed.
    """
    here = local_path(uri)
    if here is not None:
        return place_here(here)
    parts = urlsplit(uri)
    store = _PORT.sub("", parts.netloc).lower() or parts.scheme
    return (store, *PurePosixPath(unquote(parts.path)).parts)


def place_here(path: Path) -> Place:
    """The same of a path of this machine."""
    return ("", *Path(os.path.realpath(path)).parts)


@dataclass(frozen=True, slots=True)
class Read:
    """What a DataFrame reads, as places."""

    files: tuple[Place, ...] = ()
    folders: tuple[Place, ...] = ()
    """Those that are read with all that is in them."""

    def require_apart(
        self, target: tuple[str, Place] | None, beside: Sequence[Path], files: Sequence[Path] = ()
    ) -> None:
        """Refuse outputs that would replace an input or another output, or that would be read the next time.

        Args:
            target: The folder of a table and where it is.
            beside: The other outputs.
            files: Other inputs of this machine.
        """
        read = [*self.files, *map(place_here, files), *self.folders]
        taken = set(read)
        if target is not None:
            name, place = target
            if any(_is_in(one, place) for one in read):
                raise SameFileError(name)
            if any(_is_in(place, folder) for folder in self.folders):
                raise AmongInputsError(name)
        for path in beside:
            here = place_here(path)
            if here in taken or (target is not None and _is_in(here, target[1])):
                raise SameFileError(str(path))
            taken.add(here)


def _is_in(place: Place, folder: Place) -> bool:
    """Whether a place is a folder or somewhere in it."""
    return place[: len(folder)] == folder


def what_is_read(frame: Any) -> Read:
    """The files that a DataFrame reads, and the folders that it was given."""
    files = {place_of(uri) for uri in frame.inputFiles()}
    folders = set()
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - a DataFrame does not tell
    for number in range(leaves.length()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() != "LogicalRelation":
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() == "HadoopFsRelation":
            roots = str(relation.location().rootPaths().mkString("\0")).split("\0")
            folders |= {place_of(quote(root, safe="/:@")) for root in roots if root}
    return Read(tuple(sorted(files)), tuple(sorted(folders - files)))


def read_parquet(session: Any, name: str) -> Any:
    """A Parquet file, or a folder of them, as a DataFrame: the files that one machine reads, and no others."""
    storage = Storage(session)
    with jobs(session, "Looking for the table"):
        if not storage.exists(name):
            raise MissingFileError(name)
        files = storage.files(name)
        if not files:
            raise NoFilesError(name)
        try:
            frame = session.read.parquet(_GLOB.sub(_ESCAPED, name))
        except Exception as error:
            if not is_of_spark(error):
                raise
            for uri in files:
                storage.row_groups(uri)
            raise MalformedFileError(name.rstrip("/").rpartition("/")[2], "Parquet", "Spark cannot read it") from None
        if storage.is_folder(name):
            folder = str(storage.path(name).toUri().toString())
            n_foreign = sum(not _is_read_here(uri, folder) for uri in frame.inputFiles())
            if n_foreign:
                raise ForeignFilesError(name, n_foreign)
        return frame


def _is_read_here(uri: str, folder: str) -> bool:
    """Whether one machine reads a file of a folder, too."""
    parent, _, name = unquote(urlsplit(uri).path).rpartition("/")
    return (
        parent == unquote(urlsplit(folder).path).rstrip("/")
        and name.endswith(".parquet")
        and not name.startswith((".", "_"))
    )


def write_parquet(frame: Any, name: str) -> None:
    """Write a DataFrame to a folder of Parquet files, in which nothing about the cells stands outside them."""
    frame.write.options(**PARQUET_OPTIONS).parquet(name)
