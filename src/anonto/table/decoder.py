"""A process of its own in which files of binary formats are decoded, because the libraries that do it may crash.

Polars panics on some damaged Parquet files and ends the process on others (a size in the file becomes an allocation
that no machine can serve); ReadStat follows damaged indexes out of its buffers; a sheet with one cell at its far end
takes more memory than there is. None of this can be told from the bytes without decoding them, and a panic writes its
text, which may show cells, to the standard error of the process. So the decoder has a standard error that leads nowhere
and, for some formats, limits to its memory and time; if it ends over a file, the file is refused with one sentence.

Excel, SPSS, Stata and SAS files are decoded there and their cells are sent over, which costs little beside decoding.
Parquet files may be far larger, and are read in parts and again: they are decoded there once, a batch at a time and
with all processors, and if that went well, they are read here.

Weighed against this: a check of the structure alone misses damage inside the pages, and running all work under a
supervisor would not protect those who use anonto as a library.

The process serves all files that come within `IDLE_SECONDS` of each other and then ends, as it does when the process
that started it is gone.
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
"""Memory that decoding may take where it is limited: so much for any file, and more by the size of the file."""
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 20, 5
"""Time of the processor, likewise. Both are far more than files take that are not made to fill them."""

ENDED_BY_SYSTEM = {-getattr(signal, name) for name in ("SIGKILL", "SIGXCPU") if hasattr(signal, name)}

_lock = threading.Lock()


class UndecodableError(Exception):
    """The decoder raised or ended over a file; what its library said stays there, for it may show cells."""

    def __init__(self, *, ran_out: bool = False) -> None:
        super().__init__()
        self.ran_out = ran_out
        """Whether the system ended it, because memory or time ran out."""

    def reason(self, otherwise: str) -> str:
        """What is told of the file."""
        return "decoding it takes more memory or time than such a file should" if self.ran_out else otherwise


def decoded_apart(function: Callable[..., Found], *given: object, n_bytes: int | None = None) -> Found:
    """What a function gives when the decoder calls it.

    Args:
        function: A function of a module.
        given: Its arguments; paths must be absolute, for the process stays in the folder that it was started in.
        n_bytes: The size of the file, where memory and time are to be limited by it, as far as the system can.

    Raises:
        UndecodableError: It raised, or the process ended over it, in a new process if another file came before.
    """
    request = pickle.dumps((function.__module__, function.__qualname__, given, n_bytes))
    with _lock:
        answer = _process.answer(request) if _process.is_there() else None
        if answer is None:
            if not _process.start():  # where no process can be started, files are decoded here
                return _decoded_here(function, given)
            answer = _process.answer(request)
            if answer is None:
                raise UndecodableError(ran_out=_process.ran_out())
    is_done, found = pickle.loads(answer)  # noqa: S301 - from the process that this one started
    if not is_done:
        raise UndecodableError
    result: Found = found
    return result


def _decoded_here(function: Callable[..., Found], given: tuple[object, ...]) -> Found:
    try:
        return function(*given)
    except Exception:
        raise UndecodableError from None


class _Process:
    """The process, started when it is first needed and whenever it is gone."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._parent = 0

    def is_there(self) -> bool:
        """Whether a process was left from another file."""
        return self._running is not None and self._running.poll() is None and self._parent == os.getpid()

    def start(self) -> bool:
        """Start a new process; whether it came up."""
        self.end()
        if not sys.executable:  # as in a program that has Python inside
            return False
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-m", "anonto.table.decoder"],
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
        """Whether it is a decoder that came up; another program, or one that is interrupted, is ended."""
        greeting = None
        try:
            if self._running is not None and self._running.stdout is not None:
                greeting = self._running.stdout.read(len(GREETING))
        finally:
            if greeting != GREETING:
                self.end()
        return greeting == GREETING

    def ran_out(self) -> bool:
        """Whether the system ended the process that gave no answer: then nothing is known of the file."""
        code = None if self._running is None else self._running.wait()
        return code in ENDED_BY_SYSTEM

    def answer(self, request: bytes) -> bytes | None:
        """What the process says to a request; None if it ends meanwhile."""
        if self._running is None:
            return None
        try:
            _send(self._running.stdin, request)
        except OSError:
            return None
        return self._heard()

    def _heard(self) -> bytes | None:
        """The next message; the process is ended if this one is interrupted meanwhile."""
        if self._running is None:
            return None
        try:
            return _received(self._running.stdout)
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


def _received(pipe: Any) -> bytes | None:
    """The next message, or None at the end."""
    size = pipe.read(LENGTH_BYTES)
    if len(size) < LENGTH_BYTES:
        return None
    n_bytes = int.from_bytes(size, "little")
    message: bytes = pipe.read(n_bytes)
    return message if len(message) == n_bytes else None


# ------------------------------------------------------------------------------------------------ in that process


def serve() -> None:
    """Answer requests until the input ends or none has come for a while."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    answers.write(GREETING)
    answers.flush()
    with suppress(queue.Empty):
        while True:
            _send(answers, _answer(requests.get(timeout=IDLE_SECONDS)))


def _listen(requests: queue.Queue[bytes]) -> None:
    while (request := _received(sys.stdin.buffer)) is not None:
        requests.put(request)
    os._exit(0)


def _answer(request: bytes) -> bytes:
    module, name, given, n_bytes = pickle.loads(request)  # noqa: S301 - from the process that started this one
    try:
        function = getattr(importlib.import_module(module), name)
        _limit(n_bytes)
        return pickle.dumps((True, function(*given)), protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException:  # a panic of polars is no Exception
        return pickle.dumps((False, None))


def _limit(n_bytes: int | None) -> None:
    """Let allocations beyond a limit fail and time run out, either of which ends the process."""
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
    """The memory of this process that counts against its limit, where the system says it: libraries, threads."""
    with suppress(OSError), Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
        return sum(1024 * int(line.split()[1]) for line in status if line.startswith("VmData:"))
    return 0


if __name__ == "__main__":
    serve()
