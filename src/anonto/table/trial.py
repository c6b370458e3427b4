"""Trial decoding of Parquet files in a process of their own, before this process reads them.

Polars panics on some damaged Parquet files and ends the process on others (a size in the file becomes an allocation
that no machine can serve, or an index leads out of a buffer). Neither can be told from the bytes without decoding them,
and a panic writes its text, which may show cells, to the standard error of the process. So every file is decoded once
in a process whose standard error leads nowhere; if that process ends, panics or sees fewer rows than the file declares,
the file is refused here with one sentence.

Why so: checking the structure alone misses damage inside the pages; decoding there and sending the cells over would
copy every table; running all work under a supervisor would not protect those who use anonto as a library. The trial
holds one batch of rows at a time, uses all processors and costs a few hundredths of the time that masking takes. A file
is tried once as long as its size, time and number stay the same. The process serves all files that come within
`IDLE_SECONDS` of each other and then ends, as it does when this process is gone.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.source import sign
from anonto.table.limits import is_within_calendar, wide_decimals

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

IDLE_SECONDS = 2.0
ROWS_AT_ONCE = 1 << 18
DECODED, READY = "decoded", "ready"
FAULTS = {"damaged": "it cannot be decoded", "calendar": "it has dates or times beyond the calendar"}

_tried: dict[Path, tuple[int, int, int]] = {}
_lock = threading.Lock()


def require_decodable(files: Iterable[Path]) -> None:
    """Refuse Parquet files that polars cannot decode; what it decoded before is tried again only if it changed."""
    for file in files:
        before, path = sign(file), file.resolve()
        if _tried.get(path) == before:
            continue
        with _lock:
            said = _process.ask(path)
        if said != DECODED:
            raise MalformedFileError(file.name, "Parquet", FAULTS.get(said, FAULTS["damaged"]))
        _tried[path] = before


class _Process:
    """The process that tries files, started when it is first asked and whenever it is gone."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None
        self._parent = 0

    def ask(self, path: Path) -> str:
        """What the process says of a file; nothing if it ends over it twice, the second time as a new process."""
        said = self._asked(path) if self._running is not None and self._parent == os.getpid() else ""
        if not said and self._start():
            said = self._asked(path)
        elif not said:
            return DECODED  # where no process can be started, files are read as they are
        return said

    def _start(self) -> bool:
        self.end()
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-m", "anonto.table.trial"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the process that started it
            )
        except OSError:
            return False
        self._parent = os.getpid()
        return self._heard() == READY

    def _asked(self, path: Path) -> str:
        if self._running is None or self._running.stdin is None:
            return ""
        try:
            self._running.stdin.write(json.dumps(str(path)) + "\n")
            self._running.stdin.flush()
        except OSError:
            return ""
        return self._heard()

    def _heard(self) -> str:
        """The next line of the process, empty when it is gone; it is ended when this process is stopped meanwhile."""
        if self._running is None or self._running.stdout is None:
            return ""
        try:
            return self._running.stdout.readline().strip()
        except BaseException:
            self._running.kill()
            raise

    def end(self) -> None:
        """End the process, unless it belongs to the process that this one is a fork of."""
        running, self._running = self._running, None
        if running is None or self._parent != os.getpid():
            return
        for pipe in (running.stdin, running.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        running.kill()
        running.wait()


_process = _Process()
atexit.register(_process.end)


# ------------------------------------------------------------------------------------------------ in that process


def serve() -> None:
    """Try the files that the lines of the input name, until the input ends or none has come for a while."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    import polars as pl

    answers.write(READY + "\n")
    with suppress(queue.Empty):
        while True:
            path = json.loads(lines.get(timeout=IDLE_SECONDS))
            try:
                said = _trial(path)
            except (Exception, pl.exceptions.PanicException):
                said = "damaged"
            answers.write(said + "\n")


def _listen(lines: queue.Queue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _trial(path: str) -> str:
    """Decode a file as its readers do; batches just end where polars panics, so that rows are counted."""
    import polars as pl

    scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    if wide_decimals(scan.collect_schema()):
        return DECODED  # which its reader refuses by their names
    n_rows = int(scan.select(pl.len()).collect().item())
    seen = 0
    for batch in scan.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
        seen += batch.height
        for column in batch.iter_columns():
            if not is_within_calendar(column):
                return "calendar"
            if isinstance(column.dtype, pl.Categorical | pl.Enum):
                column.unique().cast(pl.String).cast(pl.Binary).cast(pl.String)  # raises over what is not UTF-8
    return DECODED if seen == n_rows else "damaged"


if __name__ == "__main__":
    serve()
