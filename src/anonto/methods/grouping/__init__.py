"""Grouping of records that are close to each other, for methods that mask inside groups."""

from anonto.methods.grouping.mdav import Groups, mdav
from anonto.methods.grouping.refine import Refined, refined
from anonto.methods.grouping.space import NominalPart, NumberPart, Space, joint_space, space_of

__all__ = ["Groups", "NominalPart", "NumberPart", "Refined", "Space", "joint_space", "mdav", "refined", "space_of"]
