"""Equi-width swapping (MEWS): records exchange places with others of their cell of a grid.

Each column is cut into bins of one width; a record's bin is its bin in every column. In every bin random pairs exchange
all columns of the step together; of an odd number one record stays or, with ``odd = "cycle3"``, the last three pass
theirs on in a circle. No number moves by more than the width.

- Numbers and ranks: with lo and hi the least and the largest, bin min(⌊(x − lo)/t⌋, ⌈(hi − lo)/t⌉ − 1). ``bins`` is
  short for t = (hi − lo)/bins.
- Concepts: the width is a depth, and each ancestor at this depth is a bin (the root has depth 1). A concept above is a
  bin of its own; of several ancestors at the depth the one with the smallest id counts; of several ontologies the
  first. With ``bins`` the depth whose number of bins comes closest is taken, of two the upper one.
- Texts without an ontology: each value is a bin, whatever the width.

Bins of one record never move: the evidence counts them. No guarantee is proved; `anonto widths` shows the
disclosure risk against an intruder who knows the width. The cost is linear in the records.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithm 2.

Step by step: `anonto.methods.plain.equi_width_swap`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from anonto.encoding.value_space import NominalSpace, NumericSpace, parts_of
from anonto.errors import ParameterError
from anonto.methods import bin_kernels
from anonto.methods.bins import Bins, Odd, strata
from anonto.methods.grid_swap import CellMethod, Grid, draw_key, exchange_in_cells
from anonto.methods.memory import BYTES_PER_MOVE, BYTES_PER_RECORD
from anonto.methods.parameters import ODD, WIDTH, whole
from anonto.methods.words import Words
from anonto.taxonomy.closure import ancestors_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.memory import Budget
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.row_transitions import AssignedRecordTransitions
    from anonto.methods.support import Partition
    from anonto.random.streams import Key


Number = TypeVar("Number", int, float)

BINS = whole(
    "number of bins",
    "How many bins each column is cut into.",
    lists=True,
    start=10,
    offered=(1, 1000, 1),
    sweep=(4, 10, 30),
)
MOST_PLACES = 1 << 52
"""A grid with this many places separates all numbers: each is then a bin of its own."""
BYTES_PER_ROW = 30
"""Bytes per row while rows are exchanged, without the distinct records."""
DENSE_BINS = 1 << 16
"""Up to this many possible bins, or two per record, are counted in a table of all; of more only those that occur."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EquiWidthSwap(CellMethod):
    """``width`` or ``bins``: one for all columns or one each; ``odd``: whether the last of an odd number stays."""

    name: ClassVar[str] = "equi-width-swap"
    words: ClassVar[Words] = Words(
        title="Swap in bins of equal width",
        summary="exchanges records in bins of a `width`, all columns of the step together",
        does="Cuts the columns into bins of equal width and exchanges whole sets of values inside each bin.",
        columns="any kinds, together",
        keeps=(
            "Keeps every combination of values; no number moves by more than the width. Anyone who knows some of "
            "a person’s cells may find the row and read the rest."
        ),
        report=(
            "The columns were cut into bins of equal width, and records in the same bin of every column exchanged"
            " their values in these columns, all together, in pairs picked at random. Every value, and every "
            "combination of values in these columns, occurs exactly as often as before, and no number moved by "
            "more than the width. A record that was alone in its bin stayed as it was."
        ),
    )
    whole_records_if: ClassVar[Mapping[str, Any] | None] = {}
    widths_by: ClassVar[tuple[str, ...]] = ("width", "bins")
    one_of: ClassVar[tuple[str, ...]] = ("width", "bins")
    width: float | tuple[float, ...] | None = field(default=None, metadata=WIDTH)
    bins: int | tuple[int, ...] | None = field(default=None, metadata=BINS)
    odd: Odd = field(default="stay", metadata=ODD)

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Find the bins and exchange inside them."""
        grid, key = self.grid(records.names, records.value_spaces), draw_key(rng)
        strata(records, 2)
        return self.exchange(records, grid, key)

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordTransitions:
        """Fit all rows at once, or refuse them."""
        n_rows = records.n_rows
        n_moves = sum(min(n_rows, value_space.counts.size**2) for value_space in records.value_spaces)
        needed = BYTES_PER_ROW * n_rows + BYTES_PER_RECORD * records.counts.size + BYTES_PER_MOVE * n_moves
        budget.require(needed, f"{n_rows:,} records")
        return self.fit(records, rng)

    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes of a row that is a distinct record."""
        return BYTES_PER_ROW + BYTES_PER_MOVE * n_columns + BYTES_PER_RECORD

    def grid(self, names: Sequence[str], value_spaces: Sequence[ValueSpace]) -> Grid:
        """Where the values of columns are, which does not depend on records."""
        return Grid.of(places_of(names, value_spaces, width=self.width, bins=self.bins))

    def exchange(self, records: Records, grid: Grid, key: Key) -> AssignedRecordTransitions:
        """Exchange the records of whole bins, in the order of their codes."""
        return exchange_in_cells(records, *bin_numbers(records, grid.columns), grid, self.odd, key)

    def support(self, records: Records) -> Partition:
        """The bins, which depend on the records alone."""
        return equi_width_bins(with_fewer_copies(records), width=self.width, bins=self.bins).support(self.odd)


# ------------------------------------------------------------------------------------------------ bins


def equi_width_bins(
    records: Records, *, width: float | Sequence[float] | None = None, bins: int | Sequence[int] | None = None
) -> Bins:
    """The cells of a grid that have rows; records that lack the same cells are among themselves."""
    places = places_of(records.names, records.value_spaces, width=width, bins=bins)
    strata(records, 2)
    numbers, n_numbers = bin_numbers(records, places)
    return Bins(*bin_kernels.rows_by_bin(numbers, records.counts, n_numbers))


def with_fewer_copies(records: Records) -> Records:
    """Records with more than three rows get two or three, of the same parity: the support of their bins is the same."""
    counts = records.counts
    return replace(records, counts=np.where(counts > 3, 2 + counts % 2, counts))


def places_of(
    names: Sequence[str],
    value_spaces: Sequence[ValueSpace],
    *,
    width: float | Sequence[float] | None = None,
    bins: int | Sequence[int] | None = None,
    columns: Sequence[int] | None = None,
) -> list[Codes]:
    """The place of each value of every column, or of some of them, on the grid, counted from 0."""
    n_columns = len(names)
    widths, numbers = one_each("width", width, n_columns), one_each("bins", bins, n_columns)
    return [
        _places(names[column], value_spaces[column], widths[column], numbers[column]).astype(np.int32)
        for column in (range(n_columns) if columns is None else columns)
    ]


def bin_numbers(records: Records, places: Sequence[Codes]) -> tuple[Longs, int]:
    """One number for the places of each record in all columns, 0 without any value; and one more than the largest."""
    n_places = [int(one.max(initial=-1)) + 2 for one in places]
    dense = max(DENSE_BINS, 2 * records.counts.size)
    keys, n_keys = np.zeros(records.counts.size, np.int64), 1
    for columns in _groups(n_places):
        own = [places[column] for column in columns]
        begins = np.cumsum([0, *(one.size for one in own)])[:-1]
        sizes = np.array([n_places[column] for column in columns])
        codes = records.codes if len(columns) == len(places) else records.codes[:, columns]
        further = bin_kernels.combine_places(codes, np.concatenate(own), begins, sizes)
        keys = further if n_keys == 1 else keys * int(sizes.prod()) + further
        n_keys *= int(sizes.prod())
        if n_keys > dense:
            keys, n_keys = _only_those_that_occur(keys)
    return keys, n_keys


def _groups(n_places: Sequence[int]) -> list[list[int]]:
    """All columns at once, or one by one if their combined places exceed 64 bits."""
    if math.prod(n_places) < 1 << 62:
        return [list(range(len(n_places)))]
    return [[column] for column in range(len(n_places))]


def _only_those_that_occur(keys: Longs) -> tuple[Longs, int]:
    """The keys numbered 1, 2, … in their order, and 0 as it is."""
    unique, place = np.unique(keys, return_inverse=True)
    shift = 0 if unique.size and unique[0] == 0 else 1
    return place.astype(np.int64) + shift, int(unique.size) + shift


def one_each(name: str, given: Number | Sequence[Number] | None, n_columns: int) -> list[Number | None]:
    """A parameter that is given once for all columns, or once for each."""
    if given is None or isinstance(given, int | float):
        return [given] * n_columns
    if len(given) != n_columns:
        raise ParameterError(name, f"one number, or one for each of the {n_columns} columns", list(given))
    return list(given)


def _places(name: str, value_space: ValueSpace, width: float | None, bins: int | None) -> Longs:
    if isinstance(value_space, NumericSpace):
        return grid_places(value_space.numbers, width, bins)
    part = parts_of(value_space)[0]
    if not isinstance(part, NominalSpace):
        return np.arange(value_space.counts.size)
    if width is None:
        return _at_best_depth(part, bins or 1)
    if not float(width).is_integer():
        raise ParameterError(f"width of the nominal column {name!r}", "a depth: a whole number, 1 or more", width)
    return _at_depth(part, int(width))


def grid_places(numbers: Floats, width: float | None, bins: int | None) -> Longs:
    """The places of numbers on a grid of bins of a width, or of a number of bins over their range."""
    if not numbers.size or numbers.min() == numbers.max():
        return np.zeros(numbers.size, np.int64)
    if not math.isfinite(range_of(numbers)):
        numbers, width = numbers / 4, None if width is None else width / 4
    low, extent = float(numbers.min()), range_of(numbers)
    if width is None:
        n_steps = float(bins or 1)
        numbers, low, width = (numbers - low) / extent * n_steps, 0.0, 1.0
    else:
        n_steps = extent / width if width > extent / MOST_PLACES else math.inf
    if n_steps >= MOST_PLACES:
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    last = max(math.ceil(n_steps - 1 / bin_kernels.STEPS) - 1, 0)
    places: Longs = bin_kernels.grid(numbers, low, width, last)
    return np.unique(places, return_inverse=True)[1] if last >= max(numbers.size, DENSE_BINS) else places


def range_of(numbers: Floats) -> float:
    """The largest minus the least; infinite if that exceeds the floats, 0 for no numbers."""
    return float(numbers.max()) - float(numbers.min()) if numbers.size else 0.0


def _at_depth(part: NominalSpace, depth: int) -> Longs:
    """Values numbered by their ancestor at a depth."""
    return np.unique(_ancestors_at(part, depth), return_inverse=True)[1].astype(np.int64)


def _at_best_depth(part: NominalSpace, bins: int) -> Longs:
    """Values numbered by their ancestor at the depth where the number of these comes closest to a wanted one."""
    deepest = int(part.domain.depths[part.domain.numbers(part.concepts)].max(initial=1))
    candidates = [_at_depth(part, depth) for depth in range(1, deepest + 1)]
    return min(candidates, key=lambda places: abs(int(places.max(initial=-1)) + 1 - bins))


def _ancestors_at(part: NominalSpace, depth: int) -> Longs:
    """The ancestor of each value at a depth, of several the one with the smallest id, or itself where it is above."""
    taxonomy = part.domain
    return ancestors_at(taxonomy, taxonomy.numbers(part.concepts), taxonomy.depths == depth)
