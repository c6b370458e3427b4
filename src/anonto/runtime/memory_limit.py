"""How much memory a run may use, and the share of each part of the work."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import MemoryLimitError, ParameterError
from anonto.wording import quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = 500_000_000
"""Memory for the program with its libraries and a few batches of rows."""
OF_PROGRAM = 300_000_000
"""Memory in use before any row is read."""
DEFAULT = 2_000_000_000

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def parse_memory(given: int | str) -> int:
    """A limit as a number of bytes, or as a text such as ``"2GB"``, ``"512 MB"`` or ``"1.5GiB"``."""
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is not None and (found[2] or "." not in found[1]):
        size = float(found[1]) * _UNITS[(found[2] or "").upper()]
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    else:
        size = -1
    if not LEAST <= size < 2**60:
        raise ParameterError("memory", f"a size of at least {LEAST // 10**6} MB, such as 500MB or 2GB", str(given))
    return int(size)


def resident_bytes() -> int:
    """The memory that this process holds; where the system does not report it, the usual size of the program."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return OF_PROGRAM
    return pages * os.sysconf("SC_PAGE_SIZE")


def bytes_of_machine() -> int:
    """The memory of this machine; where the system does not report it, twice the default limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2 * DEFAULT


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The memory that a run may use, divided among its parts."""

    memory: int

    @property
    def for_data(self) -> int:
        """Bytes left for data once the program is loaded."""
        return self.memory - OF_PROGRAM if self.memory >= LEAST else self.memory

    def rows_at_once(self, bytes_per_row: float, n_threads: int) -> int:
        """Rows of a batch: each thread has one in work, and reading and writing some more."""
        rows = self.for_batch(n_threads) / max(bytes_per_row, 1.0)
        return int(min(MOST_ROWS, max(FEWEST_ROWS, rows)))

    def for_batch(self, n_threads: int) -> float:
        """Bytes for one batch of rows."""
        return self.for_data / 16 / (n_threads + 2)

    @property
    def for_sorting(self) -> int:
        """Bytes for rows that are being sorted or wait for it: a third of what is left."""
        left = max(self.memory - resident_bytes(), self.for_data // 4)
        return min(left, self.for_data) // 3

    @property
    def for_step(self) -> int:
        """Bytes for the data that a method sees at once, and for its result."""
        return self.for_data * 3 // 4

    def too_small(self, method: str, columns: Sequence[str], needed: int, what: str) -> MemoryLimitError:
        """The error of a step that needs more bytes; it names a limit that would be enough."""
        return too_little_memory(method, columns, OF_PROGRAM + needed * 4 // 3, self.memory, what)


MOST_ROWS, FEWEST_ROWS = 1 << 18, 1 << 6


def too_little_memory(method: str, columns: Sequence[str], needed: int, memory: int, what: str) -> MemoryLimitError:
    """A step that needs more memory than it may use."""
    return MemoryLimitError(
        f"{method} of {quote_names(columns)} needs about {math.ceil(needed / 1e8) / 10:.1f} GB in all, most of it for "
        f"{what}, and only {memory / 1e9:.1f} GB of memory may be used; allow more, or mask fewer columns together."
    )
