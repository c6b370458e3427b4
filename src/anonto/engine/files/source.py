"""A table larger than memory in files of this machine, as an engine: read twice in batches, with codes on disk between.

The first pass over the table turns every column that is looked at into codes on disk, and learns its distinct values.
Everything else but the cells of columns that are released as they are is made from these codes: counts of rows that
stay, distinct records, masked codes. The second pass reads the other columns and writes the masked table.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from anonto.engine.files.apply import apply_to_batches
from anonto.engine.files.bins import BinsOnDisk
from anonto.engine.files.count import learn_columns
from anonto.engine.files.sink import MaskedTable
from anonto.engine.files.spilling import Spilled
from anonto.engine.files.workspace import workspace
from anonto.engine.fitting import Fitting
from anonto.engine.room import Room
from anonto.errors import InternalError
from anonto.masking.fit import Counted, dropping
from anonto.table.stretches import open_stretches

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from anonto.engine.files.count import CodesOnDisk
    from anonto.masking.fitted import FittedSteps
    from anonto.masking.released import OutColumn, Tallies
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.plan import Plan
    from anonto.table.prepare import Opener
    from anonto.table.record_counts import CountedRecords
    from anonto.table.stretches import Stretches
    from anonto.table.table import Origin

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


@dataclass(slots=True, eq=False, repr=False)
class OutOfCore:
    """A table in files, with a folder for what waits."""

    source: Stretches
    room: Room
    folder: Path
    _files: list[Spilled] = field(default_factory=list)
    _codes: CodesOnDisk | None = None

    @classmethod
    @contextmanager
    def opened(cls, table: str | os.PathLike[str], plan: Plan, memory: int, output: Path) -> Iterator[OutOfCore]:
        """A table file, or several, with a folder beside the output that is gone at the end."""
        with workspace(output) as folder:
            engine = cls(open_stretches(table, **plan.reading), Room(memory), folder)
            plan.require_columns(engine.names)
            try:
                yield engine
            finally:
                for file in engine._files:  # No file is open when the folder is removed.
                    file.finish()

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.source.schema)

    @property
    def origin(self) -> Origin:
        """The file."""
        return self.source.origin

    @property
    def fitting(self) -> Fitting:
        """Fits methods within the memory of a step."""
        return Fitting(self.room)

    def count(self, plan: Plan, open_once: Opener) -> Counted:
        """Turn the columns that are looked at into raw codes on disk, and count them in the rows that stay."""
        columns, codes = learn_columns(self.source, plan, self.room, self._new_file)
        dropped = dropping(columns, {name: plan.description(name) for name in columns}, open_once)
        self._codes = replace(codes, dropping=dropped)
        columns, n_records = self._codes.recount(columns)
        return Counted(columns, dropped, self.source.n_rows, n_records)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns."""
        return self._on_disk.count_records(names, maps, self.room)

    def exchange(self, method: EquiWidthSwap, columns: Sequence[OutColumn], *, fits: bool) -> BinsOnDisk | None:
        """Exchange rows bin by bin on disk, where whole records do not fit into memory."""
        if fits:
            return None
        codes = self._on_disk
        names, attributes = tuple(one.name for one in columns), tuple(one.attribute for one in columns)

        def codes_of(number: int) -> tuple[list[Codes], Longs]:
            raw, rows = codes.read(slice(number, number + 1))
            return [one.own[raw[one.name]] for one in columns], rows

        return BinsOnDisk(method, names, attributes, codes_of, codes.firsts, self.room, self.folder, self._new_file)

    def apply(self, fitted: FittedSteps) -> tuple[MaskedTable, Tallies]:
        """Mask all rows into codes on disk, and tell what became of them; nothing of the output is written yet."""
        codes = self._on_disk
        masked, tallies = apply_to_batches(fitted, codes, self._new_file, self.room)
        for file in codes.raw.values():
            file.remove()
        columns = fitted.columns_holding(tallies)
        return MaskedTable(
            self.source, codes.sizes, masked, columns, self.room, codes.rows_at_once, self.folder
        ), tallies

    @property
    def _on_disk(self) -> CodesOnDisk:
        if self._codes is None:
            raise InternalError("Nothing was counted yet.")
        return self._codes

    def _new_file(self, name: str) -> Spilled:
        self._files.append(Spilled(self.folder / name))
        return self._files[-1]
