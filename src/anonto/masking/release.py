"""The result of a run: the masked table for internal use, and files to give away.

``table`` keeps the order of the rows, for comparison with the original; ``save`` shuffles them by default, because a
row's place alone would link it to its person. The evidence is about what ``save`` writes by default. The seed is in
neither: it goes to a private record of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.io.atomic_write import atomic_write, pending_files
from anonto.masking.private_record import PrivateRecord
from anonto.random.streams import Seed, row_order

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anonto.arrays import Longs
    from anonto.masking.evidence import MaskedColumn, Outcome
    from anonto.masking.plan import Plan
    from anonto.masking.protocol import MaskedRows
    from anonto.methods.guarantee import Setting


@dataclass(frozen=True, slots=True)
class Outputs:
    """The paths of a release."""

    table: str | os.PathLike[str]
    record: Path | None
    """The private record, if it is wanted."""
    report: Path | None

    @classmethod
    def of(
        cls,
        table: str | os.PathLike[str],
        private: bool | str | os.PathLike[str],
        report: str | os.PathLike[str] | None,
    ) -> Outputs:
        """From the arguments of `Release.save`."""
        record = None if private is False else PrivateRecord.path_for(table, None if private is True else private)
        return cls(table, record, None if report is None else Path(report))

    @property
    def further(self) -> list[Path]:
        """The files that are written with the table."""
        return [one for one in (self.record, self.report) if one is not None]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """A masked table with the evidence of how it was masked."""

    outcome: Outcome
    """The evidence of a release that is saved with the defaults."""
    identifiers: tuple[str, ...]
    """Columns that are dropped."""
    masked_rows: MaskedRows
    seed: Seed = field(repr=False)

    def __repr__(self) -> str:
        n, as_is = self.evidence["n_records"], len(self.evidence["released_as_is"])
        return f"<Release of {n:,} records: {len(self.masked)} columns masked, {as_is} released as they are>"

    @property
    def evidence(self) -> dict[str, Any]:
        """Plain data: what changed, what stayed the same, which guarantees hold for what `save` writes by default."""
        return self.outcome.evidence

    @property
    def plan(self) -> Plan:
        """The plan of the release."""
        return self.outcome.plan

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The facts that the guarantee of each step rests on."""
        return self.outcome.settings

    @property
    def masked(self) -> Mapping[str, MaskedColumn]:
        """The masked columns by name."""
        return self.outcome.masked

    @property
    def rows(self) -> Longs | None:
        """The rows of the input that were not dropped; None for all."""
        return self.masked_rows.kept

    @cached_property
    def table(self) -> Any:
        """The masked table, of the kind that was given (polars for a path), rows in their order.

        On a cluster it is a DataFrame that is computed when it is used.
        """
        return self.masked_rows.table(self.identifiers, self.plan.scales)

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
        way leaves none of them. What was masked and the ontologies of the plan are never replaced.

        Args:
            path: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.xlsx``, ``.sav``, ``.dta`` or ``.xpt``; from a
                cluster a folder of Parquet files, where it can write, whose rows are in order when files are read by
                name.
            keep_order: Keep the rows in their order, which links them to the original table: no guarantee that limits
                linking is proved then.
            private: Where the private record goes, on this machine; by default beside the output as
                ``….private.json``; False for nowhere.
            report: Where a report goes as HTML, if it is wanted.
            force: Whether what is there is replaced.

        Returns:
            The evidence of what was written. It differs from ``evidence`` where the order is kept.
        """
        outputs = Outputs.of(path, self.masked_rows.record_path(path) if private is True else private, report)
        self.masked_rows.require_apart(path, outputs.further, self.plan.ontology_files)
        return self.write_outputs(outputs, keep_order=keep_order, force=force)

    def write_outputs(self, outputs: Outputs, *, keep_order: bool, force: bool) -> dict[str, Any]:
        """Write the files of a release; the caller has checked that none would replace an input."""
        rows, outcome = self.masked_rows, self.outcome.in_order() if keep_order else self.outcome
        order = None if keep_order else row_order(self.seed, "order of rows", self.evidence["n_records"])
        with pending_files() as files, rows.place_for(outputs.table, files, force=force) as place:
            record = None if outputs.record is None else files.add(outputs.record, force=force, mode=0o600)
            page = None if outputs.report is None else files.add(outputs.report, force=force)
            rows.write(place, outputs.table, self.identifiers, order, self.plan.scales)
            if page is not None:
                page.write_text(outcome.report(), encoding="utf-8")
            if record is not None:
                self._record().write(record)
        rows.warn_of_changes(outputs.table, self.identifiers)
        return outcome.evidence

    def save_private(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the seed and the hash of the input to a file that only its owner can read."""
        self.masked_rows.require_apart(None, [Path(path)], self.plan.ontology_files)
        with atomic_write(Path(path), force=force, mode=0o600) as temporary:
            self._record().write(temporary)

    def save_report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write what was done, and what of the frequencies is left, as one HTML file.

        It is about what `save` writes by default, with its rows in random order.
        """
        self.masked_rows.require_apart(None, [Path(path)], self.plan.ontology_files)
        with atomic_write(Path(path), force=force) as temporary:
            temporary.write_text(self.outcome.report(), encoding="utf-8")

    def in_order(self) -> Release:
        """The same release with the evidence of rows that are released in their order."""
        return replace(self, outcome=self.outcome.in_order())

    def _record(self) -> PrivateRecord:
        return PrivateRecord.of(self.seed, self.masked_rows.origin, self.evidence)
