"""Texts of the pages: explanations of terms and labels, in sentences that need no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks
from anonto.errors import AllMissingError, InputError, ParameterError, TooFewRecordsError
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLAN_MAY_BE_PUBLISHED = (
    "The plan is not a secret: it has no seed, and with the release and the plan people can verify their own record.",
    "The attacks on a release include those of an intruder who knows its plan, so publishing it adds nothing to the "
    "worst rate; but read its keys order and na first, which list values of the table, and ontology, which may name a "
    "folder of yours.",
    "The private record, with the seed, is never published.",
)
"""Shown beside the plan's download; the how-to on verifying a record says the same."""

TERMS: Mapping[str, str] = {
    "kind": "Names or codes (nominal), steps in an order (ordinal), numbers (numeric), or several names or codes "
    "together (set). It decides how far apart two values are.",
    "person": "The column that says whose rows these are, such as a patient number. A person with all her rows is then "
    "one record: she is masked, protected and counted as a whole.",
    "set": "Several names or codes that are one value: those of several columns, of a person’s rows, or of a text "
    "with a sign between them. Their order does not count.",
    "order": "A column of numbers or dates that says which of a person’s rows came first. It is dropped: each row "
    "leaves with its place instead, and sets move with their order.",
    "set_distance": "How the distance of two sets follows from those of their elements: each element has one partner "
    "at most, or each has the nearest of the other set.",
    "separator": "What stands between the elements in a cell, such as ; in “insulin; metformin”. Leave it empty if "
    "each cell has one element.",
    "strata": "Columns whose values divide the table, such as year and hospital: each part is masked by itself, so "
    "that nothing moves from one to another.",
    "small strata": "What happens to parts with fewer records than the method needs: refuse to run, mask them "
    "together, or leave them unmasked.",
    "role": "How a column could identify a person. An identifier names somebody and is dropped; a quasi-identifier "
    "could help to recognise somebody together with others and is masked; confidential and other columns are "
    "released unchanged. Guarantees assume that only confidential columns are unknown to others.",
    "ontology": "A hierarchy of concepts that says what the codes of a column mean, as ICD does for diagnoses. With "
    "it, a code can be replaced by one that means something similar.",
    "measure": "How the distance of two concepts is found from the hierarchy: 0 for the same concept, 1 for nothing "
    "in common. Keep Wu and Palmer's unless you have a reason to change it.",
    "coverage": "The share of the column's cells whose value is in the ontology.",
    "root": "The top of the hierarchy: the whole ontology, or the smallest branch that contains all values of the "
    "column.",
    "missing": "What happens to records without a value here: keep them, drop them, or refuse to run.",
    "unmatched": "What happens to values that are not in the ontology: refuse to run, keep them unmasked, drop their "
    "records, or take the nearest code above.",
    "k-anonymity": "The size of the smallest equivalence class, a set of records that share all quasi-identifiers. "
    "With 1, somebody is unique and can be recognised by anyone who knows these values.",
    "ε-differential privacy": "A promise in a number ε: near 0, a released value reveals hardly anything about the "
    "true one; above 10, almost everything.",
    "ε": "A number that limits how much a released value reveals about the true one: near 0 hardly anything, above "
    "10 almost everything.",
    "quasi-identifiers": "Columns that name nobody, but together could help to recognise somebody, such as age and "
    "region.",
    "unique": "A record whose combination of values no other record has. Anyone who knows the values can find the "
    "person.",
    "linkage": "An intruder who knows these columns of a person looks for the most similar record. The rate is how "
    "often that is the right one.",
    "baseline": "The success rate of the same intruder by guessing.",
    "added": "Of what nobody could guess without a person’s own record, the share that the record reveals. 0 % is "
    "safe.",
    "interval": "The true rate lies in this interval with 95 % confidence.",
    "utility": "How much an analyst keeps: 100 % of the original, 0 % when values are shuffled at random. It combines "
    "how far cells moved, how frequencies and dependences changed, and how well records can be distinguished from "
    "original ones.",
    "distance": "How far the cells moved, as a root mean square: 0 for not at all, 1 for as far as possible.",
    "risk": "The share of persons whom the most successful linking attack recognises. The worst intruder knows every "
    "released column that is not confidential, masked or not.",
    "declared": "The share of persons recognised by an intruder who knows only the quasi-identifiers.",
    "whole rows": "Original rows are released whole: this share of persons has exactly one released row with the few "
    "known cells, and most of their other cells can be read from it.",
    "Pareto front": "The plans that no other beats: less risk would cost utility, more utility would cost risk.",
    "distance correlation": "How strongly two columns are related: 0 not at all, 1 fully.",
    "guarantee": "What is proved about a method, under which conditions. Without a proof, judge by the attacks.",
    "private record": "The secret seed of the run. Anyone who has it can undo the masking.",
    "seed": "The secret that determines all random draws of a run.",
    "missing cells": "Cells without a value.",
    "distinct": "How many different values a column has.",
    "frequencies": "How far the frequencies of the values changed (Hellinger distance): 0 not at all, 1 fully.",
    "sample": "A few hundred records drawn at random. Small tables look riskier than large ones, so take the numbers "
    "as a hint.",
}

KINDS = {
    "nominal": "Names, codes",
    "ordinal": "Ordered",
    "numeric": "Numbers",
    "date": "Dates",
    "set": "Set of codes",
}
ROLES = {
    "identifier": "Drop: identifier",
    "quasi-identifier": "Mask: quasi-identifier",
    "confidential": "Keep: confidential",
    "other": "Keep: other",
    "pseudonym": "Replace: pseudonym",
    "free-text": "Drop: free text",
}
PERSON_ROLES = {"identifier": "Drop: person column", "pseudonym": "Random number for each"}
"""Roles of the column that says whose rows these are."""
SET_DISTANCES = {"matching": "One partner each", "best-match-average": "Nearest element each"}
SMALL_STRATA = {"refuse": "Refuse to run", "pool": "Mask them together", "leave": "Leave them unmasked"}
MISSING = {"keep": "Keep the records", "drop": "Drop the records", "refuse": "Refuse to run"}
UNMATCHED = {
    "refuse": "Refuse to run",
    "keep": "Keep them unmasked",
    "drop": "Drop the records",
    "nearest-ancestor": "Take the nearest code above",
}
MEASURES = {
    "wu-palmer": "Wu and Palmer",
    "wu-palmer-lcs": "Wu and Palmer, least common subsumer",
    "ancestor": "Shared ancestors",
    "rada": "Shortest path",
    "leacock-chodorow": "Leacock and Chodorow",
    "lin": "Lin",
    "resnik": "Resnik",
    "jiang-conrath": "Jiang and Conrath",
    "jaccard": "Jaccard",
    "dice": "Dice",
    "equality": "Equal or not",
}
PHASES = {
    "reading": "Reading the table",
    "masking": "Masking",
    "writing": "Writing the masked table",
    "attacking": "Attacking the release",
    "reporting": "Writing the report",
    "profile": "Counting combinations",
    "attack": "Attacking the raw table",
    "trying": "Trying the plans",
}


def attack_words(risk: Mapping[str, Any]) -> tuple[str, str]:
    """Name and description of an attack."""
    attack = attacks()[risk["attack"]]
    more = attack.variant(risk)
    return (attack.title if more is None else f"{attack.title} ({more})"), attack.summary


NOTHING = "No proof: judge it by the attacks."


LOOK_CLOSER = "In this app: the page “Columns”, “Look closer” at the column"
OF_METHOD = "a parameter of the method"
WHERE: Mapping[tuple[str, ...], str] = {
    ("unmatched",): f"{LOOK_CLOSER}; the values are listed there, and “Unknown values” says what becomes of them.",
    ("missing",): f"{LOOK_CLOSER}, “Missing values”.",
    ("missing", "columns"): f"{LOOK_CLOSER}, “Missing values”: “Drop the records”; or untick it on the page “Method”.",
    ("missing", OF_METHOD): f"{LOOK_CLOSER}, “Missing values”: “Drop the records”; {{labels}} on the page “Method”.",
    (OF_METHOD,): "In this app: {labels} on the page “Method”.",
    ("kind", "ontology"): "In this app: kind and ontology are chosen on the page “Columns”, methods on the page "
    "“Method”.",
    ("ontology",): "In this app: ontologies are chosen on the page “Columns”, methods on the page “Method”.",
    ("root",): f"{LOOK_CLOSER}, “Root”.",
    ("measure",): f"{LOOK_CLOSER}, “Measure”; or untick “protect by distance” on the page “Method”.",
    ("kind",): "In this app: the kind of a column is chosen on the page “Columns”.",
    ("order",): f"{LOOK_CLOSER}, “Order”.",
    ("person", "kind"): "In this app: on the page “Columns”, where the person column is chosen.",
    ("role",): "In this app: roles are chosen on the page “Columns”.",
    ("columns",): "In this app: untick the column on the page “Method”.",
}
"""The place in the app to change the plan settings that an error of the library names."""
PARAMETER = "In this app: it is set on the page “Method”."
OF_SIZE = (TooFewRecordsError, AllMissingError)
"""Errors that a sample may raise although the whole table does not."""


def refusal(error: InputError, sample: int | None = None) -> str:
    """The library's error message, and where in the app to change the setting.

    Args:
        error: The library's error.
        sample: Number of records masked, if not all.
    """
    said = [error.on_the_command_line]
    counts_the_sample = isinstance(error, OF_SIZE) or error.values or error.cells is not None
    if sample is not None and counts_the_sample:
        said[0] = f"{in_the_sample(sample)} {said[0]}"
        if isinstance(error, OF_SIZE):
            said.append("The whole table has more records and may allow it: start the run to see.")
    where = PARAMETER if isinstance(error, ParameterError) else _where(error.settings)
    return " ".join([*said, *([where] if where else [])])


def _where(settings: Sequence[str]) -> str | None:
    """Where to change settings in the app; parameters of methods are called as in their form."""
    if not settings:
        return None
    of_columns = {name for key in WHERE for name in key}
    known = {one.name: one.takes.label for method in METHODS.values() for one in parameters_known(method)}
    labels = [known[name] for name in settings if name in known and name not in of_columns]
    where = WHERE.get(tuple(dict.fromkeys(OF_METHOD if known.get(name) in labels else name for name in settings)))
    return where and where.format(
        labels=f"{' and '.join(f'“{label}”' for label in labels)} {'is' if len(labels) == 1 else 'are'}"
    )


def in_the_sample(n_records: int) -> str:
    """Beginning of a sentence about a sample."""
    return f"In the sample of {n_records:,} records:"


def our_mistake(error: Exception) -> str:
    """Message about an internal error."""
    return f"An internal error occurred ({type(error).__name__})."


def duration(seconds: float) -> str:
    """A rough duration in words."""
    return f"{max(seconds, 1):.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
