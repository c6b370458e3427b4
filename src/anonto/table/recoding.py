"""Missing cells of a table in memory: told apart by their codes, and given one code where the plan merges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.arrow_columns import picked
from anonto.table.door import longer_arrow, longer_polars
from anonto.table.missing_codes import missing_codes
from anonto.table.series import as_series, as_text_series

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.columns import Column
    from anonto.table.door import Door
    from anonto.table.missing_codes import MissingCodes
    from anonto.table.new_cells import NewCells

    Flags = NDArray[np.bool_]


def missing_in(door: Door, name: str, column: Column) -> MissingCodes | None:
    """The missing cells of a column told apart by their codes; None where there are none.

    Args:
        door: The table.
        name: Of the column.
        column: The same column, encoded.
    """
    return missing_codes(written(door, name), column.codes < 0) if column.n_missing else None


def written(door: Door, name: str) -> pl.Series:
    """The cells of a column as they are, codes that mean missing included; those of pandas as objects if they are."""
    import polars as pl

    native = door.native(name)
    if door.library == "pandas" and native.dtype == object:
        return pl.Series(name, list(native), dtype=pl.Object)
    return as_series(native)


def put_code(native: Any, library: str, flags: Flags, cell: NewCells | None) -> Any:
    """A column of a library with one code in some of its cells.

    Args:
        native: The column.
        library: Of the column.
        flags: Which cells get the code.
        cell: The code; None for a null.
    """
    return {"polars": _in_polars, "pandas": _in_pandas, "pyarrow": _in_arrow}[library](native, flags, cell)


def type_of(native: Any, library: str) -> pl.DataType:
    """The type of a column; Python objects that are no texts may be any number."""
    import polars as pl

    if library == "pandas" and native.dtype == object:
        present = native.dropna()
        return pl.String() if present.empty or isinstance(present.iloc[0], str) else pl.Float64()
    return as_series(native).dtype


def _in_polars(cells: pl.Series, flags: Flags, cell: NewCells | None) -> pl.Series:
    import polars as pl

    one = pl.Series(cells.name, [None], dtype=cells.dtype) if cell is None else longer_polars(cells.clear(), cell)
    return cells.zip_with(pl.Series(~flags), one.new_from_index(0, len(cells)))


def _in_pandas(column: Any, flags: Flags, cell: NewCells | None) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype) and cell is not None:
        categories = column.cat.categories
        place = as_text_series(categories.tolist()).to_list().index(cell.spelt()[0])
        return column.mask(flags, categories[place])
    if column.dtype == object:
        objects = column.to_numpy(copy=True)
        objects[flags] = None if cell is None else np.asarray(cell.plain()).tolist()[0]
        return pd.Series(objects, index=column.index, name=column.name, dtype=object)
    return column.mask(flags) if cell is None else column.mask(flags, cell.plain()[0])


def _in_arrow(column: Any, flags: Flags, cell: NewCells | None) -> Any:
    import pyarrow as pa

    places = np.arange(len(flags))
    if cell is None:
        return picked(column, pa.array(places, mask=flags))
    return picked(longer_arrow(column, cell), pa.array(np.where(flags, len(flags), places)))
