"""Every exception and warning of the package, and the wording of every message.

A message says where, how many and what to do. It never shows a cell of a table: offending values sit on the
exception's ``values``, where the caller may look at them and a log file does not. Ids and labels of an
ontology, names of files, columns and parameters are not cells and may be named.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


class AnontoError(Exception):
    """Anything the package raises on purpose."""


class InputError(AnontoError, ValueError):
    """The caller's mistake: a file, a value or a parameter that cannot be used. Exit code 2."""


class InternalError(AnontoError, RuntimeError):
    """Our own mistake: an invariant of the package does not hold. Exit code 1."""


class AnontoWarning(UserWarning):
    """Something the caller should know but that does not stop the work."""


# ---------------------------------------------------------------------------------------------- wording helpers


def counted(number: int, one: str, many: str | None = None) -> str:
    """'1 concept', '3 concepts': a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str], limit: int = 12) -> str:
    """'a, b, c and 4 more': a list that stays short."""
    all_names = list(names)
    shown = ", ".join(all_names[:limit])
    return f"{shown} and {len(all_names) - limit} more" if len(all_names) > limit else shown


def near(name: str, known: Collection[str]) -> str:
    """' (did you mean x?)' when a known name is close, else nothing."""
    close = get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(repr(c) for c in close)}?)" if close else ""


# ---------------------------------------------------------------------------------------------- files


class FileError(InputError):
    """A file that cannot be read or used."""


class MissingFileError(FileError):
    """The path leads nowhere."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no file or folder {name!r}; check the path.")


class UnreadableFileError(FileError):
    """The operating system refuses to read the file."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} cannot be read ({reason}); check its permissions.")


class EmptyFileError(FileError):
    """The file has no content."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is empty; give a file with content.")


class BinaryFileError(FileError):
    """The file is not text."""

    def __init__(self, name: str, kind: str = "binary data") -> None:
        super().__init__(f"{name!r} is not a text file (it looks like {kind}); give the ontology as text or .gz.")


class EncodingError(FileError):
    """The bytes are not in a character set that is read."""

    def __init__(self, name: str, line: int) -> None:
        super().__init__(
            f"{name!r} is neither UTF-8 nor UTF-16: line {line:,} has a byte that is not text; save the file as UTF-8."
        )


class ExpansionError(FileError):
    """A compressed file that grows beyond every honest size."""

    def __init__(self, name: str, limit: str) -> None:
        super().__init__(f"{name!r} expands beyond {limit}; it was not read further: unpack and inspect it yourself.")


class EntityError(FileError):
    """XML whose entities could expand without bound or reach outside the file."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} declares XML entities that nest, are overlong or point outside the file; remove its DOCTYPE."
        )


class UnknownFormatError(FileError):
    """The content is of no format that is read, or the named format does not exist."""

    def __init__(self, name: str, known: Collection[str], asked: str | None = None) -> None:
        start = f"{name!r} is of no known ontology format"
        if asked is not None:
            start = f"There is no ontology format {asked!r}{near(asked, known)}"
        super().__init__(f"{start}; known formats are {listed(known)}.")


class UnsupportedFormatError(FileError):
    """A format that is recognised but not read."""

    def __init__(self, name: str, found: str, convert_to: str) -> None:
        super().__init__(f"{name!r} is {found}, which is not read; convert it to {convert_to} first.")


class MalformedFileError(FileError):
    """A file of the right format with a fault in it."""

    def __init__(self, name: str, format_name: str, fault: str, line: int | None = None) -> None:
        where = f" at line {line:,}" if line is not None else ""
        super().__init__(f"{name!r} is not a valid {format_name} file{where}: {fault}.")
        self.line = line


class NoConceptsError(FileError):
    """The file is well formed and describes no concept."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} describes no concept; check that it is the right file.")


class UnwritableFileError(FileError):
    """The output cannot be written."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} cannot be written ({reason}); nothing was left behind.")


class ExistingFileError(FileError):
    """The output is already there."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} exists already; choose another name or add --force.")


class MissingPackageError(InputError):
    """An optional dependency is needed and absent."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}; install it with: pip install 'anonto[{extra}]'.")


# ---------------------------------------------------------------------------------------------- taxonomies


class CycleError(FileError):
    """Concepts that are their own ancestors."""

    def __init__(self, name: str, cycles: Sequence[Sequence[str]], total_nodes: int) -> None:
        shown = "; ".join(" → ".join([*cycle, cycle[0]]) for cycle in cycles)
        super().__init__(
            f"The is-a relations of {name!r} form a cycle through {counted(total_nodes, 'concept')}: {shown}; "
            "remove one edge of each cycle."
        )
        self.cycles = tuple(tuple(cycle) for cycle in cycles)


class UnknownOntologyError(InputError):
    """A name that is neither a file nor a listed ontology."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(
            f"There is no file and no listed ontology {name!r}{near(name, known)}; listed are {listed(known)}."
        )


class UnknownConceptError(InputError):
    """Ids that no concept of the taxonomy has. The ids are on ``values``."""

    def __init__(self, values: Sequence[object], taxonomy: str) -> None:
        count = counted(len(values), "id")
        verb = "names" if len(values) == 1 else "name"
        super().__init__(
            f"{count} {verb} no concept of taxonomy {taxonomy!r}; see the exception's .values, or match them first "
            "with anonto.match."
        )
        self.values = tuple(values)


class AbsentRootError(InputError):
    """The root that was asked for is not in the taxonomy."""

    def __init__(self, taxonomy: str, roots: Sequence[str]) -> None:
        super().__init__(
            f"The root asked for is no concept of taxonomy {taxonomy!r}; give 'ontology', 'lcs' or a concept id "
            f"(its own roots: {listed(roots, 3)})."
        )


class OutsideRootError(InputError):
    """Values that do not lie below the declared root. The values are on ``values``."""

    def __init__(self, values: Sequence[str], root: str) -> None:
        count = counted(len(values), "distinct value lies", "distinct values lie")
        super().__init__(
            f"{count} outside the declared root {root!r}; see the exception's .values, or choose a root above them."
        )
        self.values = tuple(values)


class UnknownMeasureError(InputError):
    """A measure that does not exist."""

    def __init__(self, name: object, known: Collection[str]) -> None:
        super().__init__(f"There is no measure {name!r}{near(str(name), known)}; known are {listed(known)}.")


# ---------------------------------------------------------------------------------------------- values and columns


class UnmatchedValuesError(InputError):
    """Values of a column that have no concept. The distinct values are on ``values``."""

    def __init__(self, values: Sequence[str], cells: int, taxonomy: str, column: str | None = None) -> None:
        where = f" of column {column!r}" if column else ""
        count = counted(len(values), "distinct value")
        verb = "has" if len(values) == 1 else "have"
        super().__init__(
            f"{count}{where} ({counted(cells, 'cell')}) {verb} no concept in taxonomy {taxonomy!r}; "
            "see the exception's .values, and map them with anonto.match."
        )
        self.values = tuple(values)
        self.cells = cells


class AllMissingError(InputError):
    """A column without a single value."""

    def __init__(self, n_records: int, column: str | None = None) -> None:
        where = f"Column {column!r}" if column else "The column"
        if n_records:
            super().__init__(f"{where} has no value: all {counted(n_records, 'cell')} are missing; leave it out.")
        else:
            super().__init__(f"{where} has no cells; give at least one record.")


class LengthError(InputError):
    """Columns that cannot belong to the same records."""

    def __init__(self, lengths: Sequence[int]) -> None:
        super().__init__(
            f"The columns have different lengths ({' and '.join(f'{n:,}' for n in lengths)}); "
            "give one value per record in each."
        )


class TooFewRecordsError(InputError):
    """A statistic that is not defined for so few records."""

    def __init__(self, what: str, needed: int, found: int) -> None:
        super().__init__(f"{what} needs at least {needed:,} records with both values; there are {found:,}.")


class ColumnTypeError(InputError):
    """Something that is not a column of values."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"A {found} is not a column; give a list, a numpy array, or a pandas, polars or pyarrow column."
        )


class NotNumericError(InputError):
    """Cells of a numeric column that are no finite numbers. The cells are on ``values``."""

    def __init__(self, values: Sequence[object], column: str) -> None:
        verb = "is no finite number" if len(values) == 1 else "are no finite numbers"
        super().__init__(
            f"{counted(len(values), 'distinct value')} of column {column!r} {verb}; see the exception's .values, "
            "or declare the column nominal or ordinal."
        )
        self.values = tuple(values)


class NotInOrderError(InputError):
    """Cells of an ordinal column that its order does not list. The cells are on ``values``."""

    def __init__(self, values: Sequence[object], column: str) -> None:
        verb = "is" if len(values) == 1 else "are"
        super().__init__(
            f"{counted(len(values), 'distinct value')} of column {column!r} {verb} not in its order; "
            "see the exception's .values, and complete the order."
        )
        self.values = tuple(values)


class MissingColumnError(InputError):
    """A column that the table does not have."""

    def __init__(self, name: str, table_columns: Collection[str]) -> None:
        super().__init__(
            f"The table has no column {name!r}{near(name, table_columns)}; it has "
            f"{counted(len(table_columns), 'column')}, and their names must stand in its first line."
        )


class ParameterError(InputError):
    """A parameter out of its range."""

    def __init__(self, name: str, must: str, got: object) -> None:
        super().__init__(f"{name} must be {must}; got {got!r}.")


class UnknownKeyError(InputError):
    """A key that a plan does not know."""

    def __init__(self, key: str, where: str, known: Collection[str]) -> None:
        super().__init__(f"{where} has no key {key!r}{near(key, known)}; known are {listed(known)}.")


# ---------------------------------------------------------------------------------------------- warnings


class NegativeRadicandWarning(AnontoWarning):
    """A squared distance covariance below zero: the distance is not of negative type on this data."""

    def __init__(self, what: str, radicand: float) -> None:
        super().__init__(
            f"The squared {what} is {radicand:.6g} and was set to 0: the distance is not of negative type on these "
            "values (possible on a taxonomy where concepts have several parents); the measure 'ancestor' always is."
        )
        self.radicand = radicand
