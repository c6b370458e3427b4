"""Run every attack that applies to a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.registry import OWN, attacks
from anonto.attacks.situation import Situation
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from anonto.attacks.attack import Attack
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.rate import Risk
    from anonto.random.streams import Seed

    Progress = Callable[[int, int, str], object]
    """Called with how many parts are finished, how many there are, and what is done next; never with a cell."""


def count_tries(compared: Comparison) -> int:
    """How many attacks are tried, or found not to apply: those of every intruder, and those of the release."""
    n_once = sum(one.once for one in attacks().values())
    return len(compared.known) * (len(attacks()) - n_once) + n_once


def run_attacks(
    compared: Comparison,
    rng: np.random.Generator,
    seed: Seed,
    *,
    screening: bool = False,
    progress: Progress | None = None,
) -> tuple[Risk, ...]:
    """Results of all attacks: those of every intruder with what she knows, then those that are tried once.

    Args:
        compared: The original and its release.
        rng: For the choice of persons, and all other draws of our own attacks.
        seed: For what must not depend on what was drawn before; attacks of other packages draw from it alone.
        screening: Leave out the costly attacks.
        progress: Called before each attack that is tried.
    """
    found: list[Risk] = []
    report = _Report(progress, count_tries(compared))
    sizes = dict.fromkeys(one.persons for one in OWN if not one.once and one.persons is not None)
    for number, who in enumerate(compared.known):
        situation = Situation(compared, seed, who)
        for most in sizes:
            situation.draw(most, rng)
        _try_all(situation, rng, number, report, screening=screening)
        found += [who.name_columns(risk) for risk in situation.found]
    situation = Situation(compared, seed)
    _try_all(situation, rng, len(compared.known), report, screening=screening)
    return (*found, *situation.found)


class _Report:
    """Says which attack is tried next."""

    def __init__(self, progress: Progress | None, n_tries: int) -> None:
        self.progress, self.n_tries, self.n_done = progress, n_tries, 0

    def begin(self, attack: Attack, situation: Situation) -> None:
        """An attack is tried."""
        if self.progress is not None:
            known = "" if situation.who is None else f", {count_of(len(situation.names), 'column')} known"
            self.progress(self.n_done, self.n_tries, f"{attack.name}{known}")

    def end(self) -> None:
        """An attack was tried, or did not apply."""
        self.n_done += 1


def _try_all(situation: Situation, rng: np.random.Generator, number: int, report: _Report, *, screening: bool) -> None:
    """Try all attacks that apply to a situation, which has this number."""
    for attack in attacks().values():
        if attack.once != (situation.who is None):
            continue
        if not (screening and attack.is_costly) and attack.applies(situation):
            report.begin(attack, situation)
            own = rng if attack in OWN else situation.seed.stream(attack.name, number)
            situation.found += attack.run(situation, own)
        report.end()
