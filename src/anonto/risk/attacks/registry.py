"""The attacks by name: our own in the order in which they are tried, and those that other packages bring.

Another package brings an attack by an entry point of the group ``anonto.attacks`` that names a class like ours.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

from anonto.errors import ParameterError
from anonto.risk.attacks.attribute_inference import AttributeInference
from anonto.risk.attacks.composition import Composition
from anonto.risk.attacks.distance_linkage import DistanceLinkage
from anonto.risk.attacks.global_linkage import GlobalLinkage
from anonto.risk.attacks.interval_disclosure import IntervalDisclosure
from anonto.risk.attacks.likelihood_linkage import LikelihoodLinkage
from anonto.risk.attacks.method_aware_linkage import MethodAwareLinkage
from anonto.risk.attacks.partial_knowledge import PartialKnowledge
from anonto.risk.attacks.permutation_distance import PermutationDistance
from anonto.risk.attacks.real_k import RealK
from anonto.risk.attacks.row_order import RowOrder
from anonto.risk.attacks.uniqueness import Uniqueness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.risk.attacks.attack import Attack

GROUP = "anonto.attacks"
OWN: tuple[Attack, ...] = (
    DistanceLinkage(),
    GlobalLinkage(),
    PermutationDistance(),
    RealK(),
    Uniqueness(),
    MethodAwareLinkage(),
    LikelihoodLinkage(),
    AttributeInference(),
    PartialKnowledge(),
    IntervalDisclosure(),
    Composition(),
    RowOrder(),
)


@cache
def attacks() -> Mapping[str, Attack]:
    """The attacks that `assess` tries, by name, in their order; those of installed packages come last."""
    found = {one.name: one for one in OWN}
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        attack = point.load()()
        if attack.name in found:
            raise ParameterError(f"name of the attack of {point.value}", "one that no other attack has", attack.name)
        found[attack.name] = attack
    return MappingProxyType(found)


def is_linkage(name: str) -> bool:
    """Whether an attack takes released records for those of persons."""
    found = attacks().get(name)
    return found is not None and found.is_linkage
