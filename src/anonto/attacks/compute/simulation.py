"""A swap done again and again with an intruder's own seeds: how often does each value become each other one?

She needs the original values of all persons, the method and its parameters; the seed of the release is secret, but what
the method does on average is not. Counts of a few runs are scarce, so records that hardly occur learn from those
nearest to them.

A method that exchanges the cells of two records at a time is reciprocal: if an a became b, some b became a. Each run
shows whether it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.encoding.records import Records, count_records, distinct_rows
from anonto.errors import AnontoError
from anonto.methods.strata import StratifiedRecords, fit_column, fit_in_strata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.attacks.compute.encoded_step import EncodedStep, EncodedStepColumn
    from anonto.encoding.comparison import ComparedColumn

MOST_RUNS, FEWEST_RUNS = 30, 5
RECORDS_OF_ALL_RUNS = 60_000
"""Distinct records, or values, that all runs mask together; the fewest runs may be more."""
MOST_RECORDS = 100_000
"""A table with more distinct records is not masked again."""
NEAR_ROWS = 30
"""A record learns from the records nearest to it, until these have so many rows."""
NEAR_PLACES = 10.0
"""Places in the order of nearness after which a record counts 1/e as much."""
RUNS_OF_NEIGHBOURS = 5.0
"""The neighbours count as much as so many runs."""
FLOOR = 0.01
"""The probability of all that no run showed: it is shared out as the released values are."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Several maskings of a step, or of a column that its method masks alone."""

    step: EncodedStep
    columns: tuple[EncodedStepColumn, ...]
    n_runs: int
    record_of: Codes
    """The record of each row, as the method saw it."""
    runs: Longs
    """The run of each move."""
    sources: Codes
    """The record that each move leaves."""
    released: Codes
    """Moves × columns: what it becomes."""
    amounts: Longs
    """How many rows each move has."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownTransitions:
    """The probabilities that known values become released ones: of a column, or of several that move together."""

    sources: Codes
    """The number of the known values of each row."""
    values: Codes
    """The number of the released values of each row."""
    own: Longs
    """The number, among those of released values, of each source's own values."""
    table: Any
    """Sources × values: the probabilities, in compressed rows."""
    shares: Floats
    """The share of each value in the release."""
    is_reciprocal: bool
    """Whether in every run as many a became b as b became a."""

    def probabilities(self, sources: Codes) -> Floats:
        """Probabilities of all values for some sources; none is 0."""
        return np.asarray((1.0 - FLOOR) * self.table[sources].toarray() + FLOOR * self.shares)


def simulate(step: EncodedStep, rng: np.random.Generator) -> list[Simulation]:
    """Mask a step again, with other seeds; nothing for a method that draws for each row, or a table too large."""
    if step.method.by_row:
        return []
    if step.method.together:
        found = [_simulate(step, step.columns, step.method.fit, rng)]
    else:
        found = [_simulate(step, (column,), partial(fit_column, step.method), rng) for column in step.columns]
    return [one for one in found if one is not None]


def _simulate(
    step: EncodedStep, columns: tuple[EncodedStepColumn, ...], fit: Any, rng: np.random.Generator
) -> Simulation | None:
    of_strata = [] if step.strata is None else [step.stratum_of]
    codes, record_of = distinct_rows([*(column.original for column in columns), *of_strata])
    counts = count_records(record_of, codes.shape[0], step.amounts)
    if not counts.size or counts.size > MOST_RECORDS:
        return None
    own = np.ascontiguousarray(codes[:, : len(columns)])
    names = tuple(column.name for column in columns)
    records = Records(names, tuple(column.value_space for column in columns), own, counts)
    if of_strata:
        members = StratifiedRecords(own, counts, codes[:, -1].copy(), None).members(step.n_strata)
        fit = partial(_fit_each_stratum, fit, members, len(columns))
    n_runs = int(np.clip(RECORDS_OF_ALL_RUNS // counts.size, FEWEST_RUNS, MOST_RUNS))
    moves, released = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they came with the release
        try:
            for _ in range(n_runs):
                masked = fit(records, rng)
                moves.append(masked.transitions.moves)
                released.append(masked.released[moves[-1].targets])
        except AnontoError:  # the plan cannot have masked this table
            return None
    runs = np.repeat(np.arange(n_runs), [one.sources.size for one in moves])
    sources, amounts = (np.concatenate([getattr(one, name) for one in moves]) for name in ("sources", "amounts"))
    return Simulation(step, columns, n_runs, record_of, runs, sources, np.concatenate(released), amounts)


def _fit_each_stratum(
    fit: Any, members: Sequence[Longs], n_columns: int, records: Records, rng: np.random.Generator
) -> Any:
    return fit_in_strata(records, members, n_columns, fit, rng)


def known_transitions(simulation: Simulation, known: Sequence[ComparedColumn]) -> list[KnownTransitions]:
    """Transitions of the known columns: of each alone, or of all together where the method moves whole records."""
    named = {column.name: column for column in known}
    chosen = [place for place, column in enumerate(simulation.columns) if column.name in named]
    if not chosen:
        return []
    step = simulation.step
    strata = step.known_strata(list(named))
    keys = [*(simulation.columns[place].original for place in chosen), *(one.original for one in strata)]
    sources = distinct_rows(keys)[1]
    nearness = None if strata else _nearness([named[simulation.columns[place].name] for place in chosen], sources)
    groups = [chosen] if step.method.moves_whole_records else [[place] for place in chosen]
    return [_transitions(simulation, group, sources, nearness) for group in groups]


def _transitions(simulation: Simulation, places: Sequence[int], sources: Codes, nearness: Any) -> KnownTransitions:
    from scipy.sparse import csr_array

    columns, n_rows = [simulation.columns[place] for place in places], sources.size
    # Codes start at −2 here, but at −1 in `distinct_rows`.
    cells = [
        np.concatenate([column.original, column.masked, simulation.released[:, place]]) + np.int32(1)
        for column, place in zip(columns, places, strict=True)
    ]
    codes, number = distinct_rows(cells)
    own, values, became = number[:n_rows], number[n_rows : 2 * n_rows], number[2 * n_rows :]
    n_sources, n_values = int(sources.max()) + 1, codes.shape[0]
    source_of_record = np.zeros(int(simulation.record_of.max()) + 1, dtype=np.int64)
    source_of_record[simulation.record_of] = sources
    own_of_source = np.zeros(n_sources, dtype=np.int64)
    own_of_source[sources] = own
    came_from = source_of_record[simulation.sources]
    shape = n_sources, n_values
    counts = csr_array((simulation.amounts.astype(np.float64), (came_from, became)), shape=shape)
    totals = np.asarray(counts.sum(axis=1))
    shares = counts.multiply(1.0 / np.maximum(totals, 1.0)[:, None]).tocsr()
    if nearness is not None:
        of_runs = simulation.n_runs / (simulation.n_runs + RUNS_OF_NEIGHBOURS)
        shares = (of_runs * shares + (1.0 - of_runs) * (nearness @ shares)).tocsr()
    weights = count_records(values, n_values, simulation.step.amounts).astype(np.float64)
    pairs = own_of_source[came_from], became
    is_reciprocal = _is_reciprocal(simulation, pairs, n_values)
    return KnownTransitions(sources, values, own_of_source, shares, weights / weights.sum(), is_reciprocal)


def _is_reciprocal(simulation: Simulation, pairs: tuple[Longs, Codes], n_values: int) -> bool:
    """Whether in every run as many a became b as b became a, and some did."""
    before, after = pairs[0].astype(np.int64), pairs[1].astype(np.int64)
    moved = before != after
    first = simulation.runs[moved] * n_values
    there = _sums((first + before[moved]) * n_values + after[moved], simulation.amounts[moved])
    back = _sums((first + after[moved]) * n_values + before[moved], simulation.amounts[moved])
    return bool(moved.any()) and all(np.array_equal(one, other) for one, other in zip(there, back, strict=True))


def _sums(keys: Longs, amounts: Longs) -> tuple[Longs, Floats]:
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.asarray(np.bincount(place, weights=amounts), dtype=np.float64)


def _nearness(columns: Sequence[ComparedColumn], sources: Codes) -> Any:
    """Sources × sources: how much each learns from each, in rows with the sum 1."""
    from scipy.sparse import csr_array

    firsts: Longs = np.unique(sources, return_index=True)[1]
    originals = [replace(column, masked=column.original) for column in columns]
    space = LinkageSpace.of(columns)
    persons = ReleasedRecords.of(originals, space)
    targets = np.stack([column.original[firsts] for column in columns], axis=1)
    found, _ = space.nearest_some(targets, persons, NEAR_ROWS)
    source_of_record = np.full(persons.amounts.size + 1, -1, dtype=np.int64)
    source_of_record[persons.record_of_row] = sources
    near = source_of_record[found]
    listed: Bools = near >= 0
    places = np.broadcast_to(np.arange(found.shape[1]), found.shape)
    weights = np.where(listed, persons.amounts[found] * np.exp(-places / NEAR_PLACES), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    rows = np.broadcast_to(np.arange(firsts.size)[:, None], found.shape)
    return csr_array((weights[listed], (rows[listed], near[listed])), shape=(firsts.size, firsts.size))
