"""Rank swapping of one column: fit and apply against sorting the codes, the whole of it against counting the texts."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.encoding.columns import encode
from anonto.encoding.value_space import NumericSpace, nominal_space
from anonto.engine.run import mask
from anonto.methods.rank_swap import RankSwap
from anonto.methods.rank_swap_fixed import RankSwapFixed
from anonto.random.streams import Seed, keyed_permutations
from benchmarks.applying import apply_in_chunks
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import MEGABYTE, Finding, at_most, exponents, in_fresh_process, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Codes
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.transitions import Transitions
    from anonto.taxonomy.taxonomy import Taxonomy

    Fitted = RankSwap | RankSwapFixed

K, LARGE_K = 10, 1_000
N_VALUES, MANY_VALUES = 1_000, 30_000
SEED = Seed(1 << 100)
EVEN, STEEP = 1, 2
"""Frequencies fall as one over this power of the rank; with the second some values have fewer than k records."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 100_000 if quick else 10_000_000
    return [
        *_against_sorting(n, quick=quick),
        _against_counting(n, quick=quick),
        *_large_k(n, quick=quick),
        _growth(quick=quick),
        _memory(n),
        *_many_values(quick=quick),
    ]


# ------------------------------------------------------------------------------------------------ columns


@cache
def hierarchy() -> Taxonomy:
    """Three times as many concepts as the column has values."""
    return generated_taxonomy(3 * N_VALUES)


def drawn(n: int, n_values: int, power: int) -> Codes:
    """Values by their rank, every one present."""
    weights = 1 / np.arange(1, n_values + 1) ** power
    codes = np.random.default_rng(0).choice(n_values, n, p=weights / weights.sum()).astype(np.int32)
    codes[:n_values] = np.arange(n_values)
    return codes


@cache
def nominal(n: int, power: int = EVEN) -> tuple[ValueSpace, Codes]:
    """A column of concepts, already encoded, and its codes."""
    codes = drawn(n, N_VALUES, power)
    values = encode(some_concepts(hierarchy(), N_VALUES))
    one_each = nominal_space(values, hierarchy(), measure="wu-palmer")
    return replace(one_each, counts=np.bincount(codes)), codes


def texts(n: int) -> pl.DataFrame:
    """The same column as text."""
    names = np.array(some_concepts(hierarchy(), N_VALUES))
    return pl.DataFrame({"dx": names[drawn(n, N_VALUES, EVEN)]})


# ------------------------------------------------------------------------------------------------ what is timed


def fitted(method: Fitted, value_space: ValueSpace) -> Transitions:
    """The transitions of a column."""
    return method.fit(value_space, np.random.default_rng(1))


def swapped(method: Fitted, value_space: ValueSpace, codes: Codes) -> Codes:
    """Fit and apply."""
    transitions = fitted(method, value_space)
    return apply_in_chunks(transitions, keyed_permutations(SEED, "apply", transitions.sizes), codes)


def masked(frame: pl.DataFrame) -> object:
    """The whole masking, from texts to texts."""
    plan = {
        "columns": {"dx": {"ontology": hierarchy()}},
        "steps": [{"method": "rank-swap", "columns": ["dx"], "k": K}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mask(frame, plan, seed=SEED.number).table


def counted(frame: pl.DataFrame) -> pl.DataFrame:
    """How often each text occurs, by polars."""
    return frame.group_by("dx").len()


def swapped_alone(n: int) -> int:
    """Fit and apply in a separate process; the number of records."""
    value_space, codes = nominal(n)
    return int(swapped(RankSwap(k=K), value_space, codes).size)


def prepared_alone(n: int) -> int:
    """Memory of the process above before it starts."""
    return int(nominal(n)[1].size)


# ------------------------------------------------------------------------------------------------ findings


def _against_sorting(n: int, *, quick: bool) -> list[Finding]:
    value_space, codes = nominal(n)
    steep, steep_codes = nominal(n, STEEP)
    sides: dict[str, Callable[[], object]] = {
        "argsort": partial(np.argsort, codes),
        "fit": partial(fitted, RankSwap(k=K), value_space),
        "fit and apply": partial(swapped, RankSwap(k=K), value_space, codes),
        "with rare values": partial(swapped, RankSwap(k=K), steep, steep_codes),
        "unswapped": partial(swapped, RankSwap(k=K, interval="unswapped"), value_space, codes),
        "fixed": partial(swapped, RankSwapFixed(k=K), value_space, codes),
    }
    timings = interleaved(sides, 3 if quick else 7)
    seconds = {name: timing.median for name, timing in timings.items()}
    facts = {name: timing.repeats for name, timing in timings.items()}

    def finding(what: str, name: str, target: float | None) -> Finding:
        ratio = seconds[name] / seconds["argsort"]
        note = f"{n:,} codes, {seconds[name]:.2f} s against {seconds['argsort']:.2f} s"
        if target is None:
            return Finding(what, ratio, "×", note=note)
        return at_most(what, ratio, target, note=note, facts=facts)

    return [
        finding(f"rank-swap, k = {K}, fit and apply, against numpy.argsort of the codes", "fit and apply", 2),
        finding("… fit alone", "fit", 1),
        finding("… where some values have fewer than k records", "with rare values", 2),
        finding('… interval = "unswapped"', "unswapped", None),
        finding("rank-swap-fixed, fit and apply", "fixed", None),
    ]


def _against_counting(n: int, *, quick: bool) -> Finding:
    frame = texts(n)
    sides: dict[str, Callable[[], object]] = {
        "anonto": partial(masked, frame),
        "polars": partial(counted, frame),
    }
    timings = interleaved(sides, 3 if quick else 7)
    ours, theirs = timings["anonto"].median, timings["polars"].median
    return at_most(
        "mask of a text column, against polars' group_by of it",
        ours / theirs,
        4,
        note=f"{n:,} rows, {ours:.2f} s against {theirs:.2f} s",
        facts={name: timing.repeats for name, timing in timings.items()},
    )


def _large_k(n: int, *, quick: bool) -> list[Finding]:
    found = []
    for words, power in (("", EVEN), (", some values rare", STEEP)):
        value_space, codes = nominal(n, power)
        sides = {str(k): partial(swapped, RankSwap(k=k), value_space, codes) for k in (K, LARGE_K)}
        timings = interleaved(sides, 3 if quick else 7)
        small, large = timings[str(K)].median, timings[str(LARGE_K)].median
        note = f"{large:.2f} s against {small:.2f} s"
        found.append(at_most(f"k = {LARGE_K} against k = {K}{words}", large / small, 3, note=note))
    return found


def _growth(*, quick: bool) -> Finding:
    sizes = [25_000, 50_000, 100_000] if quick else [1_000_000, 2_000_000, 5_000_000, 10_000_000]
    timings = interleaved({str(n): partial(swapped, RankSwap(k=K), *nominal(n)) for n in sizes}, 5)
    powers = exponents(sizes, [timings[str(n)].median for n in sizes])
    overall = exponents([sizes[0], sizes[-1]], [timings[str(n)].median for n in (sizes[0], sizes[-1])])[0]
    note = f"{sizes[0]:,} to {sizes[-1]:,} records; step by step " + ", ".join(f"{power:.2f}" for power in powers)
    return at_most("growth with the records, exponent", overall, 1.1, "", note=note)


def _memory(n: int) -> Finding:
    own = in_fresh_process("benchmarks.swapping:swapped_alone", n)
    before = in_fresh_process("benchmarks.swapping:prepared_alone", n)
    extra = (own.peak_bytes - before.peak_bytes) / MEGABYTE
    return Finding("peak memory of fit and apply, above the column itself", extra, "MB", note=own.memory)


def swapped_many(n: int, kind: str) -> int:
    """Many distinct values; the number of records."""
    codes = drawn(n, MANY_VALUES, EVEN)
    counts = np.bincount(codes)
    if kind == "numbers":
        fitted(RankSwap(k=K), NumericSpace(np.random.default_rng(2).normal(size=counts.size), counts))
    else:
        taxonomy = generated_taxonomy(2 * MANY_VALUES)
        values = encode(some_concepts(taxonomy, MANY_VALUES))
        fitted(RankSwap(k=K), replace(nominal_space(values, taxonomy, measure="wu-palmer"), counts=counts))
    return int(codes.size)


def _many_values(*, quick: bool) -> list[Finding]:
    found = []
    for kind in ("numbers",) if quick else ("numbers", "concepts"):
        visit = in_fresh_process("benchmarks.swapping:swapped_many", 1_000_000, kind)
        what = f"1,000,000 records with {MANY_VALUES:,} distinct {kind}, with making them up"
        found.append(Finding(what, visit.seconds, "s", note=visit.memory))
    return found
