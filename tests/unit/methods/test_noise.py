"""Semantic noise against its definition: what replaces a value, how large the noise is, and what it goes with."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.applying import apply_by_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest, laplace

import anonto
import oracles
from anonto import stats
from anonto.encoding.columns import encode
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener, prepare
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NominalSpace, nominal_space
from anonto.errors import ColumnError, InputError, ParameterError, PlanError
from anonto.methods import distance_levels, semantic_noise_joint
from anonto.methods.distance_levels import candidate_concepts
from anonto.methods.noise import target_rmse
from anonto.methods.registry import method_of
from anonto.methods.replacements import Replacements, find_replacements
from anonto.random.kernels import exponentials, laplaces, normals
from anonto.random.streams import Key, Seed, row_words
from budget import examples
from strategies import hierarchies, hierarchies_with_columns, taxonomy_of

KEY = Key(bytes(range(32)))
ILLNESSES = anonto.read_ontology("illnesses")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]


def records_of(columns: dict[str, list[Any]], taxonomy: Any = ILLNESSES, **keys: Any) -> tuple[Records, list[Any]]:
    """Columns of text lie in the taxonomy, the others are numbers."""
    prepared = []
    for name, values in columns.items():
        is_text = any(isinstance(value, str) for value in values)
        given = {"ontology": taxonomy, **keys} if is_text else {"kind": "numeric"}
        prepared.append(prepare(name, encode(values), ColumnDescription(**given), opener()))
    codes = [one.column.codes for one in prepared]
    return distinct_records(list(columns), [one.value_space for one in prepared], codes)[0], codes


def concepts_of(masker: Any, released: list[Any]) -> list[list[Any]]:
    """The released concepts, or numbers, of each column."""
    return [
        [None if code < 0 else one.concepts[code] for code in cells] if isinstance(one, NominalSpace) else cells
        for one, cells in zip(masker.value_spaces, released, strict=True)
    ]


def masked(method: str, columns: dict[str, list[Any]], taxonomy: Any = ILLNESSES, **parameters: Any) -> list[list[Any]]:
    records, codes = records_of(columns, taxonomy)
    masker = method_of(method, parameters).fit(records, np.random.default_rng(0))
    return concepts_of(masker, masker.apply(codes, np.arange(codes[0].size), KEY))


def tree(depth: int, width: int) -> anonto.Taxonomy:
    """A regular tree: every concept above the last level has as many children."""
    parents: dict[str, tuple[str, ...]] = {"r": ()}
    layer = ["r"]
    for _ in range(depth):
        layer = [f"{above}{n}" for above in layer for n in range(width)]
        parents |= {concept: (concept[:-1],) for concept in layer}
    return taxonomy_of(parents)


# ------------------------------------------------------------------------------------------------ draws


def test_draws_have_the_distributions_they_are_named_after() -> None:
    words, _ = row_words(KEY, np.arange(100_000), "x")
    assert kstest(normals(words), "norm").pvalue > 1e-4
    assert kstest(laplaces(words), laplace(scale=math.sqrt(0.5)).cdf).pvalue > 1e-4
    assert kstest(exponentials(words), "expon").pvalue > 1e-4


def test_the_extreme_words_give_the_extreme_normal_numbers_and_all_are_finite() -> None:
    words = np.array([0, 1, 2**11, 2**64 - 1, 2**64 - 2], dtype=np.uint64)
    found = normals(words)
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(8.3744, abs=1e-3)
    assert (found[0], found[3]) == (-found[1], -found[4])
    assert abs(found[3]) < 1e-15


# ------------------------------------------------------------------------------------------------ replacement


def replacement_cases(parents: Any, values: list[str], kind: str, measure: str) -> tuple[Replacements, Any, list[str]]:
    taxonomy = taxonomy_of(parents)
    value_space = nominal_space(encode(values), taxonomy, measure=measure)
    candidates = candidate_concepts(value_space, kind)  # type: ignore[arg-type]
    found = find_replacements(value_space, candidates, tuple(sorted(parents)))

    def distance(a: str, b: str) -> float:
        return taxonomy.distance(a, b, measure)

    return found, distance, list(candidates)


@settings(max_examples=examples(40))
@given(
    case=hierarchies_with_columns(max_concepts=9),
    kind=st.sampled_from(["taxonomy", "observed", "leaves"]),
    measure=st.sampled_from(["wu-palmer", "ancestor", "lin"]),
    nearest=st.booleans(),
    size=st.floats(1e-6, 1.2),
)
def test_a_value_becomes_what_the_definition_allows_and_nothing_else(
    case: Any, kind: str, measure: str, nearest: bool, size: float
) -> None:
    parents, (values,) = case
    found, distance, candidates = replacement_cases(parents, values, kind, measure)
    words, _ = row_words(KEY, np.arange(60), "ties")
    for code, value in enumerate(found.value_space.concepts):
        for number, reference in enumerate(found.references):
            for noise in (size, -size):
                expected, truncated, conflict = oracles.noise_replacements(
                    value, reference, noise, candidates, distance, nearest=nearest
                )
                released, fate = found.replace(
                    np.full(60, noise),
                    words,
                    np.full(60, code, dtype=np.int32),
                    np.full(60, number, dtype=np.int32),
                    nearest=nearest,
                )
                became = {found.released.concepts[one] for one in released.tolist()}
                assert became <= expected
                if len(expected) < 4:
                    assert became == expected
                assert set(fate.tolist()) == {truncated + 2 * conflict}


@given(case=hierarchies_with_columns(max_concepts=9), noise=st.floats(-1.2, 1.2))
def test_without_references_the_first_one_directs(case: Any, noise: float) -> None:
    parents, (values,) = case
    found, _, _ = replacement_cases(parents, values, "taxonomy", "wu-palmer")
    words, _ = row_words(KEY, np.arange(40), "ties")
    codes = np.resize(np.arange(len(found.value_space.concepts), dtype=np.int32), 40)
    one = found.replace(np.full(40, noise), words, codes, None, nearest=False)
    other = found.replace(np.full(40, noise), words, codes, np.zeros(40, dtype=np.int32), nearest=False)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("reference", [0, 1])
@pytest.mark.parametrize(("noise", "n_expected"), [(0.55, 36), (-0.55, 4)])
def test_concepts_at_the_same_distance_are_equally_likely(reference: int, noise: float, n_expected: int) -> None:
    """Few of a level lie on one side, so that blind draws often fail and the rest is listed."""
    parents: dict[str, tuple[str, ...]] = {"r": (), "a": ("r",)}
    parents |= {f"u{n}": ("r",) for n in range(10)} | {f"v{n}": (f"u{n % 10}",) for n in range(40)}
    taxonomy = taxonomy_of(parents)
    value_space = nominal_space(encode(["a", "u1", "r"]), taxonomy, measure="wu-palmer")
    found = find_replacements(value_space, taxonomy.ids, ("v1", "v1"))
    n = 20_000
    words, _ = row_words(KEY, np.arange(n), "ties")
    codes = np.full(n, value_space.concepts.index("a"), dtype=np.int32)
    released, _ = found.replace(np.full(n, noise), words, codes, np.full(n, reference, dtype=np.int32), nearest=False)
    expected, _, _ = oracles.noise_replacements("a", "v1", noise, taxonomy.ids, taxonomy.distance)
    seen = Counter(found.released.concepts[code] for code in released.tolist())
    assert set(seen) == expected
    assert len(expected) == n_expected
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_levels_that_do_not_fit_the_first_table_are_still_distinguished() -> None:
    """As many different distances as concepts: the table of distances grows on the way."""
    chain = taxonomy_of({f"c{n:04}": (f"c{n - 1:04}",) if n else () for n in range(1500)})
    value_space = nominal_space(encode(["c0000", "c0700"]), chain, measure="wu-palmer")
    found = find_replacements(value_space, chain.ids, ("c0000",))
    distances = chain.distances(["c0000", "c0700"], list(chain.ids))
    for row, levels in enumerate(np.split(found.levels.distances, found.levels.offsets[1:-1])):
        assert np.array_equal(levels[:-1], np.unique(np.round(distances[row], 12)))
        assert levels[-1] == math.inf
        order = distances[row][found.levels.members[row]]
        assert (np.diff(np.round(order, 12)) >= 0).all()


def test_further_values_of_a_stream_find_what_they_would_have_found_at_first() -> None:
    taxonomy = tree(3, 3)
    values = ["r00", "r111", "r2", "r", "r222"]
    whole = nominal_space(encode(values), taxonomy, measure="wu-palmer")
    some = nominal_space(encode(values[:3]), taxonomy, measure="wu-palmer")
    order = [*some.concepts, *(c for c in whole.concepts if c not in some.concepts)]
    grown = replace(whole, concepts=tuple(order))
    for kind in ("taxonomy", "leaves"):
        candidates = candidate_concepts(some, kind)  # type: ignore[arg-type]
        first = find_replacements(some, candidates, ("r1", "r00"))
        later = find_replacements(grown, candidates, ("r1", "r00", "r222"), first)
        at_once = find_replacements(grown, candidates, ("r1", "r00", "r222"))
        for one, other in zip(later.levels.arrays, at_once.levels.arrays, strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(later.ranks, at_once.ranks)


# ------------------------------------------------------------------------------------------------ one column


@settings(max_examples=examples(30))
@given(case=hierarchies_with_columns(max_concepts=10, max_records=15), laplacian=st.booleans(), nearest=st.booleans())
def test_each_cell_is_replaced_by_the_noise_of_its_row(case: Any, laplacian: bool, nearest: bool) -> None:
    parents, (values,) = case
    taxonomy = taxonomy_of(parents)
    (released,) = masked(
        "semantic-noise",
        {"a": values},
        taxonomy,
        noise_level=0.4,
        distribution="laplace" if laplacian else "normal",
        round="nearest" if nearest else "up",
    )
    variance = oracles.semantic_variance(values, list(taxonomy.ids), taxonomy.distance)
    mean = oracles.semantic_mean(values, list(taxonomy.ids), taxonomy.distance)
    words, _ = row_words(KEY, np.arange(len(values)), "noise of a")
    standard = (laplaces if laplacian else normals)(words)
    for value, became, z in zip(values, released, standard, strict=True):
        noise = math.sqrt(0.4 * variance) * z
        allowed, _, _ = oracles.noise_replacements(value, mean, noise, taxonomy.ids, taxonomy.distance, nearest=nearest)
        assert became in allowed


def test_noise_of_numbers_has_the_variance_that_was_asked_for() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(50, 10, 40_000)
    for distribution, distribution_function in (("normal", "norm"), ("laplace", laplace(scale=math.sqrt(0.5)).cdf)):
        (released,) = masked("semantic-noise", {"x": numbers.tolist()}, noise_level=0.3, distribution=distribution)
        noise = (np.array(released) - numbers) / (math.sqrt(0.3) * numbers.std(ddof=1))
        assert kstest(noise, distribution_function).pvalue > 1e-4


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
def test_zero_noise_changes_nothing_and_constant_columns_stay(method: str) -> None:
    columns = {"a": ["flu", "burn", None, "measles"], "x": [1.0, 2.5, None, 4.0]}
    assert np.array_equal(masked(method, columns, noise_level=0)[0], columns["a"])
    assert np.array_equal(masked(method, columns, noise_level=0)[1], [1.0, 2.5, np.nan, 4.0], equal_nan=True)
    constant = {"a": ["flu"] * 5, "x": [3.0] * 5}
    assert masked(method, constant, noise_level=2)[0] == ["flu"] * 5
    assert masked(method, constant, noise_level=2)[1].tolist() == [3.0] * 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("round_to", ["up", "nearest"])
def test_the_actual_error_grows_with_the_level(round_to: str) -> None:
    taxonomy = tree(5, 3)
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"a": rng.choice(taxonomy.ids[40:], 2_000)})
    errors, targets, truncated = [], [], []
    for level in (0.0, 0.01, 0.05, 0.2, 0.5, 2.0):
        plan = {
            "columns": {"a": {"ontology": taxonomy}},
            "steps": [{"method": "semantic-noise", "columns": ["a"], "noise_level": level, "round": round_to}],
        }
        step = anonto.mask(table, plan, seed=1 << 90).evidence["steps"][0]
        errors.append(step["rmse"]["a"])
        targets.append(step["target_rmse"]["a"])
        truncated.append(step["truncated_share"]["a"])
    assert errors == sorted(errors)
    assert truncated == sorted(truncated)
    assert errors[0] == targets[0] == truncated[0] == 0.0
    assert truncated[-1] > 0.1
    if round_to == "up":
        assert errors[1] > targets[1]


def test_noise_that_is_not_truncated_moves_at_least_as_far_as_it_says_inside_the_domain() -> None:
    taxonomy = tree(6, 3)
    rng = np.random.default_rng(3)
    values = rng.choice([c for c in taxonomy.ids if c.startswith("r1")], 3_000).tolist()
    records, codes = records_of({"a": values}, taxonomy, root="r1")
    masker = method_of("semantic-noise", {"noise_level": 0.3}).fit(records, rng)
    out, counts = masker.apply_and_count(codes, np.arange(3_000), KEY)
    (released,) = concepts_of(masker, out)
    assert set(released) <= {c for c in taxonomy.ids if c.startswith("r1")}
    domain = taxonomy.below("r1")
    column = masker.columns[0]
    noise = normals(row_words(KEY, np.arange(3_000), "noise of a")[0]) * column.deviation * math.sqrt(0.3)
    n_truncated = 0
    for value, became, size in zip(values, released, np.abs(noise), strict=True):
        distance = domain.distance(value, became)
        if distance < size - 1e-12:
            n_truncated += 1
    shares = masker.counted_facts(counts)
    assert 0 < n_truncated / 3_000 == pytest.approx(shares["truncated_share"]["a"], abs=1e-12)


def test_the_shares_of_truncated_cells_and_conflicts_are_those_of_the_definition() -> None:
    values = ["flu", "burn", "disease", "measles", "flu", "infection"] * 40
    records, codes = records_of({"a": values})
    masker = method_of("semantic-noise", {"noise_level": 0.8}).fit(records, np.random.default_rng(0))
    _, counts = masker.apply_and_count(codes, np.arange(len(values)), KEY)
    column = masker.columns[0]
    noise = normals(row_words(KEY, np.arange(len(values)), "noise of a")[0]) * column.deviation * math.sqrt(0.8)
    fates = [
        oracles.noise_replacements(value, column.mean, size, ILLNESSES.ids, ILLNESSES.distance)[1:]
        for value, size in zip(values, noise, strict=True)
    ]
    facts = masker.counted_facts(counts)
    assert facts["truncated_share"]["a"] == pytest.approx(np.mean([truncated for truncated, _ in fates]))
    assert facts["conflict_share"]["a"] == pytest.approx(np.mean([conflict for _, conflict in fates]))


@pytest.mark.paper("psd-2016", where="Table 1")
def test_targets_follow_from_the_level_and_the_variance() -> None:
    found = [
        target_rmse(level, variance) for level, variance in ((0.2, 0.22), (0.4, 0.24), (0.2, 0.2716), (0.4, 0.2716))
    ]
    assert [round(one, 3) for one in found] == [0.21, 0.31, 0.233, 0.33]


@pytest.mark.parametrize("scale", ["semantic", "distance"])
def test_the_target_is_the_level_of_the_variance_that_the_scale_names(scale: str) -> None:
    values = ["flu", "burn", "measles", "flu", "fracture", "disease"]
    variance = {
        "semantic": stats.semantic_variance(values, ILLNESSES),
        "distance": stats.distance_variance(values, ILLNESSES),
    }[scale]
    for method in ("semantic-noise", "semantic-noise-joint"):
        records, _ = records_of({"a": values, "x": [1.0, 2.0, 3.0, 4.0, 5.0, 11.0]})
        masker = method_of(method, {"noise_level": 0.25, "scale": scale}).fit(records, np.random.default_rng(0))
        targets = masker.facts()["target_rmse"]
        assert targets["a"] == pytest.approx(0.5 * math.sqrt(variance), rel=1e-12)
        assert targets["x"] == pytest.approx(0.5 * np.std([1, 2, 3, 4, 5, 11], ddof=1) / 10, rel=1e-12)


def test_candidates_may_be_all_concepts_those_observed_or_leaves() -> None:
    values = ["flu", "burn", "infection"] * 200
    seen = {
        kind: set(masked("semantic-noise", {"a": values}, noise_level=1, candidates=kind)[0])
        for kind in ("taxonomy", "observed", "leaves")
    }
    assert seen["observed"] == {"flu", "burn", "infection"}
    assert seen["leaves"] == {"flu", "measles", "burn", "fracture"}
    assert seen["taxonomy"] == set(ILLNESSES.ids)


def test_a_column_added_to_the_step_changes_nothing_in_the_others() -> None:
    columns = {"a": ["flu", "burn", "measles", None] * 10, "x": [float(n) for n in range(40)]}
    alone = masked("semantic-noise", {"a": columns["a"]}, noise_level=0.5)[0]
    assert masked("semantic-noise", columns, noise_level=0.5)[0] == alone
    twins = masked("semantic-noise", {"a": columns["a"], "b": columns["a"]}, noise_level=0.5)
    assert twins[0] == alone != twins[1]


# ------------------------------------------------------------------------------------------------ rows


ROWS = {
    "a": ["flu", "burn", "measles", None, "fracture", "flu", "disease"] * 30,
    "b": ["flu", "burn", "flu", "injury", None, "measles", "disease"] * 30,
    "x": [float(n % 17) for n in range(210)],
}


@pytest.mark.parametrize("distribution", ["normal", "laplace"])
@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
def test_rows_are_masked_alike_in_any_chunks_and_in_any_order(method: str, distribution: str) -> None:
    records, codes = records_of(ROWS)
    parameters = {"noise_level": 0.4, "distribution": distribution}
    masker = method_of(method, parameters).fit(records, np.random.default_rng(0))
    rows = np.arange(210) + 2**35
    whole = masker.apply(codes, rows, KEY)
    for chunk in (1, 3, 64, 209):
        parts = apply_by_row(masker, codes, rows, KEY, chunk)
        assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(parts, whole, strict=True))
    order = np.random.default_rng(5).permutation(210)
    turned = masker.apply([one[order] for one in codes], rows[order], KEY)
    assert all(np.array_equal(one, other[order], equal_nan=True) for one, other in zip(turned, whole, strict=True))


def test_what_is_counted_comes_with_the_rows_and_adds_up() -> None:
    records, codes = records_of(ROWS)
    masker = method_of("semantic-noise", {"noise_level": 2}).fit(records, np.random.default_rng(0))
    (_, whole), (_, again) = (masker.apply_and_count(codes, np.arange(210), KEY) for _ in range(2))
    parts = [
        masker.apply_and_count([one[part] for one in codes], np.arange(210)[part], KEY)[1]
        for part in (slice(0, 50), slice(50, 210))
    ]
    assert whole[:, 0].tolist() == [180, 180, 0]
    assert whole[0, 1] > 0
    assert np.array_equal(whole, again)
    assert np.array_equal(whole, sum(parts))
    assert masker.counted_facts(None)["truncated_share"] == {"a": 0.0, "b": 0.0}


def test_levels_may_be_given_for_each_column_and_for_each_record() -> None:
    for method in ("semantic-noise", "semantic-noise-joint"):
        one, two, three = masked(method, ROWS, noise_level=[0, 0.5, 0])
        assert one == ROWS["a"]
        assert two != ROWS["b"]
        assert list(three) == ROWS["x"]
        of_rows = [0.0, 0.7] * 105
        released = masked(method, ROWS, noise_level=of_rows)
        steady = masked(method, ROWS, noise_level=0.7)
        for before, after, with_noise in zip(ROWS.values(), released, steady, strict=True):
            assert list(after)[::2] == before[::2]
            assert np.array_equal(list(after)[1::2], list(with_noise)[1::2])
        records, _ = records_of(ROWS)
        target = method_of(method, {"noise_level": of_rows}).fit(records, np.random.default_rng(0))
        mean = method_of(method, {"noise_level": 0.35}).fit(records, np.random.default_rng(0))
        assert target.facts()["target_rmse"]["a"] == pytest.approx(mean.facts()["target_rmse"]["a"])


def test_as_many_levels_as_columns_are_those_of_the_columns_even_if_there_are_as_many_records() -> None:
    released = masked("semantic-noise", {"a": ["flu", "burn"], "b": ["flu", "burn"]}, noise_level=[0, 3.0])
    assert released[0] == ["flu", "burn"]


# ------------------------------------------------------------------------------------------------ several columns


@settings(max_examples=examples(30))
@given(
    case=hierarchies_with_columns(columns=2, min_records=2, max_records=9, max_concepts=8),
    numbers=st.lists(st.integers(0, 6), min_size=9, max_size=9),
    gaps=st.sets(st.integers(0, 8), max_size=3),
)
def test_correlations_are_those_of_the_records_one_by_one(case: Any, numbers: list[int], gaps: set[int]) -> None:
    parents, (a, b) = case
    taxonomy = taxonomy_of(parents)
    x = [float(number) for number in numbers[: len(a)]]
    y = [float(number) ** 2 + n % 3 for n, number in enumerate(x)]
    first: list[Any] = [None if n in gaps and n else value for n, value in enumerate(a)]
    records, _ = records_of({"a": first, "b": b, "x": x, "y": y}, taxonomy, measure="ancestor")
    found = semantic_noise_joint.correlations(records)

    def sd(one: str, other: str) -> float:
        return taxonomy.distance(one, other, "ancestor")

    def apart(one: float, other: float) -> float:
        return abs(one - other)

    both = [n for n, value in enumerate(first) if value is not None]
    pick = [[column[n] for n in both] for column in (first, b, x)]
    assert found[0, 1] == pytest.approx(oracles.distance_correlation(pick[0], pick[1], sd, sd), abs=1e-6)
    assert found[0, 2] == pytest.approx(oracles.distance_correlation(pick[0], pick[2], sd, apart), abs=1e-6)
    assert found[1, 2] == pytest.approx(oracles.distance_correlation(b, x, sd, apart), abs=1e-6)
    if np.ptp(x) and np.ptp(y):
        assert found[2, 3] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
    assert np.array_equal(found, found.T)
    assert np.array_equal(np.diag(found), np.ones(4))


def test_noise_of_several_columns_has_the_covariance_of_the_columns() -> None:
    rng = np.random.default_rng(4)
    n = 40_000
    x = rng.normal(size=n)
    columns = {"x": x, "y": 3 * (0.8 * x + 0.6 * rng.normal(size=n)), "z": rng.normal(size=n)}
    for distribution in ("normal", "laplace"):
        released = masked(
            "semantic-noise-joint",
            {name: values.tolist() for name, values in columns.items()},
            noise_level=0.2,
            distribution=distribution,
        )
        noise = np.array([np.array(after) - before for after, before in zip(released, columns.values(), strict=True)])
        asked = 0.2 * np.cov(list(columns.values()))
        np.testing.assert_allclose(
            np.cov(noise), asked, atol=0.04 * np.sqrt(np.outer(np.diag(asked), np.diag(asked))).max()
        )
        if distribution == "laplace":
            for one in noise:
                assert kstest(one / one.std(), laplace(scale=math.sqrt(0.5)).cdf).pvalue > 1e-4


@settings(max_examples=examples(25))
@given(
    case=hierarchies_with_columns(columns=2, min_records=2, max_records=12, max_concepts=8, one_root=True),
    nearest=st.booleans(),
)
def test_each_cell_is_directed_by_the_original_value_of_its_partner(case: Any, nearest: bool) -> None:
    parents, (a, b) = case
    taxonomy = taxonomy_of(parents)
    columns = {"a": a, "b": [*b[:-1], None]}
    records, codes = records_of(columns, taxonomy)
    parameters = {"noise_level": 0.5, "round": "nearest" if nearest else "up"}
    masker = method_of("semantic-noise-joint", parameters).fit(records, np.random.default_rng(0))
    rows = np.arange(len(a))
    released = concepts_of(masker, masker.apply(codes, rows, KEY))
    standard = {name: normals(row_words(KEY, rows, f"noise of {name}")[0]) for name in columns}
    both = [n for n in rows if columns["b"][n] is not None]
    correlation = oracles.distance_correlation(
        [a[n] for n in both], [b[n] for n in both], taxonomy.distance, taxonomy.distance
    )
    root = semantic_noise_joint.root_of(np.array([[1, correlation], [correlation, 1]]))
    for own, other, place in (("a", "b", 0), ("b", "a", 1)):
        present = [value for value in columns[own] if value is not None]
        deviation = math.sqrt(stats.distance_variance(present, taxonomy))
        mean = oracles.semantic_mean(present, list(taxonomy.ids), taxonomy.distance)
        for n in rows:
            if columns[own][n] is None:
                assert released[place][n] is None
                continue
            partner = columns[other][n]
            z = (
                root[place, 0] * standard["a"][n] + root[place, 1] * standard["b"][n]
                if partner is not None
                else standard[own][n]
            )
            noise = math.sqrt(0.5) * deviation * z
            if abs(noise) < 1e-7:
                continue
            allowed, _, _ = oracles.noise_replacements(
                columns[own][n], partner or mean, noise, taxonomy.ids, taxonomy.distance, nearest=nearest
            )
            assert released[place][n] in allowed


def test_one_column_alone_takes_independent_noise() -> None:
    alone = masked("semantic-noise-joint", {"a": ROWS["a"]}, noise_level=0.4)
    assert alone == masked("semantic-noise", {"a": ROWS["a"]}, noise_level=0.4, scale="distance")


def test_a_nominal_column_among_numbers_is_directed_by_its_mean() -> None:
    records, _ = records_of({"a": ROWS["a"], "x": ROWS["x"]})
    masker = method_of("semantic-noise-joint", {"noise_level": 0.4}).fit(records, np.random.default_rng(0))
    assert masker.columns[0].partner is None
    assert masker.mixing[0, 1] > 0


def test_partners_are_the_most_correlated_and_pairs_take_the_best_first() -> None:
    together = np.array([[1, 0.9, 0.8, 0.1], [0.9, 1, 0.85, 0.2], [0.8, 0.85, 1, 0.3], [0.1, 0.2, 0.3, 1]])
    comparable = ~np.eye(4, dtype=bool)
    partners = [semantic_noise_joint.partner_of(place, together, comparable) for place in range(4)]
    assert partners == [1, 0, 1, 2]
    pairs = semantic_noise_joint.match_columns(together, comparable)
    assert [tuple(np.flatnonzero(row)) for row in pairs] == [(1,), (0,), (3,), (2,)]
    assert not semantic_noise_joint.match_columns(together[:3, :3], comparable[:3, :3])[2].any()


@given(seed=st.integers(0, 500), n=st.integers(1, 7))
def test_pairs_are_disjoint_greedy_and_leave_at_most_one_alone(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    together = rng.random((n, n))
    together = (together + together.T) / 2
    pairs = semantic_noise_joint.match_columns(together, ~np.eye(n, dtype=bool))
    assert np.array_equal(pairs, pairs.T)
    assert (pairs.sum(axis=1) <= 1).all()
    assert (pairs.sum(axis=1) == 0).sum() == n % 2
    free = set(range(n))
    while len(free) > 1:
        a, b = max(itertools.combinations(sorted(free), 2), key=lambda pair: together[pair])
        assert pairs[a, b]
        free -= {a, b}


def test_disjoint_pairs_have_independent_noise() -> None:
    records, _ = records_of({**ROWS, "c": ROWS["a"][::-1], "y": ROWS["x"][::-1]})
    masker = method_of("semantic-noise-joint", {"noise_level": 0.4, "pairing": "disjoint"}).fit(
        records, np.random.default_rng(0)
    )
    covariance = masker.mixing @ masker.mixing.T
    off = np.abs(covariance - np.eye(5)) > 1e-9
    assert (off.sum(axis=1) <= 1).all()
    partners = [column.partner for column in masker.columns]
    for place, partner in enumerate(partners):
        assert partner is None or partners[partner] == place


def test_an_indefinite_matrix_keeps_its_variances() -> None:
    together = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(together).min() < 0
    root = semantic_noise_joint.root_of(together)
    np.testing.assert_allclose(np.diag(root @ root.T), 1, rtol=1e-12)
    proper = np.array([[1.0, 0.6], [0.6, 1.0]])
    np.testing.assert_allclose(semantic_noise_joint.root_of(proper) @ semantic_noise_joint.root_of(proper).T, proper)


def test_a_flat_reference_directs_like_the_one_it_is() -> None:
    """A column of one value has no correlation; its value still is the reference."""
    columns = {"a": ["flu", "burn", "measles"] * 30, "b": ["flu"] * 90}
    records, codes = records_of(columns)
    masker = method_of("semantic-noise-joint", {"noise_level": 0.4}).fit(records, np.random.default_rng(0))
    assert masker.columns[0].partner == 1
    assert concepts_of(masker, masker.apply(codes, np.arange(90), KEY))[1] == columns["b"]


def strongly_correlated(n: int, seed: int) -> tuple[anonto.Taxonomy, list[str], list[str]]:
    taxonomy = tree(4, 3)
    rng = np.random.default_rng(seed)
    leaves = [c for c in taxonomy.ids if len(c) == 5]
    a = rng.choice(leaves, n).tolist()
    b = [one if rng.random() < 0.5 else one[:3] + "".join(rng.choice(list("012"), 2)) for one in a]
    return taxonomy, a, b


def test_correlated_noise_keeps_the_distance_correlation_better_at_equal_variance() -> None:
    taxonomy, a, b = strongly_correlated(400, 6)
    records, codes = records_of({"a": a, "b": b}, taxonomy)
    kept: dict[str, list[float]] = {"semantic-noise": [], "semantic-noise-joint": []}
    for method, found in kept.items():
        masker = method_of(method, {"noise_level": 0.1, "scale": "distance"}).fit(records, np.random.default_rng(0))
        for seed in range(12):
            one, other = concepts_of(masker, masker.apply(codes, np.arange(400), Seed(seed).key()))
            found.append(stats.distance_correlation(one, other, taxonomy, taxonomy))
    assert np.mean(kept["semantic-noise-joint"]) > np.mean(kept["semantic-noise"])


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
@pytest.mark.parametrize("level", [-0.1, math.inf, math.nan, True, "much", None, [], [0.1, -1], [0.1, math.nan]])
def test_a_noise_level_out_of_range_names_the_parameter(method: str, level: object) -> None:
    with pytest.raises(ParameterError, match="noise_level must be a finite number, 0 or more"):
        method_of(method, {"noise_level": level})


@pytest.mark.parametrize("parameter", ["distribution", "round", "candidates", "scale", "pairing"])
def test_a_word_that_is_not_known_lists_the_known_ones(parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"{parameter} must be one of .*; got 'other'"):
        method_of("semantic-noise-joint", {"noise_level": 0.1, parameter: "other"})


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
def test_levels_of_another_length_are_refused_with_the_lengths_that_would_do(method: str) -> None:
    with pytest.raises(
        ParameterError, match=r"each of the 3 columns, or one for each of the 210 records; got '5 numbers'"
    ):
        masked(method, ROWS, noise_level=[0.1] * 5)


def test_levels_of_records_need_all_records() -> None:
    table = pl.DataFrame({"a": ["flu", None, "burn", "measles"]})
    plan = {
        "columns": {"a": {"ontology": ILLNESSES, "missing": "drop"}},
        "steps": [{"method": "semantic-noise", "columns": ["a"], "noise_level": [0.1, 0.2, 0.3]}],
    }
    with pytest.raises(ParameterError, match="where records are dropped"):
        anonto.mask(table, plan, seed=1 << 90)


def test_columns_of_different_taxonomies_are_named_with_what_to_do() -> None:
    nerves = anonto.read_ontology("nervous-system")
    table = pl.DataFrame({"a": ["flu", "burn"], "b": ["COMA", "HZO"], "x": [1, 2]})
    plan: dict[str, Any] = {
        "columns": {"a": {"ontology": ILLNESSES}, "b": {"ontology": nerves}, "x": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise-joint", "columns": ["a", "b", "x"], "noise_level": 0.1}],
    }
    with pytest.raises(PlanError, match="'a', 'b' are different taxonomies; give them the same ontology"):
        anonto.mask(table, plan, seed=1 << 90)
    plan["steps"][0]["method"] = "semantic-noise"
    assert anonto.mask(table, plan, seed=1 << 90).table.shape == (2, 3)


def test_the_same_domain_read_twice_is_one_taxonomy() -> None:
    again = anonto.Taxonomy(**{name: getattr(ILLNESSES, name) for name in ILLNESSES.__dataclass_fields__})
    table = pl.DataFrame({"a": ["flu", "measles"], "b": ["flu", "infection"]})
    for ontologies, root in (((ILLNESSES, again), "ontology"), ((ILLNESSES, ILLNESSES), "infection")):
        plan = {
            "columns": {name: {"ontology": one, "root": root} for name, one in zip("ab", ontologies, strict=True)},
            "steps": [{"method": "semantic-noise-joint", "columns": ["a", "b"], "noise_level": 0.4}],
        }
        assert anonto.mask(table, plan, seed=1 << 90).table.shape == (2, 2)
    plan["columns"]["b"]["root"] = "ontology"
    with pytest.raises(PlanError, match="takes the value of one nominal"):
        anonto.mask(table, plan, seed=1 << 90)


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
def test_columns_without_one_ontology_are_refused(method: str) -> None:
    table = pl.DataFrame({"a": ["flu", "burn", "flu"]})
    for ontology, found in ((None, "has none"), ([ILLNESSES, ILLNESSES], "has 2")):
        plan = {
            "columns": {"a": {"ontology": ontology}},
            "steps": [{"method": method, "columns": ["a"], "noise_level": 0.1}],
        }
        with pytest.raises(PlanError, match=f"{method} needs column 'a' to be nominal.*but it {found}"):
            anonto.mask(table, plan, seed=1 << 90)


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
@pytest.mark.parametrize(
    ("values", "root", "message"),
    [
        ([None, None], "ontology", "Column 'a' has no value"),
        (["flu", "burn"], "injury", "1 distinct value is outside"),
    ],
)
def test_columns_without_a_value_or_outside_the_root_are_refused(
    method: str, values: list[Any], root: str, message: str
) -> None:
    table = pl.DataFrame({"a": pl.Series(values, dtype=pl.String)})
    plan = {
        "columns": {"a": {"ontology": ILLNESSES, "root": root}},
        "steps": [{"method": method, "columns": ["a"], "noise_level": 0.1}],
    }
    with pytest.raises(InputError, match=message):
        anonto.mask(table, plan, seed=1 << 90)


def test_numbers_that_their_type_cannot_hold_get_a_wider_one() -> None:
    import pandas as pd
    import pyarrow as pa

    table = pl.DataFrame({"x": pl.Series([0, 1, 2, 3, 250] * 8, dtype=pl.UInt8)})
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["x"], "noise_level": 1}],
    }
    released = [anonto.mask(one, plan, seed=1 << 90).table for one in (table, table.to_pandas(), table.to_arrow())]
    expected = released[0]["x"].to_list()
    assert min(expected) < 0
    assert max(expected) > 255
    assert isinstance(released[1], pd.DataFrame)
    assert isinstance(released[2], pa.Table)
    assert released[1]["x"].tolist() == expected == released[2]["x"].to_pylist()


def test_whole_numbers_stay_whole_and_the_evidence_is_of_what_was_released() -> None:
    table = pl.DataFrame({"age": list(range(50)) * 4, "weight": [f"{n / 4:.2f}" for n in range(200)]})
    plan = {
        "columns": {"age": {"kind": "numeric"}, "weight": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["age", "weight"], "noise_level": 0.001}],
    }
    release = anonto.mask(table, plan, seed=1 << 90)
    step = release.evidence["steps"][0]
    moved = (release.table["age"] - table["age"]).to_numpy()
    assert release.table["age"].dtype == pl.Int64
    assert step["unchanged"]["age"] == np.count_nonzero(moved == 0) > 0
    assert step["rmse"]["age"] == pytest.approx(math.sqrt(np.mean((moved / 49) ** 2)), abs=1e-12)
    weights = release.table["weight"].to_list()
    assert all(len(text.partition(".")[2]) <= 2 for text in weights)
    assert step["unchanged"]["weight"] == sum(a == b for a, b in zip(weights, table["weight"], strict=True))


def test_blocks_of_rows_and_the_size_of_numbers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = masked("semantic-noise-joint", ROWS, noise_level=0.4)
    monkeypatch.setattr(distance_levels, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(distance_levels, "ROWS_OF_A_THREAD", 1)
    monkeypatch.setattr(distance_levels, "SMALL", 1)
    cut = masked("semantic-noise-joint", ROWS, noise_level=0.4)
    assert all(np.array_equal(one, other) for one, other in zip(whole, cut, strict=True))


@settings(max_examples=examples(25))
@given(parents=hierarchies(max_concepts=8), data=st.data())
def test_every_released_concept_lies_in_the_domain(parents: Any, data: st.DataObject) -> None:
    taxonomy = taxonomy_of(parents)
    root = data.draw(st.sampled_from(sorted(parents)))
    inside = sorted(taxonomy.descendants(root))
    values = data.draw(st.lists(st.sampled_from(inside), min_size=1, max_size=8))
    table = pl.DataFrame({"a": values, "b": values[::-1]})
    for method in ("semantic-noise", "semantic-noise-joint"):
        plan = {
            "columns": {name: {"ontology": taxonomy, "root": root} for name in "ab"},
            "steps": [{"method": method, "columns": ["a", "b"], "noise_level": 2.0}],
        }
        released = anonto.mask(table, plan, seed=1 << 90).table
        assert set(released["a"]) | set(released["b"]) <= set(inside)


@pytest.mark.parametrize(
    ("scale", "kind", "advice"),
    [
        (1e-200, pl.Float64, "close together .* scale them up"),
        (1e-200, pl.String, "close together .* scale them up"),
        (1e300, pl.String, "far apart .* scale them down"),
    ],
)
def test_numbers_whose_variance_cannot_be_computed_are_refused(scale: float, kind: Any, advice: str) -> None:
    """They were released unchanged, or as infinite numbers."""
    table = pl.DataFrame({"x": np.arange(12) * scale}).cast(kind)
    for method in ("semantic-noise", "semantic-noise-joint"):
        step = {"method": method, "columns": ["x"], "noise_level": 0.2}
        with pytest.raises(ColumnError, match=advice):
            anonto.mask(table, {"columns": {"x": {"kind": "numeric"}}, "steps": [step]}, seed=1 << 100)
