"""The walk that CONTRIBUTING draws is the way that `anonto mask` takes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl

import anonto
from anonto.cli.main import run

ROOT = Path(__file__).parents[2]
PACKAGE = Path(anonto.__file__).parent
MOST_HOPS = 15
OF_PARTS = {
    "engine/__init__.py",
    "engine/memory/__init__.py",
    "engine/memory/apply.py",
    "engine/memory/count.py",
    "masking/protocol.py",
    "engine/refusals.py",
    "masking/__init__.py",
    "masking/plan_sections.py",
    "masking/private_record.py",
    "masking/released.py",
}
"""Files of these rooms that the walk passes without stopping: a new one is drawn, or listed here."""
PLAN = """
[columns.illness]
ontology = "illnesses"

[[steps]]
method = "random-swap"
columns = ["illness"]
"""


def drawn() -> list[str]:
    """The steps of the drawing, as file:function."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = page.split("## The walk", 1)[1].split("```text\n", 1)[1].split("```", 1)[0]
    return [re.split(r"\s{1,}", line, maxsplit=1)[0] for line in block.splitlines()]


def called(work: Any) -> list[str]:
    """The functions of the package that are called, each when it is called first."""
    seen: dict[str, None] = {}

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            file = Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix()
            seen.setdefault(f"{file}:{frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(seen)


def test_the_walk_is_short_and_its_functions_are_called_in_this_order(tmp_path: Path) -> None:
    steps = drawn()
    assert 10 <= len(steps) <= MOST_HOPS
    pl.DataFrame({"illness": ["flu", "burn", "measles"] * 5}).write_csv(tmp_path / "table.csv")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    arguments = ["mask", str(tmp_path / "table.csv"), "--plan", str(tmp_path / "plan.toml")]
    codes: list[int] = []
    codes.append(run([*arguments, "--output", str(tmp_path / "first.csv")]))  # modules are not part of the walk
    made = called(lambda: codes.append(run([*arguments, "--output", str(tmp_path / "out.csv")])))
    assert codes == [0, 0]
    assert [one for one in made if one in steps] == steps
    hidden = {
        one.partition(":")[0]
        for one in made
        if one.startswith(("engine/run.py", "masking/release.py", "masking/", "engine/", "masking/plan.py"))
    }
    assert hidden - {one.partition(":")[0] for one in steps} <= OF_PARTS
