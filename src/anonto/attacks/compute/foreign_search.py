"""The nearest records of a foreign release, for persons who are in it and for persons who are not.

The distance of a person to a released record is the mean over the columns of the distance of their cells (Gower).
Ties count one over their number.

Step by step: `anonto.attacks.plain.foreign_release`.

References: Gower, Biometrics 27 (1971); Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.attacks.foreign_release import ForeignRelease

CLOSE = 0.05
"""A number counts as inferred within this share of the column's range."""
TIE = 1e-9
MOST_CELLS = 1 << 22
MOST_SECRETS = 30


@dataclass(frozen=True, slots=True, eq=False)
class FoundNearest:
    """Findings from the nearest released records of some persons."""

    distance: Floats
    """To the nearest released record, over all columns."""
    right: Floats
    """Persons × secrets: the chance that the record nearest in all other columns has the person's cell."""
    linked: Floats
    """The chance that the records nearest in two halves of the columns are the same."""


def secrets_of(release: ForeignRelease) -> list[int]:
    """The places of the columns that are inferred; a single column leaves nothing that could be known."""
    return list(range(min(len(release.columns), MOST_SECRETS))) if len(release.columns) > 1 else []


def search(release: ForeignRelease, which: str, persons: Longs) -> FoundNearest:
    """Search the nearest released records of some persons.

    Args:
        release: The release.
        which: ``"original"`` or ``"held_out"``: the persons' table.
        persons: Their rows.
    """
    secrets = secrets_of(release)
    found = FoundNearest(np.empty(persons.size), np.zeros((persons.size, len(secrets))), np.zeros(persons.size))
    halves = [list(range(first, len(release.columns), 2)) for first in (0, 1)]
    at_once = max(1, MOST_CELLS // max(1, release.n_released * (len(release.columns) + 3)))

    def work(part: slice) -> None:
        own = [column.side(which)[persons[part]] for column in release.columns]
        everything = slice(0, release.n_released)
        apart = [one.distances(cells, everything) for one, cells in zip(release.columns, own, strict=True)]  # type: ignore[arg-type]
        total = np.sum(apart, axis=0)
        found.distance[part] = total.min(axis=1) / len(apart)
        for number, secret in enumerate(secrets):
            rows, of = _nearest(total - apart[secret])
            is_right = release.columns[secret].is_right(own[secret][rows], of, CLOSE)  # type: ignore[arg-type]
            found.right[part, number] = np.bincount(rows, is_right, minlength=total.shape[0]) / np.bincount(
                rows, minlength=total.shape[0]
            )
        if halves[1]:
            first, second = (_is_nearest(np.sum([apart[place] for place in half], axis=0)) for half in halves)
            both = (first & second).sum(axis=1)
            found.linked[part] = both / (first.sum(axis=1) * second.sum(axis=1))

    in_threads(work, slices(0, persons.size, at_once))
    return found


def _is_nearest(distances: Floats) -> Any:
    return distances <= distances.min(axis=1, keepdims=True) + TIE


def _nearest(distances: Floats) -> tuple[Longs, Longs]:
    """Pairs of a person and a record that is nearest to her."""
    rows, of = np.nonzero(_is_nearest(distances))
    return rows, of


def distances_to_persons(release: ForeignRelease, which: str, persons: Longs, others: Longs) -> Floats:
    """The distance of each person to the nearest of some persons held out, over all columns."""
    out = np.empty(persons.size)
    at_once = max(1, MOST_CELLS // max(1, others.size))

    def work(part: slice) -> None:
        total = np.zeros((persons[part].size, others.size))
        for column in release.columns:
            total += _between(column, column.side(which)[persons[part]], column.held_out[others])
        out[part] = total.min(axis=1) / len(release.columns)

    in_threads(work, slices(0, persons.size, at_once))
    return out


def _between(column: Any, cells: Any, others: Any) -> Floats:
    """Distances of original cells."""
    if not column.is_numeric:
        return np.asarray(cells[:, None] != others[None, :], dtype=np.float64)
    apart = np.abs(cells[:, None] - others[None, :])
    out = np.minimum(apart / column.extent, 1.0) if column.extent else np.where(apart > 0, 1.0, 0.0)
    missing, none = np.isnan(cells)[:, None], np.isnan(others)[None, :]
    return np.asarray(np.where(missing | none, np.where(missing & none, 0.0, 1.0), out))


def names_without(names: Sequence[str], place: int) -> tuple[str, ...]:
    """All names but one."""
    return tuple(name for number, name in enumerate(names) if number != place)
