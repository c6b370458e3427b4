"""What the pages say: explanations of every term, and each method in sentences that need no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import (
    AbsentRootError,
    AllMissingError,
    DependsOnDataError,
    DifferentTaxonomiesError,
    InputError,
    LostDigitsError,
    MissingCellsError,
    MixedNotationError,
    NeedsOneOntologyError,
    NotAMetricError,
    NotCloseError,
    NotCloseInBlocksError,
    NothingToMaskError,
    NotInOrderError,
    NotNumericError,
    OutsideRootError,
    ParameterError,
    SmallStrataError,
    TooFewForGroupsError,
    UnmatchedValuesError,
)
from anonto.risk.attacks.registry import attacks

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAN_MAY_BE_PUBLISHED = (
    "The plan is no secret: it has no seed, and with the release and the plan people can verify their own record.",
    "The attacks on a release include those of an intruder who knows its plan, so publishing it adds nothing to the "
    "worst rate; but read its keys order and na first, which list values of the table, and ontology, which may name a "
    "folder of yours.",
    "The private record, with the seed, is never published.",
)
"""What is said of the plan where it is taken away; the how-to about verifying a record says the same."""

TERMS: Mapping[str, str] = {
    "kind": "Names or codes (nominal), steps in an order (ordinal), or numbers (numeric). It decides how far apart two "
    "values are.",
    "role": "What a column could do to a person. An identifier names somebody and is dropped; a quasi-identifier could "
    "help to recognise somebody together with others and is masked; confidential and other columns leave as they are. "
    "What is proved takes only confidential columns as unknown to others.",
    "ontology": "A hierarchy of concepts that says what the codes of a column mean, as ICD does for diagnoses. With "
    "it, a code can be replaced by one that means something similar.",
    "measure": "How the distance of two concepts is found from the hierarchy: 0 for the same concept, 1 for nothing in "
    "common. Leave Wu and Palmer's unless you know why.",
    "coverage": "The share of the column's cells whose value the ontology knows.",
    "root": "Where meaning begins: the whole ontology, or the smallest branch that holds all values of the column.",
    "missing": "What happens to records without a value here: keep them, drop them, or refuse to run.",
    "unmatched": "What happens to values that the ontology does not know: refuse to run, keep them unmasked, drop "
    "their records, or take the nearest code above.",
    "k-anonymity": "How many records share all their quasi-identifiers at least. With 1, somebody stands alone and can "
    "be recognised by whoever knows these values.",
    "ε-differential privacy": "A promise in a number ε: near 0, a released value hardly tells what the true one was; "
    "above 10 it tells almost everything.",
    "ε": "A number that limits how much a released value tells of the true one: near 0 hardly anything, above 10 "
    "almost everything.",
    "quasi-identifiers": "Columns that name nobody, but together could help to recognise somebody, as age and region.",
    "unique": "A record that no other shares all these values with. Whoever knows the values knows the person.",
    "linkage": "An intruder who knows these columns of a person looks for the most similar record. The rate is how "
    "often that is the right one.",
    "baseline": "What the same intruder would reach by guessing.",
    "added": "Of what nobody could guess without a person’s own record, the share that the record tells. 0 % is safe.",
    "interval": "Where the true rate lies with 95 % confidence.",
    "utility": "How much an analyst keeps: 100 % of the original, 0 % when values are dealt out at random. It is "
    "made of how far cells moved, how frequencies and dependences changed, and how well records can be told from "
    "original ones.",
    "distance": "How far the cells moved, as a root mean square: 0 for not at all, 1 for as far as possible.",
    "risk": "The share of persons whom the most successful linking attack recognises. The worst intruder knows every "
    "column that leaves and is not confidential, masked or not.",
    "declared": "What an intruder recognises who knows no column but the quasi-identifiers.",
    "whole rows": "Rows of the original leave whole: so many persons have one released row with just the few cells "
    "that are known, and most of their other cells are read off it.",
    "Pareto front": "The plans that no other beats: less risk would cost utility, more utility would cost risk.",
    "distance correlation": "How strongly two columns hang together: 0 not at all, 1 wholly.",
    "guarantee": "What is proved about a method, on which conditions. Where nothing is proved, only the attacks tell.",
    "private record": "The secret seed of the run. Whoever has it can undo the masking.",
    "seed": "The secret from which all chance in a run follows.",
    "missing cells": "Cells without a value.",
    "distinct": "How many different values a column has.",
    "frequencies": "How far the frequencies of the values changed (Hellinger's distance): 0 not at all, 1 wholly.",
    "sample": "A few hundred records drawn at random. Small tables look riskier than large ones, so take the numbers "
    "as a hint.",
}

KINDS = {"nominal": "Names, codes", "ordinal": "In an order", "numeric": "Numbers"}
ROLES = {
    "identifier": "Drop: identifier",
    "quasi-identifier": "Mask: quasi-identifier",
    "confidential": "Keep: confidential",
    "other": "Keep: other",
}
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
    """What an attack is called, and what it does."""
    attack = attacks()[risk["attack"]]
    more = attack.variant(risk)
    return (attack.title if more is None else f"{attack.title} ({more})"), attack.summary


NOTHING = "Nothing proved: judge it by the attacks."


LOOK_CLOSER = "In this app: the page “Columns”, “Look closer” at the column"
WHERE: Mapping[type[InputError], str] = {
    UnmatchedValuesError: f"{LOOK_CLOSER}; the values are listed there, and “Unknown values” says what becomes of "
    "them.",
    MissingCellsError: f"{LOOK_CLOSER}, “Missing values”.",
    SmallStrataError: f"{LOOK_CLOSER}, “Missing values”: “Drop the records”; or untick it on the page “Method”.",
    NotCloseError: f"{LOOK_CLOSER}, “Missing values”: “Drop the records”; the closeness t is on the page “Method”.",
    NotCloseInBlocksError: "In this app: “closeness t” and “rows of a block” are on the page “Method”.",
    NeedsOneOntologyError: "In this app: kind and ontology are chosen on the page “Columns”, methods on the page "
    "“Method”.",
    DifferentTaxonomiesError: "In this app: ontologies are chosen on the page “Columns”, methods on the page “Method”.",
    DependsOnDataError: f"{LOOK_CLOSER}, “Root”.",
    NotAMetricError: f"{LOOK_CLOSER}, “Measure”; or untick “protect by distance” on the page “Method”.",
    AbsentRootError: f"{LOOK_CLOSER}, “Root”.",
    OutsideRootError: f"{LOOK_CLOSER}, “Root”.",
    NotNumericError: "In this app: the kind of a column is chosen on the page “Columns”.",
    LostDigitsError: "In this app: the kind of a column is chosen on the page “Columns”.",
    NotInOrderError: f"{LOOK_CLOSER}, “Order”.",
    NothingToMaskError: "In this app: roles are chosen on the page “Columns”.",
    AllMissingError: "In this app: untick the column on the page “Method”.",
    ParameterError: "In this app: it is set on the page “Method”.",
}
"""Where in the app that is set which a message of the library names as it stands in a plan."""
OF_SIZE = (TooFewForGroupsError, SmallStrataError, NotCloseError, NotCloseInBlocksError, AllMissingError)
"""What a sample may be refused for though the whole table is not."""
COUNTED = (
    *OF_SIZE,
    UnmatchedValuesError,
    MissingCellsError,
    NotNumericError,
    MixedNotationError,
    LostDigitsError,
    NotInOrderError,
    OutsideRootError,
)
"""Refusals that count records or values."""


def refusal(error: InputError, sample: int | None = None) -> str:
    """What the library says when it refuses to mask, and where in the app that is set.

    Args:
        error: Of the library.
        sample: How many records were masked, where they were not all.
    """
    said = [error.on_the_command_line]
    if sample is not None and isinstance(error, COUNTED):
        said[0] = f"{in_the_sample(sample)} {said[0]}"
        if isinstance(error, OF_SIZE):
            said.append("The whole table has more records and may allow it: start the run to see.")
    where = next((WHERE[kind] for kind in type(error).__mro__ if kind in WHERE), None)
    return " ".join([*said, *([where] if where else [])])


def in_the_sample(n_records: int) -> str:
    """How something is begun that is true of a sample."""
    return f"In the sample of {n_records:,} records:"


def our_mistake(error: Exception) -> str:
    """What is said when something failed that must not."""
    return f"That failed by our mistake ({type(error).__name__})."


def duration(seconds: float) -> str:
    """A time to come, as roughly as it is known."""
    return f"{max(seconds, 1):.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
