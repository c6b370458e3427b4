"""Sets as values: compiled distances against the plain ones, and columns of sets with their policies."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.columns import encode
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import LARGEST_SET, opener, prepare
from anonto.encoding.set_kernels import SetArrays, set_distances
from anonto.encoding.set_space import ELEMENT, ROW, SetSpace, set_space
from anonto.encoding.value_space import TextSpace
from anonto.errors import ColumnError, ParameterError, UnmatchedValuesError
from anonto.stats.sets import matching_distance
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.arrays import Floats

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SETS = st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=6), min_size=1, max_size=8)


def prepared(texts: list[str | None], **described: object) -> SetSpace:
    description = ColumnDescription.from_mapping("ills", {"kind": "set", "ontology": ILLS, **described})
    value_space = prepare("ills", encode(pl.Series(texts, dtype=pl.String)), description, opener()).value_space
    assert isinstance(value_space, SetSpace)
    return value_space


@pytest.mark.parametrize("kind", ["matching", "best-match-average"])
@pytest.mark.parametrize("measure", ["wu-palmer", "jiang-conrath"])
@given(sets=SETS)
@settings(max_examples=examples(25))
def test_compiled_distances_are_those_of_set_distance(kind: str, measure: str, sets: list[list[str]]) -> None:
    texts = [ELEMENT.join(sorted(one)) for one in sets]
    space = prepared(texts, set_distance=kind, measure=measure)
    values = sorted(set(texts))
    expected = [
        [anonto.stats.set_distance(a.split(ELEMENT), b.split(ELEMENT), ILLS, measure, kind) for b in values]
        for a in values
    ]
    found = space.distances()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    codes = np.arange(len(values))
    a, b = (one.ravel() for one in np.meshgrid(codes, codes, indexing="ij"))
    np.testing.assert_array_equal(space.pair_distances(a, b), found.ravel())
    np.testing.assert_array_equal(space.distances_from(codes[:1]), found[:1])
    np.testing.assert_array_equal(space.distance_tables()(codes, codes[-1:]), found[:, -1:])


@given(sets=st.lists(st.sets(st.integers(min_value=0, max_value=30), max_size=20), min_size=2, max_size=5))
@settings(max_examples=examples(25))
def test_sets_of_equal_or_different_elements_are_compared_without_a_matching(sets: list[set[int]]) -> None:
    space = set_space(np.ones(len(sets), dtype=np.int64), [[*one] for one in sets], TextSpace(np.ones(31)), "matching")
    expected = [[matching_distance(unequal(a, b)) if a and b else float(a != b) for b in sets] for a in sets]
    np.testing.assert_allclose(space.distances(), expected, atol=1e-12)


def unequal(a: set[int], b: set[int]) -> Floats:
    return np.array([[float(x != y) for y in b] for x in a])


@given(
    table=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=64, max_size=64),
    sizes=st.tuples(st.integers(min_value=1, max_value=8), st.integers(min_value=1, max_value=8)),
)
@settings(max_examples=examples(60))
def test_matching_is_the_cheapest_for_any_distances(table: list[float], sizes: tuple[int, int]) -> None:
    apart = np.array(table).reshape(8, 8)
    both = np.zeros((16, 16))
    both[:8, 8:], both[8:, :8] = apart, apart.T
    members = np.concatenate([np.arange(sizes[0]), 8 + np.arange(sizes[1])]).astype(np.int32)
    arrays = SetArrays(np.array([0, sizes[0], sum(sizes)]), members, both)
    out = np.empty((2, 2))
    set_distances(arrays, np.arange(2), np.arange(2), True, out)
    assert out[0, 1] == out[1, 0]
    assert out[0, 1] == pytest.approx(matching_distance(apart[: sizes[0], : sizes[1]]), abs=1e-12)


def test_sets_of_ten_thousand_elements_are_counted_at_once_and_refused_where_they_are_matched_by_meaning(
    tmp_path: Path,
) -> None:
    texts = [ELEMENT.join(f"c{n:05}" for n in range(start, start + 10_000)) for start in (0, 5_000, 10_000)]
    started = time.perf_counter()
    space = prepared([*texts, "c00001"], ontology=None)
    large = [0, 2, 3]
    assert space.distances()[np.ix_(large, large)].tolist() == [[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    assert time.perf_counter() - started < 20  # matching them would take a quarter of an hour
    edges = [f"c{n:05},root" for n in range(LARGEST_SET + 1)]
    (tmp_path / "flat.csv").write_text("\n".join(["child,parent", *edges]), encoding="utf-8")
    flat = anonto.read_ontology(tmp_path / "flat.csv")
    text = ELEMENT.join(f"c{n:05}" for n in range(LARGEST_SET + 1))
    with pytest.raises(ColumnError, match=f"1 set of column 'ills' has more than {LARGEST_SET:,}"):
        prepared([text, "c00001"], ontology=flat)
    assert prepared([text, "c00001"], ontology=flat, set_distance="best-match-average").distances().shape == (2, 2)


def test_rows_and_repetition_do_not_count_in_distances() -> None:
    space = prepared([f"burn{ELEMENT}flu", f"burn{ROW}burn{ELEMENT}flu", "flu"])
    distances = space.distances()
    assert distances[0, 1] == 0.0
    assert space.keys()[0] == space.keys()[1] != space.keys()[2]
    assert distances[0, 2] == distances[1, 2] == 0.5


def test_a_set_without_elements_is_as_far_as_can_be_from_every_other() -> None:
    space = prepared([ROW, "flu"])
    assert space.distances().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_sets_without_an_ontology_compare_elements_by_equality() -> None:
    space = prepared([f"x{ELEMENT}y", "y"], ontology=None)
    assert space.distances()[0, 1] == 0.5


def test_an_element_without_a_concept_is_refused_without_showing_it() -> None:
    with pytest.raises(UnmatchedValuesError) as caught:
        prepared([f"flu{ELEMENT}secret-code", "burn"])
    assert "secret-code" not in str(caught.value)
    assert caught.value.values == ("secret-code",) or list(caught.value.values) == ["secret-code"]


def test_a_set_with_an_unknown_element_counts_as_unmatched_where_the_plan_keeps_it() -> None:
    description = ColumnDescription.from_mapping("ills", {"kind": "set", "ontology": ILLS, "unmatched": "keep"})
    column = encode(pl.Series([f"flu{ELEMENT}unknown", "burn", "flu"]))
    found = prepare("ills", column, description, opener())
    assert (found.n_unmatched, found.column.values) == (1, ("burn", "flu"))


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"kind": "nominal", "from": ["a"]}, "kind of column 'ills'"),
        ({"kind": "set", "from": ["a", "b"], "separator": ";"}, "separator of column 'ills'"),
        ({"kind": "set", "from": ["a", "a"]}, "from of column 'ills'"),
        ({"kind": "set", "separator": ""}, "separator of column 'ills'"),
        ({"kind": "set", "set_distance": "nearest"}, "set_distance of column 'ills'"),
    ],
)
def test_keys_of_sets_that_contradict_each_other_are_refused(described: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ColumnDescription.from_mapping("ills", described)
