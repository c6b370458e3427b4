"""How much memory may be used, and what of it each part of the work gets."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import MemoryLimitError, MoreMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = 500_000_000
"""What the program with its libraries and a few stretches of rows need."""
OF_PROGRAM = 300_000_000
"""What is in memory before any row is read."""
DEFAULT = 2_000_000_000

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def memory_of(given: int | str) -> int:
    """A limit as a number of bytes, or as a text such as ``"2GB"``, ``"512 MB"`` or ``"1.5GiB"``."""
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is not None and (found[2] or "." not in found[1]):
        size = float(found[1]) * _UNITS[(found[2] or "").upper()]
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    else:
        size = -1
    if not LEAST <= size < 2**60:
        raise MemoryLimitError(str(given), f"{LEAST // 10**6} MB")
    return int(size)


def held_bytes() -> int:
    """The memory that this process holds; where the system does not tell, what the program takes."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return OF_PROGRAM
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Room:
    """The memory of a run, divided."""

    memory: int

    @property
    def for_data(self) -> int:
        """What is left beside the program."""
        return self.memory - OF_PROGRAM if self.memory >= LEAST else self.memory

    def rows_at_once(self, bytes_per_row: float, n_threads: int) -> int:
        """Rows of a stretch: each thread has one in work, and reading and writing some more."""
        rows = self.of_stretch(n_threads) / max(bytes_per_row, 1.0)
        return int(min(MOST_ROWS, max(FEWEST_ROWS, rows)))

    def of_stretch(self, n_threads: int) -> float:
        """Bytes of a stretch."""
        return self.for_data / 16 / (n_threads + 2)

    @property
    def of_table(self) -> int:
        """Of rows that wait to be put in order, or are being so: a third of what is left."""
        left = max(self.memory - held_bytes(), self.for_data // 4)
        return min(left, self.for_data) // 3

    @property
    def of_step(self) -> int:
        """Of what a method sees at once, and of what it makes of it."""
        return self.for_data * 3 // 4

    def too_small(self, method: str, columns: Sequence[str], needed: int, what: str) -> MoreMemoryError:
        """The refusal of a step that needs so many bytes; it tells the limit with which it would have them."""
        return MoreMemoryError(method, columns, OF_PROGRAM + needed * 4 // 3, self.memory, what)


MOST_ROWS, FEWEST_ROWS = 1 << 18, 1 << 6
