"""Missing cells of a table in memory: their codes, and one common code if the plan merges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.arrow_columns import take_rows
from anonto.encoding.frame_adapter import longer_arrow, longer_polars
from anonto.encoding.missing_codes import missing_codes
from anonto.encoding.series import as_series, as_text_series

if TYPE_CHECKING:
    import polars as pl

    from anonto.arrays import Bools
    from anonto.encoding.columns import Column
    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.encoding.missing_codes import MissingCodes
    from anonto.encoding.new_cells import NewCells


def missing_in(adapter: FrameAdapter, name: str, column: Column) -> MissingCodes | None:
    """The missing cells of a column by code; None if there are none. ``column`` is the same column, encoded."""
    return missing_codes(raw_cells(adapter, name), column.codes < 0) if column.n_missing else None


def raw_cells(adapter: FrameAdapter, name: str) -> pl.Series:
    """The cells of a column with their missing codes; objects of pandas stay objects."""
    import polars as pl

    native = adapter.native(name)
    if adapter.library == "pandas" and native.dtype == object:
        return pl.Series(name, list(native), dtype=pl.Object)
    return as_series(native)


def put_code(native: Any, library: str, flags: Bools, cell: NewCells | None) -> Any:
    """A column of a library with one code, or a null, in the flagged cells."""
    return {"polars": _in_polars, "pandas": _in_pandas, "pyarrow": _in_arrow}[library](native, flags, cell)


def type_of(native: Any, library: str) -> pl.DataType:
    """The type of a column; Python objects that are not texts count as floats."""
    import polars as pl

    if library == "pandas" and native.dtype == object:
        present = native.dropna()
        return pl.String() if present.empty or isinstance(present.iloc[0], str) else pl.Float64()
    return as_series(native).dtype


def _in_polars(cells: pl.Series, flags: Bools, cell: NewCells | None) -> pl.Series:
    import polars as pl

    one = pl.Series(cells.name, [None], dtype=cells.dtype) if cell is None else longer_polars(cells.clear(), cell)
    return cells.zip_with(pl.Series(~flags), one.new_from_index(0, len(cells)))


def _in_pandas(column: Any, flags: Bools, cell: NewCells | None) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype) and cell is not None:
        categories = column.cat.categories
        place = as_text_series(categories.tolist()).to_list().index(cell.as_texts()[0])
        return column.mask(flags, categories[place])
    if column.dtype == object:
        objects = column.to_numpy(copy=True)
        objects[flags] = None if cell is None else np.asarray(cell.as_values()).tolist()[0]
        return pd.Series(objects, index=column.index, name=column.name, dtype=object)
    return column.mask(flags) if cell is None else column.mask(flags, cell.as_values()[0])


def _in_arrow(column: Any, flags: Bools, cell: NewCells | None) -> Any:
    import pyarrow as pa

    places = np.arange(len(flags))
    if cell is None:
        return take_rows(column, pa.array(places, mask=flags))
    return take_rows(longer_arrow(column, cell), pa.array(np.where(flags, len(flags), places)))
