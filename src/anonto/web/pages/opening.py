"""Open: drop a file, pick one of this machine, or take the made-up table; then look at it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import UnclearHeaderError
from anonto.table.headers import CONFIRMED
from anonto.web.dropzone import Dropzone
from anonto.web.frame import onward
from anonto.web.house import TABLE_ENDINGS, take_proposal
from anonto.web.parts import box, button, choice, facts, heading, message, table, tag, term, text, text_field
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
        "One row for each person or event. CSV, Parquet, Excel, SPSS, Stata or SAS; the content tells which.",
    ):
        opening = box("stack")
        preview = box("stack")
        ways = box("grid")
        with ways:
            _ways(frame, opening)
        if session.table is not None:
            _show_preview(frame, preview, opening)
        elif frame.house.demo and not (session.history or session.undone or session.runs):
            _open_demo(frame, opening)


def _ways(frame: Frame, opening: Any) -> None:
    """The ways to a table; what comes of one is said in a place of its own, so that the open table stays."""
    house, session = frame.house, frame.session

    async def dropped(stored: str, name: str) -> None:
        def forget() -> None:
            if (upload := session.upload(stored)) is not None:
                upload.unlink()

        work = partial(house.open_upload, session, stored, name)
        await _opened(frame, opening, "Looking at the table", work, forget)

    with box("card"):
        heading("Drop a file")
        text("It is copied into a folder that only you can read, and wiped when the server ends.")
        Dropzone("Drop a table here, or choose one", house.max_upload, dropped, frame.not_sent)
        text(f"At most {house.max_upload / 1e9:,.3g} GB.", "p", "small")
    with box("card"):
        heading("Pick one on this machine")
        if house.folder is None:
            text("Start the server with --folder and the path of a folder, and its tables can be picked here.")
        else:
            _picker(frame, opening)
    with box("card"):
        heading("Try the demo")
        text("1,000 made-up hospital discharges: diagnoses, procedures, age, sex, stay, charge. Nobody is in it.")
        button(
            "Open the demo table",
            lambda: _opened(frame, opening, "Making the demo table", lambda _: house.open_demo(session)),
            classes="primary" if session.table is None else "",
        )
    if session.table is not None or session.runs:
        with box("card"):
            heading("Start afresh")
            text("Forget this session: the table, the plan, all runs, and what could be undone.")

            _forgetting(frame)


def _forgetting(frame: Frame) -> None:
    """A button that asks once more, for this alone cannot be undone."""
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
    """A list of files with a filter: only as many are shown as anybody reads."""
    house, session = frame.house, frame.session
    files = house.files(TABLE_ENDINGS)
    state = {"file": files[0] if files else ""}
    if not files:
        text("There is no table in the folder.")
        return
    shown = box()

    def fill(wanted: str) -> None:
        found = [file for file in files if wanted.casefold() in file.casefold()]
        state["file"] = found[0] if found else ""
        shown.clear()
        with shown:
            if not found:
                message("No file has this in its name.", "info")
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
        lambda: _opened(frame, opening, "Looking at the table", partial(house.open_picked, session, state["file"])),
    )


def _open_demo(frame: Frame, opening: Any) -> None:
    async def content() -> None:
        await frame.house.open_demo(frame.session)
        ui.navigate.to("/")

    frame.soon(opening, "Making the demo table", content)


async def _opened(
    frame: Frame,
    opening: Any,
    what: str,
    work: Work,
    forget: Callable[[], None] | None = None,
    header: str | None = None,
) -> None:
    """Open a table, and show the page anew with it; where its first row looks like a record, ask.

    Args:
        frame: The page.
        opening: Where it is said what is under way, and asked.
        what: What is under way.
        work: Opens the table, given what the user said of the first row.
        forget: What is done if the user wants another file.
        header: What the user said of the first row.
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
            text(
                "Does it hold the names of the columns? Otherwise put a row of names above it, and open the file again."
            )
            with box("row"):
                button(
                    "It holds the column names: go on", partial(_opened, frame, opening, what, work, forget, CONFIRMED)
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

    frame.soon(place, "Looking at the table", content)


def _preview(frame: Frame, seen: dict[str, Any], opening: Any) -> None:
    current = frame.session.table or {}
    columns = seen["columns"]
    missing = sum(one["missing"] for one in columns)
    cells = max(seen["n_records"] * len(columns), 1)
    kinds = {name: KINDS[one["kind"]] for name, one in frame.session.plan["columns"].items()}
    with box("card"):
        heading(current["name"])
        facts(
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
        _reading(frame, seen, opening)
    onward(None, ("Columns", "/columns"))


def _format(seen: dict[str, Any]) -> str:
    names = {"csv": "CSV", "parquet": "Parquet", "excel": "Excel", "spss": "SPSS", "stata": "Stata", "sas": "SAS"}
    return names.get(str(seen["format"]), str(seen["format"]))


def _note(given: dict[str, str], key: str, value: Any) -> None:
    given[key] = str(value)


def _reading(frame: Frame, seen: dict[str, Any], opening: Any) -> None:
    """How a CSV file or a workbook is read, where that was guessed wrongly."""
    if seen["format"] not in {"csv", "excel"}:
        return
    given = dict(frame.session.plan.get("table", {}))
    keys = ("delimiter", "encoding") if seen["format"] == "csv" else ("sheet",)
    labels = {"delimiter": "Delimiter", "encoding": "Encoding", "sheet": "Sheet"}
    with box("reasons", "details"):
        text("It was read wrongly?", "summary")
        with box("fields"):
            for key in keys:
                text_field(
                    labels[key],
                    given.get(key) or seen.get(key) or "",
                    partial(_note, given, key),
                )

        async def read_again(header: str | None) -> None:
            session = frame.session
            since = frame.version
            frame.check()
            how = {key: value for key, value in {**given, "header": header}.items() if value}
            about = {**session.draft, "plan": {"table": how}}
            seen = await session.desk.call("open", {**session.given(), "plan": {"table": how}})
            found = await frame.house.propose(session, about)
            with frame.changing("Read the file otherwise", since) as draft:
                draft["table"]["n_records"] = seen["n_records"]
                draft["repairs"] = {}
                take_proposal(draft, found)

        confirmed = given.get("header")
        button(
            "Read it again",
            lambda: _opened(frame, opening, "Reading the file again", read_again, header=confirmed),
            classes="slim",
        )
