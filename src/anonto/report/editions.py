"""The two editions of a report, and what the public one keeps back.

The internal edition is for those who may see the original. The public one goes out with the release, so an intruder
reads it too. It differs in three ways:

- a parameter is published where the method's guarantee holds against someone who knows it, and kept back elsewhere;
- measured figures are those of a second masking with another seed, rounded: see `anonto.report.gate`;
- nothing of a single value: no greatest distance, no smallest class, and no frequency of the original that the release
  itself does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from anonto.errors import ParameterError
from anonto.methods.parameters import STEP_KEYS, parameters_known
from anonto.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.methods.parameters import NamedParameter

Edition = Literal["internal", "public"]
EDITIONS: tuple[Edition, ...] = ("internal", "public")

DESCRIBED = (
    *("kind", "role", "ontology", "root", "measure", "information_content", "missing", "unmatched"),
    *("from", "separator", "set_distance", "recode"),
)
"""The keys of a column's description that may be published; the others may list cells."""


def edition_of(name: str) -> Edition:
    """An edition by its name."""
    for edition in EDITIONS:
        if name == edition:
            return edition
    raise ParameterError("edition", f"one of {', '.join(EDITIONS)}", name)


def parameters_shown(method: str, parameters: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """The parameters of a step that an edition shows."""
    if edition == "internal":
        return dict(parameters)
    public = public_parameters(method)
    return {name: value for name, value in parameters.items() if name in public}


def public_parameters(method: str) -> tuple[str, ...]:
    """The parameters of a method that may be published; none for an unknown method.

    The proof of ``group-swap`` allows the intruder the method, k and the groups; the k of ``microaggregate`` can be
    counted in the release; a mechanism with ε is made to be public. The ε of ``invariant-swap`` is published, but not
    the rate: both together would tell the size of the largest bin. Swaps without a proof keep k and widths back, as an
    intruder who knows them links more; noise keeps its level back for the same reason.
    """
    return tuple(one.name for one in _parameters_of(method) if one.takes.is_public)


def _parameters_of(method: str) -> list[NamedParameter]:
    known = METHODS.get(method)
    return [] if known is None else parameters_known(known)


def has_widths(method: str) -> bool:
    """Return whether the distances moved would reveal a width that is kept back."""
    known = METHODS.get(method)
    return known is not None and bool(known.widths_by)


def words_for(method: str, parameters: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """The word for each parameter in a sentence: its value, or its symbol where it is not shown."""
    symbols = {one.name: one.takes.symbol or one.name for one in _parameters_of(method)}
    return {**symbols, **parameters_shown(method, parameters, edition)}


def plan_shown(plan: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """A plan with the parameters that an edition shows; descriptions without the cells that they may list."""
    if edition == "internal":
        return dict(plan)
    steps = [
        {
            **{key: step[key] for key in STEP_KEYS if key in step},
            **parameters_shown(step["method"], {k: v for k, v in step.items() if k not in STEP_KEYS}, edition),
        }
        for step in plan["steps"]
    ]
    columns = {
        name: {key: value for key, value in description.items() if key in DESCRIBED}
        for name, description in plan["columns"].items()
    }
    table = {key: plan["table"][key] for key in ("person",) if key in plan.get("table", {})}
    return {**({"table": table} if table else {}), "columns": columns, "steps": steps}
