"""The strata of a step on the page of methods: parts of the table that are masked by themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.web.parts import box, checkbox, choice, show, tag, term, text
from anonto.web.units import set_strata, strata_offered
from anonto.web.words import SMALL_STRATA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anonto.web.frame import Frame


class StrataCard:
    """The columns that define the strata of a step, and what becomes of small strata."""

    def __init__(self, frame: Frame, number: int, changed: Callable[[], Awaitable[None]]) -> None:
        self.frame, self.number, self.changed = frame, number, changed
        with box("card"):
            show(tag("h2", term("Strata", "strata")))
            text("Tick columns such as year or hospital: nothing moves from one of their values to another.")
            self.columns = box("checks", "div", role="group", aria_label="Strata of this step")
            self.small = box("fields")
        self.draw()

    @property
    def step(self) -> dict[str, Any]:
        """The step that is open."""
        found: dict[str, Any] = self.frame.session.plan["steps"][self.number]
        return found

    def draw(self) -> None:
        """Show the columns that can define strata, which depend on those that are masked."""
        offered = strata_offered(self.frame.session.plan)
        within = self.step.get("within", [])
        self.columns.clear()
        with self.columns:
            for name in offered:
                checkbox(name, name in within, partial(self._set, name))
            if not offered:
                text("Every column is masked, dropped or a set.", "p", "small")
        self._draw_small()

    def _draw_small(self) -> None:
        self.small.clear()
        if self.step.get("within"):
            now = self.step.get("small_strata", "refuse")
            with self.small:
                choice("Small strata", SMALL_STRATA, now, self._set_small, explained="small strata")

    async def _set(self, name: str, is_in: Any) -> None:
        with self.frame.change(f"Strata of step {self.number + 1}") as draft:
            step = draft["plan"]["steps"][self.number]
            others = [one for one in step.get("within", []) if one != name]
            set_strata(step, [*others, name] if is_in else others)
        self._draw_small()
        await self.changed()

    async def _set_small(self, value: Any) -> None:
        if value in SMALL_STRATA:
            with self.frame.change(f"Small strata of step {self.number + 1}") as draft:
                draft["plan"]["steps"][self.number]["small_strata"] = value
            await self.changed()
