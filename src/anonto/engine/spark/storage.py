"""Parquet files on the storage of the cluster, reached through Hadoop's file systems: disks, HDFS, object stores.

An output is a folder of part files. It is written under a temporary name and renamed when it is complete; the table
that it replaces is kept in another folder until then. Temporary names contain the machine and the process, so that the
next run can remove what a killed process left.
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
from anonto.errors import ExistingFileError, FileError, MalformedFileError, MissingFileError, UnwritableFileError
from anonto.io.atomic_write import same_file
from anonto.io.batches import among_inputs
from anonto.io.left_behind import removed_leftovers
from anonto.masking.fitted import changed_table
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Place: TypeAlias = tuple[str, ...]

PARQUET_OPTIONS = {
    "compression": "zstd",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}
"""No statistics: they would contain the least and the greatest cell of a column."""
RENAMES_AT_ONCE = {"file", "hdfs", "viewfs"}
"""Schemes of stores that move a folder in one step; others may copy its files one by one."""
OLD = ".old"
"""The ending of the folder that keeps a table while it is being replaced."""
_GLOB, _ESCAPED = re.compile(r"[\\*?\[\]{}]"), r"\\\g<0>"
"""Characters that Hadoop reads as a pattern, and their escapes."""
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

    def uri_in_rows(self, uri: str) -> str:
        """The URI of a file as Spark spells it in the rows that come from it."""
        return str(self._java.org.apache.hadoop.fs.Path(self._of_uri(uri).toString()).toUri().toString())

    def exists(self, name: str) -> bool:
        """Return whether there is a file or a folder of this name."""
        return bool(self._system(name).exists(self.path(name)))

    def stamp(self, uris: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """The lengths and modification times of files, to detect changes."""
        found = []
        for uri in uris:
            path = self._of_uri(uri)
            with _name_damaged_file(uri):
                status = path.getFileSystem(self._settings).getFileStatus(path)
            found.append((int(status.getLen()), int(status.getModificationTime())))
        return tuple(found)

    def row_groups(self, uri: str) -> list[int]:
        """The rows of each row group of a Parquet file, from its footer."""
        hadoop = self._java.org.apache.parquet.hadoop
        with _name_damaged_file(uri):
            file = hadoop.util.HadoopInputFile.fromPath(self._of_uri(uri), self._settings)
            reader = hadoop.ParquetFileReader.open(file)
        try:
            return [int(block.getRowCount()) for block in reader.getFooter().getBlocks()]
        finally:
            reader.close()

    def is_folder(self, name: str) -> bool:
        """Return whether there is a folder of this name."""
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
        """The location of a name: see `place_of`."""
        return place_of(str(self.path(name).toUri().toString()))

    @contextmanager
    def atomic_write(self, name: str, *, force: bool, then: Callable[[], None] | None = None) -> Iterator[str]:
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
        temporary, old = (self._in(target.getParent(), f"{own}{ending}") for ending in (".parquet", OLD))
        try:
            yield str(temporary.toString())
            self._put_in_place(temporary, target, old, name, force=force)
            if then is not None:
                then()
        finally:
            with suppress(Exception):  # must not hide the error; the next run removes it
                self.delete(str(temporary.toString()))

    def _put_in_place(self, temporary: Any, target: Any, old: Any, name: str, *, force: bool) -> None:
        """Rename a folder to its target; an existing target is kept aside, and restored if anything fails."""
        system = target.getFileSystem(self._settings)
        replaces = bool(system.exists(target))
        if replaces and not force:
            raise ExistingFileError(name)
        try:
            if replaces:
                system.mkdirs(old)
                kept = self._in(old, target.getName())
                _require(_try_rename(system, target, kept), name, "what is there cannot be moved away")
            _require(_try_rename(system, temporary, target), name, "the new table could not be put there")
        except BaseException:
            with suppress(Exception):  # must not hide the error; the next run restores it
                self._put_back(system, old)
            raise
        if replaces:
            with suppress(Exception):  # the new table is in place; the next run removes the old one
                system.delete(old, True)

    def _put_back(self, system: Any, old: Any) -> None:
        """Restore a replaced table if its name is free, else remove it.

        Where a rename copies file by file, what is under the name may not be whole: then what was replaced stays.
        """
        at_once = str(system.getUri().getScheme()) in RENAMES_AT_ONCE
        for status in system.listStatus(old):
            target = self._in(old.getParent(), status.getPath().getName())
            is_there = bool(system.exists(target))
            if (is_there and not at_once) or not (is_there or _try_rename(system, status.getPath(), target)):
                return
        system.delete(old, True)

    def clear_left_over(self, folder: str) -> None:
        """Remove what killed runs of this machine left, and restore the tables that they were replacing."""
        n_removed = 0
        with suppress(Exception):  # a left-over folder must not stop this run
            system = self._system(folder)
            for hidden in (".", ""):
                pattern = f"{_GLOB.sub(_ESCAPED, folder.rstrip('/'))}/{hidden}anonto-{_machine()}-*"
                for status in system.globStatus(self._java.org.apache.hadoop.fs.Path(pattern)) or ():
                    with suppress(Exception):
                        n_removed += self._is_cleared(system, status.getPath())
        if n_removed:
            warnings.warn(removed_leftovers(folder, n_removed, 0), stacklevel=2)

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
    """A word for this machine that does not reveal its name."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def own_prefix() -> str:
    """The prefix of the temporary names of this process."""
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
def _name_damaged_file(uri: str) -> Iterator[None]:
    """Name a damaged file; a missing file means that the table changed since it was opened."""
    try:
        yield
    except Exception as error:
        if is_about_absence(error):
            raise changed_table() from None
        if is_about_damage(error):
            raise MalformedFileError(file_name(uri), "Parquet", "it cannot be decoded") from None
        raise


def _try_rename(system: Any, source: Any, target: Any) -> bool:
    """Rename, and return whether it worked; some stores return False and others raise."""
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
    """The name of a file without its folders, which may reveal values of columns."""
    return unquote(uri.rpartition("/")[2])


def place_of(uri: str) -> Place:
    """The location of a URI, however it is written: the store, and the names of the path.

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
class Inputs:
    """The locations that a DataFrame reads."""

    files: tuple[Place, ...] = ()
    folders: tuple[Place, ...] = ()
    """Folders that are read with everything in them."""

    def require_apart(
        self, target: tuple[str, Place] | None, further: Sequence[Path], files: Sequence[Path] = ()
    ) -> None:
        """Refuse outputs that would replace an input or another output, or that would be read the next time.

        Args:
            target: The folder of a table and where it is.
            further: The other outputs.
            files: Other inputs of this machine.
        """
        read = [*self.files, *map(place_here, files), *self.folders]
        taken = set(read)
        if target is not None:
            name, place = target
            if any(_is_in(one, place) for one in read):
                raise same_file(name)
            if any(_is_in(place, folder) for folder in self.folders):
                raise among_inputs(name)
        for path in further:
            here = place_here(path)
            if here in taken or (target is not None and _is_in(here, target[1])):
                raise same_file(str(path))
            taken.add(here)


def _is_in(place: Place, folder: Place) -> bool:
    """Return whether a place is a folder or somewhere in it."""
    return place[: len(folder)] == folder


def find_inputs(frame: Any) -> Inputs:
    """The files that a DataFrame reads, and the folders that it was given."""
    files = {place_of(uri) for uri in frame.inputFiles()}
    folders = set()
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - a DataFrame has no method for it
    for number in range(leaves.length()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() != "LogicalRelation":
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() == "HadoopFsRelation":
            roots = str(relation.location().rootPaths().mkString("\0")).split("\0")
            folders |= {place_of(quote(root, safe="/:@")) for root in roots if root}
    return Inputs(tuple(sorted(files)), tuple(sorted(folders - files)))


def read_parquet(session: Any, name: str) -> Any:
    """A Parquet file, or a folder of them, as a DataFrame: the files that one machine reads, and no others."""
    storage = Storage(session)
    with jobs(session, "Looking for the table"):
        if not storage.exists(name):
            raise MissingFileError(name)
        files = storage.files(name)
        if not files:
            raise no_parquet_files(name)
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
                raise foreign_files(name, n_foreign)
        return frame


def _is_read_here(uri: str, folder: str) -> bool:
    """Return whether reading the folder on one machine would include a file."""
    parent, _, name = unquote(urlsplit(uri).path).rpartition("/")
    return (
        parent == unquote(urlsplit(folder).path).rstrip("/")
        and name.endswith(".parquet")
        and not name.startswith((".", "_"))
    )


def write_parquet(frame: Any, name: str) -> None:
    """Write a DataFrame to a folder of Parquet files, without statistics about the cells."""
    frame.write.options(**PARQUET_OPTIONS).parquet(name)


def no_parquet_files(path: str) -> FileError:
    """A folder or a pattern without Parquet files."""
    return FileError(f"{path!r} has no Parquet files (.parquet); give a file, or a folder or a pattern with some.")


def foreign_files(name: str, n_files: int) -> FileError:
    """Files of a folder that Spark would read and one machine would not."""
    return FileError(
        f"Spark would read {count_of(n_files, 'file')} of {name!r} that one machine leaves out: those in folders "
        "inside it, and those whose name does not end in .parquet; move them away, or mask a DataFrame in Python."
    )
