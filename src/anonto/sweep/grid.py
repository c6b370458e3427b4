"""The plans of a sweep: every registered method with a few values of its parameters, or those that are asked for.

A grid is ``{method: {parameter: [values]}}``, every combination of the values, or a list of steps as in a plan without
their columns; an entry of the list may itself be a list of steps that are applied together. A grid file is TOML of
either shape, the list under ``steps``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import InputError, ParameterError, PlanError
from anonto.io.toml import invalid_toml
from anonto.masking.plan import Plan
from anonto.masking.plan_sections import Step
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS, method_of, parameters_of
from anonto.ontology.refusals import wrong_encoding
from anonto.ontology.source import kind_of_path, open_file
from anonto.wording import list_names

if TYPE_CHECKING:
    import os

    Steps = tuple[Step, ...]
    Grid = Mapping[str, Mapping[str, Any]] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class SkippedPlan:
    """A plan that could not be tried, and why."""

    label: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """Its fields as plain data."""
        return {"label": self.label, "reason": self.reason}


def default_grid(n_records: int) -> dict[str, dict[str, list[Any]]]:
    """Values to try for the parameters of every registered method, for a table of this size."""
    return {name: method.sweep_grid(n_records) for name, method in METHODS.items()}


def masked_columns(plan: Plan) -> tuple[str, ...]:
    """The columns that every plan of the grid masks: those of the plan's steps, or else all quasi-identifiers."""
    quasi = tuple(name for name, one in plan.columns.items() if one.role == "quasi-identifier")
    columns = plan.masked or quasi
    if not columns:
        raise nothing_to_mask()
    return columns


def plans_to_try(plan: Plan, grid: Grid | None, n_records: int) -> tuple[list[Plan], list[SkippedPlan]]:
    """The plans of a grid, each once, the plan's own steps first; and what of the default grid cannot be made."""
    columns, strata = masked_columns(plan), _strata(plan)
    skipped: list[SkippedPlan] = []
    if grid is None:
        found = []
        for name, method in METHODS.items():
            try:
                grids = method.sweep_grids(n_records)
                own = [steps for values in grids for steps in _combinations(name, values, columns, strata)]
                for steps in own:
                    replace(plan, steps=steps).check()
                found += own
            except InputError as error:
                skipped.append(SkippedPlan(name, str(error)))
    elif isinstance(grid, Mapping):
        found = [steps for name, values in grid.items() for steps in _combinations(name, values, columns, strata)]
    elif isinstance(grid, Sequence) and not isinstance(grid, str):
        found = [_steps(entry, columns, strata) for entry in grid]
    else:
        raise ParameterError("grid", "a table of methods with lists of values, or a list of steps", type(grid).__name__)
    all_steps = [plan.steps, *found] if plan.steps else found
    made = [replace(plan, steps=steps) for steps in dict.fromkeys(all_steps)]
    for one in made:
        one.check()
    return made, skipped


def _strata(plan: Plan) -> dict[str, Any]:
    """The strata that all steps of a plan share, as in a plan file."""
    shared = {(step.within, step.small_strata) for step in plan.steps}
    if len(shared) != 1 or not plan.steps[0].within:
        return {}
    return {"within": plan.steps[0].within, "small_strata": plan.steps[0].small_strata}


def _combinations(name: str, values: Any, columns: tuple[str, ...], strata: Mapping[str, Any]) -> list[Steps]:
    if not isinstance(values, Mapping):
        raise ParameterError(f"{name} in the grid", "a table of parameters with lists of values", "something else")
    choices = [one if isinstance(one, list | tuple) else [one] for one in values.values()]
    methods = [method_of(name, dict(zip(values, chosen, strict=True))) for chosen in product(*choices)]
    return [(Step(method, columns, **strata),) for method in methods]


def _steps(entry: Any, columns: tuple[str, ...], strata: Mapping[str, Any]) -> Steps:
    """The steps of an entry of a list; one alone masks all columns, in the plan's strata, unless it says otherwise."""
    entries = entry if isinstance(entry, Sequence) and not isinstance(entry, str) else [entry]
    if not entries or not all(isinstance(one, Mapping) and "method" in one for one in entries):
        raise ParameterError("An entry of the grid", "a step with a method, or a list of such steps", "something else")
    given = [{"columns": list(columns), **strata, **one} for one in entries]
    return Plan.from_dict({"steps": given}).steps


def read_grid(path: str | os.PathLike[str]) -> Grid:
    """A grid from a TOML file."""
    file = Path(path)
    if kind_of_path(path) == "folder":
        raise invalid_toml(str(path), "it is a folder")
    with open_file(file) as stream:
        content = stream.read()
    try:
        given = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise wrong_encoding(file.name, content[: error.start].count(b"\n") + 1) from None
    except tomllib.TOMLDecodeError as error:
        raise invalid_toml(file.name, str(error)) from None
    return given["steps"] if isinstance(given.get("steps"), list) else given


def label_of(steps: Sequence[Step]) -> str:
    """'group-swap (k = 10)': what distinguishes a plan from others, in a few words."""
    return " + ".join(_label(step) for step in steps)


def _label(step: Step) -> str:
    assumed = {one.name: one.default for one in parameters_known(step.method) if not one.is_needed}
    told = [
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in parameters_of(step.method).items()
        if name not in assumed or assumed[name] != value
    ]
    if step.within:
        told.append(f"within {list_names(step.within)}")
    return f"{step.method.name} ({', '.join(told)})" if told else step.method.name


def nothing_to_mask() -> PlanError:
    """A plan that names no column to try methods on."""
    return PlanError(
        "The plan has no step and no quasi-identifier, so there is no column to mask; give a column the role "
        "'quasi-identifier'.",
        settings=("role",),
    )
