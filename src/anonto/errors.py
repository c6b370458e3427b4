"""The exceptions and warnings of the package: the types that a caller would catch.

A type whose message is always the same sentence writes it here; any other sentence is a function that returns the
exception, in the room that knows the facts. A message says where, how many and what to do. It never shows a cell of a
table: offending values are on the exception's ``values``, where the caller may look at them and a log file does not.
Ids and labels of an ontology, names of files, columns and parameters are not cells and may be named.
"""

from __future__ import annotations

import errno
import os
import warnings
from typing import TYPE_CHECKING, Any

from anonto.wording import one_line, quote_value, shorten_quotes

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Sentence(Exception):  # noqa: N818 - the base of errors and warnings alike
    """A message in one line that survives pickling, with facts about the fault as attributes."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(one_line(shorten_quotes(sentence)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args), self.__dict__ or None


def _rebuild(kind: type[_Sentence], args: tuple[object, ...]) -> _Sentence:
    """An exception with its message, whatever arguments its constructor takes."""
    return kind.__new__(kind, *args)


class AnontoError(_Sentence):
    """Anything the package raises on purpose."""


class InternalError(AnontoError, RuntimeError):
    """Our own mistake: an invariant of the package does not hold. Exit code 1."""


class InputError(AnontoError, ValueError):
    """The caller's mistake: a file, a value or a parameter that cannot be used. Exit code 2."""

    values: tuple[Any, ...] = ()
    """The offending values; the message never shows a cell of a table."""
    cells: int | None = None
    """Number of cells that have them, if known."""
    row: int | None = None
    """The first row that has one, from 1, without the header, if known."""
    settings: tuple[str, ...] = ()
    """Keys of a plan that can be changed so that the work is possible."""

    def __init__(
        self,
        sentence: str = "",
        *,
        values: Sequence[object] = (),
        cells: int | None = None,
        row: int | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(sentence)
        self.values, self.cells, self.row, self.settings = tuple(values), cells, row, settings

    @property
    def on_the_command_line(self) -> str:
        """The message without what only a caller who holds the exception can do."""
        sentence = str(self)
        for in_code, instead in _IN_CODE.items():
            sentence = sentence.replace(in_code, instead)
        return sentence


_IN_CODE = {
    " or the exception's .values": "",
    "see the exception's .values, or match them first with anonto.match": "match them first with `anonto match`",
    "see the exception's .values, or ": "fix them, or ",
    "see the exception's .values, and ": "",
}
"""Parts of messages for callers in code, and their replacement on the command line."""


# ---------------------------------------------------------------------------------------------- files


class FileError(InputError):
    """A file that cannot be read, written or used."""


class MissingFileError(FileError):
    """A path that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no file or folder {name!r}; check the path.")


class ExistingFileError(FileError):
    """An output that exists already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} exists already; choose another name or add --force.")


class UnwritableFileError(FileError):
    """An output that cannot be written."""

    def __init__(self, name: str, reason: str) -> None:
        advice = "create its folder first" if reason == os.strerror(errno.ENOENT) else "nothing was left behind"
        super().__init__(f"{name!r} cannot be written ({reason}); {advice}.")


class MalformedFileError(FileError):
    """A file with a fault in it; ``line`` is where, if known."""

    line: int | None = None

    def __init__(self, name: str, format_name: str, fault: str, line: int | None = None) -> None:
        where = f" at line {line:,}" if line is not None else ""
        super().__init__(f"{name!r} is not a valid {format_name} file{where}: {fault}.")
        self.line = line


class UnclearHeaderError(FileError):
    """A table whose first row looks like a record instead of column names."""


class MissingPackageError(InputError):
    """An optional package that is needed and not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}; install it with: pip install 'anonto[{extra}]'.")


# ---------------------------------------------------------------------------------------------- plans and tables


class PlanError(InputError):
    """A plan that contradicts itself, its methods or the table."""


class ParameterError(InputError):
    """A parameter, an option or an argument out of its range."""

    def __init__(self, name: str, must: str, got: object) -> None:
        super().__init__(f"{name} must be {must}; got {quote_value(got)}.")


class OntologyError(InputError):
    """An ontology, a measure, a root or a concept that does not exist or cannot be used."""


class ColumnError(InputError):
    """A column that is missing or cannot be used: its type, its name or some of its cells, which are on ``values``."""


class AllMissingError(ColumnError):
    """A column without a single usable value."""


class UnmatchedValuesError(ColumnError):
    """Values of a column that have no concept. The distinct values are on ``values``."""


class TooFewRecordsError(InputError):
    """Too few records for a statistic, a group, a bin or the closeness t."""

    closeness: tuple[str, float, float] | None = None
    """The confidential column, the distance of the closest possible group and t, if t is the reason."""

    def __init__(
        self,
        sentence: str = "",
        *,
        settings: tuple[str, ...] = (),
        closeness: tuple[str, float, float] | None = None,
    ) -> None:
        super().__init__(sentence, settings=settings)
        self.closeness = closeness


class MemoryLimitError(InputError):
    """Work that needs more memory than it may use."""


class ReleaseError(InputError):
    """A release or a private record that does not belong to the table or the plan."""


class ClusterError(InputError):
    """A Spark cluster, or a table on one, that cannot be used."""


# ---------------------------------------------------------------------------------------------- the web app


class StoppedWorkError(AnontoError):
    """Work in another process that was stopped before it finished."""

    def __init__(self) -> None:
        super().__init__("The work was stopped before it finished; start it again.")


class SessionChangedError(AnontoError):
    """An action on a page that shows an earlier state of the session."""

    def __init__(self) -> None:
        super().__init__(
            "The session changed in the meantime, perhaps in another tab, and nothing was done; reload this page to "
            "continue."
        )


# ---------------------------------------------------------------------------------------------- warnings


class AnontoWarning(_Sentence, UserWarning):
    """Something the caller should know but that does not stop the work."""


class ReleasedAsIsWarning(AnontoWarning):
    """Columns that are released unmasked, perhaps by mistake."""


class GuessableSeedWarning(AnontoWarning):
    """A seed that can be found by trying."""

    def __init__(self) -> None:
        super().__init__("The seed is short and can be guessed; whoever finds it can undo the masking: leave it out.")


# ---------------------------------------------------------------------------------------------- former names

_FORMER = {
    "CycleError": OntologyError,
    "UnknownConceptError": OntologyError,
    "OutsideRootError": OntologyError,
    "NotNumericError": ColumnError,
    "MixedNotationError": ColumnError,
    "LostDigitsError": ColumnError,
    "NotInOrderError": ColumnError,
    "NegativeRadicandWarning": AnontoWarning,
}
"""The types that replace those which the documentation named before."""


def __getattr__(name: str) -> type[_Sentence]:
    if name not in _FORMER:
        message = f"module 'anonto.errors' has no attribute {name!r}"
        raise AttributeError(message)
    now = _FORMER[name]
    warnings.warn(f"anonto.errors.{name} is now anonto.errors.{now.__name__}", DeprecationWarning, stacklevel=2)
    return now
