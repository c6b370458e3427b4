"""Tables on a Spark cluster: taken in with numbered rows, and given back as a release whose rows stay there.

Rows are numbered as they stand in Parquet files, files by name. A DataFrame that is anything else is first written
down: in the order of a column that numbers its rows, or as it comes.
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import warnings
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.engine.spark import jobs, require_spark
from anonto.engine.spark_collect import collected
from anonto.engine.spark_compare import Comparing, compared_names, with_room_for
from anonto.engine.spark_files import Read, Storage, local_path, own_prefix, what_is_read, write_parquet
from anonto.engine.spark_profile import profile_on_cluster
from anonto.engine.spark_rows import has_row_numbers, quoted
from anonto.engine.spark_run import driver_memory
from anonto.engine.spark_table import SparkTable, at_places, put_parts_in_order, write_shuffled
from anonto.errors import (
    DuplicateColumnError,
    ForeignSessionError,
    MissingColumnError,
    NoScratchError,
    OnlyParquetError,
    OrderNotKeptError,
    PrivatePlaceError,
    RowIdError,
    TooLargeToAssessError,
    counted,
)
from anonto.ontology.source import file_sha256
from anonto.release import Outcome, write_record
from anonto.rng import Seed, row_order
from anonto.table.beside import files_beside, written_beside
from anonto.table.description import ColumnDescription
from anonto.table.prepare import opener
from anonto.table.table import Origin

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import polars as pl

    from anonto.engine.spark_compare import CountedComparison, Numbering
    from anonto.engine.spark_run import MaskedFrame
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.release import MaskedColumn

LARGEST_HASHED = 1 << 34
"""Files of this machine with more bytes are told by their name alone in the private record."""


BYTES_PER_CELL = 40
"""About what a cell takes on this machine while a table is brought together and compared."""


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
            weakref.finalize(self, _forget, self.table.session, self.written_down)


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
        _forget(session, folder)
        raise


def profile_frame(frame: Any, plan: Plan) -> dict[str, Any]:
    """What a DataFrame is like: see `anonto.stats.profile`."""
    source = taken(frame, None)
    return profile_on_cluster(source.table, plan)


def unnamed_in_both(original: Any, masked: Any, plan: Plan) -> tuple[str, ...]:
    """Columns of two DataFrames that the plan does not name: they leave, and whoever knows them may use them."""
    named = {*plan.columns, *plan.masked, *plan.also_needed}
    return tuple(name for name in original.columns if name not in named and name in masked.columns)


def fit_here(tables: Sequence[Any], plan: Plan, memory: int | None, also: Sequence[str] = ()) -> bool:
    """Whether the cells of DataFrames that an assessment looks at can be brought together on this machine.

    Args:
        tables: The DataFrames.
        plan: What tells their columns.
        memory: What may be taken, in bytes; by default half of the machine.
        also: Columns that the plan does not name and that are looked at.
    """
    require_spark()
    named = {*plan.columns, *plan.masked, *plan.also_needed, *also}
    allowed = driver_memory() if memory is None else memory
    for table in tables:
        n_columns = sum(name in named and plan.description(name).role != "identifier" for name in table.columns)
        if BYTES_PER_CELL * _n_rows(table) * n_columns > allowed:
            return False
    return True


def is_stored(frame: Any) -> bool:
    """Whether a DataFrame is Parquet files as they are, and not the table of a release in memory."""
    require_spark()
    return "_anonto_rows" not in vars(frame) and has_row_numbers(frame)


def require_rows_fit(table: Any, what: str, memory: int | None) -> None:
    """Refuse a DataFrame of which something is to be listed for each row that does not fit on this machine.

    Args:
        table: The DataFrame.
        what: What its rows are.
        memory: What may be taken, in bytes; by default half of the machine.
    """
    allowed, n_rows = driver_memory() if memory is None else memory, _n_rows(table)
    if BYTES_PER_CELL * n_rows > allowed:
        raise TooLargeToAssessError(n_rows, what, BYTES_PER_CELL * n_rows, allowed)


def _n_rows(table: Any) -> int:
    """The rows of the files of a DataFrame, or of itself if it is none."""
    return int(SparkTable.of(table).n_stored if has_row_numbers(table) else table.count())


def to_compare(table: Any, plan: Plan, memory: int | None = None, also: Sequence[str] = ()) -> pl.DataFrame:
    """Of a DataFrame the columns that an assessment looks at, as codes on this machine, in the order of the rows.

    Identifiers are there by name alone.

    Args:
        table: The DataFrame.
        plan: What tells its columns.
        memory: What may be taken, in bytes; by default half of the machine.
        also: Columns that the plan does not name and that are looked at.
    """
    import polars as pl

    named = dict.fromkeys([*plan.columns, *plan.masked, *plan.also_needed, *also])
    present = [name for name in table.columns if name in named]
    identifiers = [name for name in present if plan.description(name).role == "identifier"]
    source = taken(table, None)
    looked_at = [name for name in present if name not in identifiers]
    needed = BYTES_PER_CELL * source.table.n_stored * len(looked_at)
    allowed = driver_memory() if memory is None else memory
    if needed > allowed:
        what = f"records of {counted(len(looked_at), 'column')}"
        raise TooLargeToAssessError(source.table.n_stored, what, needed, allowed)
    found = collected(source.table, looked_at)
    return found.with_columns(pl.lit(None, pl.String).alias(name) for name in identifiers)


def counted_on_cluster(
    original: Any,
    masked: Any,
    plan: Plan,
    *,
    seed: Seed | None,
    n_persons: int,
    rng: np.random.Generator,
    numbered: Numbering,
    mask: Callable[..., Any],
    memory: int | None = None,
) -> CountedComparison:
    """Compare two DataFrames row by row where they are: only counts and the records of some persons come here.

    Args:
        original: The table that was masked.
        masked: Its release: rows in the order of the original, or with a seed also in that of `save`.
        plan: The plan it was masked with.
        seed: Of the private record, if there is one: the release must be the one that it makes.
        n_persons: So many persons are drawn at random; all, if there are fewer.
        rng: What they are drawn with.
        numbered: Called once for each masked column with its name and its distinct cells before and after; gives a
            number for each cell: two are the same if they have the same. A null has −1.
        mask: What makes a release anew: `anonto.mask`, which is built on this module.
        memory: What may be taken on this machine, in bytes; by default half of it.
    """
    named = [*plan.columns, *plan.masked, *plan.also_needed]
    identifiers = [name for name in named if plan.description(name).role == "identifier"]
    present, dropped = compared_names(original.columns, masked.columns, plan.masked, named, identifiers)
    others = tuple(name for name in present if name not in plan.masked and plan.description(name).role == "other")
    names = tuple(name for name in present if name not in others)
    allowed = driver_memory() if memory is None else memory
    with _taken_for_now(original) as before, _taken_for_now(_in_order(masked)) as after:
        names, others = with_room_for(before.table, after.table, names, others, allowed)

        def anew() -> tuple[MaskedFrame, tuple[Setting, ...]]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = mask(before.table.frame, plan, seed=None if seed is None else seed.number)
            return release.rows, release.settings

        return Comparing(
            before=before.table,
            after=after.table,
            names=names,
            others=others,
            identifiers=dropped,
            steps=[step.columns for step in plan.steps],
            descriptions={name: plan.description(name) for name in present},
            open_once=opener(plan.folder),
            allowed=allowed,
        ).compared(n_persons, rng, numbered, seed, anew)


def _in_order(frame: Any) -> Any:
    """A DataFrame; of the table of a release one with its rows in their order, not as Spark happens to read files."""
    rows: MaskedFrame | None = vars(frame).get("_anonto_rows")
    if rows is None:
        return frame
    dropped = [name for name in rows.table.frame.columns if name not in frame.columns]
    return at_places(rows.frame(dropped, None, numbered=True), rows.n_records)


@contextmanager
def _taken_for_now(frame: Any) -> Iterator[Taken]:
    """A DataFrame whose rows have numbers; what was written down for it is gone afterwards."""
    source = taken(frame, None)
    try:
        yield source
    finally:
        if source.written_down is not None:
            _forget(source.table.session, source.written_down)


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


def _forget(session: Any, folder: str) -> None:
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
        frame._anonto_source = self.source  # noqa: SLF001 - what was written down for it is kept as long as it
        frame._anonto_rows = self.rows  # noqa: SLF001 - what tells the order of its rows
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
        write_record(path, self.seed, None if self.source.written_down else self._origin(), self.evidence)

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
    return Path(f"{found}.private.json")
