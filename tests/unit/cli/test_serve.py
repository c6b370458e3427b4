"""Options that ``anonto serve`` refuses before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anonto.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("name", "sentence"), [("nowhere", "There is no file or folder"), ("a.csv", "is a file, not")])
def test_a_missing_folder_ends_in_one_accurate_sentence(
    name: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert run(["serve", "--no-browser", "--folder", str(tmp_path / name)]) == 2
    assert sentence in capsys.readouterr().err
