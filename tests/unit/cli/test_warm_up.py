"""``anonto warm-up`` uses every method once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anonto.cli.main import run
from anonto.methods.registry import METHODS

if TYPE_CHECKING:
    import pytest


def test_every_method_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warm-up", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["seconds"]) == set(METHODS)


def test_the_short_form_uses_what_a_proposed_plan_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warm-up", "--demo-only"]) == 0
    assert "group-swap" in capsys.readouterr().out
