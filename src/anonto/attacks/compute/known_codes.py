r"""Known codes: the intruder knows a few codes of a person's set, finds the only record with them, and reads the rest.

A person is *singled out* by some of her codes if exactly one record has all of them. The intruder takes the record's
other codes for the person's. With S the person's set, K the codes known of it and T the set that was found, a share

    |(S ∩ T) \ K| / |(S ∪ T) \ K|

of them is right; 0 for a person who is not singled out, or has no other codes. Its mean over persons is computed for
one to five codes, or all where she has fewer, picked in two ways:

- at random, each further code added to the ones before;
- the worst ones: the rarest code first, then always the one that leaves the fewest records, but at least one.

The rate is the highest of these means. The baseline reads another released record, picked at random, for the same
persons. Persons without a code are not attacked. Codes are compared as they are written.

A table is (k, m)-anonymous if any m codes, or fewer, that some record has are in at least k records. It is measured
exactly for m ≤ 2, from the supports of all single codes and pairs; for more the codes picked above show how many
persons at least have such codes in fewer than k records.

A method that moves sets whole singles out as many persons as the original, and the rest of each set is right. But the
record's other columns are those of another person: how often the record is the person's own, and how often all its
other cells are hers, is counted too.

Reference: Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data, VLDB 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute import support_kernels as kernels
from anonto.attacks.compute.constraints import equal_cells
from anonto.attacks.compute.support_kernels import NONE, SetsOfCodes
from anonto.attacks.findings import k_of
from anonto.attacks.known_codes import KnownCodes
from anonto.attacks.rate import Risk
from anonto.encoding.set_space import elements_of
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bools, Floats, Ints, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.encoding.columns import Column

MOST_KNOWN = 5
MOST_PERSONS = 20_000
"""Number of persons that are drawn in larger tables."""
PERSONS_AT_ONCE = 1_000
AT_RANDOM, WORST = "random", "worst"
ALONE = 2
"""The k of a column that no step with a k masks: a support below it is a single record."""


def known_codes(compared: Comparison, name: str, rng: np.random.Generator) -> Risk | None:
    """Attack the sets of one column; None if no person has a code.

    Args:
        compared: The original and its release.
        name: The column.
        rng: For the choice of persons in large tables, of codes, and of the records that the baseline reads.
    """
    cells = compared.cells[name]
    number = _number_codes(cells.original, cells.masked)
    before, after = (TableOfSets.of(column, number) for column in (cells.original, cells.masked))
    persons = Persons.of(before, rng)
    if not persons.rows.size:
        return None
    k = max((k_of(step, compared.n_records) or 0 for step in compared.steps if name in step.columns), default=0)
    tried = attack_sets(before, after, persons, k or ALONE, rng)
    worst = max(tried, key=lambda one: one.rate)
    picked = "picked at random" if worst.chosen == AT_RANDOM else "the worst ones to know"
    return Risk.of_hits(
        worst.rate * persons.rows.size,
        persons.rows.size,
        attack=KnownCodes.name,
        knowledge=f"{worst.known} of the codes in this column of one person, or all if she has fewer, {picked}; a "
        "record is found where it is the only one with these codes; nothing of the method",
        columns=(name,),
        baseline=worst.guessed,
        details={
            "codes_known": worst.known,
            "chosen": worst.chosen,
            "singled_out": worst.singled_out,
            "have_others": worst.have_others,
            "read_right": worst.rate / worst.have_others if worst.have_others else 0.0,
            **_describe_records(compared, name, persons, worst.record),
            "alone_by_whole_set": _sides(before.share_alone(before, persons), after.share_alone(before, persons)),
            "persons_without_codes": int(np.count_nonzero(before.set_of_row < 0)),
            "by_codes_known": [one.to_dict() for one in tried],
            "k": k or ALONE,
            "k_m_anonymity": [
                {"m": m, **{when: table.measure_km(m, k or ALONE) for when, table in _sides(before, after).items()}}
                for m in (1, 2)
            ],
        },
    )


def _sides(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def _number_codes(*columns: Column) -> dict[str, int]:
    """A number for each code that occurs in some columns."""
    codes = {code for column in columns for text in column.values for code in elements_of(text)}
    return {code: place for place, code in enumerate(sorted(codes))}


@dataclass(frozen=True, slots=True, eq=False)
class TableOfSets:
    """The sets of one table: the distinct ones, and which each record has."""

    sets: SetsOfCodes
    set_of_row: Longs
    """For each record the number of its set; -1 without a code."""
    row_of_set: Longs
    """One record with each set."""
    place: Mapping[tuple[int, ...], int]
    """The number of each set by its codes."""

    @classmethod
    def of(cls, column: Column, number: Mapping[str, int]) -> TableOfSets:
        """The sets of a column; cells with the same codes, in whatever rows and however often, are one set."""
        of_text = [tuple(sorted({number[code] for code in elements_of(text)})) for text in column.values]
        place = {one: n for n, one in enumerate(dict.fromkeys(one for one in of_text if one))}
        set_of_row = np.array([*(place.get(one, -1) for one in of_text), -1], dtype=np.int64)[column.codes]
        members = np.array([code for one in place for code in one], dtype=np.int32)
        starts = np.concatenate([[0], np.cumsum([len(one) for one in place])]).astype(np.int64)
        holder_starts = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=len(number)))]).astype(np.int64)
        holders = np.repeat(np.arange(len(place)), np.diff(starts))[np.argsort(members, kind="stable")]
        row_of_set = np.full(len(place), -1, dtype=np.int64)
        rows = np.flatnonzero(set_of_row >= 0)
        row_of_set[set_of_row[rows]] = rows
        counts = np.bincount(set_of_row[rows], minlength=len(place)).astype(np.int64)
        supports = np.zeros(len(number), dtype=np.int64)
        np.add.at(supports, members, np.repeat(counts, np.diff(starts)))
        sets = SetsOfCodes(starts, members, counts, holder_starts, holders.astype(np.int32), supports)
        return cls(sets, set_of_row, row_of_set, place)

    def find(self, known: Ints) -> tuple[Longs, Longs]:
        """The support of the first known codes of each person, one to all, and a set that has them; -1 if none."""
        support, last = np.empty((2, *known.shape), dtype=np.int64)

        def search(part: slice) -> None:
            kernels.find_holders(self.sets, known[part], support[part], last[part])

        in_threads(search, slices(0, known.shape[0], PERSONS_AT_ONCE))
        return support, last

    def codes_of(self, chosen: Longs) -> tuple[Longs, Ints]:
        """The codes of some sets, one set after the other, and where each starts."""
        sizes = np.diff(self.sets.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.sets.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return starts, self.sets.members[places]

    def share_alone(self, original: TableOfSets, persons: Persons) -> float:
        """The share of persons whose whole set is that of exactly one record of this table."""
        own = {one for one, number in self.place.items() if self.sets.counts[number] == 1}
        alone = np.array([one in own for one in original.place], dtype=np.bool_)
        return _share(alone[original.set_of_row[persons.rows]])

    def measure_km(self, m: int, k: int) -> dict[str, Any]:
        """The smallest support of one or two codes, and the share of records with codes in fewer than k of them."""
        sets = self.sets
        least = np.minimum.reduceat(sets.supports[sets.members], sets.starts[:-1]) if sets.counts.size else sets.counts
        if m > 1:
            kernels.least_pair_support(sets, least)
        few = int(sets.counts[least < k].sum())
        return {
            "smallest_support": int(least.min(initial=self.set_of_row.size)),
            "below_k": few / self.set_of_row.size if few else 0.0,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Persons:
    """The attacked persons, each with her codes."""

    rows: Longs
    """Their records in the original."""
    starts: Longs
    codes: Ints

    @classmethod
    def of(cls, table: TableOfSets, rng: np.random.Generator) -> Persons:
        """All persons with a code, or some of them drawn at random."""
        rows = np.flatnonzero(table.set_of_row >= 0)
        if rows.size > MOST_PERSONS:
            rows = np.sort(rng.choice(rows, MOST_PERSONS, replace=False))
        return cls(rows, *table.codes_of(table.set_of_row[rows]))

    def pick_at_random(self, rng: np.random.Generator) -> Ints:
        """Persons × codes in random order, as many as are known at most."""
        person = np.repeat(np.arange(self.rows.size), np.diff(self.starts))
        shuffled = self.codes[np.lexsort([rng.random(self.codes.size), person])]
        known = np.full((self.rows.size, MOST_KNOWN), NONE, dtype=np.int32)
        place = np.arange(self.codes.size) - self.starts[person]
        known[person[place < MOST_KNOWN], place[place < MOST_KNOWN]] = shuffled[place < MOST_KNOWN]
        return known

    def pick_worst(self, before: TableOfSets, table: TableOfSets) -> Ints:
        """Persons × codes that leave few records of a table; the same for all persons with the same set."""
        sets, of_person = np.unique(before.set_of_row[self.rows], return_inverse=True)
        starts, codes = before.codes_of(sets)
        known = np.full((sets.size, MOST_KNOWN), NONE, dtype=np.int32)
        kernels.choose_worst(table.sets, starts, codes, known)
        nothing = known[:, 0] == NONE  # the table has none of these codes
        known[nothing, 0] = codes[starts[:-1][nothing]]
        return known[of_person]

    def read(self, table: TableOfSets, known: Ints, found: Longs) -> tuple[Floats, Bools]:
        """The share of further codes that is right in the sets found for the persons, and who has any or reads any."""
        right, every = np.empty((2, self.rows.size), dtype=np.int64)
        kernels.count_read(self.starts, self.codes, known, table.sets, found, right, every)
        return right / np.maximum(every, 1), every > 0


@dataclass(frozen=True, slots=True, eq=False)
class ReadCodes:
    """Result for a number of known codes and a way to pick them."""

    known: int
    chosen: str
    singled_out: Mapping[str, float]
    """The share of persons, in the original and in the release."""
    below_k: Mapping[str, float]
    """The share of persons whose known codes are in fewer than k records, but in one."""
    have_others: float
    """The share of persons who are singled out, and who or whose record has further codes."""
    rate: float
    guessed: float
    whole: float
    """The share of persons all of whose further codes are right, and no other is read."""
    record: Longs
    """For each person the released record that is the only one; -1 for none."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        names = ("known", "chosen", "singled_out", "below_k", "have_others", "rate", "guessed", "whole")
        return {name: getattr(self, name) for name in names}


def attack_sets(
    before: TableOfSets, after: TableOfSets, persons: Persons, k: int, rng: np.random.Generator
) -> Sequence[ReadCodes]:
    """Single persons out by one to five codes, and read the others."""
    random = persons.pick_at_random(rng)
    picks = {
        AT_RANDOM: (random, random),
        WORST: (persons.pick_worst(before, before), persons.pick_worst(before, after)),
    }
    other = after.set_of_row[rng.integers(0, after.set_of_row.size, persons.rows.size)]
    found = []
    for chosen, (in_original, in_release) in picks.items():
        first, (second, last) = before.find(in_original)[0], after.find(in_release)
        for known in range(1, MOST_KNOWN + 1):
            one, two = first[:, known - 1], second[:, known - 1]
            record = np.where(two == 1, last[:, known - 1], -1)
            codes = np.ascontiguousarray(in_release[:, :known])
            right, have_others = persons.read(after, codes, record)
            guessed = persons.read(after, codes, np.where(two == 1, other, -1))[0]
            found.append(
                ReadCodes(
                    known,
                    chosen,
                    _sides(_share(one == 1), _share(two == 1)),
                    _sides(_share(one < k), _share((two > 0) & (two < k))),
                    _share(have_others),
                    float(right.mean()),
                    float(guessed.mean()),
                    _share(right == 1.0),
                    np.append(after.row_of_set, -1)[record],
                )
            )
    return found


def _share(of_persons: Bools) -> float:
    return float(np.count_nonzero(of_persons)) / of_persons.size


def _describe_records(compared: Comparison, name: str, persons: Persons, record: Longs) -> dict[str, float]:
    """How often a record that was found is the person's own, and how often all its other cells are hers."""
    alone = record >= 0
    rows, found = persons.rows[alone], record[alone]
    same = np.ones(rows.size, dtype=np.bool_)
    for one, cells in compared.cells.items():
        if one != name:
            numbers = equal_cells(cells)
            same &= numbers.persons[rows] == numbers.released[0][found]
    n = max(rows.size, 1)
    return {
        "own_record": float(np.count_nonzero(rows == found)) / n,
        "other_cells_right": float(np.count_nonzero(same)) / n,
    }
