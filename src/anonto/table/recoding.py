"""Missing cells of a table in memory: told apart by their codes, and given one code where the plan merges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.door import longer_arrow, longer_polars
from anonto.table.missing_codes import Recoded, by_name, code_of, declared_codes, missing_codes, released_code
from anonto.table.series import as_series, as_text_series

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.columns import Column
    from anonto.table.door import Door
    from anonto.table.missing_codes import MissingCodes
    from anonto.table.new_cells import NewCells

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.integer]


def missing_in(door: Door, name: str, column: Column, rows: Rows | None = None) -> MissingCodes | None:
    """The missing cells of a column told apart by their codes; None where there are none.

    Args:
        door: The table.
        name: Of the column.
        column: The same column, encoded.
        rows: The rows of the table that were encoded; None for all.
    """
    if not column.n_missing:
        return None
    cells = written(door, name)
    return missing_codes(cells if rows is None else cells.gather(rows), column.codes < 0)


def written(door: Door, name: str) -> pl.Series:
    """The cells of a column as they are, codes that mean missing included; those of pandas as objects if they are."""
    import polars as pl

    native = door.native(name)
    if door.library == "pandas" and native.dtype == object:
        return pl.Series(name, list(native), dtype=pl.Object)
    return as_series(native)


def merge_missing(
    door: Door, name: str, missing: MissingCodes, na: Sequence[str], rows: Rows | None = None
) -> Recoded | None:
    """Give the missing cells of a column the code that the plan or the file chooses; None where all have it.

    Args:
        door: The table, which gets the new column.
        name: Of the column.
        missing: The codes of its records.
        na: The texts that mean missing.
        rows: The rows of the table that are the records; None for all.
    """
    native = door.native(name)
    cell = released_code(_type_of(native, door.library), na, declared_codes(door.origin, name))
    own = missing.codes.index(code_of(cell)) if code_of(cell) in missing.codes else -2
    changes = (missing.of_records >= 0) & (missing.of_records != own)
    if not changes.any():
        return None
    flags = np.zeros(len(door), dtype=np.bool_)
    flags[slice(None) if rows is None else rows] = changes
    put = {"polars": _in_polars, "pandas": _in_pandas, "pyarrow": _in_arrow}[door.library]
    door.replace(name, put(native, flags, cell))
    counts = np.bincount(missing.of_records[changes], minlength=len(missing.codes)).tolist()
    replaced = {code: count for code, count in zip(missing.codes, counts, strict=True) if count}
    return Recoded(by_name(replaced, door.origin, name), changes)


def _type_of(native: Any, library: str) -> pl.DataType:
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
        return column.take(pa.array(places, mask=flags))
    return longer_arrow(column, cell).take(pa.array(np.where(flags, len(flags), places)))
