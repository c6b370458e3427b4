"""Shared pending work: started once for all pages that wait for it, and not cancelled when one of them is left."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.errors import SessionChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class SingleFlight:
    """Pending work by key."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def __contains__(self, what: str) -> bool:
        """Return whether any work is pending."""
        return what in self._tasks

    async def once(self, what: str, begin: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of some work, started unless already pending; refused if it is cancelled meanwhile."""
        task = self._tasks.get(what)
        if task is None:
            task = asyncio.get_running_loop().create_task(begin())
            self._tasks[what] = task
            task.add_done_callback(partial(self._forget, what))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise SessionChangedError from None
            raise

    def cancel_all(self) -> None:
        """Cancel all pending work."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            if not task.done():
                task.cancel()

    def _forget(self, what: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(what) is task:
            del self._tasks[what]
        if not task.cancelled():
            task.exception()  # waiting pages get the exception; without any, it is dropped
