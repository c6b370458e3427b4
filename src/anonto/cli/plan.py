"""``anonto plan``: the schema of plans, the check of one, and one with all that it leaves to defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_json

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")]

plan = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Check, complete and describe plan files.")


@plan.command()
def schema() -> None:
    """Print the JSON Schema of a plan: for editors that complete and check what is typed.

    Methods of other packages are in it.

    Example: `anonto plan schema > plan.schema.json`
    """
    from anonto.plan import plan_schema

    show_json(plan_schema())


@plan.command()
def check(file: PlanArgument, *, as_json: JsonOption = False) -> None:
    """Check a plan without a table: its keys, the parameters of its methods, and whether it contradicts itself.

    Example: `anonto plan check plan.toml`
    """
    from anonto.errors import listed
    from anonto.plan import plan_of

    found = plan_of(file)
    to_review = found.unreviewed(found.columns)
    if as_json:
        show_json({"columns": len(found.columns), "steps": len(found.steps), "to_review": list(to_review)})
        return
    typer.echo(f"The plan is valid: columns described: {len(found.columns)}, steps: {len(found.steps)}.")
    if to_review:
        typer.echo(f"Nobody has confirmed yet: {listed(to_review)}.")


@plan.command()
def show(file: PlanArgument, *, as_json: JsonOption = False) -> None:
    """Print a plan with every key that it leaves out and that has a default.

    Example: `anonto plan show plan.toml`
    """
    from anonto.plan import plan_of
    from anonto.toml import to_toml

    filled = plan_of(file).filled()
    if as_json:
        show_json(filled)
    else:
        typer.echo(to_toml(filled, {}), nl=False)
