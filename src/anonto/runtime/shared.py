"""Results that the parts of a run share: computed once, kept while they fit into memory, let go at its end.

The distances of all pairs of some sets, and the groups of some records, are needed by masking, by every attack and by
every simulation of an intruder. A result is known by a digest of all that it follows from, so it is the same whether it
was kept or not. Nothing is kept outside `sharing`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anonto.runtime.memory_limit import bytes_of_machine
from anonto.runtime.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

SHARE_OF_MACHINE = 3
"""One part in so many of the machine's memory may hold shared results."""


class Shared:
    """Results by their names; where they are too many, those that were not used for longest are let go.

    A result that follows quickly from others, such as a sum of two tables, never takes the place of one that does not.
    """

    def __init__(self, most_bytes: int | None = None) -> None:
        self.most_bytes = bytes_of_machine() // SHARE_OF_MACHINE if most_bytes is None else most_bytes
        self._results: dict[tuple[str, bytes], tuple[int, bool, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process begins without results, and as one of several, with less room.
        return Shared, (self.most_bytes // n_threads(),)

    def get(
        self, name: tuple[str, bytes], n_bytes: int, make: Callable[[], Result], *, is_quick: bool = False
    ) -> Result:
        """A result, made where it is not kept."""
        if name in self._results:
            self._results[name] = self._results.pop(name)  # the last one used is the last
            kept: Result = self._results[name][2]
            return kept
        made = make()  # what it follows from was used just now, and is let go last
        if n_bytes > self.most_bytes:
            return made
        for quick in (True, False) if not is_quick else (True,):
            for other in [one for one, (_, is_other_quick, _) in self._results.items() if is_other_quick == quick]:
                if not self._fits(n_bytes):
                    del self._results[other]
        if self._fits(n_bytes):
            self._results[name] = n_bytes, is_quick, made
        return made

    def let_go_of_quick_ones(self) -> None:
        """Keep only what takes long to make."""
        self._results = {name: one for name, one in self._results.items() if not one[1]}

    def _fits(self, n_bytes: int) -> bool:
        return n_bytes + sum(size for size, _, _ in self._results.values()) <= self.most_bytes


_SHARED: ContextVar[Shared | None] = ContextVar("results that are shared", default=None)


@contextmanager
def sharing(shared: Shared | None = None) -> Iterator[None]:
    """Share results in here; inside another such block these are that block's, but for those that follow quickly.

    Args:
        shared: Where they are kept; by default in a new place that ends with the block.
    """
    place = _SHARED.get() or shared or Shared()
    before = _SHARED.set(place)
    try:
        yield
    finally:
        _SHARED.reset(before)
        place.let_go_of_quick_ones()


def is_shared(n_bytes: int) -> bool:
    """Return whether a result of this size is kept here."""
    shared = _SHARED.get()
    return shared is not None and n_bytes <= shared.most_bytes


def share(
    kind: str, digest: Callable[[], bytes], n_bytes: int, make: Callable[[], Result], *, is_quick: bool = False
) -> Result:
    """A result that is computed once, or each time where nothing is shared or it is too large to be kept.

    Args:
        kind: What it is.
        digest: The digest of everything that it follows from.
        n_bytes: The memory that it takes.
        make: Computes it.
        is_quick: Whether it follows quickly from other results.
    """
    shared = _SHARED.get()
    if shared is None or not is_shared(n_bytes):
        return make()
    return shared.get((kind, digest()), n_bytes, make, is_quick=is_quick)


def digest_of(*parts: Any) -> bytes:
    """The digest of arrays, of tuples of them, and of anything with a short text."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str} {part.shape}".encode())
            found.update(np.ascontiguousarray(part).data.cast("B") if part.size else b"")
        elif isinstance(part, Iterable) and not isinstance(part, str | bytes):
            found.update(digest_of(*part))
        else:
            found.update(part if isinstance(part, bytes) else f"{part!r} ".encode())
    return found.digest()
