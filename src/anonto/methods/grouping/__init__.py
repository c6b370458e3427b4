"""Grouping of records that are close to each other, for methods that mask inside groups."""

from anonto.methods.grouping.mdav import RecordGroups, mdav
from anonto.methods.grouping.refine import Refined, refine_groups
from anonto.search.space import GroupingSpace, NominalPart, NumberPart, joint_space, space_of

__all__ = [
    "GroupingSpace",
    "NominalPart",
    "NumberPart",
    "RecordGroups",
    "Refined",
    "joint_space",
    "mdav",
    "refine_groups",
    "space_of",
]
