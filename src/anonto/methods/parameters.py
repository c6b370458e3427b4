"""Parameters of methods as data: what each takes, and one sentence about it; and their checks.

A field of a method's dataclass has such a parameter in its metadata: ``k: int = field(metadata=whole(...))``. The check
of a value, the app's form, the schema of plans and the documentation are all made from it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anonto.errors import AnontoWarning, ParameterError
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Metadata = Mapping[str, "Parameter"]

KEY = "parameter"
SmallStrata = Literal["refuse", "pool", "leave"]
"""How a step treats strata with fewer rows than its method needs."""
SMALL_STRATA: tuple[SmallStrata, ...] = ("refuse", "pool", "leave")
STEP_KEYS = ("method", "columns", "within", "small_strata")
"""Keys of every step other than the parameters of its method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Values that a parameter takes, and how a form asks for it."""

    kind: Literal["whole number", "number", "choice", "flag", "column", "text"]
    label: str
    """A few words for a form."""
    why: str
    """Its purpose, in a sentence or two."""
    must: str
    """Requirement on its value, as the end of a sentence."""
    low: float | None = None
    """The least number."""
    above: float | None = None
    """Numbers are above this one."""
    high: float | None = None
    """The largest number."""
    choices: tuple[str, ...] = ()
    lists: Literal["never", "allowed", "only"] = "never"
    """True if it takes a list of such values, one for each column."""
    takes_names: bool = False
    """True if it also takes a list of lists of columns in place of a number."""
    start: Any = None
    """Initial value in a form."""
    offered: tuple[float | None, float | None, float | None] = (None, None, None)
    """The least and the largest number that a form offers, and its step."""
    sweep: tuple[Any, ...] = ()
    """Values that a sweep tries; the initial value where this is empty."""
    symbol: str = ""
    """Words that replace a withheld value in a sentence; the name of the parameter where this is empty."""
    is_public: bool = False
    """True if the public edition of a report shows it: where the guarantee holds against someone who knows it."""

    def check(self, name: str, value: Any) -> Any:
        """The value, lists as tuples; refused if it is not what the parameter takes."""
        if self.takes_names and isinstance(value, list | tuple):
            return self._lists_of_names(name, value)
        if self.lists != "never" and isinstance(value, list | tuple | np.ndarray):
            each = value.tolist() if isinstance(value, np.ndarray) else value
            if not len(each):
                raise ParameterError(name, self.must, [])
            return tuple(self._one(name, one) for one in each)
        if self.lists == "only":
            raise ParameterError(name, self.must, value)
        return self._one(name, value)

    def _lists_of_names(self, name: str, value: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
        for one in value:
            are_names = isinstance(one, list | tuple) and one and all(isinstance(each, str) for each in one)
            if not are_names or len(set(one)) < len(one):
                raise ParameterError(name, self.must, one)
        if not len(value):
            raise ParameterError(name, self.must, [])
        return tuple(tuple(one) for one in value)

    def _one(self, name: str, value: Any) -> Any:
        if not self._takes(value):
            raise ParameterError(name, self.must, value)
        return value

    def _takes(self, value: Any) -> bool:
        if self.kind == "choice":
            return value in self.choices
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind in {"column", "text"}:
            return isinstance(value, str)
        if isinstance(value, bool) or not isinstance(value, int if self.kind == "whole number" else int | float):
            return False
        above = -math.inf if self.above is None else self.above
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return above < value and low <= value <= high and value < math.inf


def whole(label: str, why: str, *, low: int = 1, lists: bool = False, **further: Any) -> Metadata:
    """A whole number, or with ``lists`` one for each column."""
    must = f"a whole number, {low:,} or more{', or one for each column' if lists else ''}"
    takes_lists = "allowed" if lists else "never"
    return _parameter(label, why, further, kind="whole number", must=must, low=low, lists=takes_lists)


def number(label: str, why: str, **further: Any) -> Metadata:
    """A number within limits: ``low`` or ``above``, and ``high``."""
    words = {"above": "above {:g}", "low": "from {:g}", "high": "at most {:g}"}
    limits = [word.format(further[name]) for name, word in words.items() if name in further]
    return _parameter(label, why, further, kind="number", must=f"a number {' and '.join(limits)}".strip())


def choice(choices: Sequence[str], label: str, why: str, **further: Any) -> Metadata:
    """One of some words."""
    return _parameter(label, why, further, kind="choice", must=f"one of {', '.join(choices)}", choices=tuple(choices))


def flag(label: str, why: str, **further: Any) -> Metadata:
    """True or false."""
    return _parameter(label, why, further, kind="flag", must="true or false")


def column_name(label: str, why: str, **further: Any) -> Metadata:
    """The name of a column."""
    return _parameter(label, why, further, kind="column", must="the name of a column")


def _parameter(label: str, why: str, further: Mapping[str, Any], **assumed: Any) -> Metadata:
    return {KEY: Parameter(**{**assumed, **further}, label=label, why=why)}


def public(metadata: Metadata) -> Metadata:
    """A parameter that is shown in the public edition of a report."""
    return {KEY: replace(metadata[KEY], is_public=True)}


# ------------------------------------------------------------------------------------------------ what several take

K = whole(
    "k – how many records",
    "Records of a group, or how many neighbours a partner is picked from. Larger is safer and loses more.",
    start=10,
    offered=(2, 1000, 1),
)
PERCENTS = (1.0, 5.0, 20.0)
"""Shares that a sweep tries: methods with windows need wide ones before an intruder loses a person."""
PERCENT = number(
    "percent of the records",
    "Instead of k: how many neighbours, as a share of the records.",
    above=0,
    high=100,
    offered=(0.1, 100, 0.1),
    sweep=PERCENTS,
)
INTERVAL = choice(
    ("all", "unswapped"),
    "partners",
    "“all”: among all records, as in the paper; “unswapped”: among those left, so that hardly any value stays.",
    must='"all" or "unswapped"',
)
ODD = choice(
    ("stay", "cycle3"), "the odd one out", "With an odd number of records: the last one stays, or the last three swap."
)
WIDTH = number(
    "width of a bin",
    "In the units of the numbers; for a column with an ontology, a depth.",
    above=0,
    must="a number above 0, or one for each column",
    lists="allowed",
    offered=(0, None, None),
)
AVERAGE_RISK = number(
    "average risk",
    "Groups divided by persons, the average chance to link a row: there are as many groups as it allows, of any size "
    "from k on.",
    above=0,
    high=1,
    offered=(0.01, 1, 0.01),
    sweep=(0.05, 0.1, 0.2),
    is_public=True,
)
REFINE = flag("refine the groups", "Improve the groups after they are formed. Slower, and loses less.")
LEAST_PER_K = 100
"""A block has at least this many times k rows."""
BLOCK_ROWS = whole(
    "rows of a block",
    "With more rows than this, groups form inside blocks of about so many; for tables larger than memory.",
    low=LEAST_PER_K,
    must=f"a whole number, {LEAST_PER_K} times k or more",
    offered=(100, None, 1),
)


# ------------------------------------------------------------------------------------------------ of a method


@dataclass(frozen=True, slots=True)
class NamedParameter:
    """A parameter of a method."""

    name: str
    takes: Parameter
    is_needed: bool
    default: Any
    """None if the parameter is needed, or has no default."""


def parameters_known(method: Any) -> list[NamedParameter]:
    """The parameters of a method, or of its class, in order."""
    return [
        NamedParameter(one.name, parameter_of(one), (needed := _is_needed(one)), None if needed else one.default)
        for one in fields(method)
    ]


def parameter_of(one: Field[Any]) -> Parameter:
    """Parameter of a method's field; any text if the method does not describe it."""
    found = one.metadata.get(KEY)
    return found if isinstance(found, Parameter) else Parameter(kind="text", label=one.name, why="", must="a text")


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def check_parameters(method: Any, one_of: Sequence[str] = (), but: Sequence[str] = ()) -> None:
    """Refuse values that a parameter of a method does not take, and turn lists into tuples.

    Args:
        method: The method under construction.
        one_of: Exactly one of these must be given.
        but: These are checked elsewhere.
    """
    if one_of:
        _require_one_given(**{name: getattr(method, name) for name in one_of})
    for one in fields(method):
        given = getattr(method, one.name)
        if one.name in but or KEY not in one.metadata or (given is None and one.default is None):
            continue
        checked = parameter_of(one).check(one.name, given)
        if checked is not given:
            object.__setattr__(method, one.name, checked)


def _require_one_given(**parameters: object) -> None:
    given = [name for name, value in parameters.items() if value is not None]
    first, *others = parameters
    if not given:
        raise ParameterError(first, f"given, or {' or '.join(others)} instead of it", None)
    if len(given) > 1:
        raise ParameterError(given[1], f"left out where {given[0]} is given", parameters[given[1]])


def require_block_rows(block_rows: object, k: int) -> None:
    """Refuse blocks that are too small for many groups."""
    least = LEAST_PER_K * k
    if block_rows is None:
        return
    if isinstance(block_rows, bool) or not isinstance(block_rows, int) or block_rows < least:
        raise ParameterError("block_rows", f"a whole number, {least:,} or more with k = {k:,}", block_rows)


def k_for(k: int | None, percent: float | None, n_records: int) -> int:
    """K as given, or as a share of the records; at least 1."""
    return k if k is not None else max(1, round((percent or 0) * n_records / 100))


def groups_within(average_risk: float, n_persons: int) -> int:
    """How many groups of so many persons keep to an average risk."""
    n_groups = int(average_risk * n_persons) + 1
    while n_groups > average_risk * n_persons and n_groups / max(n_persons, 1) > average_risk:
        n_groups -= 1
    return n_groups


def least_persons(average_risk: float | None) -> int:
    """The fewest persons that keep to an average risk as a single group."""
    if average_risk is None:
        return 1
    n_persons = max(1, int(1.0 / average_risk))
    while 1.0 / n_persons > average_risk:
        n_persons += 1
    return n_persons


def within_table(k: int, n_records: int) -> int:
    """K, or with a warning one less than the number of records if it is larger than that."""
    if k < n_records or n_records < 2:
        return k
    warnings.warn(too_large_k(k, n_records), stacklevel=4)
    return n_records - 1


# ------------------------------------------------------------------------------------------------ sweeps


def sizes_within(sizes: Sequence[int], n_records: int) -> list[int]:
    """The group sizes that fit into the table twice; for a small table half of it."""
    return [size for size in sizes if 2 * size <= n_records] or [max(1, n_records // 2)]


GROUP_SIZES = (5, 10, 20, 30, 50, 100)
BIN_SIZES = (5, 20, 100)


def too_large_k(k: int, n_records: int) -> AnontoWarning:
    """A k that is larger than the table."""
    used = max(n_records - 1, 1)
    return AnontoWarning(f"k = {k:,} is not below the {count_of(n_records, 'record')}; {used:,} was used.")
