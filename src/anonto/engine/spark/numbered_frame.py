"""DataFrames with numbered rows.

Rows are numbered by their position in Parquet files, files by name. Any other DataFrame is first written to a scratch
folder: in the order of a column that numbers its rows, or as it comes.
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

from anonto.encoding.description import ColumnDescription
from anonto.encoding.frame_adapter import duplicate_columns
from anonto.engine.spark.rows import has_row_numbers, quote_name
from anonto.engine.spark.session import jobs, require_spark
from anonto.engine.spark.storage import Inputs, Storage, find_inputs, local_path, own_prefix, write_parquet
from anonto.engine.spark.table import SparkTable
from anonto.errors import ClusterError
from anonto.io.table import Origin, missing_column
from anonto.ontology.source import file_sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.masking.plan import Plan

LARGEST_HASHED = 1 << 34
"""Larger files of this machine are identified by name alone in the private record."""


@dataclass(frozen=True, eq=False)
class NumberedFrame:
    """A DataFrame whose rows have numbers."""

    table: SparkTable
    scratch_folder: str | None
    """The folder that it was written to, if it had to be; it is removed with this object."""
    read: Inputs
    """The files that the DataFrame was read from."""

    def __post_init__(self) -> None:
        if self.scratch_folder is not None:
            weakref.finalize(self, remove_scratch, self.table.session, self.scratch_folder)

    @property
    def origin(self) -> Origin | None:
        """The name of the table and, for a single local file, its hash; None if it is in a scratch folder."""
        if self.scratch_folder is not None:
            return None
        uris = self.table.row_groups.paths
        here = local_path(uris[0]) if len(uris) == 1 else None
        hashed = here is not None and here.is_file() and here.stat().st_size <= LARGEST_HASHED
        return Origin(
            name=uris[0].rpartition("/")[2] if len(uris) == 1 else f"{len(uris)} files",
            format="parquet",
            sha256=file_sha256(here) if here is not None and hashed else "",
        )


def number_rows(frame: Any, row_id: str | None) -> NumberedFrame:
    """Number the rows of a DataFrame; if they have no positions in files, write it to a scratch folder first."""
    require_spark()
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise spark_connect()
    repeated = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if repeated:
        raise duplicate_columns(repeated)
    session = frame.sparkSession
    scratch = _scratch(session)
    if scratch is not None:
        Storage(session).clear_left_over(scratch)
    read = find_inputs(frame)
    if row_id is None and has_row_numbers(frame):
        return NumberedFrame(SparkTable.of(frame), None, read)
    if row_id is not None:
        _require_row_id(frame, row_id)
        frame = frame.orderBy(quote_name(row_id))
    if scratch is None:
        raise no_checkpoint_folder()
    return write_scratch(frame, read, "Writing a DataFrame to number its rows")


def write_scratch(frame: Any, read: Inputs, what: str, *, dropped: Sequence[str] = ()) -> NumberedFrame:
    """Write a DataFrame to a scratch folder, and number the rows there.

    Args:
        frame: The rows in their order, each partition before the next.
        read: The files that they come from.
        what: What is done, for the pages of Spark.
        dropped: Columns that only say the order.
    """
    session = frame.sparkSession
    scratch = _scratch(session)
    if scratch is None:
        raise no_folder_for_records()
    folder = _new_folder(session, scratch)
    try:
        with jobs(session, what):
            write_parquet(frame, folder)
        written = session.read.schema(frame.schema).parquet(folder).drop(*dropped)
        return NumberedFrame(SparkTable.of(written), folder, read)
    except BaseException:
        remove_scratch(session, folder)
        raise


def without_row_id(plan: Plan, row_id: str | None) -> Plan:
    """A plan that drops the column that numbers the rows, which would link them to the original."""
    if row_id is None:
        return plan
    if row_id in (*plan.masked, *plan.also_needed):
        raise unusable_row_id(row_id, "a step of the plan works on it")
    return replace(plan, columns=MappingProxyType({**plan.columns, row_id: ColumnDescription(role="identifier")}))


def _require_row_id(frame: Any, row_id: str) -> None:
    """Refuse a column that does not number the rows by distinct whole numbers."""
    from pyspark.sql import functions
    from pyspark.sql.types import IntegralType

    if row_id not in frame.columns:
        raise missing_column(row_id, frame.columns)
    if not isinstance(frame.schema[row_id].dataType, IntegralType):
        raise unusable_row_id(row_id, "its type is not that of whole numbers")
    column = functions.col(quote_name(row_id))
    with jobs(frame.sparkSession, "Checking the numbers of the rows"):
        found = frame.agg(
            functions.count(functions.lit(1)), functions.count(column), functions.count_distinct(column)
        ).head()
    n_rows, n_present, n_distinct = found
    if n_present < n_rows:
        raise unusable_row_id(row_id, f"{n_rows - n_present:,} of {n_rows:,} rows have none")
    if n_distinct < n_rows:
        raise unusable_row_id(row_id, f"{n_rows:,} rows have {n_distinct:,} different ones")


_OF_A_SESSION = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/?$")
"""How Spark names the folder of a session inside the checkpoint folder; a later session cannot find it."""
_OF_THIS_MACHINE = "file:"


def _scratch(session: Any) -> str | None:
    """A folder that all workers reach: the checkpoint folder, or a local one if this machine does all the work."""
    checkpoints = session.sparkContext.getCheckpointDir()
    if checkpoints is not None:
        return _OF_A_SESSION.sub("/", str(checkpoints))
    if session.sparkContext.master.startswith("local"):
        return f"{_OF_THIS_MACHINE}{tempfile.gettempdir()}"
    return None


def _new_folder(session: Any, scratch: str) -> str:
    """A name for a table in a scratch folder; in the system's, it is inside a folder that only the owner can read."""
    if session.sparkContext.getCheckpointDir() is None:
        return f"{_OF_THIS_MACHINE}{tempfile.mkdtemp(prefix=own_prefix())}/table.parquet"
    return f"{scratch.rstrip('/')}/{own_prefix()}{secrets.token_hex(8)}.parquet"


def remove_scratch(session: Any, folder: str) -> None:
    """Remove the scratch folder of a DataFrame, even if its session has ended."""
    with suppress(Exception):
        Storage(session).delete(folder)
    if not folder.startswith(_OF_THIS_MACHINE):
        return
    here = Path(folder.removeprefix(_OF_THIS_MACHINE))
    own = here if here.name.startswith(own_prefix()) else here.parent
    if own.name.startswith(own_prefix()):
        shutil.rmtree(own, ignore_errors=True)


def no_checkpoint_folder() -> ClusterError:
    """A DataFrame that must be written to files first, and no folder for them."""
    return ClusterError(
        "The DataFrame is not read from Parquet files row by row, so it has to be written to some first; name a "
        "folder that all workers reach with spark.sparkContext.setCheckpointDir(…), or write it to Parquet and "
        "mask that."
    )


def no_folder_for_records() -> ClusterError:
    """A plan with a person column or sets, and no folder for the records that are made."""
    return ClusterError(
        "The plan names a person column or sets, so records have to be written to files first; name a folder that all "
        "workers reach with spark.sparkContext.setCheckpointDir(…), or as spark.checkpoint.dir in Spark's settings."
    )


def spark_connect() -> ClusterError:
    """A DataFrame of Spark Connect."""
    return ClusterError(
        "A DataFrame of Spark Connect does not say where its files are; use a session of the cluster's master itself."
    )


def unusable_row_id(name: str, wrong: str) -> ClusterError:
    """A column that should number the rows and does not."""
    return ClusterError(
        f"Column {name!r} cannot number the rows: {wrong}; name a column of whole numbers, each in one row only."
    )
