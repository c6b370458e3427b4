"""Rows in memory, masked in batches by several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.runtime.threads import n_threads, slices

if TYPE_CHECKING:
    from anonto.arrays import Codes, Floats, Longs
    from anonto.masking.fitted import FittedPlan, RawCodes
    from anonto.masking.released import Tallies


FEWEST_AT_ONCE, MOST_AT_ONCE = 1 << 17, 1 << 18
"""Rows that a thread masks at once."""


def apply_to_rows(
    fitted: FittedPlan, raw: RawCodes, rows: Longs | None, first_row: int
) -> tuple[dict[str, Codes], dict[str, Floats], Tallies]:
    """Places in the palette of each masked column, and new numbers if it may have any; and the tallies of the rows.

    Args:
        fitted: The fitted plan.
        raw: The raw codes of the rows that stay. Those of masked columns are overwritten: a batch
            is not read again once it is masked, and further arrays of that size would dominate the memory.
        rows: Their places in the table; None where all rows stay.
        first_row: The number of the table's first row.
    """
    n_records, tallies = fitted.counts.n_records, fitted.tallies()
    places = {name: np.require(raw[name], np.int32, "W") for name in fitted.columns}
    numbers = {name: np.empty(n_records) for name in fitted.numbers}

    def read(part: slice) -> tuple[RawCodes, Longs]:
        own = np.arange(part.start, part.stop) if rows is None else rows[part]
        return {name: codes[part] for name, codes in raw.items()}, first_row + own

    with_all = fitted.with_targets()
    for part, out, found, _ in with_all.apply_to_batches(_parts(with_all), read):
        for name, (own, further) in out.items():
            places[name][part] = own
            if further is not None:
                numbers[name][part] = further
        tallies.add(found)
    return places, numbers, tallies


def _parts(fitted: FittedPlan) -> list[slice]:
    """Rows that are masked at once: all of them if counting the groups before each part would take more memory."""
    n_rows = fitted.counts.n_records
    at_once = max(FEWEST_AT_ONCE, min(MOST_AT_ONCE, n_rows // (4 * n_threads())))
    n_groups = max((part.transitions.sizes.size for step in fitted.steps for part in step.transition_parts), default=0)
    if n_groups * -(-n_rows // at_once) > 2 * max(n_rows, at_once):
        at_once = max(n_rows, 1)
    return slices(0, n_rows, at_once) or [slice(0, 0)]
