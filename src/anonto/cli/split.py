"""``anonto split``: persons to mask, and persons held out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anonto.cli.options import ForceOption, JsonOption, TableArgument
from anonto.cli.show import show_facts, show_json


def split(
    table: TableArgument,
    *,
    to_mask: Annotated[Path, typer.Option("--to-mask", help="The rows to mask; the suffix names the format.")],
    held_out: Annotated[Path, typer.Option("--held-out", help="The rows held out, for `anonto assess --held-out`.")],
    share: Annotated[float, typer.Option("--share", help="The share of persons who are held out.")] = 0.2,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", "-p", help="The plan, which says whose rows these are and how to read them."),
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="Without a plan: the column that says whose rows these are.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Makes the parts reproducible; a short seed can be guessed.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Split a table into persons to mask and persons held out, drawn at random.

    Example: `anonto split discharges.csv --to-mask part.csv --held-out others.csv --plan plan.toml`
    """
    from anonto.assessment.split import split_file

    rows = split_file(table, to_mask, held_out, share, person=person, plan=plan, seed=seed, force=force)
    if as_json:
        show_json(rows)
        return
    written = zip((to_mask, held_out), rows.values(), strict=True)
    names = ("to mask", "held out")
    show_facts("Split", [(name, f"{n:,} rows in {file}") for name, (file, n) in zip(names, written, strict=True)])
