"""Writing of TOML: the few kinds of values that a plan has."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anonto.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(plan: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """The text of a plan; comments stand above the columns they speak of, and one with an empty name at the top."""
    lines = _comment(comments.get("", ""))
    if plan.get("table"):
        lines += ["[table]", *_pairs(plan["table"]), ""]
    for name, description in plan.get("columns", {}).items():
        lines += [*_comment(comments.get(name, "")), f"[columns.{_key(name)}]", *_pairs(description), ""]
    for step in plan.get("steps", []):
        lines += ["[[steps]]", *_pairs(step), ""]
    return "\n".join(lines)


def _comment(text: str) -> list[str]:
    return [f"# {line}".rstrip() for line in text.splitlines()]


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(key, value)}" for key, value in values.items()]


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
    raise ParameterError(
        key, "a text, a number, true or false, or a list of these to be written in a plan file", type(value)
    )


def _text(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for the one control character JSON leaves bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
