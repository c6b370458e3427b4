"""Possible replacements of the values of a column under noise: by distance, and by direction from a reference.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
Algorithm 1. Step by step: `anonto.methods.plain.replacement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods import noise_kernels
from anonto.methods.distance_levels import distance_ranks, find_levels

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Codes, Floats, Integers, LongWords
    from anonto.encoding.value_space import NominalSpace
    from anonto.methods.distance_levels import DistanceLevels


@dataclass(frozen=True, slots=True, eq=False)
class Replacements:
    """Possible replacements in a column of concepts, by distance and by direction from a reference."""

    value_space: NominalSpace
    """The column as it is."""
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    """The concepts that noise may be directed from or to."""
    released: NominalSpace
    """The column with all candidates after its own values."""
    released_codes: Codes
    """The code in ``released`` of each candidate, and after them of values that are none."""
    levels: DistanceLevels
    directed: noise_kernels.Directed
    """The levels by direction from the first reference."""
    ranks: Integers
    """References × (candidates, and values that are none)."""
    places: Codes
    """The column of each value in ``ranks``."""

    @property
    def tables(self) -> noise_kernels.ReplacementTables:
        """The arrays that the kernels take."""
        return noise_kernels.ReplacementTables(
            self.levels.arrays, self.directed, self.ranks, self.places, self.released_codes
        )

    def replace(
        self, noise: Floats, words: LongWords, codes: Codes, references: Codes | None, *, nearest: bool
    ) -> tuple[Codes, Bytes]:
        """The codes of the released values, and a note on each cell.

        Args:
            noise: How far each cell moves, and which way.
            words: Random bits that decide between concepts at the same distance.
            codes: The values; −1 stays −1.
            references: For each cell the number of its reference; None for the first.
            nearest: Whether the noise is rounded to the nearest concept and not up.
        """
        out = np.empty(codes.size, dtype=np.int32)
        fate = np.empty(codes.size, dtype=np.uint8)
        by_first = noise if references is None else np.where(references == 0, noise, 0.0)
        noise_kernels.replace_by_first(by_first, words, codes, self.tables, nearest, out, fate)
        if references is None:
            return out, fate
        order = noise_kernels.order_by_pair(noise, codes, references, self.places.size, len(self.references))
        cells, notes = np.empty(order.size, dtype=np.int32), np.empty(order.size, dtype=np.uint8)
        noise_kernels.replace_by_pair(
            noise[order], words[order], codes[order], references[order], self.tables, nearest, cells, notes
        )
        out[order], fate[order] = cells, notes
        return out, fate


def find_replacements(
    value_space: NominalSpace,
    candidates: tuple[str, ...],
    references: tuple[str, ...],
    known: Replacements | None = None,
) -> Replacements:
    """Look up the distances of a column's values to all candidates, and of the candidates to all references.

    Args:
        value_space: The column.
        candidates: The concepts that its values may become.
        references: The concepts that noise may be directed from or to.
        known: Replacements of the same candidates for some of these values and references, which come first here.
    """
    place_of = {concept: place for place, concept in enumerate(candidates)}
    for concept in value_space.concepts:
        place_of.setdefault(concept, len(place_of))
    released, released_codes = value_space.codes_of(list(place_of))
    everything, codes = released.codes_of([*place_of, *references])
    columns, rows = codes[: len(place_of)], codes[len(place_of) :]
    places = np.array([place_of[concept] for concept in value_space.concepts], dtype=np.int32)
    n_values, n_references = (0, 0) if known is None else (len(known.value_space.concepts), len(known.references))
    if known is None or known.ranks.shape[1] != columns.size:
        ranks = distance_ranks(everything, rows, columns)
    else:
        ranks = np.concatenate([known.ranks, distance_ranks(everything, rows[n_references:], columns)])
    values = np.arange(n_values, len(value_space.concepts), dtype=np.int32)
    levels = find_levels(
        everything, values, columns[: len(candidates)], ranks[0, : len(candidates)], ranks[0, places[values]]
    )
    if known is not None:
        levels = known.levels.append(levels)
    directed = noise_kernels.list_by_direction(levels.arrays)
    return Replacements(value_space, candidates, references, released, released_codes, levels, directed, ranks, places)
