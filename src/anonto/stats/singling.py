"""What singles people out by all quasi-identifiers together: unique records, small classes, and the columns to blame.

Counts and names of columns only: no value is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.stats.minimal_uniques import disclosure_by_intrusion, minimal_uniques, unique_without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.stats.minimal_uniques import MinimalUniques

SMALL_CLASS = 5
SETS_LISTED = 20


def describe_key(names: Sequence[str], codes: Codes, counts: Longs) -> dict[str, Any]:
    """What singles people out, as plain data.

    Args:
        names: The quasi-identifiers.
        codes: Their distinct records × columns.
        counts: How many records of the table each is.
    """
    n = int(counts.sum())
    alone, below = int(np.count_nonzero(counts == 1)), int(counts[counts < SMALL_CLASS].sum())
    found = minimal_uniques(codes, counts)
    by_set = sorted(found.by_set.items(), key=lambda one: (-one[1], len(one[0]), one[0]))
    return {
        "columns": list(names),
        "unique_records": alone,
        "share": alone / max(n, 1),
        "small_class": SMALL_CLASS,
        "in_small_classes": below,
        "share_in_small_classes": below / max(n, 1),
        "dis": disclosure_by_intrusion(counts),
        "minimal_uniques": {
            "largest": found.largest,
            "by_size": found.by_size.tolist(),
            "sets": len(by_set),
            "worst": [
                {"columns": [names[place] for place in places], "records": records}
                for places, records in by_set[:SETS_LISTED]
            ],
            "columns": _columns(names, codes, counts, found),
        },
    }


def _columns(names: Sequence[str], codes: Codes, counts: Longs, found: MinimalUniques) -> list[dict[str, Any]]:
    """The columns by their share of the risk, highest first."""
    left = unique_without(codes, counts)
    shares = found.shares
    told = []
    for place, name in enumerate(names):
        of_values = found.shares_of_values(codes, place, int(codes[:, place].max(initial=-1)) + 1)
        told.append(
            {
                "name": name,
                "share_of_risk": float(shares[place]),
                "unique_without": left[place],
                "risky_values": int(np.count_nonzero(of_values)),
                "values_of_half": _fewest_for_half(of_values),
            }
        )
    return sorted(told, key=lambda one: -one["share_of_risk"])


def _fewest_for_half(shares: Floats) -> int:
    """How few values have half of a column's share of the risk."""
    if not shares.any():
        return 0
    return int(np.searchsorted(np.cumsum(np.sort(shares)[::-1]), 0.5 - 1e-9)) + 1
