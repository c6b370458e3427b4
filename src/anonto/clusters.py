"""Tables on a Spark cluster: taken in with numbered rows, and given back as a release whose rows stay there.

Rows are numbered as they stand in Parquet files, files by name. A DataFrame that is anything else is first written
down: in the order of a column that numbers its rows, or as it comes.
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.engine.released_frames import remember_rows
from anonto.engine.spark import jobs, require_spark
from anonto.engine.spark_files import Read, Storage, local_path, own_prefix, what_is_read, write_parquet
from anonto.engine.spark_profile import profile_on_cluster
from anonto.engine.spark_rows import has_row_numbers, quoted
from anonto.engine.spark_table import SparkTable, put_parts_in_order, write_shuffled
from anonto.errors import (
    DuplicateColumnError,
    ForeignSessionError,
    MissingColumnError,
    NoScratchError,
    OnlyParquetError,
    OrderNotKeptError,
    PrivatePlaceError,
    RowIdError,
)
from anonto.ontology.source import file_sha256
from anonto.private_record import PrivateRecord
from anonto.release import Outcome
from anonto.rng import Seed, row_order
from anonto.table.beside import files_beside, written_beside
from anonto.table.description import ColumnDescription
from anonto.table.table import Origin

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anonto.engine.spark_run import MaskedFrame
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.release import MaskedColumn

LARGEST_HASHED = 1 << 34
"""Files of this machine with more bytes are told by their name alone in the private record."""


@dataclass(frozen=True, eq=False)
class Taken:
    """A DataFrame whose rows have numbers."""

    table: SparkTable
    written_down: str | None
    """The folder that it was written to first, if it had to be; it is removed when nobody needs it any more."""
    read: Read
    """What it was read from, before it was written down."""

    def __post_init__(self) -> None:
        if self.written_down is not None:
            weakref.finalize(self, forget, self.table.session, self.written_down)


def taken(frame: Any, row_id: str | None) -> Taken:
    """Take a DataFrame in; write it down first where its rows have no numbers."""
    require_spark()
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise ForeignSessionError
    repeated = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if repeated:
        raise DuplicateColumnError(repeated)
    session = frame.sparkSession
    scratch = _scratch(session)
    if scratch is not None:
        Storage(session).clear_left_over(scratch)
    read = what_is_read(frame)
    if row_id is None and has_row_numbers(frame):
        return Taken(SparkTable.of(frame), None, read)
    if row_id is not None:
        _require_row_id(frame, row_id)
        frame = frame.orderBy(quoted(row_id))
    if scratch is None:
        raise NoScratchError
    folder = _new_folder(session, scratch)
    try:
        with jobs(session, "Writing a DataFrame down, to number its rows"):
            write_parquet(frame, folder)
        return Taken(SparkTable.of(session.read.schema(frame.schema).parquet(folder)), folder, read)
    except BaseException:
        forget(session, folder)
        raise


def profile_frame(frame: Any, plan: Plan) -> dict[str, Any]:
    """What a DataFrame is like: see `anonto.stats.profile`."""
    source = taken(frame, None)
    return profile_on_cluster(source.table, plan)


def without_row_id(plan: Plan, row_id: str | None) -> Plan:
    """A plan that drops the column that numbers the rows: it would link them to the original."""
    if row_id is None:
        return plan
    if row_id in (*plan.masked, *plan.also_needed):
        raise RowIdError(row_id, "a step of the plan works on it")
    return replace(plan, columns=MappingProxyType({**plan.columns, row_id: ColumnDescription(role="identifier")}))


def _require_row_id(frame: Any, row_id: str) -> None:
    """A column that numbers the rows holds whole numbers, none missing and none twice."""
    from pyspark.sql import functions
    from pyspark.sql.types import IntegralType

    if row_id not in frame.columns:
        raise MissingColumnError(row_id, frame.columns)
    if not isinstance(frame.schema[row_id].dataType, IntegralType):
        raise RowIdError(row_id, "its type is not that of whole numbers")
    column = functions.col(quoted(row_id))
    with jobs(frame.sparkSession, "Looking at the numbers of the rows"):
        found = frame.agg(
            functions.count(functions.lit(1)), functions.count(column), functions.count_distinct(column)
        ).head()
    n_rows, n_present, n_distinct = found
    if n_present < n_rows:
        raise RowIdError(row_id, f"{n_rows - n_present:,} of {n_rows:,} rows have none")
    if n_distinct < n_rows:
        raise RowIdError(row_id, f"{n_rows:,} rows have {n_distinct:,} different ones")


_OF_A_SESSION = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/?$")
"""How Spark names the folder of a session in the one for checkpoints; that of a killed one is not found any more."""
_OF_THIS_MACHINE = "file:"


def _scratch(session: Any) -> str | None:
    """A folder that all workers reach: where checkpoints go, or one of this machine if it does all the work."""
    checkpoints = session.sparkContext.getCheckpointDir()
    if checkpoints is not None:
        return _OF_A_SESSION.sub("/", str(checkpoints))
    if session.sparkContext.master.startswith("local"):
        return f"{_OF_THIS_MACHINE}{tempfile.gettempdir()}"
    return None


def _new_folder(session: Any, scratch: str) -> str:
    """A name for a table in a scratch folder; in that of the system it is inside a folder of the owner alone."""
    if session.sparkContext.getCheckpointDir() is None:
        return f"{_OF_THIS_MACHINE}{tempfile.mkdtemp(prefix=own_prefix())}/table.parquet"
    return f"{scratch.rstrip('/')}/{own_prefix()}{secrets.token_hex(8)}.parquet"


def forget(session: Any, folder: str) -> None:
    """Remove what a DataFrame was written down to, also where its session has ended."""
    with suppress(Exception):
        Storage(session).delete(folder)
    if not folder.startswith(_OF_THIS_MACHINE):
        return
    here = Path(folder.removeprefix(_OF_THIS_MACHINE))
    own = here if here.name.startswith(own_prefix()) else here.parent
    if own.name.startswith(own_prefix()):
        shutil.rmtree(own, ignore_errors=True)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClusterRelease:
    """A masked table on a cluster, with the evidence of how it was masked."""

    evidence: dict[str, Any]
    """Plain data: what was done, what stayed as it was, what is promised of the files that `save` writes by default."""
    settings: tuple[Setting, ...]
    """For each step what its guarantee rests on."""
    plan: Plan
    masked: Mapping[str, MaskedColumn]
    identifiers: tuple[str, ...]
    rows: MaskedFrame = field(repr=False)
    seed: Seed = field(repr=False)
    source: Taken = field(repr=False)

    def __repr__(self) -> str:
        n, as_is = self.evidence["n_records"], len(self.evidence["released_as_is"])
        return f"<Release of {n:,} records: {len(self.masked)} columns masked, {as_is} released as they are>"

    @cached_property
    def table(self) -> Any:
        """The masked table as a DataFrame, rows where they were; nothing is computed before it is asked for."""
        frame = self.rows.frame(self.identifiers, None)
        remember_rows(frame, self.rows, self.source)
        return frame

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_order: bool = False,
        private: bool | str | os.PathLike[str] = True,
        report: str | os.PathLike[str] | None = None,
        force: bool = True,
    ) -> dict[str, Any]:
        """Write the masked table as a folder of Parquet files, whose rows are in order when files are read by name.

        The folder is written beside its name first, and put in place when it is whole, right after the private record
        and the report; if that fails, none of them is. What was masked and the ontologies of the plan are never
        replaced.

        Args:
            path: Where the cluster can write; it ends in ``.parquet``.
            keep_order: Keep the rows in their order, which links them to the original table: no guarantee that limits
                linking is proved then.
            private: Where the private record goes, on this machine; by default beside the output as
                ``….private.json``; False for nowhere.
            report: Where a report goes as HTML, if it is wanted.
            force: Whether what is there is replaced.

        Returns:
            The evidence of what was written. It differs from ``evidence`` where the order is kept.
        """
        outcome = self._outcome.in_order() if keep_order else self._outcome
        target = str(path)
        if not target.rstrip("/").endswith(".parquet"):
            raise OnlyParquetError(target)
        session = self.rows.table.session
        storage = Storage(session)
        record = _record_beside(session, target) if private is True else Path(private or "")
        beside = [*([] if private is False else [record]), *([] if report is None else [Path(report)])]
        self.source.read.require_apart((target, storage.place(target)), beside, self.plan.ontology_files)
        with files_beside() as files:
            report_file = None if report is None else files.add(Path(report), force=force)
            private_file = None if private is False else files.add(record, force=force, mode=0o600)
            with (
                jobs(session, "Putting the masked table in place"),
                storage.written_beside(target, force=force, then=files.stay) as folder,
            ):
                self._write(folder, keep_order=keep_order)
                if report_file is not None:
                    report_file.write_text(outcome.report(), encoding="utf-8")
                if private_file is not None:
                    self._write_record(private_file)
                files.put_in_place()
        return outcome.evidence

    def save_private(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the seed and the name of the input to a file that only its owner can read."""
        self.source.read.require_apart(None, [Path(path)], self.plan.ontology_files)
        with written_beside(Path(path), force=force, mode=0o600) as beside:
            self._write_record(beside)

    def save_report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write what was done, and what of the frequencies is left, as one HTML file.

        It is about the files that `save` writes by default, with their rows in random order.
        """
        self.source.read.require_apart(None, [Path(path)], self.plan.ontology_files)
        with written_beside(Path(path), force=force) as beside:
            beside.write_text(self._outcome.report(), encoding="utf-8")

    @property
    def _outcome(self) -> Outcome:
        return Outcome(evidence=self.evidence, settings=self.settings, plan=self.plan, masked=self.masked)

    def _write(self, folder: str, *, keep_order: bool) -> None:
        table, n_records = self.rows.table, self.rows.n_records
        if keep_order and not self.rows.keeps_order and not self.rows.is_placed:
            raise OrderNotKeptError
        order = None if keep_order else row_order(self.seed, "order of rows", n_records)
        with jobs(table.session, "Masking the rows"), table.own_splits():
            frame = self.rows.frame(self.identifiers, order)
            if keep_order or self.rows.is_placed:
                write_parquet(frame, folder)
            else:
                write_shuffled(frame, folder, n_records)
            as_they_were = keep_order and not self.rows.is_placed
            put_parts_in_order(table.session, folder, self.rows.partitions if as_they_were else None, n_records)
            table.require_unchanged()

    def _write_record(self, path: Path) -> None:
        origin = None if self.source.written_down else self._origin()
        PrivateRecord.of(self.seed, origin, self.evidence).write(path)

    def _origin(self) -> Origin:
        """The name of the table and, of one file of this machine, its hash."""
        table = self.rows.table
        paths = [local_path(uri) for uri in table.row_groups.paths]
        name = table.row_groups.paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} files"
        here = paths[0] if len(paths) == 1 else None
        hashed = here is not None and here.is_file() and here.stat().st_size <= LARGEST_HASHED
        return Origin(name=name, format="parquet", sha256=file_sha256(here) if here is not None and hashed else "")


def _record_beside(session: Any, target: str) -> Path:
    """Beside an output on this machine."""
    found = local_path(str(Storage(session).path(target).toUri().toString()))
    if found is None:
        raise PrivatePlaceError(target)
    return PrivateRecord.beside(found)
