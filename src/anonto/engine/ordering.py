"""The rows of a masked table one after the other: in their own order, or in that of a keyed permutation.

If all rows fit into memory they are picked. If not, rows are gathered until a share of the memory is full, put by the
stretch of places that they go to, and written to a file; then each stretch of places is read from all files, put in
order in memory, and given out. Each row is written to disk once and read once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import ChangedFileError
from anonto.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.memory import Room
    from anonto.engine.released import OutColumn, StepTally
    from anonto.engine.spilling import Spilled
    from anonto.engine.two_pass import FittedStep
    from anonto.rng import RowOrder
    from anonto.table.stretches import Stretches

PLACE = "place"
PIECES = 4
"""Rows that do not fit are written to files of this part of their room each."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedTable:
    """A table whose masked columns are on disk as places in their palettes."""

    source: Stretches
    sizes: Sequence[int]
    """Rows of each stretch of the source."""
    n_records: int
    kept: Spilled | None
    """Which rows stay; None for all."""
    steps: list[FittedStep]
    tallies: list[StepTally]
    real_k: Sequence[int | None]
    """For each step how many rows at least are released alike, where that is asked."""
    columns: Mapping[str, OutColumn]
    places: Mapping[str, Spilled]
    numbers: Mapping[str, Spilled]
    room: Room
    rows_at_once: int
    """Rows of a stretch that is read or written."""
    folder: Path

    def let_go_of_steps(self) -> None:
        """Make room when the evidence is there: flows and records are no longer needed."""
        self.steps.clear()
        self.tallies.clear()

    def parts(self, dropped: Sequence[str], order: RowOrder | None) -> Iterator[pl.DataFrame]:
        """The masked table in stretches, in its own order or in another; at least one stretch.

        When all is made, the files must still be those that were opened.
        """
        names = [name for name in self.source.schema if name not in dropped]
        yield from in_their_order(self, names) if order is None else shuffled(self, names, order)
        self.source.require_unchanged()


def in_their_order(table: MaskedTable, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Stretches of the masked table, at least one."""
    cells = _Cells(table, names)
    waiting: list[pl.DataFrame] = []
    for frame in cells.stretches():
        waiting.append(frame)
        if len(waiting) == n_threads():
            yield from _made(cells.decoded, waiting)
            waiting = []
    yield from _made(cells.decoded, waiting)


def shuffled(table: MaskedTable, names: Sequence[str], order: RowOrder) -> Iterator[pl.DataFrame]:
    """Stretches of the masked table in another order, at least one."""
    cells, most_bytes = _Cells(table, names), table.room.of_table
    gathered: list[pl.DataFrame] = []
    n_gathered, n_bytes = 0, 0.0
    runs: _Runs | None = None
    for frame in cells.stretches():
        gathered.append(frame)
        n_gathered += frame.height
        n_bytes += frame.estimated_size()
        if n_bytes > most_bytes / (1 if runs is None else PIECES):
            runs = runs or _Runs.of(table.folder, order, int(most_bytes / PIECES * n_gathered / max(n_bytes, 1)))
            runs.add_all(gathered, most_bytes / PIECES)
            n_gathered, n_bytes = 0, 0.0
    if runs is None:
        whole = _one(gathered)
        gathered = []
        yield from _picked(cells, whole, order, table.rows_at_once)
        return
    runs.add_all(gathered, most_bytes / PIECES)
    for bucket in runs.buckets():
        for part in slices(0, bucket.height, table.rows_at_once):
            yield cells.decoded(bucket[part])


def _picked(cells: _Cells, whole: pl.DataFrame, order: RowOrder, n_rows: int) -> Iterator[pl.DataFrame]:
    parts = slices(0, whole.height, n_rows) or [slice(0, 0)]

    def make(part: slice) -> pl.DataFrame:
        return cells.decoded(whole[order.part(part.start, part.stop)])

    for group in slices(0, len(parts), n_threads()):
        yield from _made(make, parts[group])


def _made(make: Callable[..., pl.DataFrame], things: Sequence[object]) -> Iterator[pl.DataFrame]:
    """What is made of each thing, in threads; in order."""
    made: dict[int, pl.DataFrame] = {}

    def fill(part: slice) -> None:
        made[part.start] = make(things[part.start])

    in_threads(fill, slices(0, len(things), 1))
    for place in range(len(things)):
        yield made.pop(place)


def _one(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.concat(frames, how="vertical_relaxed", rechunk=True)


# ------------------------------------------------------------------------------------------------ cells


class _Cells:
    """The columns of the output, encoded and decoded; columns of encoded frames are called by their place."""

    def __init__(self, table: MaskedTable, names: Sequence[str]) -> None:
        self._table, self._names = table, names
        self._as_they_are = [name for name in names if name not in table.columns]

    def stretches(self) -> Iterator[pl.DataFrame]:
        """The rows that stay: cells as they are, and places in palettes; at least one stretch."""
        import polars as pl

        table = self._table
        others = _aligned(self._others(), table.sizes, table.source.origin.name)
        for number in range(len(table.sizes)):
            frame = next(others) if self._as_they_are else pl.DataFrame()
            if table.kept is not None and self._as_they_are:
                frame = frame.filter(pl.Series(table.kept.read(number) > 0))
            yield self._with_masked(frame, number)
        for _ in others:
            raise ChangedFileError(table.source.origin.name)
        if not table.sizes:
            yield self._empty()

    def _others(self) -> Iterator[pl.DataFrame]:
        if not self._as_they_are:
            return
        new = {name: f"{self._names.index(name)}" for name in self._as_they_are}
        for frame in self._table.source.read(self._as_they_are, self._table.rows_at_once):
            yield frame.rename(new)

    def _with_masked(self, frame: pl.DataFrame, number: int) -> pl.DataFrame:
        import polars as pl

        further = []
        for place, name in enumerate(self._names):
            if name in self._table.columns:
                further.append(pl.Series(f"{place}", self._table.places[name].stored(number)))
                if name in self._table.numbers:
                    further.append(pl.Series(f"{place} number", self._table.numbers[name].stored(number)))
        return frame.hstack(further) if frame.width else pl.DataFrame(further)

    def _empty(self) -> pl.DataFrame:
        import polars as pl

        schema: dict[str, pl.DataType] = {}
        for place, name in enumerate(self._names):
            schema[f"{place}"] = pl.Int32() if name in self._table.columns else self._table.source.schema[name]
            if name in self._table.numbers:
                schema[f"{place} number"] = pl.Float64()
        return pl.DataFrame(schema=schema)

    def decoded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The cells of some rows."""
        import polars as pl

        columns = []
        for place, name in enumerate(self._names):
            encoded = frame[f"{place}"]
            if name not in self._table.columns:
                columns.append(encoded.alias(name))
                continue
            places = encoded.to_numpy().astype(np.int32, copy=False)
            numbers = frame[f"{place} number"].to_numpy() if name in self._table.numbers else None
            columns.append(self._table.columns[name].cells(places, numbers))
        return pl.DataFrame(columns)


def _aligned(frames: Iterator[pl.DataFrame], sizes: Sequence[int], name: str) -> Iterator[pl.DataFrame]:
    """The same rows in stretches of given sizes; more or fewer rows are refused."""
    import polars as pl

    waiting: list[pl.DataFrame] = []
    n_waiting = 0
    for size in sizes:
        while n_waiting < size:
            frame = next(frames, None)
            if frame is None:
                if waiting or n_waiting:
                    raise ChangedFileError(name)
                return
            waiting.append(frame)
            n_waiting += frame.height
        whole = pl.concat(waiting) if len(waiting) != 1 else waiting[0]
        yield whole[:size]
        waiting, n_waiting = [whole[size:]], n_waiting - size
    if n_waiting or any(frame.height for frame in frames):
        raise ChangedFileError(name)


# ------------------------------------------------------------------------------------------------ runs on disk


@dataclass(slots=True, eq=False)
class _Runs:
    """Files of rows, each put by the stretch of places that its rows go to."""

    folder: Path
    order: RowOrder
    rows_per_bucket: int
    paths: list[Path]
    offsets: list[NDArray[np.int64]]
    """For each file where the rows of each bucket begin."""
    n_rows: int = 0

    @classmethod
    def of(cls, folder: Path, order: RowOrder, rows_per_bucket: int) -> _Runs:
        """Begin with buckets of so many rows."""
        for old in folder.glob("run-*"):
            old.unlink()
        return cls(folder, order, max(1, min(rows_per_bucket, order.n_rows)), [], [])

    @property
    def n_buckets(self) -> int:
        """How many stretches of places there are."""
        return -(-self.order.n_rows // self.rows_per_bucket)

    def add_all(self, frames: list[pl.DataFrame], most_bytes: float) -> None:
        """Write the next rows to files of about so many bytes; the frames are let go as they are written."""
        while frames:
            piece = [frames.pop(0)]
            n_bytes = piece[0].estimated_size()
            while frames and n_bytes < most_bytes:
                piece.append(frames.pop(0))
                n_bytes += piece[-1].estimated_size()
            self.add(_one(piece))

    def add(self, frame: pl.DataFrame) -> None:
        """Write the next rows to a file."""
        import polars as pl

        places = self.order.places(self.n_rows, self.n_rows + frame.height)
        self.n_rows += frame.height
        buckets = (places // self.rows_per_bucket).astype(np.int32)
        by_bucket = np.argsort(buckets, kind="stable")
        path = self.folder / f"run-{len(self.paths)}"
        path.touch(mode=0o600)
        frame.with_columns(pl.Series(PLACE, places))[by_bucket].write_ipc(path, record_batch_size=self.rows_per_batch)
        self.paths.append(path)
        self.offsets.append(np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=self.n_buckets))]))

    @property
    def rows_per_batch(self) -> int:
        """Small enough that little is read beside the rows of a bucket."""
        return max(1 << 10, min(1 << 16, self.rows_per_bucket // 16))

    def buckets(self) -> Iterator[pl.DataFrame]:
        """The rows in order, bucket after bucket."""
        import polars as pl

        for bucket in range(self.n_buckets):
            parts = [
                pl.scan_ipc(path).slice(int(offsets[bucket]), int(offsets[bucket + 1] - offsets[bucket])).collect()
                for path, offsets in zip(self.paths, self.offsets, strict=True)
                if offsets[bucket + 1] > offsets[bucket]
            ]
            rows = _one(parts)
            del parts
            places = rows[PLACE].to_numpy() - bucket * self.rows_per_bucket
            order = np.empty(places.size, dtype=np.int64)
            order[places] = np.arange(places.size)
            yield rows.drop(PLACE)[order]
