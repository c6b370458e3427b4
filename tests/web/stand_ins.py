"""Workers that answer when a test lets them, so that something can happen meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from anonto.web.session import Session

PLAN = {
    "columns": {"age": {"kind": "numeric", "role": "quasi-identifier"}},
    "steps": [{"method": "group-swap", "columns": ["age"], "k": 5}],
}
Answers = dict[str, Any]


class SlowWorker:
    """Answers when it is let, and notes what it was asked."""

    made: list[SlowWorker]
    answers: Answers

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.may_answer = asyncio.Event()
        self.is_stopped = False
        type(self).made.append(self)

    async def call(self, task: str, given: dict[str, Any], listen: object = None) -> dict[str, Any]:
        del listen
        self.asked.append((task, given))
        await self.may_answer.wait()
        answer = type(self).answers[task]
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer(given) if callable(answer) else answer
        return found

    def stop(self) -> None:
        self.is_stopped = True


def asked_of(workers: type[SlowWorker], task: str) -> int:
    return sum(one[0] == task for worker in workers.made for one in worker.asked)


def in_time(work: Coroutine[Any, Any, None]) -> None:
    """Do something that must not wait for ever."""
    asyncio.run(asyncio.wait_for(work, 20))


async def soon() -> None:
    """Give other tasks a turn."""
    for _ in range(20):
        await asyncio.sleep(0)


def change(session: Session, k: int = 7) -> None:
    with session.change("k") as draft:
        draft["plan"]["steps"][0]["k"] = k


def finish(*workers: Any) -> None:
    for worker in workers:
        worker.may_answer.set()
