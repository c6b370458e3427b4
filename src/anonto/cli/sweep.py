"""``anonto sweep``: try many plans on a table, and find the one with the most utility within a risk limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anonto.cli.options import ForceOption, JsonOption
from anonto.cli.outputs import require_free_outputs
from anonto.cli.show import progress_bar, show_facts, show_json, show_table
from anonto.wording import count_of

if TYPE_CHECKING:
    from anonto.sweep import Choice, Point, Sweep


def sweep(
    table: Annotated[Path, typer.Argument(help="The table that will be masked.")],
    *,
    plan: Annotated[
        Path, typer.Option("--plan", "-p", help="Plan that describes the columns; its own steps are tried too.")
    ],
    grid: Annotated[
        Path | None, typer.Option("--grid", help="Methods and values to try, as TOML; by default every method.")
    ] = None,
    max_risk: Annotated[
        str | None,
        typer.Option(
            "--max-risk",
            help="The largest allowed share of persons linked by any attack, such as 0.05, or a named threshold: "
            "ema-0070 or health-canada (0.09).",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of times each plan is tried.")] = 3,
    sample: Annotated[int, typer.Option("--sample", help="Sample size for larger tables.")] = 5_000,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; by default one for each processor.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", help="File that keeps finished results; by default OUTPUT.sweep.jsonl, if there is an output."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also write the map, as HTML.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan chosen for --max-risk, as TOML.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Try many plans on a table, attack each, and draw the risk-utility map.

    With `--max-risk` the answer is the plan with the most utility for which even the upper end of the 95 % interval of
    every linkage attack is below the risk. A sweep stopped with Ctrl-C resumes when it is started again.

    Example: `anonto sweep discharges.csv --plan plan.toml --max-risk 0.05 --output chosen.toml --report map.html`
    """
    from anonto.sweep import sweep as sweep_plans
    from anonto.sweep.grid import read_grid
    from anonto.sweep.points import require_risk

    saved = output or report
    kept = resume or (None if saved is None else Path(f"{saved}.sweep.jsonl"))
    require_free_outputs([table, plan, grid], [plan], [output, report], force=force, kept=kept)
    limit = None if max_risk is None else require_risk(max_risk)
    _require_limit(limit, output)
    chosen_grid = None if grid is None else read_grid(grid)
    try:
        with progress_bar("Trying plans") as progress:
            found = sweep_plans(
                table,
                plan,
                chosen_grid,
                seeds=seeds,
                max_risk=limit,
                sample=sample,
                workers=workers,
                resume=kept,
                progress=progress,
            )
    except KeyboardInterrupt:
        if kept is not None and kept.exists():
            typer.echo(f"Finished results are kept in {kept}: the same command resumes from there.", err=True)
        raise
    answer = None if limit is None else found.best(limit)
    if report is not None:
        found.to_html(report, force=force)
    if output is not None and answer is not None and answer.point is not None:
        answer.save_plan(output, force=force)
    if as_json:
        show_json(found.to_dict())
    else:
        _show(found, answer, [(name, path) for name, path in (("plan", output), ("map", report)) if path])
    if output is not None and answer is not None and answer.point is None:
        from anonto.sweep.choice import no_safe_plan

        raise no_safe_plan(str(output), answer.max_risk)


def _require_limit(max_risk: float | None, output: Path | None) -> None:
    from anonto.errors import ParameterError

    if max_risk is None and output is not None:
        raise ParameterError("--max-risk", "given with --output: it decides which plan is written", None)


# ------------------------------------------------------------------------------------------------ what is shown


def _show(found: Sweep, answer: Choice | None, written: list[tuple[str, Path]]) -> None:
    seeds = count_of(found.n_seeds, "seed")
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
    from anonto.report.views import group_skipped

    if found.skipped:
        typer.secho("Skipped", bold=True)
    for what, reason in group_skipped([one.to_dict() for one in found.skipped]):
        typer.echo(f"  {what}: {reason}")
