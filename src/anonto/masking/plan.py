"""A plan as frozen data: what the columns are and how they are masked; to and from TOML and dicts."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.encoding.description import NEVER_MASKED, ColumnDescription
from anonto.encoding.refusals import unknown_key
from anonto.errors import AnontoWarning, ParameterError
from anonto.io.table import missing_column
from anonto.io.toml import invalid_toml
from anonto.masking.plan_sections import (
    Step,
    mapping_of,
    reading_options,
    require_shape,
    step_of,
    table_section,
)
from anonto.masking.refusals import (
    elements_with_others,
    joined_and_described,
    masked_and_needed,
    masked_identifier,
    masked_person,
    masked_twice,
    masked_weight,
    method_without_order,
    method_without_sets,
    needed_identifier,
    not_a_plan,
    nothing_masked,
    order_of_nothing,
    parameters_without_sets,
    pseudonym_of_nobody,
    released_as_is,
    released_texts,
    released_weight,
    shift_of_nobody,
    strata_of_sets,
    unreviewed_columns,
    used_order,
)
from anonto.methods.guarantee import Setting
from anonto.ontology.refusals import wrong_encoding
from anonto.ontology.source import kind_of_path, open_file

if TYPE_CHECKING:
    import os

    from anonto.methods.method import Method

PLAN_KEYS = ("columns", "steps", "table")
ROWS_OF_PERSON = "number of rows"
"""The column of a person's number of rows where no set has it; a plan may describe and mask it."""
LARGEST_FILE = 16 << 20
"""Bytes of a plan file."""
DROPPED_WEIGHT = ColumnDescription(kind="numeric", role="identifier")


@dataclass(frozen=True, slots=True)
class Plan:
    """Columns by name, steps in order, and how the table file is stored. The seed is never part of a plan."""

    columns: Mapping[str, ColumnDescription] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    table: Mapping[str, Any] = field(default_factory=dict)
    """Delimiter, encoding or sheet of the table file, where they are not to be detected; whether names head it; the
    columns that say whose rows these are, and how many people a record stands for; how many rows of a person count."""
    folder: Path | None = field(default=None, compare=False)
    """The start of relative paths: the folder of the plan file."""
    made_from: Plan | None = field(default=None, compare=False)
    """In the plan of records that were made from rows, the plan of these rows."""
    shifted: tuple[str, ...] = field(default=(), compare=False)
    """In the plan of a recoded table, the columns whose dates were shifted by a secret number of days."""
    linked: tuple[str, ...] = field(default=(), compare=False)
    """In the plan of a recoded table, the columns that say which rows are of one person."""
    by_person: bool = field(default=False, compare=False)
    """True if a record is a person with all her rows: so in the plan of records that were made from rows."""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], folder: Path | None = None) -> Plan:
        """From the shape of a plan file; unknown keys are refused."""
        if not isinstance(given, Mapping):
            raise ParameterError("plan", "a plan, a dict or the path of a TOML file", type(given).__name__)
        for key in given:
            if key not in PLAN_KEYS:
                raise unknown_key(str(key), "The plan", PLAN_KEYS)
            require_shape(given[key], key)
        columns = mapping_of(given.get("columns", {}), "columns")
        described = {str(name): ColumnDescription.from_mapping(str(name), one) for name, one in columns.items()}
        steps = given.get("steps", ())
        if isinstance(steps, str | Mapping) or not isinstance(steps, Sequence):
            raise ParameterError("steps", "a list of steps", "something else")
        plan = cls(
            columns=MappingProxyType(described),
            steps=tuple(step_of(number, one) for number, one in enumerate(steps, start=1)),
            table=MappingProxyType(table_section(given.get("table", {}))),
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
            raise invalid_toml(str(path), "it is a folder")
        file = Path(path)
        with open_file(file) as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise not_a_plan(file.name, f"it is larger than {LARGEST_FILE >> 20} MB")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise wrong_encoding(file.name, content[: error.start].count(b"\n") + 1) from None
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise invalid_toml(file.name, str(error)) from None
        except RecursionError:
            raise not_a_plan(file.name, "its lists or tables are too many inside each other") from None
        except ValueError:  # Python reads no number of more than some thousand digits
            raise not_a_plan(file.name, "it has a number of too many digits") from None
        return cls.from_dict(given, folder=file.parent)

    def __reduce__(self) -> tuple[Any, ...]:
        """Read-only views cannot be pickled; what they show can."""
        further = {"shifted": self.shifted, "linked": self.linked, "by_person": self.by_person}
        return _restored, (dict(self.columns), self.steps, dict(self.table), self.folder, further)

    def to_dict(self) -> dict[str, Any]:
        """The plan in the shape of a plan file."""
        plan: dict[str, Any] = {"table": dict(self.table)} if self.table else {}
        plan["columns"] = {name: one.to_mapping() for name, one in self.columns.items()}
        plan["steps"] = [step.to_dict() for step in self.steps]
        return plan

    def with_defaults(self) -> dict[str, Any]:
        """The plan in the shape of a plan file, with every key that has a default."""
        described = {name: one.to_mapping(everything=True) for name, one in self.columns.items()}
        return {**self.to_dict(), "columns": described}

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """As the text of a plan file, with a comment above the columns that have one, and in the table section."""
        from anonto.io.toml import to_toml

        return to_toml(self.to_dict(), comments or {})

    @property
    def reading(self) -> dict[str, Any]:
        """How the table file is read: as the plan says, and with a first row that has one of its columns as names."""
        sources = [source for one in self.sets.values() for source in one.from_columns]
        of_records = filter(None, [self.person, self.order, self.weight])
        return {
            **reading_options(self.table),
            "names": (*self.columns, *self.masked, *sources, *of_records),
        }

    @property
    def person(self) -> str | None:
        """The column that says whose rows these are; None where each row is a record of its own."""
        return self.table.get("person")

    @property
    def pseudonym(self) -> str | None:
        """The person column, if it is released as a pseudonym."""
        person = self.person
        return person if person is not None and self.description(person).role == "pseudonym" else None

    @property
    def recoded(self) -> tuple[str, ...]:
        """The columns whose cells are recoded before anything else is done."""
        return tuple(name for name, one in self.columns.items() if one.recode is not None or self.has_pseudonyms(name))

    def has_pseudonyms(self, name: str) -> bool:
        """Return whether each value of a column is replaced by a pseudonym; that of a person column is a number."""
        return name != self.person and self.description(name).role == "pseudonym"

    def person_of_dates(self, name: str) -> str | None:
        """The column that says whose dates are in a column that is shifted by person; None for other columns."""
        recode = self.description(name).recode
        if recode is None or recode.shift != "person":
            return None
        if recode.person is None and self.person is None:
            raise shift_of_nobody(name)
        return recode.person or self.person

    def without_recoding(self) -> Plan:
        """The plan for the table as it is."""
        columns = {name: replace(one, recode=None) for name, one in self.columns.items()}
        return replace(self, columns=MappingProxyType(columns))

    @property
    def at_most(self) -> int | None:
        """How many rows of one person are used; None for all."""
        return self.table.get("at_most")

    @property
    def order(self) -> str | None:
        """The column by which the rows of a person are in order, so that her sets are sequences; None for sets."""
        return self.table.get("order")

    @property
    def weight(self) -> str | None:
        """The column that says how many people of the population a record stands for; None if each counts once."""
        return self.table.get("weight")

    @property
    def population(self) -> int | str | None:
        """The number of people that the table is a sample of, or the path of a table of them; None if not named."""
        return self.table.get("population")

    def without_weight(self) -> Plan:
        """The plan of the same release for which each record counts once."""
        if self.weight is None:
            return self
        columns = {**self.columns, self.weight: self.description(self.weight)}
        table = {key: value for key, value in self.table.items() if key != "weight"}
        return replace(self, columns=MappingProxyType(columns), table=MappingProxyType(table))

    @property
    def sets(self) -> dict[str, ColumnDescription]:
        """The columns of sets."""
        return {name: one for name, one in self.columns.items() if one.kind == "set"}

    @property
    def has_units(self) -> bool:
        """True if the records to be masked are made from the rows first: see `anonto.masking.units`."""
        return self.person is not None or any(one.layout is None for one in self.sets.values())

    @property
    def as_given(self) -> Plan:
        """The plan as its author wrote it, also where the records were made from rows first."""
        return self if self.made_from is None else self.made_from.as_given

    @property
    def repeats_rows(self) -> bool:
        """Whether a person's rows leave as equal rows, because no set is released that has them."""
        return self.person is not None and all(one.is_dropped for one in self.sets.values())

    def check(self) -> None:
        """Refuse a plan that contradicts itself."""
        masked: dict[str, int] = {}
        for number, step in enumerate(self.steps, start=1):
            for name in step.columns:
                if name in masked:
                    raise masked_twice(name, masked[name], number)
                masked[name] = number
                if self.description(name).role in NEVER_MASKED:
                    raise masked_identifier(number, name)
                if self.description(name).kind == "set":
                    self._check_method_of_set(number, step.method, name)
        self._check_units(masked)
        for number, step in enumerate(self.steps, start=1):
            for name in step.also_needs:
                if name in masked:
                    raise masked_and_needed(number, name, masked[name])
                if self.description(name).role in NEVER_MASKED or name == self.person:
                    raise needed_identifier(number, name)
                if self.description(name).kind == "set" and name in step.within:
                    raise strata_of_sets(number, name)

    def masks_elements(self, step: Step) -> bool:
        """Whether a step masks the elements of sets one by one."""
        return not step.method.takes_sets and any(self.description(name).kind == "set" for name in step.columns)

    def _check_method_of_set(self, number: int, method: Method, name: str) -> None:
        """Refuse a method that masks no sets, or not with these parameters."""
        if method.masks_elements and not method.takes_sets:
            if len(self.steps[number - 1].columns) > 1:
                raise elements_with_others(number, method.name, name)
        elif not method.takes_sets:
            raise method_without_sets(number, method.name, name)
        if self.order is not None and not (method.takes_sets and method.is_swap):
            raise method_without_order(number, method.name, self.order)
        if method.unfit_for_sets is not None:
            raise parameters_without_sets(number, method.name, method.unfit_for_sets, name)

    def _check_order(self, masked: Mapping[str, int], joined: Collection[str]) -> None:
        """Refuse an order that is something else too, or without a set whose rows it orders."""
        order = self.order
        if order is None:
            return
        named = {*masked, *joined, *self.sets, *self.also_needed, *filter(None, [self.person, self.weight])}
        if order in named or (order in self.columns and not self.columns[order].is_dropped):
            raise used_order(order)
        if self.repeats_rows:
            raise order_of_nothing(order)

    def _check_units(self, masked: Mapping[str, int]) -> None:
        """Refuse sets and a person column that contradict the rest of the plan."""
        joined: set[str] = set()
        for name, one in self.sets.items():
            for source in one.from_columns:
                if source in joined or source in masked or (source in self.columns and source != name):
                    raise joined_and_described(source, name)
                joined.add(source)
        if self.person is not None and (self.person in masked or self.person in joined):
            raise masked_person(self.person)
        self._check_order(masked, joined)
        weight = self.weight
        if weight is not None and (
            weight in masked or weight in joined or weight in self.sets or weight == self.person
        ):
            raise masked_weight(weight)
        for name, one in self.columns.items():
            if one.role == "pseudonym" and (name in joined or (name == self.person and one.key_file is not None)):
                raise pseudonym_of_nobody(name)
            if self.person_of_dates(name) == name:
                raise shift_of_nobody(name)

    @property
    def scales(self) -> dict[str, tuple[str, ...]]:
        """The values of each ordinal column, lowest first."""
        return {name: one.order for name, one in self.columns.items() if one.kind == "ordinal"}

    def description(self, name: str) -> ColumnDescription:
        """The plan's description of a column; a column that only a step names is a nominal quasi-identifier.

        A weight is dropped unless the plan gives it another role.
        """
        unnamed = DROPPED_WEIGHT if name == self.weight else ColumnDescription()
        return self.columns.get(name, unnamed)

    def setting(self, step: Step, names: Iterable[str], unmatched: Collection[str] = (), **known: Any) -> Setting:
        """The facts that the guarantee of a step depends on.

        Args:
            step: One of the plan.
            names: All columns of the table. One that the plan does not name may be known of a person.
            unmatched: Columns that have cells without a concept.
            known: Further fields of `Setting`.
        """
        described = {name: self.description(name) for name in names}
        leave = {name: one for name, one in described.items() if not one.is_dropped}
        moves_all = step.method.moves_missing
        facts = known.get("facts", {})
        # Without facts it is unknown whether strata were pooled; the members of a pooled one differ in these columns.
        is_pooled = bool(facts["pooled_strata"]) if "pooled_strata" in facts else step.small_strata == "pool"
        within = () if is_pooled else step.within
        return Setting(
            on_elements=self.masks_elements(step),
            left_out=tuple(
                name
                for name, one in leave.items()
                if name not in (*step.columns, *within) and (one.role != "confidential" or self._shows_rows(name))
            ),
            within=within,
            may_leave_records=step.small_strata == "leave",
            unmatched=() if moves_all else tuple(name for name in step.columns if name in unmatched),
            codes_apart=tuple(name for name in step.columns if self.description(name).missing_codes == "keep"),
            unreviewed=self.unreviewed_columns(leave),
            by_person=self.by_person,
            linked=() if self.by_person else self.linked,
            **known,
        )

    def _shows_rows(self, name: str) -> bool:
        """True if a column shows how many rows a person has, which may be known even if its values are confidential."""
        return self.by_person and (name == ROWS_OF_PERSON or self.description(name).kind == "set")

    def unreviewed_columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """The released columns of a table whose description nobody has confirmed."""
        described = ((name, self.description(name)) for name in names)
        return tuple(name for name, one in described if one.review and not one.is_dropped)

    def warnings_about(self, names: Iterable[str]) -> list[AnontoWarning]:
        """Warnings about released columns of a table: unnamed, not masked, or not confirmed."""
        leaving = [name for name in names if not self.description(name).is_dropped]
        as_is = [name for name in leaving if name not in self.masked]
        texts = [name for name in as_is if self.description(name).role == "free-text"]
        unnamed = [name for name in as_is if name not in self.columns]
        unmasked = [name for name in as_is if name in self.columns and self.columns[name].role == "quasi-identifier"]
        unreviewed = self.unreviewed_columns(leaving)
        found: list[AnontoWarning] = []
        if unnamed or unmasked:
            found.append(released_as_is(unnamed, unmasked))
        if as_is and not self.steps and not self.as_given.recoded:
            found.append(nothing_masked(len(as_is)))
        if texts:
            found.append(released_texts(texts))
        if self.weight in as_is:
            found.append(released_weight(str(self.weight)))
        if unreviewed:
            found.append(unreviewed_columns(unreviewed))
        return found

    @property
    def released_as_text(self) -> tuple[str, ...]:
        """Columns that are released as text where the cells of a table decide its type."""
        steps = (step for step in self.steps if step.method.releases_text)
        return tuple(name for step in steps for name in step.columns)

    def are_declared(self, names: Iterable[str]) -> bool:
        """Return whether all these columns are named, and quasi-identifiers."""
        named = {*self.columns, *self.masked}
        return all(name in named and self.description(name).role == "quasi-identifier" for name in names)

    def is_confidential(self, name: str) -> bool:
        """Return whether a column is confidential: no intruder knows it beforehand."""
        return self.description(name).role == "confidential"

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column of the plan."""
        for name in self.named:
            if name not in names:
                raise missing_column(name, list(names))

    def identifiers(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of a table that are dropped."""
        return tuple(name for name in names if self.description(name).is_dropped)

    def needed_columns(self, names: Iterable[str]) -> list[str]:
        """The columns of a table that a step or a policy looks at."""
        needed = {*self.masked, *self.also_needed, *self.policy_columns(self.columns)}
        return [name for name in names if name in needed and not self.description(name).is_dropped]

    def policy_columns(self, names: Iterable[str]) -> list[str]:
        """The columns whose policies may refuse the table or drop rows, even if no step masks them."""
        described = ((name, self.description(name)) for name in names)
        return [name for name, one in described if one.has_policy and not one.is_dropped]

    def dropping_columns(self, names: Iterable[str]) -> list[str]:
        """The columns of a table whose policies may drop rows."""
        return [name for name in names if self.description(name).may_drop_records]

    @property
    def masked(self) -> tuple[str, ...]:
        """All columns that a step masks."""
        return tuple(name for step in self.steps for name in step.columns)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that the plan names."""
        persons = (self.person_of_dates(name) for name in self.columns)
        further = filter(None, [self.weight, *persons])
        return tuple(dict.fromkeys([*self.columns, *self.masked, *self.also_needed, *further]))

    @property
    def also_needed(self) -> tuple[str, ...]:
        """Columns that a step looks at and does not mask."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.also_needs))

    @property
    def within(self) -> tuple[str, ...]:
        """Columns whose cells define the strata of a step."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.within))

    @property
    def ontology_files(self) -> tuple[Path, ...]:
        """The files of ontologies and populations that are named by a path, which no output may replace.

        Of a folder these are all files in it.
        """
        from anonto.io.atomic_write import files_at

        named = {one for column in self.columns.values() for one in column.ontologies if isinstance(one, str)}
        named |= {one.key_file for one in self.columns.values() if one.key_file is not None}
        named |= {one.recode.population for one in self.columns.values() if one.recode and one.recode.population}
        found = []
        for name in sorted(named):
            in_folder = files_at(self.folder / name) if self.folder is not None else []
            found += in_folder or files_at(Path(name))
        return tuple(found)


def _restored(
    columns: dict[str, ColumnDescription],
    steps: tuple[Step, ...],
    table: dict[str, Any],
    folder: Path | None,
    further: dict[str, Any],
) -> Plan:
    return Plan(columns, steps, table, folder, **further)


def plan_of(plan: Plan | Mapping[str, Any] | str | os.PathLike[str]) -> Plan:
    """A plan from whatever the caller has."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.from_toml(plan)
