"""The former name of `anonto.methods.transitions`, for packages that still import it."""

from __future__ import annotations

import warnings
from typing import Any

from anonto.methods import transitions

FORMER = {"Flows": "Transitions", "flows_of_rows": "transitions_of_rows"}


def __getattr__(name: str) -> Any:
    if name not in FORMER:
        message = f"module 'anonto.methods.flows' has no attribute {name!r}"
        raise AttributeError(message)
    warnings.warn(
        f"anonto.methods.flows.{name} is now anonto.methods.transitions.{FORMER[name]}",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(transitions, FORMER[name])
