"""What the attacks found, in plain sentences: first of all, links that go beyond what k suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anonto.errors import listed
from anonto.methods.parameters import k_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.methods.registry import Method
    from anonto.risk.rate import Risk


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


def findings_of(steps: Sequence[Masking], risk: Sequence[Risk], n_records: int) -> tuple[str, ...]:
    """One sentence for each linkage that surely links more persons than 1 in k, and for each proof of a link."""
    worst: dict[tuple[str, tuple[str, ...]], Risk] = {}
    for one in risk:
        key = (one.attack, one.columns)
        if is_linkage(one) and (key not in worst or one.low > worst[key].low):
            worst[key] = one
    sentences = [_beyond_k(steps, one, n_records) for one in worst.values()]
    return tuple(sentence for sentence in (*sentences, *map(_proven, risk)) if sentence)


def _beyond_k(steps: Sequence[Masking], linkage: Risk, n_records: int) -> str | None:
    """A sentence if the lower end of the interval is above 1/k of a step that masks a known column."""
    masking = [step for step in steps if set(step.columns) & set(linkage.columns)]
    exceeded = [(k, step) for step in masking if (k := k_of(step, n_records)) and linkage.low > 1 / k]
    if not exceeded:
        return None
    k, step = min(exceeded, key=lambda pair: pair[0])
    return (
        f"Knowing {listed([repr(name) for name in linkage.columns])}, {linkage.attack} links "
        f"{_percent(linkage.rate)} of persons ({_percent(linkage.low)} to {_percent(linkage.high)}), "
        f"more than the 1 in {k:,} that k = {k:,} of {step.method.name} suggests."
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


def is_linkage(risk: Risk) -> bool:
    """Whether an attack takes released records for those of persons."""
    return risk.attack.endswith("linkage") or risk.attack == "composition"


def k_of(step: Masking, n_records: int) -> int | None:
    """The k of a step, also where it is given as a share of the records; None where its method has none."""
    k, percent = (getattr(step.method, name, None) for name in ("k", "percent"))
    return None if k is None and percent is None else k_for(k, percent, n_records)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
