"""Tasks that inspect a table and ontologies: previews, proposals, matching, trees."""

from __future__ import annotations

import csv
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.description import KINDS_OF_CONCEPTS, ColumnDescription
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.match import match
from anonto.encoding.series import as_text_series
from anonto.errors import InputError
from anonto.masking.plan import Plan
from anonto.masking.sequences import order_of_rows
from anonto.masking.units import Units
from anonto.methods import schema
from anonto.methods.registry import METHODS
from anonto.ontology.card import health_card
from anonto.ontology.catalogue import LISTED
from anonto.ontology.matching import matcher_of
from anonto.profile.column_profile import open_table
from anonto.profile.persons import notice_persons
from anonto.profile.propose import propose
from anonto.taxonomy.closure import closure
from anonto.web.inputs import table_of, taxonomy_of, texts_of

if TYPE_CHECKING:
    import polars as pl

    from anonto.taxonomy.taxonomy import Taxonomy
    from anonto.web.inputs import Report

ROWS_SHOWN = 8
LONGEST_CELL = 60
DEMO_RECORDS = 1_000
UNMATCHED_SHOWN = 60
CHILDREN_SHOWN = 150
VALUES_SHOWN = 200
FOUND_SHOWN = 25


# ------------------------------------------------------------------------------------------------ the table


def open_file(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Summary of a table: its columns with type, missing and distinct cells, and its first rows."""
    table = table_of(given)
    frame = table.frame
    columns = [_column(table.column(name)) for name in frame.columns]
    head = [as_text_series(table.column(name).head(ROWS_SHOWN)).to_list() for name in frame.columns]
    rows = [[None if cell is None else _shorten(str(cell)) for cell in row] for row in zip(*head, strict=True)]
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
    return {"name": cells.name, "type": _type(cells), "missing": missing, "distinct": cells.n_unique() - bool(missing)}


def _type(cells: pl.Series) -> str:
    kind = cells.dtype
    if kind.is_integer():
        return "whole numbers"
    if kind.is_numeric():
        return "numbers"
    if kind.is_temporal():
        return "dates or times"
    return "text"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def make_demo(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Create a synthetic table of discharges, with the hierarchy of its procedures beside it."""
    from anonto.demo.generate import discharges, procedure_taxonomy
    from anonto.io.table import Origin, Table
    from anonto.io.writing import write_table

    folder = Path(given["folder"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = discharges(DEMO_RECORDS, 1, taxonomy=taxonomy_of("icd10cm"))
    path = folder / "discharges.csv"
    write_table(Table(made, Origin(name=path.name, format="csv")), path, force=True)
    with (folder / "procedures.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("id", "parent", "label"), *procedure_taxonomy()])
    return {"path": str(path)}


def propose_plan(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The plan that `anonto init` would write, with its reasons."""
    table = table_of(given)
    looked_at = {key: given.get(key, ()) for key in ("ontologies", "folders", "leave_out")}
    proposal = propose(table, **looked_at)
    plan = proposal.plan.to_dict()
    return {"plan": plan, "reasons": {name: list(said) for name, said in proposal.reasons.items()}}


def values(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The sorted distinct values of a column, numbers by size; only the first if there are many."""
    found = table_of(given).column(given["column"]).drop_nulls().unique().sort()
    return {"values": [str(one) for one in as_text_series(found).head(VALUES_SHOWN).to_list()], "distinct": len(found)}


def check(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Check a plan; a contradictory one is refused."""
    Plan.from_dict(given["plan"])
    return {}


# ------------------------------------------------------------------------------------------------ persons


def persons(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """How many persons have how many rows, the columns that differ within a person, and rows without a place.

    Without a person column, the one that seems to number persons. An order is looked at before there is a set.
    """
    about = dict(given["plan"].get("table", {}))
    order = about.pop("order", None)
    plan, table = Plan.from_dict({**given["plan"], "table": about, "steps": []}), table_of(given)
    if plan.person is None:
        noticed = notice_persons(open_table(table), plan.identifiers(table.frame.columns))
        return {"likely": [] if noticed is None else [noticed.name]}
    units = Units(FrameAdapter(table.frame), plan)
    sizes = np.bincount(units.person_of_rows)
    return {
        "persons": sizes.size,
        "rows": units.n_rows,
        "most": int(sizes.max(initial=0)),
        "varying": units.varying,
        "unordered": 0 if order is None else order_of_rows(table.frame[order], plan.description(order).na)[1],
    }


# ------------------------------------------------------------------------------------------------ ontologies


def list_ontologies(_given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The listed ontologies that are available on this machine."""
    return {"listed": [{"name": one.name, "title": one.title} for one in LISTED.values() if one.available]}


def ontology_card(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Summary of an ontology; refused if it cannot be read."""
    card = health_card(taxonomy_of(given["ontology"]))
    return {key: card[key] for key in ("source", "format", "concepts", "leaves", "depth", "n_roots", "synonyms")}


def coverage(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Coverage of each column that has an ontology, or the reason why it cannot be computed."""
    found: dict[str, float] = {}
    unread: dict[str, str] = {}
    for name, described in given["plan"]["columns"].items():
        is_used = described["kind"] in KINDS_OF_CONCEPTS and described["role"] != "identifier"
        if not is_used or not described.get("ontology"):
            continue
        try:
            one = ColumnDescription.from_mapping(name, described)
            texts = texts_of(given, name, one)
            known = [
                float(match(texts, taxonomy_of(each)).coverage) for each in one.ontologies if isinstance(each, str)
            ]
        except InputError as error:
            unread[name] = error.on_the_command_line
        else:
            found[name] = min(known, default=1.0)
    return {"coverage": found, "unread": unread}


def match_column(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Match of a column with an ontology: coverage, rules, and unmatched values with suggestions."""
    description = ColumnDescription.from_mapping(given["column"], given["description"])
    found = match(texts_of(given, given["column"], description), taxonomy_of(given["ontology"]))
    most_frequent = list(found.unmatched.items())[:UNMATCHED_SHOWN]
    return {
        **found.summary(),
        "values": [
            {"value": value, "cells": cells, "suggestions": [asdict(one) for one in found.matcher.suggest(value)]}
            for value, cells in most_frequent
        ],
    }


def find_concept(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The concept named by a typed code or label; if there is none, suggestions."""
    matcher = matcher_of(taxonomy_of(given["ontology"]))
    placed = matcher.place(given["text"])
    likely = () if placed else matcher.suggest(given["text"])
    return {
        "ontology": matcher.taxonomy.name,
        "concept": placed.concept if placed else None,
        "suggestions": [{"concept": one.concept, "label": one.label} for one in likely],
    }


def tree(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The concepts one step below a concept, or the roots, with the records of a column at or below each."""
    taxonomy, counts = _taxonomy_and_counts(given)
    concept = given.get("concept")
    below = taxonomy.children(concept) if concept else taxonomy.roots
    shown = sorted(below, key=lambda one: (-counts[taxonomy.number(one)], one))
    nodes = [_node(taxonomy, counts, one) for one in shown[:CHILDREN_SHOWN]]
    return {"nodes": nodes, "further": max(len(shown) - CHILDREN_SHOWN, 0)}


def search(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Concepts whose code or label contains a text; those that occur in the column first."""
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
    texts = texts_of(given, given["column"], description)
    values, counts = np.unique(np.array(texts.drop_nulls().to_list(), dtype=object).astype(str), return_counts=True)
    nearest = description.unmatched == "nearest-ancestor"
    return taxonomy_of(given["ontology"]), _subtree_counts(
        given["ontology"], tuple(values.tolist()), tuple(counts.tolist()), nearest=nearest
    )


@lru_cache(maxsize=8)
def _subtree_counts(
    reference: str, values: tuple[str, ...], counts: tuple[int, ...], *, nearest: bool
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Records with each concept or a descendant of it; with several parents a record counts under each of them."""
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


def methods(_given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The methods with descriptions and parameters: those with a proof first, naive methods last."""
    found = sorted(METHODS.values(), key=lambda method: (not method.words.proved, method.is_naive))
    return {"methods": {method.name: schema.describe_method(method) for method in found}}
