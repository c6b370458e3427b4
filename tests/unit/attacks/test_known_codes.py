"""A few known codes of a set, against a slow search and against what must come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
import oracles
from anonto.attacks.compute import known_codes as module
from anonto.attacks.compute.known_codes import MOST_KNOWN, Persons, TableOfSets, attack_sets
from anonto.attacks.compute.support_kernels import NONE
from anonto.encoding.columns import encode
from anonto.encoding.set_space import ELEMENT, ROW
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.attacks.rate import Risk

Sets = list[frozenset[int]]
SETS = st.lists(st.frozensets(st.integers(0, 9), max_size=7), min_size=1, max_size=14)


def table_of(sets: Sequence[frozenset[int]]) -> TableOfSets:
    texts = [ELEMENT.join(sorted(map(str, one))) or None for one in sets]
    return TableOfSets.of(encode(pl.Series(texts, dtype=pl.String)), {str(n): n for n in range(10)})


def codes(known: np.ndarray, n: int = MOST_KNOWN) -> list[int]:
    return [code for code in known[:n].tolist() if code != NONE]


@given(before=SETS, after=SETS, k=st.integers(2, 4), seed=st.integers(0, 99))
@settings(max_examples=examples(80), deadline=None)
def test_what_is_counted_is_what_a_slow_search_counts(before: Sets, after: Sets, k: int, seed: int) -> None:
    persons = [one for one in before if one]
    if not persons:
        return
    first, second, rng = table_of(before), table_of(after), np.random.default_rng(seed)
    attacked = Persons.of(first, rng)
    found = attack_sets(first, second, attacked, k, np.random.default_rng(seed))
    at_random = attacked.pick_at_random(np.random.default_rng(seed))
    for own, known in zip(persons, at_random, strict=True):
        assert len(set(codes(known))) == min(MOST_KNOWN, len(own))
        assert set(codes(known)) <= own
    for one in found:
        n = one.known
        picked = [
            (codes(known, n),) * 2
            if one.chosen == "random"
            else (oracles.worst_codes(own, before, n), oracles.worst_codes(own, after, n))
            for own, known in zip(persons, at_random, strict=True)
        ]
        supports = [(oracles.support(a, before), oracles.support(b, after)) for a, b in picked]
        read = [
            oracles.codes_read(own, known, next(each for each in after if set(known) <= each)) if support == 1 else 0.0
            for own, (_, known), (_, support) in zip(persons, picked, supports, strict=True)
        ]
        assert one.singled_out["before"] == pytest.approx(np.mean([a == 1 for a, _ in supports]))
        assert one.singled_out["after"] == pytest.approx(np.mean([b == 1 for _, b in supports]))
        assert one.below_k["before"] == pytest.approx(np.mean([a < k for a, _ in supports]))
        assert one.below_k["after"] == pytest.approx(np.mean([0 < b < k for _, b in supports]))
        assert one.rate == pytest.approx(np.mean(read))
        assert one.whole == pytest.approx(np.mean([share == 1 for share in read]))
        for own, (_, known), row in zip(persons, picked, one.record, strict=True):
            assert row < 0 or set(known) <= after[row]
            assert (row >= 0) == (oracles.support(known, after) == 1), own


@given(sets=SETS, k=st.integers(2, 4), m=st.sampled_from([1, 2]))
@settings(max_examples=examples(80), deadline=None)
def test_k_m_anonymity_is_that_of_all_combinations(sets: Sets, k: int, m: int) -> None:
    found = table_of(sets).measure_km(m, k)
    least = [oracles.least_support(one, sets, m) for one in sets if one]
    assert found["smallest_support"] == min(least, default=len(sets))
    assert found["below_k"] == pytest.approx(sum(one < k for one in least) / len(sets))


# ------------------------------------------------------------------------------------------------ whole releases


def people(n: int = 400, n_codes: int = 30, most: int = 7, seed: int = 1) -> pl.DataFrame:
    """One row for each person, with a set of codes."""
    rng = np.random.default_rng(seed)
    sets = [rng.choice(n_codes, rng.integers(1, most + 1), replace=False) for _ in range(n)]
    return pl.DataFrame(
        {"ills": [";".join(f"c{code}" for code in one) for one in sets], "age": rng.integers(20, 80, n)}
    )


def plan_of(method: str = "group-swap", columns: Sequence[str] = ("ills", "age"), **described: Any) -> dict[str, Any]:
    parameters = {"k": 8} if method == "group-swap" else {}
    return {
        "columns": {"ills": {"kind": "set", "separator": ";", **described}, "age": {"kind": "numeric"}},
        "steps": [{"method": method, "columns": list(columns), **parameters}],
    }


def attacked(original: pl.DataFrame, masked: Any, plan: dict[str, Any], seed: int = 0) -> list[Risk]:
    found = anonto.assess(original, masked, plan, same_order=True, seed=seed)
    return [one for one in found.risk if one.attack == "known-codes"]


def test_sets_that_are_not_masked_lead_to_the_persons_own_record_with_all_its_cells() -> None:
    table = people()
    plan = plan_of("random-swap", ["age"])
    plan["columns"]["ills"]["role"] = "other"
    (found,) = attacked(table, table, plan)
    assert found.columns == ("ills",)
    assert found.details["own_record"] == found.details["other_cells_right"] == 1.0
    assert found.details["read_right"] == 1.0
    assert found.rate == found.details["have_others"] > 0.5
    assert found.low < found.rate < found.high
    assert found.baseline < 0.2


def test_sets_that_move_whole_are_read_as_before_but_in_records_of_others() -> None:
    table, plan = people(), plan_of()
    masked = anonto.mask(table, plan, seed=1 << 100).table
    (found,) = attacked(table, masked, plan)
    out = found.details["singled_out"]
    assert out["before"] == out["after"] > 0.5
    assert all(one["singled_out"]["before"] == one["singled_out"]["after"] for one in found.details["by_codes_known"])
    assert all(one["before"] == one["after"] for one in found.details["k_m_anonymity"])
    assert found.details["k"] == 8
    assert found.details["read_right"] == 1.0
    assert found.details["own_record"] < 0.3
    assert found.details["other_cells_right"] < 0.4


def test_sets_of_others_reveal_no_more_than_a_record_picked_at_random() -> None:
    rng = np.random.default_rng(0)
    first, second = (
        table_of([frozenset(rng.choice(10, rng.integers(1, 6), replace=False).tolist()) for _ in range(300)])
        for _ in range(2)
    )
    for one in attack_sets(first, second, Persons.of(first, rng), 5, rng):
        assert one.rate < one.guessed + 0.06


def test_the_rate_is_no_linkage_and_never_the_headline() -> None:
    table, plan = people(), plan_of()
    found = anonto.assess(table, anonto.mask(table, plan, seed=1 << 100).table, plan, same_order=True)
    (known,) = [one for one in found.risk if one.attack == "known-codes"]
    assert known.rate > 0.4
    assert found.worst is not None
    assert found.worst.attack != "known-codes"
    assert found.worst.rate < 0.25


def test_more_codes_single_out_more_persons_and_the_worst_ones_more_than_random_ones() -> None:
    table, plan = people(), plan_of()
    (found,) = attacked(table, anonto.mask(table, plan, seed=1 << 100).table, plan)
    curves: dict[str, list[float]] = {"random": [], "worst": []}
    for one in found.details["by_codes_known"]:
        curves[one["chosen"]].append(one["singled_out"]["after"])
    for curve in curves.values():
        assert curve == sorted(curve)
    assert all(a <= b for a, b in zip(curves["random"], curves["worst"], strict=True))
    assert found.rate == max(one["rate"] for one in found.details["by_codes_known"])


def test_rows_and_repetitions_of_a_persons_codes_do_not_count() -> None:
    texts = [f"a{ELEMENT}b", f"b{ROW}a{ROW}a", f"a{ROW}{ROW}b", ELEMENT, None]
    table = TableOfSets.of(encode(pl.Series(texts)), {"a": 0, "b": 1})
    assert table.set_of_row.tolist() == [0, 0, 0, -1, -1]
    assert table.sets.counts.tolist() == [3]
    assert table.measure_km(2, 2) == {"smallest_support": 3, "below_k": 0.0}


def test_persons_without_codes_are_counted_and_not_attacked() -> None:
    table = people(60).with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("")).otherwise("ills").alias("ills")
    )
    (found,) = attacked(table, table, plan_of())
    assert (found.n, found.details["persons_without_codes"]) == (55, 5)


def test_confidential_sets_are_known_to_nobody() -> None:
    table = people(60)
    assert attacked(table, table, plan_of(columns=["age"], role="confidential")) == []


def test_the_choice_of_persons_in_a_large_table_depends_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PERSONS", 50)
    table, plan = people(), plan_of()
    masked = anonto.mask(table, plan, seed=1 << 100).table
    one, same, other = (attacked(table, masked, plan, seed)[0].to_dict() for seed in (0, 0, 1))
    assert one == same != other
    assert one["n"] == 50
