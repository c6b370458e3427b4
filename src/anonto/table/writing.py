"""Tables to files: the format by the output's ending, the dialect and the labels by where the table came from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import ChangedTypesWarning, LostLabelsWarning, UnknownSuffixError
from anonto.table.beside import written_beside
from anonto.table.table import without_letters

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator

    import polars as pl

    from anonto.table.table import Origin, Table, TableFormat

ENDINGS: dict[str, TableFormat] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".txt": "csv",
    ".txt.gz": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".sav": "spss",
    ".zsav": "spss",
    ".dta": "stata",
    ".xpt": "sas",
}
_SPOKEN = {"csv": "CSV", "parquet": "Parquet", "excel": "Excel", "spss": "SPSS", "stata": "Stata", "sas": "SAS XPORT"}


def write_table(table: Table, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a table; its file appears under its name when it is whole, or not at all.

    Args:
        table: The table. Its origin gives the dialect or the labels where the output is of the same format.
        path: The output; its ending tells the format.
        force: Whether an existing file is replaced.
    """
    output = Path(path)
    output_format(output)
    with written_beside(output, force=force) as beside:
        write_to(beside, table, output.name)


def write_to(beside: Path, table: Table, name: str) -> None:
    """Write a table to a path whose file will get another name, by which the format goes."""
    found = output_format(name)
    if found != "stata":
        table = replace(table, frame=without_letters(table.frame, table.origin))
    _write(table, found, beside, name)
    _warn_of_lost_labels(table, found, name)


def sink_in_parts(parts: Callable[[], Iterator[pl.DataFrame]], origin: Origin, path: Path, name: str) -> None:
    """Write stretches of a table to a path as they are made.

    Args:
        parts: Starts to make them.
        origin: Tells the dialect of CSV.
        path: Where they are written to.
        name: Tells the format, CSV or Parquet.
    """
    from anonto.table.csv_files import sink_csv
    from anonto.table.parquet_files import sink_parquet

    if output_format(name) == "csv":
        sink_csv(parts, origin, path, name)
    else:
        sink_parquet(parts, path, name)


def output_format(path: str | os.PathLike[str]) -> TableFormat:
    """The format that a file's ending asks for."""
    name = Path(path).name
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if name.lower().endswith(e)), None)
    if ending is None:
        raise UnknownSuffixError(name, ENDINGS)
    return ENDINGS[ending]


def _write(table: Table, found: TableFormat, beside: Path, name: str) -> None:
    if found == "csv":
        from anonto.table.csv_files import write_csv

        write_csv(table, beside, name)
    elif found == "parquet":
        from anonto.table.parquet_files import write_parquet

        write_parquet(table, beside, name)
    elif found == "excel":
        from anonto.table.excel_files import write_excel

        write_excel(table, beside, name)
    else:
        from anonto.table.stat_writing import write_stat

        write_stat(table, found, beside, name)


def warn_of_changed_types(origin: Origin | None, columns: Collection[str], name: str) -> None:
    """Warn of columns that a Parquet file gets with another type than they came with."""
    changed = [column for column in (origin.retyped if origin else ()) if column in columns]
    if changed and output_format(name) == "parquet":
        warnings.warn(ChangedTypesWarning(name, changed), stacklevel=3)


def _warn_of_lost_labels(table: Table, found: TableFormat, name: str) -> None:
    labels = table.origin.labels
    if labels is None or found == table.origin.format != "sas":
        return
    if n_labelled := len(labels.labelled(table.frame.columns)):
        warnings.warn(LostLabelsWarning(name, _SPOKEN[found], n_labelled), stacklevel=4)
