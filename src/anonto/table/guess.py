"""Guessing what a column is: which texts mean missing, its kind, its role, and a reason for each in words.

The reasons count and name words of the column's own name; they show no cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.errors import counted
from anonto.table.kinds import kind_of, missing_texts
from anonto.table.roles import role_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from anonto.table.facts import Facts


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column seems to be, and why."""

    kind: str
    role: str
    order: tuple[str, ...]
    na: tuple[str, ...]
    reasons: tuple[str, ...]
    review: bool
    """Whether somebody must confirm the role."""
    may_have_an_ontology: bool
    """Whether its values may be names of something that recurs, so that the ontology that knows them is looked for."""


def guess_column(facts: Facts, beside: AbstractSet[str] = frozenset()) -> Guess:
    """Guess missing texts, kind and role of a column.

    Args:
        facts: The column.
        beside: The words of the names of all columns of the table.
    """
    na = missing_texts(facts)
    present = facts.without(na)
    kind = kind_of(present)
    found = role_of(present, kind.kind, beside)
    is_nominal = kind.kind == "nominal" and len(present.values) > 1
    why_role = f"{found.role}: {found.reason}"
    if found.role == "identifier":
        return Guess("nominal", found.role, (), na, (why_role,), found.review, is_nominal and found.is_default)
    reasons = [f"{kind.kind}: {kind.reason}", why_role]
    if na:
        cells = counted(facts.cells_of(na), "cell")
        reasons.append(f"na: {counted(len(na), 'text')} in {cells} {'is' if len(na) == 1 else 'are'} taken for missing")
    return Guess(kind.kind, found.role, kind.order, na, tuple(reasons), found.review, is_nominal)
