"""Attacks on a release: one file per attack, and the computations of all in ``compute/``.

The package can be called: ``anonto.attacks()`` is the registry, attacks by name, those of other packages included.
"""

from __future__ import annotations

from anonto.runtime.callable_package import make_callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.attacks.attack import Attack


def _attacks() -> Mapping[str, Attack]:
    """All attacks by name."""
    from anonto.attacks.registry import attacks

    return attacks()


make_callable(__name__, _attacks)
