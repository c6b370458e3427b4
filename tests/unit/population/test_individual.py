"""The individual risk, its series and its recursion, against sums term by term."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from anonto.population.classes import SampleClasses
from anonto.population.individual import chance_below, individual_risk, mean_inverse


def by_summing(size: int, fraction: float, discount: float) -> float:
    """The mean of 1/F over the numbers of people that a class of this size may have."""
    others = np.arange(int(nbinom.ppf(1 - 1e-15, size - discount, fraction)) + 2)
    return float((nbinom.pmf(others, size - discount, fraction) / (size + others)).sum())


@given(st.integers(1, 60), st.floats(0.01, 1.0), st.sampled_from([0.0, 0.3, 0.95]))
def test_the_risk_is_the_mean_of_one_over_the_people_of_a_class(size: int, fraction: float, discount: float) -> None:
    found = mean_inverse(np.array([float(size)]), np.array([fraction]), discount)
    assert found[0] == pytest.approx(by_summing(size, fraction, discount), rel=1e-9)


@pytest.mark.parametrize("fraction", [1e-12, 1e-6, 0.03, 0.0999999, 0.1, 0.5, 0.999])
def test_small_classes_have_the_closed_forms_of_benedetti_and_franconi(fraction: float) -> None:
    found = mean_inverse(np.array([1.0]), np.array([fraction]))
    assert found[0] == pytest.approx(-fraction / (1 - fraction) * math.log(fraction), rel=1e-9)
    if fraction < 0.9:  # the closed form itself cancels near 1
        two = fraction / (1 - fraction) ** 2 * (fraction * math.log(fraction) + 1 - fraction)
        assert mean_inverse(np.array([2.0]), np.array([fraction]))[0] == pytest.approx(two, rel=1e-7)


def test_the_risk_does_not_jump_where_the_way_to_compute_it_changes() -> None:
    sizes = np.arange(1.0, 40.0)
    below, above = (mean_inverse(sizes, np.full(39, one)) for one in (0.1 - 1e-12, 0.1))
    np.testing.assert_allclose(below, above, rtol=1e-9)
    risks = mean_inverse(sizes, np.full(39, 0.05))
    assert (np.diff(risks) < 0).all()


def test_extreme_fractions_and_sizes_have_their_limits() -> None:
    sizes = np.array([1.0, 2.0, 1e3, 1e6])
    np.testing.assert_allclose(mean_inverse(sizes, np.ones(4)), 1 / sizes)
    np.testing.assert_allclose(mean_inverse(sizes[1:], np.full(3, 1e-9)), 1e-9 / (sizes[1:] - 1), rtol=1e-6)


@pytest.mark.paper("sdcMicro", "tests of indivRisk, exact")
def test_the_risks_of_the_example_with_weights_are_those_of_sdcmicro() -> None:
    sizes, people = np.array([3, 1, 1, 2, 1]), np.array([18 + 39 + 51, 45.5, 17, 92 + 8, 123.5])
    found = individual_risk(SampleClasses(sizes, sizes / people, float(people.sum())))
    expected = [0.01355297, 0.08579129, 0.17707583, 0.01877883, 0.03931625]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_the_chance_of_a_small_class_is_that_of_the_negative_binomial() -> None:
    sizes, fractions = np.array([1, 2, 4, 5, 7]), np.array([0.1, 0.5, 0.3, 0.2, 0.9])
    for discount in (0.0, 0.4):
        found = chance_below(SampleClasses(sizes, fractions, 100.0), 5, discount)
        np.testing.assert_allclose(found, nbinom.cdf(4 - sizes, sizes - discount, fractions))


def test_known_people_leave_nothing_to_chance() -> None:
    classes = SampleClasses(np.array([1, 2]), np.array([0.25, 0.5]), 8.0, np.array([4, 4]))
    assert individual_risk(classes).tolist() == [0.25, 0.25]
    assert chance_below(classes, 5).tolist() == [1.0, 1.0]
    assert chance_below(classes, 4).tolist() == [0.0, 0.0]
