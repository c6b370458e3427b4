"""Swapping in bins: what it does to correlations, how full the bins are, and how long it takes."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.run import mask
from anonto.errors import AnontoWarning
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.equi_width_swap import EquiWidthSwap
from anonto.methods.widths import numeric_records, partition_of, width_for_degree
from anonto.papers.measurement import Measurement
from anonto.papers.printed_tables import printed_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.papers.source import NumberTable

NAME = "equi-width"
METHODS = {"MEWS": "equi-width-swap", "MEDS": "equi-depth-swap"}
REPEATS = 3
K_OF_TIMES, BINS_OF_TIMES = 10, 100
K_OF_INVARIANTS = 10
MOST_WITH_INVARIANTS = 50_000
"""In larger tables the search for small bins, with every seed, would take longer than all else."""


@dataclass(frozen=True, slots=True)
class BinSwap:
    """Effect of swapping in bins on correlations, with every seed."""

    degree: int
    """Bins with records."""
    singletons: int
    """Bins with a single record."""
    across: Measurement
    """The mean change of the correlations of a swapped column with one that is not."""
    everywhere: Measurement
    """The mean change over all pairs of columns."""
    of_pairs: Measurement
    """The standard deviation of the change over all pairs."""
    within: Measurement
    """The largest change of a correlation inside the swapping set."""
    over_width: Measurement
    """How far a number went, over the width of its bin, at most; 0 for bins of equal depth, which have none."""
    changed_rows: Measurement
    """Combinations of the swapped columns that occur more or less often than before."""
    epsilon: float | None = None
    """The proved ε, subject to the bins and their values as invariants; None where nothing is proved."""


def swap_in_bins(numbers: NumberTable, method: str, degree: int, seeds: Sequence[int]) -> BinSwap:
    """Swap the columns of the swapping set, in about as many bins as wanted."""
    table = numbers.columns
    if method == "MEDS":
        return _swap(numbers, METHODS[method], {"k": max(2, round(table.height / degree))}, (), seeds)
    partition = width_for_degree(numeric_records({name: table[name].to_numpy() for name in numbers.swapped}), degree)
    return _swap(numbers, METHODS[method], {"bins": partition.bins}, partition.widths, seeds)


def swap_selected(numbers: NumberTable, rate: float, seeds: Sequence[int]) -> BinSwap:
    """Permute records of small bins, selected at a rate: the swap with an ε subject to invariants."""
    return _swap(numbers, "invariant-swap", {"rate": rate, "k": K_OF_INVARIANTS}, (), seeds)


def _swap(
    numbers: NumberTable, method: str, parameters: Mapping[str, Any], widths: Sequence[float], seeds: Sequence[int]
) -> BinSwap:
    table, chosen = numbers.columns, list(numbers.swapped)
    plan = {
        "columns": {name: {"kind": "numeric", "role": "quasi-identifier"} for name in chosen},
        "steps": [{"method": method, "columns": chosen, **parameters}],
    }
    before = np.corrcoef(table.to_numpy().T)
    pairs = list(combinations(range(table.width), 2))
    inside = [table.columns.index(name) for name in chosen]
    crossing = [pair for pair in pairs if (pair[0] in inside) != (pair[1] in inside)]
    rows, step = [], {}
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AnontoWarning)
            release = mask(table.select(chosen), plan, seed=seed)
        step, released = release.evidence["steps"][0], release.table
        change = np.abs(np.corrcoef(table.with_columns(released).to_numpy().T) - before)
        moved = [float(np.abs(released[name].to_numpy() - table[name].to_numpy()).max()) for name in chosen]
        rows.append(
            (
                np.mean([change[pair] for pair in crossing]),
                np.mean([change[pair] for pair in pairs]),
                np.std([change[pair] for pair in pairs]),
                max(float(change[pair]) for pair in combinations(inside, 2)),
                max((way / width for way, width in zip(moved, widths, strict=bool(widths))), default=0.0),
                _count_differing(table.select(chosen), released),
            )
        )
    across, everywhere, of_pairs, within, over_width, changed = (Measurement.of(one) for one in zip(*rows, strict=True))
    return BinSwap(
        degree=step["bins"],
        singletons=step["singleton_bins"],
        across=across,
        everywhere=everywhere,
        of_pairs=of_pairs,
        within=within,
        over_width=over_width,
        changed_rows=changed,
        epsilon=step["guarantee"].get("epsilon"),
    )


def _count_differing(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """Rows of one table that the other does not have, as often."""
    names = before.columns
    return int((before.sort(names) != after.sort(names)).sum_horizontal().sum())


@dataclass(frozen=True, slots=True)
class SimulatedBins:
    """The bins of a normal sample, with every seed."""

    corner: Measurement
    """Records in the bin where both numbers are largest."""
    smallest: Measurement
    """Records in the smallest bin, N*."""
    disclosure: Measurement
    """1/(N* − 1), for somebody who knows the width."""


def simulate_bins(_: object, n: int, width: float, correlation: float, seeds: Sequence[int]) -> SimulatedBins:
    """Cut a bivariate normal sample in [−2, 2]² into bins of a width.

    The corner is counted in a sample of n untruncated records, as the printed table takes it.
    """
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        points = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 2 * n)
        corner = int(((points[:n] >= 2 - width) & (points[:n] <= 2)).all(axis=1).sum())
        inside = points[(np.abs(points) <= 2).all(axis=1)][:n]
        found = partition_of(numeric_records({"x": inside[:, 0], "y": inside[:, 1]}), width=width)
        rows.append((corner, found["smallest_bin"], found["disclosure"]))
    return SimulatedBins(*(Measurement.of(column) for column in zip(*rows, strict=True)))


def corner_records(n: int, width: float, correlation: float) -> int:
    """⌊n · Pr{X, Y ∈ [2 − t, 2]}⌋ of the bivariate normal distribution: the q behind the printed table."""
    from scipy.stats import multivariate_normal

    normal = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    return math.floor(n * float(normal.cdf([2, 2], lower_limit=[2 - width, 2 - width])))


def measure_times(sizes: Sequence[int], method: str) -> dict[int, float]:
    """Seconds of processor time to swap two normal columns of each size: the least of some repeats, after a first."""
    swap = EquiWidthSwap(bins=BINS_OF_TIMES) if method == "MEWS" else EquiDepthSwap(k=K_OF_TIMES)
    found = {}
    for n in sizes:
        rng = np.random.default_rng(0)
        records = numeric_records({"x": rng.normal(size=n), "y": rng.normal(size=n)})
        clock = []
        for repeat in range(REPEATS + 1):
            start = time.process_time()
            swap.fit(records, np.random.default_rng(repeat))
            clock.append(time.process_time() - start)
        found[n] = min(clock[1:])
    return found


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of the logarithms: 1 is linear."""
    sizes = np.log(np.array(list(seconds), dtype=float))
    return float(np.polyfit(sizes, np.log(np.array(list(seconds.values()))), 1)[0])


def printed_cells() -> list[tuple[int, float, float]]:
    """Records, width and correlation of every cell of the table of privacy."""
    return printed_table(f"{NAME}-table-1").select("n", "t_ub", "rho").rows()
