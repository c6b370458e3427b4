"""Methods that draw for each row, fitted to each stratum: a masker for each, behind one masker for all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import Records
from anonto.encoding.value_space import NumericSpace
from anonto.methods.blocks import new_values
from anonto.methods.row_masking import RowMasker, without_values
from anonto.methods.strata import (
    LEFT,
    Stratum,
    cells_with_value,
    extend,
    occurring_values,
    restrict_column,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import RowMethod
    from anonto.methods.strata import StratifiedRecords
    from anonto.random.streams import Key


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedRows:
    """The records of each stratum, as a method that draws for each row sees them."""

    value_spaces: tuple[ValueSpace, ...]
    strata: tuple[Stratum, ...]
    untouched: tuple[int, ...]
    """The cells of each column with a value in strata that are left."""

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        value_spaces: tuple[ValueSpace, ...],
        counted: Sequence[StratifiedRecords],
        n_strata: int,
    ) -> StratifiedRows:
        """From the records of all columns together, or from those of each column alone."""
        columns = [(one, place) for one in counted for place in range(one.codes.shape[1])]
        members = [one.members(n_strata) for one in counted for _ in range(one.codes.shape[1])]
        untouched = [
            cells_with_value(space, one.codes[own[-1], place], one.counts[own[-1]])
            for space, (one, place), own in zip(value_spaces, columns, members, strict=True)
        ]
        strata = []
        for number in range(n_strata):
            if len(counted) == 1:
                records = Records(names, value_spaces, counted[0].codes, counted[0].counts)
                strata.append(Stratum.of(records, members[0][number], len(names)))
                continue
            spaces, kept, n_rows = [], [], 0
            for space, (one, place), own in zip(value_spaces, columns, members, strict=True):
                codes, counts = one.codes[own[number], place], one.counts[own[number]]
                kept.append(occurring_values(space, codes))
                spaces.append(restrict_column(space, kept[-1], codes, counts)[0])
                n_rows = int(counts.sum())
            none = np.zeros((1, len(names)), dtype=np.int32)
            strata.append(Stratum(Records(names, tuple(spaces), none, np.array([n_rows])), tuple(kept)))
        return cls(value_spaces, tuple(strata), tuple(untouched))

    def fit(self, method: RowMethod, rng: np.random.Generator) -> StratifiedMasker:
        """Fit a method to each stratum."""
        generators = rng.spawn(len(self.strata))
        maskers = [method.fit(one.records, own) for one, own in zip(self.strata, generators, strict=True)]
        extended, to_stratum, to_table = [], [], []
        for place, whole in enumerate(self.value_spaces):
            further: dict[Any, None] = {}
            if not isinstance(whole, NumericSpace):
                for masker, stratum in zip(maskers, self.strata, strict=True):
                    further |= dict.fromkeys(new_values(masker.value_spaces[place], stratum.kept[place].size))
            space, codes = extend(whole, sorted(further))
            code_of = dict(zip(sorted(further), codes.tolist(), strict=True))
            extended.append(space)
            inward, outward = [], []
            for masker, stratum in zip(maskers, self.strata, strict=True):
                kept = stratum.kept[place]
                own = np.full(whole.counts.size + 1, -1, dtype=np.int32)
                own[kept] = np.arange(kept.size, dtype=np.int32)
                inward.append(own)
                new = [code_of.get(value, -1) for value in new_values(masker.value_spaces[place], kept.size)]
                outward.append(np.concatenate([kept, new, [-1]]).astype(np.int32))
            to_stratum.append(tuple(inward))
            to_table.append(tuple(outward))
        sizes = tuple(one.records.n_rows for one in self.strata)
        return StratifiedMasker(
            tuple(maskers), tuple(extended), tuple(to_stratum), tuple(to_table), sizes, self.untouched
        )


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedMasker(RowMasker):
    """Masks each row with the masker of its stratum, whose number is the last column that it is given."""

    maskers: tuple[RowMasker, ...]
    value_spaces: tuple[ValueSpace, ...]
    to_stratum: tuple[tuple[Codes, ...], ...]
    """The code in a stratum of each value of the table, by column and stratum."""
    to_table: tuple[tuple[Codes, ...], ...]
    """The code in the table of each value that a stratum may release, by column and stratum."""
    sizes: tuple[int, ...]
    """Rows of each stratum."""
    untouched: tuple[int, ...]
    """The cells of each column with a value in strata that are left."""

    @property
    def shares_work(self) -> bool:
        """True if rows with the same values are masked together."""
        return any(one.shares_work for one in self.maskers)

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Mask some rows: see `RowMasker`."""
        return self.apply_and_count(columns, rows, key)[0]

    def apply_and_count(
        self, columns: Sequence[Codes], rows: Longs, key: Key
    ) -> tuple[list[Codes | Floats], Longs | None]:
        """Mask some rows, stratum by stratum; a draw depends on the number of its row alone."""
        *own, numbers = columns
        released = [self._as_they_are(place, codes) for place, codes in enumerate(own)]
        order = np.argsort(numbers, kind="stable")
        present, begins = np.unique(numbers[order], return_index=True)
        counts = []
        for number, members in zip(present.tolist(), np.split(order, begins[1:]), strict=True):
            if number == LEFT:
                continue
            codes = [self.to_stratum[place][number][one[members]] for place, one in enumerate(own)]
            found, counted = self.maskers[number].apply_and_count(codes, rows[members], key)
            counts.append(counted)
            for place, masked in enumerate(found):
                is_number = isinstance(self.value_spaces[place], NumericSpace)
                released[place][members] = masked if is_number else self.to_table[place][number][masked]
        known = [one for one in counts if one is not None]
        return released, reduce(np.add, known) if known else None

    def _as_they_are(self, place: int, codes: Codes) -> Codes | Floats:
        """The cells of a column as released where they stay."""
        space = self.value_spaces[place]
        return np.append(space.numbers, np.nan)[codes] if isinstance(space, NumericSpace) else codes.copy()

    def facts(self) -> Mapping[str, Any]:
        """The facts of all strata as those of one table: of distances the root of the mean square, else the largest."""
        facts = [one.facts() for one in self.maskers]
        return {key: self._one_fact([one[key] for one in facts]) for key in (facts[0] if facts else ())}

    def _one_fact(self, values: Sequence[Any]) -> Any:
        if not isinstance(values[0], dict):
            return max(values)
        return {name: self._root_mean_square([one[name] for one in values]) for name in values[0]}

    def _root_mean_square(self, values: Sequence[float]) -> float:
        return math.sqrt(sum(n * value**2 for n, value in zip(self.sizes, values, strict=True)) / sum(self.sizes))

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:
        """The facts that a masker makes of the counts of all rows."""
        return self.maskers[0].counted_facts(counts) if self.maskers else {}

    def slim(self) -> StratifiedMasker:
        """Without the ontologies."""
        spaces = (one if isinstance(one, NumericSpace) else without_values() for one in self.value_spaces)
        return replace(self, maskers=tuple(one.slim() for one in self.maskers), value_spaces=tuple(spaces))
