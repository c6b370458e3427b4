"""Errors about the cells of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from anonto.errors import AllMissingError, ColumnError, FileError, ParameterError, PlanError, UnmatchedValuesError
from anonto.wording import count_of, did_you_mean, list_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_OFFSET = re.compile(r":\d{2}(?:\.\d+)? ?(?:Z|[+-]\d{2}:?\d{2})$")
"""The end of a time with its offset from UTC."""


def unmatched_values(
    values: Sequence[str], cells: int, taxonomy: str, column: str | None = None
) -> UnmatchedValuesError:
    """Values of a column that have no concept."""
    where = f" of column {column!r}" if column else ""
    verb = "has" if len(values) == 1 else "have"
    return UnmatchedValuesError(
        f"{count_of(len(values), 'distinct value')}{where} ({count_of(cells, 'cell')}) {verb} no concept in taxonomy "
        f"{taxonomy!r}; list them with `anonto match --values` or the exception's .values, and fix them or set "
        "unmatched in the plan.",
        values=values,
        cells=cells,
        settings=("unmatched",),
    )


def all_missing(n_records: int, column: str | None = None) -> AllMissingError:
    """A column without a single value."""
    where = f"Column {column!r}" if column else "The column"
    if not n_records:
        return AllMissingError(f"{where} has no cells; give at least one record.", settings=("columns",))
    return AllMissingError(
        f"{where} has no value: all {count_of(n_records, 'cell')} are missing; leave it out.", settings=("columns",)
    )


def unknown_codes(n_cells: int, taxonomy: str, column: str) -> AllMissingError:
    """A column without a single value that its ontology knows."""
    return AllMissingError(
        f"None of the {count_of(n_cells, 'cell')} of column {column!r} that have a value has a concept in taxonomy "
        f"{taxonomy!r}; give the ontology of its codes, or leave the column out.",
        settings=("columns",),
    )


def missing_cells(column: str, cells: int) -> ColumnError:
    """Missing cells where the plan refuses them."""
    return ColumnError(
        f"Column {column!r} has {count_of(cells, 'missing cell')} and its plan says missing = 'refuse'; "
        "fill them, or set missing = 'keep' or 'drop'.",
        cells=cells,
        settings=("missing",),
    )


def not_numeric(values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> ColumnError:
    """Cells of a numeric column that are not finite numbers."""
    verb = "is not a finite number" if len(values) == 1 else "are not finite numbers"
    return ColumnError(
        f"{count_of(len(values), 'distinct value')} of column {column!r} {verb}{_where(column, cells, row)}, and add "
        "those that mean missing to na, fix them, or declare the column nominal or ordinal.",
        values=values,
        cells=cells,
        row=row,
        settings=("kind",),
    )


def mixed_notation(
    values: Sequence[object], decimal: str, column: str, cells: int | None = None, row: int | None = None
) -> ColumnError:
    """Numbers of one column with decimal commas and with decimal points. The minority is on ``values``."""
    own, other = ("comma", "point") if decimal == "," else ("point", "comma")
    return ColumnError(
        f"Column {column!r} is read with a decimal {own}, and {count_of(len(values), 'distinct value')} can only be "
        f"read with a decimal {other}{_where(column, cells, row)}, and write all numbers in one way.",
        values=values,
        cells=cells,
        row=row,
    )


def lost_digits(values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> ColumnError:
    """Numbers with more digits than floating-point numbers have."""
    verb = "has" if len(values) == 1 else "have"
    return ColumnError(
        f"{count_of(len(values), 'distinct number')} of column {column!r} {verb} more digits than the 15 to 17 that "
        "numbers are computed with, so different numbers would become equal or their distances wrong"
        f"{_where(column, cells, row)}, and subtract a constant or round them, or declare the column nominal.",
        values=values,
        cells=cells,
        row=row,
        settings=("kind",),
    )


def not_dates(values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> ColumnError:
    """Cells of a column of dates that are none, such as the 30th of February."""
    verb = "is not a date" if len(values) == 1 else "are not dates"
    return ColumnError(
        f"{count_of(len(values), 'distinct value')} of column {column!r} {verb} of the calendar in a known notation"
        f"{_where(column, cells, row)}, and fix them, or add those that mean missing to na.",
        values=values,
        cells=cells,
        row=row,
        settings=("kind",),
    )


def mixed_dates(values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> ColumnError:
    """Dates of one column in two notations. The minority is on ``values``."""
    verb = "is" if len(values) == 1 else "are"
    zoned = any(_OFFSET.search(str(value)) for value in values)
    so = "bring all times to one offset, such as UTC" if zoned else "write all dates in one way"
    what = "offsets from UTC, as with summer time" if zoned else "notations"
    return ColumnError(
        f"Column {column!r} has dates in two {what}: {count_of(len(values), 'distinct value')} {verb} written in "
        f"another way than most{_where(column, cells, row)}, and {so}.",
        values=values,
        cells=cells,
        row=row,
    )


def ambiguous_dates(column: str, patterns: Sequence[str]) -> ColumnError:
    """Dates that are different ones in different notations."""
    return ColumnError(
        f"All dates of column {column!r} can be read as {' and as '.join(patterns)}; say which it is with notation in "
        "the plan.",
        settings=("notation",),
    )


def not_in_order(
    values: Sequence[object], column: str, cells: int | None = None, row: int | None = None
) -> ColumnError:
    """Cells of an ordinal column that its order does not list."""
    verb = "is" if len(values) == 1 else "are"
    return ColumnError(
        f"{count_of(len(values), 'distinct value')} of column {column!r} {verb} not in its order"
        f"{_where(column, cells, row)}, and complete the order.",
        values=values,
        cells=cells,
        row=row,
        settings=("order",),
    )


def _where(column: str, cells: int | None, row: int | None) -> str:
    """The number of cells and the first row, if known, and how to list the values."""
    first = "" if row is None else f", the first in row {row:,} below the header"
    where = "" if cells is None else f" ({count_of(cells, 'cell')}{first})"
    in_shell = quote(column) if "'" in column else f"'{column}'"
    return (
        f"{where}; list them with `anonto match TABLE --column {in_shell} --plan PLAN --values` or the exception's "
        ".values"
    )


def not_a_taxonomy(found: object) -> ParameterError:
    """Something else where a taxonomy is needed."""
    return ParameterError("tax", "a Taxonomy; read it with anonto.read_ontology", type(found).__name__)


def unknown_key(key: str, where: str, known: Collection[str]) -> PlanError:
    """A key that a plan does not have."""
    return PlanError(f"{where} has no key {key!r}{did_you_mean(key, known)}; known are {list_names(known)}.")


def large_sets(column: str, cells: int, most: int) -> ColumnError:
    """Sets with too many elements for the cheapest matching."""
    return ColumnError(
        f"{count_of(cells, 'set')} of column {column!r} {'has' if cells == 1 else 'have'} more than {most:,} different "
        'elements, too many to match by meaning; use set_distance = "best-match-average", or leave the ontology out.',
        cells=cells,
        settings=("set_distance",),
    )


# ------------------------------------------------------------------------------------------------ recoding


def no_calendar(column: str) -> ColumnError:
    """Times of day or durations where dates are cut or shifted."""
    return ColumnError(
        f"Column {column!r} holds times of day or durations, which have no months or days to cut or shift; leave "
        "recode out, and mask the column in a step.",
        settings=("recode",),
    )


def beyond_calendar(column: str, dates: int, days: int) -> ColumnError:
    """Dates that a shift could take out of the calendar, or out of what the type of their column can hold."""
    return ColumnError(
        f"{count_of(dates, 'distinct date')} of column {column!r} may be shifted out of the calendar by up to "
        f"{count_of(days, 'day')}; add dates that stand for something else, such as never, to na, or lower days.",
        settings=("recode", "na"),
    )


def persons_without_key(column: str, person: str, rows: int) -> ColumnError:
    """Rows whose dates are shifted by person, and that say of no person."""
    return ColumnError(
        f"{count_of(rows, 'row')} or more have no value in {person!r}, which says whose dates those of column "
        f"{column!r} are; give each a value, or shift by record.",
        cells=rows,
        settings=("recode",),
    )


def unknown_prefixes(values: Sequence[str], column: str, file: str, cells: int) -> ColumnError:
    """Prefixes of a column that the table of populations does not have."""
    verb = "is" if len(values) == 1 else "are"
    return ColumnError(
        f"{count_of(len(values), 'prefix', 'prefixes')} of column {column!r} ({count_of(cells, 'cell')}) {verb} not in "
        f"{file!r}, so their populations are unknown; add them to the file, or fix the cells.",
        values=values,
        cells=cells,
        settings=("recode",),
    )


def malformed_populations(file: str, fault: str) -> FileError:
    """A file that does not have a prefix and a number of people in each line."""
    return FileError(
        f"{file!r} is not a table of prefixes and populations: {fault}; write two columns, such as 021,6500."
    )


def numbers_without_zeros(column: str) -> ColumnError:
    """A column of numbers whose prefixes are wanted."""
    return ColumnError(
        f"Column {column!r} holds numbers, which have lost their leading zeros, so their prefixes would be wrong; "
        "store it as text.",
        settings=("recode",),
    )


def several_hierarchies(column: str) -> PlanError:
    """A column to be generalised that is placed in several ontologies."""
    return PlanError(
        f"Column {column!r} has several ontologies, so it is not clear in which of them to generalise it; name one.",
        settings=("recode",),
    )


def unknown_level(level: str, taxonomy: str, known: Sequence[str], deepest: int) -> PlanError:
    """A named level that an ontology does not have."""
    levels = f"its named levels are {list_names(known)}" if known else "it names no levels"
    return PlanError(
        f"Taxonomy {taxonomy!r} has no level {level!r}: {levels}; name one of these, or give a depth from 1 to "
        f"{deepest:,}.",
        settings=("recode",),
    )


def missing_level(values: Sequence[str], column: str, level: str, taxonomy: str, cells: int) -> ColumnError:
    """Values whose concepts have no ancestor of a named level."""
    verb = "has" if len(values) == 1 else "have"
    return ColumnError(
        f"{count_of(len(values), 'distinct value')} of column {column!r} ({count_of(cells, 'cell')}) {verb} no "
        f"ancestor of level {level!r} in taxonomy {taxonomy!r}; complete the hierarchy, or generalise to a depth.",
        values=values,
        cells=cells,
        settings=("recode",),
    )


# ------------------------------------------------------------------------------------------------ pseudonyms


def colliding_pseudonyms(column: str) -> ColumnError:
    """Two values of a column with the same pseudonym."""
    return ColumnError(
        f"Two values of column {column!r} would get the same pseudonym; mask the table again, with another seed or key."
    )


def readable_key(path: str) -> FileError:
    """A key that others can read."""
    return FileError(
        f"The key file {path!r} can be read by others, and whoever has it can tell whose a pseudonym is; take their "
        "rights away (chmod 600), and make a new key if somebody may have read it."
    )


def wrong_key_file(path: str, why: str) -> FileError:
    """A file that cannot be used as a key."""
    return FileError(
        f"{path!r} is not a usable key file: {why}; name a file that anonto made, or one that is not there."
    )
