r"""The S-distance between records of mixed columns.

$$\delta(x, y)^2 = \sum_l \frac{S^2_l\{x, y\}}{S^2_l}$$

For a numeric column the variance of a pair is (x − y)²/2 and that of the column the sample variance; for a nominal one
they are the distance of the pair and the marginality variance. The latter grows with the number of records while a pair
of numbers does not, so that with ``scale="paper"`` a nominal column next to numeric ones counts for almost nothing;
``scale="mean"`` divides it by n − 1 and makes both ratios alike: a pair against a mean pair.

References: Domingo-Ferrer, Sánchez, Rufian-Torrell, Information Sciences 242 (2013), Def. 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import (
    AllMissingError,
    MissingColumnError,
    NotInOrderError,
    NotNumericError,
    ParameterError,
    UnknownKeyError,
)
from anonto.ontology.catalogue import open_ontology
from anonto.table.attributes import nominal_attribute
from anonto.table.columns import encode, encode_present, require_equal_lengths
from anonto.table.frames import column_names, column_of
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SCALES = ("mean", "paper")
KINDS = ("nominal", "ordinal", "numeric")
COLUMN_KEYS = (
    "kind",
    "role",
    "ontology",
    "root",
    "measure",
    "information_content",
    "order",
    "na",
    "missing",
    "unmatched",
)


def record_distances(
    table: Any, plan: Mapping[str, Any], scale: str = "mean", *, records: Sequence[int] | None = None
) -> Floats:
    """Distances between the records of a table, over all columns that the plan names and does not call identifiers.

    Args:
        table: A pandas, polars or pyarrow table, or a mapping of names to columns.
        plan: ``{"columns": {name: {"kind": …, "ontology": …, …}}}`` as in a plan file. An ontology may be a path, a
            listed name, a `Taxonomy`, or a list of these (then the mean of their distances is taken).
        scale: ``"mean"``, or ``"paper"`` for the formula as printed.
        records: Positions of the records to give rows for; by default all.

    Returns:
        A matrix: one row for each chosen record, one column for each record of the table. A pair is compared over the
        columns that both records have, scaled up to all; NaN where they have none in common. A column without
        variance adds nothing.
    """
    if scale not in SCALES:
        raise ParameterError("scale", "'mean' or 'paper'", scale)
    parts = _parts(table, plan, scale)
    require_equal_lengths([part.codes.size for part in parts])
    n = parts[0].codes.size
    rows = np.arange(n) if records is None else np.asarray(records, dtype=np.int64)
    total = np.zeros((rows.size, n))
    compared = np.zeros((rows.size, n), dtype=np.int16)
    for part in parts:
        present = part.codes >= 0
        both = np.logical_and.outer(present[rows], present)
        total += np.where(both, part.pairs[np.ix_(part.codes[rows], part.codes)], 0.0)
        compared += both
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(np.where(compared > 0, total * (len(parts) / compared), np.nan))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One column's share in the squared distance: a number for each pair of distinct values."""

    codes: NDArray[np.int32]
    pairs: Floats


def _parts(table: Any, plan: Mapping[str, Any], scale: str) -> list[_Part]:
    columns = plan.get("columns", {})
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError("plan", "a mapping with 'columns' that names at least one column", "none")
    names = column_names(table)
    parts = []
    for name, description in columns.items():
        if name not in names:
            raise MissingColumnError(name, names)
        for key in description:
            if key not in COLUMN_KEYS:
                raise UnknownKeyError(key, f"Column {name!r} of the plan", COLUMN_KEYS)
        if description.get("role") != "identifier":
            parts.append(_part(name, column_of(table, name), description, scale))
    if not parts:
        raise ParameterError("plan", "a mapping with a column that is no identifier", "identifiers only")
    return parts


def _part(name: str, values: Any, description: Mapping[str, Any], scale: str) -> _Part:
    kind = description.get("kind", "nominal")
    if kind == "nominal":
        return _nominal(name, values, description, scale)
    if kind == "ordinal":
        return _ordinal(name, values, description)
    if kind == "numeric":
        return _numeric(name, values)
    raise ParameterError(f"kind of column {name!r}", f"one of {', '.join(KINDS)}", kind)


def _nominal(name: str, values: Any, description: Mapping[str, Any], scale: str) -> _Part:
    if "ontology" not in description:
        raise ParameterError(f"ontology of column {name!r}", "given for a nominal column", None)
    column = encode_present(values, name)
    options = {key: description[key] for key in ("root", "information_content") if key in description}
    measure = description.get("measure", "wu-palmer")
    attributes = [
        nominal_attribute(column, taxonomy, measure=measure, name=name, **options)
        for taxonomy in _taxonomies(description["ontology"])
    ]
    pairs = np.mean([attribute.distances() for attribute in attributes], axis=0)
    counts = attributes[0].counts
    n = int(counts.sum())
    marginality_variance = float(counts @ pairs @ counts) / n
    variance = marginality_variance if scale == "paper" else marginality_variance / max(n - 1, 1)
    return _Part(column.codes, _ratio(pairs, variance))


def _ordinal(name: str, values: Any, description: Mapping[str, Any]) -> _Part:
    order = description.get("order")
    if isinstance(order, str) or not isinstance(order, Sequence) or len(set(order)) != len(order):
        raise ParameterError(f"order of column {name!r}", "a list of different texts", "something else")
    column = encode_present(values, name)
    rank = {text: position for position, text in enumerate(order)}
    unknown = [value for value in column.values if value not in rank]
    if unknown:
        raise NotInOrderError(unknown, name)
    return _of_numbers(column.codes, np.array([float(rank[value]) for value in column.values]))


def _numeric(name: str, values: Any) -> _Part:
    column = encode(values)
    if not column.values:
        raise AllMissingError(len(column), name)
    numbers = np.array([_number(value) for value in column.values])
    wrong = [v for v, ok in zip(column.values, np.isfinite(numbers), strict=True) if not ok]
    if wrong:
        raise NotNumericError(wrong, name)
    return _of_numbers(column.codes, numbers)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _of_numbers(codes: NDArray[np.int32], numbers: Floats) -> _Part:
    cells = numbers[codes[codes >= 0]]
    variance = float(np.var(cells, ddof=1)) if cells.size > 1 else 0.0
    return _Part(codes, _ratio(np.subtract.outer(numbers, numbers) ** 2 / 2.0, variance))


def _ratio(pairs: Floats, variance: float) -> Floats:
    return pairs / variance if variance > 0 else np.zeros_like(pairs)


def _taxonomies(ontology: Any) -> list[Taxonomy]:
    if isinstance(ontology, Taxonomy):
        return [ontology]
    if isinstance(ontology, list | tuple):
        return [taxonomy for one in ontology for taxonomy in _taxonomies(one)]
    return [open_ontology(ontology)]
