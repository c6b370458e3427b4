"""Where the app keeps what it must keep: a working folder that is wiped, and a small record of each session that stays.

The working folder holds tables, uploads and releases. Only its owner can look into it; it is removed when the server
ends. A lock that the operating system lets go of with the process tells the folder of a server that runs from what a
crash left behind, which the next start removes.

The record of a session holds the plan, the steps that can be undone and the numbers of its runs, and no table: with it
a browser finds its session after a restart. It is forgotten after a month.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from anonto.errors import LeftOverWarning
from anonto.stopping import held
from anonto.table.beside import written_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "anonto-serve-"
LOCK = "lock"
OWNER_ONLY = 0o700
KEPT_FOR = 30 * 24 * 3600
"""Seconds after which a session that nobody opened is forgotten."""


def working_folder(parent: Path | None = None) -> contextlib.AbstractContextManager[Path]:
    """A folder for the time of a server, gone afterwards; those that crashed servers left are removed first."""
    return _working_folder(parent or Path(tempfile.gettempdir()))


@contextlib.contextmanager
def _working_folder(parent: Path) -> Iterator[Path]:
    left = leftovers(parent)
    for one in left:
        _remove(one)
    if left:
        warnings.warn(LeftOverWarning(str(parent), len(left), 0), stacklevel=2)
    folder, lock = None, None
    try:
        with held:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            folder.chmod(OWNER_ONLY)
            lock = (folder / LOCK).open("wb")
            _try_lock(lock)
        yield folder
    finally:
        with held:
            if lock is not None:
                lock.close()
            if folder is not None:
                _remove(folder)


def leftovers(parent: Path) -> list[Path]:
    """Working folders of ours whose server is gone."""
    return [folder for folder in sorted(parent.glob(f"{PREFIX}*")) if _is_ours(folder) and not _is_in_use(folder)]


def _is_ours(folder: Path) -> bool:
    try:
        facts = folder.lstat()
    except OSError:
        return False
    is_own = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
    return is_own and folder.is_dir() and not folder.is_symlink()


def _is_in_use(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("r+b") as lock:
            return not _try_lock(lock)
    except FileNotFoundError:
        # A server that starts right now has made its folder and not yet its lock.
        return time.time() - folder.stat().st_mtime < 60
    except OSError:
        return True


def _try_lock(file: IO[bytes]) -> bool:
    """Take the lock of a file, which ends with the process; False when another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------------------------------------ records of sessions


def state_folder() -> Path:
    """Where the records of sessions are: ``ANONTO_STATE``, or where the operating system has such files."""
    named = os.environ.get("ANONTO_STATE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "anonto" / "serve"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "anonto" / "serve"


class Records:
    """The records of sessions, one file each, named by a hash of the session's secret key."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=OWNER_ONLY)
        folder.chmod(OWNER_ONLY)
        self.folder = folder
        self._forget_old()

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of a session; None for a key that nobody was given."""
        try:
            record = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def write(self, key: str, record: dict[str, Any]) -> None:
        """Keep the record of a session."""
        with written_beside(self._file(key), mode=0o600) as beside:
            beside.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")

    def forget(self, key: str) -> None:
        """Remove the record of a session."""
        self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def _forget_old(self) -> None:
        for file in self.folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > KEPT_FOR:
                    file.unlink()
