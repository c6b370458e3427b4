"""``anonto serve``: mask a table in a browser, on this machine."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Annotated

import typer

from anonto.errors import AnontoWarning

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    *,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="By default 8080, or a free one if that is taken.")
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on; any address other than this machine's own lets others reach the data."
        ),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Allow picking files from this folder in the page.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Start with a synthetic table and a complete plan.")] = False,
    max_upload: Annotated[str, typer.Option("--max-upload", help="Maximum size of an upload, such as 500MB.")] = "2GB",
) -> None:
    """Open the web app: choose a table and a method in a browser, and download the masked table.

    Prints the address to open, with its access token. The data never leaves this machine; uploads are deleted when the
    command ends.

    Example: `anonto serve --folder ~/tables`
    """
    from importlib.util import find_spec

    from anonto.errors import MissingPackageError
    from anonto.ontology.refusals import not_a_folder
    from anonto.ontology.source import kind_of_path

    most = size_in_bytes(max_upload)
    if find_spec("nicegui") is None:
        raise MissingPackageError("The web app", "nicegui", "web")
    if folder is not None and kind_of_path(folder) != "folder":
        raise not_a_folder(str(folder), "tables")
    if host not in LOOPBACK:
        warnings.warn(open_host(host), stacklevel=2)
    from anonto.web.server import serve as serve_app

    try:
        serve_app(host=host, port=port, folder=folder, demo=demo, max_upload=most, open_browser=browser, say=typer.echo)
    except KeyboardInterrupt:
        typer.echo("Stopped; all tables are deleted.", err=True)


def size_in_bytes(text: str) -> int:
    """A size as a number of bytes: 500MB, 2 GB, 1000."""
    from anonto.errors import ParameterError

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text.upper())
    if found is None or not (size := int(float(found[1]) * UNITS[found[2]])):
        raise ParameterError("--max-upload", "a size such as 500MB or 2GB", text)
    return size


def open_host(host: str) -> AnontoWarning:
    """A server that other machines can reach."""
    return AnontoWarning(
        f"Listening on {host!r}: others on the network can reach the app and, with its address, the data; the "
        "connection is not encrypted."
    )
