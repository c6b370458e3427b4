"""Writing a file beside its name and moving it there when it is whole.

Whatever happens on the way, a full disk, Ctrl-C, a kill, the name holds either what it held before or the whole
new file: the move is one step of the file system, and it is taken after the bytes are on the disk.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, ExistingFileError, UnwritableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORAGE_FAULTS = {
    "No space left on device": ("no space left", "os error 28", "errno 28"),
    "Disk quota exceeded": ("quota exceeded", "os error 122", "errno 122"),
    "File too large": ("file too large", "os error 27", "errno 27"),
    "Input/output error": ("input/output error", "os error 5)", "errno 5]"),
    "the disk may be full": ("unable to write",),
}
"""How libraries that hide the operating system's error spell it."""


@contextmanager
def written_beside(
    path: Path, *, force: bool = True, mode: int | None = None, room: Path | None = None
) -> Iterator[Path]:
    """A temporary path in the target's folder, moved onto the target after the block.

    Args:
        path: The target.
        force: Whether an existing target is replaced; otherwise it is an error, before the work and after it.
        mode: The permissions of the file from its first moment; None leaves them to the process's mask.
        room: A folder on the target's disk to write into; None for the target's own.
    """
    target = _target(path)
    _refuse_target(target, path, force=force)
    beside = (room or target.parent) / f".anonto-{secrets.token_hex(8)}{_endings(path)}"
    try:
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))
        yield beside
        _sync(beside)
        _refuse_target(target, path, force=force)
        beside.replace(target)
        with suppress(OSError):  # some file systems cannot sync a folder, and the file itself is whole
            _sync(target.parent)
    except AnontoError:
        raise
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or _storage_fault(error) or "unknown reason") from None
    except Exception as error:
        fault = _storage_fault(error)
        if fault is None:
            raise
        raise UnwritableFileError(str(path), fault) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


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
