"""The facts that a guess about a column may use: its name, its distinct values and their counts."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import encode
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.io.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from anonto.arrays import Longs

_BREAK = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, eq=False, repr=False)
class ColumnProfile:
    """A column by its distinct values."""

    name: str
    values: tuple[str, ...]
    counts: Longs
    n_records: int
    has_labels: bool = False
    """True if the file labels its values, as SPSS and Stata do with codes."""

    @property
    def n_present(self) -> int:
        """Cells with a value."""
        return int(self.counts.sum())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the column's name."""
        return name_words(self.name)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Words to look up, without accents: all words as one, then each pair and each word, from the last one on."""
        plain = tuple(map(_without_accents, self.words))
        found = ["".join(plain)]
        for place in range(len(plain) - 1, -1, -1):
            found += ["".join(plain[place - 1 : place + 1])] if place else []
            found.append(plain[place])
        return tuple(dict.fromkeys(found))

    @property
    def distinct_share(self) -> float:
        """Distinct values per cell with a value: 1 when no value occurs twice."""
        return len(self.values) / self.n_present if self.n_present else 0.0

    def cells_of(self, values: Sequence[str]) -> int:
        """The number of cells with one of some values."""
        wanted = set(values)
        pairs = zip(self.values, self.counts.tolist(), strict=True)
        return sum(count for value, count in pairs if value in wanted)

    def without(self, values: Sequence[str]) -> ColumnProfile:
        """The same column with some of its values as missing."""
        if not values:
            return self
        gone = set(values)
        stays = np.array([value not in gone for value in self.values], dtype=np.bool_)
        kept = tuple(value for value in self.values if value not in gone)
        return ColumnProfile(self.name, kept, self.counts[stays], self.n_records, self.has_labels)


@dataclass(frozen=True, slots=True, eq=False)
class OpenTable:
    """The columns of a table from any source."""

    names: Sequence[str]
    series: Callable[[str], pl.Series]
    n_records: int
    labelled: frozenset[str] = frozenset()

    def profile(self, name: str) -> ColumnProfile:
        """The distinct values of one column."""
        column = encode(self.series(name))
        return ColumnProfile(name, column.values, column.counts, len(column), name in self.labelled)


def open_table(table: Any, header: str | None = None) -> OpenTable:
    """Open a path, a table that was read, or a pandas, polars or pyarrow table; for `header` see `read_table`."""
    if isinstance(table, str | os.PathLike):
        from anonto.io.reading import read_table

        table = read_table(table, header=header)
    if isinstance(table, Table):
        labels = table.origin.labels
        labelled = frozenset(name for name, texts in labels.value_labels.items() if len(texts) > 1) if labels else ()
        return OpenTable(table.frame.columns, table.column, table.frame.height, frozenset(labelled))
    adapter = table if isinstance(table, FrameAdapter) else FrameAdapter(table)
    return OpenTable(adapter.names, adapter.series, len(adapter))


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: ``admissionType_ID2`` is admission, type, id, 2."""
    return tuple(word.casefold() for word in _BREAK.split(name) if word)
