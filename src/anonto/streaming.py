"""Masking of records as they come: what a method must know is learnt once from a reference sample.

A record is masked by the draws of its number alone, so records may come one by one, in batches of any size, in any
order and again; if the reference is the whole table, the batches are what masking it at once gives.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonto.engine.local import apply_by_row
from anonto.errors import (
    AllMissingError,
    GuessableSeedWarning,
    InternalError,
    MissingColumnError,
    NotForStreamsError,
    OutsideRootError,
    ParameterError,
    UnmatchedCellsWarning,
)
from anonto.methods.registry import METHODS
from anonto.plan import Plan, plan_of
from anonto.rng import seed_of
from anonto.table.attributes import NominalAttribute, NumericAttribute
from anonto.table.columns import Column
from anonto.table.door import Door, Substitution
from anonto.table.missing_codes import missing_codes
from anonto.table.new_cells import NewCells, new_cells, settled
from anonto.table.prepare import encode_described, opener, prepare, records_to_drop
from anonto.table.reading import read_table
from anonto.table.recoding import merge_missing, written
from anonto.table.records import distinct_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.methods.method import RowMethod
    from anonto.methods.row_masking import RowMasker
    from anonto.rng import Key
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import Opener, PreparedColumn

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


def stream(
    reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], *, seed: int | None = None
) -> Stream:
    """Learn from a reference sample how to mask records that come later.

    Args:
        reference: A pandas, polars or pyarrow table, or the path of a file: records like those that will come.
        plan: A `Plan`, a dict of the same shape as a plan file, or the path of one. Its methods must draw for each
            row: semantic-noise, semantic-noise-joint and taxonomy-exponential do.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same record with the
            same number is always masked in the same way, and whoever knows it can undo some of the masking.

    Returns:
        A stream with ``.mask(batch)``.
    """
    chosen = plan_of(plan)
    for step in chosen.steps:
        if not step.method.by_row:
            able = [name for name, method in METHODS.items() if method.by_row]
            raise NotForStreamsError(step.method.name, able)
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=2)
    open_once = opener(chosen.folder)
    batch = _Batch.of(reference, chosen, open_once)
    for warning in chosen.warnings_about(batch.door.names):
        warnings.warn(warning, stacklevel=2)
    steps = []
    unmatched: dict[str, int] = {}
    for number, step in enumerate(chosen.steps):
        if not len(batch.columns[step.columns[0]]):
            raise AllMissingError(0, step.columns[0])
        prepared = [prepare(name, batch.columns[name], chosen.description(name), open_once) for name in step.columns]
        unmatched |= {one.name: one.n_unmatched for one in prepared if one.n_unmatched}
        codes = [one.column.codes for one in prepared]
        records, _ = distinct_records(step.columns, [one.attribute for one in prepared], codes)
        masker = cast("RowMethod", step.method).fit(records, secret.stream("fit", number))
        known = map(_Known.of, prepared, masker.attributes)
        steps.append(_Step(tuple(known), masker, secret.key("apply", number)))
    if unmatched:
        warnings.warn(UnmatchedCellsWarning(list(unmatched), list(unmatched.values())), stacklevel=2)
    return Stream(chosen, steps, open_once)


class Stream:
    """Masks batches of records; counts the rows that came."""

    def __init__(self, plan: Plan, steps: Sequence[_Step], open_once: Opener) -> None:
        self._plan, self._steps, self._open_once = plan, list(steps), open_once
        self._n_rows = 0

    def __repr__(self) -> str:
        return f"<Stream: {len(self._plan.masked)} columns masked, {self._n_rows:,} rows so far>"

    @property
    def n_rows(self) -> int:
        """The number of the next row: one more than the largest that came."""
        return self._n_rows

    def mask(self, batch: Any, first_row: int | None = None) -> Any:
        """Mask some records.

        Args:
            batch: A pandas, polars or pyarrow table with the columns of the reference, or the path of a file. Values
                that the reference does not have are masked like others if their column's ontology has them.
            first_row: The number of the first of these rows; None for the next after those that came. A number must
                not be used for two records: both would have the same noise.

        Returns:
            The masked records, of the kind of table that was given (polars for a path), in their order.
        """
        wrong = isinstance(first_row, bool) or not isinstance(first_row, int | np.integer | None)
        if wrong or (first_row is not None and first_row < 0):
            raise ParameterError("first_row", "a whole number, 0 or more", first_row)
        first = self._n_rows if first_row is None else int(first_row)
        given = _Batch.of(batch, self._plan, self._open_once)
        given.merge_missing(self._plan)
        substitutions: dict[str, Substitution] = {}
        steps = []
        for step in self._steps:
            grown, masked = step.masked(given, first, self._open_once)
            substitutions.update(masked)
            steps.append(grown)
        identifiers = [name for name in given.door.names if self._plan.description(name).role == "identifier"]
        changed = given.door.changed(substitutions, dropped=identifiers, rows=given.rows)
        table = given.door.released(changed, self._plan.scales)
        self._steps, self._n_rows = steps, max(self._n_rows, first + len(given.door))
        return table


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Some records with the columns that a step or a policy looks at, encoded."""

    door: Door
    columns: Mapping[str, Column]
    rows: Longs | None
    """Those that no policy drops; None for all."""

    @classmethod
    def of(cls, table: Any, plan: Plan, open_once: Opener) -> _Batch:
        is_path = isinstance(table, str | os.PathLike)
        read = read_table(table, **plan.reading) if is_path else None
        door = Door(table) if read is None else Door(read.frame, origin=read.origin)
        door.hold_as_text(plan.released_as_text)
        for name in [*plan.columns, *plan.masked]:
            if name not in door.names:
                raise MissingColumnError(name, door.names)
        looked_at = [name for name in plan.columns if plan.columns[name].role != "identifier"]
        columns = {
            name: encode_described(name, door.series(name), plan.description(name))
            for name in dict.fromkeys([*looked_at, *plan.masked])
        }
        drops = [records_to_drop(column, plan.description(name), open_once) for name, column in columns.items()]
        dropping = [dropped for dropped in drops if dropped is not None]
        if not dropping:
            return cls(door, columns, None)
        stays = ~np.logical_or.reduce(dropping)
        return cls(door, {name: column.kept(stays) for name, column in columns.items()}, np.flatnonzero(stays))

    def merge_missing(self, plan: Plan) -> None:
        """Give all missing cells of masked columns the one code, also where all have another: as in other batches."""
        for name in plan.masked:
            description, is_missing = plan.description(name), self.columns[name].codes < 0
            if description.missing_codes == "merge" and is_missing.any():
                cells = written(self.door, name)
                found = missing_codes(cells if self.rows is None else cells.gather(self.rows), is_missing)
                merge_missing(self.door, name, found, description.na, self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A step of the plan with what it learnt, and all values that it has met."""

    columns: tuple[_Known, ...]
    masker: RowMasker
    key: Key

    def masked(self, batch: _Batch, first_row: int, open_once: Opener) -> tuple[_Step, dict[str, Substitution]]:
        """The step with the values that are new to it, and the new cells of its columns."""
        met = [one.met(batch.columns[one.prepared.name], open_once) for one in self.columns]
        masker = self.masker.for_columns([attribute for attribute, _ in met])
        codes = [own for _, own in met]
        numbers = np.arange(len(batch.door)) if batch.rows is None else batch.rows
        after = apply_by_row(masker, codes, first_row + numbers, self.key)
        columns = tuple(
            known.grown(attribute, released)
            for known, (attribute, _), released in zip(self.columns, met, masker.attributes, strict=True)
        )
        new = {
            known.prepared.name: known.substitution(attribute, before, released, batch)
            for known, (attribute, before), released in zip(columns, met, after, strict=True)
        }
        return replace(self, columns=columns, masker=masker), new


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A column as the reference had it, and with values that came later behind."""

    prepared: PreparedColumn
    code_of: Mapping[str, int]
    texts: tuple[str, ...]
    """How each value that may be released is spelt; empty for numbers."""

    @classmethod
    def of(cls, prepared: PreparedColumn, released: Attribute) -> _Known:
        """From a column and its values with all that may be released."""
        values = prepared.column.values
        further = None if isinstance(released, NumericAttribute) else new_cells(prepared, released)
        texts = () if isinstance(released, NumericAttribute) else (*values, *(further.texts if further else ()))
        return cls(prepared, {value: code for code, value in enumerate(values)}, texts)

    def grown(self, attribute: Attribute, released: Attribute) -> _Known:
        """With the values of an attribute that has more of them."""
        if attribute is self.prepared.attribute or not isinstance(attribute, NominalAttribute):
            return self
        return _Known.of(replace(self.prepared, attribute=attribute, column=attribute.column), released)

    def met(self, column: Column, open_once: Opener) -> tuple[Attribute, Codes]:
        """The attribute with all values, and the codes of those of a batch; numbers have an attribute of the batch."""
        own = self.prepared.attribute
        if not column.values:
            return own, column.codes
        if isinstance(own, NominalAttribute) and all(value in self.code_of for value in column.values):
            return own, self._codes(column, self.code_of)
        try:
            description = self.prepared.description
            if description.kind == "numeric":
                description = replace(description, decimal=self.prepared.notation.decimal)
            new = prepare(self.prepared.name, column, description, open_once)
        except AllMissingError:
            return own, np.full(len(column), -1, dtype=np.int32)
        if not isinstance(own, NominalAttribute) or not isinstance(new.attribute, NominalAttribute):
            return new.attribute, new.column.codes
        concept_of = dict(zip(new.column.values, new.attribute.concepts, strict=True))
        further = {value: concept for value, concept in concept_of.items() if value not in self.code_of}
        outside = [concept for concept in further.values() if concept not in own.domain]
        if outside:
            raise OutsideRootError(outside, " or ".join(own.domain.roots))
        attribute = replace(
            own,
            column=Column((*own.column.values, *further), own.column.codes),
            concepts=(*own.concepts, *further.values()),
            counts=np.append(own.counts, np.zeros(len(further), dtype=np.int64)),
        )
        code_of = {value: code for code, value in enumerate(attribute.column.values)}
        return (attribute if further else own), self._codes(new.column, code_of)

    @staticmethod
    def _codes(column: Column, code_of: Mapping[str, int]) -> Codes:
        return np.array([*(code_of[value] for value in column.values), -1], dtype=np.int32)[column.codes]

    def substitution(self, attribute: Attribute, before: Codes, released: NDArray[Any], batch: _Batch) -> Substitution:
        """The new cells of a batch; a cell that is released as it was stays."""
        if isinstance(attribute, NumericAttribute):
            released = settled(self.prepared, released)
            own = np.append(attribute.numbers, np.nan)[before]
        else:
            own = before
        changed = (before >= 0) & (released != own)
        if not isinstance(attribute, NumericAttribute) and not _is_text(batch.door.series(self.prepared.name)):
            # All texts that may be released: the type of the column must not depend on those of one batch.
            codes = np.where(changed, released, np.int32(-1)).astype(np.int32)
            return Substitution(np.empty(0, dtype=np.int64), codes, None, NewCells(texts=self.texts))
        distinct, place = np.unique(released[changed], return_inverse=True)
        codes = np.full(before.size, -1, dtype=np.int32)
        codes[changed] = place
        if isinstance(attribute, NumericAttribute):
            cells = self._numbers(distinct, batch)
        else:
            cells = NewCells(texts=tuple(self.texts[code] for code in distinct.tolist()))
        return Substitution(np.empty(0, dtype=np.int64), codes, None, cells)

    def _numbers(self, distinct: NDArray[np.float64], batch: _Batch) -> NewCells:
        """Numbers, or in a column of text their spelling, that of the reference where it has them."""
        reference = self.prepared.attribute
        if not isinstance(reference, NumericAttribute):
            raise InternalError("A column that was not numeric became so.")
        cells = new_cells(self.prepared, reference.with_numbers(distinct)) or NewCells(numbers=distinct)
        if cells.numbers is None or not _is_text(batch.door.series(self.prepared.name)):
            return cells
        own = zip(reference.numbers.tolist(), self.prepared.column.values, strict=True)
        spelt = dict(reversed(list(own)))
        texts = zip(distinct.tolist(), cells.spelt().to_list(), strict=True)
        return NewCells(texts=tuple(spelt.get(number, text) for number, text in texts))


def _is_text(cells: pl.Series) -> bool:
    import polars as pl

    return cells.dtype in (pl.String, pl.Categorical, pl.Enum)
