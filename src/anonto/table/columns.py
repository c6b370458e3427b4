"""Encoding of a column: its distinct values in order, and for each record the number of its value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import AllMissingError, LengthError
from anonto.table.series import as_series, as_text_series
from anonto.table.table import TextBatches
from anonto.table.text_views import texts_known
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.text_views import KnownTexts

    Rows = Sequence[int] | NDArray[np.int64] | None
    """The place of each cell in the table that a person has, from 0; None where it is not known."""

MISSING = -1
FIRST_LOOK = 1 << 17
ROWS_AT_ONCE = 1 << 20
CATEGORIES_AT_ONCE = 1 << 17
TEXTS_AT_ONCE = 1 << 17
FEW_CODES = 1 << 17
"""So few codes are counted before a compiler is loaded."""
FEW_NUMBERS = 1 << 22
"""Whole numbers that span no more, or no more than there are records, are looked up in a table of all of them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A column as codes: ``values[codes[i]]`` is the value of record i; a code of −1 is a missing cell."""

    values: tuple[str, ...]
    codes: NDArray[np.int32]
    amounts: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """How many records each code stands for, where that is not one."""

    def __repr__(self) -> str:
        return f"<Column: {len(self):,} cells, {len(self.values):,} distinct values, {self.n_missing:,} missing>"

    def __len__(self) -> int:
        return int(self.codes.size)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each distinct value occurs."""
        if self.amounts is None:
            return counts_of(self.codes, len(self.values))
        return weighed(self.codes + np.int32(1), len(self.values) + 1, self.amounts)[1:]

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return n_without(self.codes, self.amounts)

    def first_positions(self) -> NDArray[np.int64]:
        """For each distinct value, the first record that has it."""
        return first_positions(self.codes, len(self.values))

    def first_row(self, values: NDArray[np.bool_], rows: Rows) -> int | None:
        """The first row of the table that has one of some distinct values, from 0; None where rows are not known.

        Args:
            values: Flags for the distinct values, and behind them for a missing cell.
            rows: The row of each cell.
        """
        return None if rows is None else int(rows[int(np.argmax(values[self.codes]))])

    def kept(self, records: NDArray[np.bool_]) -> Column:
        """The column of some records only, without values that no longer occur."""
        codes = self.codes[records]
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        amounts = None if self.amounts is None else self.amounts[records]
        return Column(self.values, codes, amounts=amounts).without(unused)

    def blanked(self, records: NDArray[np.bool_]) -> Column:
        """The column with the cells of some records as missing."""
        codes = np.where(records, np.int32(MISSING), self.codes)
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        return Column(self.values, codes, amounts=self.amounts).without(unused)

    def without(self, values: NDArray[np.bool_]) -> Column:
        """The column with some distinct values as missing; the last flag, for missing cells, says nothing."""
        staying = ~values
        new_code = np.cumsum(staying, dtype=np.int32) - np.int32(1)
        new_code[~staying] = MISSING
        new_code[-1] = MISSING
        names = tuple(value for value, stays in zip(self.values, staying[:-1], strict=True) if stays)
        return Column(names, new_code[self.codes], amounts=self.amounts)


def weighed(numbers: NDArray[np.integer], n_numbers: int, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many records have each number, where a row stands for so many of them."""
    return np.bincount(numbers, weights=amounts, minlength=n_numbers).astype(np.int64)


def n_without(codes: NDArray[np.int32], amounts: NDArray[np.int64] | None) -> int:
    """How many records have no value."""
    return int(np.count_nonzero(codes < 0) if amounts is None else amounts[codes < 0].sum())


def counts_of(codes: NDArray[np.int32], n_values: int) -> NDArray[np.int64]:
    """How often each value occurs."""
    if codes.size < FEW_CODES:
        return np.bincount(codes[codes >= 0], minlength=n_values)
    from anonto.table.row_kernels import count

    counts = np.zeros(n_values, dtype=np.int64)
    count(codes, counts)
    return counts


def changes_nothing(new_codes: NDArray[np.int32]) -> bool:
    """Whether codes looked up in these, of which the last is for −1, are what they were."""
    return bool(new_codes[-1] == MISSING and np.array_equal(new_codes[:-1], np.arange(new_codes.size - 1)))


def first_positions(codes: NDArray[np.int32], n_values: int) -> NDArray[np.int64]:
    """For each value the first record that has it."""
    first = np.full(n_values, codes.size, dtype=np.int64)
    for part in slices(0, codes.size, ROWS_AT_ONCE):
        here = np.full(n_values + 1, codes.size, dtype=np.int64)
        here[codes[part][::-1]] = np.arange(part.stop - 1, part.start - 1, -1)
        np.minimum(first, here[:-1], out=first)
        if (first < codes.size).all():
            break
    return first


def encode(values: Any) -> Column:
    """Encode a column; the distinct values come sorted, so that the order of records does not matter."""
    if isinstance(values, TextBatches):
        return _from_batches(values)
    import polars as pl

    given = as_series(values)
    if len(given) > FIRST_LOOK and (given.dtype.is_signed_integer() or given.dtype.is_unsigned_integer()):
        return _from_integers(given)
    series = as_text_series(given)
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return _from_categories(series)
    return _from_texts(series)


def encode_present(values: Any, name: str | None = None) -> Column:
    """Encode a column that must have at least one value."""
    column = encode(values)
    if not column.values:
        raise AllMissingError(len(column), name)
    return column


def encode_together(*columns: Any) -> list[Column]:
    """Encode columns of the same records, keeping the records that have all values."""
    encoded = [encode(values) for values in columns]
    require_equal_lengths([len(column) for column in encoded])
    return complete_records(encoded)


def complete_records(encoded: Sequence[Column]) -> list[Column]:
    """Columns of the same records without the records that lack a value in one of them."""
    complete = np.logical_and.reduce([column.codes >= 0 for column in encoded])
    if not complete.any():
        raise AllMissingError(complete.size)
    return list(encoded) if complete.all() else [column.kept(complete) for column in encoded]


def require_equal_lengths(lengths: list[int]) -> None:
    """Raise unless all columns have as many cells."""
    if len(set(lengths)) > 1:
        raise LengthError(lengths)


def _from_texts(series: pl.Series) -> Column:
    """Collect the distinct values of the first records, look all records up in threads, and add what was not found."""
    import polars as pl

    distinct = series.head(FIRST_LOOK).unique().drop_nulls()
    codes = np.empty(len(series), dtype=np.int32)
    while True:
        distinct = distinct.sort()
        if look_up(series, texts_known(distinct, len(series)), codes) == series.null_count():
            return Column(tuple(distinct.to_list()), codes)
        unknown = series.filter(pl.Series(codes == MISSING) & series.is_not_null())
        distinct = distinct.append(unknown.unique())


def _from_integers(series: pl.Series) -> Column:
    """Only the distinct numbers become text; the records are looked up by their numbers, in threads."""
    import polars as pl

    distinct = series.unique().drop_nulls().sort()
    texts = as_text_series(distinct)
    codes = np.full(len(series), MISSING, dtype=np.int32)
    if not len(distinct):
        return Column((), codes)
    if not -(1 << 63) <= int(distinct[0]) <= int(distinct[-1]) < 1 << 63:
        return _from_texts(as_text_series(series))
    order = texts.arg_sort().to_numpy()
    code_of = np.empty(order.size, dtype=np.int32)
    code_of[order] = np.arange(order.size, dtype=np.int32)
    numbers = distinct.cast(pl.Int64).to_numpy()
    least, span = int(distinct[0]), int(distinct[-1]) - int(distinct[0]) + 1
    by_number = None
    if span <= max(FEW_NUMBERS, len(series)):
        by_number = np.full(span, MISSING, dtype=np.int32)
        by_number[numbers - least] = code_of

    def look_up(part: slice) -> None:
        cells = series[part].cast(pl.Int64)
        here = cells.fill_null(least).to_numpy()
        found = code_of[np.searchsorted(numbers, here)] if by_number is None else by_number[here - least]
        codes[part] = np.where(cells.is_null().to_numpy(), np.int32(MISSING), found) if cells.null_count() else found

    in_threads(look_up, slices(0, len(series), TEXTS_AT_ONCE))
    return Column(tuple(texts.gather(order).to_list()), codes)


def _from_batches(batches: TextBatches) -> Column:
    """Number values as they first appear, those of the first stretch in their order; and all in order at the end."""
    import polars as pl

    codes = np.empty(batches.n_rows, dtype=np.int32)
    distinct = pl.Series([], dtype=pl.String)
    known = texts_known(distinct, batches.n_rows)
    filled = 0
    for batch in batches.read():
        here = codes[filled : filled + len(batch)]
        filled += len(batch)
        if look_up(batch, known, here) > batch.null_count():
            unknown = batch.filter(pl.Series(here == MISSING) & batch.is_not_null()).unique().sort()
            distinct = pl.concat([distinct, unknown])
            known = texts_known(distinct, batches.n_rows)
            look_up(batch, known, here)
    if distinct.is_sorted():
        return Column(tuple(distinct.to_list()), codes)
    order = distinct.arg_sort().to_numpy()
    new_code = np.full(order.size + 1, MISSING, dtype=np.int32)
    new_code[order] = np.arange(order.size, dtype=np.int32)

    def renumber(part: slice) -> None:
        codes[part] = new_code[codes[part]]

    in_threads(renumber, slices(0, codes.size, ROWS_AT_ONCE))
    return Column(tuple(distinct.gather(order).to_list()), codes)


def look_up(series: pl.Series, known: KnownTexts, codes: NDArray[np.int32]) -> int:
    """The code of each text, in threads; how many are missing or not known, with code −1."""
    without: list[int] = []

    def find(part: slice) -> None:
        without.append(known.look_up(series[part], codes[part]))

    in_threads(find, slices(0, len(series), TEXTS_AT_ONCE))
    return sum(without)


def _from_categories(series: pl.Series) -> Column:
    """Categories are codes already: only they are sorted, the records are looked up."""
    import polars as pl

    distinct = series.unique().drop_nulls()
    physical = distinct.to_physical().to_numpy().astype(np.int64)
    names = distinct.cast(pl.String).to_list()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    new_code = np.full(int(physical.max()) + 2 if physical.size else 1, MISSING, dtype=np.int32)
    new_code[physical[by_name]] = np.arange(len(names), dtype=np.int32)
    codes = np.empty(len(series), dtype=np.int32)

    def look_up(part: slice) -> None:
        codes[part] = new_code[series[part].to_physical().cast(pl.Int64).fill_null(MISSING).to_numpy()]

    in_threads(look_up, slices(0, len(series), CATEGORIES_AT_ONCE))
    return Column(tuple(names[i] for i in by_name), codes)
