"""Sentences of a report that need no statistics to be understood."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonto.methods.registry import METHODS
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHOLE_ROWS = (
    "Combinations of values are released unchanged: anyone who knows some of a person’s cells in these columns may "
    "find the row and read the rest."
)


EQUAL = 1e-6
"""A loss that is above its bound by a smaller share is not."""
SMALL_STRATA = {
    "refuse": "",
    "pool": " Groups of such records that were too small were put together first.",
    "leave": " Groups of such records that were too small stayed as they were.",
}


def method_sentence(
    method: str, parameters: Mapping[str, Any], within: Sequence[str] = (), small_strata: str = "refuse"
) -> str:
    """Description of a method for a reader who is not a statistician, and of the strata that it was done in."""
    known = METHODS.get(method)
    sentence = "The values were changed by the method “{method}”." if known is None else known.words.report
    told = sentence.format_map({"method": method, **parameters})
    is_whole = known is not None and known.moves_whole_records_with(parameters)
    if within:
        told += (
            f" This was done separately for the records that are equal in {list_names(map(repr, within))}."
            f"{SMALL_STRATA[small_strata]}"
        )
    return f"{told} {WHOLE_ROWS}" if is_whole else told


NOT_MEASURED = "this report measures what changed, not the risk"
MEASURED = "the attacks in this report measure it"
GUARANTEE_SIGNS = {"k": "k", "epsilon": "ε", "average_risk": "average risk"}


def guarantee_sentence(guarantee: Mapping[str, Any], *, attacked: bool = False) -> str:
    """The guarantee of a step, or that it has none.

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


def groups_sentence(step: Mapping[str, Any]) -> str:
    """How many groups there are within an average risk, and how large they are; nothing for other steps."""
    if "average_risk" not in step:
        return ""
    sizes = f"{step['smallest_group']:,} to {step['largest_group']:,} records"
    return f" There are {step['groups']:,} groups of {sizes}: an average risk of {step['average_risk']:.4f}."


def levels_sentence(step: Mapping[str, Any]) -> str:
    """How far each column was generalised, and how many records lost their values; nothing for other steps."""
    if "largest_level" not in step:
        return ""
    possible = step["largest_possible_level"]
    levels = [f"{name!r} {level} of {possible[name]}" for name, level in step["largest_level"].items()]
    lost = count_of(step["suppressed_records"], "record has", "records have")
    return (
        f" The highest level in use, where 0 is as it was: {list_names(levels)}. {lost} no value left in these columns."
    )


def guarantee_line(guarantee: Mapping[str, Any]) -> str:
    """The guarantee of a step, or why it has none, in one line for a terminal."""
    if guarantee["kind"] == "none":
        return f"none: {guarantee['conditions']}"
    what = guarantee_name(guarantee)
    if guarantee["proved"]:
        return f"{what}: proved, if {guarantee['conditions']}"
    return f"{what}: not proved, because {guarantee['conditions']}"


def nearness_sentence(loss: float, bound: float) -> str:
    """How far the groups of a step are from the best possible, in whole per cent."""
    if loss <= bound * (1.0 + EQUAL):
        return "its groups are the best possible: no others as large lose less"
    if bound <= 0.0:
        return "its groups could be far from the best possible: all that is known is that these lose something"
    return f"its groups are within {math.ceil(100.0 * (loss / bound - 1.0))} % of the best possible"


def guarantee_name(guarantee: Mapping[str, Any]) -> str:
    """The kind of a guarantee with its number."""
    numbers = [
        f"{sign} = {guarantee[key]:g}" for key, sign in GUARANTEE_SIGNS.items() if guarantee.get(key) is not None
    ]
    return ", ".join([str(guarantee.get("kind", "a guarantee")), *numbers])


def rows_of_persons(rows: Mapping[str, Any]) -> str:
    """How many rows persons have in the original, whom that number singles out, and what limits it."""
    alone = count_of(rows["persons_alone_by_number"], "person is", "persons are")
    limit = "" if "left_out" in rows or not rows["persons_alone_by_number"] else " (at_most in the plan limits it)"
    return f"at most {rows['most_of_a_person']:,} in the table; {alone} alone with their number of rows{limit}"


def distance_sentence(kind: str, *, has_ontology: bool) -> str:
    """How to read the root mean squared distance of a column."""
    if kind in {"numeric", "ordinal", "date"}:
        return "0: nothing moved; 1: every value moved across the whole range of the column."
    if has_ontology:
        return "0: nothing moved; 1: every value moved as far as two meanings can be apart in the ontology."
    return "0: nothing moved; 1: every value became a different one (without an ontology, values are equal or not)."


def no_levels_sentence(kind: str, method: str) -> str:
    """Why a column has no table of frequencies by level."""
    known = METHODS.get(method)
    is_kept = known is not None and known.keeps_frequencies
    kept = " Every value occurs exactly as often as before." if is_kept else ""
    if kind == "nominal":
        return f"This column has no ontology, so there are no levels to compare.{kept}"
    if kind == "set":
        return f"The values of this column are sets of codes, which have no levels of their own.{kept}"
    what = {"numeric": "numbers", "date": "dates"}.get(kind, "ordered values")
    return f"This is a column of {what}, without a taxonomy.{kept}"


def released_warnings(released: Sequence[Mapping[str, Any]], weight: str | None = None) -> list[str]:
    """Warnings about columns that are released as they are."""
    could_identify = [one["name"] for one in released if one["role"] == "quasi-identifier"]
    unnamed = [one["name"] for one in released if one["role"] is None]
    warnings = []
    if could_identify:
        warnings.append(
            f"Not masked although the plan says that they could help to identify someone: {list_names(could_identify)}."
        )
    if unnamed:
        warnings.append(f"Not described in the plan, and released as they are: {list_names(unnamed)}.")
    if any(one["name"] == weight for one in released):
        warnings.append(
            f"The weights in {weight} are released: rare weights single out records, and weights show how a sample was "
            "drawn. The intruder who knows everything that is released and not confidential knows them."
        )
    return warnings


ROLE_WORDS = {
    "stratum": "defines strata: nothing moves between its values, and the proof holds for those who know it",
    "identifier": "identifies a person",
    "quasi-identifier": "could help to identify a person",
    "confidential": "confidential, worth protecting once a person is identified",
    "other": "other",
    "pseudonym": "replaced by a pseudonym",
    "free-text": "free text, in which a person may be named",
    None: "not described in the plan",
}
