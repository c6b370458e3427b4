"""A masked table in memory: as a table of the caller's library, or written to a file of any format."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import NO_ROW, FrameAdapter, codes_in_order
from anonto.encoding.leftovers import has_fixed_categories, used_categories, with_categories
from anonto.encoding.missing_cells import put_code
from anonto.io.atomic_write import require_free
from anonto.io.stat_files import released_origin
from anonto.io.table import Table, without_letters
from anonto.io.writing import output_format, warn_of_changed_types, write_to
from anonto.masking.private_record import PrivateRecord
from anonto.masking.released import NumberColumn
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Codes, Floats, Integers, Longs
    from anonto.encoding.new_cells import NewCells
    from anonto.io.atomic_write import PendingFiles
    from anonto.io.table import Origin
    from anonto.masking.released import ReleasedColumn
    from anonto.random.streams import RowOrder


WRITTEN_AT_ONCE = 1 << 18
"""Rows of a batch when a table is written in batches."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedInMemory:
    """A masked table in memory: for each masked column places in its palette."""

    adapter: FrameAdapter
    kept: Longs | None
    """The rows of the input that stay; None for all."""
    n_records: int
    columns: Mapping[str, ReleasedColumn]
    places: Mapping[str, Codes]
    numbers: Mapping[str, Floats]
    first_rows: Mapping[str, Longs]
    """The first row that has each raw code of a masked column, and last a null."""

    @property
    def names(self) -> list[str]:
        """All columns of the input."""
        return self.adapter.names

    @property
    def origin(self) -> Origin | None:
        """The masked file, if the input was one."""
        return self.adapter.origin

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked table, of the kind that was given (polars for a file), rows in their order."""
        return self.adapter.strip_leftovers(self._in_order(None, dropped), scales)

    # ------------------------------------------------------------------------------------------ files

    @staticmethod
    def record_path(path: str | os.PathLike[str]) -> Path:
        """The path of the private record of an output."""
        return PrivateRecord.path_for(path)

    def require_apart(self, path: str | os.PathLike[str] | None, further: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files written with it, that would replace what was read."""
        if path is not None:
            output_format(path)
        read = [*(self.origin.files if self.origin else ()), *read]
        require_free(read, [*([] if path is None else [Path(path)]), *further])

    @contextmanager
    def place_for(self, path: str | os.PathLike[str], files: PendingFiles, *, force: bool) -> Iterator[Path]:
        """The place where the masked table is written before it is put in place."""
        yield files.add(Path(path), force=force)

    def write(
        self,
        place: Path,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked table to a place, in the format of a path."""
        n_records, name = self.n_records, Path(path).name
        if self.adapter.library == "polars" and output_format(name) == "parquet":
            from anonto.io.parquet_files import sink_parquet

            sink_parquet(lambda: self._parts(dropped, order, scales), place, name)
        else:
            table = self._in_order(None if order is None else order.part(0, n_records), dropped)
            if self.adapter.library != "polars":  # From a polars table, the other formats get only the cells.
                table = self.adapter.strip_leftovers(table, scales)
            frame = _as_polars(table)
            write_to(place, Table(frame, released_origin(self.origin, frame)), name)

    def warn_of_changes(self, path: str | os.PathLike[str], dropped: Sequence[str]) -> None:
        """Warn of what the format of an output could not hold."""
        warn_of_changed_types(self.origin, [name for name in self.names if name not in dropped], Path(path).name)

    def _parts(
        self, dropped: Sequence[str], order: RowOrder | None, scales: Mapping[str, Sequence[str]]
    ) -> Iterator[pl.DataFrame]:
        """The masked table a batch of rows at a time; at least one, so that an empty table has its columns."""
        schema = self._in_order(np.arange(0), dropped).schema
        listed = [name for name, dtype in schema.items() if has_fixed_categories(dtype)]
        others = [name for name in self.names if name not in listed]
        used = used_categories([self._in_order(None, others)] if listed else [], scales)
        for part in slices(0, self.n_records, WRITTEN_AT_ONCE) or [slice(0, 0)]:
            rows = np.arange(part.start, part.stop) if order is None else order.part(part.start, part.stop)
            yield with_categories(without_letters(self._in_order(rows, dropped), self.origin), used)

    # ------------------------------------------------------------------------------------------ cells

    def _in_order(self, order: Integers | None, dropped: Collection[str]) -> Any:
        """The masked table without some columns, in another order of its records or in their own."""
        masked = {name: column for name, column in self.columns.items() if name not in dropped}
        taken = self.kept if order is None else order if self.kept is None else self.kept[order]
        names = [name for name in self.names if name not in dropped]
        if self.adapter.library == "polars":
            cells = {name: column.cells(*self._places_in(name, order)) for name, column in masked.items()}
            return self.adapter.with_cells(names, cells, taken)
        sources = {}
        further = {}
        for name, column in masked.items():
            places, numbers = self._places_in(name, order)
            sources[name], new = self._sources(column, places, numbers)
            if new is not None:
                further[name] = new
        return self._with_one_code().with_rows(names, sources, further, taken)

    def _places_in(self, name: str, order: Integers | None) -> tuple[Codes, Floats | None]:
        places, numbers = self.places[name], self.numbers.get(name)
        if order is None:
            return places, numbers
        return codes_in_order(places, order), None if numbers is None else numbers[order]

    def _sources(self, column: ReleasedColumn, places: Codes, numbers: Floats | None) -> tuple[Longs, NewCells | None]:
        """The row of the input that has each record's cell, or `NO_ROW`; new cells follow all rows."""
        first, further = self.first_rows[column.name], column.further
        start, n_places = first.size - 1, len(column.palette)
        if isinstance(column, NumberColumn):
            start = n_places
            places, further = column.with_new_numbers(places, numbers)
            n_places += 0 if further is None else len(further)
        null = first[-1] if column.emptied is None else NO_ROW  # perhaps no row of the input has a null
        rows = np.append(np.zeros(n_places, dtype=np.int64), null)
        rows[: first.size - 1] = first[:-1]
        if further is not None:
            rows[start : start + len(further)] = len(self.adapter) + np.arange(len(further))
        if column.merged is not None:
            rows[column.merged] = self._first_missing(column)
        return rows[places], further

    def _first_missing(self, column: ReleasedColumn) -> int:
        """A row that has a missing cell, where all of them get one code."""
        at = int(np.argmax(self.places[column.name] == column.merged))
        return at if self.kept is None else int(self.kept[at])

    def _with_one_code(self) -> FrameAdapter:
        """The table with one code for all missing cells of the columns whose plan merges them."""
        adapter = self.adapter
        for name, column in self.columns.items():
            if column.merged_codes is not None:
                flags = np.zeros(len(adapter), dtype=np.bool_)
                flags[slice(None) if self.kept is None else self.kept] = self.places[name] == column.merged
                adapter = adapter.with_column(
                    name, put_code(adapter.native(name), adapter.library, flags, column.merged_codes.cell)
                )
        return adapter


def _as_polars(table: Any) -> pl.DataFrame:
    import polars as pl

    adapter = FrameAdapter(table)
    return pl.DataFrame([adapter.series(name).alias(name) for name in adapter.names])
