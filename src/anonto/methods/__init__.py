"""Masking methods, one per file: a frozen record of parameters with fit, and what fit returns with apply.

The package can be called: ``anonto.methods()`` is the registry, classes by name, those of other packages included.
"""

from __future__ import annotations

from anonto.runtime.callable_package import make_callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.methods.method import Method


def _methods() -> Mapping[str, type[Method]]:
    """All methods by name."""
    from anonto.methods.registry import METHODS

    return METHODS


make_callable(__name__, _methods)
