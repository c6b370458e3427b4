r"""Semantic noise, each column alone: every value becomes a concept at about a random distance.

The noise of a cell is drawn with mean 0 and variance α·v, where α is the noise level and v the semantic variance of
the column (``scale = "distance"``: its distance variance). Its size is the distance that the value moves, its sign
whether it moves away from the semantic mean of the column or towards it. Numbers and ranks take ordinary noise with α
times their sample variance.

- ``noise_level``: one for all columns, one for each, or one for each record (as many as columns: one for each column).
- ``distribution``: ``"normal"``, or ``"laplace"`` with the same variance.
- ``round``: ``"up"`` moves a value at least as far as its noise; ``"nearest"`` to the concept closest to that distance,
  possibly itself.
- ``candidates``: concepts of the whole ``"taxonomy"`` of the column's domain, only its ``"leaves"``, or only those
  ``"observed"`` in the column.

Concepts are at few distances, so with ``round = "up"`` values move farther than intended: the evidence has both.
No guarantee is proved: large noise is cut at the farthest concept, and scale and reference follow from the
data. `taxonomy-exponential` has a proof.

References: Rodriguez-Garcia, Batet, Sánchez, A semantic framework for noise addition with nominal data,
Knowledge-Based Systems 2017 (reconstructed; the full text was not available); the replacement is Algorithm 1 of
Rodriguez-Garcia, Sánchez, Batet, PSD 2016.

Step by step: `anonto.methods.plain.semantic_noise`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from anonto.methods.noise import (
    NoiseLevels,
    NoiseMasker,
    NoiseParameters,
    Scale,
    mean_concept,
    noisy_column,
    require_meaning,
    variance,
)
from anonto.methods.parameters import choice
from anonto.methods.words import Words

if TYPE_CHECKING:
    import numpy as np

    from anonto.encoding.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticNoise(NoiseParameters):
    """``noise_level`` with ``distribution``, ``scale``, ``round`` and ``candidates``."""

    name: ClassVar[str] = "semantic-noise"
    words: ClassVar[Words] = Words(
        title="Noise by meaning",
        summary="replaces each value by a concept at about a random distance",
        does=("Replaces every value by one at a random distance in meaning; to numbers a random number is added."),
        columns="nominal with one ontology, ordinal, numeric; each alone",
        keeps="Keeps meaning roughly; values that nobody had may occur.",
        report=(
            "Each value was replaced by another one of the same taxonomy, about as far away in meaning as a "
            "random number said; numbers had a random number added. Each column had its own random numbers. "
            "Values that no record had may occur now, and rare values may have become more frequent or have "
            "disappeared."
        ),
    )
    masks_elements: ClassVar[bool] = True
    needs_records: ClassVar[bool] = False
    scale: Scale = field(
        default="semantic",
        metadata=choice(
            ("semantic", "distance"), "scale of distances", "How the distances of columns are made comparable."
        ),
    )

    def fit(self, records: Records, rng: np.random.Generator) -> NoiseMasker:  # noqa: ARG002
        """Measure each column and sort the distances of its values."""
        require_meaning(records, self.name)
        levels = NoiseLevels.of(self.noise_level, len(records.names), records.n_rows)
        columns = []
        for place, value_space in enumerate(records.value_spaces):
            mean = mean_concept(value_space)
            columns.append(
                noisy_column(records, place, None, mean, variance(value_space, mean, self.scale), self.candidates)
            )
        return NoiseMasker(tuple(columns), None, levels, self.distribution, self.round == "nearest")
