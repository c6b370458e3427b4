"""What singles people out and their risk in the population, before and after masking; in the internal edition alone.

The public edition has none of it: the figures follow from the original, and name the columns that make people unique.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.report.gate import Gate

SETS_SHOWN = 10
INTRUDER_FIGURES = ("mean", "low", "high", "highest", "at_risk")


def disclosure_of(facts: Mapping[str, Any], gate: Gate) -> dict[str, Any] | None:
    """The section's data; None where the edition or the assessment has none."""
    found = facts.get("disclosure", {})
    if not gate.is_internal or "key" not in found:
        return None
    return {"key": _key(found["key"]), "population": _population(found.get("population"))}


def _key(sides: Mapping[str, Any]) -> dict[str, Any]:
    """All quasi-identifiers together, and the columns by their share of the risk in the original."""
    before, after = sides["original"], sides["release"]
    shares = {one["name"]: one for one in after["minimal_uniques"]["columns"]}
    return {
        "columns": list(before["columns"]),
        "small_class": before["small_class"],
        "unique": _both(before["share"], after["share"]),
        "in_small_classes": _both(before["share_in_small_classes"], after["share_in_small_classes"]),
        "by_column": [
            {
                "name": one["name"],
                "share_of_risk": _both(one["share_of_risk"], shares[one["name"]]["share_of_risk"]),
                "unique_without": _both(one["unique_without"], shares[one["name"]]["unique_without"]),
            }
            for one in before["minimal_uniques"]["columns"]
        ],
        "sets": [dict(one) for one in after["minimal_uniques"]["worst"][:SETS_SHOWN]],
    }


def _population(sides: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Estimates of the original and of the release side by side."""
    if sides is None:
        return None
    before, after = sides["original"], sides["release"]
    later = {one["model"]: one["value"] for one in after["population_uniqueness"]}
    intruders = {one["intruder"]: one for one in after["intruders"]}
    return {
        "people": before["population"],
        "estimated_from": before["estimated_from"],
        "sampling_fraction": before["sampling_fraction"],
        "k": before["k"],
        "chosen": before["chosen"],
        "unique": [
            {
                "model": one["model"],
                **{key: one[key] for key in ("low", "high", "interval", "assumption")},
                "share": _both(one["value"], later.get(one["model"])),
            }
            for one in before["population_uniqueness"]
        ],
        "intruders": [
            {
                "intruder": one["intruder"],
                "assumption": one["assumption"],
                **{key: _both(one[key], intruders[one["intruder"]][key]) for key in INTRUDER_FIGURES},
            }
            for one in before["intruders"]
        ],
    }


def _both(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}
