"""How well a score tells members from strangers: the area under the curve, and true positives at few false ones.

Ties count half in the area, and in the rate a share of them is taken at random.

References: Newcombe, Statistics in Medicine 25 (2006), part 2, method 5; Carlini et al., IEEE S&P 2022, on the rate at
few false positives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.rate import Z_95, wilson_interval

if TYPE_CHECKING:
    from anonto.arrays import Floats

FALSE_POSITIVES = 0.01
"""The share of strangers who are taken for members."""
HALVINGS = 60


def curve(members: Floats, strangers: Floats) -> tuple[Floats, Floats]:
    """How many strangers, and how many members, have at least each distinct score; the highest first."""
    scores, place = np.unique(np.concatenate([members, strangers]), return_inverse=True)
    of_members = np.bincount(place[: members.size], minlength=scores.size)[::-1]
    of_strangers = np.bincount(place[members.size :], minlength=scores.size)[::-1]
    false, true = (np.concatenate([[0.0], np.cumsum(one)]) for one in (of_strangers, of_members))
    return false, true


def area(members: Floats, strangers: Floats) -> float:
    """The chance that a member's score is above a stranger's."""
    false, true = curve(members, strangers)
    return float(np.sum(np.diff(false) * (true[1:] + true[:-1])) / (2 * members.size * strangers.size))


def area_interval(found: float, n_members: int, n_strangers: int) -> tuple[float, float]:
    """The 95 % interval of an area: all areas from which this one does not differ significantly."""
    return tuple(_bound(found, end, n_members, n_strangers) for end in (0.0, 1.0))  # type: ignore[return-value]


def _bound(found: float, end: float, n_members: int, n_strangers: int) -> float:
    """The area nearest to an end that is still in the interval, by halving."""
    inside, outside = found, end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2.0
        more = (n_members + n_strangers) / 2.0 - 1.0
        spread = middle * (1 - middle) * (1 + more * ((1 - middle) / (2 - middle) + middle / (1 + middle)))
        if abs(found - middle) <= Z_95 * math.sqrt(spread / (n_members * n_strangers)):
            inside = middle
        else:
            outside = middle
    return inside


def true_positives(members: Floats, strangers: Floats) -> tuple[float, float, float]:
    """The share of members who are recognised where 1 % of strangers are taken for members, with its interval.

    The interval holds for both samples together: which score 1 % of all strangers exceed is known from the strangers
    that were drawn, from fewer than about 440 of them only one end of it.
    """
    from scipy.stats import binom

    false, true = curve(members, strangers)
    n_strangers, n_members = strangers.size, members.size
    few, many = (int(binom.ppf(chance, n_strangers, FALSE_POSITIVES)) for chance in (0.0125, 0.9875))
    allowed = (FALSE_POSITIVES * n_strangers, few, min(many + 1, n_strangers))
    hits, least, most = (float(np.interp(one, false, true)) for one in allowed)
    low = wilson_interval(least, n_members, 2)[0] if few else 0.0
    rate, high = hits / n_members, wilson_interval(most, n_members, 2)[1]
    return rate, min(low, rate), max(high, rate)
