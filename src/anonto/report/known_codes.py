"""The curve of a report: persons singled out by known codes of a set, before and after, at random and worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.attacks.rate import Risk
    from anonto.report.gate import Gate, MeasuredGate

WHOLE = "all"
"""In place of a number of codes: somebody who knows the whole set."""
CHOSEN = ("random", "worst")


def known_codes_curves(risk: Sequence[Risk], gate: Gate) -> list[dict[str, Any]]:
    """The shares of persons singled out in each column of sets, by how many of their codes are known.

    Columns whose figures the edition hides are left out.
    """
    found = [one for one in risk if "by_codes_known" in one.details]
    return [_curve(one, gate) for one in found if gate.about(one.columns).shows(one.n)]


def _curve(one: Risk, gate: Gate) -> dict[str, Any]:
    figures, tried = gate.about(one.columns), one.details["by_codes_known"]
    whole = _sides(one.details["alone_by_whole_set"], figures, one.n)
    points = [
        {
            "codes": str(known),
            **{each["chosen"]: _sides(each["singled_out"], figures, one.n) for each in tried if each["known"] == known},
        }
        for known in sorted({each["known"] for each in tried})
    ]
    return {
        "column": one.columns[0],
        "n": figures.size(one.n),
        "points": [*points, {"codes": WHOLE, **dict.fromkeys(CHOSEN, whole)}],
    }


def _sides(shares: Mapping[str, float], figures: MeasuredGate, n: int) -> dict[str, float | None]:
    return {when: figures.share(shares[when], n) for when in ("before", "after")}
