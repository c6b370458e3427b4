"""Linkage by somebody who knows the method: candidates are never too few, and those that the definitions give."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.oracles import in_reach_of_nearest, in_reach_of_windows, linked_to_candidates

import anonto
from anonto.attacks.compute import global_linkage as of_all
from anonto.attacks.compute import method_aware_linkage as module
from anonto.attacks.compute.candidate_kernels import list_candidates
from anonto.attacks.compute.candidates import CandidateRecords, FoundCandidates
from anonto.attacks.compute.constraints import equal_cells
from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.method_aware_linkage import known_constraints, link, method_aware_linkage
from anonto.attacks.plain import method_aware_linkage as plain_linkage
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.errors import AnontoError, ReleaseError
from anonto.masking.plan import Plan
from anonto.methods.registry import METHODS
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.encoding.comparison import ComparedColumn

pytestmark = pytest.mark.slow

SEED = 1 << 90
ILLNESSES = anonto.read_ontology("illnesses")
CONCEPTS = ["flu", "measles", "burn", "fracture"]
COLUMNS: dict[str, dict[str, Any]] = {
    "illness": {"ontology": ILLNESSES, "unmatched": "keep"},
    "age": {"kind": "numeric", "na": ["?"]},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
    "city's <name>": {},
}
CELLS = {
    "illness": st.sampled_from([*CONCEPTS, "influenza", "no such illness", "nor this", None]),
    "age": st.sampled_from(["20", "20.0", "30", "35", "80", "?", None]),
    "pain": st.sampled_from(["low", "mid", "high", None]),
    "city's <name>": st.sampled_from(["x", "y", "z", "x y"]),
}
INTERVALS = st.fixed_dictionaries({"interval": st.sampled_from(["all", "unswapped"])})
K = st.one_of(st.fixed_dictionaries({"k": st.integers(1, 20)}), st.fixed_dictionaries({"percent": st.floats(1, 100)}))
ODD = st.fixed_dictionaries({"odd": st.sampled_from(["stay", "cycle3"])})
JUST_K = st.fixed_dictionaries({"k": st.integers(1, 6)})


def merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda dicts: {key: value for one in dicts for key, value in one.items()})


OPTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "random-swap": st.just({}),
    "frequency-swap": JUST_K,
    "rank-swap-fixed": K,
    "rank-swap": merged(K, INTERVALS),
    "rank-swap-joint": merged(K, INTERVALS, st.sampled_from([{}, {"weights": [1, 0, 2, 0.5]}])),
    "group-swap": merged(
        JUST_K, st.fixed_dictionaries({"move": st.sampled_from(["apart", "together"]), "refine": st.booleans()})
    ),
    "equi-depth-swap": merged(JUST_K, ODD, st.fixed_dictionaries({"standardise": st.booleans()})),
    "equi-width-swap": merged(ODD, st.fixed_dictionaries({"bins": st.integers(1, 4)})),
    "invariant-swap": merged(
        st.fixed_dictionaries({"rate": st.sampled_from([0.3, 1.0])}),
        st.one_of(JUST_K, st.fixed_dictionaries({"width": st.sampled_from([1, 2, 9])})),
    ),
}


def test_every_swap_defines_its_reach() -> None:
    swaps = {name for name in METHODS if name.endswith("swap") or "swap-" in name}
    assert {name for name, method in METHODS.items() if method.is_swap} == swaps == set(OPTIONS)


def masked_by(table: pl.DataFrame, plan: Plan, seed: int = 0) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked: pl.DataFrame = anonto.mask(table, plan, seed=SEED + seed).table
        return masked


def views(
    table: pl.DataFrame, masked: pl.DataFrame, plan: Plan, known: Sequence[str]
) -> tuple[list[ComparedColumn], list[EncodedStep], dict[str, BothCells]]:
    cells = {name: BothCells.of(table[name], masked[name]) for name in table.columns}
    open_once = opener()
    columns = [compare_column(name, cells[name], plan.description(name), open_once) for name in known]
    ones = np.ones(len(table), int)
    steps = [
        encode_step(step.method, step.columns, cells, plan.description, open_once, ones, step.within, step.small_strata)
        for step in plan.steps
        if step.method.is_swap
    ]
    return columns, steps, {name: each for name, each in cells.items() if name not in plan.masked}


def candidates_of(table: pl.DataFrame, masked: pl.DataFrame, plan: Plan, known: Sequence[str]) -> CandidateRecords:
    columns, steps, cells = views(table, masked, plan, known)
    return CandidateRecords.of(columns, known_constraints(known, steps, cells))


def attacked(table: pl.DataFrame, masked: pl.DataFrame, plan: Plan, known: Sequence[str]) -> list[Any]:
    columns, steps, cells = views(table, masked, plan, known)
    return method_aware_linkage(columns, steps, cells, np.random.default_rng(1))


def plan_of(method: str, columns: Sequence[str], described: Sequence[str] | None = None, **parameters: Any) -> Plan:
    step = {"method": method, "columns": list(columns), **parameters}
    return Plan.from_dict({"columns": {name: COLUMNS[name] for name in described or columns}, "steps": [step]})


# ------------------------------------------------------------------------------------------------ never too narrow


@pytest.mark.parametrize("method", OPTIONS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_the_true_record_is_always_a_candidate(method: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(*CELLS.values()), min_size=1, max_size=24))
    table = pl.DataFrame(dict(zip(CELLS, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(CELLS, pl.String))
    parameters = data.draw(OPTIONS[method])
    step = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4, unique=True))
    if "weights" in parameters:
        step = list(CELLS)
    known = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4, unique=True))
    plan = plan_of(method, step, list(CELLS), **parameters)
    try:
        masked = masked_by(table, plan, data.draw(st.integers(0, 1000)))
        candidates = candidates_of(table, masked, plan, known)
    except AnontoError:  # too few rows for groups, or a column without values
        assume(False)
    found = candidates.search(candidates.targets(np.arange(len(rows))))
    assert found.has_own.all()
    assert (found.nearest.n_candidates >= 1).all()


@pytest.mark.parametrize("method", OPTIONS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_the_true_record_is_always_a_candidate_within_strata(method: str, data: st.DataObject) -> None:
    strata = {"ward": st.sampled_from(["A", "B", None]), "year": st.sampled_from(["1", "2"])}
    cells = {**CELLS, **strata}
    rows = data.draw(st.lists(st.tuples(*cells.values()), min_size=1, max_size=30))
    table = pl.DataFrame(dict(zip(cells, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(cells, pl.String))
    parameters = data.draw(OPTIONS[method])
    step = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4, unique=True))
    if "weights" in parameters:
        step = list(CELLS)
    known = data.draw(st.lists(st.sampled_from(list(cells)), min_size=1, max_size=6, unique=True))
    given_strata = {
        "within": data.draw(st.lists(st.sampled_from(list(strata)), min_size=1, max_size=2, unique=True)),
        "small_strata": data.draw(st.sampled_from(["pool", "leave"])),
    }
    plan = plan_of(method, step, list(CELLS), **parameters, **given_strata)
    try:
        masked = masked_by(table, plan, data.draw(st.integers(0, 1000)))
        candidates = candidates_of(table, masked, plan, known)
    except AnontoError:  # too few rows for groups, or a column without values
        assume(False)
    found = candidates.search(candidates.targets(np.arange(len(rows))))
    assert found.has_own.all()
    assert (found.nearest.n_candidates >= 1).all()


@pytest.mark.parametrize("method", OPTIONS)
def test_the_true_record_is_a_candidate_in_a_larger_table(method: str) -> None:
    rng = np.random.default_rng(3)
    n = 600
    table = pl.DataFrame(
        {
            "illness": rng.choice([*CONCEPTS, "influenza", None], n).tolist(),
            "age": rng.normal(50, 20, n).round(1).astype(str),
            "pain": rng.choice(["low", "mid", "high"], n),
            "city's <name>": rng.choice([str(number) for number in range(50)], n),
        }
    )
    parameters = {
        "equi-width-swap": {"bins": 3},
        "invariant-swap": {"rate": 0.7, "k": 7},
        "random-swap": {},
    }.get(method, {"k": 7})
    for seed, names in enumerate((list(CELLS), ["illness", "age"], ["age"], ["city's <name>"])):
        plan = plan_of(method, names, **parameters)
        found = attacked(table, masked_by(table, plan, seed), plan, list(CELLS))
        assert found[0].details["least_candidates"] >= 1


def test_cells_that_the_plan_could_not_have_put_there_are_refused() -> None:
    table = pl.DataFrame({"age": [str(number) for number in range(200)]})
    plan = plan_of("rank-swap", ["age"], k=3)
    far = table.select(pl.col("age").reverse())
    with pytest.raises(ReleaseError, match=r"In 19\d rows of 200 .* 'age'|In 19\d rows of 200 .* age"):
        attacked(table, far, plan, ["age"])


# ------------------------------------------------------------------------------------------------ by definition


def apart(name: str, table: pl.DataFrame) -> Any:
    """The distance of two cells of a column, straight from the definitions."""
    if name == "illness":
        return lambda a, b: float(ILLNESSES.distance(a, b))
    if name == "age":
        numbers = [float(cell) for cell in table["age"] if cell is not None]
        extent = max(numbers) - min(numbers)
        return lambda a, b: abs(float(a) - float(b)) / extent if extent else 0.0
    return lambda a, b: float(a != b)


PLAIN = {
    "illness": st.sampled_from([*CONCEPTS, None]),
    "age": st.sampled_from(["20", "30", "35", "36", "80", None]),
    "city's <name>": st.sampled_from(["x", "y", "z"]),
}


def squared(table: pl.DataFrame, known: Sequence[str]) -> Any:
    distances = [apart(name, table) for name in known]

    def of(x: tuple[Any, ...], y: tuple[Any, ...]) -> float:
        total = 0.0
        for distance, a, b in zip(distances, x, y, strict=True):
            total += float((a is None) != (b is None)) if a is None or b is None else distance(a, b) ** 2
        return total

    return of


def drawn_table(data: st.DataObject, most: int) -> pl.DataFrame:
    rows = data.draw(st.lists(st.tuples(*PLAIN.values()), min_size=3, max_size=most))
    table = pl.DataFrame(dict(zip(PLAIN, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(PLAIN, pl.String))
    assume(all(table[name].null_count() < table.height for name in PLAIN))
    return table


def require_as_defined(table: pl.DataFrame, plan: Plan, seed: int, could_be: Any) -> None:
    masked = masked_by(table, plan, seed)
    known = list(PLAIN)
    candidates = candidates_of(table, masked, plan, known)
    targets = candidates.targets(np.arange(table.height))
    found = candidates.search(targets)
    released = masked.with_columns(pl.col("age").replace("?", None))  # the code of all missing cells
    hits, sizes = linked_to_candidates(table.rows(), released.rows(), could_be, squared(table, known))
    assert found.nearest.n_candidates[targets.of_person].tolist() == sizes
    assert link(candidates, targets, found).sum() == pytest.approx(hits)
    columns, steps, cells = views(table, masked, plan, known)
    plain = plain_linkage.link(columns, known_constraints(known, steps, cells))
    np.testing.assert_array_equal(link(candidates, targets, found), plain)


@settings(max_examples=examples(50), deadline=None)
@given(data=st.data(), k=st.integers(1, 6), seed=st.integers(0, 50))
def test_candidates_of_rank_swapping_are_the_k_nearest_from_either_side(data: st.DataObject, k: int, seed: int) -> None:
    table = drawn_table(data, 14)
    swapped = ["illness", "age"]
    in_support = {
        name: in_reach_of_nearest([cell for cell in table[name] if cell is not None], apart(name, table), k)
        for name in swapped
    }

    def could_be(x: tuple[Any, ...], y: tuple[Any, ...]) -> bool:
        told = dict(zip(PLAIN, zip(x, y, strict=True), strict=True))
        for name, (a, b) in told.items():
            if name not in swapped or a is None or b is None:
                if a != b:
                    return False
            elif not in_support[name](a, b):
                return False
        return True

    require_as_defined(table, plan_of("rank-swap", swapped, k=k), seed, could_be)


@settings(max_examples=examples(50), deadline=None)
@given(data=st.data(), k=st.integers(1, 6), seed=st.integers(0, 50))
def test_candidates_of_joint_swapping_have_values_of_near_records(data: st.DataObject, k: int, seed: int) -> None:
    table = drawn_table(data, 12)
    rows = table.rows()
    distances = [apart(name, table) for name in PLAIN]

    def mean(x: tuple[Any, ...], y: tuple[Any, ...]) -> float:
        each = [d(a, b) for d, a, b in zip(distances, x, y, strict=True) if a is not None and b is not None]
        return sum(each) / len(each) if each else 1.0

    near = in_reach_of_nearest(rows, mean, k)

    def could_be(x: tuple[Any, ...], y: tuple[Any, ...]) -> bool:
        return all(
            y[j] == x[j] or any(near(x, z) and z[j] == y[j] for z in rows if x[j] is not None and z[j] is not None)
            for j in range(len(x))
        )

    require_as_defined(table, plan_of("rank-swap-joint", list(PLAIN), k=k), seed, could_be)


@settings(max_examples=examples(50), deadline=None)
@given(data=st.data(), k=st.integers(1, 4), seed=st.integers(0, 50), method=st.sampled_from(["fixed", "frequency"]))
def test_candidates_of_swapping_in_windows_can_stand_close_in_an_order(
    data: st.DataObject, k: int, seed: int, method: str
) -> None:
    table = drawn_table(data, 10)
    pairs = {}
    for name in PLAIN:
        cells = [cell for cell in table[name] if cell is not None]
        if method == "frequency":
            keys = [{cell: float(cells.count(cell)) for cell in cells}]
        else:
            distance = apart(name, table)
            sums = {cell: sum(distance(cell, other) for other in cells) for cell in cells}
            firsts = [cell for cell in sums if sums[cell] >= max(sums.values()) - 1e-9]
            keys = [
                {cell: -1.0 if cell == first else round(distance(first, cell), 9) for cell in cells} for first in firsts
            ]
        pairs[name] = in_reach_of_windows(cells, keys, k)

    def could_be(x: tuple[Any, ...], y: tuple[Any, ...]) -> bool:
        return all(a is b is None or (a, b) in pairs[name] for name, a, b in zip(PLAIN, x, y, strict=True))

    of_plan = {"fixed": "rank-swap-fixed", "frequency": "frequency-swap"}[method]
    require_as_defined(table, plan_of(of_plan, list(PLAIN), k=k), seed, could_be)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("group-swap", {"k": 3}),
        ("group-swap", {"k": 3, "move": "together"}),
        ("equi-depth-swap", {"k": 3}),
        ("equi-depth-swap", {"k": 3, "odd": "cycle3"}),
        ("equi-width-swap", {"bins": 2}),
        ("invariant-swap", {"rate": 0.8, "k": 3}),
        ("random-swap", {}),
    ],
)
def test_candidates_inside_groups_are_all_that_some_draw_leads_to(method: str, parameters: dict[str, Any]) -> None:
    """The released records of many runs, and the candidates of one run, have the same values for each person."""
    rng = np.random.default_rng(4)
    names = ["illness", "age"]
    table = pl.DataFrame(
        {"illness": rng.choice(CONCEPTS, 11).tolist(), "age": rng.permutation(np.arange(20, 75, 5)).astype(str)}
    )
    plan = plan_of(method, names, **parameters)
    ages: list[set[str]] = [set() for _ in range(table.height)]
    for seed in range(200):
        masked = masked_by(table, plan, seed)
        for i, age in enumerate(masked["age"]):
            ages[i].add(age)
    candidates = candidates_of(table, masked, plan, ["age"])
    found = candidates.search(candidates.targets(np.arange(table.height)), wanted=table.height)
    column = candidates.columns[0]
    text_of = {int(code): text for code, text in zip(column.original, table["age"], strict=True)}
    targets = candidates.targets(np.arange(table.height))
    for i in range(table.height):
        numbers = found.listed[targets.of_person[i]]
        told = {text_of[int(candidates.released.records.codes[number, 0])] for number in numbers if number >= 0}
        assert told == ages[i]
        assert found.nearest.n_candidates[targets.of_person[i]] == len(ages[i])


# ------------------------------------------------------------------------------------------------ known answers


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    n = 400
    return pl.DataFrame(
        {
            "illness": rng.choice(CONCEPTS, n).tolist(),
            "age": rng.integers(20, 60, n).astype(str),
            "city's <name>": rng.choice(["x", "y", "z"], n),
        }
    )


@pytest.mark.parametrize(
    ("method", "parameters"), [("rank-swap", {"k": 5}), ("group-swap", {"k": 5}), ("random-swap", {})]
)
def test_an_unmasked_table_is_linked_as_far_as_its_records_differ(
    table: pl.DataFrame, method: str, parameters: dict[str, Any]
) -> None:
    plan = plan_of(method, ["illness", "age"], **parameters)
    known = ["illness", "age", "city's <name>"]
    nearest, at_once = attacked(table, table, plan, known)
    distinct = table.select(known).unique().height
    assert nearest.rate == pytest.approx(distinct / table.height)
    assert at_once.rate == pytest.approx(distinct / table.height)
    assert (nearest.attack, nearest.baseline, nearest.n) == ("method-aware-linkage", 1 / 400, 400)


def test_shuffled_values_are_linked_only_by_chance() -> None:
    table = pl.DataFrame({"age": [str(number) for number in range(400)]})
    plan = plan_of("random-swap", ["age"])
    found = [attacked(table, masked_by(table, plan, seed), plan, ["age"]) for seed in range(30)]
    for place in (0, 1):
        rate = np.mean([risks[place].rate for risks in found])
        assert rate == pytest.approx(1 / 400, abs=4 * np.sqrt(1 / 400 / (30 * 400)))
    assert found[0][0].details["least_candidates"] == 399  # nobody keeps a value that only she has
    assert found[0][0].details["proven_share"] == 0


@pytest.mark.parametrize("move", ["apart", "together"])
def test_groups_keep_one_in_k_against_somebody_who_knows_them(table: pl.DataFrame, move: str) -> None:
    plan = plan_of("group-swap", list(table.columns), k=5, move=move)
    runs = [attacked(table, masked_by(table, plan, seed), plan, list(table.columns)) for seed in range(8)]
    for place in (0, 1):
        rate = float(np.mean([risks[place].rate for risks in runs]))
        assert 0.05 < rate < 1 / 5 + 3 * np.sqrt(0.16 / (8 * 400))
        assert np.median([risks[place].low for risks in runs]) < 1 / 5
    assert all(risks[0].details["least_candidates"] >= 5 for risks in runs)


def test_a_shift_within_the_window_is_possible_but_not_taken_for_the_truth() -> None:
    ages = [str(number) for number in range(0, 4000, 10)]
    shifted = [ages[place ^ 1] for place in range(400)]
    plan = plan_of("rank-swap", ["age"], k=2)
    columns = [pl.DataFrame({"age": each}) for each in (ages, shifted)]
    nearest, at_once = attacked(*columns, plan, ["age"])
    assert (nearest.rate, at_once.rate) == (0.0, 0.0)
    assert nearest.details["least_candidates"] == 3
    assert nearest.details["mean_candidates"] == pytest.approx(3, abs=0.1)


def test_with_pairs_of_two_values_one_candidate_is_a_proof() -> None:
    """Bins of two people exchange what they have: whoever knows it, and one of them, knows both."""
    table = pl.DataFrame({"age": [str(1000 * (place // 2) + place % 2) for place in range(200)]})
    plan = plan_of("equi-depth-swap", ["age"], k=2)
    nearest, at_once = attacked(table, masked_by(table, plan), plan, ["age"])
    assert nearest.details == {
        "matching": "nearest",
        "least_candidates": 1,
        "mean_candidates": 1.0,
        "proven_share": 1.0,
    }
    assert (nearest.rate, at_once.rate) == (1.0, 1.0)
    by_threes = plan_of("equi-depth-swap", ["age"], k=3)
    told = attacked(table, masked_by(table, by_threes), by_threes, ["age"])[0].details
    assert (told["proven_share"], told["least_candidates"]) == (0.0, 3)


def test_knowing_the_method_helps_where_many_columns_are_swapped_apart() -> None:
    """Rank swapping of numbers, six columns: distances alone link fewer persons than intervals do."""
    rng = np.random.default_rng(7)
    n, names = 300, [f"column {number}" for number in range(6)]
    table = pl.DataFrame({name: rng.normal(size=n).round(3).astype(str) for name in names})
    plan = Plan.from_dict(
        {
            "columns": {name: {"kind": "numeric"} for name in names},
            "steps": [{"method": "rank-swap", "columns": names, "percent": 30}],
        }
    )
    assessed = anonto.assess(table, masked_by(table, plan), plan)
    rates = {(one.attack, one.details.get("matching")): one.rate for one in assessed.risk}
    assert rates["method-aware-linkage", "nearest"] > rates["distance-linkage", None] + 0.2
    assert rates["method-aware-linkage", "global"] > rates["global-linkage", None] + 0.3


# ------------------------------------------------------------------------------------------------ some persons


@pytest.fixture(scope="module")
def normals() -> tuple[pl.DataFrame, pl.DataFrame, Plan]:
    rng = np.random.default_rng(7)
    names = ["x", "y", "z"]
    table = pl.DataFrame({name: rng.normal(size=1000).round(6).astype(str) for name in names})
    step = {"method": "rank-swap", "columns": names, "percent": 10}
    plan = Plan.from_dict({"columns": {name: {"kind": "numeric"} for name in names}, "steps": [step]})
    return table, masked_by(table, plan), plan


def linked_one_by_one(table: pl.DataFrame, masked: pl.DataFrame, k: int, persons: Any) -> float:
    """The share of some persons linked to the nearest candidate of rank swapping, from the definitions."""
    in_support = in_reach_of_nearest(table["age"].to_list(), apart("age", table), k)
    hits = 0.0
    for i in persons:
        x = table["age"][int(i)]
        could_be = {j: abs(float(x) - float(y)) for j, y in enumerate(masked["age"]) if in_support(x, y)}
        nearest = [j for j, distance in could_be.items() if distance <= min(could_be.values())]
        hits += (i in nearest) / len(nearest)
    return hits / len(persons)


def test_the_persons_that_are_attacked_need_not_be_the_first() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"age": rng.integers(0, 90, 120).astype(str)})
    plan = plan_of("rank-swap", ["age"], k=2)
    masked = masked_by(table, plan)
    rows = np.arange(70, 110)
    columns, steps, cells = views(table, masked, plan, ["age"])
    nearest, at_once = method_aware_linkage(columns, steps, cells, np.random.default_rng(1), rows)
    assert (nearest.n, at_once.n) == (40, 40)
    expected = linked_one_by_one(table, masked, 2, rows)
    assert nearest.rate == pytest.approx(expected)
    assert expected != pytest.approx(linked_one_by_one(table, masked, 2, np.arange(40)))
    alone = pl.DataFrame({"age": rng.permutation(300)[:120].astype(str)})
    columns, steps, cells = views(alone, alone, plan, ["age"])
    found = method_aware_linkage(columns, steps, cells, np.random.default_rng(1), rows)
    assert [one.rate for one in found] == [1.0, 1.0]


def test_fewer_persons_are_attacked_where_pairs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"age": rng.integers(0, 90, 120).astype(str)})
    plan = plan_of("rank-swap", ["age"], k=2)
    masked = masked_by(table, plan)
    monkeypatch.setattr(module, "FEWEST_PERSONS", 10)
    columns, steps, cells = views(table, masked, plan, ["age"])
    rows = np.arange(30, 120)
    monkeypatch.setattr(module, "MOST_PAIRS", 40 * masked["age"].n_unique())
    persons = module.fewer_persons(columns, rows, np.random.default_rng(1))
    assert (persons.size, int(persons.min()) >= 30) == (40, True)
    nearest, at_once = method_aware_linkage(columns, steps, cells, np.random.default_rng(1), rows)
    assert nearest.n == 40
    assert nearest.rate == pytest.approx(linked_one_by_one(table, masked, 2, persons))
    assert "a lower bound" in at_once.knowledge
    assert at_once.n < 40
    alone = pl.DataFrame({"age": rng.permutation(300)[:120].astype(str)})
    columns, steps, cells = views(alone, alone, plan, ["age"])
    found = method_aware_linkage(columns, steps, cells, np.random.default_rng(1), rows)
    assert [one.rate for one in found] == [1.0, 1.0]


def test_blocks_of_neighbours_reach_what_all_persons_matched_at_once_do(
    normals: tuple[pl.DataFrame, pl.DataFrame, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the persons, scattered, would reach 20 points of a hundred less."""
    table, masked, plan = normals
    whole = attacked(table, masked, plan, ["x", "y", "z"])[1]
    assert (whole.n, "lower bound" in whole.knowledge) == (1000, False)
    assert whole.rate > 0.7
    monkeypatch.setattr(of_all, "MOST_PERSONS", 500)
    monkeypatch.setattr(of_all, "PERSONS_OF_A_BLOCK", 500)
    columns, steps, cells = views(table, masked, plan, ["x", "y", "z"])
    found = [method_aware_linkage(columns, steps, cells, np.random.default_rng(seed))[1] for seed in range(8)]
    assert np.mean([one.rate for one in found]) > whole.rate - 0.08
    assert all(one.n == 125 and "a lower bound" in one.knowledge for one in found)


# ------------------------------------------------------------------------------------------------ findings


def test_links_beyond_what_k_suggests_are_said_first_and_in_plain_words(table: pl.DataFrame) -> None:
    loose = plan_of("rank-swap", ["illness", "age"], k=20)
    found = anonto.assess(table, masked_by(table, loose), loose)
    beyond = [sentence for sentence in found.findings if "more than the 1 in 20 that k = 20" in sentence]
    linked = {one.attack for one in found.risk if one.attack.endswith("linkage") and one.low > 1 / 20}
    assert linked
    assert all(any(attack in sentence for sentence in beyond) for attack in linked)
    assert found.to_dict()["findings"] == list(found.findings)
    in_percent = plan_of("rank-swap", ["illness", "age"], percent=5)
    said = anonto.assess(table, masked_by(table, in_percent), in_percent).findings
    assert any("k = 20 of rank-swap" in sentence for sentence in said)
    kept = plan_of("group-swap", list(table.columns), k=5)
    assert not anonto.assess(table, masked_by(table, kept, seed=1), kept).findings


def test_a_table_without_rows_and_one_with_one_row_are_attacked_too() -> None:
    plan = plan_of("rank-swap", ["age"], k=3)
    schema = {"age": pl.String}
    for cells in ([], ["20"]):
        table = pl.DataFrame({"age": cells}, schema=schema)
        found = [one for one in anonto.assess(table, table, plan).risk if one.attack == "method-aware-linkage"]
        assert all(one.rate == len(cells) for one in found)


@pytest.mark.parametrize("share", [0.02, 0.9])
def test_candidates_are_listed_in_order_whether_few_or_many_are_allowed(share: float) -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame({name: rng.integers(0, 40, 300) for name in ("a", "b")})
    columns = [
        compare_column(name, BothCells.of(table[name], table[name]), ColumnDescription(kind="numeric"), opener())
        for name in table.columns
    ]
    released = CandidateRecords.of(columns, [equal_cells(BothCells.of(table[n], table[n])) for n in "ab"]).released
    for _ in range(20):
        allowed = rng.random(released.begins[-1]) < share
        out = np.empty(released.amounts.size, dtype=np.int32)
        n = list_candidates(allowed, released, out)
        assert out[:n].tolist() == np.flatnonzero(allowed[released.parts].all(axis=1)).tolist()


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), wanted=st.integers(1, 8))
def test_the_list_of_the_nearest_is_the_shortest_with_enough_rows(data: st.DataObject, wanted: int) -> None:
    """Sorted by distance, and equal distances by number; with something added to each class of records."""
    table = drawn_table(data, 14)
    plan = plan_of("random-swap", ["illness", "age"])
    masked = masked_by(table, plan, 5)
    candidates = candidates_of(table, masked, plan, list(PLAIN))
    targets = candidates.targets(np.arange(table.height))
    whole = slice(0, targets.codes.shape[0])
    further = np.array([[data.draw(st.sampled_from([0.0, 0.25, np.inf]))] for _ in range(whole.stop)])
    allowed, found = candidates.allowed_rows(targets, whole), FoundCandidates.room_for(targets, wanted)
    candidates.search_part(targets, whole, allowed, further, found)
    records, amounts = candidates.released.records.codes, candidates.released.amounts
    for i, own in enumerate(targets.codes):
        distances = further[i, 0] + candidates.space.between(np.tile(own, (len(records), 1)), records)
        distances[~allowed[i][candidates.released.parts].all(axis=1)] = np.inf
        expected, n_rows = [], 0
        for number in np.argsort(distances, kind="stable").tolist():
            if n_rows < wanted and distances[number] < np.inf:
                expected.append(number)
                n_rows += int(amounts[number])
        listed = found.listed[i][found.listed[i] >= 0]
        assert listed.tolist() == expected
        assert found.distances[i][: listed.size].tolist() == distances[expected].tolist()
        assert found.nearest.n_candidates[i] == amounts[distances < np.inf].sum()
