"""Many plans on one table: the risk-utility map, its Pareto front, and the plan that keeps most under a risk.

The package can be called: ``anonto.sweep(table, plan, grid)`` is `anonto.sweep.search.sweep`.
"""

from anonto.runtime.callable_package import make_callable
from anonto.sweep.choice import Choice
from anonto.sweep.points import Point, Sweep, pareto_front
from anonto.sweep.search import sweep

__all__ = ["Choice", "Point", "Sweep", "pareto_front", "sweep"]

make_callable(__name__, sweep)
