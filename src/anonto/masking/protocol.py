"""The interface of every engine: count the values of a table where its rows are, mask them there, and write them.

Fitting sees a `CountingEngine`, a run an `Engine`, and a release its `MaskedRows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from anonto.arrays import Codes, Longs
    from anonto.encoding.prepare import Opener
    from anonto.encoding.record_counts import CountedRecords
    from anonto.encoding.value_space import ValueSpace
    from anonto.io.atomic_write import PendingFiles
    from anonto.io.table import Origin
    from anonto.masking.fitted import FittedPlan, TableCounts
    from anonto.masking.plan import Plan
    from anonto.masking.released import ReleasedColumn, Tallies
    from anonto.methods.grid_swap import CellMethod
    from anonto.methods.row_masking import RowMasker
    from anonto.random.streams import Key, RowOrder
    from anonto.runtime.memory_limit import MemoryLimit


class RowExchange(Protocol):
    """A grid swap whose rows are exchanged where they are, cell by cell, instead of in memory."""

    @property
    def untouched(self) -> Sequence[int]:
        """The number of cells of each column that had a value but no partner, once all rows are exchanged."""
        ...

    def masker(self, key: Key, name: str) -> RowMasker:
        """Exchange all rows; the names of any files begin with a name."""
        ...


class CountingEngine(Protocol):
    """The interface that fitting a plan needs from an engine."""

    @property
    def limit(self) -> MemoryLimit | None:
        """The memory that fitting may use; None where all records are in memory anyway."""
        ...

    @property
    def origin(self) -> Origin | None:
        """The file of the table, if it has one."""
        ...

    def count(self, plan: Plan, open_once: Opener) -> TableCounts:
        """Count the columns that a step or a policy looks at."""
        ...

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """Count the distinct records of some columns; maps give for each column the code of each raw code."""
        ...

    def exchange(
        self, method: CellMethod, columns: Sequence[ReleasedColumn], value_spaces: Sequence[ValueSpace], *, fits: bool
    ) -> RowExchange | None:
        """Exchange rows where they are; None to fit whole records instead, which fit into memory or do not."""
        ...


class Engine(CountingEngine, Protocol):
    """A table, wherever its rows are."""

    @property
    def names(self) -> Sequence[str]:
        """All columns."""
        ...

    def apply(self, fitted: FittedPlan) -> tuple[MaskedRows, Tallies]:
        """Mask all rows and return them with their tallies; no output is written yet."""
        ...


class MaskedRows(Protocol):
    """Masked rows, wherever an engine has them."""

    @property
    def kept(self) -> Longs | None:
        """The rows of the input that were not dropped; None for all."""
        ...

    @property
    def origin(self) -> Origin | None:
        """The masked source, for the private record."""
        ...

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked table without some columns, rows in their order."""
        ...

    def record_path(self, path: str | os.PathLike[str]) -> Path:
        """The default place of the private record of an output."""
        ...

    def require_apart(self, path: str | os.PathLike[str] | None, further: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files written with it, that would replace an input."""
        ...

    def place_for(
        self, path: str | os.PathLike[str], files: PendingFiles, *, force: bool
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
        """Warn about types that the format of an output cannot hold."""
        ...
