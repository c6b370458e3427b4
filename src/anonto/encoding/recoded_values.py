"""The distinct values of a column and what each of them becomes where the plan recodes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.columns import MISSING
from anonto.encoding.new_cells import NewCells, new_dates
from anonto.encoding.prefixes import prefix_taxonomy, prefixes_of
from anonto.encoding.prepare import prepare
from anonto.encoding.recoded_dates import cut_dates
from anonto.encoding.refusals import (
    missing_level,
    no_calendar,
    numbers_without_zeros,
    several_hierarchies,
    unknown_level,
)
from anonto.encoding.value_space import NominalSpace, NumericSpace, nominal_space
from anonto.errors import InternalError
from anonto.io.notation import EXACT, numbers_of
from anonto.taxonomy.closure import ancestors_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.columns import Column
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener
    from anonto.encoding.recode import Recode
    from anonto.io.date_notation import DateNotation
    from anonto.io.notation import Notation
    from anonto.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecodedValues:
    """The new cells of the distinct values of a column."""

    values: tuple[str, ...]
    counts: Longs
    cells: NewCells
    """The new cells."""
    places: Codes
    """The new cell of each value; −1 for a value that stays as it is."""
    changed: Bools
    """The values that mean something else afterwards, or less."""
    lost: Floats
    """How far each value moved: a distance from 0 to 1."""
    description: ColumnDescription
    """The column as its steps see it."""
    dates: tuple[DateNotation, Longs] | None = None
    """Of dates that are shifted: how they are written, and the microseconds of each value."""

    @property
    def evidence(self) -> dict[str, int | float]:
        """How many cells changed, and the root of the mean squared distance that cells moved."""
        n_cells = int(self.counts.sum())
        if self.dates is not None:
            return {"cells": n_cells}
        squares = dot(self.counts, self.lost**2)
        return {
            "cells": n_cells,
            "changed": int(self.counts[self.changed].sum()),
            "values": len(self.values),
            "values_released": self.n_released,
            "rmse": (squares / n_cells) ** 0.5 if n_cells else 0.0,
        }

    @property
    def n_released(self) -> int:
        """How many distinct values are left."""
        texts = self.cells.as_texts().to_list()
        places = zip(self.values, self.places.tolist(), strict=True)
        return len({value if place == MISSING else texts[place] for value, place in places})


def recode_values(
    name: str, column: Column, description: ColumnDescription, open_once: Opener, folder: Path | None = None
) -> RecodedValues:
    """Recode the distinct values of a column; missing cells are none of them.

    Args:
        name: The column, for messages.
        column: Its distinct values with their counts.
        description: What the plan says of it.
        open_once: Opens its ontologies.
        folder: The start of relative paths.
    """
    recode = description.recode
    if recode is None:
        raise InternalError("A column without a recode was recoded.")
    plain = replace(description, recode=None, missing="keep")
    after = replace(description, recode=None)
    if not column.values:
        nothing = np.empty(0)
        none = np.empty(0, dtype=np.int32)
        return RecodedValues((), column.counts, NewCells(), none, nothing > 0, nothing, after)
    if description.kind == "numeric":
        return _numbers(name, column, plain, after, recode, open_once)
    if description.kind == "date":
        return _dates(name, column, plain, after, recode, open_once)
    if recode.generalise is not None:
        return _concepts(name, column, plain, after, recode.generalise, open_once)
    texts = prefixes_of(name, column.values, column.counts, recode, folder)
    taxonomy = prefix_taxonomy(column.values, texts, recode.prefix or 0)
    return _texts(column, texts, _moved(column, taxonomy, column.values, texts), after)


def _texts(column: Column, texts: Sequence[str], lost: Floats, after: ColumnDescription) -> RecodedValues:
    """Values that become texts; those that are spelt so already stay."""
    new = [text for text, value in zip(texts, column.values, strict=True) if text != value]
    distinct = tuple(dict.fromkeys(new))
    place_of = {text: place for place, text in enumerate(distinct)}
    pairs = zip(texts, column.values, strict=True)
    places = np.array([MISSING if text == value else place_of[text] for text, value in pairs], dtype=np.int32)
    return RecodedValues(column.values, column.counts, NewCells(texts=distinct), places, lost > 0, lost, after)


def _moved(column: Column, taxonomy: Taxonomy, before: Sequence[str], after: Sequence[str], **how: str) -> Floats:
    """The distance of each concept to another one."""
    measure = how.pop("measure", "wu-palmer")
    space = nominal_space(column, taxonomy, measure=measure, concepts=before, **how)
    extended, codes = space.codes_of(after)
    return extended.pair_distances(np.arange(len(before)), codes)


# ------------------------------------------------------------------------------------------------ numbers


def _numbers(
    name: str,
    column: Column,
    plain: ColumnDescription,
    after: ColumnDescription,
    recode: Recode,
    open_once: Opener,
) -> RecodedValues:
    prepared = prepare(name, column, plain, open_once)
    space = prepared.value_space
    if not isinstance(space, NumericSpace):
        raise InternalError("A numeric column has no numbers.")
    before, notation = space.numbers, prepared.notation
    if recode.has_labels:
        texts = _labelled(before, recode, notation)
        number_of = recode.label_numbers
        numbers = np.array([number_of.get(text, number) for text, number in zip(texts, before.tolist(), strict=True)])
        found = _texts(column, texts, _lost(before, numbers), labelled(after, recode, texts))
        is_label = np.array([text in number_of for text in texts], dtype=np.bool_)
        return replace(found, changed=is_label | (numbers != before))
    decimals = max(notation.decimals, *(_decimals(one) for one in (recode.round, recode.bottom, recode.top)))
    finer = replace(notation, decimals=decimals)
    numbers = finer.round_numbers(coarser(before, recode))
    changed = numbers != before
    distinct, places = _new_places(numbers, changed)
    whole = decimals == 0 and bool((np.abs(distinct) < EXACT).all())
    cells = NewCells(numbers=distinct, are_whole=whole, notation=finer)
    return RecodedValues(column.values, column.counts, cells, places, changed, _lost(before, numbers), after)


def _new_places(after: NDArray[Any], changed: Bools) -> tuple[NDArray[Any], Codes]:
    """What changed values become, and which of them each value gets; −1 for one that stays.

    Values that were so already are written anew with them, or their spelling would tell that they did not change.
    """
    distinct = np.unique(after[changed])
    place = np.searchsorted(distinct, after).astype(np.int32)
    return distinct, np.where(np.isin(after, distinct), place, np.int32(MISSING))


def _dates(
    name: str,
    column: Column,
    plain: ColumnDescription,
    after: ColumnDescription,
    recode: Recode,
    open_once: Opener,
) -> RecodedValues:
    """Dates that are cut; those that are shifted stay here, because their shift is of a person or a record."""
    prepared = prepare(name, column, plain, open_once)
    space, notation = prepared.value_space, prepared.dates
    if notation is None or not isinstance(space, NumericSpace):
        raise InternalError("A column of dates has none.")
    if notation.kind != "date":
        raise no_calendar(name)
    before = notation.moments(space.numbers)
    known = replace(after, notation=notation.known_pattern)
    moments = before if recode.to is None else cut_dates(before, recode.to, recode.keep)
    changed = moments != before
    distinct, places = _new_places(moments, changed)
    lost = _lost(space.numbers, notation.numbers(moments))
    cells, shifted = new_dates(notation, distinct), (notation, before) if recode.shift is not None else None
    return RecodedValues(column.values, column.counts, cells, places, changed, lost, known, shifted)


def coarser(numbers: Floats, recode: Recode) -> Floats:
    """Numbers rounded to multiples, and then between bottom and top."""
    out = numbers
    if recode.round is not None:
        out = np.floor(out / recode.round + 0.5) * recode.round
    return np.clip(out, recode.bottom, recode.top) if (recode.bottom, recode.top) != (None, None) else out


def _labelled(numbers: Floats, recode: Recode, notation: Notation) -> list[str]:
    """Numbers as texts: those of their bands, or of codes, all others as the column writes numbers."""
    labels = recode.band_labels
    if recode.bands:
        return [labels[band] for band in np.searchsorted(recode.bands, numbers, side="right").tolist()]
    finer = replace(notation, decimals=max(notation.decimals, _decimals(recode.round)))
    coarse = finer.round_numbers(coarser(numbers, recode))
    whole = finer.decimals == 0 and bool((np.abs(coarse) < EXACT).all())
    texts: list[str] = NewCells(numbers=coarse, are_whole=whole, notation=finer).as_texts().to_list()
    for code, label in recode.label_numbers.items():
        texts = [code if number == label else text for text, number in zip(texts, coarse.tolist(), strict=True)]
    return texts


def labelled(after: ColumnDescription, recode: Recode, texts: Iterable[str]) -> ColumnDescription:
    """The description of a column of numbers with labels: an ordinal one of these texts, lowest first."""
    if recode.bands:
        return replace(after, kind="ordinal", order=recode.band_labels, decimal=None)
    bottom = [one for one in recode.labels if recode.bottom is not None][:1]
    top = [one for one in recode.labels if recode.top is not None][-1:]
    others = sorted(set(texts).difference(recode.labels))
    numbers = numbers_of(others, after.decimal).tolist()
    ranked = [text for _, text in sorted(zip(numbers, others, strict=True))]
    return replace(after, kind="ordinal", order=(*bottom, *ranked, *top), decimal=None)


def _lost(before: Floats, after: Floats) -> Floats:
    extent = float(np.ptp(before)) if before.size else 0.0
    return np.minimum(np.abs(after - before) / extent, 1.0) if extent else np.zeros(before.size)


def _decimals(number: float | None) -> int:
    """The decimals of a number of the plan."""
    text = "" if number is None else f"{number:.15f}".rstrip("0")
    return len(text.partition(".")[2])


# ------------------------------------------------------------------------------------------------ concepts


def _concepts(
    name: str,
    column: Column,
    plain: ColumnDescription,
    after: ColumnDescription,
    level: int | str,
    open_once: Opener,
) -> RecodedValues:
    """Values that become an ancestor; one without a concept stays, for the policy of the column."""
    if len(plain.ontologies) > 1:
        raise several_hierarchies(name)
    unmatched = "keep" if plain.unmatched == "drop" else plain.unmatched
    prepared = prepare(name, column, replace(plain, root="ontology", unmatched=unmatched), open_once)
    space = prepared.value_space
    if not isinstance(space, NominalSpace):
        raise InternalError("A column with an ontology has no concepts.")
    taxonomy = open_once(plain.ontologies[0])
    numbers = taxonomy.numbers(space.concepts)
    above = [taxonomy.ids[number] for number in ancestors_at(taxonomy, numbers, at_level(taxonomy, level)).tolist()]
    if isinstance(level, str):
        prefix = f"{level}:"
        lack = [place for place, concept in enumerate(above) if not concept.startswith(prefix)]
        if lack:
            values = [prepared.column.values[place] for place in lack]
            raise missing_level(values, name, level, taxonomy.name, int(space.counts[lack].sum()))
    extended, codes = space.codes_of(above)
    lost = extended.pair_distances(np.arange(len(above)), codes)
    text_of = {
        value: (space.spelling.text(concept, taxonomy), moved, concept != own)
        for value, concept, own, moved in zip(prepared.column.values, above, space.concepts, lost.tolist(), strict=True)
    }
    stays = {value: (value, 0.0, False) for value in column.values} | text_of
    found = _texts(column, [stays[value][0] for value in column.values], _column_of(stays, column, 1), after)
    return replace(found, changed=_column_of(stays, column, 2) > 0)


def _column_of(stays: Mapping[str, tuple[str, float, bool]], column: Column, place: int) -> Floats:
    return np.array([float(stays[value][place]) for value in column.values], dtype=np.float64)


def at_level(taxonomy: Taxonomy, level: int | str) -> Bools:
    """The concepts of a level: those at a depth, or those whose ids begin with its name, as in ``chapter:A00-B99``."""
    if not isinstance(level, str):
        return np.asarray(taxonomy.depths == level)
    wanted = np.array([concept.startswith(f"{level}:") for concept in taxonomy.ids], dtype=np.bool_)
    if not wanted.any():
        inner = (taxonomy.ids[number] for number in np.flatnonzero(np.diff(taxonomy.child_offsets)).tolist())
        levels = {concept.partition(":")[0] for concept in inner if ":" in concept}
        named = [one for one in sorted(levels) if one.isalpha() and one.islower()]
        raise unknown_level(level, taxonomy.name, named, taxonomy.max_depth)
    return wanted


def require_texts(name: str, *, is_text: bool, recode: Recode) -> None:
    """Refuse prefixes of numbers, which have lost their leading zeros."""
    if recode.prefix is not None and not is_text:
        raise numbers_without_zeros(name)
