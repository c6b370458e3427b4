"""Plan and table to release: the masked table, the evidence of what was done, and the private record."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.local import apply_by_row, apply_in_chunks
from anonto.errors import (
    GuessableSeedWarning,
    MissingColumnError,
    MostlyUnchangedWarning,
    ReleasedAsIsWarning,
    TooWideRangeError,
)
from anonto.methods.guarantee import Setting
from anonto.methods.registry import parameters_of
from anonto.methods.row_masking import as_codes, moves_between
from anonto.plan import Plan, plan_of
from anonto.release import MaskedColumn, Release
from anonto.rng import Seed, keyed_permutations, seed_of
from anonto.table.attributes import NumericAttribute
from anonto.table.door import Door
from anonto.table.new_cells import settled
from anonto.table.prepare import encode_described, opener, prepare, records_to_drop, with_missing_as_value
from anonto.table.reading import read_table
from anonto.table.records import distinct_records, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.methods.registry import RecordMethod, RowMethod
    from anonto.plan import Step
    from anonto.table.attributes import Attribute
    from anonto.table.columns import Column, TextBatches
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener, PreparedColumn
    from anonto.table.table import Table


ENOUGH_TO_JUDGE = 100
"""Cells from which on a column that hardly changed is warned about."""


def mask(table: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], *, seed: int | None = None) -> Release:
    """Mask a table as a plan says.

    Args:
        table: A pandas, polars or pyarrow table, or the path of a CSV, Parquet, Excel, SPSS, Stata or SAS file.
        plan: A `Plan`, a dict of the same shape as a plan file, or the path of one.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same input gives the
            same release, and whoever knows it can undo the masking.

    Returns:
        A release with ``.table`` (the caller's kind of table, rows in their order), ``.evidence`` and ``.save(path)``.
    """
    chosen = plan_of(plan)
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=2)
    door, read = _opened(table, chosen)
    _require_columns(door, chosen)
    open_once = opener(chosen.folder)
    series = door.series if read is None else read.column_or_batches
    origin = None if read is None else read.origin
    columns, rows = _records_that_stay(door.names, series, chosen, open_once)
    texts = {} if read is None else _let_go(columns, door, chosen, read.apart, all_rows=rows is None)
    del series, read
    steps = [_masked(number, chosen, columns, rows, texts, secret, open_once) for number in range(len(chosen.steps))]
    masked = {one.name: one for done in steps for one in done.columns}
    identifiers = tuple(name for name in door.names if chosen.description(name).role == "identifier")
    as_is = [name for name in door.names if name not in masked and name not in identifiers]
    said = [
        _evidence(chosen, step, done, guessable_seed=secret.can_be_guessed)
        for step, done in zip(chosen.steps, steps, strict=True)
    ]
    evidence = {
        "n_records": len(door) if rows is None else int(rows.size),
        "dropped_records": 0 if rows is None else len(door) - int(rows.size),
        "dropped_columns": list(identifiers),
        "released_as_is": as_is,
        "steps": said,
    }
    _warn_of_unmasked(chosen, as_is)
    for done, of_step in zip(steps, said, strict=True):
        guarantee = of_step["guarantee"]
        if not (guarantee["proved"] and guarantee.get("k", 0) > 1):
            for one in done.columns:
                _warn_if_unchanged(one)
    return Release(
        evidence=evidence,
        plan=chosen,
        masked=masked,
        door=door,
        origin=origin,
        identifiers=identifiers,
        rows=rows,
        seed=secret,
    )


def _opened(table: Any, plan: Plan) -> tuple[Door, Table | None]:
    if isinstance(table, str | os.PathLike):
        read = read_table(table, **plan.table, apart=_read_in_stretches(plan))
        n_rows = next((column.n_rows for column in read.apart.values()), None)
        return Door(read.frame, read.names or None, n_rows), read
    return Door(table), None


def _read_in_stretches(plan: Plan) -> list[str]:
    """Masked columns of which the file's own cells are not needed once they are encoded."""
    described = {name: plan.description(name) for name in plan.masked}
    return [name for name, one in described.items() if one.unmatched != "keep" and not one.na]


def _require_columns(door: Door, plan: Plan) -> None:
    for name in [*plan.columns, *plan.masked, *plan.also_needed]:
        if name not in door.names:
            raise MissingColumnError(name, door.names)


def _records_that_stay(
    names: Sequence[str], series: Callable[[str], pl.Series | TextBatches], plan: Plan, open_once: Opener
) -> tuple[dict[str, Column], NDArray[np.int64] | None]:
    """Encode every column that a step or a policy looks at; leave out the records that a policy drops."""
    looked_at = [
        name
        for name in names
        if name in (*plan.masked, *plan.also_needed) or (name in plan.columns and _drops_or_refuses(plan.columns[name]))
        if plan.description(name).role != "identifier"
    ]
    columns = {name: encode_described(name, series(name), plan.description(name)) for name in looked_at}
    drops = [records_to_drop(column, plan.description(name), open_once) for name, column in columns.items()]
    dropping = [dropped for dropped in drops if dropped is not None]
    if not dropping:
        return columns, None
    stays = ~np.logical_or.reduce(dropping)
    return {name: column.kept(stays) for name, column in columns.items()}, np.flatnonzero(stays)


@dataclass(frozen=True, slots=True, eq=False)
class _Done:
    """A step carried out."""

    columns: list[MaskedColumn]
    facts: Mapping[str, Any]


def _masked(
    number: int,
    plan: Plan,
    columns: Mapping[str, Column],
    rows: NDArray[np.int64] | None,
    texts: Mapping[str, pl.Series],
    seed: Seed,
    open_once: Opener,
) -> _Done:
    step = plan.steps[number]
    prepared = [prepare(name, columns[name], plan.description(name), open_once) for name in step.columns]
    _require_ranges(prepared)
    beside = [prepare(name, columns[name], plan.description(name), open_once) for name in step.also_needs]
    method = step.method
    if method.together:
        if method.by_row:
            return _masked_by_row(number, method, prepared, rows, texts, seed)
        return _masked_together(number, method, prepared, beside, columns, texts, seed)
    done = []
    for one in prepared:
        flows = method.fit(one.attribute, seed.stream("fit", number, one.name))
        permutations = keyed_permutations(seed, f"apply {number} {one.name}", flows.sizes)
        codes = one.column.codes
        done.append(
            MaskedColumn(
                prepared=one,
                attribute=one.attribute,
                moves=flows.moves,
                untouched=flows.untouched,
                before=codes,
                codes=apply_in_chunks(flows, permutations, codes),
                texts=texts.get(one.name),
            )
        )
    return _Done(done, {})


def _require_ranges(prepared: Sequence[PreparedColumn]) -> None:
    """Refuse numbers so far apart that their distances would be none."""
    for one in prepared:
        if isinstance(one.attribute, NumericAttribute) and one.attribute.numbers.size:
            numbers = one.attribute.numbers
            if numbers.max() / 2 - numbers.min() / 2 > sys.float_info.max / 2:
                raise TooWideRangeError(one.name)


def _masked_together(
    number: int,
    method: RecordMethod,
    prepared: list[PreparedColumn],
    beside: list[PreparedColumn],
    columns: Mapping[str, Column],
    texts: Mapping[str, pl.Series],
    seed: Seed,
) -> _Done:
    """Mask several columns by whole records; the method may look at others beside them."""
    parts = [
        with_missing_as_value(one, columns[one.name])
        if method.moves_missing
        else (_with_settling(one), one.column.codes)
        for one in prepared
    ]
    seen = [*parts, *((one.attribute, one.column.codes) for one in beside)]
    records, record_of = distinct_records(
        [one.name for one in (*prepared, *beside)], [attribute for attribute, _ in seen], [codes for _, codes in seen]
    )
    fitted = method.fit(records, seed.stream("fit", number))
    permutations = keyed_permutations(seed, f"apply {number}", fitted.flows.sizes)
    released = apply_in_chunks(fitted.flows, permutations, record_of)
    done = [
        MaskedColumn(
            prepared=one,
            attribute=(fitted.attributes or records.attributes)[place],
            moves=fitted.moves(records, place),
            untouched=fitted.untouched[place],
            before=codes,
            codes=fitted.released[:, place][released],
            texts=texts.get(one.name),
        )
        for place, (one, (_, codes)) in enumerate(zip(prepared, parts, strict=True))
    ]
    equal = {"real_k": _real_k(done, columns)} if getattr(method, "makes_equal", False) else {}
    return _Done(done, {**fitted.facts, **equal})


def _with_settling(prepared: PreparedColumn) -> Attribute:
    """A column's attribute, which knows what numbers the column can hold."""
    attribute = prepared.attribute
    if not isinstance(attribute, NumericAttribute):
        return attribute
    return replace(attribute, settle=partial(settled, prepared))


def _real_k(done: Sequence[MaskedColumn], columns: Mapping[str, Column]) -> int:
    """How many records are equal at least in all columns as they are released; cells that stay count as they are."""
    cells = []
    for one in done:
        codes = one.codes
        if one.prepared.n_unmatched:
            _, as_they_are = with_missing_as_value(one.prepared, columns[one.name])
            codes = np.where(codes >= 0, codes, as_they_are + np.int32(one.attribute.counts.size))
        cells.append(codes)
    _, record_of = distinct_rows(cells)
    return int(np.bincount(record_of).min()) if record_of.size else 0


def _masked_by_row(
    number: int,
    method: RowMethod,
    prepared: list[PreparedColumn],
    rows: NDArray[np.int64] | None,
    texts: Mapping[str, pl.Series],
    seed: Seed,
) -> _Done:
    """Mask several columns by draws of each row."""
    before = [one.column.codes for one in prepared]
    records, _ = distinct_records([one.name for one in prepared], [one.attribute for one in prepared], before)
    masker = method.fit(records, seed.stream("fit", number))
    numbers = np.arange(before[0].size) if rows is None else rows
    after = apply_by_row(masker, before, numbers, seed.key("apply", number))
    done = []
    for one, attribute, codes, released in zip(prepared, masker.attributes, before, after, strict=True):
        is_numeric = isinstance(attribute, NumericAttribute)
        new_attribute, new_codes = as_codes(attribute, codes, settled(one, released) if is_numeric else released)
        done.append(
            MaskedColumn(
                prepared=one,
                attribute=new_attribute,
                moves=moves_between(codes, new_codes),
                untouched=0,
                before=codes,
                codes=new_codes,
                texts=texts.get(one.name),
            )
        )
    return _Done(done, masker.facts(before, after))


def _drops_or_refuses(description: ColumnDescription) -> bool:
    """Whether a policy of a column concerns the records even if no step masks it."""
    drops_unmatched = description.unmatched == "drop" and bool(description.ontologies)
    return description.missing != "keep" or drops_unmatched


def _let_go(
    columns: Mapping[str, Column], door: Door, plan: Plan, apart: Collection[str], *, all_rows: bool
) -> dict[str, pl.Series]:
    """Keep the values of columns instead of their cells, to make room, where a cell that stays can only be missing."""
    import polars as pl

    kept = {name: pl.Series(name, columns[name].values, dtype=pl.String) for name in apart}
    for name in plan.masked:
        if name in kept or not all_rows:
            continue
        cells, column = door.table[name], columns[name]
        if plan.description(name).unmatched != "keep" and cells.null_count() == column.n_missing:
            kept[name] = cells.gather(column.first_positions())
            del cells
            door.forget(name)
    return kept


def _evidence(plan: Plan, step: Step, done: _Done, *, guessable_seed: bool) -> dict[str, Any]:
    columns = done.columns
    same = [one.same() for one in columns]
    named = dict.fromkeys([*plan.columns, *plan.masked])
    left_out = tuple(
        name for name in named if plan.description(name).role == "quasi-identifier" and name not in step.columns
    )
    unmatched = tuple(one.name for one in columns if one.prepared.n_unmatched)
    setting = Setting(left_out=left_out, unmatched=unmatched, guessable_seed=guessable_seed, facts=done.facts)
    return {
        "method": step.method.name,
        "columns": list(step.columns),
        "parameters": parameters_of(step.method),
        "unchanged": {one.name: one.n_unchanged for one in columns},
        "untouched": {one.name: one.untouched for one in columns},
        "missing": {one.name: one.prepared.n_missing for one in columns},
        "unmatched": {one.name: one.n_unmatched_in_place for one in columns},
        "unchanged_records": int(np.count_nonzero(np.logical_and.reduce(same))),
        "rmse": {one.name: one.rmse() for one in columns},
        "farthest": {one.name: one.farthest() for one in columns},
        **done.facts,
        "guarantee": step.method.guarantee(setting).to_dict(),
    }


def _warn_if_unchanged(one: MaskedColumn) -> None:
    """Warn when a column changed less than half as much as it would by swapping at random."""
    n_cells = one.n_cells
    if n_cells < ENOUGH_TO_JUDGE or one.n_values < 2:
        return
    changed = 1.0 - one.n_unchanged / n_cells
    changed_at_random = 1.0 - float(((one.prepared.attribute.counts / n_cells) ** 2).sum())
    if changed < changed_at_random / 2:
        warnings.warn(MostlyUnchangedWarning(one.name, 1.0 - changed), stacklevel=3)


def _warn_of_unmasked(plan: Plan, as_is: list[str]) -> None:
    unnamed = [name for name in as_is if name not in plan.columns]
    unmasked = [name for name in as_is if name in plan.columns and plan.columns[name].role == "quasi-identifier"]
    if unnamed or unmasked:
        warnings.warn(ReleasedAsIsWarning(unnamed, unmasked), stacklevel=3)
