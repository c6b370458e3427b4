"""An intruder who masks the table again with seeds of her own, and matches everybody at once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment.in_memory import compare_in_memory, open_encoded
from anonto.attacks.compute import global_linkage as of_all
from anonto.attacks.compute import simulation as of_runs
from anonto.attacks.compute import simulation_linkage as module
from anonto.attacks.compute.constraints import support_constraints
from anonto.attacks.compute.simulation import KnownTransitions, known_transitions
from anonto.attacks.compute.soft_matching import PossibleLinks, match_softly
from anonto.attacks.global_linkage import GlobalLinkage
from anonto.attacks.likelihood_linkage import LikelihoodLinkage
from anonto.attacks.plain import simulation_linkage as plain
from anonto.attacks.simulation_linkage import SimulationLinkage
from anonto.attacks.situation import Situation
from anonto.masking.plan import Plan
from anonto.random.streams import Seed

SEED = 1 << 90
N = 60
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "age": {"kind": "numeric"},
    "pay": {"kind": "numeric"},
    "illness": {"ontology": anonto.read_ontology("illnesses")},
    "sex": {},
}


def a_table(n: int = N, *, gaps: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    age = rng.integers(20, 80, n)
    missing: list[Any] = [None] if gaps else []
    return pl.DataFrame(
        {
            "age": age.tolist(),
            "pay": (age * 10 + rng.integers(0, 300, n)).tolist(),
            "illness": rng.choice(["flu", "measles", "burn", "fracture", *missing], n).tolist(),
            "sex": rng.choice(["f", "m"], n).tolist(),
        }
    )


def situation_of(
    method: str, columns: list[str], table: pl.DataFrame | None = None, seed: int = SEED, **step: Any
) -> Situation:
    """A release of some columns of a table, and an intruder who knows all these."""
    table = a_table() if table is None else table
    names = [name for name in table.columns if name in {*columns, *step.get("within", [])}]
    table = table.select(names)
    described = {name: DESCRIPTIONS[name] for name in names}
    plan = Plan.from_dict({"columns": described, "steps": [{"method": method, "columns": columns, **step}]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = anonto.mask(table, plan, seed=seed).table
        compared = compare_in_memory(open_encoded(table, plan), masked, plan, None, same_order=True)
    return Situation(compared, Seed(0), compared.known[-1])


def run(situation: Situation) -> Any:
    (found,) = SimulationLinkage().run(situation, np.random.default_rng(0))
    return found


def transitions_of(situation: Situation) -> list[KnownTransitions]:
    found = situation.compared.simulations(situation.seed)
    return [each for one in found for each in known_transitions(one, situation.known)]


SWAPS: dict[str, dict[str, Any]] = {
    "rank-swap": {"k": 5},
    "rank-swap-fixed": {"k": 5},
    "rank-swap-joint": {"k": 5},
    "frequency-swap": {"k": 10},
    "random-swap": {},
    "group-swap": {"k": 5},
    "equi-depth-swap": {"k": 5},
    "equi-width-swap": {"bins": 3},
    "invariant-swap": {"rate": 0.5, "k": 10},
}


@pytest.mark.parametrize("method", SWAPS)
def test_the_plain_version_links_the_same_persons(method: str) -> None:
    situation = situation_of(method, ["age", "illness"], a_table(gaps=True), **SWAPS[method])
    names, persons = list(situation.names), np.arange(N)
    constraints = support_constraints(names, situation.compared.swaps, persons)
    links = plain.link(constraints, transitions_of(situation))
    assert run(situation).rate == pytest.approx(float(links.mean()), abs=1e-6)


@pytest.mark.parametrize("method", SWAPS)
def test_what_own_runs_showed_is_the_share_of_a_value_in_what_became_of_another(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_runs, "RUNS_OF_NEIGHBOURS", 0.0)
    situation = situation_of(method, ["age", "illness"], **SWAPS[method])
    (first, *_) = situation.compared.simulations(situation.seed)
    (one, *_) = known_transitions(first, situation.known[: len(first.columns)])
    mine = np.isin(first.sources, np.unique(first.record_of[one.sources == one.sources[7]]))
    became = first.released[mine]
    same = (first.released == np.array([column.masked[7] for column in first.columns])).all(axis=1)[mine]
    if not first.step.method.moves_whole_records:
        same = became[:, 0] == first.columns[0].masked[7]
    share = first.amounts[mine][same].sum() / first.amounts[mine].sum()
    assert one.table[[int(one.sources[7])]].toarray()[0, one.values[7]] == pytest.approx(share)
    assert one.probabilities(one.sources).sum(axis=1) == pytest.approx(np.ones(N))


def test_exchanges_in_pairs_are_recognised_by_the_runs() -> None:
    for method, parameters in SWAPS.items():
        found = transitions_of(situation_of(method, ["age", "pay"], **parameters))
        in_pairs = method not in {"group-swap", "invariant-swap"}
        assert [one.is_reciprocal for one in found] == [in_pairs] * len(found)


def test_whole_records_that_move_together_are_one_value() -> None:
    (one,) = transitions_of(situation_of("equi-width-swap", ["age", "illness"], bins=3))
    assert one.shares.size > len(np.unique(a_table()["age"]))
    assert len(transitions_of(situation_of("rank-swap-joint", ["age", "illness"], k=5))) == 2


def test_more_persons_are_found_than_by_distance() -> None:
    situations = [situation_of("rank-swap", ["age", "pay"], a_table(200), SEED + seed, k=12) for seed in range(3)]
    by_distance = [GlobalLinkage().run(one, np.random.default_rng(0))[0].rate for one in situations]
    assert np.mean([run(one).rate for one in situations]) > 1.3 * np.mean(by_distance)


def test_exchanges_that_go_back_find_more(monkeypatch: pytest.MonkeyPatch) -> None:
    situations = [situation_of("frequency-swap", ["age", "pay"], a_table(200), SEED + one, k=20) for one in range(3)]
    with_pairs = np.mean([run(one).rate for one in situations])
    monkeypatch.setattr(of_runs, "_is_reciprocal", lambda *_: False)
    assert with_pairs > 1.3 * np.mean([run(one).rate for one in situations])


def test_a_random_exchange_is_linked_as_by_chance() -> None:
    found = run(situation_of("random-swap", ["age", "pay"], a_table(200)))
    assert found.rate <= 0.05
    assert found.baseline == 1 / 200


@pytest.mark.parametrize("noise", [{"noise_level": 0.3}, {"epsilon": 4.0}])
def test_noise_is_matched_at_once_by_its_own_likelihood(noise: dict[str, Any]) -> None:
    method = "semantic-noise" if "noise_level" in noise else "taxonomy-exponential"
    columns = ["age", "pay", "illness"] if method == "semantic-noise" else ["illness"]
    situation = situation_of(method, columns, a_table(200, gaps=True), **noise)
    (alone,) = LikelihoodLinkage().run(situation, np.random.default_rng(0))
    found = run(situation)
    assert found.details == {"runs": 0}
    assert found.rate >= alone.rate


def test_rows_in_another_order_are_linked_alike() -> None:
    situation = situation_of("rank-swap", ["age", "illness"], k=5)
    compared = situation.compared
    order = np.random.default_rng(1).permutation(N)
    table = a_table().select("age", "illness")
    masked = pl.DataFrame({name: both.written[1] for name, both in compared.cells.items()})
    plan = Plan.from_dict(
        {
            "columns": {name: DESCRIPTIONS[name] for name in table.columns},
            "steps": [{"method": "rank-swap", "columns": ["age", "illness"], "k": 5}],
        }
    )
    other = compare_in_memory(open_encoded(table[order], plan), masked[order], plan, None, same_order=True)
    assert run(Situation(other, Seed(0), other.known[-1])).rate == pytest.approx(run(situation).rate, abs=1e-9)


def test_columns_of_strata_are_used() -> None:
    apart = run(situation_of("rank-swap", ["age", "pay"], k=12, within=["sex"]))
    assert apart.rate > 5 / N
    joint = run(situation_of("rank-swap-joint", ["age", "pay"], k=12, within=["sex"]))
    assert joint.rate > 5 / N


def test_large_tables_are_matched_in_blocks_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(situation_of("rank-swap", ["age", "pay"], a_table(200), k=12))
    monkeypatch.setattr(of_all, "MOST_PERSONS", 160)
    monkeypatch.setattr(of_all, "PERSONS_OF_A_BLOCK", 80)
    some = run(situation_of("rank-swap", ["age", "pay"], a_table(200), k=12))
    assert "blocks of neighbours" in some.knowledge
    assert "blocks" not in whole.knowledge
    assert some.n < whole.n == 200
    assert some.rate > 0.3 * whole.rate


def test_only_the_likeliest_pairs_are_kept_in_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(situation_of("rank-swap", ["age", "pay"], a_table(200), k=12)).rate
    monkeypatch.setattr(module, "MOST_PAIRS", 200 * 40)
    assert run(situation_of("rank-swap", ["age", "pay"], a_table(200), k=12)).rate == pytest.approx(whole, abs=0.1)


def test_a_table_too_large_to_be_masked_again_is_not_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_runs, "MOST_RECORDS", 3)
    situation = situation_of("rank-swap", ["age", "pay"], k=5)
    assert SimulationLinkage().applies(situation)
    assert SimulationLinkage().run(situation, np.random.default_rng(0)) == []


def test_it_is_not_tried_where_no_known_column_has_a_likelihood() -> None:
    assert not SimulationLinkage().applies(situation_of("microaggregate", ["age", "pay"], k=3))


@pytest.mark.parametrize("are_all", [True, False])
def test_rows_and_persons_are_matched_once_each(*, are_all: bool) -> None:
    rng = np.random.default_rng(2)
    n_persons, n_rows = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 2.0, 1.0])
    targets, records = (grid.ravel() for grid in np.meshgrid(np.arange(3), np.arange(4), indexing="ij"))
    pairs = PossibleLinks(targets, records, rng.random(12), n_persons, n_rows)
    found = match_softly(pairs, [], are_all=are_all).reshape(3, 4)
    assert found @ n_rows == pytest.approx(np.ones(3))
    assert n_persons @ found == pytest.approx(np.ones(4), abs=1e-3 if are_all else 0.1)


def test_a_row_that_several_want_goes_to_who_has_no_other() -> None:
    """Both are likeliest for the first row, but the second person has nothing else."""
    pairs = PossibleLinks(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.9, 0.1, 1.0]), np.ones(2), np.ones(2))
    found = match_softly(pairs, [], are_all=True)
    assert found == pytest.approx([0.0, 1.0, 1.0], abs=0.1)
