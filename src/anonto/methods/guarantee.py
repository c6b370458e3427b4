"""Privacy guarantees of methods, and whether they are proved for the released bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_RECORD = "no record is released that it could be about"
ONE_RECORD = "each person has one record"
K_ANONYMITY = "k-anonymity"
EQUAL_IN_GROUPS = (
    f"{ONE_RECORD}, and an intruder knows a person by the columns of this step only; the rows are released in "
    "random order, and the seed, which tells it, stays secret; there is one release of these records. It limits the "
    "linking of a row to a person, and not what is learnt where all persons of a group have the same value of another "
    "column"
)
"""On what k-anonymity of groups of equal records rests."""
AVERAGE = (
    ". k is for every person; the average risk is the number of groups divided by that of persons, the average of "
    "their chances of being linked, and that of one person may be as high as 1/k"
)
ALL_ROWS = "all rows of a person have the same value in the person column"
IN_ORDER = "the rows stand in the order of the original, so that the place of a row tells whose it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Facts other than the parameters that a guarantee may depend on."""

    left_out: tuple[str, ...] = ()
    """Released columns outside the step that may be known about a person: all that are not declared confidential.

    Columns of strata are not among them unless strata were pooled: all records of a stratum have the same cells there.
    """
    within: tuple[str, ...] = ()
    """Columns whose cells are the same in all records of a stratum."""
    may_leave_records: bool = False
    """True if strata that are too small stay unmasked."""
    unmatched: tuple[str, ...] = ()
    """Columns of the step with cells that have no concept and stay as they are, with their person."""
    codes_apart: tuple[str, ...] = ()
    """Columns of the step whose missing cells keep different codes, if they have any."""
    unreviewed: tuple[str, ...] = ()
    """Released columns whose description in the plan nobody has confirmed yet."""
    rows_in_order: bool = False
    """True if the rows are released in the order of the original."""
    guessable_seed: bool = False
    """True if the seed is so short that it can be found by trying."""
    by_person: bool = False
    """True if a record is a person with all her rows, so that nobody can have several."""
    linked: tuple[str, ...] = ()
    """Columns that say which rows are of one person, where a record is a row."""
    on_elements: bool = False
    """True if the values that are masked are the elements of sets, of which a person may have several."""
    no_records: bool = False
    """True if no record is released."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the records, found by fit."""

    def why_not_proved(self, *, limits_linking: bool) -> list[str]:
        """Reasons why a guarantee is not proved.

        Args:
            limits_linking: Whether the proof limits how often a row is linked to its person. Then everything known
                about the row counts, its place included; a proof about the values of the step alone holds regardless.
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
        if limits_linking and self.linked:
            reasons.append(
                f"several rows may be of one person, by {_names(self.linked)}; name the column of persons in the "
                "plan's table section, so that a person is the unit"
            )
        n_left = self.facts.get("left_records")
        if n_left or (n_left is None and self.may_leave_records):
            some = "records" if n_left is None else count_of(n_left, "record")
            stay = "stays as it is" if n_left == 1 else "stay as they are"
            reasons.append(f"{some} in strata that are too small {stay}")
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
    average_risk: float | None = None
    """The average over all persons of the chance of a right link, at most."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the evidence."""
        numbers = {"k": self.k, "epsilon": self.epsilon, "average_risk": self.average_risk}
        given = {name: number for name, number in numbers.items() if number is not None}
        return {"kind": self.kind, **given, "proved": self.proved, "conditions": self.conditions}


MEASURED_ONLY = Guarantee(
    kind="none", proved=False, conditions="nothing is proved for this method; its risk must be measured"
)
WHOLE_ROWS = (
    "combinations of values in the step's columns are released unchanged: anyone who knows some of a person's cells "
    "in them may find the row and read the rest"
)
"""Limit of methods that move whole records of their columns."""
MEASURED_WHOLE_ROWS = replace(MEASURED_ONLY, conditions=f"{MEASURED_ONLY.conditions}; {WHOLE_ROWS}")


def promise(
    setting: Setting,
    kind: str,
    conditions: str,
    *,
    k: int | None = None,
    epsilon: float | None = None,
    average_risk: float | None = None,
    broken: Sequence[str] = (),
) -> Guarantee:
    """A guarantee: proved, or not proved with all reasons.

    Args:
        setting: The facts other than the parameters that it depends on.
        kind: Its name.
        conditions: Assumptions of the proof that no run can check.
        k: The number of a guarantee that limits linking.
        epsilon: The number of a guarantee about the values of the step alone.
        average_risk: Beside k, the average chance of a right link.
        broken: Reasons in the parameters why it does not hold.
    """
    reasons = [*broken, *setting.why_not_proved(limits_linking=k is not None)]
    if setting.on_elements:
        reasons.append(_of_elements(epsilon, setting.facts.get("most_elements")))
    if setting.by_person:
        conditions = conditions.replace(ONE_RECORD, ALL_ROWS)
    if average_risk is not None:
        conditions += AVERAGE
    if k is not None and setting.within:
        conditions += (
            f". The records of a group are in one stratum of {_names(setting.within)}, so that it also holds if the "
            "intruder knows these columns of all persons"
        )
    if k is None and setting.left_out:
        conditions += f"; columns outside the step ({_names(setting.left_out)}) are not protected by it"
    if reasons:
        conditions = NO_RECORD if setting.no_records else f"{'; '.join(reasons)}. It would hold if {conditions}"
    return Guarantee(
        kind=kind, k=k, epsilon=epsilon, average_risk=average_risk, proved=not reasons, conditions=conditions
    )


def _of_elements(epsilon: float | None, most: int | None) -> str:
    """Why a guarantee for each element of a set is none for a person."""
    number = "how many elements a person has is not protected"
    if epsilon is None:
        return f"it is about each element of a set, and a person may have several; {number}"
    total = "ε times the largest number of elements of a person" if most is None else f"{epsilon * most:g}"
    counted = "" if most is None else f" for a person with {most:,} elements, the largest number in these data"
    return f"ε is that of one element and adds up over the elements of a person, to at most {total}{counted}; {number}"


def _names(columns: Sequence[str]) -> str:
    return list_names([repr(name) for name in columns])
