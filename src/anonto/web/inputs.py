"""Tables and ontologies of a worker's tasks: each is read once, and repaired codes are replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.prepare import opener
from anonto.encoding.series import as_text_series
from anonto.errors import PlanError
from anonto.io.reading import read_table
from anonto.io.writing import write_table
from anonto.masking.plan import Plan
from anonto.masking.plan_sections import reading_options
from anonto.masking.units import Units
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from anonto.encoding.description import ColumnDescription
    from anonto.io.table import Table
    from anonto.methods.parameters import NamedParameter
    from anonto.taxonomy.taxonomy import Taxonomy

    Report = Callable[[dict[str, Any]], None]
    """Called by a task with its progress."""

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "excel": ".xlsx", "spss": ".sav", "stata": ".dta", "sas": ".xpt"}
"""Output format of a table, by its input format."""

open_once = opener()
_tables: dict[str, Table] = {}
_renamed: dict[tuple[str, str], Taxonomy] = {}


def table_of(given: dict[str, Any]) -> Table:
    """The table of a task, with repaired codes replaced; the last one is cached."""
    asked = given["table"]
    plan = given.get("plan") or {}
    columns = plan.get("columns", {})
    options = reading_options(plan.get("table", {}))
    separators = {name: one["separator"] for name, one in columns.items() if one.get("separator")}
    path = Path(asked["path"])
    facts = path.stat() if path.exists() else None
    state = (facts.st_mtime_ns, facts.st_size) if facts else None
    repairs = asked.get("repairs") or {}
    key = json.dumps([asked["path"], state, options, repairs, separators if repairs else {}], sort_keys=True)
    if key not in _tables:
        _tables.clear()
        names = [*columns, *(source for one in columns.values() for source in one.get("from", ()))]
        _tables[key] = _repair(read_table(path, **options, names=names), repairs, separators)
    return _tables[key]


def _repair(table: Table, repairs: dict[str, dict[str, str]], separators: dict[str, str]) -> Table:
    repaired = [
        _repaired(table.frame[name], mapping, separators.get(name)).alias(name)
        for name, mapping in repairs.items()
        if mapping and name in table.frame.columns
    ]
    return replace(table, frame=table.frame.with_columns(repaired)) if repaired else table


def _repaired(cells: pl.Series, mapping: dict[str, str], separator: str | None) -> pl.Series:
    """Cells with codes replaced; of sets, in their elements."""
    import polars as pl

    if isinstance(cells.dtype, pl.List):
        return cells.list.eval(pl.element().cast(pl.String).replace(mapping))
    texts = as_text_series(cells).cast(pl.String)
    if separator is None:
        return texts.replace(mapping)
    return texts.str.split(separator).list.eval(pl.element().str.strip_chars().replace(mapping)).list.join(separator)


def path_of(given: dict[str, Any], folder: Path, stem: str = "repaired") -> Path:
    """A file with the table of a task: the original file, or one with the repaired codes in a folder."""
    if not any((given["table"].get("repairs") or {}).values()):
        return Path(given["table"]["path"])
    table = table_of(given)
    path = folder / f"{stem}{ENDINGS[table.origin.format]}"
    write_table(table, path, force=True)
    return path


def plan_in(given: dict[str, Any]) -> Plan:
    """The validated plan of a task; missing parameters are reported by their names on the page."""
    for number, step in enumerate(given["plan"]["steps"], start=1):
        if not step["columns"]:
            raise step_without_columns(number)
        if lacking := _missing_parameters(step):
            raise step_without_parameter(number, step["method"], [one.takes.label for one in lacking])
    return Plan.from_dict(given["plan"])


def _missing_parameters(step: dict[str, Any]) -> list[NamedParameter]:
    """The first required parameter that a step lacks, or the alternatives of which it needs one."""
    method = METHODS.get(step["method"])
    if method is None:
        return []
    known = parameters_known(method)
    either = [one for one in known if one.name in method.one_of]
    if either and all(step.get(one.name) is None for one in either):
        return sorted(either, key=lambda one: one.takes.start is None)
    return [one for one in known if one.is_needed and step.get(one.name) is None][:1]


def open_plan(given: dict[str, Any]) -> Plan:
    """The plan of a task with its ontologies opened, so that each is opened once."""
    plan = plan_in(given)
    names = given.get("names", {})
    columns = {name: replace(one, ontology=_open_ontologies(one, names)) for name, one in plan.columns.items()}
    return replace(plan, columns=columns)


def _open_ontologies(description: ColumnDescription, names: dict[str, str]) -> Any:
    if description.is_dropped or not description.has_concepts:
        return description.ontology
    found = tuple(_open_as(one, names) for one in description.ontologies)
    return found if isinstance(description.ontology, tuple) else found[0]


def _open_as(reference: str | Taxonomy, names: dict[str, str]) -> Taxonomy:
    """An ontology under the user's name for it, which reports show."""
    taxonomy = open_once(reference)
    name = names.get(reference) if isinstance(reference, str) else None
    if name is None or name == taxonomy.name:
        return taxonomy
    key = (str(reference), name)
    if key not in _renamed:
        _renamed[key] = replace(taxonomy, provenance=replace(taxonomy.provenance, source=name))
    return _renamed[key]


def texts_of(given: dict[str, Any], name: str, description: ColumnDescription) -> pl.Series:
    """The cells of a column as texts, or the elements of a set; cells that mean missing are null."""
    import polars as pl

    if description.kind == "set":
        return elements_of(table_of(given).frame, name, description).explode().drop_nulls()
    na = description.na
    cells = as_text_series(table_of(given).column(name)).cast(pl.String)
    return cells.set(cells.is_in(["", *na]).fill_null(value=False), None)


def elements_of(frame: pl.DataFrame, name: str, description: ColumnDescription) -> pl.Series:
    """The elements of a set in each row of a table."""
    return Units(FrameAdapter(frame), Plan({name: description})).elements_of(name)


def taxonomy_of(reference: str) -> Taxonomy:
    """An ontology by its path or its listed name."""
    return open_once(reference)


def step_without_columns(number: int) -> PlanError:
    """A step that masks no column."""
    return PlanError(f"Step {number} has no column; tick one on the page “Method”, or remove the step.")


def step_without_parameter(number: int, method: str, labels: Sequence[str]) -> PlanError:
    """A step without a required parameter, given by its label or the labels of its alternatives."""
    named = " or ".join(f"“{clip(label)}”" for label in labels)
    return PlanError(f"Step {number} ({clip(method)}) needs {named}; fill it in on the page “Method”.")
