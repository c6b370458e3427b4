"""Swapping inside groups: what moves where, how likely, and what is promised of it."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from benchmarks.applying import apply_in_chunks
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import anonto
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import ExtendedSpace, NumericSpace, TextSpace
from anonto.errors import InputError, ParameterError, TooFewRecordsError
from anonto.methods.group_swap import GroupSwap
from anonto.methods.grouping import joint_space, mdav, refine_groups
from anonto.methods.guarantee import Setting
from anonto.methods.registry import method_of
from anonto.random.streams import Seed, keyed_permutations
from anonto.report.words import guarantee_sentence

ILLNESSES = anonto.read_ontology("illnesses")
SEED = 1 << 90


def records_of(*columns: list[float | None]) -> tuple[Records, np.ndarray]:
    """Columns of numbers with missing cells as a value, as a method for records gets them."""
    names = [f"column {place}" for place in range(len(columns))]
    value_spaces, codes = [], []
    for column in columns:
        numbers = sorted({cell for cell in column if cell is not None})
        code = np.array([len(numbers) if cell is None else numbers.index(cell) for cell in column], dtype=np.int32)
        counts = np.bincount(code, minlength=len(numbers) + 1)
        base = NumericSpace(np.array(numbers, dtype=float), counts[:-1])
        value_spaces.append(ExtendedSpace(base, counts[-1:]))
        codes.append(code)
    return distinct_records(names, value_spaces, codes)


def released(method: GroupSwap, records: Records, record_of: np.ndarray, number: int) -> list[tuple[int, ...]]:
    """The released codes of each row."""
    seed = Seed(SEED + number)
    fitted = method.fit(records, seed.stream("fit", 0))
    permutations = keyed_permutations(seed, "apply 0", fitted.transitions.sizes)
    return [
        tuple(row) for row in fitted.released[apply_in_chunks(fitted.transitions, permutations, record_of)].tolist()
    ]


def group_of_rows(records: Records, k: int, *, refine: bool) -> list[list[int]]:
    """The records of each group."""
    groups = mdav(joint_space(records), records.counts, k)
    if refine:
        better = refine_groups(joint_space(records), groups, k, pair_cost="squares")
        assert better is not None
        groups = better.groups
    return [part.tolist() for part in np.split(groups.members, groups.offsets[1:-1])]


cells = st.one_of(st.none(), st.integers(0, 6).map(float))
tables = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(cells, min_size=n, max_size=n).filter(lambda c: any(x is not None for x in c))] * 2)
)


# ------------------------------------------------------------------------------------------------ what moves


@given(columns=tables, k=st.integers(1, 6), move=st.sampled_from(["apart", "together"]), refine=st.booleans())
def test_every_released_cell_comes_from_a_record_of_the_same_group(columns, k, move, refine) -> None:
    records, record_of = records_of(*columns)
    k = min(k, len(record_of))
    groups = group_of_rows(records, k, refine=refine)
    after = released(GroupSwap(k=k, move=move, refine=refine), records, record_of, 1)
    for row, cells_of_row in enumerate(after):
        own = [group for group in groups if record_of[row] in group]
        if move == "together":
            assert any(cells_of_row in {tuple(records.codes[m]) for m in group} for group in own)
        assert any(
            all(cell in records.codes[group, column] for column, cell in enumerate(cells_of_row)) for group in own
        )


@given(columns=tables, k=st.integers(1, 6), refine=st.booleans())
def test_every_column_keeps_its_cells_and_together_every_record(columns, k, refine) -> None:
    records, record_of = records_of(*columns)
    k = min(k, len(record_of))
    before = [tuple(records.codes[record]) for record in record_of]
    apart = released(GroupSwap(k=k, refine=refine), records, record_of, 2)
    for column in range(2):
        assert Counter(row[column] for row in apart) == Counter(row[column] for row in before)
    together = released(GroupSwap(k=k, move="together", refine=refine), records, record_of, 2)
    assert Counter(together) == Counter(before)


def test_each_group_keeps_its_own_cells() -> None:
    rng = np.random.default_rng(3)
    records, _ = records_of(*rng.integers(0, 9, (2, 80)).astype(float).tolist())
    method = GroupSwap(k=4)
    groups = mdav(joint_space(records), records.counts, 4)
    permuted = method._permute(records, groups, np.random.default_rng(5))
    changed = 0
    for start, end in itertools.pairwise(groups.offsets.tolist()):
        original = records.codes[groups.members[start:end]]
        assert all(Counter(original[:, c].tolist()) == Counter(permuted[start:end, c].tolist()) for c in (0, 1))
        changed += not np.array_equal(original, permuted[start:end])
    assert changed > 0


@given(columns=tables, k=st.integers(2, 5), order=st.randoms(use_true_random=False))
def test_the_groups_do_not_depend_on_the_order_of_the_rows(columns, k, order) -> None:
    k = min(k, len(columns[0]))
    rows = list(zip(*columns, strict=True))
    order.shuffle(rows)
    first, _ = records_of(*columns)
    second, _ = records_of(*map(list, zip(*rows, strict=True)))
    assert group_of_rows(first, k, refine=True) == group_of_rows(second, k, refine=True)


def test_missing_cells_change_their_rows_like_values() -> None:
    table = pl.DataFrame({"illness": ["flu", "flu", None, "measles", "burn", None], "age": [1, 2, None, 3, 4, 5]})
    plan = {
        "columns": {"illness": {"ontology": ILLNESSES}, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["illness", "age"], "k": 6}],
    }
    places = set()
    for number in range(40):
        masked = anonto.mask(table, plan, seed=SEED + number).table
        assert masked["illness"].null_count() == 2
        assert masked["age"].null_count() == 1
        places.add(masked["age"].is_null().arg_true()[0])
    assert places == set(range(6))


def test_a_nominal_column_is_grouped_by_meaning() -> None:
    """Two kinds of illness and groups as large as each kind: nothing crosses from one to the other."""
    table = pl.DataFrame({"illness": ["flu", "burn", "measles", "fracture"] * 3})
    plan = {
        "columns": {"illness": {"ontology": ILLNESSES}},
        "steps": [{"method": "group-swap", "columns": ["illness"], "k": 6}],
    }
    release = anonto.mask(table, plan, seed=SEED)
    infections = {"flu", "measles"}
    pairs = zip(table["illness"], release.table["illness"], strict=True)
    assert all((before in infections) == (after in infections) for before, after in pairs)


# ------------------------------------------------------------------------------------------------ how likely


def test_a_group_is_permuted_uniformly() -> None:
    records, record_of = records_of([1.0, 2.0, 3.0, 4.0])
    method = GroupSwap(k=4, move="together")
    seen = Counter(tuple(released(method, records, record_of, number)) for number in range(1200))
    assert len(seen) == 24
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_columns_move_independently_of_each_other_when_apart() -> None:
    records, record_of = records_of([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    seen = Counter(tuple(released(GroupSwap(k=3), records, record_of, number)) for number in range(1440))
    assert len(seen) == 36
    assert chisquare(list(seen.values())).pvalue > 1e-4


@pytest.mark.parametrize("move", ["apart", "together"])
@pytest.mark.parametrize(
    "columns",
    [
        ([1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 14.0], [1.0, 1.0, 2.0, 9.0, 8.0, 9.0, 7.0]),
        ([1.0, 1.0, 2.0, 11.0, None, None], [1.0, 1.0, 2.0, 9.0, 9.0, None]),
    ],
    ids=["different records", "copies and missing cells"],
)
def test_each_person_of_a_group_is_equally_likely_given_a_released_row(columns, move: str) -> None:
    """The theorem: over many releases, each released record belongs to each person of its group 1/g of the time."""
    records, record_of = records_of(*columns)
    groups = group_of_rows(records, 3, refine=True)
    assert all(set(a).isdisjoint(b) for a, b in itertools.combinations(groups, 2)), "a person's group is not random"
    method = GroupSwap(k=3, move=move)
    persons = {record: group for group in map(tuple, groups) for record in group}
    owners: Counter[tuple[tuple[int, ...], int, tuple[int, ...]]] = Counter()
    for number in range(700):
        for person, row in enumerate(released(method, records, record_of, number)):
            owners[persons[record_of[person]], person, row] += 1
    for group in set(persons.values()):
        members = [person for person in range(len(record_of)) if record_of[person] in group]
        assert len(members) >= 3
        for row in {row for own, _, row in owners if own == group}:
            assert chisquare([owners[group, person, row] for person in members]).pvalue > 1e-5


def test_the_best_guess_of_an_intruder_with_all_originals_is_right_one_time_in_k_at_most() -> None:
    rng = np.random.default_rng(8)
    table = rng.normal(size=(2, 60)).round(2)
    records, record_of = records_of(*table.tolist())
    hits = []
    for number in range(60):
        codes = np.array(released(GroupSwap(k=5), records, record_of, number))
        masked = np.stack([np.unique(column)[codes[:, place]] for place, column in enumerate(table)], axis=1)
        apart = np.round(((table.T[:, None] - masked[None]) ** 2).sum(axis=-1), 9)
        nearest = apart == apart.min(axis=1, keepdims=True)
        hits.append((np.diag(nearest) / nearest.sum(axis=1)).mean())
    assert 0.05 < np.mean(hits) < 0.2


# ------------------------------------------------------------------------------------------------ what is promised


def plan_with(roles: dict[str, str], columns: list[str]) -> dict:
    described = {name: {"kind": "numeric", "role": role} for name, role in roles.items()}
    return {"columns": described, "steps": [{"method": "group-swap", "columns": columns, "k": 4}]}


def test_the_promise_is_proved_only_if_the_step_has_every_quasi_identifier() -> None:
    table = pl.DataFrame({"age": range(20), "stay": [n % 7 for n in range(20)], "cost": [n % 5 for n in range(20)]})
    roles = {"age": "quasi-identifier", "stay": "quasi-identifier", "cost": "confidential"}
    whole = anonto.mask(table, plan_with(roles, ["age", "stay"]), seed=SEED).evidence["steps"][0]["guarantee"]
    assert (whole["kind"], whole["k"], whole["proved"]) == ("probabilistic k-anonymity", 4, True)
    assert all(word in whole["conditions"] for word in ("random order", "seed", "one release", "other columns"))
    assert guarantee_sentence(whole).startswith(
        "Proved: probabilistic k-anonymity, k = 4. It holds on these conditions"
    )
    with pytest.warns(anonto.AnontoWarning, match="stay"):
        part = anonto.mask(table, plan_with(roles, ["age"]), seed=SEED).evidence["steps"][0]["guarantee"]
    assert (part["k"], part["proved"]) == (4, False)
    assert part["conditions"].startswith("the step leaves out 'stay'")
    said = guarantee_sentence(part)
    assert said.startswith("Not proved: probabilistic k-anonymity, k = 4, because the step leaves out 'stay'")


def test_the_reason_names_every_column_left_out() -> None:
    guarantee = GroupSwap(k=3).guarantee(Setting(left_out=("age", "sex")))
    assert "'age', 'sex'" in guarantee.conditions


def test_the_evidence_has_the_sizes_and_the_gain_of_refining() -> None:
    rng = np.random.default_rng(2)
    records, _ = records_of(*rng.normal(size=(2, 50)).round(1).tolist())
    facts = GroupSwap(k=4).fit(records, np.random.default_rng(1)).facts
    assert facts["groups"] == 12
    assert 4 <= facts["smallest_group"] <= facts["largest_group"] <= 7
    assert facts["homogeneous_groups"] == 0
    assert 0 < facts["loss_after_refining"] < facts["loss_before_refining"] < 1
    plain = GroupSwap(k=4, refine=False).fit(records, np.random.default_rng(1)).facts
    assert not any(name.startswith("loss") for name in plain)
    same, _ = records_of([1.0] * 9 + [2.0] * 3)
    assert GroupSwap(k=3).fit(same, np.random.default_rng(1)).facts["homogeneous_groups"] == 4


def test_the_loss_after_refining_is_the_squared_distance_to_expect() -> None:
    rng = np.random.default_rng(6)
    records, record_of = records_of(*rng.normal(size=(2, 40)).round(1).tolist())
    expected = GroupSwap(k=5).fit(records, np.random.default_rng(0)).facts["loss_after_refining"]
    found = []
    for number in range(300):
        after = np.array(released(GroupSwap(k=5), records, record_of, number))
        before = records.codes[record_of]
        moved = [a.pair_distances(before[:, c], after[:, c]) ** 2 for c, a in enumerate(records.value_spaces)]
        found.append(np.mean(moved))
    assert np.mean(found) == pytest.approx(expected, rel=0.03)


# ------------------------------------------------------------------------------------------------ edges and parameters


def test_as_many_records_as_k_are_one_group_and_fewer_are_refused() -> None:
    records, record_of = records_of([1.0, 2.0, 3.0])
    assert GroupSwap(k=3).fit(records, np.random.default_rng(1)).facts["groups"] == 1
    with pytest.raises(TooFewRecordsError, match="3 records of 'column 0' cannot form a group of k = 4"):
        GroupSwap(k=4).fit(records, np.random.default_rng(1))
    assert len(released(GroupSwap(k=3), records, record_of, 1)) == 3


def test_columns_of_text_without_an_ontology_are_grouped_too() -> None:
    codes = np.array([0, 0, 0, 1, 1, 1, 2, 2], dtype=np.int32)
    value_space = ExtendedSpace(TextSpace(np.bincount(codes)), np.array([0]))
    records, record_of = distinct_records(["region"], [value_space], [codes])
    facts = GroupSwap(k=2).fit(records, np.random.default_rng(1)).facts
    assert (facts["groups"], facts["homogeneous_groups"]) == (4, 3)
    assert Counter(released(GroupSwap(k=2), records, record_of, 1)) == {(0,): 3, (1,): 3, (2,): 2}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be a whole number, 1 or more; got 0"),
        ({"k": 2.5}, "k must be a whole number, 1 or more"),
        ({"k": 3, "move": "away"}, "move must be one of apart, together; got 'away'"),
        ({"k": 3, "refine": "yes"}, "refine must be true or false; got 'yes'"),
        ({}, "k must be given"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        method_of("group-swap", parameters)


def test_too_few_records_are_refused_without_a_cell_in_the_message() -> None:
    table = pl.DataFrame({"name": ["Jane Doe", "Joe Bloggs"]})
    plan = {"steps": [{"method": "group-swap", "columns": ["name"], "k": 5}]}
    with pytest.raises(InputError, match="2 records of 'name' cannot form a group of k = 5") as caught:
        anonto.mask(table, plan, seed=SEED)
    assert "Jane" not in str(caught.value)


def test_a_quasi_identifier_that_only_another_step_names_is_left_out_too() -> None:
    table = pl.DataFrame({"a": list(range(40)), "b": ["x", "y"] * 20})
    plan = {
        "columns": {"a": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["a"], "k": 4}, {"method": "random-swap", "columns": ["b"]}],
    }
    step = anonto.mask(table, plan, seed=1 << 90).evidence["steps"][0]
    assert not step["guarantee"]["proved"]
    assert "'b'" in step["guarantee"]["conditions"]


def test_cells_without_a_concept_that_moved_are_not_said_to_have_stayed() -> None:
    table = pl.DataFrame({"d": ["flu", "burn", "XX1", "XX2"] * 10, "a": list(range(40))})
    plan = {
        "columns": {"d": {"ontology": "illnesses", "unmatched": "keep"}, "a": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["d", "a"], "k": 20}],
    }
    release = anonto.mask(table, plan, seed=1 << 90)
    (step,) = release.evidence["steps"]
    stayed = [one == other for one, other in zip(table["d"], release.table["d"], strict=True)]
    assert step["unchanged"]["d"] == sum(stayed)
    assert step["unmatched"]["d"] == sum(
        same for same, cell in zip(stayed, table["d"], strict=True) if cell[:2] == "XX"
    )


def test_groups_of_one_prove_nothing() -> None:
    assert not GroupSwap(k=1).guarantee(Setting()).proved
    assert GroupSwap(k=2).guarantee(Setting()).proved
