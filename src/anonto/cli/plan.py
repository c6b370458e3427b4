"""``anonto plan``: print the schema of plans, check a plan, or print it with its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anonto.cli.options import JsonOption
from anonto.cli.show import show_json

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")]

plan = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Check, complete and describe plan files.")


@plan.command()
def schema() -> None:
    """Print the JSON Schema of a plan: for editors that complete and check plans.

    Methods of other packages are included.

    Example: `anonto plan schema > plan.schema.json`
    """
    from anonto.masking.plan_schema import plan_schema

    show_json(plan_schema())


@plan.command()
def check(file: PlanArgument, *, as_json: JsonOption = False) -> None:
    """Check a plan without a table: its keys, the parameters of its methods, and whether it contradicts itself.

    Example: `anonto plan check plan.toml`
    """
    from anonto.masking.plan import plan_of
    from anonto.wording import list_names

    found = plan_of(file)
    to_review = found.unreviewed_columns(found.columns)
    if as_json:
        show_json({"columns": len(found.columns), "steps": len(found.steps), "to_review": list(to_review)})
        return
    typer.echo(f"The plan is valid: columns described: {len(found.columns)}, steps: {len(found.steps)}.")
    if to_review:
        typer.echo(f"Not confirmed yet: {list_names(to_review)}.")


@plan.command()
def show(file: PlanArgument, *, as_json: JsonOption = False) -> None:
    """Print a plan with the default of every key that it leaves out.

    Example: `anonto plan show plan.toml`
    """
    from anonto.io.toml import to_toml
    from anonto.masking.plan import plan_of

    filled = plan_of(file).with_defaults()
    if as_json:
        show_json(filled)
    else:
        typer.echo(to_toml(filled, {}), nl=False)
