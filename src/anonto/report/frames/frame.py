"""Base class of the frames: the points that a law or a guideline asks about, and what this report has measured of them.

A frame only sees the data of one edition of the report, after the gate, so it cannot show more than the report does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Status = Literal[
    "met", "not met", "undecided", "stated", "not measured", "to be filled in",
    "found", "generalised", "removed", "not checkable",
]  # fmt: skip
"""What is known of a point. The last four are about identifiers in columns."""
Secrecy = Literal["secret", "guessable", "unknown"]
Fate = Literal["dropped", "pseudonym", "masked", "released"]
NOTICE = (
    "This section is evidence, not legal advice. It says what was measured, by what, and what was not; whether the law "
    "is satisfied is decided by those who are responsible for the release."
)
BY_HOUSE = "to be filled in by the house"
BY_NOTHING = "not measured"
WORDS: Mapping[Status, str] = {
    "met": "met as measured here",
    "not met": "not met",
    "undecided": "undecided",
    "stated": "answered with facts",
    "not measured": "not measured",
    "to be filled in": "to be filled in by the house",
    "found": "found in the release",
    "generalised": "generalised as demanded",
    "removed": "removed",
    "not checkable": "not checkable",
}
"""Each status in a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFate:
    """What became of a column of the original."""

    name: str
    role: str | None
    """Its role in the plan; None where the plan does not describe it."""
    fate: Fate
    method: str | None = None
    """The method of the step that masks it."""
    kind: str | None = None
    """Its kind in the plan."""
    recode: Mapping[str, Any] = field(default_factory=dict)
    """How its cells were made coarser, as the plan says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFacts:
    """All that a frame may use."""

    report: Mapping[str, Any]
    """The data of the report in one edition."""
    columns: tuple[ColumnFate, ...]
    seed: Secrecy = "unknown"
    """Whether the seed of the release can be found by trying; unknown without its private record."""
    detected: Mapping[str, Sequence[str]] | None = None
    """For each column the letters of the identifiers of HIPAA that its cells or its name show; None if only its name
    was looked at."""

    @property
    def attacks(self) -> list[Mapping[str, Any]]:
        """The results of attacks that this edition shows and in which anybody was attacked."""
        return [one for one in self.report["attacks"] if one["n"]]

    @property
    def is_measured(self) -> bool:
        """Whether this edition has figures of attacks."""
        return bool(self.report["measured"]["on"] != "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One point of a frame: the question, what is known, and by what it was measured."""

    asks: str
    status: Status
    says: str
    measured_by: str
    rows: tuple[Mapping[str, Any], ...] = ()
    """The results of attacks that it rests on."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "asks": self.asks,
            "status": self.status,
            "says": self.says,
            "measured_by": self.measured_by,
            "results": [_result(row) for row in self.rows],
        }


class LegalFrame:
    """One law or guideline; a class of its own says what differs."""

    name: ClassVar[str]
    title: ClassVar[str]
    rule: ClassVar[str]
    """The text that it is about, as it is cited."""
    about: ClassVar[str]
    """What this text asks, in a sentence or two."""
    max_risk: ClassVar[float | None] = None
    """The threshold of risk that this text names, which ``--max-risk`` accepts by the name of the frame."""
    fields: ClassVar[tuple[str, ...]] = ()
    """What only the house can say: each is printed as an empty line."""

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """The points of the frame."""
        raise NotImplementedError

    def columns(self, facts: FrameFacts) -> list[dict[str, Any]]:
        """The columns one by one; none by default."""
        del facts
        return []

    def page(self, facts: FrameFacts) -> dict[str, Any]:
        """The section of a report, as plain data."""
        statements = self.statements(facts)
        return {
            "name": self.name,
            "title": self.title,
            "rule": self.rule,
            "about": self.about,
            "notice": NOTICE,
            "summary": _summary(statements),
            "statements": [one.to_dict() for one in statements],
            "columns": self.columns(facts),
            "fields": list(self.fields),
        }


def to_fill_in(asks: str, says: str) -> Statement:
    """A point that only the house can answer."""
    return Statement(asks=asks, status="to be filled in", says=says, measured_by=BY_HOUSE)


def not_measured(asks: str, says: str) -> Statement:
    """A point of which nothing was measured, and why."""
    return Statement(asks=asks, status="not measured", says=says, measured_by=BY_NOTHING)


def _summary(statements: Sequence[Statement]) -> str:
    """How many points have which status."""
    counts = {status: sum(one.status == status for one in statements) for status in WORDS}
    parts = [f"{n} {WORDS[status]}" for status, n in counts.items() if n]
    points = f"{len(statements)} {'points' if len(statements) > 1 else 'point'}"
    return f"{points}: {', '.join(parts)}."


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("attack", "columns", "about", "knowledge", "shown", "rate", "low", "high", "baseline", "n", "reading")
    return {key: row[key] for key in keys}
