"""``anonto assess``: attack a release, and measure what it lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.ontology import JsonOption
from anonto.cli.show import show_facts, show_json, show_table, working

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
    as_json: JsonOption = False,
) -> None:
    """Attack a release with its original in hand, and measure what an analyst lost.

    Example: `anonto assess discharges.csv masked.csv --plan plan.toml --private masked.csv.private.json`
    """
    from anonto.assessment import assess as assess_release

    with working("Attacking the release"):
        found = assess_release(original, masked, plan, private=private, same_order=same_order, predict=predict)
    if as_json:
        show_json(found.to_dict())
        return
    _show_worst(found)
    _show_risk(found)
    _show_utility(found)


def _show_worst(found: Assessment) -> None:
    worst = found.worst
    if worst is None:
        return
    facts = [
        ("records", f"{found.n_records:,}"),
        ("worst linkage", f"{worst.rate:.2%} of persons ({worst.low:.2%} to {worst.high:.2%}), by {worst.attack}"),
        ("known", ", ".join(worst.columns)),
        ("by chance", f"{worst.baseline:.2%}"),
    ]
    show_facts("Assessed (0 % is safe, 100 % is disclosed)", facts)


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
    return ", ".join(one.columns) + (f" → {told}" if told else "")


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
