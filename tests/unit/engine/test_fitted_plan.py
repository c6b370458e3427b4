"""A fitted plan that is kept: saved for its owner alone, and read again to go on where it was."""

from __future__ import annotations

import json
import pickle
import stat
import zipfile
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.errors import FileError, OntologyError, PlanError

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def sample(n: int = 120) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "illness": [["flu", "measles", "burn", None][i * i % 11 % 4] for i in range(n)],
            "age": [float(20 + 37 * i % 61) for i in range(n)],
            "note": [f"note {i}" for i in range(n)],
        }
    )


def plan_for(method: str = "semantic-noise-joint", **parameters: Any) -> dict[str, Any]:
    columns = ["illness"] if method == "taxonomy-exponential" else ["illness", "age"]
    given = parameters or ({"epsilon": 2.0} if method == "taxonomy-exponential" else {"noise_level": 0.3})
    return {
        "columns": {
            "illness": {"ontology": "illnesses"},
            "age": {"kind": "numeric"},
            "note": {"role": "confidential"},
        },
        "steps": [{"method": method, "columns": columns, **given}],
    }


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint", "taxonomy-exponential"])
def test_applied_to_its_own_sample_it_gives_what_masking_gives(method: str) -> None:
    whole = anonto.fit(sample(), plan_for(method), seed=SEED)
    release = anonto.mask(sample(), plan_for(method), seed=SEED)
    assert whole.apply(sample()).equals(release.table)
    assert whole.evidence == release.evidence


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint", "taxonomy-exponential"])
def test_the_same_rows_with_the_same_numbers_become_the_same_cells_and_change_nothing(method: str) -> None:
    masker = anonto.fit(sample(), plan_for(method), seed=SEED)._masker
    before = pickle.dumps(masker)
    later = sample()[:20].with_columns(illness=pl.lit("fracture"))  # The reference does not have it.
    once, with_values = masker.apply(later, 40)
    assert (masker.n_rows, with_values.n_rows) == (0, 60)
    assert pickle.dumps(masker) == before
    for one in (masker, with_values):
        assert one.apply(later, 40)[0].equals(once)
    with pytest.raises(FrozenInstanceError):
        masker.steps = ()


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint", "taxonomy-exponential"])
@pytest.mark.parametrize("unmatched", ["refuse", "keep", "drop"])
def test_the_evidence_of_the_batches_adds_up_to_that_of_the_table(method: str, unmatched: str) -> None:
    """The reference lacks an illness, and each batch brings the ages that it brings."""
    plan, whole = plan_for(method), sample()
    plan["columns"]["illness"]["unmatched"] = unmatched
    if unmatched != "refuse":
        whole = whole.with_columns(illness=pl.when(pl.col("age") == 20).then(pl.lit("?")).otherwise("illness"))
    told = anonto.fit(whole, plan, seed=SEED)
    for start, stop in ((0, 1), (1, 40), (40, 40), (40, 120)):
        told.apply(whole[start:stop])
    expected = told.evidence
    assert told.applied["n_records"] == expected["n_records"]
    assert told.applied["dropped_records"] == expected["dropped_records"]
    for found, step in zip(told.applied["steps"], expected["steps"], strict=True):
        assert set(found) <= set(step)
        for key, value in found.items():
            assert value == (pytest.approx(step[key], rel=1e-12) if key == "rmse" else step[key]), key


def test_before_any_row_came_nothing_was_changed_and_new_values_count_from_then_on() -> None:
    fitted = anonto.fit(sample(), plan_for(), seed=SEED)
    assert fitted.applied["n_records"] == 0
    assert fitted.applied["steps"][0]["rmse"] == {"illness": 0.0, "age": 0.0}
    later = pl.DataFrame({"illness": ["fracture"] * 50, "age": [200.0] * 50, "note": [""] * 50})
    fitted.apply(later[:20])
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - our own
    for one in (fitted, again):
        one.apply(later[20:])
        at_once = anonto.fit(sample(), plan_for(), seed=SEED)
        released = at_once.apply(later)
        (step,) = one.applied["steps"]
        assert step["unchanged"]["illness"] == (released["illness"] == "fracture").sum()
        assert step["unchanged"]["age"] == (released["age"] == 200.0).sum()
        assert step["rmse"]["age"] == pytest.approx(((released["age"] - 200.0) ** 2).mean() ** 0.5 / 60.0)
        assert step["rmse"] == pytest.approx(at_once.applied["steps"][0]["rmse"])


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_what_is_read_again_goes_on_with_the_same_noise(kind: str, tmp_path: Path) -> None:
    given: Any = sample()
    if kind != "frame":
        given = tmp_path / f"sample.{kind}"
        sample().write_csv(given) if kind == "csv" else sample().write_parquet(given)
    first = anonto.fit(given, plan_for(), seed=SEED)
    first.apply(sample()[:7])
    first.save(tmp_path / "kept")
    again = anonto.load_fitted(tmp_path / "kept")
    assert again.n_rows == 7
    assert again.evidence == first.evidence
    assert again.apply(sample()[7:50]).equals(first.apply(sample()[7:50]))
    assert again.apply(sample(), first_row=0).equals(anonto.mask(sample(), plan_for(), seed=SEED).table)


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint", "taxonomy-exponential"])
@pytest.mark.parametrize("ontology", ["illnesses", "ills.csv", "read"])
def test_what_is_pickled_masks_the_same_bytes_also_where_the_ontology_is_gone(
    method: str, ontology: str, tmp_path: Path
) -> None:
    file = tmp_path / "ills.csv"
    file.write_text("id,parent\nill,\nflu,ill\nburn,ill\nmeasles,flu\nfracture,burn\n", encoding="utf-8")
    plan = plan_for(method)
    plan["columns"]["illness"]["ontology"] = anonto.read_ontology(file) if ontology == "read" else ontology
    first = anonto.fit(sample(), anonto.Plan.from_dict(plan, folder=tmp_path), seed=SEED)
    first.apply(sample()[:7])
    file.unlink()
    again = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own
    assert (again.n_rows, again.evidence, repr(again)) == (7, first.evidence, repr(first))
    later = sample()[7:90].with_columns(illness=pl.lit("fracture"))  # The reference does not have it.
    for rows in (sample()[7:50], later, sample()[50:]):
        released = [one.apply(rows).write_ipc(None).getvalue() for one in (first, again)]
        assert released[0] == released[1]
    assert first.n_rows == again.n_rows == 203
    by_other_name = anonto.stream(sample(), plan_for(method), seed=SEED)
    assert isinstance(pickle.loads(pickle.dumps(by_other_name)), anonto.Stream)  # noqa: S301 - our own


def test_only_its_owner_can_read_the_file_and_columns_that_nobody_looks_at_are_not_in_it(tmp_path: Path) -> None:
    anonto.fit(sample(), plan_for(), seed=SEED).save(tmp_path / "kept")
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600
    assert b"note 3" not in (tmp_path / "kept").read_bytes()
    with zipfile.ZipFile(tmp_path / "kept") as archive:
        assert "note" not in pl.read_parquet(archive.read("reference.parquet")).columns
        assert json.loads(archive.read("fitted.json"))["format"] == "anonto-fitted-plan/1"


def test_a_path_of_an_ontology_is_found_again_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ills.csv").write_text("id,parent\nill,\nflu,ill\nburn,ill\nmeasles,flu\n", encoding="utf-8")
    plan = anonto.Plan.from_dict(plan_for(), folder=tmp_path).to_dict()
    plan["columns"]["illness"]["ontology"] = "ills.csv"
    first = anonto.fit(sample(), anonto.Plan.from_dict(plan, folder=tmp_path), seed=SEED)
    first.save(tmp_path / "kept")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert anonto.load_fitted(tmp_path / "kept").apply(sample()).equals(first.apply(sample()))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 damaged"])
def test_another_file_is_refused_in_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(content)
    with pytest.raises(FileError, match="is not a fitted plan"):
        anonto.load_fitted(tmp_path / "kept")


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    anonto.fit(sample(), plan_for(), seed=SEED).save(tmp_path / "kept")
    with zipfile.ZipFile(tmp_path / "kept") as archive:
        said, cells = json.loads(archive.read("fitted.json")), archive.read("reference.parquet")
    with zipfile.ZipFile(tmp_path / "later", "w") as archive:
        archive.writestr("fitted.json", json.dumps({**said, "format": "anonto-fitted-plan/2"}))
        archive.writestr("reference.parquet", cells)
    with pytest.raises(FileError, match="its format is not anonto-fitted-plan/1"):
        anonto.load_fitted(tmp_path / "later")


def test_an_ontology_without_a_file_cannot_be_saved(tmp_path: Path) -> None:
    plan = plan_for()
    plan["columns"]["illness"]["ontology"] = anonto.read_ontology("illnesses")
    with pytest.raises(OntologyError, match="one of them is in memory only"):
        anonto.fit(sample(), plan, seed=SEED).save(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_methods_that_exchange_records_are_refused() -> None:
    with pytest.raises(PlanError, match="cannot mask a stream"):
        anonto.fit(sample(), plan_for("group-swap", k=5), seed=SEED)


def test_the_seed_and_the_cells_are_not_shown() -> None:
    assert repr(anonto.fit(sample(), plan_for(), seed=SEED)) == "<FittedPlan: 2 columns masked, 0 rows so far>"


def changed(path: Path, **said: Any) -> Path:
    """A saved plan of which somebody changed what it says."""
    with zipfile.ZipFile(path) as archive:
        before, cells = json.loads(archive.read("fitted.json")), archive.read("reference.parquet")
    for key, value in said.items():
        if value is None:
            del before[key]
        else:
            before[key] = value
    with zipfile.ZipFile(path.with_name("changed"), "w") as archive:
        archive.writestr("fitted.json", json.dumps(before))
        archive.writestr("reference.parquet", cells)
    return path.with_name("changed")


@pytest.mark.parametrize(
    "said",
    [{"plan": None}, {"seed": "x"}, {"n_rows": -3}, {"anonto": "9.9"}, {"reference_sha256": "0"}, {"ontologies": {}}],
)
def test_a_saved_plan_that_was_changed_is_refused(said: dict[str, Any], tmp_path: Path) -> None:
    anonto.fit(sample(), plan_for(), seed=SEED).save(tmp_path / "kept")
    with pytest.raises(FileError, match="is not a fitted plan"):
        anonto.load_fitted(changed(tmp_path / "kept", **said))


def test_a_saved_plan_with_a_method_that_sees_all_records_is_refused(tmp_path: Path) -> None:
    anonto.fit(sample(), plan_for(), seed=SEED).save(tmp_path / "kept")
    other = plan_for("random-swap") | {"steps": [{"method": "random-swap", "columns": ["illness"]}]}
    with pytest.raises(PlanError, match="cannot mask a stream"):
        anonto.load_fitted(changed(tmp_path / "kept", plan=other))


def test_an_ontology_that_changed_since_is_refused(tmp_path: Path) -> None:
    ills = tmp_path / "ills.csv"
    ills.write_text("id,parent\nill,\nflu,ill\nburn,ill\nmeasles,flu\n", encoding="utf-8")
    plan = plan_for()
    plan["columns"]["illness"]["ontology"] = str(ills)
    anonto.fit(sample(), plan, seed=SEED).save(tmp_path / "kept")
    ills.write_text("id,parent\nill,\nflu,ill\nburn,ill\nmeasles,flu\nnew,flu\n", encoding="utf-8")
    with pytest.raises(FileError, match="is not a fitted plan: an ontology of its plan changed"):
        anonto.load_fitted(tmp_path / "kept")


def test_no_part_of_a_fitted_plan_shows_a_cell() -> None:
    inside = anonto.fit(sample(), plan_for(), seed=SEED)
    steps = inside._masker.steps
    for one in (inside, inside._masker, *steps, *(step.fitted for step in steps)):
        assert "flu" not in repr(one)
