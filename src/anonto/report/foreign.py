"""The content of the report of a release that another tool made, as plain data.

There is no plan, so nothing is proved, and no second masking can be made: the public edition has no measured figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks
from anonto.attacks.shares import percent
from anonto.report.attacks import attack_row, is_shown
from anonto.report.editions import edition_of
from anonto.report.gate import Gate, require_passed
from anonto.report.provenance import versions
from anonto.report.verdict import names
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.attacks.rate import Risk
    from anonto.report.assessed import AssessmentLike

ON_THE_RELEASE = "Every figure was measured on the release itself."
NOT_PUBLISHED = (
    "Figures about risk and use are not published: they would come from a second masking, and none can be made of a "
    "release that another tool made."
)
NOTHING_KNOWN = (
    "Nothing is known of how the release was made: an intruder who knows the method and its parameters may reach more."
)


def foreign_data(found: AssessmentLike, edition: str = "internal") -> dict[str, Any]:
    """Everything that the report of a release of another tool says.

    Args:
        found: The assessment.
        edition: ``"internal"`` or ``"public"``, which tells no more than the release does.
    """
    chosen, facts = edition_of(edition), found.facts
    gate = Gate(chosen, has_measured=False)
    shown = [one for one in found.risk if is_shown(one, gate)]
    data: dict[str, Any] = {
        "edition": chosen,
        "table": {
            "records": gate.known(facts["records"]),
            "columns": list(facts["columns"]),
            "only_in_release": gate.known(facts["only_in_release"]),
        },
        "verdict": _verdict(found) if gate.is_internal else _nothing_published(found),
        "because": ON_THE_RELEASE if gate.is_internal else NOT_PUBLISHED,
        "findings": list(found.findings) if gate.is_internal else [],
        "attacks": _by_attack(shown, gate),
        "losses": _losses(found) if gate.is_internal else [],
        "limits": _limits(found, shown, gate),
        "versions": versions(),
    }
    if gate.is_internal:
        data["table"] |= {key: facts[key] for key in ("persons", "held_out", "only_in_original")}
    else:
        require_passed(data)
    return data


def _by_attack(risk: Sequence[Risk], gate: Gate) -> list[dict[str, Any]]:
    """The results of each attack, with what it does."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in risk:
        rows.setdefault(one.attack, []).append(attack_row(one, gate))
    known = attacks()
    return [
        {"attack": name, "title": known[name].title, "summary": known[name].summary, "rows": own}
        for name, own in rows.items()
    ]


def _losses(found: AssessmentLike) -> list[dict[str, Any]]:
    return [{"name": name, **losses} for name, losses in found.utility["columns"].items()]


# ------------------------------------------------------------------------------------------------ verdict


def _nothing_published(found: AssessmentLike) -> dict[str, str]:
    """The verdict where no figure may be published."""
    if not found.facts["records"]:
        return _verdict(found)
    return {
        "risk": "How much intruders find out is not published.",
        "utility": "How much of the table the analyst keeps is not published.",
        "guarantee": "Nothing is proved; a cleverer intruder may reach more.",
    }


def _verdict(found: AssessmentLike) -> dict[str, str]:
    if not found.facts["records"]:
        return {
            "risk": "Nobody could be attacked: the release has no records.",
            "utility": "There is nothing to analyse.",
            "guarantee": "Nothing is proved; a table with records is needed to say more.",
        }
    proved = "Nothing is proved, since it is not known how the release was made"
    return {"risk": _risk(found.risk), "utility": _utility(found), "guarantee": f"{proved}; {_next(found)}."}


def _risk(risk: Sequence[Risk]) -> str:
    """The attack that reaches furthest beyond chance, or beyond what it reaches of others."""
    if not risk:
        return "Nobody could be attacked: the original has no records."
    worst = max(risk, key=_beyond)
    row = attack_row(worst, Gate("internal"))
    about = f" ({row['about']})" if row["about"] else ""
    if _beyond(worst) <= 0.0:
        return "No attack that was tried reaches significantly more than chance, or more than it reaches of others."
    return f"Of the attacks tried, {worst.attack}{about} reaches furthest beyond chance: {row['reading']}"


def _beyond(one: Risk) -> float:
    """The success beyond that on others, or beyond chance where nobody was held out, at the interval's lower end."""
    if one.control is None:
        return one.low - one.baseline
    # A rate of successes is the part gained of what was left to learn.
    return one.low * (1.0 - one.control) if "success" in one.details else one.low - one.control


def _utility(found: AssessmentLike) -> str:
    losses: Mapping[str, Mapping[str, float]] = found.utility["columns"]
    told = []
    for key in ("suppressed", "generalised"):
        mean = sum(one[key] for one in losses.values()) / len(losses)
        if mean:
            worst = max(losses, key=lambda name: losses[name][key])
            told.append(f"{percent(mean)} of the cells are {key} (most in {worst}: {percent(losses[worst][key])})")
    if not told:
        return "No cell is suppressed or generalised; how far cells moved cannot be told without a plan."
    return f"Of the release, {' and '.join(told)}; how far other cells moved cannot be told without a plan."


def _next(found: AssessmentLike) -> str:
    if not found.facts["held_out"]:
        return "give persons held out, without whom what is inferred cannot be told from what is generally so"
    if found.findings:
        return (
            "do not release it as it is: generalise, suppress or perturb more, or leave columns out, and assess again"
        )
    return "before you release it, decide whether these rates are risks you accept"


# ------------------------------------------------------------------------------------------------ limits


def _limits(found: AssessmentLike, shown: Sequence[Risk], gate: Gate) -> list[str]:
    facts = found.facts
    told = [NOTHING_KNOWN, "An attack that was tried gives a lower bound: a cleverer intruder may reach more."]
    if facts["only_in_release"]:
        told.append(
            f"The release has {count_of(facts['only_in_release'], 'column')} that the original does not have: not "
            "attacked."
        )
    if not gate.is_internal:
        hidden = dict.fromkeys(one.attack for one in found.risk if one not in shown)
        return [NOT_PUBLISHED, *([f"Tried, and not published: {names(hidden)}."] if hidden else []), *told]
    sampled = {one.attack: one.n for one in shown if one.n < 0.9 * facts["persons"] and not one.details.get("within")}
    if sampled:
        parts = [f"{name} ({n:,})" for name, n in sampled.items()]
        told.append(f"Of {facts['persons']:,} persons a sample chosen at random was attacked by {names(parts)}.")
    return [*told, "Intervals are of 95 %; they say how far a rate may be off by the choice of persons."]
