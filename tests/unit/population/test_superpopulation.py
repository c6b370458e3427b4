"""Models of class sizes, against their formulas term by term, and against a population whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import hypergeom, nbinom

from anonto.population import superpopulation
from anonto.population.classes import SampleClasses, SizeCounts
from anonto.population.superpopulation import (
    _pitman_loss,
    _snb_misses,
    choose,
    pitman,
    population_classes,
    snb,
    zayatz,
)


def counts(*by_size: int) -> SizeCounts:
    sizes = np.arange(1, len(by_size) + 1)
    there = np.array(by_size) > 0
    return SizeCounts(sizes[there].astype(float), np.array(by_size, dtype=float)[there])


CLASSES = SizeCounts(np.array([1.0, 2, 3, 5, 8, 20, 60]), np.array([60.0, 14, 6, 3, 2, 1, 1]))


def log_likelihood(theta: float, alpha: float, classes: SizeCounts) -> float:
    """Pitman's sampling formula without its constant, term by term."""
    total = sum(math.log(theta + i * alpha) for i in range(1, int(classes.n_classes)))
    total -= sum(math.log(theta + i) for i in range(1, int(classes.n_persons)))
    for size, number in zip(classes.sizes.astype(int), classes.counts, strict=True):
        total += number * sum(math.log(j - alpha) for j in range(1, size))
    return total


def loss(point: np.ndarray) -> float:
    return _pitman_loss(point, CLASSES.sizes, CLASSES.counts, CLASSES.n_persons, CLASSES.n_classes)[0]


def test_the_fast_likelihood_of_pitman_is_the_sum_of_its_terms_and_its_gradient_is_right() -> None:
    point = np.array([3.0, 0.4])
    alpha = 1 / (1 + math.exp(-0.4))
    expected = -log_likelihood(math.exp(3.0) - alpha, alpha, CLASSES) / CLASSES.n_persons
    assert loss(point) == pytest.approx(expected)
    _, gradient = _pitman_loss(point, CLASSES.sizes, CLASSES.counts, CLASSES.n_persons, CLASSES.n_classes)
    np.testing.assert_allclose(gradient, approx_fprime(point, loss, 1e-7), rtol=1e-5)


def test_no_parameters_of_pitman_are_likelier_than_those_found() -> None:
    found = pitman(CLASSES, 0.1)
    assert found is not None
    assert found.point is not None
    rng = np.random.default_rng(1)
    assert all(loss(found.point + rng.normal(0, 0.3, 2)) >= loss(found.point) for _ in range(200))


def test_zayatz_follows_the_hypergeometric_distribution() -> None:
    n, n_population = int(CLASSES.n_persons), int(CLASSES.n_persons) * 5
    chances = [hypergeom.pmf(1, n_population, int(size), n) for size in CLASSES.sizes]
    among = sum(number * chance for number, chance in zip(CLASSES.counts, chances, strict=True))
    expected = 60 * (60 * chances[0] / among) / 0.2 / n_population
    assert zayatz(CLASSES, 0.2).share == pytest.approx(expected)


def test_the_equations_of_snb_are_sums_over_the_people_of_classes() -> None:
    fraction, alpha, beta, n_classes = 0.3, 0.7, 0.4, 100.0
    people = np.arange(1, 400)
    chances = nbinom.pmf(people - 1, alpha, beta)
    one = n_classes * (chances * people * fraction * (1 - fraction) ** (people - 1)).sum()
    two = n_classes * (chances * people * (people - 1) / 2 * fraction**2 * (1 - fraction) ** (people - 2.0)).sum()
    point = np.array([math.log(alpha), math.log(beta / (1 - beta))])
    np.testing.assert_allclose(_snb_misses(point, n_classes, fraction, one, two), 0, atol=1e-12)


def test_shlossers_estimate_counts_the_classes_that_were_not_sampled() -> None:
    missed = sum(number * 0.8**size for size, number in zip(CLASSES.sizes, CLASSES.counts, strict=True))
    one = sum(
        number * size * 0.2 * 0.8 ** (size - 1) for size, number in zip(CLASSES.sizes, CLASSES.counts, strict=True)
    )
    assert population_classes(CLASSES, 0.2) == pytest.approx(CLASSES.n_classes + 60 * missed / one)


def test_snb_finds_the_truth_where_its_assumption_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    people = 1 + rng.negative_binomial(0.8, 0.25, 40_000)
    monkeypatch.setattr(superpopulation, "population_classes", lambda *_: 40_000.0)
    sampled = rng.binomial(people, 0.3)
    found = snb(SampleClasses(sampled[sampled > 0], np.array([0.3]), 1.0).histogram, 0.3)
    assert found is not None
    assert found.share == pytest.approx(np.count_nonzero(people == 1) / people.sum(), rel=0.05)


def test_samples_without_uniques_or_with_nothing_else_have_no_surprises() -> None:
    assert zayatz(counts(0, 5), 0.1).share == 0
    nobody = snb(counts(0, 5), 0.1)
    assert nobody is not None
    assert nobody.share == 0
    assert pitman(counts(30), 0.1) is None
    assert snb(counts(30), 0.1) is None
    assert zayatz(counts(30), 0.1).share == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fraction", "estimates", "chosen"),
    [
        (0.1, {"pitman": 0.2, "zayatz": 0.3, "snb": 0.1}, "pitman"),
        (0.1, {"pitman": None, "zayatz": 0.3, "snb": 0.1}, "zayatz"),
        (0.11, {"pitman": 0.2, "zayatz": 0.3, "snb": 0.1}, "snb"),
        (0.5, {"pitman": 0.2, "zayatz": 0.3, "snb": 0.4}, "zayatz"),
        (0.5, {"pitman": 0.2, "zayatz": 0.3, "snb": None}, "zayatz"),
    ],
)
def test_the_rule_of_dankar_chooses(fraction: float, estimates: dict[str, float | None], chosen: str) -> None:
    assert choose(estimates, fraction) == chosen
