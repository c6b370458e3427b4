"""The labels of SPSS and Stata files that a release may carry: those of columns and values that it still has.

Notes and the label of the file are left behind: they are free text about the original. So are the formats and widths of
texts, which tell how long the longest original text was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonto.table.table import Labels, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


def released_origin(origin: Origin | None, frame: pl.DataFrame) -> Origin:
    """Where a released table came from, with the labels that it may carry."""
    if origin is None:
        return Origin(name="table", format="memory")
    return origin if origin.labels is None else replace(origin, labels=released_labels(origin.labels, frame))


def released_labels(labels: Labels, frame: pl.DataFrame) -> Labels:
    """The labels of columns of a table and of the values in its cells."""
    import polars as pl

    about = {*labels.value_labels, *labels.missing_codes}
    cells = {name: set(frame[name].unique().to_list()) for name in about if name in frame.columns}
    numbers = {name for name, dtype in frame.schema.items() if dtype != pl.String}
    values = {
        name: {value: label for value, label in of.items() if value in cells[name]}
        for name, of in labels.value_labels.items()
        if name in cells
    }
    codes = {
        name: tuple(code for code in of if code in cells[name])
        for name, of in labels.missing_codes.items()
        if name in cells
    }
    ranges = {
        name: tuple(span for span in of if frame[name].is_between(*span).any())
        for name, of in labels.missing_ranges.items()
        if name in numbers and frame.schema[name].is_numeric()
    }
    return Labels(
        column_labels=_of(frame.columns, labels.column_labels),
        value_labels=_present(values),
        missing_codes=_present(codes),
        missing_ranges=_present(ranges),
        measures=_of(frame.columns, labels.measures),
        formats=_of(numbers, labels.formats),
        display_widths=_of(numbers, labels.display_widths),
    )


def _of(names: Any, by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in by_name.items() if name in names}


def _present(by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in by_name.items() if said}
