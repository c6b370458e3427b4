"""Every exception and warning of the package, and the wording of every message.

A message says where, how many and what to do. It never shows a cell of a table: offending values sit on the
exception's ``values``, where the caller may look at them and a log file does not. Ids and labels of an
ontology, names of files, columns and parameters are not cells and may be named.
"""

from __future__ import annotations

import errno
import math
import os
import re
from difflib import get_close_matches
from reprlib import Repr
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


class _Sentence(Exception):  # noqa: N818 - the base of errors and warnings alike
    """A message in one line that survives pickling, with what is known about the fault as attributes."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(one_line(_with_short_quotes(sentence)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args), self.__dict__ or None


def _remade(kind: type[_Sentence], args: tuple[object, ...]) -> _Sentence:
    """An exception with its message, whatever its constructor asks for."""
    return kind.__new__(kind, *args)


class AnontoError(_Sentence):
    """Anything the package raises on purpose."""


class InputError(AnontoError, ValueError):
    """The caller's mistake: a file, a value or a parameter that cannot be used. Exit code 2."""

    @property
    def on_the_command_line(self) -> str:
        """The message without what only a caller who holds the exception can do."""
        sentence = str(self)
        for of_code, instead in _OF_CODE.items():
            sentence = sentence.replace(of_code, instead)
        return sentence


class InternalError(AnontoError, RuntimeError):
    """Our own mistake: an invariant of the package does not hold. Exit code 1."""


class AnontoWarning(_Sentence, UserWarning):
    """Something the caller should know but that does not stop the work."""


STOPPED = "Stopped; nothing was left half-written."
"""What the command line says after Ctrl-C, and after the end that a scheduler asks for."""


# ---------------------------------------------------------------------------------------------- wording helpers


_OF_CODE = {
    " or the exception's .values": "",
    "see the exception's .values, or match them first with anonto.match": "match them first with `anonto match`",
    "see the exception's .values, or ": "mend them, or ",
    "see the exception's .values, and ": "",
}
"""What a message says to a caller in code, and what a reader of the command line sees in its place."""
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """A text with its control characters, line ends and changes of direction spelt out."""
    return _UNSHOWABLE.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def is_unicode(text: str) -> bool:
    """Whether a text can be stored and shown: it has no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clipped(text: str, limit: int = 80) -> str:
    """A text of a file, short enough to be quoted in a sentence."""
    return text if len(text) <= limit else f"{text[:limit]}…"


QUOTED = 80
"""No sentence shows more characters of one thing in a plan, a file or a path."""
_QUOTATION = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_UNBROKEN = re.compile(r"\S{120,}")
"""No word of ours is so long."""
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxdict = 3, 20, 20, 20
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = QUOTED
_MOST_BITS = 256


def _with_short_quotes(sentence: str) -> str:
    """A sentence with both ends of what is too long between quotes, or a word: a path is told by its last part."""
    half = QUOTED // 2

    def short(found: re.Match[str]) -> str:
        text = found.group()
        return text if len(text) <= QUOTED + 2 else f"{text[: half + 1]}…{text[-half - 1 :]}"

    return _UNBROKEN.sub(short, _QUOTATION.sub(short, sentence))


def quoted(given: object) -> str:
    """A value of a plan as it is written, short enough for a sentence."""
    if isinstance(given, int) and given.bit_length() > _MOST_BITS:
        return "a number of very many digits"
    return repr(given) if isinstance(given, str) else clipped(_SHORT.repr(given))


def counted(number: int, one: str, many: str | None = None) -> str:
    """'1 concept', '3 concepts': a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


LISTED = 400
"""A list shows no further name behind so many characters."""


def listed(names: Iterable[str], limit: int = 12) -> str:
    """'a, b, c and 4 more': a list that stays short."""
    all_names = list(names)
    shown: list[str] = []
    while len(shown) < min(limit, len(all_names)) and sum(map(len, shown)) < LISTED:
        name = all_names[len(shown)]
        shown.append(_with_short_quotes(name) if _QUOTATION.search(name) else clipped(name))
    more = len(all_names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)


def quoted_names(names: Iterable[str]) -> str:
    """Names of columns in quotes, each cut where it is long."""
    return listed([repr(clipped(name)) for name in names])


def near(name: object, known: Collection[str], cutoff: float = 0.6) -> str:
    """' (did you mean x?)' when a known name is close, else nothing."""
    close = get_close_matches(name[: 3 * QUOTED], list(known), n=2, cutoff=cutoff) if isinstance(name, str) else []
    return f" (did you mean {' or '.join(repr(clipped(c)) for c in close)}?)" if close else ""


# ---------------------------------------------------------------------------------------------- files


class FileError(InputError):
    """A file that cannot be read or used."""


class MissingFileError(FileError):
    """The path leads nowhere."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no file or folder {name!r}; check the path.")


class NotAFolderError(FileError):
    """A file where a folder was asked for."""

    def __init__(self, name: str, holding: str = "ontologies") -> None:
        super().__init__(f"{name!r} is a file, not a folder; name a folder that holds {holding}.")


class UnreadableFileError(FileError):
    """The operating system refuses to read the file."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} cannot be read ({reason}); check its permissions.")


class NotARegularFileError(UnreadableFileError):
    """A pipe or a device, which may never end."""

    def __init__(self, name: str) -> None:
        FileError.__init__(
            self, f"{name!r} is a pipe or a device, not a file; write what it gives into a file, and give that."
        )


class EmptyFileError(FileError):
    """The file has no content."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is empty; give a file with content.")


class BinaryFileError(FileError):
    """The file is not text."""

    def __init__(self, name: str, kind: str = "binary data") -> None:
        super().__init__(f"{name!r} is not a text file (it looks like {kind}); give it as text, plain or in gzip.")


TABLE_FORMATS = "CSV (plain or in gzip), Parquet, Excel, SPSS, Stata or SAS"


class NotATableError(FileError):
    """Something that holds no table."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name!r} is {what}, not a table; give a file in the format {TABLE_FORMATS}.")


class BinaryTableError(BinaryFileError):
    """A file of bytes in no format of tables."""

    def __init__(self, name: str, kind: str = "binary data") -> None:
        FileError.__init__(
            self,
            f"{name!r} is not a table that is read (it looks like {kind}); give a file in the format {TABLE_FORMATS}.",
        )


class EncodingError(FileError):
    """The bytes are not in a character set that is read."""

    def __init__(
        self, name: str, line: int | None, encoding: str | None = None, *, other_encodings: bool = True
    ) -> None:
        if line is None:
            super().__init__(
                f"{name!r} declares the encoding {encoding!r}, which does not exist; save the file as UTF-8."
            )
            return
        found = f"not {encoding}" if encoding else "neither UTF-8 nor UTF-16"
        super().__init__(
            f"{name!r} is {found}: line {line:,} has a byte that is not text; save the file as UTF-8"
            f"{' or give its encoding' if encoding and other_encodings else ''}."
        )


class UnknownEncodingError(InputError):
    """A character set that does not exist."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"There is no encoding {encoding!r}; give one such as 'utf-8', 'utf-16' or 'windows-1252'.")


class ExpansionError(FileError):
    """A compressed file that grows beyond every honest size."""

    def __init__(self, name: str, limit: str) -> None:
        super().__init__(f"{name!r} expands beyond {limit}; it was not read further: unpack and inspect it yourself.")


class FarCellsError(FileError):
    """A sheet that spans far more cells than its file can have."""

    def __init__(self, name: str, n_rows: int, n_columns: int) -> None:
        super().__init__(
            f"The sheet of {name!r} spans {n_rows:,} rows and {n_columns:,} columns, nearly all of them empty; "
            "delete the cells that lie far from the others, or save the table as CSV."
        )


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
        advice = "make its folder first" if reason == os.strerror(errno.ENOENT) else "nothing was left behind"
        super().__init__(f"{name!r} cannot be written ({reason}); {advice}.")


class ExistingFileError(FileError):
    """The output is already there."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} exists already; choose another name or add --force.")


class UnknownSuffixError(FileError):
    """An output whose name tells no format that is written."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(f"{name!r} has no ending that tells its format; end it in one of {listed(known, 20)}.")


class RaggedRecordsError(FileError):
    """Records with more or fewer cells than the header has names."""

    def __init__(self, name: str, n_ragged: int, first_line: int, n_columns: int) -> None:
        what = counted(n_ragged, "record that does not have", "records that do not have")
        super().__init__(
            f"{name!r} has {what} {counted(n_columns, 'cell')} as its header, the first at line {first_line:,}; "
            "quote cells that contain the delimiter, or give the right delimiter."
        )
        self.line = first_line


class UnnamedColumnsError(FileError):
    """Columns without a name."""

    def __init__(self, name: str, positions: Collection[int]) -> None:
        what = counted(len(positions), "column")
        super().__init__(
            f"{name!r} has {what} without a name (number {listed(str(n) for n in positions)}); name every column "
            "in the first record."
        )


class RecordAsHeaderError(FileError):
    """A table whose first row is no row of names."""

    def __init__(self, name: str, n_values: int, n_columns: int) -> None:
        told = counted(n_values, "cell looks like a value", "cells look like values")
        super().__init__(
            f"The first row of {name!r} seems to be a record, not the names of its columns: {told} "
            f"(of {counted(n_columns, 'column')}); put a row of names above it or, if these are the names, say so with "
            "`anonto init --header` or header = 'names' in the section [table] of the plan."
        )


class MissingSheetError(FileError):
    """A sheet that the workbook does not have."""

    def __init__(self, name: str, sheet: str, sheets: Collection[str]) -> None:
        super().__init__(
            f"{name!r} has no sheet {sheet!r}{near(sheet, sheets)}; its sheets are {listed(repr(s) for s in sheets)}."
        )


class UnholdableColumnsError(InputError):
    """Columns that the output's format cannot hold."""

    def __init__(self, name: str, format_name: str, columns: Collection[str], fault: str) -> None:
        verb = "holds" if len(columns) == 1 else "hold"
        super().__init__(
            f"{counted(len(columns), 'column')} cannot be written to {name!r}: {quoted_names(columns)} "
            f"{verb} {fault}, which {format_name} does not know; drop them or write Parquet."
        )


class UnholdableNamesError(InputError):
    """Column names that the output's format does not allow."""

    def __init__(self, name: str, format_name: str, rule: str) -> None:
        super().__init__(
            f"{name!r} cannot be written: a column name is not allowed in {format_name} ({rule}); rename the column "
            "or choose another format."
        )


class TableTooLargeError(InputError):
    """More records or columns than the output's format can hold."""

    def __init__(self, name: str, format_name: str, n_records: int, n_columns: int) -> None:
        super().__init__(
            f"{counted(n_records, 'record')} of {counted(n_columns, 'column')} do not fit into {name!r}: "
            f"{format_name} is too small for them; write Parquet or CSV."
        )


class SameFileError(FileError):
    """An output that would overwrite an input or another output."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The output {name!r} is also an input or another output; give each its own name.")


class AmongInputsError(FileError):
    """An output that would be read as a part of the input the next time."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The output {name!r} would be read as a part of the input the next time; write it where the input's "
            "folder or pattern does not find it."
        )


class MissingPackageError(InputError):
    """An optional dependency is needed and absent."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}; install it with: pip install 'anonto[{extra}]'.")


# ---------------------------------------------------------------------------------------------- taxonomies


class CycleError(FileError):
    """Concepts that are their own ancestors."""

    def __init__(self, name: str, cycles: Sequence[Sequence[str]], total_nodes: int) -> None:
        shown = "; ".join(_around(cycle) for cycle in cycles)
        super().__init__(
            f"The is-a relations of {name!r} form a cycle through {counted(total_nodes, 'concept')}: {shown}; "
            "remove one edge of each cycle."
        )
        self.cycles = tuple(tuple(cycle) for cycle in cycles)


def _around(cycle: Sequence[str], limit: int = 12) -> str:
    """'a → b → a': a cycle that says how much of it is left out."""
    more = len(cycle) - limit
    left_out = [f"… ({more:,} more)"] if more > 0 else []
    return " → ".join([*(clipped(concept) for concept in cycle[:limit]), *left_out, clipped(cycle[0])])


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

    def __init__(self, taxonomy: str, roots: Sequence[str], policies: Sequence[str] = ()) -> None:
        wanted = " or ".join(filter(None, [", ".join(repr(policy) for policy in policies), "a concept id"]))
        super().__init__(
            f"The root asked for is no concept of taxonomy {taxonomy!r}; give {wanted} "
            f"(its own roots: {listed([clipped(root) for root in roots], 3)})."
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
        super().__init__(f"There is no measure {quoted(name)}{near(name, known)}; known are {listed(known)}.")


# ---------------------------------------------------------------------------------------------- values and columns


class UnmatchedValuesError(InputError):
    """Values of a column that have no concept. The distinct values are on ``values``."""

    def __init__(self, values: Sequence[str], cells: int, taxonomy: str, column: str | None = None) -> None:
        where = f" of column {column!r}" if column else ""
        count = counted(len(values), "distinct value")
        verb = "has" if len(values) == 1 else "have"
        super().__init__(
            f"{count}{where} ({counted(cells, 'cell')}) {verb} no concept in taxonomy {taxonomy!r}; list them with "
            "`anonto match --values` or the exception's .values, and mend them or set unmatched in the plan."
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


class UnknownCodesError(AllMissingError):
    """A column of which an ontology knows nothing."""

    def __init__(self, n_cells: int, taxonomy: str, column: str) -> None:
        InputError.__init__(
            self,
            f"None of the {counted(n_cells, 'cell')} of column {column!r} that have a value has a concept in taxonomy "
            f"{taxonomy!r}; give the ontology that its codes are from, or leave the column out.",
        )


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


class TooFewForGroupsError(InputError):
    """Fewer records than one group must have."""

    def __init__(self, found: int, k: int, columns: Sequence[str] = ()) -> None:
        where = f" of {quoted_names(columns)}" if columns else ""
        super().__init__(
            f"{counted(found, 'record')}{where} cannot form a group of k = {k:,}; choose a k of {found:,} or less, or "
            "mask more records at once."
        )


class ColumnTypeError(InputError):
    """Something that is not a column of values."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"A {found} is not a column; give a list, a numpy array, or a pandas, polars or pyarrow column."
        )


class CellTypeError(ColumnTypeError):
    """A column of a type whose cells cannot be compared."""

    def __init__(self, kind: str, fault: str, hint: str, column: str | None = None) -> None:
        which = f"Column {clipped(column)!r}" if column else "A column"
        InputError.__init__(self, f"{which} of type {kind} cannot be masked or compared: {fault}; {hint}.")
        self.kind, self.fault, self.hint, self.column = kind, fault, hint, column

    def of(self, column: str) -> CellTypeError:
        """The same error for a column whose name is known."""
        return CellTypeError(self.kind, self.fault, self.hint, column)


class UnmovableColumnError(ColumnTypeError):
    """A column of a type whose cells its library cannot put into another order."""

    def __init__(self, column: str, kind: str) -> None:
        InputError.__init__(
            self,
            f"Column {clipped(column)!r} has the Arrow type {kind}, whose cells pyarrow cannot put into another order; "
            "cast it to a plain type first.",
        )
        self.kind = kind


class MixedCellsError(InputError):
    """Cells of different types that are spelt alike."""

    def __init__(self, column: str, values: int) -> None:
        super().__init__(
            f"Column {clipped(column)!r} mixes types: {counted(values, 'value')} {'is' if values == 1 else 'are'} "
            "spelt alike but of different types, such as a number and its digits as text; convert the column to one "
            "type."
        )


class WideDecimalsError(FileError):
    """Decimals of more digits than a column can hold."""

    def __init__(self, name: str, columns: Collection[str], most: int) -> None:
        verb = "holds" if len(columns) == 1 else "hold"
        super().__init__(
            f"{counted(len(columns), 'column')} of {name!r} cannot be read: {quoted_names(columns)} {verb} "
            f"decimals of more than {most} digits; store them with {most} digits or fewer, or as text."
        )


class InexactNumbersError(InputError):
    """Floating-point numbers that may stand for several whole numbers."""

    def __init__(self, cells: int) -> None:
        what = counted(cells, "cell holds a floating-point number", "cells hold floating-point numbers")
        super().__init__(
            f"{what} of 2^53 or more, where whole numbers are no longer exact: ids would become other ids; "
            "read them as text."
        )
        self.cells = cells


class NotUnicodeError(InputError):
    """Text that no file can hold."""

    def __init__(self, cells: int) -> None:
        what = counted(cells, "cell holds", "cells hold")
        super().__init__(
            f"{what} half of a character (a lone surrogate); read the table again with its right encoding."
        )
        self.cells = cells


class TableTypeError(InputError):
    """Something that is not a table."""

    def __init__(self, found: str) -> None:
        super().__init__(f"A {found} is not a table; give a path or a pandas, polars or pyarrow table.")


class DuplicateColumnError(InputError):
    """Several columns of the same name."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"The table has more than one column named {quoted_names(names)}; give every column its own name."
        )


class SharedNamesError(DuplicateColumnError):
    """Columns of a file with the same name, which may be a cell of a table without names."""

    def __init__(self, name: str, positions: Collection[int]) -> None:
        InputError.__init__(
            self,
            f"{name!r} has {counted(len(positions), 'column')} with a name that another column has too (number "
            f"{listed(str(n) for n in positions)}); give every column its own name in the first record.",
        )


class MissingCellsError(InputError):
    """Missing cells where the plan refuses them."""

    def __init__(self, column: str, cells: int) -> None:
        super().__init__(
            f"Column {column!r} has {counted(cells, 'missing cell')} and its plan says missing = 'refuse'; "
            "fill them, or set missing = 'keep' or 'drop'."
        )


class UnknownMethodError(InputError):
    """A method that does not exist."""

    def __init__(self, name: object, known: Collection[str]) -> None:
        super().__init__(f"There is no method {quoted(name)}{near(name, known)}; known are {listed(known)}.")


class PluginWarning(AnontoWarning):
    """A method, an attack or a reader of ontologies of another package that cannot be used."""

    def __init__(self, kind: str, name: str, where: str, fault: str) -> None:
        super().__init__(
            f"The {kind} {clipped(name)!r} of another package ({clipped(where)}) is left out: {clipped(fault)}; "
            "update or remove that package."
        )


class PlanError(InputError):
    """A plan that contradicts itself or the table."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(f"{fault}; {remedy}.")


class TomlError(FileError):
    """A plan file that is not TOML."""

    def __init__(self, name: str, fault: str) -> None:
        what, at, place = fault.rpartition(" (at ")
        super().__init__(f"{name!r} is not valid TOML: {clipped(what or fault)}{at}{place}; mend the line.")


class NotAPlanError(FileError):
    """A plan file of a size or depth that no plan has."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name!r} is no plan: {fault}; write one with `anonto init`.")


class UnplacedValuesError(InputError):
    """Cells that the kind of their column has no place for. The distinct ones are on ``values``.

    Where it is known, ``cells`` says how many they are and ``row`` which is the first, from 1, the header not counted.
    """

    def __init__(
        self, fault: str, remedy: str, values: Sequence[object], column: str, cells: int | None, row: int | None
    ) -> None:
        first = "" if row is None else f", the first in row {row:,} below the header"
        where = "" if cells is None else f" ({counted(cells, 'cell')}{first})"
        in_shell = quote(column) if "'" in column else f"'{column}'"
        super().__init__(
            f"{fault}{where}; list them with `anonto match TABLE --column {in_shell} --plan PLAN --values` or the "
            f"exception's .values, and {remedy}."
        )
        self.values, self.cells, self.row = tuple(values), cells, row


class NotNumericError(UnplacedValuesError):
    """Cells of a numeric column that are no finite numbers. The cells are on ``values``."""

    def __init__(self, values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> None:
        verb = "is no finite number" if len(values) == 1 else "are no finite numbers"
        super().__init__(
            f"{counted(len(values), 'distinct value')} of column {column!r} {verb}",
            "name in na what means missing, mend them, or declare the column nominal or ordinal",
            values,
            column,
            cells,
            row,
        )


class MixedNotationError(UnplacedValuesError):
    """Numbers of one column with decimal commas and with decimal points. The minority is on ``values``."""

    def __init__(
        self,
        values: Sequence[object],
        decimal: str,
        column: str,
        cells: int | None = None,
        row: int | None = None,
    ) -> None:
        own, other = ("comma", "point") if decimal == "," else ("point", "comma")
        super().__init__(
            f"Column {column!r} is read with a decimal {own}, and {counted(len(values), 'distinct value')} can only be "
            f"read with a decimal {other}",
            "write all numbers in one way",
            values,
            column,
            cells,
            row,
        )


class LostDigitsError(UnplacedValuesError):
    """Numbers with more digits than can be reckoned with. The cells are on ``values``."""

    def __init__(self, values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> None:
        verb = "has" if len(values) == 1 else "have"
        super().__init__(
            f"{counted(len(values), 'distinct number')} of column {column!r} {verb} more digits than the 15 to 17 that "
            "numbers are computed with, and different numbers would become equal or be at a wrong distance",
            "subtract a constant or round them, or declare the column nominal",
            values,
            column,
            cells,
            row,
        )


class TooWideRangeError(InputError):
    """A column of numbers whose range is no number."""

    def __init__(self, column: str) -> None:
        super().__init__(
            f"The numbers of column {column!r} are too far apart for their range to be a number; scale them down."
        )


class NoVarianceError(InputError):
    """A column of numbers that differ, and whose variance is none or endless."""

    def __init__(self, column: str, *, is_large: bool) -> None:
        apart, how = ("far apart", "down") if is_large else ("close together", "up")
        super().__init__(
            f"The numbers of column {column!r} are too {apart} for their variance to be computed; scale them {how}."
        )


class NotInOrderError(UnplacedValuesError):
    """Cells of an ordinal column that its order does not list. The cells are on ``values``."""

    def __init__(self, values: Sequence[object], column: str, cells: int | None = None, row: int | None = None) -> None:
        verb = "is" if len(values) == 1 else "are"
        super().__init__(
            f"{counted(len(values), 'distinct value')} of column {column!r} {verb} not in its order",
            "complete the order",
            values,
            column,
            cells,
            row,
        )


ALMOST_ASKED_FOR = 0.85
"""So close must a name be that is shown: the first line of a file without names has cells, which nobody asked for."""


class MissingColumnError(InputError):
    """A column that the table does not have."""

    def __init__(self, name: str, table_columns: Collection[str]) -> None:
        super().__init__(
            f"The table has no column {name!r}{near(name, table_columns, ALMOST_ASKED_FOR)}; it has "
            f"{counted(len(table_columns), 'column')}, and their names must stand in its first line."
        )


class TooFewMappedError(InputError):
    """A map of codes that leaves too few records to run the experiments on."""

    def __init__(self, n_left: int, n_records: int, least: int) -> None:
        super().__init__(
            f"The map places all codes of {n_left:,} of {counted(n_records, 'discharge')} in the release, and the "
            f"experiments need {least:,}; complete the map, diagnoses and procedures alike."
        )


class ForeignFolderError(FileError):
    """An output folder that holds files of others."""

    def __init__(self, name: str, n_foreign: int) -> None:
        super().__init__(
            f"The folder {name!r} holds {counted(n_foreign, 'entry', 'entries')} that this command does not write, and "
            "would be replaced as a whole; choose another folder."
        )


class ParameterError(InputError):
    """A parameter out of its range."""

    def __init__(self, name: str, must: str, got: object) -> None:
        super().__init__(f"{name} must be {must}; got {quoted(got)}.")


class SmallStrataError(InputError):
    """Too few records that lack the same cells to be masked among themselves."""

    def __init__(
        self, n_small: int, n_strata: int, n_records: int, least: int, purpose: str = "swap among themselves"
    ) -> None:
        super().__init__(
            f"{n_small:,} of the {n_strata:,} patterns of missing cells {'has' if n_small == 1 else 'have'} fewer than "
            f"{least:,} records to {purpose} ({n_records:,} in all); set missing = 'drop' for a column "
            "that is often missing, or leave it out of the step."
        )


class NotCloseError(InputError):
    """Records that lack the same cells and are too different from all others."""

    def __init__(self, column: str, n_records: int, distance: float, t: float) -> None:
        super().__init__(
            f"{counted(n_records, 'record')} with one pattern of missing cells cannot be brought within t = {t:g} of "
            f"the whole table in {column!r}: even as one group they are at {distance:.3f}; choose a larger t, or set "
            "missing = 'drop' for a column that is often missing."
        )
        self.column, self.distance, self.t = column, distance, t


class NotCloseInBlocksError(InputError):
    """A block of records that is too different from the whole table, though groups of the whole might not be."""

    def __init__(self, column: str, n_records: int, distance: float, t: float) -> None:
        super().__init__(
            f"The table is masked in blocks, and groups of one block of {counted(n_records, 'record')} cannot be "
            f"brought within t = {t:g} of the whole table in {column!r}: they are at {distance:.3f}; choose a larger "
            "t, larger blocks (block_rows) or more memory."
        )


class NoValidWidthError(InputError):
    """No width under which every bin has two records."""

    def __init__(self, n_bins: int, n_occupied: int, n_singletons: int) -> None:
        super().__init__(
            f"There is no valid width under the pruning scheme: already the widest candidate, {n_bins:,} bins in each "
            f"column, has {counted(n_singletons, 'bin')} with a single record among {n_occupied:,}; merge singleton "
            "bins (--merge-singletons), leave a column out, or choose bins of equal depth."
        )


class NeedsOneOntologyError(InputError):
    """A column whose values a method cannot place in one taxonomy."""

    def __init__(self, column: str, method: str, found: str) -> None:
        super().__init__(
            f"{method} needs column {column!r} to be nominal with one ontology, but it {found}; give it one in the "
            "plan, or choose another method for it."
        )


class DifferentTaxonomiesError(InputError):
    """Columns whose concepts cannot be compared with each other."""

    def __init__(self, columns: Sequence[str], method: str, instead: str) -> None:
        names = quoted_names(columns)
        super().__init__(
            f"{method} takes the value of one nominal column as the reference for another, but the domains of {names} "
            "are different taxonomies; give them the same ontology and the same root, or mask them with "
            f"{instead}."
        )


class DependsOnDataError(InputError):
    """A setting under which a mechanism would show what the data are."""

    def __init__(self, method: str, column: str, setting: str, instead: str) -> None:
        super().__init__(
            f"With {setting} in column {column!r} what {method} may release would depend on the data, and "
            f"nothing could be promised; set {instead}."
        )


class NotAMetricError(InputError):
    """Metric privacy asked for where the triangle inequality fails."""

    def __init__(self, column: str, measure: str, taxonomy: str, metrics: Sequence[str]) -> None:
        super().__init__(
            f"Metric privacy needs the triangle inequality, which measure {measure!r} of column {column!r} does not "
            f"keep on taxonomy {taxonomy!r}, where concepts have several parents; take {' or '.join(metrics)}, or "
            "leave metric out."
        )


class NotForStreamsError(InputError):
    """A method that must see all records at once."""

    def __init__(self, method: str, known: Sequence[str]) -> None:
        super().__init__(
            f"{method} must see all records before it masks one, so it cannot mask a stream; methods that can are "
            f"{listed(known)}."
        )


class NotAFittedPlanError(InputError):
    """A file that holds no fitted plan."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r} holds no fitted plan: {why}; give a file that FittedPlan.save wrote.")


class OntologyInMemoryError(InputError):
    """A fitted plan that is to be saved, with an ontology that has no file."""

    def __init__(self) -> None:
        super().__init__(
            "A fitted plan is saved with the paths or names of its ontologies, and one of them is in memory only; "
            "name its file in the plan."
        )


class TaxonomyTypeError(ParameterError):
    """Something else where a taxonomy is needed."""

    def __init__(self, found: object) -> None:
        super().__init__("tax", "a Taxonomy; read it with anonto.read_ontology", type(found).__name__)


class UnknownKeyError(InputError):
    """A key that a plan does not know."""

    def __init__(self, key: str, where: str, known: Collection[str]) -> None:
        super().__init__(f"{where} has no key {key!r}{near(key, known)}; known are {listed(known)}.")


# ---------------------------------------------------------------------------------------------- warnings


class WindowWarning(AnontoWarning):
    """A k that reaches past the table."""

    def __init__(self, k: int, n_records: int) -> None:
        used = max(n_records - 1, 1)
        super().__init__(f"k = {k:,} is not below the {counted(n_records, 'record')}; {used:,} was used.")


class OneBinWarning(WindowWarning):
    """A k that leaves all records in one bin."""

    def __init__(self, k: int, n_records: int) -> None:
        AnontoWarning.__init__(
            self, f"k = {k:,} is not below the {counted(n_records, 'record')}; all of them are one bin."
        )


class SmallBinsWarning(AnontoWarning):
    """Records that lack the same cells and are too few to fill a bin."""

    def __init__(self, n_small: int, n_strata: int, n_records: int, k: int) -> None:
        super().__init__(
            f"{n_small:,} of the {n_strata:,} patterns of missing cells {'has' if n_small == 1 else 'have'} fewer than "
            f"k = {k:,} records ({n_records:,} in all), which exchange among themselves alone, in bins smaller than k; "
            "set missing = 'drop' for a column that is often missing, or leave it out of the step."
        )


class FittedInBlocksWarning(AnontoWarning):
    """A step that went through the records block by block though its plan does not say so."""

    def __init__(self, number: int, block_rows: int, n_blocks: int) -> None:
        super().__init__(
            f"Step {number} was fitted in {counted(n_blocks, 'block')}, as all records at once would not fit into "
            f"memory; write block_rows = {block_rows} into this step of the plan that is kept or published: without it "
            "the release cannot be made again with another limit to memory, nor verified."
        )
        self.number, self.block_rows = number, block_rows


class ReleasedAsIsWarning(AnontoWarning):
    """Columns that leave unmasked though nobody may have meant it."""

    def __init__(self, unnamed: Sequence[str], unmasked: Sequence[str]) -> None:
        parts = []
        if unnamed:
            parts.append(f"released as they are because the plan does not name them: {listed(map(clipped, unnamed))}")
        if unmasked:
            parts.append(f"quasi-identifiers that no step masks: {listed(map(clipped, unmasked))}")
        sentence = "; ".join(parts)
        super().__init__(sentence[0].upper() + sentence[1:] + ".")


class NothingMaskedWarning(ReleasedAsIsWarning):
    """A plan without a step."""

    def __init__(self, n_columns: int) -> None:
        AnontoWarning.__init__(
            self,
            f"The plan has no step: {counted(n_columns, 'column is', 'columns are')} released as in the table, and "
            "nothing is masked; add steps to the plan.",
        )


class NoRecordsWarning(AnontoWarning):
    """A release without a record."""

    def __init__(self, n_dropped: int) -> None:
        start, advice = "The table has no record", "check that it is the right one"
        if n_dropped:
            start = f"The plan drops {counted(n_dropped, 'record')}, and no other is in the table"
            advice = "look at the keys missing and unmatched of its columns"
        super().__init__(f"{start}: the release has names of columns alone, and nothing is proved of it; {advice}.")


class UnmatchedCellsWarning(AnontoWarning):
    """Cells of masked columns that stay with their person because they have no concept."""

    def __init__(self, columns: Sequence[str], cells: Sequence[int]) -> None:
        told = listed([f"{n:,} of {clipped(name)!r}" for name, n in zip(columns, cells, strict=True)])
        super().__init__(
            f"Cells without a concept leave as they are, with the person they belong to ({told}); mend their codes, or "
            "set unmatched to 'nearest-ancestor' or 'drop' for these columns."
        )


class UnreviewedColumnsWarning(AnontoWarning):
    """Columns that leave though nobody has confirmed what the plan says of them."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(
            f"Nobody has confirmed yet what the plan says of "
            f"{counted(len(columns), 'column that leaves', 'columns that leave')}, so no guarantee is proved: "
            f"{listed(map(clipped, columns))}; check each, and remove review = true from its description."
        )


class MostlyUnchangedWarning(AnontoWarning):
    """A masked column that is hardly masked."""

    def __init__(self, column: str, share: float) -> None:
        super().__init__(
            f"{math.floor(100 * share)}% of the cells of column {column!r} leave as they were; choose another method, "
            "or a larger k, width or noise."
        )


class GuessableSeedWarning(AnontoWarning):
    """A seed that can be found by trying."""

    def __init__(self) -> None:
        super().__init__("The seed is short and can be guessed; whoever finds it can undo the masking: leave it out.")


class NegativeRadicandWarning(AnontoWarning):
    """A squared distance covariance below zero: the distance is not of negative type on this data."""

    def __init__(self, what: str, radicand: float) -> None:
        super().__init__(
            f"The squared {what} is {radicand:.6g} and was set to 0: the distance is not of negative type on these "
            "values (possible on a taxonomy where concepts have several parents); the measure 'ancestor' always is."
        )
        self.radicand = radicand


class LeftOverWarning(AnontoWarning):
    """Working files of runs that were killed, which are gone now."""

    def __init__(self, folder: str, n_folders: int, n_files: int) -> None:
        parts = [
            counted(n_folders, "working folder with rows of a table", "working folders with rows of tables"),
            counted(n_files, "unfinished file"),
        ]
        found = " and ".join(part for part, n in zip(parts, (n_folders, n_files), strict=True) if n)
        super().__init__(f"Removed from {folder!r} what runs that were killed had left there: {found}.")


class LeftElsewhereWarning(AnontoWarning):
    """Working folders of runs on other machines, of which nobody here knows whether they have ended."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(names), 'working folder')} in {folder!r} with rows of a table "
            f"{'belongs to a run' if len(names) == 1 else 'belong to runs'} on another machine ({listed(names)}) and "
            "may be left over; remove what no run there uses any more."
        )


class AssumedEncodingWarning(AnontoWarning):
    """A text file whose bytes do not tell their character set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not UTF-8 and was read as Windows-1252; give its encoding if that is wrong.")


class ReplacedEncodingWarning(AnontoWarning):
    """A cell that the table's own character set cannot hold."""

    def __init__(self, name: str, encoding: str) -> None:
        super().__init__(f"{name!r} was written as UTF-8 with a byte order mark: {encoding} cannot hold every cell.")


class LostLabelsWarning(AnontoWarning):
    """Labels that the output does not hold: its format cannot, or is another than that of the input."""

    def __init__(self, name: str, format_name: str, n_columns: int) -> None:
        lost = f"the labels and missing codes of {counted(n_columns, 'column')} are not in it"
        has_labels = format_name in {"SPSS", "Stata"}
        why = (
            f"and labels are kept from {format_name} to {format_name} only"
            if has_labels
            else "which has no value labels"
        )
        super().__init__(f"{name!r} was written as {format_name}, {why}: {lost}.")


class ChangedTypesWarning(AnontoWarning):
    """Types of a Parquet file that are written as others."""

    def __init__(self, name: str, columns: Collection[str]) -> None:
        super().__init__(
            f"{counted(len(columns), 'column')} of {name!r} {'has' if len(columns) == 1 else 'have'} another type than "
            f"in the input, with the same values: {quoted_names(columns)}; times of day are stored in "
            "nanoseconds and bytes of a fixed length as bytes of any length."
        )


class LostRecordsWarning(AnontoWarning):
    """Records at the end of a worksheet that have no value at all."""

    def __init__(self, name: str, n_records: int) -> None:
        super().__init__(
            f"The last {counted(n_records, 'record')} of {name!r} {'has' if n_records == 1 else 'have'} no value; "
            "Excel does not keep such records, write CSV or Parquet to keep them."
        )


# ---------------------------------------------------------------------------------------------- releases


class ForeignReleaseError(InputError):
    """A release whose columns are not those that the plan would leave."""

    def __init__(self, missing: Sequence[str], further: Sequence[str]) -> None:
        parts = []
        if missing:
            parts.append(f"lacks {listed(map(clipped, missing))}")
        if further:  # not by their names, which may be cells of a release without a row of names
            parts.append(f"has {counted(len(further), 'column')} besides")
        super().__init__(
            f"The masked table {' and '.join(parts)}; give the release of this original and the plan of that release."
        )
        self.missing, self.further = list(missing), list(further)


class ReleaseShapeError(InputError):
    """A release with another number of rows than the plan would leave."""

    def __init__(self, found: int, expected: int) -> None:
        super().__init__(
            f"The masked table has {counted(found, 'row')} where this original and plan leave {expected:,}; give the "
            "release of this original, and the plan it was masked with."
        )


class ImpossibleCellsError(InputError):
    """A release with cells that no run of the plan could have put where they are."""

    def __init__(self, columns: Sequence[str], rows: int, of: int) -> None:
        super().__init__(
            f"In {counted(rows, 'row')} of {of:,} the masked table has cells in {listed(map(clipped, columns))} that "
            "this plan could not have put there; give the plan it was masked with, with block_rows if it was masked in "
            "blocks, and its rows in the order of the original or its private record."
        )
        self.columns, self.rows = list(columns), rows


class ShuffledRowsError(InputError):
    """A column that was released as it is differs row by row."""

    def __init__(self, column: str) -> None:
        super().__init__(
            f"Column {clipped(column)!r}, which no step masks, differs between the two tables row by row; a saved "
            "release has its rows in random order: give its private record, or in Python the table of the release."
        )


class UncheckedRowsError(InputError):
    """A release of which nothing tells whether its rows are in order."""

    def __init__(self) -> None:
        super().__init__(
            "No column that is released as it is tells whether the rows of the release are in the order of the "
            "original; give its private record, or say that the order was kept (--same-order, same_order=True)."
        )


class ForeignRecordError(InputError):
    """A private record that does not lead from this original to this release."""

    def __init__(self, masked: str | None = None) -> None:
        other = "" if masked is None else f" The record is of the file {masked!r}, which had another content."
        super().__init__(
            "The original masked anew with this plan and this private record is not the masked table; give those "
            f"that belong together.{other}"
        )


class PrivateRecordError(InputError):
    """A file that is no private record."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is no private record of a release that can be read; give the one saved beside it.")


# ---------------------------------------------------------------------------------------------- sweeps


class NothingToMaskError(InputError):
    """A plan that names no column to try methods on."""

    def __init__(self) -> None:
        super().__init__(
            "The plan has no step and no quasi-identifier, so there is no column to mask; give a column the role "
            "'quasi-identifier'."
        )


class ForeignSweepError(FileError):
    """A resume file that belongs to something else."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(
            f"{name!r} keeps the results of another {what}; give the {what} it was made with, or another file to "
            "resume from."
        )


class NotASweepFileError(FileError):
    """A file that keeps no results of a sweep."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no file of a sweep's results; give another name, and it will be made.")


class LostWorkerError(InputError):
    """A worker process that ended by itself."""

    def __init__(self) -> None:
        super().__init__(
            "A worker process ended early, most often because the memory is full; take fewer workers or a smaller "
            "sample. A sweep goes on from what is finished."
        )


class NoSafePlanError(InputError):
    """No plan of a grid is safe enough to be written."""

    def __init__(self, name: str, max_risk: float) -> None:
        super().__init__(
            f"No plan that was tried is safe at {100 * max_risk:g} %, so {name!r} was not written; allow more risk, "
            "try a wider grid, or leave a column out of the release."
        )


class WorkerFailedError(InternalError):
    """A worker process that failed by our mistake."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"A worker process failed ({kind}); this is our mistake, please report it.")


# ---------------------------------------------------------------------------------------------- the web app


class WorkRefusedError(InputError):
    """What a worker process of the app refused, in the words of its own error."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)


class UnclearHeaderError(WorkRefusedError):
    """A first row that looks like a record; the app asks whether it holds names."""


class StoppedWorkError(AnontoError):
    """Work in a process that was stopped before it was done."""

    def __init__(self) -> None:
        super().__init__("The work was stopped before it was done; start it again.")


class UnexpectedFailureError(InternalError):
    """Work in a process that failed by our mistake."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"That failed ({kind}), and it is our mistake: start the server with ANONTO_DEBUG=1 to see where, and "
            "report it."
        )


class PortTakenError(InputError):
    """A port on which another program listens."""

    def __init__(self, port: int, reason: str) -> None:
        super().__init__(f"The server cannot listen on port {port} ({reason}); choose another with --port.")


class SizeError(InputError):
    """A size that is none."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{clipped(text)!r} is no size; write it as 500MB or 2GB.")


class OutsideFolderError(InputError):
    """A path that leads out of the folder that was given."""

    def __init__(self) -> None:
        super().__init__("This file does not lie below the folder that the server was started with; choose another.")


class UploadTooLargeError(InputError):
    """A file larger than the limit for uploads."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The file is larger than {limit / 1e6:,.0f} MB; start the server with a larger --max-upload, or open the "
            "file from the folder given with --folder."
        )


class VanishedTableError(InputError):
    """A table that was dropped into the page and wiped since."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The server keeps no copy of {name!r} over a restart: drop the same file again and go on where you were."
        )


class VanishedOntologyError(InputError):
    """An ontology that was dropped into the page and wiped since."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"The server keeps no copy of {', '.join(map(repr, names))} over a restart: drop the same ontology again "
            "on the page “Columns”, or choose another for its columns."
        )


class SessionChangedError(AnontoError):
    """Something asked or changed on a page that shows what the session was before."""

    def __init__(self) -> None:
        super().__init__(
            "The session changed meanwhile, perhaps in another tab, and nothing was done; reload this page to go on."
        )


class MemoryLimitError(InputError):
    """A limit to the memory that is no size, or too small for the program itself."""

    def __init__(self, given: str, least: str) -> None:
        super().__init__(f"{clipped(given)!r} is no limit to memory; write a size from {least} on, as 500MB or 2GB.")


class MoreMemoryError(InputError):
    """A step that needs more memory than it may take."""

    def __init__(self, method: str, columns: Sequence[str], needed: int, memory: int, what: str) -> None:
        super().__init__(
            f"{method} of {quoted_names(columns)} needs about "
            f"{math.ceil(needed / 1e8) / 10:.1f} GB in all, most of it for {what}, and only {memory / 1e9:.1f} GB of "
            "memory may be used; allow more, or mask fewer columns together."
        )


class TooLargeToAssessError(InputError):
    """Tables on a cluster of which more is different than the machine that attacks them can hold."""

    def __init__(self, number: int, what: str, needed: int, allowed: int) -> None:
        super().__init__(
            f"Assessing {number:,} {what} needs about {needed / 1e9:.1f} GB on the machine of the driver, which may "
            f"take {allowed / 1e9:.1f} GB; allow more memory, describe fewer columns or such with fewer different "
            "values, or start Spark from a larger machine."
        )


class NotInStretchesError(InputError):
    """A table that does not fit into memory, in a format that is read or written as a whole."""

    def __init__(self, name: str, memory: int) -> None:
        super().__init__(
            f"{name!r} is not read or written in stretches, and the table does not fit into {memory / 1e9:.1f} GB of "
            "memory; use CSV or Parquet, or allow more memory."
        )


class RowsInFileError(InputError):
    """The table of a release whose rows never were in memory."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The masked rows of {name!r} were written without being in memory together; read them from the output."
        )


class ChangedFileError(FileError):
    """A file that changed while it was read for the first and for the second time."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} changed while it was being masked; nothing was written: start again.")


class NoFilesError(FileError):
    """A folder or a pattern without Parquet files."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} has no Parquet files (.parquet); give a file, or a folder or a pattern with some.")


class NoTablesError(NoFilesError):
    """A folder or a pattern without Parquet files, where one file of another format would be read as well."""

    def __init__(self, path: str) -> None:
        FileError.__init__(
            self,
            f"{path!r} is no file and has no Parquet files (.parquet); give a folder or a pattern with some, or one "
            f"file in the format {TABLE_FORMATS}.",
        )


class ForeignFilesError(FileError):
    """Files of a folder that Spark would read and one machine would not."""

    def __init__(self, name: str, n_files: int) -> None:
        super().__init__(
            f"Spark would read {counted(n_files, 'file')} of {name!r} that one machine leaves out: those in folders "
            "inside it, and those whose name does not end in .parquet; move them away, or mask a DataFrame in Python."
        )


class DifferentColumnsError(FileError):
    """Parquet files of one folder that are no parts of one table."""

    def __init__(self, name: str, first: str) -> None:
        super().__init__(f"{name!r} does not have the columns and types of {first!r}; files of one table must have.")


class TooLongRecordError(FileError):
    """A record of a CSV file that has no end."""

    def __init__(self, name: str, line: int) -> None:
        super().__init__(
            f"{name!r} has a record at line {line:,} that is too long to be read in stretches; a quote that opens "
            "there may never be closed."
        )


class MapPointsError(InputError):
    """Points of a risk-utility map that cannot be drawn."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"A map of risk and utility needs {wanted}; give what `anonto sweep` wrote with --json.")


class UngatedNumberError(InternalError):
    """A number of a public report of which nobody decided whether it may be published."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"A number in the public edition ({where}) did not pass its gate, so the report is not written; this is "
            "our mistake, please report it."
        )


# ---------------------------------------------------------------------------------------------- clusters


class UnreachableMasterError(InputError):
    """A Spark master that does not answer."""

    def __init__(self, master: str) -> None:
        super().__init__(
            f"No Spark cluster answers at {clipped(master)!r}; check the address and that the master runs. Nothing was "
            "written."
        )


class ClusterJobError(InputError):
    """A job that the cluster gave up."""

    def __init__(self, condition: str) -> None:
        super().__init__(
            f"Spark gave up the job ({clipped(condition)}); nothing was written. The logs of its driver and workers "
            "say why; they often lack memory, or the packages anonto and pyarrow in the Python of PYSPARK_PYTHON."
        )


class TableChangedError(InputError):
    """A table that Spark does not give twice the same."""

    def __init__(self) -> None:
        super().__init__(
            "The table changed between two reads, so nothing was written; write it to Parquet files that stay as they "
            "are, and mask these."
        )


class RowsOutOfOrderError(InternalError):
    """Rows of a Parquet file that did not come in its order."""

    def __init__(self) -> None:
        super().__init__("The rows of a file came to a task out of their order.")


class OrderNotKeptError(InputError):
    """Rows that are to stay in their order, and tasks of Spark that have them in another."""

    def __init__(self) -> None:
        super().__init__(
            "Spark gives its tasks rows from several places of the table at once, so their order cannot be kept; save "
            "them shuffled, or write the table to Parquet files and mask these."
        )


class NoScratchError(InputError):
    """A DataFrame that must be written down first, and nowhere to write it to."""

    def __init__(self) -> None:
        super().__init__(
            "The DataFrame is not read from Parquet files row by row, so it has to be written to some first; name a "
            "folder that all workers reach with spark.sparkContext.setCheckpointDir(…), or write it to Parquet and "
            "mask that."
        )


class ForeignSessionError(InputError):
    """A DataFrame of Spark Connect."""

    def __init__(self) -> None:
        super().__init__(
            "A DataFrame of Spark Connect does not tell where its files are; take a session of the cluster's master "
            "itself."
        )


class RowIdError(InputError):
    """A column that is to number the rows and does not."""

    def __init__(self, name: str, wrong: str) -> None:
        super().__init__(
            f"Column {name!r} cannot number the rows: {wrong}; name a column of whole numbers, each in one row alone."
        )


class OnlyForClustersError(InputError):
    """An argument that only tables on a cluster take."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is for tables on a Spark cluster alone; leave it out.")


class NotForClustersError(InputError):
    """An option of this machine, given for a cluster."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is for work on this machine; leave it out, or leave out --engine spark.")


class OnlyParquetError(InputError):
    """Another format than Parquet, to be read or written on a cluster."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"On a cluster tables are read from and written to Parquet, and {name!r} is none by its ending; give a "
            "path that ends in .parquet, or leave out --engine spark."
        )


class PrivatePlaceError(InputError):
    """An output that is not on this machine, beside which no private record can be put."""

    def __init__(self, output: str) -> None:
        super().__init__(
            f"The private record is not put beside {clipped(output)!r}, which is no folder of this machine; say with "
            "--private (private=…) where it goes."
        )


# ---------------------------------------------------------------------------------------------- verification


class NotOneRecordError(InputError):
    """Several records, or none, where a person's own is asked for."""

    def __init__(self, found: int | None) -> None:
        given = "several cells in a column" if found is None else counted(found, "record")
        super().__init__(f"Your own record is asked for, but {given} came; give one record with one cell a column.")


class IncompleteRecordError(InputError):
    """A person's own record without some of the masked columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        names = quoted_names(columns)
        super().__init__(
            f"Your record lacks {counted(len(columns), 'column')} that the plan masks: {names}; give each of them, in "
            "the file or with --set column=value (--set column= where you have no value)."
        )


class NothingMaskedError(InputError):
    """A plan without steps where a release is looked at."""

    def __init__(self) -> None:
        super().__init__("The plan has no step, so nothing was masked with it; give the plan of the release.")


class NotASettingError(InputError):
    """A word that does not say which column has which value."""

    def __init__(self, place: int) -> None:
        super().__init__(f"--set number {place} is not of the form column=value; write for example --set age=40.")


class NotTextSettingError(InputError):
    """A word with bytes that are not text."""

    def __init__(self, place: int) -> None:
        super().__init__(f"--set number {place} has a byte that is not text; write column and value in UTF-8.")


class OpenHostWarning(AnontoWarning):
    """A server that others than this machine can reach."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Listening on {host!r}: others on the network can reach the app and, with its address, the data; what "
            "goes over the network is not encrypted."
        )
