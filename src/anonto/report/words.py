"""What a report says in sentences that need no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import listed
from anonto.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHOLE_ROWS = (
    "Combinations leave as they were: whoever knows some of a person’s cells in these columns may find the row and "
    "read the rest."
)


def method_sentence(method: str, parameters: Mapping[str, Any]) -> str:
    """What a method did, for a reader who is no statistician."""
    known = METHODS.get(method)
    sentence = "The values were changed by the method “{method}”." if known is None else known.words.report
    told = sentence.format_map({"method": method, **parameters})
    is_whole = known is not None and known.moves_whole_records_with(parameters)
    return f"{told} {WHOLE_ROWS}" if is_whole else told


NOT_MEASURED = "this report measures what changed, not the risk"
MEASURED = "the attacks in this report measure it"
GUARANTEE_SIGNS = {"k": "k", "epsilon": "ε"}


def guarantee_sentence(guarantee: Mapping[str, Any], *, attacked: bool = False) -> str:
    """What is proved of a step, or that nothing is.

    Args:
        guarantee: Its kind, numbers, conditions, and whether it is proved.
        attacked: Whether the report has attacks.
    """
    what = guarantee_name(guarantee)
    if guarantee.get("proved"):
        return f"Proved: {what}. It holds on these conditions: {guarantee.get('conditions') or 'none'}."
    told = f"The risk can only be measured, by trying attacks; {MEASURED if attacked else NOT_MEASURED}."
    if guarantee.get("kind", "none") != "none":
        return f"Not proved: {what}, because {guarantee.get('conditions')}. {told}"
    return f"No mathematical guarantee limits what an intruder can learn. {told}"


def guarantee_line(guarantee: Mapping[str, Any]) -> str:
    """What is proved of a step, or why nothing is, in one line for a terminal."""
    if guarantee["kind"] == "none":
        return f"none: {guarantee['conditions']}"
    what = guarantee_name(guarantee)
    if guarantee["proved"]:
        return f"{what}: proved, if {guarantee['conditions']}"
    return f"{what}: not proved, because {guarantee['conditions']}"


def guarantee_name(guarantee: Mapping[str, Any]) -> str:
    """The kind of a guarantee with its number."""
    numbers = [
        f"{sign} = {guarantee[key]:g}" for key, sign in GUARANTEE_SIGNS.items() if guarantee.get(key) is not None
    ]
    return ", ".join([str(guarantee.get("kind", "a guarantee")), *numbers])


def distance_sentence(kind: str, *, has_ontology: bool) -> str:
    """How to read the root mean squared distance of a column."""
    if kind in {"numeric", "ordinal"}:
        return "0: nothing moved; 1: every value moved across the whole range of the column."
    if has_ontology:
        return "0: nothing moved; 1: every value moved as far as two meanings can be apart in the ontology."
    return "0: nothing moved; 1: every value became a different one (without an ontology, values are equal or not)."


def no_levels_sentence(kind: str, method: str) -> str:
    """Why a column has no table of frequencies by level."""
    kept = " Every value occurs exactly as often as before." if "swap" in method else ""
    if kind == "nominal":
        return f"This column has no ontology, so there are no levels to compare.{kept}"
    return f"This is a column of {'numbers' if kind == 'numeric' else 'ordered values'}, without a taxonomy.{kept}"


def released_warnings(released: Sequence[Mapping[str, Any]]) -> list[str]:
    """What must be said of columns that leave as they are."""
    could_identify = [one["name"] for one in released if one["role"] == "quasi-identifier"]
    unnamed = [one["name"] for one in released if one["role"] is None]
    warnings = []
    if could_identify:
        warnings.append(
            f"Not masked although the plan says that they could help to identify someone: {listed(could_identify)}."
        )
    if unnamed:
        warnings.append(f"Not described in the plan, and released as they are: {listed(unnamed)}.")
    return warnings


ROLE_WORDS = {
    "identifier": "identifies a person",
    "quasi-identifier": "could help to identify a person",
    "confidential": "confidential, worth protecting once a person is identified",
    "other": "other",
    None: "not described in the plan",
}
