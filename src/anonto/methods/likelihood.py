r"""Likelihoods of the methods that draw for each row: the probability that each value is released as each other one.

An intruder who knows a method and its parameters can compute them, so the attacks ask for them. They are computed from
the same tables that the method draws from:

- A column of concepts under noise: the noise that leads to a concept lies in one interval below 0 or one above, where
  the rounding of the method puts it, and all concepts at its distance and on its side are equally likely.
- Numbers and ranks under noise: the interval that is rounded to the released number.
- Noise on several columns together: of two columns, the probability that both lie in their intervals, of correlated
  normal noise exactly (to about 1e-6) and of Laplace noise summed over its size (to about 1e-5).
- The exponential mechanism: its own probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from anonto.encoding.new_cells import grain
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.errors import ParameterError
from anonto.methods import likelihood_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.prepare import PreparedColumn
    from anonto.methods.noise import NoiseLevels, NoiseMasker, NoisyColumn
    from anonto.methods.replacements import Replacements
    from anonto.methods.taxonomy_exponential import Draws, ExponentialMasker


class ColumnLikelihood(Protocol):
    """Likelihood of one column: what its values become."""

    computes_each_number: ClassVar[bool]
    """True if the probability of each released value is computed alone, which an attack must have the time for."""

    def most_classes(self, n_released: int) -> int:
        """About how many classes of equally likely values the released ones form."""
        ...

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:
        """Probability of each released value: one row for each given value.

        Args:
            values: Codes of the values.
            references: For each the number of its reference; 0 for the mean, and for a method without references.
            scales: For each the factor of standard noise; 0 for a method without noise.
        """
        ...


# ------------------------------------------------------------------------------------------------ noise


@dataclass(frozen=True, slots=True, eq=False)
class NoiseIntervals:
    """The intervals of standard noise that lead some values, a row each, to each released value."""

    classes: Codes
    """Targets × released values: the class of each, −1 for what cannot come out."""
    arrays: likelihood_kernels.IntervalArrays

    def of_classes(self, *, laplace: bool) -> Floats:
        """Targets × classes: the probability of one released value of the class."""
        found: Floats = likelihood_kernels.class_probabilities(*self.arrays, laplace)
        return found

    def probabilities(self, *, laplace: bool) -> Floats:
        """Targets × released values."""
        of_classes = np.concatenate([self.of_classes(laplace=laplace), np.zeros((self.classes.shape[0], 1))], axis=1)
        return np.take_along_axis(of_classes, self.classes, axis=1)


class NoiseLikelihood(ColumnLikelihood, Protocol):
    """Likelihood of a column under noise."""

    def intervals(self, values: Codes, references: Codes, scales: Floats) -> NoiseIntervals:
        """The intervals of standard noise that lead to each released value; see `probabilities`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ConceptNoise:
    """Likelihood of a column of concepts."""

    replacements: Replacements
    nearest: bool
    laplace: bool
    candidates: Codes
    """The candidate, or the value that is no candidate, with each released text; −1 for none."""
    computes_each_number: ClassVar[bool] = False

    def most_classes(self, n_released: int) -> int:
        """See `ColumnLikelihood`: a third of the classes of concepts is on neither side."""
        return min(2 * int(np.diff(self.replacements.levels.offsets).max()), n_released)

    def intervals(self, values: Codes, references: Codes, scales: Floats) -> NoiseIntervals:
        """See `NoiseLikelihood`."""
        known = self.replacements
        n_levels = int(np.diff(known.levels.offsets).max(initial=1))
        shape = (values.size, min(3 * n_levels + 1, self.candidates.size), 2)
        classes = np.empty((values.size, self.candidates.size), dtype=np.int32)
        arrays = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
        likelihood_kernels.noise_classes(
            values,
            references,
            scales,
            known.tables,
            self.nearest,
            self.candidates,
            classes,
            arrays,
        )
        return NoiseIntervals(classes, arrays)

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:
        """See `ColumnLikelihood`."""
        return self.intervals(values, references, scales).probabilities(laplace=self.laplace)


@dataclass(frozen=True, slots=True, eq=False)
class NumberNoise:
    """Likelihood of a column of numbers or ranks that are rounded to a grain."""

    numbers: Floats
    """The numbers of the column's values."""
    released: Floats
    half: float
    """Half the grain."""
    lowest: float
    highest: float
    """Results for smaller and larger numbers: −∞ and ∞ for numbers, the ends of the order for ranks."""
    laplace: bool
    computes_each_number: ClassVar[bool] = True

    @staticmethod
    def most_classes(n_released: int) -> int:
        """See `ColumnLikelihood`: each number is a class."""
        return n_released

    def intervals(self, values: Codes, references: Codes, scales: Floats) -> NoiseIntervals:  # noqa: ARG002
        """See `NoiseLikelihood`; each released number is a class."""
        low, high, weights = (np.zeros((values.size, self.released.size, 2)) for _ in range(3))
        likelihood_kernels.number_intervals(
            self.numbers[values], scales, self.released, self.half, self.lowest, self.highest, low, high, weights
        )
        classes = np.broadcast_to(np.arange(self.released.size, dtype=np.int32), low.shape[:2])
        return NoiseIntervals(np.ascontiguousarray(classes), (low, high, weights))

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:  # noqa: ARG002
        """See `ColumnLikelihood`."""
        found: Floats = likelihood_kernels.number_probabilities(
            self.numbers[values], scales, self.released, self.half, self.lowest, self.highest, self.laplace
        )
        return found


# ------------------------------------------------------------------------------------------------ mechanism


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialDraws:
    """Likelihood of a column under the exponential mechanism."""

    draws: Draws
    candidates: Codes
    """The concept with each released text; −1 for none."""
    computes_each_number: ClassVar[bool] = False

    @staticmethod
    def most_classes(n_released: int) -> int:
        """See `ColumnLikelihood`: all may differ."""
        return n_released

    def probabilities(self, values: Codes, references: Codes, scales: Floats) -> Floats:  # noqa: ARG002
        """See `ColumnLikelihood`."""
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
class MethodLikelihood:
    """Likelihood of a step: that of each column, and how their noise is correlated."""

    columns: tuple[ColumnLikelihood, ...]
    partners: tuple[int | None, ...]
    """The column whose original value is the reference of each column."""
    deviations: Floats
    mixing: Floats | None
    """The root of the matrix of correlations of the noise; None for noise that is independent."""
    laplace: bool
    levels: NoiseLevels | None
    """None for a method without noise."""

    def levels_of_rows(self, *, row_by_row: bool) -> Floats | None:
        """The noise level of each record, if each has its own; refused if only counts of rows are known."""
        levels = None if self.levels is None else self.levels.of_rows
        if levels is not None and not row_by_row:
            raise ParameterError("noise_level", "one for all records where these are attacked from counts", "more")
        return levels

    def scales(self, place: int, rows: Longs) -> Floats:
        """Factor of the standard noise of a column in some rows."""
        if self.levels is None:
            return np.zeros(rows.size)
        return np.asarray(np.broadcast_to(self.levels.roots(place, rows) * self.deviations[place], rows.shape).copy())

    def correlations(self, directed: Bools) -> Floats:
        """Correlations of the noise of all columns.

        Args:
            directed: For each column whether its partner's cell is present, or it has no partner; otherwise its noise
                is its own draw alone.
        """
        n = len(self.columns)
        if self.mixing is None:
            return np.eye(n)
        weights = np.where(directed[:, None], self.mixing, np.eye(n))
        return np.asarray(np.clip(weights @ weights.T, -1.0, 1.0))

    @property
    def are_sizes_shared(self) -> bool:
        """True if the noise of all columns of a row is large together, correlated or not."""
        return self.laplace and self.mixing is not None


def exponential_likelihood(
    masker: ExponentialMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
) -> MethodLikelihood:
    """Likelihood of the exponential mechanism; see `BaseMethod.likelihood`."""
    likelihoods = [
        ExponentialDraws(column.draws, _candidates_of(_codes_of(column.draws.released, one, texts), column.draws.codes))
        for column, one, texts in zip(masker.columns, prepared, released, strict=True)
        if column.draws is not None
    ]
    n = len(likelihoods)
    return MethodLikelihood(tuple(likelihoods), (None,) * n, np.zeros(n), None, laplace=False, levels=None)


def noise_likelihood(
    masker: NoiseMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
) -> MethodLikelihood:
    """Likelihood of noise; see `BaseMethod.likelihood`."""
    return MethodLikelihood(
        tuple(_column_likelihood(masker, *each) for each in zip(masker.columns, prepared, released, strict=True)),
        tuple(column.partner for column in masker.columns),
        np.array([column.deviation for column in masker.columns]),
        masker.mixing,
        laplace=masker.distribution == "laplace",
        levels=masker.levels,
    )


def _column_likelihood(
    masker: NoiseMasker, column: NoisyColumn, prepared: PreparedColumn, released: Sequence[str] | Floats
) -> NoiseLikelihood:
    laplace = masker.distribution == "laplace"
    if column.replacements is not None:
        codes = _codes_of(column.replacements.released, prepared, released)
        found = _candidates_of(codes, column.replacements.released_codes)
        return ConceptNoise(column.replacements, masker.nearest, laplace, found)
    numbers = column.value_space.numbers if isinstance(column.value_space, NumericSpace) else np.empty(0)
    is_ordinal = prepared.description.kind == "ordinal"
    ends = (0.0, len(prepared.description.order) - 1.0) if is_ordinal else (-math.inf, math.inf)
    return NumberNoise(numbers, np.asarray(released, dtype=np.float64), grain(prepared) / 2.0, *ends, laplace)


def _codes_of(value_space: NominalSpace, prepared: PreparedColumn, texts: Sequence[str] | Floats) -> Codes:
    """The codes of released texts in a column with candidates after its own values; −1 for texts it cannot have."""
    own = prepared.column.values
    code_of = {text: code for code, text in reversed(list(enumerate((*own, *value_space.further_texts))))}
    return np.array([code_of.get(str(text), -1) for text in texts], dtype=np.int32)


def _candidates_of(codes: Codes, released_codes: Codes) -> Codes:
    """The candidate that is released as each code; −1 for none."""
    candidate_of = np.full(int(max(released_codes.max(initial=-1), codes.max(initial=-1))) + 2, -1, dtype=np.int32)
    candidate_of[released_codes] = np.arange(released_codes.size, dtype=np.int32)
    candidate_of[-1] = -1
    return candidate_of[codes]
