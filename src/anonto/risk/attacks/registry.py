"""The attacks by name: our own in the order in which they are tried, and those that other packages bring.

Another package brings an attack by an entry point of the group ``anonto.attacks`` that names a class like ours.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.plugins import load_plugins
from anonto.risk.attacks.attack import Attack
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
    others = load_plugins(GROUP, "attack", _fault)
    return MappingProxyType({one.name: one for one in (*OWN, *(attack() for attack in others.values()))})


def _fault(_: str, attack: Any, found: Mapping[str, Any]) -> str | None:
    """Why a class cannot be an attack; None if it can."""
    if not (isinstance(attack, type) and issubclass(attack, Attack)):
        return "it is not a class that derives from Attack"
    own = attack().name
    if own in {one.name for one in OWN} or any(one().name == own for one in found.values()):
        return f"there is an attack named {own!r} already"
    return None


def is_linkage(name: str) -> bool:
    """Whether an attack takes released records for those of persons."""
    found = attacks().get(name)
    return found is not None and found.is_linkage


def is_of_two_releases(name: str) -> bool:
    """Whether an attack looks at two releases."""
    found = attacks().get(name)
    return found is not None and found.of_two_releases
