"""The content of a report as plain data: without cells, paths, seeds and small counts."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any, Protocol

from anonto.attacks.shares import PassedFloat, PassedInt
from anonto.io.toml import to_toml
from anonto.report.counts import show_count, show_share
from anonto.report.levels import levels_of
from anonto.report.words import (
    distance_sentence,
    groups_sentence,
    guarantee_sentence,
    levels_sentence,
    method_sentence,
    nearness_sentence,
    no_levels_sentence,
)
from anonto.report.words import released_warnings as warnings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.transitions import Moves


class PlanLike(Protocol):
    """The part of a plan that a report needs."""

    def to_dict(self) -> dict[str, Any]:
        """The plan in the shape of a plan file."""
        ...

    @property
    def as_given(self) -> PlanLike:
        """The plan as its author wrote it."""
        ...


class MaskedLike(Protocol):
    """The part of a masked column that a report needs."""

    @property
    def prepared(self) -> PreparedColumn:
        """The column before."""
        ...

    @property
    def value_space(self) -> ValueSpace:
        """The distances of its values, new ones included."""
        ...

    @property
    def moves(self) -> Moves | None:
        """How many cells of each value became each other value; None where any number may have become any other."""
        ...


class ReleaseLike(Protocol):
    """The part of a release that a report needs."""

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence of the release."""
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
    recoded = recoded_columns(evidence.get("recoded", {}), plan["columns"], with_counts=True)
    only_recoded = [one for one in recoded if one["name"] not in masked]
    return {
        "anonto": version("anonto"),
        "table": {
            "records": evidence["n_records"],
            **({"rows": evidence["rows"]["after"]} if "rows" in evidence else {}),
            "dropped_records": show_count(evidence.get("dropped_records", 0)),
            "columns": len(masked) + len(released) + len(only_recoded) + len(dropped),
            "masked": masked,
            "dropped_columns": dropped,
            "released_as_is": released,
        },
        "warnings": warnings_of([*released, *only_recoded]),
        "recoded": recoded,
        "steps": [_step(step, step.get("elements", evidence["n_records"])) for step in evidence["steps"]],
        "columns": [
            _column(name, step, release.masked[name], step.get("elements", evidence["n_records"]))
            for step in evidence["steps"]
            for name in step["columns"]
        ],
        "plan": to_toml(strip_paths(release.plan.as_given.to_dict()), {}).strip() + "\n",
    }


def recoded_columns(
    evidence: Mapping[str, Mapping[str, Any]], columns: Mapping[str, Mapping[str, Any]], *, with_counts: bool
) -> list[dict[str, Any]]:
    """The columns that were recoded before the steps; counts follow from the original, and are for its owner."""
    return [
        {
            "name": name,
            "role": columns.get(name, {}).get("role"),
            "how": one["how"],
            **(
                {"changed": _part(one["changed"], one["cells"]), "rmse": one["rmse"]}
                if with_counts and "changed" in one
                else {}
            ),
        }
        for name, one in evidence.items()
    ]


def to_json(data: Mapping[str, Any]) -> str:
    """The data of a report for machines."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def from_json(text: str) -> dict[str, Any]:
    """The data of a report that `to_json` wrote; every number of a public one has come through its gate."""
    data: dict[str, Any] = json.loads(text)
    if data.get("edition") == "public":
        data = json.loads(text, parse_float=PassedFloat, parse_int=PassedInt)
    return data


def _step(step: Mapping[str, Any], n_records: int) -> dict[str, Any]:
    small_strata = "pool" if step.get("pooled_strata") else "leave" if step.get("left_strata") else "refuse"
    return {
        "method": step["method"],
        "columns": list(step["columns"]),
        "parameters": dict(step["parameters"]),
        "what": method_sentence(step["method"], step["parameters"], step.get("within", ()), small_strata)
        + groups_sentence(step)
        + levels_sentence(step),
        "guarantee": dict(step["guarantee"]),
        "promise": guarantee_sentence(step["guarantee"]),
        "unchanged_records": _part(step["unchanged_records"], n_records),
        **({"nearness": nearness_sentence(step["loss"], step["loss_bound"])} if "loss_bound" in step else {}),
    }


def _column(name: str, step: Mapping[str, Any], masked: MaskedLike, n_records: int) -> dict[str, Any]:
    prepared = masked.prepared
    numbers = {key: step.get(key, {}).get(name, 0) for key in ("unchanged", "untouched", "missing", "unmatched")}
    changed = n_records - numbers["missing"] - numbers["unchanged"]
    levels = levels_of(masked.value_space, masked.moves)
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
    return {"count": show_count(count), "share": show_share(count, n_records)}


def strip_paths(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with the names of ontologies instead of their paths."""
    columns = {
        name: {key: _without_path(key, value) for key, value in description.items()}
        for name, description in plan["columns"].items()
    }
    return {**plan, "columns": columns}


def _without_path(key: str, value: Any) -> Any:
    if key == "recode" and "population" in value:
        return {**value, "population": _name_of(value["population"])}
    return _name_of(value) if key in {"ontology", "key_file"} else value


def _name_of(ontology: Any) -> Any:
    if isinstance(ontology, list | tuple):
        return [_name_of(one) for one in ontology]
    return PureWindowsPath(ontology).name if isinstance(ontology, str) else ontology.name
