"""One's own record and a release: how many released records could be mine, and how near the nearest comes.

A person needs nothing but her record, the release and the plan, which may be published: no original, no private record.
Swaps publish the frequencies of their columns exactly, and those that move records as a whole publish their records, so
what a method could have done can be computed from the release alone: the candidates are the released records that the
method could have put in her place. For methods whose groups or intervals depend on original records that the release
does not show, less can be computed, and nothing is guessed.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016), on checking one's own record; Nin, Herranz,
Torra, Data & Knowledge Engineering 64 (2008), on candidates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.encoding.series import as_text_series
from anonto.errors import ColumnError, PlanError
from anonto.io.table import missing_column
from anonto.masking.plan import plan_of
from anonto.verify.own_record import compare_cell, open_table, own_record, recode_own
from anonto.verify.own_rows import as_records, needed_columns
from anonto.verify.plausible_rows import find_plausible_rows, keeps_values, number_of, why_no_promise
from anonto.verify.words import sentences_of
from anonto.wording import count_of, quote_names

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bools, Floats
    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.masking.plan import Plan


WITHIN = (0.1, 0.25, 0.5)
"""Distances within which released records are counted."""
TIE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of looking for a person's record in a release."""

    n_records: int
    columns: tuple[str, ...]
    """The masked columns."""
    dropped_by: str | None
    """The column because of which the plan drops the record, if it does; nothing released is hers then."""
    candidates: int | None
    """Released records that the methods could have put in her place; None where the release alone is not enough."""
    at_least: int | None
    """How many could be hers at least, where one step masked all quasi-identifiers and its promise is proved."""
    why_no_promise: str | None
    """Why the groups of the methods promise nothing of the record as a whole; None where they do, or make none."""
    equal: int
    """Released records with exactly her values in all masked columns."""
    distance: float
    """How far the nearest released record is in meaning: the mean over the masked columns, from 0 to 1."""
    nearest: int
    """How many records are at this distance."""
    within: Mapping[float, int]
    """How many are within some distances."""
    rank_distance: float | None
    """The permutation distance: how many places in rank the nearest record is away, where it is farthest; None where
    no released record has a value in just the columns in which hers has one."""
    steps: tuple[Mapping[str, Any], ...]
    """The method of each step, its columns, the candidates that it leaves and how they were found."""
    as_is: Mapping[str, Any] | None
    """Columns that were released as they are: which, how many records equal hers there, and how many candidates do."""
    absent: tuple[str, ...]
    """Columns whose method keeps every value, though nobody in the release has hers: a sign of another table."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "n_records": self.n_records,
            "columns": list(self.columns),
            "dropped_by": self.dropped_by,
            "candidates": self.candidates,
            "at_least": self.at_least,
            "why_no_promise": self.why_no_promise,
            "equal": self.equal,
            "distance": self.distance,
            "nearest": self.nearest,
            "within": [{"distance": distance, "records": n} for distance, n in self.within.items()],
            "rank_distance": self.rank_distance,
            "steps": [dict(step) for step in self.steps],
            "as_is": None if self.as_is is None else dict(self.as_is),
            "absent": list(self.absent),
            "sentences": self.sentences,
        }

    @property
    def sentences(self) -> list[str]:
        """The same in plain words."""
        return sentences_of(self)


def verify(record: Any, release: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str]) -> Verification:
    """Look for one's own record in a release.

    Args:
        record: One's own original record: a dict of column and value, a table with one row, or the path of one. It must
            have all masked columns; None is a missing cell. Columns that were released as they are may be left out.
            Where the plan names a person column, a table may have several rows, all of them her own.
        release: The released table: pandas, polars, pyarrow or a path.
        plan: The plan that it was masked with.

    Returns:
        A verification with ``.candidates``, ``.equal``, ``.distance``, ``.rank_distance``, ``.sentences`` and
        ``.to_dict()``.
    """
    chosen = plan_of(plan)
    if not chosen.masked:
        raise plan_without_steps()
    own, released = own_record(record, chosen), open_table(release, chosen)
    needed = needed_columns(chosen)
    lacking = [name for name in needed if name not in own.names]
    if lacking:
        raise incomplete_record(lacking)
    for name in needed:
        if name not in released.names:
            raise missing_column(name, released.names)
    if chosen.recoded:
        own, chosen = recode_own(own, released, chosen)
    if chosen.has_units:
        chosen, own, released = as_records(own, released, chosen)
    open_once = opener(chosen.folder)
    looked = [compare_cell(name, own, released, chosen.description(name), open_once) for name in chosen.masked]
    strata = [name for name in chosen.within if name in own.names and name in released.names]
    found = {one.name: one for one in looked}
    found |= {name: compare_cell(name, own, released, ColumnDescription(), open_once) for name in strata}
    dropped_by = next((one.name for one in looked if one.is_dropped), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = [find_plausible_rows(step, found, released, chosen, open_once) for step in chosen.steps]
    allowed = [one.rows for one in steps if one.rows is not None]
    could_be = np.logical_and.reduce(allowed) if len(allowed) == len(steps) else None
    n_records = len(released)
    apart = np.mean([one.distances for one in looked], axis=0) if n_records else np.empty(0)
    equal = np.logical_and.reduce([one.is_equal for one in looked])
    least = float(apart.min()) if n_records else 1.0
    reason = why_no_promise(steps, looked, chosen, released.names)
    promised = [one.at_least for one in steps if one.at_least is not None and not reason]
    return Verification(
        n_records=n_records,
        columns=chosen.masked,
        dropped_by=dropped_by,
        candidates=number_of(could_be) if dropped_by is None else 0,
        at_least=promised[0] if promised and dropped_by is None else None,
        why_no_promise=reason if dropped_by is None else None,
        equal=int(np.count_nonzero(equal)),
        distance=least,
        nearest=int(np.count_nonzero(apart <= least + TIE)),
        within={distance: int(np.count_nonzero(apart <= distance + TIE)) for distance in WITHIN},
        rank_distance=_least_largest([one.shifts for one in looked]),
        steps=tuple(one.to_dict() for one in steps),
        as_is=_compare_unmasked(own, released, chosen, could_be),
        absent=tuple(
            dict.fromkeys(
                name
                for step in chosen.steps
                if keeps_values(step)
                for name in step.columns
                if not found[name].occurs and not found[name].is_dropped
            )
        ),
    )


def _least_largest(shifts: Sequence[Floats]) -> float | None:
    """The least, over released records, of the largest difference in rank over the columns."""
    least = float(np.min(np.max(shifts, axis=0), initial=np.inf))
    return least if math.isfinite(least) else None


def _compare_unmasked(
    own: FrameAdapter, released: FrameAdapter, plan: Plan, could_be: Bools | None
) -> dict[str, Any] | None:
    """The columns of the record that no step masked, and how many records equal hers there."""
    names = [
        name
        for name in own.names
        if name in released.names and name not in plan.masked and not plan.description(name).is_dropped
    ]
    if not names:
        return None
    same = np.ones(len(released), dtype=np.bool_)
    for name in names:
        cell, cells = (as_text_series(adapter.series(name)).cast(pl.String) for adapter in (own, released))
        same &= cells.eq_missing(cell[0]).to_numpy() if cell[0] is not None else cells.is_null().to_numpy()
    both = None if could_be is None else int(np.count_nonzero(same & could_be))
    return {"columns": names, "equal": int(np.count_nonzero(same)), "candidates": both}


def incomplete_record(columns: Sequence[str]) -> ColumnError:
    """A person's own record without some of the masked columns."""
    return ColumnError(
        f"Your record lacks {count_of(len(columns), 'column')} that the plan masks: {quote_names(columns)}; give each "
        "of them, in the file or with --set column=value (--set column= where you have no value)."
    )


def plan_without_steps() -> PlanError:
    """A plan without steps, for a release."""
    return PlanError("The plan has no step, so nothing was masked with it; give the plan of the release.")
