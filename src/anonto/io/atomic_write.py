"""Atomic writing: a file is written under a temporary name and renamed when it is complete.

After a full disk, Ctrl-C or a kill, the target is either unchanged or the complete new file: renaming is one step of
the file system and happens after the bytes are on the disk. Files that belong together are renamed together. Temporary
files of a killed process are removed by the next one that writes into the same folder, before it starts its work.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, ExistingFileError, FileError, UnwritableFileError
from anonto.io.left_behind import UNFINISHED, clear_left_over, is_locked_by_us, new_name
from anonto.stopping import held, raise_if_heard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STORAGE_FAULTS = {
    "No space left on device": ("no space left", "os error 28", "errno 28"),
    "Disk quota exceeded": ("quota exceeded", "os error 122", "errno 122"),
    "File too large": ("file too large", "os error 27", "errno 27"),
    "Input/output error": ("input/output error", "os error 5)", "errno 5]"),
    "the disk may be full": ("unable to write",),
}
"""How libraries word an error of the operating system."""


def require_free(inputs: Iterable[Path], outputs: Iterable[Path], *, force: bool = True) -> None:
    """Refuse, before any work is done, an output that is an input, another output, or an existing file.

    Temporary files of killed runs are removed from the folders of the outputs.
    """
    taken = {_target(one) for one in inputs}
    targets = [(output, _target(output)) for output in outputs]
    for folder in {target.parent for _, target in targets}:
        clear_left_over(folder)
    for output, target in targets:
        if target in taken:
            raise same_file(str(output))
        taken.add(target)
        if not force and target.exists():
            raise ExistingFileError(str(output))


def files_at(path: Path) -> list[Path]:
    """The file at a path, or all files in a folder and below it."""
    try:
        if path.is_dir():
            return [one for one in path.rglob("*") if one.is_file()]
        return [path] if path.exists() else []
    except (OSError, ValueError):
        return []


class PendingFiles:
    """Files under temporary names that are renamed together when all are complete."""

    def __init__(self) -> None:
        self._files: list[_PendingFile] = []
        self._renamed: list[_RenamedFile] = []
        self._is_committed = False

    def add(self, path: Path, *, force: bool = True, mode: int | None = None, room: Path | None = None) -> Path:
        """A temporary path in the target's folder; the first of several targets is renamed last.

        Args:
            path: The target.
            force: Whether to replace an existing target; otherwise it is an error, now and when files are renamed.
            mode: The permissions of the file from its creation on; None for those of the process's umask.
            room: A folder on the target's disk for the temporary file; None for the target's own.
        """
        target = _target(path)
        _refuse_target(target, path, force=force)
        folder = room or target.parent
        with _storage_errors(path):
            clear_left_over(folder)
            with held:
                temporary, lock = _create_locked(folder, _endings(path), 0o666 if mode is None else mode)
                self._files.append(_PendingFile(path, target, temporary, lock, force))
        return temporary

    def sync(self) -> None:
        """Flush every file to disk, and check again that its target is free."""
        for one in self._files:
            with _storage_errors(one.path):
                _sync(one.temporary)
                _refuse_target(one.target, one.path, force=one.force)

    def commit(self) -> None:
        """Rename all files, once; if one cannot be renamed, none is."""
        if self._is_committed:
            return
        self.sync()
        raise_if_heard()
        with held:
            with _roll_back_on_error(self):
                for one in reversed(self._files):
                    self._rename(one)
            self._is_committed = True
        for folder in {one.target.parent for one in self._files}:
            with suppress(OSError):  # some file systems cannot sync a folder; the files are complete anyway
                _sync(folder)

    def _rename(self, one: _PendingFile) -> None:
        is_new, kept = not one.target.exists(), _keep_replaced(one.target)
        try:
            with _storage_errors(one.path):
                one.temporary.replace(one.target)
        except BaseException:
            if kept is not None:
                with suppress(OSError):
                    kept.unlink()
            raise
        self._renamed.append(_RenamedFile(one.target, kept, is_new))

    def roll_back(self) -> None:
        """Restore the previous files, unless `keep` was called."""
        while self._renamed:
            with held, suppress(OSError):
                one = self._renamed.pop()
                if one.kept is not None:
                    one.kept.replace(one.target)
                elif one.is_new:
                    one.target.unlink()

    def keep(self) -> None:
        """Keep the renamed files from here on, even after an error."""
        while self._renamed:
            one = self._renamed.pop()
            if one.kept is not None:
                with suppress(OSError):
                    one.kept.unlink(missing_ok=True)

    def clean_up(self) -> None:
        """Remove temporary files that were not renamed."""
        with held:
            self.keep()
            for one in self._files:
                with suppress(OSError):
                    one.temporary.unlink(missing_ok=True)
                if one.lock is not None:
                    os.close(one.lock)

    def target_of(self, error: Exception) -> Path | None:
        """The target that an error is about: the one whose temporary path it names, or else the first."""
        name = getattr(error, "filename", None)
        named = (one.path for one in self._files if name is not None and str(one.temporary) == str(name))
        return next(named, self._files[0].path if self._files else None)


@dataclass(frozen=True, slots=True)
class _PendingFile:
    path: Path
    target: Path
    temporary: Path
    lock: int | None
    """Locked until the file is renamed, so that no other run removes it as a leftover."""
    force: bool


@dataclass(frozen=True, slots=True)
class _RenamedFile:
    target: Path
    kept: Path | None
    """A second name of the replaced file."""
    is_new: bool


def _keep_replaced(target: Path) -> Path | None:
    """A second name for a file that is about to be replaced; None without a file, or without hard links."""
    other = target.parent / new_name(UNFINISHED)
    try:
        other.hardlink_to(target)
    except OSError:
        return None
    return other


@contextmanager
def pending_files() -> Iterator[PendingFiles]:
    """Files that are renamed together after the block; after an error none of them is."""
    files = PendingFiles()
    try:
        with _roll_back_on_error(files):
            yield files
            files.commit()
    except AnontoError:
        raise
    except Exception as error:
        path = files.target_of(error)
        if path is None:
            raise
        with _storage_errors(path):
            raise
    finally:
        files.clean_up()


@contextmanager
def _roll_back_on_error(files: PendingFiles) -> Iterator[None]:
    """Roll back after an error."""
    try:
        yield
    except BaseException:
        files.roll_back()
        raise


@contextmanager
def atomic_write(
    path: Path, *, force: bool = True, mode: int | None = None, room: Path | None = None
) -> Iterator[Path]:
    """A temporary path in the target's folder, renamed to the target after the block; see `PendingFiles.add`."""
    with pending_files() as files:
        yield files.add(path, force=force, mode=mode, room=room)


def _create_locked(folder: Path, endings: str, mode: int) -> tuple[Path, int | None]:
    """A new empty file, and the descriptor that holds its lock, if the file system has locks."""
    while True:
        temporary = folder / (new_name(UNFINISHED) + endings)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if not is_locked_by_us(descriptor, wait=True):
            os.close(descriptor)
            return temporary.rename(folder / (new_name(UNFINISHED, is_locked=False) + endings)), None
        if temporary.exists():  # no other run removed it as a leftover before it was locked
            return temporary, descriptor
        os.close(descriptor)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """Report errors of the operating system, or of a library that hides them, as our own."""
    try:
        yield
    except AnontoError:
        raise
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or _storage_fault(error) or "unknown reason") from None
    except Exception as error:
        fault = _storage_fault(error)
        if fault is None:
            raise
        raise UnwritableFileError(str(path), fault) from None


def _target(path: Path) -> Path:
    """The file that a path leads to: links are followed, not replaced."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        raise UnwritableFileError(str(path), "its path cannot be used") from None


def _refuse_target(target: Path, path: Path, *, force: bool) -> None:
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or "its path cannot be used") from None
    if stat.S_ISDIR(mode):
        raise UnwritableFileError(str(path), "it is a folder")
    if not stat.S_ISREG(mode):
        raise UnwritableFileError(str(path), "it is not a regular file")
    if not force:
        raise ExistingFileError(str(path))


def _endings(path: Path) -> str:
    """The suffix of a name, or both of ``.csv.gz``: libraries recognise the format by it."""
    endings = path.suffixes
    return "".join(endings[-2:] if endings and endings[-1].lower() == ".gz" else endings[-1:])[-32:]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storage_fault(error: Exception) -> str | None:
    """The operating system's error, parsed from the text of a library's error; None for other errors."""
    text = str(error).lower()
    return next((fault for fault, signs in _STORAGE_FAULTS.items() if any(sign in text for sign in signs)), None)


def same_file(name: str) -> FileError:
    """An output that would overwrite an input or another output."""
    return FileError(f"The output {name!r} is also an input or another output; give each its own name.")
