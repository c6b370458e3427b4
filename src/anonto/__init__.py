"""Anonymise tables about people by what their values mean.

The names below are loaded when they are first used, so that the command line's help does not wait for compilers.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without loading typing, so that the command line listens for Ctrl-C as early as it can
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anonto import stats
    from anonto.assessment.assess import Assessment, assess
    from anonto.assessment.population_risk import PopulationRisk, population_risk
    from anonto.assessment.split import split, split_file
    from anonto.attacks.registry import attacks
    from anonto.encoding.match import Matches, match
    from anonto.engine.later_records import Stream, fit, load_fitted, stream
    from anonto.engine.later_records import TableMasker as FittedPlan
    from anonto.engine.run import mask, mask_file
    from anonto.errors import AnontoError, AnontoWarning, InputError
    from anonto.masking.plan import Plan
    from anonto.masking.release import Release
    from anonto.methods.method import Method
    from anonto.ontology.catalogue import ontology_names
    from anonto.ontology.catalogue import open_ontology as read_ontology
    from anonto.sweep.points import Sweep
    from anonto.sweep.search import sweep
    from anonto.taxonomy.distance import MEASURES
    from anonto.taxonomy.taxonomy import Taxonomy
    from anonto.verify.verifying import Verification, verify

    def methods() -> Mapping[str, type[Method]]:
        """The masking methods by name, those of other packages included: the package of the same name is called."""


__version__ = "0.1.0"

_HOMES = {
    "Assessment": ("anonto.assessment.assess", "Assessment"),
    "assess": ("anonto.assessment.assess", "assess"),
    "AnontoError": ("anonto.errors", "AnontoError"),
    "AnontoWarning": ("anonto.errors", "AnontoWarning"),
    "InputError": ("anonto.errors", "InputError"),
    "MEASURES": ("anonto.taxonomy.distance", "MEASURES"),
    "Matches": ("anonto.encoding.match", "Matches"),
    "Taxonomy": ("anonto.taxonomy.taxonomy", "Taxonomy"),
    "PopulationRisk": ("anonto.assessment.population_risk", "PopulationRisk"),
    "population_risk": ("anonto.assessment.population_risk", "population_risk"),
    "Plan": ("anonto.masking.plan", "Plan"),
    "Release": ("anonto.masking.release", "Release"),
    "FittedPlan": ("anonto.engine.later_records", "TableMasker"),
    "Stream": ("anonto.engine.later_records", "Stream"),
    "fit": ("anonto.engine.later_records", "fit"),
    "load_fitted": ("anonto.engine.later_records", "load_fitted"),
    "mask": ("anonto.engine.run", "mask"),
    "mask_file": ("anonto.engine.run", "mask_file"),
    "match": ("anonto.encoding.match", "match"),
    "ontology_names": ("anonto.ontology.catalogue", "ontology_names"),
    "read_ontology": ("anonto.ontology.catalogue", "open_ontology"),
    "split": ("anonto.assessment.split", "split"),
    "split_file": ("anonto.assessment.split", "split_file"),
    "stream": ("anonto.engine.later_records", "stream"),
    "Sweep": ("anonto.sweep", "Sweep"),
    "Verification": ("anonto.verify", "Verification"),
}

_CALLABLE = ("attacks", "methods", "sweep", "verify")
"""Packages that are called by their own name, as ``anonto.sweep(...)``."""

__all__ = [
    "MEASURES",
    "AnontoError",
    "AnontoWarning",
    "Assessment",
    "FittedPlan",
    "InputError",
    "Matches",
    "Plan",
    "PopulationRisk",
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
    "population_risk",
    "read_ontology",
    "split",
    "split_file",
    "stats",
    "stream",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in {"stats", *_CALLABLE}:
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
