"""The work of one browser: its table, its plan, what can be undone, and its runs.

Everything is plain data, so that it can be written down. What can be undone is the draft: which table is open, what the
plan says, and which codes were repaired.
"""

from __future__ import annotations

import copy
import secrets
import shutil
import time
from typing import TYPE_CHECKING, Any

from anonto.web.processes import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from anonto.web.folders import Records

MOST_UNDO = 50
EMPTY_DRAFT: dict[str, Any] = {
    "table": None,
    "plan": {"columns": {}, "steps": []},
    "reasons": {},
    "repairs": {},
    "ontologies": {},
}
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
        self.job: Job | None = None
        self.known: dict[str, Any] = {}
        """What the desk has found about the draft; asked again whenever the draft has changed."""
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

    def given(self, draft: dict[str, Any] | None = None) -> dict[str, Any]:
        """Table and plan of a draft, as a task of a worker takes them."""
        one = draft or self.draft
        table = one["table"] or {}
        plan = _with_ontologies(one["plan"], self.path)
        return {
            "table": {"path": self.path(table.get("path", "")), "repairs": one["repairs"]},
            "plan": plan,
            "names": {self.path(reference): name for reference, name in one["ontologies"].items()},
        }

    def take_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """A plan of a worker as the draft keeps it."""
        return _with_ontologies(plan, self.reference)

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
        self.known = {}
        self.save()

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
        self.known = {}
        self.save()
        what: str = change["what"]
        return what

    # ------------------------------------------------------------------------------------------ runs

    def add_run(self, run: dict[str, Any]) -> None:
        """Keep the result of a run."""
        self.runs = [*self.runs, run]
        self.save()

    def run_of(self, number: int) -> dict[str, Any] | None:
        """A run by its number."""
        return next((run for run in self.runs if run["number"] == number), None)

    @property
    def next_number(self) -> int:
        """The number of the next run."""
        return max((run["number"] for run in self.runs), default=0) + 1

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

    def _uploads(self) -> Iterator[Path]:
        folder = self.folder / "uploads"
        return folder.iterdir() if folder.is_dir() else iter(())

    def close(self) -> None:
        """Stop its processes."""
        self.desk.stop()
        if self.job is not None:
            self.job.stop()

    def forget(self) -> None:
        """Start afresh: nothing of the session is left."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        self.draft, self.history, self.undone, self.runs = copy.deepcopy(EMPTY_DRAFT), [], [], []
        self.known, self.job = {}, None
        self.desk = Worker()
        self.save()


def _with_ontologies(plan: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A plan with every ontology named otherwise."""

    def changed(ontology: Any) -> Any:
        return [change(one) for one in ontology] if isinstance(ontology, list) else change(ontology)

    columns = {
        name: {key: changed(value) if key == "ontology" else value for key, value in one.items()}
        for name, one in plan["columns"].items()
    }
    return {**plan, "columns": columns}


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


class Job:
    """Work in a process of its own: how far it is, and how it ended."""

    def __init__(self, kind: str, phases: dict[str, float]) -> None:
        self.kind = kind
        self.phases = phases
        """The phases in order, with the seconds each is expected to take."""
        self.worker = Worker()
        self.started = time.monotonic()
        self.phase = next(iter(phases))
        self.phase_started = self.started
        self.share: float | None = None
        """How much of the phase is done, where that is known."""
        self.state = "running"
        self.message = ""
        self.seconds_taken = 0.0
        self.number: int | None = None
        """Of the run that came out."""

    def listen(self, progress: dict[str, Any]) -> None:
        """Take a report of progress."""
        if progress.get("phase", self.phase) != self.phase:
            self.phase, self.phase_started, self.share = progress["phase"], time.monotonic(), None
        self.share = progress.get("share", self.share)

    @property
    def done(self) -> float:
        """The share of the work that is done, from 0 to 1; an estimate within a phase."""
        if self.state == "done":
            return 1.0
        return self._expected_before() / max(sum(self.phases.values()), 1e-9)

    @property
    def seconds_left(self) -> float:
        """How long it will still take, by what was expected of the phases."""
        total, before = sum(self.phases.values()), self._expected_before()
        spent = time.monotonic() - self.started
        pace = max(spent / before, 0.2) if before > 1.0 else 1.0
        return max(total - before, 0.5) * min(pace, 5.0)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.started

    def _expected_before(self) -> float:
        """Of the expected seconds, those that are behind."""
        names = list(self.phases)
        behind = sum(self.phases[name] for name in names[: names.index(self.phase)]) if self.phase in names else 0.0
        expected = self.phases.get(self.phase, 1.0)
        if self.share is not None:
            return behind + self.share * expected
        spent = time.monotonic() - self.phase_started
        # Approaches the end of the phase without reaching it, however wrong the expectation was.
        return behind + expected * (spent / expected if spent < 0.7 * expected else 1 - 0.3 * 0.7 * expected / spent)

    def end(self, state: str, message: str = "") -> None:
        """Say how it ended."""
        self.state, self.message = state, message
        self.seconds_taken = self.seconds
        self.worker.stop()

    def stop(self) -> None:
        """Stop it for good."""
        if self.state == "running":
            self.end("cancelled", "")


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
