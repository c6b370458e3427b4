"""Tasks of a worker process by name: each takes plain data and a progress callback, and returns plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.web import compare, preview, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Task = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]

TASKS: Mapping[str, Task] = {
    "open": preview.open_file,
    "demo": preview.make_demo,
    "propose": preview.propose_plan,
    "ontologies": preview.list_ontologies,
    "card": preview.ontology_card,
    "coverage": preview.coverage,
    "match": preview.match_column,
    "concept": preview.find_concept,
    "tree": preview.tree,
    "search": preview.search,
    "methods": preview.methods,
    "persons": preview.persons,
    "check": preview.check,
    "values": preview.values,
    "risk": run.risk_before,
    "estimate": run.estimate,
    "run": run.run,
    "sweep": run.sweep,
    "best plan": run.best_plan,
    "foreign": run.assess_foreign,
    "front": run.front,
    "export": run.export,
    "evidence": run.evidence,
    "plan_text": run.plan_text,
    "compare": compare.compare_column,
    "compare_pair": compare.compare_pair,
}
MASKING = ("risk", "estimate", "run", "sweep", "best plan")
"""Tasks that run the whole plan; their errors say where in the app to change it."""
