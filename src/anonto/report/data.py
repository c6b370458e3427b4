"""What a report shows, as plain data: no cell, no path, no seed, and no small count is in it."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any, Protocol

from anonto.report.counts import shown, shown_share
from anonto.report.levels import levels_of
from anonto.report.words import distance_sentence, guarantee_sentence, method_sentence, no_levels_sentence
from anonto.report.words import released_warnings as warnings_of
from anonto.toml import to_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.methods.flows import Moves
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn


class PlanLike(Protocol):
    """What a report asks of a plan."""

    def to_dict(self) -> dict[str, Any]:
        """In the shape of a plan file."""
        ...


class MaskedLike(Protocol):
    """What a report asks of a masked column."""

    @property
    def prepared(self) -> PreparedColumn:
        """The column before."""
        ...

    @property
    def attribute(self) -> Attribute:
        """The distances of its values, new ones included."""
        ...

    @property
    def moves(self) -> Moves:
        """How many cells of each value became each other value."""
        ...


class ReleaseLike(Protocol):
    """What a report asks of a release."""

    @property
    def evidence(self) -> dict[str, Any]:
        """What was done and what stayed."""
        ...

    @property
    def plan(self) -> PlanLike:
        """The plan."""
        ...

    @property
    def masked(self) -> Mapping[str, MaskedLike]:
        """The masked columns by name."""
        ...


def report_data(release: ReleaseLike) -> dict[str, Any]:
    """Everything that a report of a release shows."""
    evidence, plan = release.evidence, release.plan.to_dict()
    masked = [name for step in evidence["steps"] for name in step["columns"]]
    released = [
        {"name": name, "role": plan["columns"].get(name, {}).get("role")} for name in evidence["released_as_is"]
    ]
    dropped = list(evidence.get("dropped_columns", ()))
    return {
        "anonto": version("anonto"),
        "table": {
            "records": evidence["n_records"],
            "dropped_records": shown(evidence.get("dropped_records", 0)),
            "columns": len(masked) + len(released) + len(dropped),
            "masked": masked,
            "dropped_columns": dropped,
            "released_as_is": released,
        },
        "warnings": warnings_of(released),
        "steps": [_step(step, evidence["n_records"]) for step in evidence["steps"]],
        "columns": [
            _column(name, step, release.masked[name], evidence["n_records"])
            for step in evidence["steps"]
            for name in step["columns"]
        ],
        "plan": to_toml(without_paths(plan), {}).strip() + "\n",
    }


def to_json(data: Mapping[str, Any]) -> str:
    """The data of a report for machines."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _step(step: Mapping[str, Any], n_records: int) -> dict[str, Any]:
    return {
        "method": step["method"],
        "columns": list(step["columns"]),
        "parameters": dict(step["parameters"]),
        "what": method_sentence(step["method"], step["parameters"]),
        "guarantee": dict(step["guarantee"]),
        "promise": guarantee_sentence(step["guarantee"]),
        "unchanged_records": _part(step["unchanged_records"], n_records),
    }


def _column(name: str, step: Mapping[str, Any], masked: MaskedLike, n_records: int) -> dict[str, Any]:
    prepared = masked.prepared
    numbers = {key: step.get(key, {}).get(name, 0) for key in ("unchanged", "untouched", "missing", "unmatched")}
    changed = n_records - numbers["missing"] - numbers["unchanged"]
    levels = levels_of(masked.attribute, masked.moves)
    kind = prepared.description.kind
    return {
        "name": name,
        "kind": kind,
        "method": step["method"],
        "changed": _part(changed, n_records),
        **{key: _part(number, n_records) for key, number in numbers.items()},
        "rmse": step["rmse"][name],
        "how_to_read": distance_sentence(kind, has_ontology=bool(levels)),
        "ontologies": levels,
        "statement": "" if levels else no_levels_sentence(kind, step["method"]),
    }


def _part(count: int, n_records: int) -> dict[str, Any]:
    return {"count": shown(count), "share": shown_share(count, n_records)}


def without_paths(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with the names of ontologies instead of where they lie."""
    columns = {
        name: {key: _named(value) if key == "ontology" else value for key, value in description.items()}
        for name, description in plan["columns"].items()
    }
    return {**plan, "columns": columns}


def _named(ontology: Any) -> Any:
    if isinstance(ontology, list | tuple):
        return [_named(one) for one in ontology]
    return PureWindowsPath(ontology).name if isinstance(ontology, str) else ontology.name
