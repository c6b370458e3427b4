"""A column as it was before it was recoded, beside its released cells, so that losses count what recoding took."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.encoding.columns import MISSING, Column
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.prefixes import prefix_taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Longs
    from anonto.encoding.comparison import ComparedColumn
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener
    from anonto.masking.recoding import RecodedColumn


def compare_before_recoding(
    recoded: RecodedColumn, original: Column, compared: ComparedColumn, rows: Longs, open_once: Opener
) -> ComparedColumn:
    """The cells before recoding and after masking, in one space: a band is its middle, a text is below its prefix.

    Args:
        recoded: What its values became.
        original: The column before.
        compared: The recoded column and the release.
        rows: The row of the original of each released row.
        open_once: Opens its ontologies.
    """
    description = recoded.given
    before = Column(original.values, original.codes[rows])
    masked = Column(compared.values, compared.masked)
    if description.recode is not None and description.recode.has_labels:
        numbers = {label: f"{number:.15g}" for label, number in description.recode.label_numbers.items()}
        ranges = _ranges(masked.values, recoded.recoded.description.order, numbers)
        masked = _renamed(masked, numbers | ranges)
    cells = BothCells(before, masked, (_texts(before), _texts(masked)))
    own = _with_prefixes(description, recoded, masked)
    tolerant = replace(own, recode=None, missing="keep", na=description.na)
    return compare_column(compared.name, cells, tolerant, open_once, compared.amounts, compared.weights)


def _with_prefixes(description: ColumnDescription, recoded: RecodedColumn, masked: Column) -> ColumnDescription:
    """The description of a column whose texts are in a hierarchy of their prefixes; of others their own."""
    recode, found = description.recode, recoded.recoded
    if recode is None or recode.prefix is None:
        return description
    new = found.cells.texts
    released = [
        value if place == MISSING else new[place]
        for value, place in zip(found.values, found.places.tolist(), strict=True)
    ]
    values = dict.fromkeys([*found.values, *masked.values])
    prefixes = dict(zip(found.values, released, strict=True))
    taxonomy = prefix_taxonomy(list(values), [prefixes.get(value, value) for value in values], recode.prefix)
    return replace(description, ontology=taxonomy, unmatched="keep")


def _ranges(texts: Sequence[str], order: Sequence[str], numbers: Mapping[str, str]) -> dict[str, str]:
    """Released lists of neighbours such as ``{40, 50+}`` as the interval of their numbers."""
    found = {}
    for text in texts:
        low = max((one for one in order if text.startswith(f"{{{one}, ")), key=len, default=None)
        high = max((one for one in order if text.endswith(f", {one}}}")), key=len, default=None)
        if low is not None and high is not None:
            found[text] = f"[{numbers.get(low, low)}, {numbers.get(high, high)}]"
    return found


def _renamed(column: Column, names: dict[str, str]) -> Column:
    """A column in which some values have another text; values with the same text become one."""
    texts = [names.get(value, value) for value in column.values]
    values = tuple(sorted(set(texts)))
    place = {text: number for number, text in enumerate(values)}
    codes = np.array([*(place[text] for text in texts), MISSING], dtype=np.int32)
    return Column(values, codes[column.codes])


def _texts(column: Column) -> pl.Series:
    codes = pl.Series(column.codes)
    return pl.Series(column.values, dtype=pl.String).gather(codes.set(codes < 0, None))
