"""Texts read as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.table import prepare
from anonto.table.prepare import numbers_of

odd = st.sampled_from(
    [
        "1,000",
        "1,5",
        "1.234,5",
        " 7 ",
        "1_0",
        "1e400",
        "-0",
        "+0.0",
        "007",
        "1.",
        ".5",
        "1e5",
        "nan",
        "inf",
        "x",
        "",
        "٣",
    ]
)


@given(st.lists(st.floats().map(repr) | st.integers().map(str) | odd | st.text("0123456789.,eE+-_ ", max_size=9)))
def test_many_texts_are_read_as_the_same_numbers_as_few(texts: list[str]) -> None:
    few = numbers_of(tuple(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "MANY_TEXTS", 0)
        many = numbers_of(tuple(texts))
    assert np.array_equal(few.view(np.int64), many.view(np.int64))
