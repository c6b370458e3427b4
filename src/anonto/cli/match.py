"""``anonto match``: match a column with an ontology."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.options import ForceOption, FormatOption, JsonOption
from anonto.cli.show import show_facts, show_json, show_table

if TYPE_CHECKING:
    from anonto.encoding.match import Matches

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
            help="Instead of an ontology: a plan that describes the column; unreadable numbers and values "
            "missing from its order are reported, too.",
        ),
    ] = None,
    format_name: FormatOption = None,
    na: Annotated[
        list[str] | None, typer.Option("--na", help="A text that means missing, such as '?'; may be repeated.")
    ] = None,
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="Match remaining values by similarity to a label.")] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Also print unmatched values; they are data about people.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Write value, concept and rule of every distinct value as CSV, with suggestions for the 1,000 most "
            "frequent unmatched ones.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Match the values of a column to the concepts of an ontology, or with its description in a plan.

    Example: `anonto match discharges.csv --column diag_1 --ontology icd9cm.csv --na '?'`
    """
    from anonto.encoding.match import match as match_values
    from anonto.encoding.match import read_text_column
    from anonto.encoding.refusals import all_missing
    from anonto.errors import ParameterError, PlanError
    from anonto.io.atomic_write import require_free
    from anonto.ontology.catalogue import open_ontology
    from anonto.wording import is_unicode

    if plan is not None:
        if ontology or format_name or na or fuzzy or output:
            raise PlanError("The plan describes its columns; give --plan with --values and --json only.")
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
        raise all_missing(len(matches.column), column)
    if output is not None:
        _write(matches, output, force=force)
    if as_json:
        show_json({"column": column, **matches.summary(), **(_unmatched_as_data(matches) if values else {})})
        return
    _show(matches, column)
    if values:
        _show_values(matches)
    elif matches.unmatched and output is None:
        typer.echo("See them with --values, or write all to a file with --output.")


def _match_plan(table: str, column: str, plan: Path, *, values: bool, as_json: bool) -> None:
    """Report the values of a column that do not fit the plan."""
    from anonto.encoding.prepare import find_misfits, opener
    from anonto.io.reading import read_table
    from anonto.masking.plan import plan_of
    from anonto.masking.units import not_for_units
    from anonto.wording import count_of

    chosen = plan_of(plan)
    if chosen.has_units:
        raise not_for_units("`anonto match --plan`")
    description = chosen.description(column)
    cells = read_table(table, **chosen.reading).column(column)
    encoded, found = find_misfits(column, cells, description, opener(chosen.folder))
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
            ("do not fit", f"{count_of(unfit['distinct'], 'distinct value')}, {count_of(unfit['cells'], 'cell')}"),
        ],
    )
    if found and not values:
        typer.echo("Use --values to list them with their rows.")
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
            ("coverage", f"{coverage['cells']:.2%} of cells, {coverage['distinct']:.2%} of distinct values"),
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


def _unmatched_as_data(matches: Matches) -> dict[str, Any]:
    return {
        "not_matched": [
            {"value": value, "cells": cells, "suggestions": [asdict(one) for one in matches.suggestions.get(value, ())]}
            for value, cells in matches.unmatched.items()
        ],
        "leading_zeros": dict(matches.padded),
    }


def _write(matches: Matches, output: Path, *, force: bool) -> None:
    """Write the mapping, readable by the owner alone: the values are data about people."""
    from anonto.io.atomic_write import atomic_write

    counts = dict(zip(matches.column.values, matches.column.counts.tolist(), strict=True))
    with (
        atomic_write(output, force=force, mode=0o600) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["value", "cells", "concept", "rule", "suggestions"])
        for value, placement in zip(matches.column.values, matches.placements, strict=True):
            suggestions = "|".join(s.concept for s in matches.suggestions.get(value, ()))
            placed = [placement.concept, placement.rule] if placement else ["", ""]
            writer.writerow([value, counts[value], *placed, suggestions])
