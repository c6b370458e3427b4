"""What a guess about a column may look at: its name, its distinct values and how often each occurs."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.columns import encode
from anonto.table.door import Door
from anonto.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

_BREAK = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """A column by its distinct values."""

    name: str
    values: tuple[str, ...]
    counts: NDArray[np.int64]
    n_records: int
    has_labels: bool = False
    """Whether the file gives its values a label, as SPSS and Stata do for codes."""

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
        """Words to look up, without accents: all words as one, then from the last one on each pair and each word."""
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
        """In how many cells some of the values stand."""
        wanted = set(values)
        pairs = zip(self.values, self.counts.tolist(), strict=True)
        return sum(count for value, count in pairs if value in wanted)

    def without(self, values: Sequence[str]) -> Facts:
        """The same column with some of its values as missing."""
        if not values:
            return self
        gone = set(values)
        stays = np.array([value not in gone for value in self.values], dtype=np.bool_)
        kept = tuple(value for value in self.values if value not in gone)
        return Facts(self.name, kept, self.counts[stays], self.n_records, self.has_labels)


@dataclass(frozen=True, slots=True, eq=False)
class OpenTable:
    """The columns of a table, wherever it came from."""

    names: Sequence[str]
    series: Callable[[str], pl.Series]
    n_records: int
    labelled: frozenset[str] = frozenset()

    def facts(self, name: str) -> Facts:
        """The distinct values of one column."""
        column = encode(self.series(name))
        return Facts(name, column.values, column.counts, len(column), name in self.labelled)


def open_table(table: Any, header: str | None = None) -> OpenTable:
    """The columns of a path, of a table that was read, or of a pandas, polars or pyarrow table.

    Args:
        table: The table.
        header: See `read_table`.
    """
    if isinstance(table, str | os.PathLike):
        from anonto.table.reading import read_table

        table = read_table(table, header=header)
    if isinstance(table, Table):
        labels = table.origin.labels
        labelled = frozenset(name for name, texts in labels.value_labels.items() if len(texts) > 1) if labels else ()
        return OpenTable(table.frame.columns, table.column, table.frame.height, frozenset(labelled))
    door = table if isinstance(table, Door) else Door(table)
    return OpenTable(door.names, door.series, len(door))


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set to look in."""
    return frozenset(text.split())


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def name_words(name: str) -> tuple[str, ...]:
    """A name in small words: ``admissionType_ID2`` is admission, type, id, 2."""
    return tuple(word.casefold() for word in _BREAK.split(name) if word)
