"""Unmasked columns tell whose record it is: what is learnt, and the matching, against the plain version."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

import anonto
from anonto.assessment import assess as assessing
from anonto.attacks import run_attacks as running
from anonto.attacks.compute.association import TrainedColumn, group_values, learn_scores
from anonto.attacks.compute.association_linkage import CodedColumn, association_linkage, share_matches
from anonto.attacks.plain import association_linkage as plain
from anonto.attacks.plain.distance_linkage import squared_distances
from anonto.attacks.registry import OWN
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.report.assessed import assessed_data
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anonto.attacks.comparison import Comparison
    from anonto.attacks.compute.association import GroupedValues
    from anonto.attacks.rate import Risk
    from anonto.encoding.comparison import ComparedColumn

SEED = 1 << 90
ILLNESSES = anonto.read_ontology("illnesses")
CONCEPTS = ["flu", "measles", "burn", "fracture"]


@pytest.fixture(autouse=True)
def few_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assessments try no others than these."""
    wanted = {"distance-linkage", "method-aware-linkage", "association-linkage"}
    chosen = {one.name: one for one in OWN if one.name in wanted}
    monkeypatch.setattr(running, "attacks", lambda: chosen)


def grouped(description: ColumnDescription, cells: list[str | None]) -> tuple[GroupedValues, ComparedColumn]:
    series = pl.Series(cells, dtype=pl.String)
    column = compare_column("one", BothCells.of(series, series), description, opener())
    counts = np.bincount(column.original[column.original >= 0], minlength=column.n_values)
    return group_values(column.value_space, counts, 1000), column


def lines(values: GroupedValues, codes: Any) -> list[tuple[int, ...]]:
    """The line of each cell that is no set."""
    finest = [int(values.members[values.starts[code if code >= 0 else -2]]) for code in codes]
    return [tuple(int(groups[one]) for groups in values.groups) for one in finest]


# ------------------------------------------------------------------------------------------------ groups of values


def test_concepts_are_grouped_by_their_ancestors_and_missing_cells_apart() -> None:
    values, column = grouped(ColumnDescription(ontology=ILLNESSES), [*CONCEPTS, "infection", None])
    line = dict(zip([*CONCEPTS, "infection", None], lines(values, column.original), strict=True))
    assert line["flu"][1] == line["measles"][1] == line["infection"][1]
    assert line["burn"][1] == line["fracture"][1] != line["flu"][1]
    assert line["flu"][0] == line["burn"][0] != line[None][0]
    assert len({one[-1] for one in line.values()}) == 6


def test_numbers_are_grouped_by_quantiles_however_they_are_written() -> None:
    values, column = grouped(ColumnDescription(kind="numeric"), [*map(str, range(1, 17)), "1.0"])
    own = lines(values, column.original)
    assert own[0] == own[-1]
    assert own[0][0] == own[5][0] != own[12][0]
    assert len({one[-1] for one in own}) == 16


def test_the_rarest_values_become_one_group_inside_their_coarser_one() -> None:
    cells = ["flu"] * 9 + ["measles"] * 8 + ["infection", "burn", "fracture", "injury"]
    values, column = grouped(ColumnDescription(ontology=ILLNESSES), cells)
    counts = np.bincount(column.original, minlength=column.n_values)
    few = group_values(column.value_space, counts, 3)
    finest = dict(zip(cells, (one[-1] for one in lines(few, column.original)), strict=True))
    assert finest["flu"] != finest["measles"]
    assert finest["burn"] == finest["fracture"] == finest["injury"] != finest["flu"]
    assert few.n_groups < values.n_groups


# ------------------------------------------------------------------------------------------------ what is learnt

CELLS = {"illness": [*CONCEPTS, "infection", None], "age": ["20", "30", "40", "80", None], "town": ["x", "y", "z"]}
DESCRIPTIONS = {
    "illness": ColumnDescription(ontology=ILLNESSES),
    "age": ColumnDescription(kind="numeric"),
    "town": ColumnDescription(),
}
ROWS = st.lists(st.tuples(*map(st.sampled_from, CELLS.values())), min_size=2, max_size=12)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, known=st.sampled_from(list(CELLS)), data=st.data())
def test_scores_are_those_of_the_plain_version(rows: list[Any], known: str, data: st.DataObject) -> None:
    sides = dict(zip(CELLS, map(list, zip(*rows, strict=True)), strict=True))
    columns = {name: grouped(DESCRIPTIONS[name], cells) for name, cells in sides.items() if any(cells)}
    read = [name for name in columns if name != known]
    if known not in columns or not read:
        return
    n = len(rows)
    times = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    partners = np.array(data.draw(st.permutations(range(n))))
    pairs = coo_array((times, (np.arange(n), partners)), shape=(n, n)).tocsr()
    trained = {name: TrainedColumn(values, one.original, one.original) for name, (values, one) in columns.items()}
    found = learn_scores([trained[known]], [trained[name] for name in read], pairs).between(np.arange(n))
    expected = np.zeros((n, n))
    own = lines(columns[known][0], columns[known][1].original)
    for name in read:
        values, column = columns[name]
        others = lines(values, column.original)
        possible = {tuple(int(groups[one]) for groups in values.groups) for one in range(values.n_groups)}
        together = [(own[i], others[j], float(t)) for i, j, t in zip(range(n), partners, times, strict=True)]
        expected += [[plain.log_ratio(together, a, b, possible) for b in others] for a in own]
    assert found == pytest.approx(expected, abs=1e-8)


def test_a_set_tells_what_its_elements_tell_on_average_and_is_told_by_all_of_its_own() -> None:
    sets = ColumnDescription(kind="set", separator="|")
    cells = ["f␟m", "f", "m", "f", "m␟f", "␟"]
    values, column = grouped(sets, cells)
    towns, town = grouped(DESCRIPTIONS["town"], ["x", "x", "y", "x", "y", "z"])
    persons = TrainedColumn(values, column.original, column.original)
    records = TrainedColumn(towns, town.original, town.original)
    alike = coo_array(np.eye(6)).tocsr()
    by_set = learn_scores([persons], [records], alike).between(np.arange(6))
    assert by_set[0] == pytest.approx((by_set[1] + by_set[2]) / 2)
    by_town = learn_scores([records], [persons], alike).between(np.arange(6))
    assert by_town[:, 0] == pytest.approx(by_town[:, 1] + by_town[:, 2])
    assert by_set[1, 0] > by_set[1, 2]
    assert by_town[0, 1] > by_town[2, 1]


# ------------------------------------------------------------------------------------------------ the attack


def table_of(n: int, seed: int, *, told: float = 0.9) -> pl.DataFrame:
    """Persons with an illness, an age, and a drug that mostly follows from both."""
    rng = np.random.default_rng(seed)
    illness, age = rng.integers(0, 4, n), rng.integers(20, 60, n)
    drug = np.where(rng.random(n) < told, age // 2 + illness % 2, rng.integers(10, 31, n))
    names = {"illness": [CONCEPTS[one] for one in illness], "age": age, "drug": [f"drug {one}" for one in drug]}
    return pl.DataFrame(names)


def plan_of(method: str = "group-swap", **further: Any) -> dict[str, Any]:
    parameters = {"k": 8, **further}
    columns = {
        "illness": {"ontology": ILLNESSES, "role": "quasi-identifier"},
        "age": {"kind": "numeric", "role": "quasi-identifier"},
        "drug": {"role": "confidential"},
    }
    return {"columns": columns, "steps": [{"method": method, "columns": ["illness", "age"], **parameters}]}


def quietly(table: pl.DataFrame, plan: Mapping[str, Any], *, masked: pl.DataFrame | None = None, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = anonto.mask(table, plan, seed=SEED).table if masked is None else masked
        return anonto.assess(table, masked, plan, **given)


def risks_of(found: Any, name: str = "association-linkage") -> dict[str | None, Risk]:
    return {one.details.get("learnt_from"): one for one in found.risk if one.attack == name}


def test_other_data_tell_more_than_the_release_and_the_original_tells_most() -> None:
    table = table_of(300, 1)
    found = risks_of(quietly(table, plan_of(), held_out=table_of(3000, 2)))
    release, other = found["the release"], found["other data"]
    blind = max(one.rate for one in quietly(table, plan_of()).risk if one.attack == "method-aware-linkage")
    assert other.rate > 1.5 * blind
    assert other.rate >= release.rate > blind
    assert other.rate < release.details["with_the_original"]["rate"]
    assert other.low < other.rate < other.high
    assert other.baseline == pytest.approx(1 / 300)
    assert set(release.details["weights"]) == {"nearness", "association"}
    assert "drug" in other.knowledge
    assert "learnt from other data" in other.knowledge


@pytest.mark.parametrize(
    ("method", "further"),
    [
        ("rank-swap-joint", {}),
        ("microaggregate", {}),
        ("semantic-noise", {"k": None, "noise_level": 1.0}),
        ("taxonomy-exponential", {"k": None, "epsilon": 1.0}),
    ],
)
def test_every_method_is_attacked(method: str, further: dict[str, Any]) -> None:
    table, plan = table_of(150, 1), plan_of(method, **further)
    step = {key: value for key, value in plan["steps"][0].items() if value is not None}
    if method == "taxonomy-exponential":
        step["columns"] = ["illness"]
    found = quietly(table, {**plan, "steps": [step]}, held_out=table_of(1500, 2))
    nearest = {one.columns: one.rate for one in found.risk if one.attack == "distance-linkage"}
    best = {one.columns: one.rate for one in found.risk if one.details.get("learnt_from") == "other data"}
    assert max(best.values()) > max(nearest[columns] for columns in best)


def test_columns_that_tell_nothing_reach_no_more_than_nearness() -> None:
    table = table_of(300, 1, told=0.0)
    found = quietly(table, plan_of(), held_out=table_of(1000, 2, told=0.0))
    by_nearness = max(one.rate for one in found.risk if one.attack == "method-aware-linkage")
    assert all(one.rate < by_nearness + 0.02 for one in risks_of(found).values())


def test_it_finds_unmasked_rows_and_those_of_others_as_often_as_by_chance() -> None:
    table, plan = table_of(300, 1), plan_of("semantic-noise", noise_level=0.1)
    del plan["steps"][0]["k"]
    distinct = table.select("illness", "age").n_unique() / 300
    unmasked = risks_of(quietly(table, plan, masked=table))["the release"]
    assert unmasked.rate == pytest.approx(distinct, abs=0.01)
    masked = table.with_columns(table.select("illness", "age").sample(fraction=1.0, shuffle=True, seed=1))
    others = table_of(300, 1, told=0.0)
    masked = others.with_columns(illness=masked["illness"], age=masked["age"])
    assert risks_of(quietly(others, plan, masked=masked))["the release"].rate < 0.02


def test_where_no_column_leaves_unmasked_the_report_says_that_it_does_not_apply() -> None:
    table, plan = table_of(60, 1).drop("drug"), plan_of()
    del plan["columns"]["drug"]
    found = quietly(table, plan)
    assert risks_of(found) == {}
    untried = " ".join(assessed_data(found)["limits"])
    assert "association-linkage (no column that is unknown to the intruder leaves unmasked" in untried


def test_the_verdict_names_it_where_it_is_the_strongest() -> None:
    table = table_of(200, 1)
    found = quietly(table, plan_of(), held_out=table_of(3000, 2))
    assert found.worst.attack == "association-linkage"
    verdict = assessed_data(found)["verdict"]["risk"]
    assert "who knows age and illness and learns how columns that leave unmasked go with them, links" in verdict
    assert any("association-linkage links" in one and "suggests" in one for one in found.findings)


def compared_of(monkeypatch: pytest.MonkeyPatch, *given: Any, **options: Any) -> Comparison:
    seen: list[Comparison] = []
    monkeypatch.setattr(assessing, "run_attacks", lambda one, *_, **__: seen.append(one) or ())
    quietly(*given, **options)
    return seen[0]


def test_hits_are_those_of_the_plain_version(monkeypatch: pytest.MonkeyPatch) -> None:
    n, table, others = 40, table_of(40, 3), table_of(60, 4)
    plan = plan_of("semantic-noise", noise_level=0.5)
    del plan["steps"][0]["k"]
    compared = compared_of(monkeypatch, table, plan, held_out=others)
    who = compared.known[0]
    found = association_linkage(compared, who, np.random.default_rng(5))[-1]
    drug = CodedColumn.of(compared, "drug")
    scores, of_drugs = np.zeros((n, n)), drug.grouped(1000)
    drugs = lines(of_drugs, drug.masked)
    possible = {tuple(int(groups[one]) for groups in of_drugs.groups) for one in range(of_drugs.n_groups)}
    for name in who.names:
        column = CodedColumn.of(compared, name)
        values = column.grouped(1000)
        sides = zip(lines(values, column.held_out), lines(of_drugs, drug.held_out), strict=True)
        pairs = [(*both, 1.0) for both in sides]
        known = lines(values, column.original)
        scores += [[plain.log_ratio(pairs, a, b, possible) for b in drugs] for a in known]
    squared = np.array([squared_distances(who.columns, person) for person in range(n)])
    weights = found.details["weights"]
    total = weights["association"] * scores - weights["nearness"] * squared
    matched = plain.match(total, np.ones((n, n), dtype=np.bool_))
    rows = list(zip(*(one.masked.tolist() for one in who.columns), table["drug"], strict=True))
    persons = list(zip(*(one.original.tolist() for one in who.columns), strict=True))
    assert found.rate == pytest.approx(plain.link(persons, rows, matched).mean(), abs=1e-9)


@given(persons=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10), data=st.data())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_persons_and_equal_rows_share_their_matches(persons: list[tuple[int, int]], data: st.DataObject) -> None:
    targets, own = (np.array(side) for side in zip(*persons, strict=True))
    matched = data.draw(st.permutations(range(len(persons))))
    amounts = np.bincount(own, minlength=4)
    found = share_matches(targets, own[list(matched)], own, amounts)
    assert found == pytest.approx(plain.link(targets.tolist(), own.tolist(), matched))


def test_columns_that_the_plan_does_not_describe_are_read_and_missing_cells_are_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(80, 1).with_columns(
        stay=pl.when(pl.col("illness") == "flu").then(None).otherwise(pl.col("age").cast(pl.String)),
        same=pl.lit("one"),
    )
    compared = compared_of(monkeypatch, table, plan_of())
    (found,) = association_linkage(compared, compared.known[0], np.random.default_rng(5))
    assert found.details["read"] == ["drug", "stay"]
    assert CodedColumn.of(compared, "stay").grouped(100).groups[0].size > 20


def test_persons_with_sets_are_attacked(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(1), []
    for person in range(60):
        kind = int(rng.integers(2))
        codes = [CONCEPTS[2 * kind + int(rng.integers(2))] for _ in range(int(rng.integers(1, 4)))]
        rows += [(person, code, "ab"[kind]) for code in codes]
    table = pl.DataFrame(rows, schema=["person", "illness", "drug"], orient="row")
    illness = {"kind": "set", "ontology": ILLNESSES, "role": "quasi-identifier"}
    plan = {
        "table": {"person": "person"},
        "columns": {"person": {"role": "identifier"}, "illness": illness, "drug": {"role": "confidential"}},
        "steps": [{"method": "group-swap", "columns": ["illness"], "k": 4}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anonto.mask(table, plan, seed=SEED).save(tmp_path / "out.csv")
        found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert risks_of(found)["the release"].n == 60
