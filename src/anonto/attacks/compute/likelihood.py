"""Likelihood of a step as an intruder computes it: probabilities for the rows and the released values of two tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import Column
from anonto.encoding.prepare import prepare
from anonto.encoding.records import count_records, distinct_records, distinct_rows
from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.comparison import Amounts, ComparedColumn
    from anonto.encoding.prepare import Opener, PreparedColumn
    from anonto.methods.likelihood import MethodLikelihood, NoiseIntervals


@dataclass(frozen=True, slots=True, eq=False)
class StepLikelihood:
    """A step of a plan, with its likelihood."""

    method: Any
    names: tuple[str, ...]
    likelihood: MethodLikelihood
    prepared: tuple[PreparedColumn, ...]
    """The columns as the method saw them."""
    codes: tuple[Codes, ...]
    """The value of each row of the original, by column; −1 for none."""
    released: tuple[Codes, ...]
    """The number of the released value of each row, by column; the number after the last for none."""
    n_released: tuple[int, ...]
    level_of_row: Codes
    """The number of each row's noise level."""
    row_of_level: Longs
    """A row with each noise level."""
    amounts: Amounts
    """How many rows of the original each row represents."""
    averaged: dict[int, tuple[Codes, Longs]] = field(default_factory=dict)
    """The values of each column with each of their references, and how many rows have them, as they are needed."""

    @property
    def has_levels_of_rows(self) -> bool:
        """True if each record has a noise level of its own."""
        return self.row_of_level.size > 1

    def most_classes(self, place: int) -> int:
        """About how many classes of equally likely values the released ones of a column form."""
        return self.likelihood.columns[place].most_classes(self.n_released[place])

    def references(self, place: int, rows: Longs) -> Codes:
        """The references of the cells of some rows in a column."""
        partner = self.likelihood.partners[place]
        if partner is None:
            return np.zeros(rows.size, dtype=np.int32)
        return np.asarray(np.maximum(self.codes[partner][rows] + np.int32(1), np.int32(0)))

    def scales(self, place: int, rows: Longs) -> Floats:
        """Factor of the noise of some rows in a column."""
        return self.likelihood.scales(place, self.row_of_level[self.level_of_row[rows]])

    def intervals(self, place: int, rows: Longs) -> NoiseIntervals:
        """The intervals of standard noise of some rows in a column under noise."""
        of_column: Any = self.likelihood.columns[place]
        found: NoiseIntervals = of_column.intervals(
            self.codes[place][rows], self.references(place, rows), self.scales(place, rows)
        )
        return found

    def probabilities(self, place: int, rows: Longs, *, average: bool = False) -> Floats:
        """Probabilities, rows × released values of a column.

        Args:
            place: Position of the column.
            rows: Rows that all have a value there.
            average: Whether to average over what directs the noise: take the mean over the rows with the same value.
        """
        of_column, values, scales = self.likelihood.columns[place], self.codes[place][rows], self.scales(place, rows)
        if not average or self.likelihood.partners[place] is None:
            return of_column.probabilities(values, self.references(place, rows), scales)
        if place not in self.averaged:
            both = [self.codes[place], self.references(place, np.arange(self.codes[place].size))]
            distinct, number = distinct_rows(both)
            self.averaged[place] = distinct, count_records(number, distinct.shape[0], self.amounts.original)
        with_reference, counts = self.averaged[place]
        out = np.empty((rows.size, self.n_released[place]))
        same, kinds = np.unique(np.stack([values, scales]), axis=1, return_inverse=True)
        for kind, (value, scale) in enumerate(same.T):
            begin, end = np.searchsorted(with_reference[:, 0], [int(value), int(value) + 1])
            each = of_column.probabilities(
                with_reference[begin:end, 0].copy(), with_reference[begin:end, 1].copy(), np.full(end - begin, scale)
            )
            out[kinds.ravel() == kind] = counts[begin:end] @ each / counts[begin:end].sum()
        return out


def fit_likelihood(method: Any, columns: Sequence[ComparedColumn], open_once: Opener) -> StepLikelihood | None:
    """The likelihood of a method on some columns; None for a method that has none, and for a table without rows.

    The method is fitted to the original once more: it sees the same values with the same counts.
    """
    if not method.has_likelihood or not columns or not columns[0].original.size:
        return None
    prepared = []
    for column in columns:
        original = Column(column.values, column.original, amounts=column.amounts.original)
        original = original.keep_records(np.ones(column.original.size, dtype=np.bool_))
        prepared.append(prepare(column.name, original, column.description, open_once))
    codes = tuple(one.column.codes for one in prepared)
    names = tuple(one.name for one in prepared)
    records, _ = distinct_records(names, [one.value_space for one in prepared], codes, columns[0].amounts.original)
    masker = method.fit(records, np.random.default_rng(0))
    released: list[Codes] = []
    values: list[list[str] | Floats] = []
    for column in columns:
        present, number = np.unique(column.masked[column.masked >= 0], return_inverse=True)
        cells = np.full(column.masked.size, present.size, dtype=np.int32)
        cells[column.masked >= 0] = number
        released.append(cells)
        value_space = column.value_space
        if isinstance(value_space, NumericSpace):
            values.append(value_space.numbers[present])
        else:
            values.append([column.values[code] for code in present])
    likelihood = method.likelihood(masker, prepared, values)
    levels = likelihood.levels_of_rows(row_by_row=columns[0].amounts.row_by_row)
    if levels is None:
        row_of_level, level_of_row = np.zeros(1, dtype=np.int64), np.zeros(codes[0].size, dtype=np.int32)
    else:
        _, row_of_level, level = np.unique(levels, return_index=True, return_inverse=True)
        level_of_row = level.astype(np.int32)
    return StepLikelihood(
        method,
        names,
        likelihood,
        tuple(prepared),
        codes,
        tuple(released),
        tuple(len(one) for one in values),
        level_of_row,
        row_of_level,
        columns[0].amounts,
    )
