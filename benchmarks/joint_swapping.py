"""Joint rank swapping: by the clock, as the table grows, and against looking at every record for each reference."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import encode
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NumericSpace, nominal_space
from anonto.methods.rank_swap_joint import RankSwapJoint
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import MEGABYTE, Finding, at_most, exponents, in_fresh_process, interleaved

if TYPE_CHECKING:
    from anonto.arrays import Codes, Longs
    from anonto.encoding.value_space import ValueSpace

K = 10
ROWS_PER_RECORD = 5
N_DIAGNOSES, N_PROCEDURES = 2_000, 500
SECONDS, MINUTES_IN_SECONDS = 120, 180


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    return [
        *_two_nominal_columns(quick=quick),
        _against_every_record(quick=quick),
        _three_kinds(quick=quick),
        _large_k(quick=quick),
    ]


# ------------------------------------------------------------------------------------------------ records


def two_nominal(n_rows: int) -> Records:
    """Pairs of 2,000 and 500 concepts, five rows for each distinct pair on average; half of the pairs are related."""
    rng = np.random.default_rng(0)
    n_pairs = n_rows // ROWS_PER_RECORD
    first = rng.integers(0, N_DIAGNOSES, 3 * n_pairs)
    related = rng.random(first.size) < 0.5
    second = np.where(related, first // 4 + rng.integers(0, 20, first.size), rng.integers(0, N_PROCEDURES, first.size))
    pairs = np.unique(first * N_PROCEDURES + second % N_PROCEDURES)
    rng.shuffle(pairs)
    pairs = pairs[:n_pairs]
    rows = np.concatenate([pairs, pairs[rng.integers(0, pairs.size, n_rows - pairs.size)]])
    columns = [_nominal(rows // N_PROCEDURES, N_DIAGNOSES, 1), _nominal(rows % N_PROCEDURES, N_PROCEDURES, 5)]
    return distinct_records(["dx", "pr"], [column[0] for column in columns], [column[1] for column in columns])[0]


def three_kinds(n_rows: int) -> Records:
    """A nominal column of 500 values, an age and a length of stay."""
    rng = np.random.default_rng(2)
    shares = 1 / np.arange(1, 501) ** 0.8
    columns = [
        _nominal(rng.choice(500, n_rows, p=shares / shares.sum()), 500, 1),
        _numeric(rng.integers(0, 95, n_rows)),
        _numeric(np.minimum(rng.geometric(0.15, n_rows), 200)),
    ]
    return distinct_records(["dx", "age", "stay"], [one for one, _ in columns], [codes for _, codes in columns])[0]


def _nominal(numbers: Longs, n_values: int, seed: int) -> tuple[ValueSpace, Codes]:
    taxonomy = generated_taxonomy(4 * n_values, seed=seed)
    column = encode(np.array(some_concepts(taxonomy, n_values, seed + 1))[numbers].tolist())
    return nominal_space(column, taxonomy, measure="wu-palmer"), column.codes


def _numeric(numbers: Longs) -> tuple[ValueSpace, Codes]:
    values, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return NumericSpace(values.astype(np.float64), counts), codes.astype(np.int32)


def swapped(records: Records, k: int = K) -> int:
    """Swap jointly; the number of references."""
    return int(RankSwapJoint(k=k).fit(records, np.random.default_rng(1)).facts["references"])


_two_nominal = cache(two_nominal)


def swapped_two_nominal(n_rows: int) -> int:
    """The same in a separate process."""
    return swapped(two_nominal(n_rows))


# ------------------------------------------------------------------------------------------------ findings


def _two_nominal_columns(*, quick: bool) -> list[Finding]:
    sizes = [2_500, 5_000, 10_000] if quick else [125_000, 250_000, 500_000, 1_000_000]
    timings = interleaved({str(n): partial(swapped, _two_nominal(n)) for n in sizes}, 3)
    seconds = [timings[str(n)].median for n in sizes]
    powers, largest = exponents(sizes, seconds), sizes[-1]
    visit = in_fresh_process("benchmarks.joint_swapping:swapped_two_nominal", largest)
    what = f"k = {K}, {largest:,} rows, {_two_nominal(largest).counts.size:,} distinct pairs of nominal values"
    return [
        at_most(what, seconds[-1], SECONDS, "s", facts={n: timing.repeats for n, timing in timings.items()}),
        at_most(
            "growth with rows and distinct pairs alike, largest exponent",
            max(powers),
            1.4,
            "",
            note=f"{', '.join(f'{power:.2f}' for power in powers)} as they double from {seconds[0]:.1f} s",
        ),
        Finding(
            "peak memory above the imports, making the table included",
            (visit.peak_bytes - visit.start_bytes) / MEGABYTE,
            "MB",
            note=f"{largest:,} rows",
        ),
    ]


def _against_every_record(*, quick: bool) -> Finding:
    n = 4_000 if quick else 100_000
    records = _two_nominal(n)
    n_references = swapped(records)
    sides = {"anonto": partial(swapped, records), "every record": partial(looks, records, n_references)}
    timings = interleaved(sides, 3)
    ours, plain = timings["anonto"].median, timings["every record"].median
    note = f"{n:,} rows, {n_references:,} references, {ours:.2f} s against {plain:.2f} s"
    return at_most("against numpy's look at every distinct record for each reference", ours / plain, 1, note=note)


def looks(records: Records, n_references: int) -> int:
    """For as many references the k nearest and the farthest of all distinct records.

    Nothing is exchanged here, so this is less than the whole work.
    """
    tables = [value_space.distances() for value_space in records.value_spaces]
    columns = [np.ascontiguousarray(column) for column in records.codes.T]
    references = np.random.default_rng(1).integers(0, records.counts.size, n_references)
    total = 0
    for reference in references:
        apart = tables[0][columns[0][reference]][columns[0]] + tables[1][columns[1][reference]][columns[1]]
        total += int(np.argpartition(apart, K)[K]) + int(np.argmax(apart))
    return total


def _three_kinds(*, quick: bool) -> Finding:
    n = 4_000 if quick else 100_000
    records = three_kinds(n)
    timing = interleaved({"anonto": partial(swapped, records)}, 3)["anonto"]
    what = f"nominal, age and stay together, {n:,} rows, {records.counts.size:,} distinct records"
    return at_most(what, timing.median, MINUTES_IN_SECONDS, "s", facts={"repeats": timing.repeats})


def _large_k(*, quick: bool) -> Finding:
    n = 4_000 if quick else 100_000
    records = _two_nominal(n)
    timings = interleaved({str(k): partial(swapped, records, k) for k in (K, 100 * K)}, 3)
    small, large = timings[str(K)].median, timings[str(100 * K)].median
    note = f"{n:,} rows, {large:.2f} s against {small:.2f} s"
    return Finding(f"k = {100 * K:,} against k = {K}", large / small, "×", note=note)
