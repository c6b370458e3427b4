"""Attribute inference: the intruder knows some columns of a person and reads another off the nearest released records.

The control is the same attack with the person's own released record taken away: what could be inferred of somebody who
is not in the release. The rate is what the release adds to it, (s − s_control) / (1 − s_control): not more than 0 means
that the inference is about people like her, not about her.

References: Article 29 Working Party, Opinion 05/2014; Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import kernels
from anonto.risk.attacks.attribute_inference import AttributeInference
from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.space import Space
from anonto.table.attributes import NumericAttribute
from anonto.table.records import counted, distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

CLOSE = 0.05
"""A number is inferred when it is met within this share of the column's range."""
PERSONS_AT_ONCE = 64


def attribute_inference(
    known: Sequence[ComparedColumn], secret: ComparedColumn, rows: NDArray[np.int64] | None = None
) -> Risk:
    """Infer a confidential column from the released records nearest to a person.

    Args:
        known: What the intruder knows of a person.
        secret: What is inferred.
        rows: The persons that are attacked; None for all.
    """
    space = Space.of(known)
    persons = np.arange(secret.n_persons) if rows is None else rows
    persons = persons[secret.original[persons] >= 0]
    targets = np.stack([column.original[persons] for column in known], axis=1)
    records, record_of = distinct_rows([*(column.masked for column in known), secret.masked])
    amounts, own = counted(record_of, records.shape[0], secret.amounts.masked), record_of[persons].astype(np.int64)
    released = np.ascontiguousarray(records[:, :-1])
    target_rows = space.rows_of(targets)
    target_numbers, released_numbers = space.numbers_of(targets), space.numbers_of(released)
    right, control = np.empty(persons.size), np.empty(persons.size)
    numbers = _told(secret)
    truth, told = numbers[secret.original[persons]], numbers[records[:, -1]]

    def attack(part: slice) -> None:
        kernels.infer(
            target_rows[part],
            target_numbers[part],
            truth[part],
            own[part],
            released,
            released_numbers,
            amounts,
            told,
            CLOSE if isinstance(secret.attribute, NumericAttribute) else 0.0,
            space.tables,
            space.offsets,
            space.widths,
            right[part],
            control[part],
        )

    in_threads(attack, slices(0, persons.size, PERSONS_AT_ONCE))
    success, without = (float(each.mean()) if persons.size else 0.0 for each in (right, control))
    low, high = (_added(bound, without) for bound in wilson_interval(float(right.sum()), persons.size))
    counts = secret.counts("masked")[:-1]
    most_frequent = float(counts.max() / counts.sum()) if counts.any() else 0.0
    return Risk(
        attack=AttributeInference.name,
        knowledge="the original values of one person in these columns; the rate is what her own record adds",
        columns=tuple(column.name for column in known),
        rate=_added(success, without),
        low=low,
        high=high,
        baseline=0.0,
        control=without,
        n=int(persons.size),
        details={"inferred": secret.name, "success": success, "most_frequent_value": most_frequent},
    )


def _added(success: float, control: float) -> float:
    """What the release adds to the control, from 0 to 1."""
    return max(0.0, (success - control) / (1.0 - control)) if control < 1.0 else 0.0


def _told(secret: ComparedColumn) -> NDArray[np.float64]:
    """The confidential values as numbers to compare, and last NaN for a missing one."""
    attribute = secret.attribute
    if isinstance(attribute, NumericAttribute):
        scale = attribute.scale or 1.0
        return np.append(attribute.numbers / scale, np.nan)
    return np.append(np.arange(secret.n_values, dtype=np.float64), np.nan)
