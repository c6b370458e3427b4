"""Guesses about a column: the texts that mean missing, its kind, its role, and a reason for each.

Reasons contain counts and words of the column's name, but no cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.encoding.description import NEVER_MASKED
from anonto.profile.kinds import kind_of, missing_texts
from anonto.profile.roles import role_of
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from anonto.profile.column_profile import ColumnProfile


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess about a column, with its reason."""

    kind: str
    role: str
    order: tuple[str, ...]
    na: tuple[str, ...]
    reasons: tuple[str, ...]
    review: bool
    """True if a person must confirm the role."""
    may_have_an_ontology: bool
    """True to search for an ontology of its values."""
    has_calendar: bool = False
    """True for dates, not for times of day and durations."""


def guess_column(column: ColumnProfile, all_words: AbstractSet[str] = frozenset()) -> Guess:
    """Guess missing texts, kind and role of a column; ``all_words`` has the words of the names of all columns."""
    na = missing_texts(column)
    present = column.without(na)
    kind = kind_of(present)
    # That a column is a duration tells nothing about its role.
    found = role_of(present, "nominal" if kind.dates == "duration" else kind.kind, all_words)
    is_nominal = kind.kind == "nominal" and len(present.values) > 1
    why_role = f"{found.role}: {found.reason}"
    if found.role in NEVER_MASKED:
        return Guess("nominal", found.role, (), na, (why_role,), found.review, is_nominal and found.is_default)
    reasons = [f"{kind.kind}: {kind.reason}", why_role]
    if na:
        cells = count_of(column.cells_of(na), "cell")
        reasons.append(
            f"na: {count_of(len(na), 'text')} in {cells} {'is' if len(na) == 1 else 'are'} taken for missing"
        )
    has_calendar = kind.dates == "date"
    return Guess(kind.kind, found.role, kind.order, na, tuple(reasons), found.review, is_nominal, has_calendar)
