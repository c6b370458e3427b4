"""Released concepts are spelt as the plan and the ontology say, however the cells of the table are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xlsxwriter

import anonto
from strategies import taxonomy_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
SEED = 1 << 90
PARENTS: dict[str, tuple[str, ...]] = {
    "E": (),
    "E10": ("E",),
    "E11": ("E",),
    **{f"E1{x}.{y}": (f"E1{x}",) for x in (0, 1) for y in (1, 2, 21)},
}
CODES = taxonomy_of(PARENTS)
STEPS: list[dict[str, Any]] = [
    {"method": "taxonomy-exponential", "epsilon": 0.1},
    {"method": "semantic-noise", "noise_level": 1.0},
    {"method": "semantic-noise", "noise_level": 0.01, "round": "nearest"},
    {"method": "semantic-noise", "noise_level": 0.0},
    {"method": "semantic-noise-joint", "noise_level": 1.0},
    {"method": "microaggregate", "k": 3},
]


def plan(step: dict[str, Any], columns: tuple[str, ...] = ("a",), **keys: Any) -> dict[str, Any]:
    return {
        "columns": {name: {"ontology": CODES, **keys} for name in columns},
        "steps": [{**step, "columns": list(columns)}],
    }


def table(columns: tuple[str, ...] = ("a",), n: int = 400) -> pl.DataFrame:
    """Codes in all spellings that are read: as they are, without dots, in small letters, with blanks."""
    rng = np.random.default_rng(5)
    leaves = [concept for concept in CODES.ids if "." in concept]
    spell = [str, lambda code: code.replace(".", ""), str.lower, lambda code: f" {code}"]
    return pl.DataFrame(
        {name: [spell[rng.integers(4)](leaves[rng.integers(len(leaves))]) for _ in range(n)] for name in columns}
    )


def columns_of(step: dict[str, Any]) -> tuple[str, ...]:
    return ("a", "b") if step["method"] == "semantic-noise-joint" else ("a",)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["method"])
@pytest.mark.parametrize("spelling", ["id", "id-without-dots"])
def test_every_released_concept_is_spelt_as_the_plan_says(step: dict[str, Any], spelling: str) -> None:
    names = columns_of(step)
    released = anonto.mask(table(names), plan(step, names, spelling=spelling), seed=SEED).table
    known = {code if spelling == "id" else code.replace(".", "") for code in CODES.ids}
    for name in names:
        assert set(released[name]) <= known


@pytest.mark.parametrize("step", [STEPS[0], STEPS[1], STEPS[3]], ids=lambda step: step["method"])
def test_how_a_person_spells_a_code_changes_no_released_byte(step: dict[str, Any]) -> None:
    """The column is half with dots and half without, and one person decides what most of them are."""
    codes = ["E10.1", "E11.2"] * 50
    spelt = [code.replace(".", "") if place % 2 else code for place, code in enumerate(codes)]
    one, other = (pl.DataFrame({"a": [first, *spelt[1:]]}) for first in ("E10.1", "E101"))
    released = [anonto.mask(each, plan(step), seed=SEED).table["a"].to_list() for each in (one, other)]
    assert released[0] == released[1]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["method"])
def test_files_and_streams_spell_concepts_alike(step: dict[str, Any], tmp_path: Path) -> None:
    names = columns_of(step)
    given, chosen = table(names), plan(step, names, spelling="id-without-dots")
    given.write_csv(tmp_path / "in.csv")
    expected = anonto.mask(given, chosen, seed=SEED)
    evidence = anonto.mask_file(
        tmp_path / "in.csv", chosen, tmp_path / "out.csv", seed=SEED, memory="500MB", keep_order=True
    ).evidence
    assert pl.read_csv(tmp_path / "out.csv", infer_schema=False).equals(expected.table)
    assert evidence["steps"][0]["unchanged"] == expected.evidence["steps"][0]["unchanged"]
    assert evidence["steps"][0]["unchanged_records"] == expected.evidence["steps"][0]["unchanged_records"]
    if step["method"] != "microaggregate":
        stream = anonto.stream(given, chosen, seed=SEED)
        parts = [stream.mask(part) for part in (given[:100], given[100:])]
        assert pl.concat(parts).equals(expected.table)


def test_the_type_of_a_stream_does_not_depend_on_the_batch() -> None:
    taxonomy = taxonomy_of({"r": (), "10": ("r",), "11": ("r",)})
    chosen = {
        "columns": {"a": {"ontology": taxonomy}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": 9.0}],
    }
    stream = anonto.stream(pl.DataFrame({"a": [10, 11, 10]}), chosen, seed=SEED)
    assert {stream.mask(pl.DataFrame({"a": [code]}))["a"].dtype for code in [10, 11] * 20} == {pl.String}


NUMBERED = {"0": (), **{str(one): ("0",) for one in range(1, 9)}, "1.5": ("1",), "300": ("1",)}
"""Concepts whose ids are all numbers."""


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "xlsx"])
@pytest.mark.parametrize("cells", [[3], [1.5], ["3"]], ids=["whole", "fraction", "text"])
def test_the_type_of_a_drawn_column_does_not_depend_on_the_cell_of_a_person(
    library: str, cells: list[Any], tmp_path: Path
) -> None:
    chosen = {
        "columns": {"a": {"ontology": taxonomy_of(NUMBERED)}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": 0.1}],
    }
    others: list[Any] = [1, 2, 4, 5, 6, 7, 8, 1, 2, 3]
    if library == "xlsx":
        given: Any = tmp_path / "in.xlsx"
        with xlsxwriter.Workbook(given) as book:
            book.add_worksheet().write_column(0, 0, ["a", *others, *cells])
    else:
        column = [*map(str, others), *cells] if isinstance(cells[0], str) else [*others, *cells]
        given = pd.DataFrame({"a": column})
        given = given if library == "pandas" else pl.DataFrame({"a": column}, strict=False)
        given = given.to_arrow() if library == "pyarrow" else given
    release = anonto.mask(given, chosen, seed=SEED)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    released = pl.DataFrame(release.table)
    assert released["a"].dtype == pl.String
    assert set(released["a"]) <= set(NUMBERED)


def test_numbers_whose_type_the_file_declares_stay_numbers(tmp_path: Path) -> None:
    chosen = {
        "columns": {"a": {"ontology": taxonomy_of({"0": (), "1": ("0",), "2": ("0",)})}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": 0.1}],
    }
    pl.DataFrame({"a": [1, 2, 1, 2]}).write_parquet(tmp_path / "in.parquet")
    assert anonto.mask(tmp_path / "in.parquet", chosen, seed=SEED).table["a"].dtype == pl.Int64


def test_a_cell_that_means_the_same_counts_as_unchanged() -> None:
    given = pl.DataFrame({"a": ["e101", "E112", "E10.2", "E11.1"]})
    step = anonto.mask(given, plan(STEPS[3]), seed=SEED).evidence["steps"][0]
    assert (step["unchanged"], step["unchanged_records"], step["rmse"]) == ({"a": 4}, 4, {"a": 0.0})


def test_an_assessment_finds_no_loss_where_a_released_code_is_only_spelt_otherwise() -> None:
    given, chosen = table(n=50), plan(STEPS[3])
    released = anonto.mask(given, chosen, seed=SEED).table
    assert not released.equals(given)
    found = anonto.assess(given, released, chosen)
    losses = found.utility["columns"]["a"]
    assert (losses["changed"], losses["hellinger"], losses["rmse"]) == (0.0, pytest.approx(0.0, abs=1e-7), 0.0)


def test_swapped_cells_keep_their_own_spelling() -> None:
    given = table()
    released = anonto.mask(given, plan({"method": "rank-swap", "k": 5}), seed=SEED).table
    assert sorted(released["a"]) == sorted(given["a"])
