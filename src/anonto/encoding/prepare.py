"""From a column and its description to the values that a method masks; policies decide about the other cells.

A missing or unmatched cell stays in its row unchanged, or its record is dropped, or the run is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import Column, encode
from anonto.encoding.records import count_records
from anonto.encoding.refusals import (
    all_missing,
    ambiguous_dates,
    large_sets,
    lost_digits,
    missing_cells,
    mixed_dates,
    mixed_notation,
    not_dates,
    not_in_order,
    not_numeric,
    unknown_codes,
    unmatched_values,
)
from anonto.encoding.set_space import Layout, elements_of, set_space
from anonto.encoding.value_space import (
    ExtendedSpace,
    MeanSpace,
    NumericSpace,
    TextSpace,
    nominal_space,
)
from anonto.errors import ColumnError
from anonto.io.date_notation import read_dates
from anonto.io.notation import PLAIN, lost_texts, numbers_of, read_numbers
from anonto.ontology.catalogue import open_ontology
from anonto.ontology.matching import matcher_of
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from anonto.arrays import Bools, Floats, Ints
    from anonto.encoding.columns import Rows
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.missing_codes import MissingCodes
    from anonto.encoding.value_space import ValueSpace
    from anonto.io.date_notation import DateNotation
    from anonto.io.notation import Notation

    Opener = Callable[[str | Taxonomy], Taxonomy]

LARGEST_SET = 2_000
"""Elements of a set that can be matched by meaning: the time grows with their cube, two of these take up to 8 s."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedColumn:
    """A column ready for a method."""

    name: str
    description: ColumnDescription
    column: Column
    """The values to be masked; a code of −1 is a cell that is not."""
    value_space: ValueSpace
    n_missing: int
    n_unmatched: int
    """Cells without a concept that stay as they are."""
    notation: Notation = PLAIN
    """How its numbers are written."""
    dates: DateNotation | None = None
    """How its dates are written, if it is a column of dates."""

    def numbers_of(self, texts: Sequence[str]) -> Floats:
        """Other texts of a column of numbers or dates as numbers; NaN for texts that are none."""
        if self.dates is None:
            return numbers_of(texts, self.notation.decimal)
        found = [read_dates([text], self.dates.known_pattern).moments for text in texts]
        moments = np.array([0 if one is None else one[0] for one in found], dtype=np.int64)
        return np.where([one is None for one in found], np.nan, self.dates.numbers(moments))


def opener(folder: Path | None = None) -> Opener:
    """A function that opens each ontology once; relative paths start at ``folder``.

    Pickling it includes the ontologies that it has opened.
    """
    return partial(_open_once, folder, {})


def _open_once(folder: Path | None, opened: dict[str, Taxonomy], ontology: str | Taxonomy) -> Taxonomy:
    if isinstance(ontology, Taxonomy):
        return ontology
    if ontology not in opened:
        in_folder = folder / ontology if folder is not None else None
        opened[ontology] = open_ontology(in_folder if in_folder is not None and in_folder.exists() else ontology)
    return opened[ontology]


def encode_described(name: str, values: Any, description: ColumnDescription) -> Column:
    """Encode a column and apply the description's policy for missing cells."""
    return apply_missing_policy(name, encode(values), description)


def apply_missing_policy(name: str, column: Column, description: ColumnDescription) -> Column:
    """Make the texts of ``na`` missing, and refuse missing cells if the description does.

    A set without elements is a value where the policy keeps missing cells; for the other policies it is missing.
    """
    if description.na:
        means_missing = np.array([*(value in description.na for value in column.values), False])
        column = column.without(means_missing)
    if description.kind == "set" and description.missing != "keep":
        column = column.without(np.array([*(not elements_of(text) for text in column.values), False]))
    if description.missing == "refuse" and column.n_missing:
        raise missing_cells(name, column.n_missing)
    return column


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dropping:
    """The rows that policies drop."""

    by_column: Mapping[str, Bools]
    """A flag for each code and one more for missing cells, by column that drops rows."""

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        description_of: Callable[[str], ColumnDescription],
        open_once: Opener,
    ) -> Dropping | None:
        """The rows that the policies of columns drop, with the texts of ``na`` as missing; None where all stay."""
        drops = {name: values_to_drop(column, description_of(name), open_once) for name, column in columns.items()}
        by_column = {name: values for name, values in drops.items() if values is not None}
        return cls(by_column) if by_column else None

    def stays(self, codes: Mapping[Any, Ints]) -> Bools:
        """Mask of the rows that stay, by the codes of these columns."""
        leaves = [flags[codes[name]] for name, flags in self.by_column.items()]
        return np.asarray(~np.logical_or.reduce(leaves))


def values_to_drop(column: Column, description: ColumnDescription, open_once: Opener) -> Bools | None:
    """A flag for each distinct value, and one for missing cells: is its row dropped? None if no row is."""
    dropped = np.zeros(len(column.values) + 1, dtype=np.bool_)
    dropped[-1] = description.missing == "drop"
    if description.drops_unmatched:
        dropped[:-1] = _without_concept(column, description, open_once)
    occurs = np.append(column.counts, column.n_missing) > 0
    return dropped if (dropped & occurs).any() else None


def rows_that_stay(
    columns: Mapping[str, Column], description_of: Callable[[str], ColumnDescription], open_once: Opener
) -> Bools | None:
    """Mask of the rows that no policy drops; None for all."""
    dropping = Dropping.of(columns, description_of, open_once)
    return None if dropping is None else dropping.stays({name: column.codes for name, column in columns.items()})


def prepare(
    name: str,
    column: Column,
    description: ColumnDescription,
    open_once: Opener,
    rows: Rows = None,
) -> PreparedColumn:
    """Place the values of an encoded column in the value space of its kind; messages use ``name`` and ``rows``."""
    n_missing = column.n_missing
    if not len(column):
        return PreparedColumn(name, description, column, TextSpace(column.counts), 0, 0)
    if not column.values:
        raise all_missing(len(column), name)
    if description.kind in {"numeric", "date", "ordinal"}:
        return _prepare_numbers(name, column, description, rows)
    if description.kind == "set":
        return _prepare_sets(name, column, description, open_once)
    if not description.ontologies:
        return PreparedColumn(name, description, column, TextSpace(column.counts), n_missing, 0)
    placed = _place_values(column, description, open_once)
    without = [n for n, concepts in enumerate(placed) if concepts is None]
    counts = column.counts
    n_unmatched = int(counts[without].sum())
    if without and description.unmatched != "keep":
        taxonomy = open_once(description.ontologies[0]).name
        raise unmatched_values([column.values[n] for n in without], n_unmatched, taxonomy, name)
    if without:
        column = column.without(np.array([*(concepts is None for concepts in placed), False]))
        if not column.values:
            raise unknown_codes(n_unmatched, open_once(description.ontologies[0]).name, name)
    concepts_of = [concepts for concepts in placed if concepts is not None]
    value_space = _nominal(name, column, concepts_of, description, open_once)
    return PreparedColumn(name, description, column, value_space, n_missing, n_unmatched)


def _prepare_numbers(name: str, column: Column, description: ColumnDescription, rows: Rows) -> PreparedColumn:
    """A column of numbers, dates or ranks."""
    n_missing = column.n_missing
    if description.kind == "numeric":
        numbers, notation = _numeric(name, column, description, rows)
        return PreparedColumn(name, description, column, numbers, n_missing, 0, notation)
    if description.kind == "date":
        dates, written = _dates(name, column, description, rows)
        return PreparedColumn(name, description, column, dates, n_missing, 0, dates=written)
    return PreparedColumn(name, description, column, _ordinal(name, column, description, rows), n_missing, 0)


def with_missing_as_value(
    prepared: PreparedColumn, encoded: Column, of_missing: Sequence[int]
) -> tuple[ExtendedSpace, tuple[str, ...]]:
    """The value space of a column whose missing cells are moved like values, and its values without the missing codes.

    Its own values are followed by those without a concept, at distance 1 to every other value, and by the codes of
    missing cells, at distance 0 to each other.

    Args:
        prepared: The column without these values.
        encoded: The same column with the values that have no concept.
        of_missing: How many missing cells have each code; empty if no cell is missing.
    """
    known = set(prepared.column.values)
    counts = {value: n for value, n in zip(encoded.values, encoded.counts.tolist(), strict=True) if value not in known}
    of_codes = of_missing or [0]
    of_further = np.array([*counts.values(), *of_codes], dtype=np.int64)
    return ExtendedSpace(prepared.value_space, of_further, len(of_codes)), (*prepared.column.values, *counts)


def codes_with_missing(
    prepared: PreparedColumn, encoded: Column, missing: MissingCodes | None = None
) -> tuple[ValueSpace, Ints]:
    """The value space of `with_missing_as_value`, and the cells of the column in its codes.

    Without ``missing``, all missing cells have the same code.
    """
    of_missing = (
        [encoded.n_missing]
        if missing is None
        else count_records(missing.of_records + np.int32(1), len(missing.codes) + 1, encoded.amounts)[1:].tolist()
    )
    value_space, values = with_missing_as_value(prepared, encoded, of_missing)
    place_of = {value: place for place, value in enumerate(values)}
    codes = np.array([*(place_of[value] for value in encoded.values), len(values)], dtype=np.int32)[encoded.codes]
    return value_space, codes if missing is None else codes + np.maximum(missing.of_records, 0)


def _place_values(column: Column, description: ColumnDescription, open_once: Opener) -> list[tuple[str, ...] | None]:
    """The concept of each distinct value in every ontology; None if one of them does not have it."""
    matchers = [matcher_of(open_once(ontology)) for ontology in description.ontologies]
    nearest = description.unmatched == "nearest-ancestor"
    placed: list[tuple[str, ...] | None] = []
    for value in column.values:
        concepts = [matcher.concept_of(value, nearest=nearest) for matcher in matchers]
        known = tuple(concept for concept in concepts if concept is not None)
        placed.append(known if len(known) == len(matchers) else None)
    return placed


def _without_concept(column: Column, description: ColumnDescription, open_once: Opener) -> list[bool]:
    """Return whether each distinct value, or for a set one of its elements, has no concept."""
    if description.kind != "set":
        return [concepts is None for concepts in _place_values(column, description, open_once)]
    elements = distinct_elements(column)
    unknown = {
        element
        for element, concepts in zip(elements.values, _place_values(elements, description, open_once), strict=True)
        if concepts is None
    }
    return [not unknown.isdisjoint(elements_of(text)) for text in column.values]


def distinct_elements(column: Column) -> Column:
    """The distinct elements of a column of sets, each counted once for every cell that has it."""
    counts: dict[str, int] = {}
    for text, count in zip(column.values, column.counts.tolist(), strict=True):
        for element in set(elements_of(text)):
            counts[element] = counts.get(element, 0) + count
    values = tuple(sorted(counts))
    amounts = np.array([counts[value] for value in values], dtype=np.int64)
    return Column(values, np.arange(len(values), dtype=np.int32), amounts=amounts)


def _prepare_sets(name: str, column: Column, description: ColumnDescription, open_once: Opener) -> PreparedColumn:
    """A column of sets; its elements are placed like the values of a nominal column."""
    n_missing, n_unmatched = column.n_missing, 0
    if description.unmatched == "keep" and description.ontologies:
        without = np.array([*_without_concept(column, description, open_once), False])
        n_unmatched = int(column.counts[without[:-1]].sum())
        column = column.without(without)
        if not column.values:
            raise unknown_codes(n_unmatched, open_once(description.ontologies[0]).name, name)
    elements = distinct_elements(column)
    # Elements that are left have a concept, or are refused here like values that have none.
    placed = prepare(name, elements, replace(description, kind="nominal"), open_once) if elements.values else None
    code_of = {element: code for code, element in enumerate(elements.values)}
    sets = [[code_of[element] for element in elements_of(text)] for text in column.values]
    if description.ontologies and description.set_distance == "matching":
        large = [count for one, count in zip(sets, column.counts.tolist(), strict=True) if len(set(one)) > LARGEST_SET]
        if large:
            raise large_sets(name, sum(large), LARGEST_SET)
    space = TextSpace(elements.counts) if placed is None else placed.value_space
    written = {"cells": column.values, "texts": elements.values, "layout": description.layout or Layout()}
    value_space = set_space(column.counts, sets, space, description.set_distance, **written)
    return PreparedColumn(name, description, column, value_space, n_missing, n_unmatched)


def _nominal(
    name: str,
    column: Column,
    concepts: list[tuple[str, ...]],
    description: ColumnDescription,
    open_once: Opener,
) -> ValueSpace:
    parts = tuple(
        nominal_space(
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
    return parts[0] if len(parts) == 1 else MeanSpace(parts)


def _ordinal(name: str, column: Column, description: ColumnDescription, rows: Rows) -> NumericSpace:
    rank = {text: float(place) for place, text in enumerate(description.order)}
    unknown = [value for value in column.values if value not in rank]
    if unknown:
        raise not_in_order(unknown, name, *_where(column, unknown, rows))
    ranks = np.array([rank[value] for value in column.values])
    return NumericSpace(ranks, column.counts, order=description.order)


def _numeric(name: str, column: Column, description: ColumnDescription, rows: Rows) -> tuple[NumericSpace, Notation]:
    read = read_numbers(column.values, description.decimal)
    wrong = [value for value, finite in zip(column.values, np.isfinite(read.numbers), strict=True) if not finite]
    if wrong and len(wrong) == read.n_other:
        raise mixed_notation(wrong, read.notation.decimal, name, *_where(column, wrong, rows))
    if wrong:
        raise not_numeric(wrong, name, *_where(column, wrong, rows))
    lost = lost_texts(column.values, read)
    if lost:
        raise lost_digits(lost, name, *_where(column, lost, rows))
    return NumericSpace(read.numbers, column.counts), read.notation


def _dates(name: str, column: Column, description: ColumnDescription, rows: Rows) -> tuple[NumericSpace, DateNotation]:
    read = read_dates(column.values, description.notation)
    if read.ambiguous:
        raise ambiguous_dates(name, read.ambiguous)
    if read.mixed:
        raise mixed_dates(read.mixed, name, *_where(column, read.mixed, rows))
    if read.moments is None:
        raise not_dates(read.wrong, name, *_where(column, read.wrong, rows))
    return NumericSpace(read.notation.numbers(read.moments), column.counts), read.notation


def _where(column: Column, values: Collection[str], rows: Rows) -> tuple[int, int | None]:
    """How many cells have one of some values, and the first row that does, from 1."""
    chosen = set(values)
    is_chosen = np.array([*(value in chosen for value in column.values), False])
    first = column.first_row(is_chosen, rows)
    return int(column.counts[is_chosen[:-1]].sum()), None if first is None else first + 1


# ------------------------------------------------------------------------------------------------ misfits


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit its column, how many cells have it, and the first row that does, from 1."""

    value: str
    cells: int
    row: int


def find_misfits(
    name: str, values: Any, description: ColumnDescription, open_once: Opener
) -> tuple[Column, tuple[Misfit, ...]]:
    """An encoded column, and its values that do not fit its description, most frequent first.

    These are texts that are not usable numbers, values that the order does not list, and values without a concept.
    """
    unmatched = "nearest-ancestor" if description.unmatched == "nearest-ancestor" else "refuse"
    strict = replace(description, missing="keep", unmatched=unmatched)
    column = encode_described(name, values, strict)
    try:
        prepare(name, column, strict, open_once)
    except ColumnError as error:
        if not error.values:
            raise
        code_of = {value: code for code, value in enumerate(column.values)}
        counts, first = column.counts, column.first_positions()
        codes = [code_of[str(value)] for value in error.values]
        found = [Misfit(column.values[code], int(counts[code]), int(first[code]) + 1) for code in codes]
        return column, tuple(sorted(found, key=lambda one: (-one.cells, one.row)))
    return column, ()
