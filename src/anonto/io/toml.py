"""Writing of TOML, for the few kinds of values in a plan."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonto.errors import MalformedFileError, ParameterError
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Iterable

_BARE = re.compile(r"[A-Za-z0-9_-]+")


OF_TABLE = "\n[table]"
"""A name that no column of a file has."""
OF_STEPS = "\n[[steps]]"
"""The same for the steps."""


def to_toml(plan: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """The text of a plan, with comments above their columns; the comment of the empty name comes first.

    The comment of `OF_TABLE` comes into the section about the table, that of `OF_STEPS` above the first step.
    """
    lines = _comment(comments.get("", ""))
    if plan.get("table") or OF_TABLE in comments:
        lines += ["[table]", *_comment(comments.get(OF_TABLE, "")), *_pairs(plan.get("table", {})), ""]
    for name, description in plan.get("columns", {}).items():
        lines += [*_comment(comments.get(name, "")), f"[columns.{_key(name)}]", *_pairs(description), ""]
    lines += _comment(comments.get(OF_STEPS, ""))
    for step in plan.get("steps", []):
        lines += [*_step(step), ""]
    return "\n".join(lines)


def steps_text(steps: Iterable[Mapping[str, Any]]) -> str:
    """Steps as a plan file has them."""
    return "\n".join(line for step in steps for line in _step(step))


def _step(step: Mapping[str, Any]) -> list[str]:
    return ["[[steps]]", *_pairs(step)]


def _comment(text: str) -> list[str]:
    return [f"# {line}".rstrip() for line in text.splitlines()]


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(key, value)}" for key, value in values.items()]


def as_pair(key: str, value: Any) -> str:
    """A line of a plan file."""
    return _pairs({key: value})[0]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(key, one) for one in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_pairs(value))} }}"
    raise ParameterError(
        key, "a text, a number, true or false, or a list of these to be written in a plan file", type(value)
    )


def _text(text: str) -> str:
    """A basic string: JSON escapes like TOML, except one control character that JSON leaves unescaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def invalid_toml(name: str, fault: str) -> MalformedFileError:
    """A file that is not TOML."""
    what, at, place = fault.rpartition(" (at ")
    return MalformedFileError(name, "TOML", f"{clip(what or fault)}{at}{place}")
