"""A person's own record and a release: what could be hers is never left out, and nearness is what it is said to be."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import anonto
import oracles
from anonto.attacks.compute.permutation_distance import permutation_distances
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.prepare import opener
from anonto.errors import ColumnError, InputError, PlanError, UnmatchedValuesError
from anonto.masking.plan import Plan
from anonto.verify.own_record import compare_cell
from anonto.verify.plausible_rows import find_plausible_rows
from budget import examples

ILLNESSES = anonto.read_ontology("illnesses")
CONCEPTS = ["flu", "measles", "burn", "fracture"]
COLUMNS: dict[str, Any] = {
    "illness": {"ontology": ILLNESSES},
    "age": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
    "city": {},
}
NAMES = list(COLUMNS)
CELLS = (
    st.sampled_from([*CONCEPTS, None]),
    st.sampled_from(["20", "30", "35", "80", None]),
    st.sampled_from(["low", "mid", "high"]),
    st.sampled_from(["x", "y", "<b>'z'"]),
)
TABLES = st.lists(st.tuples(*CELLS), min_size=2, max_size=16).filter(
    lambda rows: all(any(row[place] is not None for row in rows) for place in range(len(NAMES)))
)
FOLLOWED = [
    {"method": "random-swap"},
    {"method": "frequency-swap", "k": 2},
    {"method": "rank-swap-fixed", "k": 2},
    {"method": "rank-swap", "k": 2},
    {"method": "rank-swap", "percent": 30, "interval": "unswapped"},
    {"method": "group-swap", "k": 3, "move": "together"},
    {"method": "equi-depth-swap", "k": 2},
    {"method": "equi-width-swap", "bins": 2},
    {"method": "invariant-swap", "rate": 0.8, "k": 2},
    {"method": "invariant-swap", "rate": 0.8, "width": 2},
]
SEED = 1 << 90


def frame_of(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")


def plan_with(*steps: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return {"columns": COLUMNS | columns, "steps": [{"columns": NAMES, **step} for step in steps]}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    n = 200
    return pl.DataFrame(
        {
            "illness": rng.choice(CONCEPTS, n),
            "age": rng.integers(20, 90, n).astype(str),
            "pain": rng.choice(["low", "mid", "high"], n),
            "city": rng.choice(["x", "y"], n),
        }
    )


# ------------------------------------------------------------------------------------------------ candidates


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
@pytest.mark.parametrize("step", FOLLOWED, ids=lambda step: "-".join(map(str, step.values())))
@settings(max_examples=examples(12))
@given(rows=TABLES, seed=st.integers(1 << 100, 1 << 110))
def test_a_persons_released_record_is_always_among_her_candidates(step: Any, rows: list[Any], seed: int) -> None:
    table = frame_of(rows)
    try:
        release = anonto.mask(table, plan_with(step), seed=seed).table
    except anonto.InputError:  # too few records that lack the same cells
        return
    plan, adapter = Plan.from_dict(plan_with(step)), FrameAdapter(release)
    for person, row in enumerate(table.rows(named=True)):
        own = FrameAdapter(pl.DataFrame(row, schema=dict.fromkeys(NAMES, pl.String)))
        looked = {name: compare_cell(name, own, adapter, plan.description(name), opener()) for name in NAMES}
        found = find_plausible_rows(plan.steps[0], looked, adapter, plan, opener())
        assert found.rows is not None
        assert found.rows[person]


def test_candidates_of_rank_swapping_are_those_within_reach_of_every_column() -> None:
    """Ages 1 … 10, k = 2: the two nearest of 5 are 4 and 6; those of 1 are 2 and 3, and so 3 may have become 1."""
    table = pl.DataFrame({"age": [str(age) for age in range(1, 11)]})
    plan = {
        "columns": {"age": {"kind": "numeric"}},
        "steps": [{"method": "rank-swap", "columns": ["age"], "k": 2}],
    }
    release = anonto.mask(table, plan, seed=SEED).table
    assert anonto.verify({"age": "5"}, release, plan).candidates == 3
    assert anonto.verify({"age": "1"}, release, plan).candidates == 3
    assert anonto.verify({"age": "3"}, release, plan).candidates == 4


def test_candidates_of_equi_width_swapping_are_the_records_of_the_bin() -> None:
    table = pl.DataFrame({"age": [str(age) for age in range(100)], "note": [f"n{age}" for age in range(100)]})
    plan = {
        "columns": {"age": {"kind": "numeric"}, "note": {"role": "confidential"}},
        "steps": [{"method": "equi-width-swap", "columns": ["age"], "bins": 4}],
    }
    release = anonto.mask(table, plan, seed=SEED).table
    found = anonto.verify({"age": 30, "note": "n30"}, release, plan)
    assert found.candidates == 25
    assert found.as_is == {"columns": ["note"], "equal": 1, "candidates": 1}
    assert "only these are left" in found.sentences[-1]


@pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")
def test_the_candidates_of_several_steps_are_those_that_all_allow(table: pl.DataFrame) -> None:
    steps = [
        {"method": "rank-swap", "k": 9, "columns": ["age"]},
        {"method": "equi-width-swap", "bins": 2, "columns": ["illness", "pain"]},
        {"method": "random-swap", "columns": ["city"]},
    ]
    plan = plan_with(*steps)
    release = anonto.mask(table, plan, seed=SEED).table
    found = anonto.verify(table[:1], release, plan)
    alone = [step["candidates"] for step in found.steps]
    assert alone[2] == 200
    assert 1 <= found.candidates < min(alone)


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
@pytest.mark.parametrize(
    ("step", "at_least"),
    [
        ({"method": "group-swap", "k": 7}, 7),
        ({"method": "microaggregate", "k": 5}, 5),
        ({"method": "rank-swap-joint", "k": 5}, None),
        ({"method": "microaggregate", "k": 5, "aggregate": "synthetic"}, None),
    ],
)
def test_results_that_need_original_records_are_not_invented(
    table: pl.DataFrame, step: dict[str, Any], at_least: int | None
) -> None:
    found = anonto.verify(table[:1], anonto.mask(table, plan_with(step), seed=SEED).table, plan_with(step))
    assert found.candidates is None
    assert found.at_least == at_least
    assert ("at least 7 of 200" in found.sentences[0]) == (at_least == 7)


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
@pytest.mark.parametrize("method", ["group-swap", "microaggregate"])
def test_groups_of_several_steps_or_beside_an_unmasked_quasi_identifier_promise_nothing(
    table: pl.DataFrame, method: str
) -> None:
    two = plan_with(
        {"method": method, "k": 7, "columns": ["illness", "age"]},
        {"method": method, "k": 5, "columns": ["pain", "city"]},
    )
    found = anonto.verify(table[:1], anonto.mask(table, two, seed=SEED).table, two)
    assert (found.candidates, found.at_least) == (None, None)
    assert "several steps" in (found.why_no_promise or "")
    assert "No number is guaranteed either: the groups of several steps" in found.sentences[0]
    left_out = plan_with({"method": method, "k": 7, "columns": ["illness", "age", "pain"]})
    found = anonto.verify(table[:1], anonto.mask(table, left_out, seed=SEED).table, left_out)
    assert (found.candidates, found.at_least) == (None, None)
    assert "leaves out city" in found.sentences[0]
    may_be_known = plan_with({"method": method, "k": 7, "columns": NAMES[:3]}, city={"role": "other"})
    found = anonto.verify(table[:1], anonto.mask(table, may_be_known, seed=SEED).table, may_be_known)
    assert "leaves out city" in (found.why_no_promise or "")
    kept_apart = plan_with({"method": method, "k": 7, "columns": NAMES[:3]}, city={"role": "confidential"})
    found = anonto.verify(table[:1], anonto.mask(table, kept_apart, seed=SEED).table, kept_apart)
    assert (found.at_least, found.why_no_promise) == (7, None)
    assert found.to_dict()["why_no_promise"] is None


def test_a_number_unlike_the_only_one_released_is_as_far_as_can_be() -> None:
    plan = {"columns": {"age": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": ["age"]}]}
    for release in (["40"], ["40", "40", None]):
        found = anonto.verify({"age": "41"}, pl.DataFrame({"age": release}), plan)
        assert (found.equal, found.distance) == (0, 1.0)
        assert found.within[0.5] == 0
        assert "at distance 1.000" in " ".join(found.sentences)
    assert anonto.verify({"age": "40.0"}, pl.DataFrame({"age": ["40"]}), plan).distance == 0.0


def test_under_noise_every_record_could_be_mine_but_near_ones_are_likelier() -> None:
    plan = {
        "columns": {"age": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["age"], "noise_level": 1.0}],
    }
    table = pl.DataFrame({"age": np.arange(50)})
    found = anonto.verify({"age": 3}, anonto.mask(table, plan, seed=SEED).table, plan)
    assert found.candidates == 50
    assert "likelier" in found.sentences[0]
    assert found.absent == ()


# ------------------------------------------------------------------------------------------------ nearness


def distance_of(name: str, a: str | None, b: str | None, ages: list[float]) -> float:
    if a is None or b is None:
        return float(a is not b)
    if name == "illness":
        return ILLNESSES.distance(a, b)
    if name == "city":
        return float(a != b)
    places = [COLUMNS["pain"]["order"].index(one) for one in (a, b)] if name == "pain" else [float(a), float(b)]
    extent = float(np.ptp(ages))
    return min(1.0, abs(places[0] - places[1]) / extent) if extent else float(places[0] != places[1])


def numbers_of(name: str, rows: list[Any]) -> list[float]:
    cells = [row[NAMES.index(name)] for row in rows if row[NAMES.index(name)] is not None]
    return [COLUMNS["pain"]["order"].index(cell) if name == "pain" else float(cell) for cell in cells]


@given(rows=TABLES, own=st.tuples(*CELLS))
def test_nearness_is_what_a_slow_search_over_all_released_records_finds(rows: list[Any], own: tuple[Any, ...]) -> None:
    release = frame_of(rows)
    found = anonto.verify(dict(zip(NAMES, own, strict=True)), release, plan_with({"method": "random-swap"}))
    extents = {name: numbers_of(name, rows) if name in {"age", "pain"} else [] for name in NAMES}

    def apart(row: tuple[Any, ...]) -> float:
        cells = zip(NAMES, own, row, strict=True)
        return float(np.mean([distance_of(name, a, b, extents[name]) for name, a, b in cells]))

    distances = [apart(row) for row in rows]
    assert found.equal == sum(row == own for row in rows)
    assert found.distance == pytest.approx(min(distances), abs=1e-9)
    assert found.nearest == sum(distance <= min(distances) + 1e-9 for distance in distances)
    assert found.within == {limit: sum(one <= limit + 1e-9 for one in distances) for limit in (0.1, 0.25, 0.5)}


@given(rows=TABLES, own=st.tuples(*CELLS))
def test_the_distance_in_rank_is_the_least_over_records_of_the_largest_over_columns(
    rows: list[Any], own: tuple[Any, ...]
) -> None:
    if None in own or any(None in row for row in rows):
        return
    found = anonto.verify(
        dict(zip(NAMES, own, strict=True)), frame_of(rows), plan_with({"method": "random-swap"})
    ).rank_distance
    columns = [[row[place] for row in rows] for place in range(len(NAMES))]
    keys = {
        "illness": lambda a: ILLNESSES.distance(own[0], a),
        "age": float,
        "pain": COLUMNS["pain"]["order"].index,
        "city": lambda a: float(a != own[3]),
    }
    expected = oracles.own_permutation_distance(own, columns, [keys[name] for name in NAMES])
    assert found == pytest.approx(expected)


@given(rows=TABLES, own=st.tuples(*CELLS))
def test_the_distance_in_rank_is_that_of_the_attack_also_where_cells_are_missing(
    rows: list[Any], own: tuple[Any, ...]
) -> None:
    found = anonto.verify(
        dict(zip(NAMES, own, strict=True)), frame_of(rows), plan_with({"method": "random-swap"})
    ).rank_distance
    plan = Plan.from_dict(plan_with({"method": "random-swap"}))
    cells = [[pl.Series([own[place]], dtype=pl.String), frame_of(rows)[name]] for place, name in enumerate(NAMES)]
    columns = [
        compare_column(name, BothCells.of(*both), plan.description(name), opener())
        for name, both in zip(NAMES, cells, strict=True)
    ]
    expected = float(permutation_distances(columns)[0])
    assert found == (pytest.approx(expected) if np.isfinite(expected) else None)


def test_numbers_and_codes_are_the_same_however_they_are_written() -> None:
    plan = plan_with({"method": "random-swap", "columns": ["age"]})
    release = pl.DataFrame({"age": [40.0, 41.5, 60.0]})
    assert anonto.verify({"age": "40"}, release, plan).equal == 1
    assert anonto.verify(pl.DataFrame({"age": [40]}), release, plan).equal == 1


# ------------------------------------------------------------------------------------------------ what is refused


def test_bad_records_are_refused_without_showing_a_cell(table: pl.DataFrame) -> None:
    plan = plan_with({"method": "random-swap"})
    own = table.row(0, named=True)
    for change, error, words in (
        ({"illness": "secret"}, UnmatchedValuesError, "no concept"),
        ({"age": "secret"}, ColumnError, "is not a finite number"),
        ({"pain": "secret"}, ColumnError, "not in its order"),
    ):
        with pytest.raises(error, match=words) as caught:
            anonto.verify(own | change, table, plan)
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="Expected one record, your own, got 2;"):
        anonto.verify(table[:2], table, plan)
    with pytest.raises(InputError, match="Expected one record, your own, got 0;"):
        anonto.verify(table[:0], table, plan)
    with pytest.raises(InputError, match="Expected one record, your own, got several cells"):
        anonto.verify(own | {"age": ["1", "2"]}, table, plan)
    with pytest.raises(ColumnError, match=r"Your record lacks .*'pain'"):
        anonto.verify({name: cell for name, cell in own.items() if name != "pain"}, table, plan)
    with pytest.raises(ColumnError, match=r"The table has no column.*'pain'"):
        anonto.verify(own, table.drop("pain"), plan)
    with pytest.raises(PlanError, match="so nothing was masked with it"):
        anonto.verify(own, table, {"columns": COLUMNS})
    refused = plan_with({"method": "random-swap"}, age={"kind": "numeric", "missing": "refuse"})
    with pytest.raises(ColumnError, match=r"'age'.*missing = 'refuse'"):
        anonto.verify(own | {"age": None}, table, refused)


def test_a_record_that_the_plan_drops_is_not_in_the_release(table: pl.DataFrame) -> None:
    plan = plan_with({"method": "random-swap"}, age={"kind": "numeric", "missing": "drop"})
    found = anonto.verify(table.row(0, named=True) | {"age": None}, table, plan)
    assert (found.dropped_by, found.candidates, found.at_least) == ("age", 0, None)
    assert found.sentences[0].startswith("The plan drops records for what yours has in age: none of the 200")


def test_a_value_that_a_swap_would_have_kept_shows_that_the_release_is_of_another_table(table: pl.DataFrame) -> None:
    plan = plan_with({"method": "rank-swap", "k": 5})
    found = anonto.verify(table.row(0, named=True) | {"age": "5"}, table, plan)
    assert found.absent == ("age",)
    assert "another table" in found.sentences[0]


@pytest.mark.parametrize("step", [{"method": "random-swap"}, {"method": "equi-width-swap", "bins": 2}])
def test_an_empty_release_and_one_of_a_single_record_have_an_answer(step: dict[str, Any]) -> None:
    own = {"illness": "flu", "age": "40", "pain": "low", "city": "x"}
    none = anonto.verify(own, frame_of([]), plan_with(step))
    assert (none.n_records, none.candidates, none.equal, none.sentences) == (0, 0, 0, ["The release has no record."])
    one = anonto.verify(own, frame_of([tuple(own.values())]), plan_with(step))
    assert (one.candidates, one.equal, one.distance, one.rank_distance) == (1, 1, 0.0, 0.0)
    assert "finds your record" in one.sentences[0]
