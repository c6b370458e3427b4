"""Safe Harbor of HIPAA: the 18 identifiers, and column by column what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.report.frames.frame import LegalFrame, Statement, Status, to_fill_in
from anonto.report.frames.identifiers import DATES, IDENTIFIERS, PLACES, is_generalised, suggested_by_name
from anonto.report.verdict import names

if TYPE_CHECKING:
    from anonto.report.frames.frame import ColumnFate, FrameFacts

BY_NAME = "the names of the columns and their roles in the plan; no cell was looked at"
BY_CONTENT = "the cells and the names of the columns, and their roles in the plan"
WHAT_BECAME = {
    "dropped": "dropped",
    "pseudonym": "replaced by numbers that are random in every release",
    "masked": "changed",
    "released": "released as it is",
}
DEMANDED = {
    PLACES: "Postcodes may keep their first three digits where more than 20,000 people live in that area.",
    DATES: "Years may stay, and ages up to 89; all ages of 90 or more must be one.",
}


class HipaaSafeHarbor(LegalFrame):
    """The removal of 18 identifiers."""

    name = "hipaa-safe-harbor"
    title = "HIPAA: Safe Harbor"
    rule = "45 CFR 164.514(b)(2)"
    about = (
        "18 identifiers of the person, and of relatives, employers and household members, are removed, and the covered "
        "entity has no actual knowledge that the rest could identify a person. Values that were swapped, averaged or "
        "given noise are not removed: Safe Harbor names no such method, so they count as found here, and Expert "
        "Determination (the frame hipaa-expert) is the way to judge them."
    )
    fields = (
        "Columns whose content was checked by hand, and by whom",
        "Actual knowledge: none that the information could be used to identify a person",
        "Responsible person, date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """The 18 identifiers, and actual knowledge."""
        return [
            *(_identifier(letter, facts) for letter in IDENTIFIERS),
            to_fill_in(
                "Actual knowledge that the information could be used to identify a person",
                "No program can know what the covered entity knows.",
            ),
        ]

    def columns(self, facts: FrameFacts) -> list[dict[str, Any]]:
        """Each column with the identifiers that it seems to hold, and what became of them."""
        return [_column(one, facts) for one in facts.columns]


def letters_of(column: ColumnFate, facts: FrameFacts) -> tuple[str, ...]:
    """The identifiers of a column: those that were detected, or else those that its name suggests."""
    if facts.detected is None:
        return suggested_by_name(column)
    return tuple(facts.detected.get(column.name, ()))


def _state(letter: str, column: ColumnFate) -> Status:
    if column.fate in {"dropped", "pseudonym"}:
        return "removed"
    return "generalised" if is_generalised(letter, column) else "found"


def _identifier(letter: str, facts: FrameFacts) -> Statement:
    """One identifier: found if any column still has it."""
    holding = [one for one in facts.columns if letter in letters_of(one, facts)]
    states = {one.name: _state(letter, one) for one in holding}
    by = BY_NAME if facts.detected is None else BY_CONTENT
    asks = f"({letter}) {IDENTIFIERS[letter].what}"
    if not holding:
        looked = "has a name that suggests it" if facts.detected is None else "was recognised as holding it"
        return Statement(
            asks=asks,
            status="not checkable",
            says=f"No column {looked}; that none holds it cannot be shown by a program.",
            measured_by=by,
        )
    status: Status = next(one for one in ("found", "generalised", "removed") if one in states.values())
    says = " ".join(_sentence(one, letter) for one in holding)
    if status == "found" and letter in DEMANDED:
        says += f" {DEMANDED[letter]}"
    return Statement(asks=asks, status=status, says=says, measured_by=by)


def _sentence(column: ColumnFate, letter: str) -> str:
    became = _became(column) + (", which is not removal" if column.fate == "masked" or column.recode else "")
    if _state(letter, column) == "generalised":
        became = "made as coarse as the rule demands"
    return f"{names([column.name])}: {became}."


def _became(column: ColumnFate) -> str:
    if column.fate == "released" and column.recode:
        return "recoded"
    return f"{WHAT_BECAME[column.fate]} by {column.method}" if column.fate == "masked" else WHAT_BECAME[column.fate]


def _column(column: ColumnFate, facts: FrameFacts) -> dict[str, Any]:
    letters = letters_of(column, facts)
    states = {_state(letter, column) for letter in letters}
    status: Status = next((one for one in ("found", "generalised", "removed") if one in states), "not checkable")
    if not letters and column.fate in {"dropped", "pseudonym"}:
        status = "removed"
    return {
        "name": column.name,
        "fate": _became(column),
        "status": status,
        "holds": [f"({letter}) {IDENTIFIERS[letter].what}" for letter in letters],
    }
