"""Distinct records, the input of methods for several columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding import records as records_module
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import TextSpace

ROWS = st.lists(st.tuples(*[st.integers(-1, 4)] * 3), max_size=40)


@given(ROWS, st.booleans())
def test_distinct_records_with_their_counts_give_the_rows_back(rows: list[tuple[int, ...]], sorting: bool) -> None:
    columns = [np.array([row[place] for row in rows], dtype=np.int32) for place in range(3)]
    value_spaces = [TextSpace(np.bincount(column[column >= 0], minlength=5)) for column in columns]
    with pytest.MonkeyPatch.context() as patch:
        if sorting:
            patch.setattr(records_module, "DENSE_COMBINATIONS", 0)
        records, record_of = distinct_records(["a", "b", "c"], value_spaces, columns)
    assert [tuple(records.codes[record]) for record in record_of] == rows
    assert Counter(dict(zip(map(tuple, records.codes.tolist()), records.counts.tolist(), strict=True))) == Counter(rows)
    assert records.n_rows == len(rows)


def test_the_pattern_of_a_record_shows_its_missing_cells() -> None:
    columns = [np.array([0, -1, -1, 2], np.int32), np.array([-1, 0, -1, 1], np.int32)]
    records, record_of = distinct_records(["a", "b"], [TextSpace(np.ones(3, np.int64))] * 2, columns)
    assert records.patterns()[record_of].tolist() == [1, 2, 3, 0]
