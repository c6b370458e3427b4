"""Log-linear models of the whole table, against independent computations."""

from __future__ import annotations

import numpy as np
import pytest

from anonto.encoding.record_counts import CountedRecords
from anonto.population.log_linear import _by_dependence, _fit, _independent, _judge, fit_log_linear, n_cells


def drawn(n: int, *, dependent: bool) -> CountedRecords:
    rng = np.random.default_rng(11)
    a, b, c = (rng.integers(0, high, n).astype(np.int32) for high in (12, 9, 7))
    if dependent:
        b = ((a + rng.integers(0, 2, n)) % 9).astype(np.int32)
    return CountedRecords.of([a, b, c])


TABLE = np.random.default_rng(0).poisson(0.7, (4, 3, 5)).astype(float)


def test_iterative_fitting_reaches_the_margins_of_every_interaction_and_of_the_other_columns() -> None:
    fitted = _fit(TABLE, _independent(TABLE), [(0, 1), (1, 2)])
    for kept in ((0, 1), (1, 2)):
        away = tuple(set(range(3)) - set(kept))
        np.testing.assert_allclose(fitted.sum(axis=away), TABLE.sum(axis=away), atol=1e-3)
    # Given column 1, the others are independent: the closed form of a decomposable model.
    with np.errstate(invalid="ignore"):
        closed = TABLE.sum(axis=2)[:, :, None] * TABLE.sum(axis=0)[None] / TABLE.sum(axis=(0, 2))[None, :, None]
    np.testing.assert_allclose(fitted, closed, atol=1e-3)


def test_the_criterion_is_the_sum_over_all_cells() -> None:
    fitted, fraction = _independent(TABLE), 0.2
    alone = np.nonzero(TABLE == 1)
    found = _judge(TABLE, fitted, alone, fraction, ())
    error = variance = 0.0

    def g(x: float) -> float:
        return float(x * np.exp(-x))

    def h(x: float) -> float:
        return float(np.exp(-x * (1 - fraction) / fraction))

    def slope(function: object, x: float) -> float:
        return (function(x + 1e-5) - function(x - 1e-5)) / 2e-5  # type: ignore[operator]

    def bend(x: float) -> float:
        return (h(x + 1e-4) - 2 * h(x) + h(x - 1e-4)) / 1e-8

    for own, mean in zip(TABLE.ravel(), fitted.ravel(), strict=True):
        a, b = -g(mean) * slope(h, mean), -slope(g, mean) * slope(h, mean) - g(mean) * bend(mean) / 2
        error += a * (own - mean) + b * ((own - mean) ** 2 - own)
        variance += a * a * mean + 2 * b * b * mean**2
    assert found.criterion == pytest.approx(error / variance**0.5, rel=1e-4)
    assert found.alone == pytest.approx(sum(h(one) for one in fitted[alone]))


def test_independent_columns_need_no_interaction_and_dependent_ones_get_theirs() -> None:
    independent, dependent = drawn(400, dependent=False), drawn(120, dependent=True)
    assert fit_log_linear(independent.codes, independent.counts, 0.1).interactions == ()
    found = fit_log_linear(dependent.codes, dependent.counts, 0.1)
    assert found.interactions[:1] == ((0, 1),)
    table = np.zeros((12, 9, 7))
    table[tuple(dependent.codes.T)] = dependent.counts
    assert _by_dependence(table, _independent(table))[0] == (0, 1)


def test_a_missing_cell_is_a_value_and_every_combination_is_a_cell() -> None:
    codes = np.array([[-1, 0], [0, 0], [1, 2]], dtype=np.int32)
    assert n_cells(codes) == 6
    found = fit_log_linear(codes, np.array([1, 1, 1]), 0.5)
    assert 0 < found.alone <= found.matched <= 3


def test_the_estimate_is_near_the_truth_of_a_population_that_the_model_describes() -> None:
    rng = np.random.default_rng(8)
    shares = [rng.dirichlet(np.full(width, 0.5)) for width in (20, 15, 10)]
    people = CountedRecords.of([rng.choice(one.size, 20_000, p=one).astype(np.int32) for one in shares])
    sampled = rng.binomial(people.counts, 0.1)
    there = sampled > 0
    found = fit_log_linear(people.codes[there], sampled[there], 0.1)
    truth = np.count_nonzero(people.counts[sampled == 1] == 1)
    assert found.alone == pytest.approx(truth, abs=4 * truth**0.5)
    assert found.matched == pytest.approx(float((1 / people.counts[sampled == 1]).sum()), rel=0.2)
