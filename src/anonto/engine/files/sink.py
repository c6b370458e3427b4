"""Writes a masked table from codes on disk: in its own order, or in the order of a keyed permutation.

Rows that fit into memory are shuffled there, others by way of `anonto.engine.files.sorted_runs`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.leftovers import has_fixed_categories, used_categories, with_categories
from anonto.encoding.series import plain_floats
from anonto.engine.files.sorted_runs import SortedRuns, concat
from anonto.errors import ReleaseError
from anonto.io.atomic_write import require_free
from anonto.io.batches import bytes_of_frame
from anonto.io.refusals import changed_file
from anonto.io.writing import sink_in_parts, warn_of_changed_types
from anonto.masking.private_record import PrivateRecord
from anonto.runtime.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Longs
    from anonto.engine.files.apply import MaskedCodes
    from anonto.io.atomic_write import PendingFiles
    from anonto.io.batches import TableBatches
    from anonto.io.table import Origin
    from anonto.masking.released import ReleasedColumn
    from anonto.random.streams import RowOrder
    from anonto.runtime.memory_limit import MemoryLimit

PIECES = 4
"""Rows that do not fit are written to files of this fraction of their memory."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedTable:
    """A table whose masked columns are on disk as places in their palettes."""

    source: TableBatches
    sizes: Sequence[int]
    """Rows of each batch of the source."""
    codes: MaskedCodes
    columns: Mapping[str, ReleasedColumn]
    within: tuple[str, ...]
    """Columns of strata, whose equal cells must not differ in their bits."""
    limit: MemoryLimit
    rows_at_once: int
    """Rows of a batch that is read or written."""
    folder: Path

    @property
    def origin(self) -> Origin:
        """The file that was masked."""
        return self.source.origin

    @property
    def kept(self) -> Longs | None:
        """The rows of the input that stay; None for all."""
        self._require_folder()
        flags = self.codes.kept
        if flags is None:
            return None
        return np.flatnonzero(np.concatenate([flags.read(number) for number in range(len(self.sizes))]))

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """Refused: rows that did not fit into memory are written, and read from there."""
        del dropped, scales
        raise rows_in_file(self.origin.name)

    @staticmethod
    def record_path(path: str | os.PathLike[str]) -> Path:
        """The path of the private record of an output."""
        return PrivateRecord.path_for(path)

    def require_apart(self, path: str | os.PathLike[str] | None, further: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files written with it, that would replace what was read."""
        require_free([*self.origin.files, *read], [*([] if path is None else [Path(path)]), *further])

    def _require_folder(self) -> None:
        """Refuse to read the masked codes once their folder is removed."""
        if not self.folder.exists():
            raise rows_in_file(self.origin.name)

    @contextmanager
    def place_for(self, path: str | os.PathLike[str], files: PendingFiles, *, force: bool) -> Iterator[Path]:
        """The place where the masked table is written before it is put in place."""
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
        """The masked table in batches, in its own order or in another; at least one batch.

        At the end the input files must be unchanged.

        Args:
            dropped: Columns to leave out.
            order: Where the rows go; None to keep them in their order.
            scales: The values of ordinal columns, lowest first.
        """
        names = [name for name in self.source.schema if name not in dropped]
        listed = [name for name in names if has_fixed_categories(self._type(name))]
        used = used_categories(read_in_order(self, listed) if listed else (), scales)
        for part in read_in_order(self, names) if order is None else shuffle_rows(self, names, order):
            yield with_categories(part, used)
        self.source.require_unchanged()

    def _type(self, name: str) -> pl.DataType:
        """The type of a column of the output."""
        return self.columns[name].palette.dtype if name in self.columns else self.source.schema[name]


def read_in_order(table: MaskedTable, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Batches of the masked table, at least one."""
    cells = _Cells(table, names)
    waiting: list[pl.DataFrame] = []
    for frame in cells.batches():
        waiting.append(frame)
        if len(waiting) == n_threads():
            yield from _map_in_threads(cells.decode, waiting)
            waiting = []
    yield from _map_in_threads(cells.decode, waiting)


def shuffle_rows(table: MaskedTable, names: Sequence[str], order: RowOrder) -> Iterator[pl.DataFrame]:
    """Batches of the masked table in another order, at least one."""
    cells = _Cells(table, names)
    return shuffle(cells.batches(), cells.decode, order, table.limit.for_sorting, table.folder, table.rows_at_once)


def shuffle(
    batches: Iterable[pl.DataFrame],
    decode: Callable[[pl.DataFrame], pl.DataFrame],
    order: RowOrder,
    most_bytes: float,
    folder: Path,
    n_rows: int,
) -> Iterator[pl.DataFrame]:
    """Batches of rows in another order, at least one.

    Args:
        batches: The rows in their order, at least one batch.
        decode: Makes released rows from rows of these batches.
        order: Where the rows go.
        most_bytes: Memory for the rows that wait or are sorted.
        folder: Where they wait if they exceed it.
        n_rows: Rows of a batch that is returned.
    """
    gathered: list[pl.DataFrame] = []
    n_gathered, n_bytes, first = 0, 0, 0
    runs: SortedRuns | None = None
    for frame in batches:
        gathered.append(frame)
        n_gathered += frame.height
        n_bytes += bytes_of_frame(frame)
        if runs is None and n_bytes > most_bytes:
            runs = SortedRuns.of(folder, "run", order.n_rows, most_bytes / PIECES, n_bytes / max(n_gathered, 1))
        while runs is not None and gathered:
            waiting = gathered.pop(0)
            runs.add(waiting, order.places(first, first + waiting.height))
            first += waiting.height
    if runs is None:
        whole = concat(gathered)
        gathered = []
        yield from _pick_rows(decode, whole, order, n_rows)
        return
    for bucket in runs.buckets():
        for part in slices(0, bucket.height, n_rows):
            yield decode(bucket[part])


def _pick_rows(
    decode: Callable[[pl.DataFrame], pl.DataFrame], whole: pl.DataFrame, order: RowOrder, n_rows: int
) -> Iterator[pl.DataFrame]:
    parts = slices(0, whole.height, n_rows) or [slice(0, 0)]

    def make(part: slice) -> pl.DataFrame:
        return decode(whole[order.part(part.start, part.stop)])

    for group in slices(0, len(parts), n_threads()):
        yield from _map_in_threads(make, parts[group])


def _map_in_threads(make: Callable[..., pl.DataFrame], things: Sequence[object]) -> Iterator[pl.DataFrame]:
    """The function's result for each item, computed in threads, in order."""
    made: dict[int, pl.DataFrame] = {}

    def fill(part: slice) -> None:
        made[part.start] = make(things[part.start])

    in_threads(fill, slices(0, len(things), 1))
    for place in range(len(things)):
        yield made.pop(place)


# ------------------------------------------------------------------------------------------------ cells


class _Cells:
    """The columns of the output, encoded and decoded; columns of encoded frames are called by their place."""

    def __init__(self, table: MaskedTable, names: Sequence[str]) -> None:
        self._table, self._names = table, names
        self._as_they_are = [name for name in names if name not in table.columns]

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows that stay: cells as they are, and places in palettes; at least one batch."""
        table = self._table
        others = _Rest(self._others(), table.source.origin.name)
        for number, size in enumerate(table.sizes):
            masked = self._read_masked(number)
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
        plain = [name for name in self._as_they_are if name in table.within]
        for frame in table.source.read(self._as_they_are, table.rows_at_once, table.limit.for_batch(n_threads())):
            yield frame.with_columns(plain_floats(frame[name]) for name in plain).rename(new)

    def _read_masked(self, number: int) -> pl.DataFrame:
        """The places in palettes of the rows of a batch that stay."""
        import polars as pl

        columns = []
        for place, name in enumerate(self._names):
            if name in self._table.columns:
                columns.append(pl.Series(f"{place}", self._table.codes.places[name].read_narrow(number)))
                if name in self._table.codes.numbers:
                    columns.append(pl.Series(f"{place} number", self._table.codes.numbers[name].read_narrow(number)))
        return pl.DataFrame(columns)

    def _empty(self) -> pl.DataFrame:
        import polars as pl

        schema: dict[str, pl.DataType] = {}
        for place, name in enumerate(self._names):
            schema[f"{place}"] = pl.Int32() if name in self._table.columns else self._table.source.schema[name]
            if name in self._table.codes.numbers:
                schema[f"{place} number"] = pl.Float64()
        return pl.DataFrame(schema=schema)

    def decode(self, frame: pl.DataFrame) -> pl.DataFrame:
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
    """Frames of rows, cut to the sizes that are asked for; more or fewer rows than expected are refused."""

    def __init__(self, frames: Iterator[pl.DataFrame], name: str) -> None:
        self._frames, self._name = frames, name
        self._left: pl.DataFrame | None = None

    def at_most(self, n_rows: int) -> pl.DataFrame:
        """The next rows, one at least."""
        frame = self._left
        while frame is None or not frame.height:
            frame = next(self._frames, None)
            if frame is None:
                raise changed_file(self._name)
        self._left = frame[n_rows:]
        return frame[:n_rows]

    def require_end(self) -> None:
        """Refuse further rows."""
        if (self._left is not None and self._left.height) or any(frame.height for frame in self._frames):
            raise changed_file(self._name)


def rows_in_file(name: str) -> ReleaseError:
    """The table of a release whose rows were never in memory."""
    return ReleaseError(
        f"The masked rows of {name!r} were written without being in memory together; read them from the output."
    )
