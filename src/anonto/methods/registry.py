"""The methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from anonto.errors import ParameterError, UnknownKeyError, UnknownMethodError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from anonto.methods.flows import Flows
    from anonto.methods.guarantee import Guarantee, Setting
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.row_masking import RowMasker
    from anonto.table.attributes import Attribute
    from anonto.table.records import Records


class ColumnMethod(Protocol):
    """A method for one column; given several columns it masks each alone."""

    name: ClassVar[str]
    together: ClassVar[Literal[False]]

    def fit(self, column: Attribute, rng: np.random.Generator) -> Flows:
        """From the counts of a column to its flows."""
        ...

    def guarantee(self, setting: Setting) -> Guarantee:
        """What the method promises."""
        ...


class RecordMethod(Protocol):
    """A method that looks at whole records of all its columns."""

    name: ClassVar[str]
    together: ClassVar[Literal[True]]
    by_row: ClassVar[Literal[False]]
    moves_missing: ClassVar[bool]
    """Whether missing cells are moved like values: they then are a value of their own, with a code, at distance 1."""

    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """From the distinct records and their counts to what they become."""
        ...

    def guarantee(self, setting: Setting) -> Guarantee:
        """What the method promises."""
        ...


class RowMethod(Protocol):
    """A method that looks at all its columns, and then draws for each row."""

    name: ClassVar[str]
    together: ClassVar[Literal[True]]
    by_row: ClassVar[Literal[True]]

    def fit(self, records: Records, rng: np.random.Generator) -> RowMasker:
        """From the distinct records and their counts to what masks rows."""
        ...

    def guarantee(self, setting: Setting) -> Guarantee:
        """What the method promises."""
        ...


Method = ColumnMethod | RecordMethod | RowMethod


class _Methods(Mapping[str, type[Method]]):
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
