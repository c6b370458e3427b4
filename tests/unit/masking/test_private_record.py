"""The private record: its file, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import anonto
from anonto.errors import MissingFileError, ReleaseError
from anonto.masking.plan import plan_of
from anonto.masking.private_record import PrivateRecord
from anonto.random.streams import Seed

PLAN: dict[str, Any] = {
    "columns": {"age": {"kind": "numeric"}},
    "steps": [{"method": "microaggregate", "columns": ["age"], "k": 3}],
}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    record = PrivateRecord(seed=Seed(1 << 99), input_name="t.csv", input_sha256="ab", block_rows={2: 50}, version="9.9")
    record.write(tmp_path / "p.json")
    assert PrivateRecord.read(tmp_path / "p.json") == record
    written = json.loads((tmp_path / "p.json").read_text())
    assert list(written) == ["warning", "seed", "input", "anonto", "block_rows"]
    assert (written["seed"], written["block_rows"]) == (str(1 << 99), {"2": 50})


def test_a_table_that_was_no_file_has_no_input_in_its_record(tmp_path: Path) -> None:
    PrivateRecord.of(Seed(5), None, {"steps": [{"blocks": 1}]}).write(tmp_path / "p.json")
    written = json.loads((tmp_path / "p.json").read_text())
    assert (written["input"], written["anonto"]) == (None, anonto.__version__)
    assert "block_rows" not in written


def test_a_record_lies_beside_its_output() -> None:
    assert PrivateRecord.path_for("out/masked.csv") == Path("out/masked.csv.private.json")


def test_a_record_does_not_show_its_seed() -> None:
    assert "12345" not in repr(PrivateRecord(seed=Seed(12345)))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"seed": "x"}', '{"seed": "-1"}', '{"seed": "1", "block_rows": {"a": 1}}']
)
def test_a_file_that_is_not_a_private_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(ReleaseError, match="is not a readable private record"):
        PrivateRecord.read(tmp_path / "p.json")


def test_a_record_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        PrivateRecord.read(tmp_path / "p.json")


@pytest.mark.parametrize("number", [0, 2])
def test_blocks_of_a_step_that_the_plan_does_not_have_are_refused(number: int) -> None:
    plan = plan_of(PLAN)
    with pytest.raises(ReleaseError, match="does not give the masked table"):
        PrivateRecord(seed=Seed(1), block_rows={number: 10}).in_blocks(plan)
    in_blocks = PrivateRecord(seed=Seed(1), block_rows={1: 1000}).in_blocks(plan)
    assert getattr(in_blocks.steps[0].method, "block_rows", None) == 1000
