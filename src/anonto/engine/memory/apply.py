"""Rows in memory, masked in batches by several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.threads import n_threads, slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.masking.fitted import FittedSteps, RawCodes
    from anonto.masking.released import Tallies

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

FEWEST_AT_ONCE, MOST_AT_ONCE = 1 << 17, 1 << 18
"""Rows that a thread masks at once."""


def apply_to_rows(
    fitted: FittedSteps, raw: RawCodes, rows: Longs | None, first_row: int
) -> tuple[dict[str, Codes], dict[str, Floats], Tallies]:
    """For each masked column places in its palette, and new numbers if it may have any; and what became of the rows.

    Args:
        fitted: The fitted steps.
        raw: The raw codes of the rows that stay. Those of masked columns are overwritten: once a batch is masked nobody
            asks for them, and another array of that size would be the largest thing in memory.
        rows: Their places in the table; None where all rows stay.
        first_row: The number of the table's first row.
    """
    n_records, tallies = fitted.n_records, fitted.tallies()
    places = {name: np.require(raw[name], np.int32, "W") for name in fitted.columns}
    numbers = {name: np.empty(n_records) for name in fitted.numbers}

    def read(part: slice) -> tuple[RawCodes, Longs]:
        own = np.arange(part.start, part.stop) if rows is None else rows[part]
        return {name: codes[part] for name, codes in raw.items()}, first_row + own

    with_all = fitted.dealt()
    for part, out, found, _ in with_all.apply_all(_parts(with_all), read):
        for name, (own, further) in out.items():
            places[name][part] = own
            if further is not None:
                numbers[name][part] = further
        tallies.add(found)
    return places, numbers, tallies


def _parts(fitted: FittedSteps) -> list[slice]:
    """Rows that are masked at once: all where what stands before each part would take more than they do."""
    n_rows = fitted.n_records
    at_once = max(FEWEST_AT_ONCE, min(MOST_AT_ONCE, n_rows // (4 * n_threads())))
    n_groups = max((part.flows.sizes.size for step in fitted.steps for part in step.flow_parts), default=0)
    if n_groups * -(-n_rows // at_once) > 2 * max(n_rows, at_once):
        at_once = max(n_rows, 1)
    return slices(0, n_rows, at_once) or [slice(0, 0)]
