"""Global distance linkage: the intruder holds many persons and matches them to released records at once.

Each person gets one record, no record two persons, and the sum of the squared distances is least; a record that others
need more is left to them. A person is matched only with one of the rows nearest to her, so that the matching stays
sparse; one who finds none of them free is left without. Of rows that are alike nobody can tell which is whose: a person
matched with a row like her own is found with one over the number of these rows.

All persons are matched at once. In a table too large for that some neighbourhoods are, and those in the midst of them
count: what the rest of the table would take away is not seen, so the rate is a lower bound. Of a table of which only
distinct records are at hand, as many persons drawn at random are matched. They hardly compete for records: that is
another attack, of an intruder who holds these persons alone, and mostly a weaker one.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016); Herranz, Nin, Rodríguez, Tassa, Data &
Knowledge Engineering 100 (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk.attacks.global_linkage import GlobalLinkage
from anonto.risk.blocks import Block, blocks_of
from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.space import Released, Space
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Longs = NDArray[np.int64]

MOST_PERSONS = 20_000
"""Persons of larger tables are matched in blocks, together about as many."""
PERSONS_OF_A_BLOCK = 5_000
NEAREST_ROWS = 30
"""Rows that a person may be matched with."""
MATCHED_AT_ONCE = "all persons, matched at once,"
NO_COST, ALONE = 1.0, 1e6
"""Of a pair without distance, and of a person who is left without. The first rounds costs to 16 digits: without it the
search for the least sum goes on for ever smaller gains, many times as long."""


def global_linkage(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> Risk:
    """Match persons to released records.

    Args:
        columns: What the intruder knows of the persons.
        rng: For the choice of the blocks in a large table, and of one of several equally good matchings.
    """
    n_rows = columns[0].n_rows
    hits, whom = _hits(columns, rng) if n_rows else (np.empty(0), MATCHED_AT_ONCE)
    low, high = wilson_interval(float(hits.sum()), hits.size)
    return Risk(
        attack=GlobalLinkage.name,
        knowledge=f"the original values of {whom} in these columns; nothing of the method",
        columns=tuple(column.name for column in columns),
        rate=float(hits.mean()) if hits.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(hits.size),
    )


def whom_matched(columns: Sequence[ComparedColumn], blocks: Sequence[Block]) -> str:
    """Who was matched, and how."""
    if is_whole(columns, blocks):
        return MATCHED_AT_ONCE
    if not columns[0].amounts.row_by_row:
        return "persons drawn at random, matched at once and without all others (who mostly would help),"
    return "all persons, matched in blocks of neighbours (a lower bound),"


def is_whole(columns: Sequence[ComparedColumn], blocks: Sequence[Block]) -> bool:
    """Whether all persons are counted."""
    return blocks[0].n_counted == columns[0].n_rows


def _hits(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> tuple[NDArray[np.float64], str]:
    """For each person that is counted the probability that she is found; and who was matched."""
    space = Space.of(columns)
    released = Released.of(columns, space)
    blocks = blocks_to_match(columns, space, MOST_PERSONS, rng)
    hits = np.full(columns[0].n_persons, np.nan)
    for block in blocks:
        targets, number = distinct_rows([column.original[block.persons] for column in columns])
        found, distances = space.nearest_some(targets, released, NEAREST_ROWS)
        rows = released.record_of_row if columns[0].amounts.row_by_row else None
        match = match_records(found[number], distances[number], released.amounts, rows, rng)
        counted = block.persons[: block.n_counted]
        hits[counted] = found_by(match[: block.n_counted], released.record_of_row[counted], released.amounts)
    return hits[~np.isnan(hits)], whom_matched(columns, blocks)


def blocks_to_match(
    columns: Sequence[ComparedColumn], space: Space, most: int, rng: np.random.Generator
) -> list[Block]:
    """All persons as one block, or blocks of about as many persons together as can be matched.

    Persons whose neighbours are not at hand, as only distinct records are, are one block of some drawn at random.

    Args:
        columns: What the intruder knows of the persons.
        space: Of these columns.
        most: So many persons can be searched for.
        rng: For the choice of the blocks.
    """
    n_persons, most = columns[0].n_persons, min(MOST_PERSONS, most)
    if n_persons <= most:
        return [Block(np.arange(n_persons), n_persons)]
    if not columns[0].amounts.row_by_row:
        return [Block(np.sort(rng.choice(n_persons, most, replace=False)), most)]
    size = min(PERSONS_OF_A_BLOCK, most)
    return blocks_of(columns, space, max(1, most // size), size, rng)


def found_by(match: Longs, own: NDArray[np.int32], amounts: Longs) -> NDArray[np.float64]:
    """For each person the probability that a row like that matched with her is hers.

    Args:
        match: The record matched with each person; −1 for none.
        own: The record of each person.
        amounts: How many rows have each record.
    """
    return np.where(match == own, 1.0 / amounts[own], 0.0)


def match_records(
    found: NDArray[np.int32],
    distances: NDArray[np.float64],
    amounts: Longs,
    record_of_row: NDArray[np.int32] | None,
    rng: np.random.Generator,
) -> Longs:
    """The record that each person is matched with, so that the sum of the distances is least; −1 for none.

    Args:
        found: Persons × records that each may be matched with; −1 behind them.
        distances: How far these are.
        amounts: How many rows have each record.
        record_of_row: The record of each row; None where rows are not at hand.
        rng: For the choice of one of several equally good matchings.
    """
    starts = np.concatenate([[0], np.cumsum(amounts)])
    if record_of_row is None:
        of_person, places, costs = _edges(found, distances, starts, rng)
        present, rows = np.unique(places, return_inverse=True)
        record_of_row = (np.searchsorted(starts, present, side="right") - 1).astype(np.int32)
    else:
        shuffled = rng.permutation(record_of_row.size)
        by_record = shuffled[np.argsort(record_of_row[shuffled], kind="stable")]
        of_person, places, costs = _edges(found, distances, starts, rng)
        rows = by_record[places]
    match = _least_sum(found.shape[0], record_of_row.size, of_person, rows, costs)
    return np.append(record_of_row, np.int32(-1))[match].astype(np.int64)


def _least_sum(n_persons: int, n_rows: int, of_person: Longs, rows: Longs, costs: NDArray[np.float64]) -> Longs:
    """The row that each person is matched with; −1 for none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    alone = np.arange(n_persons)
    table = coo_array(
        (
            np.concatenate([costs + NO_COST, np.full(n_persons, ALONE)]),
            (np.concatenate([of_person, alone]), np.concatenate([rows, n_rows + alone])),
        ),
        shape=(n_persons, n_rows + n_persons),
    ).tocsr()
    person, match = min_weight_full_bipartite_matching(table)
    out = np.full(n_persons, -1, dtype=np.int64)
    out[person] = np.where(match < n_rows, match, -1)
    return out


def _edges(
    found: NDArray[np.int32],
    distances: NDArray[np.float64],
    starts: Longs,
    rng: np.random.Generator,
) -> tuple[Longs, Longs, NDArray[np.float64]]:
    """Person, row and cost of every pair that may be matched; of a record with many rows a random stretch of them.

    Rows are numbered record by record.
    """
    n_rows_of = np.where(found >= 0, (starts[1:] - starts[:-1])[found], 0)
    taken = np.minimum(n_rows_of, NEAREST_ROWS)
    flat = taken.ravel()
    person = np.repeat(np.arange(found.shape[0]), taken.sum(axis=1))
    pair = np.repeat(np.arange(flat.size), flat)
    within = np.arange(pair.size) - np.repeat(np.cumsum(flat) - flat, flat)
    shift = rng.integers(0, np.maximum(n_rows_of.ravel(), 1))[pair]
    record = found.ravel()[pair]
    return person, starts[record] + (shift + within) % n_rows_of.ravel()[pair], distances.ravel()[pair]
