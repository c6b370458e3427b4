"""Support of a swap within strata: what an intruder who knows the strata, or some of their columns, can exclude.

The cells of the strata are released unmasked, so a released row shows its stratum. A person's row could only have
received what the method could have exchanged inside her stratum; an intruder who does not know it considers every
stratum that has her values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import Records, count_records, distinct_rows
from anonto.methods.strata import LEFT, StratifiedRecords, Stratum
from anonto.methods.support import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Longs
    from anonto.attacks.compute.encoded_step import EncodedStep, EncodedStepColumn
    from anonto.methods.support import CellSupport


@dataclass(frozen=True, slots=True, eq=False)
class _ValueStratum:
    """A stratum of one column."""

    support: Any
    local: Codes
    """The code in the stratum of each value of the column, and last of none; −1 for one that it does not have."""
    groups: Bools
    """Whether the stratum has each combination of known cells."""
    numbers: Longs
    """The numbers of cells that rows of the stratum may be released with."""


@dataclass(frozen=True, slots=True, eq=False)
class WithinStrata:
    """Values of a column in the support of each other, in a stratum that has the known cells of its columns."""

    persons: Codes
    released: tuple[Codes]
    values: Codes
    """The value of each number; −1 for a cell that takes no part."""
    groups: Codes
    """The combination of known cells of the strata, by number."""
    strata: tuple[_ValueStratum, ...]
    stays: Bools
    """Whether a cell with each number may have stayed whatever the method does."""

    @classmethod
    def of(
        cls, step: EncodedStep, column: EncodedStepColumn, known: Sequence[EncodedStepColumn], *, may_stay: bool
    ) -> WithinStrata:
        """From a column of a step, and the columns of its strata that the intruder knows."""
        n_rows, strata = column.original.size, step.stratum_of
        # Codes start at −2 here, but at −1 in `distinct_rows`.
        cells = [np.concatenate([one.original, one.masked]) + np.int32(1) for one in (column, *known)]
        numbers, number_of = distinct_rows(cells)
        values = numbers[:, 0] - np.int32(1)
        nothing = np.zeros(values.size, dtype=np.int32)
        groups = distinct_rows(list(numbers[:, 1:].T))[1] if known else nothing
        persons = number_of[:n_rows]
        codes, record_of = distinct_rows([column.original, strata])
        counts = count_records(record_of, codes.shape[0], step.amounts)
        records = Records((column.name,), (column.value_space,), codes[:, :1], counts)
        *members, _ = StratifiedRecords(codes[:, :1], counts, codes[:, 1], None).members(step.n_strata)
        found = []
        for place, own in enumerate(members):
            stratum = Stratum.of(records, own, 1)
            local = np.full(column.value_space.counts.size + 1, -1, dtype=np.int32)
            local[stratum.kept[0]] = np.arange(stratum.kept[0].size, dtype=np.int32)
            has_group = np.zeros(int(groups.max(initial=0)) + 1, dtype=np.bool_)
            has_group[groups[persons[strata == place]]] = True
            is_here = (values >= 0) & (local[np.maximum(values, 0)] >= 0) & has_group[groups]
            support = step.method.support(stratum.records.value_spaces[0])
            found.append(_ValueStratum(support, local, has_group, np.flatnonzero(is_here)))
        stays = np.full(values.size, may_stay)
        stays[persons[strata == LEFT]] = True
        return cls(persons, (number_of[n_rows:],), values, groups, tuple(found), stays | (values == -1))

    @property
    def widths(self) -> tuple[int]:
        """Combinations of a value and known cells."""
        return (self.values.size,)

    def allowed_rows(self, persons: Codes) -> Bools:
        """Released values in the support, in any stratum that the person may be in."""
        out = np.zeros((persons.size, self.values.size), dtype=np.bool_)
        own, groups = self.values[persons], self.groups[persons]
        for stratum in self.strata:
            codes = stratum.local[np.maximum(own, 0)]
            here = np.flatnonzero((own >= 0) & (codes >= 0) & stratum.groups[groups])
            if not here.size:
                continue
            partners = stratum.support.partners(codes[here])[:, stratum.local[self.values[stratum.numbers]]]
            same = np.equal.outer(groups[here], self.groups[stratum.numbers])
            out[np.ix_(here, stratum.numbers)] |= partners & same
        out[np.arange(persons.size), persons] |= self.stays[persons]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class CellsInStrata:
    """Cells that records could have received inside their strata."""

    supports: tuple[CellSupport, ...]
    strata: tuple[Stratum, ...]
    stratum_of: Codes
    """The number of each record's stratum."""
    place_of: Codes
    """The place of each record in the stratum."""
    begins: Longs
    """Where the values of each column begin among those of all columns."""

    def partners(self, records: Codes, rows: Codes, allowed: Bools) -> None:
        """Mark the values that records could have received: see `CellSupport`."""
        own = self.stratum_of[records]
        for number in np.unique(own[own != LEFT]).tolist():
            here = own == number
            stratum, (distinct, which) = self.strata[number], np.unique(rows[here], return_inverse=True)
            columns = np.concatenate([begin + kept for begin, kept in zip(self.begins, stratum.kept, strict=True)])
            found = np.zeros((distinct.size, columns.size), dtype=np.bool_)
            self.supports[number].partners(self.place_of[records[here]], which.astype(np.int32), found)
            allowed[np.ix_(distinct, columns)] |= found


def records_in_strata(step: EncodedStep) -> tuple[Records, Codes, Codes, list[Longs]]:
    """The distinct records by stratum, that of each row, the stratum of each record, and the records of each."""
    codes, record_of = distinct_rows([*(column.original for column in step.columns), step.stratum_of])
    counts = count_records(record_of, codes.shape[0], step.amounts)
    own, numbers = np.ascontiguousarray(codes[:, :-1]), codes[:, -1].copy()
    records = Records(step.names, tuple(column.value_space for column in step.columns), own, counts)
    *members, _ = StratifiedRecords(own, counts, numbers, None).members(step.n_strata)
    return records, record_of, numbers, members


def support_in_strata(step: EncodedStep) -> tuple[Partition | CellsInStrata, Records, Codes]:
    """Support of a method that looks at whole records, the records by stratum, and the record of each row."""
    records, record_of, numbers, members = records_in_strata(step)
    counts, spaces = records.counts, records.value_spaces
    strata = tuple(Stratum.of(records, some, len(spaces)) for some in members)
    found = [step.method.support(one.records) for one in strata]
    if all(isinstance(one, Partition) for one in found):
        return _join(found, members), records, record_of
    place_of = np.zeros(counts.size, dtype=np.int32)
    for some in members:
        place_of[some] = np.arange(some.size, dtype=np.int32)
    begins = np.cumsum([0, *(space.counts.size for space in spaces)])[:-1]
    return CellsInStrata(tuple(found), strata, numbers, place_of, begins), records, record_of


def _join(found: Sequence[Partition], members: Sequence[Longs]) -> Partition:
    """The groups of all strata; records that are left are in none."""
    parts = [some[one.members].astype(np.int32) for some, one in zip(members, found, strict=True)]
    sizes = np.concatenate([np.zeros(1, dtype=np.int64), *(np.diff(one.offsets) for one in found)])
    return Partition(
        np.concatenate([np.empty(0, dtype=np.int32), *parts]),
        np.cumsum(sizes).astype(np.int64),
        apart=any(one.apart for one in found),
        stays=np.concatenate([np.empty(0, dtype=np.bool_), *(one.stays for one in found)]),
    )
