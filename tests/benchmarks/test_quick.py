"""The benchmarks run, at small sizes; nothing is asserted about time."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def subjects() -> list[str]:
    listed = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


@pytest.mark.parametrize("name", subjects())
def test_a_subject_runs_and_its_findings_make_a_page(name: str, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    command = [sys.executable, "-m", "benchmarks", name, "--quick", "--results", str(tmp_path), "--page", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    findings = json.loads((tmp_path / f"{name}.json").read_text())["findings"]
    assert findings
    assert all(math.isfinite(one["measured"]) or one["note"] for one in findings)
    text = page.read_text()
    assert all(one["what"].replace("|", "\\|") in text for one in findings)
    for one in findings:
        if "curves" in one["facts"]:
            assert one["facts"]["curves"]["name"] in text


def test_a_function_called_in_a_fresh_process_returns_what_it_returns_here() -> None:
    measuring = importlib.import_module("benchmarks.measuring")
    visit = measuring.in_fresh_process("math:hypot", 3, 4)
    assert visit.returned == 5.0
    assert 0 < visit.start_bytes <= visit.peak_bytes


def test_what_falls_short_is_named_first(tmp_path: Path) -> None:
    page = importlib.import_module("benchmarks.page")
    finding = {"what": "a", "measured": 4.0, "unit": "×", "wanted": "≤ 3 ×", "met": False, "note": "", "facts": {}}
    result = {"quick": False, "versions": {}, "others": 0.5, "findings": [finding]}
    (tmp_path / "x.json").write_text(json.dumps(result))
    page.write_page(tmp_path, ["x"], tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "- **x**: a: 4 ×, wanted ≤ 3 ×." in text
    assert text.index("falls short") < text.index("## x")
