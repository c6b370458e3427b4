"""DataFrames whose rows are remembered."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from anonto.engine.spark.released_frames import remember_rows, rows_of


class Thing:
    """Stands in for a DataFrame, for rows, and for a folder that they need."""


def test_rows_are_remembered_as_long_as_their_frame_and_so_is_what_they_need() -> None:
    frame, rows, folder = Thing(), Thing(), Thing()
    gone = weakref.ref(folder)
    remember: Any = remember_rows
    remember(frame, rows, folder)
    del folder
    gc.collect()
    assert rows_of(frame) is rows
    assert gone() is not None
    assert rows_of(Thing()) is None
    del frame
    gc.collect()
    assert gone() is None
