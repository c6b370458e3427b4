"""The caller's table at the door: its columns come in as polars Series, the same kind of table goes out.

Cells that change are taken from another row of the caller's own column, so that dtypes, time zones and the caller's own
kind of missing value stay as they were. The caller's table is never written to.
"""

from __future__ import annotations

import math
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import CellTypeError, DuplicateColumnError, MixedCellsError, TableTypeError
from anonto.table.arrow_columns import moving, picked, plain_floats_arrow
from anonto.table.columns import encode
from anonto.table.leftovers import without_leftovers
from anonto.table.missing_codes import NAN, NAT, object_code
from anonto.table.mixed_cells import ambiguous_values
from anonto.table.series import as_series, as_text_series
from anonto.table.table import without_declared, without_letters
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.columns import Column
    from anonto.table.missing_codes import Code
    from anonto.table.new_cells import NewCells
    from anonto.table.table import Origin

    Rows = NDArray[np.integer]

CODES_AT_ONCE = 1 << 18


class Door:
    """A table in the caller's own library."""

    def __init__(
        self,
        table: Any,
        names: Sequence[str] | None = None,
        n_rows: int | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Take a table, with the file that it was read from if there is one.

        If some of its columns are elsewhere: the names of all, and how many rows they have.
        """
        self.table, self.origin = table, origin
        self.library = _library(table)
        names = [str(name) for name in (self._names() if names is None else names)]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise DuplicateColumnError(repeated)
        self.names = names
        own_rows = int(table.num_rows) if self.library == "pyarrow" else len(table)
        self._n_rows = own_rows if n_rows is None else n_rows

    def __len__(self) -> int:
        return self._n_rows

    def series(self, name: str) -> pl.Series:
        """One column as a polars Series, with what its file declares as missing as missing."""
        column = self._column(name)
        if n_ambiguous := ambiguous_values(column):
            raise MixedCellsError(name, n_ambiguous)
        try:
            cells = as_series(column).alias(name)
        except CellTypeError as error:
            raise error.of(name) from None
        return cells if self.origin is None else without_declared(cells, self.origin)

    def encoded(self, name: str) -> Column:
        """One column as codes."""
        return encode(self.series(name))

    def native(self, name: str) -> Any:
        """One column of the caller's own kind, as it is."""
        return self._column(name)

    def replacing(self, name: str, column: Any) -> Door:
        """The table with another column of the caller's own kind in place of one."""
        other = copy(self)
        other.replace(name, column)
        return other

    def replace(self, name: str, column: Any) -> None:
        """Take another column of the caller's own kind in place of one; the caller's table keeps its own."""
        place = self.names.index(name)
        if self.library == "pyarrow":
            self.table = self.table.set_column(place, self.table.schema.field(place), column)
        elif self.library == "pandas":
            self.table = self.table.copy(deep=False)
            self.table.isetitem(place, column)
        else:
            self.table = self.table.with_columns(column.alias(name))

    def hold_as_text(self, names: Sequence[str]) -> None:
        """Take texts in place of numbers and other cells, where the cells decided the type of the column.

        They do in Excel and in a table in memory; Parquet, SPSS, Stata and SAS declare the type of a column.
        """
        import polars as pl

        if self.origin is not None and self.origin.format != "excel":
            return
        for name in names:
            if name not in self.names or _is_text(self._column(name), self.library):
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

    def with_cells(self, names: Sequence[str], cells: Mapping[str, pl.Series], rows: Rows | None) -> pl.DataFrame:
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
        self, names: Sequence[str], sources: Mapping[str, Rows], further: Mapping[str, NewCells], rows: Rows | None
    ) -> Any:
        """A pandas or pyarrow table in which some columns take their cells from other rows.

        Args:
            names: The columns that stay.
            sources: For such a column the row that each cell is taken from.
            further: Cells that no row has: their numbers follow those of the rows.
            rows: The rows of the other columns, in order; None for all.
        """
        if self.library == "pandas":
            return self._with_rows_pandas(names, sources, further, rows)
        columns = {}
        for name in names:
            column = self._column(name)
            with moving(name, column.type):
                column = longer_arrow(column, further[name]) if name in further else column
                cells = picked(column, sources.get(name, np.arange(len(self)) if rows is None else rows))
                columns[name] = plain_floats_arrow(cells) if name in sources else cells
        return self._arrow(columns)

    def released(self, table: Any, scales: Mapping[str, Sequence[str]]) -> Any:
        """A table with new cells, ready to be handed out: see `without_leftovers`."""
        table = without_letters(table, self.origin) if self.library == "polars" else table
        return without_leftovers(table, self.library, scales)

    def forget(self, name: str) -> None:
        """Let go of a column whose new cells are known, to make room; only for a table that nobody else holds."""
        self.table = self.table.drop(name)

    def _with_rows_pandas(
        self, names: Sequence[str], sources: Mapping[str, Rows], further: Mapping[str, NewCells], rows: Rows | None
    ) -> Any:
        out = self.table.iloc[:, [self.names.index(name) for name in names]]
        out = out.copy() if rows is None else out.iloc[rows]
        for place, name in enumerate(names):
            if name in sources:
                column = self._column(name)
                column = _longer_pandas(column, further[name]) if name in further else column
                column = _plain(column.take(sources[name]))
                column.index = out.index
                out.isetitem(place, column)
        return out

    def _names(self) -> Sequence[Any]:
        names: Sequence[Any] = self.table.column_names if self.library == "pyarrow" else list(self.table.columns)
        return names

    def _column(self, name: str) -> Any:
        place = self.names.index(name)
        if self.library == "pandas":
            return self.table.iloc[:, place]
        return self.table.column(place) if self.library == "pyarrow" else self.table[name]

    def _arrow(self, columns: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        own = [self.table.schema.field(self.names.index(name)) for name in columns]
        fields = [pa.field(of.name, one.type, of.nullable) for of, one in zip(own, columns.values(), strict=True)]
        return pa.table(list(columns.values()), schema=pa.schema(fields))


def _is_text(column: Any, library: str) -> bool:
    """Whether a column of a library holds texts, or categories that are texts."""
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
    """A column with new values behind its own, of the same type where that can hold them; else they become text.

    A column of numbers holds the text of a concept only if it reads back: 250.10 and 250.1 are two codes.
    """
    import polars as pl

    dtype = values.dtype
    if isinstance(dtype, pl.Enum):
        spelt = further.spelt()
        wider = pl.Enum(pl.concat([dtype.categories, spelt]).unique(maintain_order=True))
        return pl.concat([values.cast(wider), spelt.cast(wider)])
    cells = further.spelt() if dtype in (pl.String, pl.Categorical) else pl.Series(further.plain())
    cells = cells.alias(values.name)
    fitting = cells.cast(dtype, strict=False)
    if not fitting.null_count() and _reads_back(fitting, further):
        return pl.concat([values, fitting])
    own = as_text_series(values) if further.numbers is None else values
    return pl.concat([own.cast(cells.dtype), cells])


def _reads_back(cells: Any, further: NewCells) -> bool:
    """Whether cells of another type than text still have the texts of concepts."""
    return further.numbers is not None or as_text_series(cells).to_list() == list(further.texts)


def _as_texts(column: Any) -> list[str | None]:
    return as_text_series(column).to_list()


def _longer_pandas(column: Any, further: NewCells) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        if further.numbers is None and pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
            column = column.cat.rename_categories(_as_texts(column.cat.categories.tolist()))
        plain = list(further.plain())
        column = column.cat.add_categories([cell for cell in dict.fromkeys(plain) if cell not in column.cat.categories])
        cells = pd.Series(pd.Categorical(plain, dtype=column.dtype))
    elif pd.api.types.is_numeric_dtype(column.dtype):
        cells = _fitting(pd.Series(further.plain()), column.dtype)
        if further.numbers is None and not (pd.api.types.is_numeric_dtype(cells) and _reads_back(cells, further)):
            column, cells = (pd.Series(texts, dtype=object) for texts in (_as_texts(column), list(further.texts)))
    elif further.numbers is None and not _holds_text(column):
        column, cells = (pd.Series(texts, dtype=object) for texts in (_as_texts(column), list(further.texts)))
    else:
        cells = pd.Series(_in_the_kind_of(column, further), dtype=column.dtype)
    return pd.concat([column, cells])


def _holds_text(column: Any) -> bool:
    present = column.dropna()
    return bool(present.empty or isinstance(present.iloc[0], str))


def _plain(column: Any) -> Any:
    """See `plain_floats`; of Python objects, the missing ones that have one code."""
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
    """A cell, or the one cell that stands for all with its missing code."""
    if isinstance(cell, float | np.floating) and not math.isnan(cell):
        return cell + 0.0
    return one_of.get(object_code(cell), cell)


def _plain_numbers(numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    plain = numbers + numbers.dtype.type(0.0)
    plain[np.isnan(plain)] = np.nan
    return plain


def _fitting(cells: Any, dtype: Any) -> Any:
    """Cells in the type of a column if that can hold them: pandas itself lets them overflow; else as they are."""
    try:
        fitting = cells.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return cells
    overflowed = dtype.kind in "iu" and not (fitting.astype(cells.dtype) == cells).all()
    return cells if overflowed else fitting


def _in_the_kind_of(column: Any, further: NewCells) -> list[Any]:
    """Texts for a column of texts, plain numbers for a column of Python objects that are numbers."""
    return further.spelt().to_list() if _holds_text(column) else list(further.plain())


def longer_arrow(column: Any, further: NewCells) -> Any:
    """The same for a column of pyarrow."""
    import pyarrow as pa

    dtype = column.type
    dictionary = pa.types.is_dictionary(dtype)
    value_type = dtype.value_type if dictionary else dtype
    is_text = pa.types.is_string(value_type) or pa.types.is_large_string(value_type)
    is_text = is_text or pa.types.is_string_view(value_type)
    cells = pa.array(further.spelt().to_list() if is_text else further.plain())
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


def gathered(values: pl.Series, codes: NDArray[np.int32]) -> pl.Series:
    """The value of each code, in chunks by several threads; null for −1."""
    import polars as pl

    parts = slices(0, codes.size, CODES_AT_ONCE)
    chunks: dict[int, pl.Series] = {}

    def look_up(part: slice) -> None:
        own = codes[part]
        places = pl.Series(own.view(np.uint32))
        chunks[part.start] = values.gather(places if own.min(initial=0) >= 0 else places.set(pl.Series(own < 0), None))

    in_threads(look_up, parts)
    return pl.concat([chunks[part.start] for part in parts]) if parts else values.clear()


def codes_in_order(codes: NDArray[np.int32], order: Rows) -> NDArray[np.int32]:
    """The codes in another order, in threads."""
    from anonto.table.row_kernels import pick

    out = np.empty(order.size, dtype=np.int32)

    def fill(part: slice) -> None:
        pick(codes, order[part], out[part])

    in_threads(fill, slices(0, order.size, CODES_AT_ONCE))
    return out


def is_spark_frame(table: Any) -> bool:
    """Whether a table is a DataFrame of Spark, told without importing it."""
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def _library(table: Any) -> str:
    """Which library a table is of, told without importing any that the caller does not use."""
    kind = type(table)
    root = kind.__module__.partition(".")[0]
    if (root, kind.__name__) in {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}:
        return root
    raise TableTypeError(f"{root}.{kind.__name__}" if root != "builtins" else kind.__name__)
