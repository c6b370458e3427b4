"""Equivalence classes of the released table: how many records share all quasi-identifiers, and what they disclose.

``real-k`` measures the smallest class on the whole vector of released quasi-identifiers: the k that was asked for says
nothing of it. ``uniqueness`` counts records that are alone, and for each confidential column how varied the classes
are: distinct values (l-diversity), values further apart than a distance (semantic l-diversity), and how far the values
of a class are from those of the table (t-closeness, by the earth mover's distance over the column's own distances).

References: Samarati, IEEE TKDE 13 (2001); Machanavajjhala et al., ACM TKDD 1 (2007); Li, Li, Venkatasubramanian, ICDE
2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.risk.earth_mover import earth_movers_distance
from anonto.risk.rate import Risk, wilson_interval
from anonto.table.attributes import NumericAttribute, TextAttribute
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

APART = 0.5
"""Values further apart than this count as different in semantic l-diversity."""
MOST_CLASSES_MOVED = 2_000
"""Above this many classes the earth mover's distance is found for the smallest of them."""


def real_k(columns: Sequence[ComparedColumn]) -> Risk:
    """The size of the classes of released records that share all known columns: one over it is the risk of a record."""
    sizes, number = _classes(columns)
    n = number.size
    each = 1.0 / sizes[number] if n else np.empty(0)
    alone = float(np.count_nonzero(sizes[number] == 1)) if n else 0.0
    low, high = wilson_interval(alone, n)
    return Risk(
        attack="real-k",
        knowledge="the released values of a record in these columns; the rate is the share of records that are alone",
        columns=tuple(column.name for column in columns),
        rate=alone / n if n else 0.0,
        low=low,
        high=high,
        baseline=0.0,
        n=n,
        details={
            "real_k": int(sizes.min()) if n else 0,
            "median_class": float(np.median(sizes)) if n else 0.0,
            "mean_risk": float(each.mean()) if n else 0.0,
            "class_sizes": _size_counts(sizes),
        },
    )


def uniqueness(columns: Sequence[ComparedColumn], confidential: Sequence[ComparedColumn]) -> Risk:
    """Records of the original that are alone in it and stay alone, and how varied the released classes are."""
    sizes, number = _classes(columns)
    original_sizes, original_number = _classes(columns, masked=False)
    n = number.size
    was_alone = original_sizes[original_number] == 1 if n else np.empty(0, bool)
    stays_alone = was_alone & (sizes[number] == 1) if n else was_alone
    hits = float(np.count_nonzero(stays_alone))
    low, high = wilson_interval(hits, n)
    return Risk(
        attack="uniqueness",
        knowledge="that a person is in the table and unique in these columns",
        columns=tuple(column.name for column in columns),
        rate=hits / n if n else 0.0,
        low=low,
        high=high,
        baseline=float(np.count_nonzero(was_alone)) / n if n else 0.0,
        n=n,
        details={
            "k_anonymity": int(sizes.min()) if n else 0,
            "alone_in_original": int(np.count_nonzero(was_alone)),
            "alone_in_release": int(np.count_nonzero(sizes == 1)),
            "confidential": {column.name: _diversity(column, number, sizes) for column in confidential},
        },
    )


def _classes(columns: Sequence[ComparedColumn], *, masked: bool = True) -> tuple[Longs, Codes]:
    codes, number = distinct_rows([column.masked if masked else column.original for column in columns])
    return np.bincount(number, minlength=codes.shape[0]).astype(np.int64), number


def _size_counts(sizes: Longs) -> list[list[int]]:
    """How many classes have each size, as pairs."""
    values, counts = np.unique(sizes, return_counts=True)
    return [[int(value), int(count)] for value, count in zip(values, counts, strict=True)]


def _diversity(column: ComparedColumn, number: Codes, sizes: Longs) -> dict[str, Any]:
    present = column.masked >= 0
    if not present.any():
        return {"l_diversity": 0, "semantic_l_diversity": 0, "t_closeness": 0.0, "classes_examined": 0}
    keys = number[present].astype(np.int64) * column.n_values + column.masked[present]
    unique, counts = np.unique(keys, return_counts=True)
    class_of, value_of = unique // column.n_values, (unique % column.n_values).astype(np.int32)
    starts = np.flatnonzero(np.r_[True, class_of[1:] != class_of[:-1]])
    ends = np.r_[starts[1:], unique.size]
    n_values = ends - starts
    examined = np.argsort(sizes[class_of[starts]], kind="stable")[:MOST_CLASSES_MOVED]
    overall = np.bincount(column.masked[present], minlength=column.n_values) / np.count_nonzero(present)
    numbers = column.attribute.numbers if isinstance(column.attribute, NumericAttribute) else None
    has_no_meaning = isinstance(column.attribute, TextAttribute)
    distances = None if numbers is not None or has_no_meaning else column.attribute.distances()
    farthest, apart = 0.0, np.iinfo(np.int64).max
    for place in examined:
        values, weights = value_of[starts[place] : ends[place]], counts[starts[place] : ends[place]]
        shares = np.zeros(column.n_values)
        shares[values] = weights / weights.sum()
        farthest = max(farthest, earth_movers_distance(shares, overall, distances, numbers))
        apart = min(apart, _values_apart(values, column))
    return {
        "l_diversity": int(n_values.min()),
        "semantic_l_diversity": int(apart),
        "t_closeness": float(farthest),
        "classes_examined": int(examined.size),
    }


def _values_apart(values: Codes, column: ComparedColumn) -> int:
    """How many values can be chosen greedily so that each is further than `APART` from all others."""
    chosen: list[int] = []
    for value in values.tolist():
        others = np.array(chosen, dtype=np.int32)
        own = np.full(others.size, value, dtype=np.int32)
        if not others.size or (column.attribute.pair_distances(own, others) > APART).all():
            chosen.append(value)
    return len(chosen)
