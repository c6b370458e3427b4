"""Units shared out among processes, each with one thread; all of them end with the process that started them.

A worker is a fresh interpreter that is told over its standard input what to do: first the job, then unit after unit.
It imports nothing of the caller's program, so a sweep can be started from a script, a notebook or a server alike. When
its input ends, for whatever reason, it ends at once.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anonto.errors import LostWorkerError, SweepFailedError
from anonto.stopping import held, started_deaf
from anonto.sweeping.unit import done

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from anonto.sweeping.unit import Job, Unit

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


def results(job: Job, units: Sequence[Unit], n_workers: int) -> Generator[tuple[Unit, dict[str, Any]]]:
    """The units with their results, in the order in which they are finished."""
    if n_workers < 2 or len(units) < 2:
        for unit in units:
            yield unit, done(job, unit)
        return
    team = _Team(job, min(n_workers, len(units)))
    try:
        yield from team.work(units)
    finally:
        team.end()


class _Team:
    """Worker processes, and a thread for each that waits for what it says."""

    def __init__(self, job: Job, n_workers: int) -> None:
        packed = pickle.dumps(job)
        limits = dict.fromkeys(THREAD_LIMITS, "1")
        paths = os.pathsep.join(path for path in sys.path if path)
        self._said: queue.Queue[tuple[int, bytes]] = queue.Queue()
        self._workers: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(n_workers):
                with held, started_deaf():
                    worker = subprocess.Popen(
                        [sys.executable, "-P", "-m", "anonto.sweeping.worker"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env={**os.environ, **limits, "PYTHONPATH": paths},
                        start_new_session=True,  # Ctrl-C is for the process that started it, which then ends it
                    )
                    self._workers.append(worker)
                threading.Thread(target=self._tell_and_listen, args=(number, packed), daemon=True).start()
        except BaseException:
            self.end()
            raise

    def work(self, units: Sequence[Unit]) -> Generator[tuple[Unit, dict[str, Any]]]:
        """Give each worker a unit, and the next when it is finished."""
        waiting = list(reversed(units))
        given: dict[int, Unit] = {}
        while waiting or given:
            number, line = self._next()
            if not line:
                raise LostWorkerError
            answer = json.loads(line)
            if "failed" in answer:
                raise SweepFailedError(answer["failed"])
            finished = given.pop(number, None)
            if waiting:
                given[number] = waiting.pop()
                self._give(number, given[number])
            if finished is not None:
                yield finished, answer["result"]

    def end(self) -> None:
        """Kill all workers, wherever they are: what they have not told is lost, and was not kept."""
        for worker in self._workers:
            with suppress(OSError):
                worker.kill()
        for worker in self._workers:
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    with suppress(OSError, ValueError):
                        pipe.close()

    def _next(self) -> tuple[int, bytes]:
        while True:
            # Without a time limit Ctrl-C would not be heard everywhere.
            with suppress(queue.Empty):
                return self._said.get(timeout=0.5)

    def _give(self, number: int, unit: Unit) -> None:
        with suppress(OSError):  # a worker that is gone is heard of by its empty line
            _send(self._workers[number].stdin, pickle.dumps(unit))

    def _tell_and_listen(self, number: int, packed: bytes) -> None:
        worker = self._workers[number]
        with suppress(OSError, ValueError):
            _send(worker.stdin, packed)
            for line in worker.stdout or ():
                self._said.put((number, line))
        self._said.put((number, b""))


def _send(pipe: Any, message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "little") + message)
    pipe.flush()


# ------------------------------------------------------------------------------------------------ in a worker


def serve() -> None:
    """Do units until the input ends: the whole life of a worker."""
    from anonto.threads import stay_alone

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    warnings.simplefilter("ignore")
    stay_alone()
    messages: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_hear, args=(messages,), daemon=True).start()

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()

    try:
        job: Job = pickle.loads(messages.get())  # noqa: S301 - from the process that started this one
        say({"ready": True})
        while True:
            unit: Unit = pickle.loads(messages.get())  # noqa: S301
            say({"result": done(job, unit)})
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:
        if os.environ.get("ANONTO_DEBUG"):
            raise
        say({"failed": type(error).__name__})


def _hear(messages: queue.Queue[bytes]) -> None:
    """Take in messages; when there can be no more, nobody waits for the unit that is being done either."""
    pipe = sys.stdin.buffer
    while len(size := pipe.read(8)) == 8:
        messages.put(pipe.read(int.from_bytes(size, "little")))
    os._exit(0)
