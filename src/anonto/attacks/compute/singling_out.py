"""Singling out: conditions that exactly one person meets, read off the release alone.

A condition on one column is a value that one released row has alone, or the least or largest number. A condition on
several takes them from a released row: numbers at least as large as the row's, or at most, whichever side of the median
it is on; intervals; equal texts. It is used if one released row meets it. The baseline are conditions with columns,
signs and values at random.

References: Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023; Cohen, Nissim, PNAS 117 (2020).

Step by step: `anonto.attacks.plain.foreign_release`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.rate import Risk
from anonto.attacks.singling_out import SinglingOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Longs
    from anonto.attacks.foreign_release import ForeignNumbers, ForeignTexts
    from anonto.attacks.foreign_situation import ForeignSituation

CONDITIONS = 500
ATTEMPTS = 10
"""Rows that are tried for each condition."""
COLUMNS_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Condition:
    """A cell of a released row as a condition on a column."""

    column: ForeignNumbers | ForeignTexts
    row: int
    sign: str
    """``"="`` for the cell itself, ``">="`` and ``"<="`` for numbers on one side of it."""

    def on_released(self) -> Bools:
        """Mask of the released rows that meet it."""
        one: Any = self.column
        if not one.is_numeric:
            return np.asarray(one.released == one.released[self.row])
        if self.sign == ">=":
            return np.asarray(one.low >= one.low[self.row])
        if self.sign == "<=":
            return np.asarray(one.high <= one.high[self.row])
        return np.asarray((one.low >= one.low[self.row]) & (one.high <= one.high[self.row]))

    def on_persons(self, which: str) -> Bools:
        """Mask of the persons who meet it."""
        one: Any = self.column
        persons = one.side(which)
        if one.is_numeric and self.sign == ">=":
            return np.asarray(persons >= one.low[self.row])
        if one.is_numeric and self.sign == "<=":
            return np.asarray(persons <= one.high[self.row])
        return np.asarray(one.covers(persons, self.row))


def singling_out(situation: ForeignSituation) -> list[Risk]:
    """Conditions on one column, and on several together; none of a kind leave no result."""
    rng = situation.seed.stream(SinglingOut.name)
    release = situation.release
    if not release.n_released:
        return []
    one = rare_values(release.columns)
    rng.shuffle(one)
    several = combinations(release.columns, release.n_released, rng) if len(release.columns) > 1 else []
    found = []
    for name, conditions in (("one column", one[:CONDITIONS]), (f"{COLUMNS_AT_ONCE} columns", several)):
        if conditions:
            width = len(conditions[0])
            at_random = [_at_random(release.columns, release.n_released, width, rng) for _ in range(CONDITIONS)]
            found.append(_risk(situation, name, conditions, at_random, rng))
    return found


def rare_values(columns: Sequence[ForeignNumbers | ForeignTexts]) -> list[list[Condition]]:
    """Conditions on one column that a single released row meets."""
    found = []
    for column in columns:
        one: Any = column
        if one.is_numeric:
            exact = np.flatnonzero(one.is_exact)
            if not exact.size:
                continue
            cells = one.low[exact]
            ends = [(">=", exact[np.argmax(cells)]), ("<=", exact[np.argmin(cells)])]
            _, first, times = np.unique(cells, return_index=True, return_counts=True)
            ends += [("=", exact[place]) for place in first[times == 1]]
        else:
            _, first, times = np.unique(one.released, return_index=True, return_counts=True)
            ends = [("=", place) for place in first[times == 1] if one.is_exact[place]]
        conditions = [Condition(column, int(row), sign) for sign, row in ends]
        found += [[each] for each in conditions if np.count_nonzero(each.on_released()) == 1]
    return found


def combinations(
    columns: Sequence[ForeignNumbers | ForeignTexts], n_released: int, rng: np.random.Generator
) -> list[list[Condition]]:
    """Conditions on several columns that a single released row meets."""
    middles = [_middle(one) for one in columns]
    width, found = min(COLUMNS_AT_ONCE, len(columns)), []
    for _ in range(ATTEMPTS * CONDITIONS):
        row = int(rng.integers(n_released))
        chosen = rng.choice(len(columns), width, replace=False).tolist()
        conditions = [_of_cell(columns[place], row, middles[place]) for place in chosen]
        if np.count_nonzero(np.logical_and.reduce([one.on_released() for one in conditions])) == 1:
            found.append(conditions)
        if len(found) == CONDITIONS:
            break
    return found


def _middle(column: Any) -> float:
    """The median of a column of numbers."""
    points = column.points if column.is_numeric else np.empty(0)
    return float(np.nanmedian(points)) if not np.isnan(points).all() else 0.0


def _of_cell(column: Any, row: int, middle: float) -> Condition:
    if not column.is_numeric or not column.is_exact[row]:
        return Condition(column, row, "=")
    return Condition(column, row, ">=" if column.low[row] > middle else "<=")


def _at_random(columns: Sequence[Any], n_released: int, width: int, rng: np.random.Generator) -> list[Condition]:
    """Columns, rows and signs at random."""
    chosen = rng.choice(len(columns), width, replace=False).tolist()
    signs = rng.choice([">=", "<=", "="], width).tolist()
    rows = rng.integers(n_released, size=width).tolist()
    return [Condition(columns[place], row, sign) for place, row, sign in zip(chosen, rows, signs, strict=True)]


def count_alone(conditions: Sequence[Sequence[Condition]], which: str, persons: Longs) -> int:
    """How many conditions exactly one of some persons meets."""
    return sum(
        int(np.count_nonzero(np.logical_and.reduce([one.on_persons(which) for one in each])[persons]) == 1)
        for each in conditions
    )


def _risk(
    situation: ForeignSituation,
    name: str,
    conditions: Sequence[Sequence[Condition]],
    at_random: Sequence[Sequence[Condition]],
    rng: np.random.Generator,
) -> Risk:
    release, everybody = situation.release, np.arange(situation.release.n_original)
    found = Risk.of_hits(
        float(count_alone(conditions, "original", everybody)),
        len(conditions),
        attack=SinglingOut.name,
        knowledge=f"the release alone; conditions on {name} that one released row meets",
        columns=release.names,
        baseline=count_alone(at_random, "original", everybody) / len(at_random),
        details={"within": name},
    )
    if not situation.strangers.size:
        return found
    n_compared = min(release.n_original, release.n_held_out)
    samples = {
        which: rng.choice(size, n_compared, replace=False)
        for which, size in (("original", release.n_original), ("held_out", release.n_held_out))
    }
    alone = {which: count_alone(conditions, which, rows) / len(conditions) for which, rows in samples.items()}
    compared = {"persons_compared": n_compared, "success_among_as_many": alone["original"]}
    return replace(found, control=alone["held_out"], details={**found.details, **compared})
