"""``anonto methods``: the masking methods, and the parameters of one of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anonto.cli.options import JsonOption
from anonto.cli.show import show_facts, show_json, show_table


def methods(
    name: Annotated[str | None, typer.Argument(help="A method; without it all are listed.")] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the masking methods with their guarantees, or print one with its parameters.

    Methods of other packages are included.

    Example: `anonto methods group-swap`
    """
    from anonto.methods.registry import METHODS, unknown_method
    from anonto.methods.schema import describe_method

    if name is not None and name not in METHODS:
        raise unknown_method(name, METHODS)
    found = [describe_method(METHODS[one]) for one in ([name] if name is not None else METHODS)]
    if as_json:
        show_json({"methods": found} if name is None else found[0])
    elif name is None:
        rows = [(one["name"], one["summary"].replace("`", ""), one["proves"]) for one in found]
        show_table(("method", "what it does", "proved"), rows)
    else:
        _show(found[0])


def _show(method: dict[str, Any]) -> None:
    show_facts(
        f"{method['name']}: {method['title']}",
        [
            ("does", method["does"]),
            ("columns", method["columns"]),
            ("keeps", method["keeps"].removeprefix("Keeps ")),
            ("proves", method["proved"] or "none; judge it by the attacks"),
        ],
    )
    if not method["parameters"]:
        typer.echo("It has no parameters.")
        return
    rows = [(one["name"], one["must"], one["assumed"], one["why"]) for one in method["parameters"]]
    show_table(("parameter", "must be", "default", "what for"), rows)
