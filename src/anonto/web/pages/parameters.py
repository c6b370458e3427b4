"""Parameters of a method: what it starts with, and what the browser sent as the plan wants it."""

from __future__ import annotations

import math
from typing import Any

from anonto.errors import ParameterError

NUMBERS = ("whole number", "number")


def first_parameters(method: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What a method starts with: numbers of the step before that it takes too, and what it cannot do without."""
    known, one_of = method["parameters"], method["one_of"]
    numbers = [one["name"] for one in known if one["kind"] in NUMBERS and one["lists"] != "only"]
    given = {name: before[name] for name in numbers if isinstance(before.get(name), int | float)}
    for one in known:
        is_wanted = one["is_needed"] or one["name"] in one_of
        if is_wanted and one["name"] not in given and one["start"] is not None:
            given[one["name"]] = one["start"]
    wanted = sorted((one for one in known if one["name"] in one_of and one["name"] in given), key=_has_no_start)
    for one in wanted[1:]:
        del given[one["name"]]
    return {one["name"]: given[one["name"]] for one in known if one["name"] in given}


def _has_no_start(one: dict[str, Any]) -> bool:
    return one["start"] is None


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
    if one["kind"] not in NUMBERS:
        return words
    if one["lists"] != "only":
        return _number(words, one)
    if numbers := numbers_in(words):
        return numbers
    raise ParameterError(f"“{one['label']}”", "numbers with commas between them", words)


def _number(words: str, one: dict[str, Any]) -> float:
    found = numbers_in(words)
    is_whole = one["kind"] == "whole number"
    if len(found) != 1 or (is_whole and not isinstance(found[0], int)):
        raise ParameterError(f"“{one['label']}”", f"a {one['kind']}", found[0] if len(found) == 1 else words)
    return found[0]


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
