"""What a person can tell of her record, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import counted, listed
from anonto.verification.following import ANYTHING, AT_ONCE

if TYPE_CHECKING:
    from anonto.verification.verifying import Verification


def sentences_of(found: Verification) -> list[str]:
    """How many could be hers, how near the nearest comes, and what the columns tell that were not masked."""
    n = found.n_records
    if found.dropped_by is not None:
        return [
            f"The plan drops records for what yours has in {found.dropped_by}: none of the "
            f"{counted(n, 'released record')} is yours.",
            *_nearness(found),
        ]
    if not n:
        return ["The release has no record."]
    return [*_how_many(found), *_nearness(found), *_of_columns_as_is(found)]


def _how_many(found: Verification) -> list[str]:
    n = found.n_records
    methods = listed(dict.fromkeys(step["method"] for step in found.steps))
    if found.absent:
        return [
            f"The plan keeps every value, but no released record has yours in {listed(found.absent)}: this may be the "
            "release of another table, or your record was not in it."
        ]
    if found.candidates is not None:
        said = f"{found.candidates:,} of {counted(n, 'released record')} could be yours, given what {methods} can do."
        if found.candidates == 1:
            said += " Whoever knows your values and the method finds your record."
        if any(step["how"] == AT_ONCE for step in found.steps):
            said += " That is so if the table was masked at once; of one masked in blocks the plan must say block_rows."
        if any(step["how"] == ANYTHING for step in found.steps):
            said += " Those near yours are likelier than others."
        if found.candidates == 0:
            said += " Your record was not in the table, or this is the release of another one."
        return [said]
    if found.at_least is not None:
        return [
            f"If this release was made with this plan and is whole, at least {found.at_least:,} of "
            f"{counted(n, 'released record')} could be yours just as well to whoever knows no more of you than the "
            f"masked columns: {methods} hides you among so many. Which they are, the release does not show; nor can it "
            "be checked here that it was so made."
        ]
    said = f"Which of the {counted(n, 'released record')} could be yours, the release alone does not tell ({methods})."
    if found.why_no_promise is not None:
        said += f" Nor is a number promised: {found.why_no_promise}."
    return [said]


def _nearness(found: Verification) -> list[str]:
    if not found.n_records:
        return []
    equal = counted(found.equal, "released record has", "released records have")
    said = [f"{equal} exactly your values in the masked columns; such a record need not be yours."]
    if not found.equal:
        said = ["No released record has exactly your values in the masked columns."]
        are = "is" if found.nearest == 1 else "are"
        said.append(
            f"The nearest in meaning {are} {counted(found.nearest, 'record')} at distance {found.distance:.3f}, where "
            "0 is the same and 1 as far as can be."
        )
    if found.rank_distance is None:
        return [
            *said,
            "In rank none can be compared: no released record has a value in just the columns where yours has one.",
        ]
    share = found.rank_distance / found.n_records
    said.append(
        f"In rank, the nearest record is {found.rank_distance:,.1f} places from yours where it is farthest, "
        f"{100 * share:.1f} % of all: 0 would be your very ranks."
    )
    return said


def _of_columns_as_is(found: Verification) -> list[str]:
    if found.as_is is None:
        return []
    names = listed(found.as_is["columns"])
    if not found.as_is["equal"]:
        return [
            f"No released record has your values in the columns that were released as they are ({names}): your record "
            "was not in the table, or this is the release of another one."
        ]
    equal = counted(found.as_is["equal"], "released record has", "released records have")
    said = f"{equal} your values in the columns that were released as they are ({names})"
    if found.as_is["candidates"] is not None:
        said += f", {found.as_is['candidates']:,} of them among those that could be yours"
    return [f"{said}: whoever knows these columns too need not look further."]
