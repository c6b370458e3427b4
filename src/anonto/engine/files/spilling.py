"""Arrays of a column on disk, stretch after stretch, each in the smallest type that holds its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BUFFER_BYTES = 1 << 20


class Spilled:
    """A column of codes, or of numbers."""

    def __init__(self, path: Path) -> None:
        """Begin a file that nobody else may read."""
        path.touch(mode=0o600)
        self._path = path
        self._file = path.open("wb", buffering=BUFFER_BYTES)
        self._stretches: list[tuple[int, int, np.dtype[Any]]] = []
        self._end = 0

    @property
    def bytes_per_row(self) -> int:
        """Of the widest stretch."""
        return max((dtype.itemsize for _, _, dtype in self._stretches), default=1)

    def append(self, array: NDArray[Any]) -> None:
        """Write the next stretch."""
        narrow = array if array.dtype.kind == "f" else _narrow(array)
        self._stretches.append((self._end, narrow.size, narrow.dtype))
        self._end += narrow.nbytes
        self._file.write(np.ascontiguousarray(narrow).data)

    def finish(self) -> None:
        """Write what waits to be written."""
        self._file.close()

    def read(self, number: int) -> NDArray[Any]:
        """A stretch as it was written, codes with 32 bits."""
        stored = self.stored(number)
        return stored if stored.dtype.kind == "f" else stored.astype(np.int32, copy=False)

    def stored(self, number: int) -> NDArray[Any]:
        """A stretch as it is stored."""
        offset, size, dtype = self._stretches[number]
        return np.fromfile(self._path, dtype=dtype, count=size, offset=offset)

    def __len__(self) -> int:
        return len(self._stretches)

    def whole(self) -> NDArray[Any]:
        """All stretches one after the other, in the widest of their types."""
        dtype = np.result_type(np.int8, *(own for _, _, own in self._stretches)) if self._stretches else np.dtype("i1")
        out = np.empty(sum(size for _, size, _ in self._stretches), dtype=dtype)
        filled = 0
        for number, (_, size, _) in enumerate(self._stretches):
            out[filled : filled + size] = self.stored(number)
            filled += size
        return out

    def remove(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def _narrow(codes: NDArray[Any]) -> NDArray[Any]:
    largest = max(int(codes.max(initial=0)), -int(codes.min(initial=0)))
    dtype = np.int8 if largest < 1 << 7 else np.int16 if largest < 1 << 15 else np.int32
    return codes.astype(dtype, copy=False)
