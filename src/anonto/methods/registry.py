"""The methods by name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from anonto.errors import ParameterError, UnknownKeyError, UnknownMethodError
from anonto.methods.frequency_swap import FrequencySwap
from anonto.methods.random_swap import RandomSwap

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.methods.flows import Flows
    from anonto.methods.guarantee import Guarantee
    from anonto.table.attributes import Attribute


class ColumnMethod(Protocol):
    """A method for one column; given several columns it masks each alone."""

    name: ClassVar[str]

    def fit(self, column: Attribute, rng: np.random.Generator) -> Flows:
        """From the counts of a column to its flows."""
        ...

    def guarantee(self) -> Guarantee:
        """What the method promises."""
        ...


METHODS: Mapping[str, type[ColumnMethod]] = {method.name: method for method in (RandomSwap, FrequencySwap)}


def method_of(name: object, parameters: Mapping[str, Any]) -> ColumnMethod:
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


def parameters_of(method: ColumnMethod) -> dict[str, Any]:
    """The parameters of a method as plain data."""
    return {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]
