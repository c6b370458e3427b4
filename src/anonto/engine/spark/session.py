"""Sessions and jobs on a Spark cluster, ended cleanly, with errors translated into our own.

Spark's own message about a failure may show cells, so only the kind of failure is reported.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonto import errors
from anonto.errors import AnontoError, ClusterError, MalformedFileError, MissingPackageError, UnwritableFileError
from anonto.masking.fitted import changed_table
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECONDS_TO_ANSWER = 5.0
SECONDS_TO_END = 30.0
APPLICATION = "anonto"

_OF_THE_PACKAGE = re.compile(r"anonto\.errors\.(\w+): ([^\n]*)")
_FULL_DISK = ("No space left on device", "Disk quota exceeded")
_DAMAGED = (
    "is not a Parquet file",
    "Could not read footer",
    "corrupted file",
    "ParquetDecodingException",
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
)
_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
_NAMED = re.compile(
    r"(?:reading file|footer for file:?) +(?:[^\n]*?/)?([^/\n]+?)\.?(?: SQLSTATE|\. |\s*$)", re.MULTILINE
)
"""The name of a file that could not be read, without its folders, which may reveal values of columns."""


def require_spark() -> None:
    """Raise an error if the packages for Spark are missing."""
    try:
        import pyarrow as pa
        import pyspark
    except ImportError:
        raise MissingPackageError("Masking on a Spark cluster", "pyspark", "spark") from None
    del pa, pyspark


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def open_session(master: str | None, options: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session for one command, stopped at its end; what Java writes to standard error does not reach the terminal.

    Args:
        master: The URL of the master; None for what Spark's own configuration says.
        options: Further configuration.
    """
    require_spark()
    if master is not None:
        _require_answer(master)
    from pyspark.sql import SparkSession

    # Spark logs Ctrl-C as a fault with a full traceback, partly through the root logger.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_of_py4j)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(APPLICATION).config("spark.ui.showConsoleProgress", "false")
    builder = builder if master is None else builder.master(master)
    for name, value in (options or {}).items():
        builder = builder.config(name, value)
    with _quiet_java():
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise _translate_error(error) from None
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        with suppress(Exception):
            session.stop()


def _require_answer(master: str) -> None:
    """Refuse a standalone master that does not answer; Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((host, int(port)), SECONDS_TO_ANSWER):
            return
    raise unreachable_master(master)


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Discard what Java writes to standard error while it starts."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def jobs(session: Any, what: str) -> Iterator[None]:
    """Jobs that belong together: when one is cancelled all end, and errors get our own messages."""
    context = session.sparkContext
    group = f"{APPLICATION}-{secrets.token_hex(4)}"
    context.setJobGroup(group, what, interruptOnCancel=True)
    try:
        yield
    except AnontoError:
        _end(context, group)
        raise
    except BaseException as error:
        _end(context, group)
        if isinstance(error, KeyboardInterrupt) or not is_of_spark(error):
            raise
        if _was_stopped(error):
            raise KeyboardInterrupt from None
        raise _translate_error(error) from None
    finally:
        with suppress(Exception):
            context.setLocalProperty("spark.jobGroup.id", None)
            context.setLocalProperty("spark.job.description", None)


def _was_stopped(error: BaseException) -> bool:
    """Return whether an error follows from Ctrl-C, which also ends the job."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before is not None


def _end(context: Any, group: str) -> None:
    """Cancel running jobs and wait for their end, so that nothing more is written."""
    with suppress(Exception):
        context.cancelJobGroup(group)
        end = time.monotonic() + SECONDS_TO_END
        while _runs(context.statusTracker(), group) and time.monotonic() < end:
            time.sleep(0.1)


def _runs(tracker: Any, group: str) -> bool:
    """Return whether a task of a group of jobs is still at work."""
    stages = set(tracker.getActiveStageIds())
    jobs_of_group = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
    return any(stages.intersection(found.stageIds) for found in jobs_of_group if found is not None)


def is_of_spark(error: BaseException) -> bool:
    """Return whether an error comes from Spark or from the connection to it."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j"} or isinstance(error, ConnectionError)


def _translate_error(error: BaseException) -> AnontoError:
    """The meaning of a Spark failure, without Spark's own message."""
    text = _text(error)
    own = _OF_THE_PACKAGE.search(text)
    if own is not None:
        kind = getattr(errors, own.group(1), None)
        if isinstance(kind, type) and issubclass(kind, AnontoError):
            return kind.__new__(kind, own.group(2).strip())
    fault = next((words for words in _FULL_DISK if words in text), None)
    if fault is not None:
        return UnwritableFileError("the masked table, or a worker's scratch folder", fault)
    if _GONE in text:
        return changed_table()
    if is_about_damage(error):
        named = _NAMED.search(text)
        if named is None:
            return failed_job("a file of the table cannot be decoded")
        return MalformedFileError(unquote(named.group(1)), "Parquet", "it cannot be decoded")
    condition = getattr(error, "getCondition", lambda: None)()
    return failed_job(condition or type(error).__name__)


def is_about_absence(error: BaseException) -> bool:
    """Return whether an error says that a file does not exist."""
    return "java.io.FileNotFoundException" in _text(error)


def is_about_damage(error: BaseException) -> bool:
    """Return whether a failure comes from a Parquet file that cannot be decoded."""
    text = _text(error)
    return any(words in text for words in _DAMAGED)


def _text(error: BaseException) -> str:
    with suppress(Exception):
        return str(error)
    return ""


def unreachable_master(master: str) -> ClusterError:
    """A Spark master that does not answer."""
    return ClusterError(
        f"No Spark cluster answers at {clip(master)!r}; check the address and that the master is running. Nothing was "
        "written."
    )


def failed_job(condition: str) -> ClusterError:
    """A job that the cluster gave up."""
    return ClusterError(
        f"Spark gave up the job ({clip(condition)}); nothing was written. The logs of its driver and workers "
        "say why; they often lack memory, or the packages anonto and pyarrow in the Python of PYSPARK_PYTHON."
    )
