"""Tables to files: the ending selects the format, and the origin of the table the dialect and labels."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoWarning, FileError
from anonto.io.atomic_write import atomic_write
from anonto.io.table import without_letters
from anonto.wording import count_of, list_names, quote_names

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator

    import polars as pl

    from anonto.io.table import Origin, Table, TableFormat

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
    """Write a table; its file appears complete or not at all.

    Args:
        table: The table. Its origin has the dialect or the labels if the output has the same format.
        path: The output; its ending selects the format.
        force: Whether an existing file is replaced.
    """
    output = Path(path)
    output_format(output)
    with atomic_write(output, force=force) as temporary:
        write_to(temporary, table, output.name)


def write_to(temporary: Path, table: Table, name: str) -> None:
    """Write a table to a temporary path in the format of its final name."""
    found = output_format(name)
    if found != "stata":
        table = replace(table, frame=without_letters(table.frame, table.origin))
    _write(table, found, temporary, name)
    _warn_of_lost_labels(table, found, name)


def sink_in_parts(parts: Callable[[], Iterator[pl.DataFrame]], origin: Origin, path: Path, name: str) -> None:
    """Write batches of a table as CSV or Parquet, by the ending of ``name``, to a temporary path.

    ``parts`` starts to make the batches; ``origin`` has the dialect of CSV.
    """
    from anonto.io.csv_files import sink_csv
    from anonto.io.parquet_files import sink_parquet

    if output_format(name) == "csv":
        sink_csv(parts, origin, path, name)
    else:
        sink_parquet(parts, path, name)


def output_format(path: str | os.PathLike[str]) -> TableFormat:
    """The format for a file's ending."""
    name = Path(path).name
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if name.lower().endswith(e)), None)
    if ending is None:
        raise unknown_suffix(name, ENDINGS)
    return ENDINGS[ending]


def _write(table: Table, found: TableFormat, temporary: Path, name: str) -> None:
    if found in {"csv", "parquet"}:
        sink_in_parts(lambda: iter([table.frame]), table.origin, temporary, name)
    elif found == "excel":
        from anonto.io.excel_files import write_excel

        write_excel(table, temporary, name)
    else:
        from anonto.io.stat_files import write_stat

        write_stat(table, found, temporary, name)


def warn_of_changed_types(origin: Origin | None, columns: Collection[str], name: str) -> None:
    """Warn of columns that are written to a Parquet file with another type than they were read with."""
    changed = [column for column in (origin.retyped if origin else ()) if column in columns]
    if changed and output_format(name) == "parquet":
        warnings.warn(changed_types(name, changed), stacklevel=3)


def _warn_of_lost_labels(table: Table, found: TableFormat, name: str) -> None:
    labels = table.origin.labels
    if labels is None or found == table.origin.format != "sas":
        return
    if n_labelled := len(labels.labelled_columns(table.frame.columns)):
        warnings.warn(lost_labels(name, _SPOKEN[found], n_labelled), stacklevel=4)


def unknown_suffix(name: str, known: Collection[str]) -> FileError:
    """An output whose suffix is not that of a format that is written."""
    return FileError(f"The suffix of {name!r} is not that of a known format; use one of {list_names(known, 20)}.")


def lost_labels(name: str, format_name: str, n_columns: int) -> AnontoWarning:
    """Labels that the output does not keep: its format cannot, or is not that of the input."""
    has_labels = format_name in {"SPSS", "Stata"}
    why = f"and labels are kept from {format_name} to {format_name} only" if has_labels else "which has no value labels"
    return AnontoWarning(
        f"{name!r} was written as {format_name}, {why}: the labels and missing codes of "
        f"{count_of(n_columns, 'column')} are lost."
    )


def changed_types(name: str, columns: Collection[str]) -> AnontoWarning:
    """Types of a Parquet file that are written as others."""
    return AnontoWarning(
        f"{count_of(len(columns), 'column')} of {name!r} {'has' if len(columns) == 1 else 'have'} another type than "
        f"in the input, with the same values: {quote_names(columns)}; times of day are stored in "
        "nanoseconds and bytes of a fixed length as bytes of any length."
    )
