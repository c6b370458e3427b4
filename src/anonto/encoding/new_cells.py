"""Values that no original cell has, as their column writes them: means, concepts of the ontology, sets, noisy numbers.

Numbers are rounded to the decimals of the column, so that integers stay integers. The plan decides how a concept is
written: by its id, by its id without dots, or by its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.generalised_space import EVERYTHING, STAR, GeneralisedSpace, never_empty
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import NominalSpace, NumericSpace, parts_of
from anonto.errors import InternalError
from anonto.io.date_notation import DAY, FIRST, LAST
from anonto.io.notation import EXACT, PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import polars as pl
    from numpy.typing import NDArray

    from anonto.arrays import Floats, Longs
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.io.date_notation import DateNotation
    from anonto.io.notation import Notation

NEARLY = 1e-6
"""Rounding by which a bound may be beyond a date."""


@dataclass(frozen=True, slots=True, eq=False)
class NewCells:
    """New values of a column, in order."""

    numbers: Floats | None = None
    """Rounded; for a column of numbers."""
    are_whole: bool = False
    notation: Notation = PLAIN
    texts: tuple[str, ...] = ()
    """For any other column."""
    moments: Longs | None = None
    """For a column of dates also microseconds since 1970, or of a time or a duration."""

    def __len__(self) -> int:
        return len(self.texts) if self.numbers is None else int(self.numbers.size)

    def as_values(self) -> NDArray[Any] | list[str]:
        """The cells as integers, floats or texts."""
        if self.numbers is None:
            return list(self.texts)
        return self.numbers.astype(np.int64) if self.are_whole else self.numbers

    def as_moments(self, dtype: pl.DataType) -> pl.Series:
        """Dates as cells of a type for dates, times or durations."""
        import polars as pl

        moments = pl.Series([] if self.moments is None else self.moments, dtype=pl.Int64)
        if dtype == pl.Time:
            return (moments * 1000).cast(pl.Time)
        low, high = range_of(dtype)
        moments = moments.clip(low, high)
        if isinstance(dtype, pl.Duration):
            return moments.cast(pl.Duration("us")).cast(dtype)
        at = moments.cast(pl.Datetime("us"))
        if not isinstance(dtype, pl.Datetime):
            return at.cast(dtype)
        return (at if dtype.time_zone is None else _in_zone(at, dtype.time_zone)).cast(dtype)

    def as_texts(self) -> pl.Series:
        """The cells as texts in the notation of the column."""
        import polars as pl

        if self.numbers is None or not len(self):
            return pl.Series(self.texts, dtype=pl.String)
        return self.notation.format_numbers(pl.Series(self.as_values()))


def range_of(dtype: pl.DataType) -> tuple[int, int]:
    """The first and the last microsecond that a type for dates, times or durations can hold."""
    import polars as pl

    if getattr(dtype, "time_unit", None) == "ns":
        return -(2**63 // 1000), 2**63 // 1000
    return (-(2**63), 2**63 - 1) if dtype == pl.Duration else (FIRST, LAST - 1)


def _in_zone(at: pl.Series, zone: str) -> pl.Series:
    """Moments by the clock of a zone; one that the clock skips, in spring, becomes the same one an hour later."""
    local = at.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    for hours in (1, 24):  # islands have skipped a whole day
        if local.null_count():
            later = at.dt.offset_by(f"{hours}h").dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
            local = local.fill_null(later)
    return local


def new_cells(prepared: PreparedColumn, value_space: ValueSpace) -> NewCells | None:
    """The values that a value space has in addition to those of its column; None if there are none."""
    n_own, value_space = len(prepared.column.values), never_empty(value_space)
    if value_space.counts.size == n_own:
        return None
    if isinstance(value_space, GeneralisedSpace):
        return NewCells(texts=_generalised(prepared, value_space))
    if isinstance(value_space, NumericSpace):
        return _new_numbers(prepared, value_space.numbers[n_own:])
    part = parts_of(value_space)[0]
    if isinstance(part, NominalSpace):
        return NewCells(texts=part.further_texts)
    if isinstance(part, SetSpace):
        return NewCells(texts=part.cells[n_own:])
    raise InternalError("A column without an ontology has no new values.")


def _generalised(prepared: PreparedColumn, value_space: GeneralisedSpace) -> tuple[str, ...]:
    """Cells that stand for several values; those of dates have the bounds as the column writes its dates.

    A bound between two dates that the column can write is the later one, so that an interval keeps the dates in it.
    """
    dates = prepared.dates
    if dates is None:
        return value_space.texts
    texts = []
    for interval in value_space.intervals:
        bounds = np.ceil(np.array(interval) * (dates.unit / dates.step) - NEARLY) * dates.step
        ends = (FIRST, LAST) if dates.kind == "date" else (-np.inf, np.inf)
        bounds = np.minimum(bounds, DAY) if dates.kind == "time" else bounds
        if interval == EVERYTHING or bounds[0] < ends[0] or bounds[1] >= ends[1]:  # beyond the calendar
            texts.append(STAR)
        else:
            texts.append(f"[{', '.join(dates.texts(bounds.astype(np.int64)))})")
    return tuple(texts)


def _new_numbers(prepared: PreparedColumn, further: Floats) -> NewCells:
    if prepared.dates is not None:
        return new_dates(prepared.dates, prepared.dates.moments(further))
    if prepared.description.kind == "ordinal":
        return NewCells(texts=_ranks(further, prepared.description.order))
    return _numbers(further, prepared.notation)


def settle_numbers(prepared: PreparedColumn, numbers: NDArray[Any]) -> Floats:
    """Numbers as their column can hold them: rounded to its decimals or to its ranks, without negative zeros."""
    if prepared.dates is not None:
        return prepared.dates.round_numbers(numbers)
    if prepared.description.kind == "ordinal":
        return np.asarray(np.clip(np.rint(numbers), 0, len(prepared.description.order) - 1), dtype=np.float64)
    return prepared.notation.round_numbers(np.asarray(numbers, dtype=np.float64))


def grain(prepared: PreparedColumn) -> float:
    """The unit to which a column's numbers are rounded; 1 for ranks."""
    value_space = prepared.value_space
    if prepared.dates is not None:
        return prepared.dates.step / prepared.dates.unit
    if prepared.description.kind == "ordinal" or not isinstance(value_space, NumericSpace):
        return 1.0
    # The largest number may have fewer decimals than the column, because it runs out of digits.
    coarsest = 4.0 * float(np.spacing(np.abs(value_space.numbers).max(initial=0.0)))
    return max(float(10.0**-prepared.notation.decimals), coarsest)


def new_dates(dates: DateNotation, moments: Longs) -> NewCells:
    """Dates that no original cell has, as their column writes them."""
    return NewCells(texts=tuple(dates.texts(moments)), moments=moments)


def _ranks(ranks: Floats, order: Sequence[str]) -> tuple[str, ...]:
    nearest = np.clip(np.rint(ranks), 0, len(order) - 1).astype(np.int64)
    return tuple(order[rank] for rank in nearest.tolist())


def _numbers(further: Floats, notation: Notation) -> NewCells:
    rounded = notation.round_numbers(further)
    whole = notation.decimals == 0 and bool((np.abs(rounded) < EXACT).all())
    return NewCells(numbers=rounded, are_whole=whole, notation=notation)
