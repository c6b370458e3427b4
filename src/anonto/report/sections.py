"""The sections of the page, each from the data of a report to a piece of HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonto.errors import counted
from anonto.report.chart import MOST_ROWS, frequency_chart
from anonto.report.counts import spelt
from anonto.report.levels import UPPER
from anonto.report.markup import chart, code_names, count, notes, part, section, table, warnings
from anonto.report.words import ROLE_WORDS, guarantee_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Data = Mapping[str, Any]

MOSTLY_UNCHANGED = "<strong>More than half of the cells with a value kept it</strong>: {columns}."


def glance_section(data: Data) -> str:
    """What the table was, in numbers, and what must be said first."""
    facts = data["table"]
    cards = [
        (f"{facts['records']:,}", "records released"),
        (f"{facts['columns']:,}", "columns in the original"),
        (f"{len(facts['masked']):,}", "columns masked"),
        (f"{len(facts['dropped_columns']):,}", "columns dropped"),
        (f"{len(facts['released_as_is']):,}", "columns released as they are"),
    ]
    if facts["dropped_records"]:
        cards.append((spelt(facts["dropped_records"]), "records dropped"))
    items = "\n".join(f"<li><strong>{escape(number)}</strong> {escape(words)}</li>" for number, words in cards)
    dropped = facts["dropped_columns"]
    said = f"<p>Dropped because they identify a person: {code_names(dropped)}.</p>" if dropped else ""
    return section("table", "The table", f'<ul class="cards">\n{items}\n</ul>\n{said}\n{warnings(data["warnings"])}')


def steps_section(data: Data) -> str:
    """What was done, in sentences."""
    if not data["steps"]:
        return section("steps", "What was masked", "<p>Nothing: the plan has no steps.</p>")
    steps = [_step(number, step) for number, step in enumerate(data["steps"], start=1)]
    return section("steps", "What was masked", "\n".join(steps))


def _step(number: int, step: Data) -> str:
    parameters = [f"{name} = {_spelt_parameter(value)}" for name, value in step["parameters"].items()]
    if step.get("kept_back"):
        parameters.append(f"not published: {', '.join(step['kept_back'])}")
    unchanged = step["unchanged_records"]
    facts = [
        ("Columns", code_names(step["columns"])),
        ("Method", f"<code>{escape(step['method'])}</code>"),
        ("Parameters", escape(", ".join(parameters) or "none")),
        ("Guarantee", _promise(step)),
    ]
    if unchanged is not None:
        same = f"{escape(spelt(unchanged['count']))} ({escape(unchanged['share'])})"
        facts.append(("Records unchanged", f"{same} have the same cells in these columns as before"))
    pairs = "\n".join(f"<dt>{term}</dt><dd>{words}</dd>" for term, words in facts)
    return f'<div class="step">\n<h3>Step {number}</h3>\n<p>{escape(step["what"])}</p>\n<dl>\n{pairs}\n</dl>\n</div>'


def _promise(step: Data) -> str:
    """Whether something is proved, with the whole promise where no section of its own has it."""
    guarantee = step["guarantee"]
    if not step.get("promise_below"):
        promise = step["promise"].removeprefix("Proved: ").removeprefix("Not proved: ")
        return f"{proof_mark(guarantee)}: {escape(promise)}"
    if guarantee["kind"] == "none":
        return f"{proof_mark(guarantee)}: nothing limits what an intruder can learn but what she does not know"
    name = escape(guarantee_name(guarantee))
    return f'{proof_mark(guarantee)}: {name}; see <a href="#guarantees">its conditions</a>'


def proof_mark(guarantee: Data) -> str:
    """'Proved' or 'Not proved', so that it is seen."""
    if guarantee.get("proved"):
        return '<span class="proved">Proved</span>'
    return '<span class="unproved">Not proved</span>'


def _spelt_parameter(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def evidence_section(data: Data) -> str:
    """What became of the cells of each masked column."""
    if not data["columns"]:
        return ""
    header = ["Column", "Changed", "Unchanged", "Without a partner", "Missing", "No concept", "Distance"]
    keys = ("changed", "unchanged", "untouched", "missing", "unmatched")
    rows = [
        [escape(column["name"]), *(part(column[key]) for key in keys), f"{column['rmse']:.3f}"]
        for column in data["columns"]
    ]
    caption = "Cells, and their share of all records."
    kept = [column["name"] for column in data["columns"] if _is_mostly_unchanged(column)]
    remarks = [MOSTLY_UNCHANGED.format(columns=code_names(kept))] if kept else []
    remarks += [
        "<strong>Unchanged</strong>: the released cell equals the original one. <strong>Without a partner</strong>: of "
        "these, no other record was left to exchange with. <strong>Missing</strong> cells and those with <strong>no "
        "concept</strong> in the ontology took no part, unless the step above says they were dealt out like values.",
        "<strong>Distance</strong>: how far the cells moved, as a root mean square.",
        *distance_readings(data),
    ]
    return section("evidence", "What became of the cells", table(caption, header, rows) + notes(remarks))


def distance_readings(data: Data) -> list[str]:
    """How to read the distance of each kind of column."""
    readings: dict[str, list[str]] = {}
    for column in data["columns"]:
        readings.setdefault(column["how_to_read"], []).append(column["name"])
    return [f"{code_names(names)} – {escape(reading)}" for reading, names in readings.items()]


def _is_mostly_unchanged(column: Data) -> bool:
    changed, unchanged = column["changed"]["count"], column["unchanged"]["count"]
    return isinstance(unchanged, int) and (not isinstance(changed, int) or unchanged > changed)


def released_section(data: Data) -> str:
    """Columns that left as they were."""
    released = data["table"]["released_as_is"]
    if not released:
        return section("released", "Released as they are", "<p>No column was released as it is.</p>")
    rows = [[escape(one["name"]), escape(ROLE_WORDS[one["role"]])] for one in released]
    as_is = table("Columns that were not changed.", ["Column", "Role in the plan"], rows, numbers=False)
    return section("released", "Released as they are", warnings(data["warnings"]) + as_is)


def frequency_section(data: Data) -> str:
    """How often concepts occur before and after, level by level."""
    if not data["columns"]:
        return ""
    parts = [_column_frequencies(column) for column in data["columns"]]
    intro = (
        "<p>How many records have a value of each group of the ontology, in the original and in the released table."
        "</p>\n"
    )
    return section("frequencies", "Frequencies before and after", intro + "\n".join(parts))


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
    heading = f"<h4>{what} – {escape(ontology)}, depth {depth}</h4>\n"
    change = level.get("change")
    said = (
        f"<p>Moved from one group to another, on balance: {100 * change:.1f} % of the records.</p>\n" if change else ""
    )
    if not rows:
        return f"{heading}{said or '<p>No group is shown.</p>'}"
    title = f"Records of {column} by group at depth {depth} of {ontology}, before and after masking"
    body = [
        [f"{escape(row['label'] or row['concept'])} <small>{escape(row['concept'])}</small>", *map(count, _pair(row))]
        for row in rows
    ]
    if level["further"]:
        body.append([f"and {counted(level['further'], 'smaller group')}", "", ""])
    numbers = table(f"{title}.", ["Group", "Before", "After"], body)
    return f"{heading}{said}{chart(frequency_chart(rows, title), _legend(rows), numbers)}"


def _legend(rows: Sequence[Data]) -> str:
    drawn = rows[:MOST_ROWS]
    sentences = ['<span class="swatch before"></span>before <span class="swatch after"></span>after.']
    if len(rows) > len(drawn):
        sentences.append(f"The {len(drawn)} largest groups.")
    if any(isinstance(shown, str) for row in drawn for shown in _pair(row)):
        sentences.append("A pale bar stands for a count below 5.")
    if all(before == after for before, after in map(_pair, rows)):
        sentences.append("Every count shown is the same before and after.")
    return " ".join(sentences)


def _pair(row: Data) -> tuple[Any, Any]:
    return row["before"], row["after"]
