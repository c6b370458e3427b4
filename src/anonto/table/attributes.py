"""Columns with a meaning: distinct values with their counts and the distances between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from anonto.errors import UnknownMeasureError, UnmatchedValuesError
from anonto.taxonomy.distance import MEASURES, OF_THE_WHOLE_ONTOLOGY
from anonto.taxonomy.matrix import distance_matrix, weighted_sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonto.table.columns import Column
    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]

    class _ContentOptions(TypedDict):
        information_content: str
        counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class NominalAttribute:
    """A column whose values are concepts, in the part of a taxonomy that its root policy chose."""

    column: Column
    counts: NDArray[np.int64]
    domain: Taxonomy
    """The concepts that a value could have been: where means are looked for."""
    space: Taxonomy
    """The taxonomy in which distances are measured; the whole ontology for measures of ancestor sets."""
    measure: str
    information_content: str

    @property
    def n_records(self) -> int:
        """Records with a value."""
        return int(self.counts.sum())

    @property
    def shares(self) -> Floats:
        """The share of the records that each distinct value has."""
        return np.asarray(self.counts / self.n_records)

    def distances(self) -> Floats:
        """All pairs of distinct values."""
        return distance_matrix(self.space, self._concepts(), None, self.measure, **self._content())

    def mean_distances(self) -> Floats:
        """For each distinct value its mean distance to the records."""
        return self._weighted(self._concepts())

    def mean_distances_of_domain(self) -> Floats:
        """For each concept of the domain its mean distance to the records."""
        return self._weighted(self.space.numbers(self.domain.ids))

    def distances_to(self, concept: str) -> Floats:
        """The distance of each distinct value to one concept."""
        one = self.space.numbers([concept])
        row: Floats = distance_matrix(self.space, one, self._concepts(), self.measure, **self._content())[0]
        return row

    def _weighted(self, rows: NDArray[np.int32]) -> Floats:
        return weighted_sums(self.space, rows, self._concepts(), self.shares, self.measure, **self._content())

    def _concepts(self) -> NDArray[np.int32]:
        return self.space.numbers(self.column.values)

    def _content(self) -> _ContentOptions:
        counts = dict(zip(self.column.values, self.counts.tolist(), strict=True))
        return {"information_content": self.information_content, "counts": counts}


def nominal_attribute(
    column: Column,
    taxonomy: Taxonomy,
    *,
    measure: str,
    root: str = "ontology",
    information_content: str = "sanchez",
    name: str | None = None,
) -> NominalAttribute:
    """Place the values of a column in a taxonomy; every value must be a concept."""
    if measure not in MEASURES:
        raise UnknownMeasureError(measure, MEASURES)
    counts = column.counts
    unmatched = [n for n, value in enumerate(column.values) if value not in taxonomy]
    if unmatched:
        cells = int(counts[unmatched].sum())
        raise UnmatchedValuesError([column.values[n] for n in unmatched], cells, taxonomy.name, name)
    domain = taxonomy.rooted(root, column.values)
    space = taxonomy if measure in OF_THE_WHOLE_ONTOLOGY else domain
    return NominalAttribute(column, counts, domain, space, measure, information_content)
