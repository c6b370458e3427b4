"""The key `recode` of a column, and what becomes of distinct values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.description import ColumnDescription, column_schema
from anonto.encoding.prefixes import prefix_taxonomy
from anonto.encoding.prepare import encode_described, opener
from anonto.encoding.recode import Recode
from anonto.encoding.recoded_values import RecodedValues, recode_values
from anonto.errors import AnontoError, ColumnError, FileError, ParameterError, PlanError
from budget import examples
from strategies import taxonomy_of

if TYPE_CHECKING:
    from pathlib import Path

ILLS = anonto.read_ontology("illnesses")
TREE = {"all": [], "chapter:A": ["all"], "chapter:B": ["all"], "a1": ["chapter:A"], "a2": ["chapter:A"], "b": ["all"]}


def recoded(cells: list[Any], folder: Path | None = None, **keys: Any) -> RecodedValues:
    description = ColumnDescription.from_mapping("x", keys)
    column = encode_described("x", cells, replace(description, missing="keep"))
    return recode_values("x", column, description, opener(folder), folder)


def texts(found: RecodedValues) -> dict[str, str]:
    """The released text of each value."""
    new = found.cells.as_texts().to_list()
    return {
        value: new[place] if place >= 0 else value
        for value, place in zip(found.values, found.places.tolist(), strict=True)
    }


def test_numbers_are_rounded_and_then_held_between_bottom_and_top() -> None:
    found = recoded([0, 1, 7, 8, 44, 90, 97], kind="numeric", recode={"bottom": 1, "top": 90, "round": 5})
    assert texts(found) == {"0": "1", "1": "1", "7": "5", "8": "10", "44": "45", "90": "90", "97": "90"}
    assert found.evidence["changed"] == 5
    assert found.n_released == 5


def test_the_spelling_of_a_number_does_not_tell_that_it_stayed() -> None:
    found = recoded(["90.0", "90", "97", "5.0"], kind="numeric", recode={"top": 90})
    assert {texts(found)[one] for one in ("90.0", "90", "97")} == {"90"}
    assert texts(found)["5.0"] == "5.0"
    assert found.evidence["changed"] == 1


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
    st.integers(-500, 0),
    st.integers(1, 500),
    st.integers(1, 60),
)
@settings(max_examples=examples(60))
def test_rounding_and_codes_are_those_of_the_formula(cells: list[int], bottom: int, top: int, base: int) -> None:
    found = texts(recoded(cells, kind="numeric", recode={"bottom": bottom, "top": top, "round": base}))
    for cell in cells:
        nearest = (2 * cell + base) // (2 * base) * base
        assert int(found[str(cell)]) == min(max(nearest, bottom), top)


def test_decimals_of_the_plan_are_written_and_no_others() -> None:
    found = recoded(["1,26", "3,1", "9"], kind="numeric", recode={"round": 0.25})
    assert texts(found) == {"1,26": "1,25", "3,1": "3,0", "9": "9"}


def test_a_label_replaces_the_code_and_all_beyond_it() -> None:
    found = recoded([1, 2, 90, 95, 40], kind="numeric", recode={"bottom": 2, "top": 90, "labels": ["2-", "90+"]})
    assert texts(found) == {"1": "2-", "2": "2-", "40": "40", "90": "90+", "95": "90+"}
    assert found.description.kind == "ordinal"
    assert found.description.order == ("2-", "40", "90+")


def test_each_cut_begins_a_band_and_a_step_sees_bands_in_order() -> None:
    found = recoded([17, 18, 64, 65, 99], kind="numeric", recode={"bands": [18, 65]})
    assert texts(found) == {"17": "<18", "18": "[18,65)", "64": "[18,65)", "65": ">=65", "99": ">=65"}
    assert found.description.order == ("<18", "[18,65)", ">=65")
    named = recoded([17, 18], kind="numeric", recode={"bands": [18], "labels": ["child", "adult"]})
    assert texts(named) == {"17": "child", "18": "adult"}


def test_information_lost_is_the_distance_in_the_range_of_the_column() -> None:
    found = recoded([0, 5, 10], kind="numeric", recode={"top": 5})
    assert found.lost.tolist() == [0.0, 0.5, 0.0]  # "0", "10", "5" in the order of texts
    assert found.evidence["rmse"] == pytest.approx(np.sqrt(0.25 / 3))


def test_missing_cells_and_codes_that_mean_missing_are_not_recoded() -> None:
    found = recoded([-9, 120, None], kind="numeric", na=["-9"], recode={"bottom": 0, "top": 90})
    assert texts(found) == {"120": "90"}


def test_a_prefix_of_few_people_becomes_the_text_of_all_small_areas(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("zip,people\n02115,30000\n02116,1000\n036,4000\n")
    keys = {"recode": {"prefix": 3, "population": "people.csv", "at_least": 20_000}}
    found = recoded(["02115", "03602", "02199"], tmp_path, **keys)
    assert texts(found) == {"02115": "021", "02199": "021", "03602": "000"}
    assert found.lost.max() <= 1.0


def test_a_prefix_without_a_population_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("021;30000\n")
    keys = {"recode": {"prefix": 3, "population": "people.csv", "at_least": 20_000}}
    with pytest.raises(ColumnError, match=r"2 prefixes of column 'x' \(3 cells\) are not in 'people\.csv'") as caught:
        recoded(["02115", "99901", "99902", "88800"], tmp_path, **keys)
    assert caught.value.values == ("888", "999")
    assert "999" not in str(caught.value)


@pytest.mark.parametrize("content", ["021,3\n022\n", "021,3\n022,many\n", "021,3\n022,-4\n"])
def test_a_damaged_table_of_populations_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "people.csv").write_text(content)
    with pytest.raises(FileError, match=r"'people\.csv' is not a table of prefixes and populations"):
        recoded(["02115"], tmp_path, recode={"prefix": 3, "population": "people.csv", "at_least": 5})


def test_a_text_is_nearer_to_its_own_prefix_than_to_another() -> None:
    taxonomy = prefix_taxonomy(["02115", "02116", "03601"], ["021", "021", "036"], 3)
    own, other = taxonomy.distance("02115", "021"), taxonomy.distance("02115", "036")
    assert 0 < own < other <= 1


def test_a_concept_becomes_its_ancestor_at_a_depth_or_a_level() -> None:
    taxonomy = taxonomy_of({child: tuple(parents) for child, parents in TREE.items()})
    by_depth = recoded(["a1", "a2", "b", "chapter:B"], ontology=taxonomy, recode={"generalise": 2})
    assert texts(by_depth) == {"a1": "chapter:A", "a2": "chapter:A", "b": "b", "chapter:B": "chapter:B"}
    by_name = recoded(["a1", "chapter:B"], ontology=taxonomy, recode={"generalise": "chapter"})
    assert texts(by_name) == {"a1": "chapter:A", "chapter:B": "chapter:B"}
    expected = taxonomy.distance("a1", "chapter:A")
    assert by_name.lost.tolist() == [expected, 0.0]
    assert by_name.evidence["changed"] == 1


def test_a_level_that_the_hierarchy_or_a_branch_lacks_is_refused() -> None:
    taxonomy = taxonomy_of({child: tuple(parents) for child, parents in TREE.items()})
    with pytest.raises(ColumnError, match="1 distinct value of column 'x' \\(2 cells\\) has no ancestor of level"):
        recoded(["a1", "b", "b"], ontology=taxonomy, recode={"generalise": "chapter"})
    with pytest.raises(PlanError, match="has no level 'block': its named levels are chapter"):
        recoded(["a1"], ontology=taxonomy, recode={"generalise": "block"})


def test_a_value_without_a_concept_is_left_to_the_policy_of_the_column() -> None:
    taxonomy = taxonomy_of({child: tuple(parents) for child, parents in TREE.items()})
    found = recoded(["a1", "zzz"], ontology=taxonomy, unmatched="keep", recode={"generalise": 2})
    assert texts(found) == {"a1": "chapter:A", "zzz": "zzz"}
    with pytest.raises(ColumnError, match="no concept"):
        recoded(["a1", "zzz"], ontology=taxonomy, recode={"generalise": 2})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"recode": {}}, "recode of column 'x' must be a table of keys"),
        ({"recode": 3}, "recode of column 'x' must be a table of keys"),
        ({"kind": "numeric", "recode": {"topp": 90}}, "did you mean 'top'"),
        ({"kind": "numeric", "recode": {"top": "90"}}, "top of recode of column 'x' must be a number"),
        ({"kind": "numeric", "recode": {"top": 1, "bottom": 2}}, "bottom of recode of column 'x' must be less"),
        ({"kind": "numeric", "recode": {"round": 0}}, "round of recode of column 'x' must be a number above 0"),
        ({"kind": "numeric", "recode": {"bands": [3, 3]}}, "must be numbers in ascending order"),
        ({"kind": "numeric", "recode": {"bands": [3], "top": 9}}, "must be without bottom, top and round"),
        ({"kind": "numeric", "recode": {"top": 9, "labels": ["a", "b"]}}, "one text for each of bottom and top: 1"),
        ({"kind": "numeric", "recode": {"bands": [9], "labels": ["a"]}}, "one text for each band: 2"),
        ({"kind": "numeric", "recode": {"bands": [9], "labels": ["a", "a"]}}, "a list of different texts"),
        ({"kind": "numeric", "recode": {"prefix": 3}}, "prefix of recode of column 'x' must be left out"),
        ({"recode": {"prefix": 0}}, "must be a whole number of characters, 1 or more"),
        ({"recode": {"prefix": 3, "at_least": 5}}, "must be given together with at_least"),
        ({"recode": {"population": "x.csv", "at_least": 5}}, "prefix of recode of column 'x' must be given"),
        ({"recode": {"generalise": 2}}, "it is for a nominal column with an ontology"),
        ({"ontology": "illnesses", "recode": {"generalise": 0}}, "must be a depth, 1 or more"),
        ({"ontology": "illnesses", "recode": {"generalise": True}}, "must be a depth, 1 or more"),
        ({"kind": "set", "recode": {"prefix": 3}}, "must be left out"),
        ({"role": "identifier", "recode": {"prefix": 3}}, "the cells of a column with this role are not released"),
    ],
)
def test_a_wrong_key_is_refused_in_one_sentence(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AnontoError, match=message) as caught:
        ColumnDescription.from_mapping("x", keys)
    assert "\n" not in str(caught.value)


def test_keys_come_back_as_they_were_given_and_are_in_the_schema() -> None:
    keys = {"kind": "numeric", "role": "other", "recode": {"bands": [18, 65], "labels": ["a", "b", "c"]}}
    assert ColumnDescription.from_mapping("x", keys).to_mapping() == keys
    known = column_schema()["properties"]["recode"]["properties"]
    assert set(known) == set(Recode.__dataclass_fields__)


def test_several_ontologies_cannot_be_generalised() -> None:
    with pytest.raises(PlanError, match="has several ontologies"):
        recoded(["Asthma"], ontology=[ILLS, ILLS], unmatched="keep", recode={"generalise": 2})


def test_the_rule_is_told_in_words() -> None:
    rule = Recode.from_mapping("x", {"bottom": 1, "top": 90, "round": 5})
    assert rule.words == (
        "rounded to multiples of 5; bottom-coded: numbers below 1 become 1; top-coded: numbers above 90 become 90"
    )
    with pytest.raises(ParameterError):
        Recode.from_mapping("x", {"top": float("nan")})


def test_the_words_of_a_labelled_code_include_the_code_itself() -> None:
    rule = {"bottom": 1, "top": 90, "labels": ["0-1", "90+"]}
    assert Recode.from_mapping("x", rule).words == (
        "bottom-coded: numbers of 1 or less become '0-1'; top-coded: numbers of 90 or more become '90+'"
    )
    release = anonto.mask(
        pl.DataFrame({"x": [0, 1, 45, 89, 90, 97]}),
        {"columns": {"x": {"kind": "numeric", "role": "confidential", "recode": rule}}, "steps": []},
        seed=1 << 90,
    )
    assert sorted(release.table["x"].to_list()) == ["0-1", "0-1", "45", "89", "90+", "90+"]
