"""Cells that other tools generalise: intervals such as ``[30,40)``, ``[30-40[``, ``30-40``, ``65+``, and ``*``.

A cell that says nothing (``*``, ``**``, ``NA``-like marks are left to the caller) stands for every value. A text that
ends in stars, such as ``471**``, stands for all texts with its beginning, and ``{a, b}`` for those it lists.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Floats

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_INTERVAL = re.compile(
    rf"\s*([\[\](])?\s*({_NUMBER}|-?inf|-?∞)\s*(?:-|–|—|,|;|:|\.\.+|\bto\b)\s*({_NUMBER}|inf|∞)\s*([\[\])])?\s*"
)
_BOUND = re.compile(rf"\s*(<=|>=|<|>|≤|≥)\s*({_NUMBER})\s*")
_OPEN_ENDED = re.compile(rf"\s*({_NUMBER})\s*\+\s*")
_STARS = re.compile(r"\s*\*+\s*")
_PREFIX = re.compile(r"([^*]+)\*+")
_LIST = re.compile(r"\s*\{(.*)\}\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The numbers that each cell may stand for, from one to another, both included; all NaN for an unreadable cell."""

    low: Floats
    high: Floats

    @property
    def n_unreadable(self) -> int:
        """Cells that are neither numbers nor intervals."""
        return int(np.isnan(self.low).sum())


def read_intervals(texts: Sequence[str]) -> Intervals:
    """Numbers and intervals as intervals; a suppressed cell is the whole line."""
    pairs = np.array([_interval(text) for text in texts], dtype=np.float64).reshape(len(texts), 2)
    return Intervals(pairs[:, 0], pairs[:, 1])


def _interval(text: str) -> tuple[float, float]:
    if is_suppressed(text):
        return -math.inf, math.inf
    number = _number(text)
    if not math.isnan(number):
        return number, number
    if found := _INTERVAL.fullmatch(text):
        begin, first, last, end = found.groups()
        low, high = _number(first), _number(last)
        low = math.nextafter(low, math.inf) if begin in {"(", "]"} else low
        high = math.nextafter(high, -math.inf) if end in {")", "["} else high
        return (low, high) if low <= high else (math.nan, math.nan)
    return _open_ended(text)


def _open_ended(text: str) -> tuple[float, float]:
    """An interval with one end; NaN for a text that is none."""
    if found := _OPEN_ENDED.fullmatch(text):
        return _number(found[1]), math.inf
    found = _BOUND.fullmatch(text)
    if not found:
        return math.nan, math.nan
    sign, bound = found[1], _number(found[2])
    if sign in {"<", "<=", "≤"}:
        return -math.inf, math.nextafter(bound, -math.inf) if sign == "<" else bound
    return math.nextafter(bound, math.inf) if sign == ">" else bound, math.inf


def _number(text: str) -> float:
    try:
        number = float(text.strip().replace("∞", "inf"))
    except ValueError:
        return math.nan
    return number if "_" not in text else math.nan


def is_suppressed(text: str) -> bool:
    """Return whether a cell consists of stars, and stands for every value."""
    return _STARS.fullmatch(text) is not None


def values_covered(text: str, values: Sequence[str]) -> Bools | None:
    """A flag for each value: does a cell stand for it? None if the cell stands for itself alone."""
    if is_suppressed(text):
        return np.ones(len(values), dtype=np.bool_)
    if found := _PREFIX.fullmatch(text):
        return np.array([value.startswith(found[1]) for value in values], dtype=np.bool_)
    if found := _LIST.fullmatch(text):
        listed = {one.strip().strip("'\"") for one in re.split(r"[,;|]", found[1])}
        return np.array([value in listed for value in values], dtype=np.bool_)
    return None
