"""Pages when the session continues elsewhere: another tab, another table, undoing, stopping."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

import polars as pl
import pytest
from playwright.sync_api import expect

from web.conftest import WAIT, serving, watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page, WebSocketRoute

    from web.conftest import Served, Visitor

    Visit = Callable[..., Visitor]

CHANGED = "The session changed in the meantime"
RELOAD = "reload this page to continue"
SERVER_ENDED = ("ERR_CONNECTION_REFUSED", "WebSocket", "Failed to load resource")
"""Complaints of a browser when the server of its page ends."""


@pytest.fixture(scope="module", autouse=True)
def tables(served: Served) -> None:
    """Two tables with a column of the same name, and an ontology that lies elsewhere than beside them."""
    codes = ["A1", "A2", "B1", "B2"]
    ages = [20 + (7 * n) % 60 for n in range(120)]
    sexes = ["female" if n % 3 else "male" for n in range(120)]
    pl.DataFrame({"age": ages, "diagnosis": [codes[n % 4] for n in range(120)], "sex": sexes}).write_csv(
        served.folder / "first.csv"
    )
    pl.DataFrame({"age": ages[:60], "sex": sexes[:60], "income": [1000 + 13.5 * n for n in range(60)]}).write_csv(
        served.folder / "second.csv"
    )
    (served.folder / "deeper").mkdir()
    rows = [
        "id,parent,label",
        "all,,everything",
        "A,all,group a",
        "B,all,group b",
        *(f"{one},{one[0]}," for one in codes),
    ]
    (served.folder / "deeper" / "hierarchy.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def opened(steward: Visitor, name: str = "first.csv") -> Visitor:
    steward.page.get_by_label("File (").select_option(name)
    steward.press("Open this file")
    steward.page.get_by_role("heading", name=name).wait_for()
    return steward


def second_tab(steward: Visitor, path: str) -> Page:
    page = steward.context.new_page()
    page.set_default_timeout(WAIT)
    watch(page, steward)
    page.goto(f"{steward.root}{path}")
    return page


def reload(page: Page) -> None:
    """Do what an outdated page asks for."""
    page.get_by_text(CHANGED).filter(has_text=RELOAD).wait_for()
    page.get_by_role("button", name="Reload this page").click()
    page.get_by_text(CHANGED).wait_for(state="detached")


# ------------------------------------------------------------------------------------------------ two tabs


def test_a_change_in_a_tab_that_shows_an_older_draft_is_refused_until_the_tab_is_reloaded(
    served: Served, visit: Visit
) -> None:
    steward = opened(visit(served))
    steward.go("Columns")
    role = steward.page.get_by_label("Role of age", exact=True)
    role.wait_for()
    other = second_tab(steward, "/columns")
    theirs = other.get_by_label("Role of age", exact=True)
    theirs.wait_for()
    role.select_option("confidential")
    steward.page.get_by_role("button", name="Undo: Role of age").wait_for()
    other.get_by_label("Role of sex", exact=True).select_option("identifier")
    reload(other)
    expect(theirs).to_have_value("confidential", timeout=WAIT)
    expect(other.get_by_label("Role of sex", exact=True)).to_have_value("quasi-identifier", timeout=WAIT)
    other.get_by_role("button", name="Undo: Role of age").click()
    expect(theirs).to_have_value("quasi-identifier", timeout=WAIT)
    steward.press("Undo: Role of age")  # the first tab does not know yet, and undoes nothing else
    reload(steward.page)
    steward.page.get_by_role("button", name="Redo: Role of age").wait_for()
    assert steward.page.get_by_role("button", name="Undo: Open first.csv").is_visible()


def test_a_run_of_a_table_that_was_opened_meanwhile_is_not_started_from_the_page_about_another(
    served: Served, visit: Visit
) -> None:
    steward = opened(visit(served))
    other = second_tab(steward, "/run")
    other.get_by_role("button", name="Start").wait_for()
    opened(steward, "second.csv")
    other.get_by_role("button", name="Start").click()
    reload(other)
    other.get_by_text("second.csv").first.wait_for()
    assert not list(served.temporary.glob("anonto-serve-*/*/run-*"))
    other.get_by_role("button", name="Start").click()
    other.get_by_role("heading", name="Result", exact=True).wait_for()
    assert other.get_by_text("of second.csv").first.is_visible()


def test_an_outdated_tab_says_so_in_sight_and_for_as_long_as_it_is_one(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    steward.go("Columns")
    steward.page.get_by_label("Role of age", exact=True).wait_for()
    other = second_tab(steward, "/columns")
    other.set_viewport_size({"width": 390, "height": 600})
    last = other.get_by_label("Role of sex", exact=True)
    last.wait_for()
    steward.page.get_by_label("Role of age", exact=True).select_option("confidential")
    steward.page.get_by_role("button", name="Undo: Role of age").wait_for()
    for role in ("identifier", "other"):  # it is said as often as something is tried
        last.scroll_into_view_if_needed()
        last.select_option(role)
        said = other.get_by_role("alert").filter(has_text=RELOAD)
        expect(said).to_be_in_viewport(timeout=WAIT)
    other.wait_for_timeout(3_000)
    assert said.is_visible()
    assert last.input_value() == "other"
    reload(other)
    expect(last).to_have_value("quasi-identifier", timeout=WAIT)


def test_a_tab_whose_session_was_forgotten_in_another_asks_to_be_reloaded(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    other = second_tab(steward, "/method")
    k = other.get_by_label("k – how many records")
    k.wait_for()
    steward.press("Forget everything")
    steward.press("Yes, forget everything")
    steward.see("no table yet")
    k.fill("7")
    k.press("Tab")
    reload(other)
    other.get_by_text("no table yet").wait_for()


# ------------------------------------------------------------------------------------------------ other tables


def test_a_result_says_which_table_it_is_of_and_the_map_compares_no_other(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.run()
    steward.see("Run 1 of first.csv")
    assert page.get_by_text("the open table is").count() == 0
    page.goto(f"{served.root}/")
    opened(steward, "second.csv")
    steward.go("Result")
    steward.see("This run used first.csv; the open table is second.csv.")
    steward.go("Take away")
    steward.see("This run used first.csv; the open table is second.csv.")
    steward.go("Run")
    steward.see("Run 1 of first.csv was finished.")
    assert page.get_by_role("heading", name="Ready").is_visible()
    assert page.get_by_role("link", name="See that result").get_attribute("href") == "/result?run=1"
    steward.run()
    steward.see("Run 2 of second.csv")
    page.get_by_role("button", name="Load the plan of run 2").wait_for()
    assert page.get_by_role("button", name="Load the plan of run 1").count() == 0


# ------------------------------------------------------------------------------------------------ controls


def test_what_is_chosen_and_pressed_before_the_page_is_connected_is_heard_in_that_order(
    served: Served, visit: Visit
) -> None:
    steward = opened(visit(served))
    page = steward.page
    held: list[Callable[[], None]] = []
    is_connected = False

    def late(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda said: socket.send(said) if is_connected else held.append(partial(socket.send, said)))

    page.route_web_socket("**/*", late)
    for wanted, other in (("second.csv", "first.csv"), ("first.csv", "second.csv")) * 2:
        is_connected = False
        held.clear()
        page.goto(f"{served.root}/")
        for name in (other, wanted) * 4:
            page.get_by_label("File (").select_option(name)
        steward.press("Open this file")
        is_connected = True
        for send in held:
            send()
        page.get_by_role("heading", name=wanted).wait_for()


def test_controls_that_another_one_changes_show_what_the_plan_says(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.go("Columns")
    ontology = page.get_by_label("Ontology of diagnosis", exact=True)
    kind = page.get_by_label("Kind of diagnosis", exact=True)
    ontology.wait_for()
    page.get_by_label("Or choose from the folder").select_option("deeper/hierarchy.csv")
    steward.press("Use this ontology")
    ontology.locator("option", has_text="hierarchy.csv").wait_for(state="attached")
    kind.select_option("ordinal")
    steward.see("Check the order of diagnosis")
    ontology.select_option(label="hierarchy.csv")
    expect(kind).to_have_value("nominal", timeout=WAIT)
    steward.see("100.0 %")
    kind.focus()
    kind.select_option("ordinal")
    expect(ontology).to_have_value("", timeout=WAIT)
    assert page.get_by_text("100.0 %").count() == 0
    expect(kind).to_be_focused()  # the control in hand stays, for those who use the keyboard

    page.get_by_role("link", name="Look closer at diagnosis").click()
    steward.see("Order, lowest first")
    unknown = page.get_by_label("Unknown values")
    assert [page.get_by_label(name).count() for name in ("Measure", "Root", "Unknown values")] == [0, 0, 0]
    page.get_by_label("Ontology", exact=True).select_option(label="hierarchy.csv")
    expect(page.get_by_label("Kind", exact=True)).to_have_value("nominal", timeout=WAIT)
    expect(unknown).to_have_value("keep", timeout=WAIT)
    steward.see("Every value is in the ontology.")
    page.get_by_label("Kind", exact=True).select_option("ordinal")
    expect(page.get_by_label("Ontology", exact=True)).to_have_value("", timeout=WAIT)
    expect(unknown).to_have_count(0, timeout=WAIT)
    page.get_by_label("Order, lowest first, one per line").fill("")
    page.get_by_label("Order, lowest first, one per line").blur()
    steward.see("needs its values, one per line")
    expect(page.get_by_label("Order, lowest first, one per line")).to_have_value("A1\nA2\nB1\nB2", timeout=WAIT)


def test_a_column_with_too_many_values_for_an_order_is_not_put_in_one(
    served: Served, visit: Visit, tmp_path: Path
) -> None:
    many, steward = tmp_path / "many.csv", visit(served)
    pl.DataFrame({"code": [f"c{n:04}" for n in range(400)], "sex": ["f", "m"] * 200}).write_csv(many)
    steward.drop(many)
    steward.see("The first 8 records")
    steward.go("Columns")
    kind = steward.page.get_by_label("Kind of code", exact=True)
    before = kind.input_value()
    kind.select_option("ordinal")
    steward.see("code has 400 different values; at most 200 can be ordered.")
    expect(kind).to_have_value(before, timeout=WAIT)
    assert steward.page.get_by_role("button", name="Undo: Open many.csv").is_visible()


def test_the_page_of_columns_stays_when_the_plan_is_refused(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.go("Method")
    k = page.get_by_label("k – how many records")
    k.fill("")
    k.press("Tab")
    page.get_by_role("button", name="Undo: k of group-swap").wait_for()
    steward.go("Columns")
    page.get_by_label("Role of age", exact=True).wait_for()
    page.wait_for_timeout(1000)
    assert page.get_by_label("Role of age", exact=True).is_visible()
    assert page.get_by_role("alert").count() == 0


def test_nonsense_among_the_values_to_try_is_refused_in_a_sentence(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.run()
    values = page.get_by_label("Values, separated by commas")
    values.fill("5, inf")
    values.press("Tab")
    steward.press("Try them")
    steward.see("Enter numbers separated by commas")


def test_the_values_to_try_are_those_of_the_chosen_parameter(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.go("Method")
    page.get_by_label("invariant-swap").check()
    page.get_by_role("button", name="Undo: Method invariant-swap").wait_for()
    steward.run()
    values = page.get_by_label("Values, separated by commas")
    before = values.input_value()
    choice = page.get_by_label("Parameter", exact=True)
    choice.select_option(index=1)
    expect(values).not_to_have_value(before, timeout=WAIT)
    assert "0.5" in values.input_value()  # the share that swaps


DROP = """(e) => {
  const data = new DataTransfer();
  data.items.add(new File(["a,b\\n1,2\\n"], "other.csv"));
  e.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_a_file_dropped_while_another_is_sent_is_not_sent_too(served: Served, visit: Visit) -> None:
    steward = visit(served, allowed=("Failed to load resource",))
    page = steward.page
    held: list[object] = []
    page.route("**/upload", lambda route: held.append(route))  # noqa: PLW0108 - it takes no method of a list
    steward.drop(served.folder / "first.csv")
    page.get_by_role("button", name="Stop").wait_for()
    page.locator(".drop").evaluate(DROP)
    page.wait_for_timeout(500)
    assert len(held) == 1
    steward.press("Stop")
    page.get_by_role("button", name="Stop").wait_for(state="detached")
    page.locator(".drop").evaluate(DROP)
    page.wait_for_timeout(500)
    assert len(held) == 2


# ------------------------------------------------------------------------------------------------ from the beginning


def test_the_demo_that_a_server_starts_with_can_be_undone_and_is_not_made_again(visit: Visit, tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        steward = visit(server, allowed=SERVER_ENDED)
        page = steward.page
        other = second_tab(steward, "/")
        for one in (page, other):
            one.get_by_text("The first 8 records").wait_for()
        assert page.get_by_role("heading", name="discharges.csv").is_visible()
        steward.press("Undo: Open discharges.csv")
        page.get_by_text("no table yet").wait_for()
        page.wait_for_timeout(1500)
        assert page.get_by_text("no table yet").is_visible()
        assert page.get_by_role("button", name="Undo", exact=True).is_disabled()  # it was opened once
        steward.press("Redo: Open discharges.csv")
        steward.see("The first 8 records")
        steward.go("Columns")
        steward.see("100.0 %")


def test_the_first_page_is_there_in_under_three_seconds_after_the_start(
    visit: Visit, tmp_path: Path, browser: object
) -> None:
    del browser  # it is open already
    seconds, limit = [], 3.0
    for number in range(4):  # the best of several, and more time where other programs have the processors
        started = time.monotonic()
        with serving(tmp_path / str(number)) as server:
            visit(server, allowed=SERVER_ENDED)
            seconds.append(time.monotonic() - started)
        limit = max(limit, 3.0 * os.getloadavg()[0] / (os.cpu_count() or 1))
        if min(seconds) < 3:
            break
    assert min(seconds) < limit


def test_a_stopped_sweep_is_gone_and_leaves_no_plan(served: Served, visit: Visit) -> None:
    steward = opened(visit(served))
    page = steward.page
    steward.run()
    values = page.get_by_label("Values, separated by commas")
    values.fill(", ".join(map(str, range(3, 23))))
    values.press("Tab")
    steward.press("Try them")
    page.get_by_role("heading", name="Trying several plans").wait_for()
    page.get_by_role("button", name="Stop").click()
    steward.see("nothing of it was kept")
    steward.go("Result")
    page.get_by_role("button", name="Load the plan of run 1").wait_for()
    assert page.get_by_role("button", name="Load the plan of run").count() == 1


def test_a_dropped_ontology_is_asked_for_once_more_after_a_restart_and_its_columns_have_it_again(
    visit: Visit, tmp_path: Path, served: Served
) -> None:
    own = served.folder / "deeper" / "hierarchy.csv"
    table = served.folder / "first.csv"
    with serving(tmp_path) as first:
        steward = visit(first, allowed=SERVER_ENDED)
        page = steward.page
        steward.drop(table)
        steward.see("The first 8 records")
        steward.go("Columns")
        ontology = page.get_by_label("Ontology of diagnosis", exact=True)
        ontology.wait_for()
        steward.drop(own, "Drop an ontology file, or choose one")
        ontology.locator("option", has_text="hierarchy.csv").wait_for(state="attached")
        ontology.select_option(label="hierarchy.csv")
        steward.see("100.0 %")
    with serving(tmp_path, "--port", str(first.port)) as second:
        page.goto(second.address)
        steward.see("drop the same file again")
        steward.drop(table)
        steward.see("The first 8 records")
        steward.go("Columns")
        ontology.locator("option", has_text="not available: upload it again").wait_for(state="attached")
        steward.see("cannot be read")
        steward.drop(own, "Drop an ontology file, or choose one")
        steward.see("100.0 %")
        assert ontology.locator("option", has_text="not available").count() == 0
