r"""Semantic noise of several columns together, cell by cell: the same replacements as in `semantic_noise_joint`.

$$\varepsilon \sim N(0, \alpha\Sigma), \qquad
\Sigma_{jl} = sdCov(X_j, X_l) = \sqrt{\overline{\delta^j \circ \delta^l}}$$

with $\delta$ the centred matrix of the distances of all rows. The reference of a cell is the original value of the
column that its own is most correlated with. Shown for columns of concepts without missing cells in one taxonomy.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
Algorithm 1; eq. 9 to 12.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import NominalSpace
from anonto.methods.plain.semantic_noise import replace_values
from anonto.methods.replacements import find_replacements
from anonto.random.kernels import normals
from anonto.random.streams import row_words
from anonto.stats.centre import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.records import Records
    from anonto.random.streams import Key


def semantic_noise_joint(
    records: Records, noise_level: float, columns: Sequence[Codes], rows: Longs, key: Key
) -> list[Codes]:
    """Mask columns with correlated normal noise; all concepts are candidates.

    Args:
        records: The distinct records; two columns or more.
        noise_level: α, the share of the variance that is added.
        columns: For each column the values of some rows.
        rows: The numbers of these rows.
        key: The secret of the step.
    """
    value_spaces = [one for one in records.value_spaces if isinstance(one, NominalSpace)]
    # Step 1: the distance covariances Σ, and the correlations (eq. 9 to 12).
    covariances = distance_covariances(records)
    deviations = np.sqrt(np.diag(covariances))
    both = np.outer(deviations, deviations)
    correlations = np.divide(covariances, both, out=np.zeros(both.shape), where=both > 0)
    np.fill_diagonal(correlations, 1.0)
    # Step 2: ε ~ N(0, α·Σ) for each row, by the symmetric root of the correlations; eigenvalues below 0 become 0.
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    root /= np.sqrt((root**2).sum(axis=1))[:, None]
    words = [row_words(key, rows, f"noise of {name}") for name in records.names]
    noise = root @ np.array([normals(first) for first, _ in words])
    out = []
    for place, column in enumerate(value_spaces):
        # Step 3: the partner is the column that this one is most correlated with.
        partner = max(
            (one for one in range(len(value_spaces)) if one != place), key=lambda one: correlations[place, one]
        )
        # Step 4: replace each value, with the partner's original value as reference.
        found = find_replacements(column, column.domain.ids, (mean_of(column), *value_spaces[partner].concepts))
        scaled = math.sqrt(noise_level) * deviations[place] * noise[place]
        out.append(
            replace_values(found, scaled, words[place][1], columns[place], columns[partner] + 1, nearest=False)[0]
        )
    return out


def distance_covariances(records: Records) -> Floats:
    """The root of the mean product of the centred distances of each two columns, over all pairs of rows."""
    record_of = np.repeat(np.arange(records.counts.size), records.counts)
    centred = []
    for value_space, codes in zip(records.value_spaces, records.codes[record_of].T, strict=True):
        distances = value_space.distances()[np.ix_(codes, codes)]
        of_rows = distances.mean(axis=0)
        centred.append(distances - of_rows - of_rows[:, None] + distances.mean())
    products = np.array([[float((one * other).mean()) for other in centred] for one in centred])
    return np.sqrt(np.where(products > 1e-12, products, 0.0))
