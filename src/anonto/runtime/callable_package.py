"""Packages that can be called, such as ``anonto.sweep(…)``: the package is named like its main function."""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def make_callable(package: str, function: Callable[..., Any]) -> None:
    """Make an imported package callable in place of a function."""

    def call(_: ModuleType, *args: Any, **options: Any) -> Any:
        return function(*args, **options)

    sys.modules[package].__class__ = type("CallablePackage", (ModuleType,), {"__call__": call})
