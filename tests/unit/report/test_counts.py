from hypothesis import given
from hypothesis import strategies as st

from anonto.report.counts import (
    NOT_SHOWN,
    SMALL,
    SMALLEST_SHOWN,
    bar_length,
    show_count,
    show_parts,
    show_share,
    spell_count,
)

counts = st.lists(st.integers(0, 40), max_size=12)


def test_counts_from_1_to_4_are_hidden_and_zero_is_not() -> None:
    assert [show_count(count) for count in (0, 1, 4, 5, 6)] == [0, SMALL, SMALL, 5, 6]
    assert [spell_count(count) for count in (0, SMALL, 12_345)] == ["0", "< 5", "12,345"]


def test_the_share_of_a_hidden_count_is_hidden_too() -> None:
    assert show_share(3, 1_000) == "< 0.5%"
    assert show_share(250, 1_000) == "25.0%"
    assert show_share(0, 0) == "–"


def test_the_bar_of_a_hidden_count_does_not_reveal_it() -> None:
    assert [bar_length(count) for count in (SMALL, NOT_SHOWN, 0, 70)] == [SMALLEST_SHOWN, 0, 0, 70]


def test_one_hidden_count_hides_the_next_smallest() -> None:
    assert show_parts([100, 7, 9, 2], total=118) == [100, NOT_SHOWN, 9, SMALL]


@given(parts=counts, beyond=st.integers(0, 40))
def test_no_small_count_can_be_derived_by_subtraction(parts: list[int], beyond: int) -> None:
    words = show_parts(parts, sum(parts) + beyond)
    assert all(word in {count, SMALL, NOT_SHOWN} for word, count in zip(words, parts, strict=True))
    assert not any(0 < word < SMALLEST_SHOWN for word in words if isinstance(word, int))
    rest = sum(parts) + beyond - sum(word for word in words if isinstance(word, int))
    everything_hidden = not any(isinstance(word, int) and word for word in words)
    assert not 0 < rest < SMALLEST_SHOWN or everything_hidden
