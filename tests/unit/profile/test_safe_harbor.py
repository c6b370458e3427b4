"""Safe Harbor's identifiers in a synthetic table of which all answers are known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.cli.main import run
from anonto.profile.safe_harbor import LETTERS, safe_harbor

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

N = 200
FIRST = ["Ada", "Björn", "Chloé", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jamal", "Kira", "Luis"]
LAST = ["O'Neill", "Garcia", "Müller", "van Dyk", "Smith-Jones", "Rossi", "Novak", "Khan", "Okafor", "Larsen"]
STREETS = ["Oak Street", "Elm Ave", "Station Road", "Park Lane", "Hill Drive"]
EXPECTED = {
    "patient_name": {"name"},
    "c1": {"name"},
    "home_address": {"address"},
    "c2": {"address"},
    "zip": {"postcode"},
    "admission_date": {"date"},
    "c3": {"date"},
    "phone": {"telephone number"},
    "c4": {"telephone number"},
    "c5": {"e-mail address"},
    "ssn": {"social security number"},
    "c6": {"social security number"},
    "mrn": {"record number"},
    "c7": {"record number"},
    "website": {"URL"},
    "c8": {"IP address"},
    "notes": {"free text"},
    "c9": {"free text", "e-mail address", "telephone number"},
    "age": {"age over 89"},
}
"""The answers; every other column has none."""


def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)

    def digits(n: int) -> list[str]:
        return ["".join(map(str, rng.integers(1, 9, n))) for _ in range(N)]

    def names() -> list[str]:
        return [f"{rng.choice(FIRST)} {chr(65 + i % 26)}. {rng.choice(LAST)}" for i in range(N)]

    def addresses() -> list[str]:
        return [f"{i + 1} {STREETS[i % 5]}" for i in range(N)]

    def dates() -> list[str]:
        return [f"20{10 + i % 10}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)]

    def phones() -> list[str]:
        return [f"({a}) {b}-{c}" for a, b, c in zip(digits(3), digits(3), digits(4), strict=True)]

    def numbers() -> list[str]:
        return [f"{a}-{b}-{c}" for a, b, c in zip(digits(3), digits(2), digits(4), strict=True)]

    def sentences() -> list[str]:
        return [f"The patient came on day {i} with pain in the left arm and went home" for i in range(N)]

    mails = [f"{rng.choice(FIRST).lower()}{i}@example.org" for i in range(N)]
    told = sentences()
    told[3], told[9] = f"{told[3]}, write to {mails[0]}", f"{told[9]}, call {phones()[0]}"
    uuids = [f"{a}-{b}-{b}-{b}-{c}" for a, b, c in zip(digits(8), digits(4), digits(12), strict=True)]
    return pl.DataFrame(
        {
            "patient_name": names(),
            "c1": names(),
            "home_address": addresses(),
            "c2": addresses(),
            "zip": digits(5),
            "admission_date": dates(),
            "c3": dates(),
            "phone": phones(),
            "c4": phones(),
            "c5": mails,
            "ssn": numbers(),
            "c6": numbers(),
            "mrn": digits(7),
            "c7": uuids,
            "website": [f"https://example.org/{i}" for i in range(N)],
            "c8": [f"10.{i % 256}.{i % 13}.{i % 250}" for i in range(N)],
            "notes": sentences(),
            "c9": told,
            "age": rng.integers(20, 97, N),
            # What is none of these, although it looks a little like it:
            "diagnosis": rng.choice(["Heart failure", "Type 2 diabetes", "Back pain", "Asthma"], N),
            "ward": rng.choice(["West Wing", "East Wing", "North Tower"], N),
            "icd": rng.choice(["E11.9", "I10", "J45.0", "M54.5"], N),
            "sex": rng.choice(["f", "m"], N),
            "cost": np.round(rng.gamma(2.0, 900.0, N), 2),
            "stay": rng.integers(1, 40, N),
            "version": rng.choice(["1.2.3", "2.0.1"], N),
            "year": rng.integers(1990, 2020, N),
            "email_consent": rng.choice(["yes", "no"], N),
            "blood_pressure": [
                f"{a}/{b}" for a, b in zip(rng.integers(90, 180, N), rng.integers(60, 99, N), strict=True)
            ],
            "state": rng.choice(["New York", "New Mexico", "Ohio"], N),
            "city_of_address": rng.choice(["Springfield", "Salem", "Dover"], N),
        }
    )


def test_precision_and_recall_on_a_table_with_known_answers() -> None:
    found = {(one["column"], one["kind"]) for one in safe_harbor(table())["findings"]}
    expected = {(column, kind) for column, kinds in EXPECTED.items() for kind in kinds}
    assert found - expected == set(), f"precision {len(found & expected) / len(found):.0%}"
    assert expected - found == set(), f"recall {len(found & expected) / len(expected):.0%}"


def test_a_finding_says_how_and_in_how_many_cells_and_shows_none() -> None:
    frame = table()
    told = safe_harbor(frame)
    by_place = {(one["column"], one["kind"]): one for one in told["findings"]}
    assert by_place["phone", "telephone number"]["by"] == "name and content"
    assert by_place["c4", "telephone number"]["by"] == "content"
    assert by_place["mrn", "record number"]["by"] == "name"
    mail = by_place["c9", "e-mail address"]
    assert (mail["cells"], mail["whole_column"]) == (1, False)
    assert by_place["age", "age over 89"]["cells"] == (frame["age"] > 89).sum()
    assert {one["letters"] for one in told["findings"]} <= set(LETTERS.values())
    shown = json.dumps(told)
    for name in EXPECTED:
        assert not any(str(cell) in shown for cell in frame[name].cast(pl.String) if len(str(cell)) > 3)


def test_the_command_lists_columns_and_no_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.csv"
    table().write_csv(path)
    assert run(["profile", str(path), "--safe-harbor"]) == 0
    shown = capsys.readouterr().out
    assert "home_address" in shown
    assert "diagnosis" not in shown
    assert "example.org" not in shown
    assert run(["profile", str(path), "--safe-harbor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_records"] == N
    assert run(["profile", str(path), "--safe-harbor", "--engine", "spark"]) == 2


def test_an_empty_table_and_an_empty_column_have_no_findings_by_content() -> None:
    assert safe_harbor(pl.DataFrame({"a": pl.Series([], dtype=pl.String)}))["findings"] == []
    assert safe_harbor(pl.DataFrame({"a": [None, None], "b": ["x", "y"]}))["findings"] == []
