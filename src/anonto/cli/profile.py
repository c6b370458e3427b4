"""``anonto profile``: describe a table, and the combinations that single people out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anonto.cli.clusters import EngineChoice, EngineOption, MasterOption, open_tables, profile_files, require_engine
from anonto.cli.ontology import concept_name
from anonto.cli.options import FolderOption, JsonOption, OntologyOption, TableArgument
from anonto.cli.population import FractionOption, PopulationOption, parse_population, show_population
from anonto.cli.show import show_facts, show_json, show_status, show_table

SHOWN = 15

SafeHarborOption = Annotated[
    bool,
    typer.Option("--safe-harbor", help="Look for the identifiers of HIPAA Safe Harbor instead, by name and content."),
]
KOption = Annotated[int, typer.Option("--k", help="Persons in classes of fewer people than this are at risk.")]


def profile(
    table: TableArgument,
    *,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", "-p", help="Plan that describes the columns; without it, they are guessed as by `anonto init`."
        ),
    ] = None,
    ontology: OntologyOption = None,
    folder: FolderOption = None,
    engine: EngineOption = EngineChoice.LOCAL,
    master: MasterOption = None,
    sampling_fraction: FractionOption = None,
    population: PopulationOption = None,
    k: KOption = 5,
    safe_harbor: SafeHarborOption = False,
    as_json: JsonOption = False,
) -> None:
    """Describe the columns of a table, how they are related, and which combinations single people out.

    With the size of the population, also estimate how many people are unique in it, and what intruders can reach.

    Example: `anonto profile discharges.csv --plan plan.toml`
    """
    from anonto.assessment.population_risk import risk_if_known
    from anonto.errors import PlanError
    from anonto.io.reading import read_table
    from anonto.masking.plan import plan_of
    from anonto.profile.profile import profile as profile_of
    from anonto.profile.propose import propose

    if plan is not None and (ontology or folder):
        raise PlanError("The plan names its ontologies; leave out --ontology and --folder, or --plan.")
    require_engine(engine, master)
    if safe_harbor:
        _look_for_identifiers(table, engine, plan_of(plan).reading if plan else {}, as_json=as_json)
        return
    if engine == EngineChoice.SPARK and plan is None:
        raise PlanError("Columns are not guessed on a cluster; describe them with --plan.")
    with show_status("Reading the table"):
        if plan is not None:
            chosen = plan_of(plan)
        else:
            chosen = propose(table, ontologies=ontology or (), folders=folder or ()).plan
        if engine == EngineChoice.SPARK:
            found = profile_files(table, chosen, master)
        else:
            found = profile_of(read_table(table, **chosen.reading), chosen)
    with show_status("Estimating the risk in the population"), open_tables(engine, master, table) as (opened,):
        people = parse_population(population)
        risk = risk_if_known(opened, chosen, sampling_fraction=sampling_fraction, population=people, k=k)
    if risk is not None:
        found["population"] = risk.to_dict()
    if as_json:
        show_json({"plan": str(plan) if plan else "guessed", **found})
    else:
        _show(found, table, plan)


def _look_for_identifiers(table: Path, engine: EngineChoice, reading: dict[str, Any], *, as_json: bool) -> None:
    """Print the columns that seem to hold identifiers of Safe Harbor."""
    from anonto.engine.refusals import not_for_clusters
    from anonto.io.reading import read_table
    from anonto.profile.safe_harbor import safe_harbor

    if engine == EngineChoice.SPARK:
        raise not_for_clusters("--safe-harbor")
    with show_status("Looking for identifiers"):
        found = safe_harbor(read_table(table, **reading))
    if as_json:
        show_json(found)
        return
    typer.secho(f"{table}: {found['n_records']:,} records, {found['columns']:,} columns", bold=True)
    rows = [[one["column"], one["kind"], one["letters"], one["by"], f"{one['cells']:,}"] for one in found["findings"]]
    show_table(["column", "seems to hold", "45 CFR 164.514(b)(2)(i)", "by", "cells"], rows)
    typer.echo("These are hints, to be confirmed: nothing found in a column does not mean that nothing is there.")


def _show(found: dict[str, Any], table: Path, plan: Path | None) -> None:
    """Print the profile."""
    from anonto.report.words import rows_of_persons

    unit = f"persons in {found['rows']['before']:,} rows" if "unit" in found else "records"
    typer.secho(f"{table}: {found['n_records']:,} {unit}; the columns {_origin(plan)}", bold=True)
    if "unit" in found:
        typer.echo(f"Rows per person: {rows_of_persons(found['rows'])}.")
    if "person" in found:
        typer.echo(found["person"]["sentence"])
    if "weighted_by" in found:
        typer.echo(f"Means, spreads, quantiles and correlations are weighted by {found['weighted_by']}.")
    _show_columns(found["columns"])
    _show_pairs(found["pairs"], found["left_out"]["pairs"])
    _show_combinations(found["combinations"], found["left_out"]["combinations"])
    if found["key"] is not None:
        _show_key(found["key"])
    if "population" in found:
        show_population(found["population"])


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
        shares = [key for key in numbers if key.startswith("q")]
        quantiles = [f"{int(key[1:])} %: {_format_number(numbers[key])}" for key in shares]
        return f"mean {_format_number(numbers['mean'])}, sd {_format_number(numbers['sd'])}; {', '.join(quantiles)}"
    return "; ".join(f"{_mean(part['mean'])}, variance {part['variance']:.4f}" for part in one.get("semantic", []))


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if 1_000 <= abs(number) < 1e15 else f"{number:.4g}"


def _mean(concept: dict[str, Any]) -> str:
    """The mean concept; the root, which is above every value, carries no information."""
    return f"none below the root {concept['id']}" if concept["is_root"] else concept_name(concept)


def _show_pairs(pairs: list[dict[str, Any]], left_out: list[str]) -> None:
    if pairs:
        header = ["pair", "distance correlation"]
        rows = [[" × ".join(one["columns"]), f"{one['distance_correlation']:.4f}"] for one in pairs[:SHOWN]]
        if "bias_corrected" in pairs[0]:
            header.append("squared, bias-corrected")
            rows = [[*row, f"{one['bias_corrected']:.4f}"] for row, one in zip(rows, pairs[:SHOWN], strict=True)]
        show_table(header, rows)
        _show_rest(len(pairs) - SHOWN, "weaker pairs")
    if left_out:
        typer.echo(f"Not paired, to limit memory and time: {', '.join(left_out)}.")


def _show_combinations(combinations: list[dict[str, Any]], left_out: list[str]) -> None:
    if combinations:
        rows = [
            [" × ".join(one["columns"]), f"{one['unique_records']:,}", f"{one['share']:.1%}"]
            for one in combinations[:SHOWN]
        ]
        show_table(["quasi-identifiers together", "records that are unique in these columns", "share"], rows)
        _show_rest(len(combinations) - SHOWN, "less identifying combinations")
    if left_out:
        typer.echo(f"In no combination, because others identify more: {', '.join(left_out)}.")


def _show_key(key: dict[str, Any]) -> None:
    """All quasi-identifiers together, and which columns make records unique."""
    uniques = key["minimal_uniques"]
    facts = [
        ("quasi-identifiers", ", ".join(key["columns"])),
        ("unique", f"{key['unique_records']:,} ({key['share']:.1%})"),
        (
            f"in classes of fewer than {key['small_class']}",
            f"{key['in_small_classes']:,} ({key['share_in_small_classes']:.1%})",
        ),
    ]
    show_facts("All quasi-identifiers together", facts)
    if not key["unique_records"]:
        return
    header = ["column", "share of the risk", "unique without it", "values with half of its risk"]
    rows = [
        [
            one["name"],
            f"{one['share_of_risk']:.1%}",
            f"{one['unique_without']:,}",
            f"{one['values_of_half']:,} of {one['risky_values']:,}",
        ]
        for one in uniques["columns"]
    ]
    show_table(header, rows)
    rows = [[" × ".join(one["columns"]), f"{one['records']:,}"] for one in uniques["worst"][:SHOWN]]
    show_table(["fewest columns that make a record unique", "records"], rows)
    _show_rest(uniques["sets"] - min(SHOWN, len(uniques["worst"])), "other sets of columns")
    if uniques["largest"] < len(key["columns"]):
        typer.echo(f"Sets of more than {uniques['largest']} columns were not searched, to limit memory and time.")


def _show_rest(number: int, what: str) -> None:
    if number > 0:
        typer.echo(f"… and {number:,} {what}; see all with --json.")
