"""``anonto match``: how much of a column an ontology knows."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.ontology import FormatOption, JsonOption
from anonto.cli.show import show_facts, show_json, show_table

if TYPE_CHECKING:
    from anonto.table.match import Matches

VALUES_SHOWN = 20


def match(
    table: Annotated[str, typer.Argument(help="A CSV (also .gz) or Parquet file.")],
    *,
    column: Annotated[str, typer.Option("--column", "-c", help="The column to match.")],
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="A file, an RF2 folder, or a listed name.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            "-p",
            help="Instead of an ontology: a plan that says what the column is; numbers that cannot be read and values "
            "that its order does not list are told, too.",
        ),
    ] = None,
    format_name: FormatOption = None,
    na: Annotated[
        list[str] | None,
        typer.Option("--na", help="A text that means missing, such as '?'; may be repeated."),
    ] = None,
    fuzzy: Annotated[
        bool, typer.Option("--fuzzy", help="Place by likeness to a label what nothing else fits.")
    ] = False,
    values: Annotated[
        bool,
        typer.Option("--values", help="Also print values that did not match; they are data about people."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Write value, concept and rule of every distinct value as CSV, with suggestions for the 1,000 most "
            "frequent that did not match.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Match the values of a column to the concepts of an ontology, or to what a plan says of the column.

    Example: `anonto match discharges.csv --column diag_1 --ontology icd9cm.csv --na '?'`
    """
    from anonto.errors import AllMissingError, ParameterError, PlanError, is_unicode
    from anonto.ontology.catalogue import open_ontology
    from anonto.table.beside import require_free
    from anonto.table.files import read_text_column
    from anonto.table.match import match as match_values

    if plan is not None:
        if ontology or format_name or na or fuzzy or output:
            raise PlanError("A plan says itself what its columns are", "give --plan with --values and --json alone")
        _match_plan(table, column, plan, values=values, as_json=as_json)
        return
    if ontology is None:
        raise ParameterError("--ontology", "given, or --plan instead of it", None)
    if not all(map(is_unicode, na or ())):
        raise ParameterError("--na", "a text in UTF-8", "bytes that are not text")
    require_free([Path(table)], [] if output is None else [output], force=force)
    texts = read_text_column(table, column, tuple(na or ()))
    matches = match_values(texts, open_ontology(ontology, format=format_name), fuzzy=fuzzy)
    if not matches.column.values:
        raise AllMissingError(len(matches.column), column)
    if output is not None:
        _write(matches, output, force=force)
    if as_json:
        show_json({"column": column, **matches.summary(), **(_listing(matches) if values else {})})
        return
    _show(matches, column)
    if values:
        _show_values(matches)
    elif matches.unmatched and output is None:
        typer.echo("See them with --values, or write all to a file with --output.")


def _match_plan(table: str, column: str, plan: Path, *, values: bool, as_json: bool) -> None:
    """Tell what of a column does not fit the plan."""
    from anonto.errors import counted
    from anonto.plan import plan_of
    from anonto.table.misfits import misfits
    from anonto.table.prepare import opener
    from anonto.table.reading import read_table

    chosen = plan_of(plan)
    description = chosen.description(column)
    cells = read_table(table, **chosen.reading).column(column)
    encoded, found = misfits(column, cells, description, opener(chosen.folder))
    n_cells, n_missing = len(encoded) - encoded.n_missing, encoded.n_missing
    unfit = {"distinct": len(found), "cells": sum(one.cells for one in found)}
    if as_json:
        listing = {"values": [asdict(one) for one in found]} if values else {}
        counts = {"cells": n_cells, "missing": n_missing, "distinct": len(encoded.values)}
        show_json({"column": column, "kind": description.kind, **counts, "unfit": unfit, **listing})
        return
    show_facts(
        f"Column {column!r}, {description.kind} by the plan",
        [
            ("cells", f"{n_cells:,} with a value, {n_missing:,} missing"),
            ("distinct values", f"{len(encoded.values):,}"),
            ("do not fit", f"{counted(unfit['distinct'], 'distinct value')}, {counted(unfit['cells'], 'cell')}"),
        ],
    )
    if found and not values:
        typer.echo("See them, and the rows they stand in, with --values.")
    elif found:
        shown = [[one.value, f"{one.cells:,}", f"{one.row:,}"] for one in found[:VALUES_SHOWN]]
        show_table(["does not fit", "cells", "first row below the header"], shown)
        if len(found) > VALUES_SHOWN:
            typer.echo(f"… and {len(found) - VALUES_SHOWN:,} more; see all with --json.")


def _show(matches: Matches, column: str) -> None:
    summary = matches.summary()
    unmatched, coverage = summary["unmatched"], summary["coverage"]
    show_facts(
        f"Column {column!r} in {summary['taxonomy']!r}",
        [
            ("cells", f"{summary['cells']:,} with a value, {summary['missing']:,} missing"),
            ("distinct values", f"{summary['distinct']:,}"),
            (
                "coverage",
                f"{coverage['cells']:.2%} of cells, {coverage['distinct']:.2%} of distinct values",
            ),
            *(
                (f"by {rule}", f"{found['distinct']:,} distinct values, {found['cells']:,} cells")
                for rule, found in summary["rules"].items()
            ),
            ("not matched", f"{unmatched['distinct']:,} distinct values, {unmatched['cells']:,} cells"),
        ],
    )


def _show_values(matches: Matches) -> None:
    rows = [
        [value, f"{cells:,}", "; ".join(f"{s.concept} {s.label}" for s in matches.suggestions.get(value, ()))]
        for value, cells in list(matches.unmatched.items())[:VALUES_SHOWN]
    ]
    if rows:
        show_table(["not matched", "cells", "perhaps"], rows)
    if len(matches.unmatched) > VALUES_SHOWN:
        typer.echo(f"… and {len(matches.unmatched) - VALUES_SHOWN:,} more; write all to a file with --output.")
    if matches.padded:
        shown = list(matches.padded.items())[:VALUES_SHOWN]
        show_table(["zeros restored", "concept"], [[value, concept] for value, concept in shown])


def _listing(matches: Matches) -> dict[str, Any]:
    return {
        "not_matched": [
            {
                "value": value,
                "cells": cells,
                "suggestions": [
                    {"concept": s.concept, "label": s.label, "likeness": s.likeness}
                    for s in matches.suggestions.get(value, ())
                ],
            }
            for value, cells in matches.unmatched.items()
        ],
        "leading_zeros": dict(matches.padded),
    }


def _write(matches: Matches, output: Path, *, force: bool) -> None:
    """Write the mapping, readable by the owner alone: the values are data about people."""
    from anonto.table.beside import written_beside

    counts = dict(zip(matches.column.values, matches.column.counts.tolist(), strict=True))
    with (
        written_beside(output, force=force, mode=0o600) as beside,
        beside.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["value", "cells", "concept", "rule", "suggestions"])
        for value, placement in zip(matches.column.values, matches.placements, strict=True):
            suggestions = "|".join(s.concept for s in matches.suggestions.get(value, ()))
            placed = [placement.concept, placement.rule] if placement else ["", ""]
            writer.writerow([value, counts[value], *placed, suggestions])
