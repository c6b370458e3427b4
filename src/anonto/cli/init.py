"""``anonto init``: a first plan for a table, with the reasons for every guess."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anonto.cli.options import FolderOption, ForceOption, JsonOption, OntologyOption, TableArgument
from anonto.cli.show import progress_bar, show_facts, show_json, show_status, show_table
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.profile.propose import Proposal


def init(
    table: TableArgument,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The plan; by default TABLE.plan.toml beside the table.")
    ] = None,
    ontology: OntologyOption = None,
    folder: FolderOption = None,
    max_risk: Annotated[
        str | None,
        typer.Option(
            "--max-risk",
            help="Try every method on a sample, and propose the steps that keep the most utility while no attack links "
            "more than this share of the persons, such as 0.05, or a named threshold: ema-0070 or health-canada "
            "(0.09).",
        ),
    ] = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first row holds the column names, though they look like values.")
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a plan: guess what each column is and recognise its ontology from its values.

    With `--max-risk` the steps are those that keep the most utility within the risk; the runner-up and the reasons are
    comments in the plan.

    Example: `anonto init discharges.csv --ontology icd9cm.csv --output plan.toml`
    """
    from anonto.io.atomic_write import atomic_write, files_at, require_free
    from anonto.io.headers import CONFIRMED
    from anonto.profile.propose import propose

    plan = output or Path(f"{table}.plan.toml")
    given = [file for one in ontology or () for file in files_at(Path(one))]
    require_free([table, *given], [plan], force=force)
    limit = None
    if max_risk is not None:
        from anonto.sweep.points import require_risk

        limit = require_risk(max_risk)
    with show_status("Reading the table"):
        proposal = propose(
            table,
            ontologies=ontology or (),
            folders=folder or (),
            plan_folder=plan.absolute().parent,
            header=CONFIRMED if header else None,
        )
    require_free(proposal.plan.ontology_files, [plan])
    if limit is not None:
        proposal = _with_best_steps(proposal, table, plan, limit)
    with atomic_write(plan, force=force) as temporary:
        temporary.write_text(proposal.to_toml(), encoding="utf-8")
    if as_json:
        reasons = {name: list(said) for name, said in proposal.reasons.items()}
        show_json(
            {
                "output": str(plan),
                "plan": proposal.plan.to_dict(),
                "reasons": reasons,
                "review": list(proposal.to_review),
                "why_these_steps": list(proposal.why_these_steps),
                "second_best": [step.to_dict() for step in proposal.second_best],
                "person": None if proposal.person is None else proposal.person.to_dict(),
            }
        )
    else:
        _show(proposal, table, plan)


def _with_best_steps(proposal: Proposal, table: Path, plan: Path, max_risk: float) -> Proposal:
    """The proposal with the steps that keep most under a risk."""
    from anonto.sweep.choice import no_safe_plan
    from anonto.sweep.recommend import recommend

    with progress_bar("Trying methods") as progress:
        choice = recommend(table, proposal.plan, max_risk, progress=progress)
    if choice.point is None:
        raise no_safe_plan(str(plan), max_risk)
    second = () if choice.runner_up is None else choice.runner_up.plan.steps
    return proposal.with_steps(choice.point.plan.steps, choice.why, second)


def _show(proposal: Proposal, table: Path, plan: Path) -> None:
    columns = proposal.plan.columns
    rows = [
        [
            name,
            "" if one.is_dropped else one.kind,
            one.role,
            ", ".join(Path(str(ontology)).name for ontology in one.ontologies),
            "\n".join(proposal.reasons[name]),
        ]
        for name, one in columns.items()
    ]
    show_table(["column", "kind", "role", "ontology", "why"], rows)
    steps = [(step.method.name, ", ".join(step.columns)) for step in proposal.plan.steps]
    show_facts("Steps", steps or [("none", "no column looks like a quasi-identifier")])
    for sentence in proposal.why_these_steps:
        typer.echo(f"  {sentence}")
    if proposal.person is not None:
        typer.echo(proposal.person.sentence)
    if proposal.to_review:
        typer.echo(_review_note(proposal.to_review))
    typer.echo(f"Wrote {plan}; check it, then run: anonto mask {table} --plan {plan} --output …")


def _review_note(names: Sequence[str]) -> str:
    """Print which columns need a decision, which is easily missed in a long plan."""
    return (
        f"{count_of(len(names), 'column needs', 'columns need')} review: {', '.join(names)}.\n"
        "No guarantee is proved while a released one is not confirmed: correct it in the plan, and delete its line "
        "review = true."
    )
