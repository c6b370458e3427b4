"""The result of a verification in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.verify.plausible_rows import ANYTHING, AT_ONCE
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from anonto.verify.verifying import Verification


def sentences_of(found: Verification) -> list[str]:
    """How many records could be hers, how near the nearest is, and what the unmasked columns reveal."""
    n = found.n_records
    if found.dropped_by is not None:
        return [
            f"The plan drops records for what yours has in {found.dropped_by}: none of the "
            f"{count_of(n, 'released record')} is yours.",
            *_describe_nearest(found),
        ]
    if not n:
        return ["The release has no record."]
    return [*_describe_candidates(found), *_describe_nearest(found), *_describe_unmasked(found)]


def _describe_candidates(found: Verification) -> list[str]:
    n = found.n_records
    methods = list_names(dict.fromkeys(step["method"] for step in found.steps))
    if found.absent:
        return [
            f"The plan keeps every value, but no released record has yours in {list_names(found.absent)}: this may be "
            "the release of another table, or your record was not in it."
        ]
    if found.candidates is not None:
        said = f"{found.candidates:,} of {count_of(n, 'released record')} could be yours, given what {methods} can do."
        if found.candidates == 1:
            said += " Whoever knows your values and the method finds your record."
        if any(step["how"] == AT_ONCE for step in found.steps):
            said += " This assumes a table masked at once; if it was masked in blocks, the plan must set block_rows."
        if any(step["how"] == ANYTHING for step in found.steps):
            said += " Those near yours are likelier than others."
        if found.candidates == 0:
            said += " Your record was not in the table, or this is the release of another one."
        return [said]
    if found.at_least is not None:
        return [
            f"If this release was made with this plan and is whole, at least {found.at_least:,} of "
            f"{count_of(n, 'released record')} could be yours just as well to whoever knows no more of you than the "
            f"masked columns: {methods} hides you among that many. The release does not show which they are, and "
            "whether it was made with this plan cannot be checked here."
        ]
    records = count_of(n, "released record")
    said = f"Which of the {records} could be yours cannot be seen from the release alone ({methods})."
    if found.why_no_promise is not None:
        said += f" No number is guaranteed either: {found.why_no_promise}."
    return [said]


def _describe_nearest(found: Verification) -> list[str]:
    if not found.n_records:
        return []
    equal = count_of(found.equal, "released record has", "released records have")
    said = [f"{equal} exactly your values in the masked columns; such a record need not be yours."]
    if not found.equal:
        said = ["No released record has exactly your values in the masked columns."]
        are = "is" if found.nearest == 1 else "are"
        said.append(
            f"The nearest in meaning {are} {count_of(found.nearest, 'record')} at distance {found.distance:.3f}, where "
            "0 is the same and 1 the farthest possible."
        )
    if found.rank_distance is None:
        return [
            *said,
            "In rank none can be compared: no released record has a value in just the columns where yours has one.",
        ]
    share = found.rank_distance / found.n_records
    said.append(
        f"In rank, the nearest record is {found.rank_distance:,.1f} places from yours where it is farthest, "
        f"{100 * share:.1f} % of all; 0 means exactly your ranks."
    )
    return said


def _describe_unmasked(found: Verification) -> list[str]:
    if found.as_is is None:
        return []
    names = list_names(found.as_is["columns"])
    if not found.as_is["equal"]:
        return [
            f"No released record has your values in the columns that were released as they are ({names}): your record "
            "was not in the table, or this is the release of another one."
        ]
    equal = count_of(found.as_is["equal"], "released record has", "released records have")
    said = f"{equal} your values in the columns that were released as they are ({names})"
    if found.as_is["candidates"] is not None:
        said += f", {found.as_is['candidates']:,} of them among those that could be yours"
    return [f"{said}: for someone who also knows these columns, only these are left."]
