"""A folder beside the output for what does not fit into memory: of the owner alone, and gone at the end.

It is removed at the end, after an error and after Ctrl-C. A killed process cannot remove its own; the lock that it held
is gone with it, and the next run that writes into the same folder removes what nobody holds.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import UnwritableFileError
from anonto.table.beside import is_locked_by_us

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = ".anonto-work-"
LOCK = "in-use"
A_MINUTE = 60.0


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
        is_locked_by_us(lock.fileno())
        yield folder
    except OSError as error:
        raise UnwritableFileError(str(output), error.strerror or "the disk may be full") from None
    finally:
        _empty(folder)
        lock.close()
        _remove(folder)


def clear_left_over(folder: Path) -> None:
    """Remove the folders of runs that were killed."""
    with suppress(OSError):
        for one in folder.glob(f"{PREFIX}*"):
            _remove_if_free(one)


def _remove_if_free(folder: Path) -> None:
    with suppress(OSError):
        try:
            lock = (folder / LOCK).open("rb+")
        except FileNotFoundError:
            # Killed before it had its lock; one that is just being made is younger.
            if time.time() - folder.stat().st_mtime > A_MINUTE:
                _remove(folder)
            return
        with lock:
            if not is_locked_by_us(lock.fileno()):
                return
            _empty(folder)
        _remove(folder)


def _empty(folder: Path) -> None:
    """Remove everything but the lock, without which a later run would not know that the folder is free."""
    with suppress(OSError):
        for one in list(folder.iterdir()):
            if one.name == LOCK:
                continue
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            else:
                with suppress(OSError):
                    one.unlink()


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
