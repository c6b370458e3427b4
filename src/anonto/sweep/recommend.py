"""The first plan under a risk that somebody names: a quick sweep of every method, and the plan that keeps most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import InputError
from anonto.sweep.grid import nothing_to_mask
from anonto.sweep.search import sweep

if TYPE_CHECKING:
    from anonto.masking.plan import Plan
    from anonto.sweep.choice import Choice
    from anonto.sweep.whole import Progress

SAMPLE = 2_000
SEEDS = 2
"""A first plan is wanted in about a minute; `anonto sweep` takes a larger sample and more seeds."""


def recommend(
    table: Any, plan: Plan, max_risk: float, *, workers: int | None = None, progress: Progress | None = None
) -> Choice:
    """The plan to begin with: of all methods the one that keeps most under a risk, and the second best.

    Args:
        table: A pandas, polars or pyarrow table, or the path of a file.
        plan: What the columns are; its steps are tried too.
        max_risk: The largest risk that is allowed, from 0 to 1.
        workers: Processes to share the work; by default one for each processor.
        progress: Called with how many runs are finished and how many there are.

    Raises:
        PlanError: The plan has no column to mask.
        InputError: The table has no records.
    """
    if not plan.steps:
        raise nothing_to_mask()
    swept = sweep(table, plan, seeds=SEEDS, sample=SAMPLE, max_risk=max_risk, workers=workers, progress=progress)
    if not swept.n_records:
        raise no_records_to_try()
    return swept.best()


def no_records_to_try() -> InputError:
    """A table without records, where plans would be tried."""
    return InputError(
        "The table has no records, so no plan can be tried; give one with records, or propose a plan without a limit "
        "to the risk."
    )
