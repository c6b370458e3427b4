"""Partial knowledge: the intruder knows a few columns of a person, finds the one row that has them, and reads the rest.

A linkage asks whether a person's own row is found. Where a method moves whole records, another question matters: the
row with her known cells, wherever it is now, came from her record, so its other cells are hers too.

The intruder knows two to five of the released columns that are not confidential. A person is *singled out* if exactly
one released row has her original cells in the known columns. The row's remaining masked cells are taken for hers. The
rate is

    mean over persons of (singled out ? share of her remaining masked cells that the row has right : 0),

and the baseline reads the most frequent released value of each column instead, for the same persons. Without a masked
column left to read, all others are read. A missing cell is a value like any other.

The worst columns are searched for among half of the persons: greedily, a few sets at a time, by how much the row
reveals beyond the baseline; and at random. The rate is that of the worst set among the other half, so that the search
does not bias it.

A set costs one pass over the released rows, however many values its columns have: cells are hashed to 64 bits, and the
hash of several cells is the sum of their hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.constraints import equal_cells
from anonto.attacks.partial_knowledge import PartialKnowledge
from anonto.attacks.rate import Risk
from anonto.encoding.value_space import NumericSpace
from anonto.random.streams import Seed, row_words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs, LongWords
    from anonto.encoding.comparison import Amounts, BothCells, ComparedColumn


MOST_PERSONS = 4_000
"""Number of persons that are drawn, half of them to search for the worst set."""
FEWEST_KNOWN, MOST_KNOWN = 2, 5
SETS_KEPT = 2
"""Number of sets of each size from which the greedy search continues."""
SETS_AT_RANDOM = 20
FILTER_BITS = 16
MOST_OF_IT = 0.8
"""Rows of a step count as released whole if they reveal this share of what guessing gets wrong."""


def partial_knowledge(
    cells: Mapping[str, BothCells],
    columns: Mapping[str, ComparedColumn],
    steps: Sequence[Sequence[str]],
    confidential: Collection[str],
    amounts: Amounts,
    rng: np.random.Generator,
) -> Risk | None:
    """Find the few columns that reveal most about the others.

    None if fewer than two columns are released, all are confidential, or there are fewer than two persons.

    Args:
        cells: For every released column, the cells of the original and of the release, row by row.
        columns: The columns that the plan describes: numbers are compared as numbers, not as texts.
        steps: The columns that each step masks.
        confidential: Columns that are declared confidential: nobody knows them before.
        amounts: How many rows of the original each row represents.
        rng: For the choice of persons and of sets.
    """
    known = [name for name in cells if name not in confidential]
    if len(cells) < 2 or not known or amounts.n_persons < 2:
        return None
    drawn = rng.permutation(amounts.n_persons)[:MOST_PERSONS]
    tables = _NumberedTables.of(cells, columns, steps, amounts.masked)
    searching, judging = (_Persons(tables, np.sort(drawn[start::2])) for start in (0, 1))
    places = [tables.names.index(name) for name in known]
    sizes = range(min(FEWEST_KNOWN, len(known), len(cells) - 1), min(MOST_KNOWN, len(known), len(cells) - 1) + 1)
    tried = _try_sets(searching, places, sizes, rng)
    worst = max(tried, key=lambda one: tried[one])
    found = judging.read(worst)
    n = found.right.size
    return Risk.of_hits(
        float(found.right.sum()),
        n,
        attack=PartialKnowledge.name,
        knowledge=f"the original values of one person in these {len(worst)} of {len(known)} released columns that "
        "are not confidential; a row is found where it has just these cells; which columns tell most was searched for "
        "among other persons",
        columns=(tables.names[place] for place in worst),
        baseline=float(found.guessed.sum()) / n,
        details={
            **found.to_dict(),
            "whole_rows": tables.are_masked(tables.to_read(worst)) and found.are_rows_whole(),
            "columns_that_leave": len(cells),
            "columns_read": [tables.names[place] for place in tables.to_read(worst)],
            "sets_tried": len(tried),
            "by_columns_known": [_worst_of_size(size, tried, judging) for size in sizes],
        },
    )


def _worst_of_size(
    size: int, tried: Mapping[tuple[int, ...], tuple[float, float]], judging: _Persons
) -> dict[str, Any]:
    """Result of the worst set of this number of columns."""
    worst = max((one for one in tried if len(one) == size), key=lambda one: tried[one])
    return {"known": [judging.tables.names[place] for place in worst], **judging.read(worst).to_dict()}


def _try_sets(
    persons: _Persons, places: Sequence[int], sizes: range, rng: np.random.Generator
) -> dict[tuple[int, ...], tuple[float, float]]:
    """The sets that were tried, each with its gain; and, for equal gains, how nearly it singles persons out."""
    gains: dict[tuple[int, ...], tuple[float, float]] = {}

    def gain(known: tuple[int, ...]) -> tuple[float, float]:
        if known not in gains:
            gains[known] = persons.read(known).gain()
        return gains[known]

    kept: list[tuple[int, ...]] = [()]
    for _ in range(sizes[-1]):
        longer = {tuple(sorted((*one, place))) for one in kept for place in places if place not in one}
        kept = sorted(sorted(longer), key=gain, reverse=True)[:SETS_KEPT]
    for size in sizes:
        for _ in range(SETS_AT_RANDOM // len(sizes)):
            gain(tuple(sorted(rng.choice(places, size, replace=False).tolist())))
    return {known: gained for known, gained in gains.items() if len(known) in sizes}


@dataclass(frozen=True, slots=True, eq=False)
class _NumberedTables:
    """Both tables as numbers of cells, the same for the same text."""

    names: list[str]
    originals: list[Codes]
    released: list[Codes]
    """Only rows that represent some rows of the release."""
    hashes: list[LongWords]
    """A hash of every number, by column."""
    amounts: Longs
    steps: list[frozenset[int]]
    """The columns that each step masks."""
    frequent: list[int]
    """The number that most released rows have, by column."""

    @classmethod
    def of(
        cls,
        cells: Mapping[str, BothCells],
        columns: Mapping[str, ComparedColumn],
        steps: Sequence[Sequence[str]],
        amounts: Longs,
    ) -> _NumberedTables:
        """Number the cells of both tables."""
        names, originals, released, hashes, frequent = list(cells), [], [], [], []
        present = np.flatnonzero(amounts)
        own = amounts[present]
        for place, (name, both) in enumerate(cells.items()):
            before, after = _number_cells(both, columns.get(name))
            after = after[present]
            n_values = int(max(before.max(initial=0), after.max(initial=0))) + 1
            originals.append(before)
            released.append(after)
            hashes.append(row_words(Seed(place).key(PartialKnowledge.name), np.arange(n_values), "hash")[0])
            frequent.append(int(np.bincount(after, own, minlength=1).argmax()))
        places = [frozenset(names.index(name) for name in step) for step in steps]
        return cls(names, originals, released, hashes, own, places, frequent)

    def to_read(self, known: Collection[int]) -> list[int]:
        """The masked columns that are not known; if there are none, all other unknown columns."""
        left = [place for place in range(len(self.names)) if place not in known]
        return [place for place in left if self.are_masked([place])] or left

    def are_masked(self, places: Collection[int]) -> bool:
        """Return whether steps mask all these columns."""
        return all(any(place in step for step in self.steps) for place in places)


def _number_cells(cells: BothCells, column: ComparedColumn | None) -> tuple[Codes, Codes]:
    """The cells of both tables by number, 0 for a missing one."""
    if column is not None and isinstance(column.value_space, NumericSpace):
        place = np.append(np.unique(column.value_space.numbers, return_inverse=True)[1] + 1, 0).astype(np.int32)
        return place[column.original], place[column.masked]
    same = equal_cells(cells)
    return same.persons, same.released[0]


@dataclass(frozen=True, slots=True, eq=False)
class _ReadCells:
    """Cells of persons that are read off released rows."""

    singled_out: Bools
    right: Floats
    """The share of the remaining cells that is right; 0 for those who are not singled out."""
    guessed: Floats
    """The same for the most frequent values."""
    by_step: list[tuple[int, int, int]]
    """The cells that were read of each step: how many, how many of them right, and how many guessed right."""
    nearly: float
    """The mean over persons of one over the number of rows that agree."""

    def gain(self) -> tuple[float, float]:
        """Gain of the rows over the most frequent values."""
        return float(self.right.sum() - self.guessed.sum()), self.nearly

    def are_rows_whole(self) -> bool:
        """Return whether rows reveal most of what guessing gets wrong, in the columns of some step."""
        return any(n > guessed and right - guessed >= MOST_OF_IT * (n - guessed) for n, right, guessed in self.by_step)

    def to_dict(self) -> dict[str, float]:
        """The result as plain numbers."""
        n = int(np.count_nonzero(self.singled_out))
        return {
            "singled_out": n / self.right.size,
            "read_right": float(self.right.sum()) / n if n else 0.0,
            "guessed_right": float(self.guessed.sum()) / n if n else 0.0,
            "read_whole": float(np.count_nonzero(self.right == 1.0)) / self.right.size,
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Persons:
    """Persons drawn from the original, whom the intruder looks for in the release."""

    tables: _NumberedTables
    rows: Longs

    def read(self, known: Sequence[int]) -> _ReadCells:
        """Single persons out by some columns, and read their other cells."""
        count, row = self._find_agreeing(known)
        alone = count == 1
        right, guessed = np.zeros((2, self.rows.size))
        to_read = self.tables.to_read(known)
        steps = [step & set(to_read) for step in self.tables.steps if step & set(to_read)] or [frozenset(to_read)]
        by_step = []
        for step in steps:
            n_right = n_guessed = 0
            for place in sorted(step):
                truth = self.tables.originals[place][self.rows[alone]]
                is_right = self.tables.released[place][row[alone]] == truth
                is_guessed = self.tables.frequent[place] == truth
                right[alone] += is_right
                guessed[alone] += is_guessed
                n_right, n_guessed = n_right + int(is_right.sum()), n_guessed + int(is_guessed.sum())
            by_step.append((len(step) * int(alone.sum()), n_right, n_guessed))
        nearly = float(np.mean(np.where(count > 0, 1.0 / np.maximum(count, 1), 0.0)))
        return _ReadCells(alone, right / len(to_read), guessed / len(to_read), by_step, nearly)

    def _find_agreeing(self, known: Sequence[int]) -> tuple[Longs, Longs]:
        """How many released rows have each person's cells in some columns, and where it is if it is one."""
        tables = self.tables
        own, keys = self._hash(known, tables.originals, self.rows), self._hash(known, tables.released, slice(None))
        distinct, of_person = np.unique(own, return_inverse=True)
        may_be = np.zeros(1 << FILTER_BITS, dtype=np.bool_)
        may_be[distinct >> np.uint64(64 - FILTER_BITS)] = True
        rows = np.flatnonzero(may_be[keys >> np.uint64(64 - FILTER_BITS)])
        place = np.minimum(np.searchsorted(distinct, keys[rows]), distinct.size - 1)
        agrees = distinct[place] == keys[rows]
        rows, place = rows[agrees], place[agrees]
        count = np.bincount(place, tables.amounts[rows], minlength=distinct.size).astype(np.int64)
        last = np.zeros(distinct.size, dtype=np.int64)
        last[place] = rows
        return count[of_person], last[of_person]

    def _hash(self, known: Sequence[int], sides: Sequence[Codes], rows: Longs | slice) -> LongWords:
        """The sum of the hashes of known cells."""
        return np.asarray(sum(self.tables.hashes[place][sides[place][rows]] for place in known))
