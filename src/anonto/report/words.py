"""What a report says in sentences that need no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

METHOD_SENTENCES = {
    "random-swap": (
        "Each record exchanged its value with another record that was picked by chance. Every value occurs exactly as "
        "often as before; who has it is left to chance, so relations with other columns are lost."
    ),
    "frequency-swap": (
        "The records were put in order of how common their value is, and each exchanged its value with one of the next "
        "{k} records in that order. Every value occurs exactly as often as before; common values went to records with "
        "common values, rare to rare. What the values mean was not considered."
    ),
    "rank-swap-fixed": (
        "The records were put in order, beginning with the most unusual value and going on with those closest to it in "
        "meaning, and each record exchanged its value with one a little further on, picked by chance. Every value "
        "occurs exactly as often as before. Values that stand side by side in this order can be far apart in meaning."
    ),
    "rank-swap": (
        "Each record exchanged its value with that of a record, picked by chance, among those closest to it in "
        "meaning. Every value occurs exactly as often as before, and went to records whose values mean something "
        "similar. A value stayed where it was when all records near enough had been exchanged already."
    ),
    "rank-swap-joint": (
        "Each value was exchanged with that of a record, picked by chance, among those most alike in all these columns "
        "together; each column had its own partners. Every value occurs exactly as often as before, and what the "
        "columns have to do with each other is kept as far as similar records allow. A value stayed where it was when "
        "all records near enough had been exchanged already."
    ),
    "group-swap": (
        "The records were put into groups of at least {k} that are close in meaning, and inside each group the values "
        "of these columns were dealt out anew by chance, missing cells like values. Every value occurs exactly as "
        "often as before, and comes from a record of the same group."
    ),
    "equi-depth-swap": (
        "The records were put into small bins of about {k} records that are alike, and in each bin pairs of records, "
        "picked by chance, exchanged their values in these columns, all together. Every value, and every combination "
        "of values in these columns, occurs exactly as often as before; which record has it has changed."
    ),
    "equi-width-swap": (
        "The columns were cut into bins of equal width, and records in the same bin of every column exchanged their "
        "values in these columns, all together, in pairs picked by chance. Every value, and every combination of "
        "values in these columns, occurs exactly as often as before, and no number moved by more than the width. A "
        "record that was alone in its bin stayed as it was."
    ),
    "semantic-noise": (
        "Each value was replaced by another one of the same taxonomy, about as far away in meaning as a random number "
        "said; numbers had a random number added. Each column had its own random numbers. Values that no record had "
        "may occur now, and rare values may have become more frequent or have disappeared."
    ),
    "semantic-noise-joint": (
        "Each value was replaced by another one of the same taxonomy, about as far away in meaning as a random number "
        "said; numbers had a random number added. The random numbers of a record belong together as its columns do, "
        "so that what the columns have to do with each other is kept better than if each were changed alone. Values "
        "that no record had may occur now."
    ),
    "taxonomy-exponential": (
        "Each value was drawn anew by chance from all concepts of its taxonomy, near ones more often than far ones, "
        "and possibly the value itself. The chances follow from the value of the record alone, with a privacy "
        "parameter ε of {epsilon}: small values of ε make it hard to tell from a released value what the true one was."
    ),
    "microaggregate": (
        "The records were put into groups of at least {k} that are close in meaning, and the values of these columns "
        "were replaced group by group: where the parameter “aggregate” is “centroid”, by what lies in the middle of "
        "the group, the same for all its records; where it is “synthetic”, by values drawn by chance from around "
        "each. A value of the masked table need not have occurred before."
    ),
    "invariant-swap": (
        "The records were put into bins of similar records. Each record was selected with probability {rate}, and the "
        "selected records of a bin took each other’s values in these columns, all together, in an order left to "
        "chance. Every combination of values in these columns occurs exactly as often as before, in every bin."
    ),
}


MOVE_WHOLE_ROWS = ("equi-depth-swap", "equi-width-swap", "invariant-swap")
WHOLE_ROWS = (
    "Combinations leave as they were: whoever knows some of a person’s cells in these columns may find the row and "
    "read the rest."
)


def method_sentence(method: str, parameters: Mapping[str, Any]) -> str:
    """What a method did, for a reader who is no statistician."""
    sentence = METHOD_SENTENCES.get(method, "The values were changed by the method “{method}”.")
    told = sentence.format_map({"method": method, **parameters})
    is_whole = method in MOVE_WHOLE_ROWS or (method == "group-swap" and parameters.get("move") == "together")
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
