"""Strata: records with the same cells in the columns that a step is ``within``, each masked like a table of its own.

The plan defines the strata. A method is fitted to the records of each, with a random stream of its own, so
that nothing moves from one to another. Counts, frequencies, means and variances are those of the stratum; distances,
and the ranges that divide differences of numbers, are those of the whole table.

A stratum is too small if it has fewer rows than the method needs: its k, and two at least. Such strata are refused,
left as they are, or pooled: all of them become one stratum and, if that is still too small, take the smallest of the
others with them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import count_weighted
from anonto.encoding.generalised_space import EmptiedSpace, with_intervals
from anonto.encoding.records import Records, distinct_rows
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import ExtendedSpace, NominalSpace, NumericSpace
from anonto.errors import AnontoWarning, TooFewRecordsError
from anonto.methods.blocks import all_facts, join_blocks, new_values
from anonto.methods.record_transitions import RecordTransitions, record_transitions
from anonto.methods.row_transitions import AssignedRecordTransitions, RowTransitions
from anonto.methods.transitions import AssignedTargets
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.arrays import Codes, Longs
    from anonto.encoding.record_counts import CountedRecords, RecordIndex
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import ColumnMethod
    from anonto.methods.parameters import SmallStrata

    Fit = Callable[[Records, np.random.Generator], RecordTransitions]

LEFT = -1
"""The number of the stratum of rows that stay as they are."""
LARGE_K = "k = .* is not below the"
"""Warnings about a k as large as a table: a stratum of k rows is as small as it may be."""


@dataclass(frozen=True, slots=True, eq=False)
class AssignedStrata:
    """The stratum of each combination of cells."""

    numbers: Codes
    """The number of each combination's stratum; −1 where its rows stay as they are."""
    facts: Mapping[str, int]

    @property
    def n_strata(self) -> int:
        """Strata that are masked."""
        return int(self.numbers.max(initial=LEFT)) + 1


def assign_strata(counts: Longs, least_rows: int, small_strata: SmallStrata) -> AssignedStrata:
    """Give each combination of cells a stratum of its own, except where it has too few rows.

    Args:
        counts: Rows with each combination, in the order of the cells.
        least_rows: Rows that the method needs.
        small_strata: How to treat combinations with fewer.
    """
    small = counts < least_rows
    n_small, rows = int(np.count_nonzero(small)), int(counts[small].sum())
    if n_small and small_strata == "refuse":
        raise too_small_strata(n_small, counts.size, rows, least_rows)
    if n_small == counts.size > 0 and (small_strata == "leave" or rows < least_rows):
        raise only_small_strata(counts.size, rows, least_rows)
    pooled = small.copy() if small_strata == "pool" else np.zeros_like(small)
    if pooled.any() and rows < least_rows:
        pooled[np.where(small, counts.max() + 1, counts).argmin()] = True
    left = small if small_strata == "leave" else np.zeros_like(small)
    own = ~(pooled | left)
    numbers = np.where(own, np.cumsum(own) - 1, LEFT)
    numbers[pooled] = np.count_nonzero(own)
    facts = {
        "strata": int(counts.size),
        "smallest_stratum": int(counts.min(initial=counts.max(initial=0))),
        "pooled_strata": int(np.count_nonzero(pooled)),
        "pooled_records": int(counts[pooled].sum()),
        "left_strata": int(np.count_nonzero(left)),
        "left_records": int(counts[left].sum()),
    }
    return AssignedStrata(numbers.astype(np.int32), facts)


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Finds the stratum of rows."""

    names: tuple[str, ...]
    maps: tuple[Codes, ...]
    """The code of each raw code, by column."""
    index: RecordIndex
    """Finds combinations of these codes."""
    assigned: AssignedStrata

    def numbers(self, raw: Mapping[Any, Codes]) -> Codes:
        """The stratum of each of some rows, by the raw codes of all columns."""
        return self.of_codes([own[raw[name]] for name, own in zip(self.names, self.maps, strict=True)])

    def of_codes(self, columns: Sequence[Codes]) -> Codes:
        """The stratum of each of some rows, by the codes of these columns."""
        return np.asarray(self.assigned.numbers[self.index.numbers(columns)])

    @property
    def facts(self) -> dict[str, Any]:
        """Evidence about the strata."""
        return {"within": list(self.names), **self.assigned.facts}


# ------------------------------------------------------------------------------------------------ records by stratum


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedRecords:
    """Distinct records of each stratum."""

    codes: Codes
    """Records × columns, without those of the strata."""
    counts: Longs
    numbers: Codes
    """The number of each record's stratum."""
    merged: Codes | None
    """The record here for each counted record; None where they are the same."""

    @classmethod
    def of(cls, counted: CountedRecords, strata: Strata) -> StratifiedRecords:
        """From the records of some columns and, after them, those of the strata."""
        n_columns = counted.codes.shape[1] - len(strata.names)
        own, numbers = counted.codes[:, :n_columns], strata.of_codes(list(counted.codes[:, n_columns:].T))
        if not strata.assigned.facts["pooled_strata"]:
            return cls(np.ascontiguousarray(own), counted.counts, numbers, None)
        # Rows that are left keep their record; of a pooled stratum equal records are one.
        codes, merged = distinct_rows([*own.T, numbers])
        counts = count_weighted(merged, codes.shape[0], counted.counts)
        return cls(np.ascontiguousarray(codes[:, :-1]), counts, codes[:, -1].copy(), merged)

    def members(self, n_strata: int) -> list[Longs]:
        """The records of each stratum, and last those that stay as they are."""
        order = np.argsort(self.numbers, kind="stable")
        ends = np.searchsorted(self.numbers[order], np.arange(n_strata + 1))
        return [*np.split(order[ends[0] :], ends[1:-1] - ends[0]), order[: ends[0]]] if n_strata else [order]


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The records of a stratum as those of a table of its own."""

    records: Records
    kept: tuple[Codes, ...]
    """The code in the whole table of each value of the stratum, by masked column."""

    @classmethod
    def of(cls, records: Records, members: Longs, n_columns: int) -> Stratum:
        """Some of the records of a table; only its first columns are masked, the others keep all their values."""
        codes, counts = records.codes[members], records.counts[members]
        value_spaces, kept = list(records.value_spaces), []
        for place in range(n_columns):
            whole = records.value_spaces[place]
            values = occurring_values(whole, codes[:, place])
            kept.append(values)
            value_spaces[place], codes[:, place] = restrict_column(whole, values, codes[:, place], counts)
        return cls(Records(records.names, tuple(value_spaces), codes, counts), tuple(kept))

    def in_table_codes(self, fitted: RecordTransitions, value_spaces: Sequence[ValueSpace]) -> RecordTransitions:
        """Transitions whose released values have the codes of the whole table."""
        released, extended = fitted.released.copy(), []
        for place, (values, whole) in enumerate(zip(self.kept, value_spaces, strict=False)):
            own = None if fitted.value_spaces is None else fitted.value_spaces[place]
            with_further, codes = extend(whole, () if own is None else new_values(own, values.size))
            if isinstance(own, EmptiedSpace):
                with_further = EmptiedSpace(with_further)
                codes = np.append(codes, np.int32(with_further.code))
            extended.append(with_further)
            released[:, place] = np.concatenate([values, codes, [-1]])[released[:, place]]
        return replace(fitted, released=released, value_spaces=None if fitted.value_spaces is None else tuple(extended))


def occurring_values(value_space: ValueSpace, codes: Codes) -> Codes:
    """The values that occur, in order; all values where none does, so that a column is never without."""
    occur = np.zeros(value_space.counts.size, dtype=np.bool_)
    occur[codes[codes >= 0]] = True
    if isinstance(value_space, ExtendedSpace):
        occur[value_space.first_code :] = True
        n_known = value_space.base.counts.size
        occur[:n_known] |= not occur[:n_known].any()
    elif not occur.any():
        occur[:] = True
    return np.flatnonzero(occur).astype(np.int32)


def restrict_column(value_space: ValueSpace, values: Codes, codes: Codes, counts: Longs) -> tuple[ValueSpace, Codes]:
    """The space of some values, and the codes of records in it; the whole space where no record has a value."""
    n_values = value_space.counts.size
    if not (codes >= 0).any():
        return value_space, codes
    new = np.full(n_values + 1, -1, dtype=np.int32)
    new[values] = np.arange(values.size, dtype=np.int32)
    own = new[codes]
    return value_space.restrict(values, count_weighted(own + 1, values.size + 1, counts)[1:]), own


def extend(value_space: ValueSpace, values: Sequence[Any]) -> tuple[ValueSpace, Codes]:
    """A value space with further values, and their codes."""
    if values and isinstance(values[0], tuple) and not isinstance(value_space, SetSpace):
        return with_intervals(value_space).codes_of(values)
    if values and isinstance(value_space, NumericSpace):
        return value_space.codes_of(np.array(values, dtype=np.float64))
    if values and isinstance(value_space, NominalSpace | SetSpace):
        return value_space.codes_of(values)
    return value_space, np.empty(0, dtype=np.int32)


# ------------------------------------------------------------------------------------------------ fitting


def fit_in_strata(
    records: Records, members: Sequence[Longs], n_columns: int, fit: Fit, rng: np.random.Generator
) -> RecordTransitions:
    """Fit a method to each stratum, and put the transitions together.

    Args:
        records: The distinct records of each stratum.
        members: The records of each stratum, and last those that stay as they are.
        n_columns: How many columns are masked.
        fit: Fits the method to the records of a stratum.
        rng: From which each stratum gets a generator of its own.
    """
    *strata, left = members
    if not strata:
        return fit(records, rng)
    fitted = []
    for own, generator in zip(strata, rng.spawn(len(strata)), strict=True):
        stratum = Stratum.of(records, own, n_columns)
        fitted.append(stratum.in_table_codes(_fit_one(fit, stratum, generator, len(strata)), records.value_spaces))
    sizes = [int(records.counts[own].sum()) for own in strata]
    facts = all_facts([one.facts for one in fitted], sizes)
    if left.size:
        fitted.append(_leave_unchanged(records, left, n_columns))
    blocks = members if left.size else strata
    if any(isinstance(one, AssignedRecordTransitions) for one in fitted):
        return _join_rows(records, blocks, fitted, facts)
    return join_blocks(records, blocks, fitted, facts)


def _fit_one(fit: Fit, stratum: Stratum, rng: np.random.Generator, n_strata: int) -> RecordTransitions:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", LARGE_K, AnontoWarning)
        try:
            return fit(stratum.records, rng)
        except TooFewRecordsError as error:
            raise too_few_in_a_stratum(n_strata, stratum.records.n_rows, str(error), error.settings) from None


def _leave_unchanged(records: Records, members: Longs, n_columns: int) -> RecordTransitions:
    """Records that stay as they are."""
    codes, counts = records.codes[members, :n_columns], records.counts[members]
    part = Records(records.names, records.value_spaces, codes, counts)
    untouched = [cells_with_value(records.value_spaces[place], codes[:, place], counts) for place in range(n_columns)]
    return record_transitions(part, np.arange(members.size), codes, counts, untouched)


def cells_with_value(value_space: ValueSpace, codes: Codes, counts: Longs) -> int:
    """How many cells have a value, also where missing cells have codes."""
    n_values = value_space.first_code if isinstance(value_space, ExtendedSpace) else value_space.counts.size
    return int(counts[(codes >= 0) & (codes < n_values)].sum())


def _join_rows(
    records: Records, members: Sequence[Longs], fitted: Sequence[RecordTransitions], facts: Mapping[str, Any]
) -> AssignedRecordTransitions:
    """The transitions of all strata, for methods that assign rows to existing records themselves."""
    begins, targets, first = np.zeros(records.counts.size, dtype=np.int64), [], 0
    for own, one in zip(members, fitted, strict=True):
        sizes = records.counts[own]
        if isinstance(one, AssignedRecordTransitions):
            begins[own] = first + one.assigned.begins
            targets.append(own[one.assigned.targets])
        else:
            begins[own] = first + np.cumsum(sizes) - sizes
            targets.append(np.repeat(own, sizes))
        first += int(sizes.sum())
    n_columns = fitted[0].released.shape[1]
    assigned = AssignedTargets(begins, np.concatenate(targets).astype(np.int32))
    untouched = tuple(sum(one.untouched[column] for one in fitted) for column in range(n_columns))
    transitions = RowTransitions.of(records.counts, assigned)
    released = np.ascontiguousarray(records.codes[:, :n_columns])
    return AssignedRecordTransitions(transitions, released, untouched, facts, None, assigned=assigned)


def fit_column(method: ColumnMethod, records: Records, rng: np.random.Generator) -> RecordTransitions:
    """Fit a method for one column to records of this column; those without a value stay."""
    own = records.codes[:, 0]
    there = np.flatnonzero(own >= 0)
    missing = np.flatnonzero(own < 0)
    if not there.size:
        return record_transitions(records, missing, records.codes, records.counts, [0])
    fitted = method.fit(records.value_spaces[0], rng)
    record_of = np.zeros(records.value_spaces[0].counts.size, dtype=np.int64)
    record_of[own[there]] = there
    moves = fitted.moves
    return record_transitions(
        records,
        np.concatenate([missing, record_of[moves.sources]]),
        np.concatenate([own[missing], moves.targets]).astype(np.int32)[:, None],
        np.concatenate([records.counts[missing], moves.amounts]),
        [fitted.untouched],
    )


# ------------------------------------------------------------------------------------------------ refusals


def too_small_strata(n_small: int, n_strata: int, n_records: int, least: int) -> TooFewRecordsError:
    """Strata with fewer rows than a method needs."""
    return TooFewRecordsError(
        f"{n_small:,} of {count_of(n_strata, 'stratum', 'strata')} {'has' if n_small == 1 else 'have'} fewer than the "
        f"{least:,} records that the step needs in each ({n_records:,} in all); name fewer columns in within, choose a "
        "smaller k, or set small_strata to 'pool' or 'leave'.",
        settings=("within", "small_strata", "k"),
    )


def only_small_strata(n_strata: int, n_records: int, least: int) -> TooFewRecordsError:
    """A table without a stratum that is large enough."""
    return TooFewRecordsError(
        f"Each of {count_of(n_strata, 'stratum', 'strata')} has fewer than the {least:,} records that the step needs "
        f"({n_records:,} in all), so nothing could be masked; name fewer columns in within, or choose a smaller k.",
        settings=("within", "k"),
    )


def too_few_in_a_stratum(n_strata: int, n_records: int, why: str, settings: Sequence[str]) -> TooFewRecordsError:
    """A stratum with enough rows that a method refuses nevertheless, such as for its missing cells."""
    return TooFewRecordsError(
        f"One of {count_of(n_strata, 'stratum', 'strata')}, with {count_of(n_records, 'record')}, cannot be masked on "
        f"its own: {why.removesuffix('.')}.",
        settings=("within", *settings),
    )
