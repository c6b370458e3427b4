"""The card of the method page that finds the plan that keeps most under a risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.pages.parameters import part_numbers
from anonto.web.parts import box, button, enable, heading, number_field, text

if TYPE_CHECKING:
    from anonto.web.frame import Frame

FIRST_RISK = 5.0
"""Percent that are filled in."""
SECONDS = 60.0
"""Expected on a sample of two cores' work; a run on the whole table follows."""
SECONDS_PER_1000 = 2.0


def by_risk(frame: Frame) -> None:
    """The largest risk that is accepted, and a button that tries every method."""
    state: dict[str, Any] = {"risk": FIRST_RISK}
    with box("card"):
        heading("Choose by risk")
        text(
            "Tries every method on a sample, attacks each release, and finds the plan that keeps most within "
            "the risk you accept; that plan is then tried on all records. It takes a minute or more.",
            "p",
            "small",
        )
        with box("fields"):
            number_field(
                "Largest risk you accept, in percent of the persons",
                FIRST_RISK,
                lambda value: state.update(risk=value),
                low=0.1,
                high=100,
                step=0.1,
            )

        async def start() -> None:
            given = part_numbers(str(state["risk"]))
            if len(given) != 1 or not 0 < given[0] <= 100:
                frame.say("Enter a risk of more than 0 and at most 100 percent.", "error")
                return
            seconds = SECONDS + SECONDS_PER_1000 * (frame.session.table or {})["n_records"] / 1000
            enable(finding, is_enabled=False)
            try:
                await frame.app.start(
                    frame.session,
                    "best plan",
                    {"trying": seconds},
                    version=frame.version,
                    asked={"max_risk": given[0] / 100},
                )
            finally:
                enable(finding, is_enabled=True)
            ui.navigate.to("/run")

        finding = button("Find the plan that keeps most", start)
