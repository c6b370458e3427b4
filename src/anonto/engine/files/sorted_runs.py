"""Rows that are put in order on disk.

Rows are gathered until a share of the memory is full, sorted by the range of places that they go to, and written to a
file. Then each range is read from all files and sorted in memory, so that each row is written to disk once and read
once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.set_space import ELEMENT
from anonto.io.batches import bytes_of_frame
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from anonto.arrays import Longs

PLACE = f"{ELEMENT}place"
FINER = 64
"""Ranges of places are this much finer than the first rows require: later rows may be wider."""
MOST_BUCKETS = 1 << 15


@dataclass(slots=True, eq=False, repr=False)
class SortedRuns:
    """Files of rows, each sorted by the range of places that its rows go to."""

    folder: Path
    name: str
    n_places: int
    most_bytes: float
    """Memory for the rows that are written or sorted at once."""
    rows_per_bucket: int
    paths: list[Path] = field(default_factory=list)
    offsets: list[Longs] = field(default_factory=list)
    """For each file where the rows of each bucket begin."""
    n_bytes: int = 0
    _waiting: list[pl.DataFrame] = field(default_factory=list)
    _bytes_waiting: int = 0

    @classmethod
    def of(cls, folder: Path, name: str, n_places: int, most_bytes: float, bytes_per_place: float) -> SortedRuns:
        """Buckets that stay small even if later rows are wider than the first."""
        rows = int(most_bytes / max(bytes_per_place, 1.0) / FINER)
        return cls(folder, name, n_places, most_bytes, max(1, rows, -(-n_places // MOST_BUCKETS)))

    def __post_init__(self) -> None:
        for old in self.folder.glob(f"{self.name}-*"):
            old.unlink()

    @property
    def n_buckets(self) -> int:
        """How many ranges of places there are."""
        return -(-self.n_places // self.rows_per_bucket)

    @property
    def rows_of_buckets(self) -> Longs:
        """How many rows each bucket has."""
        return sum((np.diff(one) for one in self.offsets), start=np.zeros(self.n_buckets, dtype=np.int64))

    def add(self, frame: pl.DataFrame, places: Longs) -> None:
        """Add rows, given the places that they go to; they wait for others until they are worth a file."""
        import polars as pl

        self._waiting.append(frame.with_columns(pl.Series(PLACE, places)))
        self._bytes_waiting += bytes_of_frame(frame)
        if self._bytes_waiting >= self.most_bytes:
            self.finish()

    def finish(self) -> None:
        """Write the rows that wait to a file."""
        n_bytes, self._bytes_waiting = self._bytes_waiting, 0
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        frame = concat(waiting)
        del waiting
        buckets = (frame[PLACE].to_numpy() // self.rows_per_bucket).astype(np.uint16)
        by_bucket = np.argsort(buckets, kind="stable")
        path = self.folder / f"{self.name}-{len(self.paths)}"
        path.touch(mode=0o600)
        # Small enough that little is read beside the rows of a bucket.
        rows_per_batch = int(self.most_bytes / 16 * frame.height / max(n_bytes, 1))
        frame[by_bucket].write_ipc(path, record_batch_size=max(1 << 6, min(1 << 16, rows_per_batch)))
        self.paths.append(path)
        self.offsets.append(np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=self.n_buckets))]))
        self.n_bytes += n_bytes

    def buckets(self) -> Iterator[pl.DataFrame]:
        """The rows in order, as many buckets at a time as fit into memory; a place has one row at most."""
        self.finish()
        bytes_per_bucket = self.n_bytes / max(self.n_places, 1) * self.rows_per_bucket
        for part in slices(0, self.n_buckets, max(1, int(self.most_bytes / max(bytes_per_bucket, 1.0)))):
            rows = self.read(part)
            if rows is None:
                continue
            places = rows[PLACE].to_numpy() - part.start * self.rows_per_bucket
            order = np.full((part.stop - part.start) * self.rows_per_bucket, -1, dtype=np.int64)
            order[places] = np.arange(places.size)
            yield rows.drop(PLACE)[order if places.size == order.size else order[order >= 0]]

    def read(self, part: slice) -> pl.DataFrame | None:
        """The rows of some buckets with their places, in the order in which they came; None if there are none."""
        import polars as pl

        parts = [
            pl.scan_ipc(path).slice(int(offsets[part.start]), int(n_rows)).collect()
            for path, offsets in zip(self.paths, self.offsets, strict=True)
            if (n_rows := offsets[part.stop] - offsets[part.start])
        ]
        return concat(parts) if parts else None

    def remove(self) -> None:
        """Remove the files."""
        for path in self.paths:
            path.unlink()


def concat(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Batches of one table as one."""
    import polars as pl

    return pl.concat(frames, how="vertical_relaxed", rechunk=True)
