"""Limits of a report: attacks that were not tried, samples, knowledge that no intruder was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks, is_linkage
from anonto.report.verdict import names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    Data = Mapping[str, Any]


def limits(data: Data, tried: Collection[str]) -> list[str]:
    """Sentences about what was not examined.

    Args:
        data: The data of the report.
        tried: The names of the attacks that were tried, also of those that the edition does not show.
    """
    about = [_samples, _against_k, _knowledge, _checks, _publication]
    return [*_attacks(tried), *(sentence for describe in about for sentence in describe(data))]


def _attacks(tried: Collection[str]) -> list[str]:
    return [
        *describe_untried(tried),
        "An attack that was tried gives a lower bound: a cleverer intruder may reach more.",
    ]


def describe_untried(tried: Collection[str]) -> list[str]:
    """A sentence about the attacks that were not tried, each with what it needs; nothing if all were.

    Args:
        tried: The names of the others.
    """
    of_intruders_first = sorted(attacks().values(), key=lambda one: (one.once, not one.is_linkage and not one.once))
    untried = [one for one in of_intruders_first if one.needs_trial and one.name not in tried]
    missing = [f"{one.name} ({one.not_tried})" if one.not_tried else one.name for one in untried]
    return [f"Not tried: {'; '.join(missing)}."] if missing else []


def _samples(data: Data) -> list[str]:
    records = data["table"]["records"]
    if not data["attacks"]:
        return []
    sampled = {one["attack"]: one["n"] for one in data["attacks"] if one["n"] < 0.9 * records and not one["about"]}
    if not sampled:
        return ["Intervals are of 95 % (Wilson); they say how far a rate may be off by the choice of persons."]
    parts = [f"{name} ({n:,})" for name, n in sampled.items()]
    return [
        f"Of {records:,} records a sample chosen at random was attacked by {names(parts)}; intervals are of 95 % "
        "(Wilson) and say how far a rate may be off by that choice."
    ]


def _against_k(data: Data) -> list[str]:
    compared = [one for one in data["attacks"] if one["beyond_k"] is not None]
    linkages = sum(is_linkage(one["attack"]) and one["n"] > 0 for one in data["attacks"])
    if not compared or linkages < 2:
        return []
    return [
        f"A rate is called above 1/k, or below it, only where a wider interval is, one that holds with 95 % for all "
        f"{linkages} linkages together (Bonferroni): the highest of several is partly luck."
    ]


def _knowledge(data: Data) -> list[str]:
    if data["measured"]["on"] == "nothing":
        return []
    known = list(dict.fromkeys(name for one in data["attacks"] for name in one["columns"]))
    released = [*data["table"]["released_as_is"], *data.get("recoded", ())]
    others = [one["name"] for one in released if one["name"] not in known]
    if not others:
        return []
    return [
        f"No intruder was given cells of {names(others)}: one who knows some of them as well may link more persons, "
        "and a proof that is about other columns does not hold against her."
    ]


def _checks(data: Data) -> list[str]:
    if data["checked"]:
        return [
            "The original was masked again with the plan and the private record, and gave this release; its rows were "
            "compared one by one."
        ]
    return [
        "No private record was given: that this plan made the release, that the seed is long enough to be secret, and "
        "what depends on both, is taken as given and was not checked by this assessment."
    ]


def _publication(data: Data) -> list[str]:
    if data["edition"] != "public":
        return []
    kept_back = [f"{one['attack']} ({', '.join(one['columns'])})" for one in data["measured"]["kept_back"]]
    told = [f"Tried, and not published because the figures could help an intruder: {'; '.join(kept_back)}."]
    return [
        str(data["measured"]["because"]),
        *(told if kept_back and data["measured"]["on"] != "nothing" else []),
        "Against an intruder who knows the columns of a step of every person, as proofs assume, this edition adds "
        "nothing to the release: its figures follow from what she knows. Against somebody who knows fewer persons, "
        "rounding hides single ones, but no proof covers it.",
    ]
