"""From a column and its description to the values that take part: missing and unmatched cells by their policies.

A cell that does not take part stays in its row as it is, or its record is dropped, or the run is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import (
    AllMissingError,
    LostDigitsError,
    MissingCellsError,
    MixedNotationError,
    NotInOrderError,
    NotNumericError,
    UnknownCodesError,
    UnmatchedValuesError,
)
from anonto.ontology.catalogue import open_ontology
from anonto.ontology.matching import matcher_of
from anonto.table.attributes import ExtendedAttribute, MeanAttribute, NumericAttribute, TextAttribute, nominal_attribute
from anonto.table.columns import Column, encode
from anonto.table.notation import PLAIN, lost_texts, read_numbers
from anonto.table.records import counted
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.columns import Rows
    from anonto.table.description import ColumnDescription
    from anonto.table.missing_codes import MissingCodes
    from anonto.table.notation import Notation

    Flags = NDArray[np.bool_]
    Opener = Callable[[str | Taxonomy], Taxonomy]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedColumn:
    """A column ready for a method."""

    name: str
    description: ColumnDescription
    column: Column
    """The values that take part; a code of −1 is a cell that does not."""
    attribute: Attribute
    n_missing: int
    n_unmatched: int
    """Cells without a concept that stay as they are."""
    notation: Notation = PLAIN
    """How its numbers are written, if it has any."""


def opener(folder: Path | None = None) -> Opener:
    """A function that opens ontologies, each once; relative paths start at the folder if there is one.

    What is pickled of it has all that it opened with it.
    """
    return partial(_open_once, folder, {})


def _open_once(folder: Path | None, opened: dict[str, Taxonomy], ontology: str | Taxonomy) -> Taxonomy:
    if isinstance(ontology, Taxonomy):
        return ontology
    if ontology not in opened:
        beside = folder / ontology if folder is not None else None
        opened[ontology] = open_ontology(beside if beside is not None and beside.exists() else ontology)
    return opened[ontology]


def encode_described(name: str, values: Any, description: ColumnDescription) -> Column:
    """Encode a column, with the texts that mean missing as missing; refuse missing cells where they are refused."""
    return described(name, encode(values), description)


def described(name: str, column: Column, description: ColumnDescription) -> Column:
    """The same for a column that is encoded already."""
    if description.na:
        means_missing = np.array([*(value in description.na for value in column.values), False])
        column = column.without(means_missing)
    if description.missing == "refuse" and column.n_missing:
        raise MissingCellsError(name, column.n_missing)
    return column


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dropping:
    """Which rows policies drop."""

    by_column: Mapping[str, Flags]
    """For each column that drops rows, by code, and behind them for a cell without one."""

    def stays(self, codes: Mapping[Any, NDArray[np.int32]]) -> Flags:
        """Which rows stay, by the codes of these columns."""
        leaves = [flags[codes[name]] for name, flags in self.by_column.items()]
        return np.asarray(~np.logical_or.reduce(leaves))


def values_to_drop(column: Column, description: ColumnDescription, open_once: Opener) -> Flags | None:
    """Which distinct values, and behind them whether missing cells, have their rows dropped; None where no row is."""
    dropped = np.zeros(len(column.values) + 1, dtype=np.bool_)
    dropped[-1] = description.missing == "drop"
    if description.unmatched == "drop" and description.kind == "nominal" and description.ontologies:
        dropped[:-1] = [concepts is None for concepts in _placed(column, description, open_once)]
    occurs = np.append(column.counts, column.n_missing) > 0
    return dropped if (dropped & occurs).any() else None


def rows_that_stay(
    columns: Mapping[str, Column], description_of: Callable[[str], ColumnDescription], open_once: Opener
) -> Flags | None:
    """Which rows no policy drops; None for all.

    Args:
        columns: Every column whose policy may drop rows, with the texts that mean missing as missing.
        description_of: What the plan says of a column.
        open_once: Opens ontologies.
    """
    drops = {name: values_to_drop(column, description_of(name), open_once) for name, column in columns.items()}
    by_column = {name: values for name, values in drops.items() if values is not None}
    return Dropping(by_column).stays({name: columns[name].codes for name in by_column}) if by_column else None


def prepare(
    name: str,
    column: Column,
    description: ColumnDescription,
    open_once: Opener,
    rows: Rows = None,
) -> PreparedColumn:
    """Place the values of an encoded column in its kind's space.

    Args:
        name: Of the column, for messages.
        column: Its values, and cell by cell their codes.
        description: What the plan says of it.
        open_once: Opens ontologies.
        rows: The place of each cell in the table that a person has, from 0; None where it is not known.
    """
    n_missing = column.n_missing
    if not len(column):
        return PreparedColumn(name, description, column, TextAttribute(column.counts), 0, 0)
    if not column.values:
        raise AllMissingError(len(column), name)
    if description.kind == "numeric":
        numbers, notation = _numeric(name, column, description, rows)
        return PreparedColumn(name, description, column, numbers, n_missing, 0, notation)
    if description.kind == "ordinal":
        return PreparedColumn(name, description, column, _ordinal(name, column, description, rows), n_missing, 0)
    if not description.ontologies:
        return PreparedColumn(name, description, column, TextAttribute(column.counts), n_missing, 0)
    placed = _placed(column, description, open_once)
    without = [n for n, concepts in enumerate(placed) if concepts is None]
    counts = column.counts
    n_unmatched = int(counts[without].sum())
    if without and description.unmatched != "keep":
        taxonomy = open_once(description.ontologies[0]).name
        raise UnmatchedValuesError([column.values[n] for n in without], n_unmatched, taxonomy, name)
    if without:
        column = column.without(np.array([*(concepts is None for concepts in placed), False]))
        if not column.values:
            raise UnknownCodesError(n_unmatched, open_once(description.ontologies[0]).name, name)
    concepts_of = [concepts for concepts in placed if concepts is not None]
    attribute = _nominal(name, column, concepts_of, description, open_once)
    return PreparedColumn(name, description, column, attribute, n_missing, n_unmatched)


def with_missing_as_value(
    prepared: PreparedColumn, encoded: Column, of_missing: Sequence[int]
) -> tuple[ExtendedAttribute, tuple[str, ...]]:
    """An attribute of a column whose missing cells are moved like values; and its values, codes of missing cells apart.

    Behind its own values come those without a concept, each at distance 1 to every other, and last the codes of missing
    cells, at distance 0 to each other.

    Args:
        prepared: The column without them.
        encoded: The same column with the values that have no concept.
        of_missing: How many missing cells have each code; nothing where no cell is missing.
    """
    known = set(prepared.column.values)
    counts = {value: n for value, n in zip(encoded.values, encoded.counts.tolist(), strict=True) if value not in known}
    of_codes = of_missing or [0]
    of_further = np.array([*counts.values(), *of_codes], dtype=np.int64)
    return ExtendedAttribute(prepared.attribute, of_further, len(of_codes)), (*prepared.column.values, *counts)


def codes_with_missing(
    prepared: PreparedColumn, encoded: Column, missing: MissingCodes | None = None
) -> tuple[Attribute, NDArray[np.int32]]:
    """The attribute of `with_missing_as_value`, and in its codes the cells of a column.

    Args:
        prepared: As there.
        encoded: As there.
        missing: Which missing cells have which code; None where all have the same.
    """
    of_missing = (
        [encoded.n_missing]
        if missing is None
        else counted(missing.of_records + np.int32(1), len(missing.codes) + 1, encoded.amounts)[1:].tolist()
    )
    attribute, values = with_missing_as_value(prepared, encoded, of_missing)
    place_of = {value: place for place, value in enumerate(values)}
    codes = np.array([*(place_of[value] for value in encoded.values), len(values)], dtype=np.int32)[encoded.codes]
    return attribute, codes if missing is None else codes + np.maximum(missing.of_records, 0)


def _placed(column: Column, description: ColumnDescription, open_once: Opener) -> list[tuple[str, ...] | None]:
    """For each distinct value its concept in every ontology; None when one of them does not know it."""
    matchers = [matcher_of(open_once(ontology)) for ontology in description.ontologies]
    nearest = description.unmatched == "nearest-ancestor"
    placed: list[tuple[str, ...] | None] = []
    for value in column.values:
        concepts = [matcher.concept_of(value, nearest=nearest) for matcher in matchers]
        known = tuple(concept for concept in concepts if concept is not None)
        placed.append(known if len(known) == len(matchers) else None)
    return placed


def _nominal(
    name: str,
    column: Column,
    concepts: list[tuple[str, ...]],
    description: ColumnDescription,
    open_once: Opener,
) -> Attribute:
    parts = tuple(
        nominal_attribute(
            column,
            open_once(ontology),
            measure=description.measure,
            root=description.root,
            information_content=description.information_content,
            name=name,
            concepts=[each[place] for each in concepts],
            spelling=description.spelling,
        )
        for place, ontology in enumerate(description.ontologies)
    )
    return parts[0] if len(parts) == 1 else MeanAttribute(parts)


def _ordinal(name: str, column: Column, description: ColumnDescription, rows: Rows) -> NumericAttribute:
    rank = {text: float(place) for place, text in enumerate(description.order)}
    unknown = [value for value in column.values if value not in rank]
    if unknown:
        raise NotInOrderError(unknown, name, *_where(column, unknown, rows))
    return NumericAttribute(np.array([rank[value] for value in column.values]), column.counts)


def _numeric(
    name: str, column: Column, description: ColumnDescription, rows: Rows
) -> tuple[NumericAttribute, Notation]:
    read = read_numbers(column.values, description.decimal)
    wrong = [value for value, finite in zip(column.values, np.isfinite(read.numbers), strict=True) if not finite]
    if wrong and len(wrong) == read.n_other:
        raise MixedNotationError(wrong, read.notation.decimal, name, *_where(column, wrong, rows))
    if wrong:
        raise NotNumericError(wrong, name, *_where(column, wrong, rows))
    lost = lost_texts(column.values, read)
    if lost:
        raise LostDigitsError(lost, name, *_where(column, lost, rows))
    return NumericAttribute(read.numbers, column.counts), read.notation


def _where(column: Column, values: Collection[str], rows: Rows) -> tuple[int, int | None]:
    """How many cells have one of some values, and the first row of the table that does, from 1."""
    chosen = set(values)
    is_chosen = np.array([*(value in chosen for value in column.values), False])
    first = column.first_row(is_chosen, rows)
    return int(column.counts[is_chosen[:-1]].sum()), None if first is None else first + 1
