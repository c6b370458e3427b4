"""A separate process that decodes files of binary formats, because their libraries may crash.

Polars panics on some damaged Parquet files and aborts on others (a size in the file becomes an impossible allocation);
ReadStat follows damaged indexes out of its buffers; a sheet with one cell in its last row takes more memory than there
is. None of this can be detected without decoding the bytes, and a panic writes its text, which may show cells, to the
standard error. So the decoder discards its standard error and, for some formats, has limited memory and time; if it
crashes, the file is refused with one sentence.

Excel, SPSS, Stata and SAS files are decoded there and their cells are sent back, which costs little compared with
decoding. Parquet files may be far larger and are read several times: they are decoded there once, a batch at a time
with all processors, and if that succeeds, they are read here.

Alternatives considered: a check of the structure alone misses damage inside the pages, and running all work under a
supervisor would not protect users of the library.

The process serves all files that arrive within `IDLE_SECONDS` of each other and then ends. It also ends with the
process that started it.
"""

from __future__ import annotations

import atexit
import importlib
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")
IDLE_SECONDS = 2.0
LENGTH_BYTES = 8
GREETING = b"anonto decoder\n"
LEAST_MEMORY, TIMES_THE_FILE = 2 << 30, 200
"""Memory limit for decoding: a base, and a multiple of the file's size."""
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 20, 5
"""Limit of processor time. Both limits are far more than honest files need."""

ENDED_BY_SYSTEM = {-getattr(signal, name) for name in ("SIGKILL", "SIGXCPU") if hasattr(signal, name)}

_lock = threading.Lock()


class UndecodableError(Exception):
    """The decoder raised or crashed; the message of its library is dropped, because it may show cells."""

    def __init__(self, *, ran_out: bool = False) -> None:
        super().__init__()
        self.ran_out = ran_out
        """True if it ran out of memory or time."""

    def reason(self, otherwise: str) -> str:
        """The reason to report about the file."""
        return "decoding it takes more memory or time than such a file should" if self.ran_out else otherwise


def decode_apart(function: Callable[..., Found], *given: object, n_bytes: int | None = None) -> Found:
    """The result of a function that the decoder process calls.

    Args:
        function: A function of a module.
        given: Its arguments; paths must be absolute, because the process keeps its working folder.
        n_bytes: The size of the file, to limit memory and time by it, if the system can.

    Raises:
        UndecodableError: The function raised or the process crashed, after a second try in a new process.
    """
    request = pickle.dumps((function.__module__, function.__qualname__, given, n_bytes))
    with _lock:
        answer = _process.answer(request) if _process.is_there() else None
        if answer is None:
            if not _process.start():  # without a second process, files are decoded here
                try:
                    return function(*given)
                except Exception:
                    raise UndecodableError from None
            answer = _process.answer(request)
            if answer is None:
                raise UndecodableError(ran_out=_process.ran_out())
    is_done, found = pickle.loads(answer)  # noqa: S301 - from the process that this one started
    if not is_done:
        raise UndecodableError
    result: Found = found
    return result


class _Process:
    """The process, started when it is needed."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._parent = 0

    def is_there(self) -> bool:
        """Return whether a process is still running from an earlier file."""
        return self._running is not None and self._running.poll() is None and self._parent == os.getpid()

    def start(self) -> bool:
        """Start a new process; return whether it started."""
        self.end()
        if not sys.executable:  # as in a program that embeds Python
            return False
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-m", "anonto.io.decoder"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,  # Ctrl-C is for the process that started it
            )
        except OSError:
            return False
        self._parent = os.getpid()
        return self._is_greeting()

    def _is_greeting(self) -> bool:
        """Return whether the new process is a decoder; any other program is ended, also after an interrupt."""
        greeting = None
        try:
            if self._running is not None and self._running.stdout is not None:
                greeting = self._running.stdout.read(len(GREETING))
        finally:
            if greeting != GREETING:
                self.end()
        return greeting == GREETING

    def ran_out(self) -> bool:
        """Return whether the process gave no answer because the system ended it; the file may be sound."""
        code = None if self._running is None else self._running.wait()
        return code in ENDED_BY_SYSTEM

    def answer(self, request: bytes) -> bytes | None:
        """The answer to a request; None if the process ends. An interrupt ends the process."""
        if self._running is None:
            return None
        try:
            _send(self._running.stdin, request)
        except OSError:
            return None
        try:
            return _receive(self._running.stdout)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process, unless it belongs to the process that this one is a fork of."""
        running, self._running = self._running, None
        if running is None or self._parent != os.getpid():
            return
        running.kill()
        running.wait()
        for pipe in (running.stdin, running.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


_process = _Process()
atexit.register(_process.end)


def _send(pipe: Any, message: bytes) -> None:
    pipe.write(len(message).to_bytes(LENGTH_BYTES, "little"))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: Any) -> bytes | None:
    """The next message; None at the end."""
    size = pipe.read(LENGTH_BYTES)
    if len(size) < LENGTH_BYTES:
        return None
    n_bytes = int.from_bytes(size, "little")
    message: bytes = pipe.read(n_bytes)
    return message if len(message) == n_bytes else None


# ------------------------------------------------------------------------------------------------ in that process


def serve() -> None:
    """Answer requests until the input ends or `IDLE_SECONDS` pass without one."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by a library must not be read as an answer
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    answers.write(GREETING)
    answers.flush()
    with suppress(queue.Empty):
        while True:
            _send(answers, _answer(requests.get(timeout=IDLE_SECONDS)))


def _listen(requests: queue.Queue[bytes]) -> None:
    while (request := _receive(sys.stdin.buffer)) is not None:
        requests.put(request)
    os._exit(0)


def _answer(request: bytes) -> bytes:
    module, name, given, n_bytes = pickle.loads(request)  # noqa: S301 - from the process that started this one
    try:
        function = getattr(importlib.import_module(module), name)
        _limit(n_bytes)
        return pickle.dumps((True, function(*given)), protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException:  # a panic of polars is not an Exception
        return pickle.dumps((False, None))


def _limit(n_bytes: int | None) -> None:
    """Limit memory and processor time; exceeding either ends the process."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    memory = seconds = resource.RLIM_INFINITY
    if n_bytes is not None:
        memory = _bytes_held() + LEAST_MEMORY + TIMES_THE_FILE * n_bytes
        seconds = math.ceil(used.ru_utime + used.ru_stime + LEAST_SECONDS + SECONDS_PER_MEGABYTE * n_bytes / 1e6)
    for kind, wanted in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, seconds)):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            wanted = hard if wanted == resource.RLIM_INFINITY else min(wanted, hard)  # noqa: PLW2901
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (wanted, hard))


def _bytes_held() -> int:
    """The memory that this process already uses of its limit, if the system reports it."""
    with suppress(OSError), Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
        return sum(1024 * int(line.split()[1]) for line in status if line.startswith("VmData:"))
    return 0


if __name__ == "__main__":
    serve()
