"""Opinion 05/2014 of the Article 29 Working Party: singling out, linking and inferring, each with the attacks on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.criteria import CRITERIA, SINGLING_OUT
from anonto.attacks.registry import attacks, measured_by
from anonto.report.frames.evidence import (
    LOWER_BOUND,
    NOBODY,
    NOT_PUBLISHED,
    beats_chance,
    described,
    untried,
    worst_of_each,
)
from anonto.report.frames.frame import LegalFrame, Statement, Status, not_measured, to_fill_in
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anonto.attacks.criteria import Criterion
    from anonto.report.frames.frame import FrameFacts


class WP29(LegalFrame):
    """The three criteria of an anonymous table in the law of the European Union."""

    name = "wp29"
    title = "WP29 Opinion 05/2014: singling out, linking, inferring"
    rule = (
        "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216), 10 April 2014; "
        "recital 26 of Regulation (EU) 2016/679"
    )
    about = (
        "A technique that leaves none of the three open is robust against identification. Where one of them is not "
        "met, the Opinion asks for a thorough evaluation of the risks of identification. It names no threshold, so an "
        "attack that does better than chance counts here as a criterion that is not met."
    )
    fields = (
        "Means reasonably likely to be used by the controller or by another person",
        "Evaluation of the identification risks that remain",
        "Responsible person, date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """The three criteria, and when they are looked at again."""
        return [
            *(_statement(one, facts) for one in CRITERIA),
            to_fill_in(
                "When is the risk assessed again?",
                "The Opinion asks that residual risks are monitored and that new ones are looked for regularly.",
            ),
        ]


def _statement(criterion: Criterion, facts: FrameFacts) -> Statement:
    asks = f"{criterion.name.capitalize()}: {criterion.asks}"
    rows = [one for one in facts.attacks if criterion in attacks()[one["attack"]].criteria]
    if not facts.is_measured:
        return not_measured(asks, NOT_PUBLISHED)
    others = untried(facts, criterion)
    not_tried = f" Not tried: {list_names(others)}." if others else ""
    if not rows:
        return not_measured(asks, f"{NOBODY}{not_tried}")
    shown, better = worst_of_each(rows), [one for one in rows if beats_chance(one)]
    status: Status = "not met" if better else "undecided"
    if better:
        worst = worst_of_each(better)[0]
        says = (
            f"Yes: {count_of(len(better), 'result')} of {len(rows):,} above the baseline with the whole 95 % interval; "
            f"{worst['attack']} reaches {worst['shown']}."
        )
    else:
        says = f"No attack that was tried does significantly better than its baseline. {LOWER_BOUND}"
    hidden = {one["attack"] for one in facts.report["measured"]["kept_back"]}
    kept = [name for name in hidden if criterion in attacks()[name].criteria]
    if kept:
        says += f" Tried, and not published: {list_names(sorted(kept))}."
    if any(measured_by(one["attack"]) == "classes" for one in rows):
        says += (
            " Counting records that are alone decides nothing here: whether such a record is that person’s is told by "
            "the linkages."
        )
    says += "".join(f" {one['reading']}" for one in facts.attacks if _singles_out(one, criterion))
    return Statement(
        asks=asks, status=status, says=f"{says}{not_tried}", measured_by=described(shown, facts), rows=shown
    )


def _singles_out(row: Mapping[str, Any], criterion: Criterion) -> bool:
    """Return whether an attack that reads cells also counted the persons whom a few known cells single out."""
    return criterion is SINGLING_OUT and bool(row.get("details", {}).get("singled_out"))
