"""Pseudonyms and free texts: who sees which identifiers, with which key, and what is never released."""

from __future__ import annotations

import re
import stat
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.encoding.pseudonyms import pseudonyms_of, read_or_make_key
from anonto.errors import AnontoError, ColumnError, FileError, PlanError, ReleasedAsIsWarning
from anonto.masking.plan import Plan
from anonto.random.streams import Key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 1 << 100 | 5
N = 90
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient": [f"Jane Doe {row // 2}" for row in range(N)],
            "doctor": [None if row % 9 == 0 else f"Jane Doe {row % 7}" for row in range(N)],
            "record": list(range(1000, 1000 + N)),
            "ward": [["a", "b", "c"][row % 3] for row in range(N)],
            "note": [f"Jane Doe {row} came late" for row in range(N)],
        }
    )


def plan(**columns: Any) -> dict[str, Any]:
    own = {
        **{name: {"role": "pseudonym"} for name in ("patient", "doctor", "record")},
        "ward": {},
        "note": {"role": "free-text"},
        **columns,
    }
    return {"columns": own, "steps": [{"method": "random-swap", "columns": ["ward"]}]}


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime, pl.Boolean])
def test_a_column_of_a_type_without_texts_gets_pseudonyms(library: str, dtype: Any) -> None:
    born = pl.DataFrame({"born": pl.Series([0, 1, 0, None]).cast(dtype), "ward": list("abcd")})
    given = {"polars": born, "pandas": born.to_pandas(), "pyarrow": born.to_arrow()}[library]
    columns = {"born": {"role": "pseudonym"}, "ward": {"role": "confidential"}}
    masked = anonto.mask(given, {"columns": columns, "steps": []}, seed=SEED).table
    first, second, third, none = list(masked["born"].to_pylist() if library == "pyarrow" else masked["born"])
    assert first == third != second
    assert re.fullmatch("p[0-9a-f]{24}", first)
    assert none is None


def test_equal_identifiers_get_equal_pseudonyms_in_all_rows_and_columns_and_no_two_share_one() -> None:
    before = table()
    masked = anonto.mask(before, plan(), seed=SEED).table
    assert masked.columns == ["patient", "doctor", "record", "ward"]
    of = dict(zip(before["patient"], masked["patient"], strict=True))
    assert len(set(of.values())) == before["patient"].n_unique()
    shared = pl.DataFrame({"own": before["doctor"], "new": masked["doctor"]}).drop_nulls()
    assert all(of[own] == new for own, new in shared.iter_rows())
    assert masked["doctor"].null_count() == before["doctor"].null_count()
    assert masked["record"].n_unique() == N
    assert all(re.fullmatch("p[0-9a-f]{24}", one) for one in masked["patient"])
    assert "Jane" not in masked.write_csv()


def test_pseudonyms_are_others_in_every_release_unless_a_key_file_keeps_them(tmp_path: Path) -> None:
    before, key = table(), tmp_path / "key"
    first, second = (anonto.mask(before, plan(), seed=SEED + one).table["patient"] for one in (0, 1))
    assert not set(first) & set(second)
    kept = plan(patient={"role": "pseudonym", "key_file": str(key)})
    first, second = (anonto.mask(before, kept, seed=SEED + one).table["patient"] for one in (0, 1))
    assert first.equals(second)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.unlink()
    assert not set(anonto.mask(before, kept, seed=SEED).table["patient"]) & set(first)
    secret = key.read_text().split()[1]
    release = anonto.mask(before, kept, seed=SEED)
    release.save(tmp_path / "out.csv", report=tmp_path / "report.html")
    for written in (tmp_path / "out.csv", tmp_path / "out.csv.private.json", tmp_path / "report.html"):
        assert secret not in written.read_text()


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    made = read_or_make_key(key)
    assert read_or_make_key(key).secret == made.secret
    key.chmod(0o640)
    with pytest.raises(FileError, match="can be read by others"):
        read_or_make_key(key)
    key.chmod(0o600)
    key.write_text("secret")
    with pytest.raises(FileError, match="does not hold one key"):
        read_or_make_key(key)
    with pytest.raises(FileError, match="cannot be made"):
        read_or_make_key(tmp_path / "nowhere" / "key")


def test_no_output_may_replace_the_key(tmp_path: Path) -> None:
    kept = plan(patient={"role": "pseudonym", "key_file": str(tmp_path / "key.csv")})
    anonto.mask(table(), kept, seed=SEED)
    table().write_csv(tmp_path / "in.csv")
    with pytest.raises(AnontoError):
        anonto.mask_file(tmp_path / "in.csv", kept, tmp_path / "key.csv", force=True)


def test_a_collision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonto.encoding.pseudonyms.N_BYTES", 1)
    with pytest.raises(ColumnError, match="would get the same pseudonym"):
        pseudonyms_of("x", [str(one) for one in range(300)], Key(bytes(32)))


@pytest.mark.parametrize("convert", [lambda one: one.to_pandas(), lambda one: one.to_arrow()])
def test_every_library_gets_the_same_pseudonyms(convert: Callable[[pl.DataFrame], Any]) -> None:
    before = table()
    expected = anonto.mask(before, plan(), seed=SEED).table
    found = anonto.mask(convert(before), plan(), seed=SEED).table
    as_polars = pl.DataFrame(found) if hasattr(found, "iloc") else pl.from_arrow(found)
    assert as_polars.to_dicts() == expected.to_dicts()


def test_a_file_larger_than_memory_gets_the_same_bytes(tmp_path: Path, too_large: Callable[..., None]) -> None:
    table().write_csv(tmp_path / "in.csv")
    anonto.mask(tmp_path / "in.csv", plan(), seed=SEED).save(tmp_path / "once.csv", private=False)
    too_large(rows=40)
    anonto.mask_file(tmp_path / "in.csv", plan(), tmp_path / "parts.csv", seed=SEED, memory="500MB", private=False)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "once.csv").read_bytes()


def test_an_assessment_leaves_pseudonyms_out_and_checks_them_with_the_private_record(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "in.csv")
    release = anonto.mask(tmp_path / "in.csv", plan(), seed=SEED)
    release.save(tmp_path / "out.csv")
    private = tmp_path / "out.csv.private.json"
    found = anonto.assess(tmp_path / "in.csv", tmp_path / "out.csv", plan(), private=private)
    assert found.facts["made_anew"]
    assert all("patient" not in one.columns for one in found.risk)
    found.to_html(tmp_path / "report.html")
    assert "each value is replaced by a pseudonym" in (tmp_path / "report.html").read_text()
    assert release.evidence["recoded"]["patient"]["changed"] == N
    wide = table().with_columns(age=pl.int_range(N))
    assert anonto.sweep(wide, plan(age={"kind": "numeric"}), {"random-swap": {}}, seeds=1, workers=1).points
    assert anonto.verify({"ward": "a"}, release.table, plan()).n_records == N


def test_free_texts_are_dropped_unless_the_plan_keeps_them_and_then_warned_about() -> None:
    before = table()
    release = anonto.mask(before, plan(), seed=SEED)
    assert "note" not in release.table.columns
    assert release.evidence["dropped_columns"] == ["note"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = anonto.mask(before, plan(note={"role": "free-text", "keep": True}), seed=SEED)
    assert kept.table["note"].equals(before["note"])
    assert kept.evidence["released_as_is"] == ["note"]
    assert any("Free texts are released" in str(one.message) and one.category is ReleasedAsIsWarning for one in caught)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ward": {"keep": True}}, "keep of column 'ward' must be true for the role 'free-text' only"),
        ({"ward": {"key_file": "key"}}, "key_file of column 'ward' must be the path of a file, for the role"),
        ({"ward": {"role": "pseudonym"}}, "Step 1 masks"),
        ({"ward": {"role": "free-text"}}, "Step 1 masks"),
        ({"patient": {"role": "pseudonym", "recode": {"prefix": 3}}}, "the cells of a column with this role"),
    ],
)
def test_contradictions_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(AnontoError, match=message):
        Plan.from_dict(plan(**columns))


def test_the_numbers_of_persons_take_no_key_file() -> None:
    columns = {"patient": {"role": "pseudonym", "key_file": "key"}}
    with pytest.raises(PlanError, match="random in every release"):
        Plan.from_dict({"table": {"person": "patient"}, "columns": columns, "steps": []})


@pytest.mark.parametrize(
    ("column", "described", "proved"),
    [
        ("record", {"role": "pseudonym"}, True),
        ("patient", {"role": "pseudonym"}, False),
        (
            "day",
            {"kind": "date", "role": "confidential", "recode": {"shift": "person", "days": 9, "person": "patient"}},
            False,
        ),
    ],
)
def test_k_is_not_proved_where_pseudonyms_or_shifts_say_that_a_person_has_several_rows(
    column: str, described: dict[str, Any], proved: bool
) -> None:
    days = pl.Series(["2024-01-05"] * N).str.to_date()
    given = table().with_columns(day=days).select(*dict.fromkeys(["patient", "ward", column]))
    columns = {"patient": {"role": "identifier"}, "ward": {}, column: described}
    step = {"method": "group-swap", "columns": ["ward"], "k": 5}
    release = anonto.mask(given, {"columns": columns, "steps": [step]}, seed=SEED)
    guarantee = release.evidence["steps"][0]["guarantee"]
    assert guarantee["proved"] is proved
    assert ("several rows may be of one person, by 'patient'" in guarantee["conditions"]) is not proved
