"""The server: pages, uploads and downloads behind the guard, while the command runs."""

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

from anonto.errors import InputError
from anonto.web.folders import SessionStore, state_folder, working_folder
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
    """Serve until the process is asked to end.

    Args:
        host: Address to listen on; by default only this machine.
        port: Port to listen on; by default 8080, or a free one if that is taken.
        folder: Folder from which files may be picked.
        demo: Whether a new session starts with the synthetic table.
        max_upload: Maximum bytes of an uploaded file.
        open_browser: Whether to open the start address.
        say: Prints a line.
    """
    listening = _listen(host, port)
    actual = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(32)
    os.umask(0o077)  # all files, also those of workers, are readable by their owner only
    with working_folder() as work:
        os.environ["NICEGUI_STORAGE_PATH"] = str(work / "framework")
        app, close = _app(work, host, actual, token, folder=folder, demo=demo, max_upload=max_upload)
        shown = "127.0.0.1" if host in {*LOOPBACK, *ANY_ADDRESS} and host != "::1" else host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{actual}/?token={token}"

        def announce() -> None:
            say(address)
            if open_browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        try:
            _serve(app, listening, announce)
        finally:
            close()


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket on the given port; without one, on the default or a free port."""
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
    raise taken_port(wanted[0], reason)


def _app(
    work: Path, host: str, port: int, token: str, *, folder: Path | None, demo: bool, max_upload: int
) -> tuple[Any, Callable[[], None]]:
    from fastapi import FastAPI
    from nicegui import ui

    from anonto.web.app import WebApp
    from anonto.web.files import add_routes
    from anonto.web.pages import add_pages
    from anonto.web.session import Sessions

    _keep_cells_out_of_logs()
    records = SessionStore(state_folder())
    sessions = Sessions(work, records)
    app = WebApp(sessions, folder.resolve() if folder else None, max_upload, demo)
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(server, app)
    add_pages(app)
    ui.run_with(
        server,
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
    guard = Guard(server, token=token, sessions=sessions, host=host, port=port, owner=_owner_of_page)
    return guard, sessions.close


def _owner_of_page(page: str) -> str | None:
    """The key of the session that a page belongs to."""
    from nicegui import Client

    client = Client.instances.get(page)
    owner: str | None = None if client is None else client.request.scope.get(KEY_OF_SCOPE)
    return owner


def _serve(app: Any, listening: socket.socket, announce: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                announce()

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
    _exit_on_signals()
    Server(config).run(sockets=[listening])


def _exit_on_signals() -> None:
    """Exit cleanly on a signal, so that the working folder is deleted."""

    def leave(number: int, frame: object) -> None:
        del number, frame
        raise SystemExit(0)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)


class _WithoutCells(logging.Filter):
    """Strips from a log record all that could hold a cell: arguments, exception messages, tracebacks."""

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


def taken_port(port: int, reason: str) -> InputError:
    """A port on which another program listens."""
    return InputError(f"The server cannot listen on port {port} ({reason}); choose another with --port.")
