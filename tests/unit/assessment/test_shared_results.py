"""Results that masking, attacks and losses share: computed once, and the same as without sharing."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.encoding import set_space as module
from anonto.encoding.set_space import SetSpace, set_space
from anonto.encoding.value_space import ExtendedSpace, TextSpace
from anonto.methods.grouping import mdav_kernels
from anonto.runtime import shared as store
from anonto.runtime.shared import Shared, digest_of, is_shared, share, sharing
from anonto.stats import set_centre

if TYPE_CHECKING:
    import pytest

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
PLAN: dict[str, Any] = {
    "columns": {"ills": {"kind": "set", "separator": ";", "ontology": ILLS}, "age": {"kind": "numeric"}},
    "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 4}],
}


def table(n: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ills = [";".join(rng.choice(CODES, rng.integers(1, 5), replace=False)) for _ in range(n)]
    return pl.DataFrame({"ills": ills, "age": rng.integers(20, 80, n)})


class Counter:
    """How many pairs of sets were compared in tables, by the compiled loop that it stands for."""

    def __init__(self) -> None:
        self.n_pairs, self.compute = 0, module.set_distances

    def __call__(self, sets: Any, rows: Any, columns: Any, by_matching: bool, out: Any) -> None:
        self.n_pairs += out.size
        self.compute(sets, rows, columns, by_matching, out)


def test_assess_compares_each_pair_of_sets_once_and_groups_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    original = table()
    masked = anonto.mask(original, PLAN, seed=1 << 100).table
    apart, grouped = Counter(), []
    monkeypatch.setattr(module, "set_distances", apart)
    form = mdav_kernels.mdav
    monkeypatch.setattr(mdav_kernels, "mdav", lambda *given: grouped.append(1) or form(*given))
    found = anonto.assess(original, masked, PLAN, same_order=True)
    n = len({";".join(sorted(cell.split(";"))) for cell in original["ills"]})
    # Each pair once, and in the band of rows around the diagonal that is computed together twice.
    assert n * n / 2 <= apart.n_pairs <= n * n
    assert len(grouped) == 1
    monkeypatch.setattr(store, "bytes_of_machine", lambda: 0)
    again = anonto.assess(original, masked, PLAN, same_order=True)
    assert len(grouped) > 5
    assert apart.n_pairs > 10 * n * n
    assert again.to_dict() == found.to_dict()


def test_the_plans_of_a_sweep_share_the_distances_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    original, apart = table(60), Counter()
    monkeypatch.setattr(module, "set_distances", apart)
    grid = {"group-swap": {"k": [2, 3, 4]}, "random-swap": {}}
    anonto.sweep(original, PLAN, grid, seeds=2, workers=1)
    n = original["ills"].n_unique()
    assert apart.n_pairs <= 3 * n * n  # of the loss at random, and of all plans


def test_the_centres_of_groups_are_searched_once_for_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    original, searched = table(40), []
    plan = {**PLAN, "steps": [{"method": "microaggregate", "columns": ["ills", "age"], "k": 4}]}
    search = set_centre._search
    monkeypatch.setattr(set_centre, "_search", lambda *given: searched.append(1) or search(*given))
    alone = [anonto.mask(original, plan, seed=seed << 100).table for seed in (1, 2)]
    assert len(searched) == 2
    with sharing():
        together = [anonto.mask(original, plan, seed=seed << 100).table for seed in (1, 2)]
        assert len(searched) == 3
        anonto.mask(original, {**plan, "steps": [{**plan["steps"][0], "k": 5}]}, seed=1 << 100)
        assert len(searched) == 4
    assert all(one.equals(other) for one, other in zip(alone, together, strict=True))


@given(
    sets=st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=9),
    parts=st.lists(st.lists(st.integers(0, 8), max_size=5), max_size=4),
)
def test_shared_distances_are_the_same_in_whatever_order_rows_are_needed(
    sets: list[list[int]], parts: list[list[int]]
) -> None:
    space = set_space(np.ones(len(sets), dtype=np.int64), sets, TextSpace(np.ones(10, dtype=np.int64)), "matching")
    extended = ExtendedSpace(space, np.array([2, 1]), 1)
    whole, extended_whole = space.distances(), extended.distances()
    assert (extended_whole == extended.distances_from(np.arange(len(sets) + 2))).all()
    with sharing():
        for part in parts:
            codes = np.array([code % len(sets) for code in part], dtype=np.int64)
            np.testing.assert_array_equal(space.distances_from(codes), whole[codes])
        a, b = (one.ravel() for one in np.indices(whole.shape))
        np.testing.assert_array_equal(space.pair_distances(a, b), whole.ravel())
        np.testing.assert_array_equal(space.distances(), whole)
        np.testing.assert_array_equal(space.pair_distances(a, b), whole.ravel())
        np.testing.assert_array_equal(extended.distances(), extended_whole)


def test_spaces_with_the_same_sets_share_and_others_do_not() -> None:
    counts, elements = np.ones(3, dtype=np.int64), TextSpace(np.ones(4, dtype=np.int64))
    sets = [[0, 1], [1, 2], [3]]

    def new(kind: str = "matching", of: list[list[int]] = sets) -> SetSpace:
        return set_space(counts, of, elements, kind)

    with sharing():
        assert new().distances() is new().distances()
        assert new().distances() is not new("best-match-average").distances()
        assert new().distances() is not new(of=[[0, 1], [1, 2], [2]]).distances()
    assert new().distances() is not new().distances()


def test_what_was_not_used_for_longest_is_let_go_first_and_quick_results_before_others() -> None:
    kept = Shared(10)
    made: list[str] = []

    def get(name: str, n_bytes: int = 4) -> str:
        def make() -> str:
            made.append(name)
            return name

        return kept.get(("text", name.encode()), n_bytes, make, is_quick=name.isupper())

    def get_all(names: str) -> str:
        made.clear()
        assert [get(name) for name in names] == list(names)
        return "".join(made)

    assert get_all("abacab") == "abcb"
    assert get("d", 11) == "d"
    assert get_all("ab") == ""  # what is too large takes no place
    assert get("e", 10) == "e"
    assert get_all("aAbAB") == "aAbAB"  # b takes the place of A, and A and B none of another's
    assert get_all("ba") == ""
    assert get("c", 6) == "c"
    assert get_all("cABAc") == "ABA"


def test_nothing_is_shared_outside_a_run_and_the_outer_run_decides_inside() -> None:
    outer = Shared()

    def get(name: str) -> str:
        return share("text", lambda: b"", 1, lambda: name)

    assert (get("one"), get("two")) == ("one", "two")
    with sharing(outer), sharing():
        assert get("one") == "one"
    with sharing(pickle.loads(pickle.dumps(outer))):  # noqa: S301 - written here
        assert get("two") == "two"
    with sharing(outer):
        assert get("three") == "one"
        with sharing():
            assert share("sum", lambda: b"", 1, lambda: "quick", is_quick=True) == "quick"
        assert share("sum", lambda: b"", 1, lambda: "quick again", is_quick=True) == "quick again"
        assert is_shared(1)
        assert not is_shared(outer.most_bytes + 1)


def test_digests_tell_shapes_types_and_order_apart() -> None:
    six = np.arange(6)
    told = [
        digest_of(six),
        digest_of(six.reshape(2, 3)),
        digest_of(six.reshape(3, 2)),
        digest_of(six.astype(np.int32)),
        digest_of(six.reshape(2, 3).T),
        digest_of((six, six[:0])),
        digest_of((six[:0], six)),
        digest_of((six,), six[:0]),
        digest_of(six, 1, "a"),
        digest_of(six, 11, "a"),
        digest_of(six, 1, None),
    ]
    assert len(set(told)) == len(told)
    assert digest_of(six[::2]) == digest_of(np.array([0, 2, 4]))
