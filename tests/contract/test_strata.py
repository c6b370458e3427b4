"""Steps within strata, for every method: nothing crosses, and batches and engines change nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.errors import ParameterError, PlanError, TooFewRecordsError

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100
METHODS: dict[str, dict[str, Any]] = {
    "random-swap": {},
    "frequency-swap": {"k": 3},
    "rank-swap-fixed": {"k": 3},
    "rank-swap": {"k": 3},
    "rank-swap-joint": {"k": 3},
    "group-swap": {"k": 4},
    "equi-depth-swap": {"k": 4},
    "equi-width-swap": {"bins": 2},
    "invariant-swap": {"rate": 0.7, "k": 5},
    "microaggregate": {"k": 4},
    "semantic-noise": {"noise_level": 0.3},
    "semantic-noise-joint": {"noise_level": 0.3},
    "taxonomy-exponential": {"epsilon": 2.0},
    "generalise": {"k": 4, "suppress": 0.05},
    "suppress": {"k": 4, "combinations": 2},
}
SWAPS = [name for name in METHODS if name.endswith(("swap", "joint", "fixed")) and "noise" not in name]
WITHIN = ["ward", "year"]
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def table(n: int = 300) -> pl.DataFrame:
    """Cells of every kind; a missing ward is a stratum, too."""
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "age": rng.integers(0, 90, n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "ward": rng.choice(["A", "B", None], n).tolist(),
            "year": rng.choice([2001, 2002], n),
        }
    )


def plan_for(method: str, **step: Any) -> dict[str, Any]:
    columns = ["illness"] if method == "taxonomy-exponential" else ["illness", "age", "pain"]
    return {
        "columns": {
            "illness": {"ontology": "illnesses"},
            "age": {"kind": "numeric"},
            "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
        },
        "steps": [{"method": method, "columns": columns, "within": WITHIN, **METHODS[method], **step}],
    }


def by_stratum(frame: pl.DataFrame, name: str) -> dict[Any, Counter[Any]]:
    """How often each cell of a column occurs in each stratum."""
    found: dict[Any, Counter[Any]] = {}
    for *stratum, cell in frame.select(*WITHIN, name).iter_rows():
        found.setdefault(tuple(stratum), Counter())[cell] += 1
    return found


@pytest.mark.parametrize("method", SWAPS)
def test_a_swap_keeps_the_cells_of_each_stratum(method: str) -> None:
    frame, plan = table(), plan_for(method)
    masked = anonto.mask(frame, plan, seed=SEED).table
    assert not masked.equals(frame)
    assert masked.select(WITHIN).equals(frame.select(WITHIN))
    for name in plan["steps"][0]["columns"]:
        assert by_stratum(masked, name) == by_stratum(frame, name)


def with_two_zeros() -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table with a stratum whose rows have 0.0 and −0.0, and a plan that keeps it apart."""
    frame = pl.DataFrame(
        {"age": [n % 7 for n in range(40)], "site": [(0.0, -0.0, 1.0, float("nan"))[n % 4] for n in range(40)]}
    )
    step = {"method": "group-swap", "columns": ["age"], "k": 5, "within": ["site"]}
    return frame, {"columns": {"age": {"kind": "numeric"}, "site": {"role": "other"}}, "steps": [step]}


def test_zeros_of_a_stratum_are_released_with_the_same_bits_over_files(tmp_path: Path) -> None:
    frame, plan = with_two_zeros()
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "0.parquet")
    anonto.mask_file(tmp_path / "parts", plan, tmp_path / "out.parquet", seed=SEED, private=False, keep_order=True)
    here = anonto.mask(frame, plan, seed=SEED).table["site"].to_numpy().tobytes()
    assert pl.read_parquet(tmp_path / "out.parquet")["site"].to_numpy().tobytes() == here
    assert frame["site"].to_numpy().tobytes() != here


@pytest.mark.parametrize("method", METHODS)
def test_files_in_any_batches_give_the_same_bytes_as_memory(method: str, tmp_path: Path) -> None:
    frame, plan = table(), plan_for(method, small_strata="pool")
    in_memory = anonto.mask(frame, plan, seed=SEED)
    for n_parts in (1, 3):
        parts = tmp_path / f"parts-{n_parts}"
        parts.mkdir()
        for number in range(n_parts):
            frame[number * 300 // n_parts : (number + 1) * 300 // n_parts].write_parquet(parts / f"{number}.parquet")
        out = tmp_path / f"out-{n_parts}.parquet"
        release = anonto.mask_file(parts, plan, out, seed=SEED, private=False, keep_order=True)
        written = pl.concat(
            [pl.read_parquet(one) for one in sorted(out.glob("*.parquet"))] if out.is_dir() else [pl.read_parquet(out)]
        )
        assert written.equals(in_memory.table)
        assert release.evidence["steps"][0]["strata"] == in_memory.evidence["steps"][0]["strata"] == 6


@pytest.mark.parametrize("method", METHODS)
def test_pooled_strata_are_masked_together_and_left_ones_stay(method: str) -> None:
    frame = table().with_columns(ward=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Z")).otherwise("ward"))
    columns = plan_for(method)["steps"][0]["columns"]
    least = METHODS[method].get("k", 2)
    n_small = sum(n < least for n in frame.group_by(WITHIN).len()["len"])
    for small in ("pool", "leave"):
        release = anonto.mask(frame, plan_for(method, small_strata=small), seed=SEED)
        said = release.evidence["steps"][0]
        assert said["strata"] == frame.select(WITHIN).n_unique()
        if method == "taxonomy-exponential":
            continue
        if small == "leave" and n_small:
            kept = frame.with_row_index().filter(pl.len().over(WITHIN) < least)["index"]
            assert said["left_strata"] == n_small
            assert said["left_records"] == len(kept)
            as_text = pl.col(columns).cast(pl.String)
            assert release.table[kept].select(as_text).equals(frame[kept].select(as_text))
            assert not said["guarantee"]["proved"]
            assert all(said["untouched"][name] >= len(kept) for name in columns)
        if small == "pool" and n_small:
            assert said["pooled_strata"] >= n_small
            assert not said["guarantee"]["proved"] or "epsilon" in said["guarantee"]
        if method in SWAPS:
            for name in columns:
                assert sorted(release.table[name].to_list()) == sorted(frame[name].to_list())


def test_a_method_that_masks_rows_alone_releases_the_same_with_strata_as_without() -> None:
    frame, plan = table(), plan_for("taxonomy-exponential")
    within = anonto.mask(frame, plan, seed=SEED).table
    del plan["steps"][0]["within"]
    assert within.equals(anonto.mask(frame, plan, seed=SEED).table)


def test_noise_is_scaled_by_the_variance_of_the_stratum() -> None:
    rng = np.random.default_rng(1)
    wide = np.repeat([False, True], 2000)
    frame = pl.DataFrame({"x": rng.normal(0, np.where(wide, 100.0, 1.0)), "wide": wide.astype(str)})
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": "x", "within": "wide", "noise_level": 1.0}],
    }
    moved = (anonto.mask(frame, plan, seed=SEED).table["x"] - frame["x"]).to_numpy()
    assert np.std(moved[~wide]) == pytest.approx(1.0, rel=0.1)
    assert np.std(moved[wide]) == pytest.approx(100.0, rel=0.1)


@pytest.mark.parametrize("method", ["group-swap", "microaggregate"])
def test_the_bound_holds_for_an_intruder_who_knows_the_strata(method: str) -> None:
    plan = plan_for(method)
    proved = anonto.mask(table(), plan, seed=SEED).evidence["steps"][0]["guarantee"]
    assert proved["proved"]
    assert "'ward' and 'year'" in proved["conditions"] or "'ward', 'year'" in proved["conditions"]
    del plan["steps"][0]["within"]
    assert not anonto.mask(table(), plan, seed=SEED).evidence["steps"][0]["guarantee"]["proved"]


def test_microaggregated_records_are_equal_to_k_of_their_stratum() -> None:
    frame = table()
    release = anonto.mask(frame, plan_for("microaggregate"), seed=SEED)
    assert release.table.group_by(release.table.columns).len()["len"].min() >= 4
    assert release.evidence["steps"][0]["real_k"] >= 4


def test_a_table_of_one_stratum_is_masked_as_without_strata() -> None:
    frame = table().with_columns(ward=pl.lit("A"), year=pl.lit(1))
    for method in ("microaggregate", "semantic-noise"):
        plan = plan_for(method)
        within = anonto.mask(frame, plan, seed=SEED).table
        del plan["steps"][0]["within"]
        assert within.equals(anonto.mask(frame, plan, seed=SEED).table)


def test_strata_survive_a_plan_file_and_the_schema(tmp_path: Path) -> None:
    plan = anonto.Plan.from_dict(plan_for("group-swap", small_strata="leave"))
    assert plan.steps[0].within == ("ward", "year")
    file = tmp_path / "plan.toml"
    file.write_text(plan.to_toml())
    again = anonto.Plan.from_toml(file)
    assert again.steps == plan.steps
    assert again.to_dict()["steps"][0]["within"] == WITHIN


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"within": []}, "within of step 1 must be a list of column names"),
        ({"within": 3}, "within of step 1 must be a list of column names"),
        ({"within": ["ward", "ward"]}, "names a column twice"),
        ({"within": ["age"]}, "looks at column 'age' as it is released, but step 1 masks it"),
        ({"small_strata": "drop"}, "small_strata of step 1 must be one of refuse, pool, leave"),
    ],
)
def test_bad_strata_are_refused_with_a_sentence(step: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ParameterError, PlanError), match=sentence):
        anonto.mask(table(), plan_for("group-swap", **step), seed=SEED)


def test_small_strata_without_within_identifiers_and_missing_columns_are_refused() -> None:
    plan = plan_for("group-swap", small_strata="pool")
    del plan["steps"][0]["within"]
    with pytest.raises(ParameterError, match="within of step 1 must be given where small_strata is"):
        anonto.mask(table(), plan, seed=SEED)
    plan = plan_for("group-swap")
    plan["columns"]["ward"] = {"role": "identifier"}
    with pytest.raises(PlanError, match="looks at the identifier 'ward'"):
        anonto.mask(table(), plan, seed=SEED)
    with pytest.raises(ValueError, match="clinic"):
        anonto.mask(table(), plan_for("group-swap", within=["clinic"]), seed=SEED)


def test_small_strata_are_refused_by_number_without_a_cell() -> None:
    frame = table().with_columns(ward=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Zurich")).otherwise("ward"))
    with pytest.raises(TooFewRecordsError, match=r"fewer than the 4 records .*\(3 in all\).*small_strata") as refused:
        anonto.mask(frame, plan_for("group-swap"), seed=SEED)
    assert "Zurich" not in str(refused.value)
    for small in ("pool", "leave"):
        with pytest.raises(TooFewRecordsError, match="nothing could be masked"):
            anonto.mask(frame[:3], plan_for("group-swap", small_strata=small), seed=SEED)


@pytest.mark.parametrize("method", ["group-swap", "microaggregate"])
def test_records_left_as_they_are_are_the_only_reason_given(method: str) -> None:
    table = pl.DataFrame({"age": [*range(20), 20], "site": ["a"] * 20 + ["b"]})
    step = {"method": method, "columns": ["age"], "k": 5, "within": ["site"], "small_strata": "leave"}
    plan = {"columns": {"age": {"kind": "numeric"}, "site": {}}, "steps": [step]}
    guarantee = anonto.mask(table, plan, seed=1 << 100).evidence["steps"][0]["guarantee"]
    assert guarantee["conditions"].startswith("1 record in strata that are too small stays as it is. It would hold")


def test_a_pool_that_is_too_small_takes_the_smallest_other_stratum() -> None:
    from anonto.methods.strata import assign_strata

    assigned = assign_strata(np.array([9, 2, 5, 5, 1]), 4, "pool")
    assert assigned.numbers.tolist() == [0, 2, 2, 1, 2]
    assert assigned.facts["pooled_strata"] == 3
    assert assigned.facts["pooled_records"] == 8
    assert assign_strata(np.array([9, 3, 5, 5, 1]), 4, "pool").numbers.tolist() == [0, 3, 1, 2, 3]
    assert assign_strata(np.array([9, 3, 5]), 4, "leave").numbers.tolist() == [0, -1, 1]


def test_a_sweep_keeps_the_strata_of_its_plan() -> None:
    found = anonto.sweep(table(), plan_for("group-swap"), {"rank-swap": {"k": [3]}})
    assert [one.plan.steps[0].within for one in found.points] == [("ward", "year")] * 2
    assert "within ward, year" in found.points[0].label


def test_a_report_says_that_records_were_masked_by_stratum(tmp_path: Path) -> None:
    frame, plan = table(), plan_for("group-swap")
    release = anonto.mask(frame, plan, seed=SEED)
    anonto.assess(frame, release.table, plan).to_html(tmp_path / "report.html")
    release.save(tmp_path / "out.csv", report=tmp_path / "release.html", private=False)
    for name in ("report.html", "release.html"):
        assert "This was done separately for the records that are equal in" in (tmp_path / name).read_text("utf-8")


@pytest.mark.parametrize("small", ["refuse", "pool", "leave"])
def test_knowing_the_strata_links_no_more_than_the_proof_allows(small: str) -> None:
    frame, plan = table(1200), plan_for("group-swap", small_strata=small)
    found = anonto.assess(frame, anonto.mask(frame, plan, seed=SEED).table, plan).to_dict()["risk"]
    linked = [one for one in found if one["attack"] == "method-aware-linkage" and set(WITHIN) <= set(one["columns"])]
    assert linked
    assert all(one["low"] <= 1 / 4 for one in linked)


def test_the_candidates_of_a_person_are_in_her_stratum() -> None:
    frame, plan = table(), plan_for("rank-swap")
    own = frame.row(7, named=True)
    found = anonto.verify(own, anonto.mask(frame, plan, seed=SEED).table, plan)
    same = frame.filter(*(pl.col(name).eq_missing(pl.lit(own[name])) for name in WITHIN))
    assert found.candidates == len(same)


def test_noise_within_strata_is_refused_for_records_that_come_later() -> None:
    with pytest.raises(PlanError, match="cannot mask a stream within strata"):
        anonto.fit(table(), plan_for("semantic-noise"), seed=SEED)
    fitted = anonto.fit(table(), plan_for("taxonomy-exponential"), seed=SEED)
    assert fitted.apply(table()).equals(anonto.mask(table(), plan_for("taxonomy-exponential"), seed=SEED).table)


def test_blocks_inside_strata_are_the_same_with_any_memory_limit() -> None:
    frame, plan = table(3000), plan_for("group-swap", k=2, block_rows=200)
    release = anonto.mask(frame, plan, seed=SEED)
    said = release.evidence["steps"][0]
    assert said["block_rows"] == 200
    assert said["blocks"] > said["strata"] == 6
    for name in plan["steps"][0]["columns"]:
        assert by_stratum(release.table, name) == by_stratum(frame, name)
    assert anonto.assess(frame, release.table, plan).risk


def test_sets_of_persons_stay_in_their_stratum() -> None:
    rng, n = np.random.default_rng(0), 200
    frame = pl.DataFrame(
        {
            "person": np.repeat(np.arange(n), 2).astype(str),
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], 2 * n),
            "year": np.repeat(rng.choice([2001, 2002], n), 2),
        }
    )
    step = {"method": "group-swap", "columns": ["illness"], "k": 5, "within": ["year"]}
    plan: dict[str, Any] = {
        "table": {"person": "person"},
        "columns": {"illness": {"kind": "set", "ontology": "illnesses"}},
        "steps": [step],
    }
    release = anonto.mask(frame, plan, seed=SEED)
    assert release.evidence["steps"][0]["strata"] == 2
    for year in (2001, 2002):
        before, after = (one.filter(pl.col("year") == year)["illness"] for one in (frame, release.table))
        assert sorted(before) == sorted(after)
    for within, sentence in (("person", "looks at the identifier 'person'"), ("codes", "a column of sets")):
        plan["steps"] = [{**step, "within": within}]
        plan["columns"]["codes"] = {"kind": "set", "separator": ";"}
        with pytest.raises(PlanError, match=sentence):
            anonto.mask(frame, plan, seed=SEED)
