"""Counts as a report shows them: reports are passed on, so small counts are hidden, and whatever would reveal them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALLEST_SHOWN = 5
SMALL = f"< {SMALLEST_SHOWN}"
NOT_SHOWN = "not shown"

Shown = int | float | str
"""A count, a share in per cent, or the words shown instead of a hidden one."""


def show_count(count: int) -> int | str:
    """A count on its own."""
    return SMALL if 0 < count < SMALLEST_SHOWN else count


def show_share(count: int, total: int) -> str:
    """A count as a share of a total."""
    if not total:
        return "–"
    if 0 < count < SMALLEST_SHOWN:
        return f"< {SMALLEST_SHOWN / total:.1%}"
    return f"{count / total:.1%}"


def show_parts(counts: Sequence[int], total: int) -> list[int | str]:
    """Counts whose total can be known.

    If hidden counts could be found by subtraction, further counts are hidden, the smallest first, until the rest is no
    longer small.

    Args:
        counts: Some or all parts of the total.
        total: Their total, with the parts that are not given.
    """
    words: list[int | str] = [show_count(count) for count in counts]
    visible = sorted((place for place, word in enumerate(words) if word == counts[place]), key=lambda p: counts[p])
    rest = total - sum(counts[place] for place in visible)
    for place in visible:
        if not 0 < rest < SMALLEST_SHOWN:
            break
        if counts[place]:
            words[place] = NOT_SHOWN
            rest += counts[place]
    return words


def spell_count(count: Shown) -> str:
    """A shown count as text."""
    if isinstance(count, float):
        return f"{count:.1f} %"
    return f"{count:,}" if isinstance(count, int) else count


def bar_length(count: Shown) -> float:
    """The length of a shown count's bar; a small one has the length of the smallest shown."""
    if isinstance(count, int | float):
        return count
    return SMALLEST_SHOWN if count == SMALL else 0
