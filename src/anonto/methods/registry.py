"""The methods by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from anonto.encoding.refusals import unknown_key
from anonto.errors import ParameterError, PlanError
from anonto.runtime.plugins import load_plugins
from anonto.wording import did_you_mean, list_names, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.methods.method import Method


OWN: Mapping[str, str] = {
    "random-swap": "RandomSwap",
    "frequency-swap": "FrequencySwap",
    "rank-swap-fixed": "RankSwapFixed",
    "rank-swap": "RankSwap",
    "group-swap": "GroupSwap",
    "rank-swap-joint": "RankSwapJoint",
    "equi-depth-swap": "EquiDepthSwap",
    "equi-width-swap": "EquiWidthSwap",
    "invariant-swap": "InvariantSwap",
    "microaggregate": "Microaggregate",
    "semantic-noise": "SemanticNoise",
    "semantic-noise-joint": "SemanticNoiseJoint",
    "taxonomy-exponential": "TaxonomyExponential",
    "generalise": "Generalise",
    "suppress": "Suppress",
}
"""The classes of our own methods by name; the module has the same name."""

GROUP = "anonto.methods"
"""The entry points by which packages add methods: the name of the method, and where its class is."""
FIRST_CHOICE: Mapping[str, Any] = {"method": "group-swap", "k": 10}
"""The step that a new plan begins with: the method whose 1/k is proved."""
AT_RANDOM = "random-swap"
"""The naive method that exchanges at random: for tables too small for groups, and to see how much can be lost."""
MOVES_APART = "group-swap with move = 'apart'"
"""Recommended method where whole rows must not leave."""


class _Methods(Mapping[str, "type[Method]"]):
    """The classes of the methods, each imported when it is used: a plan needs few, and importing all takes long.

    Other packages are searched for a name that is not one of our own, and when all methods are listed.
    """

    def __getitem__(self, name: str) -> type[Method]:
        if name not in OWN:
            return _plugins()[name]
        method: type[Method] = getattr(import_module(f"anonto.methods.{name.replace('-', '_')}"), OWN[name])
        return method

    def __contains__(self, name: object) -> bool:
        return name in OWN or name in _plugins()

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        yield from _plugins()

    def __len__(self) -> int:
        return len(OWN) + len(_plugins())


@cache
def _plugins() -> Mapping[str, type[Method]]:
    """The methods of other packages; one that cannot be used is left out with a warning."""
    return load_plugins(GROUP, "method", _fault)


def _fault(name: str, method: Any, found: Mapping[str, Any]) -> str | None:
    """Why a class cannot be a method of this name; None if it can."""
    from anonto.methods.method import BaseMethod

    if name in OWN or name in found:
        return "there is a method of this name already"
    own = vars(method) if isinstance(method, type) and issubclass(method, BaseMethod) else {}
    if "__dataclass_fields__" not in own:
        return "it is not a dataclass that derives from ColumnMethod, RecordMethod or RowMethod"
    if own.get("name") != name or "words" not in own:
        return f"its class must have name = {name!r} and words"
    return None


METHODS: Mapping[str, type[Method]] = _Methods()


def method_of(name: object, parameters: Mapping[str, Any]) -> Method:
    """A method with its parameters, checked."""
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        raise unknown_method(name, METHODS)
    from anonto.methods.parameters import STEP_KEYS, parameters_known

    known = parameters_known(method)
    names = [one.name for one in known]
    for key in parameters:
        if key not in names:
            raise unknown_key(key, f"A step with method {name!r}", [*STEP_KEYS, *names])
    for one in known:
        if one.is_needed and one.name not in parameters:
            raise ParameterError(one.name, f"given in a step with method {name!r}", None)
    return method(**parameters)


def parameters_of(method: Method) -> dict[str, Any]:
    """The parameters of a method as plain data, without those that are not given."""
    given = {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]
    return {name: _as_lists(value) for name, value in given.items() if value is not None}


def _as_lists(value: Any) -> Any:
    return [_as_lists(one) for one in value] if isinstance(value, tuple) else value


def unknown_method(name: object, known: Collection[str]) -> PlanError:
    """A method that does not exist."""
    return PlanError(
        f"There is no method {quote_value(name)}{did_you_mean(name, known)}; known are {list_names(known)}."
    )
