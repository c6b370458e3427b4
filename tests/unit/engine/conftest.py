"""Tables that do not fit, however small they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anonto import run
from anonto.engine.room import Room
from anonto.table import csv_stretches

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def too_large(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let no table fit, and cut it into stretches of so many rows and of so many bytes."""

    def let(rows: int, bytes_of_table: int = 1 << 40, bytes_of_csv: int | None = None) -> None:
        monkeypatch.setattr(run, "bytes_in_memory", lambda *_: 1 << 60)
        monkeypatch.setattr(Room, "rows_at_once", lambda *_: rows)
        monkeypatch.setattr(Room, "of_table", property(lambda _: bytes_of_table))
        monkeypatch.setattr(csv_stretches, "BYTES_AT_ONCE", bytes_of_csv or max(1, 16 * rows))

    return let
