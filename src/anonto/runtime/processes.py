"""Tasks shared out among processes, each with one thread; all of them end with the process that started them.

A worker is a fresh interpreter that gets its work over standard input: first the function and what all tasks
share, then task after task. It imports nothing of the caller's program, so work can be shared out from a script, a
notebook or a server alike. When its input ends, for whatever reason, it ends at once.
It uses the standard library and not joblib's loky: these workers end at once with their parent, even if it is killed,
they leave Ctrl-C to it, and a script that uses them needs no ``__main__`` guard.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

from anonto.errors import InputError, InternalError
from anonto.runtime.threads import stay_alone
from anonto.stopping import held, ignore_ctrl_c

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
READY, DONE, FAILED = "ready", "done", "failed"
SECONDS_TO_START = 3.0
"""Work that takes less than this is done sooner by one process: others load the libraries first."""


def share_out(
    work: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Sequence[Task],
    n_workers: int,
    *,
    begins_alone: bool = False,
) -> Generator[tuple[Task, Result]]:
    """Do all tasks, and yield each with its result when it is finished.

    Args:
        work: A function of a module; it is given what all tasks share, and a task.
        shared: Every process gets it once.
        tasks: The tasks; no result may depend on their order.
        n_workers: Processes; with one, or for one task, all is done in this one.
        begins_alone: Whether this process begins, and starts others only if the rest takes longer than starting them.
    """
    left = list(reversed(tasks))
    seconds: list[float] = []
    while left and (n_workers < 2 or len(left) < 2 or (begins_alone and _is_short(seconds, len(left)))):
        start, task = time.monotonic(), left.pop()
        result = work(shared, task)
        seconds.append(time.monotonic() - start)
        yield task, result
    if not left:
        return
    team = _Team(pickle.dumps((work, shared)), min(n_workers, len(left)))
    try:
        yield from team.work(left[::-1])
    finally:
        team.end()


def _is_short(seconds: Sequence[float], n_left: int) -> bool:
    """True if the rest takes no longer than starting processes, by the tasks done; the first one also loads code."""
    return len(seconds) < 2 or n_left * sum(seconds[1:]) / len(seconds[1:]) < SECONDS_TO_START


class _Team:
    """Worker processes, and a thread for each that waits for its answers."""

    def __init__(self, job: bytes, n_workers: int) -> None:
        limits = dict.fromkeys(THREAD_LIMITS, "1")
        paths = os.pathsep.join(path for path in sys.path if path)
        self._said: queue.Queue[tuple[int, bytes | None]] = queue.Queue()
        self._workers: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(n_workers):
                with held, ignore_ctrl_c():
                    worker = subprocess.Popen(
                        [sys.executable, "-P", "-c", "from anonto.runtime.processes import serve; serve()"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env={**os.environ, **limits, "PYTHONPATH": paths},
                        start_new_session=True,  # Ctrl-C is for the process that started it, which then ends it
                    )
                    self._workers.append(worker)
                threading.Thread(target=self._tell_and_listen, args=(number, job), daemon=True).start()
        except BaseException:
            self.end()
            raise

    def work(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Any]]:
        """Give each worker a task, and the next when it is finished."""
        waiting = list(reversed(tasks))
        given: dict[int, Task] = {}
        while waiting or given:
            number, answer = self._next()
            if answer is None:
                raise lost_worker()
            how, result = pickle.loads(answer)  # noqa: S301 - our own workers wrote it
            if how == FAILED:
                raise failed_worker(result)
            finished = [given.pop(number)] if how == DONE else []
            if waiting:
                given[number] = waiting.pop()
                with suppress(OSError):  # the end of its answers shows that a worker is gone
                    _send(self._workers[number].stdin, pickle.dumps(given[number]))
            for task in finished:
                yield task, result

    def end(self) -> None:
        """Kill all workers at once: results not yet sent are lost."""
        for worker in self._workers:
            with suppress(OSError):
                worker.kill()
        for worker in self._workers:
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    with suppress(OSError, ValueError):
                        pipe.close()

    def _next(self) -> tuple[int, bytes | None]:
        while True:
            # Without a time limit Ctrl-C would not be heard everywhere.
            with suppress(queue.Empty):
                return self._said.get(timeout=0.5)

    def _tell_and_listen(self, number: int, job: bytes) -> None:
        worker = self._workers[number]
        with suppress(OSError, ValueError):
            _send(worker.stdin, job)
            while (answer := _receive(worker.stdout)) is not None:
                self._said.put((number, answer))
        self._said.put((number, None))


def _send(pipe: IO[bytes] | None, message: bytes) -> None:
    if pipe is not None:
        pipe.write(len(message).to_bytes(8, "little") + message)
        pipe.flush()


def _receive(pipe: IO[bytes] | None) -> bytes | None:
    """The next message; None if there are no more."""
    size = b"" if pipe is None else pipe.read(8)
    if pipe is None or len(size) < 8:
        return None
    message = pipe.read(int.from_bytes(size, "little"))
    return message if len(message) == int.from_bytes(size, "little") else None


# ------------------------------------------------------------------------------------------------ in a worker


def serve() -> None:
    """Do tasks until the input ends: the whole life of a worker."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps what a library prints out of the answers
    warnings.simplefilter("ignore")
    stay_alone()
    messages: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_hear, args=(messages,), daemon=True).start()
    try:
        work, shared = pickle.loads(messages.get())  # noqa: S301 - from the process that started this one
        _send(answers, pickle.dumps((READY, None)))
        while True:
            task = pickle.loads(messages.get())  # noqa: S301
            _send(answers, pickle.dumps((DONE, work(shared, task))))
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:
        if os.environ.get("ANONTO_DEBUG"):
            raise
        _send(answers, pickle.dumps((FAILED, type(error).__name__)))


def _hear(messages: queue.Queue[bytes]) -> None:
    """Receive messages; when there can be no more, nobody waits for the current task either."""
    while (message := _receive(sys.stdin.buffer)) is not None:
        messages.put(message)
    os._exit(0)


def lost_worker() -> InputError:
    """A worker process that ended on its own."""
    return InputError(
        "A worker process ended early, most often because the memory is full; use fewer workers or a smaller sample. "
        "A sweep continues from what is finished."
    )


def failed_worker(kind: str) -> InternalError:
    """A worker process that failed by an internal error."""
    return InternalError(f"A worker process failed ({kind}), an internal error; please report it.")
