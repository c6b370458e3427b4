"""Options about the population that a table is a sample of, and its risk on the terminal; for several commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anonto.cli.show import show_facts, show_table
from anonto.errors import ParameterError

FractionOption = Annotated[
    float | None,
    typer.Option("--sampling-fraction", help="Share of the population that the table is a sample of, such as 0.1."),
]
PopulationOption = Annotated[
    str | None,
    typer.Option(
        "--population", help="The population that the table is a sample of: a number of people, or a table of them."
    ),
]


def parse_population(given: str | None) -> int | str | None:
    """A number of people, or the path of a table."""
    if given is None or not given.strip().lstrip("+-").replace(",", "").replace("_", "").isdecimal():
        return given
    number = int(given.replace(",", "").replace("_", ""))
    if number < 1:
        raise ParameterError("--population", "a number of people, 1 or more, or a table", given)
    return number


def show_population(found: dict[str, Any]) -> None:
    """Print the risk in the population."""
    facts = [
        ("quasi-identifiers", ", ".join(found["columns"])),
        ("sample", f"{found['persons']:,} persons in {found['classes']:,} classes"),
        ("population", f"{found['population']:,.0f} people, from {found['estimated_from']}"),
        ("sampled", f"{found['sampling_fraction']:.4%}"),
    ]
    show_facts("Risk in the population", facts)
    rows = [
        [
            f"{one['model']} (chosen)" if one["model"] == found["chosen"] else one["model"],
            "no solution" if one["value"] is None else f"{one['value']:.4f}",
            _interval(one),
            one["interval"],
            one["assumption"],
        ]
        for one in found["population_uniqueness"]
    ]
    show_table(["share of people who are unique", "estimate", "95 % interval", "by", "if"], rows)
    if "left_out" in found["log_linear"]:
        typer.echo(f"No log-linear model: {found['log_linear']['left_out']}.")
    rows = [
        [
            one["intruder"],
            f"{one['mean']:.2%}",
            _interval(one, percent=True),
            "" if one["highest"] is None else f"{one['highest']:.2%}",
            "" if one["at_risk"] is None else f"{one['at_risk']:.2%}",
            one["assumption"],
        ]
        for one in found["intruders"]
    ]
    at_risk = f"persons above 1/{found['k']}"
    show_table(["intruder", "mean risk", "95 % interval", "highest", at_risk, "if"], rows)


def _interval(one: dict[str, Any], *, percent: bool = False) -> str:
    if one["low"] is None:
        return ""
    if one["interval"] == "exact":
        return "exact"
    return f"{one['low']:.2%} – {one['high']:.2%}" if percent else f"{one['low']:.4f} – {one['high']:.4f}"
