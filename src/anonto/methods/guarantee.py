"""What a method promises, and whether the promise is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A privacy guarantee; anything not proved is measured by an attack instead."""

    kind: str
    proved: bool
    conditions: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data for the evidence."""
        return {"kind": self.kind, "proved": self.proved, "conditions": self.conditions}


MEASURED_ONLY = Guarantee(
    kind="none", proved=False, conditions="nothing is proved of this method; its risk must be measured"
)
