"""Many plans on one table: the map, its front, the answer, and what is kept when a sweep is stopped."""

from __future__ import annotations

import json
import re
import warnings
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import anonto
from anonto.attacks.rate import Risk
from anonto.attacks.registry import attacks
from anonto.errors import (
    AnontoWarning,
    ColumnError,
    FileError,
    InputError,
    InternalError,
    ParameterError,
    PlanError,
    UnmatchedValuesError,
    UnwritableFileError,
)
from anonto.masking.plan import Plan
from anonto.methods.registry import METHODS
from anonto.runtime import processes
from anonto.sweep.choice import choose
from anonto.sweep.grid import default_grid, label_of, plans_to_try, read_grid
from anonto.sweep.points import Point, Sweep, pareto_front
from anonto.utility.score import AtRandom, utility_of

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.attacks.attack import Attack
    from anonto.attacks.situation import Situation

pytestmark = pytest.mark.slow

COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "illness": {"ontology": "illnesses"},
    "age": {"kind": "numeric"},
    "stay": {"kind": "numeric", "role": "confidential"},
}
PLAN: dict[str, Any] = {
    "columns": COLUMNS,
    "steps": [{"method": "group-swap", "columns": ["illness", "age"], "k": 5}],
}
GRID = {"group-swap": {"k": [10, 20]}, "random-swap": {}}


def table_of(n: int, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n).tolist(),
            "age": rng.integers(0, 90, n),
            "stay": rng.integers(1, 30, n),
        },
        schema={"name": pl.String, "illness": pl.String, "age": pl.Int64, "stay": pl.Int64},
    )


TABLE = table_of(80)


@pytest.fixture(scope="module")
def found() -> Sweep:
    return anonto.sweep(TABLE, PLAN, GRID, seeds=2, max_risk=0.3, workers=1)


def point(
    risk: float, utility: float, high: float | None = None, k: int = 5, hardly_changed: tuple[str, ...] = ()
) -> Point:
    """A plan with a risk, the upper end of its interval, and a utility."""
    plan = Plan.from_dict({"steps": [{"method": "group-swap", "columns": ["age"], "k": k}]})
    upper = risk if high is None else high
    worst = {"attack": "distance-linkage", "columns": ["age"], "rate": risk, "low": risk, "high": upper, "n": 100}
    losses = {"utility": utility, "moved": 1 - utility, "distribution": 0.0, "dependence": None, "told_apart": 0.0}
    run = {"worst": worst, "upper": upper, "attacks": [worst], "losses": losses, "guarantees": [{"proved": False}]}
    return Point(plan, ({**run, "hardly_changed": list(hardly_changed)},))


# ------------------------------------------------------------------------------------------------ the front


RISKS = st.sampled_from([0.0, 0.1, 0.2, 0.30001, 0.5, 1.0])


@given(st.lists(st.tuples(RISKS, RISKS), max_size=12))
def test_the_front_is_what_comparing_all_pairs_leaves(places: list[tuple[float, float]]) -> None:
    points = [point(*place) for place in places]

    def beats(one: Point, other: Point) -> bool:
        no_worse = one.risk <= other.risk and one.utility >= other.utility
        return no_worse and (one.risk < other.risk or one.utility > other.utility)

    expected = {id(one) for one in points if not any(beats(other, one) for other in points)}
    front = pareto_front(points)
    assert {id(one) for one in front} == expected
    assert len(front) == len(expected)
    assert [one.risk for one in front] == sorted(one.risk for one in front)


# ------------------------------------------------------------------------------------------------ the answer


def test_the_answer_keeps_most_of_the_plans_whose_upper_end_is_allowed() -> None:
    points = [
        point(0.01, 0.5, 0.02, k=50),
        point(0.04, 0.7, 0.05, k=30),  # allowed: its upper end is the limit
        point(0.03, 0.9, 0.051, k=20),  # its rate is lower, but its upper end is not
        point(0.045, 0.6, 0.049, k=40),
        point(0.2, 0.95, 0.3, k=5),
    ]
    answer = choose(points, 0.05)
    assert answer.point is points[1]
    assert answer.runner_up is points[3]
    assert answer.next_cheaper is points[2]
    assert answer.safest is points[0]
    told = " ".join(answer.why)
    assert "group-swap (k = 30) keeps the most utility, 0.700, of the plans that are safe at 5 %" in told
    assert "distance-linkage by someone who knows age" in told
    assert "4.00 % of the persons are linked, 5.00 % at the upper end" in told
    assert "The runner-up, group-swap (k = 40), keeps 0.600" in told
    assert "group-swap (k = 20), would keep 0.900, but is not allowed" in told


def test_a_plan_that_hardly_masks_a_column_is_not_chosen_and_the_reason_is_given() -> None:
    points = [point(0.01, 0.9, 0.02, k=2, hardly_changed=("age",)), point(0.01, 0.7, 0.02, k=30)]
    answer = choose(points, 0.05)
    assert answer.point is points[1]
    assert "group-swap (k = 2) would be within the limit, but most cells" in " ".join(answer.why)
    none = choose(points[:1], 0.05)
    assert none.point is None
    assert none.why[0] == "No plan that was tried is safe at 5 % and masks every column."


def test_masking_with_the_chosen_plan_does_not_warn_that_it_hardly_masks() -> None:
    """Half of the records are equal, so that attacks link few persons though rank swapping moves few cells."""
    table = pl.DataFrame({"age": [30] * 150 + list(range(31, 81)) * 3, "income": range(300)})
    plan = {
        "columns": {"age": {"kind": "numeric"}, "income": {"kind": "numeric", "role": "confidential"}},
        "steps": [{"method": "equi-width-swap", "columns": ["age"], "bins": 50}],
    }
    grid = {"equi-width-swap": {"bins": [50]}, "group-swap": {"k": [20]}}
    swept = anonto.sweep(table, plan, grid, seeds=2, max_risk=0.5, workers=1)
    assert any(one.hardly_changed for one in swept.points)
    chosen = swept.best().point
    assert chosen is not None
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*are released unchanged", AnontoWarning)
        anonto.mask(table, chosen.plan)


def test_among_plans_of_equal_utility_the_safer_one_is_chosen() -> None:
    points = [point(0.04, 0.7, 0.05), point(0.01, 0.7, 0.02)]
    assert choose(points, 0.1).point is points[1]
    assert choose(points, 0.1).next_cheaper is None


def test_where_none_is_allowed_the_answer_says_so_and_names_the_safest(tmp_path: Path) -> None:
    points = [point(0.2, 0.9, 0.3, k=5), point(0.1, 0.4, 0.2, k=50)]
    answer = choose(points, 0.05)
    assert (answer.point, answer.runner_up, answer.next_cheaper, answer.safest) == (None, None, None, points[1])
    assert answer.why[0] == "No plan that was tried is safe at 5 %."
    assert "The safest is group-swap (k = 50)" in answer.why[1]
    assert answer.to_dict()["feasible"] is False
    with pytest.raises(InputError, match="None of the plans that were tried is safe at 5 %"):
        answer.save_plan(tmp_path / "plan.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_rate_within_the_limit_but_based_on_too_few_persons_is_marked() -> None:
    assert "larger table" in choose([point(0.0, 0.9, 0.07)], 0.05).why[-1]
    assert "wider groups" in choose([point(0.2, 0.9, 0.3)], 0.05).why[-1]


def test_without_any_plan_there_is_an_answer_too() -> None:
    assert choose([], 0.05).why == ["No plan could be tried."]


def test_the_worst_seed_counts_and_the_mean_is_the_risk() -> None:
    low, high = point(0.1, 0.5, 0.2).runs[0], point(0.3, 0.7, 0.4).runs[0]
    both = Point(point(0, 0).plan, (low, high))
    assert (both.risk, both.low, both.high) == (pytest.approx(0.2), 0.1, 0.4)
    assert both.utility == pytest.approx(0.6)
    assert both.worst is high["worst"]
    assert both.losses["dependence"] is None


# ------------------------------------------------------------------------------------------------ the utility


def test_the_original_has_utility_one_and_random_swapping_about_nothing() -> None:
    columns = {"age": {"rmse": 0.2, "hellinger": 0.0}}
    pairs = [{"columns": ["age", "x"], "distance_correlation": {"original": 0.5, "masked": 0.1}}]
    at_random = AtRandom({"age": 0.2}, 0.4)
    table = {"pmse": 0.25, "pmse_at_random": 0.05}
    lost = utility_of({"columns": columns, "pairs": pairs, "table": table}, at_random, ["age"])
    assert lost == {"utility": 0.25, "moved": 1.0, "distribution": 0.0, "dependence": 1.0, "told_apart": 1.0}
    same = {"age": {"rmse": 0.0, "hellinger": 0.0}}
    kept = [{"columns": ["age", "x"], "distance_correlation": {"original": 0.5, "masked": 0.5}}]
    whole = utility_of({"columns": same, "pairs": kept, "table": {}}, at_random, ["age"])
    assert whole == {"utility": 1.0, "moved": 0.0, "distribution": 0.0, "dependence": 0.0, "told_apart": None}


def test_the_spread_of_numbers_counts_in_standard_deviations() -> None:
    wider = {
        "rmse": 0.0,
        "hellinger": 1.0,
        "mean": {"original": 10.0, "masked": 11.0},
        "standard_deviation": {"original": 4.0, "masked": 6.0},
    }
    lost = utility_of({"columns": {"age": wider}, "pairs": [], "table": {}}, AtRandom({"age": 0.3}, 0.0), ["age"])
    assert lost["distribution"] == 0.5
    assert lost["dependence"] is None


# ------------------------------------------------------------------------------------------------ the grid


@pytest.mark.parametrize("n_records", [0, 1, 3, 50, 5_000])
def test_the_default_grid_covers_every_registered_method(n_records: int) -> None:
    assert set(default_grid(n_records)) == set(METHODS)
    plans, skipped = plans_to_try(Plan.from_dict({"columns": COLUMNS}), None, n_records)
    assert skipped == []
    assert {step.method.name for plan in plans for step in plan.steps} == set(METHODS)
    assert all(plan.masked == ("illness", "age") for plan in plans)


def test_the_default_grid_is_tried_and_what_does_not_fit_is_skipped_with_the_reason() -> None:
    found = anonto.sweep(table_of(40), {"columns": COLUMNS}, seeds=1, workers=1)
    tried = {one.method for one in found.points}
    told = {one.label.split(" (")[0]: one.reason for one in found.skipped}
    assert tried | set(told) == set(METHODS)
    assert "taxonomy-exponential" not in tried
    assert "'age'" in told["taxonomy-exponential"]
    assert all(0 <= one.low <= one.risk <= one.high <= 1 and 0 <= one.utility <= 1 for one in found.points)


def test_a_grid_is_every_combination_of_its_values_and_the_plan_given_comes_first() -> None:
    plan = Plan.from_dict(PLAN)
    plans, _ = plans_to_try(plan, {"group-swap": {"k": [5, 7], "move": ["apart", "together"]}}, 100)
    assert [label_of(one.steps) for one in plans] == [
        "group-swap (k = 5)",
        "group-swap (k = 5, move = together)",
        "group-swap (k = 7)",
        "group-swap (k = 7, move = together)",
    ]


def test_a_grid_may_be_a_list_of_steps_and_of_lists_of_steps() -> None:
    grid = [
        {"method": "rank-swap", "k": 3},
        [{"method": "rank-swap", "k": 3, "columns": ["age"]}, {"method": "random-swap", "columns": "illness"}],
    ]
    plans, _ = plans_to_try(Plan.from_dict({"columns": COLUMNS}), grid, 100)
    assert [label_of(one.steps) for one in plans] == ["rank-swap (k = 3)", "rank-swap (k = 3) + random-swap"]
    assert [one.masked for one in plans] == [("illness", "age"), ("age", "illness")]


def test_a_grid_file_has_either_shape(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[group-swap]\nk = [5, 10]\n[random-swap]\n")
    (tmp_path / "b.toml").write_text('[[steps]]\nmethod = "random-swap"\n')
    assert read_grid(tmp_path / "a.toml") == {"group-swap": {"k": [5, 10]}, "random-swap": {}}
    assert read_grid(tmp_path / "b.toml") == [{"method": "random-swap"}]


@pytest.mark.parametrize(
    ("grid", "error", "words"),
    [
        ({"group-swop": {}}, PlanError, "There is no method"),
        ({"group-swap": {"q": [1]}}, PlanError, "has no key"),
        ({"group-swap": {"k": [0]}}, ParameterError, "must be"),
        ({"group-swap": {}}, ParameterError, "must be"),
        ({"group-swap": 5}, ParameterError, "must be"),
        ([5], ParameterError, "must be"),
        ([[]], ParameterError, "must be"),
        ("group-swap", ParameterError, "must be"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_before_any_work(grid: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        anonto.sweep(TABLE, PLAN, grid, workers=1)


# ------------------------------------------------------------------------------------------------ sweeps


@pytest.mark.parametrize(("role", "proved"), [("unnamed", False), ("other", False), ("confidential", True)])
def test_a_plan_is_not_called_proved_beside_a_column_that_may_be_known(role: str, proved: bool) -> None:
    columns = {**COLUMNS, **({} if role == "unnamed" else {"ssn": {"role": role}})}
    table = TABLE.with_columns(ssn=pl.int_range(pl.len()).cast(pl.String))
    swept = anonto.sweep(table, {**PLAN, "columns": columns}, {}, seeds=1, workers=1)
    assert [one.proved for one in swept.points] == [proved]


def test_a_point_says_what_was_done_what_it_risks_and_what_it_keeps(found: Sweep) -> None:
    assert [one.label for one in found.points] == [
        "group-swap (k = 5)",
        "group-swap (k = 10)",
        "group-swap (k = 20)",
        "random-swap",
    ]
    given, *others = found.points
    assert given.is_given
    assert not any(one.is_given for one in others)
    assert (given.method, given.parameters["k"]) == ("group-swap", 5)
    assert given.proved
    assert not found.points[-1].proved
    assert given.plan.to_dict()["steps"][0]["columns"] == ["illness", "age"]
    assert len(given.runs) == 2
    for run in given.runs:
        linkages = [one for one in run["attacks"] if one["attack"].endswith("linkage")]
        assert run["worst"]["rate"] == max(one["rate"] for one in linkages)
        assert run["upper"] == max(one["high"] for one in linkages)
    assert given.risk > found.points[2].risk
    assert given.utility > found.points[-1].utility


def test_the_data_of_a_sweep_are_json_with_the_front_and_the_answer_and_no_seed(found: Sweep, tmp_path: Path) -> None:
    found.to_json(tmp_path / "sweep.json")
    data = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))
    assert data == found.to_dict()
    assert {one["label"] for one in data["points"] if one["on_front"]} == {one.label for one in found.pareto}
    assert data["answer"]["plan"] == found.best(0.3).point.label
    assert not re.search(r"\d{20}", json.dumps(data))
    assert "person 1" not in json.dumps(data)


def test_the_same_sweep_gives_the_same_bytes_with_any_number_of_workers(found: Sweep, tmp_path: Path) -> None:
    again = anonto.sweep(TABLE, PLAN, GRID, seeds=2, max_risk=0.3, workers=2, resume=tmp_path / "kept.jsonl")
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())


def test_a_short_sweep_starts_no_process_and_finds_the_same(found: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(processes, "_Team")
    monkeypatch.setattr(processes, "SECONDS_TO_START", 600.0)
    again = anonto.sweep(TABLE, PLAN, GRID, seeds=2, max_risk=0.3)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())


def test_tasks_that_take_longer_than_a_start_are_shared_after_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS_TO_START", 0.0)
    found = [*processes.share_out(pow, 2, [3, 1, 4, 1, 5], 2, begins_alone=True)]
    assert found[:2] == [(3, 8), (1, 2)]
    assert sorted(found[2:]) == [(1, 2), (4, 16), (5, 32)]


def test_a_sweep_that_was_stopped_does_only_the_rest_and_ends_the_same(found: Sweep, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"

    def stop(n_done: int, n_all: int) -> None:
        assert n_all == 8
        if n_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonto.sweep(TABLE, PLAN, GRID, seeds=2, workers=1, resume=kept, progress=stop)
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 4
    seen: list[tuple[int, int]] = []

    def see(n_done: int, n_all: int) -> None:
        seen.append((n_done, n_all))

    again = anonto.sweep(TABLE, PLAN, GRID, seeds=2, max_risk=0.3, workers=1, resume=kept, progress=see)
    assert seen == [*((done, 8) for done in range(3, 9)), (8, 10), (9, 10), (10, 10)]
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())
    seen.clear()
    anonto.sweep(TABLE, PLAN, GRID, seeds=2, workers=1, resume=kept, progress=see)
    assert seen == [(8, 8)]


@pytest.mark.parametrize("cut", [1, 30, 5_000])
def test_a_last_line_that_was_cut_off_is_done_again(found: Sweep, tmp_path: Path, cut: int) -> None:
    kept = tmp_path / "kept.jsonl"
    anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    content = kept.read_bytes()
    lines = content.splitlines(keepends=True)
    kept.write_bytes(content[: max(len(content) - cut, len(lines[0]) + 5)])
    again = anonto.sweep(TABLE, PLAN, GRID, seeds=2, max_risk=0.3, workers=1, resume=kept)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())
    for line in kept.read_text(encoding="utf-8").splitlines():
        json.loads(line)


def test_a_first_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text('{"anonto-sweep": 1, "ta')
    anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 3


def test_a_file_of_another_table_or_plan_or_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    before = kept.read_bytes()
    with pytest.raises(FileError, match="has the results of another table"):
        anonto.sweep(table_of(80, seed=6), PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    other = {**PLAN, "columns": COLUMNS | {"illness": {"ontology": "illnesses", "measure": "rada"}}}
    with pytest.raises(FileError, match="has the results of another plan"):
        anonto.sweep(TABLE, other, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    assert kept.read_bytes() == before
    for content in ("name,age\nx,1\n", "no line end", "[1]\n", '{"anonto-sweep": 1}\nx\n'):
        kept.write_text(content)
        with pytest.raises(FileError, match=r"is not a file of a sweep's results|has the results of another"):
            anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
        assert kept.read_text() == content
    with pytest.raises(UnwritableFileError):
        anonto.sweep(TABLE, PLAN, {"random-swap": {}}, workers=1, resume=tmp_path / "nowhere" / "kept.jsonl")


def test_only_its_owner_can_read_the_file_and_no_cell_is_in_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    assert kept.stat().st_mode & 0o777 == 0o600
    text = kept.read_text(encoding="utf-8")
    assert "person 1" not in text
    assert "fracture" not in text


def test_a_large_table_is_sampled_and_the_answer_says_so() -> None:
    found = anonto.sweep(table_of(300), PLAN, {"random-swap": {}}, seeds=1, workers=1, sample=100)
    assert (found.n_records, found.n_sampled) == (300, 100)
    assert found.points[0].runs[0]["worst"]["n"] <= 100


def normal_numbers(n: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Three columns of numbers and a confidential one: a window of k places is the narrower the larger the table."""
    rng = np.random.default_rng(8)
    cells = {name: rng.normal(size=n) for name in ("a", "b", "c")}
    numeric = {name: {"kind": "numeric"} for name in cells}
    columns = {**numeric, "s": {"kind": "numeric", "role": "confidential"}}
    return pl.DataFrame({**cells, "s": rng.integers(0, 9, n)}), {"columns": columns}


def test_a_plan_that_is_safe_in_a_sample_only_is_not_called_safe(tmp_path: Path) -> None:
    table, plan = normal_numbers(1_000)
    grid = {"rank-swap": {"k": [40]}}
    found = anonto.sweep(table, plan, grid, seeds=1, workers=1, sample=150, max_risk=0.4)
    assert found.points[0].high <= 0.4  # what the sample says
    answer = found.best()
    assert answer.point is None
    assert answer.on_all is not None
    assert answer.on_all.unsafe[0][1] > 0.8
    assert answer.why[0] == (
        "No plan was found to be safe at 40 % on the whole table of 1,000 records with 1 fresh seed and every attack."
    )
    assert "rank-swap (k = 40) looked safe in the sample, but had an upper end of" in answer.why[1]
    assert not any("are safe" in one or "is safe" in one for one in answer.why)
    with pytest.raises(InputError, match="None of the plans that were"):
        answer.save_plan(tmp_path / "plan.toml")
    assert found.to_dict()["answer"]["feasible"] is False
    found.to_html(tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "overstated" not in page
    assert "None of these plans is known to be safe on the whole table" in page


def test_the_next_plan_that_is_safe_on_the_whole_table_is_taken_and_what_was_found_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, plan = normal_numbers(1_000)
    grid = {"rank-swap": {"k": [40]}, "random-swap": {}}

    def swept() -> Sweep:
        return anonto.sweep(table, plan, grid, seeds=2, workers=1, sample=150, resume=tmp_path / "kept.jsonl")

    found = swept()
    answer = found.best(0.4)
    assert found.points[0].utility > found.points[1].utility
    assert found.points[0].high <= 0.4
    assert answer.point is found.points[1]
    assert answer.on_all is not None
    assert answer.on_all.point is not None
    assert [label for label, _ in answer.on_all.unsafe] == ["rank-swap (k = 40)"]
    assert answer.runner_up is None
    whole = answer.on_all.point
    assert (len(whole.runs), whole.plan) == (2, answer.point.plan)
    assert whole.worst is not None
    assert whole.worst["n"] > 150
    told = " ".join(answer.why)
    assert "Tried again on the whole table of 1,000 records with 2 fresh seeds and every attack, it keeps" in told
    assert "rank-swap (k = 40) looked safe in the sample, but had an upper end of" in told
    monkeypatch.setattr("anonto.sweep.whole.run_unit", pytest.fail)
    assert swept().best(0.4).to_dict() == answer.to_dict()


def test_only_a_few_plans_are_tried_on_the_whole_table_and_the_rest_is_not_called_safe() -> None:
    class Unsafe:
        n_records, n_seeds, is_larger = 900, 1, True

        def try_plan(self, one: Point, max_risk: float) -> Point | None:
            return None if one.utility > 0.95 else point(max_risk + 0.1, one.utility)

    points = [point(0.1, 0.99 - number / 20, k=number + 2) for number in range(8)]
    answer = choose(points, 0.2, Unsafe())  # type: ignore[arg-type]
    assert (answer.point, answer.runner_up, answer.next_cheaper) == (None, None, None)
    assert answer.on_all is not None
    assert len(answer.on_all.unsafe) == 5
    assert answer.on_all.unsafe[0][1] is None
    told = " ".join(answer.why)
    assert "could not be carried out when tried again on the whole table of 900 records" in told
    assert "3 more plans were within the limit at first and were not tried again" in told
    assert "are safe" not in told


def test_a_plan_that_a_costly_attack_undoes_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheap attacks hardly link anybody after random swapping; the costly one links everybody."""

    def link_all(self: Attack, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        del rng
        names = situation.names
        return [Risk.of_hits(300, 300, attack=self.name, knowledge="", columns=names, baseline=0.003)]

    costly = attacks()["distance-linkage"]
    monkeypatch.setattr(type(costly), "is_costly", True)
    monkeypatch.setattr(type(costly), "run", link_all)
    found = anonto.sweep(table_of(300), {"columns": COLUMNS}, {"random-swap": {}}, seeds=2, workers=1, max_risk=0.2)
    assert found.points[0].high <= 0.2
    assert all(one["attack"] != costly.name for run in found.points[0].runs for one in run["attacks"])
    answer = found.best()
    assert answer.point is None
    assert answer.why[0] == "No plan was found to be safe at 20 % with 2 fresh seeds and every attack."
    assert answer.why[1].startswith("random-swap looked safe, but had an upper end of 100.0 % when tried again")


def test_a_plan_is_tried_again_with_seeds_that_it_was_not_chosen_by(found: Sweep) -> None:
    answer = found.best(0.3)
    assert answer.point is not None
    assert answer.on_all is not None
    assert answer.on_all.point is not None
    assert answer.on_all.is_larger is False
    first, again = answer.point.runs, answer.on_all.point.runs
    assert len(first) == len(again) == 2
    assert all(one["losses"] != other["losses"] for one in first for other in again)
    assert re.search(r"Tried again with 2 fresh seeds and every attack, it keeps 0\.\d+; .* a margin of", answer.why[1])


def test_tables_of_all_libraries_give_the_same(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "table.csv")
    tables = [TABLE, TABLE.to_pandas(), TABLE.to_arrow(), tmp_path / "table.csv"]
    found = [anonto.sweep(one, PLAN, {"random-swap": {}}, seeds=1, workers=1).to_dict() for one in tables]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_very_small_tables_are_swept_and_nothing_is_called_safe(n: int) -> None:
    table = table_of(n)
    found = anonto.sweep(table, {"columns": COLUMNS}, GRID, seeds=1, workers=1, max_risk=0.1)
    assert found.n_records == n
    assert found.best().point is None


def test_a_plan_that_only_changes_the_order_of_the_records_is_skipped() -> None:
    """Whole records in other rows, without other columns that would stay: nothing is hidden, whatever is linked."""
    names = ("illness", "age", "stay")
    plans = [{"columns": {name: COLUMNS[name] for name in chosen}} for chosen in (names, names[:2])]
    grid = {"equi-depth-swap": {"k": [10]}, "group-swap": {"k": [10], "move": ["together"]}}
    beside = anonto.sweep(TABLE.drop("name"), plans[0], grid, seeds=1, workers=1)
    assert len(beside.points) == 2
    alone = anonto.sweep(TABLE.drop("name", "stay"), plans[1], grid, seeds=1, workers=1)
    assert alone.points == ()
    assert all("the release would be the original table" in one.reason for one in alone.skipped)


def test_columns_with_odd_names_are_swept_and_drawn(tmp_path: Path) -> None:
    odd = 'a <script>"x"</script> 🦆\n= 1'
    table = TABLE.rename({"age": odd}).select(odd, "illness")
    plan = {"columns": {odd: {"kind": "numeric"}, "illness": {}}}
    found = anonto.sweep(table, plan, {"random-swap": {}}, seeds=1, workers=1, max_risk=0.5)
    found.to_html(tmp_path / "map.html")
    assert "<script>" not in (tmp_path / "map.html").read_text(encoding="utf-8")
    found.best().save_plan(tmp_path / "plan.toml")
    assert Plan.from_toml(tmp_path / "plan.toml").masked == (odd, "illness")


def test_what_a_run_would_refuse_is_refused_at_once() -> None:
    with pytest.raises(UnmatchedValuesError, match="'illness'"):
        anonto.sweep(TABLE.with_columns(illness=pl.lit("unknown")), PLAN, GRID, workers=1)
    with pytest.raises(ColumnError, match=r"The table has no column.*'stay'"):
        anonto.sweep(TABLE.drop("stay"), PLAN, GRID, workers=1)
    with pytest.raises(PlanError, match="The plan has no step and"):
        anonto.sweep(TABLE, {"columns": {"age": {"kind": "numeric", "role": "other"}}}, workers=1)
    for wrong in ({"seeds": 0}, {"sample": 0}, {"workers": 0}, {"max_risk": 2}, {"max_risk": True}):
        with pytest.raises(ParameterError):
            anonto.sweep(TABLE, PLAN, GRID, **wrong)
    with pytest.raises(ParameterError, match="max_risk"):
        anonto.sweep(TABLE, PLAN, {"random-swap": {}}, seeds=1, workers=1).best()


def test_the_plan_that_is_written_finds_its_ontologies_from_another_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "codes.csv").write_text("id,parent\nroot,\na,root\nb,root\na1,a\na2,a\n")
    pl.DataFrame({"code": ["a1", "a2", "b", "a"] * 20, "stay": range(80)}).write_csv(here / "table.csv")
    (here / "plan.toml").write_text('[columns.code]\nontology = "codes.csv"\n[columns.stay]\nrole = "other"\n')
    found = anonto.sweep(here / "table.csv", here / "plan.toml", {"random-swap": {}}, seeds=1, workers=1, max_risk=1.0)
    for folder, ontology in ((here, "codes.csv"), (there, str(here / "codes.csv"))):
        found.best().save_plan(folder / "chosen.toml")
        chosen = Plan.from_toml(folder / "chosen.toml")
        assert chosen.columns["code"].ontology == ontology
        assert anonto.mask(here / "table.csv", chosen, seed=1 << 90).evidence["steps"][0]["method"] == "random-swap"
    assert (there / "chosen.toml").read_text().startswith("# Chosen by `anonto sweep`.\n# random-swap keeps the most")


# ------------------------------------------------------------------------------------------------ workers


def test_a_worker_that_ends_by_itself_or_fails_ends_the_sweep_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    (tmp_path / "failing_job.py").write_text("import os\ndef die():\n    os._exit(9)\ndef fail():\n    1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import failing_job  # type: ignore[import-not-found]

    class Reduced:
        def __init__(self, function: Any) -> None:
            self.function = function

        def __reduce__(self) -> tuple[Any, ...]:
            return self.function, ()

    refusals = (InputError, "A worker process ended early"), (InternalError, "A worker process failed")
    for function, (error, words) in zip((failing_job.die, failing_job.fail), refusals, strict=True):
        monkeypatch.setattr(processes.pickle, "dumps", _dumps_instead(Reduced(function)))
        with pytest.raises(error, match=words):
            anonto.sweep(TABLE, PLAN, GRID, seeds=1, workers=2, resume=kept)
        monkeypatch.undo()
        monkeypatch.syspath_prepend(str(tmp_path))
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1


def _dumps_instead(thing: Any) -> Any:
    import pickle

    packed = pickle.dumps(thing)
    return lambda _: packed


@pytest.mark.parametrize("described", [{}, {"bed": {"role": "other"}}, {"bed": {"role": "confidential"}}])
def test_what_leaves_unmasked_counts_in_the_risk_unless_it_is_confidential(described: dict[str, Any]) -> None:
    table = TABLE.with_columns(bed=pl.Series(range(len(TABLE))))
    found = anonto.sweep(table, {"columns": {**COLUMNS, **described}}, {"random-swap": {}}, seeds=1, workers=1)
    (point,) = found.points
    if described.get("bed", {}).get("role") == "confidential":
        assert point.risk < 0.5
    else:
        assert point.risk == 1.0
        assert "bed" in point.worst["columns"]  # type: ignore[index]
