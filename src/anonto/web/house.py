"""What all pages of a server share: its settings, its sessions, and what the user can do in one."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import (
    OutsideFolderError,
    SessionChangedError,
    UnclearHeaderError,
    VanishedOntologyError,
    VanishedTableError,
    WorkRefusedError,
)
from anonto.web.drafts import are_about_the_same, files_of_plan
from anonto.web.jobs import Job, carry_out, try_plans
from anonto.web.processes import Worker
from anonto.web.session import HERE, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from anonto.web.session import Sessions

TABLE_ENDINGS = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".tab", ".parquet", ".xlsx", ".xls", ".ods", ".sav",
    ".zsav", ".dta", ".xpt", ".sas7bdat",
)  # fmt: skip
DEMO = "demo"
"""The folder of the made-up table in that of a session, and where such a table comes from."""
SLOW = ("risk",)
"""Questions that have a process of their own, so that others need not wait for them."""
WITH_ONTOLOGIES = ("risk", "estimate")
"""Questions that cannot be answered without every ontology of the plan."""
MOST_FILES = 2_000
MOST_LOOKED_AT = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class House:
    """A server."""

    sessions: Sessions
    folder: Path | None
    """Below which files may be picked."""
    max_upload: int
    demo: bool
    cache: dict[str, Any] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------ files of the machine

    def files(self, endings: tuple[str, ...]) -> list[str]:
        """Files below the folder with one of some endings, by their paths from it; hidden ones are left out."""
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
        """A file below the folder; whatever leads out of it is refused."""
        if self.folder is None or "\x00" in relative:
            raise OutsideFolderError
        root = self.folder.resolve()
        path = (root / relative).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise OutsideFolderError
        return path

    def _led_out(self, place: Path) -> list[str]:
        """The links in a folder whose files are not below the folder that was given at the start."""
        root = self.folder.resolve() if self.folder is not None else place.resolve()
        links = (one for one in place.iterdir() if one.is_symlink())
        return [str(one) for one in links if not one.resolve().is_relative_to(root)]

    # ------------------------------------------------------------------------------------------ opening a table

    async def open_demo(self, session: Session) -> None:
        """Open the made-up table; once, however many pages ask for it at the same time."""

        async def work() -> None:
            made = await session.desk.call("demo", {"folder": str(session.folder / DEMO)})
            await self._open(session, DEMO, "discharges.csv", made["path"])

        await session.openings.once("open the demo", work)

    async def open_picked(self, session: Session, relative: str, header: str | None = None) -> None:
        """Open a file below the folder; header as in a plan, if the user said what the first row is."""
        path = self.file(relative)
        work = partial(self._open, session, "folder", path.name, str(path), header)
        await session.openings.once(f"open {path}", work)

    async def open_upload(self, session: Session, stored: str, name: str, header: str | None = None) -> None:
        """Open a file that was dropped; the same table again goes on where the plan was."""
        upload = session.upload(stored)
        if upload is None:
            raise OutsideFolderError

        async def work() -> None:
            async with _kept_if_taken(session, upload) as path:
                await self._open(session, "upload", _shown(name), str(path), header)

        await session.openings.once(f"open {upload}", work)

    async def _open(self, session: Session, source: str, name: str, path: str, header: str | None = None) -> None:
        table: dict[str, Any] = {"source": source, "name": name, "path": session.reference(path)}
        before = session.table
        if source == "upload" and before is not None and before["path"] == table["path"]:
            header = header or session.plan.get("table", {}).get("header")  # the same content, which was asked about
        options = {} if header is None else {"header": header}
        with _named(path, name):
            seen = await session.desk.call("open", {"table": {"path": path}, "plan": {"table": options}})
            table |= {"sha256": seen["sha256"], "n_records": seen["n_records"]}
            before = session.table
            if before is not None and source == before["source"] == "upload" and are_about_the_same(before, table):
                with session.changing(f"Open {name} again") as draft:
                    draft["table"] = table
                return
            found = await self.propose(session, {"table": table, "repairs": {}, "plan": {"table": options}})
        with session.changing(f"Open {name}") as draft:
            kept = {ref: one for ref, one in draft["ontologies"].items() if session.is_here(ref)}
            draft.update(table=table, repairs={}, ontologies=kept)
            take_proposal(draft, found)
        session.known["open"] = seen

    async def propose(self, session: Session, about: dict[str, Any]) -> dict[str, Any]:
        """The plan that is proposed for a table, with its reasons.

        Args:
            session: Whose ontologies are considered: those that were brought, and those that lie beside the table.
            about: The ``table`` and the ``repairs`` of a draft, and a ``plan`` that says how the file is read.
        """
        table, options = about["table"], about["plan"].get("table", {})
        path = session.path(table["path"])
        asked = {
            "table": {"path": path, "repairs": about["repairs"]},
            "plan": {"table": options},
            "ontologies": [session.path(ref) for ref in session.draft["ontologies"] if session.is_here(ref)],
            "folders": [] if table["source"] == "upload" else [str(Path(path).parent)],
            "leave_out": self._led_out(Path(path).parent) if table["source"] == "folder" else [],
        }
        found = await session.desk.call("propose", asked)
        plan = session.take_plan(found["plan"])
        return {"plan": {**plan, "table": options} if options else plan, "reasons": found["reasons"]}

    async def ready(self, session: Session, *, with_ontologies: bool = False) -> None:
        """Have the table of the session there, after a restart too; refused where only the user has it."""
        table = session.table
        if table is None:
            return
        needed = [table["path"], *files_of_plan(session.plan)]
        if any(ref.startswith(f"{HERE}{DEMO}/") and not session.is_here(ref) for ref in needed):
            given = {"folder": str(session.folder / DEMO)}
            await session.openings.once("make the demo", lambda: session.desk.call("demo", given))
        if not session.is_here(table["path"]):
            raise VanishedTableError(table["name"])
        gone = [ref for ref in files_of_plan(session.plan) if not session.is_here(ref)]
        if with_ontologies and gone:
            raise VanishedOntologyError([session.name_of(ref) for ref in gone])

    async def ask(self, session: Session, task: str, **given: Any) -> dict[str, Any]:
        """What the workers find out about the draft: asked once until it changes, and given up when it does."""
        key = f"{task} {sorted(given.items())!r}" if given else task
        if key not in session.known:
            await self.ready(session, with_ontologies=task in WITH_ONTOLOGIES)
        known, asked = session.known, {**session.given(), **given}

        async def answer() -> dict[str, Any]:
            known[key] = await _answer(session, task, asked)
            found: dict[str, Any] = known[key]
            return found

        found: dict[str, Any] = known[key] if key in known else await session.questions.once(key, answer)
        return found

    async def read_ontology(self, session: Session, path: str, name: str) -> dict[str, Any]:
        """What an ontology file is like; refused if it cannot be read."""
        with _named(path, name):
            return await session.desk.call("card", {"ontology": path})

    async def read_dropped_ontology(self, session: Session, stored: str, name: str) -> tuple[str, dict[str, Any]]:
        """Where an ontology file that was dropped lies, and what it is like; one that is refused is not kept."""
        upload = session.upload(stored)
        if upload is None:
            raise OutsideFolderError
        async with _kept_if_taken(session, upload) as path:
            return str(path), await self.read_ontology(session, str(path), name)

    # ------------------------------------------------------------------------------------------ work in processes

    async def start(
        self, session: Session, kind: str, expected: dict[str, float], *, version: int, grid: Any = None
    ) -> None:
        """Begin work in a process of its own; what was under way is stopped.

        Args:
            session: Whose draft is run, or varied.
            kind: ``run``, or ``sweep`` with a grid.
            expected: The phases with the seconds that each will take.
            version: Of the draft that the user has seen; refused if it is another.
            grid: The steps of each plan of a sweep.
        """
        await self.ready(session, with_ontologies=True)
        if session.version != version:
            raise SessionChangedError
        if session.job is not None:
            session.job.stop()
        draft = copy.deepcopy(session.draft)
        if kind == "run":
            number = session.new_number()
            session.job = Job(kind, expected, draft, number)
            self._keep(carry_out(session, session.job, number))
        else:
            session.job = Job(kind, expected, draft)
            self._keep(try_plans(session, session.job, grid))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = self.cache.setdefault("tasks", set())
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def take_proposal(draft: dict[str, Any], found: dict[str, Any]) -> None:
    """Put a proposal into a draft; the ontologies that it found are known from now on."""
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
async def _kept_if_taken(session: Session, upload: Path) -> AsyncIterator[Path]:
    """An upload under the name of its content; wiped when it is not taken, but for a question that is still open."""
    from anonto.ontology.source import file_sha256

    path, is_new = upload, True
    try:
        path, is_new = session.settled(upload, await asyncio.to_thread(file_sha256, upload))
        session.known = {}  # what could not be read before can be read now
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
def _named(path: str, name: str) -> Iterator[None]:
    """Let a refusal speak of a file by the name that the user knows."""
    try:
        yield
    except WorkRefusedError as error:
        raise type(error)(str(error).replace(Path(path).name, name)) from None


def _shown(name: str) -> str:
    """The name of an upload, for showing alone."""
    bare = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in bare if sign.isprintable())[:120] or "table"
