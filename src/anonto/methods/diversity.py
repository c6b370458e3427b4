r"""l-diversity: a group shows enough different values of a confidential column, and none of them too often.

- ``"distinct"``: at least l different values.
- ``"entropy"``: the entropy of their shares is at least that of l equally frequent ones, $-\sum p \ln p \ge \ln l$.
- ``"recursive"``: of the frequencies $r_1 \ge r_2 \ge …$ the largest is below $c \cdot (r_l + r_{l+1} + …)$.

Records without a confidential value do not count. Whatever holds for two groups holds for their union.

Reference: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, ACM TKDD 1 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anonto.arithmetic import dot, logs
from anonto.errors import ParameterError
from anonto.methods.parameters import choice, column_name, number, whole

if TYPE_CHECKING:
    from anonto.arrays import Integers, Longs

Kind = Literal["distinct", "entropy", "recursive"]
KINDS: tuple[Kind, ...] = ("distinct", "entropy", "recursive")
USUAL_C = 3.0
NEARLY = 1e-12
"""Rounding that an entropy may be short by."""

CLOSENESS = number(
    "closeness t",
    "How far the confidential values of a group may be from those of the table, 0 to 1.",
    above=0,
    high=1,
    offered=(0.01, 1, 0.01),
)
DIVERSITY = whole(
    "diversity l", "How many different confidential values a group has, at least.", low=2, offered=(2, 20, 1)
)
KIND_OF_DIVERSITY = choice(
    KINDS,
    "diversity by",
    "“distinct”: different values; “entropy”: none much more frequent; “recursive”: the most frequent below c times "
    "the sum of the l-th and all that are rarer.",
)
C = number(
    "c of the recursive diversity",
    "The most frequent value stays below c times the others; 3 if it is left out.",
    above=0,
    offered=(0.1, 10, 0.1),
)
CONFIDENTIAL = column_name("confidential column", "The column that closeness and diversity are about.")


@dataclass(frozen=True, slots=True)
class Diversity:
    """What the confidential values of a group must show."""

    least: int
    kind: Kind
    c: float

    def is_met(self, counts: Longs) -> bool:
        """Return whether values with these frequencies are diverse enough."""
        if counts.size < self.least:
            return False
        if self.kind == "distinct":
            return True
        if self.kind == "entropy":
            shares = counts / counts.sum()
            return -dot(shares, logs(shares)) >= float(logs([float(self.least)])[0]) - NEARLY
        falling = np.sort(counts)[::-1]
        return bool(falling[0] < self.c * int(falling[self.least - 1 :].sum()))


def require_confidential(confidential: str | None, t: float | None, least: int | None) -> None:
    """Refuse closeness or diversity without the column that it is about, and the column without either."""
    if confidential is None and (t is not None or least is not None):
        given = "t" if t is not None else "l"
        raise ParameterError("confidential", f"given where {given} is: the column that {given} is about", None)
    if confidential is not None and t is None and least is None:
        raise ParameterError("t", "given where confidential is", None)


def diversity_of(least: int | None, kind: Kind | None, c: float | None) -> Diversity | None:
    """The diversity that is asked for; None for none."""
    return None if least is None else Diversity(least, kind or "distinct", USUAL_C if c is None else c)


def smallest_diversity(groups: Integers, values: Integers) -> int:
    """The fewest different values that a group has; −1 is no value."""
    pairs = np.unique(np.stack([groups, values], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], weights=pairs[:, 1] >= 0)[np.unique(groups)]
    return int(counts.min(initial=0 if not counts.size else counts[0]))
