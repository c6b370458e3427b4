"""``anonto sweep``: try many plans on a table, and answer which keeps most under a risk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anonto.cli.ontology import JsonOption
from anonto.cli.show import progress_bar, show_facts, show_json, show_table
from anonto.errors import counted

if TYPE_CHECKING:
    from anonto.sweeping import Choice, Point, Sweep


def sweep(
    table: Annotated[Path, typer.Argument(help="The table that will be masked.")],
    *,
    plan: Annotated[Path, typer.Option("--plan", "-p", help="What the columns are; its own steps are tried too.")],
    grid: Annotated[
        Path | None, typer.Option("--grid", help="Methods and values to try, as TOML; by default every method.")
    ] = None,
    max_risk: Annotated[
        float | None,
        typer.Option("--max-risk", help="The largest share of persons that any linkage may reach, as 0.05."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="How often each plan is tried.")] = 3,
    sample: Annotated[int, typer.Option("--sample", help="Of a larger table so many records are taken.")] = 5_000,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; by default one for each processor.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Keeps what is finished; by default OUTPUT.sweep.jsonl, if there is an output."),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also write the map, as HTML.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan that is chosen for --max-risk, as TOML.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Try many plans on a table, attack each, and draw the map of risk and utility.

    With `--max-risk` the answer is the plan that keeps most while even the upper end of the 95 % interval of every
    linkage attack is below the risk. A sweep that is stopped with Ctrl-C goes on where it was when it is started again.

    Example: `anonto sweep discharges.csv --plan plan.toml --max-risk 0.05 --output chosen.toml --report map.html`
    """
    from anonto.sweeping import sweep as sweep_plans
    from anonto.sweeping.grid import read_grid
    from anonto.table.beside import require_free

    kept = resume or _beside(output or report)
    read = [one for one in (table, plan, grid) if one is not None]
    require_free(read, [kept] if kept else [])
    require_free([*read, *([kept] if kept else [])], [one for one in (output, report) if one], force=force)
    if kept is not None:
        from anonto.plan import plan_of

        require_free(plan_of(plan).ontology_files, [one for one in (kept, output, report) if one])
    _require_limit(max_risk, output)
    chosen_grid = None if grid is None else read_grid(grid)
    try:
        with progress_bar("Trying plans") as progress:
            found = sweep_plans(
                table,
                plan,
                chosen_grid,
                seeds=seeds,
                max_risk=max_risk,
                sample=sample,
                workers=workers,
                resume=kept,
                progress=progress,
            )
    except KeyboardInterrupt:
        if kept is not None and kept.exists():
            typer.echo(f"What is finished is kept in {kept}: the same command goes on from there.", err=True)
        raise
    answer = None if max_risk is None else found.best(max_risk)
    if report is not None:
        found.to_html(report, force=force)
    if output is not None and answer is not None and answer.point is not None:
        answer.save_plan(output, force=force)
    if as_json:
        show_json(found.to_dict())
    else:
        _show(found, answer, [(name, path) for name, path in (("plan", output), ("map", report)) if path])
    if output is not None and answer is not None and answer.point is None:
        from anonto.errors import NoSafePlanError

        raise NoSafePlanError(str(output), answer.max_risk)


def _beside(output: Path | None) -> Path | None:
    return None if output is None else Path(f"{output}.sweep.jsonl")


def _require_limit(max_risk: float | None, output: Path | None) -> None:
    from anonto.errors import ParameterError

    if max_risk is None and output is not None:
        raise ParameterError("--max-risk", "given with --output: it decides which plan is written", None)


# ------------------------------------------------------------------------------------------------ what is shown


def _show(found: Sweep, answer: Choice | None, written: list[tuple[str, Path]]) -> None:
    seeds = counted(found.n_seeds, "seed")
    sampled = f"a sample of {found.n_sampled:,} of " if found.n_sampled < found.n_records else ""
    facts = [
        ("records", f"{sampled}{found.n_records:,}"),
        ("masked", ", ".join(found.columns)),
        ("plans", f"{len(found.points):,} tried with {seeds} each, {len(found.skipped):,} skipped"),
    ]
    show_facts("Swept (risk: 0 % is safe; utility: 1 is as the original)", facts)
    show_table(
        ["plans that no other beats", "risk", "interval", "utility", "worst attacker", "guarantee"],
        [_row(one) for one in found.pareto],
    )
    _show_skipped(found)
    if answer is not None:
        typer.secho(f"Answer for a risk of at most {100 * answer.max_risk:g} %", bold=True)
        for sentence in answer.why:
            typer.echo(f"  {sentence}")
    if written and (answer is None or answer.point is not None or written[0][0] != "plan"):
        show_facts("Written", [(name, str(path)) for name, path in written])


def _row(point: Point) -> list[str]:
    return [
        point.label + (" (the plan given)" if point.is_given else ""),
        f"{point.risk:.2%}",
        f"{point.low:.2%} – {point.high:.2%}",
        f"{point.utility:.3f}",
        point.worst["attack"] if point.worst else "",
        "proved" if point.proved else "",
    ]


def _show_skipped(found: Sweep) -> None:
    from anonto.report.views import told_once

    if found.skipped:
        typer.secho("Skipped", bold=True)
    for what, reason in told_once([one.to_dict() for one in found.skipped]):
        typer.echo(f"  {what}: {reason}")
