"""Plugins of other packages, found by entry points; a broken one is skipped with a warning."""

from __future__ import annotations

import warnings
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from anonto.errors import AnontoWarning
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def load_plugins(
    group: str, kind: str, fault_of: Callable[[str, Any, Mapping[str, Any]], str | None]
) -> dict[str, Any]:
    """The objects that the entry points of a group name, by name.

    Args:
        group: Of the entry points.
        kind: What they are, for warnings.
        fault_of: Why something cannot be used under a name, given those found so far; None if it can.
    """
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=group), key=lambda one: one.name):
        try:
            loaded = point.load()
            fault = fault_of(point.name, loaded, found)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault:
            warnings.warn(unusable_plugin(kind, point.name, point.value, fault), stacklevel=2)
        else:
            found[point.name] = loaded
    return found


def unusable_plugin(kind: str, name: str, where: str, fault: str) -> AnontoWarning:
    """A method, an attack or a reader of ontologies of another package that cannot be used."""
    return AnontoWarning(
        f"The {kind} {clip(name)!r} of another package ({clip(where)}) is ignored: {clip(fault)}; update or remove "
        "that package."
    )
