"""Texts looked up by their views give the codes that a dictionary gives."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding import columns, text_views
from anonto.encoding.columns import TextBatches, encode
from anonto.encoding.text_views import LONGEST, texts_known, views_of

texts = st.text(alphabet="aß€😀\x00 1", max_size=14)
cells = st.lists(st.none() | texts, max_size=60)


@pytest.fixture(autouse=True)
def _look_up_few_rows_by_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_views, "FEW_ROWS", 0)
    monkeypatch.setattr(columns, "FIRST_LOOK", 3)
    monkeypatch.setattr(columns, "TEXTS_AT_ONCE", 7)


def as_a_dictionary_would(values: list[str | None]) -> tuple[tuple[str, ...], list[int]]:
    distinct = sorted({value for value in values if value is not None}, key=lambda text: text.encode())
    number = {value: code for code, value in enumerate(distinct)}
    return tuple(distinct), [-1 if value is None else number[value] for value in values]


@given(cells)
def test_codes_are_those_of_a_dictionary(values: list[str | None]) -> None:
    column = encode(pl.Series(values, dtype=pl.String))
    assert (column.values, column.codes.tolist()) == as_a_dictionary_would(values)


@given(cells, st.integers(1, 9))
def test_codes_of_batches_are_those_of_a_dictionary(values: list[str | None], size: int) -> None:
    series = pl.Series(values, dtype=pl.String)
    column = encode(TextBatches(len(values), lambda: iter(_cut(series, size))))
    assert (column.values, column.codes.tolist()) == as_a_dictionary_would(values)


def _cut(series: pl.Series, size: int) -> list[pl.Series]:
    return [series[start : start + size] for start in range(0, len(series), size)]


@given(cells, st.integers(0, 20), st.integers(0, 20))
def test_a_part_of_a_column_has_the_views_of_that_part(values: list[str | None], start: int, length: int) -> None:
    part = pl.concat([pl.Series(values, dtype=pl.String)] * 2).slice(start, length)
    with views_of(part) as views:
        assert views is not None
        found = [
            (
                bool(not one.present.size or one.present[(one.first + i) // 8] >> (one.first + i) % 8 & 1),
                one.words[2 * i],
            )
            for one in views
            for i in range(len(one))
        ]
    assert [present for present, _ in found] == [value is not None for value in part]
    lengths = [int(word) & 0xFFFFFFFF for present, word in found if present]
    assert lengths == [len(value.encode()) for value in part if value is not None]


def test_a_long_text_that_is_not_known_is_not_taken_for_a_short_one() -> None:
    known = texts_known(pl.Series(["abcd", "x" * LONGEST]), 10)
    codes = np.empty(4, dtype=np.int32)
    asked = pl.Series(["abcd", "abcd" + "e" * LONGEST, None, "x" * LONGEST])
    assert known.look_up(asked, codes) == 2
    assert codes.tolist() == [0, -1, -1, 1]


@given(cells, st.sampled_from([0, 5]))
def test_codes_of_many_long_texts_are_those_of_a_dictionary(values: list[str | None], equal_bits: int) -> None:
    """Also where hashes are so short that those of different texts are equal."""
    long = [None if value is None else value + "x" * LONGEST for value in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_views, "MANY_TEXTS", 0)
        if equal_bits:
            hashes = text_views._hashes
            patch.setattr(text_views, "_hashes", lambda given: hashes(given) % np.uint64(equal_bits))
        column = encode(pl.Series(long, dtype=pl.String))
    assert (column.values, column.codes.tolist()) == as_a_dictionary_would(long)
