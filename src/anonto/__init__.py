"""Anonymise tables about people by what their values mean.

The names below are loaded when they are first used, so that the command line's help does not wait for compilers.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without loading typing, so that the command line listens for Ctrl-C as early as it can
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anonto import stats
    from anonto.assessment import Assessment, assess
    from anonto.errors import AnontoError, AnontoWarning, InputError
    from anonto.fitted_plan import FittedPlan, Stream, fit, load_fitted, stream
    from anonto.methods.method import Method
    from anonto.ontology.catalogue import ontology_names
    from anonto.ontology.catalogue import open_ontology as read_ontology
    from anonto.plan import Plan
    from anonto.release import Release
    from anonto.risk.attacks.registry import attacks
    from anonto.run import mask, mask_file
    from anonto.sweeping import Sweep, sweep
    from anonto.table.match import Matches, match
    from anonto.taxonomy.distance import MEASURES
    from anonto.taxonomy.taxonomy import Taxonomy
    from anonto.verification import Verification, verify

    def methods() -> Mapping[str, type[Method]]:
        """The masking methods by name, those of other packages included: the package of the same name is called."""


__version__ = "0.1.0"

_HOMES = {
    "Assessment": ("anonto.assessment", "Assessment"),
    "assess": ("anonto.assessment", "assess"),
    "attacks": ("anonto.risk.attacks.registry", "attacks"),
    "AnontoError": ("anonto.errors", "AnontoError"),
    "AnontoWarning": ("anonto.errors", "AnontoWarning"),
    "InputError": ("anonto.errors", "InputError"),
    "MEASURES": ("anonto.taxonomy.distance", "MEASURES"),
    "Matches": ("anonto.table.match", "Matches"),
    "Taxonomy": ("anonto.taxonomy.taxonomy", "Taxonomy"),
    "Plan": ("anonto.plan", "Plan"),
    "Release": ("anonto.release", "Release"),
    "FittedPlan": ("anonto.fitted_plan", "FittedPlan"),
    "Stream": ("anonto.fitted_plan", "Stream"),
    "fit": ("anonto.fitted_plan", "fit"),
    "load_fitted": ("anonto.fitted_plan", "load_fitted"),
    "mask": ("anonto.run", "mask"),
    "mask_file": ("anonto.run", "mask_file"),
    "match": ("anonto.table.match", "match"),
    "ontology_names": ("anonto.ontology.catalogue", "ontology_names"),
    "read_ontology": ("anonto.ontology.catalogue", "open_ontology"),
    "stream": ("anonto.fitted_plan", "stream"),
    "Sweep": ("anonto.sweeping", "Sweep"),
    "sweep": ("anonto.sweeping", "sweep"),
    "Verification": ("anonto.verification", "Verification"),
    "verify": ("anonto.verification", "verify"),
}

__all__ = [
    "MEASURES",
    "AnontoError",
    "AnontoWarning",
    "Assessment",
    "FittedPlan",
    "InputError",
    "Matches",
    "Plan",
    "Release",
    "Stream",
    "Sweep",
    "Taxonomy",
    "Verification",
    "assess",
    "attacks",
    "fit",
    "load_fitted",
    "mask",
    "mask_file",
    "match",
    "methods",
    "ontology_names",
    "read_ontology",
    "stats",
    "stream",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in {"stats", "methods"}:
        return import_module(f"anonto.{name}")
    if name not in _HOMES:
        message = f"module 'anonto' has no attribute {name!r}"
        raise AttributeError(message)
    module, attribute = _HOMES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
