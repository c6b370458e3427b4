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
}


def method_sentence(method: str, parameters: Mapping[str, Any]) -> str:
    """What a method did, for a reader who is no statistician."""
    sentence = METHOD_SENTENCES.get(method, "The values were changed by the method “{method}”.")
    return sentence.format_map({"method": method, **parameters})


def guarantee_sentence(guarantee: Mapping[str, Any]) -> str:
    """What is proved of a step, or that nothing is."""
    numbers = [f"{name} = {guarantee[name]}" for name in ("k", "epsilon") if guarantee.get(name) is not None]
    if guarantee.get("proved"):
        what = ", ".join([str(guarantee.get("kind", "a guarantee")), *numbers])
        return f"Proved: {what}. It holds on these conditions: {guarantee.get('conditions') or 'none'}."
    return (
        "No mathematical guarantee limits what an intruder can learn. The risk can only be measured, by trying "
        "attacks; this report measures what changed, not the risk."
    )


def distance_sentence(kind: str, *, has_ontology: bool) -> str:
    """How to read the root mean squared distance of a column."""
    if kind in {"numeric", "ordinal"}:
        return "0: nothing moved; 1: every value moved across the whole range of the column."
    if has_ontology:
        return "0: nothing moved; 1: every value moved as far as two meanings can be apart in the ontology."
    return "0: nothing moved; 1: every value became a different one (without an ontology, values are equal or not)."


def no_levels_sentence(kind: str, method: str) -> str:
    """Why a column has no table of frequencies by level."""
    kept = " Every value occurs exactly as often as before." if method.endswith("-swap") else ""
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
