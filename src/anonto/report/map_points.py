"""The points of the risk-utility map of a report: this release, the table unmasked, and the plans of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anonto.errors import MapPointsError
from anonto.report.editions import rounded

if TYPE_CHECKING:
    from anonto.report.editions import Edition

KEYS = {"label": str, "method": str, "risk": (int, float), "utility": (int, float)}
ALL_TOLD_APART = 0.25
OWN, UNMASKED = "this release", "the table unmasked"


def map_points(
    sweep: Any, own: Mapping[str, Any] | None, unmasked: Mapping[str, Any] | None, edition: Edition
) -> dict[str, Any]:
    """The points of the map and where they come from.

    Args:
        sweep: What a sweep gave, or a list of points; None for this release and the unmasked table alone.
        own: This release.
        unmasked: The table as it was.
        edition: The public one names no plan but by its methods.
    """
    swept = None if sweep is None else [_plain(one) for one in points_of(sweep)]
    points = [dict(one) for one in (own, unmasked) if one is not None] if swept is None else list(swept)
    if swept is not None and own is not None:
        points.append({**own, "on_front": not any(_beats(one, own) for one in swept)})
    if edition == "public":
        points = [_published(one) for one in points]
    return {"from_sweep": swept is not None, "points": points}


def _beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a plan has less risk and as much utility, or more utility and as little risk."""
    no_worse = one["risk"] <= other["risk"] and one["utility"] >= other["utility"]
    return no_worse and (one["risk"], one["utility"]) != (other["risk"], other["utility"])


def points_of(sweep: Any) -> list[Mapping[str, Any]]:
    """The points of a sweep, of its plain data, or of a list of them; checked."""
    given = sweep.to_dict() if hasattr(sweep, "to_dict") else sweep
    points = given.get("points") if isinstance(given, Mapping) else given
    if not isinstance(points, Sequence) or isinstance(points, str):
        raise MapPointsError("a list of points")
    found = [one.to_dict() if hasattr(one, "to_dict") else one for one in points]
    for one in found:
        if not isinstance(one, Mapping):
            raise MapPointsError("points that have keys")
        for key, kind in KEYS.items():
            if not isinstance(one.get(key), kind) or isinstance(one[key], bool):  # type: ignore[arg-type]
                raise MapPointsError(f"for each point its {key}")
    return found


def kept(utility: Mapping[str, Any], at_random: Mapping[str, float]) -> float:
    """What an analyst keeps, from 0 to 1: 1 less the mean of four losses.

    They are those of a sweep: how far cells moved against dealing them out at random; how far frequencies moved; how
    much of the distance correlations is lost; how well a model tells the two tables apart. What dealing out at random
    would leave of the correlations is taken as nothing.

    Args:
        utility: Of an assessment.
        at_random: How far the cells of each column move when they are dealt out at random.
    """
    columns = utility["columns"]
    losses = [
        _mean([min(1.0, one["rmse"] / at_random[name]) for name, one in columns.items() if at_random.get(name)]),
        _mean([_distribution_loss(one) for one in columns.values()]),
        _dependence_loss([one["distance_correlation"] for one in utility["pairs"]]),
        _told_apart(utility["table"]),
    ]
    known = [loss for loss in losses if loss is not None]
    return 1.0 - float(_mean(known) or 0.0)


def _distribution_loss(column: Mapping[str, Any]) -> float:
    spread, mean = column.get("standard_deviation"), column.get("mean")
    if spread is None or mean is None or not spread["original"]:
        return float(column["hellinger"])
    shift = abs(mean["masked"] - mean["original"]) / spread["original"]
    return float(min(1.0, max(shift, abs(spread["masked"] / spread["original"] - 1.0))))


def _dependence_loss(both: Sequence[Mapping[str, float]]) -> float | None:
    there = sum(one["original"] for one in both)
    if there < 0.01 * max(len(both), 1):
        return None
    return float(min(1.0, sum(abs(one["masked"] - one["original"]) for one in both) / there))


def _told_apart(table: Mapping[str, Any]) -> float | None:
    if "pmse" not in table:
        return None
    blind = table["pmse_at_random"]
    return float(min(1.0, max(0.0, (table["pmse"] - blind) / (ALL_TOLD_APART - blind))))


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """What is drawn of a point of a sweep; its interval is called by two names."""
    further = {
        "risk_low": point.get("risk_low", point.get("low")),
        "risk_high": point.get("risk_high", point.get("high")),
    }
    return {
        **{key: point[key] for key in KEYS},
        "on_front": bool(point.get("on_front")),
        **{key: value for key, value in further.items() if isinstance(value, int | float)},
    }


def _published(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point without its parameters."""
    is_no_plan = point["label"] in {OWN, UNMASKED}
    return {
        "label": point["label"] if is_no_plan else point["method"],
        "method": point["method"],
        "risk": rounded(point["risk"]),
        "utility": round(point["utility"], 2),
        "on_front": point["on_front"],
    }
