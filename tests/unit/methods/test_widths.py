"""The pruning scheme against its definition, the lemmas, and the numbers that the paper prints."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import oracles
from anonto.encoding.columns import encode
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NumericSpace, TextSpace, nominal_space
from anonto.errors import ParameterError, TooFewRecordsError
from anonto.methods.widths import (
    equi_depth_disclosure,
    equi_width_disclosure,
    numeric_records,
    partition_of,
    valid_widths,
    width_for_degree,
)
from strategies import taxonomy_of

PRINTED = {
    # n, width, correlation: the printed P, and the q that it comes from
    (10_000, 0.2, 0.1): (0.3466, 2),
    (10_000, 0.2, 0.5): (0.2986, 6),
    (10_000, 0.2, 0.9): (0.1450, 21),
    (10_000, 0.4, 0.1): (0.1973, 13),
    (10_000, 0.4, 0.5): (0.1060, 33),
    (10_000, 0.4, 0.9): (0.0461, 100),
    (10_000, 0.8, 0.1): (0.0443, 105),
    (10_000, 0.8, 0.5): (0.0254, 211),
    (10_000, 0.8, 0.9): (0.0125, 498),
    (100_000, 0.2, 0.1): (0.1324, 24),
    (100_000, 0.2, 0.5): (0.0635, 66),
    (100_000, 0.2, 0.9): (0.0250, 215),
    (100_000, 0.4, 0.1): (0.0359, 137),
    (100_000, 0.4, 0.5): (0.0172, 339),
    (100_000, 0.4, 0.9): (0.0069, 1004),
    (100_000, 0.8, 0.1): (0.0066, 1056),
    (100_000, 0.8, 0.5): (0.0036, 2115),
    (100_000, 0.8, 0.9): (0.0017, 4983),
}
"""Table 1 of the paper."""


def sizes_by_definition(columns: list[list[float]], bins: int) -> list[int]:
    """The sizes of the bins with records, in exact arithmetic."""
    widths = [Fraction(max(column) - min(column)) / bins for column in columns]
    places = [
        tuple(
            oracles.equi_width_bin(x, min(column), max(column), width)
            for x, column, width in zip(row, columns, widths, strict=True)
        )
        for row in zip(*columns, strict=True)
    ]
    return sorted(Counter(places).values())


def records_of(columns: list[list[float]]) -> Records:
    return numeric_records({f"x{n}": column for n, column in enumerate(columns)})


# ------------------------------------------------------------------------------------------------ printed numbers


@pytest.mark.paper("pakdd-2010", "Table 1")
@pytest.mark.parametrize("cell", PRINTED, ids=str)
def test_the_printed_table_is_a_formula(cell: tuple[int, float, float]) -> None:
    """P = ln(q)/q with q = ⌊n · Pr{X, Y ∈ [2 − t, 2]}⌋ of the bivariate normal: nothing was simulated, H(q) was cut."""
    n, width, correlation = cell
    normal = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    corner = normal.cdf([2, 2], lower_limit=[2 - width, 2 - width])
    q = math.floor(n * corner)
    printed, reconstructed = PRINTED[cell]
    assert q == reconstructed
    assert math.log(q) / q == pytest.approx(printed, abs=5.1e-5)


@pytest.mark.paper("pakdd-2010", "Table 1")
def test_the_bin_behind_the_printed_table_is_not_the_smallest() -> None:
    """With n = 10⁵, t = .8 and ρ = .9 the corner has 4983 records; the smallest bin, off the diagonal, has one."""
    rng = np.random.default_rng(9)
    points = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 250_000)
    inside = points[(np.abs(points) <= 2).all(axis=1)][:100_000]
    found = partition_of(numeric_records({"x": inside[:, 0], "y": inside[:, 1]}), width=0.8)
    assert found["smallest_bin"] == 1
    assert found["singletons"] >= 1
    assert found["disclosure"] == 1.0


@pytest.mark.paper("pakdd-2010", "Table 1")
@pytest.mark.parametrize("cell", PRINTED, ids=str)
def test_the_smallest_bin_of_every_printed_cell_is_smaller_than_its_corner(cell: tuple[int, float, float]) -> None:
    """Simulated beside the formula: what is known of the width discloses more in every cell than the table says."""
    n, width, correlation = cell
    rng = np.random.default_rng(9)
    points = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n + n // 2)
    inside = points[(np.abs(points) <= 2).all(axis=1)][:n]
    assert inside.shape[0] == n
    found = partition_of(numeric_records({"x": inside[:, 0], "y": inside[:, 1]}), width=width)
    _, corner = PRINTED[cell]
    assert found["smallest_bin"] < corner
    assert found["disclosure"] > 1 / corner
    assert (found["disclosure"] == 1.0) == (found["singletons"] > 0 or found["smallest_bin"] == 2)


@pytest.mark.paper("pakdd-2010", "Lemmas 1 and 2")
def test_the_lemmas_have_their_values() -> None:
    assert equi_width_disclosure(10) == pytest.approx(0.2929, abs=5e-5)
    assert equi_depth_disclosure(10) == pytest.approx(0.2700, abs=5e-5)
    assert equi_depth_disclosure(100) == pytest.approx(0.04989, abs=5e-6)
    assert equi_depth_disclosure(1000) == pytest.approx(0.007292, abs=5e-7)


@given(q=st.integers(1, 2000))
def test_the_lemmas_are_the_means_over_their_partitionings(q: int) -> None:
    """Lemma 2: smallest bins of 2 … q + 1. Lemma 1: depths of 2 … q + 1 in q + 2 records, one bin from the half on."""
    n = q + 2
    by_width = [1 / (size - 1) for size in range(2, q + 2)]
    by_depth = [1 / (k - 1) if k <= n // 2 else 1 / n for k in range(2, q + 2)]
    assert equi_width_disclosure(q) == pytest.approx(sum(by_width) / q)
    assert equi_depth_disclosure(q) == pytest.approx(sum(by_depth) / q)


def test_the_constant_of_lemma_1_goes_to_the_corrected_one() -> None:
    constants = [q * equi_depth_disclosure(q) - math.log(q) for q in (2, 100, 100_000)]
    assert constants[0] == pytest.approx(0.557, abs=5e-4)
    assert constants[-1] == pytest.approx(np.euler_gamma - math.log(2) + 0.5, abs=1e-4)
    assert all(constant < np.euler_gamma + 0.2 for constant in constants)
    others = [q * equi_width_disclosure(q) - math.log(q) for q in (1, 10, 100_000)]
    assert others[0] == 1
    assert others == sorted(others, reverse=True)
    assert others[-1] > np.euler_gamma


# ------------------------------------------------------------------------------------------------ the scheme


@given(
    columns=st.integers(1, 2).flatmap(
        lambda p: st.integers(2, 60).flatmap(
            lambda n: st.lists(st.lists(st.integers(0, 12).map(float), min_size=n, max_size=n), min_size=p, max_size=p)
        )
    )
)
def test_valid_widths_are_those_of_the_definition(columns: list[list[float]]) -> None:
    ranges = [max(column) - min(column) for column in columns]
    n_distinct = len(set(zip(*columns, strict=True)))
    expected, b = [], 2
    while True:
        sizes = sizes_by_definition(columns, b)
        if sizes[0] < 2:
            break
        expected.append((b, len(sizes), sizes[0]))
        if len(sizes) == n_distinct:
            break
        b += 1
    if not expected:
        with pytest.raises(TooFewRecordsError, match="no valid width under the pruning scheme"):
            valid_widths(records_of(columns))
        return
    found = valid_widths(records_of(columns))
    assert [(one.bins, one.degree, one.smallest_bin) for one in found.valid] == expected
    groups: dict[int, int] = {}
    for bins, _, smallest in expected:
        groups[smallest] = max(bins, groups.get(smallest, 0))
    assert {one.smallest_bin: one.bins for one in found.partitionings} == groups
    assert found.q == len(groups)
    assert found.disclosure_if_unknown == pytest.approx(np.mean([1 / (size - 1) for size in groups]))
    assert found.valid[-1].widths == tuple(extent / expected[-1][0] for extent in ranges)


def test_the_search_ends_at_the_first_width_that_fails_even_if_a_finer_one_would_pass() -> None:
    x = [0, 0, 1, 2, 2, 3, 3, 4, 4, 4]
    smallest = [sizes_by_definition([x], b)[0] for b in range(2, 9)]
    assert 1 in smallest
    found = valid_widths(records_of([x]))
    assert [one.smallest_bin for one in found.valid] == smallest[: smallest.index(1)]
    assert found.refused is not None
    assert (found.refused.bins, found.refused.smallest_bin) == (2 + smallest.index(1), 1)


def test_an_upper_bound_sets_the_first_candidate() -> None:
    x, y = [0, 0, 5, 5, 10, 10], [0, 0, 1, 1, 2, 2]
    assert valid_widths(records_of([x, y]), widest=[3.4, 2]).valid[0].bins == 3
    assert valid_widths(records_of([x, y]), widest=[10, 0.5]).valid[0].bins == 4
    assert valid_widths(records_of([x, y]), widest=10).valid[0].bins == 1
    for wrong in (0, float("nan"), "wide", [1]):
        with pytest.raises(ParameterError, match="widest must be"):
            valid_widths(records_of([x, y]), widest=wrong)


def test_no_valid_width_says_the_counts() -> None:
    with pytest.raises(TooFewRecordsError, match=r"2 bins in each column, has 1 bin with a single record among 2;"):
        valid_widths(records_of([[0, 1, 2, 3, 100]]))
    with pytest.raises(TooFewRecordsError, match="no valid width"):
        valid_widths(records_of([[1.0]]))
    with pytest.raises(TooFewRecordsError, match="no valid width"):
        valid_widths(records_of([[]]))


def test_singletons_are_merged_with_the_nearest_bin_on_request() -> None:
    x = [0, 0, 1, 1, 7, 20, 20, 40]
    merged = valid_widths(records_of([x]), merge_singletons=True)
    first = merged.valid[0]
    assert (first.bins, first.degree, first.smallest_bin, first.singletons) == (2, 2, 3, 0)
    assert merged.valid[-1].smallest_bin == 2
    # The last of five bins (width 8) holds 40 alone and joins that of 20; 7 is with the first ones.
    five = next(one for one in valid_widths(records_of([x]), widest=8, merge_singletons=True).valid if one.bins == 5)
    assert (five.degree, five.smallest_bin) == (2, 3)


def test_a_singleton_joins_the_first_of_equally_near_bins_and_two_join_each_other() -> None:
    # Bins of width 1: 0 0 | 2 | 4 4 4 | 8 8 8; the one of 2 is as near to both sides and joins the first.
    found = valid_widths(records_of([[0, 0, 2, 4, 4, 4, 8, 8, 8]]), widest=1, merge_singletons=True).valid[0]
    assert (found.bins, found.degree, found.smallest_bin) == (8, 3, 3)
    # 0 | 1 | 9 9: the two singletons become one bin of two.
    found = valid_widths(records_of([[0, 1, 9, 9]]), widest=1, merge_singletons=True).valid[0]
    assert (found.bins, found.degree, found.smallest_bin) == (9, 2, 2)


def test_columns_of_concepts_keep_the_bins_of_the_step_and_missing_cells_their_strata() -> None:
    tree = taxonomy_of({"all": [], "a": ["all"], "b": ["all"], "a1": ["a"], "a2": ["a"]})
    column = encode(["a1", "a2", "a1", "a2", "b", "b", "b", "b"])
    numbers = np.array([0, 1, 2, 3], dtype=float)
    codes = np.array([0, 0, 3, 3, 0, 1, 2, -1], dtype=np.int32)
    value_spaces = [
        nominal_space(column, tree, measure="wu-palmer"),
        NumericSpace(numbers, np.bincount(codes[codes >= 0])),
    ]
    records, _ = distinct_records(["illness", "days"], value_spaces, [column.codes, codes])
    assert partition_of(records, width=[2, 2])["degree"] == 5
    assert partition_of(records, width=[1, 2])["degree"] == 3
    with pytest.raises(TooFewRecordsError, match="no valid width"):
        valid_widths(records, width=[2, 2])
    complete, _ = distinct_records(["illness", "days"], value_spaces, [column.codes[:7], codes[:7]])
    found = valid_widths(complete, widest=3, width=2)
    assert (found.columns, found.others) == (("days",), ("illness",))
    assert (found.valid[0].degree, found.valid[0].smallest_bin) == (2, 3)


def test_a_width_needs_a_numeric_column() -> None:
    column = encode(["a", "b"])
    records, _ = distinct_records(["x"], [TextSpace(column.counts)], [column.codes])
    with pytest.raises(ParameterError, match="numeric or ordinal"):
        valid_widths(records)


# ------------------------------------------------------------------------------------------------ degree


@given(
    columns=st.integers(5, 40).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 50), min_size=n, max_size=n), min_size=1, max_size=2)
    ),
    wanted=st.integers(1, 45),
)
def test_the_width_for_a_degree_is_the_best_of_all(columns: list[list[int]], wanted: int) -> None:
    degrees = {b: len(sizes_by_definition(columns, b)) for b in range(1, 60)}
    found = width_for_degree(records_of(columns), wanted)
    assert found.degree == degrees[found.bins]
    n_distinct = len(set(zip(*columns, strict=True)))
    reached = [b for b, degree in degrees.items() if degree == n_distinct]
    looked_at = [b for b in degrees if not reached or b <= reached[0]]
    best = min(looked_at, key=lambda b: (abs(degrees[b] - wanted), b))
    assert found.bins == best


@pytest.mark.parametrize("degree", [0, -3, 1.5, True, "many"])
def test_a_wrong_degree_names_the_parameter(degree: object) -> None:
    with pytest.raises(ParameterError, match="degree must be a whole number, 1 or more"):
        width_for_degree(records_of([[1, 2, 3]]), degree)


@pytest.mark.parametrize("q", [0, -1, 2.5, True])
def test_a_wrong_q_names_the_parameter(q: object) -> None:
    for lemma in (equi_depth_disclosure, equi_width_disclosure):
        with pytest.raises(ParameterError, match="q must be a whole number"):
            lemma(q)
