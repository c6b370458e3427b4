"""Likelihood linkage and posteriors: tables whose answer is known, and definitions written out."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
import oracles
from anonto.attacks.compute import likelihood_linkage as module
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.likelihood import StepLikelihood, fit_likelihood
from anonto.attacks.compute.likelihood_linkage import likelihood_linkage
from anonto.attacks.compute.posterior import posterior_of
from anonto.attacks.plain import likelihood_linkage as plain_linkage
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.prepare import opener
from anonto.encoding.records import distinct_records
from anonto.masking.plan import Plan
from anonto.random.streams import Key
from budget import examples
from strategies import hierarchies, taxonomy_of

if TYPE_CHECKING:
    from anonto.attacks.rate import Risk

ILLNESSES = anonto.read_ontology("illnesses")
LEAVES = ["flu", "measles", "burn", "fracture"]
TWO = taxonomy_of({"r": (), "one": ("r",), "two": ("r",)})
LARGEST = max(ILLNESSES.distance(p, q) for p in ILLNESSES.ids for q in ILLNESSES.ids)
SEED = 1 << 90
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]

DESCRIPTIONS: dict[str, Any] = {
    "a": {"ontology": ILLNESSES},
    "b": {"ontology": ILLNESSES},
    "c": {"ontology": ILLNESSES},
    "x": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
    "city": {},
}


class Case:
    """A table masked by some steps, and all that the attack receives."""

    def __init__(self, table: dict[str, list[Any]], steps: list[dict[str, Any]], seed: int = SEED, **columns: Any):
        self.original = pl.DataFrame(table)
        self.plan = Plan.from_dict({"columns": {n: {**DESCRIPTIONS, **columns}[n] for n in table}, "steps": steps})
        release = anonto.mask(self.original, self.plan, seed=seed)
        self.compare(release.table)

    def compare(self, masked: pl.DataFrame) -> None:
        open_once = opener()
        self.masked = masked
        self.columns: dict[str, ComparedColumn] = {
            name: compare_column(
                name, BothCells.of(self.original[name], masked[name]), self.plan.description(name), open_once
            )
            for name in self.original.columns
        }
        likelihoods = [
            fit_likelihood(step.method, [self.columns[name] for name in step.columns], open_once)
            for step in self.plan.steps
        ]
        self.likelihoods: list[StepLikelihood] = [step for step in likelihoods if step is not None]

    def attack(self, *names: str, rows: Any = None) -> Risk:
        known = [self.columns[name] for name in names or self.columns]
        found = likelihood_linkage(known, self.likelihoods, self.plan.masked, np.random.default_rng(0), rows)
        assert found is not None
        return found


def noise(*columns: str, method: str = "semantic-noise", **parameters: Any) -> dict[str, Any]:
    return {"method": method, "columns": list(columns), "noise_level": 0.3, **parameters}


def exponential(*columns: str, epsilon: float = 2.0, **parameters: Any) -> dict[str, Any]:
    return {"method": "taxonomy-exponential", "columns": list(columns), "epsilon": epsilon, **parameters}


def a_table(n: int, seed: int = 0, *, gaps: bool = False) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    missing: list[Any] = [None] if gaps else []
    return {
        "a": rng.choice([*LEAVES, "disease", *missing], n).tolist(),
        "b": rng.choice([*LEAVES, "infection", *missing], n).tolist(),
        "x": rng.integers(0, 30, n).tolist(),
        "pain": rng.choice(["low", "mid", "high"], n).tolist(),
        "city": rng.choice(["p", "q"], n).tolist(),
    }


# ------------------------------------------------------------------------------------------------ the definition


@functools.cache
def concept_pieces(value: str, reference: str, scale: float, candidates: tuple[str, ...], nearest: bool) -> Any:
    return oracles.noise_pieces(value, reference, scale, candidates, ILLNESSES.distance, nearest=nearest)


def likelihood(step: StepLikelihood, i: int, j: int, cell: Any) -> float:
    """The chance that a step makes released row j of original row i, from the definitions."""
    if step.likelihood.levels is None:
        chances = []
        for name in step.names:
            x, y = cell(name, i, 0), cell(name, j, 1)
            if x is None or y is None:
                chances.append(float(x is y))
                continue
            chances.append(
                oracles.exponential_probabilities(x, ILLNESSES.ids, ILLNESSES.distance, step.method.epsilon, LARGEST)[y]
            )
        return math.prod(chances)
    pieces, wanted, own_draw = [], [], []
    for place, name in enumerate(step.names):
        x, y = cell(name, i, 0), cell(name, j, 1)
        if x is None or y is None:
            if x is not y:
                return 0.0
            continue
        scale = float(step.scales(place, np.array([i]))[0])
        wanted.append(y)
        partner = step.likelihood.partners[place]
        reference = None if partner is None else cell(step.names[partner], i, 0)
        own_draw.append((place, partner is not None and reference is None))
        prepared = step.prepared[place]
        if prepared.description.kind == "numeric":
            pieces.append(oracles.number_pieces(x, scale, np.arange(-60, 90).tolist()))
        elif prepared.description.kind == "ordinal":
            pieces.append(oracles.number_pieces(x, scale, [0, 1, 2], ends=True))
        else:
            replacements = step.likelihood.columns[place].replacements  # type: ignore[attr-defined]
            pieces.append(
                concept_pieces(
                    x,
                    replacements.references[0] if reference is None else reference,
                    scale,
                    replacements.candidates,
                    step.method.round == "nearest",
                )
            )
    if step.likelihood.mixing is None or len(pieces) < 2:
        each = [oracles.one_distribution(one, laplace=step.likelihood.laplace) for one in pieces]
        return math.prod(one.get(y, 0.0) for one, y in zip(each, wanted, strict=True))
    weights = [np.eye(len(step.names))[place] if alone else step.likelihood.mixing[place] for place, alone in own_draw]
    pair = (wanted[0], wanted[1])
    correlation = float(weights[0] @ weights[1])
    return oracles.two_laws(pieces[0], pieces[1], correlation, laplace=step.likelihood.laplace, only=pair).get(
        pair, 0.0
    )


def cells_of(case: Case) -> Any:
    order = {"low": 0, "mid": 1, "high": 2}

    def cell(name: str, row: int, side: int) -> Any:
        value = (case.original, case.masked)[side][name][row]
        return order.get(value, value) if name == "pain" else value

    return cell


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ([noise("a", "b", "x")], "a b x city"),
        ([noise("a", distribution="laplace", round="nearest"), exponential("b")], "a b"),
        ([noise("a", "b", method="semantic-noise-joint")], "a b city"),
        ([noise("a", "x", method="semantic-noise-joint", round="nearest")], "a x"),
        ([noise("pain", "x", method="semantic-noise-joint")], "pain x city"),
        ([noise("x", "pain", noise_level=[0.0, 0.2, 1.0] * 3)], "x pain"),
        ([exponential("a", "b", epsilon=5.0), noise("x")], "a x b"),
    ],
)
def test_a_person_is_linked_to_the_likeliest_record_and_ties_are_shared(
    steps: list[dict[str, Any]], names: str
) -> None:
    case = Case(a_table(9, gaps=True), steps)
    cell = cells_of(case)

    def chance(i: int, j: int) -> float:
        same = all(cell(name, i, 0) == cell(name, j, 1) for name in names.split() if name not in case.plan.masked)
        return math.prod(likelihood(step, i, j, cell) for step in case.likelihoods) if same else 0.0

    table = [[chance(i, j) for j in range(9)] for i in range(9)]
    assert all(table[i][i] > 0 for i in range(9))
    found = case.attack(*names.split())
    assert found.rate == pytest.approx(oracles.linked_to_likeliest(table), abs=1e-6)
    assert found.details["impossible"] == 0
    assert (found.n, found.baseline) == (9, pytest.approx(1 / 9))
    assert found.low <= found.rate <= found.high


@pytest.mark.parametrize(
    "steps",
    [
        [noise("a", "b", "x")],
        [noise("a", distribution="laplace", round="nearest"), exponential("b")],
        [noise("pain", "x", noise_level=[0.0, 0.2, 1.0] * 20)],
        [exponential("a", "b", epsilon=5.0), noise("x")],
    ],
)
def test_the_plain_version_links_the_same_persons(steps: list[dict[str, Any]]) -> None:
    names = [name for step in steps for name in step["columns"]]
    table = a_table(60, gaps=True)
    case = Case({name: table[name] for name in table if name in names}, steps)
    assert case.attack(*names).rate == pytest.approx(plain_linkage.link(case.likelihoods).mean())


def test_a_column_masked_otherwise_decides_between_equally_likely_records() -> None:
    table = {"a": ["flu", "flu", "burn", "burn"], "x": [1, 2, 3, 9]}
    steps = [noise("a", noise_level=0), {"method": "random-swap", "columns": ["x"]}]
    case = Case(table, steps)
    case.compare(pl.DataFrame({"a": table["a"], "x": [2, 1, 4, 8]}))
    found = case.attack("a", "x")
    assert found.rate == 0.5
    assert "by distance" in found.knowledge
    assert case.attack("a").rate == 0.5
    case.compare(pl.DataFrame({"a": table["a"], "x": [1, 2, 9, 3]}))
    assert case.attack("a", "x").rate == 0.5
    case.compare(pl.DataFrame(table))
    assert case.attack("a", "x").rate == 1.0


# ------------------------------------------------------------------------------------------------ closed forms


@pytest.mark.parametrize(
    "step",
    [
        noise("a", "b", "x", noise_level=0),
        noise("a", "b", "x", method="semantic-noise-joint", noise_level=0),
        noise("a", "b", "x", noise_level=1e-9, round="nearest"),
        noise("a", "b", "x", method="semantic-noise-joint", noise_level=1e-9, round="nearest"),
        exponential("a", "b", epsilon=100.0),
    ],
)
def test_without_noise_every_distinct_record_is_found(step: dict[str, Any]) -> None:
    table = {name: cells for name, cells in a_table(200).items() if name in step["columns"]}
    case = Case(table, [step])
    assert case.masked.equals(case.original)
    distinct = len(set(zip(*table.values(), strict=True)))
    assert case.attack().rate == pytest.approx(distinct / 200)
    for value in (case.attack().details[key]["a"] for key in ("mean_posterior", "max_posterior")):
        assert value == pytest.approx(1)


def test_a_law_that_is_the_same_for_all_values_links_by_chance_alone() -> None:
    """With ε near 0 every concept is equally likely, and all released records are tied."""
    case = Case({"a": LEAVES * 50, "b": LEAVES[::-1] * 50}, [exponential("a", "b", epsilon=1e-12)])
    found = case.attack()
    assert found.rate == pytest.approx(1 / 200, rel=1e-6)
    assert found.details["max_posterior"]["a"] == pytest.approx(0.25)
    assert found.details["epsilon_measured"]["a"] == pytest.approx(0, abs=1e-9)


def test_very_large_noise_on_numbers_links_by_chance_alone() -> None:
    rates = []
    for seed in range(12):
        numbers = np.random.default_rng(seed).integers(0, 1000, 400).tolist()
        rates.append(Case({"x": numbers}, [noise("x", noise_level=1e8)], SEED + seed).attack().rate)
    assert np.mean(rates) == pytest.approx(1 / 400, abs=4 * math.sqrt(1 / 400 / 4800))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_posterior_on_two_leaves_is_that_of_the_book(epsilon: float) -> None:
    """Distances: 1/3 to the root, 1/2 to the other leaf, which is the largest."""
    n_one = 30
    case = Case({"a": ["one"] * n_one + ["two"] * 10}, [exponential("a", epsilon=epsilon)], a={"ontology": TWO})
    weights = {
        "own": 1.0,
        "root": math.exp(-epsilon * TWO.distance("one", "r") / (2 * TWO.distance("one", "two"))),
        "other": math.exp(-epsilon / 2),
    }
    total = sum(weights.values())
    own, root, other = (weights[key] / total for key in ("own", "root", "other"))
    after = {
        "one": max(0.75 * own, 0.25 * other) / (0.75 * own + 0.25 * other),
        "two": max(0.75 * other, 0.25 * own) / (0.75 * other + 0.25 * own),
        "r": 0.75 * root / root,
    }
    released = Counter(case.masked["a"].to_list())
    details = case.attack().details
    assert set(released) == set(after)
    assert details["mean_posterior"]["a"] == pytest.approx(sum(after[y] * k for y, k in released.items()) / 40)
    assert details["max_posterior"]["a"] == pytest.approx(max(after.values()))
    assert details["largest_prior"]["a"] == 0.75
    assert details["epsilon"]["a"] == epsilon
    assert details["epsilon_measured"]["a"] == pytest.approx(epsilon / 2)
    assert details["posterior_bound"]["a"] == pytest.approx(0.75 / (0.75 + 0.25 * math.exp(-epsilon)))
    linked = own / (released["one"] * own)
    expected = sum(
        1 / released[x] for x, y in zip(case.original["a"], case.masked["a"], strict=True) if x == y and linked
    )
    assert case.attack().rate == pytest.approx(expected / 40)


def test_two_numbers_and_normal_noise_have_the_likelihood_of_the_book() -> None:
    """Noise of 1 grain on 0 and 10: each is linked to what lies on its side."""
    case = Case({"x": [0, 10] * 20}, [noise("x", noise_level=0.05)])
    case.compare(pl.DataFrame({"x": [0, 10] * 19 + [10, 0]}))
    assert case.attack().rate == pytest.approx(38 * (1 / 20) / 40)


def test_a_shift_by_one_row_is_not_taken_for_the_truth() -> None:
    table = {"a": LEAVES * 60, "x": list(range(0, 2400, 10))}
    case = Case(table, [noise("a", "x", noise_level=1e-7, round="nearest")])
    assert case.attack().rate == 1.0
    case.compare(case.masked[[*range(1, 240), 0]])
    found = case.attack()
    assert found.rate == 0.0
    assert found.details["impossible"] > 0


# ------------------------------------------------------------------------------------------------ posteriors


@pytest.mark.parametrize(
    "step",
    [
        noise("a", "b"),
        noise("a", "b", distribution="laplace", round="nearest"),
        noise("a", "b", method="semantic-noise-joint"),
        noise("a", "b", method="semantic-noise-joint", distribution="laplace"),
        exponential("a", "b", epsilon=6.0),
        noise("a", "b", noise_level=[0.05, 2.0] * 2000),
    ],
)
def test_the_best_guess_is_right_as_often_as_it_is_sure(step: dict[str, Any]) -> None:
    """A posterior is a promise: guesses that are sure to 60 % are right in 60 of 100 cases."""
    rng = np.random.default_rng(3)
    a = rng.choice(LEAVES, 4000, p=[0.5, 0.2, 0.2, 0.1])
    table = {"a": a.tolist(), "b": np.where(rng.random(4000) < 0.6, a, rng.permutation(a)).tolist()}
    case = Case(table, [step])
    step = case.likelihoods[0]
    rows = np.arange(4000)
    chances = step.probabilities(0, rows)
    told: dict[str, dict[str, float]] = {}
    texts = [case.columns["a"].values[code] for code in np.unique(case.columns["a"].masked)]
    for value in LEAVES:
        mean = chances[a == value].sum(axis=0)
        for text, share in zip(texts, mean, strict=True):
            told.setdefault(text, {})[value] = float(share)
    guess = {text: max(shares, key=shares.__getitem__) for text, shares in told.items()}
    right = np.mean([guess[y] == x for x, y in zip(table["a"], case.masked["a"], strict=True)])
    found = case.attack("a", "b").details
    expected = [max(told[y].values()) / sum(told[y].values()) for y in case.masked["a"]]
    assert found["mean_posterior"]["a"] == pytest.approx(np.mean(expected))
    assert found["mean_posterior"]["a"] == pytest.approx(right, abs=4 * 0.5 / math.sqrt(4000))
    assert found["mean_posterior"]["a"] > found["largest_prior"]["a"]


def test_posteriors_are_those_of_bayes_rule() -> None:
    values = ["flu"] * 5 + ["burn"] * 3 + ["measles"]
    case = Case({"a": values}, [noise("a", noise_level=0.4)])
    step = case.likelihoods[0]
    column: Any = step.likelihood.columns[0]
    scale = float(step.scales(0, np.array([0]))[0])
    likelihoods = {
        value: oracles.one_distribution(
            oracles.noise_pieces(value, column.replacements.references[0], scale, ILLNESSES.ids, ILLNESSES.distance)
        )
        for value in set(values)
    }
    prior = {value: count / 9 for value, count in Counter(values).items()}
    sure = [max(oracles.posteriors(prior, likelihoods, y).values()) for y in case.masked["a"]]
    found = posterior_of(step, 0)
    assert found == {
        "mean_posterior": pytest.approx(np.mean(sure), rel=1e-9),
        "max_posterior": pytest.approx(max(sure), rel=1e-9),
        "largest_prior": pytest.approx(5 / 9),
    }


@settings(max_examples=examples(40))
@given(
    parents=hierarchies(max_concepts=8, one_root=True),
    epsilon=st.floats(0.05, 8),
    metric=st.booleans(),
    data=st.data(),
)
def test_no_posterior_exceeds_what_epsilon_promises(
    parents: Any, epsilon: float, metric: bool, data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.sampled_from(sorted(parents)), min_size=2, max_size=12))
    step = exponential("a", epsilon=epsilon, metric=metric)
    described = {"ontology": taxonomy_of(parents), "measure": "ancestor"}
    found = Case({"a": values}, [step], a=described).attack().details
    assert found["max_posterior"]["a"] <= found["posterior_bound"]["a"] + 1e-9
    assert found["epsilon_measured"]["a"] <= found["epsilon"]["a"] + 1e-6
    assert found["epsilon"]["a"] <= epsilon
    assert found["mean_posterior"]["a"] <= found["max_posterior"]["a"] + 1e-12


def test_with_metric_privacy_the_bound_follows_the_distances() -> None:
    case = Case({"a": ["flu"] * 3 + ["measles"] * 2 + ["burn"]}, [exponential("a", epsilon=3.0, metric=True)])
    prior = {"flu": 1 / 2, "measles": 1 / 3, "burn": 1 / 6}
    bound = max(
        share / sum(other * math.exp(-3.0 * ILLNESSES.distance(v, w)) for w, other in prior.items())
        for v, share in prior.items()
    )
    found = case.attack().details
    assert found["posterior_bound"]["a"] == pytest.approx(bound)
    assert found["epsilon"]["a"] == pytest.approx(3.0 * ILLNESSES.distance("flu", "burn"))


def test_spellings_of_a_concept_count_as_one_value_in_posteriors() -> None:
    taxonomy = taxonomy_of({"r": (), "008": ("r",), "009": ("r",)})
    case = Case({"a": ["8", "008", "009", "8"]}, [exponential("a")], a={"ontology": taxonomy})
    assert case.attack().details["largest_prior"]["a"] == 0.75


# ------------------------------------------------------------------------------------------------ what is known


def test_the_likelihood_finds_more_than_the_distance_where_noise_never_stays() -> None:
    """Rounded up, noise always moves a value: the nearest record is never hers, the likeliest often is."""
    case = Case({name: cells for name, cells in a_table(900).items() if name in "abx"}, [noise("a", "b", "x")])
    by_distance = distance_linkage(list(case.columns.values()))
    assert case.attack().low > by_distance.high


def test_a_partner_that_is_not_known_is_averaged_over() -> None:
    table = {"a": ["flu"] * 3 + ["burn"] * 2, "b": ["flu", "burn", "burn", "measles", "flu"]}
    case = Case(table, [noise("a", "b", method="semantic-noise-joint")])
    step = case.likelihoods[0]
    averaged = step.probabilities(0, np.arange(5), average=True)
    each = step.probabilities(0, np.arange(5))
    assert averaged[0] == pytest.approx(each[:3].mean(axis=0))
    assert averaged[4] == pytest.approx(each[3:].mean(axis=0))
    found = case.attack("a")
    assert "averaged" in found.knowledge
    released = [case.columns["a"].values[code] for code in np.unique(case.columns["a"].masked)]
    chances = [[row[released.index(y)] for y in case.masked["a"]] for row in averaged]
    assert found.rate == pytest.approx(oracles.linked_to_likeliest(chances))


def test_only_the_columns_whose_partner_is_not_known_are_averaged() -> None:
    rng = np.random.default_rng(1)
    a = rng.choice(LEAVES, 60)
    b = np.where(rng.random(60) < 0.9, a, "burn")
    c = np.where(rng.random(60) < 0.5, b, rng.permutation(a))
    d = np.where(rng.random(60) < 0.9, c, rng.permutation(a))
    table = {"a": a.tolist(), "b": [None] * 9 + b.tolist()[9:], "c": c.tolist(), "d": d.tolist()}
    case = Case(table, [noise("a", "b", "c", "d", method="semantic-noise-joint")], d={"ontology": ILLNESSES})
    step = case.likelihoods[0]
    assert step.likelihood.partners == (1, 0, 3, 2)
    part = module.KnownPart(step, (0, 1, 2))
    assert part.directed == (0, 1)
    gaps, rows, all_rows = np.arange(9), np.arange(9, 60), np.arange(60)
    known = [case.columns[name] for name in "abc"]
    attack = module.KnownLikelihoods([part], [], [], known)
    scores = attack.scores(rows, all_rows)
    of_two = module.KnownLikelihoods([module.KnownPart(step, (0, 1))], [], [], known[:2]).scores(rows, all_rows)
    averaged = step.probabilities(2, all_rows, average=True)[:, step.released[2]]
    assert np.exp(scores) == pytest.approx(np.exp(of_two) * averaged[9:])
    alone = step.probabilities(0, gaps)[:, step.released[0][:9]]
    assert alone != pytest.approx(step.probabilities(0, gaps, average=True)[:, step.released[0][:9]])
    assert np.exp(attack.scores(gaps, gaps)) == pytest.approx(alone * averaged[:9, :9])
    assert "averaged" in case.attack("a", "b", "c").knowledge


def test_records_out_of_reach_of_a_swap_are_not_likely() -> None:
    """One column under noise, one swapped with its two nearest: chances are those of the noise, inside the reach."""
    rng = np.random.default_rng(3)
    table = {"x": rng.integers(0, 12, 40).tolist(), "y": rng.permutation(40).tolist()}
    steps = [noise("x"), {"method": "rank-swap", "columns": ["y"], "k": 2}]
    case = Case(table, steps, y={"kind": "numeric"})
    swap = case.plan.steps[1]
    cells = {"y": BothCells.of(case.original["y"].cast(pl.String), case.masked["y"].cast(pl.String))}
    swaps = [encode_step(swap.method, swap.columns, cells, case.plan.description, opener(), np.ones(40, int))]
    known = [case.columns["x"], case.columns["y"]]
    found = likelihood_linkage(known, case.likelihoods, case.plan.masked, np.random.default_rng(0), None, swaps)
    support = oracles.in_reach_of_nearest(table["y"], lambda a, b: abs(a - b), 2)
    of_noise = case.likelihoods[0].probabilities(0, np.arange(40))[:, case.likelihoods[0].released[0]]
    chances = [[of_noise[i, j] * support(table["y"][i], case.masked["y"][j]) for j in range(40)] for i in range(40)]

    def nearest(i: int, tied: list[int]) -> list[int]:
        apart = {j: abs(table["y"][i] - case.masked["y"][j]) for j in tied}
        return [j for j in tied if apart[j] == min(apart.values())]

    assert found is not None
    assert found.rate == pytest.approx(oracles.linked_to_likeliest(chances, nearest))
    without = case.attack("x", "y")
    assert found.rate > without.rate + 0.1
    assert ("out of reach" in found.knowledge, "out of reach" in without.knowledge) == (True, False)


@pytest.mark.parametrize("distribution", ["normal", "laplace"])
@pytest.mark.parametrize("pairing", ["joint", "disjoint"])
def test_the_law_along_the_strongest_correlations_is_a_law(distribution: str, pairing: str) -> None:
    """The chances of all released records sum up to 1, and are near those of the draws."""
    rng = np.random.default_rng(1)
    a = rng.choice(LEAVES, 60)
    b = np.where(rng.random(60) < 0.7, a, "burn")
    table = {"a": a.tolist(), "b": b.tolist(), "c": rng.permutation(a).tolist()}
    step = noise("a", "b", "c", method="semantic-noise-joint", distribution=distribution, pairing=pairing)
    case = Case(table, [step])
    worst_case = list(itertools.product(ILLNESSES.ids, repeat=3))
    case.original = pl.DataFrame({name: [*cells, *[cells[0]] * len(worst_case)] for name, cells in table.items()})
    columns = zip("abc", zip(*worst_case, strict=True), strict=True)
    case.compare(pl.DataFrame({name: [*case.masked[name], *cells] for name, cells in columns}))
    step = case.likelihoods[0]
    part = module.KnownPart(step, (0, 1, 2))
    assert len(part.pairs(60)) == (1 if (distribution, pairing) == ("normal", "disjoint") else 2)
    attack = module.KnownLikelihoods([part], [], [], list(case.columns.values()))
    found = np.exp(attack.scores(np.array([60]), 60 + np.arange(len(worst_case))))[0]
    assert found.sum() == pytest.approx(1, abs=1e-3)
    records, _ = distinct_records(step.names, [one.value_space for one in step.prepared], step.codes)
    masker = step.method.fit(records, rng)
    n = 40_000
    drawn = masker.apply([np.repeat(codes[60], n) for codes in step.codes], np.arange(n), Key(bytes(range(32))))
    texts = [[one.concepts[code] for code in cells] for one, cells in zip(masker.value_spaces, drawn, strict=True)]
    seen = Counter(zip(*texts, strict=True))
    apart = sum(abs(seen[record] / n - chance) for record, chance in zip(worst_case, found, strict=True)) / 2
    assert apart < 0.06


def test_the_knowledge_says_what_was_assumed() -> None:
    case = Case(a_table(30), [noise("a", "b", "x", method="semantic-noise-joint"), exponential_free()])
    assert "strongest correlations" in case.attack("a", "b", "x").knowledge
    assert "strongest correlations" not in case.attack("a", "b").knowledge
    assert "not masked must be equal" in case.attack("a", "b", "city").knowledge
    assert "by distance" in case.attack("a", "b", "pain").knowledge
    only = Case({"a": LEAVES}, [exponential("a")]).attack()
    assert "measured on the original" not in only.knowledge
    assert "measured on the original" in case.attack("a", "b").knowledge


def exponential_free() -> dict[str, Any]:
    return {"method": "random-swap", "columns": ["pain"]}


def test_the_attack_is_skipped_if_no_known_column_has_noise() -> None:
    case = Case(a_table(20), [noise("a"), exponential_free()])
    known = [case.columns[name] for name in ("b", "pain")]
    assert likelihood_linkage(known, case.likelihoods, case.plan.masked, np.random.default_rng(0)) is None


def test_persons_are_sampled_where_the_law_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(a_table(400), [noise("a", "b", "x", method="semantic-noise-joint")])
    whole = case.attack()
    assert whole.n == 400
    monkeypatch.setattr(module, "MOST_TIME", 0.0)
    found = case.attack()
    assert found.n == module.FEWEST_PERSONS
    assert found.low <= whole.rate <= found.high
    assert case.attack(rows=np.arange(30)).n == 30


def test_pairs_computed_one_by_one_are_those_of_the_tables() -> None:
    case = Case(
        {name: cells for name, cells in a_table(150).items() if name in "ab"},
        [noise("a", "b", method="semantic-noise-joint")],
    )
    known = list(case.columns.values())
    attack = module.KnownLikelihoods([module.KnownPart(case.likelihoods[0], (0, 1))], [], [], known)
    few, many = np.arange(3), np.arange(150)
    with_tables = attack.scores(np.arange(20), np.tile(many, 10))[:, :3]
    one_by_one = attack.scores(np.arange(20), few)
    assert np.exp(one_by_one) == pytest.approx(np.exp(with_tables))


# ------------------------------------------------------------------------------------------------ edges


@pytest.mark.parametrize("step", [noise("a", "x"), noise("a", "x", method="semantic-noise-joint")])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_tables_of_hardly_any_rows_are_attacked(step: dict[str, Any], n: int) -> None:
    table = pl.DataFrame({"a": ["flu", "burn"][:n], "x": [1, 5][:n]}, schema={"a": pl.String, "x": pl.Int64})
    plan = {"columns": {"a": {"ontology": ILLNESSES}, "x": {"kind": "numeric"}}, "steps": [step]}
    found = anonto.assess(table, anonto.mask(table, plan, seed=SEED).table, plan)
    mine = [one for one in found.risk if one.attack == "likelihood-linkage"]
    assert [one.n for one in mine] == ([n] if n else [])
    if n == 1:
        assert mine[0].rate == 1.0


def test_one_distinct_value_links_by_chance() -> None:
    case = Case({"a": ["flu"] * 20, "x": [3] * 20}, [noise("a", "x")])
    assert case.attack().rate == pytest.approx(1 / 20)
    assert case.attack().details["largest_prior"]["a"] == 1.0


@pytest.mark.filterwarnings("error")
def test_assess_runs_it_for_every_scenario_under_noise() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "<b>": rng.choice(LEAVES, 120).tolist(),
            "😀": rng.choice(LEAVES, 120).tolist(),
            "age": rng.integers(0, 50, 120),
            "stay": rng.integers(0, 9, 120),
        }
    )
    plan = {
        "columns": {
            "<b>": {"ontology": "illnesses"},
            "😀": {"ontology": "illnesses"},
            "age": {"kind": "numeric"},
            "stay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [
            {"method": "taxonomy-exponential", "columns": ["<b>"], "epsilon": 3.0},
            {"method": "semantic-noise", "columns": ["😀", "age"], "noise_level": 0.2},
        ],
    }
    release = anonto.mask(table, plan, seed=SEED)
    found = anonto.assess(table, release.table, plan)
    mine = {one.columns: one for one in found.risk if one.attack == "likelihood-linkage"}
    assert set(mine) == {("<b>",), ("age", "😀"), ("<b>", "age", "😀")}
    assert mine["<b>",].details["epsilon"] == {"<b>": 3.0}
    assert set(mine["<b>", "age", "😀"].details["mean_posterior"]) == {"<b>", "😀"}
    assert found.worst is not None
    assert found.worst.rate >= max(one.rate for one in mine.values())
    assert json.loads(json.dumps(found.to_dict()))["risk"]
    again = anonto.assess(table, release.table, plan)
    assert [one.to_dict() for one in again.risk] == [one.to_dict() for one in found.risk]
