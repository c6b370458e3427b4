"""Attacks on persons with several rows: their number of rows, and which rows belong together.

``row-count`` is a distance linkage in which the number of rows must be equal: alone, and with the values that are the
same in all rows of a person. It takes released rows as joined by person, as pseudonyms do. Where the person column is
dropped, rows must first be found to belong together, so the rate is an upper bound. The number of rows is part of the
sets of a person, and moves with them.

``same-person`` says how well rows are found to belong together. Released rows with the same constant values form a
class; of a person with n rows in a class of N, a row and another one of its class, picked at random, are both hers with
probability

    (n − 1) / (N − 1).

The rate is the mean over persons with several rows; the baseline takes all released rows as one class. Where pseudonyms
are released it is 1 by design.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.known import APART
from anonto.attacks.rate import Risk
from anonto.attacks.row_count import RowCount
from anonto.attacks.same_person import SamePerson
from anonto.encoding.comparison import ComparedColumn
from anonto.encoding.description import ColumnDescription
from anonto.encoding.records import distinct_rows
from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Longs
    from anonto.attacks.comparison import Comparison


def row_count(compared: Comparison, persons: Longs | None) -> list[Risk]:
    """Link persons by their number of rows, alone and with the columns that do not vary.

    Args:
        compared: The original and its release, a record for each person.
        persons: The persons that are attacked; None for all.
    """
    number = _count_column(compared)
    secret = compared.confidential
    constants = [one for name, one in compared.columns.items() if name not in compared.sets and name not in secret]
    counts = [np.bincount(side) for side in (number.original, number.masked)]
    details = {
        "alone_by_number": {
            when: int(np.count_nonzero(side == 1)) / max(int(side.sum()), 1)
            for when, side in zip(("before", "after"), counts, strict=True)
        },
        "rows_are_joined": compared.rows_are_joined,
    }
    return [
        replace(
            distance_linkage([*columns, number], persons),
            attack=RowCount.name,
            knowledge=_describe_known([one.name for one in columns], joined=compared.rows_are_joined),
            columns=tuple(sorted((*compared.sets, *(one.name for one in columns)))),
            details=details,
        )
        for columns in ([], constants)[: 1 + bool(constants)]
    ]


def _describe_known(names: Sequence[str], *, joined: bool) -> str:
    told = f" and her values in {', '.join(names)}" if names else ""
    unsaid = "" if joined else ", though the release does not say so"
    return f"how many rows one person has{told}; which released rows belong to one person{unsaid}"


def _count_column(compared: Comparison) -> ComparedColumn:
    """The number of rows of each record as a column; different numbers are far apart."""
    before, after = compared.rows_per_record
    numbers = np.unique(np.concatenate([before, after]))
    first, second = (np.searchsorted(numbers, side).astype(np.int32) for side in (before, after))
    value_space = NumericSpace(numbers.astype(np.float64), np.bincount(first, minlength=numbers.size), APART)
    description = ColumnDescription(kind="numeric", role="other")
    return ComparedColumn("number of rows", description, value_space, first, second, compared.amounts)


def same_person(compared: Comparison) -> Risk:
    """The chance that two released rows with the same constant values belong to one person."""
    rows = compared.rows_per_record[1]
    constants = [name for name in compared.cells if name not in compared.sets]
    columns = [compared.cells[name].masked.codes for name in constants]
    of_record = distinct_rows(columns)[1] if columns else np.zeros(rows.size, dtype=np.int32)
    several = rows > 1
    own, in_class = rows[several], np.bincount(of_record, rows).astype(np.int64)[of_record[several]]
    by_design = compared.rows_are_joined
    chance = np.ones(own.size) if by_design else (own - 1) / (in_class - 1)
    agree = f" that agree in {', '.join(constants)}" if constants else ""
    return Risk.of_hits(
        float(chance.sum()),
        own.size,
        attack=SamePerson.name,
        knowledge="one released row of a person with several rows; the release joins her rows by her pseudonym"
        if by_design
        else f"one released row of a person with several rows; of the other rows{agree} any may be hers",
        columns=constants,
        baseline=float(((own - 1) / (rows.sum() - 1)).mean()),
        details={
            "by_design": by_design,
            "alone_in_class": float(np.mean(own == in_class)),
            "persons_with_several_rows": int(own.size),
        },
    )
