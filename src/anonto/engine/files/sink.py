"""The rows of a masked table one after the other: in their own order, or in that of a keyed permutation.

If all rows fit into memory they are picked. If not, rows are gathered until a share of the memory is full, put by the
stretch of places that they go to, and written to a file; then each stretch of places is read from all files, put in
order in memory, and given out. Each row is written to disk once and read once.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ChangedFileError, RowsInFileError
from anonto.private_record import PrivateRecord
from anonto.table.beside import require_free
from anonto.table.leftovers import has_fixed_categories, used_categories, with_categories
from anonto.table.stretches import bytes_of_frame
from anonto.table.writing import sink_in_parts, warn_of_changed_types
from anonto.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.files.apply import MaskedCodes
    from anonto.engine.room import Room
    from anonto.masking.released import OutColumn
    from anonto.rng import RowOrder
    from anonto.table.beside import FilesBeside
    from anonto.table.stretches import Stretches
    from anonto.table.table import Origin

PLACE = "place"
PIECES = 4
"""Rows that do not fit are written to files of this part of their room each."""
FINER = 64
"""Stretches of places are cut this much finer than the first rows ask for: later ones may be wider."""
MOST_BUCKETS = 1 << 15


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedTable:
    """A table whose masked columns are on disk as places in their palettes."""

    source: Stretches
    sizes: Sequence[int]
    """Rows of each stretch of the source."""
    codes: MaskedCodes
    columns: Mapping[str, OutColumn]
    room: Room
    rows_at_once: int
    """Rows of a stretch that is read or written."""
    folder: Path

    @property
    def origin(self) -> Origin:
        """The file that was masked."""
        return self.source.origin

    @property
    def kept(self) -> NDArray[np.int64] | None:
        """The rows of the input that stay; None for all."""
        self._require_folder()
        flags = self.codes.kept
        if flags is None:
            return None
        return np.flatnonzero(np.concatenate([flags.read(number) for number in range(len(self.sizes))]))

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """Refused: rows that did not fit into memory are written, and read from there."""
        del dropped, scales
        raise RowsInFileError(self.origin.name)

    @staticmethod
    def record_beside(path: str | os.PathLike[str]) -> Path:
        """Where the private record of an output lies."""
        return PrivateRecord.beside(path)

    def require_apart(self, path: str | os.PathLike[str] | None, beside: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files beside it, that would replace what was read."""
        require_free([*self.origin.files, *read], [*([] if path is None else [Path(path)]), *beside])

    def _require_folder(self) -> None:
        """Refuse what needs the masked codes once the folder with them is gone."""
        if not self.folder.exists():
            raise RowsInFileError(self.origin.name)

    @contextmanager
    def place_for(self, path: str | os.PathLike[str], files: FilesBeside, *, force: bool) -> Iterator[Path]:
        """Where the masked table is written before it is put in place."""
        self._require_folder()
        yield files.add(Path(path), force=force, room=self.folder)

    def write(
        self,
        place: Path,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked table to a place, as CSV or Parquet."""
        sink_in_parts(lambda: self.parts(dropped, order, scales), self.origin, place, Path(path).name)

    def warn_of_changes(self, path: str | os.PathLike[str], dropped: Sequence[str]) -> None:
        """Warn of what the format of an output could not hold."""
        warn_of_changed_types(
            self.origin, [name for name in self.source.schema if name not in dropped], Path(path).name
        )

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
            stays = None if table.codes.kept is None else table.codes.kept.read(number) > 0
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
                columns.append(pl.Series(f"{place}", self._table.codes.places[name].stored(number)))
                if name in self._table.codes.numbers:
                    columns.append(pl.Series(f"{place} number", self._table.codes.numbers[name].stored(number)))
        return pl.DataFrame(columns)

    def _empty(self) -> pl.DataFrame:
        import polars as pl

        schema: dict[str, pl.DataType] = {}
        for place, name in enumerate(self._names):
            schema[f"{place}"] = pl.Int32() if name in self._table.columns else self._table.source.schema[name]
            if name in self._table.codes.numbers:
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
            numbers = frame[f"{place} number"].to_numpy() if name in self._table.codes.numbers else None
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


@dataclass(slots=True, eq=False, repr=False)
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
