"""One column out of a table file, as text: codes keep their zeros, empty cells are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.table.reading import read_table

if TYPE_CHECKING:
    import os

    import polars as pl


def read_text_column(path: str | os.PathLike[str], name: str, na: tuple[str, ...] = ()) -> pl.Series:
    """Read one column of a table in any format.

    Args:
        path: The table.
        name: The column.
        na: Texts that mean missing, besides the empty cell and what the file itself declares as missing.
    """
    import polars as pl

    from anonto.table.series import as_text_series

    cells = as_text_series(read_table(path, names=[name]).column(name)).cast(pl.String)
    missing = cells.is_in(["", *na])
    return cells.set(missing.fill_null(value=False), None)
