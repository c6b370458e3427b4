"""Grouping of near records (MDAV) through a tree, against a plain compiled loop over all records; and its refining."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.methods.grouping import GroupingSpace, NominalPart, NumberPart, RecordGroups, mdav, refine_groups, space_of
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import Finding, at_least, at_most, exponents, in_fresh_process, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Floats, Longs

K = 10
N_NUMBERS = 4
N_VALUES = 500
ROUNDING = 1e9


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 2_000 if quick else 100_000
    return [*_against_plain(n, 3 if quick else 5), *_growth(quick=quick), *_largest(n if quick else 1_000_000)]


def numbers(n: int) -> Floats:
    """Independent standard normal columns."""
    return np.random.default_rng(5).normal(size=(n, N_NUMBERS))


def numeric_space(columns: Floats) -> GroupingSpace:
    """Numbers scaled as in the S-distance."""
    return space_of([NumberPart(column / np.sqrt(2.0)) for column in columns.T], squared=True)


def mixed_space(n: int) -> GroupingSpace:
    """Two columns of numbers and a nominal one, its frequencies falling as one over the rank, scaled alike."""
    taxonomy = generated_taxonomy(20_000)
    distances = taxonomy.distances(some_concepts(taxonomy, N_VALUES), measure="ancestor")
    weights = 1 / np.arange(1, N_VALUES + 1)
    codes = np.random.default_rng(6).choice(N_VALUES, n, p=weights / weights.sum()).astype(np.int32)
    shares = np.bincount(codes, minlength=N_VALUES) / n
    nominal = NominalPart(codes, N_VALUES, distances, 1.0 / float(shares @ distances @ shares))
    columns = numbers(n)[:, :2] / np.sqrt(2.0)
    return space_of([NumberPart(columns[:, 0]), NumberPart(columns[:, 1]), nominal], squared=True)


def grouped(space: GroupingSpace) -> RecordGroups:
    """Groups of records that all occur once."""
    return mdav(space, np.ones(space.n_records, dtype=np.int64), K)


def of_a_size(n: int) -> int:
    """Group a table of numbers from its columns; the number of groups."""
    grouped(numeric_space(numbers(1_000)))
    return grouped(numeric_space(numbers(n))).n_groups


# ------------------------------------------------------------------------------------------------ the peer


@njit(cache=True)
def plain_mdav(columns: Floats, k: int) -> Longs:
    """The group of each record: the same algorithm, walking all records that are left in every step."""
    n, m = columns.shape
    left = np.arange(n)
    group_of = np.full(n, -1)
    n_groups = 0
    steps = np.empty(n)
    while left.size >= 2 * k:
        middle = np.zeros(m)
        for row in left:
            middle += columns[row]
        middle /= left.size
        r = left[farthest_of(columns, left, middle, steps)]
        pair = left.size >= 3 * k
        s = left[farthest_of(columns, left, columns[r], steps)]
        take(left, steps, r, k, group_of, n_groups)
        n_groups += 1
        left = left[group_of[left] < 0]
        if pair:
            farthest_of(columns, left, columns[s], steps)
            take(left, steps, s, k, group_of, n_groups)
            n_groups += 1
            left = left[group_of[left] < 0]
    group_of[left] = n_groups
    return group_of


@njit(cache=True)
def farthest_of(columns: Floats, left: Longs, point: Floats, steps: Floats) -> int:
    """Measure the rounded distances of all that are left to a point; where the farthest is."""
    best = 0
    for i in range(left.size):
        total = 0.0
        for column in range(point.size):
            difference = columns[left[i], column] - point[column]
            total += difference * difference
        steps[i] = np.rint(np.sqrt(total) * ROUNDING)
        if steps[i] > steps[best]:
            best = i
    return best


@njit(cache=True)
def take(left: Longs, steps: Floats, seed: int, k: int, group_of: Longs, group: int) -> None:
    """Put a record and the k − 1 nearest to it into a group."""
    nearest = np.empty(k, np.int64)
    found = 0
    for i in range(left.size):
        if left[i] == seed or (found == k - 1 and steps[i] >= steps[nearest[found - 1]]):
            continue
        at = found if found < k - 1 else found - 1
        while at > 0 and steps[i] < steps[nearest[at - 1]]:
            nearest[at] = nearest[at - 1]
            at -= 1
        nearest[at] = i
        found = min(found + 1, k - 1)
    group_of[seed] = group
    for i in range(found):
        group_of[left[nearest[i]]] = group


# ------------------------------------------------------------------------------------------------ findings


def _against_plain(n: int, repeats: int) -> list[Finding]:
    columns = numbers(n)
    numeric, mixed = numeric_space(columns), mixed_space(n)
    scaled = columns / np.sqrt(2.0)
    sides: dict[str, Callable[[], object]] = {
        "tree": partial(grouped, numeric),
        "plain": partial(plain_mdav, scaled, K),
        "mixed": partial(grouped, mixed),
    }
    timings = interleaved(sides, repeats)
    seconds = {name: timing.median for name, timing in timings.items()}
    facts = {name: timing.repeats for name, timing in timings.items()}
    groups = grouped(numeric)
    group_of = np.empty(n, dtype=np.int64)
    group_of[groups.members] = groups.group_of_member()
    alike = float(np.mean(group_of == plain_mdav(scaled, K)))
    start = time.perf_counter()
    better = refine_groups(numeric, groups, K, pair_cost="sum")
    refining = time.perf_counter() - start
    assert better is not None
    return [
        at_least(
            f"MDAV of {n:,} × {N_NUMBERS} numbers, k = {K}, against a plain compiled loop",
            seconds["plain"] / seconds["tree"],
            5,
            note=f"{seconds['tree']:.2f} s against {seconds['plain']:.2f} s",
            facts=facts,
        ),
        at_least("… records in the same group", alike, 1, ""),
        at_most(
            f"… with two numbers and {N_VALUES} nominal values, against four numbers",
            seconds["mixed"] / seconds["tree"],
            5,
            note=f"{seconds['mixed']:.2f} s",
        ),
        Finding(
            "… loss after refining, against before",
            better.loss / better.loss_before,
            "×",
            note=f"in {refining:.1f} s",
        ),
    ]


def _growth(*, quick: bool) -> list[Finding]:
    sizes = [1_000, 2_000, 4_000] if quick else [50_000, 100_000, 200_000, 400_000]
    spaces = {str(n): partial(grouped, numeric_space(numbers(n))) for n in sizes}
    timings = interleaved(spaces, 3)
    powers = exponents(sizes, [timings[str(n)].median for n in sizes])
    note = ", ".join(f"{power:.2f}" for power in powers)
    return [Finding("growth with the records, largest exponent", max(powers), "", note=f"as they double: {note}")]


def _largest(n: int) -> list[Finding]:
    visit = in_fresh_process("benchmarks.grouping:of_a_size", n)
    return [at_most(f"MDAV of {n:,} × {N_NUMBERS} numbers", visit.seconds, 120, "s", note=visit.memory)]
