"""Weighted statistics: those of the same records repeated, where the weights are whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonto import stats
from anonto.encoding.weights import read_weights
from anonto.errors import AllMissingError, ColumnError
from anonto.stats import contingency
from budget import examples
from strategies import hierarchies_with_columns, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.taxonomy.taxonomy import Taxonomy

OF_ONE: list[Callable[..., Any]] = [
    stats.semantic_mean,
    stats.semantic_variance,
    stats.marginality_mean,
    stats.marginality_numerical_mean,
    stats.marginality_variance,
    stats.distance_variance,
]
OF_TWO: list[Callable[..., Any]] = [
    stats.marginality_covariance,
    stats.distance_covariance,
    stats.distance_correlation,
]
OPTIONS = st.sampled_from(
    [
        {"measure": "ancestor"},
        {"measure": "ancestor", "root": "lcs"},
        {"measure": "lin", "information_content": "data"},
    ]
)


@st.composite
def weighted_columns(draw: st.DrawFn) -> tuple[Taxonomy, list[str | None], list[str | None], list[int]]:
    parents, (a, b) = draw(hierarchies_with_columns(columns=2, max_records=8, one_root=True))
    a = [value if draw(st.integers(0, 5)) else None for value in a]
    a[0], b[0] = (min(parents), max(parents))
    weights = draw(st.lists(st.integers(0, 4), min_size=len(a), max_size=len(a)))
    return taxonomy_of(parents), a, b, [weights[0] + 1, *weights[1:]]


def repeated(values: list[Any], weights: list[int]) -> list[Any]:
    return [value for value, times in zip(values, weights, strict=True) for _ in range(times)]


@pytest.mark.filterwarnings("ignore:The squared distance")
@settings(max_examples=examples(100), deadline=None)
@given(drawn=weighted_columns(), options=OPTIONS)
def test_whole_weights_give_what_the_same_records_give_when_they_are_repeated(
    drawn: tuple[Taxonomy, list[str | None], list[str | None], list[int]], options: dict[str, str]
) -> None:
    tax, a, b, weights = drawn
    for statistic in OF_ONE:
        found = statistic(a, tax, weights=weights, **options)
        wanted = statistic(repeated(a, weights), tax, **options)
        assert found == wanted if isinstance(wanted, str) else found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    for statistic in OF_TWO:
        found = statistic(a, b, tax, tax, weights=weights, **options)
        wanted = statistic(repeated(a, weights), repeated(b, weights), tax, tax, **options)
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@settings(max_examples=examples(25), deadline=None)
@given(drawn=weighted_columns(), factor=st.sampled_from([0.001, 0.5, 3.0, 1e6]))
def test_only_the_ratios_of_weights_count_for_shares(
    drawn: tuple[Taxonomy, list[str | None], list[str | None], list[int]], factor: float
) -> None:
    tax, a, b, weights = drawn
    scaled = np.array(weights) * factor
    for statistic in (stats.distance_covariance, stats.distance_correlation):
        found = statistic(a, b, tax, tax, "ancestor", weights=scaled)
        assert found == pytest.approx(statistic(a, b, tax, tax, "ancestor", weights=weights), abs=1e-9)
    assert stats.semantic_variance(a, tax, weights=scaled) == pytest.approx(
        stats.semantic_variance(a, tax, weights=weights), abs=1e-12
    )


def test_sparse_and_dense_tables_of_weights_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    tax = taxonomy_of({"r": (), **{f"c{i}": ("r",) for i in range(6)}, **{f"d{i}": (f"c{i % 6}",) for i in range(30)}})
    a, b = (rng.choice(sorted(tax.ids), 200) for _ in range(2))
    weights = rng.random(200)
    dense = stats.distance_correlation(a, b, tax, tax, weights=weights)
    monkeypatch.setattr(contingency, "DENSE_CELLS", 0)
    assert stats.distance_correlation(a, b, tax, tax, weights=weights) == pytest.approx(dense, rel=1e-12)


TAX = taxonomy_of({"r": (), "a": ("r",), "b": ("r",)})


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, None], "1 record has no weight;"),
        ([float("nan"), None], "2 records have no weight;"),
        (["1", "one"], "1 record has a weight that is no number;"),
        ([1, -1], "1 record has a weight below 0;"),
        (np.array([np.inf, 1.0]), "1 record has a weight above 1,000,000,000,000;"),
        ([0, 0], "All 2 records have the weight 0;"),
        ([1, 2, 3], "The columns have different lengths (2 and 3);"),
    ],
)
def test_unusable_weights_are_refused_in_one_sentence(weights: Any, said: str) -> None:
    with pytest.raises(ColumnError) as refused:
        stats.semantic_mean(["a", "b"], TAX, weights=weights)
    assert str(refused.value).startswith(said)


def test_a_column_without_a_value_in_records_that_count_is_refused() -> None:
    with pytest.raises(AllMissingError):
        stats.semantic_mean(["a", None], TAX, weights=[0, 1])


@pytest.mark.parametrize(
    "weights",
    [[1, 2.5], ["1", " 2.5 "], ["1,0", "2,5"], pl.Series([1.0, 2.5]), pl.Series(["1", "2.5"], dtype=pl.Categorical)],
)
def test_weights_are_numbers_in_any_kind_of_column(weights: Any) -> None:
    assert read_weights(weights).tolist() == [1.0, 2.5]


def test_texts_that_mean_missing_are_missing_weights() -> None:
    with pytest.raises(ColumnError, match="1 record has no weight in 'w'"):
        read_weights([1, -9], "w", na=["-9"])
