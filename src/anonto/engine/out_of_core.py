"""Tables larger than memory on one machine: read twice in stretches, with codes on disk in between.

The first pass over the table turns every column that is looked at into codes on disk, and learns its distinct values.
Everything else but the cells of columns that are released as they are is made from these codes: counts of rows that
stay, distinct records, masked codes. The second pass reads the other columns and writes the masked table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.bins_on_disk import BinsOnDisk
from anonto.engine.fitting import Fitting
from anonto.engine.ordering import MaskedTable
from anonto.engine.released import NumberColumn, StepTally
from anonto.engine.spilling import Spilled
from anonto.engine.two_pass import Surroundings, dropping, fit_step
from anonto.methods.memory import BYTES_PER_MOVE, BYTES_PER_RECORD
from anonto.table.counted import Learner, recounted
from anonto.table.record_counts import CountedRecords, RecordCounter
from anonto.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.memory import Room
    from anonto.engine.released import OutColumn
    from anonto.engine.two_pass import Dropping, FittedStep, StepLike
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.rng import Seed
    from anonto.table.counted import LearntColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener
    from anonto.table.stretches import Stretches

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

BYTES_OF_CODES = 64
"""What a row of one column takes while it is looked up, masked and written."""


@dataclass(slots=True, eq=False)
class OutOfCore:
    """A run in the making."""

    source: Stretches
    steps: Sequence[StepLike]
    descriptions: Mapping[str, ColumnDescription]
    looked_at: Sequence[str]
    seed: Seed
    open_once: Opener
    room: Room
    folder: Path
    _raw: dict[str, Spilled] = field(default_factory=dict)
    _files: list[Spilled] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    _dropping: Dropping | None = None
    _firsts: list[int] = field(default_factory=list)
    """The number of the first row of each stretch."""
    _n_rows: int = 0
    """Of a stretch."""

    def __post_init__(self) -> None:
        in_work = BYTES_OF_CODES * max(len(self.looked_at), 1)
        self._n_rows = self.room.rows_at_once(max(in_work, 2 * self.source.bytes_per_row()), n_threads())

    def masked(self) -> MaskedTable:
        """Learn, fit and mask; nothing of the output is written yet."""
        try:
            return self._masked()
        finally:
            for file in self._files:
                file.finish()

    def _masked(self) -> MaskedTable:
        learnt = self._learnt()
        self._dropping = dropping(learnt, self.descriptions, self.open_once)
        learnt, n_records = self._of_rows_that_stay(learnt)
        fitting = Fitting(self.room)
        given = Surroundings(
            learnt,
            self.descriptions,
            self.seed,
            self.open_once,
            count_records=self._count_records,
            fit_records=fitting.records,
            scatter=self._bins_on_disk,
            fit_columns=fitting.columns,
            require=fitting.require,
        )
        steps = [fit_step(number, step, given) for number, step in enumerate(self.steps)]
        return self._applied(steps, n_records)

    # ------------------------------------------------------------------------------------------ the first pass

    def _learnt(self) -> dict[str, LearntColumn]:
        """Turn the columns into raw codes on disk."""
        schema, names = self.source.schema, list(self.looked_at)
        learners = {name: Learner(name, schema[name], self.source.n_rows) for name in names}
        self._raw = {name: self._new_file(f"raw-{place}") for place, name in enumerate(names)}
        n_rows = self._n_rows
        for frame in self.source.read(names, n_rows, self.room.of_stretch(n_threads())) if names else ():
            for stretch in frame.iter_slices(n_rows):
                self._learn(stretch, learners)
            self._require_few_values(learners)
        for file in self._raw.values():
            file.finish()
        if not names:
            self._sizes = [part.stop - part.start for part in slices(0, self.source.n_rows, n_rows)]
        self._firsts = [0, *accumulate(self._sizes)]
        return {name: learner.learnt() for name, learner in learners.items()}

    def _learn(self, stretch: pl.DataFrame, learners: Mapping[str, Learner]) -> None:
        names = list(learners)

        def learn(part: slice) -> None:
            for name in names[part]:
                self._raw[name].append(learners[name].learn(stretch[name]))

        in_threads(learn, slices(0, len(names), 1))
        self._sizes.append(stretch.height)

    def _require_few_values(self, learners: Mapping[str, Learner]) -> None:
        """Refuse columns whose distinct values alone fill the memory."""
        needed = {name: learner.n_bytes for name, learner in learners.items()}
        if sum(needed.values()) > self.room.of_step:
            name = max(needed, key=needed.__getitem__)
            method = next((step.method.name for step in self.steps if name in step.columns), "masking")
            raise self.room.too_small(method, [name], needed[name], "the distinct values so far")

    def _of_rows_that_stay(self, learnt: dict[str, LearntColumn]) -> tuple[dict[str, LearntColumn], int]:
        if self._dropping is None:
            return learnt, self.source.n_rows
        counts = {name: np.zeros(column.counts.size, dtype=np.int64) for name, column in learnt.items()}
        n_records = 0
        for number in range(len(self._sizes)):
            raw, rows = self._stretch(number)
            n_records += rows.size
            for name, codes in raw.items():
                counts[name] += np.bincount(codes + 1, minlength=counts[name].size + 1)[1:]
        return recounted(learnt, counts, n_records), n_records

    def _stretch(self, number: int) -> tuple[dict[str, Codes], Longs]:
        """The raw codes of the rows of a stretch that stay, and the numbers of these rows."""
        first = self._firsts[number]
        raw: dict[str, Codes] = {name: file.read(number) for name, file in self._raw.items()}
        rows = np.arange(first, first + self._sizes[number], dtype=np.int64)
        if self._dropping is None:
            return raw, rows
        stays = self._dropping.stays(raw)
        return {name: codes[stays] for name, codes in raw.items()}, rows[stays]

    # ------------------------------------------------------------------------------------------ fitting

    def _count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        counter = RecordCounter(len(names))
        for group in self._groups_of_stretches():
            counted: dict[int, CountedRecords] = {}

            def count(part: slice, counted: dict[int, CountedRecords] = counted) -> None:
                raw, _ = self._stretch(part.start)
                counted[part.start] = CountedRecords.of([own[raw[n]] for n, own in zip(names, maps, strict=True)])

            in_threads(count, [slice(number, number + 1) for number in group])
            for number in group:
                counter.add(counted[number])
            needed = BYTES_PER_RECORD * counter.n_known
            if needed > self.room.of_step:
                raise self.room.too_small("Masking", names, needed, "their distinct records")
        return counter.counted()

    def _bins_on_disk(self, method: EquiWidthSwap, columns: Sequence[OutColumn]) -> BinsOnDisk:
        names, attributes = tuple(one.name for one in columns), tuple(one.attribute for one in columns)

        def codes_of(number: int) -> tuple[list[Codes], Longs]:
            raw, rows = self._stretch(number)
            return [one.own[raw[one.name]] for one in columns], rows

        return BinsOnDisk(method, names, attributes, codes_of, self._firsts, self.room, self.folder, self._new_file)

    # ------------------------------------------------------------------------------------------ masking

    def _applied(self, steps: list[FittedStep], n_records: int) -> MaskedTable:
        columns = {column.name: column for step in steps for column in step.columns}
        places = {name: self._new_file(f"places-{place}") for place, name in enumerate(columns)}
        numbers = {
            name: self._new_file(f"numbers-{place}")
            for place, (name, column) in enumerate(columns.items())
            if isinstance(column, NumberColumn)
        }
        kept = None if self._dropping is None else self._new_file("kept")
        tallies = [StepTally() for _ in steps]
        alike = [RecordCounter(len(step.columns)) if step.counts_equal else None for step in steps]
        before = [step.nothing_before() for step in steps]
        for group in self._groups_of_stretches() if steps or kept is not None else ():
            for number, (out, of_steps, rows) in self._masked_group(group, steps, before):
                for name, (own, further) in out.items():
                    places[name].append(own)
                    if further is not None:
                        numbers[name].append(further)
                for tally, one, counter in zip(tallies, of_steps, alike, strict=True):
                    tally.add(one)
                    if counter is not None and one.equal is not None:
                        counter.add(one.equal)
                if kept is not None:
                    kept.append(self._stays(number, rows))
            self._require_few_moves(tallies)
        for file in (*places.values(), *numbers.values(), *([] if kept is None else [kept])):
            file.finish()
        for raw in self._raw.values():
            raw.remove()
        for tally in tallies:
            for name, of_column in tally.columns.items():
                column = columns[name]
                if isinstance(column, NumberColumn):
                    columns[name] = column.holding(of_column.further)
        return MaskedTable(
            source=self.source,
            sizes=self._sizes,
            n_records=n_records,
            kept=kept,
            steps=steps,
            tallies=tallies,
            real_k=[None if one is None else int(one.counted().counts.min(initial=n_records)) for one in alike],
            columns=columns,
            places=places,
            numbers=numbers,
            room=self.room,
            rows_at_once=self._n_rows,
            folder=self.folder,
        )

    def _require_few_moves(self, tallies: Sequence[StepTally]) -> None:
        """Refuse columns in which what became what alone fills the memory."""
        for tally in tallies:
            n_moves = {name: one.moves.amounts.size for name, one in tally.columns.items() if one.moves is not None}
            needed = BYTES_PER_MOVE * sum(n_moves.values())
            if needed > self.room.of_step:
                raise self.room.too_small("Masking", list(n_moves), needed, "what becomes of their values")

    def _masked_group(
        self, group: range, steps: Sequence[FittedStep], before: list[list[Longs]]
    ) -> Iterator[tuple[int, tuple[dict[str, Any], list[StepTally], Longs]]]:
        """Mask some stretches at once; ``before`` is counted on."""
        seen: dict[int, Any] = {}
        starts: dict[int, list[list[Longs]]] = {}
        done: dict[int, tuple[dict[str, Any], list[StepTally], Longs]] = {}

        def look(part: slice) -> None:
            raw, rows = self._stretch(part.start)
            groups = [step.groups(raw) for step in steps]
            counts = [step.count_groups(own) for step, own in zip(steps, groups, strict=True)]
            seen[part.start] = raw, rows, groups, counts

        def mask(part: slice) -> None:
            raw, rows, groups, _ = seen.pop(part.start)
            out: dict[str, Any] = {}
            tallies = []
            for step, own, first in zip(steps, groups, starts[part.start], strict=True):
                columns, tally = step.apply(raw, own, first, rows)
                out.update(columns)
                tallies.append(tally)
            done[part.start] = out, tallies, rows

        parts = [slice(number, number + 1) for number in group]
        in_threads(look, parts)
        for number in group:
            counts = seen[number][3]
            starts[number] = [list(own) for own in before]
            for place, of_step in enumerate(counts):
                before[place] = [old + new for old, new in zip(before[place], of_step, strict=True)]
        in_threads(mask, parts)
        for number in group:
            yield number, done.pop(number)

    def _stays(self, number: int, rows: Longs) -> NDArray[np.int8]:
        stays = np.zeros(self._sizes[number], dtype=np.int8)
        stays[rows - self._firsts[number]] = 1
        return stays

    def _groups_of_stretches(self) -> Iterator[range]:
        """As many stretches as there are threads, one after the other."""
        for part in slices(0, len(self._sizes), n_threads()):
            yield range(part.start, part.stop)

    def _new_file(self, name: str) -> Spilled:
        self._files.append(Spilled(self.folder / name))
        return self._files[-1]
