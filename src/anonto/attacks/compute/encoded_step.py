"""A step as its method saw it: the cells of the original, and those of the release in the same codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.missing_codes import missing_codes
from anonto.encoding.prepare import apply_missing_policy, codes_with_missing, prepare
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.methods.strata import assign_strata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Codes, Longs
    from anonto.encoding.columns import Column
    from anonto.encoding.comparison import BothCells
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.missing_codes import MissingCodes
    from anonto.encoding.prepare import Opener, PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import Method
    from anonto.methods.parameters import SmallStrata


UNKNOWN = -2
"""The code of a released value that the original does not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EncodedStepColumn:
    """A column of a step before and after, in the codes of its method."""

    name: str
    value_space: ValueSpace
    original: Codes
    """The value of each row; −1 for a cell that takes no part."""
    masked: Codes
    aside: tuple[Codes, Codes]
    """Before and after: the number of the text in a cell that takes no part; 0 in all others."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EncodedStep:
    """A method and the columns it masked."""

    method: Method
    columns: tuple[EncodedStepColumn, ...]
    amounts: Longs
    """How many rows of the original each row represents."""
    within: tuple[EncodedStepColumn, ...] = ()
    """The columns of its strata, with a code for each different cell."""
    strata: EncodedStepColumn | None = None
    """The number of each row's stratum, −1 for one that was left as it is; None without strata."""
    is_mixed: bool = False
    """True if records with the same number of a stratum may differ in its columns."""

    @property
    def stratum_of(self) -> Codes:
        """The number of the stratum of each row of the original."""
        return np.empty(0, dtype=np.int32) if self.strata is None else self.strata.original

    @property
    def n_strata(self) -> int:
        """Strata that were masked."""
        return int(self.stratum_of.max(initial=-1)) + 1

    def known_strata(self, known: Sequence[str]) -> list[EncodedStepColumn]:
        """Columns with what is known of a person's stratum: its number, or cells that all its records share."""
        if self.strata is not None and all(column.name in known for column in self.within):
            return [self.strata]
        return [] if self.is_mixed else [column for column in self.within if column.name in known]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)


def encode_step(
    method: Method,
    names: Sequence[str],
    cells: Mapping[str, BothCells],
    description_of: Callable[[str], ColumnDescription],
    open_once: Opener,
    amounts: Longs,
    within: Sequence[str] = (),
    small_strata: SmallStrata = "refuse",
) -> EncodedStep:
    """The columns of a step in the codes of masking, and the released cells in the same codes.

    Args:
        method: The method that masked them.
        names: Names of the columns, in the order of the step.
        cells: For each column the cells of the original and of the release, row by row.
        description_of: The plan's description of a column.
        open_once: Opens ontologies.
        amounts: How many rows of the original each row represents.
        within: The columns of its strata.
        small_strata: How strata were treated that have too few rows.
    """
    moves_missing = method.moves_missing
    seen = []
    for name in names:
        both, description = cells[name], description_of(name)
        encoded = apply_missing_policy(name, replace(both.original, amounts=amounts), description)
        prepared = prepare(name, encoded, description, open_once)
        apart = moves_missing or description.missing_codes == "keep"
        missing = missing_codes(both.written[0], encoded.codes < 0) if apart else None
        value_space, original = codes_with_missing(prepared, encoded, missing)
        masked = _encode_released(prepared, encoded, both.masked, original, description.na)
        if missing is not None:
            masked = _add_missing_codes(masked, len(encoded.values), both.written[1], missing)
        if moves_missing:
            nothing = np.zeros(original.size, dtype=np.int32)
            seen.append(EncodedStepColumn(name, value_space, original, masked, (nothing, nothing)))
            continue
        n_values = prepared.value_space.counts.size
        aside = [np.where(codes >= n_values, codes - np.int32(n_values - 1), 0) for codes in (original, masked)]
        before_codes, after_codes = (np.where(codes >= n_values, np.int32(-1), codes) for codes in (original, masked))
        seen.append(EncodedStepColumn(name, prepared.value_space, before_codes, after_codes, (aside[0], aside[1])))
    if not within:
        return EncodedStep(method, tuple(seen), amounts)
    columns = tuple(_encode_as_written(name, cells[name]) for name in within)
    # Codes start at −2 here, but at −1 in `distinct_rows`.
    both_sides = [np.concatenate([column.original, column.masked]) + np.int32(1) for column in columns]
    codes, number = distinct_rows(both_sides)
    n_rows = columns[0].original.size
    counts = count_records(number[:n_rows], codes.shape[0], amounts)
    met = counts > 0
    assigned = assign_strata(counts[met], method.least_rows, small_strata)
    of_cells = np.full(met.size, UNKNOWN, dtype=np.int32)
    of_cells[met] = assigned.numbers
    nothing = np.zeros(n_rows, dtype=np.int32)
    spaces = TextSpace(np.bincount(assigned.numbers[assigned.numbers >= 0]))
    strata = EncodedStepColumn(
        "strata", spaces, of_cells[number[:n_rows]], of_cells[number[n_rows:]], (nothing, nothing)
    )
    is_mixed = assigned.facts["pooled_strata"] > 0 or assigned.facts["left_strata"] > 1
    return EncodedStep(method, tuple(seen), amounts, columns, strata, is_mixed)


def _encode_as_written(name: str, both: BothCells) -> EncodedStepColumn:
    """A column that no step masks: a code for each cell as it is written, in the order of masking."""
    values = sorted(both.original.values)
    place_of = {value: place for place, value in enumerate(values)}
    original, masked = (
        np.array([*(place_of.get(value, UNKNOWN) for value in side.values), len(values)], dtype=np.int32)[side.codes]
        for side in (both.original, both.masked)
    )
    missing = missing_codes(both.written[0], both.original.codes < 0)
    original = original + np.maximum(missing.of_records, 0)
    masked = _add_missing_codes(masked, len(values), both.written[1], missing)
    nothing = np.zeros(original.size, dtype=np.int32)
    counts = np.bincount(original, minlength=len(values) + max(len(missing.codes), 1))
    return EncodedStepColumn(name, TextSpace(counts), original.astype(np.int32), masked, (nothing, nothing))


def _add_missing_codes(masked: Codes, first: int, cells: pl.Series, missing: MissingCodes) -> Codes:
    """Released codes in which a missing cell has the value of its own code, from the first on."""
    released = missing_codes(cells, masked == first)
    place_of = {code: first + place for place, code in enumerate(missing.codes)}
    values = np.array([*(place_of.get(code, UNKNOWN) for code in released.codes), 0], dtype=np.int32)
    return np.where(released.of_records >= 0, values[released.of_records], masked)


def _encode_released(
    prepared: PreparedColumn, encoded: Column, released: Column, original: Codes, na: Sequence[str]
) -> Codes:
    """Released cells in the codes of the original ones: by their text, or else by their number."""
    missing = len(encoded.values)
    code_of = np.full(len(encoded.values) + 1, missing, dtype=np.int32)
    code_of[encoded.codes] = original
    of_text = dict(zip(encoded.values, code_of[:-1].tolist(), strict=True))
    new_code = [missing if value in na else of_text.get(value, UNKNOWN) for value in released.values]
    value_space = prepared.value_space
    if UNKNOWN in new_code and isinstance(value_space, NumericSpace):
        of_number = dict(zip(value_space.numbers.tolist(), range(value_space.numbers.size), strict=True))
        numbers = prepared.numbers_of(released.values)
        new_code = [
            of_number.get(number, UNKNOWN) if code == UNKNOWN else code
            for code, number in zip(new_code, numbers.tolist(), strict=True)
        ]
    return np.array([*new_code, missing], dtype=np.int32)[released.codes]
