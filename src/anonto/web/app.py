"""State shared by all pages of a server: its settings and sessions, and the actions of a user in a session."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import FileError, InputError, SessionChangedError, UnclearHeaderError
from anonto.web.drafts import are_about_the_same, files_of_plan
from anonto.web.jobs import BackgroundJob, run_plan, try_plans
from anonto.web.processes import Worker
from anonto.web.session import HERE, Session
from anonto.wording import quote_names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence

    from anonto.web.session import Sessions

TABLE_ENDINGS = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".tab", ".parquet", ".xlsx", ".xls", ".ods", ".sav",
    ".zsav", ".dta", ".xpt", ".sas7bdat",
)  # fmt: skip
DEMO = "demo"
"""The synthetic table: its folder within that of a session, and its source in the draft."""
SLOW = ("risk",)
"""Tasks that run in a separate process, so that others need not wait for them."""
WITH_ONTOLOGIES = ("risk", "estimate")
"""Tasks that need every ontology of the plan."""
MOST_FILES = 2_000
MOST_LOOKED_AT = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class WebApp:
    """A server."""

    sessions: Sessions
    folder: Path | None
    """Folder from which files may be picked."""
    max_upload: int
    demo: bool
    cache: dict[str, Any] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------ files of the machine

    def files(self, endings: tuple[str, ...]) -> list[str]:
        """Files in the folder with one of the extensions, by relative path; hidden files are left out."""
        if self.folder is None:
            return []
        found: list[str] = []
        looked_at = 0
        for place, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            looked_at += len(names)
            here = Path(place)
            found += [
                (here / name).relative_to(self.folder).as_posix()
                for name in sorted(names)
                if not name.startswith(".") and name.lower().endswith(endings)
            ]
            if len(found) >= MOST_FILES or looked_at >= MOST_LOOKED_AT:
                break
        return found[:MOST_FILES]

    def file(self, relative: str) -> Path:
        """A file in the folder; paths that lead out of it are refused."""
        if self.folder is None or "\x00" in relative:
            raise outside_folder()
        root = self.folder.resolve()
        path = (root / relative).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise outside_folder()
        return path

    def _links_outside(self, place: Path) -> list[str]:
        """Symbolic links in a folder whose targets lie outside the server's folder."""
        root = self.folder.resolve() if self.folder is not None else place.resolve()
        links = (one for one in place.iterdir() if one.is_symlink())
        return [str(one) for one in links if not one.resolve().is_relative_to(root)]

    # ------------------------------------------------------------------------------------------ opening a table

    async def open_demo(self, session: Session) -> None:
        """Open the synthetic table; once, even if several pages request it at the same time."""

        async def work() -> None:
            made = await session.desk.call("demo", {"folder": str(session.folder / DEMO)})
            await self._open(session, DEMO, "discharges.csv", made["path"])

        await session.openings.once("open the demo", work)

    async def open_picked(self, session: Session, relative: str, header: str | None = None) -> None:
        """Open a file of the folder; ``header`` as in a plan, if the user said what the first row is."""
        path = self.file(relative)
        work = partial(self._open, session, "folder", path.name, str(path), header)
        await session.openings.once(f"open {path}", work)

    async def open_upload(self, session: Session, stored: str, name: str, header: str | None = None) -> None:
        """Open an uploaded file; uploading the same table again continues with its plan."""
        upload = session.upload(stored)
        if upload is None:
            raise outside_folder()

        async def work() -> None:
            async with _take_upload(session, upload) as path:
                await self._open(session, "upload", _display_name(name), str(path), header)

        await session.openings.once(f"open {upload}", work)

    async def _open(self, session: Session, source: str, name: str, path: str, header: str | None = None) -> None:
        table: dict[str, Any] = {"source": source, "name": name, "path": session.reference(path)}
        before = session.table
        if source == "upload" and before is not None and before["path"] == table["path"]:
            header = header or session.plan.get("table", {}).get(
                "header"
            )  # the same content, for which the question about the first row is open
        options = {} if header is None else {"header": header}
        with _with_user_name(path, name):
            seen = await session.desk.call("open", {"table": {"path": path}, "plan": {"table": options}})
            table |= {"sha256": seen["sha256"], "n_records": seen["n_records"]}
            before = session.table
            if before is not None and source == before["source"] == "upload" and are_about_the_same(before, table):
                with session.change(f"Open {name} again") as draft:
                    draft["table"] = table
                return
            found = await self.propose(session, {"table": table, "repairs": {}, "plan": {"table": options}})
        with session.change(f"Open {name}") as draft:
            kept = {ref: one for ref, one in draft["ontologies"].items() if session.is_here(ref)}
            draft.update(table=table, repairs={}, ontologies=kept, held_out=None)
            take_proposal(draft, found)
        session.known["open"] = seen

    async def propose(self, session: Session, about: dict[str, Any]) -> dict[str, Any]:
        """The proposed plan for a table, with reasons.

        Args:
            session: Session whose ontologies are considered: uploaded ones, and those beside the table.
            about: The ``table`` and the ``repairs`` of a draft, and a ``plan`` that says how the file is read.
        """
        table = about["table"]
        options = {key: value for key, value in about["plan"].get("table", {}).items() if key != "person"}
        path = session.path(table["path"])
        asked = {
            "table": {"path": path, "repairs": about["repairs"]},
            "plan": {"table": options},
            "ontologies": [session.path(ref) for ref in session.draft["ontologies"] if session.is_here(ref)],
            "folders": [] if table["source"] == "upload" else [str(Path(path).parent)],
            "leave_out": self._links_outside(Path(path).parent) if table["source"] == "folder" else [],
        }
        found = await session.desk.call("propose", asked)
        plan = session.take_plan(found["plan"])
        return {"plan": {**plan, "table": options} if options else plan, "reasons": found["reasons"]}

    async def ready(self, session: Session, *, with_ontologies: bool = False) -> None:
        """Make the session's table available, also after a restart; refused if it must be uploaded again."""
        table = session.table
        if table is None:
            return
        needed = [table["path"], *files_of_plan(session.plan)]
        if any(ref.startswith(f"{HERE}{DEMO}/") and not session.is_here(ref) for ref in needed):
            given = {"folder": str(session.folder / DEMO)}
            await session.openings.once("make the demo", lambda: session.desk.call("demo", given))
        if not session.is_here(table["path"]):
            raise deleted_table(table["name"])
        gone = [ref for ref in files_of_plan(session.plan) if not session.is_here(ref)]
        if with_ontologies and gone:
            raise deleted_ontologies([session.name_of(ref) for ref in gone])

    async def ask(self, session: Session, task: str, **given: Any) -> dict[str, Any]:
        """Ask the workers about the draft: answers are cached, and requests cancelled, until it changes."""
        key = f"{task} {sorted(given.items())!r}" if given else task
        if key not in session.known:
            await self.ready(session, with_ontologies=task in WITH_ONTOLOGIES)
        known, asked = session.known, {**session.task_input(), **given}

        async def answer() -> dict[str, Any]:
            known[key] = await _answer(session, task, asked)
            found: dict[str, Any] = known[key]
            return found

        found: dict[str, Any] = known[key] if key in known else await session.questions.once(key, answer)
        return found

    async def read_ontology(self, session: Session, path: str, name: str) -> dict[str, Any]:
        """Summary of an ontology file; refused if it cannot be read."""
        with _with_user_name(path, name):
            return await session.desk.call("card", {"ontology": path})

    async def read_dropped_ontology(self, session: Session, stored: str, name: str) -> tuple[str, dict[str, Any]]:
        """Path and summary of an uploaded ontology file; a file that is refused is deleted."""
        upload = session.upload(stored)
        if upload is None:
            raise outside_folder()
        async with _take_upload(session, upload) as path:
            return str(path), await self.read_ontology(session, str(path), name)

    # ------------------------------------------------------------------------------------------ further tables

    async def look_at_picked(self, session: Session, relative: str, reading: dict[str, Any]) -> dict[str, Any]:
        """A further table of the folder: its name, path and records; refused if it cannot be read.

        Args:
            session: The session.
            relative: The path in the folder.
            reading: How the file is read, as in the table section of a plan.
        """
        path = self.file(relative)
        return await self._look_at(session, path, path.name, reading)

    async def look_at_upload(self, session: Session, stored: str, name: str, reading: dict[str, Any]) -> dict[str, Any]:
        """The same of an uploaded file, which is deleted if it is refused."""
        upload = session.upload(stored)
        if upload is None:
            raise outside_folder()
        async with _take_upload(session, upload) as path:
            return await self._look_at(session, path, _display_name(name), reading)

    async def _look_at(self, session: Session, path: Path, name: str, reading: dict[str, Any]) -> dict[str, Any]:
        with _with_user_name(str(path), name):
            seen = await session.desk.call("open", {"table": {"path": str(path)}, "plan": {"table": reading}})
        return {"name": name, "path": session.reference(str(path)), "n_records": seen["n_records"]}

    async def assess_foreign(self, session: Session) -> None:
        """Attack the release of another tool whose files the session has."""
        files = {key: one for key, one in session.foreign.items() if key != "found"}
        session.foreign = files
        given = {key: session.path(one["path"]) for key, one in files.items()}
        worker = Worker()
        try:
            found = await worker.call("foreign", {**given, "folder": str(session.foreign_folder)})
        finally:
            worker.stop()
        if session.foreign is not files:  # other files were chosen meanwhile
            raise SessionChangedError
        session.foreign = {**files, "found": found["report"]}

    # ------------------------------------------------------------------------------------------ work in processes

    async def start(
        self,
        session: Session,
        kind: str,
        expected: dict[str, float],
        *,
        version: int,
        asked: dict[str, Any] | None = None,
    ) -> None:
        """Start a job in a separate process; a running job is stopped.

        Args:
            session: Session whose draft is run, or varied.
            kind: ``run``, ``sweep`` with a grid, or ``best plan`` with a risk.
            expected: Expected seconds of each phase.
            version: Version of the draft that the user has seen; refused if it is outdated.
            asked: ``grid``, the steps of each plan of a sweep, or ``max_risk``.
        """
        await self.ready(session, with_ontologies=True)
        held_out = session.draft.get("held_out")
        if kind == "run" and held_out is not None and not session.is_here(held_out["path"]):
            raise deleted_table(held_out["name"])
        if session.version != version:
            raise SessionChangedError
        if session.job is not None:
            session.job.stop()
        draft = copy.deepcopy(session.draft)
        if kind == "run":
            number = session.new_number()
            session.job = BackgroundJob(kind, expected, draft, number)
            self._keep(run_plan(session, session.job, number))
        else:
            session.job = BackgroundJob(kind, expected, draft)
            self._keep(try_plans(session, session.job, asked or {}))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = self.cache.setdefault("tasks", set())
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def take_proposal(draft: dict[str, Any], found: dict[str, Any]) -> None:
    """Put a proposal into a draft, and register the ontologies that it found."""
    draft.update(plan=found["plan"], reasons=found["reasons"])
    for ref in files_of_plan(found["plan"]):
        draft["ontologies"].setdefault(ref, Path(ref).name)


async def _answer(session: Session, task: str, asked: dict[str, Any]) -> dict[str, Any]:
    if task not in SLOW:
        return await (session.estimator if task == "estimate" else session.desk).call(task, asked)
    worker = Worker()
    try:
        return await worker.call(task, asked)
    finally:
        worker.stop()


@contextlib.asynccontextmanager
async def _take_upload(session: Session, upload: Path) -> AsyncIterator[Path]:
    """An upload, named by its content; deleted if it is rejected, unless a question about it is still open."""
    from anonto.ontology.source import file_sha256

    path, is_new = upload, True
    try:
        path, is_new = session.settle(upload, await asyncio.to_thread(file_sha256, upload))
        session.known = {}  # what could not be read before may be readable now
        yield path
    except UnclearHeaderError:
        if is_new:
            path.rename(upload)
        else:
            upload.hardlink_to(path)
        raise
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _with_user_name(path: str, name: str) -> Iterator[None]:
    """Put the user's name of a file into error messages."""
    try:
        yield
    except InputError as error:
        error.args = (str(error).replace(Path(path).name, name),)
        raise


def _display_name(name: str) -> str:
    """Display name of an upload."""
    bare = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in bare if sign.isprintable())[:120] or "table"


def outside_folder() -> FileError:
    """A path outside the folder that was given."""
    return FileError("This file is not in the folder that the server was started with; choose another.")


def deleted_table(name: str) -> FileError:
    """A table that was uploaded and has been deleted since."""
    return FileError(
        f"The server does not keep a copy of {name!r} when it restarts: drop the same file again to continue where you "
        "were."
    )


def deleted_ontologies(names: Sequence[str]) -> FileError:
    """Ontologies that were uploaded and have been deleted since."""
    return FileError(
        f"The server does not keep a copy of {quote_names(names)} when it restarts: drop the same ontology again "
        "on the page “Columns”, or choose another for its columns."
    )
