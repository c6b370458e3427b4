r"""The laws of the methods that draw for each row: with which probability each value comes out as each other one.

An intruder who knows a method and its parameters can compute them, so the attacks ask for them. They are made from the
very tables that the method draws from:

- A column of concepts under noise: the noise that leads to a concept lies in one stretch below 0 or one above, where
  the rounding of the method puts it, and all concepts at its distance and on its side are equally likely.
- Numbers and ranks under noise: the stretch that is rounded to the released number.
- Noise on several columns together: of two columns, the probability that both lie in their stretches, of correlated
  normal noise exactly (to about 1e-6) and of Laplace noise summed over its size (to about 1e-5).
- The exponential mechanism: its own probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonto.errors import ParameterError
from anonto.methods import law_kernels
from anonto.table.attributes import NominalAttribute, NumericAttribute
from anonto.table.new_cells import grain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.noise import NoiseLevels, NoiseMasker, NoisyColumn, Replacements
    from anonto.methods.taxonomy_exponential import Draws, ExponentialMasker
    from anonto.table.prepare import PreparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


class ColumnLaw(Protocol):
    """What the values of one column become."""

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:
        """Of each released value, for some values, a row each.

        Args:
            values: Codes of the values.
            references: For each the number of its reference; 0 for the mean, and where a method knows none.
            scales: For each what standard noise is multiplied by; nothing for a method without noise.
        """
        ...


# ------------------------------------------------------------------------------------------------ noise


@dataclass(frozen=True, slots=True, eq=False)
class Stretched:
    """For some values, a row each, the stretches of standard noise that lead to each released value."""

    classes: Codes
    """Targets × released values: the class of each, −1 for what cannot come out."""
    stretches: law_kernels.Stretches

    def of_classes(self, *, laplace: bool) -> Floats:
        """Targets × classes: the probability of one released value of the class."""
        found: Floats = law_kernels.class_probabilities(*self.stretches, laplace)
        return found

    def probabilities(self, *, laplace: bool) -> Floats:
        """Targets × released values."""
        of_classes = np.concatenate([self.of_classes(laplace=laplace), np.zeros((self.classes.shape[0], 1))], axis=1)
        return np.take_along_axis(of_classes, self.classes, axis=1)


class NoiseLaw(ColumnLaw, Protocol):
    """The law of a column under noise."""

    def stretched(self, values: Codes, references: Codes, scales: Floats) -> Stretched:
        """The stretches of standard noise that lead to each released value; the arguments are those of the law."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ConceptNoise:
    """Of a column of concepts."""

    replacements: Replacements
    nearest: bool
    laplace: bool
    candidates: Codes
    """For each released value the candidate, or the value that is none, that is spelt so; −1 for none."""

    def stretched(self, values: Codes, references: Codes, scales: Floats) -> Stretched:
        """See `NoiseLaw`."""
        known = self.replacements
        n_levels = int(np.diff(known.levels.offsets).max(initial=1))
        shape = (values.size, min(3 * n_levels + 1, self.candidates.size), 2)
        classes = np.empty((values.size, self.candidates.size), dtype=np.int32)
        low, high, weights = (np.zeros(shape) for _ in range(3))
        law_kernels.noise_classes(
            values,
            references,
            scales,
            known.levels.arrays,
            known.ranks,
            known.places,
            self.nearest,
            self.candidates,
            classes,
            low,
            high,
            weights,
        )
        return Stretched(classes, (low, high, weights))

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:
        """See `ColumnLaw`."""
        return self.stretched(values, references, scales).probabilities(laplace=self.laplace)


@dataclass(frozen=True, slots=True, eq=False)
class NumberNoise:
    """Of a column of numbers, or of ranks, that are rounded to a grain."""

    numbers: Floats
    """Of the column's values."""
    released: Floats
    half: float
    """Half the grain."""
    lowest: float
    highest: float
    """What smaller and larger numbers become: −∞ and ∞ for numbers, the ends of the order for ranks."""
    laplace: bool

    def stretched(self, values: Codes, references: Codes, scales: Floats) -> Stretched:  # noqa: ARG002
        """See `NoiseLaw`; each released number is a class."""
        low, high, weights = (np.zeros((values.size, self.released.size, 2)) for _ in range(3))
        law_kernels.number_stretches(
            self.numbers[values], scales, self.released, self.half, self.lowest, self.highest, low, high, weights
        )
        classes = np.broadcast_to(np.arange(self.released.size, dtype=np.int32), low.shape[:2])
        return Stretched(np.ascontiguousarray(classes), (low, high, weights))

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:  # noqa: ARG002
        """See `ColumnLaw`."""
        found: Floats = law_kernels.number_probabilities(
            self.numbers[values], scales, self.released, self.half, self.lowest, self.highest, self.laplace
        )
        return found


# ------------------------------------------------------------------------------------------------ mechanism


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialDraws:
    """Of a column under the exponential mechanism."""

    draws: Draws
    candidates: Codes
    """For each released value the concept that is spelt so; −1 for none."""

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:  # noqa: ARG002
        """See `ColumnLaw`."""
        levels, cumulated = self.draws.levels, self.draws.cumulated
        out = np.zeros((values.size, self.candidates.size))
        of_concept = np.zeros(self.draws.codes.size + 1)
        for row, value in enumerate(values.tolist()):
            own = slice(int(levels.offsets[value]), int(levels.offsets[value + 1]) - 1)
            farther = np.append(cumulated[own][1:], 0.0)
            sizes = levels.bounds[own, 3] - levels.bounds[own, 0]
            of_concept[levels.members[value]] = np.repeat((cumulated[own] - farther) / sizes, sizes)
            out[row] = of_concept[self.candidates]
        return out


# ------------------------------------------------------------------------------------------------ steps


@dataclass(frozen=True, slots=True, eq=False)
class StepLaw:
    """The law of a step: of each of its columns, and how their noise goes together."""

    columns: tuple[ColumnLaw, ...]
    partners: tuple[int | None, ...]
    """For each column the one whose original value is its reference."""
    deviations: Floats
    mixing: Floats | None
    """The root of the matrix of correlations of the noise; None for noise that is independent."""
    laplace: bool
    levels: NoiseLevels | None
    """None for a method without noise."""

    def levels_of_rows(self, *, row_by_row: bool) -> Floats | None:
        """The noise level of each record, where each has its own; refused where rows are known by their counts."""
        levels = None if self.levels is None else self.levels.of_rows
        if levels is not None and not row_by_row:
            raise ParameterError("noise_level", "one for all records where these are attacked from counts", "more")
        return levels

    def scales(self, place: int, rows: Longs) -> Floats:
        """What standard noise of a column is multiplied by in some rows."""
        if self.levels is None:
            return np.zeros(rows.size)
        return np.asarray(np.broadcast_to(self.levels.roots(place, rows) * self.deviations[place], rows.shape).copy())

    def correlations(self, directed: NDArray[np.bool_]) -> Floats:
        """Of the noise of all columns.

        Args:
            directed: For each column whether its partner's cell is there, or it has no partner; else its noise is its
                own draw alone.
        """
        n = len(self.columns)
        if self.mixing is None:
            return np.eye(n)
        weights = np.where(directed[:, None], self.mixing, np.eye(n))
        return np.asarray(np.clip(weights @ weights.T, -1.0, 1.0))

    @property
    def are_sizes_shared(self) -> bool:
        """Whether the noise of all columns of a row is large together, correlated or not."""
        return self.laplace and self.mixing is not None


def law_of_draws(
    masker: ExponentialMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
) -> StepLaw:
    """The law of the exponential mechanism; see `BaseMethod.law`."""
    laws = [
        ExponentialDraws(column.draws, _found(_codes_of(column.draws.released, one, texts), column.draws.codes))
        for column, one, texts in zip(masker.columns, prepared, released, strict=True)
        if column.draws is not None
    ]
    n = len(laws)
    return StepLaw(tuple(laws), (None,) * n, np.zeros(n), None, laplace=False, levels=None)


def law_of_noise(
    masker: NoiseMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
) -> StepLaw:
    """The law of noise; see `BaseMethod.law`."""
    return StepLaw(
        tuple(_noise_law(masker, *each) for each in zip(masker.columns, prepared, released, strict=True)),
        tuple(column.partner for column in masker.columns),
        np.array([column.deviation for column in masker.columns]),
        masker.mixing,
        laplace=masker.distribution == "laplace",
        levels=masker.levels,
    )


def _noise_law(
    masker: NoiseMasker, column: NoisyColumn, prepared: PreparedColumn, released: Sequence[str] | Floats
) -> NoiseLaw:
    laplace = masker.distribution == "laplace"
    if column.replacements is not None:
        codes = _codes_of(column.replacements.released, prepared, released)
        found = _found(codes, column.replacements.released_codes)
        return ConceptNoise(column.replacements, masker.nearest, laplace, found)
    numbers = column.attribute.numbers if isinstance(column.attribute, NumericAttribute) else np.empty(0)
    is_ordinal = prepared.description.kind == "ordinal"
    ends = (0.0, len(prepared.description.order) - 1.0) if is_ordinal else (-math.inf, math.inf)
    return NumberNoise(numbers, np.asarray(released, dtype=np.float64), grain(prepared) / 2.0, *ends, laplace)


def _codes_of(attribute: NominalAttribute, prepared: PreparedColumn, texts: Sequence[str] | Floats) -> Codes:
    """The codes of released texts in a column with candidates behind its own values; −1 for what it cannot have."""
    own = prepared.column.values
    code_of = {text: code for code, text in reversed(list(enumerate((*own, *attribute.further_texts))))}
    return np.array([code_of.get(str(text), -1) for text in texts], dtype=np.int32)


def _found(codes: Codes, released_codes: Codes) -> Codes:
    """For each code the candidate that is released as it; −1 for none."""
    candidate_of = np.full(int(max(released_codes.max(initial=-1), codes.max(initial=-1))) + 2, -1, dtype=np.int32)
    candidate_of[released_codes] = np.arange(released_codes.size, dtype=np.int32)
    candidate_of[-1] = -1
    return candidate_of[codes]
