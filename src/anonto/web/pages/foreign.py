"""Foreign releases: an original and a table that another tool made of it, attacked without a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.report.views import interval, share
from anonto.web.frame import onward
from anonto.web.further_table import choose_table
from anonto.web.parts import box, button, heading, link, message, show, table, tag, text

if TYPE_CHECKING:
    from anonto.web.frame import Frame

FILES = {
    "original": ("The original", "the original"),
    "release": ("The release", "the release"),
    "held_out": ("Persons held out, if you have some", "the persons held out"),
}
EXPLAINED = {
    "original": "The table with the persons.",
    "release": "What another tool made of it, with the same names of columns: rows in any number and order, cells that "
    "may be intervals or stars.",
    "held_out": "Persons like those of the original who are not in it: without them nobody can say what is read off a "
    "person’s own record.",
}


def foreign_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of a release of another tool."""
    del asked
    files = frame.session.foreign
    with frame.page(
        "Assess a release of another tool",
        "No plan is needed: what intruders can find out is measured in the columns that both tables have.",
    ):
        with box("grid"):
            for key in FILES:
                with box("card"):
                    _file(frame, key)
        result = box("stack")
        if {"original", "release"} <= set(files):
            with box("card") as start:
                place = box("stack")

                async def attack() -> None:
                    async def content() -> None:
                        await frame.app.assess_foreign(frame.session)
                        ui.navigate.to("/foreign")

                    await frame.fill(place, "Attacking the release", content)

                button("Attack it again" if "found" in files else "Attack it", attack, classes="primary")
            start.move(target_index=2)
        with result:
            if "found" in files:
                _result(files["found"])
        onward(("Open", "/"), None)


def _file(frame: Frame, key: str) -> None:
    """A file that was brought, or a place to bring it."""
    title, words = FILES[key]
    heading(title)

    def change(chosen: dict[str, Any] | None) -> None:
        others = {name: one for name, one in frame.session.foreign.items() if name not in {key, "found"}}
        frame.session.foreign = {**others, **({} if chosen is None else {key: chosen})}
        ui.navigate.to("/foreign")

    one = frame.session.foreign.get(key)
    if one is None:
        text(EXPLAINED[key])
        choose_table(frame, f"Drop {words} here, or choose a file", change, {})
        return
    show(tag("p", tag("strong", one["name"]), f" · {one['n_records']:,} records"))
    button("Take another file", partial(change, None), classes="slim", name=f"Take another file for {words}")


def _result(report: dict[str, Any]) -> None:
    """What the report says, with its files."""
    with box("card"):
        heading("Result")
        for sentence in report["verdict"].values():
            text(sentence)
        for sentence in report["findings"]:
            message(sentence, "warning")
    with box("card"):
        heading("Success of the attacks")
        for one in report["attacks"]:
            heading(one["title"], 3)
            text(one["summary"], "p", "small")
            table(
                f"0 % is safe, 100 % is disclosed: {one['title']}",
                HEADER,
                map(_row, one["rows"]),
                numbers=range(1, len(HEADER)),
            )
            for row in one["rows"]:
                text(f"{row['about']}: {row['reading']}" if row["about"] else row["reading"], "p", "small")
    if report["losses"]:
        with box("card"):
            heading("What is left of each column")
            rows = [[one["name"], share(one["suppressed"]), share(one["generalised"])] for one in report["losses"]]
            table(
                "Cells that are suppressed or generalised",
                ["Column", "Suppressed", "Generalised"],
                rows,
                numbers=(1, 2),
            )
    with box("card"):
        heading("Take away")
        with box("row"):
            link("Download the internal report", "/take-foreign/report-internal", classes="button", download="")
            link("Download the public report", "/take-foreign/report", classes="button", download="")
        text(
            "The public report names the attacks, and has no figure that was measured with the original.", "p", "small"
        )


HEADER = ["Attack", "Rate", "By chance", "Without the record", "95 % interval", "Attacked"]


def _row(row: dict[str, Any]) -> list[str]:
    about = f" → {row['about']}" if row["about"] else ""
    return [
        f"{row['attack']}{about}",
        row["shown"],
        share(row["baseline"]),
        share(row["control"]),
        interval(row),
        f"{row['n']:,}",
    ]
