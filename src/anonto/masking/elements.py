"""Steps that mask the elements of sets one by one: a table with a row for each element, and its way back.

A method for single values masks a column of sets through such a table. Each element keeps its place in the rows of its
set, whose elements and rows are sorted again, so that a person keeps how many elements she has, and nothing tells which
of them was which. Repeated elements are rows of their own: a guarantee for a value adds up over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.prepare import apply_missing_policy, rows_that_stay
from anonto.encoding.set_space import ELEMENT, ROW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.encoding.prepare import Opener
    from anonto.masking.evidence import Outcome
    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed

RECORD, ROW_OF_SET, TEXT = "record", "row", "element"


@dataclass(frozen=True, eq=False, repr=False)
class ElementTable:
    """The elements of a column of sets, in the order of the records."""

    records: FrameAdapter
    whole: Plan
    """The plan of the records."""
    number: int
    """Which of its steps masks the elements."""
    open_once: Opener

    @property
    def name(self) -> str:
        """The column."""
        return self.whole.steps[self.number].columns[0]

    @property
    def plan(self) -> Plan:
        """The plan of the elements: each has one value, and the cells of its record in the columns of strata."""
        step, described = self.whole.steps[self.number], self.whole.description(self.name)
        element = replace(described, kind="nominal", layout=None, na=(), missing="keep", unmatched=_kept(described))
        columns = {self.name: element, **{name: self.whole.description(name) for name in step.within}}
        return replace(self.whole, columns=MappingProxyType(columns), steps=(step,), table=MappingProxyType({}))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table that is masked."""
        within = {
            name: self._cells(name).gather(self._elements[RECORD]) for name in self.whole.steps[self.number].within
        }
        return pl.DataFrame({self.name: self._elements[TEXT], **within})

    @property
    def facts(self) -> dict[str, int]:
        """How many elements there are, and how many the record with the most has."""
        of_records = np.bincount(self._elements[RECORD].to_numpy())
        return {"elements": self._elements.height, "most_elements": int(of_records.max(initial=0))}

    def joined(self, masked: pl.Series) -> pl.Series:
        """The sets of all records, with other elements; a record without elements, or that is dropped, as it is."""
        of_rows = self._elements.with_columns(masked.cast(pl.String).alias(TEXT)).group_by(RECORD, ROW_OF_SET)
        rows = of_rows.agg(pl.col(TEXT).sort().str.join(ELEMENT))
        every = self._rows.join(rows, on=[RECORD, ROW_OF_SET], how="left").with_columns(pl.col(TEXT).fill_null(""))
        sets = every.group_by(RECORD).agg(pl.col(TEXT).sort().str.join(ROW))
        with_elements = sets.filter(pl.col(RECORD).is_in(self._elements[RECORD].unique().implode()))
        given = pl.DataFrame({self.name: self._cells(self.name)}).with_row_index(RECORD)
        found = given.join(with_elements, on=RECORD, how="left", maintain_order="left")
        return found.select(pl.coalesce(TEXT, self.name)).to_series().alias(self.name)

    # ------------------------------------------------------------------------------------------ from sets to elements

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """The rows of all sets of records that stay, empty ones too."""
        given = pl.DataFrame({TEXT: self._cells(self.name)}).with_row_index(RECORD)
        stays = self._staying()
        given = given.filter(pl.col(TEXT).is_not_null() & (True if stays is None else pl.Series(stays)))
        rows = given.with_columns(pl.col(TEXT).str.split(ROW)).explode(TEXT)
        numbered = rows.with_columns(pl.int_range(pl.len()).over(RECORD).alias(ROW_OF_SET))
        return numbered.rename({TEXT: "texts"})

    @cached_property
    def _elements(self) -> pl.DataFrame:
        parts = self._rows.with_columns(pl.col("texts").str.split(ELEMENT).alias(TEXT)).explode(TEXT)
        return parts.filter(pl.col(TEXT) != "").drop("texts")

    def _staying(self) -> Any:
        """Mask of the records that no policy drops; None for all."""
        plan, names = self.whole, self.records.names
        dropping = {
            name: apply_missing_policy(name, self.records.encode(name), plan.description(name))
            for name in plan.dropping_columns(names)
        }
        return rows_that_stay(dropping, plan.description, self.open_once)

    def _cells(self, name: str) -> pl.Series:
        cells: pl.Series = self.records.native(name)
        return cells


def _kept(described: Any) -> str:
    """The policy for elements without a concept in records that stay: where such records are dropped, none is left."""
    return "refuse" if described.unmatched == "drop" else str(described.unmatched)


def with_elements(
    whole: Plan,
    outcome: Outcome,
    of_elements: Mapping[int, tuple[Outcome, dict[str, int]]],
    seed: Seed,
) -> Outcome:
    """The evidence of all steps: of those that mask records, and of those that mask elements.

    Args:
        whole: The plan of the records.
        outcome: Of the steps that mask records.
        of_elements: By the number of each other step its outcome, and the facts about its elements.
        seed: That of the whole release.
    """
    steps, settings, masked = [], [], {}
    of_records = iter(zip(outcome.evidence["steps"], outcome.settings, strict=True))
    for number, step in enumerate(whole.steps):
        if number not in of_elements:
            said, setting = next(of_records)
            masked.update({name: outcome.masked[name] for name in step.columns})
        else:
            own, facts = of_elements[number]
            (said,), (alone,) = own.evidence["steps"], own.settings
            known = {"guessable_seed": seed.can_be_guessed, "no_records": not outcome.evidence["n_records"]}
            setting = whole.setting(step, outcome.names, alone.unmatched, **known, facts={**alone.facts, **facts})
            said = {**said, **facts, "guarantee": step.method.guarantee(setting).to_dict()}
            if "record_epsilon" in said:  # that of an element adds up over the elements of a record
                said["record_epsilon"] *= facts["most_elements"]
            masked.update(own.masked)
        steps.append(said)
        settings.append(setting)
    as_is = [name for name in outcome.evidence["released_as_is"] if name not in masked]
    evidence = {**outcome.evidence, "released_as_is": as_is, "steps": steps}
    return replace(outcome, evidence=evidence, settings=tuple(settings), plan=whole, masked=masked)
