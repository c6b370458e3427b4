"""What a method promises, and whether the promise is proved for the bytes that leave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anonto.errors import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_RECORD = "no record is released that it could be about"
IN_ORDER = "the rows stand in the order of the original, so that the place of a row tells whose it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a guarantee may depend on besides the parameters."""

    left_out: tuple[str, ...] = ()
    """Columns that leave outside the step and may be known of a person: all that are not declared confidential."""
    unmatched: tuple[str, ...] = ()
    """Columns of the step with cells that have no concept and stay as they are, with their person."""
    unreviewed: tuple[str, ...] = ()
    """Columns that leave though nobody has confirmed yet what the plan says of them."""
    rows_in_order: bool = False
    """Whether the rows leave in the order of the original."""
    guessable_seed: bool = False
    """Whether the seed is so short that it can be found by trying."""
    no_records: bool = False
    """Whether no record is released."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What fit found of the records."""

    def why_not_proved(self, *, limits_linking: bool) -> list[str]:
        """All that breaks a proof.

        Args:
            limits_linking: Whether the proof limits how often a row is linked to its person. What else is known of the
                row then counts, its place included; a proof about the values of the step alone holds all the same.
        """
        if self.no_records:
            return [NO_RECORD]
        reasons = []
        if self.guessable_seed:
            reasons.append("the seed can be guessed")
        if limits_linking and self.rows_in_order:
            reasons.append(IN_ORDER)
        if limits_linking and self.left_out:
            reasons.append(f"the step leaves out {_names(self.left_out)}, by which a person could be recognised too")
        if self.unmatched:
            reasons.append(f"cells of {_names(self.unmatched)} that have no concept stay as they are")
        if self.unreviewed:
            reasons.append(f"nobody has confirmed yet what the plan says of {_names(self.unreviewed)}")
        return reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A privacy guarantee; anything not proved is measured by an attack instead."""

    kind: str
    proved: bool
    conditions: str
    k: int | None = None
    epsilon: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data for the evidence."""
        numbers = {"k": self.k, "epsilon": self.epsilon}
        given = {name: number for name, number in numbers.items() if number is not None}
        return {"kind": self.kind, **given, "proved": self.proved, "conditions": self.conditions}


MEASURED_ONLY = Guarantee(
    kind="none", proved=False, conditions="nothing is proved of this method; its risk must be measured"
)
WHOLE_ROWS = (
    "every combination of values in the step's columns leaves as it was: whoever knows some of a person's cells in "
    "them may find the row and read the rest"
)
"""What a method does not protect that moves whole records of its columns."""
MEASURED_WHOLE_ROWS = replace(MEASURED_ONLY, conditions=f"{MEASURED_ONLY.conditions}; {WHOLE_ROWS}")


def promised(
    setting: Setting,
    kind: str,
    conditions: str,
    *,
    k: int | None = None,
    epsilon: float | None = None,
    broken: Sequence[str] = (),
) -> Guarantee:
    """A guarantee, proved if nothing breaks it; else with all that does.

    Args:
        setting: What it depends on besides the parameters.
        kind: What it is called.
        conditions: What the proof takes for granted and no run can check.
        k: The number of a guarantee that limits linking.
        epsilon: The number of one about the values of the step alone.
        broken: What breaks it by the parameters.
    """
    reasons = [*broken, *setting.why_not_proved(limits_linking=k is not None)]
    if k is None and setting.left_out:
        conditions += f"; columns outside the step ({_names(setting.left_out)}) are not protected by it"
    if reasons:
        conditions = NO_RECORD if setting.no_records else f"{'; '.join(reasons)}. It would hold if {conditions}"
    return Guarantee(kind=kind, k=k, epsilon=epsilon, proved=not reasons, conditions=conditions)


def _names(columns: Sequence[str]) -> str:
    return listed([repr(name) for name in columns])
