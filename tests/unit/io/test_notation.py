"""Texts read as numbers, and numbers written as texts, in the notation of their column."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding.columns import encode
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener, prepare
from anonto.errors import ColumnError
from anonto.io import notation
from anonto.io.notation import Notation, numbers_of, read_numbers

odd = st.sampled_from(
    [
        "1,000",
        "1,5",
        "1.234,5",
        "1,234.5",
        "1,5e-3",
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
    few = read_numbers(tuple(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notation, "MANY_TEXTS", 0)
        many = read_numbers(tuple(texts))
    assert np.array_equal(few.numbers.view(np.int64), many.numbers.view(np.int64))
    assert few.n_other == many.n_other
    if np.isfinite(few.numbers).all():
        assert few.notation == many.notation


@pytest.mark.parametrize(
    ("texts", "numbers", "found"),
    [
        (["1,000", "1,037"], [1000, 1037], Notation(".", True, 0)),
        (["1,234", "12,5"], [1.234, 12.5], Notation(",", False, 3)),
        (["1.000,5", "2.000", "7"], [1000.5, 2000, 7], Notation(",", True, 1)),
        (["1,234.5", "1.25", "1,234"], [1234.5, 1.25, 1234], Notation(".", True, 2)),
        (["1.234", "5.678"], [1.234, 5.678], Notation(".", False, 3)),
        (["-1,5e-3", ",5"], [-0.0015, 0.5], Notation(",", False, 4)),
        (["1e-20", "3"], [1e-20, 3], Notation(".", False, 20)),
    ],
)
def test_the_notation_is_found_from_the_texts(texts: list[str], numbers: list[float], found: Notation) -> None:
    read = read_numbers(texts)
    assert read.notation == found
    assert read.numbers.tolist() == numbers


@given(
    st.lists(st.integers(-(10**9), 10**9) | st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1),
    st.sampled_from(".,"),
    st.booleans(),
)
def test_a_written_number_reads_back_as_itself(numbers: list[float], decimal: str, is_grouped: bool) -> None:
    own = Notation(decimal, is_grouped)
    given = np.array(numbers, dtype=np.float64)
    for cells in (pl.Series(given), pl.Series(np.rint(given).astype(np.int64))):
        texts = own.format_numbers(cells).to_list()
        assert numbers_of(texts, decimal).tolist() == cells.to_list()
        if not is_grouped:
            assert not any(own.thousands in text for text in texts)


def prepared(texts: list[str], **keys: Any) -> Any:
    return prepare("a", encode(texts), ColumnDescription(kind="numeric", **keys), opener())


def test_the_plan_may_name_the_decimal_sign() -> None:
    values = ["1,234", "5,678"]
    assert prepared(values).value_space.numbers.tolist() == [1234, 5678]
    assert prepared(values, decimal=",").value_space.numbers.tolist() == [1.234, 5.678]
    assert prepared(["1.234"], decimal=",").value_space.numbers.tolist() == [1234]
    with pytest.raises(ColumnError, match="decimal comma, and 1 distinct value can only be read with a decimal"):
        prepared(["12.5", "3"], decimal=",")


def test_two_notations_in_one_column_are_refused_with_their_number() -> None:
    with pytest.raises(ColumnError, match="'a' is read with a decimal comma, and 2 distinct values") as caught:
        prepared(["1,000.5", "1.000,5", "12.25", "3"])
    assert caught.value.values == ("1,000.5", "12.25")
    with pytest.raises(ColumnError, match=r"2 distinct values.*not finite numbers"):
        prepared(["1,000.5", "1.000,5", "secret"])


# ------------------------------------------------------------------------------------------------ exactness


@pytest.mark.parametrize(
    "texts",
    [
        [str(2**60 + i) for i in range(10)],
        [str(2**60 + 1000 * i) for i in range(1000)],
        ["9007199254740992", "9007199254740993"],
        ["12345678901234567.89", "12345678901234567.88", "1"],
        ["0.1234567890123456789", "0.1234567890123456788", "5"],
        ["1e-400", "1"],
        ["0." + "3" * 2000, "0." + "3" * 2001],
    ],
)
def test_numbers_that_would_become_equal_or_be_at_a_wrong_distance_are_refused(texts: list[str]) -> None:
    with pytest.raises(ColumnError, match="more digits than the 15 to 17"):
        prepared(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["1.0", "1.00", "007", "7"],
        ["0.1", "0.10000000000000001", "0.3"],
        [f"{x:.17g}" for x in np.random.default_rng(1).normal(size=200)],
        [repr(x) for x in (1e9 + np.random.default_rng(1).random(200)).tolist()],
        [str(1_600_000_000_000_000_000 + 10**6 * i) for i in range(1000)],
        [str(i * 2**51) for i in range(100)],
        ["0.1234567890123456789", "0.9"],
        [str(9**k) for k in range(30)],
        ["123456789012345678901234567890"],
    ],
)
def test_numbers_with_many_digits_are_accepted_if_nothing_is_lost(texts: list[str]) -> None:
    assert np.isfinite(prepared(texts).value_space.numbers).all()


# ------------------------------------------------------------------------------------------------ small numbers


def test_small_numbers_are_rounded_to_their_own_decimals() -> None:
    own = prepared(["1e-17", "3e-17"]).notation
    assert own.round_numbers(np.array([2.4e-17, -1.6e-17, 0.25, -0.0, np.nan])).tolist()[:4] == [
        2e-17,
        -2e-17,
        0.25,
        0.0,
    ]
    tiny = prepared(["1e-300", "5e-320", "2"]).notation
    assert tiny.round_numbers(np.array([2.5e-301, 7.0])).tolist() == [2.5e-301, 7.0]


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False).filter(bool), min_size=1, max_size=5))
def test_no_number_of_a_column_is_changed_by_rounding_beyond_its_fifteenth_digit(numbers: list[float]) -> None:
    own = prepared([repr(number) for number in numbers]).notation
    assert own.round_numbers(np.array(numbers)) == pytest.approx(numbers, rel=1e-14, abs=0)
