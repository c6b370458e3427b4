"""What intruders know of a person: the columns of a step, the declared quasi-identifiers, or everything that leaves.

The worst case knows every column that leaves and is not declared confidential, whether the plan names it or not. In
columns that no step masks, a person's released row has her own cells: whoever knows these looks for rows that have just
the same. So all of them together are one column here, compared by equality alone: a free text of a million values costs
no more than a number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.risk.relations import equal_cells
from anonto.table.attributes import NumericAttribute
from anonto.table.columns import Column
from anonto.table.comparison import BothCells, ComparedColumn
from anonto.table.description import ColumnDescription
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from anonto.risk.rate import Risk
    from anonto.table.comparison import Amounts

    Cells = Mapping[str, BothCells]

AS_ONE = "\0 columns that no step masks"
"""The name of the column that stands for several; no column of a file is called so."""
APART = 1e-3
"""Different cells are at least 1/APART apart, further than masked cells are: no nearness makes up for them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Known:
    """What an intruder knows."""

    names: tuple[str, ...]
    columns: Sequence[ComparedColumn]
    """To be compared with released records."""
    cells: Cells
    """For each of these columns that no step masks the cells of the original and of the release."""

    @property
    def is_worst(self) -> bool:
        """Whether it is the worst case: then columns that no step masks are known as one."""
        return any(one.name == AS_ONE for one in self.columns)

    def told(self, risk: Risk) -> Risk:
        """What an attack found, with the names of all columns that it knew."""
        return replace(risk, columns=self.names)


def scenarios(steps: Sequence[Sequence[str]], columns: Mapping[str, ComparedColumn]) -> list[tuple[str, ...]]:
    """The columns of each step, and all declared quasi-identifiers together."""
    quasi = [name for name, one in columns.items() if one.description.role == "quasi-identifier"]
    known = [tuple(name for name in step if name in columns) for step in steps]
    known.append(tuple(quasi))
    return [names for names in dict.fromkeys(tuple(sorted(names)) for names in known) if names]


def all_known(
    steps: Sequence[Sequence[str]],
    columns: Mapping[str, ComparedColumn],
    cells: Cells,
    confidential: Collection[str],
    amounts: Amounts,
) -> list[Known]:
    """What intruders know, the worst case last; it is left out where it is one of the others.

    Args:
        steps: The columns that each step masks.
        columns: Of both tables, with their distances.
        cells: Of every column that leaves and that no step masks, the cells of both tables.
        confidential: Columns that are declared so.
        amounts: What the rows stand for.
    """
    declared = [Known(names, [columns[name] for name in names], cells) for names in scenarios(steps, columns)]
    worst = everything(steps, columns, cells, confidential, amounts)
    return declared if worst is None or worst.names in {one.names for one in declared} else [*declared, worst]


def everything(
    steps: Sequence[Sequence[str]],
    columns: Mapping[str, ComparedColumn],
    cells: Cells,
    confidential: Collection[str],
    amounts: Amounts,
) -> Known | None:
    """What the worst-case intruder knows; None where all that leaves is confidential, or nobody is in it."""
    masked = [columns[name] for step in steps for name in step if name not in confidential]
    as_is = [name for name in cells if name not in confidential]
    names = tuple(sorted([*(one.name for one in masked), *as_is]))
    if not names or (as_is and not len(cells[as_is[0]].original)):
        return None
    one = [as_one([cells[name] for name in as_is], amounts)] if as_is else []
    return Known(names, [*masked, *one], {each.name: _as_cells(each) for each in one})


def as_one(cells: Sequence[BothCells], amounts: Amounts) -> ComparedColumn:
    """Columns whose cells a person's released row has too, as one column: two cells are the same or far apart."""
    parts = [equal_cells(both) for both in cells]
    codes, number = distinct_rows([np.concatenate([part.persons, *part.released]) for part in parts])
    n_rows, n_values = number.size // 2, codes.shape[0]
    numbers = NumericAttribute(np.arange(n_values, dtype=np.float64), np.bincount(number, minlength=n_values), APART)
    description = ColumnDescription(kind="numeric", role="other")
    return ComparedColumn(AS_ONE, description, numbers, number[:n_rows], number[n_rows:], amounts)


def _as_cells(column: ComparedColumn) -> BothCells:
    """The codes of a column as cells of their own; as in every encoded column the texts are sorted."""
    texts = sorted(map(str, range(column.n_values)))
    code_of = np.empty(len(texts), dtype=np.int32)
    code_of[[int(text) for text in texts]] = np.arange(len(texts), dtype=np.int32)
    before, after = (Column(tuple(texts), code_of[codes]) for codes in (column.original, column.masked))
    return BothCells(before, after, (pl.Series(column.original), pl.Series(column.masked)))
