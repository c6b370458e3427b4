"""Many plans on one table: the risk-utility map, its Pareto front, and the plan that keeps most under a risk."""

from anonto.sweeping.choice import Choice
from anonto.sweeping.points import Point, Sweep, pareto_front
from anonto.sweeping.search import sweep

__all__ = ["Choice", "Point", "Sweep", "pareto_front", "sweep"]
