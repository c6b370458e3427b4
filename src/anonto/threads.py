"""Work cut into slices and done by as many threads as there are processors; kernels release the interpreter's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def slices(first: int, last: int, size: int) -> list[slice]:
    """Consecutive slices of a size, the last one shorter."""
    return [slice(start, min(start + size, last)) for start in range(first, last, size)]


def in_threads(work: Callable[[slice], None], parts: list[slice]) -> None:
    """Do the work for every slice; an error in one is raised here."""
    if len(parts) < 2:
        for part in parts:
            work(part)
        return
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(work, parts):
            pass
