"""The server's side of worker processes: requests and answers are lines of JSON.

A worker ends when it is asked to, when it is killed, or when the server is gone and the pipe closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any

from anonto.errors import InputError, InternalError, StoppedWorkError, UnclearHeaderError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable

    Listener = Callable[[dict[str, Any]], None]

LONGEST_ANSWER = 1 << 27
"""Maximum bytes of a line; answers are previews and counts, far smaller."""


class Worker:
    """One process that handles requests one by one, started on the first request."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._waiting: dict[int, tuple[Process, asyncio.Future[dict[str, Any]]]] = {}
        """Pending requests by number: the process, and the future answer."""
        self._listeners: dict[int, Listener] = {}
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._n_stops = 0
        self._readers: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process id, if it is running."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def call(self, task: str, given: dict[str, Any], listen: Listener | None = None) -> dict[str, Any]:
        """Run a task.

        Args:
            task: The name of a function of `anonto.web.tasks`.
            given: Its argument, as plain data.
            listen: Called with each report of progress.

        Returns:
            The result of the function, as plain data, with the ``warnings`` that it raised.
        """
        process = await self._start()
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (process, answer)
        if listen is not None:
            self._listeners[number] = listen
        line = json.dumps({"number": number, "task": task, "given": given}, ensure_ascii=False)
        try:
            if process.stdin is None:
                raise StoppedWorkError
            process.stdin.write(line.encode() + b"\n")
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()
            found = await answer
        finally:
            self._waiting.pop(number, None)
            self._listeners.pop(number, None)
        if "refused" in found:
            raise (UnclearHeaderError if "asks_for" in found else InputError)(found["refused"])
        if "failed" in found:
            raise unexpected_failure(found["failed"])
        result: dict[str, Any] = found["result"]
        return result

    async def warm_up(self) -> None:
        """Start the process, so that the first request does not wait for it."""
        await self._start()

    def stop(self) -> None:
        """Kill the process at once, even if it is still starting."""
        self._n_stops += 1
        process, self._process = self._process, None
        if process is not None:
            _end(process)
            self._fail_pending(process)

    async def wait_until_ended(self) -> None:
        """Wait until the stopped processes have exited."""
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _start(self) -> Process:
        n_stops = self._n_stops
        async with self._starting:
            if self._n_stops != n_stops:
                raise StoppedWorkError
            if self._process is None or self._process.returncode is not None:
                shown = None if os.environ.get("ANONTO_DEBUG") else DEVNULL
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "anonto.web.worker",
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=shown,
                    limit=LONGEST_ANSWER,
                    start_new_session=True,
                )
                reader = asyncio.create_task(self._read(process))
                self._readers.add(reader)
                reader.add_done_callback(self._readers.discard)
                if self._n_stops != n_stops:
                    _end(process)
                    raise StoppedWorkError
                self._process = process
            return self._process

    async def _read(self, process: Process) -> None:
        """Deliver the answers of a process until it ends, then fail the requests still pending."""
        try:
            while process.stdout is not None and (line := await process.stdout.readline()):
                answer = json.loads(line)
                number = answer["number"]
                if "progress" in answer:
                    if number in self._listeners:
                        self._listeners[number](answer["progress"])
                elif number in self._waiting and not self._waiting[number][1].done():
                    self._waiting[number][1].set_result(answer)
        finally:
            _end(process)
            if self._process is process:
                self._process = None
            self._fail_pending(process)
            await _wait_for(process)

    def _fail_pending(self, process: Process) -> None:
        """Fail the pending requests of a process."""
        for asked, answer in self._waiting.values():
            if asked is process and not answer.done():
                answer.set_exception(StoppedWorkError())


async def _wait_for(process: Process) -> None:
    """Wait until a killed process has exited and its pipes are closed, even if the event loop is about to end."""
    given_up: asyncio.CancelledError | None = None
    while True:
        try:
            await process.communicate()
            break
        except asyncio.CancelledError as error:
            given_up = error
    if given_up is not None:
        raise given_up


def _end(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            _kill(process.pid)


def _kill(pid: int) -> None:
    """Kill a process and its children, which are in its process group."""
    if hasattr(os, "killpg"):
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGTERM)


def unexpected_failure(kind: str) -> InternalError:
    """Work in another process that failed by an internal error."""
    return InternalError(
        f"That failed ({kind}), an internal error: start the server with ANONTO_DEBUG=1 to see where, and report it."
    )
