"""A table in hand: its cells, and how its file stored them, which is what writing it back needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from anonto.errors import MissingColumnError, SharedNamesError, UnnamedColumnsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl


TableFormat: TypeAlias = Literal["csv", "parquet", "excel", "spss", "stata", "sas", "memory"]
Cell: TypeAlias = float | int | str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextBatches:
    """A column of text that is read a stretch of rows at a time, and never held as a whole."""

    n_rows: int
    read: Callable[[], Iterator[pl.Series]]
    """Starts to read from the first row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a CSV file spells its table."""

    delimiter: str = ","
    encoding: str = "utf-8"
    has_mark: bool = False
    """Whether the file starts with a byte order mark."""
    line_ending: str = "\n"
    is_packed: bool = False
    """Whether the file is in gzip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What SPSS, Stata and SAS files say about columns, by the columns' names; a column may lack any of it."""

    column_labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Cell, str]] = field(default_factory=dict)
    missing_codes: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    missing_ranges: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    display_widths: Mapping[str, int] = field(default_factory=dict)
    file_label: str = ""
    notes: tuple[str, ...] = ()

    def labelled(self, columns: Sequence[str]) -> list[str]:
        """The columns, of those given, with a label, labelled values or codes that mean missing."""
        said = (self.column_labels, self.value_labels, self.missing_codes, self.missing_ranges)
        return [name for name in columns if any(name in about for about in said)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a table came from and how it was stored there."""

    name: str
    """The file's name without its folder."""
    format: TableFormat
    sha256: str = ""
    """Of the bytes as they are stored, compressed or not."""
    dialect: Dialect | None = None
    sheet: str | None = None
    labels: Labels | None = None
    retyped: tuple[str, ...] = ()
    """Columns of a Parquet file whose type cannot be written back."""
    files: tuple[Path, ...] = field(default=(), repr=False, compare=False)
    """Where its files really are, so that no output replaces them; nothing else may tell it."""

    @property
    def missing_codes(self) -> Mapping[str, tuple[Cell, ...]]:
        """For each column the values in its cells that mean missing."""
        return self.labels.missing_codes if self.labels else {}

    @property
    def missing_ranges(self) -> Mapping[str, tuple[tuple[float, float], ...]]:
        """For each column the ranges, ends included, of values in its cells that mean missing."""
        return self.labels.missing_ranges if self.labels else {}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns in file order, and their origin."""

    frame: pl.DataFrame
    origin: Origin
    apart: Mapping[str, TextBatches] = field(default_factory=dict)
    """Columns of text that were left in the file, to be read a stretch at a time."""
    names: Sequence[str] = ()
    """All columns in file order, where some were left in the file."""

    def column(self, name: str) -> pl.Series:
        """One column, with the values that its file declares as missing turned into missing cells."""
        if name not in self.frame.columns:
            raise MissingColumnError(name, self.frame.columns)
        return without_declared(self.frame[name], self.origin)


def without_declared(cells: pl.Series, origin: Origin) -> pl.Series:
    """A column with the values that its file declares as missing turned into missing cells."""
    missing = _declared_missing(cells, origin)
    return cells if missing is None else cells.set(missing, None)


def without_letters(frame: pl.DataFrame, origin: Origin | None) -> pl.DataFrame:
    """A table in which the numbers by which Stata stores ``.a`` to ``.z`` are missing: only its own files have such."""
    if origin is None or origin.format != "stata":
        return frame
    lettered = [name for name in origin.missing_codes if name in frame.columns]
    return frame.with_columns(without_declared(frame[name], origin) for name in lettered)


def _declared_missing(cells: pl.Series, origin: Origin) -> pl.Series | None:
    """Which cells hold a missing code or lie in a range of them; None when the column declares nothing."""
    import polars as pl

    codes = list(origin.missing_codes.get(cells.name, ()))
    is_text = cells.dtype == pl.String
    if not is_text and not cells.dtype.is_numeric():
        return None
    tests = [cells == code for code in codes if isinstance(code, str) == is_text]
    if not is_text:
        tests += [cells.is_between(low, high) for low, high in origin.missing_ranges.get(cells.name, ())]
    if not tests:
        return None
    missing = tests[0]
    for test in tests[1:]:
        missing |= test
    return missing.fill_null(value=False)


def refuse_bad_names(names: Sequence[str | None], file_name: str) -> None:
    """Refuse a header in which a column has no name or shares it."""
    unnamed = [position for position, name in enumerate(names, start=1) if not name or name.isspace()]
    if unnamed:
        raise UnnamedColumnsError(file_name, unnamed)
    times = Counter(names)
    shared = [position for position, name in enumerate(names, start=1) if times[name] > 1]
    if shared:
        raise SharedNamesError(file_name, shared)
