r"""Posterior of an original value given its released cell, when the likelihood of the method is known.

After a released value y the original one is v with probability $P(v \mid y) \propto \pi_v P(y \mid v)$, where π are the
frequencies of the original column. The largest of these is how sure the best guess is; before the release it was the
largest π. With local ε-differential privacy the odds of no value rise by more than a factor $e^\varepsilon$, so that no
posterior is above

$$\max_v \frac{\pi_v}{\sum_w \pi_w e^{-\varepsilon\, \delta(v, w)}}$$

where δ is 0 for v = w and else 1, or with metric privacy the distance of v and w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute import likelihood_kernels
from anonto.encoding.description import KINDS_OF_NUMBERS
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anonto.arrays import Bools, Floats, Longs
    from anonto.attacks.compute.likelihood import StepLikelihood

    Blocks = Callable[[], Iterator[tuple[Floats, Floats, Bools]]]

NUMBERS_AT_ONCE = 1 << 21


def posterior_of(known: StepLikelihood, place: int, rows: Longs | None = None) -> dict[str, float]:
    """How sure the best guess of an original value is, given its released cell; nothing for a column of numbers.

    Args:
        known: The likelihood of the step.
        place: Position of the column in it.
        rows: In a large table, the rows of the prior where noise is directed by other columns.
    """
    column = known.prepared[place]
    if column.description.kind in KINDS_OF_NUMBERS:
        return {}
    kinds = _kinds(known, place)
    some = None if known.likelihood.partners[place] is None else rows
    believed = np.arange(known.codes[place].size) if some is None else some
    believed = believed[known.codes[place][believed] >= 0]
    amounts = known.amounts.original[believed] if some is None else np.ones(believed.size, dtype=np.int64)
    shown = count_records(known.released[place], known.n_released[place] + 1, known.amounts.masked)[:-1]
    if not believed.size or not shown.size:
        return {}
    blocks = _blocks(known, place, (believed, amounts), kinds)
    sums, total, best = np.zeros(shown.size), np.zeros(shown.size), np.zeros(shown.size)
    for found, weights, is_last in blocks():
        likelihood_kernels.sum_by_group(found, weights, is_last, sums, total, best)
    possible = total > 0.0
    if not possible.any():
        return {}
    sure = best[possible] / total[possible]
    prior = np.bincount(kinds[known.codes[place][believed]], amounts)
    prior = prior / prior.sum()
    out = {
        "mean_posterior": float(shown[possible] @ sure / shown[possible].sum()),
        "max_posterior": float(sure.max()),
        "largest_prior": float(prior.max()),
    }
    promised = _promise(known, place, prior, kinds)
    return out | promised | {"epsilon_measured": _odds(blocks, total)} if promised else out


def _kinds(known: StepLikelihood, place: int) -> Longs:
    """The number of each value's concept, or of its rank: spellings of one are not distinguished."""
    value_space = known.prepared[place].value_space
    if isinstance(value_space, NominalSpace):
        return np.unique(value_space.concepts, return_inverse=True)[1]
    numbers = value_space.numbers if isinstance(value_space, NumericSpace) else np.empty(0)
    return np.unique(numbers, return_inverse=True)[1]


def _blocks(known: StepLikelihood, place: int, believed: tuple[Longs, Longs], kinds: Longs) -> Blocks:
    """The likelihoods of the rows of the prior, by kind of value, with their shares and where a kind ends.

    Args:
        known: The likelihood of the step.
        place: Position of the column in it.
        believed: The rows of the prior, and how many rows each represents.
        kinds: For each value the number of its kind.
    """
    rows, amounts = believed
    codes = known.codes[place][rows]
    references = known.references(place, rows)
    _, number = distinct_rows([kinds[codes].astype(np.int32), codes, references, known.level_of_row[rows]])
    firsts = rows[np.unique(number, return_index=True)[1]]
    counts = count_records(number, firsts.size, amounts)
    shares = counts / counts.sum()
    is_last = np.diff(kinds[known.codes[place][firsts]], append=-1) != 0

    def blocks() -> Iterator[tuple[Floats, Floats, Bools]]:
        for part in slices(0, firsts.size, max(8, NUMBERS_AT_ONCE // max(known.n_released[place], 1))):
            yield known.probabilities(place, firsts[part]), shares[part], is_last[part]

    return blocks


def _odds(blocks: Blocks, total: Floats) -> float:
    """The largest increase of the odds of a value, as a logarithm."""
    sums, prior, found = np.zeros(total.size), np.zeros(1), 0.0
    for block in blocks():
        found = max(found, likelihood_kernels.largest_odds(*block, sums, total, prior))
    return float(found)


def _promise(known: StepLikelihood, place: int, prior: Floats, kinds: Longs) -> dict[str, float]:
    """Upper bound by the proved ε; nothing where none is proved."""
    value_space = known.prepared[place].value_space
    first_of = np.unique(kinds, return_index=True)[1].astype(np.int32)
    largest, largest_loss = 0.0, 0.0
    for part in slices(0, first_of.size, 512):
        loss = known.method.privacy_loss(value_space, first_of[part], first_of)
        if loss is None:
            return {}
        largest_loss = max(largest_loss, float(loss.max(initial=0.0)))
        largest = max(largest, float((prior[part] / (np.exp(-loss) @ prior)).max(initial=0.0)))
    return {"posterior_bound": min(1.0, largest), "epsilon": largest_loss}
