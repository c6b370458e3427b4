"""The plan that was chosen, as the text of a file that stands on its own wherever it is put."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.masking.plan import Plan
from anonto.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.encoding.description import ColumnDescription
    from anonto.taxonomy.taxonomy import Taxonomy


def plan_text(plan: Plan, folder: Path, reasons: Sequence[str]) -> str:
    """A plan for a folder, the reasons as comments at its top; files of ontologies are named as seen from there."""
    columns = {name: _relative_to(folder, one, plan.folder) for name, one in plan.columns.items()}
    heading = "\n".join(["Chosen by `anonto sweep`.", *map(one_line, reasons)])
    return Plan(columns, plan.steps, plan.table).to_toml({"": f"{heading}\n\n"})


def _relative_to(folder: Path, description: ColumnDescription, start: Path | None) -> ColumnDescription:
    if not description.ontologies:
        return description
    moved = tuple(_reference(one, folder, start) for one in description.ontologies)
    return replace(description, ontology=moved if isinstance(description.ontology, tuple) else moved[0])


def _reference(ontology: str | Taxonomy, folder: Path, start: Path | None) -> str | Taxonomy:
    if not isinstance(ontology, str):
        return ontology
    file = Path(ontology) if start is None else start / ontology
    if not file.exists():
        return ontology
    real, here = Path(os.path.realpath(file)), Path(os.path.realpath(folder))
    return real.relative_to(here).as_posix() if real.is_relative_to(here) else str(real)
