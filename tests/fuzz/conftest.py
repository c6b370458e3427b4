"""The table of a run of the fuzzers: how many cases of each subject, and how many of them failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fuzz.harness import TOLD

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _told(request: pytest.FixtureRequest) -> Iterator[None]:
    """Send the numbers of a test along with its report, which also reaches us from another process."""
    before = dict(TOLD)
    yield
    for subject, (n_cases, n_failed) in TOLD.items():
        done, failed = before.get(subject, (0, 0))
        if n_cases > done:
            request.node.user_properties.append(("fuzz", [subject, n_cases - done, n_failed - failed]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table as the documentation has it."""
    rows: dict[str, list[int]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "teardown":
                continue
            for name, found in report.user_properties:
                if name == "fuzz":
                    row = rows.setdefault(found[0], [0, 0])
                    row[0] += found[1]
                    row[1] += found[2]
    if not rows:
        return
    terminalreporter.section("cases of the fuzzers")
    lines = [(name, *row) for name, row in sorted(rows.items())]
    total = ("all", sum(row[0] for row in rows.values()), sum(row[1] for row in rows.values()))
    terminalreporter.line("| subject | cases | failures |")
    terminalreporter.line("|---|---:|---:|")
    for name, n_cases, n_failed in [*lines, total]:
        terminalreporter.line(f"| {name} | {n_cases:,} | {n_failed:,} |")
