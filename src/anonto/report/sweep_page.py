"""The risk-utility map as a page: the answer first, then the map, the plans worth having, and all the others."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from anonto.errors import counted, listed
from anonto.report.map_chart import TITLE, risk_utility_chart
from anonto.report.markup import chart, code_names, notes, section, table
from anonto.report.page import html_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Data = Mapping[str, Any]

LOSSES = {
    "moved": "Moved",
    "distribution": "Frequencies",
    "dependence": "Dependence",
    "told_apart": "Apart",
}
HEADER = ("Plan", "Risk", "Utility", *LOSSES.values())
HOW_TO_READ = (
    "<strong>Risk</strong>: the share of persons whose released record the worst of all linkage attacks finds, on "
    "average over the seeds; 0 is safe. The worst intruder knows every column that leaves and is not declared "
    "confidential. Where rows leave whole, <code>partial-knowledge</code> counts like a linkage. "
    "Below it the range from the lowest to the highest end of the 95 % intervals. "
    "A plan is allowed where even the highest end of every linkage attack, with every seed, is within the limit.",
    "<strong>Utility</strong>: 1 is as the original; about 0, nothing is left of the table. It is 1 less the mean "
    "of four losses, each from 0 (none) to 1 (all), which weigh the same because nobody knows what the table will be "
    "used for. Who does, looks at the loss that matters.",
    "<strong>Moved</strong>: how far the cells did, compared with swapping at random. <strong>Frequencies</strong>: "
    "how far those of the values did. <strong>Dependence</strong>: how much distance correlations changed, compared "
    "with swapping at random. <strong>Apart</strong>: how well a model tells released records from original ones.",
)

FOOTER = "The page shows no record and no secret, but it tells which plans were considered: it is for inside the house."


def sweep_page(data: Data) -> str:
    """The data of a sweep as a page.

    Args:
        data: What the ``to_dict`` of a sweep gives.
    """
    sections = (_answer, _map, _front, _all_plans, _skipped, _limits)
    n = len(data["points"])
    lead = (
        f"{counted(n, 'plan')} that {'masks' if n == 1 else 'mask'} {code_names(data['columns'])}, each tried "
        f"{counted(data['n_seeds'], 'time')} on {_records(data)} and attacked."
    )
    shown = [text for one in sections if (text := one(data))]
    return html_page(TITLE, lead, shown, FOOTER, version("anonto"))


def _records(data: Data) -> str:
    if data["n_sampled"] < data["n_records"]:
        return f"a sample of {data['n_sampled']:,} of {counted(data['n_records'], 'record')}"
    return counted(data["n_records"], "record")


def _answer(data: Data) -> str:
    answer = data["answer"]
    if answer is None:
        return ""
    first, *others = answer["why"]
    css = "proved" if answer["feasible"] else "unproved"
    said = "\n".join(f"<p>{escape(sentence)}</p>" for sentence in others)
    return section("answer", "The answer", f'<div class="step">\n<p class="{css}">{escape(first)}</p>\n{said}\n</div>')


def _map(data: Data) -> str:
    points = [chart_point(one, data["answer"]) for one in data["points"]]
    caption = "Numbered marks: plans that no other beats in both; the bars are 95 % intervals. Pale marks: all others."
    if any(one.get("chosen") for one in points):
        caption += " The green ring: the plan that is recommended."
    drawing = risk_utility_chart(points, max_risk=data["max_risk"], title=TITLE)
    return section("map", "The map", chart(drawing, caption, "", wide=True))


def chart_point(point: Data, answer: Data | None) -> dict[str, Any]:
    """What the map needs of a plan."""
    utilities = [run["losses"]["utility"] for run in point["runs"]]
    return {
        "label": point["label"],
        "method": point["method"],
        "risk": point["risk"],
        "utility": point["utility"],
        "on_front": point["on_front"],
        "risk_low": point["low"],
        "risk_high": point["high"],
        "utility_low": min(utilities),
        "utility_high": max(utilities),
        "chosen": answer is not None and answer["plan"] == point["label"],
    }


def _front(data: Data) -> str:
    points = sorted((one for one in data["points"] if one["on_front"]), key=lambda one: one["risk"])
    rows = [_row(one, data["answer"], f"{number}. ") for number, one in enumerate(points, start=1)]
    heading = "The plans that no other beats"
    return section("front", heading, table("Safest first.", HEADER, rows) + notes(HOW_TO_READ))


def _all_plans(data: Data) -> str:
    points = sorted(data["points"], key=lambda one: (-one["utility"], one["risk"]))
    plans = table("Most utility first.", HEADER, [_row(one, data["answer"]) for one in points])
    return section(
        "all", "All plans", f"<details>\n<summary>{counted(len(points), 'plan')}</summary>\n{plans}</details>"
    )


def _skipped(data: Data) -> str:
    if not data["skipped"]:
        return ""
    items = "\n".join(
        f"<li><strong>{escape(what)}</strong><br>{escape(reason)}</li>" for what, reason in told_once(data["skipped"])
    )
    return section("skipped", "What could not be tried", f"<ul>\n{items}\n</ul>")


def told_once(skipped: Sequence[Data]) -> list[tuple[str, str]]:
    """Plans that could not be tried, by reason; several of one method by its name and their number."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for one in skipped:
        by_reason.setdefault(one["reason"], {}).setdefault(one["label"].split(" (")[0], []).append(one["label"])
    return [
        (
            listed(
                labels[0] if len(labels) == 1 else f"{name} ({len(labels)} plans)" for name, labels in names.items()
            ),
            why,
        )
        for why, names in by_reason.items()
    ]


def _limits(data: Data) -> str:
    said = [
        "The risk is what these attacks reached, not what any attack could: an intruder who knows more columns than "
        "the plan calls quasi-identifiers, or a weakness of the method that no attack here uses, reaches more.",
        "A release draws its own secret seed; its risk differs from these runs by chance. Assess it before it leaves.",
    ]
    if data["n_sampled"] < data["n_records"]:
        said.append(
            "The map shows a sample, which errs in both directions: a swap within k places is safer in it than in the "
            "whole table, groups of k are not. Only the recommended plan is known to be safe on the whole table."
            if data["answer"] is not None and data["answer"]["feasible"]
            else "The map shows a sample, which errs in both directions: a swap within k places is safer in it than in "
            "the whole table, groups of k are not. None of these plans is known to be safe on the whole table."
        )
    return section("limits", "Limits", "<ul>\n" + "\n".join(f"<li>{one}</li>" for one in said) + "\n</ul>")


def _row(point: Data, answer: Data | None, number: str = "") -> list[str]:
    chosen = answer is not None and answer["plan"] == point["label"]
    may_be = {"recommended": chosen, "the plan given": point["is_given"], "with a proof": point["proved"]}
    told = [mark for mark, is_so in may_be.items() if is_so]
    label = f'<span style="white-space: nowrap">{escape(number + point["label"])}</span>'
    worst = point["worst"]["attack"] if point["worst"] else "no linkage"
    remarks = "; ".join([f"worst: {worst}", *told])
    losses = [point["losses"][name] for name in LOSSES]
    return [
        f"{f'<strong>{label}</strong>' if chosen else label}<br><small>{escape(remarks)}</small>",
        f"{_percent(point['risk'])} <small>{_percent(point['low'])} – {_percent(point['high'])}</small>",
        f"{point['utility']:.3f}",
        *("–" if loss is None else f"{loss:.2f}" for loss in losses),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
