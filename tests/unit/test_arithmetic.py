import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.arithmetic import binary_logs, dot, exponentials, logs, matrix_product, symmetric_root


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=60))
def test_a_sum_of_products_is_added_in_four_sums_in_a_fixed_order(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array([*zip(*pairs, strict=True)] or [(), ()])
    sums = [0.0] * 4
    for place, (x, y) in enumerate(pairs):
        sums[place % 4 if place < len(pairs) - len(pairs) % 4 else 0] += x * y
    assert dot(a, b) == (sums[0] + sums[1]) + (sums[2] + sums[3])
    exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction())
    size = sum(abs(x * y) for x, y in pairs)
    assert abs(Fraction(dot(a, b)) - exact) <= Fraction(size * 1e-14 + 1e-300)


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 1, 1), (5, 7, 3), (4, 0, 2)])
def test_products_of_tables_are_those_of_numpy(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    assert matrix_product(a, b) == pytest.approx(a @ b)
    assert matrix_product(a, b[:, 0]) == pytest.approx(a @ b[:, 0])
    assert matrix_product(b.T, a.T) == pytest.approx((a @ b).T)
    assert matrix_product(a > 0, np.arange(shape[1])) == pytest.approx((a > 0) @ np.arange(shape[1]))


def test_functions_are_those_of_the_c_library() -> None:
    numbers = np.random.default_rng(2).uniform(1e-3, 50.0, (20, 30))
    for function, expected in ((logs, math.log), (binary_logs, math.log2), (exponentials, math.exp)):
        assert function(numbers).tolist() == [[expected(one) for one in row] for row in numbers.tolist()]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_the_symmetric_root_is_the_one_of_the_eigenvectors(n: int) -> None:
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n))
    table = half + half.T
    values, vectors = np.linalg.eigh(table)
    root = symmetric_root(table)
    assert root == pytest.approx((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T, abs=1e-9)
    assert symmetric_root(table @ table) @ symmetric_root(table @ table) == pytest.approx(table @ table, abs=1e-9)
    assert np.array_equal(symmetric_root(np.eye(n)), np.eye(n))
