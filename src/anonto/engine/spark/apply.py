"""Masks the rows of a task on a cluster.

A task gets its own keys and never the seed. It counts what it masks and compares that with the first count, so that a
table that changed in between is refused before any output is in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.arrow_columns import plain_floats_arrow
from anonto.engine.spark.count import CellEncoder, as_polars
from anonto.engine.spark.rows import pack, pieces
from anonto.masking.fitted import FittedPlan, TableCounts, changed_table
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.engine.spark.count import ClusterCounts, CountsByGroup, RowFilter
    from anonto.engine.spark.rows import Piece, RowGroups
    from anonto.masking.fitted import RawCodes
    from anonto.masking.released import ReleasedColumn, StepTally
    from anonto.random.streams import RowOrder

    EncodedPiece = tuple[Any, dict[str, Codes], Longs]
    """Rows that stay: their cells, for each column their raw codes, and their numbers in the table."""

PLACE = "anonto: place"
"""An extra column: the place of a row after shuffling."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedPiece:
    """Masked rows of a row group."""

    cells: Any
    """The rows that stay, as a pyarrow table."""
    first: int
    """The number of the first of them among the rows that stay."""
    places: Mapping[str, tuple[Codes, Floats | None]]
    """The places of the cells of each masked column in its palette, and new numbers if it may have any."""
    tallies: list[StepTally]
    raw: Mapping[str, Codes]
    """The raw codes of each column that a step looks at."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMasking:
    """Masks the rows of a task."""

    row_groups: RowGroups
    staying: RowFilter | None
    rows_before: Longs
    kept_before: Longs
    kept_in: Longs
    fitted: FittedPlan
    """The same steps as on one machine, without data that only evidence needs."""
    counts: tuple[tuple[CountsByGroup, ...], ...] = ()
    """Rows of each row group with each value, or record: for each step, and each of its parts with transitions."""

    @classmethod
    def without_steps(
        cls, row_groups: RowGroups, staying: RowFilter | None, found: ClusterCounts, names: Iterable[str]
    ) -> RowMasking:
        """Masking that yields the rows that stay, their numbers, and their codes in some columns."""
        columns = {name: found.columns[name].bare() for name in names}
        nothing = FittedPlan((), TableCounts(columns, found.n_rows, found.n_kept))
        return cls(row_groups, staying, found.rows_before, found.kept_before, found.kept_in, nothing)

    @property
    def columns(self) -> Mapping[str, ValueDictionary]:
        """The columns that a step looks at."""
        return self.fitted.counts.columns

    def of_steps(self, numbers: Sequence[int]) -> RowMasking:
        """The same with only some steps."""
        steps = tuple(self.fitted.steps[number] for number in numbers)
        counts = tuple(self.counts[number] for number in numbers)
        return replace(self, fitted=replace(self.fitted, steps=steps), counts=counts)

    @property
    def needed_columns(self) -> list[str]:
        """Columns that tasks must see."""
        return [*dict.fromkeys([*self.columns, *(() if self.staying is None else self.staying.columns)])]

    def groups(self, batches: Iterable[Any]) -> Iterator[tuple[int, Iterator[MaskedPiece]]]:
        """The row groups of a task with their masked pieces."""
        stay_alone()
        reader = CellEncoder(self.columns)
        staying = None if self.staying is None else self.staying.row_filter()
        for group, parts in groupby(pieces(batches, self.row_groups), key=lambda piece: piece.group):
            yield group, self._mask_group(group, parts, reader, staying)

    def _mask_group(
        self, group: int, parts: Iterable[Piece], reader: CellEncoder, staying: Any
    ) -> Iterator[MaskedPiece]:
        kept = int(self.kept_before[group])
        seen = self._read_pieces(group, parts, reader, staying)
        masked = self.fitted.apply_to_batches(seen, _raw_and_rows, *self._counts_around(group))
        for (cells, raw, rows), places, tallies, _ in masked:
            yield MaskedPiece(cells, kept, places, tallies, raw)
            kept += rows.size
        if kept != self.kept_before[group] + self.kept_in[group]:
            raise changed_table()

    def _read_pieces(
        self, group: int, parts: Iterable[Piece], reader: CellEncoder, staying: Any
    ) -> Iterator[EncodedPiece]:
        first = int(self.rows_before[group])
        for piece in parts:
            stays = None if staying is None else staying(piece.cells)
            cells = piece.cells if stays is None else piece.cells.filter(stays)
            rows = first + (np.arange(piece.rows.size) if stays is None else np.flatnonzero(stays))
            yield cells, {name: reader.raw_codes(name, as_polars(cells, name)) for name in self.columns}, rows
            first += piece.rows.size

    def _counts_around(self, group: int) -> tuple[list[list[Longs]], list[list[Longs]]]:
        """How many rows of each value, or record, come before a row group, and before the next one."""
        before, behind = [], []
        for own, step in zip(self.counts, self.fitted.steps, strict=True):
            sizes = [part.transitions.sizes.size for part in step.transition_parts]
            before.append([one.before(group, n) for one, n in zip(own, sizes, strict=True)])
            within = [one.within(group, n) for one, n in zip(own, sizes, strict=True)]
            behind.append([old + new for old, new in zip(before[-1], within, strict=True)])
        return before, behind


def _raw_and_rows(piece: EncodedPiece) -> tuple[RawCodes, Longs]:
    return piece[1:]


def only_columns(masking: RowMasking, names: Sequence[str]) -> RowMasking:
    """Masking that yields the rows that stay and their numbers, with only some columns."""
    counts = replace(masking.fitted.counts, columns={name: masking.columns[name] for name in names})
    return replace(masking, fitted=FittedPlan((), counts), counts=())


@dataclass(frozen=True, slots=True, eq=False)
class MaskingTask:
    """Returns the masked rows of a task."""

    masking: RowMasking
    released: tuple[str, ...]
    """The columns of the output."""
    columns: Mapping[str, ReleasedColumn]
    """The masked columns; for columns that are exchanged in cells, only those whose missing cells get another code."""
    kinds: Mapping[str, Any]
    """The pyarrow types of masked columns that cannot keep theirs."""
    order: RowOrder | None = None
    """How rows are shuffled, which adds their places as a column; None to leave them where they are."""
    numbered: bool = False
    """True to add the numbers of rows that are not shuffled."""
    within: tuple[str, ...] = ()
    """Columns of strata, whose equal cells must not differ in their bits."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to the masked ones."""
        palettes: dict[str, Any] = {}
        for _, parts in self.masking.groups(batches):
            for piece in parts:
                for name in () if palettes else self.columns:
                    kind = self.kinds.get(name) or piece.cells.schema.field(name).type
                    palettes[name] = in_type(self.columns[name].palette, kind)
                stay = {
                    name: one.stays(piece.raw[name]) for name, one in self.columns.items() if name not in piece.places
                }
                places = {**{name: (own, None) for name, own in stay.items()}, **piece.places}
                new = {name: self._cells(name, palettes[name], *found) for name, found in places.items()}
                yield from self._table(piece, new).to_batches()

    def _cells(self, name: str, palette: Any, places: Codes, numbers: Floats | None) -> Any:
        import pyarrow as pa

        if numbers is not None:
            return in_type(self.columns[name].cells(places, numbers), palette.type)
        missing = places < 0
        return palette.take(pa.array(places, mask=missing) if missing.any() else pa.array(places))

    def _table(self, piece: MaskedPiece, new: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        columns = {name: new[name] if name in new else piece.cells.column(name) for name in self.released}
        columns |= {name: plain_floats_arrow(columns[name]) for name in self.within if name in columns}
        last = piece.first + piece.cells.num_rows
        if self.order is not None:
            columns[PLACE] = pa.array(self.order.places(piece.first, last))
        elif self.numbered:
            columns[PLACE] = pa.array(np.arange(piece.first, last))
        return pa.table(columns).combine_chunks()


def in_type(cells: pl.Series, kind: Any) -> Any:
    """A polars column as a pyarrow array of a type."""
    array = cells.to_arrow()
    return array if array.type == kind else array.cast(kind)


# ------------------------------------------------------------------------------------------------ evidence


@dataclass(frozen=True, slots=True, eq=False)
class TallyTask:
    """Masks the rows of a task and returns only tallies, for steps whose fit alone does not determine them."""

    masking: RowMasking

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each row group."""
        for group, parts in self.masking.groups(batches):
            found: list[list[StepTally]] = [[] for _ in self.masking.fitted.steps]
            for piece in parts:
                for own, tally in zip(found, piece.tallies, strict=True):
                    own.append(tally)
            yield pack((group, found))
