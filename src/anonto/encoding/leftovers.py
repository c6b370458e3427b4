"""A released table without traces of the cells that were masked or dropped.

Categories that no cell has any more are removed. The others get an order that does not depend on the records: the order
of an ordinal column in the plan, the declared order of ordered pandas and Arrow categories, or else sorted order.
Metadata and attributes are removed, and so are buffers that still hold cells of other rows and values under missing
cells: redacting a cell often just marks it as missing.
"""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.arrow_columns import refuse_unmovable, with_used_values, without_hidden
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    Scales = Mapping[str, Sequence[str]]

ROWS_AT_ONCE = 1 << 18


def without_leftovers(table: Any, library: str, scales: Scales) -> Any:
    """A new table of a library with the same cells.

    Args:
        table: The masked table; the caller holds no other reference to it.
        library: Its library: pandas, polars or pyarrow.
        scales: The values of ordinal columns, lowest first.
    """
    if library == "pandas":
        return _pandas(table, scales)
    if library == "pyarrow":
        return _arrow(table, scales)
    import polars as pl

    table = with_categories(table, used_categories([table], scales))
    return pl.DataFrame([_compact(_bare(column)) for column in table.iter_columns()]) if table.width else table


def _places_in_order(categories: Sequence[Any], order: Sequence[str] = ()) -> list[int]:
    """The places of categories in the order of their column, or sorted if it has none."""
    rank = {text: place for place, text in enumerate(order)}
    places = range(len(categories))
    try:
        return sorted(places, key=lambda place: (rank.get(str(categories[place]), len(rank)), categories[place]))
    except TypeError:
        return sorted(places, key=lambda place: (type(categories[place]).__name__, str(categories[place])))


def _in_order(categories: Sequence[Any], order: Sequence[str] = ()) -> list[Any]:
    return [categories[place] for place in _places_in_order(categories, order)]


# ------------------------------------------------------------------------------------------------ polars


def used_categories(frames: Iterable[pl.DataFrame], scales: Scales) -> dict[str, pl.DataType]:
    """The types of columns with fixed categories, restricted to categories that occur in some frame."""
    found: dict[str, set[str]] = {}
    types: dict[str, pl.DataType] = {}
    for frame in frames:
        types = types or {name: dtype for name, dtype in frame.schema.items() if has_fixed_categories(dtype)}
        for name in types:
            found.setdefault(name, set()).update(_used_values(frame[name]))
    return {name: _restrict(dtype, found[name], scales.get(name, ())) for name, dtype in types.items()}


def with_categories(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A frame with the types of `used_categories`; arrays and maps are cast by way of lists."""
    steps = [
        {name: _in_lists(frame.schema[name]) for name in types},
        {n: _in_lists(dtype) for n, dtype in types.items()},
    ]
    for step in (*steps, types) if types else ():
        frame = frame.cast(step)  # type: ignore[arg-type]
    return frame


def has_fixed_categories(dtype: Any) -> bool:
    """Return whether a type, or one inside it, lists the values that its cells may have."""
    import polars as pl

    dtype = _in_lists(dtype)
    if isinstance(dtype, pl.Struct):
        return any(has_fixed_categories(field.dtype) for field in dtype.fields)
    return has_fixed_categories(dtype.inner) if isinstance(dtype, pl.List) else isinstance(dtype, pl.Enum)


def _used_values(cells: pl.Series) -> set[str]:
    """The categories that cells have, also inside lists and structs."""
    import polars as pl

    cells = cells.cast(_in_lists(cells.dtype))
    if isinstance(cells.dtype, pl.Struct):
        return set().union(*(_used_values(cells.struct.field(field.name)) for field in cells.dtype.fields))
    if isinstance(cells.dtype, pl.List):
        return _used_values(cells.explode())
    return set(cells.unique().drop_nulls().to_list()) if isinstance(cells.dtype, pl.Enum) else set()


def _restrict(dtype: Any, used: set[str], order: Sequence[str]) -> Any:
    """A type restricted to some of its categories."""
    import polars as pl

    if isinstance(dtype, pl.Enum):
        return pl.Enum(_in_order([one for one in dtype.categories if one in used], order))
    return _rebuild(dtype, lambda inner: _restrict(inner, used, order))


def _in_lists(dtype: Any) -> Any:
    """A type with lists in place of arrays and maps."""
    import polars as pl

    if isinstance(dtype, pl.Array):
        return pl.List(_in_lists(dtype.inner))
    if _is_map(dtype):
        return pl.List(pl.Struct({"key": _in_lists(dtype.key), "value": _in_lists(dtype.value)}))
    return _rebuild(dtype, _in_lists)


def _rebuild(dtype: Any, change: Callable[[Any], Any]) -> Any:
    """A nested type with its inner types changed."""
    import polars as pl

    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: change(field.dtype) for field in dtype.fields})
    if isinstance(dtype, pl.List):
        return pl.List(change(dtype.inner))
    if _is_map(dtype):
        return type(dtype)(change(dtype.key), change(dtype.value))
    return pl.Array(change(dtype.inner), dtype.size) if isinstance(dtype, pl.Array) else dtype


def _is_map(dtype: Any) -> bool:
    """Return whether a type is a map, which older versions of polars do not have."""
    import polars as pl

    return hasattr(pl, "Map") and isinstance(dtype, pl.Map)


def _bare(column: pl.Series) -> pl.Series:
    """A column with no values under its nulls; those inside lists and structs are left to `_compact`."""
    import polars as pl

    if not column.null_count() or column.dtype == pl.Object:
        return column
    rows = pl.int_range(len(column), dtype=pl.UInt32, eager=True)
    return column.gather(rows.set(column.is_null(), None))


def _compact(column: pl.Series) -> pl.Series:
    """A column whose buffers only hold the texts of its cells; after a selection of rows they still hold all texts.

    Lists, arrays, structs and maps are copied by way of Parquet, which does not store values under nulls.
    """
    import polars as pl

    dtype = column.dtype
    if dtype not in (pl.String, pl.Binary) and not dtype.is_nested():
        return column
    in_parquet = dtype.is_nested() and not _has_empty_struct(dtype)
    copies: dict[int, pl.Series] = {}

    def copy(part: slice) -> None:
        written = io.BytesIO()
        cells = column[part].to_frame()
        if in_parquet:
            cells.write_parquet(written, compression="uncompressed", statistics=False)
        else:
            cells.write_ipc(written, compat_level=pl.CompatLevel.oldest())
        written.seek(0)
        copied = pl.read_parquet(written) if in_parquet else pl.read_ipc(written)
        copies[part.start] = copied.to_series().cast(dtype)

    parts = slices(0, len(column), ROWS_AT_ONCE)
    in_threads(copy, parts)
    return pl.concat([copies[part.start] for part in parts]) if parts else column.clear()


def _has_empty_struct(dtype: Any) -> bool:
    """Return whether a type contains a struct without fields, which Parquet cannot store."""
    import polars as pl

    dtype = _in_lists(dtype)
    if isinstance(dtype, pl.Struct):
        return not dtype.fields or any(_has_empty_struct(field.dtype) for field in dtype.fields)
    return isinstance(dtype, pl.List) and _has_empty_struct(dtype.inner)


# ------------------------------------------------------------------------------------------------ pandas


def _pandas(table: Any, scales: Scales) -> Any:
    import pandas as pd

    for place, name in enumerate(table.columns):
        column = table.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype):
            used = column.cat.remove_unused_categories()
            if not used.dtype.ordered:
                used = used.cat.set_categories(_in_order(used.cat.categories.tolist(), scales.get(str(name), ())))
            table.isetitem(place, used)
        elif (bare := _bare_array(str(name), column.array, scales.get(str(name), ()))) is not None:
            table.isetitem(place, bare)
    table.index, table.columns = _without_unused(table.index), _without_unused(table.columns)
    table.attrs = {}
    return table


def _bare_array(name: str, array: Any, order: Sequence[str] = ()) -> Any:
    """An array with no values under its missing cells; None if it has none there, like arrays of NumPy."""
    import pandas as pd

    arrays = pd.arrays
    if isinstance(array, arrays.IntegerArray | arrays.FloatingArray | arrays.BooleanArray):
        missing = array.isna()
        kind = getattr(array.dtype, "numpy_dtype", np.dtype(np.bool_))
        return type(array)(array.to_numpy(kind, na_value=kind.type(0)), missing) if missing.any() else None
    if isinstance(array, arrays.ArrowExtensionArray):
        cells = _bare_arrow(name, array.__arrow_array__(), order)
        return pd.array(cells, pd.ArrowDtype(cells.type) if isinstance(array.dtype, pd.ArrowDtype) else array.dtype)
    return None


def _without_unused(index: Any) -> Any:
    """An index without values of dropped rows or values under missing ones."""
    import pandas as pd

    if isinstance(index, pd.MultiIndex):
        left = index.remove_unused_levels()
        return left.set_levels([_without_unused(level) for level in left.levels])
    if isinstance(index, pd.CategoricalIndex):
        return index.remove_unused_categories()
    bare = _bare_array(str(index.name), index.array)
    return index if bare is None else pd.Index(bare, name=index.name)


# ------------------------------------------------------------------------------------------------ pyarrow


def _arrow(table: Any, scales: Scales) -> Any:
    import pyarrow as pa

    named = zip(table.column_names, table.columns, strict=True)
    columns = [_bare_arrow(name, column, scales.get(name, ())) for name, column in named]
    fields = [pa.field(of.name, one.type, of.nullable) for of, one in zip(table.schema, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields))


def _bare_arrow(name: str, column: Any, order: Sequence[str]) -> Any:
    """A column in new buffers that only hold values of its cells."""
    with refuse_unmovable(name, column.type):
        return without_hidden(with_used_values(column, partial(_places_in_order, order=order)))
