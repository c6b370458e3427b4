"""The methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from anonto.errors import ParameterError, UnknownKeyError, UnknownMethodError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.methods.method import Method


class _Methods(Mapping[str, "type[Method]"]):
    """The classes of the methods, each imported when it is asked for: a plan needs few of them, and all take long."""

    _classes: ClassVar[Mapping[str, str]] = {
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
    }
    """By name; the module has the same name."""

    def __getitem__(self, name: str) -> type[Method]:
        class_name = self._classes[name]
        method: type[Method] = getattr(import_module(f"anonto.methods.{name.replace('-', '_')}"), class_name)
        return method

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


METHODS: Mapping[str, type[Method]] = _Methods()


def method_of(name: object, parameters: Mapping[str, Any]) -> Method:
    """A method with its parameters, checked."""
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        raise UnknownMethodError(name, METHODS)
    known = [field.name for field in fields(method)]  # type: ignore[arg-type]
    for key in parameters:
        if key not in known:
            raise UnknownKeyError(key, f"A step with method {name!r}", ["method", "columns", *known])
    for field in fields(method):  # type: ignore[arg-type]
        if field.default is MISSING and field.default_factory is MISSING and field.name not in parameters:
            raise ParameterError(field.name, f"given in a step with method {name!r}", None)
    return method(**parameters)


def parameters_of(method: Method) -> dict[str, Any]:
    """The parameters of a method as plain data, without those that are not given."""
    given = {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in given.items() if value is not None
    }
