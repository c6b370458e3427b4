"""Encoding of a column: its distinct values in order, and for each record the number of its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.refusals import all_missing
from anonto.encoding.series import as_series, as_text_series
from anonto.encoding.text_views import texts_known
from anonto.encoding.weights import read_weights
from anonto.errors import ColumnError
from anonto.io.table import TextBatches
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Bools, Floats, Integers, Ints, Longs
    from anonto.encoding.text_views import KnownTexts

    Rows = Sequence[int] | Longs | None
    """The row of each cell in the user's table, from 0; None if unknown."""

MISSING = -1
FIRST_LOOK = 1 << 17
ROWS_AT_ONCE = 1 << 20
CATEGORIES_AT_ONCE = 1 << 17
TEXTS_AT_ONCE = 1 << 17
FEW_CODES = 1 << 17
"""Fewer codes than this are counted without loading the compiler."""
FEW_NUMBERS = 1 << 22
"""Integers with a range up to this, or up to the number of records, are looked up in a table of the whole range."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A column as codes: ``values[codes[i]]`` is the value of record i; a code of −1 is a missing cell."""

    values: tuple[str, ...]
    codes: Ints
    amounts: Longs | Floats | None = field(default=None, kw_only=True)
    """How many records each code counts for, or how many people of the population; None if one each."""

    def __repr__(self) -> str:
        return f"<Column: {len(self):,} cells, {len(self.values):,} distinct values, {self.n_missing:,} missing>"

    def __len__(self) -> int:
        return int(self.codes.size)

    @property
    def counts(self) -> Longs:
        """How often each distinct value occurs."""
        if self.amounts is None:
            return counts_of(self.codes, len(self.values))
        counts: Longs = count_weighted(self.codes + np.int32(1), len(self.values) + 1, self.amounts)[1:]
        return counts

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return n_without(self.codes, self.amounts)

    def first_positions(self) -> Longs:
        """The first record that has each distinct value."""
        return first_positions(self.codes, len(self.values))

    def first_row(self, values: Bools, rows: Rows) -> int | None:
        """The first row of the table with one of some distinct values, from 0; None if rows are unknown.

        Args:
            values: A flag for each distinct value, and one more for missing cells.
            rows: The row of each cell.
        """
        return None if rows is None else int(rows[int(np.argmax(values[self.codes]))])

    def keep_records(self, records: Bools) -> Column:
        """The column of some records only, without values that no longer occur."""
        codes = self.codes[records]
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        amounts = None if self.amounts is None else self.amounts[records]
        return Column(self.values, codes, amounts=amounts).without(unused)

    def blank_records(self, records: Bools) -> Column:
        """The column with the cells of some records as missing."""
        codes = np.where(records, np.int32(MISSING), self.codes)
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        return Column(self.values, codes, amounts=self.amounts).without(unused)

    def without(self, values: Bools) -> Column:
        """The column with some distinct values as missing; the last flag, for missing cells, is ignored."""
        staying = ~values
        new_code = np.cumsum(staying, dtype=np.int32) - np.int32(1)
        new_code[~staying] = MISSING
        new_code[-1] = MISSING
        names = tuple(value for value, stays in zip(self.values, staying[:-1], strict=True) if stays)
        return Column(names, new_code[self.codes], amounts=self.amounts)


def count_weighted(numbers: Integers, n_numbers: int, amounts: Longs | Floats) -> Any:
    """How many records have each number, if each row counts for several; not whole where the amounts are not."""
    return np.bincount(numbers, weights=amounts, minlength=n_numbers).astype(amounts.dtype)


def n_without(codes: Ints, amounts: Longs | Floats | None) -> int:
    """The number of records without a value."""
    return int(np.count_nonzero(codes < 0) if amounts is None else amounts[codes < 0].sum())


def counts_of(codes: Ints, n_values: int) -> Longs:
    """The count of each value."""
    if codes.size < FEW_CODES:
        return np.bincount(codes[codes >= 0], minlength=n_values)
    from anonto.encoding.row_kernels import count

    counts = np.zeros(n_values, dtype=np.int64)
    count(codes, counts)
    return counts


def changes_nothing(new_codes: Ints) -> bool:
    """Return whether a table of new codes, its last entry for −1, leaves every code as it is."""
    return bool(new_codes[-1] == MISSING and np.array_equal(new_codes[:-1], np.arange(new_codes.size - 1)))


def first_positions(codes: Ints, n_values: int) -> Longs:
    """The first record that has each value."""
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


def encode_present(values: Any, name: str | None = None, weights: Any = None) -> Column:
    """Encode a column that must have at least one value; records of weight 0 are left out."""
    (column,) = weigh_records([encode(values)], weights)
    if not column.values:
        raise all_missing(len(column), name)
    return column


def encode_together(*columns: Any, weights: Any = None) -> list[Column]:
    """Encode columns of the same records, keeping those that have all values and a weight above 0."""
    encoded = [encode(values) for values in columns]
    require_equal_lengths([len(column) for column in encoded])
    return complete_records(weigh_records(encoded, weights))


def weigh_records(encoded: Sequence[Column], weights: Any) -> list[Column]:
    """Columns of the same records with the weights of these as amounts, without records of weight 0."""
    if weights is None:
        return list(encoded)
    numbers = read_weights(weights)
    require_equal_lengths([len(encoded[0]), numbers.size])
    return [replace(column, amounts=numbers).keep_records(numbers > 0) for column in encoded]


def complete_records(encoded: Sequence[Column]) -> list[Column]:
    """Columns of the same records, restricted to records with a value in every column."""
    complete = np.logical_and.reduce([column.codes >= 0 for column in encoded])
    if not complete.any():
        raise all_missing(complete.size)
    return list(encoded) if complete.all() else [column.keep_records(complete) for column in encoded]


def require_equal_lengths(lengths: list[int]) -> None:
    """Raise unless all columns have the same number of cells."""
    if len(set(lengths)) > 1:
        raise different_lengths(lengths)


def _from_texts(series: pl.Series) -> Column:
    """Collect the distinct values of the first records, look up all records in threads, and add unknown values."""
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
    """Number the values as they first appear, batch by batch, and renumber them in sorted order at the end."""
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


def look_up(series: pl.Series, known: KnownTexts, codes: Ints) -> int:
    """Write the code of each text, in threads; return how many are missing or unknown, with code −1."""
    without: list[int] = []

    def find(part: slice) -> None:
        without.append(known.look_up(series[part], codes[part]))

    in_threads(find, slices(0, len(series), TEXTS_AT_ONCE))
    return sum(without)


def _from_categories(series: pl.Series) -> Column:
    """Sort the categories, which are codes already, and look up the records."""
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


def different_lengths(lengths: Sequence[int]) -> ColumnError:
    """Columns that cannot belong to the same records."""
    return ColumnError(
        f"The columns have different lengths ({' and '.join(f'{n:,}' for n in lengths)}); "
        "give one value per record in each."
    )
