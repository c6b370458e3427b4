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
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import Bystanders

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
    "startup",
)
LIBRARIES = ("anonto", "numpy", "numba", "polars", "scipy", "hpo3", "nxontology", "dcor")
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the chosen subjects, print a table of each and write it to ``benchmarks/results``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SUBJECTS)}; by default all")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: does it run, not how fast it is")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(SUBJECTS))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    about = _about_this_run(quick=chosen.quick)
    versions = {library: version(library) for library in LIBRARIES}
    for facts in (about, versions):
        print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for name in chosen.names or SUBJECTS:
        bystanders = Bystanders()
        findings: list[Finding] = importlib.import_module(f"benchmarks.{name}").run(quick=chosen.quick)
        others = bystanders.share()
        _show(name, findings, others)
        RESULTS.mkdir(exist_ok=True)
        rows = [asdict(finding) for finding in findings]
        report = json.dumps(
            {**about, "versions": versions, "others": others, "findings": rows}, indent=2, ensure_ascii=False
        )
        (RESULTS / f"{name}.json").write_text(report, encoding="utf-8")


def _about_this_run(*, quick: bool) -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "quick": quick,
    }


def _show(name: str, findings: list[Finding], others: float | None) -> None:
    width = max(len(finding.what) for finding in findings)
    print(f"\n{name}" + ("" if others is None else f" (other processes took {others:.0%} of the machine)"))
    print(f"  {'':{width}}  {'measured':>12}  {'wanted':>10}  {'':6}")
    for finding in findings:
        measured = f"{finding.measured:.3g} {finding.unit}".strip()
        numbers = f"{measured:>12}  {finding.wanted:>10}  {finding.verdict:6}"
        print(f"  {finding.what:{width}}  {numbers}  {finding.note}", flush=True)


main()
