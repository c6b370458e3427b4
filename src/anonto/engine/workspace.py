"""A folder beside the output for what does not fit into memory: of the owner alone, and gone at the end.

It is removed at the end, after an error and after Ctrl-C. A killed process cannot remove its own; the lock that it held
is gone with it, and the next run that writes into the same folder removes what nobody holds.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import UnwritableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

PREFIX = ".anonto-work-"
LOCK = "in-use"


@contextmanager
def workspace(output: Path) -> Iterator[Path]:
    """A new folder beside an output."""
    beside = Path(os.path.realpath(output)).parent
    clear_left_over(beside)
    folder = beside / f"{PREFIX}{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        lock = (folder / LOCK).open("wb")
    except OSError as error:
        raise UnwritableFileError(str(output), error.strerror or "unknown reason") from None
    try:
        _locked(lock)
        yield folder
    except OSError as error:
        raise UnwritableFileError(str(output), error.strerror or "the disk may be full") from None
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def clear_left_over(folder: Path) -> None:
    """Remove the folders of runs that were killed."""
    with suppress(OSError):
        for one in folder.glob(f"{PREFIX}*"):
            _remove_if_free(one)


def _remove_if_free(folder: Path) -> None:
    with suppress(OSError):
        with (folder / LOCK).open("rb+") as lock:
            if not _locked(lock):
                return
        (folder / LOCK).unlink()  # where there are no locks, a file that is open cannot be removed
        shutil.rmtree(folder, ignore_errors=True)


def _locked(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or its process ends; whether nobody else had it."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
