"""Swapping in bins: of equal width against sorting the bin numbers, of equal depth by the clock and as it grows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NumericSpace
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.equi_width_swap import EquiWidthSwap, places_of
from anonto.methods.invariant_swap import InvariantSwap
from benchmarks.measuring import Finding, Timing, at_most, exponents, in_fresh_process, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

BINS = 500
K = 10
SECONDS = 60


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n_width, n_depth = (100_000, 4_000) if quick else (10_000_000, 100_000)
    repeats = 3 if quick else 5
    return [
        *_against_sorting(n_width, repeats),
        _memory(n_width),
        _growth_of_width(quick=quick),
        *_depth(n_depth, repeats=3),
        _growth_of_depth(quick=quick),
    ]


# ------------------------------------------------------------------------------------------------ records


def different(n: int) -> Records:
    """Two columns of normal numbers, no two of them equal."""
    rng = np.random.default_rng(0)
    once = np.ones(n, dtype=np.int64)
    value_spaces = tuple(NumericSpace(rng.normal(size=n), once) for _ in range(2))
    codes = np.stack([np.arange(n), rng.permutation(n)], axis=1).astype(np.int32)
    return Records(("x", "y"), value_spaces, codes, once)


def rounded(n: int, n_values: int = 10_000) -> Records:
    """Two columns of binomial numbers, so that pairs of them repeat."""
    rng = np.random.default_rng(1)
    columns = [rng.binomial(n_values - 1, 0.5, n).astype(np.int32) for _ in range(2)]
    value_spaces = [
        NumericSpace(np.arange(n_values, dtype=np.float64), np.bincount(column, minlength=n_values))
        for column in columns
    ]
    return distinct_records(("x", "y"), value_spaces, columns)[0]


def points(n: int, kind: str = "normal") -> Records:
    """Two columns of numbers in one of several shapes."""
    rng = np.random.default_rng(2)
    if kind == "normal":
        shape = rng.normal(size=(2, n))
    elif kind == "skewed":
        shape = rng.exponential(size=(2, n)) ** 3
    elif kind == "circle":
        angles = rng.random(n) * 2 * np.pi
        shape = np.stack([np.cos(angles), np.sin(angles)])
    else:
        shape = rng.integers(0, 2_000, (2, n)).astype(np.float64)
    columns, value_spaces = [], []
    for numbers in shape:
        values, codes = np.unique(numbers, return_inverse=True)
        columns.append(codes.astype(np.int32))
        value_spaces.append(NumericSpace(values, np.bincount(codes)))
    return distinct_records(("x", "y"), value_spaces, columns)[0]


def fitted(method: EquiDepthSwap | EquiWidthSwap | InvariantSwap, records: Records) -> int:
    """Fit a method; the number of bins."""
    return int(method.fit(records, np.random.default_rng(3)).facts["bins"])


def fitted_different(n: int) -> int:
    """Equi-width swapping of different numbers; the number of bins."""
    return fitted(EquiWidthSwap(bins=BINS), different(n))


# ------------------------------------------------------------------------------------------------ equal width


def _against_sorting(n: int, repeats: int) -> list[Finding]:
    findings = []
    for name, records in (("different numbers", different(n)), ("numbers that repeat", rounded(n))):
        places = places_of(records.names, records.value_spaces, bins=BINS)
        rows = np.random.default_rng(4).permutation(np.repeat(np.arange(records.counts.size), records.counts))
        keys = [places[column][records.codes[rows, column]].astype(np.int64) for column in (1, 0)]
        sides: dict[str, Callable[[], object]] = {
            "equi-width": partial(fitted, EquiWidthSwap(bins=BINS), records),
            "invariant": partial(fitted, InvariantSwap(rate=0.5, width=_width(records)), records),
            "lexsort": partial(np.lexsort, keys),
        }
        timings = interleaved(sides, repeats)
        theirs = timings["lexsort"].median
        for side in ("equi-width", "invariant"):
            ours = timings[side].median
            findings.append(
                at_most(
                    f"{side}-swap, two columns of {name}, against numpy.lexsort of the bin numbers",
                    ours / theirs,
                    2,
                    note=f"{n:,} records, {ours:.2f} s against {theirs:.2f} s",
                    facts={name: timing.repeats for name, timing in timings.items()},
                )
            )
    return findings


def _width(records: Records) -> tuple[float, ...]:
    ranges = [np.ptp(one.numbers) for one in records.value_spaces if isinstance(one, NumericSpace)]
    return tuple(float(extent) / BINS for extent in ranges)


def _memory(n: int) -> Finding:
    fitting = in_fresh_process("benchmarks.equi_swapping:fitted_different", n)
    preparing = in_fresh_process("benchmarks.equi_swapping:prepared_different", n)
    per_record = (fitting.peak_bytes - preparing.peak_bytes) / n
    return Finding(
        "… its peak memory above that of making the records, bytes per record", per_record, "", note=fitting.memory
    )


def prepared_different(n: int) -> int:
    """The records alone; how many there are."""
    return different(n).n_rows


def _growth_of_width(*, quick: bool) -> Finding:
    sizes = [25_000, 50_000, 100_000] if quick else [1_000_000, 2_000_000, 4_000_000, 8_000_000]
    sides = {str(n): partial(fitted, EquiWidthSwap(bins=BINS), different(n)) for n in sizes}
    timings = interleaved(sides, 5)
    return _growth("equi-width-swap, exponent of the growth with the records", sizes, timings, 1.2)


# ------------------------------------------------------------------------------------------------ equal depth


def _depth(n: int, repeats: int) -> list[Finding]:
    kinds = ("normal", "skewed", "circle", "whole numbers")
    sides = {kind: partial(fitted, EquiDepthSwap(k=K), points(n, kind)) for kind in kinds}
    timings = interleaved(sides, repeats)
    return [
        at_most(
            f"equi-depth-swap, exact, two columns, {kind}",
            timings[kind].median,
            SECONDS,
            "s",
            note=f"{n:,} records, k = {K}",
            facts={"repeats": timings[kind].repeats},
        )
        for kind in kinds
    ]


def _growth_of_depth(*, quick: bool) -> Finding:
    sizes = [1_000, 2_000, 4_000] if quick else [12_500, 25_000, 50_000, 100_000, 200_000]
    sides = {str(n): partial(fitted, EquiDepthSwap(k=K), points(n)) for n in sizes}
    timings = interleaved(sides, 5)
    return _growth("equi-depth-swap, exponent of the growth with the records", sizes, timings, 1.5)


def _growth(what: str, sizes: list[int], timings: dict[str, Timing], limit: float) -> Finding:
    medians = [timings[str(n)].median for n in sizes]
    whole = exponents([sizes[0], sizes[-1]], [medians[0], medians[-1]])[0]
    note = ", ".join(f"{power:.2f}" for power in exponents(sizes, medians))
    return at_most(what, whole, limit, "", note=f"{sizes[0]:,} to {sizes[-1]:,}; as they double: {note}")
