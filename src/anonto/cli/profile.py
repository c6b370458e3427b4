"""``anonto profile``: what a table is like, and what in it singles people out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anonto.cli.clusters import Engine, EngineOption, MasterOption, profile_files, require_engine
from anonto.cli.init import FolderOption, OntologyOption
from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_json, show_table, working

SHOWN = 15


def profile(
    table: Annotated[Path, typer.Argument(help="A CSV, Parquet, Excel, SPSS, Stata or SAS file.")],
    *,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", "-p", help="What the columns are; without it, guessed as `anonto init` does."),
    ] = None,
    ontology: OntologyOption = None,
    folder: FolderOption = None,
    engine: EngineOption = Engine.LOCAL,
    master: MasterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe the columns of a table, how they hang together, and which combinations single people out.

    Example: `anonto profile discharges.csv --plan plan.toml`
    """
    from anonto.errors import PlanError
    from anonto.plan import plan_of
    from anonto.propose import propose
    from anonto.stats.profile import profile as profile_of
    from anonto.table.reading import read_table

    if plan is not None and (ontology or folder):
        raise PlanError("A plan names its ontologies itself", "leave out --ontology and --folder, or --plan")
    require_engine(engine, master)
    if engine == Engine.SPARK and plan is None:
        raise PlanError("On a cluster columns are not guessed", "say with --plan what they are")
    with working("Looking at the table"):
        if plan is not None:
            chosen = plan_of(plan)
        else:
            chosen = propose(table, ontologies=ontology or (), folders=folder or ()).plan
        if engine == Engine.SPARK:
            found = profile_files(table, chosen, master)
        else:
            found = profile_of(read_table(table, **chosen.reading), chosen)
    if as_json:
        show_json({"plan": str(plan) if plan else "guessed", **found})
        return
    typer.secho(f"{table}: {found['n_records']:,} records; the columns {_origin(plan)}", bold=True)
    _show_columns(found["columns"])
    _show_pairs(found["pairs"], found["left_out"]["pairs"])
    _show_combinations(found["combinations"], found["left_out"]["combinations"])


def _origin(plan: Path | None) -> str:
    return f"are those of {plan}" if plan else "are guessed: write a plan with `anonto init` to correct them"


def _show_columns(columns: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["name"],
            one["kind"] if one["role"] != "identifier" else "",
            one["role"],
            f"{one['distinct']:,}",
            f"{one['missing']:,}",
            f"{one['once']:,} ({one['once_share']:.1%})",
            ", ".join(f"{part['coverage']['cells']:.1%}" for part in one.get("ontologies", [])),
            _middle(one),
        ]
        for one in columns
    ]
    show_table(["column", "kind", "role", "distinct", "missing", "occur once", "coverage", "middle and spread"], rows)


def _middle(one: dict[str, Any]) -> str:
    if "numbers" in one:
        numbers = one["numbers"]
        quantiles = [f"{int(key[1:])} %: {_rounded(value)}" for key, value in numbers.items() if key.startswith("q")]
        return f"mean {_rounded(numbers['mean'])}, sd {_rounded(numbers['sd'])}; {', '.join(quantiles)}"
    return "; ".join(f"{_mean(part['mean'])}, variance {part['variance']:.4f}" for part in one.get("semantic", []))


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if 1_000 <= abs(number) < 1e15 else f"{number:.4g}"


def _mean(concept: dict[str, Any]) -> str:
    """The concept in the middle; the root, which is above every value, tells nothing of them."""
    return f"none below the root {concept['id']}" if concept["is_root"] else _named(concept)


def _named(concept: dict[str, str]) -> str:
    return concept["id"] if concept["label"] in {"", concept["id"]} else f"{concept['id']} {concept['label']}"


def _show_pairs(pairs: list[dict[str, Any]], left_out: list[str]) -> None:
    if pairs:
        rows = [
            [" × ".join(one["columns"]), f"{one['distance_correlation']:.4f}", f"{one['bias_corrected']:.4f}"]
            for one in pairs[:SHOWN]
        ]
        show_table(["pair", "distance correlation", "squared, bias-corrected"], rows)
        _show_rest(len(pairs) - SHOWN, "weaker pairs")
    if left_out:
        typer.echo(f"In no pair, for want of memory or time: {', '.join(left_out)}.")


def _show_combinations(combinations: list[dict[str, Any]], left_out: list[str]) -> None:
    if combinations:
        rows = [
            [" × ".join(one["columns"]), f"{one['unique_records']:,}", f"{one['share']:.1%}"]
            for one in combinations[:SHOWN]
        ]
        show_table(["quasi-identifiers together", "records that are alone with their values", "share"], rows)
        _show_rest(len(combinations) - SHOWN, "less telling combinations")
    if left_out:
        typer.echo(f"In no combination, as the others tell more: {', '.join(left_out)}.")


def _show_rest(number: int, what: str) -> None:
    if number > 0:
        typer.echo(f"… and {number:,} {what}; see all with --json.")
