"""The whole job as frozen data: what the columns are, and what is done to them; as TOML, as a dict, and back."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.errors import (
    EncodingError,
    MissingColumnError,
    NotAPlanError,
    NothingMaskedWarning,
    ParameterError,
    PlanError,
    ReleasedAsIsWarning,
    TomlError,
    UnknownKeyError,
    UnreviewedColumnsWarning,
    is_unicode,
)
from anonto.methods.guarantee import Setting
from anonto.methods.registry import METHODS, method_of, parameters_of
from anonto.methods.schema import schema_of_step
from anonto.ontology.source import kind_of_path, opened
from anonto.table.description import ColumnDescription, column_schema
from anonto.table.headers import require_known_header

if TYPE_CHECKING:
    import os

    from anonto.errors import AnontoWarning
    from anonto.methods.method import Method

PLAN_KEYS = ("columns", "steps", "table")
TABLE_KEYS = ("delimiter", "encoding", "sheet", "header")
LARGEST_FILE = 16 << 20
"""Bytes of a plan file."""
DEEPEST = 6
"""Tables and lists inside each other: the plan, its columns, a column, a list of its texts, and some room."""
LONGEST_TEXT = 10_000
LARGEST_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Step:
    """A method and the columns it masks."""

    method: Method
    columns: tuple[str, ...]

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the method looks at and does not mask."""
        return self.method.also_needs

    def to_dict(self) -> dict[str, Any]:
        """As in a plan file."""
        return {"method": self.method.name, "columns": list(self.columns), **parameters_of(self.method)}


@dataclass(frozen=True, slots=True)
class Plan:
    """Columns by name, steps in order, and how the table file is stored. The seed is never part of a plan."""

    columns: Mapping[str, ColumnDescription] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    table: Mapping[str, str] = field(default_factory=dict)
    """Delimiter, encoding or sheet of the table file, where they are not to be detected; whether names head it."""
    folder: Path | None = field(default=None, compare=False)
    """Where relative paths start: the folder of the plan file."""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], folder: Path | None = None) -> Plan:
        """From the shape of a plan file; unknown keys are refused."""
        if not isinstance(given, Mapping):
            raise ParameterError("plan", "a plan, a dict or the path of a TOML file", type(given).__name__)
        for key in given:
            if key not in PLAN_KEYS:
                raise UnknownKeyError(str(key), "The plan", PLAN_KEYS)
            _require_shape(given[key], key)
        columns = _mapping(given.get("columns", {}), "columns")
        described = {str(name): ColumnDescription.from_mapping(str(name), one) for name, one in columns.items()}
        steps = given.get("steps", ())
        if isinstance(steps, str | Mapping) or not isinstance(steps, Sequence):
            raise ParameterError("steps", "a list of steps", "something else")
        plan = cls(
            columns=MappingProxyType(described),
            steps=tuple(_step(number, one) for number, one in enumerate(steps, start=1)),
            table=MappingProxyType(_table(given.get("table", {}))),
            folder=folder,
        )
        plan.check()
        return plan

    def in_blocks(self, block_rows: Mapping[int, int]) -> Plan:
        """The plan of a release that was masked in blocks, given the rows of blocks by the number of the step."""
        steps = [
            replace(step, method=step.method.in_blocks(block_rows[number])) if number in block_rows else step
            for number, step in enumerate(self.steps, start=1)
        ]
        return replace(self, steps=tuple(steps))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Plan:
        """From a plan file."""
        if kind_of_path(path) == "folder":
            raise TomlError(str(path), "it is a folder")
        file = Path(path)
        with opened(file) as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise NotAPlanError(file.name, f"it is larger than {LARGEST_FILE >> 20} MB")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise EncodingError(file.name, content[: error.start].count(b"\n") + 1) from None
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TomlError(file.name, str(error)) from None
        except RecursionError:
            raise NotAPlanError(file.name, "its lists or tables are too many inside each other") from None
        except ValueError:  # Python reads no number of more than some thousand digits
            raise NotAPlanError(file.name, "it has a number of too many digits") from None
        return cls.from_dict(given, folder=file.parent)

    def __reduce__(self) -> tuple[Any, ...]:
        """Read-only views cannot be pickled; what they show can."""
        return Plan, (dict(self.columns), self.steps, dict(self.table), self.folder)

    def to_dict(self) -> dict[str, Any]:
        """In the shape of a plan file."""
        plan: dict[str, Any] = {"table": dict(self.table)} if self.table else {}
        plan["columns"] = {name: one.to_mapping() for name, one in self.columns.items()}
        plan["steps"] = [step.to_dict() for step in self.steps]
        return plan

    def filled(self) -> dict[str, Any]:
        """In the shape of a plan file, with every key that has a default."""
        described = {name: one.to_mapping(everything=True) for name, one in self.columns.items()}
        return {**self.to_dict(), "columns": described}

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """As the text of a plan file, with a comment above the columns that have one."""
        from anonto.toml import to_toml

        return to_toml(self.to_dict(), comments or {})

    @property
    def reading(self) -> dict[str, Any]:
        """How the table file is read: as the plan says, and with a first row that has one of its columns as names."""
        return {**self.table, "names": (*self.columns, *self.masked)}

    def check(self) -> None:
        """Refuse what contradicts itself."""
        masked: dict[str, int] = {}
        for number, step in enumerate(self.steps, start=1):
            for name in step.columns:
                if name in masked:
                    raise PlanError(
                        f"Column {name!r} is masked by step {masked[name]} and again by step {number}",
                        "mask each column once",
                    )
                masked[name] = number
                if self.description(name).role == "identifier":
                    raise PlanError(f"Step {number} masks the identifier {name!r}", "identifiers are dropped anyway")
        for number, step in enumerate(self.steps, start=1):
            for name in step.also_needs:
                if name in masked:
                    raise PlanError(
                        f"Step {number} looks at column {name!r} as it is released, but step {masked[name]} masks it",
                        "name a column that no step masks",
                    )
                if self.description(name).role == "identifier":
                    raise PlanError(
                        f"Step {number} looks at the identifier {name!r}, which is dropped", "name another column"
                    )

    @property
    def scales(self) -> dict[str, tuple[str, ...]]:
        """The values of each ordinal column, lowest first."""
        return {name: one.order for name, one in self.columns.items() if one.kind == "ordinal"}

    def description(self, name: str) -> ColumnDescription:
        """What the plan says of a column; a column that only a step names is a nominal quasi-identifier."""
        return self.columns.get(name, ColumnDescription())

    def setting(self, step: Step, names: Iterable[str], unmatched: Collection[str] = (), **known: Any) -> Setting:
        """What the guarantee of a step depends on.

        Args:
            step: One of the plan.
            names: All columns of the table. One that the plan does not name may be known of a person.
            unmatched: Columns that have cells without a concept.
            known: What else is known of the release, by the names that `Setting` has for it.
        """
        described = {name: self.description(name) for name in names}
        leave = {name: one for name, one in described.items() if one.role != "identifier"}
        moves_all = step.method.moves_missing
        return Setting(
            left_out=tuple(
                name for name, one in leave.items() if name not in step.columns and one.role != "confidential"
            ),
            unmatched=() if moves_all else tuple(name for name in step.columns if name in unmatched),
            unreviewed=self.unreviewed(leave),
            **known,
        )

    def unreviewed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Columns that leave though nobody has confirmed what the plan says of them, among those of a table."""
        described = ((name, self.description(name)) for name in names)
        return tuple(name for name, one in described if one.review and one.role != "identifier")

    def warnings_about(self, names: Iterable[str]) -> list[AnontoWarning]:
        """What a caller must know of the columns of a table that leave: unnamed, not masked, or not confirmed."""
        leaving = [name for name in names if self.description(name).role != "identifier"]
        as_is = [name for name in leaving if name not in self.masked]
        unnamed = [name for name in as_is if name not in self.columns]
        unmasked = [name for name in as_is if name in self.columns and self.columns[name].role == "quasi-identifier"]
        unreviewed = self.unreviewed(leaving)
        found: list[AnontoWarning] = []
        if unnamed or unmasked:
            found.append(ReleasedAsIsWarning(unnamed, unmasked))
        if as_is and not self.steps:
            found.append(NothingMaskedWarning(len(as_is)))
        if unreviewed:
            found.append(UnreviewedColumnsWarning(unreviewed))
        return found

    @property
    def released_as_text(self) -> tuple[str, ...]:
        """Columns that leave as text where the cells of a table decide its type."""
        steps = (step for step in self.steps if step.method.releases_text)
        return tuple(name for step in steps for name in step.columns)

    def are_declared(self, names: Iterable[str]) -> bool:
        """Whether all these columns are named, and quasi-identifiers."""
        named = {*self.columns, *self.masked}
        return all(name in named and self.description(name).role == "quasi-identifier" for name in names)

    def is_confidential(self, name: str) -> bool:
        """Whether a column is declared confidential: then nobody knows it of a person before."""
        return self.description(name).role == "confidential"

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column of the plan."""
        for name in [*self.columns, *self.masked, *self.also_needed]:
            if name not in names:
                raise MissingColumnError(name, list(names))

    def identifiers(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of a table that are dropped."""
        return tuple(name for name in names if self.description(name).role == "identifier")

    def looked_at(self, names: Iterable[str]) -> list[str]:
        """The columns of a table that a step or a policy looks at."""
        needed = {*self.masked, *self.also_needed, *(name for name, one in self.columns.items() if one.has_policy)}
        return [name for name in names if name in needed and self.description(name).role != "identifier"]

    @property
    def masked(self) -> tuple[str, ...]:
        """All columns that a step masks."""
        return tuple(name for step in self.steps for name in step.columns)

    @property
    def also_needed(self) -> tuple[str, ...]:
        """Columns that a step looks at and does not mask."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.also_needs))

    @property
    def ontology_files(self) -> tuple[Path, ...]:
        """The files of the ontologies that are named by a path, which no output may replace; of a folder, all in it."""
        from anonto.table.beside import files_at

        named = {one for column in self.columns.values() for one in column.ontologies if isinstance(one, str)}
        found = []
        for name in sorted(named):
            beside = files_at(self.folder / name) if self.folder is not None else []
            found += beside or files_at(Path(name))
        return tuple(found)


def plan_of(plan: Plan | Mapping[str, Any] | str | os.PathLike[str]) -> Plan:
    """A plan from whatever the caller has."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.from_toml(plan)


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ParameterError(what, "a table of keys", "something else")
    return given


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan; the methods of other packages are in it."""
    table = {key: {"type": "string"} for key in TABLE_KEYS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of anonto",
        "type": "object",
        "properties": {
            "table": {"type": "object", "properties": table, "additionalProperties": False},
            "columns": {"type": "object", "additionalProperties": column_schema()},
            "steps": {"type": "array", "items": {"oneOf": [schema_of_step(one) for one in METHODS.values()]}},
        },
        "additionalProperties": False,
    }


def _require_shape(value: Any, where: str, depth: int = 1) -> None:
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
            _require_shape(key, f"A name in {where}", depth)
            inside = f"{key!r} of {where}" if isinstance(value, Mapping) else where
            _require_shape(one, inside, depth + 1)


def _table(given: Any) -> dict[str, str]:
    for key, value in _mapping(given, "table").items():
        if key not in TABLE_KEYS:
            raise UnknownKeyError(str(key), "The table section of the plan", TABLE_KEYS)
        if not isinstance(value, str):
            raise ParameterError(f"{key} of the table", "a text", "something else")
    require_known_header(given.get("header"))
    return dict(given)


def _step(number: int, given: Any) -> Step:
    step = dict(_mapping(given, f"Step {number}"))
    if "method" not in step:
        raise ParameterError(f"method of step {number}", "given", None)
    name, columns = step.pop("method"), step.pop("columns", None)
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, Sequence) or not columns or not all(isinstance(one, str) for one in columns):
        raise ParameterError(f"columns of step {number}", "a list of column names", columns)
    if len(set(columns)) != len(columns):
        raise PlanError(f"Step {number} names a column twice", "name each once")
    return Step(method_of(name, step), tuple(columns))
