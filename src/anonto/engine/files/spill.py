"""Arrays of a column on disk, batch after batch, each in the smallest type that holds its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BUFFER_BYTES = 1 << 20


class SpillFile:
    """A column of codes, or of numbers."""

    def __init__(self, path: Path) -> None:
        """Create a file that only its owner may read."""
        path.touch(mode=0o600)
        self._path = path
        self._file = path.open("wb", buffering=BUFFER_BYTES)
        self._batches: list[tuple[int, int, np.dtype[Any]]] = []
        self._end = 0

    @property
    def bytes_per_row(self) -> int:
        """Bytes per row of the widest batch."""
        return max((dtype.itemsize for _, _, dtype in self._batches), default=1)

    def append(self, array: NDArray[Any]) -> None:
        """Write the next batch."""
        narrow = array if array.dtype.kind == "f" else _narrow(array)
        self._batches.append((self._end, narrow.size, narrow.dtype))
        self._end += narrow.nbytes
        self._file.write(np.ascontiguousarray(narrow).data)

    def finish(self) -> None:
        """Write what waits to be written."""
        self._file.close()

    def read(self, number: int) -> NDArray[Any]:
        """A batch as it was written, codes with 32 bits."""
        stored = self.read_narrow(number)
        return stored if stored.dtype.kind == "f" else stored.astype(np.int32, copy=False)

    def read_narrow(self, number: int) -> NDArray[Any]:
        """A batch as it is stored."""
        offset, size, dtype = self._batches[number]
        return np.fromfile(self._path, dtype=dtype, count=size, offset=offset)

    def __len__(self) -> int:
        return len(self._batches)

    def whole(self) -> NDArray[Any]:
        """All batches one after the other, in the widest of their types."""
        dtype = np.result_type(np.int8, *(own for _, _, own in self._batches)) if self._batches else np.dtype("i1")
        out = np.empty(sum(size for _, size, _ in self._batches), dtype=dtype)
        filled = 0
        for number, (_, size, _) in enumerate(self._batches):
            out[filled : filled + size] = self.read_narrow(number)
            filled += size
        return out

    def remove(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def _narrow(codes: NDArray[Any]) -> NDArray[Any]:
    largest = max(int(codes.max(initial=0)), -int(codes.min(initial=0)))
    dtype = np.int8 if largest < 1 << 7 else np.int16 if largest < 1 << 15 else np.int32
    return codes.astype(dtype, copy=False)
