"""Drafts as plain data: the open table, the plan and the repaired codes; and functions that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.encoding.description import KINDS_OF_CONCEPTS

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY_DRAFT: dict[str, Any] = {
    "table": None,
    "plan": {"columns": {}, "steps": []},
    "reasons": {},
    "repairs": {},
    "ontologies": {},
    "held_out": None,
}


def references(description: dict[str, Any]) -> list[str]:
    """The ontologies of a column."""
    ontology = description.get("ontology")
    return [] if ontology is None else list(ontology) if isinstance(ontology, list) else [ontology]


def files_of_plan(plan: dict[str, Any]) -> list[str]:
    """The ontology files that the columns of a plan need, without duplicates."""
    columns = plan["columns"].values()
    needed = [one for one in columns if one["role"] != "identifier" and one["kind"] in KINDS_OF_CONCEPTS]
    return list(dict.fromkeys(each for one in needed for each in references(one) if "/" in each))


def stem_of(draft: dict[str, Any]) -> str:
    """Stem of the names of downloaded files."""
    name: str = draft["table"]["name"]
    return name.partition(".")[0] or "table"


def plan_label(plan: dict[str, Any]) -> str:
    """Short label of a plan: its methods and their numeric parameters."""
    said = []
    for step in plan["steps"]:
        numbers = [f"{key} = {value}" for key, value in step.items() if _is_number(value)]
        said.append(f"{step['method']} {', '.join(numbers)}".strip())
    return "; ".join(said) or "nothing masked"


def _is_number(value: Any) -> bool:
    """Return whether a parameter is a number, or a number for each column."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def are_about_the_same(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Return whether the tables of two drafts have the same content, whatever their paths."""
    return one is not None and other is not None and bool(one.get("sha256")) and one["sha256"] == other.get("sha256")


def with_ontologies(plan: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A plan with its ontologies renamed."""

    def rename(ontology: Any) -> Any:
        return [change(one) for one in ontology] if isinstance(ontology, list) else change(ontology)

    columns = {
        name: {key: rename(value) if key == "ontology" else value for key, value in one.items()}
        for name, one in plan["columns"].items()
    }
    return {**plan, "columns": columns}
