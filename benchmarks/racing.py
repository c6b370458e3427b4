"""Several programs do one thing on tables that double in size, until each is too slow: time against size, charted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import Finding, exponents, gathered, timed

LIMIT = 10.0
"""Seconds after which a program gets no larger table."""
REPEATS = 3

Side = Callable[[int], float | None]
"""The median seconds for a number of records; None where the side is not installed, or takes no more."""


@dataclass(slots=True)
class Race:
    """One capability: the programs, and their times by number of records."""

    name: str
    sides: Mapping[str, Side]
    sizes: tuple[int, ...]
    unit: str = "records"
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)

    def run(self) -> Race:
        """All sides at every size, the sides in turns, until each is too slow."""
        for n in self.sizes:
            for side, take in self.sides.items():
                before = self.seconds.get(side, {})
                if (before and max(before.values()) > LIMIT) or (n != self.sizes[0] and not before):
                    continue
                taken = take(n)
                if taken is not None:
                    self.seconds.setdefault(side, {})[n] = taken
        return self

    def findings(self) -> list[Finding]:
        """Our time against each peer's, at the largest size both took."""
        ours = self.seconds["anonto"]
        out = [Finding(f"{self.name}: anonto", ours[max(ours)], "s", note=_told(ours), facts={"curves": self.plain()})]
        for side in self.sides:
            if side == "anonto":
                continue
            if side not in self.seconds:
                out.append(Finding(f"… {side}", float("nan"), "×", note="not installed"))
                continue
            theirs = self.seconds[side]
            n = max(set(theirs) & set(ours))
            out.append(
                Finding(f"… {side} ÷ anonto", theirs[n] / ours[n], "×", note=f"at {n:,} {self.unit}; {_told(theirs)}")
            )
        return out

    def plain(self) -> dict[str, Any]:
        """Plain data for the chart."""
        return {
            "name": self.name,
            "unit": self.unit,
            "seconds": {side: {str(n): s for n, s in times.items()} for side, times in self.seconds.items()},
        }


def _told(times: Mapping[int, float]) -> str:
    sizes = sorted(times)
    text = f"{times[sizes[-1]]:.3g} s at {sizes[-1]:,}"
    if len(sizes) > 1:
        text += f", growth {exponents(sizes[-2:], [times[n] for n in sizes[-2:]])[0]:.2f}"
    return text


def sizes(first: int, last: int, *, quick: bool) -> tuple[int, ...]:
    """Sizes that double; the first two of them for a quick run."""
    doublings = int(np.log2(last / first)) + 1
    return tuple(first << step for step in range(2 if quick else doublings))


def own(run: Callable[[], object]) -> float:
    """The median seconds of our repeats, after a call that is not counted."""
    run()
    return gathered({"own": partial(timed, run)}, REPEATS)["own"].median
