"""Tables to SPSS, Stata and SAS transport files, with the labels that they came with."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Any

from anonto.errors import UnholdableColumnsError, UnholdableNamesError, UnwritableFileError
from anonto.table.holding import double_columns
from anonto.table.stat_files import MISSING_LETTERS, missing_code, statistics_package
from anonto.table.table import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType

    import polars as pl

    from anonto.table.table import Cell, Table, TableFormat

_SPOKEN = {"spss": "SPSS", "stata": "Stata", "sas": "SAS XPORT"}
LARGEST_LONG = 2_147_483_620
_SPSS_TIME = (92, b"01 Jan 0000:00:00")
_STATA_TIME = re.compile(rb"(<timestamp>\x11).{17}(?=</timestamp>)", re.DOTALL)
_XPORT_TIME = re.compile(rb"\d\d[A-Z]{3}\d\d(:\d\d){3}")
_XPORT_PLACES = (144, 160, 464, 480)


def write_stat(table: Table, found: TableFormat, path: Path, name: str) -> None:
    """Write a file of a statistical package; labels are written where the table came from the same package."""
    pyreadstat = statistics_package("Writing SPSS, Stata and SAS files")
    frame = _holdable(table.frame, name, _SPOKEN[found])
    labels = table.origin.labels if table.origin.format == found and table.origin.labels else Labels()
    try:
        if found == "spss":
            _write_spss(pyreadstat, frame, labels, path)
        elif found == "stata":
            _write_stata(pyreadstat, frame, labels, path)
        else:
            _write_xport(pyreadstat, frame, path)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        _explain(error, name, _SPOKEN[found])
        raise


def _explain(error: Exception, name: str, format_name: str) -> None:
    """Raise our own sentence for an error of the package, unless it is about the disk."""
    text = str(error)
    if "name" in text:
        rule = "letters, digits and underscores, a letter first, not too long, no reserved word"
        raise UnholdableNamesError(name, format_name, rule) from None
    if "write" not in text.lower():
        raise UnwritableFileError(name, f"its cells do not fit {format_name}") from None


def _holdable(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    import polars as pl

    frame = double_columns(frame, name, format_name)
    spans = [column for column, dtype in frame.schema.items() if isinstance(dtype, pl.Duration)]
    if spans:
        raise UnholdableColumnsError(name, format_name, spans, "durations")
    return frame.with_columns(pl.col(pl.Boolean).cast(pl.Int8), pl.col(pl.Float32, pl.Float64).fill_nan(None))


# ---------------------------------------------------------------------------------------------- formats


def _write_spss(pyreadstat: ModuleType, frame: pl.DataFrame, labels: Labels, path: Path) -> None:
    missing: dict[str, list[Any]] = {name: list(codes) for name, codes in _fitting(frame, labels.missing_codes).items()}
    for name, spans in labels.missing_ranges.items():
        if name in frame.columns and frame.schema[name].is_numeric():
            missing.setdefault(name, [])[:0] = [{"lo": low, "hi": high} for low, high in spans]
    is_dense = path.suffix.lower() == ".zsav"
    pyreadstat.write_sav(
        frame,
        str(path),
        file_label=labels.file_label,
        column_labels=_present(frame, labels.column_labels),
        compress=is_dense,
        row_compress=not is_dense,
        note=list(labels.notes) or None,
        variable_value_labels={n: dict(of) for n, of in _fitting(frame, labels.value_labels).items()},
        missing_ranges=missing,
        variable_display_width=_present(frame, labels.display_widths),
        variable_measure=_present(frame, labels.measures),
        variable_format=_number_formats(frame, labels),
    )
    _require_whole(pyreadstat.read_sav, frame, path)
    place, time = _SPSS_TIME
    with path.open("r+b") as file:
        file.seek(place)
        file.write(time)


def _write_stata(pyreadstat: ModuleType, frame: pl.DataFrame, labels: Labels, path: Path) -> None:
    letters = {name: _letters_of(codes) for name, codes in _fitting(frame, labels.missing_codes).items()}
    pyreadstat.write_dta(
        frame.with_columns(
            [_as_long(_lettered(column, letters.get(column.name, {}))) for column in frame.iter_columns()]
        ),
        str(path),
        file_label=labels.file_label,
        column_labels=_present(frame, labels.column_labels),
        variable_value_labels={
            name: {letters.get(name, {}).get(value, value): label for value, label in of.items()}
            for name, of in _fitting(frame, labels.value_labels).items()
        },
        missing_user_values={name: list(of.values()) for name, of in letters.items()},
        variable_format=_present(frame, labels.formats),
    )
    _require_whole(pyreadstat.read_dta, frame, path)
    with path.open("r+b") as file:
        head = file.read(1024)
        file.seek(0)
        file.write(_STATA_TIME.sub(rb"\g<1>01 Jan 2000 00:00", head))


def _write_xport(pyreadstat: ModuleType, frame: pl.DataFrame, path: Path) -> None:
    pyreadstat.write_xport(frame, str(path))
    _require_whole(pyreadstat.read_xport, frame, path)
    with path.open("r+b") as file:
        for place in _XPORT_PLACES:
            file.seek(place)
            if _XPORT_TIME.fullmatch(file.read(16)):
                file.seek(place)
                file.write(b"01JAN00:00:00:00")


def _require_whole(read: Callable[..., Any], frame: pl.DataFrame, path: Path) -> None:
    """Count the records again: the package does not always say when the disk is full."""
    try:
        written, _ = read(str(path), output_format="polars", usecols=frame.columns[:1])
        n_records = written.height
    except Exception:
        n_records = -1
    if n_records != frame.height:
        raise OSError(errno.EIO, "the file came out shorter than the table; the disk may be full")


# ---------------------------------------------------------------------------------------------- labels


def _present(frame: pl.DataFrame, by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in by_name.items() if name in frame.columns}


def _number_formats(frame: pl.DataFrame, labels: Labels) -> dict[str, str]:
    """The formats of columns that are still no text; that of a text is the length of its longest cell."""
    import polars as pl

    is_text = {name: dtype == pl.String for name, dtype in frame.schema.items()}
    return {n: f for n, f in labels.formats.items() if not is_text.get(n, True) and not re.fullmatch(r"A\d+", f)}


def _fitting(frame: pl.DataFrame, by_name: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about values of columns that are there and whose values are still of that type."""
    import polars as pl

    fitting = {}
    for name, values in _present(frame, by_name).items():
        is_text = frame.schema[name] == pl.String
        if all(isinstance(value, str) == is_text for value in values):
            fitting[name] = values
    return fitting


def _letters_of(codes: tuple[Cell, ...]) -> dict[Cell, str]:
    letter_of = {missing_code(letter, is_whole=w): letter for letter in MISSING_LETTERS for w in (True, False)}
    return {code: letter_of[code] for code in codes if isinstance(code, float | int) and code in letter_of}


def _lettered(column: pl.Series, letters: Mapping[Cell, str]) -> pl.Series:
    """A column with letters where its cells hold the numbers that stand for them; objects even when none is left."""
    import polars as pl

    if not letters:
        return column
    return pl.Series(column.name, [letters.get(cell, cell) for cell in column], dtype=pl.Object)


def _as_long(column: pl.Series) -> pl.Series:
    """Whole numbers as Stata's longs where they fit; the package makes doubles of wider ones."""
    import polars as pl

    low, high = (column.min(), column.max()) if column.dtype.is_integer() else (None, None)
    fits = isinstance(low, int) and isinstance(high, int) and low >= -LARGEST_LONG and high <= LARGEST_LONG
    return column.cast(pl.Int32) if fits else column
