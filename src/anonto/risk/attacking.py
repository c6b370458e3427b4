"""A release attacked in every way that applies: what all attacks find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.risk.attacks.registry import OWN, attacks
from anonto.risk.situation import Situation

if TYPE_CHECKING:
    import numpy as np

    from anonto.risk.comparison import Comparison
    from anonto.risk.rate import Risk
    from anonto.rng import Seed


def attacked(compared: Comparison, rng: np.random.Generator, seed: Seed) -> tuple[Risk, ...]:
    """What all attacks find: those of every intruder with what she knows, then those that are tried once.

    Args:
        compared: The original and its release.
        rng: For the choice of persons, and what else our own attacks leave to chance.
        seed: For what must not depend on what was drawn before; attacks of other packages draw from it alone.
    """
    found: list[Risk] = []
    sizes = dict.fromkeys(one.persons for one in OWN if not one.once and one.persons is not None)
    for number, who in enumerate(compared.known):
        situation = Situation(compared, seed, who)
        for most in sizes:
            situation.draw(most, rng)
        _try_all(situation, rng, number)
        found += [who.told(risk) for risk in situation.found]
    situation = Situation(compared, seed)
    _try_all(situation, rng, len(compared.known))
    return (*found, *situation.found)


def _try_all(situation: Situation, rng: np.random.Generator, number: int) -> None:
    """Try all attacks that apply to a situation, the one of such a number."""
    for attack in attacks().values():
        if attack.once == (situation.who is None) and attack.applies(situation):
            own = rng if attack in OWN else situation.seed.stream(attack.name, number)
            situation.found += attack.run(situation, own)
