"""Statements that several frames share: attacks against a threshold, proofs, classes, losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks, is_linkage, is_of_two_releases, measured_by
from anonto.attacks.shares import percent
from anonto.report.frames.frame import Statement, Status, not_measured
from anonto.report.verdict import names
from anonto.report.words import guarantee_name
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonto.report.frames.frame import FrameFacts

    Row = Mapping[str, Any]

LOWER_BOUND = "An attack gives a lower bound: a cleverer intruder may reach more."
NOBODY = "No attack of this kind was tried."
NOT_PUBLISHED = "The figures are not published in this edition."
ON_THE_MASKING = {
    "release": "the release itself",
    "second masking": "a second masking with the same plan, rounded",
    "nothing": "nothing",
}


def worst_of_each(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Of each attack the result that tells most, the highest above its baseline first."""
    worst: dict[str, Row] = {}
    for row in rows:
        known = worst.get(row["attack"])
        if known is None or _weight(row) > _weight(known):
            worst[row["attack"]] = row
    return tuple(sorted(worst.values(), key=_weight, reverse=True))


def _weight(row: Row) -> tuple[bool, float]:
    return beats_chance(row), lower_end(row) if row["rate"] is None else float(row["rate"])


def lower_end(row: Row) -> float:
    """The least that a rate can be, as far as the edition shows it."""
    return 0.0 if row["low"] is None else float(row["low"])


def upper_end(row: Row) -> float:
    """The most that a rate can be, as far as the edition shows it."""
    return 1.0 if row["high"] is None else float(row["high"])


def beats_chance(row: Row) -> bool:
    """Return whether an attack does significantly better than its baseline.

    Counting the records that are alone in the release is no attack on a person: in a swapped table they need not be
    that person's.
    """
    if measured_by(row["attack"]) == "classes" or row["baseline"] is None:
        return False
    return lower_end(row) > float(row["baseline"])


def counted_linkages(facts: FrameFacts) -> list[Row]:
    """The attacks that count as risk: linkages, and the reading of rows that are released whole."""
    return [one for one in facts.attacks if is_linkage(one["attack"]) or one["whole_rows"]]


def described(rows: Sequence[Row], facts: FrameFacts) -> str:
    """By what a statement was measured: attacks with what is known, and on which masking."""
    told = [f"{one['attack']}{_known(one)}" for one in rows]
    return f"{'; '.join(told)}; on {ON_THE_MASKING[facts.report['measured']['on']]}"


def _known(row: Row) -> str:
    return f" (known: {names(row['columns'])})" if row["columns"] else f" (known: {row['knowledge'].rstrip('.')})"


def shortfalls(facts: FrameFacts) -> list[str]:
    """Reasons why attacks cannot show that a threshold is kept, however low their rates are."""
    report, reasons = facts.report, []
    hidden = {one["attack"] for one in report["measured"]["kept_back"] if _may_count(one["attack"])}
    if hidden:
        reasons.append(f"{count_of(len(hidden), 'attack')} of those tried {_is(hidden)} not published")
    if report["table"]["not_attacked"]:
        reasons.append(f"nobody was given {names(report['table']['not_attacked'])}, which are released")
    return reasons


def _may_count(attack: str) -> bool:
    """Return whether the results of an attack may be among those that count as risk."""
    return is_linkage(attack) or attacks()[attack].of_few_columns


def _is(several: Iterable[str]) -> str:
    return "are" if len(list(several)) > 1 else "is"


def linkage_within(limit: float | None, facts: FrameFacts) -> Statement:
    """The worst linkage against a threshold; without a threshold as a fact.

    It is met only where the upper end of the interval of every linkage is within the threshold and none is hidden, and
    not met where the lower end of one is above it.
    """
    what = "share of the persons that an attack links to their released record, or reads off rows released whole"
    asks = f"How large is the {what}?" if limit is None else f"Is the {what}, at most {limit:g}?"
    if not facts.is_measured:
        return not_measured(asks, NOT_PUBLISHED)
    rows = worst_of_each(counted_linkages(facts))
    if not rows:
        return not_measured(asks, NOBODY)
    worst = max(counted_linkages(facts), key=lambda one: (upper_end(one), lower_end(one)))
    ends = f"95 % interval {percent(lower_end(worst))} to {percent(upper_end(worst))}"
    said = f"The worst of those tried, {worst['attack']}{_known(worst)}, reaches {worst['shown']} ({ends})."
    status: Status = "stated"
    why = ""
    if limit is not None:
        status, why = _against(limit, counted_linkages(facts), shortfalls(facts))
    says = " ".join(part for part in (said, why, LOWER_BOUND) if part)
    return Statement(asks=asks, status=status, says=says, measured_by=described(rows, facts), rows=rows)


def _against(limit: float, rows: Sequence[Row], reasons: Sequence[str]) -> tuple[Status, str]:
    above = [one for one in rows if lower_end(one) > limit]
    if above:
        return "not met", f"The whole interval of {count_of(len(above), 'result')} is above {limit:g}."
    if any(upper_end(one) > limit for one in rows):
        return "undecided", f"The interval of at least one result reaches above {limit:g}."
    if reasons:
        return "undecided", f"Every interval shown is within {limit:g}, but {'; '.join(reasons)}."
    return "met", f"The upper end of every interval is within {limit:g}."


def highest_probability(limit: float, facts: FrameFacts) -> Statement:
    """The highest probability of a right link of any person, which only a proof can bound, against a threshold."""
    asks = f"Is the highest probability that any one person is linked at most {limit:g}?"
    proved = [one["guarantee"] for one in facts.report["steps"] if one["guarantee"]["proved"]]
    bounds = [one for one in proved if one.get("k")]
    if not bounds:
        return not_measured(
            asks,
            "Nothing is proved that bounds it for every person. Attacks give a share of all persons, which is an "
            "average and not the highest probability of one of them.",
        )
    least = min(bounds, key=lambda one: float(one["k"]))
    bound, steps = 1 / float(least["k"]), "the proof of " + guarantee_name(least)
    said = f"Proved: {guarantee_name(least)}, so at most 1/{least['k']} = {bound:.4f}, if {least['conditions']}."
    contradicted = [one for one in facts.attacks if one["k_proved"] and one["beyond_k"] == "above"]
    if bound > limit:
        status: Status = "not met"
        said += f" That is above {limit:g}."
    elif contradicted:
        status = "undecided"
        said += " But an attack linked more than that: see the findings."
    elif not facts.report["checked"]:
        status = "undecided"
        said += " That this plan made the release was not checked, because its private record was not given."
    elif any(is_of_two_releases(one["attack"]) for one in facts.attacks):
        status = "undecided"
        said += " The proof is about a single release, and there are two."
    else:
        status = "met"
    return Statement(asks=asks, status=status, says=said, measured_by=steps)


def smallest_class(facts: FrameFacts) -> Statement:
    """How many released records are alone in their class."""
    asks = "How many released records share their values in the columns that an intruder may know with no other?"
    rows = [one for one in facts.attacks if measured_by(one["attack"]) == "classes"]
    if not facts.is_measured:
        return not_measured(asks, NOT_PUBLISHED)
    if not rows:
        return not_measured(asks, "No classes of records were counted.")
    shown = worst_of_each(rows)
    says = " ".join(
        [
            *(f"{one['attack']}{_known(one)}: {one['shown']}." for one in shown),
            "Where values were swapped or noise was added, a record that is alone need not be that person’s; classes "
            "bound the risk only where cells were made coarser or left as they are.",
        ]
    )
    return Statement(asks=asks, status="stated", says=says, measured_by=described(shown, facts), rows=shown)


def proofs(facts: FrameFacts) -> Statement:
    """What is proved of each step, with its conditions, and what is not."""
    asks = "Which guarantees are proved for this release, and on which conditions?"
    steps = facts.report["steps"]
    if not steps:
        return not_measured(asks, "Nothing was masked, so nothing is proved.")
    says = " ".join(
        f"Step {number}, {one['method']} of {names(one['columns'])}: "
        + (
            f"proved: {guarantee_name(one['guarantee'])}, if {one['guarantee']['conditions']}."
            if one["guarantee"]["proved"]
            else "nothing is proved."
        )
        for number, one in enumerate(steps, start=1)
    )
    if not facts.report["checked"]:
        says += " That this plan made the release was taken as given."
    return Statement(asks=asks, status="stated", says=says, measured_by="the evidence of each step")


def in_the_population(facts: FrameFacts) -> Statement:
    """The risk in the population from which the table was drawn, which attacks on the table do not tell."""
    asks = "How many persons are unique in the population that the table was drawn from?"
    found: Row = (facts.report.get("disclosure") or {}).get("population") or {}
    chosen = next((one for one in found.get("unique", ()) if one["model"] == found["chosen"]), None)
    if chosen is None or chosen["share"]["before"] is None:
        return not_measured(
            asks,
            "The attacks take everybody in the table as known to be in it, which is the cautious assumption. The "
            "smaller risk of an intruder who does not know who is in the table was not estimated here.",
        )
    ends = [chosen["low"], chosen["high"]]
    interval = "" if None in ends else f" (95 % interval {percent(ends[0])} to {percent(ends[1])})"
    after = chosen["share"]["after"]
    later = "" if after is None else f"; by the released values {percent(after)}"
    return Statement(
        asks=asks,
        status="stated",
        says=f"By the original values an estimated {percent(chosen['share']['before'])}{interval}{later}. Assumed: "
        f"{chosen['assumption']}.",
        measured_by=f"the estimate {chosen['model']} for {found['people']:,.0f} people, from {found['estimated_from']}",
    )


def what_analysts_lose(facts: FrameFacts) -> Statement:
    """The loss of information."""
    asks = "Is the release still useful for what it is made for?"
    if not facts.is_measured:
        return not_measured(asks, NOT_PUBLISHED)
    return Statement(
        asks=asks,
        status="stated",
        says=facts.report["verdict"]["utility"],
        measured_by=f"the losses of this report; on {ON_THE_MASKING[facts.report['measured']['on']]}",
    )


def untried(facts: FrameFacts, criterion: Any) -> list[str]:
    """The attacks that are evidence on a criterion, and that this report does not have."""
    tried = {one["attack"] for one in facts.report["attacks"]}
    tried |= {one["attack"] for one in facts.report["measured"]["kept_back"]}
    known = [one for one in attacks().values() if one.needs_trial and criterion in one.criteria]
    return [one.name for one in known if one.name not in tried]
