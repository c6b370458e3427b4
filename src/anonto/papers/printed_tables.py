"""The tables as the papers print them, transcribed; slips of the printed text that the papers' own sums correct are.

Of the equi-width paper's Table 1 the column `q_reconstructed` is ours: the number that gives the printed one.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def printed_table(name: str) -> pl.DataFrame:
    """A printed table by its name, such as ``rank-swapping-table-2``."""
    import polars as pl

    return pl.read_csv(files("anonto.papers").joinpath("printed", f"{name}.csv").read_bytes())
