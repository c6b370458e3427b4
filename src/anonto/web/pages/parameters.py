"""Parameters of a method: what it starts with, and what the browser sent as the plan wants it."""

from __future__ import annotations

import math
from typing import Any

from anonto.errors import ParameterError
from anonto.web.words import INSTEAD, PARAMETERS


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
    for instead, of in INSTEAD:
        if instead in given and of in given:
            del given[instead]
    return {name: given[name] for name in names if name in given}


def value_of(given: Any, one: dict[str, Any]) -> Any:
    """What the browser sent, as the plan wants it; None for nothing, and nonsense is refused.

    Nothing is rounded or left out: a smaller k, or no t, would protect less than was typed.
    """
    words = str(given).strip()
    if one["kind"] == "flag":
        return bool(given)
    if one["kind"] == "choice":
        return words if words in one["choices"] else None
    if not words:
        return None
    if one["kind"] == "number":
        return _number(words, one)
    if one["name"] != "weights":
        return words
    if numbers := numbers_in(words):
        return numbers
    raise ParameterError(_label(one), "numbers with commas between them", words)


def _number(words: str, one: dict[str, Any]) -> float:
    found = numbers_in(words)
    if len(found) != 1 or (one["is_whole"] and not isinstance(found[0], int)):
        must = "a whole number" if one["is_whole"] else "a number"
        raise ParameterError(_label(one), must, found[0] if len(found) == 1 else words)
    return found[0]


def _label(one: dict[str, Any]) -> str:
    name = one["name"]
    return f"“{PARAMETERS[name].label}”" if name in PARAMETERS else str(name)


def numbers_in(words: str) -> list[float]:
    """Numbers with commas between them; none if one of them is no number, or has no end."""
    try:
        values = [float(part) for part in words.split(",") if part.strip()]
    except ValueError:
        return []
    if not all(map(math.isfinite, values)):
        return []
    return [int(value) if value == int(value) else value for value in values]


def listed_value(value: Any) -> str:
    """A value of a parameter as it is typed."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
