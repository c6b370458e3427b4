"""The plain version of each algorithm and its compiled loops give the same, on small random tables."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import anonto
from anonto.attacks.compute import distance_linkage, global_linkage
from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.attacks.plain import distance_linkage as plain_linkage
from anonto.attacks.plain import global_linkage as plain_global
from anonto.encoding.columns import encode
from anonto.encoding.comparison import Amounts, ComparedColumn
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener, prepare
from anonto.encoding.records import Records, distinct_records, distinct_rows
from anonto.encoding.value_space import NominalSpace, NumericSpace, TextSpace
from anonto.methods import bin_kernels, microaggregation_kernels
from anonto.methods.bins import Bins
from anonto.methods.distance_levels import candidate_concepts
from anonto.methods.equi_depth_swap import equi_depth_bins
from anonto.methods.equi_width_swap import EquiWidthSwap
from anonto.methods.equi_width_swap import grid_places as fast_grid_places
from anonto.methods.grouping import GroupingSpace, NominalPart, NumberPart, RecordGroups, mdav, refine_groups, space_of
from anonto.methods.plain import equi_depth_swap as plain_equi_depth
from anonto.methods.plain import mdav as plain_mdav
from anonto.methods.plain import refine as plain_refine
from anonto.methods.plain import refine_centroids as plain_centroids
from anonto.methods.plain import semantic_noise as plain_noise
from anonto.methods.plain.equi_width_swap import exchange_in_cells, grid_places
from anonto.methods.plain.pair_swap import exchange_in_pairs
from anonto.methods.plain.rank_swap import rank_swap
from anonto.methods.plain.rank_swap_fixed import rank_swap_fixed
from anonto.methods.plain.rank_swap_joint import rank_swap_joint
from anonto.methods.plain.semantic_noise_joint import semantic_noise_joint
from anonto.methods.plain.taxonomy_exponential import taxonomy_exponential
from anonto.methods.plain.v_mdav import v_mdav
from anonto.methods.registry import method_of
from anonto.methods.replacements import find_replacements
from anonto.methods.taxonomy_exponential import largest_distance
from anonto.methods.v_mdav import variable_mdav
from anonto.random.streams import Key, Seed
from budget import examples
from strategies import hierarchies, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.transitions import Transitions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]
KEY = Key(bytes(range(32)))
SEEDS = st.integers(0, 2**32 - 1)
INTERVALS = st.sampled_from(["all", "unswapped"])
always_the_same = settings(derandomize=True, max_examples=examples(40))
few = settings(derandomize=True, max_examples=examples(15))


class Placed:
    """Values with given distances."""

    def __init__(self, distances: Any, counts: Any) -> None:
        self.table, self.counts = np.asarray(distances, float), np.asarray(counts, np.int64)

    def distances(self) -> Any:
        return self.table

    def distances_from(self, codes: Any) -> Any:
        return self.table[codes]

    def distance_tables(self) -> Any:
        return lambda a, b: self.table[np.ix_(a, b)]


def placed(rng: np.random.Generator, n_values: int) -> Any:
    """Distances with many ties, or with none."""
    table = rng.integers(0, 4, (n_values, n_values)) / 4 if rng.random() < 0.5 else rng.random((n_values, n_values))
    return np.triu(table, 1) + np.triu(table, 1).T


def value_space_of(kind: str, rng: np.random.Generator, counts: Any) -> ValueSpace:
    if kind == "numbers":
        return NumericSpace(rng.permutation(np.cumsum(rng.integers(1, 4, counts.size))) / 4.0, counts)
    return TextSpace(counts) if kind == "texts" else Placed(placed(rng, counts.size), counts)  # type: ignore[return-value]


KINDS = st.sampled_from(["numbers", "texts", "placed"])


@st.composite
def columns(draw: st.DrawFn, max_values: int = 8, max_count: int = 4) -> ValueSpace:
    counts = draw(st.lists(st.integers(0, max_count), min_size=1, max_size=max_values).filter(any))
    return value_space_of(draw(KINDS), np.random.default_rng(draw(SEEDS)), np.array(counts))


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 20, max_values: int = 5, missing: bool = True) -> Records:
    """Distinct records of one to three columns of any kind."""
    kinds = draw(st.lists(KINDS, min_size=1, max_size=3))
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(1, max_rows))
    codes = rng.integers(-1 if missing and draw(st.booleans()) else 0, max_values, (len(kinds), n)).astype(np.int32)
    value_spaces = [
        value_space_of(kind, rng, np.bincount(column[column >= 0], minlength=max_values))
        for kind, column in zip(kinds, codes, strict=True)
    ]
    return distinct_records([f"c{i}" for i in range(len(kinds))], value_spaces, list(codes))[0]


def as_list(transitions: Transitions) -> list[tuple[int, int, int]]:
    return list(
        zip(transitions.sources.tolist(), transitions.targets.tolist(), transitions.amounts.tolist(), strict=True)
    )


def as_outcome(done: Transitions | RecordTransitions) -> Any:
    """All that a step says, in a form that can be counted."""
    if hasattr(done, "released"):
        moves = [(source, tuple(done.released[target].tolist()), n) for source, target, n in as_list(done.transitions)]
        return tuple(sorted(moves)), done.untouched, tuple(done.facts.items())
    return tuple(as_list(done)), done.untouched


# ------------------------------------------------------------------------------------------------ all that may be drawn


class Listed:
    """Draws that are given, and behind them the first of each; notes how many there would be."""

    def __init__(self, draws: list[int]) -> None:
        self.draws, self.possible = draws, []  # type: tuple[list[int], list[int]]

    def _drawn(self, n: int) -> int:
        self.possible.append(n)
        if len(self.possible) > len(self.draws):
            self.draws.append(0)
        return self.draws[len(self.possible) - 1]

    def integers(self, low: int, high: int | None = None) -> int:
        return self._drawn(int(low)) if high is None else low + self._drawn(int(high - low))

    def choice(self, items: Any, size: int, *, replace: bool) -> Any:
        assert not replace
        listed = list(itertools.combinations(items.tolist(), int(size)))
        return np.array(listed[self._drawn(len(listed))], dtype=np.int64)


def outcomes(run: Callable[[Any], Any]) -> dict[Any, float]:
    """Everything that a random algorithm may do, with its probability."""
    found: Counter[Any] = Counter()
    draws: list[int] = []
    while True:
        rng = Listed(draws)
        found[run(rng)] += 1.0 / math.prod(rng.possible)  # type: ignore[assignment]
        while draws and draws[-1] + 1 == rng.possible[len(draws) - 1]:
            draws.pop()
        if not draws:
            return found
        draws[-1] += 1


def require_same_law(exact: dict[Any, float], seen: Counter[Any]) -> None:
    """Nothing impossible happens, and the rest as often as it should; rare outcomes are counted together."""
    assert set(seen) <= set(exact)
    n = seen.total()
    often = [one for one, probability in exact.items() if probability * n >= 10]
    counted = [seen[one] for one in often]
    expected = [exact[one] * n for one in often]
    if n - sum(expected) > 5:
        counted, expected = [*counted, n - sum(counted)], [*expected, n - sum(expected)]
    assert len(often) > 2
    assert chisquare(counted, np.array(expected) * (n / sum(expected))).pvalue > 1e-4


# ------------------------------------------------------------------------------------------------ rank swapping


@always_the_same
@given(columns(), st.integers(1, 12), SEEDS)
def test_rank_swapping_in_a_fixed_order_makes_the_same_exchanges(column: ValueSpace, k: int, seed: int) -> None:
    fast = method_of("rank-swap-fixed", {"k": k}).fit(column, Seed(seed).stream("test"))
    assert as_outcome(rank_swap_fixed(column, k, Seed(seed).stream("test"))) == as_outcome(fast)


@pytest.mark.parametrize("seed", range(10))
def test_in_a_fixed_order_the_first_value_comes_before_others_at_distance_0(seed: int) -> None:
    column: Any = Placed([[0, 0, 1], [0, 0, 0.5], [1, 0.5, 0]], [3, 4, 9])
    fast = method_of("rank-swap-fixed", {"k": 2}).fit(column, Seed(seed).stream("test"))
    assert as_outcome(rank_swap_fixed(column, 2, Seed(seed).stream("test"))) == as_outcome(fast)


@few
@given(columns(4, 2).filter(lambda one: 1 < one.counts.sum() < 5), st.integers(1, 3), INTERVALS, SEEDS)
def test_rank_swapping_does_only_what_the_plain_version_may_do(
    column: ValueSpace, k: int, interval: str, seed: int
) -> None:
    possible = outcomes(lambda rng: as_outcome(rank_swap(column, k, interval, rng)))
    assert sum(possible.values()) == pytest.approx(1.0)
    method = method_of("rank-swap", {"k": k, "interval": interval})
    for number in range(20):
        assert as_outcome(method.fit(column, np.random.default_rng([seed, number]))) in possible


@pytest.mark.parametrize("interval", ["all", "unswapped"])
@pytest.mark.parametrize("kind", ["numbers", "placed"])
def test_rank_swapping_is_as_likely_to_do_each_thing_as_the_plain_version(interval: str, kind: str) -> None:
    counts = np.array([2, 1, 1, 1])
    near = [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]
    column: Any = NumericSpace(np.arange(4.0), counts) if kind == "numbers" else Placed(np.array(near) / 4, counts)
    method = method_of("rank-swap", {"k": 2, "interval": interval})
    rng = np.random.default_rng(3)
    seen = Counter(as_outcome(method.fit(column, rng)) for _ in range(1_000))
    require_same_law(outcomes(lambda rng: as_outcome(rank_swap(column, 2, interval, rng))), seen)


@always_the_same
@given(st.integers(2, 25), st.sampled_from(["numbers", "placed"]), INTERVALS, SEEDS)
def test_rank_swapping_with_the_nearest_row_and_without_ties_makes_the_same_exchanges(
    n: int, kind: str, interval: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    counts = np.ones(n, dtype=np.int64)
    table = rng.random((n, n))
    table = np.triu(table, 1) + np.triu(table, 1).T
    column: Any = NumericSpace(rng.random(n), counts) if kind == "numbers" else Placed(table, counts)
    fast = method_of("rank-swap", {"k": 1, "interval": interval}).fit(column, rng)
    assert as_outcome(rank_swap(column, 1, interval, rng)) == as_outcome(fast)


def joint(records: Records, k: int, interval: str, weights: list[float], rng: np.random.Generator) -> RecordTransitions:
    method = method_of("rank-swap-joint", {"k": k, "interval": interval, "weights": weights})
    return method.fit(records, rng)


@few
@given(tables(max_rows=4, max_values=3), st.integers(1, 3), INTERVALS, SEEDS)
def test_joint_rank_swapping_does_only_what_the_plain_version_may_do(
    records: Records, k: int, interval: str, seed: int
) -> None:
    weights = [1.0, 2.0, 0.5][: len(records.names)]
    possible = outcomes(lambda rng: as_outcome(rank_swap_joint(records, k, interval, weights, rng)))
    assert sum(possible.values()) == pytest.approx(1.0)
    for number in range(10):
        rng = np.random.default_rng([seed, number])
        assert as_outcome(joint(records, k, interval, weights, rng)) in possible


@pytest.mark.parametrize("interval", ["all", "unswapped"])
def test_joint_rank_swapping_is_as_likely_to_do_each_thing_as_the_plain_version(interval: str) -> None:
    codes = [np.array([0, -1, 1, 1], dtype=np.int32), np.array([0, 0, 1, -1], dtype=np.int32)]
    value_spaces = [NumericSpace(np.array([0.0, 1.0]), np.array([1, 2])), TextSpace(np.array([2, 1]))]
    records, _ = distinct_records(["a", "b"], value_spaces, codes)
    rng = np.random.default_rng(3)
    seen = Counter(as_outcome(joint(records, 2, interval, [1.0, 1.0], rng)) for _ in range(1_000))
    require_same_law(outcomes(lambda rng: as_outcome(rank_swap_joint(records, 2, interval, [1.0, 1.0], rng))), seen)


@always_the_same
@given(st.integers(2, 25), INTERVALS, SEEDS)
def test_joint_rank_swapping_with_the_nearest_row_and_without_ties_makes_the_same_exchanges(
    n: int, interval: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    counts, codes = np.ones(n, dtype=np.int64), [rng.permutation(n).astype(np.int32) for _ in range(3)]
    value_spaces = [NumericSpace(rng.random(n), counts) for _ in codes]
    records, _ = distinct_records(["a", "b", "c"], value_spaces, codes)
    weights = [1.0, 0.5, 2.0]
    fast = joint(records, 1, interval, weights, rng)
    assert as_outcome(rank_swap_joint(records, 1, interval, weights, rng)) == as_outcome(fast)


# ------------------------------------------------------------------------------------------------ groups


@st.composite
def spaces(draw: st.DrawFn, max_records: int = 25, missing: bool = True) -> tuple[GroupingSpace, Any]:
    """Records with exact distances, of which many are equal, and how many rows each has."""
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(1, max_records))
    parts: list[Any] = []
    for kind in draw(st.lists(st.sampled_from(["numbers", "gapped", "texts", "table"]), min_size=1, max_size=3)):
        codes = rng.integers(0, 5, n).astype(np.int32)
        if kind in {"numbers", "gapped"}:
            numbers = rng.integers(0, 9, n) / 8
            numbers[(rng.random(n) < 0.3) & (kind == "gapped") & missing] = np.nan
            parts.append(NumberPart(numbers, gap=0.75))
        else:
            table = rng.integers(1, 8, (5, 5)) / 8
            parts.append(
                NominalPart(codes, 5, np.triu(table, 1) + np.triu(table, 1).T if kind == "table" else None, 0.5)
            )
    counts = rng.integers(1, 4, n) if draw(st.booleans()) else np.ones(n, dtype=np.int64)
    return space_of(parts, squared=draw(st.booleans())), counts


def as_lists(groups: RecordGroups | Bins) -> list[list[int]]:
    return [part.tolist() for part in np.split(groups.members, groups.offsets[1:-1])]


@always_the_same
@given(spaces(), st.integers(1, 6))
def test_mdav_makes_the_same_groups(drawn: tuple[GroupingSpace, Any], k: int) -> None:
    space, counts = drawn
    k = min(k, int(counts.sum()))
    assert as_lists(plain_mdav.mdav(space, counts, k)) == as_lists(mdav(space, counts, k))


@always_the_same
@given(spaces(15, missing=False), st.integers(1, 5))
def test_v_mdav_makes_the_same_groups(drawn: tuple[GroupingSpace, Any], k: int) -> None:
    space, counts = drawn
    k = min(k, int(counts.sum()))
    assert as_lists(v_mdav(space, counts, k)) == as_lists(variable_mdav(space, counts, k))


def test_rows_left_over_by_v_mdav_join_the_lowest_of_equally_near_records() -> None:
    space = space_of([NumberPart(np.array([20.0, 2.0, 1.0, 0.0, 10.0, 18.0, 19.0]))], squared=False)
    counts = np.array([1, 1, 1, 1, 2, 1, 1])
    assert as_lists(v_mdav(space, counts, 3)) == [[0, 6, 5], [3, 2, 1, 4, 4]]
    assert as_lists(variable_mdav(space, counts, 3)) == [[0, 6, 5], [3, 2, 1, 4, 4]]


@always_the_same
@given(spaces(40), st.integers(2, 5), st.sampled_from(["sum", "squares"]))
def test_the_local_search_makes_the_same_groups(drawn: tuple[GroupingSpace, Any], k: int, pair_cost: Any) -> None:
    space, counts = drawn
    groups = mdav(space, counts, min(k, int(counts.sum())))
    fast = refine_groups(space, groups, k, pair_cost=pair_cost)
    assert fast is not None
    plain = plain_refine.refine_groups(space, groups, k, pair_cost=pair_cost)
    assert as_lists(plain) == as_lists(fast.groups)


@always_the_same
@given(st.integers(1, 5), st.integers(2, 6), SEEDS)
def test_records_move_to_the_same_centres(k: int, n_groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(k, 2 * k, n_groups)
    groups = RecordGroups(rng.permutation(sizes.sum()).astype(np.int32), np.cumsum([0, *sizes]))
    centres = microaggregation_kernels.Centres(
        units=rng.integers(0, 9, (sizes.sum(), 2)) / 8,
        means=rng.integers(0, 9, (n_groups, 2)) / 8,
        codes=rng.integers(0, 4, (sizes.sum(), 2)).astype(np.int32),
        places=rng.integers(0, 3, (n_groups, 2)).astype(np.int32),
        squares=rng.integers(0, 9, 4 * 3) / 8,
        starts=np.array([0, -1]),
        widths=np.array([3, 0]),
        weights=np.array([1.0, 0.5]),
    )
    near = np.array([rng.permutation(np.delete(np.arange(n_groups), one)) for one in range(n_groups)], dtype=np.int32)
    lists, members = as_lists(groups), groups.pad(2 * k - 1)
    changes = plain_centroids.move_to_centres(centres, lists, near.tolist(), k, 1e-9)
    assert microaggregation_kernels.move_to_centres(centres, members, sizes, near, k, 1e-9) == changes
    assert as_lists(RecordGroups.from_padded(members, sizes)) == lists


# ------------------------------------------------------------------------------------------------ bins


@always_the_same
@given(tables(25), st.integers(2, 6), st.booleans())
def test_bins_of_equal_depth_hold_the_same_rows(records: Records, k: int, standardise: bool) -> None:
    try:
        fast = equi_depth_bins(records, k, standardise=standardise)
    except anonto.errors.TooFewRecordsError as refused:
        if "patterns of missing cells" not in str(refused):
            raise
        with pytest.raises(type(refused), match=re.escape(str(refused))):
            plain_equi_depth.equi_depth_bins(records, k, standardise=standardise)
        return
    plain = plain_equi_depth.equi_depth_bins(records, k, standardise=standardise)
    assert [sorted(one) for one in as_lists(plain)] == [sorted(one) for one in as_lists(fast)]


@always_the_same
@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.booleans(), SEEDS)
def test_pairs_of_a_bin_exchange_in_the_same_way(sizes: list[int], cycle: bool, seed: int) -> None:
    offsets = np.cumsum([0, *sizes])
    bins = Bins(np.random.default_rng(seed).integers(0, 9, offsets[-1]).astype(np.int32), offsets)
    plain = exchange_in_pairs(bins, Seed(seed).stream("test"), cycle=cycle)
    taken, alone = bin_kernels.exchange_pairs(bins.members, offsets, cycle, Seed(seed).stream("test"))
    assert [one.tolist() for one in plain] == [bins.members.tolist(), taken.tolist(), alone.tolist()]


@always_the_same
@given(st.lists(st.integers(0, 40), min_size=2, max_size=20), st.integers(1, 30))
def test_numbers_have_the_same_places_on_a_grid(steps: list[int], width: int) -> None:
    numbers = np.array(steps) / 10
    assert grid_places(numbers, width / 10) == fast_grid_places(numbers, width / 10, None).tolist()


@always_the_same
@given(tables(40), st.integers(1, 4), st.sampled_from(["stay", "cycle3"]))
def test_cells_of_a_grid_exchange_in_the_same_way(records: Records, bins: int, odd: Any) -> None:
    method = EquiWidthSwap(bins=bins, odd=odd)
    places = [one % 2 if isinstance(value_space, Placed) else one for value_space, one in _places(method, records)]
    grid = type(method.grid(records.names, records.value_spaces)).of(places)
    fast = method.exchange(records, grid, KEY)
    taken, alone = exchange_in_cells(records, grid, KEY, cycle=odd == "cycle3")
    of_records = np.split(taken, np.cumsum(records.counts)[:-1])
    for own, begin in zip(of_records, fast.assigned.begins.tolist(), strict=True):
        assert own.tolist() == fast.assigned.targets[begin : begin + own.size].tolist()
    assert fast.untouched == tuple((records.codes[alone] >= 0).sum(axis=0).tolist())


def _places(method: EquiWidthSwap, records: Records) -> Any:
    return zip(records.value_spaces, method.grid(records.names, records.value_spaces).columns, strict=True)


# ------------------------------------------------------------------------------------------------ noise and draws


@st.composite
def concepts(draw: st.DrawFn, n_columns: int = 1, min_rows: int = 2) -> tuple[Records, list[Any]]:
    """Columns of concepts in one taxonomy."""
    parents = draw(hierarchies(max_concepts=9, one_root=True))
    taxonomy = taxonomy_of(parents)
    n = draw(st.integers(min_rows, 12))
    names = [f"c{i}" for i in range(n_columns)]
    cells = [draw(st.lists(st.sampled_from(sorted(parents)), min_size=n, max_size=n)) for _ in names]
    description = ColumnDescription(ontology=taxonomy)
    ready = [prepare(name, encode(own), description, opener()) for name, own in zip(names, cells, strict=True)]
    codes = [one.column.codes for one in ready]
    return distinct_records(names, [one.value_space for one in ready], codes)[0], codes


def nominal(records: Records, place: int = 0) -> NominalSpace:
    value_space = records.value_spaces[place]
    assert isinstance(value_space, NominalSpace)
    return value_space


@always_the_same
@given(concepts(2), SEEDS, st.sampled_from(["taxonomy", "observed", "leaves"]), st.booleans(), st.booleans())
def test_noise_replaces_values_in_the_same_way(
    drawn: Any, seed: int, candidates: Any, nearest: bool, by_partner: bool
) -> None:
    records, codes = drawn
    column, partner = nominal(records, 0), nominal(records, 1)
    mean = column.domain.ids[seed % len(column.domain)]
    found = find_replacements(column, candidate_concepts(column, candidates), (mean, *partner.concepts))
    rng = np.random.default_rng(seed)
    cells = rng.choice(np.append(codes[0], -1), 60).astype(np.int32)
    exactly = rng.choice(np.append(found.levels.distances[np.isfinite(found.levels.distances)], 0.0), 60)
    noise = np.where(rng.random(60) < 0.3, exactly, rng.exponential(0.5, 60)) * rng.choice([-1, 1], 60)
    words = rng.integers(0, 2**64, 60, dtype=np.uint64)
    references = rng.integers(0, len(found.references), 60).astype(np.int32) if by_partner else None
    out, fate = found.replace(noise, words, cells, references, nearest=nearest)
    plain, noted = plain_noise.replace_values(found, noise, words, cells, references, nearest=nearest)
    assert plain.tolist() == out.tolist()
    assert noted.tolist() == fate.tolist()


def masked(method: Any, records: Records, codes: list[Any]) -> list[list[int]]:
    masker = method.fit(records, np.random.default_rng(0))
    return [one.tolist() for one in masker.apply(codes, np.arange(codes[0].size), KEY)]


@few
@given(concepts(), st.sampled_from([0.0, 0.3, 1.5]), st.booleans())
def test_semantic_noise_releases_the_same(drawn: Any, level: float, nearest: bool) -> None:
    records, codes = drawn
    method = method_of("semantic-noise", {"noise_level": level, "round": "nearest" if nearest else "up"})
    rows = np.arange(codes[0].size)
    plain = plain_noise.semantic_noise("c0", nominal(records), level, codes[0], rows, KEY, nearest=nearest)
    assert masked(method, records, codes) == [plain.tolist()]


@few
@given(concepts(3, min_rows=4), st.sampled_from([0.0, 0.3, 1.5]))
def test_joint_semantic_noise_releases_the_same(drawn: Any, level: float) -> None:
    records, codes = drawn
    method = method_of("semantic-noise-joint", {"noise_level": level})
    plain = semantic_noise_joint(records, level, codes, np.arange(codes[0].size), KEY)
    assert masked(method, records, codes) == [one.tolist() for one in plain]


@few
@given(concepts(), st.sampled_from([0.1, 2.0, 50.0]))
def test_the_exponential_mechanism_releases_the_same(drawn: Any, epsilon: float) -> None:
    records, codes = drawn
    column = nominal(records)
    masker = method_of("taxonomy-exponential", {"epsilon": epsilon}).fit(records, np.random.default_rng(0))
    cells, rows = np.append(np.resize(codes[0], 40), -1).astype(np.int32), np.arange(41)
    released = masker.apply([cells], rows, KEY)[0]
    fast = [None if code < 0 else masker.value_spaces[0].concepts[code] for code in released.tolist()]
    assert taxonomy_exponential("c0", column, largest_distance(column), epsilon, cells, rows, KEY) == fast


# ------------------------------------------------------------------------------------------------ linkage


@always_the_same
@given(st.lists(KINDS, min_size=1, max_size=3), st.integers(1, 25), SEEDS, st.booleans())
def test_distance_linkage_finds_the_same_persons(kinds: list[str], n: int, seed: int, some: bool) -> None:
    rng = np.random.default_rng(seed)
    compared = compared_columns(kinds, n, rng)
    rows = np.flatnonzero(rng.random(n) < 0.5) if some else None
    space = LinkageSpace.of(compared)
    fast = distance_linkage.link(compared, space, ReleasedRecords.of(compared, space), rows)
    np.testing.assert_array_equal(plain_linkage.link(compared, rows), fast)


def compared_columns(kinds: list[str], n: int, rng: np.random.Generator) -> list[ComparedColumn]:
    compared = []
    for place, kind in enumerate(kinds):
        original, released = rng.integers(-1, 6, (2, n)).astype(np.int32)
        released = np.where(rng.random(n) < 0.5, original, released)
        value_space = value_space_of(kind, rng, np.bincount(original[original >= 0], minlength=6))
        amounts = Amounts.of_rows(n, n)
        compared.append(ComparedColumn(f"c{place}", ColumnDescription(), value_space, original, released, amounts))
    return compared


@always_the_same
@given(st.integers(1, 30), SEEDS)
def test_global_linkage_makes_the_same_matching(n: int, seed: int) -> None:
    """Distances of random numbers are all different, so only one matching is best."""
    rng = np.random.default_rng(seed)
    original, amounts = np.arange(n, dtype=np.int32), Amounts.of_rows(n, n)
    numbers = NumericSpace(rng.random(2 * n), np.ones(2 * n, dtype=np.int64), 1.0)
    released = (n + rng.permutation(n)).astype(np.int32)
    column = ComparedColumn("x", ColumnDescription(), numbers, original, released, amounts)
    other = replace(column, original=rng.permutation(original), value_space=replace(numbers, numbers=rng.random(2 * n)))
    found = global_linkage.global_linkage([column, other], rng)
    assert found.rate == pytest.approx(plain_global.link([column, other]).mean())


@always_the_same
@given(st.lists(KINDS, min_size=1, max_size=3), st.integers(2, 25), SEEDS)
def test_no_matching_has_a_smaller_sum_than_that_of_global_linkage(kinds: list[str], n: int, seed: int) -> None:
    compared = compared_columns(kinds, n, np.random.default_rng(seed))
    squared = np.array([plain_linkage.squared_distances(compared, person) for person in range(n)])
    space = LinkageSpace.of(compared)
    released = ReleasedRecords.of(compared, space)
    targets, number = distinct_rows([column.original for column in compared])
    found, distances = space.nearest_some(targets, released, n)
    match = global_linkage.match_records(
        found[number], distances[number], released.amounts, released.record_of_row, np.random.default_rng(seed)
    )
    row_of = np.array([np.flatnonzero(released.record_of_row == record)[0] for record in match.tolist()])
    everyone = np.arange(n)
    assert (np.bincount(match, minlength=released.amounts.size) == released.amounts).all()
    assert squared[everyone, row_of].sum() == pytest.approx(squared[everyone, plain_global.match(compared)].sum())
