"""Requests to stop: by Ctrl-C, by a scheduler, or by a terminal that closes.

The command line listens from its first lines on. What it hears is raised as a KeyboardInterrupt in the main thread, so
that everything is cleared away on the way out; but not where that would break something in two. A library that is
stopped while it is loaded, or polars where it calls Python, may end the process in its own way, and files that belong
together are moved together. There the stop waits for a moment. In a program that does not listen nothing here has an
effect.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from threading import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
CAN_WAIT = hasattr(signal, "setitimer")
SECONDS_TO_LOOK_AGAIN = 0.02
SECONDS_TO_UNWIND = 1.0
"""Time after a first stop in which a second one does not interrupt cleaning up."""
SECONDS_IN_LIBRARIES = 10.0
"""The longest that a stop waits for a library that an exception would crash."""
_LOADER = "<frozen importlib._bootstrap>"
_FRAGILE = "polars"
"""Its compiled part takes an exception of Python code that it calls for a fault of its own."""


class _Listener:
    """Listener for stop requests to this process."""

    def __init__(self) -> None:
        self.thread: int | None = None
        """The one that hears, which is the main thread; None in a program that does not listen."""
        self.heard: int | None = None
        self._n_held = 0
        self._heard_at = 0.0
        self._raised_at = -SECONDS_TO_UNWIND

    def hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.heard is None:
            self.heard, self._heard_at = number, now
        if CAN_WAIT and self._must_wait(now, frame):
            look_again()
            return
        self._raised_at = now
        raise KeyboardInterrupt

    def raise_if_heard(self) -> None:
        if self.heard is not None and not self._n_held and get_ident() == self.thread:
            raise KeyboardInterrupt

    def was_swallowed(self) -> None:
        """Raise the stop again as soon as possible: the last one unwound nothing."""
        self._raised_at = -SECONDS_TO_UNWIND
        if CAN_WAIT:
            look_again()

    def _must_wait(self, now: float, frame: FrameType | None) -> bool:
        if self._n_held or now - self._raised_at < SECONDS_TO_UNWIND:
            return True
        return now - self._heard_at < SECONDS_IN_LIBRARIES and _is_in_library(frame)

    def __enter__(self) -> None:
        self._n_held += get_ident() == self.thread

    def __exit__(self, *_: object) -> None:
        self._n_held -= get_ident() == self.thread


held = _Listener()
"""A block of the main thread that no stop breaks in two: ``with held``."""


def listen() -> None:
    """From now on a stop ends in a KeyboardInterrupt; what this process was started to ignore, it ignores."""
    if held.thread is not None:
        return
    held.thread = get_ident()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, held.hear)
    if CAN_WAIT:
        signal.signal(signal.SIGALRM, held.hear)
    sys.unraisablehook = _raise_again


def ignore() -> None:
    """From now on nothing stops this process, as it is about to end."""
    if held.thread is None:
        return
    if CAN_WAIT:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def was_heard() -> bool:
    """Return whether this process was asked to stop."""
    return held.heard is not None


def exit_code() -> int:
    """The exit code of a stopped process: 130 after Ctrl-C, 143 after SIGTERM."""
    return INTERRUPTED if held.heard is None else 128 + held.heard


def leave(code: int) -> NoReturn:
    """End; after a stop at once, without waiting for threads that are in the middle of their work."""
    if not was_heard() or code != exit_code():
        sys.exit(code)
    with suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to have them done
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


def look_again() -> None:
    """Have a stop that could not be raised now raised in a moment."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_LOOK_AGAIN)


def raise_if_heard() -> None:
    """Raise a stop that still waits, or that a library swallowed, before something is done that cannot be undone."""
    held.raise_if_heard()


@contextmanager
def ignore_ctrl_c() -> Iterator[None]:
    """Processes that are started in this block ignore Ctrl-C: the process that started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _raise_again(fault: sys.UnraisableHookArgs) -> None:
    """A stop that came while something was cleared away is no fault of its own, and must not be lost.

    After a stop no other fault is shown either: an object that the stop left half made cannot be cleared away.
    """
    if isinstance(fault.exc_value, KeyboardInterrupt):
        held.was_swallowed()
    elif not was_heard():
        sys.__unraisablehook__(fault)


def _is_in_library(frame: FrameType | None) -> bool:
    """Return whether something is being loaded, or polars is at work further out."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_filename == _LOADER or module.partition(".")[0] == _FRAGILE:
            return True
        frame = frame.f_back
    return False
