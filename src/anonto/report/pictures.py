"""Counts for the charts of an assessed release: how far cells moved, classes, levels, ontologies.

Everything is counted once while the two tables are available; afterwards no cell of them is needed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import count_records as count_rows
from anonto.encoding.records import distinct_rows
from anonto.encoding.value_space import NominalSpace, parts_of
from anonto.report.levels import levels_between
from anonto.utility.cells import cell_distances
from anonto.utility.score import lost_at_random

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


MOVED_BINS = 20
"""Number of bins for distances from 0 to 1; those beyond 1 are in the last."""
CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where the bins of class sizes begin."""


def pictures_of(
    columns: Mapping[str, ComparedColumn],
    steps: Sequence[Sequence[str]],
    known: Sequence[str],
    pairs: Mapping[str, ComparedColumn],
    unchanged: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Everything that the charts of two tables need.

    Args:
        columns: The columns of both tables.
        steps: The columns that each step masks.
        known: Those by which records are put into classes: what an intruder may know.
        pairs: For each masked column its cells before and after.
        unchanged: For each step the number of records that it left as they were, where the rows are not available.
    """
    classes = [columns[name] for name in known]
    if unchanged is None:
        unchanged = [_unchanged_records([columns[name] for name in step]) for step in steps]
    return {
        "columns": {name: _column(pairs[name]) for step in steps for name in step},
        "unchanged_records": list(unchanged),
        "classes": {"columns": list(known), **_classes(classes)} if classes else None,
        "varied": {name: _count_varied(column) for name, column in columns.items()},
        "ontologies": _ontologies(columns),
        "at_random": asdict(lost_at_random(columns, [name for step in steps for name in step])),
    }


def _unchanged_records(columns: Sequence[ComparedColumn]) -> int:
    """Records that mean the same as before in all these columns."""
    return int(np.count_nonzero(np.logical_and.reduce([one.same() for one in columns])))


def _count_varied(column: ComparedColumn) -> int:
    """How many cells of the original differ from the most frequent one."""
    counts = column.counts("original")
    return int(counts.sum() - counts.max(initial=0))


def class_bin(place: int) -> str:
    """The name of a bin of class sizes."""
    if place == len(CLASS_SIZES) - 1:
        return f"{CLASS_SIZES[-1]} or more"
    first, last = CLASS_SIZES[place], CLASS_SIZES[place + 1] - 1
    return str(first) if first == last else f"{first}–{last}"


def moved_bin(place: int, n_bins: int = MOVED_BINS) -> str:
    """The name of a bin of distances."""
    if place == n_bins - 1:
        return f"above {place / n_bins:.2f}"
    return f"{place / n_bins:.2f} – {(place + 1) / n_bins:.2f}"


def _column(column: ComparedColumn) -> dict[str, Any]:
    before, after = column.counts("original"), column.counts("masked")
    moved = ~column.same()
    had_value, amounts = moved & (column.original >= 0), column.amounts.masked
    distances = cell_distances(column, column.original[moved], column.masked[moved])
    # A bin has its upper end: a cell that moved by 0.05 exactly is in the first.
    bins = np.clip(np.ceil(distances * MOVED_BINS - 1e-9).astype(np.int64) - 1, 0, MOVED_BINS - 1)
    return {
        "changed": int(amounts[had_value].sum()),
        "missing": {"before": int(before[-1]), "after": int(after[-1])},
        "moved": count_rows(bins, MOVED_BINS, amounts[moved]).tolist(),
        "median_moved": _median(distances, amounts[moved]) if distances.size else 0.0,
        "same_frequencies": _have_same_frequencies(column),
        "levels": levels_between(column.value_space, before[:-1], after[:-1]),
    }


def _have_same_frequencies(column: ComparedColumn) -> bool:
    """Whether each value has as many records as before or, with weights, as many people up to rounding."""
    before, after = (column.frequencies(which)[:-1] for which in ("original", "masked"))
    if column.weights is None:
        return bool(np.array_equal(before, after))
    return bool(np.allclose(before, after, rtol=1e-9, atol=0.0))


def _median(numbers: Floats, amounts: Longs) -> float:
    """The median of numbers, from how often each occurs."""
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(amounts[order])
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(numbers[order[middle]].mean())


def _classes(columns: Sequence[ComparedColumn]) -> dict[str, Any]:
    """Records in classes of each size, before and after; and the distinct records of the original."""
    found: dict[str, Any] = {}
    for when, which in (("before", "original"), ("after", "masked")):
        sides = [column.side(which) for column in columns]
        codes, number = distinct_rows([own for own, _ in sides])
        sizes = count_rows(number, codes.shape[0], sides[0][1])
        ends = [*CLASS_SIZES[1:], np.inf]
        found[when] = [
            int(sizes[(sizes >= first) & (sizes < end)].sum()) for first, end in zip(CLASS_SIZES, ends, strict=True)
        ]
        found[f"distinct_{when}"] = int(codes.shape[0])
    return found


def _ontologies(columns: Mapping[str, ComparedColumn]) -> list[dict[str, Any]]:
    """The ontologies of all columns, each once, by the hash of their content."""
    found: dict[str, dict[str, Any]] = {}
    for column in columns.values():
        for part in parts_of(column.value_space):
            if isinstance(part, NominalSpace):
                origin = part.space.provenance
                found.setdefault(
                    f"{origin.sha256} {origin.source}",
                    {
                        "name": origin.source,
                        "format": origin.format,
                        "version": origin.version,
                        "concepts": len(part.space),
                        "sha256": origin.sha256,
                    },
                )
    return list(found.values())
