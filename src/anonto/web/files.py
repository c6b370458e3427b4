"""Uploads and downloads: a dropped file is streamed to disk under a generated name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request  # noqa: TC002 - the framework reads the annotations
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.requests import ClientDisconnect

from anonto.errors import FileError
from anonto.masking.private_record import PrivateRecord
from anonto.web.app import DEMO
from anonto.web.drafts import files_of_plan, stem_of
from anonto.web.guard import KEY_OF_SCOPE
from anonto.web.session import HERE as OWN

if TYPE_CHECKING:
    from fastapi import FastAPI

    from anonto.web.app import WebApp
    from anonto.web.session import Session

HERE = Path(__file__).parent
ASSETS = {
    "style.css": "text/css",
    "events.js": "text/javascript",
    "tips.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
TAKEN: dict[str, str] = {
    "report": "report.html",
    "report-internal": "report-internal.html",
    "report-evidence": "report-evidence.html",
    "report-internal-evidence": "report-internal-evidence.html",
    "plan": "plan.toml",
    "private": "private.json",
}
"""Files of a run that can be downloaded as well as the table."""
REPORTS = ("report", "report-internal")
"""The files of an assessment of a release of another tool."""


def add_routes(server: FastAPI, app: WebApp) -> None:
    """Add the routes for uploads, downloads and static files."""

    @server.post("/upload")
    async def upload(request: Request) -> Response:
        session = app.sessions.of(request.scope[KEY_OF_SCOPE])
        announced = request.headers.get("content-length", "")
        too_large = JSONResponse({"error": str(too_large_upload(app.max_upload))}, status_code=413)
        if announced.isdigit() and int(announced) > app.max_upload:
            return too_large
        path = session.new_file()
        received = 0
        is_whole = False
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for piece in request.stream():
                    received += len(piece)
                    if received > app.max_upload:
                        return too_large
                    file.write(piece)
            is_whole = True
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            if not is_whole:
                path.unlink(missing_ok=True)
        return JSONResponse({"file": path.name})

    @server.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return Response(status_code=404)
        return FileResponse(HERE / name, media_type=ASSETS[name])

    @server.get("/take/{number}/{what}")
    async def take(number: int, what: str, request: Request) -> Response:
        session = app.sessions.of(request.scope[KEY_OF_SCOPE])
        run = session.run_of(number)
        found = run and (_file_of(session.run_folder(number), run, what) or _further_file(session, run, what))
        if not found:
            return Response("File not found.", status_code=404, media_type="text/plain")
        path, name = found
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    @server.get("/take-foreign/{what}")
    async def take_foreign(what: str, request: Request) -> Response:
        session = app.sessions.of(request.scope[KEY_OF_SCOPE])
        path = session.foreign_folder / TAKEN[what] if what in REPORTS and "found" in session.foreign else None
        if path is None or not path.is_file():
            return Response("File not found.", status_code=404, media_type="text/plain")
        name = f"{session.foreign['release']['name'].partition('.')[0] or 'release'}-{path.name}"
        return FileResponse(path, filename=name, media_type="application/octet-stream")


def _file_of(folder: Path, run: dict[str, Any], what: str) -> tuple[Path, str] | None:
    """A file of a run and its download name; None if there is no such file."""
    stem = stem_of(run["draft"])
    if what in TAKEN:
        path = folder / TAKEN[what]
        name = f"{stem}-{TAKEN[what]}"
        if what == "private":  # the name that the command line gives it
            name = PrivateRecord.path_for(f"{stem}-masked{run.get('ending', '')}").name
    else:
        ending = what.removeprefix("masked")
        known = {one.name for one in folder.glob("masked*")} if folder.is_dir() else set()
        if what not in known or not what.startswith("masked."):
            return None
        path, name = folder / what, f"{stem}-masked{ending}"
    return (path, name) if path.is_file() else None


def further_files(session: Session, run: dict[str, Any]) -> dict[str, str]:
    """Files that a plan needs and the server keeps: the synthetic table, and uploaded ontologies.

    A mapping from the name in the URL to the reference in the draft.
    """
    draft = run["draft"]
    kept = [ref for ref in files_of_plan(draft["plan"]) if ref.startswith(OWN) and session.is_here(ref)]
    found = {f"ontology-{place}": ref for place, ref in enumerate(kept, start=1)}
    table = draft["table"]
    if table.get("source") == DEMO and session.is_here(table["path"]):
        found["table"] = table["path"]
    return found


def name_of_further(run: dict[str, Any], reference: str) -> str:
    """The name of a file in the plan and the commands."""
    draft = run["draft"]
    known = {**draft["ontologies"], draft["table"]["path"]: draft["table"]["name"]}
    name: str = known.get(reference, reference.rpartition("/")[2])
    return name


def _further_file(session: Session, run: dict[str, Any], what: str) -> tuple[Path, str] | None:
    reference = further_files(session, run).get(what)
    return None if reference is None else (Path(session.path(reference)), name_of_further(run, reference))


def too_large_upload(limit: int) -> FileError:
    """A file larger than the limit for uploads."""
    return FileError(
        f"The file is larger than {limit / 1e6:,.0f} MB; start the server with a larger --max-upload, or open the "
        "file from the folder given with --folder."
    )
