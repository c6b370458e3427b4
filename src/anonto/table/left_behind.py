"""What killed runs leave beside their outputs, and how the next run knows that nobody needs it any more.

A run holds a lock on each of its files and working folders, and the operating system lets go of it with the process.
Where a network disk keeps locks for each machine alone, the lock of a run on another machine is not seen, and where it
keeps none there is nothing to see: so every name tells the machine. Working folders of other machines are told of and
stay; files of other machines, and those that could not be locked, stay until nobody has changed them for a week.
Nothing is removed that is a link, that belongs to somebody else, or that has not a name as we give it.
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

from anonto.errors import LeftElsewhereWarning, LeftOverWarning

UNFINISHED = ".anonto-"
WORKING = ".anonto-work-"
LOCK = "in-use"
"""The file of a working folder that its run holds locked."""
A_MINUTE = 60.0
A_WEEK = 7 * 24 * 3600.0
_MARKS = "([0-9a-f]{8})-([0-9a-f]{8})-[0-9a-f]{16}"
_FILE = re.compile(re.escape(UNFINISHED) + _MARKS + r"(\..*)?")
_FOLDER = re.compile(re.escape(WORKING) + _MARKS)
_NO_MACHINE = ("0" * 8, "0" * 8)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_START = Path("/proc/sys/kernel/random/boot_id")


def clear_left_over(folder: Path) -> None:
    """Remove the files and working folders that killed runs left in a folder, and say so."""
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
        warnings.warn(LeftOverWarning(str(folder), n_folders, n_files), stacklevel=2)
    if elsewhere:
        warnings.warn(LeftElsewhereWarning(str(folder), elsewhere), stacklevel=2)


def new_name(start: str, *, is_locked: bool = True) -> str:
    """A name that tells this machine and which of its starts this is; or no machine, for what is not locked."""
    return "-".join((start.removesuffix("-"), *(_marks() if is_locked else _NO_MACHINE), secrets.token_hex(8)))


def is_locked_by_us(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file until it is closed or its process ends; whether nobody else had it.

    Args:
        descriptor: An open file.
        wait: For whoever made the file: somebody else has it only for the moment in which it is taken for left over.
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
    """Marks of this machine's name and of its start, which containers share that have names of their own."""
    name = start = socket.gethostname().encode()
    with suppress(OSError):
        start = _START.read_bytes().strip()
    return _mark(name), _mark(start)


def _mark(of: bytes) -> str:
    return hashlib.blake2b(of, digest_size=4).hexdigest()


def _is_here(name: re.Match[str]) -> bool:
    """Whether a name is of this machine: called the same after a restart, or started at the same time."""
    return any(theirs == ours for theirs, ours in zip(name.groups(), _marks(), strict=False))


def _is_file_cleared(path: Path, *, is_here: bool) -> bool:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | _NO_LINK)
        try:
            facts = os.fstat(descriptor)
            is_old = is_here or time.time() - facts.st_ctime > A_WEEK  # a link changes this time, as writing does
            if is_old and stat.S_ISREG(facts.st_mode) and _is_ours(facts) and is_locked_by_us(descriptor):
                path.unlink()
                return True
        finally:
            os.close(descriptor)
    return False


def _is_folder_cleared(path: Path, *, is_here: bool) -> bool | None:
    """Remove a working folder that nobody holds; None if it stays because it is of another machine."""
    if os.open not in os.supports_dir_fd:  # where there are no locks either
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
    """The same of an open folder: whatever its path leads to meanwhile, what is removed is in this one."""
    try:
        lock = os.open(LOCK, os.O_RDWR | _NO_LINK, dir_fd=folder)
    except FileNotFoundError:
        if not is_here:
            return None
        # Killed before it had its lock, and then empty; or somebody was killed who removed it.
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
    """Remove everything but the lock, without which the next one would not know that the folder is free."""
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
