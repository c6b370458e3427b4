r"""The exponential mechanism over a taxonomy, cell by cell: the same draws as `anonto.methods.taxonomy_exponential`.

$$\Pr(c) \propto \exp\bigl(-\varepsilon\, sd(c, a) / 2\Delta\bigr)$$

The random words of a cell are used as in the compiled loop, so the released concepts are the same for the same key.

Reference: McSherry, Talwar, Mechanism design via differential privacy, FOCS 2007.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.replacement import below
from anonto.random.streams import row_words

if TYPE_CHECKING:
    from anonto.arrays import Ints, Longs
    from anonto.encoding.value_space import NominalSpace
    from anonto.random.streams import Key


def taxonomy_exponential(
    name: str,
    column: NominalSpace,
    sensitivity: float,
    epsilon: float,
    codes: Ints,
    rows: Longs,
    key: Key,
) -> list[str | None]:
    """The concept that each cell becomes; None for a cell without a value.

    Args:
        name: Name of the column.
        column: Whose domain is what its values may become.
        sensitivity: Δ, the largest distance.
        epsilon: Small is private.
        codes: The values of some rows.
        rows: The numbers of these rows.
        key: The secret of the step.
    """
    first, second = row_words(key, rows, f"level of {name}")
    picks, _ = row_words(key, rows, f"concept of {name}")
    concepts = column.domain.ids
    everything, numbers = column.codes_of(concepts)
    out: list[str | None] = [None] * codes.size
    for cell in np.flatnonzero(codes >= 0).tolist():
        # Step 1: the score of each concept is its distance to the value, to 12 decimals.
        away = np.round(everything.distances_from(codes[cell : cell + 1])[0, numbers], 12)
        # Step 2: the weight of a distance is that of all concepts at it; the farthest come first.
        levels, sizes = np.unique(away, return_counts=True)
        rate = epsilon / (2.0 * sensitivity) if sensitivity else 0.0
        weights = (sizes * np.exp(-rate * levels))[::-1]
        # Step 3: a uniform number of 128 bits chooses the distance, and further bits one of the concepts at it.
        uniform = float(Fraction(int(first[cell]) * 2**64 + int(second[cell]), 2**128))
        running = np.cumsum(weights) / weights.sum()
        place = min(int(np.searchsorted(running, uniform, side="right")), levels.size - 1)
        tied = np.flatnonzero(away == levels[::-1][place])
        out[cell] = concepts[tied[below(int(picks[cell]), 0, tied.size)]]
    return out
