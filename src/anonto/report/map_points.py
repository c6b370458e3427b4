"""The points of the risk-utility map of a report: this release, the table unmasked, and the plans of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anonto.errors import MapPointsError
from anonto.report.counts import SMALLEST_SHOWN
from anonto.report.editions import percent, rate_shown

if TYPE_CHECKING:
    from anonto.report.editions import Edition

KEYS = {"label": str, "method": str, "risk": (int, float), "utility": (int, float)}
OWN, UNMASKED = "this release", "the table unmasked"


def map_points(
    sweep: Any, own: Mapping[str, Any] | None, unmasked: Mapping[str, Any] | None, n_records: int, edition: Edition
) -> dict[str, Any]:
    """The points of the map and where they come from.

    Args:
        sweep: What a sweep gave, or a list of points; None for this release and the unmasked table alone.
        own: This release.
        unmasked: The table as it was.
        n_records: Of the release; a point without an ``n`` of its own is about as many persons.
        edition: The public one names no plan but by its methods, and hides the risks that it hides elsewhere.
    """
    swept = None if sweep is None else [_plain(one) for one in points_of(sweep)]
    points = [dict(one) for one in (own, unmasked) if one is not None] if swept is None else list(swept)
    if swept is not None and own is not None:
        points.append({**own, "on_front": not any(_beats(one, own) for one in swept)})
    points = [_shown(one, one.pop("n", n_records), edition) for one in points]
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


def _plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """What is drawn of a point of a sweep; its interval is called by two names."""
    further = {
        "risk_low": point.get("risk_low", point.get("low")),
        "risk_high": point.get("risk_high", point.get("high")),
    }
    worst = point.get("worst")
    n = worst.get("n") if isinstance(worst, Mapping) else None
    return {
        **{key: point[key] for key in KEYS},
        "on_front": bool(point.get("on_front")),
        **{key: value for key, value in further.items() if isinstance(value, int | float)},
        **({"n": n} if isinstance(n, int) and n > 0 else {}),
    }


def _shown(point: Mapping[str, Any], n: int, edition: Edition) -> dict[str, Any]:
    """A point with its risk as a text; in public without its parameters, and with a bound for a risk that is hidden.

    Args:
        point: The plan.
        n: How many persons were attacked.
        edition: Of the report.
    """
    if edition == "internal":
        return {**point, "shown": percent(point["risk"])}
    is_no_plan = point["label"] in {OWN, UNMASKED}
    told = rate_shown(point["risk"], point["risk"], point["risk"], n, edition)
    published = {
        "label": point["label"] if is_no_plan else point["method"],
        "method": point["method"],
        "risk": told["rate"],
        "shown": told["shown"],
        "utility": round(point["utility"], 2),
        "on_front": point["on_front"],
    }
    if told["rate"] is None and told["high"] is not None:
        published["risk_high"] = SMALLEST_SHOWN / n
    elif told["rate"] is None and told["low"] is not None:
        published["risk_low"] = 1 - SMALLEST_SHOWN / n
    return published


def drawn_risk(point: Mapping[str, Any]) -> float | None:
    """Where a point is drawn: at its risk, or at the bound that is shown in its place; None for nowhere."""
    known = (point["risk"], point.get("risk_high"), point.get("risk_low"))
    return next((float(one) for one in known if one is not None), None)
