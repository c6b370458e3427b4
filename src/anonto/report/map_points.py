"""The points of the risk-utility map of a report: this release, the table unmasked, and the plans of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anonto.attacks.shares import percent
from anonto.errors import InputError, ParameterError

if TYPE_CHECKING:
    from anonto.report.editions import Edition

KEYS = {"label": str, "method": str, "risk": (int, float), "utility": (int, float)}
OWN, UNMASKED = "this release", "the table unmasked"


def map_points(
    sweep: Any, own: Mapping[str, Any] | None, unmasked: Mapping[str, Any] | None, edition: Edition
) -> dict[str, Any]:
    """The points of the map and where they come from.

    Args:
        sweep: What a sweep gave, or a list of points; None for this release and the unmasked table alone.
        own: This release.
        unmasked: The table as it was.
        edition: The public one has no map: utility is about all columns together.
    """
    if edition == "public":
        if sweep is not None:
            raise ParameterError("sweep", "left out for the public edition, which has no map", "points")
        return {"from_sweep": False, "points": []}
    swept = None if sweep is None else [_plain(one) for one in points_of(sweep)]
    points = [dict(one) for one in (own, unmasked) if one is not None] if swept is None else list(swept)
    if swept is not None and own is not None:
        points.append({**own, "on_front": not any(_beats(one, own) for one in swept)})
    points = [{**one, "shown": percent(one["risk"])} for one in points]
    return {"from_sweep": swept is not None, "points": points}


def _beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a plan has less risk and as much utility, or more utility and as little risk."""
    no_worse = one["risk"] <= other["risk"] and one["utility"] >= other["utility"]
    return no_worse and (one["risk"], one["utility"]) != (other["risk"], other["utility"])


def points_of(sweep: Any) -> list[Mapping[str, Any]]:
    """The points of a sweep, of its plain data, or of a list of them; checked."""
    given = sweep.to_dict() if hasattr(sweep, "to_dict") else sweep
    points = given.get("points") if isinstance(given, Mapping) else given
    if not isinstance(points, Sequence) or isinstance(points, str):
        raise unusable_points("a list of points")
    found = [one.to_dict() if hasattr(one, "to_dict") else one for one in points]
    for one in found:
        if not isinstance(one, Mapping):
            raise unusable_points("points that have keys")
        for key, kind in KEYS.items():
            if not isinstance(one.get(key), kind) or isinstance(one[key], bool):  # type: ignore[arg-type]
                raise unusable_points(f"for each point its {key}")
    return found


def _plain(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point of a sweep as the map draws it; its interval may have either of two names."""
    further = {
        "risk_low": point.get("risk_low", point.get("low")),
        "risk_high": point.get("risk_high", point.get("high")),
    }
    return {
        **{key: point[key] for key in KEYS},
        "on_front": bool(point.get("on_front")),
        **{key: value for key, value in further.items() if isinstance(value, int | float)},
    }


def unusable_points(wanted: str) -> InputError:
    """Points of a risk-utility map that cannot be drawn."""
    return InputError(f"A map of risk and utility needs {wanted}; give the output of `anonto sweep --json`.")
