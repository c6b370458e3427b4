"""``anonto mask``: a table and a plan in, a masked table out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.clusters import EngineChoice, EngineOption, MasterOption, mask_on_cluster, require_engine
from anonto.cli.options import ForceOption, JsonOption
from anonto.cli.show import show_facts, show_json, show_status

if TYPE_CHECKING:
    from anonto.masking.release import Outputs


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
        Path | None,
        typer.Option("--private", help="File for the private record with the seed; by default OUTPUT.private.json."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write a report for internal use, as HTML.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Makes the release reproducible; a short seed can be guessed.")
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of rows, which links them to the original.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="Memory limit, such as 2GB; a CSV or Parquet table that does not fit is masked in two "
            "passes. Temporary files are in a folder beside the output that only you can read: with shuffled rows they "
            "may take as much disk as the rows in memory. The output is the same, unless groups have to be formed in "
            "blocks. On a cluster it is the memory of the driver, which fits the methods.",
        ),
    ] = None,
    engine: EngineOption = EngineChoice.LOCAL,
    master: MasterOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Mask a table according to a plan.

    Example: `anonto mask discharges.csv --plan plan.toml --output masked.csv --report report.html`
    """
    require_engine(engine, master)
    how: dict[str, Any] = {"seed": seed, "memory": memory, "keep_order": keep_order, "report": report, "force": force}
    if engine == EngineChoice.SPARK:
        evidence = mask_on_cluster(table, plan, output, master=master, private=private, **how)
    else:
        from anonto.engine.run import mask_file

        with show_status("Masking the table"):
            evidence = mask_file(table, plan, output, private=private or True, **how).evidence
    if as_json:
        show_json(evidence)
    else:
        from anonto.masking.plan import plan_of
        from anonto.masking.release import Outputs

        _show(evidence, Outputs.of(output, private or True, report), plan_of(plan).pseudonym)


def _show(evidence: dict[str, Any], written: Outputs, pseudonym: str | None) -> None:
    from anonto.report.words import guarantee_line, nearness_sentence, rows_of_persons
    from anonto.wording import count_of

    facts = [("records", f"{evidence['n_records']:,} released, {evidence['dropped_records']:,} dropped")]
    if rows := evidence.get("rows"):
        released = f"{evidence['n_records']:,} in {rows['after']:,} rows"
        dropped = f"{evidence['dropped_records']:,} dropped"
        if further := rows.get("left_out"):
            rest = count_of(further, "further row", "further rows")
            dropped += f"; {rest} of {count_of(rows['persons_limited'], 'person')} left out"
        facts = [
            ("persons", f"{released} released, {dropped}"),
            ("rows per person", rows_of_persons(rows)),
        ]
    for name, one in evidence.get("recoded", {}).items():
        how_much = f" ({count_of(one['changed'], 'cell')}, RMSE {one['rmse']:.4f})" if "changed" in one else ""
        facts.append((f"recoded {name}", f"{one['how']}{how_much}"))
    for number, step in enumerate(evidence["steps"], start=1):
        parameters = ", ".join(f"{key} = {value}" for key, value in step["parameters"].items())
        facts.append((f"step {number}", f"{step['method']}{f' ({parameters})' if parameters else ''}"))
        facts.extend(
            (
                f"  {name}",
                f"{count_of(step['unchanged'][name], 'cell')} unchanged, {step['untouched'][name]:,} without a "
                f"partner, {step['missing'][name]:,} missing; RMSE {step['rmse'][name]:.4f}",
            )
            for name in step["columns"]
        )
        if "loss_bound" in step:
            facts.append(("  from the best", nearness_sentence(step["loss"], step["loss_bound"])))
        if "suppressed_cells" in step:
            emptied = count_of(sum(step["suppressed_cells"].values()), "cell")
            cost, bound = step["suppression_cost"], step["suppression_bound"]
            least = f"at least {bound:,g} if equal records lose the same cells"
            facts.append(("  emptied", f"{emptied} at a cost of {cost:,g}; {least}"))
        facts.extend(
            (f"  {name}", f"{count_of(n, 'cell')} without a concept, left in their record")
            for name, n in step["unmatched"].items()
            if n
        )
    dropped_columns = [name for name in evidence["dropped_columns"] if name != pseudonym]
    facts.append(("identifiers dropped", ", ".join(dropped_columns) or "none"))
    if pseudonym is not None:
        facts.append(("pseudonyms", pseudonym))
    facts.append(("released as they are", ", ".join(evidence["released_as_is"]) or "none"))
    facts.append(("masked table", str(written.table)))
    facts.append(("private record", f"{written.record} (the seed: keep it away from the release)"))
    if written.report is not None:
        facts.append(("report", str(written.report)))
    show_facts("Masked", facts)
    guarantees = [
        (f"step {number}", guarantee_line(step["guarantee"])) for number, step in enumerate(evidence["steps"], start=1)
    ]
    show_facts("Guarantees", guarantees or [("", "none: the plan has no step")])
