"""The sections of a plan: a step with its method, and checks of what a plan file may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.encoding.refusals import unknown_key
from anonto.errors import ParameterError
from anonto.io.headers import require_known_header
from anonto.masking.refusals import repeated_column
from anonto.methods.parameters import SMALL_STRATA
from anonto.methods.registry import method_of, parameters_of
from anonto.wording import is_unicode

if TYPE_CHECKING:
    from anonto.methods.method import Method
    from anonto.methods.parameters import SmallStrata

READING_KEYS = ("delimiter", "encoding", "sheet", "header")
TABLE_KEYS = (*READING_KEYS, "person", "at_most", "order", "weight", "population")
OF_PERSONS = ("at_most", "order")
"""Keys about the rows of a person."""
DEEPEST = 6
"""Tables and lists inside each other: the plan, its columns, a column, a list of its texts, and some room."""
LONGEST_TEXT = 10_000
LARGEST_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Step:
    """A method and the columns it masks, perhaps inside strata."""

    method: Method
    columns: tuple[str, ...]
    within: tuple[str, ...] = ()
    """Columns whose cells define the strata; empty to mask the table as a whole."""
    small_strata: SmallStrata = "refuse"
    """How strata are treated that have fewer rows than the method needs."""

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the step looks at and does not mask."""
        return (*self.method.also_needs, *self.within)

    @property
    def counted_together(self) -> tuple[tuple[str, ...], ...]:
        """Sets of columns whose distinct records are counted to fit the step."""
        method, strata = self.method, (self.within,) if self.within else ()
        if self.within and method.uses_other_rows:
            if not method.together or (method.by_row and not method.needs_records):
                return (*strata, *((name, *self.within) for name in self.columns))
            return (*strata, (*self.columns, *self.also_needs))
        if method.together and (method.by_row or method.by_cells() is None):
            return (*strata, (*self.columns, *method.also_needs))
        return strata

    def to_dict(self) -> dict[str, Any]:
        """The step as in a plan file."""
        strata: dict[str, Any] = {"within": list(self.within)} if self.within else {}
        if self.small_strata != "refuse":
            strata["small_strata"] = self.small_strata
        return {"method": self.method.name, "columns": list(self.columns), **strata, **parameters_of(self.method)}


def reading_options(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a plan's table section that say how a file is read."""
    return {key: value for key, value in table.items() if key in READING_KEYS}


def mapping_of(given: Any, what: str) -> Mapping[str, Any]:
    """A table of a plan; anything else is refused."""
    if not isinstance(given, Mapping):
        raise ParameterError(what, "a table of keys", "something else")
    return given


def require_shape(value: Any, where: str, depth: int = 1) -> None:
    """Refuse values that are deeper, longer or larger than any plan needs, before anything is done with them."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise ParameterError(where, f"a text of at most {LONGEST_TEXT:,} characters", value)
        if not is_unicode(value):
            raise ParameterError(where, "a text without halves of characters (lone surrogates)", value)
    elif isinstance(value, int):
        if abs(value) > LARGEST_NUMBER:
            raise ParameterError(where, f"a number of at most {LARGEST_NUMBER:,}", value)
    elif isinstance(value, Mapping | list | tuple):
        if depth > DEEPEST:
            raise ParameterError(where, f"at most {DEEPEST} tables and lists inside each other", "more")
        for key, one in value.items() if isinstance(value, Mapping) else enumerate(value, start=1):
            require_shape(key, f"A name in {where}", depth)
            inside = f"{key!r} of {where}" if isinstance(value, Mapping) else where
            require_shape(one, inside, depth + 1)


def table_section(given: Any) -> dict[str, Any]:
    """The section about the table."""
    for key, value in mapping_of(given, "table").items():
        if key not in TABLE_KEYS:
            raise unknown_key(str(key), "The table section of the plan", TABLE_KEYS)
        if key in OF_PERSONS and "person" not in given:
            raise ParameterError("person of the table", f"given where {key} is: the column of the persons", None)
        if key == "at_most":
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError("at_most of the table", "a whole number, 1 or more", value)
        elif key == "population":
            if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, int) and value < 1):
                raise ParameterError("population of the table", "a number of people, 1 or more, or a path", value)
        elif not isinstance(value, str):
            raise ParameterError(f"{key} of the table", "a text", "something else")
    require_known_header(given.get("header"))
    return dict(given)


def step_of(number: int, given: Any) -> Step:
    """A step from its keys; numbers start at 1."""
    step = dict(mapping_of(given, f"Step {number}"))
    if "method" not in step:
        raise ParameterError(f"method of step {number}", "given", None)
    name, columns = step.pop("method"), names_of(step.pop("columns", None), f"columns of step {number}")
    within = names_of(step.pop("within"), f"within of step {number}") if "within" in step else ()
    small_strata = step.pop("small_strata", "refuse")
    if small_strata not in SMALL_STRATA:
        raise ParameterError(f"small_strata of step {number}", f"one of {', '.join(SMALL_STRATA)}", small_strata)
    if small_strata != "refuse" and not within:
        raise ParameterError(f"within of step {number}", "given where small_strata is: the columns of the strata", None)
    if len(set(columns)) != len(columns) or len(set(within)) != len(within):
        raise repeated_column(number)
    return Step(method_of(name, step), columns, within, small_strata)


def names_of(given: Any, what: str) -> tuple[str, ...]:
    """One column name or a list of some."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(one, str) for one in names):
        raise ParameterError(what, "a list of column names", given)
    return tuple(names)
