"""The estimate beside the methods: masks and attacks a sample whenever the draft changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from anonto.errors import AnontoError, SessionChangedError
from anonto.web.drafts import plan_label
from anonto.web.pages.result import further_risks
from anonto.web.parts import Markup, key_figures, message, messages, show, tag, term, text
from anonto.web.words import duration, in_the_sample, our_mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.web.frame import Frame

PATIENCE = 8.0
"""Seconds after which a wait is explained."""
FIRST_TIME = "The first use of a method on this machine takes up to a minute longer; “anonto warm-up” saves that."


class EstimatePane:
    """The panel that shows the estimated effect of the plan."""

    def __init__(self, frame: Frame, place: Any) -> None:
        self.frame, self.place = frame, place
        self._is_estimating = False
        self._is_outdated = False

    async def refresh(self) -> None:
        """Estimate again; a pending estimate was cancelled when the draft changed."""
        if self._is_estimating:
            self._is_outdated = True
            return
        self._is_estimating = True
        try:
            while True:
                self._is_outdated = False
                await self._estimate_once()
                if not self._is_outdated:
                    break
        finally:
            self._is_estimating = False

    async def _estimate_once(self) -> None:
        """Estimate for the current draft; shown unless the draft changes before the answer arrives."""
        self._show(lambda: show(tag("div", "Masking and attacking a sample …", class_="busy", role="status")))
        session = self.frame.session
        label = plan_label(session.plan)
        asking_patience = asyncio.create_task(self._ask_patience())
        try:
            is_nothing = not any(step["columns"] for step in session.plan["steps"])
            found = None if is_nothing else await self.frame.ask("estimate")
        except SessionChangedError:
            if self.frame.is_outdated:
                self.frame.ask_to_reload()
            else:
                self._is_outdated = True
            return
        except AnontoError as error:
            said = session.readable(str(error))
            self._show(lambda: message(said, "error"))
            return
        except Exception as error:
            said = our_mistake(error)
            self._show(lambda: message(said, "error"))
            raise
        finally:
            asking_patience.cancel()
        if found is None:
            self._show(lambda: message("No column is in a step.", "warning"))
        else:
            self._show(lambda: _show_estimate(found, label))

    def _show(self, content: Callable[[], object]) -> None:
        if not self.place.is_deleted:
            self.place.clear()
            with self.place:
                content()

    async def _ask_patience(self) -> None:
        await asyncio.sleep(PATIENCE)
        if not self.place.is_deleted:
            with self.place:
                text(FIRST_TIME, "p", "small")


def _show_estimate(found: dict[str, Any], label: str) -> None:
    worst = found["worst"]
    shown: list[tuple[str | Markup, str]] = []
    if worst is not None:
        shown.append((term("would be recognised", "risk"), f"{worst['rate']:.1%}"))
        shown.append((term("by guessing", "baseline"), f"{worst['baseline']:.1%}"))
    shown += further_risks(found)
    shown.append((term("utility"), f"{found['utility']:.1%}"))
    key_figures(shown)
    if worst is not None:
        between = f"Recognised: {worst['low']:.1%} to {worst['high']:.1%}, with "
        show(tag("p", between, term("95 % confidence", "interval"), ".", class_="small"))
    for step in found["steps"]:
        guarantee = step["guarantee"]
        words = f"{step['unchanged']:.0%} of the cells stay unchanged."
        text(f"{step['method']}: {words}", "p", "small")
        if guarantee["proved"]:
            numbers = [
                f"{key} = {guarantee[key]}"
                for key in ("k", "epsilon", "average_risk")
                if guarantee.get(key) is not None
            ]
            show(tag("p", tag("span", "proved", class_="badge proved"), f" {guarantee['kind']} {', '.join(numbers)}"))
    seconds = sum(found["expected"].values())
    unit = "persons" if found["is_of_persons"] else "records"
    text(
        f"From {found['sample']:,} of {found['n_records']:,} {unit}, with {label}. The whole table takes about "
        f"{duration(seconds)}.",
        "p",
        "small",
    )
    is_part = found["sample"] < found["n_records"]
    messages(found["warnings"], "warning", in_the_sample(found["sample"]) if is_part else "")
