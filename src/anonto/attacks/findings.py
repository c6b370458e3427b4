"""Findings about a release, in plain sentences: whatever undoes the masking, and linkage rates above 1/k.

Several linkages are compared with 1/k, and readers look at the highest. So a rate is above 1/k only where the
interval that holds for all of them together is. A proof of 1/k is about chance: one release may lie above it, and a
single one shows no more than that a condition of the proof does not hold, or how rare such a draw is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, Protocol

from anonto.attacks.rate import wilson_interval
from anonto.attacks.registry import is_linkage, is_of_two_releases, is_of_unknown_columns
from anonto.methods.guarantee import Setting
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.attacks.rate import Risk
    from anonto.methods.method import Method
    from anonto.methods.parameters import SmallStrata

OF_A_PROOF = "One of its conditions does not hold here, or chance did what it does in"
"""Part of every sentence about a proved bound."""
NO_RECORDS = "The release has no record: nobody was attacked, and the rates and losses say nothing."
GUESSABLE_SEED = "The seed of the release is short and can be guessed: anyone who finds it can undo the masking."
WITHOUT_A_CONCEPT = "without a concept left unmasked"
"""Part of every sentence about cells that no step could mask."""
NOT_ATTACKED = "that are released unmasked were not attacked, because only counts of the rows fit here"
"""Part of every sentence about columns that no intruder was given."""
SINGLES_OUT = "singles out"
"""Part of every sentence about rows that are found by a few columns and read."""
WHO_IS_IN = "who is in the table"
"""Part of every sentence about membership."""
FEW = 0.05
"""Share of persons below which read rows are not a finding, where no step has a k."""
MOST_DRAWS = 1_000_000


class PlanStep(Protocol):
    """A step of a plan."""

    @property
    def method(self) -> Method:
        """The method."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The masked columns."""
        ...

    @property
    def within(self) -> tuple[str, ...]:
        """The columns of its strata."""
        ...

    @property
    def small_strata(self) -> SmallStrata:
        """How strata are treated that have too few rows."""
        ...


@dataclass(frozen=True, slots=True)
class AgainstK:
    """A linkage compared with the 1/k of a step."""

    k: int
    step: PlanStep
    low: float
    """The interval that holds for all linkages together."""
    high: float
    draws: int
    """How rare a rate above 1/k is: if 1/k were true, one release in about this many would have a linkage as high."""
    proved: bool
    """True if 1/k is proved against somebody who knows these columns of one release and nothing else."""

    @property
    def beyond(self) -> Literal["above", "below", "equal"]:
        """Where the rate lies against 1/k; equal if it does not differ significantly from it."""
        if self.low > 1 / self.k:
            return "above"
        return "below" if self.high < 1 / self.k else "equal"


def findings_of(
    steps: Sequence[PlanStep],
    risk: Sequence[Risk],
    n_records: int,
    *,
    guessable_seed: bool = False,
    stayed: Mapping[str, int] | None = None,
    settings: Sequence[Setting] | None = None,
    not_attacked: Sequence[str] = (),
) -> tuple[str, ...]:
    """One sentence for each linkage that links more persons than 1 in k, and for each proof of a link.

    Facts that make attacks unnecessary come first.

    Args:
        steps: Steps of the plan.
        risk: Results of the attacks.
        n_records: Records of the release.
        guessable_seed: Whether the private record has a seed that can be found by trying.
        stayed: By masked column, the number of cells without a concept, which stayed with their person.
        settings: For each step the setting of its guarantee; None for one that breaks no guarantee.
        not_attacked: Released columns that are not confidential and were known to no intruder.
    """
    if not n_records:
        return (NO_RECORDS,)
    known = [
        *([GUESSABLE_SEED] if guessable_seed else []),
        *_describe_unmatched({name: n for name, n in (stayed or {}).items() if n}),
        *_describe_not_attacked(not_attacked),
    ]
    return (*known, *_describe_links(steps, risk, n_records, settings))


def _describe_unmatched(cells: Mapping[str, int]) -> list[str]:
    if not cells:
        return []
    told = list_names([f"{n:,} of {name!r}" for name, n in cells.items()])
    total = count_of(sum(cells.values()), "cell")
    return [
        f"{total} {WITHOUT_A_CONCEPT}, in the person's own record ({told}): anyone who knows such a value finds it."
    ]


def _describe_not_attacked(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    told = list_names([repr(name) for name in names])
    return [
        f"{count_of(len(names), 'column')} {NOT_ATTACKED} ({told}): an intruder who knows them may recognise more "
        "persons."
    ]


def _describe_links(
    steps: Sequence[PlanStep], risk: Sequence[Risk], n_records: int, settings: Sequence[Setting] | None
) -> tuple[str, ...]:
    n_linkages = count_linkages(risk)
    worst: dict[tuple[str, tuple[str, ...]], tuple[Risk, AgainstK]] = {}
    for one in risk:
        key, found = (one.attack, one.columns), against_k(steps, one, n_records, n_linkages, settings)
        if found and found.beyond == "above" and (key not in worst or found.low > worst[key][1].low):
            worst[key] = one, found
    sentences = [_describe_above_k(*pair) for pair in worst.values()]
    return (
        *sentences,
        *filter(None, map(_describe_proved_link, risk)),
        *_describe_whole_rows(steps, risk, n_records),
        *describe_membership(risk),
    )


def describe_membership(risk: Sequence[Risk]) -> list[str]:
    """Sentences if persons are recognised as being in the table, or more than `FEW` others are excluded for certain."""
    scored = [one for one in risk if "auc" in one.details]
    excluding = max(scored, key=lambda one: float(one.details.get("excluded_low", 0.0)), default=None)
    recognising = max(scored, key=lambda one: one.low, default=None)
    return [
        *([_describe_excluded(excluding)] if excluding and excluding.details.get("excluded_low", 0.0) > FEW else []),
        *([_describe_recognised(recognising)] if recognising and recognising.low > recognising.baseline else []),
    ]


def _describe_excluded(one: Risk) -> str:
    share, low, high = (_percent(one.details[key]) for key in ("strangers_excluded", "excluded_low", "excluded_high"))
    return (
        f"Knowing {list_names(map(repr, one.columns))}, {one.attack} excludes {share} of persons who were not masked "
        f"({low} to {high}) with certainty: no released record could be theirs, which tells {WHO_IS_IN}."
    )


def _describe_recognised(one: Risk) -> str:
    return (
        f"Knowing {list_names(map(repr, one.columns))}, {one.attack} tells {WHO_IS_IN}: by {one.details['score']} it "
        f"recognises {_percent(one.rate)} of persons ({_percent(one.low)} to {_percent(one.high)}), where "
        f"{_percent(one.baseline)} of others are taken for them."
    )


def _describe_whole_rows(steps: Sequence[PlanStep], risk: Sequence[Risk], n_records: int) -> list[str]:
    """A sentence if rows are found by a few columns and read, more often than 1 in k or than `FEW` persons."""
    limit = min([1 / k for step in steps if (k := k_of(step, n_records))], default=FEW)
    return [_describe_read_rows(one) for one in risk if one.details.get("whole_rows") and one.low > limit]


def _describe_read_rows(one: Risk) -> str:
    told = one.details
    return (
        f"Knowing {len(one.columns)} of {told['columns_that_leave']:,} columns "
        f"({list_names(map(repr, one.columns))}) {SINGLES_OUT} {_percent(told['singled_out'])} of persons: "
        f"one released row has just these cells, and {_percent(told['read_right'])} of the other cells are read "
        f"off it right (guessing the most frequent values: {_percent(told['guessed_right'])})."
    )


def count_linkages(risk: Sequence[Risk]) -> int:
    """How many linkages are compared with 1/k together."""
    return sum(is_linkage(one.attack) and one.n > 0 for one in risk)


def against_k(
    steps: Sequence[PlanStep],
    linkage: Risk,
    n_records: int,
    n_linkages: int,
    settings: Sequence[Setting] | None = None,
) -> AgainstK | None:
    """A linkage compared with the k of a step that masks a known column; None where no such step has one.

    Of several, it is the least k that is exceeded, or else the largest.

    Args:
        steps: Steps of the plan.
        linkage: The result of an attack; None is returned also for one that links nobody.
        n_records: For a k that is a share of the records.
        n_linkages: How many linkages are compared.
        settings: For each step the setting of its guarantee; None for one that breaks no guarantee.
    """
    if not is_linkage(linkage.attack) or not linkage.n:
        return None
    low, high = wilson_interval(linkage.rate * linkage.n, linkage.n, n_linkages)
    found = [
        AgainstK(k, step, low, high, _draws(linkage, k, n_linkages), _is_proved(step, setting, linkage))
        for step, setting in zip(steps, settings or [Setting()] * len(steps), strict=True)
        if set(step.columns) & set(linkage.columns) and (k := k_of(step, n_records))
    ]
    exceeded = [one for one in found if one.beyond == "above"]
    if exceeded:
        return min(exceeded, key=lambda one: one.k)
    return max(found, key=lambda one: one.k, default=None)


def _draws(linkage: Risk, k: int, n_linkages: int) -> int:
    """One over the chance that one of the linkages reaches this rate by luck, to one digit, rounded down.

    The chance is that of Wilson's interval, times the number of linkages.
    """
    spread = math.sqrt((1 / k) * (1 - 1 / k) / linkage.n)
    if not spread or linkage.rate <= 1 / k:
        return 1
    chance = n_linkages * NormalDist().cdf((1 / k - linkage.rate) / spread)
    most = MOST_DRAWS if chance * MOST_DRAWS <= 1 else max(1, math.floor(1 / chance))
    digit: int = 10 ** (len(str(most)) - 1)
    return most // digit * digit


def describe_exceeded_proof(draws: int) -> str:
    """Interpretation of a rate above a proved bound."""
    return f"{OF_A_PROOF} {'fewer than' if draws >= MOST_DRAWS else 'about'} 1 of {draws:,} releases"


def _is_proved(step: PlanStep, setting: Setting, linkage: Risk) -> bool:
    """True if a step's proof covers an intruder who knows these columns of one release: the step masks all of them."""
    outside = tuple(name for name in linkage.columns if name not in (*step.columns, *setting.within))
    promise = step.method.guarantee(replace(setting, left_out=outside))
    is_covered = not is_of_two_releases(linkage.attack) and not is_of_unknown_columns(linkage.attack)
    return promise.proved and promise.k is not None and is_covered


def _describe_above_k(linkage: Risk, found: AgainstK) -> str:
    known = list_names(map(repr, linkage.columns))
    links = f"Knowing {known}, {linkage.attack} links {_percent(linkage.rate)} of persons"
    k, method = found.k, found.step.method.name
    if found.proved:
        return (
            f"{links} ({_percent(found.low)} to {_percent(found.high)}, an interval for all linkages together), more "
            f"than the 1 in {k:,} that the proof of {method} allows with k = {k:,}. "
            f"{describe_exceeded_proof(found.draws)}."
        )
    return (
        f"{links} ({_percent(linkage.low)} to {_percent(linkage.high)}), "
        f"more than the 1 in {k:,} that k = {k:,} of {method} suggests."
    )


def _describe_proved_link(linkage: Risk) -> str | None:
    """A sentence if some persons have one candidate left."""
    share = linkage.details.get("proven_share", 0.0)
    if not share:
        return None
    return (
        f"Knowing {list_names(map(repr, linkage.columns))}, {linkage.attack} proves which record belongs to "
        f"{_percent(share)} of persons: no other released record could be theirs."
    )


def worst_linkage(risk: Sequence[Risk]) -> Risk | None:
    """The linkage that reached most; None where there is none."""
    return max((one for one in risk if is_linkage(one.attack)), key=lambda one: one.rate, default=None)


def counts_as_risk(risk: Risk) -> bool:
    """Return whether plans are compared by an attack: a linkage, or the reading of rows that are released whole."""
    return is_linkage(risk.attack) or bool(risk.details.get("whole_rows"))


def k_of(step: PlanStep, n_records: int) -> int | None:
    """The k of a step, also where it is given as a share of the records; None where its method has none."""
    return step.method.k_among(n_records)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
