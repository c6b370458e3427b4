"""Files in and out: what is dropped is streamed to disk under a name of our own, what is taken away is sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request  # noqa: TC002 - the framework reads the annotations
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.requests import ClientDisconnect

from anonto.errors import UploadTooLargeError
from anonto.private_record import PrivateRecord
from anonto.web.drafts import files_of_plan, stem_of
from anonto.web.guard import KEY_OF_SCOPE
from anonto.web.house import DEMO
from anonto.web.session import HERE as OWN

if TYPE_CHECKING:
    from fastapi import FastAPI

    from anonto.web.house import House
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
    "plan": "plan.toml",
    "private": "private.json",
}
"""What can be taken of a run besides the table, and its file."""


def add_routes(app: FastAPI, house: House) -> None:
    """The addresses that are no pages."""

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        session = house.sessions.of(request.scope[KEY_OF_SCOPE])
        announced = request.headers.get("content-length", "")
        too_large = JSONResponse({"error": str(UploadTooLargeError(house.max_upload))}, status_code=413)
        if announced.isdigit() and int(announced) > house.max_upload:
            return too_large
        path = session.new_file()
        received = 0
        is_whole = False
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for piece in request.stream():
                    received += len(piece)
                    if received > house.max_upload:
                        return too_large
                    file.write(piece)
            is_whole = True
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            if not is_whole:
                path.unlink(missing_ok=True)
        return JSONResponse({"file": path.name})

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return Response(status_code=404)
        return FileResponse(HERE / name, media_type=ASSETS[name])

    @app.get("/take/{number}/{what}")
    async def take(number: int, what: str, request: Request) -> Response:
        session = house.sessions.of(request.scope[KEY_OF_SCOPE])
        run = session.run_of(number)
        found = None if run is None else _file_of(session.run_folder(number), run, what) or _beside(session, run, what)
        if found is None:
            return Response("There is no such file.", status_code=404, media_type="text/plain")
        path, name = found
        return FileResponse(path, filename=name, media_type="application/octet-stream")


def _file_of(folder: Path, run: dict[str, Any], what: str) -> tuple[Path, str] | None:
    """A file of a run, and the name it is downloaded by; None for what is not there to be taken."""
    stem = stem_of(run["draft"])
    if what in TAKEN:
        path = folder / TAKEN[what]
        name = f"{stem}-{TAKEN[what]}"
        if what == "private":  # as the command line calls it
            name = PrivateRecord.beside(f"{stem}-masked{run.get('ending', '')}").name
    else:
        ending = what.removeprefix("masked")
        known = {one.name for one in folder.glob("masked*")} if folder.is_dir() else set()
        if what not in known or not what.startswith("masked."):
            return None
        path, name = folder / what, f"{stem}-masked{ending}"
    return (path, name) if path.is_file() else None


def beside(session: Session, run: dict[str, Any]) -> dict[str, str]:
    """What a plan needs beside it and the server keeps: the made-up table, and ontologies that came into the page.

    By the name in the address: how the draft names the file.
    """
    draft = run["draft"]
    kept = [ref for ref in files_of_plan(draft["plan"]) if ref.startswith(OWN) and session.is_here(ref)]
    found = {f"ontology-{place}": ref for place, ref in enumerate(kept, start=1)}
    table = draft["table"]
    if table.get("source") == DEMO and session.is_here(table["path"]):
        found["table"] = table["path"]
    return found


def name_beside(run: dict[str, Any], reference: str) -> str:
    """The name that the plan and the commands know a file by."""
    draft = run["draft"]
    known = {**draft["ontologies"], draft["table"]["path"]: draft["table"]["name"]}
    name: str = known.get(reference, reference.rpartition("/")[2])
    return name


def _beside(session: Session, run: dict[str, Any], what: str) -> tuple[Path, str] | None:
    reference = beside(session, run).get(what)
    return None if reference is None else (Path(session.path(reference)), name_beside(run, reference))
