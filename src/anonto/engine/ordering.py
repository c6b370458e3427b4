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
from anonto.table.leftovers import has_fixed_categories, used_categories, with_categories
from anonto.table.stretches import bytes_of_frame
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
FINER = 64
"""Stretches of places are cut this much finer than the first rows ask for: later ones may be wider."""
MOST_BUCKETS = 1 << 15


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

    def parts(
        self, dropped: Sequence[str], order: RowOrder | None, scales: Mapping[str, Sequence[str]]
    ) -> Iterator[pl.DataFrame]:
        """The masked table in stretches, in its own order or in another; at least one stretch.

        When all is made, the files must still be those that were opened.

        Args:
            dropped: Columns to leave out.
            order: Where the rows go; None to keep them in their order.
            scales: The values of ordinal columns, lowest first.
        """
        names = [name for name in self.source.schema if name not in dropped]
        listed = [name for name in names if has_fixed_categories(self._type(name))]
        used = used_categories(in_their_order(self, listed) if listed else (), scales)
        for part in in_their_order(self, names) if order is None else shuffled(self, names, order):
            yield with_categories(part, used)
        self.source.require_unchanged()

    def _type(self, name: str) -> pl.DataType:
        """The type of a column of the output."""
        return self.columns[name].palette.dtype if name in self.columns else self.source.schema[name]


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
        n_bytes += bytes_of_frame(frame)
        if n_bytes > most_bytes / (1 if runs is None else PIECES):
            runs = runs or _Runs.of(table.folder, order, most_bytes / PIECES, n_bytes / max(n_gathered, 1))
            runs.add_all(gathered)
            n_gathered, n_bytes = 0, 0.0
    if runs is None:
        whole = _one(gathered)
        gathered = []
        yield from _picked(cells, whole, order, table.rows_at_once)
        return
    runs.add_all(gathered)
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
        table = self._table
        others = _Rest(self._others(), table.source.origin.name)
        for number, size in enumerate(table.sizes):
            masked = self._masked(number)
            if not self._as_they_are:
                yield masked
                continue
            stays = None if table.kept is None else table.kept.read(number) > 0
            first = first_masked = 0
            while first < size:
                frame = others.at_most(size - first)
                first += frame.height
                if stays is not None:
                    frame = frame.filter(stays[first - frame.height : first])
                yield frame.hstack(masked[first_masked : first_masked + frame.height].get_columns())
                first_masked += frame.height
        others.require_end()
        if not table.sizes:
            yield self._empty()

    def _others(self) -> Iterator[pl.DataFrame]:
        if not self._as_they_are:
            return
        table, new = self._table, {name: f"{self._names.index(name)}" for name in self._as_they_are}
        for frame in table.source.read(self._as_they_are, table.rows_at_once, table.room.of_stretch(n_threads())):
            yield frame.rename(new)

    def _masked(self, number: int) -> pl.DataFrame:
        """The places in palettes of the rows of a stretch that stay."""
        import polars as pl

        columns = []
        for place, name in enumerate(self._names):
            if name in self._table.columns:
                columns.append(pl.Series(f"{place}", self._table.places[name].stored(number)))
                if name in self._table.numbers:
                    columns.append(pl.Series(f"{place} number", self._table.numbers[name].stored(number)))
        return pl.DataFrame(columns)

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


class _Rest:
    """Rows as they come, in frames that are cut where others end; more or fewer rows than expected are refused."""

    def __init__(self, frames: Iterator[pl.DataFrame], name: str) -> None:
        self._frames, self._name = frames, name
        self._left: pl.DataFrame | None = None

    def at_most(self, n_rows: int) -> pl.DataFrame:
        """The next rows, one at least."""
        frame = self._left
        while frame is None or not frame.height:
            frame = next(self._frames, None)
            if frame is None:
                raise ChangedFileError(self._name)
        self._left = frame[n_rows:]
        return frame[:n_rows]

    def require_end(self) -> None:
        """Refuse further rows."""
        if (self._left is not None and self._left.height) or any(frame.height for frame in self._frames):
            raise ChangedFileError(self._name)


# ------------------------------------------------------------------------------------------------ runs on disk


@dataclass(slots=True, eq=False)
class _Runs:
    """Files of rows, each put by the stretch of places that its rows go to."""

    folder: Path
    order: RowOrder
    most_bytes: float
    """Of the rows that are written, or put in order, at once."""
    rows_per_bucket: int
    paths: list[Path]
    offsets: list[NDArray[np.int64]]
    """For each file where the rows of each bucket begin."""
    n_rows: int = 0
    n_bytes: int = 0

    @classmethod
    def of(cls, folder: Path, order: RowOrder, most_bytes: float, bytes_per_row: float) -> _Runs:
        """Begin with buckets that are small even if later rows are wider than the first."""
        for old in folder.glob("run-*"):
            old.unlink()
        rows = int(most_bytes / max(bytes_per_row, 1.0) / FINER)
        return cls(folder, order, most_bytes, max(1, rows, -(-order.n_rows // MOST_BUCKETS)), [], [])

    @property
    def n_buckets(self) -> int:
        """How many stretches of places there are."""
        return -(-self.order.n_rows // self.rows_per_bucket)

    def add_all(self, frames: list[pl.DataFrame]) -> None:
        """Write the next rows to files of about so many bytes; the frames are let go as they are written."""
        while frames:
            piece = [frames.pop(0)]
            n_bytes = bytes_of_frame(piece[0])
            while frames and n_bytes < self.most_bytes:
                piece.append(frames.pop(0))
                n_bytes += bytes_of_frame(piece[-1])
            self.add(_one(piece), n_bytes)

    def add(self, frame: pl.DataFrame, n_bytes: int) -> None:
        """Write the next rows to a file."""
        import polars as pl

        places = self.order.places(self.n_rows, self.n_rows + frame.height)
        buckets = (places // self.rows_per_bucket).astype(np.uint16)
        by_bucket = np.argsort(buckets, kind="stable")
        path = self.folder / f"run-{len(self.paths)}"
        path.touch(mode=0o600)
        # Small enough that little is read beside the rows of a bucket.
        rows_per_batch = int(self.most_bytes / 16 * frame.height / max(n_bytes, 1))
        frame.with_columns(pl.Series(PLACE, places))[by_bucket].write_ipc(
            path, record_batch_size=max(1 << 6, min(1 << 16, rows_per_batch))
        )
        self.paths.append(path)
        self.offsets.append(np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=self.n_buckets))]))
        self.n_rows += frame.height
        self.n_bytes += n_bytes

    def buckets(self) -> Iterator[pl.DataFrame]:
        """The rows in order, as many buckets at a time as there is room for."""
        import polars as pl

        bytes_per_bucket = self.n_bytes / max(self.n_rows, 1) * self.rows_per_bucket
        for part in slices(0, self.n_buckets, max(1, int(self.most_bytes / max(bytes_per_bucket, 1.0)))):
            parts = [
                pl.scan_ipc(path).slice(int(offsets[part.start]), int(n_rows)).collect()
                for path, offsets in zip(self.paths, self.offsets, strict=True)
                if (n_rows := offsets[part.stop] - offsets[part.start])
            ]
            rows = _one(parts)
            del parts
            places = rows[PLACE].to_numpy() - part.start * self.rows_per_bucket
            order = np.empty(places.size, dtype=np.int64)
            order[places] = np.arange(places.size)
            yield rows.drop(PLACE)[order]
