"""From the rows of a table to the records that are masked: a person with all her rows is one record.

A plan may say whose rows these are (``person``), and that several cells are one set (``kind = "set"``). Then a table of
records is made first: one for each person, or for each row; every set is one cell, in the texts of
`anonto.encoding.set_space`. All else works on these records with a plan of their own, so that every k, rate, proof and
count is about persons. `anonto.masking.unit_rows` makes the masked records rows again: a person's set has as many rows
as its donor had. A table that is larger than memory is given part by part, each with all rows of its persons.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.description import ColumnDescription
from anonto.encoding.series import as_text_series, unusable_type
from anonto.encoding.set_space import ELEMENT, ROW
from anonto.errors import ColumnError, PlanError
from anonto.io.table import missing_column
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.masking.sequences import order_of_rows, rows_without_place
from anonto.masking.unit_rows import RowMaker, SetFacts, has_lists, sources_of, sources_of_sets
from anonto.random.streams import row_words
from anonto.wording import clip, count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Ints, Longs
    from anonto.encoding.columns import Column
    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed

PERSON, FIRST, N_ROWS = (f"{ELEMENT}{name}" for name in ("person", "first row", "rows"))

OF_RECORDS = ("weight", "population")
"""Keys of the table section that are about records, not about rows or files."""


@dataclass(frozen=True, slots=True, eq=False)
class RowLimit:
    """The rows that are used of a table with more rows of one person than a plan uses."""

    used: Longs
    """Their places in the table, ascending."""
    n_left_out: int
    n_persons: int
    """Persons with rows that are left out."""
    varying: Mapping[str, int]
    """For how many persons a column differs between all her rows, which must not depend on the draw."""
    n_unordered: int
    """Rows without a place in the order of their person, of all."""


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The rows of a table as records, and how they become rows again."""

    rows: FrameAdapter
    """The table as it was given."""
    given: Plan
    """Its plan."""
    limit: RowLimit | None = None
    """The rows of a larger table that these are, if it had more of one person than the plan uses."""

    def __post_init__(self) -> None:
        require_columns(self.given, self.rows.names)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the records."""
        return plan_of_records(self.given, self.found)

    @cached_property
    def records(self) -> pl.DataFrame:
        """One row for each record, a person's in the place of her first row."""
        found = self.found
        found.require_records(self.given)
        return self._join(with_row_numbers=found.has_row_numbers(self.given))

    @property
    def part(self) -> pl.DataFrame:
        """The records of a part of a table, with the first row of each if they are persons.

        What must be refused is known when the facts about all parts are added up; so is whether the number of a
        person's rows is a column.
        """
        records = self._join(with_row_numbers=self.given.repeats_rows)
        return records if self.given.person is None else records.with_columns(self._persons[FIRST])

    @cached_property
    def found(self) -> UnitFacts:
        """Facts about the rows and their records."""
        given = self.given
        cells = {source: self._values(source) for source in sources_of_sets(given.sets)}
        sets = SetFacts.of(given.sets, cells, given.released_as_text)
        marked = {name: n_marked for name, (_, n_marked) in self._set_texts.items()}
        n_unordered = 0 if given.order is None else self._order[1]
        if given.person is None:
            return UnitFacts(self.n_rows, sets, marked)
        sizes = np.bincount(self._persons[N_ROWS].to_numpy())
        numbers, n_nobody, limit = sizes.astype(np.int64), self._person.n_missing, self.limit
        if limit is None:
            return UnitFacts(self.n_rows, sets, marked, numbers, n_nobody, self.varying, n_unordered=n_unordered)
        left_out = (limit.n_left_out, limit.n_persons)
        return UnitFacts(self.n_rows, sets, marked, numbers, n_nobody, limit.varying, *left_out, limit.n_unordered)

    @property
    def row_maker(self) -> RowMaker:
        """How the masked records become rows."""
        return RowMaker(self.given, self.rows.names, self.found.sets, is_whole=True)

    def rows_of(self, records: Longs) -> Longs:
        """The rows of some records in the table as it was given, in ascending order."""
        if self.given.person is None:
            return records
        chosen = np.zeros(len(self.records), dtype=np.bool_)
        chosen[records] = True
        record_of = np.empty(len(self.records), dtype=np.int64)
        record_of[self._persons[PERSON].to_numpy()] = np.arange(len(self.records))
        rows = np.flatnonzero(chosen[record_of[self.person_of_rows]])
        return rows if self.limit is None else self.limit.used[rows]

    def with_at_most(self, at_most: int, seed: Seed, places: Longs | None = None) -> Units:
        """The same with at most so many rows of each person, drawn by a seed.

        Each row has a random number that depends on the seed and its place alone; a person's smallest are used.

        Args:
            at_most: The number of rows.
            seed: Of the release.
            places: Where the rows are in the whole table, if these are a part of it with all rows of their persons.
        """
        persons, numbers = self._person.codes.astype(np.int64), np.arange(self.n_rows) if places is None else places
        varying = self.varying if at_most > 1 else {}  # where one row is used, columns may vary
        n_unordered = 0 if self.given.order is None else self._order[1]
        first, second = row_words(seed.key("rows of a person"), numbers, "draw")
        order = np.lexsort((numbers, second, first, persons))
        sizes = np.bincount(persons + 1)  # those of nobody, which are refused later, come first
        starts = np.cumsum(sizes) - sizes
        of_nobody = persons[order] < 0
        used = np.sort(order[(np.arange(order.size) - starts[persons[order] + 1] < at_most) | of_nobody])
        limit = RowLimit(
            used, self.n_rows - used.size, int(np.count_nonzero(sizes[1:] > at_most)), varying, n_unordered
        )
        return replace(self, rows=self.rows.select_rows(used), limit=limit)

    def numbers_of(self, places: Longs) -> Longs:
        """The numbers of the rows that are used, from those of all rows."""
        return places if self.limit is None else places[self.limit.used]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.rows)

    # ------------------------------------------------------------------------------------------ rows to records

    def _join(self, *, with_row_numbers: bool) -> pl.DataFrame:
        """The columns in their order, each set in the place of its first source."""
        persons = None if self.given.person is None else self._persons
        first = None if persons is None else persons[FIRST].to_numpy()
        of_source = {source: name for name, one in self.given.sets.items() for source in sources_of(name, one)}
        columns: dict[str, pl.Series] = {}
        for name in self.rows.names:
            joined = of_source.get(name)
            if name == self.given.order:
                continue
            if joined is None:
                columns[name] = self._cells(name, first)
            elif joined not in columns:
                cells = self._set_texts[joined][0] if persons is None else persons[joined]
                # Where a record is a row, no element is a missing cell; the rows of a person are a value without any.
                columns[joined] = cells.replace("", None if persons is None else ELEMENT).alias(joined)
        if persons is not None and with_row_numbers:
            columns[ROWS_OF_PERSON] = persons[N_ROWS].cast(pl.Int64).alias(ROWS_OF_PERSON)
        return pl.DataFrame(columns)

    def _cells(self, name: str, rows: Longs | None) -> pl.Series:
        cells = self.rows.table[name] if self.rows.library == "polars" else self.rows.series(name)
        return cells if rows is None else cells.gather(rows)

    @cached_property
    def _set_texts(self) -> dict[str, tuple[pl.Series, int]]:
        """The text of each row, empty without elements, and how many rows have marks in elements; by set."""
        return {name: self._texts_of_set(name) for name in self.given.sets}

    def elements_of(self, name: str) -> pl.Series:
        """The elements of a set in each row, as lists of texts."""
        description = self.given.sets[name]
        lists = [
            self._elements(source, description.separator).alias(str(place))
            for place, source in enumerate(sources_of(name, description))
        ]
        cells = pl.DataFrame(lists).select(pl.concat_list(pl.all())).to_series()
        return cells.list.eval(_clean(description.na)).alias(name)

    def _texts_of_set(self, name: str) -> tuple[pl.Series, int]:
        elements = self.elements_of(name)
        marked = int(elements.list.eval(pl.element().str.contains(f"[{ELEMENT}{ROW}]")).list.any().sum())
        return elements.list.sort().list.join(ELEMENT).alias(name), marked

    def _elements(self, source: str, separator: str | None) -> pl.Series:
        """The elements of each row in one column, as lists of texts."""
        cells = self._values(source)
        if has_lists(cells.dtype):
            try:
                return cells.cast(pl.List(pl.String)).fill_null([])
            except pl.exceptions.PolarsError:  # its message shows cells
                fault = "the elements of its lists cannot become text"
                raise unusable_type("list", fault, "convert them to text first", source) from None
        texts = as_text_series(cells).cast(pl.String).fill_null("")
        if separator is None:
            return texts.to_frame().select(pl.concat_list(pl.all())).to_series()
        return texts.str.split(separator)

    def _values(self, source: str) -> pl.Series:
        """One column of the table; lists that pandas has as objects are lists here too."""
        if self.rows.library != "pandas":
            return self.rows.series(source)
        cells = self.rows.native(source).tolist()
        if not any(isinstance(one, list | tuple | set | frozenset | np.ndarray) for one in cells):
            return self.rows.series(source)
        cells = [sorted(map(str, one)) if isinstance(one, set | frozenset) else one for one in cells]
        kinds = (list, tuple, np.ndarray, str)
        try:
            return pl.Series(source, [one if isinstance(one, kinds) else None for one in cells])
        except (TypeError, pl.exceptions.PolarsError):
            fault = "not all of its cells are lists, or their elements have several types"
            raise unusable_type("object", fault, "make each a list of texts first", source) from None

    @cached_property
    def _person(self) -> Column:
        """The person of each row; blank cells, and those that the plan calls missing, are of nobody."""
        name = str(self.given.person)
        column, nobody = self.rows.encode(name), {"", *self.given.description(name).na}
        return column.without(np.array([*(text.strip() in nobody for text in column.values), False]))

    @cached_property
    def _persons(self) -> pl.DataFrame:
        """The first row of each person, how many rows she has, and her sets; in the order of the first rows."""
        texts = {name: one for name, (one, _) in self._set_texts.items()}
        frame = pl.DataFrame({PERSON: self._person.codes, **texts}).with_row_index(FIRST)
        by = list(texts)  # The order of a person's rows in the table must not show in her set.
        if self.given.order is not None:
            frame, by = frame.hstack(self._order[0]), [*self._order[0].columns, *by]
        if by:
            frame = frame.sort(by, maintain_order=True)
        grouped = frame.group_by(PERSON).agg(
            pl.col(FIRST).min(), pl.len().alias(N_ROWS), *(pl.col(name).str.join(ROW) for name in texts)
        )
        return grouped.sort(FIRST)

    @cached_property
    def _order(self) -> tuple[pl.DataFrame, int]:
        """Columns that sort a person's rows, and how many rows have no place in the order."""
        name = str(self.given.order)
        return order_of_rows(self.rows.series(name), self.given.description(name).na)

    @property
    def person_of_rows(self) -> Ints:
        """The number of the person whom each row belongs to; rows of nobody are refused."""
        if self._person.n_missing:
            raise rows_of_nobody(str(self.given.person), self._person.n_missing)
        return self._person.codes

    @cached_property
    def varying(self) -> dict[str, int]:
        """The columns that differ between the rows of a person, but no sets or identifiers: for how many persons."""
        joined = sources_of_sets(self.given.sets)
        varying: dict[str, int] = {}
        for name in self.rows.names:
            is_dropped = self.given.description(name).is_dropped and name != self.given.weight
            if name in joined or name in (self.given.person, self.given.order) or is_dropped:
                continue
            codes = pl.DataFrame({PERSON: self._person.codes, "code": self.rows.encode(name).codes})
            ends = codes.group_by(PERSON).agg(pl.col("code").min().alias("low"), pl.col("code").max().alias("high"))
            n_varying = int((ends["low"] != ends["high"]).sum())
            if n_varying:
                varying[name] = n_varying
        return varying


@dataclass(frozen=True, slots=True)
class UnitFacts:
    """Facts about a table's rows and their records; those of parts that have all rows of their persons add up."""

    n_rows: int
    sets: SetFacts
    marked: Mapping[str, int]
    """For each set how many rows have the marks between elements inside of elements."""
    persons: Longs = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """How many persons have each number of rows."""
    n_nobody: int = 0
    """Rows without a person."""
    varying: Mapping[str, int] = field(default_factory=dict)
    """For how many persons a column differs between her rows."""
    n_left_out: int = 0
    """Rows that are left out because a person has more than the plan uses."""
    n_limited: int = 0
    """Persons whose rows they are."""
    n_unordered: int = 0
    """Rows without a place in the order of their person."""

    def __add__(self, other: UnitFacts) -> UnitFacts:
        size = max(self.persons.size, other.persons.size)
        return UnitFacts(
            self.n_rows + other.n_rows,
            self.sets + other.sets,
            _sums(self.marked, other.marked),
            np.pad(self.persons, (0, size - self.persons.size)) + np.pad(other.persons, (0, size - other.persons.size)),
            self.n_nobody + other.n_nobody,
            _sums(self.varying, other.varying),
            self.n_left_out + other.n_left_out,
            self.n_limited + other.n_limited,
            self.n_unordered + other.n_unordered,
        )

    def require_records(self, given: Plan) -> None:
        """Refuse rows without a person, marks in elements, and columns that differ between the rows of a person."""
        if self.n_nobody:
            raise rows_of_nobody(str(given.person), self.n_nobody)
        for name, n_marked in self.marked.items():
            if n_marked:
                raise marks_in_cells(name, n_marked)
        if self.n_unordered:
            raise rows_without_place(str(given.order), self.n_unordered)
        require_constants(given, self.varying)

    def has_row_numbers(self, given: Plan) -> bool:
        """True if the number of a person's rows is a column of the records, because no set has it."""
        return given.repeats_rows and (ROWS_OF_PERSON in given.named or int(self.persons.sum()) < self.n_rows)

    def evidence(self, given: Plan, n_released: int) -> dict[str, Any]:
        """Evidence about the unit of protection, from the number of released rows; nothing if each row is a record."""
        if given.person is None:
            return {}
        left_out = {} if given.at_most is None else {"left_out": self.n_left_out, "persons_limited": self.n_limited}
        return {
            "unit": "person",
            **({} if given.order is None else {"order": given.order}),
            "rows": {
                "before": self.n_rows + self.n_left_out,
                **left_out,
                "after": n_released,
                "most_of_a_person": int(np.flatnonzero(self.persons).max(initial=0)),
                "persons_alone_by_number": int(np.count_nonzero(self.persons == 1)),
            },
        }


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in [*one, *(n for n in other if n not in one)]}


def require_columns(plan: Plan, names: Sequence[str]) -> None:
    """Refuse a table without a column of the plan, or with one where a set has its name."""
    plain = [name for name in plan.named if name not in plan.sets and not plan.description(name).is_dropped]
    for name in [*sources_of_sets(plan.sets), *plain, *filter(None, [plan.person, plan.order])]:
        if name not in names and not (name == ROWS_OF_PERSON and plan.repeats_rows):
            raise missing_column(name, list(names))
    if plan.repeats_rows and ROWS_OF_PERSON in names:
        raise numbers_in_use(ROWS_OF_PERSON)
    for name, one in plan.sets.items():
        if one.from_columns and name in names and name not in one.from_columns:
            raise name_in_use(name)


def require_constants(given: Plan, varying: Mapping[str, int]) -> None:
    """Refuse columns that differ between the rows of so many persons."""
    weight = str(given.weight)
    if weight in varying:
        raise varying_weights(weight, varying[weight])
    if varying:
        raise varying_columns([f"{clip(name)!r} ({count_of(n, 'person')})" for name, n in varying.items()])


def plan_of_records(given: Plan, found: UnitFacts) -> Plan:
    """The plan of the records of a table, from that of its rows."""
    layouts = {name: found.sets.layout(name, one, in_rows=given.person is not None) for name, one in given.sets.items()}
    columns = {
        name: replace(one, from_columns=(), separator=None, layout=layouts[name]) if name in layouts else one
        for name, one in given.columns.items()
        if name != given.order
    }
    if given.person is not None:
        columns[given.person] = replace(given.description(given.person), role="identifier")
    if found.has_row_numbers(given):
        columns.setdefault(ROWS_OF_PERSON, ColumnDescription(kind="numeric"))
    table = {key: value for key, value in given.table.items() if key in OF_RECORDS}
    by_person = given.person is not None
    return replace(
        given,
        columns=MappingProxyType(columns),
        table=MappingProxyType(table),
        made_from=given,
        by_person=by_person,
    )


def plan_of_release(plan: Plan) -> Plan:
    """The plan without the columns that it drops, which a release does not have."""
    kept = {name: one for name, one in plan.columns.items() if not one.is_dropped or name == ROWS_OF_PERSON}
    return replace(plan, columns=MappingProxyType(kept))


def _clean(na: Sequence[str]) -> Any:
    """Elements without blanks around them, and without those that mean nothing."""
    element = pl.element().str.strip_chars()
    return element.filter(element.is_not_null() & (element != "") & ~element.is_in(list(na)))


def name_in_use(column: str) -> ColumnError:
    """A set named like a column that it does not contain."""
    return ColumnError(
        f"The set {column!r} is joined from other columns, and the table has a column of that name; give the set "
        "another name."
    )


def numbers_in_use(column: str) -> ColumnError:
    """A table with the column that holds how many rows a person has."""
    return ColumnError(
        f"The table has a column {column!r}, which is how the number of rows of each person is called; give it "
        "another name."
    )


def marks_in_cells(column: str, n_rows: int) -> ColumnError:
    """A set whose elements have the characters that are put between elements."""
    return ColumnError(
        f"{count_of(n_rows, 'row has', 'rows have')}, in the set {column!r}, the characters {ELEMENT} or {ROW}, which "
        "mark elements and rows; replace them."
    )


def rows_of_nobody(person: str, n_rows: int) -> ColumnError:
    """A person column with missing cells."""
    return ColumnError(
        f"{count_of(n_rows, 'row has', 'rows have')} no value in {person!r}, which says whose rows these are; fill it "
        "in, or leave these rows out."
    )


def varying_columns(columns: Sequence[str]) -> ColumnError:
    """Columns that are no sets and differ between the rows of a person, each with the number of such persons."""
    verb = "column differs" if len(columns) == 1 else "columns differ"
    return ColumnError(
        f"{len(columns)} {verb} between the rows of a person: {list_names(columns)}; make each a set "
        '(kind = "set"), drop it (role = "identifier"), use one row of each person (at_most = 1), or leave person out.',
        settings=("person", "kind"),
    )


def varying_weights(weight: str, n_persons: int) -> ColumnError:
    """Rows of a person with different weights."""
    return ColumnError(
        f"{count_of(n_persons, 'person has', 'persons have')} rows of different weights in {weight!r}; give all rows "
        "of a person one weight, or leave weight out.",
        settings=("weight",),
    )


def not_for_units(what: str) -> PlanError:
    """A plan with a person column or sets, for something that looks at rows."""
    return PlanError(
        f"{what} looks at single rows, so it cannot use a plan with a person column or sets; use `anonto mask`, "
        "`assess`, `profile` or `sweep`."
    )
