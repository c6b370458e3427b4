"""Parameters of a method: what it starts with, and what the browser sent as the plan wants it."""

from __future__ import annotations

import math
from typing import Any

from anonto.web.words import PARAMETERS


def first_parameters(known: list[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """What a method starts with: numbers of the step before that it takes too, and what it cannot do without."""
    names = [one["name"] for one in known]
    numbers = [one["name"] for one in known if one["kind"] == "number"]
    given = {name: before[name] for name in numbers if isinstance(before.get(name), int | float)}
    needed = {one["name"] for one in known if one["is_needed"]} | ({"k", "bins"} & set(names))
    for name in names:
        start = PARAMETERS[name].start if name in PARAMETERS else None
        if name in needed and name not in given and start is not None:
            given[name] = start
    for instead, of in (("percent", "k"), ("width", "bins"), ("width", "k")):
        if instead in given and of in given:
            del given[instead]
    return {name: given[name] for name in names if name in given}


def value_of(given: Any, one: dict[str, Any]) -> Any:
    """What the browser sent, as the plan wants it; None for nothing or nonsense."""
    words = str(given).strip()
    if one["kind"] == "flag":
        return bool(given)
    if one["kind"] == "choice":
        return words if words in one["choices"] else None
    try:
        if one["kind"] == "number":
            number = float(words)
            return int(number) if one["is_whole"] or number == int(number) else number
    except (ValueError, OverflowError):
        return None
    return (numbers_in(words) or None) if one["name"] == "weights" else (words or None)


def numbers_in(words: str) -> list[float]:
    """Numbers with commas between them; none if one of them is no number, or has no end."""
    try:
        values = [float(part) for part in words.split(",") if part.strip()]
    except ValueError:
        return []
    if not all(map(math.isfinite, values)):
        return []
    return [int(value) if value == int(value) else value for value in values]
