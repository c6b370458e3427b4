"""What an analyst keeps, as sections of the page: columns, pairs of columns, classes of records."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonto.report.chart import frequency_chart
from anonto.report.counts import NOT_SHOWN
from anonto.report.editions import has_widths
from anonto.report.markup import chart, code_names, count, notes, part, section, table
from anonto.report.plots import MOST_COLUMNS, heat_map, moved_chart
from anonto.report.sections import distance_readings
from anonto.risk.telling import PassedFloat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Data = Mapping[str, Any]

MEASURES = {
    "rmse": "Distance moved",
    "hellinger": "Frequencies",
    "mean_shift": "Mean",
    "il1s": "Relative loss",
}
COLUMN_NOTES = (
    "<strong>Changed</strong>: of the cells that had a value, those that are not what they were; one with a value that "
    "has no concept counts as missing. <strong>Distance moved</strong>: how far the cells moved, as a root mean "
    "square; 0 is nowhere, and a cell that gets a value, or loses it, moved by 1. "
    "<strong>Frequencies</strong>: Hellinger’s distance between how often the values occur before and after; 0 is the "
    "same, 1 is nothing in common. "
    "<strong>Mean</strong>: how far the mean moved; for values of an ontology, the concept in the middle. "
    "<strong>Relative loss</strong>: the mean distance in units of the column’s own spread.",
)


def losses_section(data: Data) -> str:
    """What became of the columns."""
    if not data["columns"]:
        return ""
    present = [key for key in MEASURES if any(key in column for column in data["columns"])]
    header = ["Column", "Changed", "Missing before", "Missing after", *(MEASURES[key] for key in present)]
    rows = [
        [
            f"<code>{escape(column['name'])}</code>",
            _changed(column["changed"]),
            *(count(column["missing"][when]) for when in ("before", "after")),
            *(_measure(column, key) for key in present),
        ]
        for column in data["columns"]
    ]
    told = table("What became of the masked columns.", header, rows, stacked=True)
    return section(
        "losses",
        "What became of the columns",
        f"{told}{notes([*COLUMN_NOTES, *distance_readings(data)])}{_moved(data)}{_whole_table(data['whole_table'])}",
    )


def _measure(column: Data, key: str) -> str:
    if key not in column:
        return "–"
    return NOT_SHOWN if column[key] is None else _number(column[key])


def _number(number: float) -> str:
    """With as many digits as it may have; the public edition rounds to two."""
    return f"{number:.{2 if isinstance(number, PassedFloat) else 3}f}"


def _changed(changed: Data) -> str:
    if isinstance(changed["count"], str) and changed["share"] != changed["count"]:
        return escape(changed["share"])
    return f"<span>{part(changed)}</span>"


def _moved(data: Data) -> str:
    if data["measured"]["on"] == "nothing":
        return ""
    told = [column for column in data["columns"] if column["moved"] is not None]
    tiles = [_moved_tile(column) for column in told if _has_moved(column["moved"])]
    stayed = [column["name"] for column in told if not _has_moved(column["moved"])]
    hidden = [column for column in data["columns"] if column["moved"] is None]
    kept_back = [column["name"] for column in hidden if has_widths(column["method"])]
    few = [column["name"] for column in hidden if not has_widths(column["method"])]
    said = f"<p>No cell became another value in {code_names(stayed)}.</p>\n" if stayed else ""
    said += f"<p>Not published of {code_names(few)}: the cells that moved are few.</p>\n" if few else ""
    said += f"<p>Not published of {code_names(kept_back)}: it would tell a width.</p>\n" if kept_back else ""
    drawn = f'<div class="tiles">\n{"".join(tiles)}</div>\n' if tiles else ""
    return f"<h3>How far cells moved</h3>\n{drawn}{said}"


def _has_moved(moved: Data) -> bool:
    return any(one["cells"] for one in moved["bins"])


def _moved_tile(column: Data) -> str:
    bins, title = column["moved"]["bins"], f"How far the changed cells of {column['name']} moved"
    numbers = table(f"{title}.", ["Distance", "Cells"], [[one["distance"], count(one["cells"])] for one in bins])
    caption = f"Half of the changed cells moved by {column['moved']['median']:.2f} or less."
    return f"<div>\n<h4>{escape(column['name'])}</h4>\n{chart(moved_chart(bins, title), caption, numbers)}</div>\n"


def _whole_table(whole: Data) -> str:
    sentences = []
    if "pmse_ratio" in whole:
        ratio = whole["pmse_ratio"]
        verdict = (
            "no better than chance: the two tables look alike to it"
            if ratio <= 1.5
            else f"{ratio:.1f} times as well as with labels given at random"
        )
        error = (
            f" (propensity score mean squared error {whole['pmse']:.4f}; 0.25 would be always right)"
            if "pmse" in whole
            else ""
        )
        sentences.append(f"A model that is shown original and released records tells them apart {verdict}{error}.")
    told = whole.get("prediction")
    if told and "masked" in told:
        sentences.append(
            f"A model that predicts {told['column']} reaches {told['masked']:.3f} when it learns from the release, "
            f"{told['original']:.3f} from the original, and {told['blind']:.3f} when it sees no other column (1 is "
            "perfect)."
        )
    if not sentences:
        return ""
    return "<h3>The table as a whole</h3>\n" + "\n".join(f"<p>{escape(one)}</p>" for one in sentences)


def dependence_section(data: Data) -> str:
    """What columns have to do with each other, before and after."""
    pairs = data["pairs"]
    if not pairs:
        return ""
    names = _most_changed(pairs)
    shown = {tuple(one["columns"]): one for one in pairs if set(one["columns"]) <= set(names)}
    maps = []
    for key, words in (("original", "In the original"), ("masked", "In the release"), ("change", "Change")):
        values = {
            both: one["change"] if key == "change" else one["distance_correlation"][key] for both, one in shown.items()
        }
        title = f"Distance correlations of pairs of columns: {words.lower()}"
        svg = heat_map(names, values, title, change=key == "change")
        maps.append(f"<figure>\n<h3>{words}</h3>\n{svg}\n</figure>\n")
    rows = [
        [
            escape(" × ".join(one["columns"])),
            _number(one["distance_correlation"]["original"]),
            _number(one["distance_correlation"]["masked"]),
            f"{'−' if one['change'] < 0 else '+'}{_number(abs(one['change']))}",
            f"{one['n']:,}",
        ]
        for one in sorted(pairs, key=lambda one: -abs(one["change"]))
    ]
    numbers = table("Distance correlations.", ["Pair", "Original", "Release", "Change", "Records"], rows)
    key = ", ".join(f"{number} {escape(name)}" for number, name in enumerate(names, start=1))
    left_out = (
        "" if len(names) == len(_all_names(pairs)) else f" Of {len(_all_names(pairs))} columns those that changed most."
    )
    intro = (
        "<p>The distance correlation is 0 where two columns have nothing to do with each other, and 1 where one "
        "follows from the other. Masking usually lowers it. A pair of columns that were not masked is as it was, and "
        "not drawn.</p>\n"
    )
    return section(
        "dependence",
        "What columns have to do with each other",
        f'{intro}<div class="tiles">\n{"".join(maps)}</div>\n<p class="note">Columns: {key}.{left_out}</p>\n'
        f"<details>\n<summary>The numbers</summary>\n{numbers}</details>",
    )


def _all_names(pairs: Sequence[Data]) -> list[str]:
    return list(dict.fromkeys(name for one in pairs for name in one["columns"]))


def _most_changed(pairs: Sequence[Data]) -> list[str]:
    """The columns in their order, at most as many as can be drawn."""
    every = _all_names(pairs)
    change = {name: max(abs(one["change"]) for one in pairs if name in one["columns"]) for name in every}
    chosen = sorted(every, key=lambda name: -change[name])[:MOST_COLUMNS]
    return [name for name in every if name in chosen]


def classes_section(data: Data) -> str:
    """Sizes of equivalence classes before and after."""
    classes = data["classes"]
    if classes is None:
        return ""
    rows = [
        {"label": f"{one['size']} record{'' if one['size'] == '1' else 's'}", "concept": "", **one}
        for one in classes["bins"]
        if one["before"] or one["after"]
    ]
    intro = (
        f"<p>Records that share their values in {code_names(classes['columns'])} form a class. A record that is alone "
        "in its class stands out; whether it can be traced to a person depends on whether its values are still that "
        "person’s.</p>\n"
    )
    if not rows:
        return section("classes", "Records that look alike", f"{intro}<p>There are no records.</p>")
    title = "Records in classes of each size, before and after masking"
    numbers = table(f"{title}.", ["Size of the class", "Before", "After"], [
        [escape(one["size"]), count(one["before"]), count(one["after"])] for one in classes["bins"]
    ])  # fmt: skip
    caption = '<span class="swatch before"></span>before <span class="swatch after"></span>after.'
    return section(
        "classes", "Records that look alike", f"{intro}{chart(frequency_chart(rows, title), caption, numbers)}"
    )
