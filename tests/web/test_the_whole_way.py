"""From a table to a masked one, in a real browser."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import time
from typing import TYPE_CHECKING

import polars as pl
from playwright.sync_api import expect

import anonto
from anonto.web.words import PLAN_MAY_BE_PUBLISHED
from web.conftest import WAIT, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from web.conftest import Served, Visitor

    Visit = Callable[..., Visitor]


def test_the_demo_goes_the_whole_way_and_everything_can_be_taken_away(  # noqa: PLR0915 - one long way
    served: Served, visit: Visit, tmp_path: Path
) -> None:
    steward = visit(served)
    page = steward.page
    steward.open_demo()
    assert page.get_by_role("row", name="principal_dx").first.is_visible()

    steward.go("Columns")
    steward.see("100.0 %")
    assert page.get_by_label("Ontology of principal_dx").input_value() == "icd10cm"
    assert page.get_by_label("Role of record_number").input_value() == "identifier"

    steward.go("Risk before")
    steward.see("records are unique")
    steward.see("Combinations that single people out")

    steward.go("Method")
    steward.see("would be recognised")
    k = page.get_by_label("k – how many records")
    assert k.input_value() == "10"
    k.fill("5")
    k.press("Tab")
    steward.see("with group-swap k = 5")

    steward.run()
    steward.see("persons recognised, at worst")
    steward.see("Nearest record")
    page.get_by_role("img", name="Records by group of principal_dx, before and after masking").wait_for()
    page.get_by_label("Column", exact=True).select_option("age")
    page.get_by_role("img", name="Records by group of age, before and after masking").wait_for()
    page.get_by_label("Second column").select_option("age")
    page.get_by_role("img", name="Records by principal_dx and age, after masking").wait_for()
    page.get_by_role("img", name="Risk and utility of each run").wait_for()

    steward.go("Take away")
    steward.see("In Python")
    masked = pl.read_csv(steward.download("Download the masked table"), infer_schema=False)
    assert masked.height == 1000
    assert "record_number" not in masked.columns
    report = steward.download("Download the report", exact=True).read_text(encoding="utf-8")
    assert report.startswith("<!DOCTYPE html>")
    assert "<script" not in report
    page.get_by_label("HIPAA: Safe Harbor").check()
    steward.press("Prepare the reports with this evidence")
    evidence = steward.download("Download the report with this evidence").read_text(encoding="utf-8")
    assert evidence.count('class="frame"') == 1
    assert "not legal advice" in evidence
    plan_text = steward.download("Download the plan").read_text(encoding="utf-8")
    assert "k = 5" in plan_text
    page.get_by_label("The masked table in another format").select_option(".parquet")
    steward.press("Prepare the masked table in this format")
    assert pl.read_parquet(steward.download("Download Parquet")).height == 1000
    assert page.get_by_role("link", name="Download the private record").count() == 0
    page.get_by_label("I will keep it apart").check()
    record = json.loads(steward.download("Download the private record").read_text(encoding="utf-8"))
    shown = page.locator("#main").inner_text()
    assert record["seed"] not in shown + report + plan_text
    assert all(sentence in shown for sentence in PLAN_MAY_BE_PUBLISHED)

    # The downloaded plan and commands work without the app.
    (tmp_path / "plan.toml").write_text(plan_text, encoding="utf-8")
    original = next(served.temporary.glob("anonto-serve-*/*/demo/discharges.csv"))
    (tmp_path / "procedures.csv").write_bytes(original.with_name("procedures.csv").read_bytes())
    again = anonto.mask(original, tmp_path / "plan.toml", seed=int(record["seed"]))
    again.save(tmp_path / "again.csv", private=False)
    assert pl.read_csv(tmp_path / "again.csv", infer_schema=False).equals(masked)


def test_several_values_are_tried_and_a_point_of_the_map_can_be_loaded_again(served: Served, visit: Visit) -> None:
    small_table(served.folder / "small.csv")
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("small.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")
    steward.run()
    page.get_by_label("Values, separated by commas").fill("3, 20")
    page.get_by_label("Values, separated by commas").press("Tab")
    steward.press("Try them")
    steward.see("2. group-swap k = 3")
    steward.see("3. group-swap k = 20")
    assert page.get_by_text("on the front").count() >= 1
    page.get_by_role("button", name="Load the plan of run 3").click()
    expect(page.get_by_label("k – how many records")).to_have_value("20", timeout=WAIT)
    steward.press("Undo: Load the plan of run 3")
    expect(page.get_by_label("k – how many records")).to_have_value("10", timeout=WAIT)


def test_the_plan_that_keeps_most_under_a_risk_is_found_explained_and_loaded(served: Served, visit: Visit) -> None:
    small_table(served.folder / "small.csv", 60)
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("small.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")
    steward.go("Method")
    risk = page.get_by_label("Largest risk you accept, in percent of the persons")
    risk.fill("95")
    risk.press("Tab")
    steward.press("Find the plan that keeps most")
    steward.see("keeps the most utility")
    steward.see("with 2 fresh seeds and every attack")
    steward.see("This plan was only tried")
    page.get_by_role("button", name="Load the plan of run 1").click()
    expect(page.get_by_label("k – how many records")).not_to_have_value("10", timeout=WAIT)


def test_a_run_goes_on_when_the_page_is_reloaded_and_stops_when_it_is_stopped(served: Served, visit: Visit) -> None:
    steward = visit(served)
    page = steward.page
    steward.open_demo()
    steward.go("Method")
    steward.see("would be recognised")
    steward.go("Run")
    steward.press("Start")
    page.get_by_role("progressbar").wait_for()
    steward.see("left.")
    running = workers_of(served)
    page.reload()
    page.get_by_role("progressbar").wait_for()
    assert set(running) <= set(workers_of(served))
    page.get_by_role("button", name="Stop").click()
    steward.see("nothing of it was kept")
    wait_until(lambda: len(workers_of(served)) < len(running))
    assert list(served.temporary.glob("anonto-serve-*/*/run-*")) == [
        one for one in served.temporary.glob("anonto-serve-*/*/run-*") if (one / "report.html").exists()
    ]
    page.reload()
    steward.press("Start")
    page.get_by_role("heading", name="Result", exact=True).wait_for()


def test_a_session_is_found_again_after_a_restart_and_its_data_were_wiped(
    visit: Visit, tmp_path: Path, chromium: str
) -> None:
    del chromium
    small_table(tmp_path / "folder" / "small.csv")
    with serving(tmp_path) as first:
        steward = visit(first, allowed=("ERR_CONNECTION_REFUSED", "WebSocket", "Failed to load resource"))
        steward.page.get_by_label("File (").select_option("small.csv")
        steward.press("Open this file")
        steward.see("The first 8 records")
        steward.go("Columns")
        steward.page.get_by_label("Role of region", exact=True).select_option("other")
        steward.page.get_by_role("button", name="Undo: Role of region").wait_for()
        assert (tmp_path / "state").stat().st_mode & 0o077 == 0
        assert all(one.stat().st_mode & 0o077 == 0 for one in (tmp_path / "temporary").iterdir())
        assert first.stop() == 0
    assert list((tmp_path / "temporary").glob("anonto-serve-*")) == []
    with serving(tmp_path, "--port", str(first.port)) as second:
        steward.page.goto(f"{second.root}/columns")
        expect(steward.page.get_by_label("Role of region", exact=True)).to_have_value("other", timeout=WAIT)
        steward.press("Undo: Role of region")
        expect(steward.page.get_by_label("Role of region", exact=True)).to_have_value("quasi-identifier", timeout=WAIT)
        second.process.kill()
        second.process.wait(30)
    left = list((tmp_path / "temporary").glob("anonto-serve-*"))
    assert len(left) == 1
    with serving(tmp_path, "--port", str(first.port)):
        assert left[0] not in list((tmp_path / "temporary").glob("anonto-serve-*"))


def test_a_dropped_table_is_asked_for_once_more_after_a_restart_and_the_plan_goes_on(
    visit: Visit, tmp_path: Path, chromium: str
) -> None:
    del chromium
    small_table(tmp_path / "dropped.csv")
    with serving(tmp_path / "home") as first:
        steward = visit(first, allowed=("ERR_CONNECTION_REFUSED", "WebSocket", "Failed to load resource"))
        page = steward.page
        steward.drop(tmp_path / "dropped.csv")
        steward.see("The first 8 records")
        steward.go("Columns")
        page.get_by_label("Role of region", exact=True).select_option("other")
        page.get_by_role("button", name="Undo: Role of region").wait_for()
    with serving(tmp_path / "home", "--port", str(first.port)) as second:
        page.goto(second.address)
        steward.see("drop the same file again")
        steward.go("Open")  # a page that was open before may come back where it was
        steward.drop(tmp_path / "dropped.csv")
        steward.see("The first 8 records")
        steward.go("Columns")
        expect(page.get_by_label("Role of region", exact=True)).to_have_value("other", timeout=WAIT)


def test_a_cut_of_real_discharges_goes_the_whole_way(
    visit: Visit, data_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("real")
    with serving(home) as server:
        with gzip.open(data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz", "rt", encoding="utf-8") as file:
            rows = [line for line, _ in zip(file, range(1001), strict=False)]
        (server.folder / "discharges.csv").write_text("".join(rows), encoding="utf-8")
        for kind in ("dx", "pr"):
            name = f"icd9cm_{kind}_edges.csv"
            (server.folder / name).write_bytes((data_folder / "icd9cm" / name).read_bytes())
        steward = visit(server)
        page = steward.page
        page.get_by_label("File (").select_option("discharges.csv")
        steward.press("Open this file")
        steward.see("The first 8 records")
        steward.go("Columns")
        assert page.get_by_label("Ontology of principal_dx").input_value().endswith("icd9cm_dx_edges.csv")
        page.get_by_role("link", name="Look closer at principal_dx").click()
        steward.see("of the cells matched")
        page.get_by_label("Find a concept by code or label").fill("diabetes")
        page.get_by_label("Find a concept by code or label").press("Tab")
        steward.see("concepts found")
        steward.go("Method")
        steward.see("would be recognised")
        steward.run()
        steward.go("Take away")
        steward.see("In Python")
        masked = steward.download("Download the masked table").read_text(encoding="utf-8")
        header = next(csv.reader(io.StringIO(rows[0])))
        assert set(next(csv.reader(io.StringIO(masked)))) <= set(header)
        assert len(masked.splitlines()) == 1001
        page.goto("about:blank")  # leave before the server ends


def test_a_hundred_thousand_real_records_go_the_whole_way(
    visit: Visit, data_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(tmp_path_factory.mktemp("large")) as server:
        whole = pl.read_csv(data_folder / "uci_diabetes130" / "diabetic_data.csv.gz", infer_schema=False)
        kept = whole.select("patient_nbr", "race", "gender", "age", "diag_1", "time_in_hospital", "readmitted")
        kept.write_csv(server.folder / "encounters.csv")
        edges = "icd9cm_dx_edges.csv"
        (server.folder / edges).write_bytes((data_folder / "icd9cm" / edges).read_bytes())
        steward = visit(server)
        page = steward.page
        page.get_by_label("File (").select_option("encounters.csv")
        steward.press("Open this file")
        steward.see("101,766")
        steward.go("Columns")
        expect(page.get_by_label("Role of patient_nbr", exact=True)).to_have_value("identifier", timeout=WAIT)
        steward.go("Method")
        steward.see("would be recognised")
        steward.go("Run")
        steward.press("Start")
        page.get_by_role("progressbar").wait_for()
        steward.go("Columns")  # the pages answer while it runs
        page.get_by_label("Role of race", exact=True).wait_for()
        steward.go("Run")
        page.get_by_role("heading", name="Result", exact=True).wait_for(timeout=3 * WAIT)
        page.get_by_role("img", name="Records by group of", exact=False).first.wait_for()
        steward.go("Take away")
        masked = pl.read_csv(steward.download("Download the masked table"), infer_schema=False)
        assert masked.height == whole.height
        assert "patient_nbr" not in masked.columns
        assert sorted(masked["age"]) == sorted(whole["age"])
        page.goto("about:blank")  # leave before the server ends


# ------------------------------------------------------------------------------------------------ pieces


def small_table(path: Path, n_records: int = 120) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    regions = ("north", "south", "east", "west")
    pl.DataFrame(
        {
            "age": [20 + (7 * n) % 60 for n in range(n_records)],
            "region": [regions[(n * n) % 4] for n in range(n_records)],
            "sex": ["female" if n % 3 else "male" for n in range(n_records)],
            "income": [1000 + 13.5 * n for n in range(n_records)],
        }
    ).write_csv(path)


def workers_of(server: Served) -> list[int]:
    """The processes that a server has started."""
    found = []
    for status in os.scandir("/proc"):
        if status.name.isdigit():
            try:
                with open(f"/proc/{status.name}/stat", encoding="utf-8") as file:  # noqa: PTH123
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent == server.process.pid:
                found.append(int(status.name))
    return found


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
