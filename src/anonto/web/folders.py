"""Storage of the app: a working folder that is wiped, and a small persistent record of each session.

The working folder holds tables, uploads and releases. Only its owner can read it; it is removed when the server ends.
A file lock, which the operating system releases with the process, distinguishes the folder of a running server from one
left behind by a crash; the next start removes the latter.

The record of a session holds the plan, the undo history and the numbers of its runs, but no table: with it a browser
finds its session after a restart. It is deleted after a month.
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

from anonto.io.atomic_write import atomic_write
from anonto.io.left_behind import removed_leftovers
from anonto.stopping import held

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "anonto-serve-"
LOCK = "lock"
OWNER_ONLY = 0o700
KEPT_FOR = 30 * 24 * 3600
"""Seconds after which a session that is not opened is deleted."""


@contextlib.contextmanager
def working_folder(parent: Path | None = None) -> Iterator[Path]:
    """A working folder for the lifetime of a server; folders left by crashed servers are removed first."""
    parent = parent or Path(tempfile.gettempdir())
    left = leftovers(parent)
    for one in left:
        shutil.rmtree(one, ignore_errors=True)
    if left:
        warnings.warn(removed_leftovers(str(parent), len(left), 0), stacklevel=2)
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
                shutil.rmtree(folder, ignore_errors=True)


def leftovers(parent: Path) -> list[Path]:
    """Working folders whose server no longer runs."""
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
        # A server that is just starting has created its folder but not yet its lock.
        return time.time() - folder.stat().st_mtime < 60
    except OSError:
        return True


def _try_lock(file: IO[bytes]) -> bool:
    """Lock a file until the process ends; False if another process holds the lock."""
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


# ------------------------------------------------------------------------------------------------ records of sessions


def state_folder() -> Path:
    """The folder of session records: ``ANONTO_STATE``, or the operating system's folder for state files."""
    named = os.environ.get("ANONTO_STATE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "anonto" / "serve"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "anonto" / "serve"


class SessionStore:
    """The records of sessions, one file each, named by a hash of the session's secret key."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=OWNER_ONLY)
        folder.chmod(OWNER_ONLY)
        self.folder = folder
        self._forget_old()

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of a session; None for an unknown key."""
        try:
            record = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def write(self, key: str, record: dict[str, Any]) -> None:
        """Save the record of a session."""
        with atomic_write(self._file(key), mode=0o600) as temporary:
            temporary.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")

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
