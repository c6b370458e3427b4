"""What a worker process can do, by name: each takes plain data and a way to report progress, and gives plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.web import comparing, looking, running

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Task = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]

TASKS: Mapping[str, Task] = {
    "open": looking.open_file,
    "demo": looking.make_demo,
    "propose": looking.propose_plan,
    "ontologies": looking.listed_ontologies,
    "card": looking.ontology_card,
    "coverage": looking.coverage,
    "match": looking.match_column,
    "concept": looking.typed_concept,
    "tree": looking.tree,
    "search": looking.search,
    "methods": looking.methods,
    "check": looking.check,
    "values": looking.values,
    "risk": running.risk_before,
    "estimate": running.estimate,
    "run": running.run,
    "sweep": running.sweep,
    "front": running.front,
    "export": running.export,
    "plan_text": running.plan_text,
    "compare": comparing.compare_column,
    "compare_pair": comparing.compare_pair,
}
MASKING = ("risk", "estimate", "run", "sweep")
"""Tasks that follow the whole plan, which the pages have made; what it lacks is said with where it is set."""
