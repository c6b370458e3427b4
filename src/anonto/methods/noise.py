r"""What both kinds of semantic noise share: how large the noise is, and which concept stands at its end.

The noise ε of a cell has a size and a sign. With sd the semantic distance, a the value, r its reference and τ the
candidates, the value is replaced by

- the candidate closest to a among those at least |ε| from it that lie farther from r than a does (ε > 0), or closer
  (ε < 0); ties are broken at random;
- the farthest of them where none is so far: the noise is *truncated*;
- where no candidate lies in that direction at all, a *conflict*, the same among all candidates.

With ``round = "nearest"`` it is the candidate, or the value itself, whose distance comes closest to |ε|. A value with
ε = 0 stays. Every candidate has its place in the sorted row of distances of each distinct value, so a cell costs a
search in that row; cells with the same value and reference are masked together.

The rows take two bytes for each distinct value and each candidate (four from 65,537 candidates on), and as many for
the values of a partner: in a very large ontology declare a root, or take ``candidates = "observed"``.

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
from anonto.errors import NeedsOneOntologyError, NoVarianceError, ParameterError
from anonto.methods import noise_kernels
from anonto.methods.method import RowMethod
from anonto.methods.parameters import choice, number
from anonto.methods.row_masking import RowMasker, without_values
from anonto.rng import row_words
from anonto.rng_kernels import exponentials, laplaces, normals
from anonto.stats.centre import mean_of
from anonto.stats.dependence import spread
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.laws import StepLaw
    from anonto.rng import Key
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Numbers = NDArray[np.integer]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

Distribution = Literal["normal", "laplace"]
Scale = Literal["semantic", "distance"]
Round = Literal["up", "nearest"]
Candidates = Literal["taxonomy", "observed", "leaves"]

ROWS_AT_ONCE, DISTANCES_AT_ONCE = 512, 1 << 22
"""Distance rows that are held at a time, and distances: fewer rows where these are long."""
ROWS_OF_A_THREAD = 32
BYTES_PER_DISTANCE = 32
"""What a distance takes while candidates are put in order."""
SMALL = 1 << 16
"""Up to this many concepts are numbered in half the space."""


# ------------------------------------------------------------------------------------------------ parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseParameters(RowMethod):
    """What every kind of semantic noise can be told."""

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

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """See `BaseMethod`."""
        return {"noise_level": [0.25, 1.0, 4.0]}

    def bytes_to_fit(self, records: Records) -> int:
        """What the candidates of all values take."""
        return bytes_of_levels(records, self.candidates, directed=True)

    def law(
        self, masker: NoiseMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
    ) -> StepLaw:
        """The probabilities of the stretches of noise that lead to each value."""
        from anonto.methods.laws import law_of_noise

        return law_of_noise(masker, prepared, released)

    def require_for_counts(self, number: int, n_columns: int) -> None:
        """Refuse a noise level for each record."""
        if isinstance(self.noise_level, tuple) and len(self.noise_level) != n_columns:
            must = "one number, or one for each column, where a table is attacked from counts"
            raise ParameterError(f"noise_level of step {number}", must, f"{len(self.noise_level):,} numbers")


SMALLEST_RANGE, LARGEST_RANGE = 1e-140, 1e140
"""Numbers that differ by less, or by more, have squares that are lost or endless."""


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLevels:
    """The share α of its variance that noise adds to each column, or to each record."""

    of_columns: Floats
    of_rows: Floats | None = None

    @classmethod
    def of(cls, given: float | tuple[float, ...], n_columns: int, n_rows: int) -> NoiseLevels:
        """One for all, one for each column, or one for each record; of equal lengths the columns go first."""
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
    """Refuse columns whose values have no place in one taxonomy or on one line, or whose noise could not be scaled."""
    for name, attribute in zip(records.names, records.attributes, strict=True):
        if isinstance(attribute, NumericAttribute) and attribute.numbers.size:
            apart = float(attribute.numbers.max() - attribute.numbers.min())
            if apart and not SMALLEST_RANGE < apart < LARGEST_RANGE:
                raise NoVarianceError(name, is_large=apart >= LARGEST_RANGE)
        if records.n_rows and not isinstance(attribute, NominalAttribute | NumericAttribute):
            raise NeedsOneOntologyError(name, method, _ontologies_of(attribute))


def require_concepts(records: Records, method: str) -> None:
    """Refuse columns whose values have no place in one taxonomy."""
    for name, attribute in zip(records.names, records.attributes, strict=True):
        if records.n_rows and not isinstance(attribute, NominalAttribute):
            raise NeedsOneOntologyError(name, method, _ontologies_of(attribute))


def _ontologies_of(attribute: Attribute) -> str:
    if isinstance(attribute, NumericAttribute):
        return "is not nominal"
    return f"has {len(attribute.parts)}" if isinstance(attribute, MeanAttribute) else "has none"


def variance(attribute: Attribute, mean: str | None, scale: Scale) -> float:
    """What noise is measured by: of numbers their sample variance, of concepts the variance that the scale names."""
    if isinstance(attribute, NumericAttribute):
        n = int(attribute.counts.sum())
        if n < 2:
            return 0.0
        centred = attribute.numbers - dot(attribute.counts, attribute.numbers) / n
        return dot(attribute.counts, centred**2) / (n - 1)
    if not isinstance(attribute, NominalAttribute) or mean is None:
        return 0.0
    if scale == "semantic":
        return dot(attribute.shares, attribute.distances_to(mean) ** 2)
    return spread(attribute).variance().root("distance variance")


def mean_concept(attribute: Attribute) -> str | None:
    """The semantic mean of a column of concepts."""
    return mean_of(attribute) if isinstance(attribute, NominalAttribute) else None


# ------------------------------------------------------------------------------------------------ levels of distance


@dataclass(frozen=True, slots=True, eq=False)
class DistanceLevels:
    """For each of some concepts the candidates in the order of their distance, cut where the distance changes.

    Candidates at the same distance stand in the order of their direction from one reference: closer to it than the
    concept, equally far, farther. Behind the last level of a concept stands one at the distance ∞.
    """

    offsets: Longs
    """Where the levels of each concept begin."""
    distances: Floats
    bounds: Codes
    """Levels × 4: where the candidates begin, those end that are closer, those begin that are farther, and all end."""
    members: Numbers
    """Concepts × candidates."""

    @property
    def arrays(self) -> noise_kernels.Levels:
        """As the kernels take them."""
        return self.offsets, self.distances, self.bounds, self.members

    def followed_by(self, other: DistanceLevels) -> DistanceLevels:
        """With further concepts behind."""
        return DistanceLevels(
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.distances, other.distances]),
            np.concatenate([self.bounds, other.bounds]),
            np.concatenate([self.members, other.members]),
        )


def distance_levels(
    attribute: NominalAttribute,
    rows: Codes,
    candidates: Codes,
    from_reference: Numbers | None = None,
    own_ranks: Numbers | None = None,
) -> DistanceLevels:
    """The levels of some values of an attribute.

    Args:
        attribute: With the candidates among its values.
        rows: The values.
        candidates: The codes of the candidates.
        from_reference: For each candidate the rank of its distance to a reference; None for no reference.
        own_ranks: For each row the rank of its own distance to the reference.
    """
    if from_reference is None or own_ranks is None:
        from_reference, own_ranks = np.zeros(candidates.size, np.int32), np.zeros(rows.size, np.int32)
    members = np.empty((rows.size, candidates.size), dtype=_numbers_below(candidates.size))
    n_levels = np.zeros(rows.size, dtype=np.int64)
    distances, bounds = [np.empty(0)], [np.empty((0, 4), dtype=np.int32)]
    for block in slices(0, rows.size, _rows_at_once(candidates.size)):
        ranks, found, n_levels[block] = _ranked(attribute, rows[block], candidates)
        own, n_own, inside = own_ranks[block], n_levels[block], members[block]
        offsets = np.concatenate([[0], np.cumsum(n_own + 1)])
        of_block = np.empty((int(offsets[-1]), 4), dtype=np.int32)
        distances.append(np.concatenate([np.append(row[:n], math.inf) for row, n in zip(found, n_own, strict=True)]))
        bounds.append(of_block)

        def order(part: slice) -> None:
            noise_kernels.order_by_rank(
                ranks[part],  # noqa: B023
                n_own[part],  # noqa: B023
                from_reference,
                own[part],  # noqa: B023
                offsets[part],  # noqa: B023
                of_block,  # noqa: B023
                inside[part],  # noqa: B023
            )

        in_threads(order, slices(0, n_own.size, ROWS_OF_A_THREAD))
    offsets_of_all = np.concatenate([[0], np.cumsum(n_levels + 1)])
    return DistanceLevels(offsets_of_all, np.concatenate(distances), np.concatenate(bounds), members)


def bytes_of_levels(records: Records, candidates: Candidates, *, directed: bool) -> int:
    """What the candidates of all values of each column take, and where noise is directed those of its partner."""
    nominal = [one for one in records.attributes if isinstance(one, NominalAttribute)]
    of_partner = max((one.counts.size for one in nominal), default=0) if directed and len(nominal) > 1 else 0
    needed = 0
    for one in nominal:
        n_candidates = len(candidate_concepts(one, candidates))
        of_member = np.dtype(_numbers_below(n_candidates)).itemsize
        while_ranked = BYTES_PER_DISTANCE * _rows_at_once(n_candidates) * n_candidates
        needed += while_ranked + (one.counts.size + of_partner) * n_candidates * of_member
    return needed


def distance_ranks(attribute: NominalAttribute, rows: Codes, columns: Codes) -> Numbers:
    """For each of some values the others in the order of their distance: equal numbers for equal distances."""
    out = np.empty((rows.size, columns.size), dtype=_numbers_below(columns.size))
    for block in slices(0, rows.size, _rows_at_once(columns.size)):
        out[block], _, _ = _ranked(attribute, rows[block], columns)
    return out


def _rows_at_once(n_columns: int) -> int:
    return min(ROWS_AT_ONCE, max(ROWS_OF_A_THREAD, DISTANCES_AT_ONCE // max(n_columns, 1)))


def _numbers_below(n: int) -> type[np.integer]:
    """The smaller of two types that holds the numbers below n."""
    return np.uint16 if n <= SMALL else np.int32


def _ranked(attribute: NominalAttribute, rows: Codes, columns: Codes) -> tuple[Numbers, Floats, Longs]:
    """Ranks of the distances of some rows, the different distances themselves, and how many each row has."""
    distances = attribute.distances_from(rows)
    ranks = np.empty((rows.size, columns.size), dtype=_numbers_below(columns.size))
    found = np.empty(ranks.shape)
    n_found = np.zeros(rows.size, dtype=np.int64)

    def rank(part: slice) -> None:
        n_found[part] = noise_kernels.rank_distances(distances[part], columns, ranks[part], found[part])

    in_threads(rank, slices(0, rows.size, ROWS_OF_A_THREAD))
    return ranks, found, n_found


# ------------------------------------------------------------------------------------------------ replacement


@dataclass(frozen=True, slots=True, eq=False)
class Replacements:
    """What the values of a column of concepts can become, by distance and by direction from a reference."""

    attribute: NominalAttribute
    """The column as it is."""
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    """The concepts that noise may be directed from or to."""
    released: NominalAttribute
    """The column with all candidates behind its own values."""
    released_codes: Codes
    """For each candidate, and behind them for values that are none, the code in ``released``."""
    levels: DistanceLevels
    directed: noise_kernels.Directed
    """The levels by direction from the first reference."""
    ranks: Numbers
    """References × (candidates, and values that are none)."""
    places: Codes
    """For each value its column in ``ranks``."""

    def replaced(
        self, noise: Floats, words: NDArray[np.uint64], codes: Codes, references: Codes | None, *, nearest: bool
    ) -> tuple[Codes, NDArray[np.uint8]]:
        """The codes of the released values, and what is noted of each cell.

        Args:
            noise: How far each cell moves, and which way.
            words: What decides between concepts at the same distance.
            codes: The values; −1 stays −1.
            references: For each cell the number of its reference; None for the first.
            nearest: Whether the noise is rounded to the nearest concept and not up.
        """
        out = np.empty(codes.size, dtype=np.int32)
        fate = np.empty(codes.size, dtype=np.uint8)
        by_first = noise if references is None else np.where(references == 0, noise, 0.0)
        members, places, released = self.levels.members, self.places, self.released_codes
        noise_kernels.replace_by_first(
            by_first, words, codes, self.directed, members, places, released, nearest, out, fate
        )
        if references is None:
            return out, fate
        order = noise_kernels.order_by_pair(noise, codes, references, places.size, len(self.references))
        cells, notes = np.empty(order.size, dtype=np.int32), np.empty(order.size, dtype=np.uint8)
        noise_kernels.replace_by_pair(
            noise[order],
            words[order],
            codes[order],
            references[order],
            self.levels.arrays,
            self.ranks,
            places,
            released,
            nearest,
            cells,
            notes,
        )
        out[order], fate[order] = cells, notes
        return out, fate


def replacements(
    attribute: NominalAttribute,
    candidates: tuple[str, ...],
    references: tuple[str, ...],
    known: Replacements | None = None,
) -> Replacements:
    """Look up the distances of a column's values to all candidates, and of the candidates to all references.

    Args:
        attribute: The column.
        candidates: What its values may become.
        references: What noise may be directed from or to.
        known: Replacements of the same candidates for some of these values and references, which come first here.
    """
    place_of = {concept: place for place, concept in enumerate(candidates)}
    for concept in attribute.concepts:
        place_of.setdefault(concept, len(place_of))
    released, released_codes = attribute.codes_of(list(place_of))
    everything, codes = released.codes_of([*place_of, *references])
    columns, rows = codes[: len(place_of)], codes[len(place_of) :]
    places = np.array([place_of[concept] for concept in attribute.concepts], dtype=np.int32)
    n_values, n_references = (0, 0) if known is None else (len(known.attribute.concepts), len(known.references))
    if known is None or known.ranks.shape[1] != columns.size:
        ranks = distance_ranks(everything, rows, columns)
    else:
        ranks = np.concatenate([known.ranks, distance_ranks(everything, rows[n_references:], columns)])
    values = np.arange(n_values, len(attribute.concepts), dtype=np.int32)
    levels = distance_levels(
        everything, values, columns[: len(candidates)], ranks[0, : len(candidates)], ranks[0, places[values]]
    )
    if known is not None:
        levels = known.levels.followed_by(levels)
    directed = noise_kernels.directed_lists(levels.arrays)
    return Replacements(attribute, candidates, references, released, released_codes, levels, directed, ranks, places)


def candidate_concepts(attribute: NominalAttribute, candidates: Candidates) -> tuple[str, ...]:
    """What the values of a column may become."""
    domain = attribute.domain
    if candidates == "observed":
        return tuple(dict.fromkeys(attribute.concepts))
    if candidates == "leaves":
        return tuple(domain.ids[n] for n in np.flatnonzero(np.diff(domain.child_offsets) == 0).tolist())
    return domain.ids


# ------------------------------------------------------------------------------------------------ masking


@dataclass(frozen=True, slots=True, eq=False)
class NoisyColumn:
    """A column with what noise needs to know of it."""

    name: str
    attribute: Attribute
    deviation: float
    """The root of the variance that the noise level is a share of."""
    mean: str | None
    """The semantic mean; None for numbers."""
    partner: int | None
    """The column whose value is the reference; None for the semantic mean, and for numbers."""
    extent: float
    """What distances are divided by in the evidence: the range of numbers, 1 for concepts."""
    replacements: Replacements | None
    """None for numbers."""

    def slim(self) -> NoisyColumn:
        """Without the ontology."""
        if self.replacements is None:
            return self
        bare = without_values()
        return replace(
            self, attribute=bare, replacements=replace(self.replacements, attribute=bare, candidates=(), released=bare)
        )

    def references_of(self, columns: Sequence[Codes]) -> Codes | None:
        """For each cell the number of its reference, 0 for the mean where the partner is missing; None for all mean."""
        return None if self.partner is None else np.maximum(columns[self.partner] + np.int32(1), np.int32(0))


@dataclass(frozen=True, slots=True, eq=False)
class NoiseMasker(RowMasker):
    """Adds noise to rows: the same to a row of the same number, whatever rows come with it."""

    columns: tuple[NoisyColumn, ...]
    mixing: Floats | None
    """The root of the matrix of correlations of the noise; None for noise that is independent."""
    levels: NoiseLevels
    distribution: Distribution
    nearest: bool

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns with all candidates behind their own values."""
        return tuple(
            column.attribute if column.replacements is None else column.replacements.released for column in self.columns
        )

    @property
    def shares_work(self) -> bool:
        """Whether rows with the same pair of values are worked on together, so that many at once cost less."""
        return any(column.replacements is not None and column.partner is not None for column in self.columns)

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows: see `RowMasker`."""
        return self.apply_and_count(columns, rows, key)[0]

    def apply_and_count(
        self, columns: Sequence[Codes], rows: Longs, key: Key
    ) -> tuple[list[Codes | Floats], Longs | None]:
        """Mask some rows; and for each column its cells, those that were truncated, and those with a conflict."""
        words = [row_words(key, rows, f"noise of {column.name}") for column in self.columns]
        standard = np.empty((len(words), rows.size))
        direct = laplaces if self.distribution == "laplace" and self.mixing is None else normals
        for place, (first, _) in enumerate(words):
            standard[place] = direct(first)
        if self.distribution == "laplace" and self.mixing is not None:
            standard *= np.sqrt(exponentials(row_words(key, rows, "size of the noise")[0]))
        counts = np.zeros((len(self.columns), 3), dtype=np.int64)
        released = [
            self._masked(place, columns, rows, standard, own[1], counts[place]) for place, own in enumerate(words)
        ]
        return released, counts

    def _masked(
        self,
        place: int,
        columns: Sequence[Codes],
        rows: Longs,
        standard: Floats,
        words: NDArray[np.uint64],
        counts: Longs,
    ) -> Codes | Floats:
        column, codes = self.columns[place], columns[place]
        scale = self.levels.roots(place, rows) * column.deviation
        noise = standard[place] if self.mixing is None else noise_kernels.mixed_noise(standard, self.mixing[place])
        if column.replacements is None:
            numbers = getattr(column.attribute, "numbers", np.empty(0))
            return np.where(codes >= 0, np.append(numbers, np.nan)[codes] + scale * noise, np.nan)
        references = column.references_of(columns)
        if references is not None:
            noise = np.where(references > 0, noise, standard[place])
        released, fate = column.replacements.replaced(scale * noise, words, codes, references, nearest=self.nearest)
        truncated, conflict = fate & noise_kernels.TRUNCATED, fate & noise_kernels.CONFLICT
        counts[:] = np.count_nonzero(codes >= 0), np.count_nonzero(truncated), np.count_nonzero(conflict)
        return released

    def facts(self) -> Mapping[str, Any]:
        """How large the noise was meant to be."""
        targets = {}
        for place, column in enumerate(self.columns):
            deviation = column.deviation / column.extent if column.extent else 0.0
            targets[column.name] = target_rmse(self.levels.mean(place), deviation**2)
        return {"target_rmse": targets}

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:
        """How often the taxonomy was too small for the noise: shares of the cells; 0 where there are none."""
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

    def for_columns(self, attributes: Sequence[Attribute]) -> NoiseMasker:
        """The same noise for columns with further values behind those that are known."""
        known = [column.attribute for column in self.columns]
        if all(one is other for one, other in zip(known, attributes, strict=True)):
            return self
        columns = tuple(
            replace(
                column,
                attribute=attribute,
                replacements=column.replacements and _extended(column.replacements, attribute, column, attributes),
            )
            for column, attribute in zip(self.columns, attributes, strict=True)
        )
        return replace(self, columns=columns)


def target_rmse(noise_level: float, variance_of_column: float) -> float:
    """The root of the mean squared distance that noise would have were there a concept at every distance."""
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
    attribute = records.attributes[place]
    found = None
    if isinstance(attribute, NominalAttribute) and mean is not None:
        references = _references(mean, None if partner is None else records.attributes[partner])
        found = replacements(attribute, candidate_concepts(attribute, candidates), references)
    extent = attribute.scale if isinstance(attribute, NumericAttribute) else 1.0
    return NoisyColumn(records.names[place], attribute, math.sqrt(variance_of_column), mean, partner, extent, found)


def _extended(
    known: Replacements, attribute: Attribute, column: NoisyColumn, attributes: Sequence[Attribute]
) -> Replacements:
    """Replacements for a column with further values, or with further values of its partner."""
    references = _references(column.mean, None if column.partner is None else attributes[column.partner])
    if not isinstance(attribute, NominalAttribute) or (attribute is known.attribute and references == known.references):
        return known
    return replacements(attribute, known.candidates, references, known)


def _references(mean: str | None, partner: Attribute | None) -> tuple[str, ...]:
    """The mean, and behind it the concepts of the partner's values."""
    concepts = partner.concepts if isinstance(partner, NominalAttribute) else ()
    return (mean or "", *concepts)
