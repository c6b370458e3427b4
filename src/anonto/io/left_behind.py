"""Leftovers of killed runs: the next run removes temporary files and folders that no process uses any more.

A run locks each of its files and working folders, and the operating system releases the locks when the process ends.
Some network disks do not show the locks of other machines, or have no locks, so every name identifies its machine.
Working folders of other machines are reported and kept; files of other machines, and files that could not be locked,
are kept until they have not changed for a week. Links, files of other users and files with other names are never
removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoWarning
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Sequence


UNFINISHED = ".anonto-"
WORKING = ".anonto-work-"
LOCK = "in-use"
"""The file in a working folder that its run locks."""
A_MINUTE = 60.0
A_WEEK = 7 * 24 * 3600.0
_MARKS = "([0-9a-f]{8})-([0-9a-f]{8})-[0-9a-f]{16}"
_FILE = re.compile(re.escape(UNFINISHED) + _MARKS + r"(\..*)?")
_FOLDER = re.compile(re.escape(WORKING) + _MARKS)
_NO_MACHINE = ("0" * 8, "0" * 8)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_START = Path("/proc/sys/kernel/random/boot_id")


def clear_left_over(folder: Path) -> None:
    """Remove the files and working folders that killed runs left in a folder, with a warning."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(UNFINISHED))
    except OSError:
        return
    files, folders = (filter(None, map(pattern.fullmatch, names)) for pattern in (_FILE, _FOLDER))
    n_files = sum(_is_file_cleared(folder / one[0], is_here=_is_here(one)) for one in files)
    answers = {one[0]: _is_folder_cleared(folder / one[0], is_here=_is_here(one)) for one in folders}
    n_folders, elsewhere = sum(map(bool, answers.values())), [name for name, one in answers.items() if one is None]
    if n_files or n_folders:
        warnings.warn(removed_leftovers(str(folder), n_folders, n_files), stacklevel=2)
    if elsewhere:
        warnings.warn(leftovers_of_others(str(folder), elsewhere), stacklevel=2)


def new_name(start: str, *, is_locked: bool = True) -> str:
    """A name that identifies this machine and its current boot, or no machine if the file is not locked."""
    return "-".join((start.removesuffix("-"), *(_marks() if is_locked else _NO_MACHINE), secrets.token_hex(8)))


def is_locked_by_us(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file until it is closed or its process ends; return whether no other process has it locked.

    Args:
        descriptor: An open file.
        wait: For the process that created the file; another one only locks it briefly, to check for a leftover.
    """
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _marks() -> tuple[str, str]:
    """Hashes of this machine's name and of its boot; containers with different names share the boot."""
    name = start = socket.gethostname().encode()
    with suppress(OSError):
        start = _START.read_bytes().strip()
    return _mark(name), _mark(start)


def _mark(of: bytes) -> str:
    return hashlib.blake2b(of, digest_size=4).hexdigest()


def _is_here(name: re.Match[str]) -> bool:
    """Return whether a file name belongs to this machine: the same host name, or the same boot."""
    return any(theirs == ours for theirs, ours in zip(name.groups(), _marks(), strict=False))


def _is_file_cleared(path: Path, *, is_here: bool) -> bool:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | _NO_LINK)
        try:
            facts = os.fstat(descriptor)
            is_old = is_here or time.time() - facts.st_ctime > A_WEEK  # linking changes this time, as writing does
            if is_old and stat.S_ISREG(facts.st_mode) and _is_ours(facts) and is_locked_by_us(descriptor):
                path.unlink()
                return True
        finally:
            os.close(descriptor)
    return False


def _is_folder_cleared(path: Path, *, is_here: bool) -> bool | None:
    """Remove a working folder that no process uses; None if it is kept because it belongs to another machine."""
    if os.open not in os.supports_dir_fd:  # such systems have no locks either
        return False
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
        try:
            facts = os.fstat(folder)
            return _is_cleared(path, folder, facts.st_mtime, is_here=is_here) if _is_ours(facts) else False
        finally:
            os.close(folder)
    return False


def _is_cleared(path: Path, folder: int, changed: float, *, is_here: bool) -> bool | None:
    """The same for an open folder, so that files are removed in this one, even if its path now leads elsewhere."""
    try:
        lock = os.open(LOCK, os.O_RDWR | _NO_LINK, dir_fd=folder)
    except FileNotFoundError:
        if not is_here:
            return None
        # Killed before it was locked, then it is empty; or its removal was interrupted.
        if time.time() - changed > A_MINUTE:
            _empty(folder)
        path.rmdir()
        return True
    try:
        if not is_locked_by_us(lock):
            return False
        if not is_here:
            return None
        _empty(folder)
        os.unlink(LOCK, dir_fd=folder)
        path.rmdir()
    finally:
        os.close(lock)
    return True


def _empty(folder: int) -> None:
    """Remove everything but the lock, by which the next run sees that the folder is free."""
    for name in os.listdir(folder):
        if name == LOCK:
            continue
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)


def _is_ours(facts: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()


def removed_leftovers(folder: str, n_folders: int, n_files: int) -> AnontoWarning:
    """Working files of runs that were killed, which are removed now."""
    parts = [
        count_of(n_folders, "working folder with rows of a table", "working folders with rows of tables"),
        count_of(n_files, "unfinished file"),
    ]
    found = " and ".join(part for part, n in zip(parts, (n_folders, n_files), strict=True) if n)
    return AnontoWarning(f"Removed from {folder!r} the remains of runs that were killed: {found}.")


def leftovers_of_others(folder: str, names: Sequence[str]) -> AnontoWarning:
    """Working folders of runs on other machines, which may have ended or not."""
    return AnontoWarning(
        f"{count_of(len(names), 'working folder')} in {folder!r} with rows of a table "
        f"{'belongs to a run' if len(names) == 1 else 'belong to runs'} on another machine ({list_names(names)}) and "
        "may be left over; remove those that no run there uses any more."
    )
