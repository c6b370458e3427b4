"""Masking methods, one per file: a frozen record of parameters with fit, and what fit returns with apply.

The package can be called: ``anonto.methods()`` is the registry, classes by name, those of other packages included.
"""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.methods.method import Method


class _Room(ModuleType):
    def __call__(self) -> Mapping[str, type[Method]]:
        """All methods by name."""
        from anonto.methods.registry import METHODS

        return METHODS


sys.modules[__name__].__class__ = _Room
