"""``anonto assess``: attack a release, and measure what it lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.clusters import Engine, EngineOption, MasterOption, opened_tables
from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_facts, show_json, show_table, working
from anonto.errors import MapPointsError, NotForClustersError, OnlyForClustersError, ParameterError

if TYPE_CHECKING:
    from anonto.assessment import Assessment
    from anonto.risk.rate import Risk

SHOWN_PAIRS = 10


def assess(
    original: Annotated[Path, typer.Argument(help="The table that was masked.")],
    masked: Annotated[Path, typer.Argument(help="The release.")],
    *,
    plan: Annotated[Path, typer.Option("--plan", "-p", help="The plan it was masked with.")],
    private: Annotated[
        Path | None, typer.Option("--private", help="Its private record, to put shuffled rows back in order.")
    ] = None,
    same_order: Annotated[
        bool, typer.Option("--same-order", help="The rows are in order, though no column shows it.")
    ] = False,
    predict: Annotated[
        str | None, typer.Option("--predict", help="A column to predict from the others, to see what a model loses.")
    ] = None,
    second: Annotated[
        Path | None, typer.Option("--second", help="Another release of the same table, to attack both together.")
    ] = None,
    second_plan: Annotated[
        Path | None, typer.Option("--second-plan", help="The plan the second release was masked with.")
    ] = None,
    second_private: Annotated[
        Path | None, typer.Option("--second-private", help="The private record of the second release.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also write the report, as one HTML file.")] = None,
    report_json: Annotated[
        Path | None, typer.Option("--report-json", help="Also write what the report says, as JSON.")
    ] = None,
    edition: Annotated[
        str,
        typer.Option(
            "--edition", help="Of the report: internal, or public, which masks the table once more and needs --private."
        ),
    ] = "internal",
    points: Annotated[
        Path | None, typer.Option("--map", help="Other plans for the report's map: what `anonto sweep --json` printed.")
    ] = None,
    engine: EngineOption = Engine.LOCAL,
    master: MasterOption = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="On a cluster: how much memory of the driver may be taken, as 2GB; tables whose rows do not fit are "
            "attacked from counts of them.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a release with its original in hand, and measure what an analyst lost.

    Example: `anonto assess discharges.csv masked.csv --plan plan.toml --private masked.csv.private.json --report
    report.html`
    """
    from anonto.assessment import assess as assess_release
    from anonto.engine.room import memory_of
    from anonto.report.editions import edition_of
    from anonto.table.beside import require_free

    if edition_of(edition) == "public" and points is not None:
        raise ParameterError("--map", "left out for the public edition, which has no map", "a file")
    reports = [one for one in (report, report_json) if one is not None]
    read = [original, masked, plan, private, second, second_plan, second_private, points]
    require_free([one for one in read if one is not None], reports, force=force)
    if reports:
        from anonto.plan import plan_of

        for one in (plan, second_plan):
            require_free(() if one is None else plan_of(one).ontology_files, reports)
    swept = None if points is None else _read_points(points)
    if engine == Engine.SPARK and second is not None:
        raise NotForClustersError("--second")
    if memory is not None:
        if engine == Engine.LOCAL:
            raise OnlyForClustersError("--memory")
        memory_of(memory)
    with working("Attacking the release"), opened_tables(engine, master, original, masked) as (before, after):
        found = assess_release(
            before,
            after,
            plan,
            private=private,
            same_order=same_order,
            predict=predict,
            second=_second(second, second_plan),
            second_private=second_private,
            memory=memory,
        )
    if report is not None:
        found.to_html(report, edition=edition, sweep=swept, force=force)
    if report_json is not None:
        found.to_json(report_json, edition=edition, sweep=swept, force=force)
    if as_json:
        show_json(found.to_dict())
        return
    _show_findings(found)
    _show_worst(found)
    _show_risk(found)
    _show_utility(found)
    if reports:
        show_facts("Reports", [(edition, str(one)) for one in reports])


def _read_points(path: Path) -> Any:
    """What a sweep printed."""
    import json

    from anonto.ontology.source import opened
    from anonto.report.map_points import points_of

    with opened(path) as stream:
        content = stream.read()
    try:
        read = json.loads(content)
    except ValueError:
        raise MapPointsError("a file of JSON") from None
    points_of(read)
    return read


def _second(masked: Path | None, plan: Path | None) -> tuple[Path, Path] | None:
    if masked is None and plan is None:
        return None
    if masked is None:
        raise ParameterError("--second", "given where --second-plan is", None)
    if plan is None:
        raise ParameterError("--second-plan", "given where --second is", None)
    return masked, plan


def _show_findings(found: Assessment) -> None:
    for sentence in found.findings:
        typer.secho(sentence, fg=typer.colors.YELLOW)
    if found.findings:
        typer.echo()


def _show_worst(found: Assessment) -> None:
    worst = found.worst
    if worst is None:
        return
    facts = [
        ("records", f"{found.n_records:,}"),
        ("worst linkage", _reached(worst)),
        ("known", ", ".join(worst.columns) or worst.knowledge),
        ("by chance", f"{worst.baseline:.2%}"),
    ]
    declared, partial = found.worst_declared, found.partial
    if declared is not None and declared.columns != worst.columns:
        facts.append(("quasi-identifiers only", _reached(declared)))
    if partial is not None and partial.details["whole_rows"]:
        told = partial.details
        facts.append(
            (
                "rows read",
                f"{told['singled_out']:.2%} of persons singled out by {len(partial.columns)} of "
                f"{told['columns_that_leave']} columns, {told['read_right']:.2%} of their other cells right",
            )
        )
    show_facts("Assessed (0 % is safe, 100 % is disclosed)", facts)


def _reached(one: Risk) -> str:
    return f"{one.rate:.2%} of persons ({one.low:.2%} to {one.high:.2%}), by {one.attack}"


def _show_risk(found: Assessment) -> None:
    rows = [
        [
            one.attack,
            _known(one),
            f"{one.rate:.2%}",
            f"{one.low:.2%} – {one.high:.2%}",
            f"{one.baseline:.2%}",
            "" if one.control is None else f"{one.control:.2%}",
            f"{one.n:,}",
        ]
        for one in found.risk
    ]
    show_table(["attack", "known", "rate", "95 % interval", "baseline", "control", "n"], rows)


def _known(one: Risk) -> str:
    told = one.details.get("inferred") or one.details.get("within")
    at_once = " (many at once)" if one.details.get("matching") == "global" else ""
    return (", ".join(one.columns) or one.knowledge) + (f" → {told}" if told else at_once)


def _show_utility(found: Assessment) -> None:
    losses: dict[str, Any] = found.utility["columns"]
    rows = [
        [
            name,
            f"{one['changed']:.1%}",
            f"{one['rmse']:.4f}",
            f"{one['hellinger']:.4f}",
            f"{one.get('mean_shift', 0.0):.4f}",
        ]
        for name, one in losses.items()
    ]
    show_table(["column", "changed", "RMSE", "Hellinger", "shift of the mean"], rows)
    pairs = sorted(found.utility["pairs"], key=_change_of_correlation, reverse=True)
    rows = [
        [
            " × ".join(one["columns"]),
            f"{one['distance_correlation']['original']:.4f}",
            f"{one['distance_correlation']['masked']:.4f}",
        ]
        for one in pairs[:SHOWN_PAIRS]
    ]
    show_table(["pair", "distance correlation", "after masking"], rows)
    told = found.utility["table"].get("prediction")
    if told and "masked" in told:
        score = f"{told['original']:.4f} from the original, {told['masked']:.4f} from the release"
        show_facts("Prediction (1 is perfect)", [(told["column"], f"{score}, {told['blind']:.4f} blind")])


def _change_of_correlation(pair: dict[str, Any]) -> float:
    both = pair["distance_correlation"]
    return abs(float(both["original"]) - float(both["masked"]))
