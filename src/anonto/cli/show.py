"""How the command line speaks: sentences on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


def say_error(sentence: str) -> None:
    """Say what went wrong."""
    typer.secho(f"Error: {sentence}", fg=typer.colors.RED, err=True)


def say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning of the package in one line; other libraries' warnings are not for the user."""
    del filename, lineno, file, line
    from anonto.errors import AnontoWarning

    if issubclass(category, AnontoWarning):
        typer.secho(f"Warning: {message}", fg=typer.colors.YELLOW, err=True)


def show_json(data: Any) -> None:
    """Print data for machines."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def show_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and aligned pairs of words."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    typer.secho(title, bold=True)
    for name, fact in rows:
        typer.echo(f"  {name:<{width}}  {fact}")


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, wrapped to the terminal when there is one."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 200
    Console(markup=False, highlight=False, width=width).print(table)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is being done, on a terminal, once it has taken a second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{what} …")
    timer = threading.Timer(1.0, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, to be told how many are done, and of how many; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda n_done, n_all: bar.update(task, completed=n_done, total=n_all)
