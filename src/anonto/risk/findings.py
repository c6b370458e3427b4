"""What must not be overlooked of a release, in plain sentences: what undoes the masking, and links beyond 1 in k.

Several linkages are held against 1/k, and the highest of them draws the eye. So a rate is above 1/k only where the
interval that holds for all of them together is. A proof of 1/k is about chance: one release may lie above it, and a
single one shows no more than that a condition of the proof does not hold, or how rare such a draw is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, Protocol

from anonto.errors import counted, listed
from anonto.methods.guarantee import Setting
from anonto.risk.attacks.registry import is_linkage, is_of_two_releases
from anonto.risk.rate import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.methods.method import Method
    from anonto.risk.rate import Risk

OF_A_PROOF = "One of its conditions does not hold here, or chance did what it does in"
"""What a sentence says that is about a proved bound."""
NO_RECORDS = "The release has no record: nobody was attacked, and the rates and losses say nothing."
GUESSABLE_SEED = "The seed of the release is short and can be guessed: whoever finds it can undo the masking."
WITHOUT_A_CONCEPT = "without a concept left unmasked"
"""What a sentence says that is about cells which no step could mask."""
NOT_ATTACKED = "that leave unmasked were not attacked, because only counts of the rows fit here"
"""What a sentence says that is about columns which no intruder was given."""
SINGLES_OUT = "singles out"
"""What a sentence says that is about rows which are found by a few columns and read."""
FEW = 0.05
"""Where no step has a k, rows read of fewer persons are no finding."""
MOST_DRAWS = 1_000_000


class Masking(Protocol):
    """A step of a plan."""

    @property
    def method(self) -> Method:
        """What is done."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """To which columns."""
        ...


@dataclass(frozen=True, slots=True)
class AgainstK:
    """A linkage beside the 1/k of a step."""

    k: int
    step: Masking
    low: float
    """The interval that holds for all linkages together."""
    high: float
    draws: int
    """Where the rate is above 1/k: were that the truth, one release in about so many would have a linkage as high."""
    proved: bool
    """Whether 1/k is proved against somebody who knows these columns of one release and nothing else."""

    @property
    def beyond(self) -> Literal["above", "below", "equal"]:
        """Where the rate is; equal if it cannot be told from 1/k."""
        if self.low > 1 / self.k:
            return "above"
        return "below" if self.high < 1 / self.k else "equal"


def findings_of(
    steps: Sequence[Masking],
    risk: Sequence[Risk],
    n_records: int,
    *,
    guessable_seed: bool = False,
    stayed: Mapping[str, int] | None = None,
    settings: Sequence[Setting] | None = None,
    not_attacked: Sequence[str] = (),
) -> tuple[str, ...]:
    """One sentence for each linkage that links more persons than 1 in k, and for each proof of a link.

    Before them comes what makes attacks needless, as far as it is known.

    Args:
        steps: Of the plan.
        risk: What the attacks reached.
        n_records: Of the release.
        guessable_seed: Whether the private record has a seed that can be found by trying.
        stayed: How many cells of a masked column have no concept and stayed with their person, by column.
        settings: For each step what its guarantee rests on; None for what breaks none.
        not_attacked: Columns that leave, are not confidential, and were known to no intruder.
    """
    if not n_records:
        return (NO_RECORDS,)
    known = [
        *([GUESSABLE_SEED] if guessable_seed else []),
        *_stayed({name: n for name, n in (stayed or {}).items() if n}),
        *_left_out(not_attacked),
    ]
    return (*known, *_of_links(steps, risk, n_records, settings))


def _stayed(cells: Mapping[str, int]) -> list[str]:
    if not cells:
        return []
    told = listed([f"{n:,} of {name!r}" for name, n in cells.items()])
    total = counted(sum(cells.values()), "cell")
    return [f"{total} {WITHOUT_A_CONCEPT}, in the person's own record ({told}): whoever knows such a value finds it."]


def _left_out(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    told = listed([repr(name) for name in names])
    return [f"{counted(len(names), 'column')} {NOT_ATTACKED} ({told}): whoever knows them may recognise more persons."]


def _of_links(
    steps: Sequence[Masking], risk: Sequence[Risk], n_records: int, settings: Sequence[Setting] | None
) -> tuple[str, ...]:
    n_linkages = count_linkages(risk)
    worst: dict[tuple[str, tuple[str, ...]], tuple[Risk, AgainstK]] = {}
    for one in risk:
        key, found = (one.attack, one.columns), against_k(steps, one, n_records, n_linkages, settings)
        if found and found.beyond == "above" and (key not in worst or found.low > worst[key][1].low):
            worst[key] = one, found
    sentences = [_beyond_k(*pair) for pair in worst.values()]
    return (*sentences, *filter(None, map(_proven, risk)), *_of_whole_rows(steps, risk, n_records))


def _of_whole_rows(steps: Sequence[Masking], risk: Sequence[Risk], n_records: int) -> list[str]:
    """A sentence if rows are found by a few columns and read, more often than 1 in k or than `FEW` persons."""
    limit = min([1 / k for step in steps if (k := k_of(step, n_records))], default=FEW)
    return [_read_rows(one) for one in risk if one.details.get("whole_rows") and one.low > limit]


def _read_rows(one: Risk) -> str:
    told = one.details
    return (
        f"Knowing {len(one.columns)} of {told['columns_that_leave']:,} columns "
        f"({listed([repr(name) for name in one.columns])}) {SINGLES_OUT} {_percent(told['singled_out'])} of persons: "
        f"one released row has just these cells, and {_percent(told['read_right'])} of the other cells are read "
        f"off it right (guessing the most frequent values: {_percent(told['guessed_right'])})."
    )


def count_linkages(risk: Sequence[Risk]) -> int:
    """How many linkages are held against 1/k together."""
    return sum(is_linkage(one.attack) and one.n > 0 for one in risk)


def against_k(
    steps: Sequence[Masking],
    linkage: Risk,
    n_records: int,
    n_linkages: int,
    settings: Sequence[Setting] | None = None,
) -> AgainstK | None:
    """A linkage beside the k of a step that masks a known column; None where no such step has one.

    Of several, it is the least k that is exceeded, or else the largest.

    Args:
        steps: Of the plan.
        linkage: What was reached; None also for an attack that links nobody.
        n_records: For a k that is a share of the records.
        n_linkages: How many linkages are compared.
        settings: For each step what its guarantee rests on; None for what breaks none.
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
    """One over the chance that one of the linkages reaches as much by luck, to one digit, rounded down.

    It is the chance that belongs to Wilson's interval, times the number of linkages.
    """
    spread = math.sqrt((1 / k) * (1 - 1 / k) / linkage.n)
    if not spread or linkage.rate <= 1 / k:
        return 1
    chance = n_linkages * NormalDist().cdf((1 / k - linkage.rate) / spread)
    most = MOST_DRAWS if chance * MOST_DRAWS <= 1 else max(1, math.floor(1 / chance))
    digit: int = 10 ** (len(str(most)) - 1)
    return most // digit * digit


def of_a_proof(draws: int) -> str:
    """What a rate above a proved bound shows."""
    return f"{OF_A_PROOF} {'fewer than' if draws >= MOST_DRAWS else 'about'} 1 of {draws:,} releases"


def _is_proved(step: Masking, setting: Setting, linkage: Risk) -> bool:
    """Whether a step's proof is about somebody who knows these columns: all of them are in it, of one release."""
    outside = tuple(name for name in linkage.columns if name not in step.columns)
    promise = step.method.guarantee(replace(setting, left_out=outside))
    return promise.proved and promise.k is not None and not is_of_two_releases(linkage.attack)


def _beyond_k(linkage: Risk, found: AgainstK) -> str:
    known = listed([repr(name) for name in linkage.columns])
    links = f"Knowing {known}, {linkage.attack} links {_percent(linkage.rate)} of persons"
    k, method = found.k, found.step.method.name
    if found.proved:
        return (
            f"{links} ({_percent(found.low)} to {_percent(found.high)}, an interval for all linkages together), more "
            f"than the 1 in {k:,} that the proof of {method} allows with k = {k:,}. "
            f"{of_a_proof(found.draws)}."
        )
    return (
        f"{links} ({_percent(linkage.low)} to {_percent(linkage.high)}), "
        f"more than the 1 in {k:,} that k = {k:,} of {method} suggests."
    )


def _proven(linkage: Risk) -> str | None:
    """A sentence if some persons have one candidate left."""
    share = linkage.details.get("proven_share", 0.0)
    if not share:
        return None
    return (
        f"Knowing {listed([repr(name) for name in linkage.columns])}, {linkage.attack} proves which record belongs to "
        f"{_percent(share)} of persons: no other released record could be theirs."
    )


def worst_linkage(risk: Sequence[Risk]) -> Risk | None:
    """The linkage that reached most; None where there is none."""
    return max((one for one in risk if is_linkage(one.attack)), key=lambda one: one.rate, default=None)


def counts_as_risk(risk: Risk) -> bool:
    """Whether plans are compared by an attack: a linkage, or the reading of rows that leave whole."""
    return is_linkage(risk.attack) or bool(risk.details.get("whole_rows"))


def k_of(step: Masking, n_records: int) -> int | None:
    """The k of a step, also where it is given as a share of the records; None where its method has none."""
    return step.method.k_among(n_records)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
