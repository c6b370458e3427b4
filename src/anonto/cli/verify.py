"""``anonto verify``: look for one's own record in a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.options import JsonOption
from anonto.cli.show import show_facts, show_json, show_status, show_table
from anonto.errors import InputError

if TYPE_CHECKING:
    from anonto.verify import Verification


def verify(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[RECORD] RELEASE", help="Your own record, a table of one row, and the released table."),
    ],
    *,
    plan: Annotated[Path, typer.Option("--plan", "-p", help="The plan that the release was masked with.")],
    cells: Annotated[
        list[str] | None,
        typer.Option("--set", help="A cell of your record as column=value, instead of a file; may be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look for your own record in a release: how many released records could be yours, and how close they are.

    Needs only your record, the release and its plan; neither the original nor the private record.

    Example: `anonto verify masked.csv --plan plan.toml --set principal_dx=I10 --set age=57`
    """
    from anonto.verify import verify as verify_record

    record, release = _inputs(files, cells or [])
    with show_status("Looking for your record"):
        found = verify_record(record, release, plan)
    if as_json:
        show_json(found.to_dict())
    else:
        _show(found)


def _inputs(files: list[Path], cells: list[str]) -> tuple[Any, Path]:
    """The record, from a file, from ``--set`` options, or both; and the release."""
    from anonto.errors import ParameterError

    most = 2
    if len(files) > most or (len(files) < most and not cells):
        needed = "two: your record and the release; or the release alone with --set for each column of your record"
        raise ParameterError("The number of files", needed, len(files))
    given = _cells(cells)
    if not given:
        return files[0], files[-1]
    if len(files) < most:
        return given, files[-1]
    return _with_cells(files[0], given), files[-1]


def _cells(words: list[str]) -> dict[str, str | None]:
    from anonto.wording import is_unicode

    cells: dict[str, str | None] = {}
    for place, word in enumerate(words, start=1):
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise not_a_setting(place)
        if not is_unicode(word):
            raise setting_not_text(place)
        cells[name] = value or None
    return cells


def _with_cells(file: Path, cells: dict[str, str | None]) -> Any:
    import polars as pl

    from anonto.io.reading import read_table
    from anonto.verify.own_record import not_one_record

    frame = read_table(file).frame
    if frame.height != 1:
        raise not_one_record(frame.height)
    return frame.with_columns(pl.lit(value, dtype=pl.String).alias(name) for name, value in cells.items())


def _show(found: Verification) -> None:
    typer.secho("Your record in the release", bold=True)
    for sentence in found.sentences:
        typer.echo(f"  {sentence}")
    show_table(
        ["method", "columns", "could be yours", "how it was found"],
        [
            [
                step["method"],
                ", ".join(step["columns"]),
                "unknown" if step["candidates"] is None else f"{step['candidates']:,}",
                step["how"],
            ]
            for step in found.steps
        ],
    )
    show_facts(
        "Released records close to yours in meaning",
        [("equal", f"{found.equal:,}"), *((f"within {distance:g}", f"{n:,}") for distance, n in found.within.items())],
    )


def not_a_setting(place: int) -> InputError:
    """A word that is not of the form column=value."""
    return InputError(f"--set number {place} is not of the form column=value; write for example --set age=40.")


def setting_not_text(place: int) -> InputError:
    """A word with bytes that are not text."""
    return InputError(f"--set number {place} has a byte that is not text; write column and value in UTF-8.")
