"""A person's own rows and a release whose records are persons or have sets, both as records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from anonto.encoding.frame_adapter import FrameAdapter
from anonto.errors import ReleaseError
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.masking.unit_rows import sources_of
from anonto.masking.units import Units, plan_of_release
from anonto.wording import count_of

if TYPE_CHECKING:
    from anonto.masking.plan import Plan


def needed_columns(plan: Plan) -> list[str]:
    """The columns of a table that a plan masks, alone or as parts of sets."""
    masked = [name for name in plan.masked if name != ROWS_OF_PERSON]
    return [one for name in masked for one in (sources_of(name, plan.sets[name]) if name in plan.sets else (name,))]


def as_records(own: FrameAdapter, released: FrameAdapter, plan: Plan) -> tuple[Plan, FrameAdapter, FrameAdapter]:
    """A plan of records, the person's own record, and the released ones.

    Args:
        own: Her rows; other columns than those of the release are left out.
        released: The release, in which a pseudonym says which rows belong to one person, or each row is a record.
        plan: The plan of the release.
    """
    person = plan.person
    if person is not None and plan.pseudonym is None:
        raise rows_without_pseudonym(person)
    if plan.at_most is not None and len(own) > plan.at_most:
        raise rows_not_told(len(own), plan.at_most)
    reduced = plan_of_release(plan)
    theirs = Units(released, reduced)
    rows = _as_polars(own).select(name for name in own.names if name in released.names and name != person)
    further = [name for name in reduced.named if name in released.names and name not in (*rows.columns, person)]
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in further if name not in reduced.sets)
    if person is not None:
        rows = rows.with_columns(pl.lit("own").alias(person))
    mine = Units(FrameAdapter(rows, origin=own.origin), reduced).records.drop(*further, strict=False)
    dropped = [] if person is None else [person]
    return theirs.plan, FrameAdapter(mine.drop(dropped)), FrameAdapter(theirs.records.drop(dropped))


def _as_polars(own: FrameAdapter) -> pl.DataFrame:
    """Her rows, whose cells may be lists."""
    columns: dict[str, Any] = {
        name: own.native(name).tolist() if own.library == "pandas" else own.series(name) for name in own.names
    }
    return pl.DataFrame(columns, strict=False)


def rows_without_pseudonym(person: str) -> ReleaseError:
    """A release in which nothing says which rows belong to one person."""
    return ReleaseError(
        f"Nothing in the release says which rows belong to one person, because {person!r} was dropped; only a release "
        'with pseudonyms (role = "pseudonym") can be verified.'
    )


def rows_not_told(n_rows: int, at_most: int) -> ReleaseError:
    """A person with more rows than were used."""
    return ReleaseError(
        f"You have {count_of(n_rows, 'row')}, and the plan uses at most {at_most:,} of one person, drawn with a secret "
        "seed; nothing says which of yours are in the release."
    )
