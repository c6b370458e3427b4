"""Results of the experiments: tables, figures and claims, before they become pages or files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from anonto.papers.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.papers.claims import Claim
    from anonto.papers.figures import Figure

Cell = Measurement | float | int | str | None
Group = Literal["", "here", "printed"]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a table: its heading, and whether its numbers were found here or are printed in the paper."""

    label: str
    group: Group = ""
    digits: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """A table of numbers, ours beside the printed ones."""

    name: str
    """Name of its file."""
    title: str
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise AssertionError(self.name)

    def is_text(self, place: int) -> bool:
        """Return whether a column has texts only."""
        return all(isinstance(row[place], str | None) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResult:
    """Everything about one paper."""

    name: str
    title: str
    citation: str
    lead: str
    sections: tuple[Section, ...]
    claims: tuple[Claim, ...]
    samples: tuple[str, ...] = ()
    """The data, and the rule by which they were chosen."""

    @property
    def tables(self) -> list[ResultTable]:
        """The tables of all sections."""
        return [table for section in self.sections for table in section.tables]

    @property
    def figures(self) -> list[Figure]:
        """The figures of all sections."""
        return [figure for section in self.sections for figure in section.figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A whole run."""

    papers: tuple[PaperResult, ...]
    data: str
    """The data of the experiments."""
    seeds: tuple[int, ...]
    quick: bool
    notes: tuple[str, ...] = field(default=())

    @property
    def claims(self) -> list[Claim]:
        """The claims of all papers."""
        return [claim for paper in self.papers for claim in paper.claims]


def here(*labels: str, digits: int = 4) -> tuple[ResultColumn, ...]:
    """Columns of our numbers."""
    return tuple(ResultColumn(label, "here", digits) for label in labels)


def as_printed(*labels: str, digits: int = 4) -> tuple[ResultColumn, ...]:
    """Columns of the paper's numbers."""
    return tuple(ResultColumn(label, "printed", digits) for label in labels)


def spell_cell(cell: Cell, digits: int = 4) -> str:
    """A cell for readers."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Measurement):
        return number(cell.mean, digits)
    return number(cell, digits)


def number(value: float, digits: int = 4) -> str:
    """A number with its digits; whole ones and large ones without."""
    if isinstance(value, int) or value == 0 or (abs(value) >= 1000 and value == int(value)):
        return f"{int(value):,}"
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}"


def spread_of(cell: Cell, digits: int = 4) -> str:
    """The spread of a measured cell; empty for others and where all seeds agree."""
    if not isinstance(cell, Measurement) or len(cell.values) < 2 or cell.spread < 10**-digits / 2:
        return ""
    return number(cell.spread, digits)


def ranges(cells: Sequence[Measurement]) -> str:
    """'0.12 to 0.34': the range of the means."""
    means = [cell.mean for cell in cells]
    return f"{min(means):.3f} to {max(means):.3f}"
