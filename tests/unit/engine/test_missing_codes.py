"""Cells that mean missing in different ways: what is proved for the release holds for its cells as they are written."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import hypothesis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import strategies as st

import anonto
from anonto.engine import run
from anonto.io.reading import read_table
from anonto.methods.registry import METHODS
from anonto.runtime.memory_limit import MemoryLimit
from budget import examples
from contract.test_every_method import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 1 << 100
NAN = float("nan")
AGES = ["30", "31", "NA", "32", None, "NA", "33", "-9", "35"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]


def plan_for(method: str = "microaggregate", k: int = 4, **age: Any) -> dict[str, Any]:
    parameters = {"k": k} if method == "microaggregate" else EXAMPLES[method]
    columns = {"age": {"kind": "numeric", **age}}
    return {"columns": columns, "steps": [{"method": method, "columns": ["age"], **parameters}]}


def fewest_equal(cells: Any) -> int:
    """How many cells are alike at least, each told by its kind and its text."""
    return min(Counter((type(cell).__name__, str(cell)) for cell in cells).values())


def test_microaggregation_releases_all_missing_cells_with_one_code(tmp_path: Path) -> None:
    source = tmp_path / "ages.csv"
    pl.DataFrame({"age": AGES, "row": range(9)}).write_csv(source)
    plan = plan_for(na=["NA", "-9"])
    plan["columns"]["row"] = {"role": "confidential"}
    release = anonto.mask(source, plan, seed=SEED)
    step = release.evidence["steps"][0]
    release.save(tmp_path / "out.csv", keep_order=True)
    ages = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["age"].to_list()
    assert ages == ["32", "32", "NA", "32", "NA", "NA", "32", "NA", "32"]
    assert step["real_k"] == fewest_equal(ages) == 4
    assert step["guarantee"]["proved"]
    assert step["missing"] == {"age": 4}
    assert step["missing_codes"] == {"age": {"-9": 1, "null": 1}}
    assert step["unchanged"] == {"age": 1}
    assert step["unchanged_records"] == 3


def test_codes_that_are_kept_apart_break_the_proof_and_it_says_why() -> None:
    table = pl.DataFrame({"age": AGES})
    release = anonto.mask(table, plan_for(na=["NA", "-9"], missing_codes="keep"), seed=SEED)
    step = release.evidence["steps"][0]
    assert [release.table["age"][row] for row in (2, 4, 5, 7)] == ["NA", None, "NA", "-9"]
    assert step["real_k"] == fewest_equal(release.table["age"]) == 1
    assert not step["guarantee"]["proved"]
    assert "their missing cells have different codes" in step["guarantee"]["conditions"]
    assert "missing_codes" not in step


def test_codes_that_are_kept_apart_and_occur_often_leave_the_proof() -> None:
    table = pl.DataFrame({"age": ["30", "31", "33", "NA", "NA", "NA", None, None, None]})
    release = anonto.mask(table, plan_for(k=3, na=["NA"], missing_codes="keep"), seed=SEED)
    assert release.evidence["steps"][0]["real_k"] == fewest_equal(release.table["age"]) == 3
    assert release.evidence["steps"][0]["guarantee"]["proved"]


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"age": [30.0, 31.0, NAN, 32.0, None]}),
        pd.DataFrame({"age": pd.Series([30, 31, NAN, 32, None], dtype=object)}),
        pd.DataFrame({"age": pd.Series([30, 31, pd.NaT, 32, pd.NA], dtype=object)}),
        pa.table({"age": pa.array([30.0, 31.0, NAN, 32.0, None])}),
    ],
)
def test_nan_and_null_look_alike_in_a_release(table: Any) -> None:
    release = anonto.mask(table, plan_for(k=2), seed=SEED)
    column = release.table["age"]
    cells = column.to_pylist() if isinstance(table, pa.Table) else list(column)
    assert release.evidence["steps"][0]["real_k"] == fewest_equal(cells) == 2
    assert release.evidence["steps"][0]["guarantee"]["proved"]


def test_missing_codes_of_spss_become_the_first_that_is_declared(tmp_path: Path) -> None:
    pyreadstat.write_sav(
        pl.DataFrame({"age": [30.0, 31.0, 32.0, -9.0, -8.0, None]}),
        tmp_path / "t.sav",
        missing_ranges={"age": [-9, -8]},
    )
    release = anonto.mask(tmp_path / "t.sav", plan_for(k=3), seed=SEED)
    release.save(tmp_path / "out.sav", keep_order=True)
    frame, _ = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True, output_format="polars")
    assert frame["age"].to_list() == [31.0, 31.0, 31.0, -9.0, -9.0, -9.0]
    assert release.evidence["steps"][0]["missing_codes"] == {"age": {"-8": 1, "null": 1}}


def test_a_code_in_a_range_is_called_by_the_range(tmp_path: Path) -> None:
    pyreadstat.write_sav(
        pl.DataFrame({"age": [30.0, 31.0, 32.0, -37.0, -12.0, None]}),
        tmp_path / "t.sav",
        missing_ranges={"age": [{"lo": -99, "hi": -1}]},
    )
    release = anonto.mask(tmp_path / "t.sav", plan_for(k=3), seed=SEED)
    assert release.table["age"].to_list() == [31.0, 31.0, 31.0, None, None, None]
    assert release.evidence["steps"][0]["missing_codes"] == {"age": {"-99 to -1": 2}}


@pytest.mark.parametrize("cells", [[30, 31, "a", "b", None], [30.5, 31.5, "a", "b", None]])
def test_the_letters_of_stata_become_its_own_missing_cell(cells: list[Any], tmp_path: Path) -> None:
    frame = pl.DataFrame([pl.Series("age", cells, dtype=pl.Object)])
    pyreadstat.write_dta(frame, tmp_path / "t.dta", missing_user_values={"age": ["a", "b"]})
    release = anonto.mask(tmp_path / "t.dta", plan_for(k=2), seed=SEED)
    release.save(tmp_path / "out.dta", keep_order=True)
    read, _ = pyreadstat.read_dta(tmp_path / "out.dta", user_missing=True, output_format="polars")
    assert read["age"].to_list()[2:] == [None, None, None]
    assert release.evidence["steps"][0]["missing_codes"] == {"age": {".a": 1, ".b": 1}}


@pytest.mark.parametrize(
    "method", sorted(name for name in METHODS if name not in {"group-swap", "taxonomy-exponential"})
)
@pytest.mark.parametrize("missing_codes", ["merge", "keep"])
def test_every_method_that_leaves_missing_cells_merges_or_keeps_their_codes(method: str, missing_codes: str) -> None:
    cells = [*(str(age) for age in range(20, 60)), "NA", "NA", "-9", None, "-9", None]
    plan = plan_for(method, na=["NA", "-9"], missing_codes=missing_codes)
    release = anonto.mask(pl.DataFrame({"age": cells}), plan, seed=SEED)
    wanted = ["NA"] * 6 if missing_codes == "merge" else cells[40:]
    assert release.table["age"].to_list()[40:] == wanted
    assert release.evidence["steps"][0]["missing"] == {"age": 6}


def test_columns_that_no_step_masks_keep_their_codes() -> None:
    table = pl.DataFrame({"age": ["30", "31", "NA", "-9", None], "other": ["NA", "-9", None, "1", "2"]})
    plan = plan_for(k=2, na=["NA", "-9"])
    plan["columns"]["other"] = {"na": ["NA", "-9"], "role": "confidential"}
    assert anonto.mask(table, plan, seed=SEED).table["other"].equals(table["other"])


def test_dropped_records_have_no_influence() -> None:
    table = pl.DataFrame({"age": ["30", "31", None, None, "-9"], "sex": ["f", "m", "f", "m", None]})
    plan = plan_for(k=2, na=["NA", "-9"])
    plan["columns"]["sex"] = {"missing": "drop", "role": "other"}
    release = anonto.mask(table, plan, seed=SEED)
    assert release.table["age"].to_list()[2:] == ["NA", "NA"]
    assert release.evidence["steps"][0]["missing_codes"] == {"age": {"null": 2}}


@pytest.mark.parametrize("hers", ["-9", "NA", None])
@pytest.mark.parametrize(
    "step",
    [{"method": "taxonomy-exponential", "epsilon": 0.1}, {"method": "invariant-swap", "rate": 0.5, "k": 2}],
    ids=["exponential", "invariant"],
)
def test_the_code_of_one_person_does_not_decide_how_the_cells_of_others_are_written(
    step: dict[str, Any], hers: str | None
) -> None:
    table = pl.DataFrame({"illness": ["flu", "measles"] * 10 + ["-9", "-9", hers]})
    columns = {"illness": {"ontology": "illnesses", "na": ["NA", "-9"]}}
    plan = {"columns": columns, "steps": [{**step, "columns": ["illness"]}]}
    assert anonto.mask(table, plan, seed=SEED).table["illness"].to_list()[20:] == ["NA"] * 3


def test_no_report_says_which_codes_were_replaced(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [str(age) for age in range(100, 600)] + ["NA"] * 141 + ["-7"] * 137})
    release = anonto.mask(table, plan_for(na=["NA", "-7"]), seed=SEED)
    assert release.evidence["steps"][0]["missing_codes"] == {"age": {"-7": 137}}
    release.save_report(tmp_path / "report.html")
    assert "137" not in (tmp_path / "report.html").read_text()


def test_a_stream_gives_every_batch_the_same_code() -> None:
    plan = {
        "columns": {"age": {"kind": "numeric", "na": ["NA", "-9"]}},
        "steps": [{"method": "semantic-noise", "columns": ["age"], "noise_level": 0.1}],
    }
    stream = anonto.stream(pl.DataFrame({"age": [str(age) for age in range(20, 80)]}), plan, seed=SEED)
    batches = [["30", "-9"], ["31", None], ["32", "NA"]]
    assert [stream.mask(pl.DataFrame({"age": batch}))["age"][1] for batch in batches] == ["NA"] * 3


# ------------------------------------------------------------------------------------------------ frequencies


def in_csv(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    table = pl.DataFrame({"age": cells, "row": range(len(cells))}, schema_overrides={"age": pl.String})
    table.write_csv(folder / "t.csv")
    return folder / "t.csv", lambda release: release.table["age"].to_list()


def in_polars(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    del folder
    numbers = [NAN if cell == "NA" else None if cell is None else float(cell) for cell in cells]
    table = pl.DataFrame({"age": numbers, "row": range(len(cells))}, schema_overrides={"age": pl.Float64})
    return table, lambda release: release.table["age"].to_list()


def in_pandas(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    del folder
    kinds = {"NA": NAN, "-9": pd.NA, "-8": pd.NaT, None: None}
    objects = [kinds[cell] if cell in kinds else int(str(cell)) for cell in cells]
    table = pd.DataFrame({"age": pd.Series(objects, dtype=object), "row": range(len(cells))})
    return table, lambda release: list(release.table["age"])


def in_pyarrow(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    polars, _ = in_polars(cells, folder)
    table = pa.table({"age": pa.array(polars["age"].to_list(), pa.float64()), "row": polars["row"].to_list()})
    return table, lambda release: release.table["age"].to_pylist()


def in_spss(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    numbers = [None if cell in (None, "NA") else float(cell) for cell in cells]
    table = pl.DataFrame({"age": numbers, "row": range(len(cells))}, schema_overrides={"age": pl.Float64})
    pyreadstat.write_sav(table, folder / "t.sav", missing_ranges={"age": [-9, -8]})
    return folder / "t.sav", lambda release: release.table["age"].to_list()


def in_stata(cells: list[str | None], folder: Path) -> tuple[Any, Callable[[Any], list[Any]]]:
    letters = {"NA": "a", "-9": "b", "-8": "c", None: None}
    objects = [letters[cell] if cell in letters else int(str(cell)) for cell in cells]
    columns = [pl.Series("age", objects, dtype=pl.Object), pl.Series("row", range(len(cells)), dtype=pl.Int32)]
    pyreadstat.write_dta(pl.DataFrame(columns), folder / "t.dta", missing_user_values={"age": ["a", "b", "c"]})

    def read(release: Any) -> list[Any]:
        release.save(folder / "out.dta", private=False)
        frame, _ = pyreadstat.read_dta(folder / "out.dta", user_missing=True, output_format="polars")
        return [None if cell is None else cell if isinstance(cell, str) else int(cell) for cell in frame["age"]]

    return folder / "t.dta", read


@pytest.mark.parametrize("kind", [in_csv, in_polars, in_pandas, in_pyarrow, in_spss, in_stata])
@hypothesis.settings(max_examples=examples(15), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    cells=st.lists(st.sampled_from(["30", "31", "40", "NA", "-9", "-8", None]), min_size=4, max_size=30),
    move=st.sampled_from(["apart", "together"]),
)
def test_group_swapping_keeps_how_often_every_cell_occurs(
    kind: Callable[..., Any], cells: list[str | None], move: str, tmp_path: Path
) -> None:
    hypothesis.assume({"30", "31", "40"} & set(cells))
    table, read = kind(cells, tmp_path)
    plan: dict[str, Any] = {
        "columns": {"age": {"kind": "numeric", "na": ["NA", "-9", "-8"]}, "row": {"role": "other"}},
        "steps": [{"method": "group-swap", "columns": ["age"], "k": 3, "move": move}],
    }
    release = anonto.mask(table, plan, seed=SEED)
    before = read(anonto.mask(table, {**plan, "steps": []}, seed=SEED))
    assert Counter(map(str, read(release))) == Counter(map(str, before))
    if kind is not in_stata:  # whose cells are those of a file, in another order
        same = sum(str(one) == str(other) for one, other in zip(read(release), before, strict=True))
        assert release.evidence["steps"][0]["unchanged_records"] == same


@hypothesis.settings(max_examples=examples(25), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    cells=st.lists(st.sampled_from(["30", "31", "40", "NA", "-9", "-8", None]), min_size=8, max_size=40),
    rows=st.integers(1, 9),
    method=st.sampled_from(["group-swap", "rank-swap", "microaggregate", "semantic-noise", "equi-width-swap"]),
    missing_codes=st.sampled_from(["merge", "keep"]),
    as_numbers=st.booleans(),
)
def test_files_read_in_batches_have_the_same_codes(
    cells: list[str | None],
    rows: int,
    method: str,
    missing_codes: str,
    as_numbers: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    present = [cell for cell in cells if cell in {"30", "31", "40"}]
    hypothesis.assume(len(present) > 3 and len(cells) - len(present) not in {1, 2})
    monkeypatch.setattr(run, "bytes_in_memory", lambda *_: 1 << 60)
    monkeypatch.setattr(MemoryLimit, "rows_at_once", lambda *_: rows)
    source = tmp_path / "t.parquet"
    numbers = [NAN if cell == "NA" else None if cell is None else float(cell) for cell in cells]
    typed = {"age": pl.Float64 if as_numbers else pl.String}
    pl.DataFrame({"age": numbers if as_numbers else cells}, schema_overrides=typed).write_parquet(source)
    plan = plan_for(method, k=3, na=["-8", "NA", "-9"], missing_codes=missing_codes)
    release = anonto.mask(source, plan, seed=SEED)
    release.save(tmp_path / "at-once.parquet")
    evidence = anonto.mask_file(
        source, plan, tmp_path / "batches.parquet", seed=SEED, memory="500MB", force=True
    ).evidence
    assert (tmp_path / "at-once.parquet").read_bytes() == (tmp_path / "batches.parquet").read_bytes()
    said, wanted = (json.loads(json.dumps(one["steps"][0])) for one in (evidence, release.evidence))
    for key in ("rmse", "farthest", "sse"):
        said.pop(key, None), wanted.pop(key, None)
    assert said == wanted


# ------------------------------------------------------------------------------------------------ assessing


def measured(original: Any, masked: Any, plan: dict[str, Any], **options: Any) -> tuple[int, list[dict[str, Any]]]:
    """The size of the smallest class, and what is promised."""
    assessment = anonto.assess(original, masked, plan, **options)
    sizes = [one.details["real_k"] for one in assessment.risk if one.attack == "real-k"]
    return sizes[0], list(assessment.facts["guarantees"])


def test_assessing_counts_cells_as_they_are_written_and_proves_no_more() -> None:
    table = pl.DataFrame({"age": AGES})
    for codes, k in (("merge", 4), ("keep", 1)):
        plan = plan_for(na=["NA", "-9"], missing_codes=codes)
        masked = anonto.mask(table, plan, seed=SEED).table
        size, guarantees = measured(table, masked, plan)
        assert size == k
        assert guarantees[0]["proved"] is (k == 4)


def test_different_missing_objects_are_distinct_in_a_release() -> None:
    table = pd.DataFrame({"age": pd.Series([30, 31, 32, None, NAN, pd.NA], dtype=object)})
    for codes, k in (("merge", 3), ("keep", 1)):
        plan = plan_for(k=3, missing_codes=codes)
        assert measured(table, anonto.mask(table, plan, seed=SEED).table, plan)[0] == k


@pytest.mark.parametrize("kind", [in_spss, in_stata])
def test_a_release_of_a_file_with_missing_codes_is_assessed_with_its_record(
    kind: Callable[..., Any], tmp_path: Path
) -> None:
    cells = ["30", "31", "32", "33", "34", "35", "36", "37", "-9", "-9", "-8", None]
    source, _ = kind(cells, tmp_path)
    for method in ("microaggregate", "group-swap"):
        plan = plan_for(method)
        plan["columns"]["row"] = {"role": "other"}
        released = tmp_path / f"{method}{source.suffix}"
        release = anonto.mask(source, plan, seed=SEED)
        release.save(released)
        size, guarantees = measured(source, released, plan, private=f"{released}.private.json")
        assert guarantees == [release.evidence["steps"][0]["guarantee"]]
        assert size == fewest_equal(release.table["age"])


def test_groups_of_a_swap_are_found_again_where_missing_cells_have_codes() -> None:
    cells = [str(age) for age in range(20, 40)] + ["NA", "-9", None] * 5
    table = pl.DataFrame({"age": cells, "row": range(len(cells))})
    plan = plan_for("group-swap", na=["NA", "-9"])
    plan["columns"]["row"] = {"role": "other"}
    plan["steps"][0]["k"] = 3
    release = anonto.mask(table, plan, seed=SEED)
    found = {one.attack: one for one in anonto.assess(table, release.table, plan).risk}
    assert found["method-aware-linkage"].rate <= 1 / 3 + 1e-9


def test_a_code_of_a_number_is_the_same_however_it_is_written() -> None:
    """Cells -9.0 meant nothing where the plan said "-9.0", and empty cells were released as -9."""
    table = pl.DataFrame({"a": [-9.0] * 4 + [None] * 4 + [float(one) for one in range(12)]})
    for code in ("-9.0", "-9", "-9.00"):
        plan = {
            "columns": {"a": {"kind": "numeric", "na": [code]}},
            "steps": [{"method": "microaggregate", "columns": ["a"], "k": 4}],
        }
        release = anonto.mask(table, plan, seed=SEED)
        (step,) = release.evidence["steps"]
        assert step["missing"] == {"a": 8}
        assert release.table["a"].to_list()[:8] == [-9.0] * 8


def test_a_code_that_no_cell_can_be_is_not_released() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0, None, -9.0] * 4})
    plan = {
        "columns": {"a": {"na": ["-9.0"]}},
        "steps": [{"method": "random-swap", "columns": ["a"]}],
    }
    released = anonto.mask(table, plan, seed=SEED).table["a"]
    assert released.null_count() == 4
    assert (released == -9.0).sum() == 4


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_letters_of_stata_leave_its_own_files_as_missing_cells(ending: str, tmp_path: Path) -> None:
    cells: list[Any] = [*range(1, 10), "a", "b", None]
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": pd.Series(cells[::-1], dtype=object)})
    pyreadstat.write_dta(frame, str(tmp_path / "in.dta"), missing_user_values={"x": ["a", "b"], "y": ["a", "b"]})
    plan = {
        "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric", "role": "confidential"}},
        "steps": [{"method": "group-swap", "columns": ["x"], "k": 3}],
    }
    release = anonto.mask(tmp_path / "in.dta", plan, seed=SEED)
    release.save(tmp_path / f"out.{ending}")
    saved = read_table(tmp_path / f"out.{ending}").frame
    for released in (saved, release.table):
        for name in ("x", "y"):
            numbers = released[name].cast(pl.Float64)
            assert (numbers.null_count(), numbers.max()) == (3, 9.0)
    release.save(tmp_path / "out.dta")
    again, _ = pyreadstat.read_dta(str(tmp_path / "out.dta"), user_missing=True)
    assert {"a", "b"} <= set(again["x"].dropna()) & set(again["y"].dropna())
