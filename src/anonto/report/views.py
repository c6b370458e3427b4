"""Views of a report's data for the templates: a choice of rows, their order, a number as a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import is_linkage, measured_by
from anonto.attacks.shares import PassedFloat, percent
from anonto.report.charts import MOST_COLUMNS, MOST_GROUPS
from anonto.report.counts import NOT_SHOWN
from anonto.report.editions import has_widths
from anonto.report.map_points import OWN
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Data = Mapping[str, Any]

MEASURES = {
    "rmse": "Distance moved",
    "hellinger": "Frequencies",
    "mean_shift": "Mean",
    "il1s": "Relative loss",
}

# ------------------------------------------------------------------------------------------------ numbers


def interval(row: Data) -> str:
    """The interval of a rate as text."""
    low, high = row["low"], row["high"]
    if low is None and high is None:
        return "–"
    if low is None:
        return f"up to {percent(high)}"
    return f"from {percent(low)}" if high is None else f"{percent(low)} – {percent(high)}"


def share(value: float | None) -> str:
    """A share in per cent, if there is one."""
    return "–" if value is None else percent(value)


def number(value: float | None) -> str:
    """Format a number with as many digits as it may have; the public edition rounds to two."""
    if value is None:
        return NOT_SHOWN
    return f"{value:.{2 if isinstance(value, PassedFloat) else 3}f}"


# ------------------------------------------------------------------------------------------------ a release


def parameters(step: Data) -> str:
    """The parameters of a step in a line."""
    told = [
        f"{name} = {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in step["parameters"].items()
    ]
    if step.get("kept_back"):
        told.append(f"not published: {', '.join(step['kept_back'])}")
    return ", ".join(told) or "none"


def distance_readings(columns: Sequence[Data]) -> dict[str, list[str]]:
    """How to read distances, with the columns that this is about."""
    readings: dict[str, list[str]] = {}
    for column in columns:
        readings.setdefault(column["how_to_read"], []).append(column["name"])
    return readings


def mostly_unchanged(columns: Sequence[Data]) -> list[str]:
    """The columns whose cells are mostly what they were."""

    def is_kept(changed: int | str, unchanged: int | str) -> bool:
        return isinstance(unchanged, int) and (not isinstance(changed, int) or unchanged > changed)

    return [one["name"] for one in columns if is_kept(one["changed"]["count"], one["unchanged"]["count"])]


def frequency_remarks(rows: Sequence[Data]) -> list[str]:
    """Remarks below a chart of frequencies."""
    drawn = rows[:MOST_GROUPS]
    remarks = []
    if len(rows) > len(drawn):
        remarks.append(f"The {len(drawn)} largest groups.")
    if any(isinstance(row[when], str) for row in drawn for when in ("before", "after")):
        remarks.append("A pale bar stands for a count below 5.")
    if all(row["before"] == row["after"] for row in rows):
        remarks.append("Every count shown is the same before and after.")
    return remarks


# ------------------------------------------------------------------------------------------------ its risk


def linkages(attacks: Iterable[Data]) -> list[Data]:
    """The attacks that are drawn."""
    return [one for one in attacks if is_linkage(one["attack"]) and one["n"]]


def scenarios(attacks: Iterable[Data]) -> dict[tuple[str, ...], list[Data]]:
    """The attacks on persons, by the columns that the intruder knows."""
    found: dict[tuple[str, ...], list[Data]] = {}
    for one in attacks:
        if measured_by(one["attack"]) != "cells":
            found.setdefault(tuple(one["columns"]), []).append(one)
    return found


def on_cells(attacks: Iterable[Data]) -> dict[str, list[Data]]:
    """The attacks on cells, by name."""
    found: dict[str, list[Data]] = {}
    for one in attacks:
        if measured_by(one["attack"]) == "cells":
            found.setdefault(one["attack"], []).append(one)
    return found


def release_marks(points: Sequence[Data]) -> list[dict[str, Any]]:
    """Points of the map with a ring around this release; the table unmasked has the shape of the first method."""
    methods = [one["method"] for one in points if one["method"] != "none"] or ["none"]
    return [
        {**one, "method": methods[0] if one["method"] == "none" else one["method"], "chosen": one["label"] == OWN}
        for one in points
    ]


# ------------------------------------------------------------------------------------------------ its use


def measures_of(columns: Sequence[Data]) -> dict[str, str]:
    """The losses that some column has, with their names."""
    return {key: name for key, name in MEASURES.items() if any(key in column for column in columns)}


def moved_columns(columns: Sequence[Data]) -> dict[str, list[Any]]:
    """The columns by what is shown of how far their cells moved."""
    found: dict[str, list[Any]] = {"drawn": [], "stayed": [], "few": [], "kept_back": []}
    for column in columns:
        if column["moved"] is None:
            found["kept_back" if has_widths(column["method"]) else "few"].append(column["name"])
        elif any(one["cells"] for one in column["moved"]["bins"]):
            found["drawn"].append(column)
        else:
            found["stayed"].append(column["name"])
    return found


def columns_of(pairs: Sequence[Data]) -> list[str]:
    """The columns of pairs, each once."""
    return list(dict.fromkeys(name for one in pairs for name in one["columns"]))


def most_changed(pairs: Sequence[Data]) -> list[str]:
    """The columns in their order, at most as many as can be drawn."""
    every = columns_of(pairs)
    change = {name: max(abs(one["change"]) for one in pairs if name in one["columns"]) for name in every}
    chosen = sorted(every, key=lambda name: -change[name])[:MOST_COLUMNS]
    return [name for name in every if name in chosen]


def correlations(pairs: Sequence[Data], names: Sequence[str], which: str) -> dict[tuple[str, ...], float]:
    """The distance correlation of each pair of these columns: before, after, or its change."""
    return {
        tuple(one["columns"]): one["change"] if which == "change" else one["distance_correlation"][which]
        for one in pairs
        if set(one["columns"]) <= set(names)
    }


def by_change(pairs: Sequence[Data]) -> list[Data]:
    """Pairs of columns, those that changed most first."""
    return sorted(pairs, key=lambda one: -abs(one["change"]))


def class_rows(bins: Sequence[Data]) -> list[dict[str, Any]]:
    """Classes of records as rows of a chart."""
    return [
        {"label": f"{one['size']} record{'' if one['size'] == '1' else 's'}", "concept": "", **one}
        for one in bins
        if one["before"] or one["after"]
    ]


# ------------------------------------------------------------------------------------------------ a sweep


def sweep_marks(points: Sequence[Data], chosen: str | None) -> list[dict[str, Any]]:
    """The plans of a sweep as points of the map, with a ring around the one that is recommended."""
    marks = []
    for one in points:
        utilities = [run["losses"]["utility"] for run in one["runs"]]
        marks.append(
            {key: one[key] for key in ("label", "method", "risk", "utility", "on_front")}
            | {"risk_low": one["low"], "risk_high": one["high"]}
            | {"utility_low": min(utilities), "utility_high": max(utilities), "chosen": one["label"] == chosen}
        )
    return marks


def group_skipped(skipped: Sequence[Data]) -> list[tuple[str, str]]:
    """Plans that could not be tried, by reason; several of one method by its name and their number."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for one in skipped:
        by_reason.setdefault(one["reason"], {}).setdefault(one["label"].split(" (")[0], []).append(one["label"])
    return [
        (
            list_names(
                labels[0] if len(labels) == 1 else f"{name} ({len(labels)} plans)" for name, labels in names.items()
            ),
            why,
        )
        for why, names in by_reason.items()
    ]
