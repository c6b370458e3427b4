"""Releases that other tools made: generalised, suppressed, synthetic, shuffled; without a plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment.foreign import open_foreign
from anonto.attacks.compute.foreign_search import search
from anonto.attacks.copied_record import BLINDNESS
from anonto.attacks.plain import foreign_release as plain
from anonto.cli.main import run
from anonto.encoding.generalised_cells import read_intervals, values_covered
from anonto.errors import ClusterError, ColumnError, InputError, PlanError
from unit.attacks.anonymeter_tables import GOLDEN, SECRETS, tables

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.attacks.rate import Risk

TABLES = {name: pl.DataFrame(table) for name, table in tables().items()}


def generalise(table: pl.DataFrame) -> pl.DataFrame:
    """As ARX or sdcMicro would: intervals, beginnings, stars and empty cells."""
    tens = pl.col("age") // 10 * 10
    return table.with_columns(
        age=pl.format("[{},{})", tens.cast(pl.Int64), tens.cast(pl.Int64) + 10),
        income=pl.lit("*"),
        town=pl.col("town").str.slice(0, 1) + "*",
        job=pl.when(pl.col("job") == "j3").then(None).otherwise("job"),
    )


@pytest.fixture(scope="module")
def found() -> dict[str, list[Risk]]:
    """The results on the tables of anonymeter, by attack."""
    risk = anonto.assess(TABLES["original"], TABLES["release"], held_out=TABLES["others"]).risk
    return {name: [one for one in risk if one.attack == name] for name in {one.attack for one in risk}}


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("35", 35, 35),
        (" 3.5e1 ", 35, 35),
        ("[30,40]", 30, 40),
        ("30-40", 30, 40),
        ("30 – 40", 30, 40),
        ("[-5--1]", -5, -1),
        ("30..40", 30, 40),
        ("30 to 40", 30, 40),
        ("[30;40]", 30, 40),
        (">=65", 65, np.inf),
        ("65+", 65, np.inf),
        ("≤ 18", -np.inf, 18),
        ("*", -np.inf, np.inf),
        ("***", -np.inf, np.inf),
        ("[-inf, 5]", -np.inf, 5),
    ],
)
def test_generalised_numbers_are_intervals(text: str, low: float, high: float) -> None:
    read = read_intervals([text])
    assert (read.low[0], read.high[0]) == (low, high)


@pytest.mark.parametrize("text", ["[30,40)", "[30-40[", "[30;40["])
def test_an_open_end_is_not_in_the_interval(text: str) -> None:
    read = read_intervals([text])
    assert read.low[0] == 30
    assert 39.999 < read.high[0] < 40


@pytest.mark.parametrize("text", ["(30,40]", "]30,40]", ">30"])
def test_an_open_beginning_is_not_in_the_interval(text: str) -> None:
    assert 30 < read_intervals([text]).low[0] < 30.001


@pytest.mark.parametrize("text", ["", "old", "40-30", "1_0", "3-", "nan", "[30", "--5"])
def test_other_texts_are_unreadable(text: str) -> None:
    assert read_intervals([text]).n_unreadable == 1


def test_texts_stand_for_what_begins_like_them_or_is_listed() -> None:
    values = ["471", "472", "480"]
    assert list(values_covered("47*", values)) == [True, True, False]  # type: ignore[arg-type]
    assert list(values_covered("{471, '480'}", values)) == [True, False, True]  # type: ignore[arg-type]
    assert list(values_covered("*", values)) == [True] * 3  # type: ignore[arg-type]
    assert values_covered("471", values) is None


@pytest.mark.parametrize("secret", SECRETS)
def test_inference_finds_what_anonymeter_finds(found: dict[str, list[Risk]], secret: str) -> None:
    success, control = json.loads(GOLDEN.read_text())[f"inference {secret}"]
    (one,) = (each for each in found["attribute-inference"] if each.details["inferred"] == secret)
    assert one.details["success"] == pytest.approx(success, abs=0.02)
    assert one.control == pytest.approx(control, abs=0.08)  # half of the others are the control here


def test_linkability_finds_what_anonymeter_finds(found: dict[str, list[Risk]]) -> None:
    success, control = json.loads(GOLDEN.read_text())["linkability"]
    (one,) = found["linkability"]
    assert one.details["success"] == pytest.approx(success, abs=0.01)
    assert one.control == pytest.approx(control, abs=0.02)


@pytest.mark.parametrize(("mode", "within"), [("univariate", "one column"), ("multivariate", "3 columns")])
def test_singling_out_finds_what_anonymeter_finds(found: dict[str, list[Risk]], mode: str, within: str) -> None:
    success, control = json.loads(GOLDEN.read_text())[f"singling out {mode}"]
    (one,) = (each for each in found["singling-out"] if each.details["within"] == within)
    assert one.low - 0.02 <= success <= one.high + 0.02  # its conditions are drawn, too
    assert one.control == pytest.approx(control, abs=0.06)


@pytest.mark.parametrize("kind", ["as it is", "generalised", "with missing cells"])
def test_a_search_finds_what_the_plain_version_finds(kind: str) -> None:
    original, released, others = (TABLES[name].head(25) for name in ("original", "release", "others"))
    if kind == "generalised":
        released = generalise(released)
    if kind == "with missing cells":
        original, released = (
            one.with_columns(
                pl.when(pl.int_range(25) % 5 == 0).then(None).otherwise(name).alias(name) for name in one.columns
            )
            for one in (original, released)
        )
    release, _ = open_foreign(original, released, others)
    for which in ("original", "held_out"):
        got = search(release, which, np.arange(25))
        for person in range(25):
            cells = [column.side(which)[person] for column in release.columns]
            everything = range(len(cells))
            row = plain.nearest(release, everything, cells)[0]
            least = sum(plain.distance(column, cell, row) for column, cell in zip(release.columns, cells, strict=True))
            assert got.distance[person] == pytest.approx(least / len(cells))
            assert got.linked[person] == pytest.approx(plain.linked(release, cells))
            expected = [plain.right(release, secret, cells) for secret in everything]
            np.testing.assert_allclose(got.right[person], expected)


def test_a_copy_is_disclosed_and_a_release_of_others_is_not() -> None:
    others = TABLES["others"]
    copy, fresh = (
        {one.attack: one for one in anonto.assess(TABLES["original"], table, held_out=others).risk}
        for table in (TABLES["original"].sample(300, shuffle=True, seed=1), TABLES["release"].tail(200))
    )
    assert copy["copied-record"].rate == 1.0
    assert copy["linkability"].rate > 0.95
    assert copy["membership"].details["auc"] > 0.95
    assert fresh["copied-record"].rate == 0.0
    assert fresh["membership"].details["auc_low"] < 0.5 < fresh["membership"].details["auc_high"]
    assert fresh["attribute-inference"].low == fresh["linkability"].low == 0.0


def test_generalised_cells_tell_less_and_are_counted() -> None:
    original = TABLES["original"]
    one = anonto.assess(original, generalise(original).sample(300, shuffle=True, seed=1), held_out=TABLES["others"])
    losses = one.utility["columns"]
    assert losses["income"] == {"suppressed": 1.0, "generalised": 0.0}
    assert losses["age"]["generalised"] == 1.0
    assert losses["town"] == {"suppressed": 1.0, "generalised": 0.0}
    assert 0 < losses["job"]["suppressed"] < 0.5
    rates = {each.details["inferred"]: each for each in one.risk if "inferred" in each.details}
    assert rates["income"].rate == rates["town"].rate == 0.0
    assert rates["sex"].rate > 0.5


def test_what_a_distance_does_not_see_is_said_with_it(found: dict[str, list[Risk]]) -> None:
    (one,) = found["copied-record"]
    assert one.details["warning"] == BLINDNESS
    assert one.rate == pytest.approx(1 / 3)
    assert one.control == 0.0
    assert anonto.attacks()["copied-record"].reading({"shown": "33 %", "control": None}, {}).endswith(BLINDNESS)


def test_other_columns_other_rows_and_another_order_are_no_fault() -> None:
    original = TABLES["original"]
    released = TABLES["release"].sample(120, shuffle=True, seed=2).select("job", "age").with_columns(extra=pl.lit(1))
    one = anonto.assess(original, released)
    assert {name for each in one.risk for name in each.columns} == {"age", "job"}
    assert one.facts["only_in_release"] == 1
    assert one.facts["only_in_original"] == ["income", "height", "sex", "town"]
    assert "membership" not in {each.attack for each in one.risk}
    assert one.findings[-1].startswith("No persons held out were given")
    assert one.to_dict() == anonto.assess(original, released).to_dict()


def test_a_release_of_one_column_or_without_rows_is_assessed() -> None:
    original = TABLES["original"].select("job")
    assert {one.attack for one in anonto.assess(original, original).risk} == {"copied-record"}
    assert anonto.assess(original, original.head(0)).findings[0].startswith("The release has no record")


def test_codes_are_texts_and_blank_cells_missing() -> None:
    original = pl.DataFrame({"code": ["007", "010"], "age": ["1", ""]})
    release, _ = open_foreign(original, original, None)
    assert [column.is_numeric for column in release.columns] == [False, True]


def test_what_cannot_be_compared_is_refused_in_a_sentence() -> None:
    original, release = TABLES["original"], TABLES["release"]
    with pytest.raises(ColumnError, match=r"^The release has none of the 6 columns of the original"):
        anonto.assess(original, pl.DataFrame({"x": [1]}))
    with pytest.raises(ColumnError, match=r"^The table of persons held out lacks 'town'"):
        anonto.assess(original, release, held_out=TABLES["others"].drop("town"))
    with pytest.raises(InputError, match=r"^The table of persons held out has no record"):
        anonto.assess(original, release, held_out=TABLES["others"].head(0))
    with pytest.raises(PlanError, match=r"^private needs the plan of the release"):
        anonto.assess(original, release, private="x.json")
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
    with pytest.raises(ClusterError, match=r"^an assessment without a plan is for work on this machine"):
        anonto.assess(original, kind())
    with pytest.raises(PlanError, match=r"^The report as JSON describes what a plan did"):
        anonto.assess(original, release).to_json("report.json")
    with pytest.raises(PlanError, match=r"^sweep needs the plan of the release"):
        anonto.assess(original, release).to_html("report.html", sweep=[])


def test_a_foreign_release_is_assessed_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, table in TABLES.items():
        table.head(60).write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("original", "release", "others")]
    assert run(["assess", *files[:2], "--held-out", files[2]]) == 0
    shown = capsys.readouterr().out
    assert "singling-out" in shown
    assert "generalised" in shown
    assert run(["assess", *files[:2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["risk"]
    page = tmp_path / "report.html"
    for words in (["--report-json", str(page)], ["--predict", "age"], ["--report", str(page), "--map", files[0]]):
        assert run(["assess", *files[:2], *words]) == 2
        said = capsys.readouterr().err
        assert said.startswith("Error: ")
        assert said.count("\n") == 1
        assert not page.exists()
    assert run(["assess", *files[:2], "--report", str(page)]) == 0
    assert "Report on a release of another tool" in page.read_text(encoding="utf-8")
    assert str(page) in capsys.readouterr().out.replace("\n", "")
