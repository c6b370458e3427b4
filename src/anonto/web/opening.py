"""Tables and ontologies as the tasks of a worker hold them: each is read once, with repaired codes mended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import WorkRefusedError
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS
from anonto.plan import Plan
from anonto.table.prepare import opener
from anonto.table.reading import read_table
from anonto.table.series import as_text_series
from anonto.table.writing import write_table

if TYPE_CHECKING:
    import polars as pl

    from anonto.methods.parameters import NamedParameter
    from anonto.table.description import ColumnDescription
    from anonto.table.table import Table
    from anonto.taxonomy.taxonomy import Taxonomy

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "excel": ".xlsx", "spss": ".sav", "stata": ".dta", "sas": ".xpt"}
"""In which format a table leaves, by the format in which it came."""

open_once = opener()
_tables: dict[str, Table] = {}
_renamed: dict[tuple[str, str], Taxonomy] = {}


def table_of(given: dict[str, Any]) -> Table:
    """The table that a task is about, with its repaired codes in place; the last one is kept."""
    asked = given["table"]
    plan = given.get("plan") or {}
    options = plan.get("table", {})
    path = Path(asked["path"])
    facts = path.stat() if path.exists() else None
    state = (facts.st_mtime_ns, facts.st_size) if facts else None
    key = json.dumps([asked["path"], state, options, asked.get("repairs", {})], sort_keys=True)
    if key not in _tables:
        _tables.clear()
        _tables[key] = _repaired(
            read_table(path, **options, names=plan.get("columns") or ()), asked.get("repairs") or {}
        )
    return _tables[key]


def _repaired(table: Table, repairs: dict[str, dict[str, str]]) -> Table:
    import polars as pl

    mended = [
        as_text_series(table.frame[name]).cast(pl.String).replace(mapping).alias(name)
        for name, mapping in repairs.items()
        if mapping and name in table.frame.columns
    ]
    return replace(table, frame=table.frame.with_columns(mended)) if mended else table


def path_of(given: dict[str, Any], folder: Path) -> Path:
    """A file with the table that a task is about: its own, or one with the repaired codes."""
    if not any((given["table"].get("repairs") or {}).values()):
        return Path(given["table"]["path"])
    table = table_of(given)
    path = folder / f"repaired{ENDINGS[table.origin.format]}"
    write_table(table, path, force=True)
    return path


def plan_in(given: dict[str, Any]) -> Plan:
    """The plan of a task, checked; what was left open is asked for as the page calls it."""
    for number, step in enumerate(given["plan"]["steps"], start=1):
        if not step["columns"]:
            raise WorkRefusedError(f"Step {number} has no column; tick one on the page “Method”, or remove the step.")
        if lacking := _lacking(step):
            named = " or ".join(f"“{one.takes.label}”" for one in lacking)
            raise WorkRefusedError(f"Step {number} ({step['method']}) needs {named}; fill it in on the page “Method”.")
    return Plan.from_dict(given["plan"])


def _lacking(step: dict[str, Any]) -> list[NamedParameter]:
    """The first parameter that a method cannot do without and a step does not give, or those of which it needs one."""
    method = METHODS.get(step["method"])
    if method is None:
        return []
    known = parameters_known(method)
    either = [one for one in known if one.name in method.one_of]
    if either and all(step.get(one.name) is None for one in either):
        return sorted(either, key=lambda one: one.takes.start is None)
    return [one for one in known if one.is_needed and step.get(one.name) is None][:1]


def opened_plan(given: dict[str, Any]) -> Plan:
    """The plan of a task with its ontologies opened, so that no run opens them again."""
    plan = plan_in(given)
    names = given.get("names", {})
    columns = {name: replace(one, ontology=_opened(one, names)) for name, one in plan.columns.items()}
    return replace(plan, columns=columns)


def _opened(description: ColumnDescription, names: dict[str, str]) -> Any:
    is_used = description.role != "identifier" and description.kind == "nominal"
    if not is_used or not description.ontologies:
        return description.ontology
    found = tuple(_called(one, names) for one in description.ontologies)
    return found if isinstance(description.ontology, tuple) else found[0]


def _called(reference: str | Taxonomy, names: dict[str, str]) -> Taxonomy:
    """An ontology by the name that the user knows, which reports show."""
    taxonomy = open_once(reference)
    name = names.get(reference) if isinstance(reference, str) else None
    if name is None or name == taxonomy.name:
        return taxonomy
    key = (str(reference), name)
    if key not in _renamed:
        _renamed[key] = replace(taxonomy, provenance=replace(taxonomy.provenance, source=name))
    return _renamed[key]


def texts_of(given: dict[str, Any], name: str, na: tuple[str, ...] = ()) -> pl.Series:
    """The cells of a column as texts, those that mean missing as missing."""
    import polars as pl

    cells = as_text_series(table_of(given).column(name)).cast(pl.String)
    return cells.set(cells.is_in(["", *na]).fill_null(value=False), None)


def taxonomy_of(reference: str) -> Taxonomy:
    """An ontology by its path or its listed name."""
    return open_once(reference)
