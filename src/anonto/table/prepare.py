"""From a column and its description to the values that take part: missing and unmatched cells by their policies.

A cell that does not take part stays in its row as it is, or its record is dropped, or the run is refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import (
    AllMissingError,
    MissingCellsError,
    NotInOrderError,
    NotNumericError,
    UnknownCodesError,
    UnmatchedValuesError,
)
from anonto.ontology.catalogue import open_ontology
from anonto.ontology.matching import matcher_of
from anonto.table.attributes import ExtendedAttribute, MeanAttribute, NumericAttribute, TextAttribute, nominal_attribute
from anonto.table.columns import Column, encode
from anonto.table.records import counted
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.description import ColumnDescription

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


def opener(folder: Path | None = None) -> Opener:
    """A function that opens ontologies, each once; relative paths start at the folder if there is one."""
    opened: dict[str, Taxonomy] = {}

    def open_once(ontology: str | Taxonomy) -> Taxonomy:
        if isinstance(ontology, Taxonomy):
            return ontology
        if ontology not in opened:
            beside = folder / ontology if folder is not None else None
            opened[ontology] = open_ontology(beside if beside is not None and beside.exists() else ontology)
        return opened[ontology]

    return open_once


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


def records_to_drop(column: Column, description: ColumnDescription, open_once: Opener) -> NDArray[np.bool_] | None:
    """Which records a column's policies drop; None for none."""
    values = values_to_drop(column, description, open_once)
    if not values.any():
        return None
    dropped = values[column.codes]
    return dropped if dropped.any() else None


def values_to_drop(column: Column, description: ColumnDescription, open_once: Opener) -> NDArray[np.bool_]:
    """Which distinct values, and behind them whether missing cells, have their records dropped by policies."""
    dropped = np.zeros(len(column.values) + 1, dtype=np.bool_)
    dropped[-1] = description.missing == "drop"
    if description.unmatched == "drop" and description.kind == "nominal" and description.ontologies:
        dropped[:-1] = [concepts is None for concepts in _placed(column, description, open_once)]
    return dropped


def prepare(name: str, column: Column, description: ColumnDescription, open_once: Opener) -> PreparedColumn:
    """Place the values of an encoded column in its kind's space."""
    n_missing = column.n_missing
    if not len(column):
        return PreparedColumn(name, description, column, TextAttribute(column.counts), 0, 0)
    if not column.values:
        raise AllMissingError(len(column), name)
    if description.kind == "numeric":
        return PreparedColumn(name, description, column, _numeric(name, column), n_missing, 0)
    if description.kind == "ordinal":
        return PreparedColumn(name, description, column, _ordinal(name, column, description), n_missing, 0)
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


def with_missing_as_value(prepared: PreparedColumn, encoded: Column) -> tuple[Attribute, NDArray[np.int32]]:
    """A column whose missing cells are moved like values.

    Behind its own values come those without a concept, and last the missing cell, each at distance 1 to every other.

    Args:
        prepared: The column without them.
        encoded: The same column with the values that have no concept.
    """
    known = len(prepared.column.values)
    codes, place_of = prepared.column.codes, {value: code for code, value in enumerate(prepared.column.values)}
    further = [code for code, value in enumerate(encoded.values) if value not in place_of]
    new_code = np.full(len(encoded.values) + 1, known + len(further), dtype=np.int32)
    new_code[further] = known + np.arange(len(further), dtype=np.int32)
    extended = np.where(codes >= 0, codes, new_code[encoded.codes])
    counts = counted(extended, known + len(further) + 1, encoded.amounts)[known:]
    return ExtendedAttribute(prepared.attribute, counts), extended


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
        )
        for place, ontology in enumerate(description.ontologies)
    )
    return parts[0] if len(parts) == 1 else MeanAttribute(parts)


def _ordinal(name: str, column: Column, description: ColumnDescription) -> NumericAttribute:
    rank = {text: float(place) for place, text in enumerate(description.order)}
    unknown = [value for value in column.values if value not in rank]
    if unknown:
        raise NotInOrderError(unknown, name)
    return NumericAttribute(np.array([rank[value] for value in column.values]), column.counts)


def _numeric(name: str, column: Column) -> NumericAttribute:
    numbers = numbers_of(column.values)
    wrong = [value for value, finite in zip(column.values, np.isfinite(numbers), strict=True) if not finite]
    if wrong:
        raise NotNumericError(wrong, name)
    return NumericAttribute(numbers, column.counts)


MANY_TEXTS = 1 << 14
"""From so many on, plain numbers are read all at once."""
_PLAIN = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d*")


def numbers_of(texts: tuple[str, ...]) -> NDArray[np.float64]:
    """Texts as numbers, NaN for what is none.

    A comma is a decimal comma if some text of the column can only be read so; else it separates thousands.
    """
    commas = [text.strip() for text in texts if "," in text]
    decimal_comma = any(_DECIMAL_COMMA.fullmatch(text) and not _THOUSANDS.fullmatch(text) for text in commas)
    if len(texts) < MANY_TEXTS:
        return np.array([_number(text.strip(), decimal_comma=decimal_comma) for text in texts], dtype=np.float64)
    import polars as pl

    series = pl.Series(texts, dtype=pl.String)
    is_plain = series.str.contains(_PLAIN)
    numbers = series.set(~is_plain, None).cast(pl.Float64).fill_null(math.nan).to_numpy(writable=True)
    for place in (~is_plain).arg_true().to_list():
        numbers[place] = _number(texts[place].strip(), decimal_comma=decimal_comma)
    return numbers


def _number(text: str, *, decimal_comma: bool) -> float:
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if "_" in text:
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return float("nan")
