"""Attribute inference: the intruder knows some columns of a person and reads another off the nearest released records.

The control is the same attack with the person's own released record taken away: what can be inferred about somebody who
is not in the release. The rate is what the release adds, (s − s_control) / (1 − s_control): a rate of 0 means that the
inference is about people like her, not about her.

References: Article 29 Working Party, Opinion 05/2014; Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.attribute_inference import AttributeInference
from anonto.attacks.compute import kernels
from anonto.attacks.compute.gain import gain
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.rate import Risk, wilson_interval
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn

CLOSE = 0.05
"""A number counts as inferred within this share of the column's range."""
PERSONS_AT_ONCE = 64


def attribute_inference(known: Sequence[ComparedColumn], secret: ComparedColumn, rows: Longs | None = None) -> Risk:
    """Infer a confidential column from the released records nearest to a person.

    Args:
        known: The columns that the intruder knows of a person.
        secret: The column to infer.
        rows: The persons that are attacked; None for all.
    """
    space = LinkageSpace.of(known)
    persons = np.arange(secret.n_persons) if rows is None else rows
    persons = persons[secret.original[persons] >= 0]
    targets = np.stack([column.original[persons] for column in known], axis=1)
    records, record_of = distinct_rows([*(column.masked for column in known), secret.masked])
    amounts, own = (
        count_records(record_of, records.shape[0], secret.amounts.masked),
        record_of[persons].astype(np.int64),
    )
    searched, released = space.persons(targets), space.released_records(np.ascontiguousarray(records[:, :-1]))
    right, control = np.empty(persons.size), np.empty(persons.size)
    numbers = _comparable_numbers(secret)
    secrets, released_secrets = numbers[secret.original[persons]], numbers[records[:, -1]]
    close = CLOSE if isinstance(secret.value_space, NumericSpace) else 0.0

    def attack(part: slice) -> None:
        right[part], control[part] = kernels.infer(
            searched.part(part), secrets[part], own[part], released, amounts, released_secrets, close, space.tables
        )

    in_threads(attack, slices(0, persons.size, PERSONS_AT_ONCE))
    success, without = (float(each.mean()) if persons.size else 0.0 for each in (right, control))
    low, high = (gain(bound, without) for bound in wilson_interval(float(right.sum()), persons.size))
    counts = secret.counts("masked")[:-1]
    most_frequent = float(counts.max() / counts.sum()) if counts.any() else 0.0
    return Risk(
        attack=AttributeInference.name,
        knowledge="the original values of one person in these columns; the rate is what her own record adds",
        columns=tuple(column.name for column in known),
        rate=gain(success, without),
        low=low,
        high=high,
        baseline=0.0,
        control=without,
        n=int(persons.size),
        details={"inferred": secret.name, "success": success, "most_frequent_value": most_frequent},
    )


def _comparable_numbers(secret: ComparedColumn) -> Floats:
    """The confidential values as numbers to compare, and NaN for a missing one at the end."""
    value_space = secret.value_space
    if isinstance(value_space, NumericSpace):
        scale = value_space.scale or 1.0
        return np.append(value_space.numbers / scale, np.nan)
    return np.append(np.arange(secret.n_values, dtype=np.float64), np.nan)
