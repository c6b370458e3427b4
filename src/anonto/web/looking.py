"""Tasks that look at a table and at ontologies: previews, proposals, matching, trees."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import InputError
from anonto.methods import schema
from anonto.methods.registry import METHODS
from anonto.ontology.card import health_card
from anonto.ontology.catalogue import LISTED
from anonto.ontology.matching import matcher_of
from anonto.plan import Plan
from anonto.propose import propose
from anonto.table.description import ColumnDescription
from anonto.table.match import match
from anonto.table.series import as_text_series
from anonto.taxonomy.closure import closure
from anonto.web.opening import table_of, taxonomy_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from anonto.taxonomy.taxonomy import Taxonomy

    Report = Callable[[dict[str, Any]], None]

ROWS_SHOWN = 8
LONGEST_CELL = 60
DEMO_RECORDS = 1_000
UNMATCHED_SHOWN = 60
CHILDREN_SHOWN = 150
VALUES_SHOWN = 200
FOUND_SHOWN = 25


# ------------------------------------------------------------------------------------------------ the table


def open_file(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """What a table is like: its columns with type, missing and distinct cells, and its first rows."""
    del report
    table = table_of(given)
    frame = table.frame
    columns = [_column(table.column(name)) for name in frame.columns]
    head = [as_text_series(table.column(name).head(ROWS_SHOWN)).to_list() for name in frame.columns]
    rows = [[None if cell is None else _shortened(str(cell)) for cell in row] for row in zip(*head, strict=True)]
    origin = table.origin
    return {
        "n_records": frame.height,
        "columns": columns,
        "rows": rows,
        "format": origin.format,
        "sha256": origin.sha256,
        "delimiter": origin.dialect.delimiter if origin.dialect else None,
        "encoding": origin.dialect.encoding if origin.dialect else None,
    }


def _column(cells: pl.Series) -> dict[str, Any]:
    missing = cells.null_count()
    return {
        "name": cells.name,
        "type": _type(cells),
        "missing": missing,
        "distinct": cells.n_unique() - bool(missing),
    }


def _type(cells: pl.Series) -> str:
    kind = cells.dtype
    if kind.is_integer():
        return "whole numbers"
    if kind.is_numeric():
        return "numbers"
    if kind.is_temporal():
        return "dates or times"
    return "text"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def make_demo(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """A made-up table of discharges, with the hierarchy of its procedures beside it."""
    from anonto.table.generate import discharges, procedure_taxonomy
    from anonto.table.table import Origin, Table
    from anonto.table.writing import write_table

    del report
    folder = Path(given["folder"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = discharges(DEMO_RECORDS, 1, taxonomy=taxonomy_of("icd10cm"))
    path = folder / "discharges.csv"
    write_table(Table(made, Origin(name=path.name, format="csv")), path, force=True)
    with (folder / "procedures.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("id", "parent", "label"), *procedure_taxonomy()])
    return {"path": str(path)}


def propose_plan(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The plan that `anonto init` would write, with its reasons."""
    del report
    table = table_of(given)
    looked_at = {key: given.get(key, ()) for key in ("ontologies", "folders", "leave_out")}
    proposal = propose(table, **looked_at)
    plan = proposal.plan.to_dict()
    return {"plan": plan, "reasons": {name: list(said) for name, said in proposal.reasons.items()}}


def values(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The distinct values of a column in order, numbers by size; only the first where there are many."""
    del report
    found = table_of(given).column(given["column"]).drop_nulls().unique().sort()
    return {"values": [str(one) for one in as_text_series(found).head(VALUES_SHOWN).to_list()], "distinct": len(found)}


def check(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Whether a plan contradicts itself: refused if it does."""
    del report
    Plan.from_dict(given["plan"])
    return {}


# ------------------------------------------------------------------------------------------------ ontologies


def listed_ontologies(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The ontologies that have a name and are on this machine."""
    del given, report
    return {"listed": [{"name": one.name, "title": one.title} for one in LISTED.values() if one.available]}


def ontology_card(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """What an ontology is like; refused when it cannot be read."""
    del report
    card = health_card(taxonomy_of(given["ontology"]))
    return {key: card[key] for key in ("source", "format", "concepts", "leaves", "depth", "n_roots", "synonyms")}


def coverage(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """For each column with an ontology the share of its cells that the ontology knows, or why that cannot be said."""
    del report
    found: dict[str, float] = {}
    unread: dict[str, str] = {}
    for name, described in given["plan"]["columns"].items():
        if described["kind"] != "nominal" or described["role"] == "identifier" or not described.get("ontology"):
            continue
        try:
            one = ColumnDescription.from_mapping(name, described)
            texts = texts_of(given, name, one.na)
            known = [
                float(match(texts, taxonomy_of(each)).coverage) for each in one.ontologies if isinstance(each, str)
            ]
        except InputError as error:
            unread[name] = error.on_the_command_line
        else:
            found[name] = min(known, default=1.0)
    return {"coverage": found, "unread": unread}


def match_column(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """How a column fits an ontology: coverage, rules, and what did not match with suggestions."""
    del report
    description = ColumnDescription.from_mapping(given["column"], given["description"])
    found = match(texts_of(given, given["column"], description.na), taxonomy_of(given["ontology"]))
    most_frequent = list(found.unmatched.items())[:UNMATCHED_SHOWN]
    return {
        **found.summary(),
        "values": [
            {
                "value": value,
                "cells": cells,
                "suggestions": [
                    {"concept": one.concept, "label": one.label, "likeness": one.likeness}
                    for one in found.matcher.suggest(value)
                ],
            }
            for value, cells in most_frequent
        ],
    }


def typed_concept(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The concept that a typed code or label names, or none; then those that it may have meant."""
    del report
    matcher = matcher_of(taxonomy_of(given["ontology"]))
    placed = matcher.place(given["text"])
    likely = () if placed else matcher.suggest(given["text"])
    return {
        "ontology": matcher.taxonomy.name,
        "concept": placed.concept if placed else None,
        "suggestions": [{"concept": one.concept, "label": one.label} for one in likely],
    }


def tree(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The concepts one step below a concept, or the roots, with the records of a column at or below each."""
    del report
    taxonomy, counts = _taxonomy_and_counts(given)
    concept = given.get("concept")
    below = taxonomy.children(concept) if concept else taxonomy.roots
    shown = sorted(below, key=lambda one: (-counts[taxonomy.number(one)], one))
    nodes = [_node(taxonomy, counts, one) for one in shown[:CHILDREN_SHOWN]]
    return {"nodes": nodes, "further": max(len(shown) - CHILDREN_SHOWN, 0)}


def search(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Concepts whose code or label has a text in it; those that occur in the column first."""
    del report
    taxonomy, counts = _taxonomy_and_counts(given)
    wanted = given["text"].casefold().strip()
    found = [
        number
        for number, (concept, label) in enumerate(zip(taxonomy.ids, taxonomy.labels, strict=True))
        if wanted in concept.casefold() or wanted in label.casefold()
    ]
    found.sort(key=lambda number: (taxonomy.ids[number].casefold() != wanted, -counts[number], taxonomy.ids[number]))
    nodes = [_node(taxonomy, counts, taxonomy.ids[number]) for number in found[:FOUND_SHOWN]]
    above = [[taxonomy.label(parent) or parent for parent in taxonomy.parents(node["id"])] for node in nodes]
    nodes = [{**node, "above": parents} for node, parents in zip(nodes, above, strict=True)]
    return {"nodes": nodes, "found": len(found)}


def _node(taxonomy: Taxonomy, counts: np.ndarray[Any, np.dtype[np.int64]], concept: str) -> dict[str, Any]:
    return {
        "id": concept,
        "label": taxonomy.label(concept),
        "records": int(counts[taxonomy.number(concept)]),
        "children": len(taxonomy.children(concept)),
    }


def _taxonomy_and_counts(given: dict[str, Any]) -> tuple[Taxonomy, np.ndarray[Any, np.dtype[np.int64]]]:
    description = ColumnDescription.from_mapping(given["column"], given["description"])
    texts = texts_of(given, given["column"], description.na)
    values, counts = np.unique(np.array(texts.drop_nulls().to_list(), dtype=object).astype(str), return_counts=True)
    nearest = description.unmatched == "nearest-ancestor"
    return taxonomy_of(given["ontology"]), _subtree_counts(
        given["ontology"], tuple(values.tolist()), tuple(counts.tolist()), nearest=nearest
    )


@lru_cache(maxsize=8)
def _subtree_counts(
    reference: str, values: tuple[str, ...], counts: tuple[int, ...], *, nearest: bool
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each concept the records that have it or one below it; with several parents a record counts once for each."""
    taxonomy = taxonomy_of(reference)
    matcher = matcher_of(taxonomy)
    placed = [(matcher.concept_of(value, nearest=nearest), count) for value, count in zip(values, counts, strict=True)]
    known = [(concept, count) for concept, count in placed if concept is not None]
    if not known:
        return np.zeros(len(taxonomy), dtype=np.int64)
    above = closure(taxonomy, taxonomy.numbers([concept for concept, _ in known]))
    weights = np.repeat(np.array([count for _, count in known], dtype=np.float64), above.sizes)
    ancestors = above.ancestors[: int(above.offsets[-1])]
    return np.bincount(ancestors, weights=weights, minlength=len(taxonomy)).astype(np.int64)


# ------------------------------------------------------------------------------------------------ methods


def methods(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The methods with their words and parameters: those with a proof first, and last those to compare others with."""
    del given, report
    found = sorted(METHODS.values(), key=lambda method: (not method.words.proved, method.is_baseline))
    return {"methods": {method.name: schema.described(method) for method in found}}
