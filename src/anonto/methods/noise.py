r"""Common part of both kinds of semantic noise: how large the noise is, and which concept replaces a value.

The noise ε of a cell has a size and a sign. With sd the semantic distance, a the value, r its reference and τ the
candidates, the value is replaced by

- the candidate closest to a among those at least |ε| from it that lie farther from r than a does (ε > 0), or closer
  (ε < 0); ties are broken at random;
- the farthest of these if none is that far: the noise is *truncated*;
- one of all candidates, chosen in the same way, if none lies in that direction: a *conflict*.

With ``round = "nearest"`` it is the candidate, or the value itself, whose distance comes closest to |ε|. A value with
ε = 0 stays. A cell costs a search among the sorted distances of its value (`anonto.methods.distance_levels`); cells
with the same value and reference are masked together. For a very large ontology declare a root, or take
``candidates = "observed"``.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016,
Algorithm 1.

Step by step: `anonto.methods.plain.replacement`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace
from anonto.errors import ParameterError
from anonto.methods import noise_kernels
from anonto.methods.distance_levels import bytes_of_levels, candidate_concepts
from anonto.methods.method import RowMethod
from anonto.methods.parameters import choice, number
from anonto.methods.refusals import needs_one_ontology, no_variance
from anonto.methods.replacements import find_replacements
from anonto.methods.row_masking import RowMasker, without_values
from anonto.random.kernels import exponentials, laplaces, normals
from anonto.random.streams import row_words
from anonto.stats.centre import mean_of
from anonto.stats.dependence import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs, LongWords
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.distance_levels import Candidates
    from anonto.methods.likelihood import MethodLikelihood
    from anonto.methods.replacements import Replacements
    from anonto.random.streams import Key


Distribution = Literal["normal", "laplace"]
Scale = Literal["semantic", "distance"]
Round = Literal["up", "nearest"]

# ------------------------------------------------------------------------------------------------ parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseParameters(RowMethod):
    """Parameters of every kind of semantic noise."""

    has_tables: ClassVar[bool] = True
    noise_level: float | tuple[float, ...] = field(
        metadata=number(
            "noise level",
            "How much noise, compared with the spread of the column. 0.2 is a little, 1 is a lot.",
            low=0,
            lists="allowed",
            must="a finite number, 0 or more, or a list of them: one for each column or one for each record",
            start=0.3,
            offered=(0, 5, 0.05),
            sweep=(0.25, 1.0, 4.0),
        )
    )
    distribution: Distribution = field(
        default="normal",
        metadata=choice(("normal", "laplace"), "shape of the noise", "Normal, or Laplace with longer tails."),
    )
    round: Round = field(
        default="up",
        metadata=choice(
            ("up", "nearest"), "rounding", "“up”: the first concept at least so far away; “nearest”: the closest one."
        ),
    )
    candidates: Candidates = field(
        default="taxonomy",
        metadata=choice(
            ("taxonomy", "observed", "leaves"),
            "replace by",
            "Any concept of the ontology, only those observed, or only leaves.",
        ),
    )

    def bytes_to_fit(self, records: Records) -> int:
        """Bytes of the candidates of all values."""
        return bytes_of_levels(records, self.candidates, directed=True)

    def likelihood(
        self, masker: NoiseMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
    ) -> MethodLikelihood:
        """The probabilities of the intervals of noise that lead to each value."""
        from anonto.methods.likelihood import noise_likelihood

        return noise_likelihood(masker, prepared, released)

    def require_for_counts(self, number: int, n_columns: int) -> None:
        """Refuse a noise level per record."""
        if isinstance(self.noise_level, tuple) and len(self.noise_level) != n_columns:
            must = "one number, or one for each column, where a table is attacked from counts"
            raise ParameterError(f"noise_level of step {number}", must, f"{len(self.noise_level):,} numbers")


SMALLEST_RANGE, LARGEST_RANGE = 1e-140, 1e140
"""Numbers that differ by less, or by more, have squares that underflow or overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLevels:
    """The share α of its variance that noise adds to each column, or to each record."""

    of_columns: Floats
    of_rows: Floats | None = None

    @classmethod
    def of(cls, given: float | tuple[float, ...], n_columns: int, n_rows: int) -> NoiseLevels:
        """One for all, one for each column, or one for each record; if both numbers are equal, one for each column."""
        if not isinstance(given, tuple):
            return cls(np.full(n_columns, float(given)))
        if len(given) == n_columns:
            return cls(np.array(given, dtype=np.float64))
        if len(given) != n_rows:
            must = f"one number, one for each of the {n_columns:,} columns, or one for each of the {n_rows:,} records"
            raise ParameterError("noise_level", must, f"{len(given):,} numbers")
        return cls(np.ones(n_columns), np.array(given, dtype=np.float64))

    def roots(self, column: int, rows: Longs) -> float | Floats:
        """√α for a column, or for each of some rows."""
        if self.of_rows is None:
            return math.sqrt(self.of_columns[column])
        if rows.size and int(rows.max()) >= self.of_rows.size:
            must = "one number, or one for each column, where records are dropped or come after those of the reference"
            raise ParameterError("noise_level", must, f"{self.of_rows.size:,} numbers")
        return np.sqrt(self.of_rows[rows])

    def mean(self, column: int) -> float:
        """The mean α of a column."""
        if self.of_rows is None:
            return float(self.of_columns[column])
        return float(self.of_rows.mean()) if self.of_rows.size else 0.0


# ------------------------------------------------------------------------------------------------ spread


def require_meaning(records: Records, method: str) -> None:
    """Refuse columns that are neither numbers nor concepts of one taxonomy, or whose noise could not be scaled."""
    for name, value_space in zip(records.names, records.value_spaces, strict=True):
        if isinstance(value_space, NumericSpace) and value_space.numbers.size:
            apart = float(value_space.numbers.max() - value_space.numbers.min())
            if apart and not SMALLEST_RANGE < apart < LARGEST_RANGE:
                raise no_variance(name, is_large=apart >= LARGEST_RANGE)
        if records.n_rows and not isinstance(value_space, NominalSpace | NumericSpace):
            raise needs_one_ontology(name, method, _ontologies_of(value_space))


def require_concepts(records: Records, method: str) -> None:
    """Refuse columns that are not concepts of one taxonomy."""
    for name, value_space in zip(records.names, records.value_spaces, strict=True):
        if records.n_rows and not isinstance(value_space, NominalSpace):
            raise needs_one_ontology(name, method, _ontologies_of(value_space))


def _ontologies_of(value_space: ValueSpace) -> str:
    if isinstance(value_space, NumericSpace):
        return "is not nominal"
    return f"has {len(value_space.parts)}" if isinstance(value_space, MeanSpace) else "has none"


def variance(value_space: ValueSpace, mean: str | None, scale: Scale) -> float:
    """Variance that noise is scaled by: for numbers the sample variance, for concepts the one that the scale names."""
    if isinstance(value_space, NumericSpace):
        n = int(value_space.counts.sum())
        if n < 2:
            return 0.0
        centred = value_space.numbers - dot(value_space.counts, value_space.numbers) / n
        return dot(value_space.counts, centred**2) / (n - 1)
    if not isinstance(value_space, NominalSpace) or mean is None:
        return 0.0
    if scale == "semantic":
        return dot(value_space.shares, value_space.distances_to(mean) ** 2)
    return spread(value_space).variance().root("distance variance")


def mean_concept(value_space: ValueSpace) -> str | None:
    """The semantic mean of a column of concepts."""
    return mean_of(value_space) if isinstance(value_space, NominalSpace) else None


# ------------------------------------------------------------------------------------------------ masking


@dataclass(frozen=True, slots=True, eq=False)
class NoisyColumn:
    """A column with everything that noise needs."""

    name: str
    value_space: ValueSpace
    deviation: float
    """The root of the variance that the noise level is a share of."""
    mean: str | None
    """The semantic mean; None for numbers."""
    partner: int | None
    """The column whose value is the reference; None for the semantic mean, and for numbers."""
    extent: float
    """Divisor of distances in the evidence: the range of numbers, 1 for concepts."""
    replacements: Replacements | None
    """None for numbers."""

    def slim(self) -> NoisyColumn:
        """Without the ontology."""
        if self.replacements is None:
            return self
        bare = without_values()
        return replace(
            self,
            value_space=bare,
            replacements=replace(self.replacements, value_space=bare, candidates=(), released=bare),
        )

    def references_of(self, columns: Sequence[Codes]) -> Codes | None:
        """The number of each cell's reference, 0 for the mean where the partner is missing; None for all mean."""
        return None if self.partner is None else np.maximum(columns[self.partner] + np.int32(1), np.int32(0))


@dataclass(frozen=True, slots=True, eq=False)
class NoiseMasker(RowMasker):
    """Adds noise to rows; the noise of a row depends on its number and on no other row."""

    columns: tuple[NoisyColumn, ...]
    mixing: Floats | None
    """The root of the matrix of correlations of the noise; None for noise that is independent."""
    levels: NoiseLevels
    distribution: Distribution
    nearest: bool

    @property
    def value_spaces(self) -> tuple[ValueSpace, ...]:
        """The columns with all candidates after their own values."""
        return tuple(
            column.value_space if column.replacements is None else column.replacements.released
            for column in self.columns
        )

    @property
    def shares_work(self) -> bool:
        """True if rows with the same pair of values are masked together, so that large batches cost less per row."""
        return any(column.replacements is not None and column.partner is not None for column in self.columns)

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows: see `RowMasker`."""
        return self.apply_and_count(columns, rows, key)[0]

    def apply_and_count(
        self, columns: Sequence[Codes], rows: Longs, key: Key
    ) -> tuple[list[Codes | Floats], Longs | None]:
        """Mask some rows, and count for each column its cells, the truncated ones, and those with a conflict."""
        words = [row_words(key, rows, f"noise of {column.name}") for column in self.columns]
        standard = np.empty((len(words), rows.size))
        direct = laplaces if self.distribution == "laplace" and self.mixing is None else normals
        for place, (first, _) in enumerate(words):
            standard[place] = direct(first)
        if self.distribution == "laplace" and self.mixing is not None:
            standard *= np.sqrt(exponentials(row_words(key, rows, "size of the noise")[0]))
        counts = np.zeros((len(self.columns), 3), dtype=np.int64)
        released = [
            self._mask_column(place, columns, rows, standard, own[1], counts[place]) for place, own in enumerate(words)
        ]
        return released, counts

    def _mask_column(
        self,
        place: int,
        columns: Sequence[Codes],
        rows: Longs,
        standard: Floats,
        words: LongWords,
        counts: Longs,
    ) -> Codes | Floats:
        column, codes = self.columns[place], columns[place]
        scale = self.levels.roots(place, rows) * column.deviation
        noise = standard[place] if self.mixing is None else noise_kernels.mix_noise(standard, self.mixing[place])
        if column.replacements is None:
            numbers = getattr(column.value_space, "numbers", np.empty(0))
            return np.where(codes >= 0, np.append(numbers, np.nan)[codes] + scale * noise, np.nan)
        references = column.references_of(columns)
        if references is not None:
            noise = np.where(references > 0, noise, standard[place])
        released, fate = column.replacements.replace(scale * noise, words, codes, references, nearest=self.nearest)
        truncated, conflict = fate & noise_kernels.TRUNCATED, fate & noise_kernels.CONFLICT
        counts[:] = np.count_nonzero(codes >= 0), np.count_nonzero(truncated), np.count_nonzero(conflict)
        return released

    def facts(self) -> Mapping[str, Any]:
        """The intended size of the noise."""
        targets = {}
        for place, column in enumerate(self.columns):
            deviation = column.deviation / column.extent if column.extent else 0.0
            targets[column.name] = target_rmse(self.levels.mean(place), deviation**2)
        return {"target_rmse": targets}

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:
        """How often the taxonomy was too small for the noise, as shares of the cells; 0 without cells."""
        truncated, conflicts = {}, {}
        for place, column in enumerate(self.columns):
            if column.replacements is not None:
                n_cells, n_truncated, n_conflicts = (0, 0, 0) if counts is None else counts[place].tolist()
                truncated[column.name] = n_truncated / n_cells if n_cells else 0.0
                conflicts[column.name] = n_conflicts / n_cells if n_cells else 0.0
        return {"truncated_share": truncated, "conflict_share": conflicts}

    def slim(self) -> NoiseMasker:
        """Without the ontologies."""
        return replace(self, columns=tuple(column.slim() for column in self.columns))

    def for_columns(self, value_spaces: Sequence[ValueSpace]) -> NoiseMasker:
        """This noise for columns with further values after the known ones."""
        known = [column.value_space for column in self.columns]
        if all(one is other for one, other in zip(known, value_spaces, strict=True)):
            return self
        columns = tuple(
            replace(
                column,
                value_space=value_space,
                replacements=column.replacements and _extend(column.replacements, value_space, column, value_spaces),
            )
            for column, value_space in zip(self.columns, value_spaces, strict=True)
        )
        return replace(self, columns=columns)


def target_rmse(noise_level: float, variance_of_column: float) -> float:
    """The root of the mean squared distance of the noise, if there were a concept at every distance."""
    return math.sqrt(noise_level * variance_of_column)


def noisy_column(
    records: Records,
    place: int,
    partner: int | None,
    mean: str | None,
    variance_of_column: float,
    candidates: Candidates,
) -> NoisyColumn:
    """A column with the replacements of its values."""
    value_space = records.value_spaces[place]
    found = None
    if isinstance(value_space, NominalSpace) and mean is not None:
        references = _references(mean, None if partner is None else records.value_spaces[partner])
        found = find_replacements(value_space, candidate_concepts(value_space, candidates), references)
    extent = value_space.scale if isinstance(value_space, NumericSpace) else 1.0
    return NoisyColumn(records.names[place], value_space, math.sqrt(variance_of_column), mean, partner, extent, found)


def _extend(
    known: Replacements, value_space: ValueSpace, column: NoisyColumn, value_spaces: Sequence[ValueSpace]
) -> Replacements:
    """Replacements for a column with further values, or with further values of its partner."""
    references = _references(column.mean, None if column.partner is None else value_spaces[column.partner])
    if not isinstance(value_space, NominalSpace) or (
        value_space is known.value_space and references == known.references
    ):
        return known
    return find_replacements(value_space, known.candidates, references, known)


def _references(mean: str | None, partner: ValueSpace | None) -> tuple[str, ...]:
    """The mean, and after it the concepts of the partner's values."""
    concepts = partner.concepts if isinstance(partner, NominalSpace) else ()
    return (mean or "", *concepts)
