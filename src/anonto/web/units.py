"""Changes of a draft's plan that say whose rows these are, and which cells are one set. They change it in place."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from anonto.encoding.description import NEVER_MASKED
from anonto.masking.plan_sections import OF_PERSONS
from anonto.web.drafts import references

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Plan = dict[str, Any]

OF_A_SET = ("from", "separator", "set_distance")
OF_OTHER_KINDS = ("order", "decimal", "notation", "recode")
NUMBERED = re.compile(r"(?P<stem>.*?)[\s._-]*\d+")
JOINED = "joined"


# ------------------------------------------------------------------------------------------------ persons


def person_of(plan: Plan) -> str | None:
    """The column that says whose rows these are."""
    found: str | None = plan.get("table", {}).get("person")
    return found


def set_person(plan: Plan, name: str | None) -> None:
    """Say which column tells whose rows these are, if one does; it is dropped, and no step names it."""
    before = person_of(plan)
    if before is not None and plan["columns"].get(before, {}).get("role") == "pseudonym":
        set_role(plan, before, "identifier")
    gone = {"person"} if name is not None else {"person", *OF_PERSONS}
    plan["table"] = {key: value for key, value in plan.get("table", {}).items() if key not in gone}
    if name is not None:
        plan["table"]["person"] = name
        set_role(plan, name, "identifier")
        if order_of(plan) == name:
            set_order(plan, None)
    if not plan["table"]:
        del plan["table"]


def order_of(plan: Plan) -> str | None:
    """The column that says the order of a person's rows."""
    found: str | None = plan.get("table", {}).get("order")
    return found


def orders_offered(plan: Plan) -> list[str]:
    """Columns that could say the order of a person's rows: those of the table that are no sets."""
    person = person_of(plan)
    return [
        name
        for name, one in plan["columns"].items()
        if name != person and not one.get("from") and one["kind"] != "set" and one["role"] != "pseudonym"
    ]


def set_order(plan: Plan, name: str | None) -> None:
    """Say which column tells the order of a person's rows, if one does; it is dropped, and no step names it."""
    if name is not None:
        set_role(plan, name, "identifier")
    table = {key: value for key, value in plan.get("table", {}).items() if key != "order"}
    plan["table"] = table if name is None else table | {"order": name}


def set_role(plan: Plan, name: str, role: str) -> None:
    """Change the role of a column, and whether a step masks it; this confirms its description."""
    plan["columns"][name] = _without(plan["columns"][name], ("review",)) | {"role": role}
    if role in NEVER_MASKED:
        plan["columns"][name].pop("recode", None)
        leave_strata(plan, name)
    elif order_of(plan) == name:
        set_order(plan, None)
    steps = plan["steps"]
    for step in steps:
        step["columns"] = [one for one in step["columns"] if one != name or role == "quasi-identifier"]
    is_used = any(name in step["columns"] or name in step.get("within", ()) for step in steps)
    if role == "quasi-identifier" and not is_used and steps:
        steps[0]["columns"] = [*steps[0]["columns"], name]
    plan["steps"] = [step for step in steps if step["columns"]]


def leave_strata(plan: Plan, name: str) -> None:
    """Take a column out of the strata of all steps."""
    for step in plan["steps"]:
        set_strata(step, [one for one in step.get("within", []) if one != name])


def strata_offered(plan: Plan) -> list[str]:
    """Columns that can define strata: those with one value in each row that leave as they are."""
    masked = {name for step in plan["steps"] for name in step["columns"]}
    return [
        name
        for name, one in plan["columns"].items()
        if name not in masked and one["role"] not in NEVER_MASKED and one["kind"] != "set"
    ]


def sets_of(plan: Plan, step: dict[str, Any]) -> list[str]:
    """The sets that a step masks."""
    return [name for name in step["columns"] if plan["columns"].get(name, {}).get("kind") == "set"]


def set_strata(step: dict[str, Any], columns: list[str]) -> None:
    """Mask inside the strata that some columns define, or the table as a whole."""
    if columns:
        step["within"] = columns
    else:
        step.pop("within", None)
        step.pop("small_strata", None)


# ------------------------------------------------------------------------------------------------ sets


def become_set(plan: Plan, name: str) -> None:
    """Make a column a set: its cells, those of a person's rows together, are names or codes."""
    description = plan["columns"][name]
    if order_of(plan) == name:
        set_order(plan, None)
    description["kind"] = "set"
    for key in OF_OTHER_KINDS:
        description.pop(key, None)
    leave_strata(plan, name)


def stop_being_set(plan: Plan, name: str) -> None:
    """Remove what only a set has from the description of a column."""
    for key in OF_A_SET:
        plan["columns"][name].pop(key, None)


def sources_of(plan: Plan, name: str) -> list[str]:
    """The columns of the table that a column of the plan is made from."""
    return list(plan["columns"].get(name, {}).get("from") or [name])


def joinable(plan: Plan) -> list[str]:
    """Columns that can become part of a set: those that leave and are no sets yet."""
    return [
        name
        for name, one in plan["columns"].items()
        if one["role"] not in NEVER_MASKED and one["kind"] != "set" and name != person_of(plan)
    ]


def series_of(names: Iterable[str]) -> list[list[str]]:
    """Columns whose names differ in a number only, such as dx1, dx2 and dx3."""
    found: dict[str, list[str]] = {}
    for name in names:
        numbered = NUMBERED.fullmatch(name)
        if numbered and numbered["stem"]:
            found.setdefault(numbered["stem"], []).append(name)
    return [series for series in found.values() if len(series) > 1]


def name_for(plan: Plan, sources: Sequence[str]) -> str:
    """A name for the set of some columns: what their names begin with."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*sources, strict=False))
    name = "".join(letters[0] for letters in same).rstrip("0123456789 ._-") or JOINED
    while is_taken(plan, name, sources):
        name += "_set"
    return name


def is_taken(plan: Plan, name: str, sources: Sequence[str]) -> bool:
    """Whether a set of some columns cannot have a name, because another column has it."""
    all_sources = {source for one in plan["columns"] for source in sources_of(plan, one)}
    return name not in sources and (name in plan["columns"] or name in all_sources)


def join_columns(plan: Plan, sources: Sequence[str], name: str) -> None:
    """Make one set of several columns; it is described like the first of them that has an ontology."""
    columns = plan["columns"]
    like = next((one for one in sources if references(columns[one])), sources[0])
    missing = list(dict.fromkeys(text for one in sources for text in columns[one].get("na", [])))
    joined = {
        **_without(columns[like], (*OF_OTHER_KINDS, "na", "review")),
        **({"na": missing} if missing else {}),
        **({"review": True} if any(columns[one].get("review") for one in sources) else {}),
        "kind": "set",
        "from": list(sources),
    }
    if any(columns[one]["role"] == "quasi-identifier" for one in sources):
        joined["role"] = "quasi-identifier"
    for source in sources:
        leave_strata(plan, source)
    _replace(plan, sources, {name: joined})


def take_apart(plan: Plan, name: str) -> None:
    """Make a set its columns again, each described like the set."""
    alike = _without(plan["columns"][name], OF_A_SET) | {"kind": "nominal"}
    _replace(plan, [name], {source: dict(alike) for source in sources_of(plan, name)})


def rename_set(plan: Plan, name: str, new: str) -> None:
    """Give a set that was joined from columns another name."""
    _replace(plan, [name], {new: plan["columns"][name]})


def _without(description: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in description.items() if key not in keys}


def _replace(plan: Plan, names: Sequence[str], by: dict[str, dict[str, Any]]) -> None:
    """Put columns in the place of others, in the list of columns and in the steps."""
    all_columns = list(plan["columns"].items())
    first = next(place for place, (name, _) in enumerate(all_columns) if name in names)
    after = [one for one in all_columns[first:] if one[0] not in names]
    plan["columns"] = dict([*all_columns[:first], *by.items(), *after])
    new = list(by)
    for step in plan["steps"]:
        columns = step["columns"]
        place = next((at for at, one in enumerate(columns) if one in names), None)
        if place is not None:
            step["columns"] = [*columns[:place], *new, *(one for one in columns[place:] if one not in names)]
            new = []
    plan["steps"] = [step for step in plan["steps"] if step["columns"]]
