"""What all pages of a server share: its settings, its sessions, and what the user can do in one."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import AnontoError, OutsideFolderError, StoppedWorkError, VanishedTableError, WorkRefusedError
from anonto.web.processes import Worker
from anonto.web.session import HERE, Job, Session

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from anonto.web.session import Sessions

TABLE_ENDINGS = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".tab", ".parquet", ".xlsx", ".xls", ".ods", ".sav",
    ".zsav", ".dta", ".xpt", ".sas7bdat",
)  # fmt: skip
ONTOLOGY_ENDINGS = (
    ".csv", ".csv.gz", ".tsv", ".txt", ".obo", ".obo.gz", ".owl", ".owl.gz", ".ttl", ".ttl.gz", ".xml", ".rdf", ".bin",
)  # fmt: skip
SLOW = ("risk",)
"""Questions that have a process of their own, so that others need not wait for them."""
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

    # ------------------------------------------------------------------------------------------ opening a table

    async def open_demo(self, session: Session) -> None:
        """Open the made-up table."""
        made = await session.desk.call("demo", {"folder": str(session.folder / "demo")})
        await self._open(session, "demo", "discharges.csv", made["path"], folders=[str(session.folder / "demo")])

    async def open_picked(self, session: Session, relative: str) -> None:
        """Open a file below the folder."""
        path = self.file(relative)
        await self._open(session, "folder", path.name, str(path), folders=[str(path.parent)])

    async def open_upload(self, session: Session, stored: str, name: str) -> None:
        """Open a file that was dropped; the same table again goes on where the plan was."""
        path = session.upload(stored)
        if path is None:
            raise OutsideFolderError
        try:
            await self._open(session, "upload", _shown(name), str(path), folders=[])
        except AnontoError:
            path.unlink(missing_ok=True)
            raise

    async def _open(self, session: Session, source: str, name: str, path: str, folders: list[str]) -> None:
        table = {"source": source, "name": name, "path": session.reference(path)}
        given: dict[str, Any] = {"table": {"path": path}}
        with _named(path, name):
            seen = await session.desk.call("open", given)
            table |= {"sha256": seen["sha256"], "n_records": seen["n_records"]}
            before = session.table
            if before is not None and before["sha256"] == seen["sha256"] and source == before["source"] == "upload":
                with session.changing(f"Open {name} again") as draft:
                    draft["table"] = table
                return
            own = [ref for ref in session.draft["ontologies"] if Path(session.path(ref)).exists()]
            proposed = await session.desk.call(
                "propose", {**given, "ontologies": [session.path(ref) for ref in own], "folders": folders}
            )
        plan = session.take_plan(proposed["plan"])
        with session.changing(f"Open {name}") as draft:
            draft.update(table=table, plan=plan, reasons=proposed["reasons"], repairs={})
            used = [ref for one in plan["columns"].values() for ref in references(one) if "/" in ref]
            draft["ontologies"] = {ref: session.draft["ontologies"].get(ref, Path(ref).name) for ref in [*own, *used]}
        session.known["preview"] = seen

    async def ready(self, session: Session) -> None:
        """Have the table of the session there, after a restart too; refused where only the user has it."""
        table = session.table
        if table is None or Path(session.path(table["path"])).exists():
            return
        if table["source"] != "demo":
            raise VanishedTableError(table["name"])
        await session.desk.call("demo", {"folder": str(session.folder / "demo")})

    async def ask(self, session: Session, task: str, **given: Any) -> dict[str, Any]:
        """What the desk knows about the draft; asked once until the draft changes."""
        key = f"{task} {sorted(given.items())!r}" if given else task
        if key not in session.known:
            await self.ready(session)
            known = session.known
            worker = Worker() if task in SLOW else session.desk
            try:
                known[key] = await worker.call(task, {**session.given(), **given})
            finally:
                if worker is not session.desk:
                    worker.stop()
        found: dict[str, Any] = session.known[key]
        return found

    async def add_ontology(self, session: Session, path: str, name: str) -> dict[str, Any]:
        """Let an ontology file be chosen for columns; refused if it cannot be read."""
        with _named(path, name):
            card = await session.desk.call("card", {"ontology": path})
        with session.changing(f"Bring the ontology {name}") as draft:
            draft["ontologies"][session.reference(path)] = name
        return card

    # ------------------------------------------------------------------------------------------ work in processes

    async def start(self, session: Session, kind: str, expected: dict[str, float], **given: Any) -> None:
        """Begin work in a process of its own; what was under way is stopped."""
        if session.job is not None:
            session.job.stop()
        await self.ready(session)
        job = Job(kind, expected)
        session.job = job
        work = _run(session, job) if kind == "run" else _sweep(session, job, given["grid"])
        self._keep(work)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = self.cache.setdefault("tasks", set())
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _run(session: Session, job: Job) -> None:
    number, draft = session.next_number, copy.deepcopy(session.draft)
    folder = session.run_folder(number)
    shutil.rmtree(folder, ignore_errors=True)
    with _ending(session, job):
        found = await job.worker.call("run", {**session.given(draft), "folder": str(folder)}, job.listen)
        session.add_run(
            {
                "number": number,
                "label": plan_label(draft["plan"]),
                "draft": draft,
                "seconds": job.seconds,
                "files": True,
                **found,
            }
        )
        job.number = number
        job.end("done")
    if job.state != "done":
        shutil.rmtree(folder, ignore_errors=True)


async def _sweep(session: Session, job: Job, grid: Any) -> None:
    draft = copy.deepcopy(session.draft)
    with _ending(session, job):
        found = await job.worker.call("sweep", {**session.given(draft), "grid": grid}, job.listen)
        for point in found["points"]:
            plan = session.take_plan(point["plan"])
            session.add_run(
                {
                    "number": session.next_number,
                    "label": plan_label(plan),
                    "draft": {**draft, "plan": plan},
                    "files": False,
                    "tried": True,
                    **{key: point[key] for key in ("worst", "utility", "losses")},
                }
            )
        if found["points"]:
            job.end("done")
        else:
            job.end("failed", " ".join(found["skipped"]) or "There was nothing to try.")


@contextlib.contextmanager
def _named(path: str, name: str) -> Iterator[None]:
    """Let a refusal speak of a file by the name that the user knows."""
    try:
        yield
    except WorkRefusedError as error:
        raise WorkRefusedError(str(error).replace(Path(path).name, name)) from None


@contextlib.contextmanager
def _ending(session: Session, job: Job) -> Iterator[None]:
    """Let a job end in one of its states, whatever happens."""
    try:
        yield
    except StoppedWorkError:
        if job.state == "running":
            job.end("failed", "The process ended unexpectedly, perhaps for want of memory.")
    except AnontoError as error:
        job.end("failed", session.readable(str(error)))
    except Exception as error:
        job.end("failed", f"That failed by our mistake ({type(error).__name__}).")
        raise


# ------------------------------------------------------------------------------------------------ small words


def references(description: dict[str, Any]) -> list[str]:
    """The ontologies of a column."""
    ontology = description.get("ontology")
    return [] if ontology is None else list(ontology) if isinstance(ontology, list) else [ontology]


def plan_label(plan: dict[str, Any]) -> str:
    """A plan in a few words."""
    said = []
    for step in plan["steps"]:
        telling = ("k", "percent", "epsilon", "noise_level", "rate", "width", "bins")
        numbers = [f"{key} = {step[key]}" for key in telling if step.get(key) is not None]
        said.append(f"{step['method']} {', '.join(numbers)}".strip())
    return "; ".join(said) or "nothing masked"


def _shown(name: str) -> str:
    """The name of an upload, for showing alone."""
    bare = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in bare if sign.isprintable())[:120] or "table"


__all__ = ["HERE", "ONTOLOGY_ENDINGS", "TABLE_ENDINGS", "House", "plan_label", "references"]
