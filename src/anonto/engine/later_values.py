"""The values of a fitted plan that only later records have: its steps, with all values that they have met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import Column
from anonto.encoding.dictionary_encoder import CountedColumn
from anonto.encoding.frame_adapter import longer_polars
from anonto.encoding.new_cells import NewCells, new_cells
from anonto.encoding.prepare import prepare
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.errors import AllMissingError, InternalError
from anonto.masking.fitted import FittedColumn
from anonto.masking.released import NEW_NUMBER, NumberColumn, ReleasedColumn
from anonto.taxonomy.refusals import values_outside_root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Codes, Floats
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.masking.fit import Fitter
    from anonto.masking.fitted import FittedStep, RowPart


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaterStep:
    """A fitted step, with all values that it has met."""

    fitted: FittedStep
    columns: tuple[LaterValues, ...]

    @classmethod
    def of(cls, fitted: FittedStep) -> LaterStep:
        """A step with the values of the reference."""
        return cls(fitted, tuple(LaterValues.of(one.prepared, one.value_space) for one in fitted.fitted.values()))

    @property
    def _part(self) -> RowPart:
        if self.fitted.row_part is None:
            raise InternalError("A step that sees all records at once masks none that come later.")
        return self.fitted.row_part

    def with_values_of(self, batch: Fitter) -> LaterStep:
        """The step with the new values of a batch."""
        value_spaces = [known.with_values_of(batch) for known in self.columns]
        masker = self._part.masker.for_columns(value_spaces)
        columns = tuple(
            known.extend(value_space, released)
            for known, value_space, released in zip(self.columns, value_spaces, masker.value_spaces, strict=True)
        )
        return LaterStep(replace(self.fitted, row_part=replace(self._part, masker=masker)), columns)

    def for_batch(self, batch: Fitter) -> FittedStep:
        """The step for the rows of a batch, all of whose values it knows."""
        columns = tuple(known.column(batch) for known in self.columns)
        fitted = {
            column.name: FittedColumn(known.counted_in(batch, column), value_space, untouched=0)
            for known, column, value_space in zip(self.columns, columns, self._part.masker.value_spaces, strict=True)
        }
        return replace(self.fitted, row_part=replace(self._part, columns=columns), fitted=fitted)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaterValues:
    """The values of a column: those of the reference, then those that came later."""

    prepared: PreparedColumn
    code_of: Mapping[str, int]
    texts: tuple[str, ...]
    """The texts of the values that may be released; empty for numbers."""
    numbers: NumericSpace | None = None
    """The numbers of a batch."""

    @classmethod
    def of(cls, prepared: PreparedColumn, released: ValueSpace) -> LaterValues:
        """From a column and its values with all that may be released."""
        values = prepared.column.values
        further = None if isinstance(released, NumericSpace) else new_cells(prepared, released)
        texts = () if isinstance(released, NumericSpace) else (*values, *(further.texts if further else ()))
        return cls(prepared, {value: code for code, value in enumerate(values)}, texts)

    def with_values_of(self, batch: Fitter) -> ValueSpace:
        """The value space with all values, those of a batch included; for numbers that of the batch."""
        own, encoded = self.prepared.value_space, batch.values_of(self.prepared.name)
        if not encoded.values or (
            isinstance(own, NominalSpace) and all(value in self.code_of for value in encoded.values)
        ):
            return own
        description = self.prepared.description
        if description.kind == "numeric":
            description = replace(description, decimal=self.prepared.notation.decimal)
        if self.prepared.dates is not None:
            description = replace(description, notation=self.prepared.dates.known_pattern)
        try:
            new = prepare(self.prepared.name, encoded, description, batch.open_once)
        except AllMissingError:
            return own
        if not isinstance(own, NominalSpace) or not isinstance(new.value_space, NominalSpace):
            return new.value_space
        concept_of = dict(zip(new.column.values, new.value_space.concepts, strict=True))
        further = {value: concept for value, concept in concept_of.items() if value not in self.code_of}
        outside = [concept for concept in further.values() if concept not in own.domain]
        if outside:
            raise values_outside_root(outside, " or ".join(own.domain.roots))
        if not further:
            return own
        return replace(
            own,
            column=Column((*own.column.values, *further), own.column.codes),
            concepts=(*own.concepts, *further.values()),
            counts=np.append(own.counts, np.zeros(len(further), dtype=np.int64)),
        )

    @property
    def _scale(self) -> float | None:
        """Divisor of the distances that numbers move: the range of the reference."""
        reference = self.prepared.value_space
        return reference.scale if isinstance(reference, NumericSpace) else None

    def extend(self, value_space: ValueSpace, released: ValueSpace) -> LaterValues:
        """The same with a value space that has more values, or with the numbers of a batch."""
        if isinstance(value_space, NumericSpace):
            return replace(self, numbers=value_space)
        if value_space is self.prepared.value_space or not isinstance(value_space, NominalSpace):
            return self
        return LaterValues.of(replace(self.prepared, value_space=value_space, column=value_space.column), released)

    def counted_in(self, batch: Fitter, column: ReleasedColumn) -> PreparedColumn:
        """The column with its counts in a batch, for evidence."""
        counted, encoded = batch.counted[self.prepared.name], batch.values_of(self.prepared.name)
        with_value = column.own[:-1] >= 0
        n_values = len(self.code_of) if self.numbers is None else self.numbers.numbers.size
        occurrences = np.bincount(column.own[:-1][with_value], counted.counts[with_value], n_values).astype(np.int64)
        n_unmatched = len(encoded) - encoded.n_missing - int(occurrences.sum())
        values = CountedColumn(("",) * n_values, self.prepared.column.codes[:0], occurrences, len(encoded))
        return replace(self.prepared, column=values, n_missing=encoded.n_missing, n_unmatched=n_unmatched)

    def column(self, batch: Fitter) -> ReleasedColumn:
        """The column for the rows of a batch."""
        counted = batch.counted[self.prepared.name]
        if self.numbers is not None:
            values = batch.values_of(self.prepared.name).values
            return batch.with_one_code(
                LaterNumbers(
                    self.prepared.name,
                    counted.places_in(values if self.numbers is not self.prepared.value_space else ()),
                    counted.cells,
                    counted.raw_of(values),
                    prepared=self.prepared,
                    numeric=replace(self.numbers, extent=self._scale),
                )
            )
        own = np.array([*(self.code_of.get(text, -1) for text in counted.texts.to_list()), -1], dtype=np.int32)
        # All texts that may be released: the type of the column must not depend on those of one batch.
        further = NewCells(texts=self.texts)
        places = len(counted.cells) + np.arange(len(self.texts), dtype=np.int32)
        palette = longer_polars(counted.cells, further)
        return batch.with_one_code(LaterColumn(self.prepared.name, own, palette, places, further=further))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaterColumn(ReleasedColumn):
    """A column of a batch: an unchanged cell stays as it is."""

    def places_of(self, raw: Codes, released: Codes) -> Codes:
        """Released codes as places in the palette."""
        changed = (released >= 0) & (released != self.own[raw])
        return np.where(changed, self.in_palette[released], self.stays(raw))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LaterNumbers(NumberColumn):
    """Numbers of a batch: an unchanged number stays as it is, others are written as the reference writes them."""

    def split_numbers(self, raw: Codes, released: Floats) -> tuple[Codes, Floats]:
        """Places in the palette for numbers that stay, and all other numbers."""
        before = self.own[raw]
        same = released == np.append(self.numeric.numbers, np.nan)[before]
        changed = (before >= 0) & ~same
        return np.where(changed, np.int32(NEW_NUMBER), self.stays(raw)), np.where(changed, released, 0.0)

    def with_new_numbers(self, places: Codes, numbers: Floats | None) -> tuple[Codes, NewCells | None]:
        """Places for new numbers too, and these as cells, also none: the type must not depend on one batch."""
        all_places, further = NumberColumn.with_new_numbers(self, places, numbers)
        return all_places, self.spell_new(np.empty(0)) if further is None else further

    def spell_new(self, distinct: Floats) -> NewCells | None:
        """Numbers, or in a column of text their spelling, that of the reference where it has them."""
        import polars as pl

        reference = self.prepared.value_space
        if not isinstance(reference, NumericSpace):
            raise InternalError("A column that was not numeric became so.")
        cells = new_cells(self.prepared, reference.with_numbers(distinct)) or NewCells(numbers=distinct)
        if cells.numbers is None or self.palette.dtype not in (pl.String, pl.Categorical, pl.Enum):
            return cells
        own = zip(reference.numbers.tolist(), self.prepared.column.values, strict=True)
        text_of = dict(reversed(list(own)))
        texts = zip(distinct.tolist(), cells.as_texts().to_list(), strict=True)
        return NewCells(texts=tuple(text_of.get(number, text) for number, text in texts))
