"""The server: pages, uploads and downloads behind the guard, for the time of one command."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import PortTakenError
from anonto.web.folders import Records, state_folder, working_folder
from anonto.web.guard import KEY_OF_SCOPE, LOOPBACK, Guard

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_PORT = 8080
ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    folder: Path | None = None,
    demo: bool = False,
    max_upload: int = 2 * 10**9,
    open_browser: bool = True,
    say: Callable[[str], None],
) -> None:
    """Serve until the process is told to end.

    Args:
        host: Where to listen; this machine alone by default.
        port: On which port; by default 8080, or a free one if that is taken.
        folder: Below which files may be picked.
        demo: Whether a new session starts with the made-up table.
        max_upload: The most bytes of a file that is dropped.
        open_browser: Whether to open the start address.
        say: Prints a line.
    """
    listening = _listening(host, port)
    actual = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(32)
    os.umask(0o077)  # whatever is written, by the workers too, is for its owner alone
    with working_folder() as work:
        os.environ["NICEGUI_STORAGE_PATH"] = str(work / "framework")
        app, close = _app(work, host, actual, token, folder=folder, demo=demo, max_upload=max_upload)
        shown = "127.0.0.1" if host in {*LOOPBACK, *ANY_ADDRESS} and host != "::1" else host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{actual}/?token={token}"

        def started() -> None:
            say(address)
            if open_browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        try:
            _serve(app, listening, started)
        finally:
            close()


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens, on the wanted port or, if none is wanted, on the usual or a free one."""
    wanted = [port] if port is not None else [DEFAULT_PORT, 0]
    reason = ""
    for one in wanted:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, one))
        except (OSError, OverflowError) as error:
            found.close()
            reason = getattr(error, "strerror", None) or "it cannot be used"
            continue
        return found
    raise PortTakenError(wanted[0], reason)


def _app(
    work: Path, host: str, port: int, token: str, *, folder: Path | None, demo: bool, max_upload: int
) -> tuple[Any, Callable[[], None]]:
    from fastapi import FastAPI
    from nicegui import ui

    from anonto.web.files import add_routes
    from anonto.web.house import House
    from anonto.web.pages import add_pages
    from anonto.web.session import Sessions

    _keep_cells_out_of_logs()
    records = Records(state_folder())
    sessions = Sessions(work, records)
    house = House(sessions, folder.resolve() if folder else None, max_upload, demo)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, house)
    add_pages(house)
    ui.run_with(
        app,
        title="anonto",
        language="en-US",
        dark=False,
        tailwind=False,
        gzip_middleware_factory=None,
        binding_refresh_interval=None,
        show_welcome_message=False,
        reconnect_timeout=20.0,
        favicon=Path(__file__).parent / "icon.svg",
    )
    guard = Guard(app, token=token, sessions=sessions, host=host, port=port, owner=_owner_of_page)
    return guard, sessions.close


def _owner_of_page(page: str) -> str | None:
    """The key of the session for which a page was made."""
    from nicegui import Client

    client = Client.instances.get(page)
    owner: str | None = None if client is None else client.request.scope.get(KEY_OF_SCOPE)
    return owner


def _serve(app: Any, listening: socket.socket, started: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
        ws_max_size=4 << 20,
        lifespan="on",
    )
    _end_in_order()
    Server(config).run(sockets=[listening])


def _end_in_order() -> None:
    """Let a signal to end run what must be done at the end, as wiping the working folder."""

    def leave(number: int, frame: object) -> None:
        del number, frame
        raise SystemExit(0)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)


class _WithoutCells(logging.Filter):
    """Leaves of a record nothing that could hold a cell: no arguments, no message of an exception, no trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        if isinstance(record.msg, BaseException):
            kind = type(record.msg).__name__
        record.msg, record.args, record.exc_info, record.exc_text = (
            f"the app failed ({kind or 'see the page'})",
            (),
            None,
            None,
        )
        return True


def _keep_cells_out_of_logs() -> None:
    if not os.environ.get("ANONTO_DEBUG"):
        for name in ("nicegui", "asyncio", "uvicorn.error"):
            logging.getLogger(name).addFilter(_WithoutCells())
