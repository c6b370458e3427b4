"""First rows that are names of columns, and first rows that are records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.errors import ColumnError, ReleasedAsIsWarning, ReleaseError, UnclearHeaderError
from anonto.io.csv_batches import CsvBatches
from anonto.io.reading import read_table
from anonto.masking.plan import Plan
from anonto.profile.propose import propose

if TYPE_CHECKING:
    from pathlib import Path

NAMED = {
    "text above numbers": "age,weight\n34,70.5\n51,66\n",
    "text above dates": "seen\n2020-01-02\n2021-03-04\n",
    "text above codes": "dx\nI10\nE11.9\n",
    "text above text": "city,smoker\nRome,never\nPisa,often\n",
    "one name among its values": "city,habit,smoker\nRome,a,smoker\nPisa,b,none\n",
    "years": "country,2019,2020,2022\nItaly,2000,10,2500\nSpain,2040,30,1800\n",
    "years going down": "2021,2020\n1,2\n3,4\n",
    "days above numbers": "country,2020-01-01,2020-01-02\nItaly,1,2\nSpain,3,4\n",
    "counted from 0": "0,1,2\n5,1,2\n7,3,0\n",
    "counted from 1": "1,2,3\n1,2,2\n1,3,2\n",
    "wavelengths": "400.5,401,401.5,402,402.5\n0.1,0.4,0.2,0.1,0.3\n0.3,0.1,0.2,0.9,0.5\n",
    "bands of age": "county,0-4,5-9\nA,10,20\nB,30,40\n",
    "numbers out of range": "a,12345\n1,0.5\n2,0.25\n",
    "questions above free text": "How do you feel since the operation?,Please tell us where it hurts:\n"
    "I feel quite well most days.,It hurts in the left knee.\nI am tired in the evening.,No pain at all since then.\n",
    "statements above answers": "I sleep well most of the nights.,I am tired in the morning.\nagree,no\nno,agree\n",
    "one sentence among names": "number,comment,The doctor told us to wait\n"
    "7,fine,He was told to come again soon.\n9,good,She will be back in a week.\n",
    "no record": "age,sex,dx1\n",
    "one record": "age,sex,dx1\n34,F,I10\n",
    "first record incomplete": "age,sex\n,F\n?,M\n",
}
UNNAMED = {
    "numbers": "34,70.5\n51,66\n29,80\n",
    "numbers with decimal commas": "34;70,5\n51;66,1\n29;80,2\n",
    "one record": "34,70.5\n",
    "dates": "Ann,2020-01-02\nBob,2021-03-04\nEve,2022-03-04\n",
    "codes": "I10\nE11\nK35\n",
    "years of birth": "1980,F\n1975,M\n1990,F\n",
    "words that come again": "F,Rome,never\nM,Rome,often\nF,Pisa,never\n",
    "an empty cell": "34,,F\n51,x,M\n29,y,F\n",
    "a name twice": "Yes,Yes\nNo,Yes\nYes,No\n",
    "a missing sign": "34,?,I10\n51,2,E11\n29,4,K35\n",
    "free text": "Fell from a ladder at home.,He was sent home the same day.\nHas had a cough for two weeks.,"
    "She stays for one more night.\nWas found on the floor this morning.,They asked for a second opinion.\n",
    "a word for unknown above numbers": "unknown,70,F,3\n51,66,M,2\n29,71,F,3\n",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_names_are_read_as_names(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    names = text.splitlines()[0].split(",")
    assert read_table(tmp_path / "t.csv").frame.columns == names
    assert list(CsvBatches(tmp_path / "t.csv").schema) == names


@pytest.mark.parametrize("text", UNNAMED.values(), ids=UNNAMED)
def test_a_record_in_place_of_names_is_refused_without_a_cell(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    for read in (read_table, CsvBatches):
        with pytest.raises(UnclearHeaderError, match=r"header = 'names'") as told:
            read(tmp_path / "t.csv")
        said = str(told.value).replace("(of ", "")
        assert not any(f"{cell!r}" in said for cell in text.splitlines()[0].split(",") if cell)


def test_a_record_in_place_of_names_is_refused_in_a_workbook(tmp_path):
    import xlsxwriter

    rows = [[34, "F", "I10"], [51, "M", "E11"], [29, "F", "K35"]]
    for name, first in (("unnamed.xlsx", []), ("named.xlsx", [["age", "sex", "dx"]]), ("years.xlsx", [[1, 2, 3]])):
        book = xlsxwriter.Workbook(str(tmp_path / name))
        sheet = book.add_worksheet()
        for place, row in enumerate([*first, *rows]):
            sheet.write_row(place, 0, row)
        book.close()
    assert read_table(tmp_path / "named.xlsx").frame.height == 3
    assert read_table(tmp_path / "years.xlsx").frame.columns == ["1", "2", "3"]
    with pytest.raises(UnclearHeaderError):
        read_table(tmp_path / "unnamed.xlsx")
    assert read_table(tmp_path / "unnamed.xlsx", header="names").frame.columns == ["34", "F", "I10"]


def test_a_plan_confirms_the_header_by_naming_a_column_or_by_its_key(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(UNNAMED["numbers"])
    named = {"columns": {"34": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": ["34"]}]}
    with pytest.warns(ReleasedAsIsWarning):
        assert anonto.mask(table, named, seed=1 << 100).table.columns == ["34", "70.5"]
    assert Plan.from_dict({"table": {"header": "names"}}).table == {"header": "names"}
    with pytest.raises(anonto.errors.ParameterError, match="header of the table must be 'names'"):
        Plan.from_dict({"table": {"header": "none"}})
    with pytest.raises(UnclearHeaderError):
        propose(table)
    assert propose(table, header="names").plan.table == {"header": "names"}


def test_an_option_of_init_confirms_that_the_first_row_has_the_names(tmp_path, capsys):
    table, plan = tmp_path / "t.csv", tmp_path / "plan.toml"
    table.write_text(UNNAMED["codes"] + "E11\n" * 40)
    assert run(["init", str(table), "-o", str(plan)]) == 2
    assert "I10" not in capsys.readouterr().err
    assert not plan.exists()
    assert run(["init", str(table), "-o", str(plan), "--header"]) == 0
    assert Plan.from_toml(plan).reading == {"header": "names", "names": ("I10", *Plan.from_toml(plan).masked)}
    assert run(["profile", str(table), "--plan", str(plan)]) == 0


def test_duplicate_column_names_are_reported_by_position(tmp_path):
    (tmp_path / "t.csv").write_text("Miller,age,Miller\nx,1,y\nz,2,w\n")
    with pytest.raises(ColumnError, match=r"with the name of another column \(number 1, 3\)") as told:
        read_table(tmp_path / "t.csv")
    assert "Miller" not in str(told.value)


def test_further_columns_of_a_release_are_counted_and_long_names_cut():
    original = pl.DataFrame({"age": [1, 2, 3], "n" * 200: ["a", "b", "c"]})
    plan = {"columns": {"age": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": ["age"]}]}
    with pytest.raises(ReleaseError, match=r"The masked table lacks nnn.* and has 1 further column") as told:
        anonto.assess(original, pl.DataFrame({"age": [1, 2, 3], "Miller": ["a", "b", "c"]}), plan, same_order=True)
    assert "Miller" not in str(told.value)
    assert "n" * 81 not in str(told.value)
    assert told.value.values == ("Miller",)
    with pytest.warns(ReleasedAsIsWarning) as warned:
        anonto.mask(original, plan, seed=1 << 100)
    assert not any("n" * 81 in str(one.message) for one in warned)


@pytest.mark.parametrize(
    "text",
    [
        "respondent,Asthma,Diabetes,Gout\n1,Asthma,,\n2,,Diabetes,Gout\n3,Asthma,Diabetes,\n",
        "Q10,Q11,Q12,Q13\nA07,B01,A07,C02\nB01,A07,C02,A07\n",
        "well,A01,A02\nx,S12,S13\ny,S14,S12\n",
    ],
)
def test_ticked_boxes_and_counted_codes_are_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(text)
    assert read_table(tmp_path / "in.csv").frame.columns == text.split("\n", maxsplit=1)[0].split(",")


def test_duplicate_column_names_are_reported(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("comment,comment\nfine,good\nbad,fair\n")
    with pytest.raises(ColumnError, match="with the name of another column"):
        read_table(tmp_path / "in.csv")


def test_a_cell_of_the_first_record_is_not_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text("diabetes of aa,John Doe\ngout of bb,Jane Roe\nflu of cc,Jim Poe\n")
    (tmp_path / "plan.toml").write_text(
        "[columns.diabetes]\n[[steps]]\nmethod = 'random-swap'\ncolumns = ['diabetes']\n"
    )
    words = [
        "mask",
        str(tmp_path / "in.csv"),
        "--plan",
        str(tmp_path / "plan.toml"),
        "--output",
        str(tmp_path / "o.csv"),
    ]
    assert run(words) == 2
    assert "of aa" not in capsys.readouterr().err
