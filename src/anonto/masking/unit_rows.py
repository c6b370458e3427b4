"""From masked records to rows again: a set's text becomes cells, and a person's record as many rows as it says.

Nothing here needs the table: some facts about its sets are enough, and those of its parts add up. So records are made
into rows where they are, in memory, in batches from a file, or on Spark's workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.encoding.series import as_text_series
from anonto.encoding.set_space import ELEMENT, ROW, Layout
from anonto.errors import ColumnError
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.masking.sequences import number_rows_of_records
from anonto.wording import clip, count_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from anonto.arrays import Ints, Longs
    from anonto.encoding.description import ColumnDescription
    from anonto.masking.plan import Plan


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Facts about the cells of sets that decide how masked sets leave; those of parts of a table add up."""

    types: Mapping[str, pl.DataType]
    """For each set the type of its columns in a release: that of the table, if all elements can be of it."""
    missing: Mapping[str, frozenset[str]]
    """For each set the texts of its missing cells, among those of the plan; empty for null."""
    with_nulls: frozenset[str]
    """The columns of lists that have null cells."""

    @classmethod
    def of(
        cls, sets: Mapping[str, ColumnDescription], cells: Mapping[str, pl.Series], as_text: Collection[str]
    ) -> SetFacts:
        """The facts about some sets, from the cells of the columns that they are made from; some become text."""
        columns = {name: [cells[source] for source in sources_of(name, one)] for name, one in sets.items()}
        for name, one in sets.items():
            n_lists = sum(has_lists(cell.dtype) for cell in columns[name])
            if one.from_columns and n_lists:
                raise lists_in_from(name, n_lists)
        types = {
            name: _common_type([one.dtype for one in own], as_text=name in as_text) for name, own in columns.items()
        }
        missing = {
            name: frozenset() if has_lists(types[name]) else _texts_of_missing(columns[name], one.na)
            for name, one in sets.items()
        }
        with_nulls = frozenset(name for name, one in cells.items() if has_lists(one.dtype) and one.null_count())
        return cls(types, missing, with_nulls)

    def __add__(self, other: SetFacts) -> SetFacts:
        missing = {name: found | other.missing[name] for name, found in self.missing.items()}
        return SetFacts(self.types, missing, self.with_nulls | other.with_nulls)

    def layout(self, name: str, description: ColumnDescription, *, in_rows: bool) -> Layout:
        """How many elements of a set a row holds, and whether a set may have several rows."""
        is_list = not description.from_columns and has_lists(self.types[name])
        is_split = is_list or description.separator is not None
        return Layout(None if is_split else len(sources_of(name, description)), in_rows=in_rows)

    def missing_code(self, name: str, na: Sequence[str]) -> str | None:
        """The code of a set's missing cells, as `missing_codes` says: one that its type can hold; None for null."""
        found = self.missing[name]
        if found <= {""}:
            return None
        possible = na if len(found) > 1 else [*found]
        dtype = self.types[name]
        return next((one for one in possible if _as_type(pl.Series([one]), dtype).null_count() == 0), None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowMaker:
    """How the masked records of a table become rows."""

    plan: Plan
    """The plan of the table."""
    names: Sequence[str]
    """Its columns."""
    facts: SetFacts
    is_whole: bool = False
    """True if it gets all records at once, so that a column may become text where new concepts are no numbers."""

    def n_rows(self, masked: pl.DataFrame) -> Longs:
        """How many rows each record becomes."""
        sets = self._sets_in(masked)
        if self.plan.person is not None and sets:
            marks = (pl.col(name).cast(pl.String).fill_null("").str.count_matches(ROW, literal=True) for name in sets)
            return masked.select(1 + pl.max_horizontal(*marks).cast(pl.Int64)).to_series().to_numpy()
        if ROWS_OF_PERSON in masked.columns and self.plan.person is not None:
            return masked[ROWS_OF_PERSON].cast(pl.Float64).round(0).clip(1).cast(pl.Int64).to_numpy()
        return np.ones(masked.height, dtype=np.int64)

    def to_rows(self, masked: pl.DataFrame, pseudonyms: Ints | Longs | None) -> pl.DataFrame:
        """The masked records as rows again, those of one record together.

        Args:
            masked: Records, in their order, without identifiers.
            pseudonyms: The number that each person gets, where the plan releases pseudonyms.
        """
        plan, sets = self.plan, self._sets_in(masked)
        numbers = self.n_rows(masked)
        frame = masked.with_columns(pl.col(name).cast(pl.String).fill_null("") for name in sets)
        if pseudonyms is not None and plan.person is not None:
            frame = frame.with_columns(pl.Series(plan.person, pseudonyms))
        if plan.person is not None and sets:
            frame = frame.with_columns(pl.col(name).str.split(ROW) for name in sets)
            if len(sets) > 1:  # Sets of different donors: the shorter ones get empty rows.
                frame = frame.with_columns(_pad(frame[name], numbers) for name in sets)
            frame = frame.explode(sets)
            if plan.order is not None:
                frame = frame.with_columns(number_rows_of_records(pl.Series(numbers)).alias(plan.order))
        elif ROWS_OF_PERSON in frame.columns:
            frame = frame[np.repeat(np.arange(frame.height), numbers)]
        columns: dict[str, pl.Series] = {}
        for name in self.names:
            for set_name, one in plan.sets.items():
                if name in sources_of(set_name, one) and set_name in frame.columns:
                    columns[name] = self._source_cells(name, set_name, frame[set_name])
            if name in frame.columns and name not in columns:
                columns[name] = frame[name]
        return pl.DataFrame(columns)

    def _sets_in(self, masked: pl.DataFrame) -> list[str]:
        return [name for name in masked.columns if name in self.plan.sets]

    def _source_cells(self, source: str, name: str, texts: pl.Series) -> pl.Series:
        """The cells of a column that is part of a set, from the texts of the set in each row."""
        one, dtype = self.plan.sets[name], self.facts.types[name]
        elements = texts.str.split(ELEMENT).list.eval(pl.element().filter(pl.element() != ""))
        if one.from_columns:
            cells = elements.list.get(one.from_columns.index(source), null_on_oob=True)
        elif isinstance(dtype, pl.List):
            cells = elements
        elif one.separator is not None:
            joined = elements.list.join(one.separator)
            cells = joined.set(joined == "", None)
        else:
            cells = elements.list.first()
        cells = self._with_missing(cells, source, name)
        released = _as_type(cells, dtype).alias(source)
        n_lost = _cells_in(cells) - _cells_in(released)
        if n_lost and one.has_concepts and self.is_whole:
            return cells.alias(source)
        if n_lost:
            raise not_of_type(source, n_lost, str(dtype))
        if dtype.is_float():
            as_text_series(released)  # refuses whole numbers that are no longer exact
        return released

    def _with_missing(self, cells: pl.Series, source: str, name: str) -> pl.Series:
        """The cells of a column of a set, with those without an element as missing cells are in the table."""
        if not has_lists(cells.dtype):
            code = self.facts.missing_code(name, self.plan.sets[name].na)
            return cells if code is None else cells.fill_null(code)
        return cells.set(cells.list.len() == 0, None) if source in self.facts.with_nulls else cells


def sources_of(name: str, description: ColumnDescription) -> Sequence[str]:
    """The columns of the table that a set is made from."""
    return description.from_columns or (name,)


def sources_of_sets(sets: Mapping[str, ColumnDescription]) -> list[str]:
    """The columns of the table that all sets are made from."""
    return [source for name, one in sets.items() for source in sources_of(name, one)]


def has_lists(dtype: pl.DataType) -> bool:
    """True if the cells of a type are lists."""
    return isinstance(dtype, pl.List | pl.Array)


def _common_type(dtypes: Sequence[pl.DataType], *, as_text: bool = False) -> pl.DataType:
    """The type of all columns of a set: an element may be released in another column than its own."""
    known = [one for one in dtypes if one != pl.Null]
    first = known[0] if known else pl.String()
    dtypes = known or [first]
    if isinstance(first, pl.List | pl.Array):
        inner = pl.Series(dtype=first).explode().dtype
        as_text |= inner == pl.Date  # dates are read from text in columns only
        return pl.List(_common_type([inner], as_text=as_text)) if len(dtypes) == 1 else pl.String()
    if as_text:
        return pl.String()
    if all(one.is_integer() for one in dtypes) or all(one == first for one in dtypes):
        # An element of another column need not be among the categories of an Enum; other types are not read from text.
        is_kept = first.is_numeric() or first == pl.Date or isinstance(first, pl.Categorical)
        return (pl.Int64() if len(set(dtypes)) > 1 else first) if is_kept else pl.String()
    return pl.Float64() if all(one.is_integer() or one.is_float() for one in dtypes) else pl.String()


def _as_type(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Texts, or lists of them, in a type; those that it does not have become null."""
    return texts.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else texts.cast(dtype, strict=False)


def _texts_of_missing(columns: Sequence[pl.Series], na: Collection[str]) -> frozenset[str]:
    """The texts of missing cells that occur in some columns."""
    if not na:
        return frozenset()
    texts = pl.concat([as_text_series(one).cast(pl.String).alias("") for one in columns]).unique()
    return frozenset({*texts.fill_null("").str.strip_chars().to_list()} & {"", *na})


def _cells_in(cells: pl.Series) -> int:
    """How many cells, or elements of lists, have a value."""
    flat = cells.explode() if has_lists(cells.dtype) else cells
    return len(flat) - flat.null_count()


def _pad(lists: pl.Series, longest: Longs) -> pl.Series:
    missing = longest - lists.list.len().to_numpy()
    further = pl.Series([[""] * int(n) for n in missing], dtype=pl.List(pl.String))
    return pl.DataFrame({"a": lists, "b": further}).select(pl.concat_list("a", "b")).to_series().alias(lists.name)


def lists_in_from(name: str, n_columns: int) -> ColumnError:
    """A set made from several columns, some of which have a list in each cell."""
    return ColumnError(
        f"{count_of(n_columns, 'column has', 'columns have')} lists in its cells, among those that the set {name!r} is "
        "made from; make each list a set of its own, or spread it over columns.",
        settings=("from",),
    )


def not_of_type(column: str, n_cells: int, kind: str) -> ColumnError:
    """Elements of a set that the type of a column cannot hold."""
    return ColumnError(
        f"{count_of(n_cells, 'released element', 'released elements')} of a set cannot be in column {column!r} of type "
        f"{clip(kind)}; convert the columns of the set to text first."
    )
