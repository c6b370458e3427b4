"""Plan and table to release, one way for every engine: open the table, fit the plan, mask the rows, give evidence."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.encoding.frame_adapter import FrameAdapter, is_spark_frame
from anonto.encoding.prepare import opener
from anonto.engine.memory.recode import recode_table
from anonto.engine.refusals import elements_only_in_memory, not_in_batches, only_for_clusters
from anonto.errors import GuessableSeedWarning, InternalError
from anonto.io.atomic_write import require_free
from anonto.io.batches import bytes_in_memory, parquet_files, require_outside
from anonto.io.reading import table_format
from anonto.io.writing import output_format
from anonto.masking.evidence import outcome_of
from anonto.masking.fit import fit as fit_plan
from anonto.masking.plan import Plan, plan_of
from anonto.masking.release import Outputs, Release
from anonto.random.streams import seed_of
from anonto.runtime.memory_limit import DEFAULT as DEFAULT_MEMORY
from anonto.runtime.memory_limit import MemoryLimit, parse_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonto.engine.spark.numbered_frame import NumberedFrame
    from anonto.masking.protocol import Engine
    from anonto.masking.recoding import Recoding
    from anonto.random.streams import Seed

TIMES_OTHER_FORMATS = 10
"""The memory that Excel, SPSS, Stata and SAS files take, by their size."""
TIMES_AS_UNITS = 2
"""The memory that persons and sets take in memory, by that of their rows: records are made beside these."""


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
    chosen, secret = plan_of(plan), _secret(seed)
    if is_spark_frame(table):
        from anonto.engine.spark.numbered_frame import number_rows, without_row_id
        from anonto.engine.spark.source import OnCluster

        without_id = without_row_id(chosen, row_id)
        allowed = None if memory is None else parse_memory(memory)
        if not chosen.has_units:
            without_id.require_columns(table.columns)
        numbered, recoding = number_rows(table, row_id), None
        if chosen.recoded:
            from anonto.engine.spark.recode import recode_frame

            numbered, recoding = recode_frame(numbered, without_id, secret)
            without_id = recoding.plan
        if chosen.has_units:
            release = _mask_units_on_cluster(numbered, without_id, secret, allowed)
        else:
            release = _mask_rows(OnCluster(numbered, allowed), without_id, secret)
        return _with_warnings(release if recoding is None else recoding.complete(release))
    for name, given in (("row_id", row_id), ("memory", memory)):
        if given is not None:
            raise only_for_clusters(name)
    return _with_warnings(_mask_here(table, chosen, secret))


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
) -> Release:
    """Mask a table file into another, also one that is larger than memory.

    What is written does not depend on the memory: the same seed gives the same table as `mask` and `Release.save`. Only
    methods with a parameter ``block_rows`` work in blocks where all records at once do not fit: the blocks, and so the
    output, are then those of the limit, which the evidence names.

    A table that does not fit is read twice in batches. Its codes, and its rows while they are put into random order,
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
        The release, with the ``.evidence`` of what was written. A table that did not fit into memory has no ``.table``.
    """
    chosen, target = plan_of(plan), Path(output)
    limit = None if memory is None else parse_memory(memory)
    outputs = Outputs.of(target, private, report)
    files = parquet_files(table)
    read = [*(files or [Path(table)]), *([Path(plan)] if isinstance(plan, str | os.PathLike) else [])]
    require_free([*read, *chosen.ontology_files], [target, *outputs.further], force=force)
    if files is not None:
        require_outside(table, [target, *([] if outputs.report is None else [outputs.report])])
    if chosen.has_units:
        with _masked_units(table, chosen, limit, target, _secret(seed)) as masked:
            release = _with_warnings(masked)
            release.write_outputs(outputs, keep_order=keep_order, force=force)
        return release.in_order() if keep_order else release
    secret = _secret(seed)
    with _open_engine(table, chosen, limit, target, secret) as (engine, recoding):
        masked_rows = _mask_rows(engine, chosen if recoding is None else recoding.plan, secret)
        release = _with_warnings(masked_rows if recoding is None else recoding.complete(masked_rows))
        release.write_outputs(outputs, keep_order=keep_order, force=force)
    return release.in_order() if keep_order else release


def _secret(seed: int | None) -> Seed:
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=3)
    return secret


def _goes_over_files(table: str | os.PathLike[str], plan: Plan, memory: int | None, output: Path) -> bool:
    """True if a table is several Parquet files or exceeds the memory limit; its output must then be CSV or Parquet."""
    found = output_format(output)
    if parquet_files(table) is None and (memory is None or _fits(Path(table), plan, memory)):
        return False
    if found not in {"csv", "parquet"}:
        raise not_in_batches(output.name, memory or DEFAULT_MEMORY)
    return True


@contextmanager
def _open_engine(
    table: str | os.PathLike[str], plan: Plan, memory: int | None, output: Path, seed: Seed
) -> Iterator[tuple[Engine, Recoding | None]]:
    """The engine for a table: over files if it is several Parquet files or exceeds the memory limit, else in memory.

    Also what was recoded, if the plan recodes a column.
    """
    if not _goes_over_files(table, plan, memory, output):
        from anonto.engine.memory.source import InMemory

        if plan.recoded:
            recoded, recoding = recode_table(table, plan, seed)
            yield InMemory(recoded, recoding.plan), recoding
        else:
            yield InMemory(table, plan), None
        return
    from anonto.engine.files.source import OverFiles

    with OverFiles.open(table, plan, memory or DEFAULT_MEMORY, output, seed) as engine:
        yield engine, engine.recoding


def _with_warnings(release: Release) -> Release:
    """A release whose warnings the caller of the public function has got."""
    for warning in release.outcome.warnings():
        warnings.warn(warning, stacklevel=3)
    return release


def _mask_rows(engine: Engine, plan: Plan, seed: Seed) -> Release:
    """Fit a plan to the table of an engine, mask its rows, and say what was done."""
    fitted = fit_plan(engine, plan, seed, opener(plan.folder))
    masked_rows, tallies = engine.apply(fitted)
    outcome = outcome_of(plan, engine.names, fitted, tallies, seed)
    return Release(outcome=outcome, identifiers=plan.identifiers(engine.names), masked_rows=masked_rows, seed=seed)


def _mask_in_memory(table: Any, plan: Plan, seed: Seed) -> Release:
    """Mask a table in memory: first the elements of sets, each step by a table of its own, then the records."""
    from anonto.engine.memory.source import InMemory
    from anonto.masking.elements import ElementTable, with_elements

    on_elements = [number for number, step in enumerate(plan.steps) if plan.masks_elements(step)]
    if not on_elements:
        return _mask_rows(InMemory(table, plan), plan, seed)
    records = table if isinstance(table, FrameAdapter) else FrameAdapter(table)
    found, masked = {}, records
    for number in on_elements:
        part = ElementTable(records, plan, number, opener(plan.folder))
        own = _mask_rows(InMemory(part.frame, part.plan), part.plan, seed.derive("elements", number))
        masked = masked.with_column(part.name, part.joined(own.table[part.name]))
        found[number] = own.outcome, part.facts
    rest = replace(plan, steps=tuple(step for n, step in enumerate(plan.steps) if n not in found))
    release = _mask_rows(InMemory(masked, rest), rest, seed)
    return replace(release, outcome=with_elements(plan, release.outcome, found, seed))


def _mask_here(table: Any, plan: Plan, seed: Seed) -> Release:
    """Mask a table in memory, after its cells are recoded."""
    if plan.recoded:
        recoded, recoding = recode_table(table, plan, seed)
        return recoding.complete(_mask_here(recoded, recoding.plan, seed))
    return (_mask_units if plan.has_units else _mask_in_memory)(table, plan, seed)


def _mask_units(table: Any, plan: Plan, seed: Seed) -> Release:
    """Build the plan's records, mask them, and turn them back into rows."""
    from anonto.engine.memory.units import MaskedUnits, units_of

    units = units_of(table, plan, seed)
    inner = units.plan
    release = _mask_in_memory(FrameAdapter(units.records, origin=units.rows.origin), inner, seed)
    rows = MaskedUnits(units, release.masked_rows, seed)
    release.evidence.update(units.found.evidence(plan, rows.n_rows))
    return replace(release, masked_rows=rows)


def _mask_units_on_cluster(table: NumberedFrame, plan: Plan, seed: Seed, memory: int | None) -> Release:
    """Build the plan's records on the cluster, mask them there, and turn them back into rows."""
    if masks_elements(plan):
        raise elements_only_in_memory()
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.units import MaskedUnitsOnCluster, make_records

    units = make_records(table, plan, memory, seed)
    release = _mask_rows(units.engine, units.plan, seed)
    if not isinstance(release.masked_rows, MaskedFrame):
        raise InternalError("Records on a cluster were masked elsewhere.")
    rows = MaskedUnitsOnCluster(units, release.masked_rows, release.identifiers, seed)
    release.evidence.update(units.found.evidence(plan, rows.n_rows))
    return replace(release, masked_rows=rows)


def masks_elements(plan: Plan) -> bool:
    """True if a plan masks the elements of sets one by one."""
    return any(plan.masks_elements(step) for step in plan.steps)


@contextmanager
def _masked_units(
    table: str | os.PathLike[str], plan: Plan, memory: int | None, output: Path, seed: Seed
) -> Iterator[Release]:
    """The masked records of a file, in memory or over files, that leave as rows."""
    if not _goes_over_files(table, plan, memory, output):
        yield _mask_here(table, plan, seed)
        return
    if masks_elements(plan):
        raise elements_only_in_memory()
    from anonto.engine.files.sink import MaskedTable
    from anonto.engine.files.units import MaskedUnitsOverFiles, open_units

    with open_units(table, plan, memory or DEFAULT_MEMORY, output, seed) as units:
        release = _mask_rows(units.engine, units.plan, seed)
        if not isinstance(release.masked_rows, MaskedTable):
            raise InternalError("Records over files were masked elsewhere.")
        n_records = release.evidence["n_records"]
        rows = MaskedUnitsOverFiles(units, release.masked_rows, release.identifiers, n_records, seed)
        release.evidence.update(units.found.evidence(units.given, rows.n_rows))
        released = replace(release, masked_rows=rows)
        yield released if units.recoding is None else units.recoding.complete(released)


def _fits(path: Path, plan: Plan, memory: int) -> bool:
    """Return whether a file can be masked in memory; a format that can only be masked so must fit."""
    room = MemoryLimit(memory).for_data
    if plan.has_units:
        room //= TIMES_AS_UNITS
    if table_format(path) in {"csv", "parquet"}:
        # Where a step would not be fitted at once in two passes, it is not fitted at once in memory either.
        if any(step.method.has_tables and _has_ontology(plan, step.columns) for step in plan.steps):
            return False  # How much that takes is known when the values are.
        share = room / MemoryLimit(memory).for_step
        of_step = max((share * step.method.bytes_per_row(len(step.columns)) for step in plan.steps), default=0.0)
        return bytes_in_memory(path, len(plan.masked), of_step, room, plan.table.get("delimiter")) <= room
    if path.stat().st_size * TIMES_OTHER_FORMATS > room:
        raise not_in_batches(path.name, memory)
    return True


def _has_ontology(plan: Plan, columns: Sequence[str]) -> bool:
    return any(plan.description(name).ontologies for name in columns)
