"""Checks that a release on a cluster is the one that a plan and a seed make, without joining any rows.

Each row has a hash of its number and of the texts of its cells. Their sum does not depend on the order in which rows
come; two tables with the same rows under the same numbers have the same sum, and others practically never. Texts are
hashed by their numbers in the release that was given: what does not occur there cannot be in an equal one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.dictionary_encoder import DictionaryEncoder, ValueDictionary
from anonto.encoding.series import as_text_series
from anonto.engine.spark.apply import PLACE
from anonto.engine.spark.count import MANY_ROWS, as_polars
from anonto.engine.spark.pairs import hash_rows, mix_words
from anonto.engine.spark.rows import gather_batches, pack, quote_name
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import PACKED, as_function, unpack
from anonto.masking.private_record import foreign_record
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonto.arrays import Codes, Longs, LongWords
    from anonto.engine.spark.apply import RowMasking
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.table import SparkTable
    from anonto.random.streams import RowOrder


N_DIGESTS = 2
"""Independent of each other."""


def texts_of(column: ValueDictionary) -> ValueDictionary:
    """The same numbers for texts alone, whatever type the cells have."""
    return ValueDictionary(column.name, column.texts, column.texts, np.empty(0, dtype=np.int64), 0)


def numbers_of_texts(column: ValueDictionary) -> Codes:
    """The number of the text of each raw code, and last of a null; −1 for none."""
    numbers = np.arange(len(column.texts) + 1, dtype=np.int32)
    numbers[:-1][column.texts.is_null().to_numpy()] = -1
    numbers[-1] = -1
    return numbers


def digests(columns: Sequence[Codes], numbers: Sequence[Longs], keys: LongWords) -> LongWords:
    """The sums of the hashes of some rows: numberings of the rows × keys."""
    found = np.zeros((len(numbers), keys.size), dtype=np.uint64)
    for place, key in enumerate(keys):
        cells = hash_rows(columns, key)
        for way, own in enumerate(numbers):
            found[way, place] = mix_words(cells + mix_words(own.view(np.uint64) ^ ~key)).sum(dtype=np.uint64)
    return found


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseTask:
    """Sums the hashes of the rows of a task, numbered by their places, and by the rows of an order."""

    masking: RowMasking
    """Masking without a step: it computes the positions of rows."""
    texts: Mapping[str, Codes]
    """The numbers of the texts of each column."""
    order: RowOrder
    keys: LongWords

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one binary."""
        found = np.zeros((2, self.keys.size), dtype=np.uint64)
        for _, pieces in self.masking.groups(batches):
            for piece in pieces:
                columns = [own[piece.raw[name]] for name, own in self.texts.items()]
                first, last = piece.first, piece.first + columns[0].size
                places = np.arange(first, last)
                found += digests(columns, [places, self.order.part(first, last).astype(np.int64)], self.keys)
        yield pack(found)


@dataclass(frozen=True, slots=True, eq=False)
class RemaskedTask:
    """Sums the hashes of rows that have their numbers in a column."""

    columns: tuple[ValueDictionary, ...]
    """The texts that may occur."""
    keys: LongWords

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task, and last the numbers of its rows, to one binary; nothing for unknown texts."""
        import pyarrow as pa

        stay_alone()
        encoders = [DictionaryEncoder(one.name, one.cells.dtype, MANY_ROWS, one) for one in self.columns]
        found: LongWords | None = np.zeros((1, self.keys.size), dtype=np.uint64)
        for waiting in gather_batches(batches):
            if found is None:
                continue
            rows = pa.Table.from_batches(waiting)
            names = rows.column_names
            codes = [
                encoder.encode(as_text_series(as_polars(rows, name)))
                for name, encoder in zip(names, encoders, strict=False)
            ]
            if any(own.max(initial=-1) >= len(one.texts) for own, one in zip(codes, self.columns, strict=True)):
                found = None
            else:
                found += digests(codes, [rows.column(names[-1]).to_numpy()], self.keys)
        yield pack(found)


# ------------------------------------------------------------------------------------------------ on the driver


def is_shuffled(given: SparkTable, masking: RowMasking, repeated: MaskedFrame, order: RowOrder) -> bool:
    """Find whether rows of a release are in a random order or in their own; refused if it is not the repeated release.

    Args:
        given: The release.
        masking: A masking without a step, which selects its columns and rows.
        repeated: The repeated release.
        order: How its rows are shuffled, if they are.
    """
    keys = np.array([secrets.randbits(64) for _ in range(N_DIGESTS)], dtype=np.uint64)
    columns = masking.columns
    task = ReleaseTask(masking, {name: numbers_of_texts(column) for name, column in columns.items()}, order, keys)
    contents = given.collect_results(task, [*columns], "Hashing the rows of the release")
    kept, shuffled = sum(contents, np.zeros((2, keys.size), np.uint64))
    wanted = _digest_remasked(repeated, columns, keys)
    if np.array_equal(wanted, shuffled):
        return True
    if not np.array_equal(wanted, kept):
        raise foreign_record()
    return False


def _digest_remasked(repeated: MaskedFrame, columns: Mapping[str, ValueDictionary], keys: LongWords) -> LongWords:
    from pyspark.sql import functions

    task = RemaskedTask(tuple(map(texts_of, columns.values())), keys)
    table = repeated.source.table
    with jobs(table.session, "Masking the rows again"), table.own_splits():
        left_out = [name for name in table.frame.columns if name not in columns]
        frame = repeated.frame(left_out, None, numbered=True)
        cells = [functions.col(quote_name(name)).alias(f"c{place}") for place, name in enumerate(columns)]
        numbered = frame.select(*cells, functions.col(quote_name(PLACE)).alias("number"))
        digests_of_tasks = unpack(numbered.mapInArrow(as_function(task), PACKED))
    found = np.zeros((1, keys.size), dtype=np.uint64)
    for one in digests_of_tasks:
        if one is None:
            raise foreign_record()
        found += one
    return np.asarray(found[0])
