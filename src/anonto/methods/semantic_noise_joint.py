r"""Semantic noise on several columns together: correlated as the columns are, each directed by the value of another.

The noise of a record is one draw with covariance α·Σ, where Σ has the distance variances and covariances of the
nominal columns (``scale = "semantic"``: their semantic variances, with the distance correlations). Its sign says
whether a value moves away from the original value of its partner, the nominal column that it is most correlated with,
or towards it. Both are distances in one taxonomy, so partners must have the same ontology and the same root.

- Numbers and ranks take their part of the same draw: their sample variance in Σ, Pearson's correlation with numbers and
  the distance correlation with nominal columns.
- ``pairing = "joint"``: one Σ for all columns. From three columns on it may be slightly indefinite; negative
  eigenvalues become 0 and the variances are set right again. ``"disjoint"``: columns in pairs, the most correlated
  first, and noise of different pairs independent; of an odd number one is left alone.
- A nominal column without a nominal partner, and a cell whose partner is missing, are directed by the semantic mean of
  the column; the noise of such a cell is independent.
- ``distribution = "laplace"``: √E · N(0, αΣ) with E exponential, which has Laplace margins.
- ``noise_level``, ``round``, ``candidates``: as in `semantic-noise`. No guarantee is proved.

The distance variance is a distance and not a square of one, so its noise may be far larger or smaller than that of
`semantic-noise`: compare the two with the same ``scale``.

Reference: Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016.
Departures: more than two columns, numbers, missing cells and Laplace noise are not in it.

Step by step: `anonto.methods.plain.semantic_noise_joint`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.arithmetic import dot, symmetric_root
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.errors import PlanError
from anonto.methods import noise_kernels
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
from anonto.methods.semantic_noise import SemanticNoise
from anonto.methods.words import Words
from anonto.stats.contingency import DENSE_CELLS, SPARSE_IF_FEWER
from anonto.stats.dependence import Spread, Squared, TwoColumns, mean_differences
from anonto.wording import quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.records import Records


Pairing = Literal["joint", "disjoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticNoiseJoint(NoiseParameters):
    """``noise_level`` with ``distribution``, ``scale``, ``round``, ``candidates`` and ``pairing``."""

    name: ClassVar[str] = "semantic-noise-joint"
    masks_elements: ClassVar[bool] = True
    words: ClassVar[Words] = Words(
        title="Noise by meaning, together",
        summary="replaces values as `semantic-noise` does, with noise that is correlated as the columns are",
        does="Replaces values like semantic-noise, but with noise that is correlated as the columns are.",
        columns="nominal in one taxonomy, ordinal, numeric; together",
        keeps="Keeps relations between the columns better.",
        report=(
            "Each value was replaced by another one of the same taxonomy, about as far away in meaning as a "
            "random number said; numbers had a random number added. The random numbers of a record are "
            "correlated as its columns are, so that relations between the columns are kept better than "
            "if each were changed alone. Values that no record had may occur now."
        ),
    )
    scale: Scale = field(
        default="distance",
        metadata=choice(
            ("distance", "semantic"), "scale of distances", "How the distances of columns are made comparable."
        ),
    )
    pairing: Pairing = field(
        default="joint",
        metadata=choice(
            ("joint", "disjoint"), "noise of pairs", "“joint”: all columns together; “disjoint”: in pairs."
        ),
    )

    def fit(self, records: Records, rng: np.random.Generator) -> NoiseMasker:  # noqa: ARG002
        """Measure the columns and their correlations, choose partners and sort the distances of the values."""
        require_meaning(records, self.name)
        comparable = _comparable(records)
        levels = NoiseLevels.of(self.noise_level, len(records.names), records.n_rows)
        together = correlations(records)
        if self.pairing == "disjoint":
            pairs = match_columns(together, comparable)
            together, comparable = (
                np.where(pairs | np.eye(len(together), dtype=bool), together, 0.0),
                comparable & pairs,
            )
        columns = []
        for place, value_space in enumerate(records.value_spaces):
            mean, partner = mean_concept(value_space), partner_of(place, together, comparable)
            of_column = variance(value_space, mean, self.scale)
            columns.append(noisy_column(records, place, partner, mean, of_column, self.candidates))
        return NoiseMasker(tuple(columns), root_of(together), levels, self.distribution, self.round == "nearest")


# ------------------------------------------------------------------------------------------------ partners


def _comparable(records: Records) -> Bools:
    """Find the columns that are nominal and in one taxonomy; a nominal column that is so with no other is refused."""
    n = len(records.names)
    same = np.zeros((n, n), dtype=np.bool_)
    nominal = [place for place, one in enumerate(records.value_spaces) if isinstance(one, NominalSpace)]
    for a, b in combinations(nominal, 2):
        same[a, b] = same[b, a] = _same_domain(records.value_spaces[a], records.value_spaces[b])
    if len(nominal) > 1 and not same[nominal].any(axis=1).all():
        names = [records.names[place] for place in nominal]
        raise different_taxonomies(names, SemanticNoiseJoint.name, SemanticNoise.name)
    return same


def _same_domain(a: Any, b: Any) -> bool:
    one, other = a.domain, b.domain
    return one is other or (
        one.ids == other.ids
        and np.array_equal(one.parent_offsets, other.parent_offsets)
        and np.array_equal(one.parent_indices, other.parent_indices)
    )


def partner_of(place: int, together: Floats, comparable: Bools) -> int | None:
    """The comparable column that a column is most correlated with."""
    others = np.flatnonzero(comparable[place])
    return int(others[np.argmax(together[place, others])]) if others.size else None


def match_columns(together: Floats, comparable: Bools) -> Bools:
    """Pairs of columns, the most correlated first, then of the rest; nominal ones only where they are comparable."""
    nominal: Bools = np.asarray(comparable.any(axis=1))
    pairs = [
        (a, b) for a, b in combinations(range(len(together)), 2) if comparable[a, b] or not (nominal[a] and nominal[b])
    ]
    out, free = np.zeros(together.shape, dtype=np.bool_), set(range(len(together)))
    for a, b in sorted(pairs, key=lambda pair: -abs(float(together[pair]))):
        if a in free and b in free:
            free -= {a, b}
            out[a, b] = out[b, a] = True
    return out


def root_of(together: Floats) -> Floats:
    """The symmetric root of correlations, without negative eigenvalues and with the variances that they change."""
    root = symmetric_root(together)
    return np.asarray(root / np.sqrt((root**2).sum(axis=1))[:, None])


# ------------------------------------------------------------------------------------------------ correlations


def correlations(records: Records) -> Floats:
    """Between nominal columns, and with numbers, the distance correlation; between numbers Pearson's."""
    n = len(records.names)
    out = np.eye(n)
    distances = {
        place: one.distances() for place, one in enumerate(records.value_spaces) if isinstance(one, NominalSpace)
    }
    for a, b in combinations(range(n), 2):
        both = _both_present(records, a, b)
        if both is None:
            continue
        if a in distances and b in distances:
            out[a, b] = _of_concepts(distances[a], distances[b], *both)
        elif a in distances or b in distances:
            codes = both if a in distances else (both[1], both[0], both[2])
            nominal, numeric = (a, b) if a in distances else (b, a)
            out[a, b] = _of_concepts_and_numbers(distances[nominal], _numbers(records, numeric), *codes)
        else:
            out[a, b] = _of_numbers(_numbers(records, a)[both[0]], _numbers(records, b)[both[1]], both[2])
        out[b, a] = out[a, b]
    return out


def _both_present(records: Records, a: int, b: int) -> tuple[Codes, Codes, Longs] | None:
    """The values of the records that have both, and how many rows have each; None for none."""
    present = (records.codes[:, a] >= 0) & (records.codes[:, b] >= 0)
    if not present.any():
        return None
    return records.codes[present, a], records.codes[present, b], records.counts[present]


def _numbers(records: Records, place: int) -> Floats:
    """The numbers of a column moved and divided so that they lie between 0 and 1: correlations stay."""
    value_space = records.value_spaces[place]
    if not isinstance(value_space, NumericSpace):
        return np.zeros(value_space.counts.size)
    scale = value_space.scale
    return (value_space.numbers - value_space.numbers.min()) / scale if scale else np.zeros(value_space.numbers.size)


def _of_concepts(of_a: Floats, of_b: Floats, a: Codes, b: Codes, counts: Longs) -> float:
    from scipy.sparse import coo_array

    n, shares = int(counts.sum()), counts / counts.sum()
    shape = (of_a.shape[0], of_b.shape[0])
    table = coo_array((shares, (a, b)), shape=shape).tocsr()
    cells = shape[0] * shape[1]
    both = TwoColumns(
        Spread.of(of_a, _margin(a, shares, shape[0]), n),
        Spread.of(of_b, _margin(b, shares, shape[1]), n),
        table.toarray() if cells <= DENSE_CELLS and counts.size * SPARSE_IF_FEWER > cells else table,
    )
    return _correlation(both.covariance(), both.a.variance(), both.b.variance())


def _of_concepts_and_numbers(distances: Floats, numbers: Floats, a: Codes, b: Codes, counts: Longs) -> float:
    n = int(counts.sum())
    order = np.argsort(numbers[b], kind="stable")
    a, x, shares = a[order], numbers[b][order], counts[order] / n
    spread = Spread.of(distances, _margin(a, shares, distances.shape[0]), n)
    row_means = mean_differences(x, shares)
    mean = dot(shares, row_means)
    square = 2.0 * dot(shares, (x - dot(shares, x)) ** 2)
    product = noise_kernels.mean_product_with_numbers(distances, a, x, shares)
    of_rows = dot(shares, spread.row_means[a] * row_means)
    return _correlation(
        Squared.of_means(product, spread.mean * mean, of_rows, n),
        spread.variance(),
        Squared.of_means(square, mean**2, dot(shares, row_means**2), n),
    )


def _margin(codes: Codes, shares: Floats, n_values: int) -> Floats:
    """The share of each value."""
    return np.bincount(codes, weights=shares, minlength=n_values).astype(np.float64)


def _of_numbers(x: Floats, y: Floats, counts: Longs) -> float:
    shares = counts / counts.sum()
    x, y = x - dot(shares, x), y - dot(shares, y)
    scale = math.sqrt(dot(shares, x**2) * dot(shares, y**2))
    return float(np.clip(dot(shares, x * y) / scale, -1.0, 1.0)) if scale else 0.0


def _correlation(covariance: Squared, of_a: Squared, of_b: Squared) -> float:
    variances = of_a.root("distance variance") * of_b.root("distance variance")
    return min(1.0, covariance.root("distance covariance") / math.sqrt(variances)) if variances else 0.0


def different_taxonomies(columns: Sequence[str], method: str, instead: str) -> PlanError:
    """Columns whose concepts cannot be compared with each other."""
    return PlanError(
        f"{method} takes the value of one nominal column as the reference for another, but the domains of "
        f"{quote_names(columns)} are different taxonomies; give them the same ontology and the same root, or mask them "
        f"with {instead}.",
        settings=("ontology",),
    )
