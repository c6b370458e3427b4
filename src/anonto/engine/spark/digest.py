"""Whether a release on a cluster is the one that a plan and a seed make, told without bringing any two rows together.

Each row has a hash of its number and of the texts of its cells. Their sum does not depend on the order in which rows
come; two tables with the same rows under the same numbers have the same sum, and others practically never. Texts are
hashed by their numbers in the release that was given: what does not occur there cannot be in an equal one.
"""

from __future__ import annotations

import pickle
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.apply import PLACE
from anonto.engine.spark.count import MANY_ROWS, as_polars
from anonto.engine.spark.pairs import hashed, mixed_words
from anonto.engine.spark.rows import quoted, together
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import as_function, brought_here
from anonto.errors import ForeignRecordError
from anonto.table.counted import Learner, LearntColumn
from anonto.table.series import as_text_series
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.engine.spark.apply import RowMasking
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.table import SparkTable
    from anonto.rng import RowOrder

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    LongWords = NDArray[np.uint64]

N_DIGESTS = 2
"""Independent of each other."""


def texts_of(column: LearntColumn) -> LearntColumn:
    """The same numbers for texts alone, whatever type the cells have."""
    return LearntColumn(column.name, column.texts, column.texts, np.empty(0, dtype=np.int64), 0)


def numbers_of_texts(column: LearntColumn) -> Codes:
    """For each raw code, and behind them for a null, the number of its text; −1 for none."""
    numbers = np.arange(len(column.texts) + 1, dtype=np.int32)
    numbers[:-1][column.texts.is_null().to_numpy()] = -1
    numbers[-1] = -1
    return numbers


def digests(columns: Sequence[Codes], numbers: Sequence[Longs], keys: LongWords) -> LongWords:
    """The sums of the hashes of some rows: for each way to number them × for each key."""
    found = np.zeros((len(numbers), keys.size), dtype=np.uint64)
    for place, key in enumerate(keys):
        cells = hashed(columns, key)
        for way, own in enumerate(numbers):
            found[way, place] = mixed_words(cells + mixed_words(own.view(np.uint64) ^ ~key)).sum(dtype=np.uint64)
    return found


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class GivenTask:
    """Sums the hashes of the rows of a task: with their places as numbers, and with those of an order."""

    masking: RowMasking
    """Of no step: it tells the places of rows."""
    texts: Mapping[str, Codes]
    """For each column the numbers of its texts."""
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
        yield _batch(found)


@dataclass(frozen=True, slots=True, eq=False)
class AnewTask:
    """Sums the hashes of rows that bring their numbers with them."""

    columns: tuple[LearntColumn, ...]
    """The texts that may occur."""
    keys: LongWords

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task, and last the numbers of its rows, to one binary; nothing for unknown texts."""
        import pyarrow as pa

        stay_alone()
        learners = [Learner(one.name, one.cells.dtype, MANY_ROWS, one) for one in self.columns]
        found: LongWords | None = np.zeros((1, self.keys.size), dtype=np.uint64)
        for waiting in together(batches):
            if found is None:
                continue
            rows = pa.Table.from_batches(waiting)
            names = rows.column_names
            codes = [
                learner.learn(as_text_series(as_polars(rows, name)))
                for name, learner in zip(names, learners, strict=False)
            ]
            if any(own.max(initial=-1) >= len(one.texts) for own, one in zip(codes, self.columns, strict=True)):
                found = None
            else:
                found += digests(codes, [rows.column(names[-1]).to_numpy()], self.keys)
        yield _batch(found)


def _batch(found: LongWords | None) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(found, protocol=5)], pa.binary())], names=["content"])


# ------------------------------------------------------------------------------------------------ on the driver


def is_shuffled(given: SparkTable, masking: RowMasking, anew: MaskedFrame, order: RowOrder) -> bool:
    """Whether the rows of a release are in a random order or in their own; it is refused if it is not the one anew.

    Args:
        given: The release.
        masking: Of no step: what tells its columns and its rows.
        anew: The release that is made once more.
        order: How its rows are shuffled, if they are.
    """
    keys = np.array([secrets.randbits(64) for _ in range(N_DIGESTS)], dtype=np.uint64)
    columns = masking.columns
    task = GivenTask(masking, {name: numbers_of_texts(column) for name, column in columns.items()}, order, keys)
    contents = given.gathered(task, [*columns], "Looking at the rows of the release")
    kept, shuffled = sum((pickle.loads(one) for one in contents), np.zeros((2, keys.size), np.uint64))  # noqa: S301
    wanted = _anew(anew, columns, keys)
    if np.array_equal(wanted, shuffled):
        return True
    if not np.array_equal(wanted, kept):
        raise ForeignRecordError
    return False


def _anew(anew: MaskedFrame, columns: Mapping[str, LearntColumn], keys: LongWords) -> LongWords:
    from pyspark.sql import functions

    task = AnewTask(tuple(map(texts_of, columns.values())), keys)
    table = anew.source.table
    with jobs(table.session, "Masking the rows anew"), table.own_splits():
        left_out = [name for name in table.frame.columns if name not in columns]
        frame = anew.frame(left_out, None, numbered=True)
        cells = [functions.col(quoted(name)).alias(f"c{place}") for place, name in enumerate(columns)]
        numbered = frame.select(*cells, functions.col(quoted(PLACE)).alias("number"))
        contents = brought_here(numbered.mapInArrow(as_function(task), "content binary"))
    found = np.zeros((1, keys.size), dtype=np.uint64)
    for row in contents:
        one = pickle.loads(row["content"])  # noqa: S301 - our own tasks wrote it
        if one is None:
            raise ForeignRecordError
        found += one
    return np.asarray(found[0])
