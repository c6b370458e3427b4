"""The caller's table: its columns are read as polars Series, and the output is the same kind of table.

A changed cell is taken from another row of the caller's own column, so that dtypes, time zones and the kind of missing
value are preserved. The caller's table is never modified.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.arrow_columns import plain_floats_arrow, refuse_unmovable, take_rows
from anonto.encoding.columns import encode
from anonto.encoding.leftovers import without_leftovers
from anonto.encoding.missing_codes import NAN, NAT, object_code
from anonto.encoding.series import ambiguous_values, as_series, as_text_series, plain_floats
from anonto.errors import ColumnError, InputError, ParameterError
from anonto.io.table import without_declared, without_letters
from anonto.runtime.threads import in_threads, slices
from anonto.wording import clip, count_of, quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Integers, Ints, Longs, Reals
    from anonto.encoding.columns import Column
    from anonto.encoding.missing_codes import Code
    from anonto.encoding.new_cells import NewCells
    from anonto.io.table import Origin


CODES_AT_ONCE = 1 << 18
NO_ROW = -1
"""In place of a row to take a cell from: the new cell is null."""


class FrameAdapter:
    """A table in the caller's own library."""

    def __init__(
        self,
        table: Any,
        names: Sequence[str] | None = None,
        n_rows: int | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Adapt a table; ``origin`` describes its file, if it was read from one.

        ``names`` and ``n_rows`` are those of the whole table if some columns are not in ``table``.
        """
        self.table, self.origin = table, origin
        self.library = _library(table)
        if names is None:
            names = table.column_names if self.library == "pyarrow" else list(table.columns)
        names = [str(name) for name in names]
        if repeated := _repeated_names(names):
            raise duplicate_columns(sorted(repeated))
        self.names = names
        own_rows = int(table.num_rows) if self.library == "pyarrow" else len(table)
        self._n_rows = own_rows if n_rows is None else n_rows

    def __len__(self) -> int:
        return self._n_rows

    def series(self, name: str) -> pl.Series:
        """One column as a polars Series; values that its file declares as missing are null."""
        column = self.native(name)
        if n_ambiguous := ambiguous_values(column):
            raise mixed_types(name, n_ambiguous)
        cells = as_series(column, name).alias(name)
        return cells if self.origin is None else without_declared(cells, self.origin)

    def encode(self, name: str) -> Column:
        """One column as codes."""
        return encode(self.series(name))

    def native(self, name: str) -> Any:
        """One column in the caller's library, unchanged."""
        place = self.names.index(name)
        if self.library == "pandas":
            return self.table.iloc[:, place]
        return self.table.column(place) if self.library == "pyarrow" else self.table[name]

    def with_column(self, name: str, column: Any) -> FrameAdapter:
        """A copy in which a column is replaced by another one of the caller's library."""
        other = copy(self)
        other.replace(name, column)
        return other

    def replace(self, name: str, column: Any) -> None:
        """Replace a column by another one of the caller's library; the caller's table keeps its own."""
        place = self.names.index(name)
        if self.library == "pyarrow":
            self.table = self.table.set_column(place, self.table.schema.field(place), column)
        elif self.library == "pandas":
            self.table = self.table.copy(deep=False)
            self.table.isetitem(place, column)
        else:
            self.table = self.table.with_columns(column.alias(name))

    def without(self, names: Sequence[str]) -> Any:
        """The table without some columns."""
        there = [name for name in names if name in self.names]
        if not there:
            return self.table
        if self.library == "pandas":
            return self.table.drop(columns=there)
        return self.table.drop_columns(there) if self.library == "pyarrow" else self.table.drop(there)

    def select_rows(self, rows: Longs) -> FrameAdapter:
        """Some rows of the table, in this order."""
        if self.library == "pyarrow":
            columns = {}
            for name in self.names:
                column = self.native(name)
                with refuse_unmovable(name, column.type):
                    columns[name] = take_rows(column, rows)
            return FrameAdapter(self._arrow(columns), origin=self.origin)
        return FrameAdapter(self.table.iloc[rows] if self.library == "pandas" else self.table[rows], origin=self.origin)

    def hold_as_text(self, names: Sequence[str]) -> None:
        """Convert columns to text if their type was inferred from the cells.

        This is so in Excel and in tables in memory; Parquet, SPSS, Stata and SAS declare the type of a column.
        """
        import polars as pl

        if self.origin is not None and self.origin.format != "excel":
            return
        for name in names:
            if name not in self.names or _is_text(self.native(name), self.library):
                continue
            texts = as_text_series(self.series(name)).cast(pl.String)
            place = self.names.index(name)
            if self.library == "pyarrow":
                self.table = self.table.set_column(place, self.table.column_names[place], texts.to_arrow())
            elif self.library == "pandas":
                import pandas as pd

                self.replace(name, pd.Series(texts.to_list(), self.table.index, dtype=object))
            else:
                self.replace(name, texts)

    def hold_plain_floats(self, names: Sequence[str]) -> None:
        """Give all zeros, and all NaNs, of some columns the same bits: see `plain_floats`."""
        for name in names:
            if name not in self.names:
                continue
            column = self.native(name)
            if self.library == "pyarrow":
                place = self.names.index(name)
                column = plain_floats_arrow(column)
                self.table = self.table.set_column(place, self.table.column_names[place], column)
            else:
                self.replace(name, _plain(column) if self.library == "pandas" else plain_floats(column))

    def with_cells(self, names: Sequence[str], cells: Mapping[str, pl.Series], rows: Integers | None) -> pl.DataFrame:
        """A polars table with new cells in some columns.

        Args:
            names: The columns that stay.
            cells: The new columns, by name.
            rows: The rows of the other columns, in order; None for all.
        """
        import polars as pl

        others = self.table.select([name for name in names if name not in cells])
        others = others if rows is None or not others.width else others[rows]
        columns = {column.name: column for column in others}
        return pl.DataFrame([cells[name] if name in cells else columns[name] for name in names])

    def with_rows(
        self,
        names: Sequence[str],
        sources: Mapping[str, Integers],
        further: Mapping[str, NewCells],
        rows: Integers | None,
    ) -> Any:
        """A pandas or pyarrow table in which some columns take their cells from other rows.

        Args:
            names: The columns that stay.
            sources: For these columns, the row that each cell is taken from; `NO_ROW` for a null.
            further: Cells that no row has; they are numbered after the rows.
            rows: The rows of the other columns, in order; None for all.
        """
        if self.library == "pandas":
            return self._with_rows_pandas(names, sources, further, rows)
        columns = {}
        for name in names:
            column = self.native(name)
            with refuse_unmovable(name, column.type):
                column = longer_arrow(column, further[name]) if name in further else column
                cells = _take_or_null(column, sources.get(name, np.arange(len(self)) if rows is None else rows))
                columns[name] = plain_floats_arrow(cells) if name in sources else cells
        return self._arrow(columns)

    def strip_leftovers(self, table: Any, scales: Mapping[str, Sequence[str]]) -> Any:
        """A table with new cells, ready to be released: see `without_leftovers`."""
        table = without_letters(table, self.origin) if self.library == "polars" else table
        return without_leftovers(table, self.library, scales)

    def forget(self, name: str) -> None:
        """Drop a column whose new cells are known, to free memory; only for a table that the caller does not hold."""
        self.table = self.table.drop(name)

    def _with_rows_pandas(
        self, names: Sequence[str], sources: Mapping[str, Integers], further: Mapping[str, NewCells], rows: Any
    ) -> Any:
        out = self.table.iloc[:, [self.names.index(name) for name in names]]
        out = out.copy() if rows is None else out.iloc[rows]
        for place, name in enumerate(names):
            if name in sources:
                column = self.native(name)
                column = _longer_pandas(column, further[name]) if name in further else column
                column = _plain(_take_pandas(column, sources[name]))
                column.index = out.index
                out.isetitem(place, column)
        return out

    def _arrow(self, columns: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        own = [self.table.schema.field(self.names.index(name)) for name in columns]
        fields = [pa.field(of.name, one.type, of.nullable) for of, one in zip(own, columns.values(), strict=True)]
        return pa.table(list(columns.values()), schema=pa.schema(fields))


def _is_text(column: Any, library: str) -> bool:
    """Return whether a column of a library holds texts, or categories that are texts."""
    import polars as pl

    if library == "polars":
        return column.dtype == pl.String or isinstance(column.dtype, pl.Categorical | pl.Enum)
    if library == "pyarrow":
        import pyarrow.types as kinds

        kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))
    import pandas as pd

    cells = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return pd.api.types.infer_dtype(cells, skipna=True) in {"string", "empty"}


def longer_polars(values: pl.Series, further: NewCells) -> pl.Series:
    """A column with new values appended, of the same type if that can hold them; otherwise all become text.

    A column of numbers can hold the text of a concept only if it reads back: 250.10 and 250.1 are two codes.
    """
    import polars as pl

    dtype = values.dtype
    if isinstance(dtype, pl.Enum):
        spelt = further.as_texts()
        wider = pl.Enum(pl.concat([dtype.categories, spelt]).unique(maintain_order=True))
        return pl.concat([values.cast(wider), spelt.cast(wider)])
    if further.moments is not None and dtype.is_temporal():
        return pl.concat([values, further.as_moments(dtype).alias(values.name)])
    cells = further.as_texts() if dtype in (pl.String, pl.Categorical) else pl.Series(further.as_values())
    cells = cells.alias(values.name)
    if dtype.is_temporal() or dtype == pl.Boolean:  # which hold no text
        return pl.concat([as_text_series(values), cells.cast(pl.String)])
    fitting = cells.cast(dtype, strict=False)
    if not fitting.null_count() and _reads_back(fitting, further):
        return pl.concat([values, fitting])
    own = as_text_series(values) if further.numbers is None else values
    return pl.concat([own.cast(cells.dtype), cells])


def _reads_back(cells: Any, further: NewCells) -> bool:
    """Return whether the texts of concepts survive in cells of a type other than text."""
    return further.numbers is not None or as_text_series(cells).to_list() == list(further.texts)


def _as_texts(column: Any) -> list[str | None]:
    return as_text_series(column).to_list()


def _longer_pandas(column: Any, further: NewCells) -> Any:
    import pandas as pd

    if further.moments is not None and (cells := _moments_for_pandas(column, further)) is not None:
        return pd.concat([column, cells])
    if isinstance(column.dtype, pd.CategoricalDtype):
        if further.numbers is None and pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
            column = column.cat.rename_categories(_as_texts(column.cat.categories.tolist()))
        plain = list(further.as_values())
        column = column.cat.add_categories([cell for cell in dict.fromkeys(plain) if cell not in column.cat.categories])
        cells = pd.Series(pd.Categorical(plain, dtype=column.dtype))
    elif pd.api.types.is_numeric_dtype(column.dtype):
        cells = _cast_if_exact(pd.Series(further.as_values()), column.dtype)
        if further.numbers is None and not (pd.api.types.is_numeric_dtype(cells) and _reads_back(cells, further)):
            column, cells = (pd.Series(texts, dtype=object) for texts in (_as_texts(column), list(further.texts)))
    elif further.numbers is None and not _holds_text(column):
        column, cells = (pd.Series(texts, dtype=object) for texts in (_as_texts(column), list(further.texts)))
    else:
        cells = pd.Series(_in_the_kind_of(column, further), dtype=column.dtype)
    return pd.concat([column, cells])


def _take_pandas(column: Any, sources: Integers) -> Any:
    """Some cells of a column; null for `NO_ROW`, in a type that can hold it and all other cells as they are."""
    import pandas as pd

    nulls = sources == NO_ROW
    cells = column.take(np.where(nulls, 0, sources))
    if not nulls.any():
        return cells
    if cells.dtype == object:
        objects = cells.to_numpy(copy=True)
        objects[nulls] = None
        return pd.Series(objects, index=cells.index, name=cells.name, dtype=object)
    is_plain = isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iub"
    return (cells.convert_dtypes() if is_plain else cells).mask(nulls)


def _take_or_null(column: Any, sources: Integers) -> Any:
    """Some cells of a pyarrow column; null for `NO_ROW`."""
    import pyarrow as pa

    nulls = sources == NO_ROW
    return take_rows(column, pa.array(sources, mask=nulls) if nulls.any() else sources)


def _moments_for_pandas(column: Any, further: NewCells) -> Any:
    """Dates in the type of a column of dates, times or durations; None for a column of texts."""
    import pandas as pd
    import polars as pl

    if _holds_text(column):
        return None
    own = as_series(column)
    own = own if own.dtype.is_temporal() else pl.Series(column.dropna().tolist())
    cells = further.as_moments(own.dtype)
    if column.dtype == object:
        return pd.Series(cells.to_list(), dtype=object)
    return pd.Series(cells.to_pandas() if _is_zoned(own.dtype) else cells.to_numpy()).astype(column.dtype)


def _is_zoned(dtype: Any) -> bool:
    return getattr(dtype, "time_zone", None) is not None


def _holds_text(column: Any) -> bool:
    present = column.dropna()
    return bool(present.empty or isinstance(present.iloc[0], str))


def _plain(column: Any) -> Any:
    """See `plain_floats`; among Python objects, all missing ones of a code become the same object."""
    import pandas as pd

    dtype, array = column.dtype, column.array
    if isinstance(dtype, pd.ArrowDtype):
        array = type(array)(plain_floats_arrow(array.__arrow_array__()))
    elif pd.api.types.is_object_dtype(dtype):
        one_of = {NAN: math.nan, NAT: pd.NaT}
        array = np.empty(len(column), dtype=object)
        array[:] = [cell if type(cell) is str else _plain_object(cell, one_of) for cell in column]
    elif isinstance(array, pd.arrays.FloatingArray):
        array = type(array)(_plain_numbers(array.to_numpy(dtype.numpy_dtype, na_value=0.0)), array.isna())
    elif pd.api.types.is_float_dtype(dtype):
        array = _plain_numbers(column.to_numpy())
    else:
        return column
    return pd.Series(array, column.index, dtype, column.name)


def _plain_object(cell: Any, one_of: Mapping[Code, Any]) -> Any:
    """A cell, or the common object of its missing code."""
    if isinstance(cell, float | np.floating) and not math.isnan(cell):
        return cell + 0.0
    return one_of.get(object_code(cell), cell)


def _plain_numbers(numbers: Reals) -> Reals:
    plain = numbers + numbers.dtype.type(0.0)
    plain[np.isnan(plain)] = np.nan
    return plain


def _cast_if_exact(cells: Any, dtype: Any) -> Any:
    """Cells in the type of a column if it can hold them, otherwise unchanged: pandas would let them overflow."""
    try:
        fitting = cells.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return cells
    overflowed = dtype.kind in "iu" and not (fitting.astype(cells.dtype) == cells).all()
    return cells if overflowed else fitting


def _in_the_kind_of(column: Any, further: NewCells) -> list[Any]:
    """Texts for a column of texts, numbers for a column of Python objects that are numbers."""
    return further.as_texts().to_list() if _holds_text(column) else list(further.as_values())


def longer_arrow(column: Any, further: NewCells) -> Any:
    """A pyarrow column with new values appended: see `longer_polars`."""
    import pyarrow as pa

    dtype = column.type
    dictionary = pa.types.is_dictionary(dtype)
    value_type = dtype.value_type if dictionary else dtype
    is_text = pa.types.is_string(value_type) or pa.types.is_large_string(value_type)
    is_text = is_text or pa.types.is_string_view(value_type)
    if further.moments is not None and pa.types.is_temporal(dtype):
        cells = further.as_moments(as_series(column.slice(0, 0)).dtype).to_arrow().cast(dtype)
        return pa.chunked_array([*column.chunks, cells], type=dtype)
    cells = pa.array(further.as_texts().to_list() if is_text else further.as_values())
    fitting = None
    with suppress(pa.ArrowInvalid):
        fitting = cells.cast(value_type)
    if fitting is not None and (is_text or _reads_back(fitting, further)):
        cells = fitting
    else:
        own = pa.chunked_array([_as_texts(column)]) if further.numbers is None else column
        column, dtype, dictionary = own.cast(cells.type), cells.type, False
    chunks = [*column.chunks, cells.dictionary_encode().cast(dtype) if dictionary else cells]
    return pa.chunked_array(chunks, type=dtype)


def gather_values(values: pl.Series, codes: Ints) -> pl.Series:
    """The value of each code, null for −1, gathered in threads."""
    import polars as pl

    parts = slices(0, codes.size, CODES_AT_ONCE)
    chunks: dict[int, pl.Series] = {}

    def look_up(part: slice) -> None:
        own = codes[part]
        places = pl.Series(own.view(np.uint32))
        chunks[part.start] = values.gather(places if own.min(initial=0) >= 0 else places.set(pl.Series(own < 0), None))

    in_threads(look_up, parts)
    return pl.concat([chunks[part.start] for part in parts]) if parts else values.clear()


def codes_in_order(codes: Ints, order: Integers) -> Ints:
    """The codes in another order, in threads."""
    from anonto.encoding.row_kernels import pick

    out = np.empty(order.size, dtype=np.int32)

    def fill(part: slice) -> None:
        pick(codes, order[part], out[part])

    in_threads(fill, slices(0, order.size, CODES_AT_ONCE))
    return out


def is_spark_frame(table: Any) -> bool:
    """Return whether a table is a Spark DataFrame, without importing Spark."""
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def _library(table: Any) -> str:
    """The library of a table, without importing one that the caller does not use."""
    kind = type(table)
    root = kind.__module__.partition(".")[0]
    if (root, kind.__name__) in {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}:
        return root
    raise not_a_frame(f"{root}.{kind.__name__}" if root != "builtins" else kind.__name__)


def mixed_types(column: str, n_values: int) -> ColumnError:
    """Cells of different types with the same text."""
    return ColumnError(
        f"Column {clip(column)!r} mixes types: {count_of(n_values, 'value')} {'has' if n_values == 1 else 'have'} "
        "the same text in different types, such as a number and its digits as text; convert the column to one type."
    )


def not_a_frame(found: str) -> InputError:
    """Something that is not a table."""
    return InputError(f"A {found} is not a table; give a path or a pandas, polars or pyarrow table.")


def columns_of(table: Any) -> dict[str, Any]:
    """All columns of a table or mapping by name, in the caller's library."""
    if isinstance(table, Mapping):
        names, columns = list(table), list(table.values())
    else:
        frame = _frame(table)
        names, columns = frame.columns, [column.to_native() for column in frame.iter_columns()]
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise duplicate_columns(_repeated_names(texts))
    return dict(zip(texts, columns, strict=True))


def _frame(table: Any) -> Any:
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise duplicate_columns(_repeated_names([str(name) for name in table.columns])) from None
    if not isinstance(frame, nw.DataFrame):
        must = "a pandas, polars or pyarrow table, or a mapping of names to columns"
        raise ParameterError("table", must, type(table).__name__)
    return frame


def _repeated_names(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def duplicate_columns(names: Sequence[str]) -> ColumnError:
    """Several columns of the same name."""
    return ColumnError(
        f"The table has more than one column named {quote_names(names)}; give every column its own name."
    )
