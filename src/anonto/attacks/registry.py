"""The attacks by name: our own in the order in which they are tried, and those that other packages bring.

Another package brings an attack by an entry point of the group ``anonto.attacks`` that names a class like ours.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.attacks.association_linkage import AssociationLinkage
from anonto.attacks.attack import Attack
from anonto.attacks.attribute_inference import AttributeInference
from anonto.attacks.composition import Composition
from anonto.attacks.copied_record import CopiedRecord
from anonto.attacks.distance_linkage import DistanceLinkage
from anonto.attacks.global_linkage import GlobalLinkage
from anonto.attacks.interval_disclosure import IntervalDisclosure
from anonto.attacks.known_codes import KnownCodes
from anonto.attacks.likelihood_linkage import LikelihoodLinkage
from anonto.attacks.linkability import Linkability
from anonto.attacks.membership import Membership
from anonto.attacks.method_aware_linkage import MethodAwareLinkage
from anonto.attacks.partial_knowledge import PartialKnowledge
from anonto.attacks.permutation_distance import PermutationDistance
from anonto.attacks.real_k import RealK
from anonto.attacks.refinement import Refinement
from anonto.attacks.row_count import RowCount
from anonto.attacks.row_order import KeptRowOrder
from anonto.attacks.same_person import SamePerson
from anonto.attacks.simulation_linkage import SimulationLinkage
from anonto.attacks.singling_out import SinglingOut
from anonto.attacks.uniqueness import Uniqueness
from anonto.runtime.plugins import load_plugins

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
    SimulationLinkage(),
    Refinement(),
    AssociationLinkage(),
    AttributeInference(),
    Membership(),
    PartialKnowledge(),
    KnownCodes(),
    RowCount(),
    SamePerson(),
    IntervalDisclosure(),
    Composition(),
    KeptRowOrder(),
    SinglingOut(),
    Linkability(),
    CopiedRecord(),
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
    """Return whether an attack takes released records for those of persons."""
    found = attacks().get(name)
    return found is not None and found.is_linkage


def is_of_two_releases(name: str) -> bool:
    """Return whether an attack looks at two releases."""
    found = attacks().get(name)
    return found is not None and found.of_two_releases


def is_of_unknown_columns(name: str) -> bool:
    """Return whether an attack reads columns that the intruder does not know of a person."""
    found = attacks().get(name)
    return found is not None and found.of_unknown_columns


def measured_by(name: str) -> str:
    """The subject of an attack's rate, as `Attack.measures` says; persons where the attack is not installed."""
    found = attacks().get(name)
    return "persons" if found is None else found.measures
