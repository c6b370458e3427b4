"""The engine for tables in files that are larger than memory: read twice in batches, with codes on disk in between.

The first pass turns every column that the plan looks at into codes on disk, and collects its distinct values. Counts,
distinct records and masked codes are made from these codes. The second pass reads the other columns and writes the
masked table.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from anonto.engine.files.apply import apply_on_disk
from anonto.engine.files.bins import BinsOnDisk
from anonto.engine.files.count import encode_columns
from anonto.engine.files.recode import recode_batches
from anonto.engine.files.sink import MaskedTable
from anonto.engine.files.spill import SpillFile
from anonto.engine.files.workspace import workspace
from anonto.errors import InternalError
from anonto.io.batches import open_batches
from anonto.masking.fit import rows_to_drop
from anonto.masking.fitted import TableCounts
from anonto.runtime.memory_limit import MemoryLimit

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from anonto.arrays import Codes
    from anonto.encoding.prepare import Opener
    from anonto.encoding.record_counts import CountedRecords
    from anonto.encoding.value_space import ValueSpace
    from anonto.engine.files.count import CodesOnDisk
    from anonto.io.batches import TableBatches
    from anonto.io.table import Origin
    from anonto.masking.fitted import FittedPlan
    from anonto.masking.plan import Plan
    from anonto.masking.recoding import Recoding
    from anonto.masking.released import ReleasedColumn, Tallies
    from anonto.methods.grid_swap import CellMethod
    from anonto.random.streams import Seed


@dataclass(slots=True, eq=False, repr=False)
class OverFiles:
    """A table in files, with a folder for temporary files."""

    source: TableBatches
    limit: MemoryLimit
    folder: Path
    recoding: Recoding | None = None
    """The recoding, if the plan recodes a column."""
    _files: list[SpillFile] = field(default_factory=list)
    _codes: CodesOnDisk | None = None

    @classmethod
    @contextmanager
    def open(
        cls, table: str | os.PathLike[str], plan: Plan, memory: int, output: Path, seed: Seed
    ) -> Iterator[OverFiles]:
        """Open a table file, or several, with a temporary folder beside the output."""
        with workspace(output) as folder:
            source, limit = open_batches(table, **plan.reading), MemoryLimit(memory)
            plan.require_columns(list(source.schema))
            recoded = recode_batches(source, plan, limit, seed) if plan.recoded else None
            with cls.within(folder, recoded or source, limit) as engine:
                engine.recoding = None if recoded is None else recoded.recoding
                yield engine

    @classmethod
    @contextmanager
    def within(cls, folder: Path, source: TableBatches, limit: MemoryLimit) -> Iterator[OverFiles]:
        """A table that is open, with a folder for temporary files."""
        engine = cls(source, limit, folder)
        try:
            yield engine
        finally:
            for file in engine._files:  # Close all files before the folder is removed.
                file.finish()

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.source.schema)

    @property
    def origin(self) -> Origin:
        """The file."""
        return self.source.origin

    def count(self, plan: Plan, open_once: Opener) -> TableCounts:
        """Turn the columns that are looked at into raw codes on disk, and count them in the rows that stay."""
        columns, codes = encode_columns(self.source, plan, self.limit, self._new_file)
        dropping = rows_to_drop(columns, plan, open_once)
        self._codes = replace(codes, dropping=dropping)
        columns, n_records = self._codes.recount(columns)
        return TableCounts(columns, self.source.n_rows, n_records)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns."""
        return self._on_disk.count_records(names, maps, self.limit)

    def exchange(
        self, method: CellMethod, columns: Sequence[ReleasedColumn], value_spaces: Sequence[ValueSpace], *, fits: bool
    ) -> BinsOnDisk | None:
        """Exchange rows bin by bin on disk, where whole records do not fit into memory."""
        if fits:
            return None
        return BinsOnDisk(
            method, tuple(columns), tuple(value_spaces), self._on_disk, self.limit, self.folder, self._new_file
        )

    def apply(self, fitted: FittedPlan) -> tuple[MaskedTable, Tallies]:
        """Mask all rows into codes on disk and return their tallies; no output is written yet."""
        codes = self._on_disk
        masked, tallies = apply_on_disk(fitted, codes, self._new_file, self.limit)
        for file in codes.raw.values():
            file.remove()
        columns = fitted.widen_columns(tallies)
        return MaskedTable(
            self.source, codes.sizes, masked, columns, fitted.within, self.limit, codes.rows_at_once, self.folder
        ), tallies

    @property
    def _on_disk(self) -> CodesOnDisk:
        if self._codes is None:
            raise InternalError("Nothing was counted yet.")
        return self._codes

    def _new_file(self, name: str) -> SpillFile:
        self._files.append(SpillFile(self.folder / name))
        return self._files[-1]
