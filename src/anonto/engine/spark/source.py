"""Tables on a Spark cluster, taken in with numbered rows.

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
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.engine.spark.rows import has_row_numbers, quoted
from anonto.engine.spark.session import jobs, require_spark
from anonto.engine.spark.storage import Read, Storage, local_path, own_prefix, what_is_read, write_parquet
from anonto.engine.spark.table import SparkTable
from anonto.errors import (
    DuplicateColumnError,
    ForeignSessionError,
    MissingColumnError,
    NoScratchError,
    RowIdError,
)
from anonto.ontology.source import file_sha256
from anonto.table.description import ColumnDescription
from anonto.table.table import Origin

if TYPE_CHECKING:
    from anonto.plan import Plan

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

    @property
    def origin(self) -> Origin | None:
        """The name of the table and, of one file of this machine, its hash; None where it was written down first."""
        if self.written_down is not None:
            return None
        uris = self.table.row_groups.paths
        here = local_path(uris[0]) if len(uris) == 1 else None
        hashed = here is not None and here.is_file() and here.stat().st_size <= LARGEST_HASHED
        return Origin(
            name=uris[0].rpartition("/")[2] if len(uris) == 1 else f"{len(uris)} files",
            format="parquet",
            sha256=file_sha256(here) if here is not None and hashed else "",
        )


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
