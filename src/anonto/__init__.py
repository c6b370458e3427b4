"""Anonymise tables about people by what their values mean.

The names below are loaded when they are first used, so that the command line's help does not wait for compilers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anonto import stats
    from anonto.errors import AnontoError, AnontoWarning, InputError
    from anonto.ontology.catalogue import ontology_names
    from anonto.ontology.catalogue import open_ontology as read_ontology
    from anonto.plan import Plan
    from anonto.release import Release
    from anonto.run import mask
    from anonto.table.match import Matches, match
    from anonto.taxonomy.distance import MEASURES
    from anonto.taxonomy.taxonomy import Taxonomy

__version__ = "0.1.0"

_HOMES = {
    "AnontoError": ("anonto.errors", "AnontoError"),
    "AnontoWarning": ("anonto.errors", "AnontoWarning"),
    "InputError": ("anonto.errors", "InputError"),
    "MEASURES": ("anonto.taxonomy.distance", "MEASURES"),
    "Matches": ("anonto.table.match", "Matches"),
    "Taxonomy": ("anonto.taxonomy.taxonomy", "Taxonomy"),
    "Plan": ("anonto.plan", "Plan"),
    "Release": ("anonto.release", "Release"),
    "mask": ("anonto.run", "mask"),
    "match": ("anonto.table.match", "match"),
    "ontology_names": ("anonto.ontology.catalogue", "ontology_names"),
    "read_ontology": ("anonto.ontology.catalogue", "open_ontology"),
}

__all__ = [
    "MEASURES",
    "AnontoError",
    "AnontoWarning",
    "InputError",
    "Matches",
    "Plan",
    "Release",
    "Taxonomy",
    "mask",
    "match",
    "ontology_names",
    "read_ontology",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name == "stats":
        return import_module("anonto.stats")
    if name not in _HOMES:
        message = f"module 'anonto' has no attribute {name!r}"
        raise AttributeError(message)
    module, attribute = _HOMES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
