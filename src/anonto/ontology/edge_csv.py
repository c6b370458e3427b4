"""Edge lists: a CSV with a header and one row per concept and parent.

Columns in any order and case: ``id``, ``parent`` and optionally ``label``, ``synonyms``, ``replaced_by``; others are
ignored. Several parents are in several rows or separated by ``|`` in one cell, unless the whole cell is an id; a root
has an empty parent. A ``replaced_by`` makes its id obsolete. Ids are text, so leading zeros are kept.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.source import numbered_lines
from anonto.taxonomy.build import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonto.ontology.readers import Start
    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

FORMAT = "edge-csv"
DELIMITERS = (",", ";", "\t", "|")
LIST_SEPARATOR = "|"

_NAMES = {
    "id": ("id", "code", "concept", "child"),
    "parent": ("parent", "parent_id", "parents", "broader"),
    "label": ("label", "name", "description", "title"),
    "synonyms": ("synonyms",),
    "replaced_by": ("replaced_by",),
}


def read_edge_csv(source: Source) -> Taxonomy:
    """Read an edge list."""
    lines = _after_comments(source)
    start, header = next(lines)
    found = edge_columns(header)
    if found is None:
        raise MalformedFileError(source.name, FORMAT, "its first line names no columns id and parent", start)
    delimiter, columns = found
    draft = Draft()
    listed: Counter[tuple[str, str]] = Counter()
    width = len(_cells(header, delimiter))
    for line, row in rows(lines, delimiter, source.name, FORMAT):
        if len(row) != width:
            fault = f"it has {len(row):,} cells where the header has {width:,}"
            raise MalformedFileError(source.name, FORMAT, fault, line)
        cells = {name: row[column].strip() for name, column in columns.items()}
        if not cells["id"]:
            raise MalformedFileError(source.name, FORMAT, "the id is empty", line)
        _add(draft, cells, delimiter)
        if delimiter != LIST_SEPARATOR and LIST_SEPARATOR in cells["parent"]:
            listed[cells["id"], cells["parent"]] += 1
        elif cells["parent"]:
            draft.edge(cells["id"], cells["parent"])
    _add_listed_parents(draft, listed)
    return draft.finish(source.provenance(FORMAT))


def edge_columns(header: str) -> tuple[str, Mapping[str, int]] | None:
    """The delimiter of an edge list and the positions of its columns; None for another header."""
    for delimiter in DELIMITERS:
        cells = ["_".join(cell.lower().split()) for cell in _cells(header, delimiter)]
        columns = {
            meaning: cells.index(next(name for name in names if name in cells))
            for meaning, names in _NAMES.items()
            if not set(names).isdisjoint(cells)
        }
        if "id" in columns and "parent" in columns:
            return delimiter, columns
    return None


def rows(
    numbered_lines: Iterator[tuple[int, str]], delimiter: str, name: str, format_name: str
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV that are not blank, each with the number of its first line."""
    current = 1

    def lines() -> Iterator[str]:
        nonlocal current
        for number, line in numbered_lines:
            current = number
            yield line + "\n"

    start = None
    try:
        for row in csv.reader(lines(), delimiter=delimiter, strict=True):
            if any(cell.strip() for cell in row):
                yield current - sum(cell.count("\n") for cell in row), row
            start = current + 1
    except csv.Error as error:
        raise MalformedFileError(name, format_name, str(error), start or current) from None


def _after_comments(source: Source) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, from the first that is neither blank nor a comment."""
    started = False
    for number, line in numbered_lines(source.text):
        started = started or bool(line.strip() and not line.startswith("#"))
        if started:
            yield number, line


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _add(draft: Draft, cells: Mapping[str, str], delimiter: str) -> None:
    concept = cells["id"]
    draft.concept(concept, cells.get("label", ""))
    for synonym in _split_list(cells.get("synonyms", ""), delimiter):
        draft.synonym(concept, synonym)
    if cells.get("replaced_by"):
        draft.obsolete(concept, cells["replaced_by"])


def _add_listed_parents(draft: Draft, listed: Counter[tuple[str, str]]) -> None:
    """Split cells with several parents; which cells are ids themselves is only known after the last row."""
    for (concept, cell), times in listed.items():
        for parent in [cell] if cell in draft else _split_list(cell, ""):
            draft.edge(concept, parent, times)


def _split_list(cell: str, delimiter: str) -> list[str]:
    parts = [cell] if delimiter == LIST_SEPARATOR else cell.split(LIST_SEPARATOR)
    return [part.strip() for part in parts if part.strip()]


def _is_edge_list(start: Start) -> bool:
    return bool(start.lines) and edge_columns(start.lines[0]) is not None


READER = Reader(
    name=FORMAT,
    sentence="a CSV with a header and columns `id`, `parent`, and if wanted `label`, `synonyms`, `replaced_by`",
    relations="the column `parent`",
    ids="the column `id`",
    endings=(".csv", ".csv.gz", ".tsv", ".txt"),
    read=read_edge_csv,
    recognises=_is_edge_list,
    rank=20,
)
