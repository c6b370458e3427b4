"""Global distance linkage: the intruder holds many persons and matches them to released records at once.

Each person gets one record, no record two persons, and the sum of the squared distances is least; a record that others
need more is left to them. A person is matched only with one of the rows nearest to her, so that the matching stays
sparse; one who finds none of them free is left without.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016); Herranz, Nin, Rodríguez, Tassa, Data &
Knowledge Engineering 100 (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.space import Released, Space
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Longs = NDArray[np.int64]

NAME = "global-linkage"
MOST_PERSONS = 5_000
NEAREST_ROWS = 30
"""Rows that a person may be matched with."""


def global_linkage(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> Risk:
    """Match persons to released records.

    Args:
        columns: What the intruder knows of the persons.
        rng: For the choice of the persons in a large table, and of one of several equally good matchings.
    """
    n_rows = columns[0].masked.size
    persons = rng.permutation(n_rows)[:MOST_PERSONS]
    hits = float(np.count_nonzero(_matched(columns, persons, rng) == persons)) if persons.size else 0.0
    low, high = wilson_interval(hits, persons.size)
    whom = "all persons" if persons.size == n_rows else f"{persons.size:,} persons"
    return Risk(
        attack=NAME,
        knowledge=f"the original values of {whom} in these columns; nothing of the method",
        columns=tuple(column.name for column in columns),
        rate=hits / persons.size if persons.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(persons.size),
    )


def _matched(columns: Sequence[ComparedColumn], persons: Longs, rng: np.random.Generator) -> Longs:
    """The row that each person is matched with; −1 for none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    space = Space.of(columns)
    released = Released.of(columns, space)
    targets, number = distinct_rows([column.original[persons] for column in columns])
    found, distances = space.nearest_some(targets, released, NEAREST_ROWS)
    n_rows = columns[0].masked.size
    shuffled = rng.permutation(n_rows)
    by_record = shuffled[np.argsort(released.record_of_row[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(released.amounts)])
    of_person, rows, costs = _edges(found[number], distances[number], starts, by_record, rng)
    alone = np.arange(persons.size)
    table = coo_array(
        (
            np.concatenate([costs + 1.0, np.full(persons.size, 1e6)]),
            (np.concatenate([of_person, alone]), np.concatenate([rows, n_rows + alone])),
        ),
        shape=(persons.size, n_rows + persons.size),
    ).tocsr()
    person, match = min_weight_full_bipartite_matching(table)
    out = np.full(persons.size, -1, dtype=np.int64)
    out[person] = np.where(match < n_rows, match, -1)
    return out


def _edges(
    found: NDArray[np.int32],
    distances: NDArray[np.float64],
    starts: Longs,
    by_record: Longs,
    rng: np.random.Generator,
) -> tuple[Longs, Longs, NDArray[np.float64]]:
    """Person, row and cost of every pair that may be matched; of a record with many rows a random stretch of them."""
    n_rows_of = np.where(found >= 0, (starts[1:] - starts[:-1])[found], 0)
    taken = np.minimum(n_rows_of, NEAREST_ROWS)
    flat = taken.ravel()
    person = np.repeat(np.arange(found.shape[0]), taken.sum(axis=1))
    pair = np.repeat(np.arange(flat.size), flat)
    within = np.arange(pair.size) - np.repeat(np.cumsum(flat) - flat, flat)
    shift = rng.integers(0, np.maximum(n_rows_of.ravel(), 1))[pair]
    record = found.ravel()[pair]
    row = by_record[starts[record] + (shift + within) % n_rows_of.ravel()[pair]]
    return person, row, distances.ravel()[pair]
