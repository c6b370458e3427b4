"""SPSS, Stata and SAS files, with the metadata of their columns.

Values that a file declares as missing stay in the cells, and the labels list them. Stata's ``.a`` to ``.z`` are the
numbers by which Stata stores them: above every number that it allows in a cell.
"""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonto.errors import FileError, MalformedFileError, MissingPackageError, UnwritableFileError
from anonto.io.decoder import UndecodableError, decode_apart
from anonto.io.refusals import unsupported_columns
from anonto.io.table import Labels, Origin, Table
from anonto.io.type_coercion import double_columns, is_within_calendar
from anonto.ontology.source import file_sha256, open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from pathlib import Path
    from types import ModuleType

    import polars as pl

    from anonto.io.table import Cell, TableFormat

MISSING_LETTERS = "abcdefghijklmnopqrstuvwxyz"
LARGEST_LONG = 2_147_483_620
_WHOLE_MISSING = 2_147_483_621
_XPORT_START = b"HEADER RECORD"
_SPOKEN = {"spss": "SPSS", "stata": "Stata", "sas": "SAS XPORT"}
_SPSS_TIME = (92, b"01 Jan 0000:00:00")
_STATA_TIME = re.compile(rb"(<timestamp>\x11).{17}(?=</timestamp>)", re.DOTALL)
_XPORT_TIME = re.compile(rb"\d\d[A-Z]{3}\d\d(:\d\d){3}")
_XPORT_PLACES = (144, 160, 464, 480)


def read_stat(path: Path, found: TableFormat) -> Table:
    """Read a file of a statistical package."""
    statistics_package("Reading SPSS, Stata and SAS files")
    with open_file(path):  # an unreadable file has its own message
        n_bytes = path.stat().st_size
    try:
        frame, facts = decode_apart(decode_stat, path.absolute(), found, n_bytes=n_bytes)
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


def decode_stat(path: Path, found: TableFormat) -> tuple[pl.DataFrame, Any]:
    """The cells and metadata of a file; only called in the decoder process, because it may crash."""
    import polars as pl

    pyreadstat = statistics_package("Reading SPSS, Stata and SAS files")
    options: dict[str, Any] = {"output_format": "polars"}
    if found == "spss":
        read, options["user_missing"] = pyreadstat.read_sav, True
    elif found == "stata":
        read, options["user_missing"] = pyreadstat.read_dta, True
    else:
        with open_file(path) as file:
            is_xport = file.read(len(_XPORT_START)) == _XPORT_START
        read = pyreadstat.read_xport if is_xport else pyreadstat.read_sas7bdat
    try:
        frame, facts = read(str(path), **options)
        are_spellable = all(map(is_within_calendar, frame.iter_columns()))
    except (OverflowError, ValueError, pl.exceptions.PolarsError):
        are_spellable = False
    if not are_spellable:  # datetimes beyond the calendar stay numbers
        frame, facts = read(str(path), disable_datetime_conversion=True, **options)
    return frame.with_columns([_settle(column, facts) for column in frame.iter_columns()]), facts


# ---------------------------------------------------------------------------------------------- cells


def missing_code(letter: str, *, is_whole: bool) -> float | int:
    """The number by which Stata stores ``.a`` to ``.z`` in a column of integers or doubles."""
    place = MISSING_LETTERS.index(letter) + 1
    return _WHOLE_MISSING + place if is_whole else 2.0**1023 * (1 + place / 4096)


def _is_whole(name: str, facts: Any) -> bool:
    return str(facts.readstat_variable_types[name]).startswith("int")


def _settle(column: pl.Series, facts: Any) -> pl.Series:
    """A column with a type, even without values; letters that mean missing become their numbers."""
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
            name: {_as_code(value, name, facts): label for value, label in labels.items()}
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


def _as_code(value: Cell, name: str, facts: Any) -> Cell:
    return missing_code(str(value), is_whole=_is_whole(name, facts)) if value in _letters(name, facts) else value


# ---------------------------------------------------------------------------------------------- writing


def write_stat(table: Table, found: TableFormat, path: Path, name: str) -> None:
    """Write a file of a statistical package; labels are written if the table comes from the same package."""
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
        raise unsupported_name(name, format_name, rule) from None
    if "write" not in text.lower():
        raise UnwritableFileError(name, f"its cells do not fit {format_name}") from None


def _holdable(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    import polars as pl

    frame = double_columns(frame, name, format_name)
    spans = [column for column, dtype in frame.schema.items() if isinstance(dtype, pl.Duration)]
    if spans:
        raise unsupported_columns(name, format_name, spans, "durations")
    return frame.with_columns(pl.col(pl.Boolean).cast(pl.Int8), pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _write_spss(pyreadstat: ModuleType, frame: pl.DataFrame, labels: Labels, path: Path) -> None:
    missing: dict[str, list[Any]] = {
        name: list(codes) for name, codes in _select_metadata(frame, labels.missing_codes).items()
    }
    for name, spans in labels.missing_ranges.items():
        if name in frame.columns and frame.schema[name].is_numeric():
            missing.setdefault(name, [])[:0] = [{"lo": low, "hi": high} for low, high in spans]
    is_dense = path.suffix.lower() == ".zsav"
    pyreadstat.write_sav(
        frame,
        str(path),
        file_label=labels.file_label,
        column_labels=_only(frame.columns, labels.column_labels),
        compress=is_dense,
        row_compress=not is_dense,
        note=list(labels.notes) or None,
        variable_value_labels={n: dict(of) for n, of in _select_metadata(frame, labels.value_labels).items()},
        missing_ranges=missing,
        variable_display_width=_only(frame.columns, labels.display_widths),
        variable_measure=_only(frame.columns, labels.measures),
        variable_format=_number_formats(frame, labels),
    )
    _require_whole(pyreadstat.read_sav, frame, path)
    place, time = _SPSS_TIME
    with path.open("r+b") as file:
        file.seek(place)
        file.write(time)


def _write_stata(pyreadstat: ModuleType, frame: pl.DataFrame, labels: Labels, path: Path) -> None:
    letters = {name: _letters_of(codes) for name, codes in _select_metadata(frame, labels.missing_codes).items()}
    pyreadstat.write_dta(
        frame.with_columns(
            [_as_long(_with_letters(column, letters.get(column.name, {}))) for column in frame.iter_columns()]
        ),
        str(path),
        file_label=labels.file_label,
        column_labels=_only(frame.columns, labels.column_labels),
        variable_value_labels={
            name: {letters.get(name, {}).get(value, value): label for value, label in of.items()}
            for name, of in _select_metadata(frame, labels.value_labels).items()
        },
        missing_user_values={name: list(of.values()) for name, of in letters.items()},
        variable_format=_only(frame.columns, labels.formats),
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
    """Count the records again: the package does not always report a full disk."""
    try:
        written, _ = read(str(path), output_format="polars", usecols=frame.columns[:1])
        n_records = written.height
    except Exception:
        n_records = -1
    if n_records != frame.height:
        raise OSError(errno.EIO, "the file came out shorter than the table; the disk may be full")


def _number_formats(frame: pl.DataFrame, labels: Labels) -> dict[str, str]:
    """The formats of columns except texts, whose format shows the length of the longest cell."""
    import polars as pl

    is_text = {name: dtype == pl.String for name, dtype in frame.schema.items()}
    return {n: f for n, f in labels.formats.items() if not is_text.get(n, True) and not re.fullmatch(r"A\d+", f)}


def _select_metadata(frame: pl.DataFrame, by_name: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata about values of columns that still exist and still have that type."""
    import polars as pl

    fitting = {}
    for name, values in _only(frame.columns, by_name).items():
        is_text = frame.schema[name] == pl.String
        if all(isinstance(value, str) == is_text for value in values):
            fitting[name] = values
    return fitting


def _letters_of(codes: tuple[Cell, ...]) -> dict[Cell, str]:
    letter_of = {missing_code(letter, is_whole=w): letter for letter in MISSING_LETTERS for w in (True, False)}
    return {code: letter_of[code] for code in codes if isinstance(code, float | int) and code in letter_of}


def _with_letters(column: pl.Series, letters: Mapping[Cell, str]) -> pl.Series:
    """A column of objects with letters in place of their numbers."""
    import polars as pl

    if not letters:
        return column
    return pl.Series(column.name, [letters.get(cell, cell) for cell in column], dtype=pl.Object)


def _as_long(column: pl.Series) -> pl.Series:
    """Integers as Stata's longs if they fit; the package writes wider ones as doubles."""
    import polars as pl

    low, high = (column.min(), column.max()) if column.dtype.is_integer() else (None, None)
    fits = isinstance(low, int) and isinstance(high, int) and low >= -LARGEST_LONG and high <= LARGEST_LONG
    return column.cast(pl.Int32) if fits else column


def unsupported_name(name: str, format_name: str, rule: str) -> FileError:
    """Column names that the output's format does not allow."""
    return FileError(
        f"{name!r} cannot be written: a column name is not allowed in {format_name} ({rule}); rename the column "
        "or choose another format."
    )


# ---------------------------------------------------------------------------------------------- labels of a release


def released_origin(origin: Origin | None, frame: pl.DataFrame) -> Origin:
    """The origin of a released table, with the labels that it may carry."""
    if origin is None:
        return Origin(name="table", format="memory")
    return origin if origin.labels is None else replace(origin, labels=released_labels(origin.labels, frame))


def released_labels(labels: Labels, frame: pl.DataFrame) -> Labels:
    """The labels of columns and values that a table still has.

    The notes and the label of the file are free text about the original, and the formats and widths of texts show the
    length of the longest one; they are left out.
    """
    import polars as pl

    about = {*labels.value_labels, *labels.missing_codes}
    cells = {name: set(frame[name].unique().to_list()) for name in about if name in frame.columns}
    numbers = {name for name, dtype in frame.schema.items() if dtype != pl.String}
    values = {
        name: {value: label for value, label in of.items() if value in cells[name]}
        for name, of in labels.value_labels.items()
        if name in cells
    }
    codes = {
        name: tuple(code for code in of if code in cells[name])
        for name, of in labels.missing_codes.items()
        if name in cells
    }
    ranges = {
        name: tuple(span for span in of if frame[name].is_between(*span).any())
        for name, of in labels.missing_ranges.items()
        if name in numbers and frame.schema[name].is_numeric()
    }
    return Labels(
        column_labels=_only(frame.columns, labels.column_labels),
        value_labels=_without_empty(values),
        missing_codes=_without_empty(codes),
        missing_ranges=_without_empty(ranges),
        measures=_only(frame.columns, labels.measures),
        formats=_only(numbers, labels.formats),
        display_widths=_only(numbers, labels.display_widths),
    )


def _only(names: Container[str], by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in by_name.items() if name in names}


def _without_empty(by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in by_name.items() if said}
