"""Work cut into slices and done by as many threads as there are processors; kernels release the interpreter's lock."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Longs

_here = threading.local()
FEW_ROWS = 1 << 12


def slices(first: int, last: int, size: int) -> list[slice]:
    """Consecutive slices of a size, the last one shorter."""
    return [slice(start, min(start + size, last)) for start in range(first, last, size)]


def slices_of_equal_work(begins: Longs, n_parts: int = 16) -> list[slice]:
    """Slices of items that have about as many rows each; item i has the rows from begins[i] to begins[i + 1].

    Few rows are one slice: handing them to threads would take longer than the work.
    """
    import numpy as np

    if begins[-1] <= FEW_ROWS:
        return [slice(0, begins.size - 1)] if begins.size > 1 else []
    cuts = np.searchsorted(begins, np.linspace(0, begins[-1], n_parts + 1))
    cuts[0], cuts[-1] = 0, begins.size - 1
    return [slice(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]


def in_threads(work: Callable[[slice], None], parts: list[slice]) -> None:
    """Do the work for every slice; an error in one is raised here. Work inside such work is done one by one."""
    if len(parts) < 2 or getattr(_here, "is_worker", False):
        for part in parts:
            work(part)
        return
    started = [_pool(os.getpid()).submit(_as_worker, work, part) for part in parts]
    try:
        for one in started:
            one.result()
    finally:
        for one in started:
            one.cancel()


def n_threads() -> int:
    """How many threads share work that is begun here: in such work, and where a process stays alone, just this one."""
    if getattr(_here, "is_worker", False):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stay_alone() -> None:
    """From now on the calling thread does all work itself: for a process that is one of several on the machine."""
    _here.is_worker = True


def _as_worker(work: Callable[[slice], None], part: slice) -> None:
    _here.is_worker = True
    work(part)


@cache
def _pool(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - threads do not survive into a forked process
    """The threads of this process: starting new ones for every piece of work would cost more than small pieces do."""
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="anonto")
