"""What comes out of a run: the masked table for use inside the house, and files for use outside it.

``table`` keeps the order of the rows, for comparison with the original; ``save`` shuffles them by default, because a
row's place alone would link it to its person. The evidence is about what ``save`` writes by default. The seed is in
neither: it goes to a private record of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anonto.private_record import PrivateRecord
from anonto.rng import Seed, row_order
from anonto.table.beside import files_beside, written_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from anonto.masking.evidence import MaskedColumn, Outcome
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.rng import RowOrder
    from anonto.table.beside import FilesBeside
    from anonto.table.table import Origin


class MaskedRows(Protocol):
    """Masked rows, wherever an engine has them."""

    @property
    def kept(self) -> NDArray[np.int64] | None:
        """The rows of the input that stay; None for all."""
        ...

    @property
    def origin(self) -> Origin | None:
        """What was masked, for the private record."""
        ...

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked table without some columns, rows in their order."""
        ...

    def record_beside(self, path: str | os.PathLike[str]) -> Path:
        """Where the private record of an output lies."""
        ...

    def require_apart(self, path: str | os.PathLike[str] | None, beside: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files beside it, that would replace what was read."""
        ...

    def place_for(
        self, path: str | os.PathLike[str], files: FilesBeside, *, force: bool
    ) -> AbstractContextManager[Any]:
        """Where the masked table is written before it is put in place, together with files beside it."""
        ...

    def write(
        self,
        place: Any,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked table to a place, in the format of a path."""
        ...

    def warn_of_changes(self, path: str | os.PathLike[str], dropped: Sequence[str]) -> None:
        """Warn of what the format of an output could not hold."""
        ...


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a release is written."""

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
        record_beside: Callable[[str | os.PathLike[str]], Path],
    ) -> Outputs:
        """As `Release.save` takes them; where the private record of a table lies is only asked if nobody says it."""
        if private is False:
            record = None
        else:
            record = Path(private) if isinstance(private, str | os.PathLike) else record_beside(table)
        return cls(table, record, None if report is None else Path(report))

    @property
    def beside(self) -> list[Path]:
        """The files beside the table."""
        return [one for one in (self.record, self.report) if one is not None]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """A masked table with the evidence of how it was masked."""

    outcome: Outcome
    """What was done, as `save` does it by default."""
    identifiers: tuple[str, ...]
    """Columns that are dropped."""
    masked_rows: MaskedRows
    seed: Seed = field(repr=False)

    def __repr__(self) -> str:
        n, as_is = self.evidence["n_records"], len(self.evidence["released_as_is"])
        return f"<Release of {n:,} records: {len(self.masked)} columns masked, {as_is} released as they are>"

    @property
    def evidence(self) -> dict[str, Any]:
        """Plain data: what was done, what stayed as it was, what is promised of what `save` writes by default."""
        return self.outcome.evidence

    @property
    def plan(self) -> Plan:
        """The plan of the release."""
        return self.outcome.plan

    @property
    def settings(self) -> tuple[Setting, ...]:
        """For each step what its guarantee rests on."""
        return self.outcome.settings

    @property
    def masked(self) -> Mapping[str, MaskedColumn]:
        """The masked columns by name."""
        return self.outcome.masked

    @property
    def rows(self) -> NDArray[np.int64] | None:
        """The rows of the input that stay; None for all."""
        return self.masked_rows.kept

    @cached_property
    def table(self) -> Any:
        """The masked table, of the kind that was given (polars for a path), rows in their order.

        On a cluster it is a DataFrame, and nothing is computed before it is asked for.
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
        outputs = Outputs.of(path, private, report, self.masked_rows.record_beside)
        self.masked_rows.require_apart(path, outputs.beside, self.plan.ontology_files)
        return self.put_into(outputs, keep_order=keep_order, force=force)

    def put_into(self, outputs: Outputs, *, keep_order: bool, force: bool) -> dict[str, Any]:
        """Write the files of a release, of which it is known that none would replace what was read."""
        rows, outcome = self.masked_rows, self.outcome.in_order() if keep_order else self.outcome
        order = None if keep_order else row_order(self.seed, "order of rows", self.evidence["n_records"])
        with files_beside() as files, rows.place_for(outputs.table, files, force=force) as place:
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
        with written_beside(Path(path), force=force, mode=0o600) as beside:
            self._record().write(beside)

    def save_report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write what was done, and what of the frequencies is left, as one HTML file.

        It is about what `save` writes by default, with its rows in random order.
        """
        self.masked_rows.require_apart(None, [Path(path)], self.plan.ontology_files)
        with written_beside(Path(path), force=force) as beside:
            beside.write_text(self.outcome.report(), encoding="utf-8")

    def in_order(self) -> Release:
        """The same release with the evidence of rows that leave in their order."""
        return replace(self, outcome=self.outcome.in_order())

    def _record(self) -> PrivateRecord:
        return PrivateRecord.of(self.seed, self.masked_rows.origin, self.evidence)
