"""Time of whole commands: the demo, the papers, the first page of the web app."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from benchmarks.measuring import Finding, at_most

ANONTO = [sys.executable, "-m", "anonto"]


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        demo = ["demo", "--folder", f"{folder}/demo", "--force", *(["--records", "300"] if quick else [])]
        found = [
            at_most("anonto demo, once it is compiled", _seconds(demo, first=not quick), 60, "s"),
            at_most(
                "anonto serve, from its start to the first page", _first_page(Path(folder), 1 if quick else 5), 3, "s"
            ),
        ]
        if not quick:
            papers = ["reproduce", "--out", f"{folder}/papers", "--force"]
            found.append(at_most("anonto reproduce --quick", _seconds([*papers, "--quick"]), 60, "s"))
            data = os.environ.get("ANONTO_DATA")
            if data:
                what = "anonto reproduce on the public files, all of it"
                found.append(at_most(what, _seconds([*papers, "--data", data]) / 60, 20, "min"))
        return found


def _seconds(words: list[str], *, first: bool = False) -> float:
    """The time of a command; with ``first``, of a second run, which compiles nothing."""
    for _ in range(2 if first else 1):
        start = time.perf_counter()
        subprocess.run([*ANONTO, *words], capture_output=True, check=True)
        taken = time.perf_counter() - start
    return taken


def _first_page(folder: Path, repeats: int) -> float:
    """The median time from the start of the server to the whole first page."""
    return median(_served(folder) for _ in range(repeats))


def _served(folder: Path) -> float:
    environment = {**os.environ, "ANONTO_STATE": str(folder / "state"), "TMPDIR": str(folder)}
    start = time.perf_counter()
    with subprocess.Popen(
        [*ANONTO, "serve", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as server:
        try:
            assert server.stdout is not None
            address = urlsplit(server.stdout.readline().strip())
            connection = HTTPConnection(str(address.hostname), address.port, timeout=60)
            connection.request("GET", f"/?{address.query}")
            answer = connection.getresponse()
            answer.read()
            cookie = str(answer.headers["set-cookie"]).partition(";")[0]
            connection.request("GET", "/", headers={"Cookie": cookie})
            page = connection.getresponse().read().decode()
            assert "Open a table" in page, page[:300]
            return time.perf_counter() - start
        finally:
            server.terminate()
