"""A release attacked as a whole, and what must fit before it is."""

from __future__ import annotations

import json
import re
import warnings
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import in_memory
from anonto.attacks.alignment import SHUFFLED, shows_order
from anonto.attacks.findings import GUESSABLE_SEED, NO_RECORDS, WITHOUT_A_CONCEPT
from anonto.attacks.row_order import FINDING
from anonto.cli.main import run
from anonto.engine.memory import count
from anonto.errors import AnontoWarning, ColumnError, GuessableSeedWarning, MissingFileError, ReleaseError
from anonto.io.reading import read_table
from anonto.report.assessed import assessed_data

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning"),
]

SEED = 1 << 90
PLAN: dict[str, Any] = {
    "columns": {
        "name": {"role": "identifier"},
        "illness": {"ontology": "illnesses"},
        "age": {"kind": "numeric"},
        "stay": {"kind": "numeric", "role": "confidential"},
        "note": {"role": "other"},
    },
    "steps": [{"method": "group-swap", "columns": ["illness", "age"], "k": 5}],
}
LINKAGES = {"distance-linkage", "global-linkage", "method-aware-linkage", "simulation-linkage"}
ATTACKS = {
    "association-linkage",
    *LINKAGES,
    "permutation-distance",
    "real-k",
    "uniqueness",
    "attribute-inference",
    "interval-disclosure",
    "partial-knowledge",
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(300)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], 300).tolist(),
            "age": rng.integers(0, 90, 300),
            "stay": rng.integers(1, 30, 300),
            "note": [f"note {i}" for i in range(300)],
        }
    )


@pytest.fixture(scope="module")
def found(table: pl.DataFrame) -> anonto.Assessment:
    return anonto.assess(table, anonto.mask(table, PLAN, seed=SEED).table, PLAN, predict="stay")


def test_every_attack_says_what_is_known_and_how_sure_it_is(found: anonto.Assessment) -> None:
    assert {one.attack for one in found.risk} == ATTACKS
    for one in found.risk:
        assert 0 <= one.low <= one.rate <= one.high <= 1
        assert 0 <= one.baseline <= 1
        assert one.knowledge
        assert one.n > 0
    assert json.loads(json.dumps(found.to_dict()))["n_records"] == 300


def test_groups_keep_their_promise_and_an_unmasked_table_does_not(
    table: pl.DataFrame, found: anonto.Assessment
) -> None:
    linked = [one for one in found.risk if one.attack in LINKAGES]
    assert all(one.low <= 1 / 5 for one in linked if "note" not in one.columns)
    assert [one.rate for one in linked if "note" in one.columns] == [1.0]
    unmasked = anonto.assess(table, table.drop("name"), PLAN)
    assert unmasked.worst is not None
    assert unmasked.worst.low > 1 / 5
    assert unmasked.utility["columns"]["illness"]["rmse"] == 0
    assert unmasked.utility["table"]["pmse_ratio"] == pytest.approx(1, abs=0.6)


def test_information_loss_is_reported_for_columns_pairs_and_the_table(found: anonto.Assessment) -> None:
    illness = found.utility["columns"]["illness"]
    assert illness["rmse"] > 0
    assert illness["hellinger"] == pytest.approx(0, abs=1e-6)
    assert illness["mean_shift"] == 0
    assert {tuple(pair["columns"]) for pair in found.utility["pairs"]} >= {("illness", "age"), ("illness", "stay")}
    assert set(found.utility["table"]["prediction"]) == {"column", "original", "masked", "blind", "loss"}


def test_a_saved_release_is_put_back_in_order_by_its_private_record(table: pl.DataFrame, tmp_path: Path) -> None:
    release = anonto.mask(table, PLAN, seed=SEED)
    release.save(tmp_path / "out.parquet")
    record = tmp_path / "out.parquet.private.json"
    from_file = anonto.assess(table, tmp_path / "out.parquet", PLAN, private=record)
    assert from_file.to_dict() == anonto.assess(table, release.table, PLAN).to_dict()
    with pytest.raises(ReleaseError, match="private record"):
        anonto.assess(table, tmp_path / "out.parquet", PLAN)


def test_a_table_in_several_files_is_assessed_as_one(table: pl.DataFrame, tmp_path: Path) -> None:
    release = anonto.mask(table, PLAN, seed=SEED)
    release.save(tmp_path / "out.parquet")
    record = tmp_path / "out.parquet.private.json"
    whole = {"in": table, "released": pl.read_parquet(tmp_path / "out.parquet")}
    for name, rows in whole.items():
        (tmp_path / name).mkdir()
        for part, first in enumerate((0, 120)):
            rows[first : (120, 300)[part]].write_parquet(tmp_path / name / f"part-{part}.parquet")
    in_memory = anonto.assess(table, release.table, PLAN).to_dict()
    for masked in (tmp_path / "released", tmp_path / "released" / "*.parquet"):
        assert anonto.assess(tmp_path / "in", masked, PLAN, private=record).to_dict() == in_memory


def test_a_record_of_another_release_is_refused_and_a_kept_order_is_seen(table: pl.DataFrame, tmp_path: Path) -> None:
    plan = {
        "columns": {"illness": {"ontology": "illnesses"}},
        "steps": [{"method": "random-swap", "columns": ["illness"]}],
    }
    cells = table.select("illness")
    release = anonto.mask(cells, plan, seed=SEED)
    for name, given in (("a", release), ("b", anonto.mask(cells, plan, seed=SEED + 1))):
        given.save(tmp_path / f"{name}.parquet")
    release.save(tmp_path / "kept.parquet", keep_order=True)
    in_memory = anonto.assess(cells, release.table, plan).to_dict()
    shuffled, kept = tmp_path / "a.parquet", tmp_path / "kept.parquet"
    assert anonto.assess(cells, shuffled, plan, private=f"{shuffled}.private.json").to_dict() == in_memory
    for told in ({"private": f"{kept}.private.json"}, {"same_order": True}):
        found = anonto.assess(cells, kept, plan, **told).to_dict()
        assert found["findings"] == [FINDING, *in_memory["findings"]]
        assert [one["attack"] for one in found["risk"][len(in_memory["risk"]) :]] == ["row-order"]
        assert found["risk"][: len(in_memory["risk"])] == in_memory["risk"]
        assert found["utility"] == in_memory["utility"]
    with pytest.raises(ReleaseError, match="does not give the masked table"):
        anonto.assess(cells, tmp_path / "a.parquet", plan, private=tmp_path / "b.parquet.private.json")
    with pytest.raises(ReleaseError, match="whether the rows of the release are in the order"):
        anonto.assess(cells, tmp_path / "a.parquet", plan)


def test_a_file_is_read_once_and_once_more_for_a_public_report(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    anonto.mask_file(tmp_path / "in.parquet", PLAN, tmp_path / "out.parquet", seed=SEED)
    read: list[str] = []

    def reading(path: Any, **how: Any) -> Any:
        read.append(Path(path).name)
        return read_table(path, **how)

    monkeypatch.setattr(in_memory, "read_table", reading)
    out = tmp_path / "out.parquet"
    found = anonto.assess(tmp_path / "in.parquet", out, PLAN, private=f"{out}.private.json")
    assert sorted(read) == ["in.parquet", "out.parquet"]
    read.clear()
    assessed_data(found, "public")
    assert read == ["in.parquet"]


def test_a_private_record_of_another_file_is_reported(table: pl.DataFrame, tmp_path: Path) -> None:
    for name, rows in (("a", table), ("b", table.reverse())):
        rows.write_parquet(tmp_path / f"{name}.parquet")
        anonto.mask_file(tmp_path / f"{name}.parquet", PLAN, tmp_path / f"{name}-out.parquet")
    record = tmp_path / "b-out.parquet.private.json"
    with pytest.raises(ReleaseError, match=r"The record belongs to the file 'b\.parquet', which had other content"):
        anonto.assess(tmp_path / "a.parquet", tmp_path / "a-out.parquet", PLAN, private=record)
    (tmp_path / "other.json").write_text(json.dumps({"seed": "77"}))
    with pytest.raises(ReleaseError, match=r"belong together\.$"):
        anonto.assess(tmp_path / "a.parquet", tmp_path / "a-out.parquet", PLAN, private=tmp_path / "other.json")


def test_a_release_that_does_not_fit_is_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    masked = anonto.mask(table, PLAN, seed=SEED).table
    with pytest.raises(ReleaseError, match="The masked table lacks note"):
        anonto.assess(table, masked.drop("note"), PLAN)
    with pytest.raises(ReleaseError, match="The masked table has 1 further column"):
        anonto.assess(table, masked.with_columns(more=pl.lit(1)), PLAN)
    with pytest.raises(ReleaseError, match="299 rows where this original and plan leave 300"):
        anonto.assess(table, masked.head(299), PLAN)
    with pytest.raises(ColumnError, match="The table has no column"):
        anonto.assess(table, masked, PLAN, predict="stya")
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(ReleaseError, match="is not a readable private record"):
        anonto.assess(table, masked, PLAN, private=tmp_path / "wrong.json")
    with pytest.raises(MissingFileError):
        anonto.assess(table, masked, PLAN, private=tmp_path / "nowhere.json")


def test_dropped_records_are_left_out_of_the_comparison(table: pl.DataFrame) -> None:
    plan = {**PLAN, "columns": {**PLAN["columns"], "illness": {"ontology": "illnesses", "missing": "drop"}}}
    masked = anonto.mask(table, plan, seed=SEED).table
    assert anonto.assess(table, masked, plan).n_records == masked.height < 300


def test_the_command_line_prints_the_worst_first(
    table: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.toml").write_text(anonto.Plan.from_dict(PLAN).to_toml())
    words = ["--plan", str(tmp_path / "plan.toml")]
    assert run(["mask", str(tmp_path / "in.csv"), *words, "--output", str(tmp_path / "out.csv")]) == 0
    capsys.readouterr()
    both = [str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), *words]
    assert run(["assess", *both]) == 2
    assert "Traceback" not in capsys.readouterr().err
    both += ["--private", str(tmp_path / "out.csv.private.json")]
    assert run(["assess", *both]) == 0
    said = capsys.readouterr().out
    lines = [line.strip() for line in said.splitlines()]
    place = next(n for n, line in enumerate(lines) if line.startswith("worst linkage"))
    assert all(line.startswith("Knowing ") for line in lines[: place - 2] if line)
    assert lines[place].split(maxsplit=2)[2].startswith("100.00% of persons")
    assert lines[place + 3].startswith("quasi-identifiers only")
    assert run(["assess", *both, "--json"]) == 0
    assert {one["attack"] for one in json.loads(capsys.readouterr().out)["risk"]} == ATTACKS


@pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")
def test_the_command_line_begins_with_what_must_not_be_overlooked(
    table: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = {**PLAN, "steps": [{"method": "rank-swap", "columns": ["illness", "age"], "k": 30}]}
    table.write_csv(tmp_path / "in.csv")
    release = anonto.mask(table, plan, seed=SEED)
    release.save(tmp_path / "out.csv", keep_order=True)
    (tmp_path / "plan.toml").write_text(anonto.Plan.from_dict(plan).to_toml())
    words = [str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--plan", str(tmp_path / "plan.toml")]
    capsys.readouterr()
    assert run(["assess", *words]) == 0
    said = capsys.readouterr().out.splitlines()
    findings = anonto.assess(table, release.table, plan).findings
    assert said[: len(findings) + 1] == [FINDING, *findings]
    assert "more than the 1 in 30 that k = 30 of rank-swap suggests" in said[1]


def test_a_column_that_is_the_same_everywhere_does_not_show_the_order_of_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=300), "country": ["BE"] * 300})
    columns = {"x": {"kind": "numeric"}, "country": {"role": "other"}}
    plan = {"columns": columns, "steps": [{"method": "microaggregate", "columns": ["x"], "k": 3}]}
    release = anonto.mask(table, plan, seed=SEED)
    release.save(tmp_path / "out.csv")
    with pytest.raises(ReleaseError, match="whether the rows of the release are in the order"):
        anonto.assess(table, tmp_path / "out.csv", plan)
    assert anonto.assess(table, release.table, plan).findings[:1] != (SHUFFLED,)
    shuffled = anonto.assess(table, pl.read_csv(tmp_path / "out.csv"), plan)
    assert shuffled.findings[0] == SHUFFLED
    in_order = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert SHUFFLED not in in_order.findings


@pytest.mark.parametrize(("seed", "finding"), [(7, (GUESSABLE_SEED,)), (SEED, ())], ids=["short", "long"])
def test_a_seed_that_can_be_guessed_is_found_in_the_private_record(
    tmp_path: Path, seed: int, finding: tuple[str, ...]
) -> None:
    table = pl.DataFrame({"x": [f"{number // 4}" for number in range(40)]})
    plan = {"columns": {"x": {}}, "steps": [{"method": "group-swap", "columns": ["x"], "k": 4}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessableSeedWarning)
        anonto.mask(table, plan, seed=seed).save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.findings[:1] == finding
    advised = "mask the table again without giving a seed" in assessed_data(found)["verdict"]["guarantee"]
    assert advised is bool(finding)


@pytest.mark.parametrize(("method", "n_found"), [("rank-swap", 1), ("group-swap", 0)])
def test_cells_without_a_concept_that_stayed_with_their_person_are_found(
    tmp_path: Path, method: str, n_found: int
) -> None:
    (tmp_path / "codes.csv").write_text("id,parent\nr,\na,r\nb,r\n")
    columns = {"x": {"ontology": str(tmp_path / "codes.csv"), "unmatched": "keep"}, "row": {"role": "other"}}
    table = pl.DataFrame({"x": ["a", "b"] * 10 + ["?1", "?2", None], "row": [str(number) for number in range(23)]})
    plan = {"columns": columns, "steps": [{"method": method, "columns": ["x"], "k": 5}]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Cells without a concept", AnontoWarning)
        release = anonto.mask(table, plan, seed=SEED)
    found = anonto.assess(table, release.table, plan)
    told = [sentence for sentence in found.findings if WITHOUT_A_CONCEPT in sentence]
    assert len(told) == n_found
    assert all(sentence.startswith("2 cells without a concept") and "(2 of 'x')" in sentence for sentence in told)
    advice = "fix the codes without a concept"
    assert (advice in assessed_data(found)["verdict"]["guarantee"]) is bool(n_found)


def test_an_empty_table_gets_only_that_finding() -> None:
    table = pl.DataFrame(schema={"x": pl.String})
    plan = {"columns": {"x": {}}, "steps": [{"method": "group-swap", "columns": ["x"], "k": 4}]}
    found = anonto.assess(table, table, plan)
    assert found.findings == (NO_RECORDS,)
    assert assessed_data(found)["verdict"]["guarantee"].startswith("Nothing is proved: the release has no records")


def test_a_column_with_two_values_shows_the_order_of_many_rows() -> None:
    sex = np.array([0, 1] * 50, dtype=np.int32)
    assert shows_order([sex], np.ones(100, int))
    assert not shows_order([sex[:4]], np.ones(4, int))
    assert not shows_order([], np.ones(4, int))


def test_a_column_without_any_value_that_is_released_as_it_is_is_left_out() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=200), "empty": [None] * 200, "coded": ["?"] * 200, "y": range(200)})
    columns = {
        "x": {"kind": "numeric", "role": "quasi-identifier"},
        "empty": {"kind": "numeric", "role": "confidential"},
        "coded": {"role": "confidential", "na": ["?"]},
        "y": {"role": "other"},
    }
    plan = {"columns": columns, "steps": [{"method": "microaggregate", "columns": ["x"], "k": 3}]}
    found = anonto.assess(table, anonto.mask(table, plan, seed=SEED).table, plan)
    assert "attribute-inference" not in {one.attack for one in found.risk}
    assert found.worst is not None


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta"])
@pytest.mark.parametrize("is_masked", [True, False])
def test_a_release_in_a_format_that_loses_types_is_assessed_like_any(
    ending: str, is_masked: bool, tmp_path: Path
) -> None:
    """3.0 came back from CSV as a text, and the release was said not to belong to its private record."""
    rng = np.random.default_rng(1)
    columns = {
        "whole": pl.Series(rng.integers(0, 50, 60)),
        "weight": pl.Series(rng.integers(0, 9, 60) / 2),
        "flag": pl.Series(rng.random(60) < 0.5),
        "moment": pl.Series(rng.integers(0, 300, 60) * 3_600_000_000).cast(pl.Datetime("us")),
        "clock": pl.Series([time(int(h)) for h in rng.integers(0, 23, 60)]),
    }
    if ending in {"sav", "dta"}:
        del columns["clock"]
    pl.DataFrame(columns).write_parquet(tmp_path / "in.parquet")
    kinds = {name: {"kind": "numeric" if name in {"whole", "weight"} else "nominal"} for name in columns}
    step = {"method": "group-swap", "columns": list(columns) if is_masked else ["whole"], "k": 4}
    plan = {"columns": kinds, "steps": [step]}
    release = anonto.mask(tmp_path / "in.parquet", plan, seed=SEED)
    release.save(tmp_path / f"out.{ending}")
    record = tmp_path / f"out.{ending}.private.json"
    found = anonto.assess(tmp_path / "in.parquet", tmp_path / f"out.{ending}", plan, private=record)
    expected = anonto.assess(tmp_path / "in.parquet", release.table, plan)
    assert [(one.attack, one.rate) for one in found.risk] == [(one.attack, one.rate) for one in expected.risk]


def test_each_column_of_each_table_is_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The original, the release and, with its record, the release masked again; masking takes the first."""
    from anonto.encoding import columns, comparison
    from anonto.encoding import frame_adapter as adapter

    original = pl.DataFrame(
        {
            "illness": ["flu", "measles", "burn", "fracture", None, "flu", "x"] * 12,
            "age": [*range(20, 62)] * 2,
            "ward": ["a", "b", "c"] * 28,
            "note": [f"n{place}" for place in range(84)],
        }
    )
    plan = {
        "columns": {
            "illness": {"ontology": "illnesses", "unmatched": "drop", "missing": "keep"},
            "age": {"kind": "numeric"},
            "ward": {"role": "confidential"},
            "note": {"role": "other"},
        },
        "steps": [{"method": "rank-swap", "columns": ["illness", "age"], "k": 5}],
    }
    release = anonto.mask(original, plan, seed=SEED)
    release.save(tmp_path / "out.parquet")
    seen: list[int] = []

    def spy(values: Any) -> Any:
        seen.append(len(values))
        return columns.encode(values)

    for module in (in_memory, comparison, adapter, count):
        monkeypatch.setattr(module, "encode", spy)
    anonto.assess(original, release.table, plan)
    assert sorted(seen) == [72] * 4 + [84] * 4
    seen.clear()
    anonto.assess(original, tmp_path / "out.parquet", plan, private=tmp_path / "out.parquet.private.json")
    assert sorted(seen) == [72] * 8 + [84] * 4


def test_no_attack_and_no_loss_encodes_cells() -> None:
    """All of them take what the comparison encoded."""
    import anonto.attacks
    import anonto.utility

    for room in (anonto.attacks, anonto.utility):
        for file in Path(room.__path__[0]).rglob("*.py"):
            assert not re.search(r"import .*\bencode(_present|_together)?\b", file.read_text()), file.name


def test_a_file_is_read_once_for_two_releases_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anonto.assessment import in_memory

    table = pl.DataFrame({"age": [*range(40)], "ward": ["a", "b"] * 20})
    columns = {"age": {"kind": "numeric"}, "ward": {"role": "other"}}
    plan = {"columns": columns, "steps": [{"method": "rank-swap", "columns": ["age"], "k": 5}]}
    table.write_csv(tmp_path / "in.csv")
    one, other = (anonto.mask(tmp_path / "in.csv", plan, seed=SEED + place).table for place in (0, 1))
    seen: list[str] = []
    read = in_memory.read_table

    def spy(path: Any, **how: Any) -> Any:
        seen.append(Path(path).name)
        return read(path, **how)

    monkeypatch.setattr(in_memory, "read_table", spy)
    anonto.assess(tmp_path / "in.csv", one, plan, second=(other, plan))
    assert seen == ["in.csv"]


def test_a_file_is_read_once_where_its_private_record_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anonto.assessment import in_memory
    from anonto.engine.memory import source

    table = pl.DataFrame({"age": [*range(40)], "ward": ["a", "b"] * 20})
    columns = {"age": {"kind": "numeric"}, "ward": {"role": "other"}}
    plan = {"columns": columns, "steps": [{"method": "rank-swap", "columns": ["age"], "k": 5}]}
    table.write_csv(tmp_path / "in.csv")
    anonto.mask(tmp_path / "in.csv", plan, seed=SEED).save(tmp_path / "out.csv")
    seen: list[str] = []
    read = source.read_table

    def spy(path: Any, **how: Any) -> Any:
        seen.append(Path(path).name)
        return read(path, **how)

    for module in (in_memory, source):
        monkeypatch.setattr(module, "read_table", spy)
    anonto.assess(tmp_path / "in.csv", tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert sorted(seen) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("missing", [[None], [float("nan")], [None, float("nan")]], ids=["null", "NaN", "both"])
def test_missing_numbers_that_move_are_found_again_in_a_saved_release(
    missing: list[float | None], ending: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(7)
    numbers = [3.0, 1e6, 7.0, 0.5, 0.0, *missing]
    plan = {
        "columns": {"amount": {"kind": "numeric"}, "kind": {"kind": "nominal"}},
        "steps": [{"method": "group-swap", "columns": ["amount", "kind"], "k": 3}],
    }
    saved = tmp_path / f"masked{ending}"
    for seed in range(6):
        drawn = [numbers[place] for place in rng.integers(0, len(numbers), 20)]
        people = pl.DataFrame({"amount": pl.Series(drawn, dtype=pl.Float64), "kind": rng.choice(["a", "b", "c"], 20)})
        anonto.mask(people, plan, seed=(1 << 90) + seed).save(saved)
        assert anonto.assess(people, saved, plan, private=f"{saved}.private.json").risk


def test_progress_names_every_attack_that_is_tried_and_no_cell(table: pl.DataFrame) -> None:
    told: list[tuple[int, int, str]] = []
    masked = anonto.mask(table, PLAN, seed=SEED).table
    found = anonto.assess(table, masked, PLAN, progress=lambda *one: told.append(one))
    done, of, words = zip(*told, strict=True)
    assert set(of) == {of[0]}
    assert list(done) == sorted(done)
    assert (done[0], done[-1]) == (0, of[0] - 1)
    assert words[-1] == "what an analyst loses"
    tried = {sentence.split(",")[0] for sentence in words[:-1]}
    assert {one.attack for one in found.risk} <= tried <= set(anonto.attacks())
    cells = {str(cell) for row in table.rows() for cell in row if not str(cell).isdigit()}
    assert not any(cell in sentence for sentence in words for cell in cells)
