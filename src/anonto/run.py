"""Plan and table to release, one way for every engine: open the table, fit the plan, mask the rows, give evidence."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.engine.room import DEFAULT as DEFAULT_MEMORY
from anonto.engine.room import Room, memory_of
from anonto.errors import GuessableSeedWarning, NotInStretchesError, OnlyForClustersError
from anonto.masking.evidence import outcome_of
from anonto.masking.fit import fit as fit_plan
from anonto.plan import Plan, plan_of
from anonto.private_record import PrivateRecord
from anonto.release import Outputs, Release
from anonto.rng import seed_of
from anonto.table.beside import require_free
from anonto.table.door import is_spark_frame
from anonto.table.prepare import opener
from anonto.table.reading import table_format
from anonto.table.stretches import bytes_in_memory, parquet_files, require_outside
from anonto.table.writing import output_format

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonto.engine.protocol import Engine
    from anonto.rng import Seed

TIMES_OTHER_FORMATS = 10
"""The memory that Excel, SPSS, Stata and SAS files take, by their size."""


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
        from anonto.engine.spark.engine import OnCluster
        from anonto.engine.spark.source import taken, without_row_id

        without_id = without_row_id(chosen, row_id)
        without_id.require_columns(table.columns)
        source = taken(table, row_id)
        return _released(OnCluster(source, None if memory is None else memory_of(memory)), without_id, secret)
    for name, given in (("row_id", row_id), ("memory", memory)):
        if given is not None:
            raise OnlyForClustersError(name)
    from anonto.engine.memory.source import InMemory

    return _released(InMemory(table, chosen), chosen, secret)


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
    group-swap, microaggregate and equi-depth-swap work in blocks where all records at once do not fit: the blocks, and
    so the output, are then those of the limit, which the evidence names.

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
    limit = None if memory is None else memory_of(memory)
    outputs = Outputs.of(target, private, report, PrivateRecord.beside)
    files = parquet_files(table)
    read = [*(files or [Path(table)]), *([Path(plan)] if isinstance(plan, str | os.PathLike) else [])]
    require_free([*read, *chosen.ontology_files], [target, *outputs.beside], force=force)
    if files is not None:
        require_outside(table, [target, *([] if outputs.report is None else [outputs.report])])
    with _opened(table, chosen, limit, target) as engine:
        release = _released(engine, chosen, _secret(seed))
        release.put_into(outputs, keep_order=keep_order, force=force)
    return release.in_order() if keep_order else release


def _secret(seed: int | None) -> Seed:
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=3)
    return secret


@contextmanager
def _opened(table: str | os.PathLike[str], plan: Plan, memory: int | None, output: Path) -> Iterator[Engine]:
    """The engine for a table file: in memory where it fits, else over files."""
    found = output_format(output)
    if parquet_files(table) is None and (memory is None or _fits(Path(table), plan, memory)):
        from anonto.engine.memory.source import InMemory

        yield InMemory(table, plan)
        return
    if found not in {"csv", "parquet"}:
        raise NotInStretchesError(output.name, memory or DEFAULT_MEMORY)
    from anonto.engine.files.source import OutOfCore

    with OutOfCore.opened(table, plan, memory or DEFAULT_MEMORY, output) as engine:
        yield engine


def _released(engine: Engine, plan: Plan, seed: Seed) -> Release:
    """Fit a plan to the table of an engine, mask its rows, and say what was done."""
    fitted = fit_plan(engine, plan, seed, opener(plan.folder))
    masked_rows, tallies = engine.apply(fitted)
    outcome = outcome_of(plan, engine.names, fitted, tallies, seed)
    for warning in outcome.warnings(engine.names):
        warnings.warn(warning, stacklevel=3)
    return Release(outcome=outcome, identifiers=plan.identifiers(engine.names), masked_rows=masked_rows, seed=seed)


def _fits(path: Path, plan: Plan, memory: int) -> bool:
    """Whether a file can be masked in memory; a format that can only be masked so must fit."""
    room = Room(memory).for_data
    if table_format(path) in {"csv", "parquet"}:
        # Where a step would not be fitted at once in two passes, it is not fitted at once in memory either.
        if any(step.method.has_tables and _has_ontology(plan, step.columns) for step in plan.steps):
            return False  # How much that takes is known when the values are.
        share = room / Room(memory).of_step
        of_step = max((share * step.method.bytes_per_row(len(step.columns)) for step in plan.steps), default=0.0)
        return bytes_in_memory(path, len(plan.masked), of_step, room, plan.table.get("delimiter")) <= room
    if path.stat().st_size * TIMES_OTHER_FORMATS > room:
        raise NotInStretchesError(path.name, memory)
    return True


def _has_ontology(plan: Plan, columns: Sequence[str]) -> bool:
    return any(plan.description(name).ontologies for name in columns)
