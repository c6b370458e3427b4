r"""The S-distance between records of mixed columns.

$$\delta(x, y)^2 = \sum_l \frac{S^2_l\{x, y\}}{S^2_l}$$

For a numeric column the variance of a pair is (x − y)²/2 and that of the column the sample variance; for a nominal one
they are the distance of the pair and the marginality variance. The latter grows with the number of records while a pair
of numbers does not, so that with ``scale="paper"`` a nominal column next to numeric ones counts for almost nothing;
``scale="mean"`` divides it by n − 1 and makes both ratios alike: a pair against a mean pair.

References: Domingo-Ferrer, Sánchez, Rufian-Torrell, Information Sciences 242 (2013), Def. 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import AllMissingError, MissingColumnError, ParameterError, UnknownKeyError
from anonto.stats.pair_variance import SCALES, numbers_in_pair_units, weight_of_pairs
from anonto.table.attributes import NumericAttribute, TextAttribute
from anonto.table.columns import require_equal_lengths
from anonto.table.description import ColumnDescription
from anonto.table.frames import columns_of
from anonto.table.prepare import encode_described, opener, prepare, rows_that_stay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.prepare import PreparedColumn

    Floats = NDArray[np.float64]

PLAN_KEYS = ("columns", "steps", "table")


def record_distances(
    table: Any, plan: Any, scale: str = "mean", *, records: Sequence[int] | Sequence[bool] | None = None
) -> Floats:
    """Distances between the records of a table, over all columns that the plan names and does not call identifiers.

    Args:
        table: A pandas, polars or pyarrow table, or a mapping of names to columns.
        plan: A plan, or ``{"columns": {name: {"kind": …, "ontology": …, …}}}`` with the keys of a plan file. An
            ontology may be a path, a listed name, a `Taxonomy`, or a list of these (then the mean of their distances
            is taken).
        scale: ``"mean"``, or ``"paper"`` for the formula as printed.
        records: Which records to give rows for, as positions or as a boolean for each record; by default all.

    Returns:
        A matrix: one row for each chosen record, one column for each record of the table. A pair is compared over the
        columns that both records have, scaled up to all; NaN where they have none in common, and for records that a
        policy of the plan drops. A column without variance adds nothing.
    """
    if scale not in SCALES:
        raise ParameterError("scale", "'mean' or 'paper'", scale)
    prepared = _prepared(table, plan)
    n = len(prepared[0].column)
    rows = _rows(records, n)
    total = np.zeros((rows.size, n))
    compared = np.zeros((rows.size, n), dtype=np.int16)
    for one in prepared:
        present = one.column.codes >= 0
        both = np.logical_and.outer(present[rows], present)
        total += np.where(both, _part(one, scale).between(rows), 0.0)
        compared += both
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(np.where(compared > 0, total * (len(prepared) / compared), np.nan))


def _rows(records: Any, n: int) -> NDArray[np.int64]:
    """Positions, from positions or from one boolean for each record."""
    if records is None:
        return np.arange(n)
    rows = np.asarray(records)
    if rows.dtype.kind == "b" and rows.shape == (n,):
        return np.flatnonzero(rows)
    are_positions = rows.ndim == 1 and (rows.dtype.kind in "iu" or not rows.size)
    if not are_positions or (rows.size and (rows.min() < 0 or rows.max() >= n)):
        raise ParameterError("records", f"positions from 0 to {n - 1:,}, or a boolean for each record", "others")
    return rows.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Line:
    """A column of numbers in its share of the squared distance: one number for each record, scaled."""

    numbers: Floats

    def between(self, rows: NDArray[np.int64]) -> Floats:
        return np.asarray(np.subtract.outer(self.numbers[rows], self.numbers) ** 2)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Pairs:
    """Another column in its share of the squared distance: a number for each pair of distinct values."""

    codes: NDArray[np.int32]
    pairs: Floats

    def between(self, rows: NDArray[np.int64]) -> Floats:
        return np.asarray(self.pairs[np.ix_(self.codes[rows], self.codes)])


def _prepared(table: Any, plan: Any) -> list[PreparedColumn]:
    columns = _described_columns(plan)
    descriptions = {name: ColumnDescription.from_mapping(name, given) for name, given in columns.items()}
    descriptions = {name: one for name, one in descriptions.items() if one.role != "identifier"}
    if not descriptions:
        raise ParameterError("plan", "a mapping with a column that is no identifier", "identifiers only")
    cells = columns_of(table)
    for name in descriptions:
        if name not in cells:
            raise MissingColumnError(name, cells)
    encoded = {name: encode_described(name, cells[name], one) for name, one in descriptions.items()}
    require_equal_lengths([len(column) for column in encoded.values()])
    open_once = opener(getattr(plan, "folder", None))
    stays = rows_that_stay(encoded, descriptions.__getitem__, open_once)
    if stays is not None:
        encoded = {name: column.blanked(~stays) for name, column in encoded.items()}
    return [
        prepare(name, encoded[name], one, open_once, range(len(encoded[name]))) for name, one in descriptions.items()
    ]


def _described_columns(plan: Any) -> Mapping[str, Any]:
    described = plan.to_dict() if hasattr(plan, "to_dict") else plan
    if not isinstance(described, Mapping):
        must = "a Plan (a file is read with anonto.Plan.from_toml) or a mapping with 'columns'"
        raise ParameterError("plan", must, type(plan).__name__)
    for key in described:
        if key not in PLAN_KEYS:
            raise UnknownKeyError(str(key), "The plan", PLAN_KEYS)
    columns = described.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError("plan", "a mapping with 'columns' that names at least one column", "none")
    return columns


def _part(prepared: PreparedColumn, scale: str) -> _Line | _Pairs:
    attribute = prepared.attribute
    if not len(prepared.column):
        raise AllMissingError(0, prepared.name)
    if isinstance(attribute, TextAttribute):
        raise ParameterError(f"ontology of column {prepared.name!r}", "given for a nominal column", None)
    codes = prepared.column.codes
    if isinstance(attribute, NumericAttribute):
        return _Line(np.append(numbers_in_pair_units(attribute.numbers, attribute.counts), 0.0)[codes])
    pairs = attribute.distances()
    return _Pairs(codes, pairs * weight_of_pairs(pairs, attribute.counts, scale))
