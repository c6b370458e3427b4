"""Writing a file beside its name and moving it there when it is whole.

Whatever happens on the way, a full disk, Ctrl-C, a kill, the name holds either what it held before or the whole
new file: the move is one step of the file system, and it is taken after the bytes are on the disk. Files that belong
together are moved together, after all of them are on the disk. What a killed process leaves beside the name, the next
one that writes into the same folder removes, before its work.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, ExistingFileError, SameFileError, UnwritableFileError
from anonto.stopping import held
from anonto.table.left_behind import UNFINISHED, clear_left_over, is_locked_by_us, new_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STORAGE_FAULTS = {
    "No space left on device": ("no space left", "os error 28", "errno 28"),
    "Disk quota exceeded": ("quota exceeded", "os error 122", "errno 122"),
    "File too large": ("file too large", "os error 27", "errno 27"),
    "Input/output error": ("input/output error", "os error 5)", "errno 5]"),
    "the disk may be full": ("unable to write",),
}
"""How libraries that hide the operating system's error spell it."""


def require_free(inputs: Iterable[Path], outputs: Iterable[Path], *, force: bool = True) -> None:
    """Refuse, before any work is done, an output that is an input or another output, or there already.

    The folders of the outputs are cleared of what killed runs left there.
    """
    taken = {_target(one) for one in inputs}
    targets = [(output, _target(output)) for output in outputs]
    for folder in {target.parent for _, target in targets}:
        clear_left_over(folder)
    for output, target in targets:
        if target in taken:
            raise SameFileError(str(output))
        taken.add(target)
        if not force and target.exists():
            raise ExistingFileError(str(output))


def files_at(path: Path) -> list[Path]:
    """The file of a path, or all files in a folder and below it; none where nothing is."""
    try:
        if path.is_dir():
            return [one for one in path.rglob("*") if one.is_file()]
        return [path] if path.exists() else []
    except (OSError, ValueError):
        return []


class FilesBeside:
    """Files that wait beside their names until all of them are whole."""

    def __init__(self) -> None:
        self._files: list[_Waiting] = []
        self._moved: list[_Moved] = []
        self._is_in_place = False

    def add(self, path: Path, *, force: bool = True, mode: int | None = None, room: Path | None = None) -> Path:
        """A temporary path in a target's folder; the first of several targets is moved last.

        Args:
            path: The target.
            force: Whether an existing target is replaced; otherwise it is an error, before the work and after it.
            mode: The permissions of the file from its first moment; None leaves them to the process's mask.
            room: A folder on the target's disk to write into; None for the target's own.
        """
        target = _target(path)
        _refuse_target(target, path, force=force)
        folder = room or target.parent
        with _in_our_words(path):
            clear_left_over(folder)
            with held:
                beside, lock = _created(folder, _endings(path), 0o666 if mode is None else mode)
                self._files.append(_Waiting(path, target, beside, lock, force))
        return beside

    def sync(self) -> None:
        """Have every file on its disk, and its target still free."""
        for one in self._files:
            with _in_our_words(one.path):
                _sync(one.beside)
                _refuse_target(one.target, one.path, force=one.force)

    def put_in_place(self) -> None:
        """Move all to their names, once, one right after the other; if one cannot be moved, none is."""
        if self._is_in_place:
            return
        self.sync()
        with held:
            with _taken_back(self):
                for one in reversed(self._files):
                    self._move(one)
            self._is_in_place = True
        for folder in {one.target.parent for one in self._files}:
            with suppress(OSError):  # some file systems cannot sync a folder, and the files themselves are whole
                _sync(folder)

    def _move(self, one: _Waiting) -> None:
        is_new, kept = not one.target.exists(), _kept(one.target)
        try:
            with _in_our_words(one.path):
                one.beside.replace(one.target)
        except BaseException:
            if kept is not None:
                with suppress(OSError):
                    kept.unlink()
            raise
        self._moved.append(_Moved(one.target, kept, is_new))

    def take_back(self) -> None:
        """Have under the names what was there before, unless what was moved there is to stay."""
        while self._moved:
            with held, suppress(OSError):
                one = self._moved.pop()
                if one.kept is not None:
                    one.kept.replace(one.target)
                elif one.is_new:
                    one.target.unlink()

    def stay(self) -> None:
        """Have what is in place stay there, whatever happens from here on."""
        while self._moved:
            one = self._moved.pop()
            if one.kept is not None:
                with suppress(OSError):
                    one.kept.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove what is still beside."""
        with held:
            self.stay()
            for one in self._files:
                with suppress(OSError):
                    one.beside.unlink(missing_ok=True)
                if one.lock is not None:
                    os.close(one.lock)

    def blamed(self, error: Exception) -> Path | None:
        """The target that an error is about: the one whose temporary path it names, or else the first."""
        name = getattr(error, "filename", None)
        named = (one.path for one in self._files if name is not None and str(one.beside) == str(name))
        return next(named, self._files[0].path if self._files else None)


@dataclass(frozen=True, slots=True)
class _Waiting:
    path: Path
    target: Path
    beside: Path
    lock: int | None
    """Held while the file waits, so that nobody takes it for one that was left over."""
    force: bool


@dataclass(frozen=True, slots=True)
class _Moved:
    target: Path
    kept: Path | None
    """Another name of the file that was replaced."""
    is_new: bool


def _kept(target: Path) -> Path | None:
    """Another name for a file that is about to be replaced; None if there is none, or no file may have two."""
    other = target.parent / new_name(UNFINISHED)
    try:
        other.hardlink_to(target)
    except OSError:
        return None
    return other


@contextmanager
def files_beside() -> Iterator[FilesBeside]:
    """Files that are put in place together after the block; after an error none of them is."""
    files = FilesBeside()
    try:
        with _taken_back(files):
            yield files
            files.put_in_place()
    except AnontoError:
        raise
    except Exception as error:
        path = files.blamed(error)
        if path is None:
            raise
        with _in_our_words(path):
            raise
    finally:
        files.forget()


@contextmanager
def _taken_back(files: FilesBeside) -> Iterator[None]:
    """Take back after an error what was put in place before it."""
    try:
        yield
    except BaseException:
        files.take_back()
        raise


@contextmanager
def written_beside(
    path: Path, *, force: bool = True, mode: int | None = None, room: Path | None = None
) -> Iterator[Path]:
    """A temporary path in the target's folder, moved onto the target after the block; as `FilesBeside.add`."""
    with files_beside() as files:
        yield files.add(path, force=force, mode=mode, room=room)


def _created(folder: Path, endings: str, mode: int) -> tuple[Path, int | None]:
    """A new empty file, and the descriptor that holds its lock where there are locks."""
    while True:
        beside = folder / (new_name(UNFINISHED) + endings)
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if not is_locked_by_us(descriptor, wait=True):
            os.close(descriptor)
            return beside.rename(folder / (new_name(UNFINISHED, is_locked=False) + endings)), None
        if beside.exists():  # nobody took it for a leftover before it was locked
            return beside, descriptor
        os.close(descriptor)


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    """Turn what the system, or a library for it, says of a file into a sentence."""
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
    """Where a path leads: a link is written through, not replaced."""
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
        raise UnwritableFileError(str(path), "it is no regular file")
    if not force:
        raise ExistingFileError(str(path))


def _endings(path: Path) -> str:
    """The ending of a name, both of them in ``.csv.gz``: libraries tell the format by it."""
    endings = path.suffixes
    return "".join(endings[-2:] if endings and endings[-1].lower() == ".gz" else endings[-1:])[-32:]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storage_fault(error: Exception) -> str | None:
    """What the operating system said, from the text of a library's own error; None when it is about another thing."""
    text = str(error).lower()
    return next((fault for fault, signs in _STORAGE_FAULTS.items() if any(sign in text for sign in signs)), None)
