"""``anonto serve``: the way from a table to a masked one in a browser, on this machine."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Annotated

import typer

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    *,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="By default 8080, or a free one if that is taken.")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; anything but this machine lets others reach the data.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Let files below this folder be picked in the page.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Start with a made-up table and everything filled in.")] = False,
    max_upload: Annotated[
        str, typer.Option("--max-upload", help="The largest file that can be dropped, such as 500MB.")
    ] = "2GB",
) -> None:
    """Open the web app: choose a table and a method in a browser, and take the masked table away.

    Prints the address to open, with the token that lets you in. The data never leaves this machine; what was dropped
    into the page is wiped when the command ends.

    Example: `anonto serve --folder ~/tables`
    """
    from importlib.util import find_spec

    from anonto.errors import MissingPackageError, NotAFolderError, OpenHostWarning
    from anonto.ontology.source import kind_of_path

    most = size_in_bytes(max_upload)
    if find_spec("nicegui") is None:
        raise MissingPackageError("The web app", "nicegui", "web")
    if folder is not None and kind_of_path(folder) != "folder":
        raise NotAFolderError(str(folder), "tables")
    if host not in LOOPBACK:
        warnings.warn(OpenHostWarning(host), stacklevel=2)
    from anonto.web.server import serve as serve_app

    try:
        serve_app(
            host=host,
            port=port,
            folder=folder,
            demo=demo,
            max_upload=most,
            open_browser=browser,
            say=typer.echo,
        )
    except KeyboardInterrupt:
        typer.echo("Stopped; what was left of the tables is wiped.", err=True)


def size_in_bytes(text: str) -> int:
    """A size as a number of bytes: 500MB, 2 GB, 1000."""
    from anonto.errors import SizeError

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text.upper())
    if found is None or not (size := int(float(found[1]) * UNITS[found[2]])):
        raise SizeError(text)
    return size
