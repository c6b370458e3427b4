"""Parameters of a method: initial values, and conversion of what the browser sends."""

from __future__ import annotations

import math
from typing import Any

from anonto.errors import ParameterError

NUMBERS = ("whole number", "number")


def first_parameters(method: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Initial parameters of a method: values of the previous step that it shares, and required ones."""
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
    """Convert the browser's text to a plan value; None if empty, and invalid text is refused.

    Nothing is rounded or left out: a smaller k, or no t, would protect less than the user typed.
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
    if numbers := part_numbers(words):
        return numbers
    raise ParameterError(f"“{one['label']}”", "numbers separated by commas", words)


def _number(words: str, one: dict[str, Any]) -> float:
    found = part_numbers(words)
    is_whole = one["kind"] == "whole number"
    if len(found) != 1 or (is_whole and not isinstance(found[0], int)):
        raise ParameterError(f"“{one['label']}”", f"a {one['kind']}", found[0] if len(found) == 1 else words)
    return found[0]


def part_numbers(words: str) -> list[float]:
    """Numbers separated by commas; empty if one of them is not a finite number."""
    try:
        values = [float(part) for part in words.split(",") if part.strip()]
    except ValueError:
        return []
    if not all(map(math.isfinite, values)):
        return []
    return [int(value) if value == int(value) else value for value in values]


def listed_value(value: Any) -> str:
    """A parameter's value as typed text."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
