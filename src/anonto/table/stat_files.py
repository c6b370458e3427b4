"""SPSS, Stata and SAS files, with what they say about their columns.

Values that a file declares as missing stay in the cells, and the labels say which they are. Stata's ``.a`` to
``.z`` stand in the cells as the numbers by which Stata itself stores them: above every number it lets a cell be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import MalformedFileError, MissingPackageError
from anonto.ontology.source import file_sha256, opened
from anonto.table.decoder import UndecodableError, decoded_apart
from anonto.table.limits import is_within_calendar
from anonto.table.table import Labels, Origin, Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    import polars as pl

    from anonto.table.table import Cell, TableFormat

MISSING_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WHOLE_MISSING = 2_147_483_621
_XPORT_START = b"HEADER RECORD"


def read_stat(path: Path, found: TableFormat) -> Table:
    """Read a file of a statistical package."""
    statistics_package("Reading SPSS, Stata and SAS files")
    with opened(path):  # a file that may not be read is told by its own sentence
        n_bytes = path.stat().st_size
    try:
        frame, facts = decoded_apart(decoded_stat, path.absolute(), found, n_bytes=n_bytes)
    except UndecodableError as error:
        reason = error.reason("it cannot be decoded; it may be damaged")
        raise MalformedFileError(path.name, found.upper(), reason) from None
    labels = _labels(facts, frame)
    sha256 = file_sha256(path)
    return Table(frame, Origin(name=path.name, format=found, sha256=sha256, labels=labels, files=(path.resolve(),)))


def statistics_package(what: str) -> ModuleType:
    """The package that reads and writes these files."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingPackageError(what, "pyreadstat", "stat") from None
    return pyreadstat


def decoded_stat(path: Path, found: TableFormat) -> tuple[pl.DataFrame, Any]:
    """The cells of a file and what it says about its columns; only in a process of its own, for it may crash."""
    import polars as pl

    pyreadstat = statistics_package("Reading SPSS, Stata and SAS files")
    options: dict[str, Any] = {"output_format": "polars"}
    if found == "spss":
        read, options["user_missing"] = pyreadstat.read_sav, True
    elif found == "stata":
        read, options["user_missing"] = pyreadstat.read_dta, True
    else:
        with opened(path) as file:
            is_xport = file.read(len(_XPORT_START)) == _XPORT_START
        read = pyreadstat.read_xport if is_xport else pyreadstat.read_sas7bdat
    try:
        frame, facts = read(str(path), **options)
        are_spellable = all(map(is_within_calendar, frame.iter_columns()))
    except (OverflowError, ValueError, pl.exceptions.PolarsError):
        are_spellable = False
    if not are_spellable:  # moments beyond the calendar stay numbers
        frame, facts = read(str(path), disable_datetime_conversion=True, **options)
    return frame.with_columns([_settled(column, facts) for column in frame.iter_columns()]), facts


# ---------------------------------------------------------------------------------------------- cells


def missing_code(letter: str, *, is_whole: bool) -> float | int:
    """The number by which Stata stores ``.a`` to ``.z`` in a column of whole numbers or of doubles."""
    place = MISSING_LETTERS.index(letter) + 1
    return _WHOLE_MISSING + place if is_whole else 2.0**1023 * (1 + place / 4096)


def _is_whole(name: str, facts: Any) -> bool:
    return str(facts.readstat_variable_types[name]).startswith("int")


def _settled(column: pl.Series, facts: Any) -> pl.Series:
    """A column of one type: letters that mean missing as their numbers, and a type even where no cell has a value."""
    import polars as pl

    kind = pl.String if facts.readstat_variable_types[column.name] == "string" else pl.Float64
    whole = _is_whole(column.name, facts)
    if column.dtype == pl.Null:
        return column.cast(pl.Int64 if whole else kind)
    if column.dtype != pl.Object:
        return column
    codes = {letter: missing_code(letter, is_whole=whole) for letter in MISSING_LETTERS}
    cells = column.to_list()
    if any(not isinstance(cell, str | float | int | None) for cell in cells):
        return pl.Series(column.name, [None if isinstance(cell, str) else cell for cell in cells])
    numbers = [codes.get(cell) if isinstance(cell, str) else cell for cell in cells]
    return pl.Series(column.name, numbers, dtype=pl.Int64 if whole else pl.Float64)


# ---------------------------------------------------------------------------------------------- labels


def _labels(facts: Any, frame: pl.DataFrame) -> Labels:
    codes, ranges = _declared_missing(facts)
    return Labels(
        column_labels={name: label for name, label in facts.column_names_to_labels.items() if label},
        value_labels={
            name: {_coded(value, name, facts): label for value, label in labels.items()}
            for name, labels in facts.variable_value_labels.items()
        },
        missing_codes=codes,
        missing_ranges=ranges,
        measures={name: m for name, m in facts.variable_measure.items() if m and m != "unknown"},
        formats={name: f for name, f in facts.original_variable_types.items() if f and name in frame.columns},
        display_widths={name: width for name, width in facts.variable_display_width.items() if width},
        file_label=facts.file_label or "",
        notes=tuple(facts.notes or ()),
    )


def _declared_missing(
    facts: Any,
) -> tuple[Mapping[str, tuple[Cell, ...]], Mapping[str, tuple[tuple[float, float], ...]]]:
    codes: dict[str, tuple[Cell, ...]] = {}
    ranges: dict[str, tuple[tuple[float, float], ...]] = {}
    for name, spans in (facts.missing_ranges or {}).items():
        singles = tuple(span["lo"] for span in spans if span["lo"] == span["hi"])
        wide = tuple((span["lo"], span["hi"]) for span in spans if span["lo"] != span["hi"])
        codes |= {name: singles} if singles else {}
        ranges |= {name: wide} if wide else {}
    for name in facts.column_names:
        if letters := _letters(name, facts):
            codes[name] = tuple(missing_code(letter, is_whole=_is_whole(name, facts)) for letter in letters)
    return codes, ranges


def _letters(name: str, facts: Any) -> list[str]:
    """The letters that a Stata column uses or labels."""
    if facts.readstat_variable_types[name] == "string" or facts.file_format != "dta":
        return []
    labelled = {value for value in facts.variable_value_labels.get(name, {}) if isinstance(value, str)}
    return sorted(labelled | set((facts.missing_user_values or {}).get(name, ())))


def _coded(value: Cell, name: str, facts: Any) -> Cell:
    return missing_code(str(value), is_whole=_is_whole(name, facts)) if value in _letters(name, facts) else value
