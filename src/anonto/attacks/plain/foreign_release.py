r"""Attacks on a foreign release, cell by cell: the same numbers as `anonto.attacks.compute.foreign_search`.

$$d(x, y) = \frac1m \sum_j d_j(x_j, y_j)$$

where $d_j$ is the difference of numbers divided by the range, 0 or 1 for texts, and for a cell that stands for several
values the mean distance to the ends of an interval, or 1 less one over the number of texts.

References: Gower, Biometrics 27 (1971); Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.attacks.foreign_release import ForeignRelease

CLOSE = 0.05
TIE = 1e-9


def distance(column: Any, cell: Any, row: int) -> float:
    """The distance of a person's cell to a released one."""
    if not column.is_numeric:
        number = int(column.released[row])
        if cell < 0 or number < 0:
            return 0.0 if cell < 0 and number < 0 else 1.0
        covered = [bool(one) for one in column.covered[number]]
        return 1.0 - 1.0 / sum(covered) if covered[cell] else 1.0
    low, high = float(column.low[row]), float(column.high[row])
    if math.isnan(cell) or math.isnan(low):
        return 0.0 if math.isnan(cell) and math.isnan(low) else 1.0
    if low != high:
        present = [float(one) for one in column.original if not math.isnan(one)]
        low, high = (min(max(end, min(present)), max(present)) for end in (low, high))
    apart = (abs(cell - low) + abs(cell - high)) / 2.0
    return min(1.0, apart / column.extent) if column.extent else float(apart > 0)


def nearest(release: ForeignRelease, columns: Sequence[int], cells: Sequence[Any]) -> list[int]:
    """The released rows that are nearest to a person in some columns."""
    distances = [
        sum(distance(release.columns[place], cells[place], row) for place in columns)
        for row in range(release.n_released)
    ]
    return [row for row, one in enumerate(distances) if one <= min(distances) + TIE]


def right(release: ForeignRelease, secret: int, cells: Sequence[Any]) -> float:
    """The chance that the row nearest in all other columns has a person's cell."""
    others, column = [place for place in range(len(cells)) if place != secret], release.columns[secret]
    if math.isnan(cells[secret]) or (not column.is_numeric and cells[secret] < 0):
        return 0.0
    rows, hits = nearest(release, others, cells), 0
    for row in rows:
        if column.is_numeric:
            hits += abs(float(column.points[row]) - cells[secret]) <= CLOSE * column.extent + 1e-12  # type: ignore[union-attr]
        else:
            hits += bool(column.is_exact[row]) and distance(column, cells[secret], row) == 0.0
    return hits / len(rows)


def linked(release: ForeignRelease, cells: Sequence[Any]) -> float:
    """The chance that two halves of a person's columns lead to the same released row."""
    first, second = (set(nearest(release, range(start, len(cells), 2), cells)) for start in (0, 1))
    return len(first & second) / (len(first) * len(second))
