"""The work of one browser: its table, its plan, what can be undone, and its runs.

Everything is plain data, so that it can be written down. What can be undone is the draft: which table is open, what the
plan says, and which codes were repaired.
"""

from __future__ import annotations

import copy
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.web.drafts import EMPTY_DRAFT, with_ontologies
from anonto.web.processes import Worker
from anonto.web.underway import UnderWay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from anonto.web.folders import Records
    from anonto.web.jobs import Job

MOST_UNDO = 50
HERE = "@/"
"""How the draft names a file in the session's own folder, which has another name after a restart."""


class Session:
    """What one browser works on."""

    def __init__(self, key: str, folder: Path, records: Records) -> None:
        record = records.read(key) or {}
        self.folder = folder
        self.folder.mkdir(mode=0o700)
        self.draft: dict[str, Any] = {**copy.deepcopy(EMPTY_DRAFT), **record.get("draft", {})}
        self.undone: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = record.get("history", [])
        self.runs: list[dict[str, Any]] = [{**run, "files": False} for run in record.get("runs", [])]
        self.desk = Worker()
        """Answers questions about the table, one after the other."""
        self.estimator = Worker()
        """Makes estimates, apart from the desk: one that is outdated is ended, so that the next need not wait."""
        self.job: Job | None = None
        self.version = 0
        """Counts the changes of the draft, so that a page can tell whether it shows what is."""
        self.known: dict[str, Any] = {}
        """What was found about the draft; asked again whenever the draft has changed."""
        self.questions = UnderWay()
        """What is being asked about the draft; given up when it changes."""
        self.openings = UnderWay()
        """What is being opened; given up when everything is forgotten."""
        self._last_number = max((run["number"] for run in self.runs), default=0)
        self._key = key
        self._records = records

    # ------------------------------------------------------------------------------------------ the draft

    @property
    def table(self) -> dict[str, Any] | None:
        """The open table: name, path, source."""
        found: dict[str, Any] | None = self.draft["table"]
        return found

    @property
    def plan(self) -> dict[str, Any]:
        """The plan in the shape of a plan file."""
        found: dict[str, Any] = self.draft["plan"]
        return found

    @property
    def quasi_identifiers(self) -> list[str]:
        """Columns that could help to identify someone."""
        return [name for name, one in self.plan["columns"].items() if one.get("role") == "quasi-identifier"]

    def path(self, reference: str) -> str:
        """A reference of the draft as a path; listed names and other paths stay as they are."""
        return str(self.folder / reference.removeprefix(HERE)) if reference.startswith(HERE) else reference

    def reference(self, path: str) -> str:
        """A path as the draft names it."""
        own = f"{self.folder}/"
        return f"{HERE}{path.removeprefix(own)}" if path.startswith(own) else path

    def is_here(self, reference: str) -> bool:
        """Whether what a reference names can be read; an upload cannot after a restart. Listed names always can."""
        return "/" not in reference or Path(self.path(reference)).exists()

    def name_of(self, reference: str) -> str:
        """An ontology by the name that the user knows."""
        name: str = self.draft["ontologies"].get(reference, reference.rpartition("/")[2])
        return name

    def given(self, draft: dict[str, Any] | None = None) -> dict[str, Any]:
        """Table and plan of a draft, as a task of a worker takes them."""
        one = draft or self.draft
        table = one["table"] or {}
        plan = with_ontologies(one["plan"], self.path)
        return {
            "table": {"path": self.path(table.get("path", "")), "repairs": one["repairs"]},
            "plan": plan,
            "names": {self.path(reference): name for reference, name in one["ontologies"].items()},
        }

    def take_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """A plan of a worker as the draft keeps it."""
        return with_ontologies(plan, self.reference)

    def readable(self, sentence: str) -> str:
        """A message with the names that the user knows instead of those that files have here."""
        known = dict(self.draft["ontologies"])
        if self.table is not None:
            known[self.table["path"]] = self.table["name"]
        for reference, name in known.items():
            stored = reference.rpartition("/")[2]
            if stored and stored != name:
                sentence = sentence.replace(stored, name)
        return sentence.replace(f"{self.folder}/", "")

    def changing(self, what: str) -> AbstractContextManager[dict[str, Any]]:
        """The draft, to be changed in a block; what it was before can be had again."""
        return _Change(self, what)

    def remember(self, before: dict[str, Any], what: str) -> None:
        """Make a change that was just made one that can be undone."""
        if before == self.draft:
            return
        self.history = [*self.history, {"what": what, "draft": before}][-MOST_UNDO:]
        self.undone = []
        self._changed()

    def undo(self) -> str | None:
        """Take the last change back; what it was."""
        return self._step(self.history, self.undone)

    def redo(self) -> str | None:
        """Make the last change again that was taken back; what it was."""
        return self._step(self.undone, self.history)

    def _step(self, one: list[dict[str, Any]], other: list[dict[str, Any]]) -> str | None:
        if not one:
            return None
        change = one.pop()
        other.append({"what": change["what"], "draft": self.draft})
        self.draft = change["draft"]
        self._changed()
        what: str = change["what"]
        return what

    def _changed(self) -> None:
        """Forget what was known, and what is being asked, about the draft that was."""
        self.version += 1
        self.known = {}
        is_estimating = "estimate" in self.questions
        self.questions.give_up()
        if is_estimating:
            self.estimator.stop()
            self.estimator = Worker()
        self.save()

    # ------------------------------------------------------------------------------------------ runs

    def add_run(self, run: dict[str, Any]) -> None:
        """Keep the result of a run."""
        self.runs = [*self.runs, run]
        self.save()

    def run_of(self, number: int) -> dict[str, Any] | None:
        """A run by its number."""
        return next((run for run in self.runs if run["number"] == number), None)

    def new_number(self) -> int:
        """A number for a run that no other has, not even one that was stopped."""
        self._last_number += 1
        return self._last_number

    def run_folder(self, number: int) -> Path:
        """Where the files of a run are."""
        return self.folder / f"run-{number}"

    # ------------------------------------------------------------------------------------------ keeping and forgetting

    def save(self) -> None:
        """Write the record of the session."""
        runs = [{key: value for key, value in run.items() if key != "files"} for run in self.runs]
        self._records.write(self._key, {"draft": self.draft, "history": self.history, "runs": runs})

    def new_file(self) -> Path:
        """A path for an upload that says nothing about its name."""
        folder = self.folder / "uploads"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / secrets.token_hex(8)

    def upload(self, name: str) -> Path | None:
        """The file of an upload by the name it was given here; None for anything else."""
        known = {path.name: path for path in self._uploads()}
        return known.get(name)

    def settled(self, upload: Path, sha256: str) -> tuple[Path, bool]:
        """Name an upload by its content, and say whether it is new.

        So the same file, dropped again after a restart, lies where every plan that speaks of it looks for it.
        """
        path = upload.with_name(sha256)
        if path == upload or path.exists():
            if path != upload:
                upload.unlink()
            return path, False
        upload.rename(path)
        return path, True

    def _uploads(self) -> Iterator[Path]:
        folder = self.folder / "uploads"
        return folder.iterdir() if folder.is_dir() else iter(())

    def close(self) -> None:
        """Stop its processes."""
        self.questions.give_up()
        self.openings.give_up()
        self.desk.stop()
        self.estimator.stop()
        if self.job is not None:
            self.job.stop()

    def forget(self) -> None:
        """Start afresh: nothing of the session is left."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        self.draft, self.history, self.undone, self.runs = copy.deepcopy(EMPTY_DRAFT), [], [], []
        self.job, self._last_number = None, 0
        self.desk, self.estimator = Worker(), Worker()
        self._changed()


class _Change:
    """A block in which the draft changes."""

    def __init__(self, session: Session, what: str) -> None:
        self._session, self._what = session, what

    def __enter__(self) -> dict[str, Any]:
        self._before = self._session.draft
        self._session.draft = copy.deepcopy(self._before)
        return self._session.draft

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._session.draft = self._before
        else:
            self._session.remember(self._before, self._what)


class Sessions:
    """All sessions of this server, by the secret key in the browser's cookie."""

    def __init__(self, folder: Path, records: Records) -> None:
        self._folder = folder
        self._records = records
        self._open: dict[str, Session] = {}

    def begin(self) -> str:
        """The key of a new session."""
        key = secrets.token_urlsafe(32)
        self._opened(key).save()
        return key

    def knows(self, key: str) -> bool:
        """Whether a key was given to a browser, by this server or before a restart."""
        return key in self._open or self._records.read(key) is not None

    def of(self, key: str) -> Session:
        """The session of a key that is known."""
        return self._open.get(key) or self._opened(key)

    def _opened(self, key: str) -> Session:
        self._open[key] = Session(key, self._folder / secrets.token_hex(8), self._records)
        return self._open[key]

    def close(self) -> None:
        """Stop the processes of all sessions."""
        for session in self._open.values():
            session.close()
