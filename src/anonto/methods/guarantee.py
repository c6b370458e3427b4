"""What a method promises, and whether the promise is proved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anonto.errors import listed

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a guarantee may depend on besides the parameters."""

    left_out: tuple[str, ...] = ()
    """Quasi-identifiers that the step does not name."""
    unmatched: tuple[str, ...] = ()
    """Columns of the step with cells that have no concept and stay as they are."""
    guessable_seed: bool = False
    """Whether the seed is so short that it can be found by trying."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What fit found of the records."""

    def why_not_proved(self) -> str:
        """What breaks a proof that needs a secret seed and every cell in its place; empty for nothing."""
        if self.guessable_seed:
            return "the seed can be guessed"
        return f"cells without a concept stay as they are in {listed(self.unmatched)}" if self.unmatched else ""


NO_RECORD = "no record is released that it could be about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A privacy guarantee; anything not proved is measured by an attack instead."""

    kind: str
    proved: bool
    conditions: str
    k: int | None = None
    epsilon: float | None = None

    def of_no_record(self) -> Guarantee:
        """What is left of it where no record is released: a proof about nobody is none."""
        return self if self.kind == "none" else replace(self, proved=False, conditions=NO_RECORD)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for the evidence."""
        numbers = {"k": self.k, "epsilon": self.epsilon}
        given = {name: number for name, number in numbers.items() if number is not None}
        return {"kind": self.kind, **given, "proved": self.proved, "conditions": self.conditions}


MEASURED_ONLY = Guarantee(
    kind="none", proved=False, conditions="nothing is proved of this method; its risk must be measured"
)
