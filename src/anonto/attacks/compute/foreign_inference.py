"""Attribute inference in a foreign release: a column is read off the record that is nearest in all others.

The control is the same attack on persons who are not in the release; without them the share of the most frequent value
is what it must beat.

References: Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.attribute_inference import AttributeInference
from anonto.attacks.compute.foreign_search import CLOSE, names_without, secrets_of
from anonto.attacks.compute.gain import risk_of_success

if TYPE_CHECKING:
    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk


def foreign_inference(situation: ForeignSituation) -> list[Risk]:
    """Infer each column from all others."""
    release, others = situation.release, situation.of_strangers
    return [
        risk_of_success(
            situation.of_members.right[release.columns[secret].has_value("original")[situation.members], number],
            None
            if others is None
            else others.right[release.columns[secret].has_value("held_out")[situation.strangers], number],
            attack=AttributeInference.name,
            knowledge="the original values of one person in these columns"
            + ("" if others is None else "; the rate is what the release adds to the success on others"),
            columns=names_without(release.names, secret),
            baseline=_best_guess(release.columns[secret]),
            details={"inferred": release.columns[secret].name},
        )
        for number, secret in enumerate(secrets_of(release))
    ]


def _best_guess(column: Any) -> float:
    """The share of persons for whom one guess is right: the most frequent text, or the best number."""
    if not column.is_numeric:
        present = column.original[column.original >= 0]
        return float(np.bincount(present).max() / column.original.size) if present.size else 0.0
    numbers = np.sort(column.original[~np.isnan(column.original)])
    if not numbers.size:
        return 0.0
    within = np.searchsorted(numbers, numbers + 2 * CLOSE * column.extent, side="right") - np.arange(numbers.size)
    return float(within.max() / column.original.size)
