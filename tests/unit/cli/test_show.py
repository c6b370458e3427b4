"""What the command line shows while it works."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from anonto.cli.show import progress_bar

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_progress_bar_says_what_is_done_now(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("Attacking the release") as show:
        assert show is not None
        show(3, 12, "real-k, 2 columns known [bold]")
    shown = terminal.getvalue()
    assert "Attacking the release: real-k, 2 columns known [bold]" in shown
    assert "3/12" in shown


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("Attacking the release") as show:
        assert show is None
