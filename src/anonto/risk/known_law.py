"""The law of a step as an intruder knows it: its probabilities for the rows and the released values of two tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.attributes import NumericAttribute
from anonto.table.columns import Column
from anonto.table.prepare import prepare
from anonto.table.records import counted, distinct_records, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.laws import StepLaw, Stretched
    from anonto.table.comparison import Amounts, ComparedColumn
    from anonto.table.prepare import Opener, PreparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class KnownLaw:
    """A step of a plan, with its law."""

    method: Any
    names: tuple[str, ...]
    law: StepLaw
    prepared: tuple[PreparedColumn, ...]
    """The columns as the method saw them."""
    codes: tuple[Codes, ...]
    """For each column the value of each row of the original; −1 for none."""
    released: tuple[Codes, ...]
    """For each column the number of the released value of each row; that behind the last for none."""
    n_released: tuple[int, ...]
    level_of_row: Codes
    """For each row the number of its noise level."""
    row_of_level: Longs
    """A row with each noise level."""
    amounts: Amounts
    """What the rows stand for."""
    averaged: dict[int, tuple[Codes, Longs]] = field(default_factory=dict)
    """By column, as they are needed: its values with each of their references, and how many rows have them."""

    @property
    def has_levels_of_rows(self) -> bool:
        """Whether each record has a noise level of its own."""
        return self.row_of_level.size > 1

    def references(self, place: int, rows: Longs) -> Codes:
        """The references of the cells of some rows in a column."""
        partner = self.law.partners[place]
        if partner is None:
            return np.zeros(rows.size, dtype=np.int32)
        return np.asarray(np.maximum(self.codes[partner][rows] + np.int32(1), np.int32(0)))

    def scales(self, place: int, rows: Longs) -> Floats:
        """What the noise of some rows is multiplied by in a column."""
        return self.law.scales(place, self.row_of_level[self.level_of_row[rows]])

    def stretched(self, place: int, rows: Longs) -> Stretched:
        """The stretches of standard noise of some rows in a column under noise."""
        law: Any = self.law.columns[place]
        found: Stretched = law.stretched(
            self.codes[place][rows], self.references(place, rows), self.scales(place, rows)
        )
        return found

    def probabilities(self, place: int, rows: Longs, *, average: bool = False) -> Floats:
        """Rows × released values of a column.

        Args:
            place: Of the column.
            rows: Which all have a value there.
            average: Leave it open what directs the noise: take the mean over the rows with the same value.
        """
        law, values, scales = self.law.columns[place], self.codes[place][rows], self.scales(place, rows)
        if not average or self.law.partners[place] is None:
            return law.probabilities(values, self.references(place, rows), scales)
        if place not in self.averaged:
            both = [self.codes[place], self.references(place, np.arange(self.codes[place].size))]
            distinct, number = distinct_rows(both)
            self.averaged[place] = distinct, counted(number, distinct.shape[0], self.amounts.original)
        with_reference, counts = self.averaged[place]
        out = np.empty((rows.size, self.n_released[place]))
        same, kinds = np.unique(np.stack([values, scales]), axis=1, return_inverse=True)
        for kind, (value, scale) in enumerate(same.T):
            begin, end = np.searchsorted(with_reference[:, 0], [int(value), int(value) + 1])
            each = law.probabilities(
                with_reference[begin:end, 0].copy(), with_reference[begin:end, 1].copy(), np.full(end - begin, scale)
            )
            out[kinds.ravel() == kind] = counts[begin:end] @ each / counts[begin:end].sum()
        return out


def known_law(method: Any, columns: Sequence[ComparedColumn], open_once: Opener) -> KnownLaw | None:
    """The law of a method on some columns; None for a method that has none, and for a table without rows.

    The method is fitted to the original once more: it sees the same values with the same counts.
    """
    if not method.has_law or not columns or not columns[0].original.size:
        return None
    prepared = []
    for column in columns:
        original = Column(column.values, column.original, amounts=column.amounts.original)
        original = original.kept(np.ones(column.original.size, dtype=np.bool_))
        prepared.append(prepare(column.name, original, column.description, open_once))
    codes = tuple(one.column.codes for one in prepared)
    names = tuple(one.name for one in prepared)
    records, _ = distinct_records(names, [one.attribute for one in prepared], codes, columns[0].amounts.original)
    masker = method.fit(records, np.random.default_rng(0))
    released: list[Codes] = []
    values: list[list[str] | Floats] = []
    for column in columns:
        present, number = np.unique(column.masked[column.masked >= 0], return_inverse=True)
        cells = np.full(column.masked.size, present.size, dtype=np.int32)
        cells[column.masked >= 0] = number
        released.append(cells)
        attribute = column.attribute
        if isinstance(attribute, NumericAttribute):
            values.append(attribute.numbers[present])
        else:
            values.append([column.values[code] for code in present])
    law = method.law(masker, prepared, values)
    levels = law.levels_of_rows(row_by_row=columns[0].amounts.row_by_row)
    if levels is None:
        row_of_level, level_of_row = np.zeros(1, dtype=np.int64), np.zeros(codes[0].size, dtype=np.int32)
    else:
        _, row_of_level, level = np.unique(levels, return_index=True, return_inverse=True)
        level_of_row = level.astype(np.int32)
    return KnownLaw(
        method,
        names,
        law,
        tuple(prepared),
        codes,
        tuple(released),
        tuple(len(one) for one in values),
        level_of_row,
        row_of_level,
        columns[0].amounts,
    )
