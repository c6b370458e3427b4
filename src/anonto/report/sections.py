"""The sections of the page, each from the data of a report to a piece of HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonto.errors import counted
from anonto.report.chart import MOST_ROWS, frequency_chart
from anonto.report.counts import spelt
from anonto.report.levels import UPPER
from anonto.report.words import ROLE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Data = Mapping[str, Any]

MOSTLY_UNCHANGED = "<strong>More than half of the cells with a value kept it</strong>: {columns}."


def glance_section(data: Data) -> str:
    """What the table was, in numbers, and what must be said first."""
    table = data["table"]
    cards = [
        (f"{table['records']:,}", "records released"),
        (f"{table['columns']:,}", "columns in the original"),
        (f"{len(table['masked']):,}", "columns masked"),
        (f"{len(table['dropped_columns']):,}", "columns dropped"),
        (f"{len(table['released_as_is']):,}", "columns released as they are"),
    ]
    if table["dropped_records"]:
        cards.append((spelt(table["dropped_records"]), "records dropped"))
    items = "\n".join(f"<li><strong>{escape(number)}</strong> {escape(words)}</li>" for number, words in cards)
    dropped = table["dropped_columns"]
    said = f"<p>Dropped because they identify a person: {_names(dropped)}.</p>" if dropped else ""
    return _section("table", "The table", f'<ul class="cards">\n{items}\n</ul>\n{said}\n{_warnings(data["warnings"])}')


def steps_section(data: Data) -> str:
    """What was done, in sentences."""
    if not data["steps"]:
        return _section("steps", "What was masked", "<p>Nothing: the plan has no steps.</p>")
    steps = [_step(number, step) for number, step in enumerate(data["steps"], start=1)]
    return _section("steps", "What was masked", "\n".join(steps))


def _step(number: int, step: Data) -> str:
    parameters = ", ".join(f"{name} = {value}" for name, value in step["parameters"].items()) or "none"
    is_proved = bool(step["guarantee"].get("proved"))
    head = '<span class="proved">Proved</span>' if is_proved else '<span class="unproved">Not proved</span>'
    unchanged = step["unchanged_records"]
    facts = [
        ("Columns", _names(step["columns"])),
        ("Method", f"<code>{escape(step['method'])}</code>"),
        ("Parameters", escape(parameters)),
        ("Guarantee", f"{head}. {escape(step['promise'])}"),
        (
            "Records unchanged",
            f"{escape(spelt(unchanged['count']))} ({escape(unchanged['share'])}) have the same cells in these columns "
            "as before",
        ),
    ]
    pairs = "\n".join(f"<dt>{term}</dt><dd>{words}</dd>" for term, words in facts)
    return f'<div class="step">\n<h3>Step {number}</h3>\n<p>{escape(step["what"])}</p>\n<dl>\n{pairs}\n</dl>\n</div>'


def evidence_section(data: Data) -> str:
    """What became of the cells of each masked column."""
    if not data["columns"]:
        return ""
    header = ["Column", "Changed", "Unchanged", "Without a partner", "Missing", "No concept", "Distance"]
    keys = ("changed", "unchanged", "untouched", "missing", "unmatched")
    rows = [
        [escape(column["name"]), *(_part(column[key]) for key in keys), f"{column['rmse']:.3f}"]
        for column in data["columns"]
    ]
    caption = "Cells, and their share of all records."
    kept = [column["name"] for column in data["columns"] if _is_mostly_unchanged(column)]
    notes = [MOSTLY_UNCHANGED.format(columns=_names(kept))] if kept else []
    notes += [
        "<strong>Unchanged</strong>: the released cell equals the original one. <strong>Without a partner</strong>: of "
        "these, no other record was left to exchange with. <strong>Missing</strong> cells and those with <strong>no "
        "concept</strong> in the ontology took no part, unless the step above says they were dealt out like values.",
        "<strong>Distance</strong>: how far the cells moved, as a root mean square.",
    ]
    readings: dict[str, list[str]] = {}
    for column in data["columns"]:
        readings.setdefault(column["how_to_read"], []).append(column["name"])
    notes += [f"{_names(names)} – {escape(reading)}" for reading, names in readings.items()]
    text = "\n".join(f'<p class="note">{note}</p>' for note in notes)
    return _section("evidence", "What became of the cells", _table(caption, header, rows) + text)


def _is_mostly_unchanged(column: Data) -> bool:
    changed, unchanged = column["changed"]["count"], column["unchanged"]["count"]
    return isinstance(unchanged, int) and (not isinstance(changed, int) or unchanged > changed)


def released_section(data: Data) -> str:
    """Columns that left as they were."""
    released = data["table"]["released_as_is"]
    if not released:
        return _section("released", "Released as they are", "<p>No column was released as it is.</p>")
    rows = [[escape(one["name"]), escape(ROLE_WORDS[one["role"]])] for one in released]
    table = _table("Columns that were not changed.", ["Column", "Role in the plan"], rows, numbers=False)
    return _section("released", "Released as they are", _warnings(data["warnings"]) + table)


def frequency_section(data: Data) -> str:
    """How often concepts occur before and after, level by level."""
    if not data["columns"]:
        return ""
    parts = [_column_frequencies(column) for column in data["columns"]]
    intro = (
        "<p>How many records have a value of each group of the ontology, in the original and in the released table."
        "</p>\n"
    )
    return _section("frequencies", "Frequencies before and after", intro + "\n".join(parts))


def _column_frequencies(column: Data) -> str:
    heading = f"<h3>{escape(column['name'])}</h3>\n"
    if not column["ontologies"]:
        return f"{heading}<p>{escape(column['statement'])}</p>"
    levels = [
        _level(column["name"], ontology["ontology"], level)
        for ontology in column["ontologies"]
        for level in ontology["levels"]
    ]
    return heading + "\n".join(levels)


def _level(column: str, ontology: str, level: Data) -> str:
    rows, depth = level["rows"], level["depth"]
    is_upper = depth == UPPER
    what = "Groups below the top" if is_upper else f"The largest groups one level further down ({len(rows)})"
    title = f"Records of {column} by group at depth {depth} of {ontology}, before and after masking"
    body = [
        [f"{escape(row['label'] or row['concept'])} <small>{escape(row['concept'])}</small>", *map(_count, _pair(row))]
        for row in rows
    ]
    if level["further"]:
        body.append([f"and {counted(level['further'], 'smaller group')}", "", ""])
    table = _table(f"{title}.", ["Group", "Before", "After"], body)
    figure = f"<figure>\n{frequency_chart(rows, title)}\n<figcaption>{_legend(rows)}</figcaption>\n</figure>"
    return f"<h4>{what} – {escape(ontology)}, depth {depth}</h4>\n{figure}\n{table}"


def _legend(rows: Sequence[Data]) -> str:
    drawn = rows[:MOST_ROWS]
    sentences = ['<span class="swatch before"></span>before <span class="swatch after"></span>after.']
    if len(rows) > len(drawn):
        sentences.append(f"The {len(drawn)} largest groups.")
    if any(isinstance(count, str) for row in drawn for count in _pair(row)):
        sentences.append("A pale bar stands for a count below 5.")
    if all(before == after for before, after in map(_pair, rows)):
        sentences.append("Every count shown is the same before and after.")
    return " ".join(sentences)


def _pair(row: Data) -> tuple[Any, Any]:
    return row["before"], row["after"]


# ------------------------------------------------------------------------------------------------ pieces


def _section(name: str, heading: str, body: str) -> str:
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{heading}</h2>\n{body}\n</section>'


def _warnings(warnings: Iterable[str]) -> str:
    return "".join(f'<p class="warning"><strong>Warning:</strong> {escape(warning)}</p>\n' for warning in warnings)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


def _count(count: int | str) -> str:
    return escape(spelt(count))


def _part(part: Data) -> str:
    return f"{_count(part['count'])} <small>{escape(part['share'])}</small>"


def _table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    """A table of cells that are HTML already; the first cell of a row is its heading."""
    css = ' class="number"' if numbers else ""
    head = "".join(f'<th scope="col"{css if place else ""}>{escape(name)}</th>' for place, name in enumerate(header))
    body = "\n".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td{css}>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
    )
