"""The command ``anonto``: its subcommands, and the one place where errors become messages and exit codes.

Exit codes: 0 success, 2 user error, 1 internal error, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from anonto import stopping
from anonto.cli.assess import assess
from anonto.cli.demo import demo
from anonto.cli.init import init
from anonto.cli.mask import mask
from anonto.cli.match import match
from anonto.cli.methods import methods
from anonto.cli.ontology import ontologies, ontology
from anonto.cli.plan import plan
from anonto.cli.profile import profile
from anonto.cli.reproduce import reproduce
from anonto.cli.serve import serve
from anonto.cli.show import say_error, say_warning
from anonto.cli.split import split
from anonto.cli.start import main
from anonto.cli.sweep import sweep
from anonto.cli.verify import verify
from anonto.cli.warm_up import warm_up
from anonto.cli.widths import widths

__all__ = ["app", "main", "report_stop", "run"]

Misuse: type[Any] = typer.BadParameter.__mro__[1]
"""Typer's usage error, which it does not export."""

PANIC = "PanicException"
"""The panic of libraries written in Rust, which is not an `Exception`."""

app = typer.Typer(
    name="anonto",
    help="Anonymise tables about people by what their values mean.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(init)
app.command()(ontology)
app.command()(ontologies)
app.command()(match)
app.command()(profile)
app.command()(methods)
app.add_typer(plan, name="plan")
app.command()(split)
app.command()(mask)
app.command()(assess)
app.command()(sweep)
app.command()(verify)
app.command()(widths)
app.command()(reproduce)
app.command()(serve)
app.command()(warm_up)

STOPPED = "Stopped; nothing was left half-written."
"""Message after Ctrl-C, and after the end that a scheduler asks for."""


def _show_version(asked: bool) -> None:
    if asked:
        from anonto import __version__

        typer.echo(f"anonto {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Anonymise tables about people by what their values mean."""


def run(arguments: list[str]) -> int:
    """Run the command line; every failure prints one message on standard error."""
    from anonto.errors import AnontoWarning

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may not be valid text
    try:
        with warnings.catch_warnings():
            warnings.showwarning = say_warning
            warnings.simplefilter("always", AnontoWarning)
            found = app(arguments, prog_name="anonto", standalone_mode=False)
            code = found if isinstance(found, int) else 0
    except Misuse as error:
        if arguments:
            say_error(_usage_message(error))
        else:
            error.show()  # the help
        return 2
    except KeyboardInterrupt:
        return report_stop()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        return _report_failure(error)
    return report_stop() if code == stopping.INTERRUPTED else code  # so typer answers Ctrl-C


def report_stop() -> int:
    """Print that the command was stopped, and return the exit code."""
    stopping.ignore()
    say_error(STOPPED)
    return stopping.exit_code()


def _report_failure(error: BaseException) -> int:
    """Print the error and return the exit code; after a stop, any error counts as a consequence of it."""
    from anonto.errors import InputError

    if stopping.was_heard() or _was_interrupted(error):
        return report_stop()
    if isinstance(error, InputError):
        say_error(error.on_the_command_line)
        return 2
    if os.environ.get("ANONTO_DEBUG"):
        raise error
    say_error(
        f"anonto failed ({type(error).__name__}), an internal error: set ANONTO_DEBUG=1 to see where, and report it."
    )
    return 1


def _usage_message(error: Any) -> str:
    """The message about unknown or missing arguments."""
    command = error.ctx.command_path if error.ctx is not None else "anonto"
    said = " ".join(error.format_message().split()).rstrip(".")
    return f"{said}; `{command} -h` lists the options."


def _was_interrupted(error: BaseException) -> bool:
    """Return whether an error is a consequence of Ctrl-C, such as threads that can no longer be started."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KeyboardInterrupt):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
