"""A standalone Spark cluster on loopback, from the PySpark package alone: a master and workers, each a process.

Every process is started here and ended by its id. Logs and the workers' scratch files go to one folder.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

LOOPBACK = "127.0.0.1"
SECONDS_TO_START = 180.0
LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Memory limits for many Java processes on one small machine."""


@dataclass
class Cluster:
    """A master and workers; use it as a context."""

    folder: Path
    n_workers: int = 2
    memory_of_worker: str = "2g"
    cores_of_worker: int = 2
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """The address of the master, for a session."""
        return f"spark://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        options = ["--host", LOOPBACK, "--port", str(self.port), "--webui-port", "0"]
        try:
            self.master = self._started("master", "org.apache.spark.deploy.master.Master", options)
            self._wait_for("master", "I have been elected leader", 1)
            self.add_workers(self.n_workers)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def add_workers(self, n_more: int) -> None:
        """Start more workers and wait until the master knows them."""
        registered = self._said("master", "Registering worker")
        for number in range(len(self.workers), len(self.workers) + n_more):
            options = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(self.folder / f"work-{number}")]
            options += ["--cores", str(self.cores_of_worker), "--memory", self.memory_of_worker, self.url]
            self.workers.append(self._started(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", options))
        self._wait_for("master", "Registering worker", registered + n_more)

    def kill_worker(self) -> bool:
        """Kill the first running worker and its child processes, as if its machine had lost power."""
        living = [worker for worker in self.workers if worker.poll() is None]
        if not living:
            return False
        _kill(living[0])
        return True

    def killer(self, spark: Any) -> Killer:
        """A context that kills a worker in the middle of a job of a session."""
        return Killer(self, spark)

    @property
    def n_living(self) -> int:
        """The workers that are still running."""
        return sum(worker.poll() is None for worker in self.workers)

    def stop(self) -> None:
        """Kill every remaining process."""
        for process in (*self.workers, self.master):
            if process is not None:
                _kill(process)

    def session_options(self) -> dict[str, str]:
        """The configuration of a session on this cluster, other than its master."""
        return {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.memory": "768m",
            "spark.driver.extraJavaOptions": " ".join(LIGHT),
            "spark.executor.memory": "768m",
            "spark.executor.extraJavaOptions": " ".join(LIGHT),
            "spark.executor.cores": "1",
            "spark.cores.max": str(self.n_workers),
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }

    def session(self, **options: str) -> Any:
        """A session on this cluster."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
        builder = SparkSession.builder.master(self.url).appName("anonto")
        for name, value in {**self.session_options(), **options}.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def _started(self, name: str, java_class: str, options: list[str]) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder / "scratch"),
            "SPARK_SCALA_VERSION": next((home / "jars").glob("scala-library-*")).name.split("-")[2][:4],
        }
        environment.pop("SPARK_CONF_DIR", None)
        with self._log(name).open("wb") as log:
            return subprocess.Popen(
                ["java", "-Xmx256m", *LIGHT, "-cp", f"{home}/jars/*", java_class, *options],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at a test is not for the cluster
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _said(self, name: str, words: str) -> int:
        return self._log(name).read_text(errors="replace").count(words)

    def _wait_for(self, name: str, words: str, times: int) -> None:
        end = time.monotonic() + SECONDS_TO_START
        while self._said(name, words) < times:
            if time.monotonic() > end:
                raise TimeoutError(f"{name} did not start: see {self._log(name)}")
            time.sleep(0.1)


class Killer(threading.Thread):
    """Kills a worker as soon as some tasks of a stage are done and others are not; use it as a context."""

    def __init__(self, cluster: Cluster, spark: Any) -> None:
        super().__init__(daemon=True)
        self._cluster, self._tracker = cluster, spark.sparkContext.statusTracker()
        self._over = threading.Event()
        self.seen: tuple[int, int] | None = None
        """How many tasks of the stage were done, and how many it had."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Poll the stages until there is one."""
        while not self._over.wait(0.02):
            for stage in self._tracker.getActiveStageIds():
                found = self._tracker.getStageInfo(stage)
                if found is not None and 2 <= found.numCompletedTasks < found.numTasks - 2:
                    self._cluster.kill_worker()
                    self.seen = found.numCompletedTasks, found.numTasks
                    return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    if process.poll() is not None:
        return
    for pid in (*_descendants(process.pid), process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        parent = int(text.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(status.parent.name))
    found, waiting = [], [pid]
    while waiting:
        here = children.get(waiting.pop(), [])
        found += here
        waiting += here
    return found
