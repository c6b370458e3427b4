"""What is said of an assessed release, as sections of the page: verdict, attacks, guarantees, map, limits, origin."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonto.report.map_chart import risk_utility_chart
from anonto.report.map_points import OWN
from anonto.report.markup import chart, code_names, notes, section, table
from anonto.report.plots import linkage_chart, shown_interval
from anonto.report.sections import proof_mark
from anonto.report.words import guarantee_name
from anonto.risk.attacks.registry import is_linkage
from anonto.risk.telling import percent, where_near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Data = Mapping[str, Any]


ON_CELLS = "interval-disclosure"
ATTACKED = {"internal": "the release", "public": "a second masking with the same plan"}
ATTACK_NOTES = (
    "<strong>Rate</strong>: the share of persons or records for which the attack succeeds. <strong>By chance</strong>: "
    "what somebody reaches who guesses blindly; for records that are alone, the share that was alone in the original. "
    "<strong>Control</strong>: what the same attack reaches on persons who are not in the release. "
    "<strong>Attacked</strong>: how many persons or records.",
)


def verdict_section(data: Data) -> str:
    """Three sentences, and what must not be overlooked."""
    told = data["verdict"]
    sentences = "\n".join(
        f"<p><strong>{name}.</strong> {escape(told[key])}</p>"
        for key, name in (("risk", "Risk"), ("utility", "Use"), ("guarantee", "Proof and next step"))
    )
    findings = "".join(f"<li>{escape(one)}</li>\n" for one in data["findings"])
    warned = f'<div class="warning" role="note">\n<h3>Findings</h3>\n<ul>\n{findings}</ul>\n</div>' if findings else ""
    source = notes([escape(data["measured"]["because"])]) if data["edition"] == "public" else ""
    return section("verdict", "The verdict", f'<div class="summary">\n{sentences}\n</div>\n{source}{warned}')


# ------------------------------------------------------------------------------------------------ risk


def attacks_section(data: Data) -> str:
    """What intruders reach."""
    if not data["attacks"]:
        none = "Not published." if data["measured"]["on"] == "nothing" else "No attack was tried."
        return section("attacks", "What intruders reach", f"<p>{none}</p>")
    intro = (
        f"<p>Each attack was carried out on {ATTACKED[data['edition']]}, with the original at hand to see where it was "
        "right. "
        "<strong>0 % is safe, 100 % is disclosed.</strong></p>\n"
    )
    on_cells = [one for one in data["attacks"] if one["attack"] == ON_CELLS]
    on_persons = [one for one in data["attacks"] if one["attack"] != ON_CELLS]
    scenarios: dict[tuple[str, ...], list[Data]] = {}
    for one in on_persons:
        scenarios.setdefault(tuple(one["columns"]), []).append(one)
    tables = [_persons_table(known, rows) for known, rows in scenarios.items()]
    told = notes(ATTACK_NOTES) if tables else ""
    return section(
        "attacks", "What intruders reach", f"{intro}{_linkages(data)}{''.join(tables)}{told}{_cells_table(on_cells)}"
    )


def _linkages(data: Data) -> str:
    rows = [one for one in data["attacks"] if is_linkage(one["attack"]) and one["n"]]
    if not rows:
        return ""
    parts = ['<span class="swatch after"></span>persons linked, with the 95 % interval']
    parts.append('<span class="swatch before"></span>blind guessing')
    if any(one["one_in_k"] is not None for one in rows):
        parts.append('<span class="swatch limit"></span>1/k')
    elif any(step["kept_back"] for step in data["steps"]):
        parts.append("1/k is not drawn, because k is not published")
    title = "Persons linked to their released record, against 1/k and blind guessing"
    body = [
        [_attack_name(one), escape(one["shown"]), shown_interval(one), percent(one["baseline"]), _one_in_k(one)]
        for one in rows
    ]
    numbers = table(f"{title}.", ["Attack", "Rate", "95 % interval", "By chance", "1/k"], body)
    return chart(linkage_chart(rows, title), f"{', '.join(parts)}.", numbers)


def _one_in_k(row: Data) -> str:
    return "–" if row["one_in_k"] is None else percent(row["one_in_k"])


def _attack_name(row: Data) -> str:
    at_once = ", all at once" if row.get("matching") == "global" else ""
    return f"<code>{escape(row['attack'])}</code>{at_once}"


def _persons_table(known: tuple[str, ...], rows: Sequence[Data]) -> str:
    header = ["Attack", "Rate", "95 % interval", "By chance", "Control", "Attacked"]
    cells = [
        [
            _attack_cell(one),
            f"<strong>{escape(one['shown'])}</strong>",
            shown_interval(one),
            "–" if one["baseline"] is None else percent(one["baseline"]),
            "–" if one["control"] is None else percent(one["control"]),
            f"{one['n']:,}",
        ]
        for one in rows
    ]
    heading = f"<h3>An intruder who knows {code_names(known)}</h3>\n"
    return heading + table(f"Attacks of an intruder who knows {', '.join(known)}.", header, cells, stacked=True)


def _attack_cell(row: Data) -> str:
    about = f" → <code>{escape(row['about'])}</code>" if row["about"] else ""
    return (
        f"{_attack_name(row)}{about}\n"
        f'<span class="reading">{escape(row["reading"])}</span>\n'
        f"<small>{escape(row['what'])} Known: {escape(row['knowledge'][:1].lower() + row['knowledge'][1:])}</small>"
    )


def _cells_table(rows: Sequence[Data]) -> str:
    """What a cell tells by its place, a line for each column and each way to be near."""
    if not rows:
        return ""
    header = ["Column, and where cells stay", "Rate", "95 % interval", "By chance", "Cells"]
    cells = [
        [
            f"<code>{escape(one['columns'][0])}</code> {escape(where_near(one['about']))}",
            f"<strong>{escape(one['shown'])}</strong>",
            shown_interval(one),
            percent(one["baseline"]),
            f"{one['n']:,}",
        ]
        for one in rows
    ]
    intro = (
        f"<h3>What stays near, even where a link fails</h3>\n<p><code>{ON_CELLS}</code>: a released cell may lie close "
        "to the original one, and so tell its branch of the ontology or its neighbourhood. It tells little where the "
        "rate is near that of two cells picked at random.</p>\n"
    )
    return intro + table("Cells that stay near the original one.", header, cells, stacked=True)


def guarantee_section(data: Data) -> str:
    """What is proved, and on which conditions."""
    if not data["steps"]:
        return section("guarantees", "Guarantees and their conditions", "<p>Nothing was masked.</p>")
    parts = []
    for number, step in enumerate(data["steps"], start=1):
        proved = bool(step["guarantee"]["proved"])
        mark = proof_mark(step["guarantee"])
        name = "no guarantee" if step["guarantee"]["kind"] == "none" else guarantee_name(step["guarantee"])
        told = step["guarantee"]["conditions"] if proved else step["promise"]
        parts.append(
            f"<h3>Step {number}: {escape(step['method'])}</h3>\n<p>{mark}: {escape(name)}.</p>\n"
            f"<p>{'On these conditions: ' if proved else ''}{escape(told)}{'.' if proved else ''}</p>"
        )
    return section("guarantees", "Guarantees and their conditions", "\n".join(parts))


# ------------------------------------------------------------------------------------------------ map, limits, origin


def map_section(data: Data) -> str:
    """Risk and utility of this release and of others."""
    points = data["map"]["points"]
    if not points:
        return ""
    own = next((one for one in points if one["label"] == OWN), None)
    methods = [one["method"] for one in points if one["method"] != "none"] or ["none"]
    drawn = [
        {**one, "method": methods[0] if one["method"] == "none" else one["method"], "chosen": one is own}
        for one in points
    ]
    title = "Risk and utility of this release and of others" if data["map"]["from_sweep"] else "Risk and utility"
    rows = [
        [escape(one["label"]), escape(one["method"]), escape(one["shown"]), f"{one['utility']:.2f}"]
        for one in sorted(points, key=lambda one: one["risk"])
    ]
    numbers = table(f"{title}.", ["Plan", "Method", "Risk", "Utility"], rows)
    told = ""
    if own is not None:
        told = f"The ring marks this release: risk {own['shown']}, utility {own['utility']:.2f}. "
    more = (
        "Plans of a sweep are beside it; on the staircase are those that no other beats."
        if data["map"]["from_sweep"]
        else "Other plans can be put beside it with <code>anonto sweep</code>."
    )
    intro = (
        "<p>To the left an intruder reaches little, at the top an analyst loses little. <strong>Risk</strong> is the "
        "rate of the worst linkage, or of reading rows that leave whole. "
        "<strong>Utility</strong> is 1 less the mean of four losses: how far cells moved, "
        "and how much the dependence between columns changed, each against swapping at random; how far frequencies "
        "moved; and how well a model tells the two tables apart. A loss that cannot be measured is left out.</p>\n"
    )
    # The ring is drawn for a plan that is recommended; here it only says where this release is.
    svg = risk_utility_chart(drawn, title=title).replace(" (recommended)", "")
    return section("map", "Risk and utility", f"{intro}{chart(svg, told + more, numbers)}")


def limits_section(data: Data) -> str:
    """What was not looked at."""
    items = "\n".join(f"<li>{escape(one)}</li>" for one in data["limits"])
    return section("limits", "Limits", f"<ul>\n{items}\n</ul>")


def provenance_section(data: Data) -> str:
    """Versions and hashes."""
    told = data["provenance"]
    versions = ", ".join(f"{escape(name)} {escape(number)}" for name, number in told["versions"].items())
    facts = [("Made with", versions)]
    if "plan_sha256" in told:
        facts.append(("Plan", f"sha256 <code>{told['plan_sha256']}</code>"))
    facts.append(("Published part of the plan", f"sha256 <code>{told['published_plan_sha256']}</code>"))
    facts += [
        (
            escape(one["name"]),
            f"{escape(one['format'])}{' ' + escape(one['version']) if one['version'] else ''}, {one['concepts']:,} "
            f"concepts, sha256 <code>{escape(one['sha256'])}</code>",
        )
        for one in told["ontologies"]
    ]
    pairs = "\n".join(f"<dt>{term}</dt><dd>{words}</dd>" for term, words in facts)
    text = f"<pre><code>{escape(data['plan'])}</code></pre>"
    plan = f"<details>\n<summary>{_PLAN[data['edition']]}</summary>\n{text}\n</details>"
    return section("provenance", "Provenance", f"<dl>\n{pairs}\n</dl>\n{plan}")


_PLAN = {"internal": "The plan", "public": "What is published of the plan"}
