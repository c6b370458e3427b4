"""Run the benchmarks: ``python -m benchmarks [NAME …] [--quick]``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import peers
from benchmarks.measuring import MOST_REPEATS, Bystanders
from benchmarks.page import RESULTS, write_page

if TYPE_CHECKING:
    from benchmarks.measuring import Finding

SUBJECTS = (
    "distances",
    "dependence",
    "rf2",
    "masking",
    "swapping",
    "joint_swapping",
    "equi_swapping",
    "grouping",
    "microaggregation",
    "noise",
    "scale",
    "spark",
    "assessing",
    "peers",
    "capabilities",
    "startup",
    "memory",
    "commands",
)
LIBRARIES = ("anonto", "numpy", "numba", "polars", "scipy", "hpo3", "nxontology", "dcor")
MODULES = {"hpo3": "pyhpo"}


def main() -> None:
    """Run the chosen subjects, print a table of each and write it to ``benchmarks/results``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SUBJECTS)}; by default all")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: does it run, not how fast it is")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the findings go, as JSON")
    parser.add_argument("--page-only", action="store_true", help="run nothing, only write the page")
    parser.add_argument("--page", type=Path, help="write all findings there are to this page, with charts beside it")
    parser.add_argument("--list", action="store_true", help="only name the subjects")
    chosen = parser.parse_args()
    if chosen.list:
        print(" ".join(SUBJECTS))
        return
    if chosen.quick:
        os.environ[MOST_REPEATS] = "1"
    folder: Path = chosen.results
    unknown = sorted(set(chosen.names) - set(SUBJECTS))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    about = _about_this_run(quick=chosen.quick)
    versions = {library: version(library) for library in LIBRARIES if find_spec(MODULES.get(library, library))}
    versions |= peers.versions()
    for facts in (about, versions):
        print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for name in chosen.names or ([] if chosen.page_only else SUBJECTS):
        bystanders = Bystanders()
        findings: list[Finding] = importlib.import_module(f"benchmarks.{name}").run(quick=chosen.quick)
        others = bystanders.share()
        _show(name, findings, others)
        folder.mkdir(exist_ok=True, parents=True)
        rows = [asdict(finding) for finding in findings]
        report = json.dumps(
            {**about, "versions": versions, "others": others, "findings": rows}, indent=2, ensure_ascii=False
        )
        (folder / f"{name}.json").write_text(report, encoding="utf-8")
    if chosen.page:
        write_page(folder, SUBJECTS, chosen.page)


def _about_this_run(*, quick: bool) -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "machine": _processor(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "quick": quick,
    }


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {platform.machine()}" if names else platform.machine()


def _show(name: str, findings: list[Finding], others: float | None) -> None:
    width = max(len(finding.what) for finding in findings)
    print(f"\n{name}" + ("" if others is None else f" (other processes took {others:.0%} of the machine)"))
    print(f"  {'':{width}}  {'measured':>12}  {'wanted':>10}  {'':6}")
    for finding in findings:
        measured = f"{finding.measured:.3g} {finding.unit}".strip()
        numbers = f"{measured:>12}  {finding.wanted:>10}  {finding.verdict:6}"
        print(f"  {finding.what:{width}}  {numbers}  {finding.note}", flush=True)


main()
