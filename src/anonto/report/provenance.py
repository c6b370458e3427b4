"""The provenance of a report: versions of programs, hashes of the plan and of the ontologies; no seed and no path."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from anonto.io.toml import to_toml
from anonto.report.data import strip_paths
from anonto.report.editions import plan_shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.report.editions import Edition
    from anonto.report.gate import Gate

PACKAGES = ("anonto", "numpy", "polars", "numba", "scipy", "scikit-learn")


def provenance(plan: Mapping[str, Any], ontologies: Sequence[Mapping[str, Any]], gate: Gate) -> dict[str, Any]:
    """Versions and hashes.

    The hash of the whole plan is in the internal edition alone: a parameter that is kept back could be found by
    hashing guesses. The hash of what is published of the plan is in both, and ties them together.
    """
    hashes = {"published_plan_sha256": _sha256(canonical(plan, "public"))}
    if gate.is_internal:
        hashes["plan_sha256"] = _sha256(canonical(plan, "internal"))
    return {
        "versions": versions(),
        **hashes,
        "ontologies": [{**one, "concepts": gate.known(one["concepts"])} for one in ontologies],
    }


def versions() -> dict[str, str]:
    """The versions of the programs that a report depends on."""
    return {
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
    }


def canonical(plan: Mapping[str, Any], edition: Edition) -> str:
    """The text of a plan that is hashed: TOML with names of ontologies in place of paths."""
    return to_toml(strip_paths(plan_shown(plan, edition)), {}).strip() + "\n"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
