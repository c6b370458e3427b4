"""Global distance linkage: the intruder knows many persons and matches them to released records at once.

Each person gets at most one record, each record at most one person, and the sum of the squared distances is least. A
person is matched only with one of the rows nearest to her, so that the matching stays sparse; if none of them is free,
she gets none. Equal rows cannot be distinguished: a person matched with a row equal to her own is found with a
probability of one over the number of these rows.

All persons are matched at once. In a table too large for that, some neighbourhoods are matched and the persons in their
core are counted: competition from the rest of the table is ignored, so the rate is a lower bound. Where only the
distinct records of a table are available, persons drawn at random are matched. They hardly compete for records: that
is another attack, by an intruder who knows these persons only, and usually a weaker one.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016); Herranz, Nin, Rodríguez, Tassa, Data &
Knowledge Engineering 100 (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.blocks import Block, blocks_of
from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.attacks.global_linkage import GlobalLinkage
from anonto.attacks.rate import Risk
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.comparison import ComparedColumn


MOST_PERSONS = 20_000
"""Larger tables are matched in blocks, which have about this many persons together."""
PERSONS_OF_A_BLOCK = 5_000
NEAREST_ROWS = 30
"""Rows that a person may be matched with."""
MATCHED_AT_ONCE = "all persons, matched at once,"
LARGEST_COST, ALONE = 1 << 20, 1 << 36
"""The largest cost of a pair, and that of a person without a match, who thereby stays so only if she must. Costs are
whole numbers whose sums are exact: where differences are lost in rounding, the search for the least sum may not end."""


def global_linkage(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> Risk:
    """Match persons to released records.

    Args:
        columns: The columns that the intruder knows of the persons.
        rng: For the choice of the blocks in a large table, and of one of several equally good matchings.
    """
    n_rows = columns[0].n_rows
    hits, whom = match_all(columns, LinkageSpace.of(columns), rng) if n_rows else (np.empty(0), MATCHED_AT_ONCE)
    return Risk.of_links(
        hits,
        n_rows,
        attack=GlobalLinkage.name,
        knowledge=f"the original values of {whom} in these columns; nothing of the method",
        columns=(column.name for column in columns),
    )


def describe_matched(columns: Sequence[ComparedColumn], blocks: Sequence[Block]) -> str:
    """Who was matched, and how."""
    if blocks[0].n_counted == columns[0].n_rows:
        return MATCHED_AT_ONCE
    if not columns[0].amounts.row_by_row:
        return "persons drawn at random, matched at once and without all others (who mostly would help),"
    return "all persons, matched in blocks of neighbours (a lower bound),"


def match_all(columns: Sequence[ComparedColumn], space: LinkageSpace, rng: np.random.Generator) -> tuple[Floats, str]:
    """The probability that each counted person is found; and who was matched."""
    released = ReleasedRecords.of(columns, space)
    blocks = blocks_to_match(columns, space, MOST_PERSONS, rng)
    hits = np.full(columns[0].n_persons, np.nan)
    for block in blocks:
        targets, number = distinct_rows([column.original[block.persons] for column in columns])
        found, distances = space.nearest_some(targets, released, NEAREST_ROWS)
        rows = released.record_of_row if columns[0].amounts.row_by_row else None
        match = match_records(found[number], distances[number], released.amounts, rows, rng)
        counted = block.persons[: block.n_counted]
        hits[counted] = find_probabilities(match[: block.n_counted], released.record_of_row[counted], released.amounts)
    return hits[~np.isnan(hits)], describe_matched(columns, blocks)


def blocks_to_match(
    columns: Sequence[ComparedColumn], space: LinkageSpace, most: int, rng: np.random.Generator
) -> list[Block]:
    """All persons as one block, or blocks that together have about as many persons as can be matched.

    Where only distinct records are available, some persons drawn at random are one block.

    Args:
        columns: The columns that the intruder knows of the persons.
        space: Space of these columns.
        most: How many persons can be searched for.
        rng: For the choice of the blocks.
    """
    n_persons, most = columns[0].n_persons, min(MOST_PERSONS, most)
    if n_persons <= most:
        return [Block(np.arange(n_persons), n_persons)]
    if not columns[0].amounts.row_by_row:
        return [Block(np.sort(rng.choice(n_persons, most, replace=False)), most)]
    size = min(PERSONS_OF_A_BLOCK, most)
    return blocks_of(columns, space, max(1, most // size), size, rng)


def find_probabilities(match: Longs, own: Ints, amounts: Longs) -> Floats:
    """The probability that the row matched with each person is hers.

    Args:
        match: The record matched with each person; −1 for none.
        own: The record of each person.
        amounts: How many rows have each record.
    """
    return np.where(match == own, 1.0 / amounts[own], 0.0)


def match_records(
    found: Ints,
    distances: Floats,
    amounts: Longs,
    record_of_row: Ints | None,
    rng: np.random.Generator,
) -> Longs:
    """The record that each person is matched with, so that the sum of the distances is least; −1 for none.

    Args:
        found: Persons × records that each may be matched with; −1 behind them.
        distances: Their distances.
        amounts: How many rows have each record.
        record_of_row: The record of each row; None where rows are not available.
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
    match = _least_sum(rng.permutation(found.shape[0]), rng.permutation(record_of_row.size), of_person, rows, costs)
    return np.append(record_of_row, np.int32(-1))[match].astype(np.int64)


def _least_sum(persons: Longs, places: Longs, of_person: Longs, rows: Longs, costs: Floats) -> Longs:
    """The row that each person is matched with; −1 for none.

    Of equally good matchings the solver prefers the one along the diagonal, where each person has her own row: so
    persons and rows are numbered in random order.

    Args:
        persons: A random number for each person.
        places: The same for each row.
        of_person: The person of each pair that may be matched.
        rows: Its row.
        costs: Its cost.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_persons, n_rows = persons.size, places.size
    largest = float(costs.max(initial=0.0))
    whole = np.rint(costs * (LARGEST_COST / largest)) if largest > 0.0 else np.zeros(costs.size)
    alone = np.arange(n_persons)
    table = coo_array(
        (
            # A pair of no cost would be no pair of the sparse table.
            np.concatenate([whole + 1.0, np.full(n_persons, float(ALONE))]),
            (np.concatenate([persons[of_person], alone]), np.concatenate([places[rows], n_rows + alone])),
        ),
        shape=(n_persons, n_rows + n_persons),
    ).tocsr()
    match = min_weight_full_bipartite_matching(table)[1]
    row_of_place = np.full(n_rows + n_persons, -1, dtype=np.int64)
    row_of_place[places] = np.arange(n_rows)
    return np.asarray(row_of_place[match[persons]])


def _edges(
    found: Ints,
    distances: Floats,
    starts: Longs,
    rng: np.random.Generator,
) -> tuple[Longs, Longs, Floats]:
    """Person, row and cost of every pair that may be matched; for a record with many rows a random run of them.

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
