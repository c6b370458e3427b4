"""The strata of a step, found from counts.

Cells are compared as they are written and released: texts that mean missing are cells like any other, and so are the
different codes of missing cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.record_counts import RecordIndex
from anonto.methods.strata import Strata, assign_strata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Codes
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.masking.plan_sections import Step
    from anonto.masking.protocol import CountingEngine


def find_strata(engine: CountingEngine, counted: Mapping[str, ValueDictionary], step: Step) -> Strata:
    """Count the combinations of cells, in their order, and give each a stratum."""
    maps = tuple(_codes_in_order(counted[name]) for name in step.within)
    records = engine.count_records(step.within, maps)
    assigned = assign_strata(records.counts, step.method.least_rows, step.small_strata)
    return Strata(step.within, maps, RecordIndex.of(records.codes), assigned)


def _codes_in_order(column: ValueDictionary) -> Codes:
    """The place of each raw code, and last of a null, in the order of texts, then of codes of missing cells."""
    values = column.column().values
    codes = column.places_in(values, otherwise=len(values))
    missing = list(column.missing_codes(values).values())
    codes[missing] = len(values) + np.arange(len(missing), dtype=np.int32)
    return codes
