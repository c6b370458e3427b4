"""Tasks that compare a released column, or a pair of columns, with the original: group counts before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.prepare import encode_described, prepare
from anonto.encoding.series import as_text_series
from anonto.encoding.value_space import NominalSpace, NumericSpace, parts_of
from anonto.masking.unit_rows import sources_of
from anonto.taxonomy.closure import closure
from anonto.web.inputs import elements_of, open_once, plan_in, table_of
from anonto.web.run import IN_ORDER, ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Floats, Ints, Longs
    from anonto.web.inputs import Report

GROUPS_OF_ONE = 14
GROUPS_OF_PAIR = 9
MISSING = "missing"
OTHERS = "all others"
NO_CONCEPT = "no concept"


@dataclass(frozen=True, slots=True, eq=False)
class GroupedColumn:
    """A column in groups: the label of each group, and the group of each row before and after."""

    labels: list[str]
    before: Longs
    after: Longs


def compare_column(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Number of cells in each group of a column's values, before and after; of a set, of its elements."""
    before, after = (_cells_of(given, [given["column"]], is_released=one)[0] for one in (False, True))
    groups = _groups(given, given["column"], (before, after), int(given.get("depth", 2)), GROUPS_OF_ONE)
    n = len(groups.labels)
    return {
        "labels": groups.labels,
        "before": np.bincount(groups.before, minlength=n).tolist(),
        "after": np.bincount(groups.after, minlength=n).tolist(),
    }


def compare_pair(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Number of records in each pair of groups of two columns, before and after."""
    before, after = (_cells_of(given, given["columns"], is_released=one) for one in (False, True))
    one, other = (
        _groups(given, name, (before[place], after[place]), 2, GROUPS_OF_PAIR)
        for place, name in enumerate(given["columns"])
    )
    n = len(other.labels)
    shape = (len(one.labels), n)
    counted = {
        when: np.bincount(a * n + b, minlength=shape[0] * n).reshape(shape).tolist()
        for when, a, b in (("before", one.before, other.before), ("after", one.after, other.after))
    }
    return {"rows": one.labels, "columns": other.labels, **counted}


def _cells_of(given: dict[str, Any], names: Sequence[str], *, is_released: bool) -> list[pl.Series]:
    """The cells of columns in the original or in the release, row by row; a set has a row for each element."""
    import polars as pl

    folder, plan = Path(given["folder"]), plan_in(given)
    if is_released:
        needed = {source: None for name in names for source in sources_of(name, plan.description(name))}
        table = pl.read_parquet(folder / IN_ORDER, columns=list(needed))
    else:
        table = table_of(given).frame
        table = table[np.load(folder / ROWS)] if (folder / ROWS).exists() else table
    frame = pl.DataFrame(
        {
            str(place): elements_of(table, name, plan.sets[name])
            if name in plan.sets
            else as_text_series(table[name]).cast(pl.String)
            for place, name in enumerate(names)
        }
    )
    for place, name in enumerate(names):
        if name in plan.sets:
            frame = frame.explode(str(place))
    return frame.get_columns()


def _groups(
    given: dict[str, Any], name: str, cells: tuple[pl.Series, pl.Series], depth: int, most: int
) -> GroupedColumn:
    import polars as pl

    original, released = cells
    both = pl.concat([original, released])
    description = plan_in(given).description(name)
    if description.kind == "set":
        description = replace(description, kind="nominal", from_columns=(), separator=None)
    kind = description.unmatched
    tolerant = replace(description, missing="keep", unmatched="keep" if kind in {"refuse", "drop"} else kind)
    column = encode_described(name, both, tolerant)
    if not column.values:
        labels, codes = [MISSING], np.zeros(len(both), dtype=np.int64)
    else:
        prepared = prepare(name, column, tolerant, open_once)
        part = parts_of(prepared.value_space)[0]
        if isinstance(part, NumericSpace) and description.kind == "numeric":
            labels, group_of = _bins(part.numbers, column.counts, most)
        elif isinstance(part, NominalSpace):
            labels, group_of = _branches(part, prepared.column.counts, depth, most)
        else:
            labels, group_of = _most_frequent(prepared.column.values, prepared.column.counts, most)
        codes, labels = _with_missing(column.codes, prepared.column.codes, group_of, labels)
    return GroupedColumn(labels, codes[: len(original)], codes[len(original) :])


def _with_missing(all_codes: Ints, codes: Ints, group_of: Longs, labels: list[str]) -> tuple[Longs, list[str]]:
    """GroupedColumn of rows; rows without a value, and rows without a concept, form their own groups."""
    rows = np.where(codes >= 0, group_of[np.maximum(codes, 0)] if group_of.size else 0, -1).astype(np.int64)
    for label, here in ((NO_CONCEPT, (codes < 0) & (all_codes >= 0)), (MISSING, all_codes < 0)):
        if here.any():
            rows[here] = len(labels)
            labels = [*labels, label]
    return rows, labels


def _bins(numbers: Floats, counts: Longs, most: int) -> tuple[list[str], Longs]:
    """Bins of equal width; the lowest and highest 0.5 % of the records do not widen them."""
    order = np.argsort(numbers)
    reached = np.cumsum(counts[order]) / max(int(counts.sum()), 1)
    low = numbers[order[int(np.searchsorted(reached, 0.005))]]
    high = numbers[order[min(int(np.searchsorted(reached, 0.995)), numbers.size - 1)]]
    distinct = np.unique(numbers)
    if distinct.size <= most:
        return [_format_number(number) for number in distinct], np.searchsorted(distinct, numbers).astype(np.int64)
    edges = np.linspace(low, high if high > low else low + 1, most + 1)
    if (distinct == np.round(distinct)).all():
        edges = np.unique(np.round(edges))
    group_of = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, edges.size - 2)
    labels = [f"{_format_number(a)} – {_format_number(b)}" for a, b in pairwise(edges)]
    return labels, group_of.astype(np.int64)


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 or number == round(number) else f"{number:.3g}"


def _branches(part: NominalSpace, counts: Longs, depth: int, most: int) -> tuple[list[str], Longs]:
    """The ancestor of each value at a depth; the value itself if it lies above that depth."""
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
    """The largest groups, and all others as one group."""
    distinct, place = np.unique(group, return_inverse=True)
    sizes = np.bincount(place, weights=counts, minlength=distinct.size)
    order = np.argsort(-sizes, kind="stable")
    shown = order[:most] if order.size > most + 1 else order
    rank = np.full(distinct.size, shown.size, dtype=np.int64)
    rank[shown] = np.arange(shown.size)
    names = [labels[int(distinct[number])] for number in shown]
    return [*names, *([OTHERS] if order.size > shown.size else [])], rank[place]
