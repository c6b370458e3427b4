"""The first pass over a table in files: columns become raw codes on disk, and their values are counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.dictionary_encoder import DictionaryEncoder, recount_columns
from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.methods.memory import BYTES_PER_RECORD
from anonto.runtime.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.arrays import Codes, Longs, SignedBytes
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import Dropping
    from anonto.engine.files.spill import SpillFile
    from anonto.io.batches import TableBatches
    from anonto.masking.plan import Plan
    from anonto.runtime.memory_limit import MemoryLimit


BYTES_OF_CODES = 64
"""Bytes per row and column while it is encoded, masked and written."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodesOnDisk:
    """The raw codes of a table, batch by batch."""

    raw: Mapping[str, SpillFile]
    sizes: Sequence[int]
    """Rows of each batch."""
    rows_at_once: int
    """Rows of a batch at most."""
    dropping: Dropping | None = None
    """The rows that are dropped; None where all stay."""

    @property
    def firsts(self) -> list[int]:
        """The number of the first row of each batch, and of all rows."""
        return [0, *accumulate(self.sizes)]

    @property
    def batches(self) -> list[slice]:
        """The numbers of the batches."""
        return slices(0, len(self.sizes), 1)

    def read(self, batch: slice) -> tuple[dict[Any, Codes], Longs]:
        """The raw codes of the rows of a batch that stay, and the numbers of these rows."""
        number = batch.start
        first = sum(self.sizes[:number])
        raw: dict[str, Codes] = {name: file.read(number) for name, file in self.raw.items()}
        rows = np.arange(first, first + self.sizes[number], dtype=np.int64)
        if self.dropping is None:
            return raw, rows
        stays = self.dropping.stays(raw)
        return {name: codes[stays] for name, codes in raw.items()}, rows[stays]

    def stays(self, batch: slice, rows: Longs) -> SignedBytes:
        """Flags of the rows of a batch that are among some rows."""
        stays = np.zeros(self.sizes[batch.start], dtype=np.int8)
        stays[rows - sum(self.sizes[: batch.start])] = 1
        return stays

    def recount(self, columns: dict[str, ValueDictionary]) -> tuple[dict[str, ValueDictionary], int]:
        """The columns counted in the rows that stay, and how many these are."""
        if self.dropping is None:
            return columns, sum(self.sizes)
        counts = {name: np.zeros(column.counts.size, dtype=np.int64) for name, column in columns.items()}
        n_records = 0
        for batch in self.batches:
            raw, rows = self.read(batch)
            n_records += rows.size
            for name, codes in raw.items():
                counts[name] += np.bincount(codes + 1, minlength=counts[name].size + 1)[1:]
        return recount_columns(columns, counts, n_records), n_records

    def count_records(self, names: Sequence[str], maps: Sequence[Codes], limit: MemoryLimit) -> CountedRecords:
        """The distinct records of some columns, some batches at once."""
        counter = RecordCounter(len(names))
        for start in range(0, len(self.sizes), n_threads()):
            together = self.batches[start : start + n_threads()]
            counted: dict[int, CountedRecords] = {}

            def count(batch: slice, counted: dict[int, CountedRecords] = counted) -> None:
                raw, _ = self.read(batch)
                counted[batch.start] = CountedRecords.of([own[raw[n]] for n, own in zip(names, maps, strict=True)])

            in_threads(count, together)
            for batch in together:
                counter.add(counted[batch.start])
            needed = BYTES_PER_RECORD * counter.n_known
            if needed > limit.for_step:
                raise limit.too_small("Masking", names, needed, "their distinct records")
        return counter.totals()


def encode_columns(
    source: TableBatches, plan: Plan, limit: MemoryLimit, new_file: Callable[[str], SpillFile]
) -> tuple[dict[str, ValueDictionary], CodesOnDisk]:
    """Turn the columns that a step or a policy looks at into raw codes on disk, and learn their distinct values."""
    names = plan.needed_columns(source.schema)
    in_work = BYTES_OF_CODES * max(len(names), 1)
    n_rows = limit.rows_at_once(max(in_work, 2 * source.bytes_per_row()), n_threads())
    encoders = {name: DictionaryEncoder(name, source.schema[name], source.n_rows) for name in names}
    raw = {name: new_file(f"raw-{place}") for place, name in enumerate(names)}
    sizes = []
    for frame in source.read(names, n_rows, limit.for_batch(n_threads())) if names else ():
        for batch in frame.iter_slices(n_rows):

            def encode(part: slice, batch: Any = batch) -> None:
                for name in names[part]:
                    raw[name].append(encoders[name].encode(batch[name]))

            in_threads(encode, slices(0, len(names), 1))
            sizes.append(batch.height)
        require_few_values(encoders, plan, limit)
    for file in raw.values():
        file.finish()
    if not names:
        sizes = [part.stop - part.start for part in slices(0, source.n_rows, n_rows)]
    return {name: encoder.dictionary() for name, encoder in encoders.items()}, CodesOnDisk(raw, sizes, n_rows)


def require_few_values(encoders: Mapping[str, DictionaryEncoder], plan: Plan, limit: MemoryLimit) -> None:
    """Refuse columns whose distinct values alone fill the memory."""
    needed = {name: encoder.n_bytes for name, encoder in encoders.items()}
    if sum(needed.values()) > limit.for_step:
        name = max(needed, key=needed.__getitem__)
        method = next((step.method.name for step in plan.steps if name in step.columns), "masking")
        raise limit.too_small(method, [name], needed[name], "the distinct values so far")
