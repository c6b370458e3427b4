"""Plan and table to release: the masked table, the evidence of what was done, and the private record."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonto.engine.local import apply_by_row, apply_in_chunks
from anonto.engine.memory import DEFAULT as DEFAULT_MEMORY
from anonto.engine.memory import Room, memory_of
from anonto.engine.released import ColumnTally, NumberColumn
from anonto.engine.two_pass import require_range, with_settling
from anonto.engine.workspace import workspace
from anonto.errors import (
    GuessableSeedWarning,
    MissingColumnError,
    MostlyUnchangedWarning,
    NoRecordsWarning,
    NotInStretchesError,
    OnlyForClustersError,
    UnmatchedCellsWarning,
)
from anonto.methods.flows import Moves
from anonto.methods.registry import parameters_of
from anonto.methods.row_masking import as_codes, moves_between
from anonto.plan import Plan, plan_of
from anonto.private_record import PrivateRecord
from anonto.release import MaskedColumn, MaskedNumbers, Outcome, Release, warn_of_blocks
from anonto.rng import Seed, keyed_permutations, row_order, seed_of
from anonto.table.attributes import ExtendedAttribute, NumericAttribute
from anonto.table.beside import files_beside, require_free
from anonto.table.door import Door, is_spark_frame
from anonto.table.new_cells import settled
from anonto.table.prepare import encode_described, opener, prepare, records_to_drop, with_missing_as_value
from anonto.table.reading import read_table, table_format
from anonto.table.recoding import merge_missing, missing_in
from anonto.table.records import distinct_records, distinct_rows
from anonto.table.stretches import bytes_in_memory, open_stretches, parquet_files, require_outside
from anonto.table.writing import output_format, sink_in_parts, warn_of_changed_types
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.clusters import ClusterRelease
    from anonto.engine.ordering import MaskedTable
    from anonto.engine.released import OutColumn, StepTally
    from anonto.engine.spark_run import MaskedFrame
    from anonto.engine.two_pass import FittedStep
    from anonto.methods.guarantee import Setting
    from anonto.methods.registry import RecordMethod, RowMethod
    from anonto.plan import Step
    from anonto.table.columns import Column, TextBatches
    from anonto.table.description import ColumnDescription
    from anonto.table.missing_codes import MissingCodes, Recoded
    from anonto.table.prepare import Opener, PreparedColumn
    from anonto.table.table import Table


RECORDS_AT_ONCE = 1 << 20
ENOUGH_TO_JUDGE = 100
"""Cells from which on a column that hardly changed is warned about."""


def mask(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    seed: int | None = None,
    row_id: str | None = None,
    memory: int | str | None = None,
) -> Release:
    """Mask a table as a plan says.

    Args:
        table: A pandas, polars or pyarrow table, a Spark DataFrame, or the path of a CSV, Parquet, Excel, SPSS, Stata
            or SAS file.
        plan: A `Plan`, a dict of the same shape as a plan file, or the path of one.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same input gives the
            same release, and whoever knows it can undo the masking.
        row_id: For a Spark DataFrame that is not simply read from Parquet files: a column of whole numbers, each in one
            row, that says in which order the rows stand. It is dropped.
        memory: For a Spark DataFrame: how much memory of the driver the fitting of a step may take, in bytes or as
            ``"2GB"``; without it half of what its machine has. A file is masked within a limit by `mask_file`.

    Returns:
        A release with ``.table`` (the caller's kind of table, rows in their order), ``.evidence`` and ``.save(path)``.
    """
    chosen = plan_of(plan)
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=2)
    if is_spark_frame(table):
        limit = None if memory is None else memory_of(memory)
        return cast("Release", _on_cluster(table, chosen, secret, row_id, limit))
    for name, given in (("row_id", row_id), ("memory", memory)):
        if given is not None:
            raise OnlyForClustersError(name)
    door, read = _opened(table, chosen)
    _require_columns(door.names, chosen)
    open_once = opener(chosen.folder)
    series = door.series if read is None else read.column_or_batches
    origin = None if read is None else read.origin
    columns, rows = _records_that_stay(door.names, series, chosen, open_once)
    apart = {} if read is None else read.apart
    missing, recoded = _missing_codes(columns, door, chosen, rows, apart)
    texts = {} if read is None else _let_go(columns, door, chosen, apart, all_rows=rows is None)
    cells = _Cells(texts, missing, recoded)
    del series, read
    steps = [_masked(number, chosen, columns, rows, cells, secret, open_once) for number in range(len(chosen.steps))]
    n_records = len(door) if rows is None else int(rows.size)
    evidence, settings = _all_evidence(chosen, door.names, (len(door), n_records), steps, secret)
    return Release(
        evidence=evidence,
        settings=settings,
        plan=chosen,
        masked={one.name: one for done in steps for one in done.columns},
        door=door,
        origin=origin,
        identifiers=_identifiers(door.names, chosen),
        rows=rows,
        seed=secret,
    )


def _on_cluster(frame: Any, given: Plan, seed: Seed, row_id: str | None, memory: int | None) -> ClusterRelease:
    """Mask a Spark DataFrame where it is."""
    from anonto.clusters import ClusterRelease, taken, without_row_id
    from anonto.engine.spark_run import OnCluster

    plan, names = without_row_id(given, row_id), list(frame.columns)
    _require_columns(names, plan)
    source = taken(frame, row_id)
    looked_at = _looked_at(names, plan)
    masked = OnCluster(
        table=source.table,
        steps=plan.steps,
        descriptions={name: plan.description(name) for name in looked_at},
        looked_at=looked_at,
        seed=seed,
        open_once=opener(plan.folder),
        memory=memory,
    ).masked()
    outcome = _outcome(plan, masked, seed)
    warn_of_blocks(plan, outcome.evidence)
    return ClusterRelease(
        evidence=outcome.evidence,
        settings=outcome.settings,
        plan=given,
        masked=outcome.masked,
        identifiers=_identifiers(names, plan),
        rows=masked,
        seed=seed,
        source=source,
    )


def mask_file(
    table: str | os.PathLike[str],
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    seed: int | None = None,
    memory: int | str | None = None,
    keep_order: bool = False,
    private: bool | str | os.PathLike[str] = True,
    report: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Mask a table file into another, also one that is larger than memory.

    What is written does not depend on the memory: the same seed gives the same table as `mask` and `Release.save`. Only
    group-swap, microaggregate and equi-depth-swap work in blocks where all records at once do not fit: the blocks, and
    so the output, are then those of the limit, which the evidence names.

    A table that does not fit is read twice in stretches. Its codes, and its rows while they are put into random order,
    wait in a folder beside the output that only the owner can read and that is gone at the end; it takes up to about as
    much disk as the rows take in memory.

    Args:
        table: A file as in `mask`; or a folder, or a pattern such as ``"visits/*.parquet"``, of Parquet files that
            are one table, in the order of their names.
        plan: As in `mask`.
        output: The masked table; ``.csv``, ``.csv.gz``, ``.tsv`` or ``.parquet`` where it does not fit into memory.
        seed: As in `mask`.
        memory: How much memory may be used, in bytes or as ``"2GB"``; without it a file is masked in memory.
        keep_order: As in `Release.save`.
        private: As in `Release.save`.
        report: As in `Release.save`.
        force: Whether files that are there are replaced.

    Returns:
        The evidence of what was done.
    """
    chosen, target = plan_of(plan), Path(output)
    limit = None if memory is None else memory_of(memory)
    record = PrivateRecord.beside(target) if private is True else Path(str(private))
    files = parquet_files(table)
    outputs = [target, *([] if private is False else [record]), *([] if report is None else [Path(report)])]
    read = [*(files or [Path(table)]), *([Path(plan)] if isinstance(plan, str | os.PathLike) else [])]
    require_free([*read, *chosen.ontology_files], outputs)
    if files is not None:
        require_outside(table, [target, *([] if report is None else [Path(report)])])
    if files is None and (limit is None or _fits(Path(table), chosen, limit)):
        release = mask(table, chosen, seed=seed)
        return release.save(target, keep_order=keep_order, private=private, report=report, force=force)
    if output_format(target) not in {"csv", "parquet"}:
        raise NotInStretchesError(target.name, limit or DEFAULT_MEMORY)
    from anonto.engine.out_of_core import OutOfCore

    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=2)
    with workspace(target) as folder, files_beside() as waiting:
        written = waiting.add(target, force=force, room=folder)
        private_file = None if private is False else waiting.add(record, force=force, mode=0o600)
        report_file = None if report is None else waiting.add(Path(report), force=force)
        source = open_stretches(table, **chosen.reading)
        names = list(source.schema)
        _require_columns(names, chosen)
        looked_at = _looked_at(names, chosen)
        masked = OutOfCore(
            source=source,
            steps=chosen.steps,
            descriptions={name: chosen.description(name) for name in looked_at},
            looked_at=looked_at,
            seed=secret,
            open_once=opener(chosen.folder),
            room=Room(limit or DEFAULT_MEMORY),
            folder=folder,
        ).masked()
        outcome = _outcome(chosen, masked, secret)
        outcome = outcome.in_order() if keep_order else outcome
        evidence, page = outcome.evidence, None if report_file is None else outcome.report()
        del outcome
        masked.let_go_of_steps()
        order = None if keep_order else row_order(secret, "order of rows", masked.n_records)
        identifiers = _identifiers(names, chosen)
        sink_in_parts(lambda: masked.parts(identifiers, order, chosen.scales), source.origin, written, target.name)
        if report_file is not None and page is not None:
            report_file.write_text(page, encoding="utf-8")
        if private_file is not None:
            PrivateRecord.of(secret, source.origin, evidence).write(private_file)
    warn_of_blocks(chosen, evidence)
    warn_of_changed_types(source.origin, [name for name in names if name not in identifiers], target.name)
    return evidence


def _fits(path: Path, plan: Plan, memory: int) -> bool:
    """Whether a file can be masked in memory; a format that can only be masked so must fit."""
    from anonto.engine.fitting import bytes_per_row, has_tables

    room = Room(memory).for_data
    if table_format(path) in {"csv", "parquet"}:
        # Where a step would not be fitted at once in two passes, it is not fitted at once in memory either.
        if any(has_tables(step.method) and _has_ontology(plan, step.columns) for step in plan.steps):
            return False  # How much that takes is known when the values are.
        share = room / Room(memory).of_step
        of_step = max((share * bytes_per_row(step.method, len(step.columns)) for step in plan.steps), default=0.0)
        return bytes_in_memory(path, len(plan.masked), of_step, room, plan.table.get("delimiter")) <= room
    if path.stat().st_size * TIMES_OTHER_FORMATS > room:
        raise NotInStretchesError(path.name, memory)
    return True


def _has_ontology(plan: Plan, columns: Sequence[str]) -> bool:
    return any(plan.description(name).ontologies for name in columns)


TIMES_OTHER_FORMATS = 10
"""The memory that Excel, SPSS, Stata and SAS files take, by their size."""


def _outcome(plan: Plan, masked: MaskedTable | MaskedFrame, seed: Seed) -> Outcome:
    """The evidence of a table that was masked in stretches."""
    steps = []
    for step, tally, real_k in zip(masked.steps, masked.tallies, masked.real_k, strict=True):
        facts = dict(step.facts if step.row_part is None else step.row_part.masker.facts([], []))
        equal = {} if real_k is None else {"real_k": real_k}
        columns = [_masked_elsewhere(column, step, tally) for column in step.columns]
        steps.append(_Done(columns, {**facts, **equal}, tally.unchanged_records))
    names, n_rows = list(masked.source.schema), masked.source.n_rows
    evidence, settings = _all_evidence(plan, names, (n_rows, masked.n_records), steps, seed)
    by_name = {one.name: one for done in steps for one in done.columns}
    return Outcome(evidence=evidence, settings=settings, plan=plan, masked=by_name)


def _masked_elsewhere(column: OutColumn, step: FittedStep, tally: StepTally) -> MaskedColumn:
    nowhere = np.empty(0, dtype=np.int32)
    of_rows = tally.columns.get(column.name, ColumnTally())
    moves = step.moves.get(column.name) or of_rows.moves or Moves(nowhere, nowhere, np.empty(0, dtype=np.int64))
    untouched = step.untouched[column.name]
    if not isinstance(column, NumberColumn):
        return MaskedColumn(
            prepared=column.prepared,
            attribute=column.attribute,
            moves=moves,
            untouched=untouched,
            before=nowhere,
            codes=nowhere,
            recoded=column.recoded,
        )
    return MaskedNumbers(
        prepared=column.prepared,
        attribute=column.attribute,
        moves=moves,
        untouched=untouched,
        before=nowhere,
        codes=nowhere,
        recoded=column.recoded,
        n_same=of_rows.n_same,
        squares=of_rows.squares,
        largest=of_rows.farthest,
    )


def _identifiers(names: Sequence[str], plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in names if plan.description(name).role == "identifier")


def _all_evidence(
    plan: Plan, names: Sequence[str], n_rows_and_records: tuple[int, int], steps: Sequence[_Done], seed: Seed
) -> tuple[dict[str, Any], tuple[Setting, ...]]:
    """What was done to a table, with warnings of what hardly changed or not at all; and what each promise rests on.

    It is about the rows in random order, as they are saved by default.
    """
    n_rows, n_records = n_rows_and_records
    identifiers = _identifiers(names, plan)
    as_is = [name for name in names if name not in plan.masked and name not in identifiers]
    settings = tuple(
        plan.setting(
            step,
            names,
            {one.name for one in done.columns if one.prepared.n_unmatched},
            guessable_seed=seed.can_be_guessed,
            no_records=not n_records,
            facts=done.facts,
        )
        for step, done in zip(plan.steps, steps, strict=True)
    )
    said = [_evidence(*one) for one in zip(plan.steps, steps, settings, strict=True)]
    if not n_records:
        warnings.warn(NoRecordsWarning(n_rows), stacklevel=3)
    for warning in plan.warnings_about(names):
        warnings.warn(warning, stacklevel=3)
    _warn_of_unmatched([one for done in steps for one in done.columns])
    for of_step in said:
        for name in of_step["hardly_changed"]:
            share = of_step["unchanged"][name] / (n_records - of_step["missing"][name])
            warnings.warn(MostlyUnchangedWarning(name, share), stacklevel=3)
    evidence = {
        "n_records": n_records,
        "dropped_records": n_rows - n_records,
        "dropped_columns": list(identifiers),
        "released_as_is": as_is,
        "rows_in_order": False,
        "steps": said,
    }
    return evidence, settings


def _opened(table: Any, plan: Plan) -> tuple[Door, Table | None]:
    if isinstance(table, str | os.PathLike):
        read = read_table(table, **plan.reading, apart=_read_in_stretches(plan))
        n_rows = next((column.n_rows for column in read.apart.values()), None)
        door = Door(read.frame, read.names or None, n_rows, read.origin)
        door.hold_as_text(plan.released_as_text)
        return door, read if door.table is read.frame else replace(read, frame=door.table)
    door = Door(table)
    door.hold_as_text(plan.released_as_text)
    return door, None


def _read_in_stretches(plan: Plan) -> list[str]:
    """Masked columns of which the file's own cells are not needed once they are encoded."""
    described = {name: plan.description(name) for name in plan.masked}
    return [name for name, one in described.items() if one.unmatched != "keep" and not one.na]


def _require_columns(names: Sequence[str], plan: Plan) -> None:
    for name in [*plan.columns, *plan.masked, *plan.also_needed]:
        if name not in names:
            raise MissingColumnError(name, list(names))


def _looked_at(names: Sequence[str], plan: Plan) -> list[str]:
    """The columns that a step or a policy looks at."""
    return [
        name
        for name in names
        if name in (*plan.masked, *plan.also_needed) or (name in plan.columns and _drops_or_refuses(plan.columns[name]))
        if plan.description(name).role != "identifier"
    ]


def _records_that_stay(
    names: Sequence[str], series: Callable[[str], pl.Series | TextBatches], plan: Plan, open_once: Opener
) -> tuple[dict[str, Column], NDArray[np.int64] | None]:
    """Encode every column that a step or a policy looks at; leave out the records that a policy drops."""
    columns = {name: encode_described(name, series(name), plan.description(name)) for name in _looked_at(names, plan)}
    drops = [records_to_drop(column, plan.description(name), open_once) for name, column in columns.items()]
    dropping = [dropped for dropped in drops if dropped is not None]
    if not dropping:
        return columns, None
    stays = ~np.logical_or.reduce(dropping)
    return {name: column.kept(stays) for name, column in columns.items()}, np.flatnonzero(stays)


def _missing_codes(
    columns: Mapping[str, Column],
    door: Door,
    plan: Plan,
    rows: NDArray[np.int64] | None,
    apart: Collection[str],
) -> tuple[dict[str, MissingCodes], dict[str, Recoded]]:
    """The codes of missing cells in columns that keep several of them, and the cells of others that get one code."""
    missing: dict[str, MissingCodes] = {}
    recoded: dict[str, Recoded] = {}
    for step in plan.steps:
        for name in step.columns:
            found = None if name in apart else missing_in(door, name, columns[name], rows)
            if found is None:
                continue
            description = plan.description(name)
            if getattr(step.method, "moves_missing", False) or description.missing_codes == "keep":
                if len(found.codes) > 1:
                    missing[name] = found
            elif (changed := merge_missing(door, name, found, description.na, rows)) is not None:
                recoded[name] = changed
    return missing, recoded


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """What is known of cells besides the codes of their values."""

    texts: Mapping[str, pl.Series]
    """The values of columns that were let go."""
    missing: Mapping[str, MissingCodes]
    """For columns with several codes of missing cells: which cell has which."""
    recoded: Mapping[str, Recoded]
    """For columns in which several became one: which cells are not as they were."""


@dataclass(frozen=True, slots=True, eq=False)
class _Done:
    """A step carried out."""

    columns: list[MaskedColumn]
    facts: Mapping[str, Any]
    n_unchanged_records: int | None = None
    """None where the columns themselves can tell."""

    @property
    def unchanged_records(self) -> int:
        """Records that leave as they were."""
        if self.n_unchanged_records is not None:
            return self.n_unchanged_records
        parts = slices(0, self.columns[0].codes.size, RECORDS_AT_ONCE)
        return sum(
            int(np.count_nonzero(np.logical_and.reduce([one.same(part) for one in self.columns]))) for part in parts
        )


def _masked(
    number: int,
    plan: Plan,
    columns: Mapping[str, Column],
    rows: NDArray[np.int64] | None,
    cells: _Cells,
    seed: Seed,
    open_once: Opener,
) -> _Done:
    step = plan.steps[number]
    places = range(len(columns[step.columns[0]])) if rows is None else rows
    prepared = [prepare(name, columns[name], plan.description(name), open_once, places) for name in step.columns]
    for one in prepared:
        require_range(one)
    beside = [prepare(name, columns[name], plan.description(name), open_once, places) for name in step.also_needs]
    method = step.method
    if method.together:
        if method.by_row:
            return _masked_by_row(number, method, prepared, rows, cells, seed)
        return _masked_together(number, method, prepared, beside, columns, cells, seed)
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
                texts=cells.texts.get(one.name),
                recoded=cells.recoded.get(one.name),
            )
        )
    return _Done(done, {})


def _masked_together(
    number: int,
    method: RecordMethod,
    prepared: list[PreparedColumn],
    beside: list[PreparedColumn],
    columns: Mapping[str, Column],
    cells: _Cells,
    seed: Seed,
) -> _Done:
    """Mask several columns by whole records; the method may look at others beside them."""
    parts = [
        with_missing_as_value(one, columns[one.name], cells.missing.get(one.name))
        if method.moves_missing
        else (with_settling(one), one.column.codes)
        for one in prepared
    ]
    seen = [*parts, *((one.attribute, one.column.codes) for one in beside)]
    records, record_of = distinct_records(
        [one.name for one in (*prepared, *beside)], [attribute for attribute, _ in seen], [codes for _, codes in seen]
    )
    fitted = method.fit(records, seed.stream("fit", number))
    permutations = keyed_permutations(seed, f"apply {number}", fitted.flows.permuted)
    released = apply_in_chunks(fitted.flows, permutations, record_of, in_place=True)
    moves = [fitted.moves(records, place) for place in range(len(prepared))]
    attributes, new_records = fitted.attributes or records.attributes, fitted.released
    untouched, facts = fitted.untouched, fitted.facts
    del record_of, permutations, fitted  # What becomes of each record, or row, is not held beside the new cells.
    done = [
        MaskedColumn(
            prepared=one,
            attribute=attributes[place],
            moves=moves[place],
            untouched=untouched[place],
            before=codes,
            codes=_looked_up(new_records[:, place], released),
            texts=cells.texts.get(one.name),
            recoded=cells.recoded.get(one.name),
        )
        for place, (one, (_, codes)) in enumerate(zip(prepared, parts, strict=True))
    ]
    equal = {"real_k": _real_k(done, columns, cells.missing)} if getattr(method, "makes_equal", False) else {}
    return _Done(done, {**facts, **equal})


def _looked_up(values: NDArray[np.int32], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """The values at places, some at a time: places take twice their room while they are used."""
    out = np.empty_like(places)

    def fill(part: slice) -> None:
        out[part] = values[places[part]]

    in_threads(fill, slices(0, places.size, RECORDS_AT_ONCE))
    return out


def _real_k(done: Sequence[MaskedColumn], columns: Mapping[str, Column], missing: Mapping[str, MissingCodes]) -> int:
    """How many records are equal at least in all columns as they are released; cells that stay count as they are."""
    cells = []
    for one in done:
        codes = one.codes
        if one.prepared.n_unmatched or one.name in missing:
            _, as_they_are = with_missing_as_value(one.prepared, columns[one.name], missing.get(one.name))
            codes = np.where(codes >= 0, codes, as_they_are + np.int32(one.attribute.counts.size))
        cells.append(codes)
    _, record_of = distinct_rows(cells)
    return int(np.bincount(record_of).min()) if record_of.size else 0


def _masked_by_row(
    number: int,
    method: RowMethod,
    prepared: list[PreparedColumn],
    rows: NDArray[np.int64] | None,
    cells: _Cells,
    seed: Seed,
) -> _Done:
    """Mask several columns by draws of each row."""
    before = [one.column.codes for one in prepared]
    records = distinct_records([one.name for one in prepared], [one.attribute for one in prepared], before)[0]
    masker = method.fit(records, seed.stream("fit", number))
    after = apply_by_row(masker, before, rows, seed.key("apply", number))
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
                texts=cells.texts.get(one.name),
                recoded=cells.recoded.get(one.name),
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


def _evidence(step: Step, done: _Done, setting: Setting) -> dict[str, Any]:
    columns = done.columns
    recoded = {one.name: dict(one.recoded.counts) for one in columns if one.recoded is not None}
    how_far = {one.name: one.how_far() for one in columns}
    guarantee = step.method.guarantee(setting)
    links_are_bounded = guarantee.proved and guarantee.k is not None
    return {
        "method": step.method.name,
        "columns": list(step.columns),
        "parameters": parameters_of(step.method),
        "unchanged": {one.name: one.n_unchanged for one in columns},
        "untouched": {one.name: one.untouched for one in columns},
        "missing": {one.name: one.prepared.n_missing for one in columns},
        **({"missing_codes": recoded} if recoded else {}),
        "unmatched": {one.name: one.n_unmatched_in_place for one in columns},
        "hardly_changed": [] if links_are_bounded else [one.name for one in columns if _hardly_changed(one)],
        "unchanged_records": done.unchanged_records,
        "rmse": {name: rmse for name, (rmse, _) in how_far.items()},
        "farthest": {name: farthest for name, (_, farthest) in how_far.items()},
        **done.facts,
        "guarantee": guarantee.to_dict(),
    }


def _hardly_changed(one: MaskedColumn) -> bool:
    """Whether a column changed less than half as much as it would by swapping at random."""
    n_cells = one.n_cells
    if n_cells < ENOUGH_TO_JUDGE or one.n_values < 2:
        return False
    changed = 1.0 - one.n_unchanged / n_cells
    changed_at_random = 1.0 - float(((one.prepared.attribute.counts / n_cells) ** 2).sum())
    return changed < changed_at_random / 2


def _warn_of_unmatched(columns: Sequence[MaskedColumn]) -> None:
    """Warn of cells without a concept, but for methods that move them like missing ones."""
    stay = [one for one in columns if not isinstance(one.attribute, ExtendedAttribute)]
    cells = {one.name: one.n_unmatched_in_place for one in stay if one.n_unmatched_in_place}
    if cells:
        warnings.warn(UnmatchedCellsWarning(list(cells), list(cells.values())), stacklevel=3)
