r"""Semantic noise of one column, cell by cell: the same replacements as `anonto.methods.noise`.

$$\varepsilon \sim N(0, \alpha\, s\sigma^2), \qquad s\sigma^2 = \overline{sd(x_i, s\mu)^2}, \qquad
s\mu = \arg\min_{c \in \tau} \sum_i sd(c, x_i)$$

and each value becomes what `replacement` says of its noise, with the semantic mean $s\mu$ as reference. The random
words of a row are used as in the compiled loops, so the replacements are the same for the same key.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
eq. 7 and 8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.replacement import replacement
from anonto.methods.replacements import find_replacements
from anonto.random.kernels import normals
from anonto.random.streams import row_words
from anonto.stats.centre import mean_of

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Codes, Floats, Longs, LongWords
    from anonto.encoding.value_space import NominalSpace
    from anonto.methods.replacements import Replacements
    from anonto.random.streams import Key


def semantic_noise(
    name: str, column: NominalSpace, noise_level: float, codes: Codes, rows: Longs, key: Key, *, nearest: bool
) -> Codes:
    """Mask a column of concepts with normal noise in the scale of its semantic variance; all concepts are candidates.

    Args:
        name: Name of the column.
        column: With the counts of its values.
        noise_level: α, the share of the variance that is added.
        codes: The values of some rows; −1 stays.
        rows: The numbers of these rows.
        key: The secret of the step.
        nearest: Whether the noise is rounded to the nearest concept and not up.
    """
    # Step 1: the semantic mean (eq. 7) and the semantic variance, the mean squared distance to it (eq. 8).
    mean = mean_of(column)
    variance = float(column.shares @ column.distances_to(mean) ** 2)
    # Step 2: ε ~ N(0, α·variance) for each row.
    first, second = row_words(key, rows, f"noise of {name}")
    noise = math.sqrt(noise_level) * math.sqrt(variance) * normals(first)
    # Step 3: replace each value, with the mean as reference.
    found = find_replacements(column, column.domain.ids, (mean,))
    return replace_values(found, noise, second, codes, None, nearest=nearest)[0]


def replace_values(
    found: Replacements, noise: Floats, words: LongWords, codes: Codes, references: Codes | None, *, nearest: bool
) -> tuple[Codes, Bytes]:
    """As `Replacements.replace`, which explains the arguments: released codes, and a note on each cell."""
    concepts = [*found.candidates, *found.references, *found.value_space.concepts]
    everything, number_of = found.value_space.codes_of(concepts)
    n_candidates, n_references = len(found.candidates), len(found.references)
    distances = np.round(everything.distances()[np.ix_(number_of, number_of)], 12)
    out, fate = np.full(codes.size, -1, dtype=np.int32), np.zeros(codes.size, dtype=np.uint8)
    for cell in np.flatnonzero(codes >= 0).tolist():
        value = n_candidates + n_references + int(codes[cell])
        reference = n_candidates + (0 if references is None else int(references[cell]))
        # Where the reference is not the mean, ties are listed by their direction from the mean first.
        side = np.sign(distances[n_candidates, :n_candidates] - distances[n_candidates, value])
        listed = np.argsort(side, kind="stable")
        directed = np.sign(distances[reference, :n_candidates] - distances[reference, value])
        away = distances[value, :n_candidates]
        by_mean = reference == n_candidates
        word = int(words[cell])
        place, fate[cell] = replacement(away, directed, listed, float(noise[cell]), word, nearest, by_mean)
        out[cell] = found.released_codes[found.places[codes[cell]] if place is None else place]
    return out, fate
