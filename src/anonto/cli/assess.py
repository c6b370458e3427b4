"""``anonto assess``: attack a release, and measure its information loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.clusters import EngineChoice, EngineOption, MasterOption, open_tables
from anonto.cli.options import ForceOption, JsonOption
from anonto.cli.outputs import require_free_outputs
from anonto.cli.show import progress_bar, show_facts, show_json, show_table
from anonto.errors import ParameterError

if TYPE_CHECKING:
    from anonto.assessment.assess import Assessment
    from anonto.attacks.rate import Risk

SHOWN_PAIRS = 10
MATCHED = {"global": " (many at once)", "repeated": " (groups formed again)"}

EditionOption = Annotated[
    str,
    typer.Option(
        "--edition",
        help="Edition of the report: internal, or public, which masks the table a second time and needs --private.",
    ),
]
MapOption = Annotated[
    Path | None, typer.Option("--map", help="Other plans for the report's map: the output of `anonto sweep --json`.")
]
FrameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--frame",
        help="Add the evidence for a law or guideline to the report: "
        "wp29, ema-0070, health-canada, hipaa-safe-harbor, hipaa-expert, iso-27559 or edpb-01-2025; several separated "
        "by commas, or repeated.",
    ),
]
DriverMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="On a cluster: memory limit of the driver, such as 2GB; tables whose rows do not fit are attacked from "
        "counts.",
    ),
]


def assess(
    original: Annotated[Path, typer.Argument(help="The table that was masked.")],
    masked: Annotated[Path, typer.Argument(help="The release.")],
    *,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", "-p", help="The plan it was masked with; leave it out for a release of another tool."),
    ] = None,
    private: Annotated[
        Path | None, typer.Option("--private", help="Its private record, to restore the order of shuffled rows.")
    ] = None,
    same_order: Annotated[
        bool, typer.Option("--same-order", help="The rows are in the original order, though no column shows it.")
    ] = False,
    predict: Annotated[
        str | None,
        typer.Option("--predict", help="A column to predict from the others, to measure the loss of a model."),
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
    held_out: Annotated[
        Path | None,
        typer.Option(
            "--held-out", help="Persons like those of the table who were not masked, for attacks that compare."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also write the report, as one HTML file.")] = None,
    report_json: Annotated[
        Path | None, typer.Option("--report-json", help="Also write the content of the report, as JSON.")
    ] = None,
    edition: EditionOption = "internal",
    points: MapOption = None,
    frame: FrameOption = None,
    engine: EngineOption = EngineChoice.LOCAL,
    master: MasterOption = None,
    memory: DriverMemoryOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a release, using its original, and measure disclosure risk and information loss.

    Example: `anonto assess discharges.csv masked.csv --plan plan.toml --private masked.csv.private.json --report
    report.html`
    """
    from anonto.assessment.assess import assess as assess_release
    from anonto.assessment.assess import no_json_report, plan_needed
    from anonto.report.editions import edition_of
    from anonto.report.frames.registry import frames_named

    frames = [one.name for one in frames_named(frame or ())]
    if edition_of(edition) == "public" and points is not None:
        raise ParameterError("--map", "left out for the public edition, which has no map", "a file")
    reports = [one for one in (report, report_json) if one is not None]
    if plan is None and report_json is not None:
        raise no_json_report()
    for option, given in (("--map", points), ("--frame", frames or None)):
        if plan is None and given is not None:
            raise plan_needed(option)
    inputs = [original, masked, plan, private, second, second_plan, second_private, held_out, points]
    require_free_outputs(inputs, [plan, second_plan], reports, force=force)
    swept = None if points is None else _read_points(points)
    _require_fitting_engine(engine, {"--second": second, "--held-out": held_out}, memory)
    with (
        progress_bar("Attacking the release") as progress,
        open_tables(engine, master, original, masked) as (before, after),
    ):
        found = assess_release(
            before,
            after,
            plan,
            private=private,
            same_order=same_order,
            predict=predict,
            second=_second(second, second_plan),
            second_private=second_private,
            held_out=held_out,
            memory=memory,
            progress=progress,
        )
    if report is not None:
        found.to_html(report, edition=edition, sweep=swept, frames=frames, force=force)
    if report_json is not None:
        found.to_json(report_json, edition=edition, sweep=swept, frames=frames, force=force)
    if as_json:
        show_json(found.to_dict(frames=frames))
        return
    _show(found)
    _show_frames(found.to_dict(frames=frames).get("frames", []))
    if reports:
        show_facts("Reports", [(edition, str(one)) for one in reports])


def _require_fitting_engine(engine: EngineChoice, of_files: dict[str, Path | None], memory: str | None) -> None:
    from anonto.engine.refusals import not_for_clusters, only_for_clusters
    from anonto.runtime.memory_limit import parse_memory

    for option, given in of_files.items():
        if engine == EngineChoice.SPARK and given is not None:
            raise not_for_clusters(option)
    if memory is not None:
        if engine == EngineChoice.LOCAL:
            raise only_for_clusters("--memory")
        parse_memory(memory)


def _read_points(path: Path) -> Any:
    """Read the output of a sweep."""
    import json

    from anonto.ontology.source import open_file
    from anonto.report.map_points import points_of, unusable_points

    with open_file(path) as stream:
        content = stream.read()
    try:
        read = json.loads(content)
    except ValueError:
        raise unusable_points("a file of JSON") from None
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


def _show(found: Assessment) -> None:
    from anonto.report.limits import describe_untried

    for sentence in found.findings:
        typer.secho(sentence, fg=typer.colors.YELLOW)
    if found.findings:
        typer.echo()
    if found.worst is not None:
        _show_worst(found, found.worst)
    _show_risk(found)
    if found.plan is None:
        _show_foreign_losses(found)
        return
    for sentence in describe_untried({one.attack for one in found.risk}):
        typer.echo(sentence)
    _show_utility(found)


def _show_frames(frames: list[dict[str, Any]]) -> None:
    """The points of each frame with what is known of them; what they rest on is in the report."""
    for frame in frames:
        rows = [[one["asks"], one["status"], one["measured_by"]] for one in frame["statements"]]
        show_table([frame["title"], "", "measured by"], rows)
        typer.echo(f"{frame['summary']} {frame['notice']}")


def _show_foreign_losses(found: Assessment) -> None:
    """How much of each column another tool took away, and the columns that were not compared."""
    losses: dict[str, Any] = found.utility["columns"]
    rows = [[name, f"{one['suppressed']:.1%}", f"{one['generalised']:.1%}"] for name, one in losses.items()]
    show_table(["column", "suppressed", "generalised"], rows)
    facts = [("records", f"{found.facts['records']:,}"), ("persons", f"{found.facts['persons']:,}")]
    if found.facts["only_in_original"]:
        facts.append(("not released", ", ".join(found.facts["only_in_original"])))
    show_facts("Compared", facts)


def _show_worst(found: Assessment, worst: Risk) -> None:
    facts = [
        ("persons" if "released_rows" in found.facts else "records", f"{found.n_records:,}"),
        ("worst linkage", _rate(worst)),
        ("known", ", ".join(worst.columns) or worst.knowledge),
        ("by chance", f"{worst.baseline:.2%}"),
    ]
    declared, partial = found.worst_declared, found.partial
    if declared is not None and declared.columns != worst.columns:
        facts.append(("quasi-identifiers only", _rate(declared)))
    if partial is not None and partial.details["whole_rows"]:
        details = partial.details
        singled_out = f"{details['singled_out']:.2%} of persons singled out"
        by = f"by {len(partial.columns)} of {details['columns_that_leave']} columns"
        facts.append(("rows read", f"{singled_out} {by}, {details['read_right']:.2%} of their other cells right"))
    show_facts("Assessed (0 % is safe, 100 % is disclosed)", facts)


def _rate(one: Risk) -> str:
    return f"{one.rate:.2%} of persons ({one.low:.2%} to {one.high:.2%}), by {one.attack}"


def _show_risk(found: Assessment) -> None:
    rows = [
        [
            one.attack,
            _knowledge(one),
            f"{one.rate:.2%}",
            f"{one.low:.2%} – {one.high:.2%}",
            f"{one.baseline:.2%}",
            "" if one.control is None else f"{one.control:.2%}",
            f"{one.n:,}",
        ]
        for one in found.risk
    ]
    show_table(["attack", "known", "rate", "95 % interval", "baseline", "control", "n"], rows)


def _knowledge(one: Risk) -> str:
    from anonto.report.attacks import ABOUT

    target = next((one.details[name] for name in ABOUT if one.details.get(name)), None)
    at_once = MATCHED.get(one.details.get("matching", ""), "")
    return (", ".join(one.columns) or one.knowledge) + (f" → {target}" if target else at_once)


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
    if "weighted_by" in found.utility:
        typer.echo(f"What analysts lose, weighted by {found.utility['weighted_by']}:")
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
    prediction = found.utility["table"].get("prediction")
    if prediction and "masked" in prediction:
        score = f"{prediction['original']:.4f} from the original, {prediction['masked']:.4f} from the release"
        show_facts("Prediction (1 is perfect)", [(prediction["column"], f"{score}, {prediction['blind']:.4f} blind")])


def _change_of_correlation(pair: dict[str, Any]) -> float:
    both = pair["distance_correlation"]
    return abs(float(both["original"]) - float(both["masked"]))
