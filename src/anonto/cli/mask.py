"""``anonto mask``: a table and a plan in, a masked table out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anonto.cli.clusters import Engine, EngineOption, MasterOption, mask_on_cluster, require_engine
from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_facts, show_json, working
from anonto.private_record import PrivateRecord


def mask(
    table: Annotated[
        Path,
        typer.Argument(
            help="A CSV, Parquet, Excel, SPSS, Stata or SAS file; or a folder or pattern of Parquet files, by name."
        ),
    ],
    *,
    plan: Annotated[Path, typer.Option("--plan", "-p", help="The plan, as TOML; `anonto init` proposes one.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The masked table; its suffix names the format.")],
    private: Annotated[
        Path | None, typer.Option("--private", help="Where the seed goes; by default OUTPUT.private.json.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write a report for inside the house, as HTML.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="For the same release each time; a short seed can be guessed.")
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the rows in order, which links them to the original.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="How much memory may be used, as 2GB; a CSV or Parquet table that does not fit is masked in two "
            "passes. What waits is kept in a folder beside the output that only you can read: with shuffled rows it "
            "may take as much disk as the rows in memory. The output is the same, unless groups have to be formed in "
            "blocks. On a cluster it is the memory of the driver that fits the methods.",
        ),
    ] = None,
    engine: EngineOption = Engine.LOCAL,
    master: MasterOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Mask a table as a plan says.

    Example: `anonto mask discharges.csv --plan plan.toml --output masked.csv --report report.html`
    """
    require_engine(engine, master)
    record = private or PrivateRecord.beside(output)
    how: dict[str, Any] = {
        "seed": seed,
        "memory": memory,
        "keep_order": keep_order,
        "report": report,
        "force": force,
    }
    if engine == Engine.SPARK:
        evidence = mask_on_cluster(table, plan, output, master=master, private=private, **how)
    else:
        from anonto.run import mask_file

        with working("Masking the table"):
            evidence = mask_file(table, plan, output, private=record, **how).evidence
    if as_json:
        show_json(evidence)
    else:
        _show(evidence, output, record, report)


def _show(evidence: dict[str, Any], output: Path, record: Path, report: Path | None) -> None:
    from anonto.errors import counted
    from anonto.report.words import guarantee_line

    facts = [("records", f"{evidence['n_records']:,} released, {evidence['dropped_records']:,} dropped")]
    for number, step in enumerate(evidence["steps"], start=1):
        parameters = ", ".join(f"{key} = {value}" for key, value in step["parameters"].items())
        facts.append((f"step {number}", f"{step['method']}{f' ({parameters})' if parameters else ''}"))
        facts.extend(
            (
                f"  {name}",
                f"{counted(step['unchanged'][name], 'cell')} unchanged, {step['untouched'][name]:,} without a partner, "
                f"{step['missing'][name]:,} missing; RMSE {step['rmse'][name]:.4f}",
            )
            for name in step["columns"]
        )
    facts.append(("identifiers dropped", ", ".join(evidence["dropped_columns"]) or "none"))
    facts.append(("released as they are", ", ".join(evidence["released_as_is"]) or "none"))
    facts.append(("masked table", str(output)))
    facts.append(("private record", f"{record} (the seed: keep it away from the release)"))
    if report is not None:
        facts.append(("report", str(report)))
    show_facts("Masked", facts)
    promised = [
        (f"step {number}", guarantee_line(step["guarantee"])) for number, step in enumerate(evidence["steps"], start=1)
    ]
    show_facts("Guarantees", promised or [("", "none: the plan has no step")])
