"""Semantic noise and the exponential mechanism, against drawing as many normal numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import Column
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import nominal_space
from anonto.methods.registry import method_of
from anonto.random.streams import Seed
from benchmarks.applying import apply_by_row
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import Finding, at_most, exponents, in_fresh_process, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Codes

N_VALUES = 1_000
N_CONCEPTS = 20_000
KEY = Seed(0x5EED_5EED_5EED_5EED).key("apply", 0)
STEPS: dict[str, tuple[dict[str, Any], int]] = {
    "semantic-noise": ({"noise_level": 0.2}, 1),
    "taxonomy-exponential": ({"epsilon": 4.0}, 1),
    "semantic-noise-joint": ({"noise_level": 0.2, "scale": "semantic"}, 2),
}
"""Parameters, and how many columns are masked."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 50_000 if quick else 10_000_000
    repeats = 2 if quick else 5
    return [*(_against_normals(method, n, repeats) for method in STEPS), *_growth(quick=quick), _memory(n)]


def columns_of(n: int, n_columns: int) -> list[Codes]:
    """Codes whose frequencies fall as one over the rank; of a second column half follow from the first."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, N_VALUES + 1)
    first = rng.choice(N_VALUES, n, p=weights / weights.sum()).astype(np.int32)
    first[:N_VALUES] = np.arange(min(n, N_VALUES))
    follows = rng.random(n) < 0.5
    second = np.where(follows, first * 7 % N_VALUES, rng.permutation(first)).astype(np.int32)
    second[:N_VALUES] = np.arange(min(n, N_VALUES))
    return [first, second][:n_columns]


def records_of(columns: list[Codes]) -> Records:
    """The distinct records of columns in a taxonomy that has far more concepts than they have values."""
    taxonomy = generated_taxonomy(N_CONCEPTS)
    values = tuple(sorted(some_concepts(taxonomy, N_VALUES)))
    value_spaces = [nominal_space(Column(values, codes), taxonomy, measure="wu-palmer") for codes in columns]
    return distinct_records([f"column {n}" for n in range(len(columns))], value_spaces, columns)[0]


def masked(method: str, columns: list[Codes], records: Records) -> int:
    """Fit and apply; how many cells were released."""
    masker = method_of(method, STEPS[method][0]).fit(records, np.random.default_rng(0))  # type: ignore[arg-type]
    released = apply_by_row(masker, columns, np.arange(columns[0].size), KEY)  # type: ignore[arg-type]
    return sum(one.size for one in released)


def masked_from_nothing(method: str, n: int) -> int:
    """The same with the columns and the taxonomy made first."""
    columns = columns_of(n, STEPS[method][1])
    return masked(method, columns, records_of(columns))


def made(n: int) -> int:
    """The columns and the taxonomy alone."""
    columns = columns_of(n, 1)
    return records_of(columns).n_rows


def _against_normals(method: str, n: int, repeats: int) -> Finding:
    columns = columns_of(n, STEPS[method][1])
    records = records_of(columns)
    generator = np.random.default_rng(1)
    sides: dict[str, Callable[[], object]] = {
        "anonto": partial(masked, method, columns, records),
        "numpy": partial(generator.standard_normal, n * len(columns)),
    }
    timings = interleaved(sides, repeats)
    ours, theirs = timings["anonto"].median, timings["numpy"].median
    note = f"{n * len(columns):,} cells, {ours:.2f} s against {theirs:.2f} s"
    facts = {name: timing.repeats for name, timing in timings.items()}
    what = f"{method}, fit and apply, against standard_normal for as many draws"
    if method == "semantic-noise-joint":
        pairs = f"{records.counts.size:,} pairs of values; {note}"
        return Finding(what, ours / theirs, "×", note=pairs, facts=facts)
    return at_most(what, ours / theirs, 20, note=note, facts=facts)


def _growth(*, quick: bool) -> list[Finding]:
    sizes = [25_000, 50_000, 100_000] if quick else [2_500_000, 5_000_000, 10_000_000]
    sides = {}
    for n in sizes:
        columns = columns_of(n, 1)
        masker = method_of("semantic-noise", STEPS["semantic-noise"][0]).fit(
            records_of(columns),  # type: ignore[arg-type]
            np.random.default_rng(0),
        )
        sides[str(n)] = partial(apply_by_row, masker, columns, np.arange(n), KEY)  # type: ignore[arg-type]
    timings = interleaved(sides, 5)
    powers = exponents(sizes, [timings[str(n)].median for n in sizes])
    note = "as they double: " + ", ".join(f"{power:.2f}" for power in powers)
    return [at_most("growth of apply with the records, largest exponent", max(powers), 1.2, "", note=note)]


def _memory(n: int) -> Finding:
    own = in_fresh_process("benchmarks.noise:masked_from_nothing", "semantic-noise", n)
    other = in_fresh_process("benchmarks.noise:made", n)
    extra = (own.peak_bytes - other.peak_bytes) / 1e6
    return Finding("peak memory of semantic-noise above its input", extra, "MB", note=own.memory)
