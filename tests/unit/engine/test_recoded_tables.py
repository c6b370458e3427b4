"""Recoding before the steps: the same cells in every library, over files and on a cluster; evidence and attacks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anonto
from anonto.errors import PlanError, ReleasedAsIsWarning
from anonto.masking.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 1 << 100 | 5
N = 240
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": pl.Series(rng.integers(0, 100, N)).set(pl.Series(rng.random(N) < 0.1), None),
            "zip": rng.choice(["02115", "02116", "03601", "90210"], N),
            "size": rng.integers(140, 200, N) / 2,
            "visits": rng.integers(0, 40, N),
            "pay": rng.integers(0, 5000, N),
        }
    )


def plan(folder: Path, **further: Any) -> dict[str, Any]:
    (folder / "people.csv").write_text("021,600000\n036,900\n902,80000\n")
    people = {"prefix": 3, "population": str(folder / "people.csv"), "at_least": 20_000}
    return {
        "columns": {
            "age": {"kind": "numeric", "recode": {"bottom": 1, "top": 90, "round": 5}},
            "zip": {"recode": people},
            "size": {"kind": "numeric", "recode": {"bands": [80, 90]}},
            "visits": {"kind": "numeric", "recode": {"top": 20, "labels": ["20+"]}},
            "pay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [
            {"method": "rank-swap", "columns": ["age"], "k": 5},
            {"method": "random-swap", "columns": ["visits", "size"]},
        ],
        **further,
    }


def test_a_step_sees_recoded_values_and_a_column_in_no_step_is_recoded_too(tmp_path: Path) -> None:
    before, chosen = table(), plan(tmp_path)
    only = anonto.mask(before, {**chosen, "steps": []}, seed=SEED).table
    assert only["age"].drop_nulls().is_in([1, *range(5, 91, 5)]).all()
    assert only["age"].null_count() == before["age"].null_count()
    assert set(only["zip"]) == {"021", "000", "902"}
    assert set(only["size"]) == {"<80", "[80,90)", ">=90"}
    assert only["pay"].equals(before["pay"])
    both = anonto.mask(before, chosen, seed=SEED).table
    for name in ("age", "visits", "size"):  # swaps keep the frequencies of the recoded values
        assert both[name].sort().equals(only[name].sort())
    assert not both["age"].equals(only["age"])
    assert both["zip"].equals(only["zip"])


@pytest.mark.parametrize("convert", [lambda one: one.to_pandas(), lambda one: one.to_arrow()])
def test_every_library_gets_the_same_cells(tmp_path: Path, convert: Callable[[pl.DataFrame], Any]) -> None:
    before, chosen = table(), plan(tmp_path)
    expected = anonto.mask(before, chosen, seed=SEED).table
    given = convert(before)
    found = anonto.mask(given, chosen, seed=SEED).table
    assert type(found) is type(given)
    as_polars = pl.DataFrame(found) if hasattr(found, "iloc") else pl.from_arrow(found)
    assert_frame_equal(as_polars.cast({"age": pl.Int64}), expected)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_larger_than_memory_gets_the_same_bytes(
    tmp_path: Path, suffix: str, too_large: Callable[..., None]
) -> None:
    chosen, source = plan(tmp_path), tmp_path / f"in{suffix}"
    table().write_csv(source) if suffix == ".csv" else table().write_parquet(source)
    release = anonto.mask(source, chosen, seed=SEED)
    said = release.save(tmp_path / f"at-once{suffix}", private=False)
    too_large(rows=50)
    in_batches = tmp_path / f"in-batches{suffix}"
    found = anonto.mask_file(source, chosen, in_batches, seed=SEED, memory="500MB", private=False)
    assert in_batches.read_bytes() == (tmp_path / f"at-once{suffix}").read_bytes()
    assert found.evidence["recoded"] == said["recoded"]


def test_a_recoded_column_is_not_called_released_as_it_is_but_a_quasi_identifier_is_still_warned_about(
    tmp_path: Path,
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evidence = anonto.mask(table(), plan(tmp_path), seed=SEED).evidence
    assert evidence["released_as_is"] == ["pay"]
    (about,) = [str(one.message) for one in caught if isinstance(one.message, ReleasedAsIsWarning)]
    assert "zip" in about
    age = evidence["recoded"]["age"]
    assert age["cells"] == N - table()["age"].null_count()
    assert 0 < age["changed"] < age["cells"]
    assert 0 < age["rmse"] < 0.1
    assert age["how"].startswith("rounded to multiples of 5")


def test_losses_are_measured_from_the_cells_before_recoding_and_attacks_recode_what_they_know(tmp_path: Path) -> None:
    before, chosen = table(), {**plan(tmp_path), "steps": []}
    release = anonto.mask(before, chosen, seed=SEED)
    found = anonto.assess(before, release.table, chosen, same_order=True)
    losses = {name: one["rmse"] for name, one in found.utility["columns"].items()}
    for name in ("age", "size"):
        assert losses[name] == pytest.approx(release.evidence["recoded"][name]["rmse"], rel=1e-6)
    assert losses["zip"] > 0
    assert found.facts["released_as_is"] == ["pay"]
    # Nothing was masked: whoever recodes what she knows finds every record that is alone in its recoded values.
    recoded = release.table.select("age", "zip", "size", "visits")
    n_each = recoded.group_by(pl.all()).len()["len"]
    linked = next(one for one in found.risk if one.attack == "distance-linkage" and len(one.columns) == 4)
    assert linked.rate == pytest.approx(len(n_each) / N)


def test_a_saved_release_is_checked_with_its_private_record_and_its_reports_tell_of_the_recoding(
    tmp_path: Path,
) -> None:
    table().write_csv(tmp_path / "in.csv")
    chosen = plan(tmp_path)
    release = anonto.mask(tmp_path / "in.csv", chosen, seed=SEED)
    release.save(tmp_path / "out.csv", report=tmp_path / "masked.html")
    private = tmp_path / "out.csv.private.json"
    found = anonto.assess(tmp_path / "in.csv", tmp_path / "out.csv", chosen, private=private)
    assert found.facts["made_anew"]
    for edition in ("internal", "public"):
        found.to_html(tmp_path / f"{edition}.html", edition=edition)
        found.to_json(tmp_path / f"{edition}.json", edition=edition)
        assert "rounded to multiples of 5" in (tmp_path / f"{edition}.html").read_text()
    assert "rounded to multiples of 5" in (tmp_path / "masked.html").read_text()
    assert str(tmp_path) not in (tmp_path / "masked.html").read_text()


def test_a_persons_own_record_is_recoded_before_it_is_looked_for(tmp_path: Path) -> None:
    chosen = plan(tmp_path)
    masked = anonto.mask(table(), chosen, seed=SEED).table
    own = {"age": "93", "visits": "31", "size": "81.5", "zip": "02116"}
    found = anonto.verify(own, masked, chosen)
    assert found.candidates
    assert found.equal == masked.filter(age=90, visits="20+", size="[80,90)").height


def test_a_sweep_tries_methods_on_recoded_values(tmp_path: Path) -> None:
    found = anonto.sweep(table(), plan(tmp_path), {"random-swap": {}}, seeds=1, workers=1)
    assert found.points
    assert found.points[0].plan.columns["age"].recode is not None


def test_records_of_persons_are_made_from_recoded_rows() -> None:
    rows = pl.DataFrame(
        {"pid": ["a", "a", "b", "c", "c", "d"], "age": [91, 95, 40, 33, 30, 12], "w": [1, 1, 2, 3, 3, 4]}
    )
    chosen = {
        "table": {"person": "pid"},
        "columns": {"age": {"kind": "numeric", "recode": {"bands": [30, 90]}}, "w": {"kind": "numeric"}},
        "steps": [{"method": "random-swap", "columns": ["age"]}],
    }
    release = anonto.mask(rows, chosen, seed=SEED)  # the ages of one person differ, their bands do not
    assert release.table.height == 6
    assert release.evidence["unit"] == "person"
    assert release.evidence["recoded"]["age"]["values_released"] == 3


def test_a_recoded_column_is_masked_by_one_step_at_most_and_streams_are_refused(tmp_path: Path) -> None:
    chosen = plan(tmp_path)
    steps = [{"method": "random-swap", "columns": ["age"]}, {"method": "rank-swap", "columns": ["age"], "k": 3}]
    with pytest.raises(PlanError, match="mask each column once"):
        Plan.from_dict({**chosen, "steps": steps})
    noise = {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.5}
    with pytest.raises(PlanError, match="recode the table once"):
        anonto.fit(table(), {**chosen, "steps": [noise]})


def test_postcodes_stored_as_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(anonto.errors.ColumnError, match="have lost their leading zeros"):
        anonto.mask(table().with_columns(zip=pl.col("zip").cast(pl.Int64)), plan(tmp_path), seed=SEED)


def test_no_output_may_replace_the_table_of_populations(tmp_path: Path) -> None:
    chosen = plan(tmp_path)
    table().write_csv(tmp_path / "in.csv")
    with pytest.raises(anonto.errors.AnontoError):
        anonto.mask_file(tmp_path / "in.csv", chosen, tmp_path / "people.csv", force=True)
