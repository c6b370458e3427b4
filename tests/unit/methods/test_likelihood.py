"""Likelihoods of noise and of the exponential mechanism: what is really drawn, and the definitions written out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, multivariate_normal

import anonto
import oracles
from anonto.encoding.columns import encode
from anonto.encoding.description import ColumnDescription
from anonto.encoding.new_cells import settle_numbers
from anonto.encoding.prepare import opener, prepare
from anonto.encoding.records import distinct_records
from anonto.methods import likelihood_kernels
from anonto.methods.registry import method_of
from anonto.random.streams import Key
from budget import examples
from strategies import hierarchies_with_columns, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.methods.likelihood import MethodLikelihood

pytestmark = pytest.mark.slow

KEY = Key(bytes(range(32)))
ILLNESSES = anonto.read_ontology("illnesses")
RANKS = ("none", "low", "mid", "high")
N = 20_000
SURE = 1e-4
DISTRIBUTIONS, ROUNDS, SCALES = ("normal", "laplace"), ("up", "nearest"), ("semantic", "distance")
CANDIDATES = ("taxonomy", "observed", "leaves")

A = ["flu", "flu", "burn", "measles", "infection", "flu", "burn", "fracture"]
B = ["flu", "measles", "burn", "flu", "disease", "flu", "fracture", "burn"]
X = [1, 2, 9, 3, 4, 1, 8, 7]
PAIN = ["none", "low", "high", "mid", "low", "low", "high", "mid"]


class Fitted:
    """A method fitted to some columns, and its likelihood for all values that it can release."""

    def __init__(self, method: str, columns: dict[str, list[Any]], taxonomy: Any = ILLNESSES, **parameters: Any):
        self.taxonomy = taxonomy
        measure = parameters.pop("measure", "wu-palmer")
        described = {
            name: ColumnDescription(kind="numeric")
            if isinstance(values[0], int)
            else ColumnDescription(kind="ordinal", order=RANKS)
            if values[0] in RANKS
            else ColumnDescription(ontology=taxonomy, measure=measure)
            for name, values in columns.items()
        }
        self.prepared = [prepare(name, encode(columns[name]), one, opener()) for name, one in described.items()]
        codes = [one.column.codes for one in self.prepared]
        records, _ = distinct_records(list(columns), [one.value_space for one in self.prepared], codes)
        fitted: Any = method_of(method, parameters)
        self.masker: Any = fitted.fit(records, np.random.default_rng(0))
        self.released: list[Any] = [self._possible(one) for one in self.prepared]
        self.likelihood: MethodLikelihood = fitted.likelihood(self.masker, self.prepared, self.released)

    def _possible(self, prepared: Any) -> Any:
        if prepared.description.kind == "nominal":
            return sorted({*self.taxonomy.ids, *prepared.column.values})
        return np.arange(4.0) if prepared.description.kind == "ordinal" else np.arange(-30.0, 50.0)

    def codes(self, record: Sequence[Any]) -> list[Any]:
        return [
            np.array([-1 if value is None else one.column.values.index(str(value))], dtype=np.int32)
            for one, value in zip(self.prepared, record, strict=True)
        ]

    def drawn(self, record: Sequence[Any], n: int = N) -> list[list[Any]]:
        """Releases of a record by the method, many times."""
        before = [np.repeat(code, n) for code in self.codes(record)]
        out = []
        for one, cells, value_space in zip(
            self.prepared, self.masker.apply(before, np.arange(n), KEY), self.masker.value_spaces, strict=True
        ):
            if one.description.kind != "nominal":
                out.append(settle_numbers(one, cells).tolist())
                continue
            texts = [*one.column.values, *value_space.concepts[len(one.column.values) :]]
            out.append([texts[code] if code >= 0 else None for code in cells.tolist()])
        return out

    def asked(self, record: Sequence[Any], place: int) -> tuple[Any, Any, Any]:
        codes, partner = self.codes(record), self.likelihood.partners[place]
        reference = np.zeros(1, dtype=np.int32) if partner is None else np.maximum(codes[partner] + 1, 0)
        return codes[place], reference.astype(np.int32), self.likelihood.scales(place, np.zeros(1, dtype=np.int64))

    def intervals(self, record: Sequence[Any], place: int) -> Any:
        likelihood: Any = self.likelihood.columns[place]
        return likelihood.intervals(*self.asked(record, place))

    def of_one(self, record: Sequence[Any], place: int) -> dict[Any, float]:
        (found,) = self.likelihood.columns[place].probabilities(*self.asked(record, place))
        return dict(zip(list(self.released[place]), found.tolist(), strict=True))

    def of_two(self, record: Sequence[Any], a: int, b: int) -> dict[Any, float]:
        of_a, of_b = (self.intervals(record, place) for place in (a, b))
        present = [code[0] >= 0 for code in self.codes(record)]
        directed = np.array([partner is None or present[partner] for partner in self.likelihood.partners])
        correlation = float(self.likelihood.correlations(directed)[a, b])
        sizes = likelihood_kernels.noise_sizes(self.likelihood.laplace)
        out = {}
        for (i, x), (j, y) in itertools.product(enumerate(self.released[a]), enumerate(self.released[b])):
            classes = of_a.classes[0, i], of_b.classes[0, j]
            out[x, y] = (
                likelihood_kernels.pair_probability(of_a.arrays, of_b.arrays, 0, *classes, correlation, *sizes)
                if min(classes) >= 0
                else 0.0
            )
        return out


def assert_drawn_from(seen: Counter[Any], likelihood: dict[Any, float]) -> None:
    """Chi-square, with what is rarely expected put together."""
    n = seen.total()
    assert sum(likelihood.values()) == pytest.approx(1, abs=3e-5)
    assert all(likelihood[value] > 0 for value in seen)
    often = [value for value, chance in likelihood.items() if n * chance >= 8]
    expected = [n * likelihood[value] for value in often]
    found = [seen[value] for value in often]
    rest = n - sum(found), max(n - sum(expected), 1e-9)
    if rest[1] >= 8:
        found.append(rest[0])
        expected.append(rest[1])
    else:
        assert rest[0] < 40
    scaled = np.array(expected) * (sum(found) / sum(expected))
    assert len(found) == 1 or chisquare(found, scaled).pvalue > SURE


# ------------------------------------------------------------------------------------------------ what is drawn


@pytest.mark.parametrize(
    ("distribution", "scale", "rounds", "candidates"),
    list(itertools.product(DISTRIBUTIONS, SCALES, ROUNDS, CANDIDATES)),
)
def test_noise_on_one_column_is_drawn_from_its_law(distribution: str, scale: str, rounds: str, candidates: str) -> None:
    fitted = Fitted(
        "semantic-noise",
        {"a": A},
        noise_level=0.6,
        distribution=distribution,
        scale=scale,
        round=rounds,
        candidates=candidates,
    )
    for value in ("flu", "infection", "burn"):
        assert_drawn_from(Counter(fitted.drawn([value])[0]), fitted.of_one([value], 0))


@pytest.mark.parametrize(
    ("distribution", "scale", "rounds", "candidates", "pairing"),
    list(itertools.product(DISTRIBUTIONS, SCALES, ROUNDS, CANDIDATES, ("joint", "disjoint"))),
)
def test_noise_on_two_columns_is_drawn_from_their_law(
    distribution: str, scale: str, rounds: str, candidates: str, pairing: str
) -> None:
    fitted = Fitted(
        "semantic-noise-joint",
        {"a": A, "b": B},
        noise_level=0.6,
        distribution=distribution,
        scale=scale,
        round=rounds,
        candidates=candidates,
        pairing=pairing,
    )
    assert fitted.masker.mixing[0, 1] > 0.1
    for record in (["flu", "measles"], ["infection", "disease"]):
        drawn = fitted.drawn(record)
        assert_drawn_from(Counter(zip(*drawn, strict=True)), fitted.of_two(record, 0, 1))
        assert_drawn_from(Counter(drawn[1]), fitted.of_one(record, 1))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("columns", [{"a": A, "x": X}, {"a": A, "pain": PAIN}, {"pain": PAIN, "x": X}])
def test_numbers_and_ranks_take_their_part_of_the_same_draw(columns: dict[str, list[Any]], distribution: str) -> None:
    fitted = Fitted("semantic-noise-joint", columns, noise_level=0.7, distribution=distribution)
    assert abs(fitted.masker.mixing[0, 1]) > 0.1
    record = [values[1] for values in columns.values()]
    drawn = fitted.drawn(record)
    assert_drawn_from(Counter(zip(*drawn, strict=True)), fitted.of_two(record, 0, 1))
    for place in range(2):
        assert_drawn_from(Counter(drawn[place]), fitted.of_one(record, place))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_cell_whose_partner_is_missing_takes_its_own_draw_which_still_goes_with_that_of_others(
    distribution: str,
) -> None:
    columns = {"a": [*A, "flu"], "b": [*B, None], "x": [*X, 3]}
    fitted = Fitted("semantic-noise-joint", columns, noise_level=0.6, distribution=distribution)
    record = ["burn", None, 4]
    drawn = fitted.drawn(record)
    assert set(drawn[1]) == {None}
    assert_drawn_from(Counter(zip(drawn[0], drawn[2], strict=True)), fitted.of_two(record, 0, 2))
    assert_drawn_from(Counter(drawn[0]), fitted.of_one(record, 0))


@pytest.mark.parametrize("measure", ["wu-palmer", "ancestor", "lin"])
@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_mechanism_draws_from_its_law(epsilon: float, metric: bool, measure: str) -> None:
    fitted = Fitted("taxonomy-exponential", {"a": A}, epsilon=epsilon, metric=metric, measure=measure)
    for value in ("flu", "infection"):
        assert_drawn_from(Counter(fitted.drawn([value])[0]), fitted.of_one([value], 0))


def test_a_law_with_the_wrong_sign_or_a_shifted_index_would_not_pass() -> None:
    fitted = Fitted("semantic-noise", {"a": A}, noise_level=0.6)
    likelihood = fitted.of_one(["burn"], 0)
    seen = Counter(fitted.drawn(["burn"])[0])
    turned = fitted.intervals(["burn"], 0)
    low, high, weights = turned.arrays
    mirrored = likelihood_kernels.class_probabilities(low, high, weights[:, :, ::-1].copy(), False)[0]
    wrong = {
        text: float(mirrored[number]) if number >= 0 else 0.0
        for text, number in zip(fitted.released[0], turned.classes[0], strict=True)
    }
    texts = list(likelihood)
    shifted = dict(zip(texts, [likelihood[text] for text in (*texts[1:], texts[0])], strict=True))
    for other in (wrong, shifted):
        with pytest.raises(AssertionError):
            assert_drawn_from(seen, other)


# ------------------------------------------------------------------------------------------------ definitions


@settings(max_examples=examples(60))
@given(
    case=hierarchies_with_columns(max_concepts=8, min_records=2),
    kind=st.sampled_from(CANDIDATES),
    measure=st.sampled_from(["wu-palmer", "ancestor", "lin"]),
    rounds=st.sampled_from(ROUNDS),
    distribution=st.sampled_from(DISTRIBUTIONS),
    level=st.sampled_from([0.0, 0.3, 5.0]),
)
def test_the_law_of_a_column_is_that_of_the_definition(
    case: Any, kind: str, measure: str, rounds: str, distribution: str, level: float
) -> None:
    parents, (values,) = case
    taxonomy = taxonomy_of(parents)
    fitted = Fitted(
        "semantic-noise",
        {"a": values},
        taxonomy,
        measure=measure,
        noise_level=level,
        candidates=kind,
        round=rounds,
        distribution=distribution,
    )
    column = fitted.masker.columns[0]
    scale = math.sqrt(level) * column.deviation
    for value in set(values):
        pieces = oracles.noise_pieces(
            value,
            column.mean,
            scale,
            column.replacements.candidates,
            lambda a, b: taxonomy.distance(a, b, measure),
            nearest=rounds == "nearest",
        )
        expected = oracles.one_distribution(pieces, laplace=distribution == "laplace")
        found = fitted.of_one([value], 0)
        for text in fitted.released[0]:
            assert found[text] == pytest.approx(expected.get(text, 0.0), abs=1e-9)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_law_of_two_columns_is_that_of_the_definition(rounds: str, distribution: str) -> None:
    fitted = Fitted("semantic-noise-joint", {"a": A, "b": B}, noise_level=0.5, round=rounds, distribution=distribution)
    record = ["flu", "fracture"]
    correlation = float((fitted.masker.mixing @ fitted.masker.mixing.T)[0, 1])
    pieces = [
        oracles.noise_pieces(
            own,
            other,
            math.sqrt(0.5) * fitted.masker.columns[place].deviation,
            ILLNESSES.ids,
            ILLNESSES.distance,
            nearest=rounds == "nearest",
        )
        for place, (own, other) in enumerate([record, record[::-1]])
    ]
    expected = oracles.two_laws(*pieces, correlation, laplace=distribution == "laplace")
    found = fitted.of_two(record, 0, 1)
    for pair, chance in found.items():
        assert chance == pytest.approx(expected.get(pair, 0.0), abs=2e-6)


def test_numbers_and_ranks_are_rounded_and_ranks_end() -> None:
    fitted = Fitted("semantic-noise", {"x": X, "pain": PAIN}, noise_level=0.8)
    deviations = [math.sqrt(0.8) * column.deviation for column in fitted.masker.columns]
    expected = oracles.one_distribution(oracles.number_pieces(4, deviations[0], np.arange(-30.0, 50.0).tolist()))
    assert fitted.of_one([4, "low"], 0) == pytest.approx(expected, abs=1e-12)
    expected = oracles.one_distribution(oracles.number_pieces(1, deviations[1], [0.0, 1.0, 2.0, 3.0], ends=True))
    assert fitted.of_one([4, "low"], 1) == pytest.approx(expected, abs=1e-12)
    assert sum(expected.values()) == pytest.approx(1)


def test_a_value_that_stays_is_spelt_like_all_others() -> None:
    taxonomy = taxonomy_of({"r": (), "008": ("r",), "009": ("r",), "010": ("r",)})
    values = ["8", "009", "009", "009", "010", "008"]
    for method, parameters in (
        ("semantic-noise", {"noise_level": 2.0, "round": "nearest"}),
        ("taxonomy-exponential", {"epsilon": 2.0}),
    ):
        fitted = Fitted(method, {"a": values}, taxonomy, **parameters)
        for value in set(values):
            drawn = Counter(fitted.drawn([value])[0])
            assert_drawn_from(drawn, fitted.of_one([value], 0))
        found = fitted.of_one(["8"], 0)
        assert found["8"] == 0 < found["008"]


def test_noise_of_nothing_leaves_everything_as_it_is() -> None:
    for columns in ({"a": A}, {"x": X}, {"pain": PAIN}):
        fitted = Fitted("semantic-noise", columns, noise_level=0)
        value = next(iter(columns.values()))[3]
        found = fitted.of_one([value], 0)
        assert sorted(found.values())[-2:] == [0.0, 1.0]
    constant = Fitted("semantic-noise", {"a": ["flu"] * 4}, noise_level=3.0)
    assert constant.of_one(["flu"], 0)["flu"] == 1.0


def test_a_level_of_each_record_scales_its_own_noise() -> None:
    fitted = Fitted("semantic-noise", {"a": A}, noise_level=[0.0, 1.0, 4.0, 0.25, 0, 0, 0, 0])
    deviation = fitted.masker.columns[0].deviation
    found = fitted.likelihood.scales(0, np.arange(4))
    assert found.tolist() == pytest.approx([0.0, deviation, 2 * deviation, deviation / 2])


# ------------------------------------------------------------------------------------------------ kernels


@settings(max_examples=examples(80))
@given(h=st.floats(-5, 5), k=st.floats(-5, 5), correlation=st.floats(-0.999, 0.999).filter(lambda r: abs(r) > 1e-3))
def test_both_below_is_the_bivariate_normal_distribution(h: float, k: float, correlation: float) -> None:
    expected = multivariate_normal(cov=[[1, correlation], [correlation, 1]]).cdf([h, k])
    assert likelihood_kernels.both_below(h, k, correlation) == pytest.approx(float(expected), abs=1e-7)


@settings(max_examples=examples(60))
@given(
    middle=st.floats(-3, 3),
    low=st.floats(-3, 2),
    width=st.floats(0.01, 4),
    correlation=st.sampled_from([-0.97, -0.5, 0.0, 0.2, 0.8, 0.99]),
)
@example(middle=0.0, low=0.0, width=0.125, correlation=-0.5)
def test_narrow_rectangles_add_up_to_wide_ones(middle: float, low: float, width: float, correlation: float) -> None:
    edges = np.linspace(middle, middle + 0.6, 301)
    parts = [likelihood_kernels.rectangle(a, b, low, low + width, correlation) for a, b in itertools.pairwise(edges)]
    turned = [likelihood_kernels.rectangle(low, low + width, a, b, correlation) for a, b in itertools.pairwise(edges)]
    whole = likelihood_kernels.rectangle(middle, middle + 0.6, low, low + width, correlation)
    assert sum(parts) == pytest.approx(whole, rel=2e-5, abs=1e-12)
    assert turned == pytest.approx(parts, abs=1e-12)


def test_columns_with_the_same_noise_or_the_opposite_one() -> None:
    inside = likelihood_kernels.interval_probability(0.5, 1.0, False)
    assert likelihood_kernels.rectangle(0.0, 1.0, 0.5, 2.0, 1.0) == pytest.approx(inside)
    assert likelihood_kernels.rectangle(0.0, 1.0, -2.0, -0.5, -1.0) == pytest.approx(inside)
    assert likelihood_kernels.rectangle(0.0, 1.0, 0.5, 2.0, -1.0) == 0.0
    assert likelihood_kernels.rectangle(1.0, 1.0, 0.5, 2.0, 0.3) == 0.0


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.02), (0.3, 0.9), (-0.4, 1.0), (2.0, math.inf), (-6.0, -5.0)])
def test_the_sizes_of_laplace_noise_give_laplace_margins(low: float, high: float) -> None:
    roots, shares = likelihood_kernels.noise_sizes(True)
    summed = sum(
        share * likelihood_kernels.interval_probability(low / root, high / root, False)
        for root, share in zip(roots, shares, strict=True)
    )
    assert summed == pytest.approx(likelihood_kernels.interval_probability(low, high, True), rel=2e-5)
