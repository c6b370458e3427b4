"""``anonto widths``: the valid widths of equi-width swapping, and the disclosure if the width is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.options import JsonOption, TableArgument
from anonto.cli.show import show_facts, show_json, show_status, show_table
from anonto.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.encoding.records import Records
    from anonto.io.table import Table
    from anonto.masking.plan import Plan

SHOWN = 20


def widths(
    table: TableArgument,
    *,
    plan: Annotated[
        Path, typer.Option("--plan", "-p", help="Plan with steps that have a bin width, or with numeric columns.")
    ],
    degree: Annotated[
        int | None, typer.Option("--degree", help="Also find the width that gives about this many bins.")
    ] = None,
    merge_singletons: Annotated[
        bool, typer.Option("--merge-singletons", help="Count a bin with one record as part of the nearest bin.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the valid widths of the numeric columns of a step, and what each one discloses.

    Without a step that has a width, the numeric quasi-identifiers are examined together.

    Example: `anonto widths discharges.csv --plan plan.toml`
    """
    from anonto.engine.refusals import not_with_recoding
    from anonto.errors import TooFewRecordsError
    from anonto.io.reading import read_table
    from anonto.masking.plan import plan_of
    from anonto.masking.units import not_for_units
    from anonto.methods.widths import partition_of, valid_widths, width_for_degree

    found = []
    with show_status("Trying widths"):
        chosen = plan_of(plan)
        if chosen.has_units:
            raise not_for_units("`anonto widths`")
        if chosen.recoded:
            raise not_with_recoding("`anonto widths`", chosen.recoded)
        read = read_table(table, **chosen.reading)
        for step, columns, given in _steps_with_width(chosen):
            records = _records(read, chosen, columns)
            one: dict[str, Any] = {"step": step, "n_records": records.n_rows}
            if given:
                one["given"] = {**given, **partition_of(records, **given)}
            if degree is not None:
                one["wanted_degree"] = degree
                one["closest"] = width_for_degree(records, degree, **given).to_dict()
            try:
                one |= valid_widths(records, **given, merge_singletons=merge_singletons).to_dict()
            except TooFewRecordsError:
                _show_what_is_known(one, columns)
                raise
            found.append(one)
    if as_json:
        show_json({"steps": found})
        return
    for one in found:
        _show(one)


def _steps_with_width(plan: Plan) -> Iterator[tuple[int | None, tuple[str, ...], dict[str, Any]]]:
    """Steps with a width: their number, columns and width; without any, the numeric quasi-identifiers."""
    from anonto.methods.registry import METHODS

    with_width = [
        (number, step.columns, given)
        for number, step in enumerate(plan.steps, start=1)
        if (given := step.method.widths)
    ]
    if with_width:
        yield from with_width
        return
    numeric = [name for name, one in plan.columns.items() if one.kind == "numeric" and one.role == "quasi-identifier"]
    if not numeric:
        with_widths = next(name for name, method in METHODS.items() if method.widths_by)
        raise no_widths(with_widths)
    yield None, tuple(numeric), {}


def _records(table: Table, plan: Plan, names: tuple[str, ...]) -> Records:
    """The distinct records of some columns, without those dropped by a policy."""
    import numpy as np

    from anonto.encoding.prepare import encode_described, opener, prepare, rows_that_stay
    from anonto.encoding.records import distinct_records

    open_once = opener(plan.folder)
    looked_at = dict.fromkeys([*names, *plan.policy_columns(plan.columns)])
    columns = {name: encode_described(name, table.column(name), plan.description(name)) for name in looked_at}
    stays = rows_that_stay(columns, plan.description, open_once)
    rows = np.arange(len(columns[names[0]]))
    if stays is not None:
        columns, rows = {name: columns[name].keep_records(stays) for name in names}, np.flatnonzero(stays)
    prepared = [prepare(name, columns[name], plan.description(name), open_once, rows) for name in names]
    return distinct_records(names, [one.value_space for one in prepared], [one.column.codes for one in prepared])[0]


# ------------------------------------------------------------------------------------------------ on the terminal


def _show(found: dict[str, Any]) -> None:
    which = "The numeric quasi-identifiers" if found["step"] is None else f"Step {found['step']}"
    names = found["columns"]
    facts = [
        ("records", f"{found['n_records']:,}"),
        *([("other columns", f"{', '.join(found['others'])}: cut as the plan says")] if found["others"] else []),
        ("widest", _widths(names, found["upper_bounds"])),
        ("narrowest", _widths(names, found["lower_bounds"])),
        ("partitionings", f"{found['q']:,} that differ in their smallest bin"),
    ]
    if found["refused"]:
        refused = found["refused"]
        alone = f"{refused['singletons']:,} of {refused['degree']:,} bins have one record"
        facts.append(("first refused", f"{refused['bins']:,} bins a column: {alone}"))
    facts += _facts_of_plan(found, names)
    facts += [
        ("width a secret", f"{found['disclosure_if_unknown']:.4f} disclosed on average, as the paper counts it"),
        ("Lemma 2, Lemma 1", f"{found['lemma_2']:.4f} with bins of equal width, {found['lemma_1']:.4f} of equal depth"),
    ]
    show_facts(f"{which}: {', '.join(names)}", facts)
    partitionings = found["partitionings"]
    show_table(
        [
            "bins a column",
            *(f"width of {name}" for name in names),
            "bins with records",
            "smallest",
            "disclosed if known",
        ],
        [
            [
                f"{one['bins']:,}",
                *(f"{width:.4g}" for width in one["widths"]),
                f"{one['degree']:,}",
                f"{one['smallest_bin']:,}",
                f"{one['disclosure']:.4f}",
            ]
            for one in partitionings[:SHOWN]
        ],
    )
    if len(partitionings) > SHOWN:
        typer.echo(f"… and {len(partitionings) - SHOWN:,} narrower ones; see all with --json.")


def _facts_of_plan(found: dict[str, Any], names: list[str]) -> list[tuple[str, str]]:
    facts = []
    if "given" in found:
        facts.append(("of the plan", _of_plan(found["given"])))
    if "closest" in found:
        closest = found["closest"]
        made = f"{closest['degree']:,} bins for the {found['wanted_degree']:,} wanted"
        facts.append(
            ("for the degree", f"{closest['bins']:,} bins a column ({_widths(names, closest['widths'])}): {made}")
        )
    return facts


def _show_what_is_known(found: dict[str, Any], columns: tuple[str, ...]) -> None:
    """Show the disclosure of the plan's own width, even if no width is valid."""
    facts = _facts_of_plan(found, list(columns))
    if facts:
        which = "The numeric quasi-identifiers" if found["step"] is None else f"Step {found['step']}"
        show_facts(f"{which}: {', '.join(columns)}", [("records", f"{found['n_records']:,}"), *facts])


def _widths(names: list[str], sizes: list[float]) -> str:
    return ", ".join(f"{name} {size:.4g}" for name, size in zip(names, sizes, strict=True))


def _of_plan(given: dict[str, Any]) -> str:
    alone = f"{given['singletons']:,} with one record, the smallest with {given['smallest_bin']:,}"
    return f"{given['degree']:,} bins, {alone}; {given['disclosure']:.4f} disclosed if the width is known"


def no_widths(method: str) -> PlanError:
    """A plan without a step that has a width."""
    return PlanError(
        f"The plan has no step with a width and no numeric quasi-identifier; add a step with method = {method!r}, or "
        "declare a column numeric."
    )
