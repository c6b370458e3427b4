"""Tables that do not fit, however small they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anonto.engine import run
from anonto.io import csv_batches as csv_stretches
from anonto.runtime.memory_limit import MemoryLimit

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def too_large(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make every table too large for memory, and cut it into batches of the given rows and bytes."""

    def let(rows: int, bytes_of_table: int = 1 << 40, bytes_of_csv: int | None = None) -> None:
        monkeypatch.setattr(run, "bytes_in_memory", lambda *_: 1 << 60)
        monkeypatch.setattr(MemoryLimit, "rows_at_once", lambda *_: rows)
        monkeypatch.setattr(MemoryLimit, "for_sorting", property(lambda _: bytes_of_table))
        monkeypatch.setattr(csv_stretches, "BYTES_AT_ONCE", bytes_of_csv or max(1, 16 * rows))

    return let
