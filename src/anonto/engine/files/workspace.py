"""A temporary folder beside the output for data that does not fit into memory, readable by its owner only.

It is removed at the end, after an error and after Ctrl-C. A killed process cannot remove its folder, but its lock ends
with it, and the next run that writes into the same place removes every folder that is not locked.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from anonto.errors import UnwritableFileError
from anonto.io.left_behind import LOCK, WORKING, clear_left_over, is_locked_by_us, new_name
from anonto.stopping import held

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def workspace(output: Path) -> Iterator[Path]:
    """A new folder beside an output."""
    parent = Path(os.path.realpath(output)).parent
    clear_left_over(parent)
    made: tuple[Path, IO[bytes]] | None = None
    try:
        with held:
            made = _make_folder(parent)
        yield made[0]
    except OSError as error:
        raise UnwritableFileError(str(output), error.strerror or "the disk may be full") from None
    finally:
        if made is not None:
            with held:
                _remove(*made)


def _make_folder(parent: Path) -> tuple[Path, IO[bytes]]:
    """A new folder and its lock; tries again if another run removed it before it was locked."""
    is_locked = True
    while True:
        folder = parent / new_name(WORKING, is_locked=is_locked)
        folder.mkdir(mode=0o700)
        try:
            lock = (folder / LOCK).open("xb", buffering=0)
        except FileNotFoundError:
            continue
        except OSError:
            folder.rmdir()
            raise
        if not is_locked_by_us(lock.fileno(), wait=True) and is_locked:
            is_locked = False
            _remove(folder, lock)
            continue
        if (folder / LOCK).exists():
            return folder, lock
        lock.close()


def _remove(folder: Path, lock: IO[bytes]) -> None:
    _empty(folder)
    lock.close()
    shutil.rmtree(folder, ignore_errors=True)


def _empty(folder: Path) -> None:
    """Remove everything but the lock, which shows later runs whether the folder is in use."""
    with suppress(OSError):
        for one in list(folder.iterdir()):
            if one.name == LOCK:
                continue
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            else:
                with suppress(OSError):
                    one.unlink()
