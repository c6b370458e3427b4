"""The utility gained by accepting more risk: the most that each limit allows, in one chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.report.svg import bar, drawing, shorten, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    Row = Mapping[str, Any]

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
WIDTH, LEFT, RIGHT = 640, 84, 96
ROW, THICK = 40, 13


def gains(points: Sequence[Row]) -> list[dict[str, Any]]:
    """Each limit that gains something, the plan that keeps most within it, and the gain over the limit before.

    A plan is within a limit if the upper end of its interval is. The unmasked table is no plan.
    """
    rows: list[dict[str, Any]] = []
    for limit in LIMITS:
        within = [one for one in points if one["method"] != "none" and one.get("risk_high", 1.0) <= limit]
        best = max(within, key=lambda one: (one["utility"], -one["risk_high"]), default=None)
        before = rows[-1]["utility"] if rows else None
        if best is not None and (before is None or best["utility"] > before):
            gain = 0.0 if before is None else best["utility"] - before
            rows.append({"limit": limit, "label": best["label"], "utility": best["utility"], "gain": gain})
    return rows


def gain_chart(rows: Sequence[Row], title: str) -> Markup:
    """A bar of utility for each limit; its darker end is what this limit gains over the one above it.

    Args:
        rows: As `gains` returns them.
        title: What the chart shows.
    """
    scale = WIDTH - LEFT - RIGHT
    pieces = [piece for place, row in enumerate(rows) for piece in _row(row, ROW * place, scale)]
    told = "; ".join(
        f"at most {100 * row['limit']:g} %: utility {row['utility']:.2f} with {row['label']}" for row in rows
    )
    return drawing(WIDTH, ROW * max(len(rows), 1), title, *pieces, description=told)


def _row(row: Row, top: float, scale: float) -> Iterator[Markup]:
    kept = max(row["utility"] - row["gain"], 0.0) * scale
    yield text(LEFT - 8, top + 26, f"≤ {100 * row['limit']:g} %", anchor="end", bold=True)
    yield text(LEFT, top + 9, shorten(row["label"], 70), size=11)
    yield bar(LEFT, top + 20, kept, THICK, "after", opacity=0.45 if row["gain"] else 1)
    yield bar(LEFT + kept, top + 20, row["gain"] * scale, THICK, "after")
    end = LEFT + max(row["utility"], 0.0) * scale
    gained = f"  (+{row['gain']:.2f})" if row["gain"] else ""
    yield text(end + 6, top + 26, f"{row['utility']:.2f}{gained}", size=11)
