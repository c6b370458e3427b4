"""The session of one browser: its table, plan, undo history and runs.

Everything is plain data, so that it can be saved. Undo restores the draft: the open table, the plan and the repaired
codes.
"""

from __future__ import annotations

import contextlib
import copy
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.web.drafts import EMPTY_DRAFT, with_ontologies
from anonto.web.processes import Worker
from anonto.web.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.web.folders import SessionStore
    from anonto.web.jobs import BackgroundJob

MOST_UNDO = 50
HERE = "@/"
"""Prefix of references to files in the session's own folder, whose path differs after a restart."""


class Session:
    """The session of one browser."""

    def __init__(self, key: str, folder: Path, records: SessionStore) -> None:
        record = records.read(key) or {}
        self.folder = folder
        self.folder.mkdir(mode=0o700)
        self.draft: dict[str, Any] = {**copy.deepcopy(EMPTY_DRAFT), **record.get("draft", {})}
        self.undone: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = record.get("history", [])
        self.runs: list[dict[str, Any]] = [{**run, "files": False} for run in record.get("runs", [])]
        self.desk = Worker()
        """Process that answers questions about the table, one by one."""
        self.estimator = Worker()
        """Process for estimates, apart from the desk: an outdated one is killed, so that the next need not wait."""
        self.job: BackgroundJob | None = None
        self.version = 0
        """Number of changes of the draft, so that a page can detect that it is outdated."""
        self.known: dict[str, Any] = {}
        """Cached answers about the draft; cleared whenever it changes."""
        self.questions = SingleFlight()
        """Pending requests about the draft; cancelled when it changes."""
        self.openings = SingleFlight()
        """Tables being opened; cancelled when the session is reset."""
        self.foreign: dict[str, Any] = {}
        """Files of a release of another tool, by what they are, and under ``found`` what its assessment said."""
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
        """A reference of the draft as a path; listed names and other paths are unchanged."""
        return str(self.folder / reference.removeprefix(HERE)) if reference.startswith(HERE) else reference

    def reference(self, path: str) -> str:
        """The reference of a path in the draft."""
        own = f"{self.folder}/"
        return f"{HERE}{path.removeprefix(own)}" if path.startswith(own) else path

    def is_here(self, reference: str) -> bool:
        """Return whether a reference can be read: listed names always, uploads not after a restart."""
        return "/" not in reference or Path(self.path(reference)).exists()

    def name_of(self, reference: str) -> str:
        """The user's name of an ontology."""
        name: str = self.draft["ontologies"].get(reference, reference.rpartition("/")[2])
        return name

    def task_input(self, draft: dict[str, Any] | None = None) -> dict[str, Any]:
        """Table and plan of a draft, as a task of a worker takes them."""
        one = draft or self.draft
        table, held_out = one["table"] or {}, one.get("held_out")
        plan = with_ontologies(one["plan"], self.path)
        return {
            "table": {"path": self.path(table.get("path", "")), "repairs": one["repairs"]},
            "held_out": None if held_out is None else self.path(held_out["path"]),
            "plan": plan,
            "names": {self.path(reference): name for reference, name in one["ontologies"].items()},
        }

    def take_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """A worker's plan in the form of the draft."""
        return with_ontologies(plan, self.reference)

    def readable(self, sentence: str) -> str:
        """A message with the user's file names instead of the internal ones."""
        known = dict(self.draft["ontologies"])
        beside = [self.foreign[key] for key in ("original", "release", "held_out") if key in self.foreign]
        known |= {
            one["path"]: one["name"] for one in (*beside, self.draft.get("held_out"), self.table) if one is not None
        }
        for reference, name in known.items():
            stored = reference.rpartition("/")[2]
            if stored and stored != name:
                sentence = sentence.replace(stored, name)
        return sentence.replace(f"{self.folder}/", "")

    @contextlib.contextmanager
    def change(self, what: str) -> Iterator[dict[str, Any]]:
        """Change the draft in a block, as one undoable change."""
        before, self.draft = self.draft, copy.deepcopy(self.draft)
        try:
            yield self.draft
        except BaseException:
            self.draft = before
            raise
        if self.draft != before:
            self.history = [*self.history, {"what": what, "draft": before}][-MOST_UNDO:]
            self.undone = []
            self._invalidate()

    def undo(self) -> str | None:
        """Undo the last change and return its name."""
        return self._step(self.history, self.undone)

    def redo(self) -> str | None:
        """Redo the last undone change and return its name."""
        return self._step(self.undone, self.history)

    def _step(self, one: list[dict[str, Any]], other: list[dict[str, Any]]) -> str | None:
        if not one:
            return None
        change = one.pop()
        other.append({"what": change["what"], "draft": self.draft})
        self.draft = change["draft"]
        self._invalidate()
        what: str = change["what"]
        return what

    def _invalidate(self) -> None:
        """Drop cached answers and cancel pending requests about the previous draft."""
        self.version += 1
        self.known = {}
        is_estimating = "estimate" in self.questions
        self.questions.cancel_all()
        if is_estimating:
            self.estimator.stop()
            self.estimator = Worker()
        self.save()

    # ------------------------------------------------------------------------------------------ runs

    def add_run(self, run: dict[str, Any]) -> None:
        """Add the result of a run."""
        self.runs = [*self.runs, run]
        self.save()

    def run_of(self, number: int) -> dict[str, Any] | None:
        """A run by its number."""
        return next((run for run in self.runs if run["number"] == number), None)

    def new_number(self) -> int:
        """A new run number, also distinct from those of stopped runs."""
        self._last_number += 1
        return self._last_number

    def run_folder(self, number: int) -> Path:
        """The folder with the files of a run."""
        return self.folder / f"run-{number}"

    @property
    def foreign_folder(self) -> Path:
        """The folder with the reports on a release of another tool."""
        return self.folder / "foreign"

    # ------------------------------------------------------------------------------------------ keeping and forgetting

    def save(self) -> None:
        """Write the record of the session."""
        runs = [{key: value for key, value in run.items() if key != "files"} for run in self.runs]
        self._records.write(self._key, {"draft": self.draft, "history": self.history, "runs": runs})

    def new_file(self) -> Path:
        """A path for an upload that does not reveal its name."""
        folder = self.folder / "uploads"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / secrets.token_hex(8)

    def upload(self, name: str) -> Path | None:
        """The file of an upload by its internal name; None for anything else."""
        folder = self.folder / "uploads"
        known = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
        return known.get(name)

    def settle(self, upload: Path, sha256: str) -> tuple[Path, bool]:
        """Name an upload by its content, and return whether it is new.

        The same file, uploaded again after a restart, is thus found by every plan that refers to it.
        """
        path = upload.with_name(sha256)
        if path == upload or path.exists():
            if path != upload:
                upload.unlink()
            return path, False
        upload.rename(path)
        return path, True

    def close(self) -> None:
        """Stop its processes."""
        self.questions.cancel_all()
        self.openings.cancel_all()
        self.desk.stop()
        self.estimator.stop()
        if self.job is not None:
            self.job.stop()

    def forget(self) -> None:
        """Delete everything of the session."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        self.draft, self.history, self.undone, self.runs = copy.deepcopy(EMPTY_DRAFT), [], [], []
        self.job, self._last_number, self.foreign = None, 0, {}
        self.desk, self.estimator = Worker(), Worker()
        self._invalidate()


class Sessions:
    """All sessions of this server, by the secret key in the browser's cookie."""

    def __init__(self, folder: Path, records: SessionStore) -> None:
        self._folder = folder
        self._records = records
        self._open: dict[str, Session] = {}

    def begin(self) -> str:
        """The key of a new session."""
        key = secrets.token_urlsafe(32)
        self._open_session(key).save()
        return key

    def knows(self, key: str) -> bool:
        """Return whether a key was issued to a browser, by this server or before a restart."""
        return key in self._open or self._records.read(key) is not None

    def of(self, key: str) -> Session:
        """The session of a known key."""
        return self._open.get(key) or self._open_session(key)

    def _open_session(self, key: str) -> Session:
        self._open[key] = Session(key, self._folder / secrets.token_hex(8), self._records)
        return self._open[key]

    def close(self) -> None:
        """Stop the processes of all sessions."""
        for session in self._open.values():
            session.close()
