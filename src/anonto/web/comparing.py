"""Tasks that set a released column, or a pair of columns, beside the original: counts of groups before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.table.prepare import encode_described, prepare
from anonto.table.series import as_text_series
from anonto.taxonomy.closure import closure
from anonto.web.opening import open_once, plan_in, table_of
from anonto.web.running import IN_ORDER, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute

    Report = Callable[[dict[str, Any]], None]
    Longs = NDArray[np.int64]

GROUPS_OF_ONE = 14
GROUPS_OF_PAIR = 9
MISSING = "missing"
OTHERS = "all others"
NO_CONCEPT = "no concept"


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """A column in groups: the label of each group, and the group of each row before and after."""

    labels: list[str]
    before: Longs
    after: Longs


def compare_column(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """How many records are in each group of a column's values, before and after."""
    del report
    groups = _groups(given, given["column"], int(given.get("depth", 2)), GROUPS_OF_ONE)
    n = len(groups.labels)
    return {
        "labels": groups.labels,
        "before": np.bincount(groups.before, minlength=n).tolist(),
        "after": np.bincount(groups.after, minlength=n).tolist(),
    }


def compare_pair(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """How many records are in each pair of groups of two columns, before and after."""
    del report
    one, other = (_groups(given, name, 2, GROUPS_OF_PAIR) for name in given["columns"])
    n = len(other.labels)
    shape = (len(one.labels), n)
    before = np.bincount(one.before * n + other.before, minlength=shape[0] * n).reshape(shape)
    after = np.bincount(one.after * n + other.after, minlength=shape[0] * n).reshape(shape)
    return {"rows": one.labels, "columns": other.labels, "before": before.tolist(), "after": after.tolist()}


def _groups(given: dict[str, Any], name: str, depth: int, most: int) -> Groups:
    import polars as pl

    folder = Path(given["folder"])
    original = table_of(given).frame[name]
    if (folder / ROWS).exists():
        original = original.gather(np.load(folder / ROWS))
    released = pl.read_parquet(folder / IN_ORDER, columns=[name])[name]
    both = pl.concat([as_text_series(cells).cast(pl.String) for cells in (original, released)])
    description = plan_in(given).description(name)
    kind = description.unmatched
    tolerant = replace(description, missing="keep", unmatched="keep" if kind in {"refuse", "drop"} else kind)
    column = encode_described(name, both, tolerant)
    if not column.values:
        labels, codes = [MISSING], np.zeros(len(both), dtype=np.int64)
    else:
        prepared = prepare(name, column, tolerant, open_once)
        part = _first_part(prepared.attribute)
        if isinstance(part, NumericAttribute) and description.kind == "numeric":
            labels, group_of = _bins(part.numbers, column.counts, most)
        elif isinstance(part, NominalAttribute):
            labels, group_of = _branches(part, prepared.column.counts, depth, most)
        else:
            labels, group_of = _most_frequent(prepared.column.values, prepared.column.counts, most)
        codes, labels = _with_missing(column.codes, prepared.column.codes, group_of, labels)
    return Groups(labels, codes[: len(original)], codes[len(original) :])


def _first_part(attribute: Attribute) -> Attribute:
    return attribute.parts[0] if isinstance(attribute, MeanAttribute) else attribute


def _with_missing(
    all_codes: NDArray[np.int32], codes: NDArray[np.int32], group_of: Longs, labels: list[str]
) -> tuple[Longs, list[str]]:
    """Groups of rows; those without a value, and those without a concept, are groups of their own."""
    rows = np.where(codes >= 0, group_of[np.maximum(codes, 0)] if group_of.size else 0, -1).astype(np.int64)
    for label, here in ((NO_CONCEPT, (codes < 0) & (all_codes >= 0)), (MISSING, all_codes < 0)):
        if here.any():
            rows[here] = len(labels)
            labels = [*labels, label]
    return rows, labels


def _bins(numbers: NDArray[np.float64], counts: Longs, most: int) -> tuple[list[str], Longs]:
    """Bins of equal width; the outermost tenths of a hundred do not stretch them."""
    order = np.argsort(numbers)
    reached = np.cumsum(counts[order]) / max(int(counts.sum()), 1)
    low = numbers[order[int(np.searchsorted(reached, 0.005))]]
    high = numbers[order[min(int(np.searchsorted(reached, 0.995)), numbers.size - 1)]]
    distinct = np.unique(numbers)
    if distinct.size <= most:
        return [_spelt(number) for number in distinct], np.searchsorted(distinct, numbers).astype(np.int64)
    edges = np.linspace(low, high if high > low else low + 1, most + 1)
    if (distinct == np.round(distinct)).all():
        edges = np.unique(np.round(edges))
    group_of = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, edges.size - 2)
    labels = [f"{_spelt(a)} – {_spelt(b)}" for a, b in pairwise(edges)]
    return labels, group_of.astype(np.int64)


def _spelt(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 or number == round(number) else f"{number:.3g}"


def _branches(part: NominalAttribute, counts: Longs, depth: int, most: int) -> tuple[list[str], Longs]:
    """The ancestor of each value at a depth; the value itself where it lies higher."""
    taxonomy = part.domain
    numbers = taxonomy.numbers(part.concepts)
    above = closure(taxonomy, numbers)
    branch = numbers.astype(np.int64)
    for place in range(numbers.size):
        ancestors = above.ancestors[above.offsets[place] : above.offsets[place + 1]]
        at_depth = ancestors[taxonomy.depths[ancestors] == depth]
        if at_depth.size:
            branch[place] = at_depth.min()
    labels_of = {
        number: taxonomy.labels[number] or taxonomy.ids[number] for number in np.unique(branch[: counts.size]).tolist()
    }
    return _largest(branch[: counts.size], counts, labels_of, most)


def _most_frequent(values: tuple[str, ...], counts: Longs, most: int) -> tuple[list[str], Longs]:
    return _largest(np.arange(len(values)), counts, dict(enumerate(values)), most)


def _largest(group: Longs, counts: Longs, labels: dict[int, str], most: int) -> tuple[list[str], Longs]:
    """The largest groups by themselves, the rest as one."""
    distinct, place = np.unique(group, return_inverse=True)
    sizes = np.bincount(place, weights=counts, minlength=distinct.size)
    order = np.argsort(-sizes, kind="stable")
    shown = order[:most] if order.size > most + 1 else order
    rank = np.full(distinct.size, shown.size, dtype=np.int64)
    rank[shown] = np.arange(shown.size)
    names = [labels[int(distinct[number])] for number in shown]
    return [*names, *([OTHERS] if order.size > shown.size else [])], rank[place]
