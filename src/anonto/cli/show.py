"""Output of the command line: messages on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def say_error(sentence: str) -> None:
    """Print an error."""
    typer.secho(f"Error: {sentence}", fg=typer.colors.RED, err=True)


def say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of the package in one line; warnings of other libraries are not shown."""
    del filename, lineno, file, line
    from anonto.errors import AnontoWarning

    if issubclass(category, AnontoWarning):
        typer.secho(f"Warning: {message}", fg=typer.colors.YELLOW, err=True)


def show_json(data: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def show_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and aligned pairs of name and value."""
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
def show_status(what: str) -> Iterator[None]:
    """Show a progress message on a terminal, after one second."""
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


class Bar(Protocol):
    """A progress bar."""

    def __call__(self, n_done: int, n_all: int, now: str = "", /) -> None:
        """Show how many parts are done, how many there are, and what is done now."""


@contextmanager
def progress_bar(what: str) -> Iterator[Bar | None]:
    """A progress bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(n_done: int, n_all: int, now: str = "", /) -> None:
            bar.update(task, completed=n_done, total=n_all, description=f"{what}: {now}" if now else what)

        yield show
