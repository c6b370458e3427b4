"""Persons held out beside the table of a run, and releases of other tools, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from web.conftest import Served, Visitor

    Visit = Callable[..., Visitor]


def people(n: int, shift: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * one + shift) % 50 for one in range(n)],
            "town": ["north" if (one + shift) % 3 else "south" for one in range(n)],
            "pay": [1000 + 13 * ((5 * one + shift) % 40) for one in range(n)],
        }
    )


def test_a_release_of_another_tool_is_attacked_without_a_plan(served: Served, visit: Visit, tmp_path: Path) -> None:
    original, others = people(120, 0), people(80, 11)
    original.write_csv(tmp_path / "original.csv")
    others.write_csv(tmp_path / "others.csv")
    tens = pl.col("age") // 10 * 10
    release = original.drop("pay").with_columns(age=pl.format("[{},{})", tens, tens + 10))
    release.write_csv(served.folder / "elsewhere.csv")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    steward = visit(served)
    page = steward.page
    page.get_by_role("link", name="Assess a release").click()
    steward.see("No plan is needed")
    assert page.get_by_role("button", name="Attack it").count() == 0

    # A file that cannot be read is refused in its card; nothing else is lost.
    steward.drop(tmp_path / "empty.csv", "Drop the original here, or choose a file")
    steward.see("empty")
    steward.drop(tmp_path / "original.csv", "Drop the original here, or choose a file")
    steward.see("120 records")
    page.get_by_label("Or a file of the folder (the release)").select_option("elsewhere.csv")
    page.get_by_role("button", name="Take this file").first.click()
    page.get_by_role("button", name="Take another file for the release").wait_for()
    steward.drop(tmp_path / "others.csv", "Drop the persons held out here, or choose a file")
    steward.see("80 records")
    steward.press("Attack it")
    steward.see("Success of the attacks")
    steward.see("Copied records")
    steward.see("Nothing is proved")
    inside = steward.download("Download the internal report").read_text(encoding="utf-8")
    assert "Not released: <code>pay</code>" in inside
    public = steward.download("Download the public report").read_text(encoding="utf-8")
    assert "pay" not in public
    assert "north" not in inside + public

    # Another file makes the result outdated.
    steward.press("Take another file for the persons held out")
    steward.see("Drop the persons held out here")
    assert page.get_by_text("Success of the attacks").count() == 0


def test_persons_held_out_go_with_a_run_and_its_commands(served: Served, visit: Visit, tmp_path: Path) -> None:
    people(60, 0).write_csv(served.folder / "people.csv")
    people(40, 11).write_csv(tmp_path / "others.csv")
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("people.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")
    steward.go("Run")
    steward.drop(tmp_path / "others.csv", "Drop the persons held out here, or choose a file")
    steward.see("40 rows")
    page.get_by_role("button", name="Undo: Hold persons out").wait_for()
    steward.run()
    steward.see("Who is in the table")
    steward.go("Take away")
    steward.see("--held-out others.csv")
    steward.go("Run")
    steward.press("Leave them out")
    steward.see("Drop the persons held out here")
    steward.see("The plan has changed since.")
