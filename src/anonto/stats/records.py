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
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import require_equal_lengths
from anonto.encoding.description import ColumnDescription
from anonto.encoding.frame_adapter import columns_of
from anonto.encoding.prepare import encode_described, opener, prepare, rows_that_stay
from anonto.encoding.refusals import all_missing, unknown_key
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.errors import ParameterError
from anonto.io.table import missing_column
from anonto.stats.pair_variance import SCALES, numbers_in_pair_units, weight_of_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.prepare import PreparedColumn


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
    prepared = _prepare_columns(table, plan)
    n = len(prepared[0].column)
    rows = _rows(records, n)
    total = np.zeros((rows.size, n))
    compared = np.zeros((rows.size, n), dtype=np.int16)
    for one in prepared:
        present = one.column.codes >= 0
        both = np.logical_and.outer(present[rows], present)
        total += np.where(both, _shares_of_distance(one, scale, rows), 0.0)
        compared += both
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(np.where(compared > 0, total * (len(prepared) / compared), np.nan))


def _rows(records: Any, n: int) -> Longs:
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


def _prepare_columns(table: Any, plan: Any) -> list[PreparedColumn]:
    columns = _column_descriptions(plan)
    descriptions = {name: ColumnDescription.from_mapping(name, given) for name, given in columns.items()}
    descriptions = {name: one for name, one in descriptions.items() if not one.is_dropped}
    if not descriptions:
        raise ParameterError("plan", "a mapping with a column that is no identifier", "identifiers only")
    cells = columns_of(table)
    for name in descriptions:
        if name not in cells:
            raise missing_column(name, cells)
    encoded = {name: encode_described(name, cells[name], one) for name, one in descriptions.items()}
    require_equal_lengths([len(column) for column in encoded.values()])
    open_once = opener(getattr(plan, "folder", None))
    stays = rows_that_stay(encoded, descriptions.__getitem__, open_once)
    if stays is not None:
        encoded = {name: column.blank_records(~stays) for name, column in encoded.items()}
    return [
        prepare(name, encoded[name], one, open_once, range(len(encoded[name]))) for name, one in descriptions.items()
    ]


def _column_descriptions(plan: Any) -> Mapping[str, Any]:
    described = plan.to_dict() if hasattr(plan, "to_dict") else plan
    if not isinstance(described, Mapping):
        must = "a Plan (a file is read with anonto.Plan.from_toml) or a mapping with 'columns'"
        raise ParameterError("plan", must, type(plan).__name__)
    for key in described:
        if key not in PLAN_KEYS:
            raise unknown_key(str(key), "The plan", PLAN_KEYS)
    columns = described.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError("plan", "a mapping with 'columns' that names at least one column", "none")
    return columns


def _shares_of_distance(prepared: PreparedColumn, scale: str, rows: Longs) -> Floats:
    """The share of a column in the squared distance of some rows to all records."""
    value_space = prepared.value_space
    if not len(prepared.column):
        raise all_missing(0, prepared.name)
    if isinstance(value_space, TextSpace):
        raise ParameterError(f"ontology of column {prepared.name!r}", "given for a nominal column", None)
    codes = prepared.column.codes
    if isinstance(value_space, NumericSpace):
        numbers = np.append(numbers_in_pair_units(value_space.numbers, value_space.counts), 0.0)[codes]
        return np.asarray(np.subtract.outer(numbers[rows], numbers) ** 2)
    distances = value_space.distances()
    weighted = distances * weight_of_pairs(distances, value_space.counts, scale)
    return np.asarray(weighted[np.ix_(codes[rows], codes)])
