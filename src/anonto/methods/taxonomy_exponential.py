r"""The exponential mechanism over a taxonomy: every value becomes a random concept, near ones more often.

With sd the semantic distance and Δ the largest distance in the column's domain, value a becomes concept c of the
domain, a itself included, with probability

$$\Pr(c) \propto \exp\bigl(-\varepsilon\, sd(c, a) / 2\Delta\bigr)$$

Two values, whatever they are, give each concept with probabilities that differ by a factor of at most $e^\varepsilon$:
local ε-differential privacy of each value. With ``metric = true`` the exponent is $-\varepsilon\, sd(c, a)/2$ and the
factor for two values at distance d is at most $e^{\varepsilon d}$ (metric privacy): values that mean nearly the same
are hard to tell apart, values far apart are not. That needs the triangle inequality, and is refused for a measure that
does not keep it on this taxonomy.

- What is released never depends on the data of others: the concepts are those of the declared domain, so the root
  ``"lcs"`` and information content from the data are refused, and the plan defines the texts of the concepts.
- Missing cells, and cells without a concept, stay as they are: that they are so is not protected.
- ε adds up over the columns of a record, and over releases of the same record.
- Levels are drawn by exact cumulated probabilities, the small ones first, with numbers of 128 bits.
- ε is at most 100: below that the least probability is far above the 2⁻¹²⁸ that draws resolve, so that the factor
  holds up to a relative error of 10⁻¹⁰ in domains of a million concepts.
- In a domain of more than 16,384 concepts Δ is not searched for and taken as 1, which it never exceeds.

References: McSherry, Talwar, Mechanism design via differential privacy, FOCS 2007; Chatzikokolakis, Andrés, Bordenabe,
Palamidessi, Broadening the scope of differential privacy using metrics, PETS 2013.

Step by step: `anonto.methods.plain.taxonomy_exponential`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import exponentials
from anonto.encoding.value_space import NominalSpace
from anonto.errors import PlanError
from anonto.methods import exponential_kernels
from anonto.methods.distance_levels import DistanceLevels, bytes_of_levels, find_levels
from anonto.methods.guarantee import Guarantee, Setting, promise
from anonto.methods.method import RowMethod
from anonto.methods.noise import require_concepts
from anonto.methods.parameters import flag, number
from anonto.methods.row_masking import RowMasker, without_values
from anonto.methods.words import Words
from anonto.random.streams import row_words
from anonto.runtime.threads import slices
from anonto.taxonomy.distance import USE_CONTENT
from anonto.taxonomy.matrix import distance_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.likelihood import MethodLikelihood
    from anonto.random.streams import Key


METRICS = ("ancestor", "jaccard", "equality")
"""Measures that keep the triangle inequality on every taxonomy; the others keep it on trees."""
LARGEST_EPSILON = 100.0
"""Probabilities of e^(−ε/2) must stay far above the last of the 128 bits that levels are drawn with."""
LARGEST_SEARCHED = 1 << 14
"""In domains with more concepts the largest distance is not searched for."""
ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonomyExponential(RowMethod):
    """``epsilon``: above 0, small is private; ``metric``: whether only near values are protected that well."""

    name: ClassVar[str] = "taxonomy-exponential"
    words: ClassVar[Words] = Words(
        title="Draw a similar concept",
        summary="replaces each value by a random concept, near ones more often",
        does=(
            "Replaces every value by a random concept of its ontology, near ones more often, possibly the value itself."
        ),
        columns="nominal with one ontology, each alone",
        keeps="Keeps meaning roughly; frequencies change.",
        proves="local ε, or metric privacy",
        proved="local ε-differential privacy of every value.",
        report=(
            "Each value was replaced by a random concept of its taxonomy, near ones more often than far ones, and "
            "possibly the value itself. The probabilities follow from the value of the record alone, with a "
            "privacy parameter ε of {epsilon}: small values of ε make it hard to tell from a released value what "
            "the true one was."
        ),
    )
    masks_elements: ClassVar[bool] = True
    has_tables: ClassVar[bool] = True
    needs_records: ClassVar[bool] = False
    releases_text: ClassVar[bool] = True
    uses_other_rows: ClassVar[bool] = False
    epsilon: float = field(
        metadata=number(
            "ε – privacy budget",
            "Smaller is more private and loses more. Around 1 is strong, 10 is weak.",
            above=0,
            high=LARGEST_EPSILON,
            start=4,
            offered=(0.1, 50, 0.1),
            sweep=(2.0, 8.0, 20.0),
            is_public=True,
        )
    )
    metric: bool = field(
        default=False, metadata=flag("protect by distance", "Protect near values more than far ones.", is_public=True)
    )

    def fit(self, records: Records, rng: np.random.Generator) -> ExponentialMasker:  # noqa: ARG002
        """Cumulate the probabilities of each value's concepts by their distance."""
        require_concepts(records, self.name)
        columns = []
        for name, value_space in zip(records.names, records.value_spaces, strict=True):
            if not isinstance(value_space, NominalSpace):
                columns.append(DrawnColumn(name, value_space, 0.0, None))
                continue
            self._require_promise(name, value_space)
            sensitivity = 1.0 if self.metric else largest_distance(value_space)
            columns.append(DrawnColumn(name, value_space, sensitivity, _draws(value_space, sensitivity, self.epsilon)))
        return ExponentialMasker(tuple(columns), self.epsilon, self.metric)

    def bytes_to_fit(self, records: Records) -> int:
        """Bytes of the concepts that the values may become."""
        return bytes_of_levels(records, "taxonomy", directed=False)

    def likelihood(
        self, masker: ExponentialMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
    ) -> MethodLikelihood:
        """The probabilities of the mechanism."""
        from anonto.methods.likelihood import exponential_likelihood

        return exponential_likelihood(masker, prepared, released)

    def privacy_loss(self, value_space: ValueSpace, values: Codes, others: Codes) -> Floats:
        """ε between any two different values; with ``metric`` ε times their distance."""
        apart = value_space.distances_from(values)[:, others] if self.metric else np.not_equal.outer(values, others)
        return np.asarray(self.epsilon * apart.astype(np.float64))

    def _require_promise(self, name: str, value_space: NominalSpace) -> None:
        if value_space.root == "lcs":
            instead = "root to 'ontology' or to a concept that is declared"
            raise output_depends_on_data(self.name, name, "root = 'lcs'", instead)
        if value_space.measure in USE_CONTENT and value_space.information_content == "data":
            raise output_depends_on_data(self.name, name, "information_content = 'data'", "it to 'sanchez' or 'seco'")
        if self.metric and not is_metric(value_space):
            raise not_a_metric(name, value_space.measure, value_space.domain.name, METRICS[:2])

    def guarantee(self, setting: Setting) -> Guarantee:
        """Local privacy of each value, by the distance of values if metric."""
        factor = (
            "two values at semantic distance d give each concept of the domain with probabilities that differ by a "
            "factor of at most e^(ε·d)"
            if self.metric
            else "any two values give each concept of the domain with probabilities that differ by a factor of at most "
            "e^ε"
        )
        return promise(
            setting,
            "metric privacy" if self.metric else "local ε-differential privacy",
            f"for each value alone: {factor}; ε adds up over the columns of a record and over releases of it; the "
            "domains are declared and not chosen by the data, and the seed stays secret; that a cell is missing, or "
            "that a record is dropped for a text without a concept, is not protected; the rows may be released in any "
            "order",
            epsilon=float(self.epsilon),
        )


def is_metric(value_space: NominalSpace) -> bool:
    """Return whether the measure keeps the triangle inequality between all concepts of the domain."""
    if value_space.measure in METRICS:
        return True
    space, domain = value_space.space, value_space.domain
    below = [concept for concept in domain.ids if concept not in domain.roots]
    several = np.diff(space.parent_offsets)[space.numbers(below)] > 1
    return not several.any()


def largest_distance(value_space: NominalSpace) -> float:
    """The largest distance of two concepts of the domain; 1 where that would take long to find."""
    domain, space = value_space.domain, value_space.space
    if len(domain) > LARGEST_SEARCHED or len(domain.roots) > 1:
        return 1.0

    def search() -> float:
        numbers, largest = space.numbers(domain.ids), 0.0
        for part in slices(0, numbers.size, ROWS_AT_ONCE):
            block = distance_matrix(
                space,
                numbers[part],
                numbers[part.start :],
                value_space.measure,
                information_content=value_space.information_content,
            )
            largest = max(largest, float(block.max()))
            if largest >= 1.0:
                break
        return largest

    return domain.compute_once(("largest distance", value_space.measure, value_space.information_content), search)


# ------------------------------------------------------------------------------------------------ masking


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Probabilities of the concepts that a column's values become."""

    released: NominalSpace
    """The column with the concepts of its domain after its own values."""
    codes: Codes
    """The code in ``released`` of each concept of the domain."""
    levels: DistanceLevels
    cumulated: Floats
    """The probability of moving at least as far as each level of a value."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnColumn:
    """A column with everything that the mechanism needs."""

    name: str
    value_space: ValueSpace
    sensitivity: float
    """Divisor of distances."""
    draws: Draws | None
    """None for a column of no records."""

    def slim(self) -> DrawnColumn:
        """Without the ontology."""
        bare = without_values()
        return replace(self, value_space=bare, draws=None if self.draws is None else replace(self.draws, released=bare))

    def draw(self, codes: Codes, rows: Longs, key: Key) -> Codes:
        """The released codes of some cells."""
        out = np.full(codes.size, -1, dtype=np.int32)
        if self.draws is None:
            return out
        first, second = row_words(key, rows, f"level of {self.name}")
        picks, _ = row_words(key, rows, f"concept of {self.name}")
        levels = self.draws.levels.arrays
        exponential_kernels.draw_level(first, second, picks, codes, levels, self.draws.cumulated, self.draws.codes, out)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialMasker(RowMasker):
    """Draws a concept for each cell; the draw depends on the number of its row and on no other row."""

    columns: tuple[DrawnColumn, ...]
    epsilon: float
    metric: bool

    @property
    def value_spaces(self) -> tuple[ValueSpace, ...]:
        """The columns with the concepts of their domains after their own values."""
        return tuple(column.value_space if column.draws is None else column.draws.released for column in self.columns)

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows: see `RowMasker`."""
        return [column.draw(codes, rows, key) for column, codes in zip(self.columns, columns, strict=True)]

    def facts(self) -> Mapping[str, Any]:
        """Divisors of the distances, and the ε that adds up over the columns."""
        if self.metric:
            return {}
        return {
            "sensitivity": {column.name: column.sensitivity for column in self.columns},
            "record_epsilon": self.epsilon * len(self.columns),
        }

    def slim(self) -> ExponentialMasker:
        """Without the ontologies."""
        return replace(self, columns=tuple(column.slim() for column in self.columns))

    def for_columns(self, value_spaces: Sequence[ValueSpace]) -> ExponentialMasker:
        """This mechanism for columns with further values after the known ones."""
        columns = tuple(
            replace(column, value_space=value_space, draws=_draws(value_space, column.sensitivity, self.epsilon))
            if isinstance(value_space, NominalSpace) and value_space is not column.value_space
            else column
            for column, value_space in zip(self.columns, value_spaces, strict=True)
        )
        return replace(self, columns=columns)


def _draws(value_space: NominalSpace, sensitivity: float, epsilon: float) -> Draws:
    released, released_codes = value_space.codes_of(value_space.domain.ids)
    levels = find_levels(released, np.arange(value_space.counts.size, dtype=np.int32), released_codes)
    cumulated = np.zeros(levels.distances.size)
    rate = epsilon / (2.0 * sensitivity) if sensitivity else 0.0
    for value in range(value_space.counts.size):
        own = slice(int(levels.offsets[value]), int(levels.offsets[value + 1]) - 1)
        sizes = levels.bounds[own, 3] - levels.bounds[own, 0]
        farther = np.cumsum((sizes * exponentials(-rate * levels.distances[own]))[::-1])[::-1]
        cumulated[own] = farther / farther[0]
    return Draws(released, released_codes, levels, cumulated)


def output_depends_on_data(method: str, column: str, setting: str, instead: str) -> PlanError:
    """A setting under which the possible outputs of a mechanism would reveal the data."""
    return PlanError(
        f"With {setting} in column {column!r} the values that {method} may release would depend on the data, and "
        f"nothing could be guaranteed; set {instead}.",
        settings=("root",),
    )


def not_a_metric(column: str, measure: str, taxonomy: str, metrics: Sequence[str]) -> PlanError:
    """Metric privacy with a measure that violates the triangle inequality."""
    return PlanError(
        f"Metric privacy needs the triangle inequality, which measure {measure!r} of column {column!r} does not "
        f"satisfy on taxonomy {taxonomy!r}, where concepts have several parents; take {' or '.join(metrics)}, or "
        "leave metric out.",
        settings=("measure",),
    )
