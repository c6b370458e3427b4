"""Masking on a cluster: what a task needs to mask its rows, and nothing more.

A task is given keys of its own and never the seed. It counts what it masks and compares that with the first count: a
table that is not the same any more is refused before anything of it can be put in place.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.count import Reader, as_polars
from anonto.engine.spark.rows import pieces
from anonto.errors import TableChangedError
from anonto.masking.fitted import FittedSteps
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.spark.count import Counted, CountsByGroup, StayingRows
    from anonto.engine.spark.rows import Piece, RowGroups
    from anonto.masking.fitted import RawCodes
    from anonto.masking.released import OutColumn, StepTally
    from anonto.rng import RowOrder
    from anonto.table.counted import LearntColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    SeenPiece = tuple[Any, dict[str, Codes], Longs]
    """Rows that stay: their cells, for each column their raw codes, and their numbers in the table."""

PLACE = "anonto: place"
"""A column beside those of the table: where a row stands when rows are shuffled."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedPiece:
    """Rows with what became of them."""

    cells: Any
    """Of the rows that stay: a pyarrow table."""
    first: int
    """The number of the first of them among the rows that stay."""
    places: Mapping[str, tuple[Codes, Floats | None]]
    """For each masked column the places of its cells in its palette, and new numbers if it may have any."""
    tallies: list[StepTally]
    raw: Mapping[str, Codes]
    """For each column that a step looks at the raw codes."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMasking:
    """Masks the rows of a task."""

    row_groups: RowGroups
    staying: StayingRows | None
    rows_before: Longs
    kept_before: Longs
    kept_in: Longs
    fitted: FittedSteps
    """The same as on one machine, without what only evidence needs."""
    counts: tuple[tuple[CountsByGroup, ...], ...] = ()
    """For each step, and each of its parts with flows, how many rows of each row group have each value, or record."""

    @classmethod
    def of_no_step(
        cls, row_groups: RowGroups, staying: StayingRows | None, found: Counted, names: Iterable[str]
    ) -> RowMasking:
        """What tells the rows that stay, their numbers, and their codes in some columns."""
        columns = {name: found.columns[name].bare() for name in names}
        dropping = None if staying is None else staying.dropping
        nothing = FittedSteps((), columns, dropping, found.n_rows, found.n_kept)
        return cls(row_groups, staying, found.rows_before, found.kept_before, found.kept_in, nothing)

    @property
    def columns(self) -> Mapping[str, LearntColumn]:
        """Those that a step looks at."""
        return self.fitted.counted

    def of_steps(self, numbers: Sequence[int]) -> RowMasking:
        """The same with only some steps."""
        steps = tuple(self.fitted.steps[number] for number in numbers)
        counts = tuple(self.counts[number] for number in numbers)
        return replace(self, fitted=replace(self.fitted, steps=steps), counts=counts)

    @property
    def looked_at(self) -> list[str]:
        """Columns that tasks must see."""
        return [*dict.fromkeys([*self.columns, *(() if self.staying is None else self.staying.columns)])]

    def groups(self, batches: Iterable[Any]) -> Iterator[tuple[int, Iterator[MaskedPiece]]]:
        """The row groups of a task with their masked pieces."""
        stay_alone()
        reader = Reader(self.columns)
        staying = None if self.staying is None else self.staying.ready()
        for group, parts in groupby(pieces(batches, self.row_groups), key=lambda piece: piece.group):
            yield group, self._masked(group, parts, reader, staying)

    def _masked(self, group: int, parts: Iterable[Piece], reader: Reader, staying: Any) -> Iterator[MaskedPiece]:
        kept = int(self.kept_before[group])
        seen = self._seen(group, parts, reader, staying)
        masked = self.fitted.apply_all(seen, _raw_and_rows, *self._around(group))
        for (cells, raw, rows), places, tallies, _ in masked:
            yield MaskedPiece(cells, kept, places, tallies, raw)
            kept += rows.size
        if kept != self.kept_before[group] + self.kept_in[group]:
            raise TableChangedError

    def _seen(self, group: int, parts: Iterable[Piece], reader: Reader, staying: Any) -> Iterator[SeenPiece]:
        first = int(self.rows_before[group])
        for piece in parts:
            stays = None if staying is None else staying(piece.cells)
            cells = piece.cells if stays is None else piece.cells.filter(stays)
            rows = first + (np.arange(piece.rows.size) if stays is None else np.flatnonzero(stays))
            yield cells, {name: reader.raw_codes(name, as_polars(cells, name)) for name in self.columns}, rows
            first += piece.rows.size

    def _around(self, group: int) -> tuple[list[list[Longs]], list[list[Longs]]]:
        """How many rows of each value, or record, stand before a row group; and with its own, before the next."""
        before, behind = [], []
        for own, step in zip(self.counts, self.fitted.steps, strict=True):
            sizes = [part.flows.sizes.size for part in step.flow_parts]
            before.append([one.before(group, n) for one, n in zip(own, sizes, strict=True)])
            within = [one.within(group, n) for one, n in zip(own, sizes, strict=True)]
            behind.append([old + new for old, new in zip(before[-1], within, strict=True)])
        return before, behind


def _raw_and_rows(piece: SeenPiece) -> tuple[RawCodes, Longs]:
    return piece[1:]


def of_columns(masking: RowMasking, names: Sequence[str]) -> RowMasking:
    """What tells the rows that stay and their numbers, with only some columns."""
    counted = {name: masking.columns[name] for name in names}
    return replace(masking, fitted=replace(masking.fitted, steps=(), counted=counted), counts=())


@dataclass(frozen=True, slots=True, eq=False)
class MaskingTask:
    """Gives the masked rows of a task."""

    masking: RowMasking
    released: tuple[str, ...]
    """The columns of the output."""
    columns: Mapping[str, OutColumn]
    """Those that are masked; where that happens elsewhere, those whose missing cells get another code here."""
    kinds: Mapping[str, Any]
    """The pyarrow types of masked columns that cannot keep theirs."""
    order: RowOrder | None = None
    """How rows are shuffled: their places come with them; None to leave them where they are."""
    numbered: bool = False
    """Whether their numbers come with rows that are not shuffled."""

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
    """Masks the rows of a task and hands over only what became of them, where the fit alone does not tell it."""

    masking: RowMasking

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each row group."""
        import pyarrow as pa

        for group, parts in self.masking.groups(batches):
            found: list[list[StepTally]] = [[] for _ in self.masking.fitted.steps]
            for piece in parts:
                for own, tally in zip(found, piece.tallies, strict=True):
                    own.append(tally)
            content = pickle.dumps((group, found), protocol=5)
            yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["content"])


def tallied(contents: Iterable[bytes]) -> Iterator[list[list[StepTally]]]:
    """What the tasks handed over, in the order of the rows: for each step the tallies."""
    parts = (pickle.loads(content) for content in contents)  # noqa: S301 - our own tasks wrote it
    for _, found in sorted(parts, key=lambda part: part[0]):
        yield found
