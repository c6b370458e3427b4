r"""The exponential mechanism over a taxonomy: every value is drawn anew, near concepts more often than far ones.

With sd the semantic distance and Δ the largest distance in the column's domain, value a becomes concept c of the
domain, a itself included, with probability

$$\Pr(c) \propto \exp\bigl(-\varepsilon\, sd(c, a) / 2\Delta\bigr)$$

Two values, whatever they are, give each concept with probabilities that differ by a factor of at most $e^\varepsilon$:
local ε-differential privacy of each value. With ``metric = true`` the exponent is $-\varepsilon\, sd(c, a)/2$ and the
factor for two values at distance d is at most $e^{\varepsilon d}$ (metric privacy): values that mean nearly the same
are hard to tell apart, values far apart are not. That needs the triangle inequality, and is refused for a measure that
does not keep it on this taxonomy.

- What is released never depends on the data of others: the concepts are those of the declared domain, so the root
  ``"lcs"`` and information content from the data are refused, and the plan says how concepts are spelt.
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

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import exponentials
from anonto.errors import DependsOnDataError, NotAMetricError
from anonto.methods import noise_kernels
from anonto.methods.guarantee import Guarantee, Setting, promised
from anonto.methods.method import RowMethod
from anonto.methods.noise import DistanceLevels, bytes_of_levels, distance_levels, require_concepts
from anonto.methods.parameters import flag, number
from anonto.methods.row_masking import RowMasker, without_values
from anonto.methods.words import Words
from anonto.rng import row_words
from anonto.table.attributes import NominalAttribute
from anonto.taxonomy.distance import USE_CONTENT
from anonto.taxonomy.matrix import distance_matrix
from anonto.threads import slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.laws import StepLaw
    from anonto.rng import Key
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

METRICS = ("ancestor", "jaccard", "equality")
"""Measures that keep the triangle inequality on every taxonomy; the others keep it on trees."""
LARGEST_EPSILON = 100.0
"""Probabilities of e^(−ε/2) must stay far above the last of the 128 bits that levels are drawn with."""
LARGEST_SEARCHED = 1 << 14
"""In domains with more concepts the largest distance is not searched for."""
ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonomyExponential(RowMethod):
    """``epsilon``: above 0, small is private; ``metric``: whether near values alone are protected so well."""

    name: ClassVar[str] = "taxonomy-exponential"
    words: ClassVar[Words] = Words(
        title="Draw a similar concept",
        summary="draws each value anew, near concepts more often",
        does=(
            "Draws every value anew from its ontology, near concepts more often than far ones, and possibly the same."
        ),
        columns="nominal with one ontology, each alone",
        keeps="Keeps meaning roughly; frequencies change.",
        proves="local ε, or metric privacy",
        proved="local ε-differential privacy of every value.",
        report=(
            "Each value was drawn anew by chance from all concepts of its taxonomy, near ones more often than far"
            " ones, and possibly the value itself. The chances follow from the value of the record alone, with a "
            "privacy parameter ε of {epsilon}: small values of ε make it hard to tell from a released value what "
            "the true one was."
        ),
    )
    has_tables: ClassVar[bool] = True
    needs_records: ClassVar[bool] = False
    releases_text: ClassVar[bool] = True
    epsilon: float = field(
        metadata=number(
            "ε – privacy budget",
            "Smaller is more private and loses more. Around 1 is strong, 10 is weak.",
            above=0,
            high=LARGEST_EPSILON,
            start=4,
            offered=(0.1, 50, 0.1),
            is_public=True,
        )
    )
    metric: bool = field(
        default=False, metadata=flag("protect by distance", "Protect near values more than far ones.", is_public=True)
    )

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """See `BaseMethod`."""
        return {"epsilon": [2.0, 8.0, 20.0]}

    def fit(self, records: Records, rng: np.random.Generator) -> ExponentialMasker:  # noqa: ARG002
        """Cumulate the probabilities of each value's concepts by their distance."""
        require_concepts(records, self.name)
        columns = []
        for name, attribute in zip(records.names, records.attributes, strict=True):
            if not isinstance(attribute, NominalAttribute):
                columns.append(DrawnColumn(name, attribute, 0.0, None))
                continue
            self._require_promise(name, attribute)
            sensitivity = 1.0 if self.metric else largest_distance(attribute)
            columns.append(DrawnColumn(name, attribute, sensitivity, _draws(attribute, sensitivity, self.epsilon)))
        return ExponentialMasker(tuple(columns), self.epsilon, self.metric)

    def bytes_to_fit(self, records: Records) -> int:
        """What the concepts that the values may become take."""
        return bytes_of_levels(records, "taxonomy", directed=False)

    def law(
        self, masker: ExponentialMasker, prepared: Sequence[PreparedColumn], released: Sequence[Sequence[str] | Floats]
    ) -> StepLaw:
        """The probabilities of the mechanism."""
        from anonto.methods.laws import law_of_draws

        return law_of_draws(masker, prepared, released)

    def privacy_loss(self, attribute: Attribute, values: Codes, others: Codes) -> Floats:
        """ε between any two different values; with ``metric`` ε times their distance."""
        apart = attribute.distances_from(values)[:, others] if self.metric else np.not_equal.outer(values, others)
        return np.asarray(self.epsilon * apart.astype(np.float64))

    def _require_promise(self, name: str, attribute: NominalAttribute) -> None:
        if attribute.root == "lcs":
            instead = "root to 'ontology' or to a concept that is declared"
            raise DependsOnDataError(self.name, name, "root = 'lcs'", instead)
        if attribute.measure in USE_CONTENT and attribute.information_content == "data":
            raise DependsOnDataError(self.name, name, "information_content = 'data'", "it to 'sanchez' or 'seco'")
        if self.metric and not is_metric(attribute):
            raise NotAMetricError(name, attribute.measure, attribute.domain.name, METRICS[:2])

    def guarantee(self, setting: Setting) -> Guarantee:
        """Local privacy of each value, by the distance of values if metric."""
        factor = (
            "two values at semantic distance d give each concept of the domain with probabilities that differ by a "
            "factor of at most e^(ε·d)"
            if self.metric
            else "any two values give each concept of the domain with probabilities that differ by a factor of at most "
            "e^ε"
        )
        return promised(
            setting,
            "metric privacy" if self.metric else "local ε-differential privacy",
            f"for each value alone: {factor}; ε adds up over the columns of a record and over releases of it; the "
            "domains are declared and not chosen by the data, and the seed stays secret; that a cell is missing, or "
            "that a record is dropped for a text without a concept, is not protected; the rows may leave in any order",
            epsilon=float(self.epsilon),
        )


def is_metric(attribute: NominalAttribute) -> bool:
    """Whether the measure keeps the triangle inequality between all concepts of the domain."""
    if attribute.measure in METRICS:
        return True
    space, domain = attribute.space, attribute.domain
    below = [concept for concept in domain.ids if concept not in domain.roots]
    several = np.diff(space.parent_offsets)[space.numbers(below)] > 1
    return not several.any()


def largest_distance(attribute: NominalAttribute) -> float:
    """The largest distance of two concepts of the domain; 1 where that would take long to find."""
    domain, space = attribute.domain, attribute.space
    if len(domain) > LARGEST_SEARCHED or len(domain.roots) > 1:
        return 1.0

    def search() -> float:
        numbers, largest = space.numbers(domain.ids), 0.0
        for part in slices(0, numbers.size, ROWS_AT_ONCE):
            block = distance_matrix(
                space,
                numbers[part],
                numbers[part.start :],
                attribute.measure,
                information_content=attribute.information_content,
            )
            largest = max(largest, float(block.max()))
            if largest >= 1.0:
                break
        return largest

    return domain.remembered(("largest distance", attribute.measure, attribute.information_content), search)


# ------------------------------------------------------------------------------------------------ masking


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The probabilities of what the values of a column become."""

    released: NominalAttribute
    """The column with concepts of its domain behind its own values."""
    codes: Codes
    """For each concept of the domain its code in ``released``."""
    levels: DistanceLevels
    cumulated: Floats
    """For each level of a value the probability to move at least so far."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnColumn:
    """A column with what the mechanism needs to know of it."""

    name: str
    attribute: Attribute
    sensitivity: float
    """What distances are divided by."""
    draws: Draws | None
    """None for a column of no records."""

    def slim(self) -> DrawnColumn:
        """Without the ontology."""
        bare = without_values()
        return replace(self, attribute=bare, draws=None if self.draws is None else replace(self.draws, released=bare))

    def drawn(self, codes: Codes, rows: Longs, key: Key) -> Codes:
        """The released codes of some cells."""
        out = np.full(codes.size, -1, dtype=np.int32)
        if self.draws is None:
            return out
        first, second = row_words(key, rows, f"level of {self.name}")
        picks, _ = row_words(key, rows, f"concept of {self.name}")
        levels = self.draws.levels.arrays
        noise_kernels.draw_level(first, second, picks, codes, levels, self.draws.cumulated, self.draws.codes, out)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialMasker(RowMasker):
    """Draws a concept for each cell: the same in a row of the same number, whatever rows come with it."""

    columns: tuple[DrawnColumn, ...]
    epsilon: float
    metric: bool

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns with the concepts of their domains behind their own values."""
        return tuple(column.attribute if column.draws is None else column.draws.released for column in self.columns)

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows: see `RowMasker`."""
        return [column.drawn(codes, rows, key) for column, codes in zip(self.columns, columns, strict=True)]

    def facts(self) -> Mapping[str, Any]:
        """What distances were divided by, and what adds up over the columns."""
        if self.metric:
            return {}
        return {
            "sensitivity": {column.name: column.sensitivity for column in self.columns},
            "record_epsilon": self.epsilon * len(self.columns),
        }

    def slim(self) -> ExponentialMasker:
        """Without the ontologies."""
        return replace(self, columns=tuple(column.slim() for column in self.columns))

    def for_columns(self, attributes: Sequence[Attribute]) -> ExponentialMasker:
        """The same mechanism for columns with further values behind those that are known."""
        columns = tuple(
            replace(column, attribute=attribute, draws=_draws(attribute, column.sensitivity, self.epsilon))
            if isinstance(attribute, NominalAttribute) and attribute is not column.attribute
            else column
            for column, attribute in zip(self.columns, attributes, strict=True)
        )
        return replace(self, columns=columns)


def _draws(attribute: NominalAttribute, sensitivity: float, epsilon: float) -> Draws:
    released, released_codes = attribute.codes_of(attribute.domain.ids)
    levels = distance_levels(released, np.arange(attribute.counts.size, dtype=np.int32), released_codes)
    cumulated = np.zeros(levels.distances.size)
    rate = epsilon / (2.0 * sensitivity) if sensitivity else 0.0
    for value in range(attribute.counts.size):
        own = slice(int(levels.offsets[value]), int(levels.offsets[value + 1]) - 1)
        sizes = levels.bounds[own, 3] - levels.bounds[own, 0]
        farther = np.cumsum((sizes * exponentials(-rate * levels.distances[own]))[::-1])[::-1]
        cumulated[own] = farther / farther[0]
    return Draws(released, released_codes, levels, cumulated)
