"""A table that was read: its cells, and how its file stored them, so that it can be written back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from anonto.errors import ColumnError
from anonto.io.refusals import unnamed_columns
from anonto.wording import count_of, did_you_mean, list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl


TableFormat: TypeAlias = Literal["csv", "parquet", "excel", "spss", "stata", "sas", "memory"]
Cell: TypeAlias = float | int | str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextBatches:
    """A column of text that is read a batch of rows at a time, and never held as a whole."""

    n_rows: int
    read: Callable[[], Iterator[pl.Series]]
    """Starts to read from the first row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The dialect of a CSV file."""

    delimiter: str = ","
    encoding: str = "utf-8"
    has_mark: bool = False
    """True if the file starts with a byte order mark."""
    line_ending: str = "\n"
    is_packed: bool = False
    """True if the file is gzipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Metadata of columns in SPSS, Stata and SAS files, by column name."""

    column_labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Cell, str]] = field(default_factory=dict)
    missing_codes: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    missing_ranges: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    display_widths: Mapping[str, int] = field(default_factory=dict)
    file_label: str = ""
    notes: tuple[str, ...] = ()

    def labelled_columns(self, columns: Sequence[str]) -> list[str]:
        """The given columns that have a label, labelled values or missing codes."""
        said = (self.column_labels, self.value_labels, self.missing_codes, self.missing_ranges)
        return [name for name in columns if any(name in about for about in said)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a table and how it was stored there."""

    name: str
    """The file's name without its folder."""
    format: TableFormat
    sha256: str = ""
    """SHA-256 of the bytes as stored, compressed or not."""
    dialect: Dialect | None = None
    sheet: str | None = None
    labels: Labels | None = None
    retyped: tuple[str, ...] = ()
    """Columns of a Parquet file whose type cannot be written back."""
    files: tuple[Path, ...] = field(default=(), repr=False, compare=False)
    """Resolved paths of its files, only used to refuse outputs that would replace them."""

    @property
    def missing_codes(self) -> Mapping[str, tuple[Cell, ...]]:
        """The values in the cells of each column that mean missing."""
        return self.labels.missing_codes if self.labels else {}

    @property
    def missing_ranges(self) -> Mapping[str, tuple[tuple[float, float], ...]]:
        """The ranges, ends included, of values in the cells of each column that mean missing."""
        return self.labels.missing_ranges if self.labels else {}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns in file order, and their origin."""

    frame: pl.DataFrame
    origin: Origin
    apart: Mapping[str, TextBatches] = field(default_factory=dict)
    """Columns of text that were left in the file and are read a batch at a time."""
    names: Sequence[str] = ()
    """All columns in file order, if some were left in the file."""

    def column(self, name: str) -> pl.Series:
        """One column, with the values that its file declares as missing turned into missing cells."""
        if name not in self.frame.columns:
            raise missing_column(name, self.frame.columns)
        return without_declared(self.frame[name], self.origin)


def without_declared(cells: pl.Series, origin: Origin) -> pl.Series:
    """A column with the values that its file declares as missing turned into missing cells."""
    missing = _declared_missing(cells, origin)
    return cells if missing is None else cells.set(missing, None)


def without_letters(frame: pl.DataFrame, origin: Origin | None) -> pl.DataFrame:
    """A table in which Stata's numbers for ``.a`` to ``.z`` are null, for any other format."""
    if origin is None or origin.format != "stata":
        return frame
    lettered = [name for name in origin.missing_codes if name in frame.columns]
    return frame.with_columns(without_declared(frame[name], origin) for name in lettered)


def _declared_missing(cells: pl.Series, origin: Origin) -> pl.Series | None:
    """Mask of the cells that are missing codes or lie in a range of them; None if the column declares none."""
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
    """Refuse a header with empty or repeated names."""
    unnamed = [position for position, name in enumerate(names, start=1) if not name or name.isspace()]
    if unnamed:
        raise unnamed_columns(file_name, unnamed)
    times = Counter(names)
    shared = [position for position, name in enumerate(names, start=1) if times[name] > 1]
    if shared:
        raise shared_names(file_name, shared)


ALMOST_ASKED_FOR = 0.85
"""Least similarity of a name that is shown: the first line of a file without names has cells."""


def missing_column(name: str, table_columns: Collection[str]) -> ColumnError:
    """A column that the table does not have."""
    return ColumnError(
        f"The table has no column {name!r}{did_you_mean(name, table_columns, ALMOST_ASKED_FOR)}; it has "
        f"{count_of(len(table_columns), 'column')}, and their names must be in its first line."
    )


def shared_names(name: str, positions: Collection[int]) -> ColumnError:
    """Columns of a file with the same name, which may be a cell of a table without names."""
    return ColumnError(
        f"{name!r} has {count_of(len(positions), 'column')} with the name of another column (number "
        f"{list_names(str(n) for n in positions)}); give every column its own name in the first record."
    )
