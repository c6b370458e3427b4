"""A column, or a pair of columns, of a run before and after masking."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.encoding.description import KINDS_OF_CONCEPTS
from anonto.web.charts import before_after, chart, heat
from anonto.web.parts import box, choice, heading, message, table, term, text

if TYPE_CHECKING:
    from anonto.web.frame import Frame

DEPTHS = {"2": "broad groups", "3": "narrower groups", "4": "narrow groups", "5": "narrowest groups"}


def before_and_after(frame: Frame, run: dict[str, Any]) -> None:
    """Columns and pairs of columns of a run, and how their cells changed."""
    evidence = run["evidence"]
    columns = [name for step in evidence["steps"] for name in step["columns"]]
    others = [name for name in evidence["released_as_is"] if name not in columns]
    if not columns:
        return
    losses = run["assessment"]["utility"]["columns"]
    with box("card"):
        heading("A column before and after")
        if not run["files"]:
            message(
                "The masked table was deleted when the server stopped. Load the plan below and run it again.", "info"
            )
        else:
            _ColumnPanel(frame, run, columns).show()
        rows = [
            [
                name,
                f"{1 - step['unchanged'][name] / max(evidence['n_records'] - step['missing'][name], 1):.1%}",
                f"{step['rmse'][name]:.3f}",
                f"{losses[name]['hellinger']:.3f}" if "hellinger" in losses.get(name, {}) else "–",
            ]
            for step in evidence["steps"]
            for name in step["columns"]
        ]
        table(
            "Changes of the cells",
            ["Column", "Changed", term("Distance moved", "distance"), term("Frequencies changed", "frequencies")],
            rows,
            numbers=(1, 2, 3),
        )
    if len(columns) + len(others) > 1:
        with box("card"):
            heading("A pair of columns before and after")
            if run["files"]:
                _PairPanel(frame, run, [*columns, *others]).show()
            pairs = run["assessment"]["utility"]["pairs"]
            if pairs:
                shown = [
                    [
                        " × ".join(one["columns"]),
                        f"{one['distance_correlation']['original']:.3f}",
                        f"{one['distance_correlation']['masked']:.3f}",
                    ]
                    for one in pairs
                ]
                with box("reasons", "details"):
                    text(f"How strongly {len(pairs):,} pairs are related", "summary")
                    table(
                        "How strongly pairs are related",
                        ["Pair", term("Before", "distance correlation"), term("After", "distance correlation")],
                        shown[:40],
                        numbers=(1, 2),
                    )


class _ColumnPanel:
    """One column, chosen by the reader."""

    def __init__(self, frame: Frame, run: dict[str, Any], columns: list[str]) -> None:
        self.frame, self.run, self.columns = frame, run, columns
        self.asked: dict[str, Any] = {"column": columns[0], "depth": 2}

    def show(self) -> None:
        """Show the column selector and the chart."""
        with box("fields"):
            choice(
                "Column",
                {name: name for name in self.columns},
                self.columns[0],
                lambda value: self._set("column", value),
            )
            choice("Groups in the ontology", DEPTHS, "2", lambda value: self._set("depth", value))
        self.place = box()
        self.frame.soon(self.place, "Counting", self._draw)

    async def _set(self, key: str, value: Any) -> None:
        if key == "depth" and value in DEPTHS:
            self.asked["depth"] = int(value)
        elif key == "column" and value in self.columns:
            self.asked["column"] = value
        await self.frame.fill(self.place, "Counting", self._draw)

    async def _draw(self) -> None:
        found = await _ask(self.frame, self.run, "compare", self.asked)
        self.place.clear()
        with self.place:
            kind = self.run["draft"]["plan"]["columns"].get(self.asked["column"], {}).get("kind", "nominal")
            what = "Elements" if kind == "set" else "Records"
            title = f"{what} by group of {self.asked['column']}, before and after masking"
            chart(
                before_after(found["labels"], found["before"], found["after"], in_order=kind not in KINDS_OF_CONCEPTS),
                title,
                "tall",
            )


class _PairPanel:
    """Two columns, chosen by the reader."""

    def __init__(self, frame: Frame, run: dict[str, Any], columns: list[str]) -> None:
        self.frame, self.run, self.columns = frame, run, columns
        self.pair = [columns[0], columns[1]]

    def show(self) -> None:
        """Show the column selectors and both heat maps."""
        with box("fields"):
            for place, label in enumerate(("First column", "Second column")):
                choice(label, {name: name for name in self.columns}, self.pair[place], partial(self._set, place))
        self.place = box()
        self.frame.soon(self.place, "Counting", self._draw)

    async def _set(self, place: int, value: Any) -> None:
        if value in self.columns:
            self.pair[place] = value
        await self.frame.fill(self.place, "Counting", self._draw)

    async def _draw(self) -> None:
        found = await _ask(self.frame, self.run, "compare_pair", {"columns": list(self.pair)})
        self.place.clear()
        most = max(max(map(max, found[when])) for when in ("before", "after"))
        with self.place, box("grid"):
            for when in ("before", "after"):
                with box():
                    heading(when.capitalize(), 3)
                    title = f"Records by {self.pair[0]} and {self.pair[1]}, {when} masking"
                    chart(heat(found["rows"], found["columns"], found[when], most), title)


async def _ask(frame: Frame, run: dict[str, Any], task: str, asked: dict[str, Any]) -> dict[str, Any]:
    session = frame.session
    folder = session.run_folder(run["number"])
    return await session.desk.call(task, {**session.task_input(run["draft"]), "folder": str(folder), **asked})
