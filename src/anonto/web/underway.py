"""Work that several pages may wait for: begun once, and not ended when a page that waits for it is left."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.errors import SessionChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class UnderWay:
    """What is being done, by what it is."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def __contains__(self, what: str) -> bool:
        """Whether something is being done."""
        return what in self._tasks

    async def once(self, what: str, begin: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """What comes of something: begun now, unless it is being done; refused when it is given up meanwhile."""
        task = self._tasks.get(what)
        if task is None:
            task = asyncio.get_running_loop().create_task(begin())
            self._tasks[what] = task
            task.add_done_callback(partial(self._ended, what))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise SessionChangedError from None
            raise

    def give_up(self) -> None:
        """End all of it; nobody wants to know any more."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            if not task.done():
                task.cancel()

    def _ended(self, what: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(what) is task:
            del self._tasks[what]
        if not task.cancelled():
            task.exception()  # told to those who wait; when all have left, to nobody
