"""Recodes tables in files: the columns are counted in a pass of their own, and every later read gives the new cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.dictionary_encoder import DictionaryEncoder
from anonto.encoding.prepare import opener
from anonto.engine.files.count import BYTES_OF_CODES, require_few_values
from anonto.io.batches import ROWS_AT_ONCE
from anonto.masking.recoding import CellRecoder, Recoding, fit_recoding
from anonto.runtime.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from anonto.io.batches import TableBatches
    from anonto.io.table import Origin
    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed
    from anonto.runtime.memory_limit import MemoryLimit


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecodedBatches:
    """A table in files with recoded cells."""

    source: TableBatches
    recoding: Recoding

    @property
    def origin(self) -> Origin:
        """That of the files."""
        return self.source.origin

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns with their types, in file order."""
        new = {name: one.palette.dtype for name, one in self.recoding.columns.items()}
        return {name: new.get(name, dtype) for name, dtype in self.source.schema.items()}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.source.n_rows

    @property
    def files(self) -> Sequence[Path]:
        """The files, in order."""
        return self.source.files

    def bytes_per_row(self) -> float:
        """Estimated memory per row."""
        return self.source.bytes_per_row()

    def read(
        self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE, n_bytes: float = math.inf
    ) -> Iterator[pl.DataFrame]:
        """Some columns in batches."""
        recoded = {name: self.recoding.columns[name] for name in columns if name in self.recoding.columns}
        recoder, n_before = CellRecoder(recoded), 0
        needed = [*dict.fromkeys([*columns, *(one.person for one in recoded.values() if one.person is not None)])]
        for batch in self.source.read(needed, n_rows, n_bytes):
            rows = np.arange(n_before, n_before + batch.height)
            n_before += batch.height
            new = [
                recoder.cells(name, batch[name], None if one.person is None else batch[one.person], rows)
                for name, one in recoded.items()
            ]
            yield batch.select(columns).with_columns(new)

    def require_unchanged(self) -> None:
        """Refuse files that changed since they were opened."""
        self.source.require_unchanged()


def recode_batches(source: TableBatches, plan: Plan, limit: MemoryLimit, seed: Seed) -> RecodedBatches:
    """Count the columns to be recoded, and recode them."""
    plan.require_columns(list(source.schema))
    names = plan.recoded
    encoders = {name: DictionaryEncoder(name, source.schema[name], source.n_rows) for name in names}
    n_rows = limit.rows_at_once(max(BYTES_OF_CODES * len(names), 2 * source.bytes_per_row()), n_threads())
    for batch in source.read(names, n_rows, limit.for_batch(n_threads())):
        for name in names:
            encoders[name].encode(batch[name])
        require_few_values(encoders, plan, limit)
    counted = {name: encoder.dictionary() for name, encoder in encoders.items()}
    return RecodedBatches(source, fit_recoding(counted, plan, opener(plan.folder), seed))
