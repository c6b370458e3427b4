"""Equivalence classes of the released table: how many records share all quasi-identifiers, and what they disclose.

``real-k`` measures the smallest class on the whole vector of released quasi-identifiers, whatever k was asked for.
``uniqueness`` counts records that are alone, and for each confidential column how diverse the classes are: distinct
values (l-diversity), values further apart than a distance (semantic l-diversity), and how far the values of a class are
from those of the table (t-closeness, by the earth mover's distance over the column's own distances). A missing cell is
a value of its own, at distance 1 from all others: a class of missing cells has no diversity.

Records are distinguished by cells as they are written: two codes that both mean missing are two different cells, and
so are two values without a concept.

References: Samarati, IEEE TKDE 13 (2001); Machanavajjhala et al., ACM TKDD 1 (2007); Li, Li, Venkatasubramanian, ICDE
2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.rate import Risk
from anonto.attacks.real_k import RealK
from anonto.attacks.uniqueness import Uniqueness
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.stats.earth_mover import earth_movers_distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


APART = 0.5
"""Values further apart than this count as different in semantic l-diversity."""
MOST_CLASSES_MOVED = 2_000
"""The earth mover's distance is computed for this many classes, the smallest."""
ROWS_SHUFFLED = 200_000
"""Small tables are shuffled several times, until this many rows were."""
MOST_SHUFFLES = 200


def real_k(columns: Sequence[ComparedColumn]) -> Risk:
    """The size of the classes of released records that share all known columns: one over it is the risk of a record."""
    sizes, _ = _classes(columns)
    n = columns[0].n_rows
    return Risk.of_hits(
        float(np.count_nonzero(sizes == 1)),
        n,
        attack=RealK.name,
        knowledge="the released values of a record in these columns; the rate is the share of records that are alone",
        columns=(column.name for column in columns),
        baseline=0.0,
        details={
            "real_k": int(sizes.min()) if n else 0,
            "median_class": float(np.median(sizes)) if n else 0.0,
            "mean_risk": sizes.size / n if n else 0.0,
            "class_sizes": _size_counts(sizes),
        },
    )


def uniqueness(columns: Sequence[ComparedColumn], confidential: Sequence[ComparedColumn]) -> Risk:
    """Records that are alone in the original and in the release, and how diverse the released classes are."""
    sizes, number = _classes(columns)
    original_sizes, original_number = _classes(columns, masked=False)
    n, persons = columns[0].n_rows, slice(0, columns[0].n_persons)
    by_chance = _alone_by_chance(columns)
    stays_alone = (original_sizes[original_number[persons]] == 1) & (sizes[number[persons]] == 1)
    n_alone = int(np.count_nonzero(original_sizes == 1))
    return Risk.of_hits(
        float(np.count_nonzero(stays_alone)),
        int(stays_alone.size),
        attack=Uniqueness.name,
        knowledge="that a person is in the table and unique in these columns",
        columns=(column.name for column in columns),
        baseline=n_alone / n * by_chance if n else 0.0,
        details={
            "k_anonymity": int(sizes.min()) if n else 0,
            "alone_in_original": n_alone,
            "alone_in_release": int(np.count_nonzero(sizes == 1)),
            "share_alone_in_original": n_alone / n if n else 0.0,
            "share_alone_by_chance": by_chance,
            "confidential": {column.name: _diversity(column, number, sizes) for column in confidential},
        },
    )


def _classes(columns: Sequence[ComparedColumn], *, masked: bool = True) -> tuple[Longs, Codes]:
    which = "masked" if masked else "original"
    codes, number = distinct_rows([column.written_codes(which) for column in columns])
    return count_records(number, codes.shape[0], columns[0].side(which)[1]), number


def _alone_by_chance(columns: Sequence[ComparedColumn]) -> float:
    """The share of records that are alone when each released column is shuffled independently.

    The rate of `uniqueness` is then this share of those who were alone, on average. With one column it is exact. Where
    rows are not available, some are drawn, with the probability that no other row equals them.
    """
    n = columns[0].n_rows if columns else 0
    if not n:
        return 0.0
    rng = np.random.default_rng(0)
    if not columns[0].amounts.row_by_row:
        counts = [_classes([column])[0] for column in columns]
        if len(columns) == 1:
            return float(np.count_nonzero(counts[0] == 1)) / n
        return _alone_among_others(counts, n, rng)
    n_shuffles = 1 if len(columns) == 1 else max(1, min(MOST_SHUFFLES, ROWS_SHUFFLED // n))
    cells = [column.written_codes("masked") for column in columns]
    alone = 0
    for _ in range(n_shuffles):
        shuffled = [cells[0], *(rng.permutation(own) for own in cells[1:])]
        alone += int(np.count_nonzero(np.bincount(distinct_rows(shuffled)[1]) == 1))
    return alone / (n * n_shuffles)


def _alone_among_others(counts: Sequence[Longs], n: int, rng: np.random.Generator) -> float:
    """How often a row is alone when the values of columns are shuffled, from the number of rows with each value.

    A row is alone if none of the others with its rarest value has all its other values, too.
    """
    if n < 2:
        return 1.0
    drawn = np.sort([rng.choice(each, ROWS_SHUFFLED, p=each / n) for each in counts], axis=0)
    like_it = np.prod((drawn[1:] - 1.0) / (n - 1.0), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.mean(np.exp(np.where(drawn[0] > 1, (drawn[0] - 1.0) * np.log1p(-like_it), 0.0))))


def _size_counts(sizes: Longs) -> list[list[int]]:
    """How many classes have each size, as pairs."""
    values, counts = np.unique(sizes, return_counts=True)
    return [[int(value), int(count)] for value, count in zip(values, counts, strict=True)]


def _diversity(column: ComparedColumn, number: Codes, sizes: Longs) -> dict[str, Any]:
    if not column.n_rows:
        return {"l_diversity": 0, "semantic_l_diversity": 0, "t_closeness": 0.0, "classes_examined": 0}
    width = column.n_values + 1
    codes = np.where(column.masked >= 0, column.masked, column.n_values)
    unique, place_of = np.unique(number.astype(np.int64) * width + codes, return_inverse=True)
    counts = count_records(place_of, unique.size, column.amounts.masked)
    class_of, value_of = unique // width, (unique % width).astype(np.int32)
    starts = np.flatnonzero(np.r_[True, class_of[1:] != class_of[:-1]])
    ends = np.r_[starts[1:], unique.size]
    n_values = ends - starts
    examined = np.argsort(sizes[class_of[starts]], kind="stable")[:MOST_CLASSES_MOVED]
    overall = column.counts("masked") / column.n_rows
    numbers = column.value_space.numbers if isinstance(column.value_space, NumericSpace) else None
    has_no_meaning = isinstance(column.value_space, TextSpace)
    distances = None if numbers is not None or has_no_meaning else _add_missing(column.value_space.distances())
    farthest, apart = 0.0, np.iinfo(np.int64).max
    for place in examined:
        values, weights = value_of[starts[place] : ends[place]], counts[starts[place] : ends[place]]
        shares = np.zeros(width)
        shares[values] = weights / weights.sum()
        farthest = max(farthest, _earth_moved(shares, overall, distances, numbers))
        apart = min(apart, _values_apart(values, column))
    return {
        "l_diversity": int(n_values.min()),
        "semantic_l_diversity": int(apart),
        "t_closeness": float(farthest),
        "classes_examined": int(examined.size),
    }


def _add_missing(distances: Floats) -> Floats:
    """Distances with a missing cell as the last value."""
    wider = np.ones((distances.shape[0] + 1, distances.shape[0] + 1))
    wider[:-1, :-1], wider[-1, -1] = distances, 0.0
    return wider


def _earth_moved(shares: Floats, overall: Floats, distances: Floats | None, numbers: Floats | None) -> float:
    """The earth mover's distance, where the last share is that of missing cells.

    With numbers, the cells that are missing on one side only are taken from all numbers alike, and the rest is moved
    along the line. This is the distance where both sides miss equally many cells, and an upper bound elsewhere.
    """
    if numbers is None:
        return earth_movers_distance(shares, overall, distances)
    here, there = float(shares[-1]), float(overall[-1])
    both = 1.0 - max(here, there)
    if both <= 0.0:
        return abs(here - there)
    among = earth_movers_distance(shares[:-1] / (1.0 - here), overall[:-1] / (1.0 - there), None, numbers)
    return abs(here - there) + both * among


def _values_apart(values: Codes, column: ComparedColumn) -> int:
    """How many values a greedy choice finds that are all further than `APART` from each other."""
    chosen: list[int] = []
    is_missing = values == column.n_values
    for value in values[~is_missing].tolist():
        others = np.array(chosen, dtype=np.int32)
        own = np.full(others.size, value, dtype=np.int32)
        if not others.size or (column.value_space.pair_distances(own, others) > APART).all():
            chosen.append(value)
    return len(chosen) + int(is_missing.any())
