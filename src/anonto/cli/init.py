"""``anonto init``: a first plan for a table, with the reasons for every guess."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_facts, show_json, show_table, working
from anonto.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.propose import Proposal

OntologyOption = Annotated[
    list[str] | None,
    typer.Option("--ontology", help="An ontology to try: a file, an RF2 folder or a listed name; may be repeated."),
]
FolderOption = Annotated[
    list[Path] | None,
    typer.Option("--folder", help="Where to look for ontology files, besides the table's folder; may be repeated."),
]


def init(
    table: Annotated[Path, typer.Argument(help="A CSV, Parquet, Excel, SPSS, Stata or SAS file.")],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The plan; by default TABLE.plan.toml beside the table.")
    ] = None,
    ontology: OntologyOption = None,
    folder: FolderOption = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first row holds the columns' names, though they look like values.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the plan if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a plan: guess what each column is and recognise its ontology from its values.

    Example: `anonto init discharges.csv --ontology icd9cm.csv --output plan.toml`
    """
    from anonto.propose import propose
    from anonto.table.beside import files_at, require_free, written_beside
    from anonto.table.headers import CONFIRMED

    plan = output or Path(f"{table}.plan.toml")
    given = [file for one in ontology or () for file in files_at(Path(one))]
    require_free([table, *given], [plan], force=force)
    with working("Looking at the table"):
        proposal = propose(
            table,
            ontologies=ontology or (),
            folders=folder or (),
            plan_folder=plan.absolute().parent,
            header=CONFIRMED if header else None,
        )
    require_free(proposal.plan.ontology_files, [plan])
    with written_beside(plan, force=force) as beside:
        beside.write_text(proposal.to_toml(), encoding="utf-8")
    if as_json:
        reasons = {name: list(said) for name, said in proposal.reasons.items()}
        show_json(
            {
                "output": str(plan),
                "plan": proposal.plan.to_dict(),
                "reasons": reasons,
                "review": list(proposal.to_review),
            }
        )
    else:
        _show(proposal, table, plan)


def _show(proposal: Proposal, table: Path, plan: Path) -> None:
    columns = proposal.plan.columns
    rows = [
        [
            name,
            one.kind if one.role != "identifier" else "",
            one.role,
            ", ".join(Path(str(ontology)).name for ontology in one.ontologies),
            "\n".join(proposal.reasons[name]),
        ]
        for name, one in columns.items()
    ]
    show_table(["column", "kind", "role", "ontology", "why"], rows)
    steps = [(step.method.name, ", ".join(step.columns)) for step in proposal.plan.steps]
    show_facts("Steps", steps or [("none", "no column looks like a quasi-identifier")])
    if proposal.to_review:
        typer.echo(_what_to_review(proposal.to_review))
    typer.echo(f"Wrote {plan}; read it through, then: anonto mask {table} --plan {plan} --output …")


def _what_to_review(names: Sequence[str]) -> str:
    """Say aloud what somebody must decide: nobody reads a plan to the end."""
    return (
        f"{counted(len(names), 'column needs', 'columns need')} review: {', '.join(names)}.\n"
        "Nothing is proved while one that leaves is not confirmed: correct it in the plan, and delete its line "
        "review = true."
    )
