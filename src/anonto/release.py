"""What comes out of a run: the masked table for use inside the house, and files for use outside it.

``table`` keeps the order of the rows, for comparison with the original; ``save`` shuffles them by default, because a
row's place alone would link it to its person. The evidence is about what ``save`` writes by default. The seed is in
neither: it goes to a private record of its own.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.errors import FittedInBlocksWarning
from anonto.private_record import PrivateRecord, block_rows_of
from anonto.rng import RowOrder, Seed, row_order
from anonto.table.attributes import ExtendedAttribute, first_codes
from anonto.table.beside import files_beside, require_free, written_beside
from anonto.table.columns import MISSING, first_positions
from anonto.table.door import Door, Substitution
from anonto.table.leftovers import has_fixed_categories, used_categories, with_categories
from anonto.table.new_cells import new_cells
from anonto.table.released_labels import released_origin
from anonto.table.table import Table, without_letters
from anonto.table.writing import output_format, warn_of_changed_types, write_to
from anonto.threads import slices

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.methods.flows import Moves
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.table.attributes import Attribute
    from anonto.table.missing_codes import Recoded
    from anonto.table.prepare import PreparedColumn
    from anonto.table.table import Origin


ROWS_AT_ONCE = 1 << 18
"""Rows of a stretch when a table is written in stretches."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaskedColumn:
    """A column before and after."""

    prepared: PreparedColumn
    attribute: Attribute
    """The distances between the values: the column's own, or with missing as a value where missing cells moved."""
    moves: Moves
    untouched: int
    """Cells that had no partner."""
    before: NDArray[np.int32]
    """The value of each record; −1 for a cell that takes no part."""
    codes: NDArray[np.int32]
    """The masked value of each record; −1 for a cell that stays as it is."""
    texts: pl.Series | None = None
    """The values, when the input's own column was let go."""
    recoded: Recoded | None = None
    """Missing cells that are released with another code, if there are any."""

    @property
    def name(self) -> str:
        """Of the column."""
        return self.prepared.name

    @property
    def n_values(self) -> int:
        """Distinct values of the column itself; codes from here on stand for cells without one that moved."""
        return len(self.prepared.column.values)

    @property
    def n_cells(self) -> int:
        """Cells with a value, those without a concept included."""
        return len(self.prepared.column) - self.prepared.n_missing

    @property
    def n_unchanged(self) -> int:
        """Cells with a value that mean the same afterwards."""
        moves = self.moves
        with_value = moves.sources < self.n_values
        same = self._meant(moves.sources) == self._meant(moves.targets)
        return int(moves.amounts[with_value & same].sum()) + self.n_unmatched_in_place

    @property
    def n_unmatched_in_place(self) -> int:
        """Cells with a text but without a concept that stay as they are."""
        if not isinstance(self.attribute, ExtendedAttribute):
            return self.prepared.n_unmatched
        moves = self.moves
        unmatched = (moves.sources >= self.n_values) & (moves.sources < self.attribute.first_code)
        return int(moves.amounts[unmatched & (moves.sources == moves.targets)].sum())

    def same(self, part: slice = slice(None)) -> NDArray[np.bool_]:
        """Which records, or some stretch of them, have the same value, or the same missing code, before and after."""
        same = np.equal(self._meant(self.codes[part]), self._meant(self.before[part]))
        return same if self.recoded is None else same & ~self.recoded.cells[part]

    def _meant(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The codes, with one for each released concept and the values that mean it."""
        first = first_codes(self.attribute)
        return codes if first is None else first[codes]

    def how_far(self) -> tuple[float, float]:
        """The root of the mean squared distance between the cells before and after, and the largest of all.

        Counted are cells that have a value before or after: one that gets a value, or loses it, has moved by 1.
        """
        moves = self.moves
        distances = self.attribute.pair_distances(moves.sources, moves.targets)
        farthest = float(distances.max(initial=0.0))
        amounts = moves.amounts
        if isinstance(self.attribute, ExtendedAttribute):
            amounts = np.where(np.minimum(moves.sources, moves.targets) < self.n_values, amounts, 0)
        if not amounts.any():
            return 0.0, farthest
        np.square(distances, out=distances)
        return math.sqrt(dot(amounts, distances) / float(amounts.sum())), farthest

    def substitution(self, rows: NDArray[np.int64] | None) -> Substitution:
        """The new cells, each by a row of the input that has its value, or by the value itself."""
        missing_moved = isinstance(self.attribute, ExtendedAttribute)
        further = None if missing_moved else new_cells(self.prepared, self.attribute)
        if self.texts is None:
            n_present = int(self.before.max(initial=MISSING)) + 1 if missing_moved else self.n_values
            first = first_positions(self.before, n_present)
            return Substitution(first if rows is None else rows[first], self.codes, further=further)
        codes = np.where(self.codes < self.n_values, self.codes, np.int32(MISSING)) if missing_moved else self.codes
        return Substitution(np.empty(0, dtype=np.int64), codes, self.texts, further)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaskedNumbers(MaskedColumn):
    """A column of numbers of which only sums over all rows are known: any of them may have moved anywhere."""

    n_same: int
    squares: float
    """The sum of the squared distances between the cells before and after."""
    largest: float

    @property
    def n_unchanged(self) -> int:
        """Cells with a value that leave as they were."""
        return self.n_same

    def how_far(self) -> tuple[float, float]:
        """The root of the mean squared distance between the cells before and after, and the largest of all."""
        return math.sqrt(self.squares / self.n_cells) if self.n_cells else 0.0, self.largest


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """What a report is made of where the rows are elsewhere."""

    evidence: dict[str, Any]
    settings: tuple[Setting, ...]
    """For each step what its guarantee rests on."""
    plan: Plan
    masked: Mapping[str, MaskedColumn]

    def in_order(self) -> Outcome:
        """The same where the rows leave in their order."""
        return replace(self, evidence=evidence_in_order(self.plan, self.settings, self.evidence))

    def report(self) -> str:
        """What was done, as HTML."""
        from anonto.report.data import report_data
        from anonto.report.page import html_report

        return html_report(report_data(self))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """A masked table with the evidence of how it was masked."""

    evidence: dict[str, Any]
    """Plain data: what was done, what stayed as it was, what is promised of the file that `save` writes by default."""
    settings: tuple[Setting, ...]
    """For each step what its guarantee rests on."""
    plan: Plan
    masked: Mapping[str, MaskedColumn]
    door: Door
    origin: Origin | None
    identifiers: tuple[str, ...]
    rows: NDArray[np.int64] | None
    """The rows of the input that stay; None for all."""
    seed: Seed = field(repr=False)

    def __repr__(self) -> str:
        n, as_is = self.evidence["n_records"], len(self.evidence["released_as_is"])
        return f"<Release of {n:,} records: {len(self.masked)} columns masked, {as_is} released as they are>"

    @cached_property
    def table(self) -> Any:
        """The masked table, of the kind that was given (polars for a path), rows in their order."""
        return self.door.released(self._in_order(None), self.plan.scales)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_order: bool = False,
        private: bool | str | os.PathLike[str] = True,
        report: str | os.PathLike[str] | None = None,
        force: bool = True,
    ) -> dict[str, Any]:
        """Write the masked table, in the format that the path's suffix names.

        All files are written beside their names first and put in place together at the end, so that a failure on the
        way leaves none of them. The file that was masked and the ontologies of the plan are never replaced.

        Args:
            path: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.xlsx``, ``.sav``, ``.dta`` or ``.xpt``.
            keep_order: Keep the rows in their order, which links them to the original table: no guarantee that limits
                linking is proved then.
            private: Where the private record goes; by default beside the output as ``….private.json``; False for
                nowhere.
            report: Where a report goes as HTML, if it is wanted.
            force: Whether a file that is there is replaced.

        Returns:
            The evidence of what was written. It differs from ``evidence`` where the order is kept.
        """
        target = Path(path)
        output_format(target)
        record = PrivateRecord.beside(target) if private is True else Path(str(private))
        outputs = [target, *([] if private is False else [record]), *([] if report is None else [Path(report)])]
        require_free(self._read, outputs)
        outcome = self._outcome.in_order() if keep_order else self._outcome
        with files_beside() as files:
            written = files.add(target, force=force)
            private_file = None if private is False else files.add(record, force=force, mode=0o600)
            report_file = None if report is None else files.add(Path(report), force=force)
            self._write(written, target.name, keep_order=keep_order)
            if report_file is not None:
                report_file.write_text(outcome.report(), encoding="utf-8")
            if private_file is not None:
                self._write_record(private_file)
        left = [name for name in self.door.names if name not in self.identifiers]
        warn_of_changed_types(self.origin, left, target.name)
        return outcome.evidence

    def save_private(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the seed and the hash of the input to a file that only its owner can read."""
        require_free(self._read, [Path(path)])
        with written_beside(Path(path), force=force, mode=0o600) as beside:
            self._write_record(beside)

    def _write(self, written: Path, name: str, *, keep_order: bool) -> None:
        n_records = self.evidence["n_records"]
        shuffled = None if keep_order else row_order(self.seed, "order of rows", n_records)
        if self.door.library == "polars" and output_format(name) == "parquet":
            from anonto.table.parquet_files import sink_parquet

            sink_parquet(lambda: self._parts(shuffled), written, name)
            return
        order = None if shuffled is None else shuffled.part(0, n_records)
        table = self._in_order(order)
        if self.door.library != "polars":  # Of a polars table, the other formats get nothing but the cells.
            table = self.door.released(table, self.plan.scales)
        frame = _as_polars(table)
        write_to(written, Table(frame, released_origin(self.origin, frame)), name)

    def _parts(self, shuffled: RowOrder | None) -> Iterator[pl.DataFrame]:
        """The masked table a stretch of rows at a time; at least one, so that an empty table has its columns."""
        n_records = self.evidence["n_records"]
        schema = self._in_order(np.arange(0)).schema
        listed = [name for name, dtype in schema.items() if has_fixed_categories(dtype)]
        used = used_categories([self._in_order(None, listed)] if listed else [], self.plan.scales)
        for part in slices(0, n_records, ROWS_AT_ONCE) or [slice(0, 0)]:
            rows = np.arange(part.start, part.stop) if shuffled is None else shuffled.part(part.start, part.stop)
            yield with_categories(without_letters(self._in_order(rows), self.origin), used)

    def _write_record(self, path: Path) -> None:
        PrivateRecord.of(self.seed, self.origin, self.evidence).write(path)

    def save_report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write what was done, and what of the frequencies is left, as one HTML file.

        It is about the file that `save` writes by default, with its rows in random order.
        """
        require_free(self._read, [Path(path)])
        with written_beside(Path(path), force=force) as beside:
            beside.write_text(self._outcome.report(), encoding="utf-8")

    @property
    def _read(self) -> list[Path]:
        """The files that no output may replace."""
        return [*(self.origin.files if self.origin else ()), *self.plan.ontology_files]

    @property
    def _outcome(self) -> Outcome:
        return Outcome(evidence=self.evidence, settings=self.settings, plan=self.plan, masked=self.masked)

    def _in_order(self, order: NDArray[np.integer] | None, names: Collection[str] | None = None) -> Any:
        """The masked table, or some of its columns."""
        names = self.door.names if names is None else names
        substitutions = {name: one.substitution(self.rows) for name, one in self.masked.items() if name in names}
        dropped = [name for name in self.door.names if name not in names or name in self.identifiers]
        return self.door.changed(substitutions, dropped=dropped, rows=self.rows, order=order)


def evidence_in_order(plan: Plan, settings: Sequence[Setting], evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence of a release whose rows leave in their order."""
    steps = [
        {**said, "guarantee": step.method.guarantee(replace(setting, rows_in_order=True)).to_dict()}
        for step, setting, said in zip(plan.steps, settings, evidence["steps"], strict=True)
    ]
    return {**evidence, "rows_in_order": True, "steps": steps}


def warn_of_blocks(plan: Plan, evidence: Mapping[str, Any]) -> None:
    """Warn of steps that were fitted in blocks though the plan does not say so."""
    for number, rows in block_rows_of(evidence).items():
        if getattr(plan.steps[number - 1].method, "block_rows", None) is None:
            blocks = evidence["steps"][number - 1]["blocks"]
            warnings.warn(FittedInBlocksWarning(number, rows, blocks), stacklevel=3)


def _as_polars(table: Any) -> pl.DataFrame:
    import polars as pl

    door = Door(table)
    return pl.DataFrame([door.series(name).alias(name) for name in door.names])
