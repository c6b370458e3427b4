"""Open: upload a file, pick one on this machine, or take the synthetic table; then preview it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import UnclearHeaderError
from anonto.io.headers import CONFIRMED
from anonto.web.app import TABLE_ENDINGS, take_proposal
from anonto.web.dropzone import Dropzone
from anonto.web.frame import onward
from anonto.web.parts import (
    box,
    button,
    choice,
    heading,
    key_figures,
    link,
    message,
    table,
    tag,
    term,
    text,
    text_field,
)
from anonto.web.units import sources_of
from anonto.web.words import KINDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anonto.web.frame import Frame

    Work = Callable[[str | None], Awaitable[None]]

FILES_SHOWN = 200


def open_page(frame: Frame, asked: dict[str, str]) -> None:
    """The first page."""
    del asked
    session = frame.session
    with frame.page(
        "Open a table",
        "One row for each person or event. CSV, Parquet, Excel, SPSS, Stata or SAS; the format is detected.",
    ):
        opening = box("stack")
        preview = box("stack")
        ways = box("grid")
        with ways:
            _ways(frame, opening)
        if session.table is not None:
            _show_preview(frame, preview, opening)
        elif frame.app.demo and not (session.history or session.undone or session.runs):
            _open_demo(frame, opening)


def _ways(frame: Frame, opening: Any) -> None:
    """The ways to open a table; messages have their own place, so that the open table stays visible."""
    app, session = frame.app, frame.session

    async def take_upload(stored: str, name: str) -> None:
        def forget() -> None:
            if (upload := session.upload(stored)) is not None:
                upload.unlink()

        work = partial(app.open_upload, session, stored, name)
        await _open_table(frame, opening, "Reading the table", work, forget)

    with box("card"):
        heading("Drop a file")
        text("It is copied into a folder that only you can read, and deleted when the server stops.")
        Dropzone("Drop a table here, or choose one", app.max_upload, take_upload, frame.report_upload)
        text(f"At most {app.max_upload / 1e9:,.3g} GB.", "p", "small")
    with box("card"):
        heading("Pick one on this machine")
        if app.folder is None:
            text("Start the server with --folder and the path of a folder, and its tables can be picked here.")
        else:
            _picker(frame, opening)
    with box("card"):
        heading("Try the demo")
        text("1,000 synthetic hospital discharges: diagnoses, procedures, age, sex, stay, charge. No real persons.")
        button(
            "Open the demo table",
            lambda: _open_table(frame, opening, "Creating the demo table", lambda _: app.open_demo(session)),
            classes="primary" if session.table is None else "",
        )
    with box("card"):
        heading("Assess a release of another tool")
        text("Attack a table that was masked elsewhere, or made up: give it, and the original.")
        link("Assess a release", "/foreign", classes="button")
    if session.table is not None or session.runs:
        with box("card"):
            heading("Start over")
            text("Forget this session: the table, the plan, all runs, and the undo history.")

            _forget_button(frame)


def _forget_button(frame: Frame) -> None:
    """A button that asks for confirmation, because this cannot be undone."""
    place = box("row")

    def ask() -> None:
        place.clear()
        with place:
            button("Yes, forget everything", forget, classes="danger")
            button("No", lambda: ui.navigate.to("/"))

    def forget() -> None:
        frame.session.forget()
        ui.navigate.to("/")

    with place:
        button("Forget everything", ask, classes="danger")


def _picker(frame: Frame, opening: Any) -> None:
    """A list of files with a filter; only the first files are shown."""
    app, session = frame.app, frame.session
    files = app.files(TABLE_ENDINGS)
    state = {"file": files[0] if files else ""}
    if not files:
        text("The folder contains no table.")
        return
    shown = box()

    def fill(wanted: str) -> None:
        found = [file for file in files if wanted.casefold() in file.casefold()]
        state["file"] = found[0] if found else ""
        shown.clear()
        with shown:
            if not found:
                message("No file name contains this text.", "info")
                return
            label = (
                f"File ({len(found):,} found)"
                if len(found) <= FILES_SHOWN
                else f"File (the first {FILES_SHOWN} of {len(found):,})"
            )
            choice(
                label,
                {file: file for file in found[:FILES_SHOWN]},
                found[0],
                lambda value: state.update(file=str(value)),
            )

    if len(files) > 8:
        text_field("Find", "", lambda value: fill(str(value)), event="input")
        shown.move(target_index=-1)
    fill("")
    button(
        "Open this file",
        lambda: _open_table(frame, opening, "Reading the table", partial(app.open_picked, session, state["file"])),
    )


def _open_demo(frame: Frame, opening: Any) -> None:
    async def content() -> None:
        await frame.app.open_demo(frame.session)
        ui.navigate.to("/")

    frame.soon(opening, "Creating the demo table", content)


async def _open_table(
    frame: Frame,
    opening: Any,
    what: str,
    work: Work,
    forget: Callable[[], None] | None = None,
    header: str | None = None,
) -> None:
    """Open a table and reload the page; if its first row looks like a record, ask.

    Args:
        frame: The page.
        opening: Place for the busy message and the question.
        what: Busy message.
        work: Opens the table, given the user's answer about the first row.
        forget: Called if the user wants another file.
        header: The user's answer about the first row.
    """
    frame.alerts.clear()

    async def content() -> None:
        try:
            await work(header)
        except UnclearHeaderError:
            opening.clear()
            ask()
        else:
            ui.navigate.to("/")

    def ask() -> None:
        with box("card", role="alert"):
            heading("The first row looks like data, not like column names")
            text("Does it contain the column names? Otherwise put a row of names above it, and open the file again.")
            with box("row"):
                button(
                    "It contains the column names: continue",
                    partial(_open_table, frame, opening, what, work, forget, CONFIRMED),
                )
                button("It is data: do not open the file", give_up)

    def give_up() -> None:
        frame.clear(opening)
        if forget is not None:
            forget()

    await frame.fill(opening, what, content)


def _show_preview(frame: Frame, place: Any, opening: Any) -> None:
    async def content() -> None:
        seen = await frame.ask("open")
        place.clear()
        with place:
            _preview(frame, seen, opening)

    frame.soon(place, "Reading the table", content)


def _preview(frame: Frame, seen: dict[str, Any], opening: Any) -> None:
    current = frame.session.table or {}
    columns = seen["columns"]
    missing = sum(one["missing"] for one in columns)
    cells = max(seen["n_records"] * len(columns), 1)
    plan = frame.session.plan
    kinds = {source: KINDS[one["kind"]] for name, one in plan["columns"].items() for source in sources_of(plan, name)}
    with box("card"):
        heading(current["name"])
        key_figures(
            [
                ("records", f"{seen['n_records']:,}"),
                ("columns", f"{len(columns):,}"),
                (term("cells are missing", "missing cells"), f"{missing / cells:.1%}"),
                ("format", _format(seen)),
            ]
        )
        table(
            "The columns",
            [
                "Column",
                "Stored as",
                term("Looks like", "kind"),
                term("Missing", "missing cells"),
                term("Distinct values", "distinct"),
            ],
            [
                [one["name"], one["type"], kinds.get(one["name"], "–"), f"{one['missing']:,}", f"{one['distinct']:,}"]
                for one in columns
            ],
            numbers=(3, 4),
        )
        shown = table(
            f"The first {len(seen['rows'])} records",
            [one["name"] for one in columns],
            [
                [tag("span", "–", class_="empty", title="missing") if cell is None else cell for cell in row]
                for row in seen["rows"]
            ],
        )
        shown.classes("preview")
        _reading_options(frame, seen, opening)
    onward(None, ("Columns", "/columns"))


def _format(seen: dict[str, Any]) -> str:
    names = {"csv": "CSV", "parquet": "Parquet", "excel": "Excel", "spss": "SPSS", "stata": "Stata", "sas": "SAS"}
    return names.get(str(seen["format"]), str(seen["format"]))


def _note(given: dict[str, str], key: str, value: Any) -> None:
    given[key] = str(value)


def _reading_options(frame: Frame, seen: dict[str, Any], opening: Any) -> None:
    """Controls to correct how a CSV file or a workbook is read."""
    if seen["format"] not in {"csv", "excel"}:
        return
    given = dict(frame.session.plan.get("table", {}))
    keys = ("delimiter", "encoding") if seen["format"] == "csv" else ("sheet",)
    labels = {"delimiter": "Delimiter", "encoding": "Encoding", "sheet": "Sheet"}
    with box("reasons", "details"):
        text("Not read correctly?", "summary")
        with box("fields"):
            for key in keys:
                text_field(labels[key], given.get(key) or seen.get(key) or "", partial(_note, given, key))

        async def read_again(header: str | None) -> None:
            session = frame.session
            since = frame.version
            frame.check()
            how = {key: value for key, value in {**given, "header": header}.items() if value}
            about = {**session.draft, "plan": {"table": how}}
            seen = await session.desk.call("open", {**session.task_input(), "plan": {"table": how}})
            found = await frame.app.propose(session, about)
            with frame.change("Change how the file is read", since) as draft:
                draft["table"]["n_records"] = seen["n_records"]
                draft["repairs"] = {}
                take_proposal(draft, found)

        confirmed = given.get("header")
        button(
            "Read it again",
            lambda: _open_table(frame, opening, "Reading the file again", read_again, header=confirmed),
            classes="slim",
        )
