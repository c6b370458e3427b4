"""Knowledge of an intruder: the columns of a step, the declared quasi-identifiers, or all released columns.

The worst case knows every released column that is not declared confidential, whether the plan names it or not. In
columns that no step masks, a person's released row has her own cells: an intruder who knows these looks for rows with
the same cells. So they are combined into one column here, compared by equality alone: a free text of a million values
costs no more than a number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.attacks.compute.constraints import number_texts
from anonto.encoding.columns import Column
from anonto.encoding.comparison import BothCells, ComparedColumn
from anonto.encoding.description import ColumnDescription
from anonto.encoding.records import distinct_rows
from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from anonto.attacks.rate import Risk
    from anonto.encoding.comparison import Amounts

    Cells = Mapping[str, BothCells]

AS_ONE = "\0 columns that no step masks"
"""The name of the column that combines several; no column of a file has this name."""
APART = 1e-3
"""Different cells are at least 1/APART apart, further than masked cells are: no nearness makes up for them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Knowledge:
    """One intruder's knowledge."""

    names: tuple[str, ...]
    columns: Sequence[ComparedColumn]
    """The known columns, to be compared with released records."""
    cells: Cells
    """The cells of the original and of the release, for each of these columns that no step masks."""

    @property
    def is_worst(self) -> bool:
        """True if it is the worst case: then columns that no step masks are known as one."""
        return any(one.name == AS_ONE for one in self.columns)

    def name_columns(self, risk: Risk) -> Risk:
        """Result of an attack, with the names of all columns that it knew."""
        return replace(risk, columns=self.names)


def scenarios(steps: Sequence[Sequence[str]], columns: Mapping[str, ComparedColumn]) -> list[tuple[str, ...]]:
    """The columns of each step, and all declared quasi-identifiers together."""
    quasi = [name for name, one in columns.items() if one.description.role == "quasi-identifier"]
    known = [tuple(name for name in step if name in columns) for step in steps]
    known.append(tuple(quasi))
    return [names for names in dict.fromkeys(tuple(sorted(names)) for names in known) if names]


def knowledge_scenarios(
    steps: Sequence[Sequence[str]],
    columns: Mapping[str, ComparedColumn],
    cells: Cells,
    confidential: Collection[str],
    amounts: Amounts,
) -> list[Knowledge]:
    """Scenarios of knowledge, the worst case last; it is left out where it is one of the others.

    Args:
        steps: The columns that each step masks.
        columns: The columns of both tables, with their distances.
        cells: For every released column that no step masks, the cells of both tables.
        confidential: Columns that are declared confidential.
        amounts: How many rows each row represents.
    """
    declared = [Knowledge(names, [columns[name] for name in names], cells) for names in scenarios(steps, columns)]
    worst = worst_case(steps, columns, cells, confidential, amounts)
    return declared if worst is None or worst.names in {one.names for one in declared} else [*declared, worst]


def worst_case(
    steps: Sequence[Sequence[str]],
    columns: Mapping[str, ComparedColumn],
    cells: Cells,
    confidential: Collection[str],
    amounts: Amounts,
) -> Knowledge | None:
    """Knowledge of the worst-case intruder; None where all released columns are confidential, or nobody is in it."""
    masked = [columns[name] for step in steps for name in step if name not in confidential]
    as_is = [name for name in cells if name not in confidential]
    names = tuple(sorted([*(one.name for one in masked), *as_is]))
    if not names or (as_is and not len(cells[as_is[0]].original)):
        return None
    one = [join_columns([cells[name] for name in as_is], amounts)] if as_is else []
    return Knowledge(names, [*masked, *one], {each.name: _encode_codes(each) for each in one})


def join_columns(
    cells: Sequence[BothCells], amounts: Amounts, held_out: Sequence[Column] | None = None
) -> ComparedColumn:
    """Columns whose cells a person's released row has too, as one column: two cells are the same or far apart.

    Args:
        cells: The cells of each column in both tables.
        amounts: How many rows each row counts for.
        held_out: Its cells of persons who were not masked.
    """
    others = [()] * len(cells) if held_out is None else [(one,) for one in held_out]
    parts = [number_texts(both.original, both.masked, *more) for both, more in zip(cells, others, strict=True)]
    codes, number = distinct_rows([np.concatenate(part) for part in parts])
    n_values = codes.shape[0]
    first, second, *rest = np.split(number, np.cumsum([one.size for one in parts[0][:-1]]))
    numbers = NumericSpace(np.arange(n_values, dtype=np.float64), np.bincount(number, minlength=n_values), APART)
    description = ColumnDescription(kind="numeric", role="other")
    own = rest[0] if rest else None
    return ComparedColumn(AS_ONE, description, numbers, first, second, amounts, held_out=own)


def _encode_codes(column: ComparedColumn) -> BothCells:
    """The codes of a column as cells of their own; as in every encoded column the texts are sorted."""
    texts = sorted(map(str, range(column.n_values)))
    code_of = np.empty(len(texts), dtype=np.int32)
    code_of[[int(text) for text in texts]] = np.arange(len(texts), dtype=np.int32)
    before, after = (Column(tuple(texts), code_of[codes]) for codes in (column.original, column.masked))
    return BothCells(before, after, (pl.Series(column.original), pl.Series(column.masked)))
