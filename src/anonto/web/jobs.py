"""Jobs in separate processes: a run of the draft, or a sweep of plans around it."""

from __future__ import annotations

import contextlib
import shutil
import time
from typing import TYPE_CHECKING, Any

from anonto.errors import AnontoError, StoppedWorkError
from anonto.web.drafts import plan_label
from anonto.web.processes import Worker
from anonto.web.words import in_the_sample, our_mistake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.web.session import Session


class BackgroundJob:
    """A job in a separate process: its progress and its outcome."""

    def __init__(self, kind: str, phases: dict[str, float], draft: dict[str, Any], number: int | None = None) -> None:
        self.kind = kind
        self.draft = draft
        """The draft of the job; that of the session may change meanwhile."""
        self.phases = phases
        """The phases in order, with the expected seconds of each."""
        self.worker = Worker()
        self.started = time.monotonic()
        self.phase = next(iter(phases))
        self.phase_started = self.started
        self.share: float | None = None
        """Completed share of the phase, if known."""
        self.now = ""
        """The work of the phase in words, if it is known."""
        self.state = "running"
        self.message = ""
        self.seconds_taken = 0.0
        self.number = number
        """Number of the resulting run."""
        self.skipped: list[str] = []
        """Plans that were not tried, and why."""
        self.why: list[str] = []
        """Why a plan was chosen, or none."""
        self.sample: int | None = None
        """Number of records that plans were tried on, if not all."""

    @property
    def name(self) -> str:
        """Short label of plan and table."""
        return f"{plan_label(self.draft['plan'])} on {(self.draft['table'] or {}).get('name', 'no table')}"

    def listen(self, progress: dict[str, Any]) -> None:
        """Record a progress report."""
        if progress.get("phase", self.phase) != self.phase:
            self.phase, self.phase_started, self.share, self.now = progress["phase"], time.monotonic(), None, ""
        self.share = progress.get("share", self.share)
        self.now = progress.get("now", self.now)

    @property
    def done(self) -> float:
        """Completed share of the work, from 0 to 1; estimated within a phase."""
        if self.state == "done":
            return 1.0
        return self._expected_before() / max(sum(self.phases.values()), 1e-9)

    @property
    def seconds_left(self) -> float:
        """Remaining seconds, by the expected seconds of the phases.

        A phase that overruns is expected to take half as long again as it has taken so far.
        """
        total, before = sum(self.phases.values()), self._expected_before()
        spent = time.monotonic() - self.started
        pace = max(spent / before, 0.2) if before > 1.0 else 1.0
        left = max(total - before, 0.5) * min(pace, 5.0)
        in_phase = time.monotonic() - self.phase_started
        is_late = self.share is None and in_phase > self.phases.get(self.phase, 1.0)
        return max(left, in_phase / 2) if is_late else left

    @property
    def seconds(self) -> float:
        """Seconds taken so far."""
        return time.monotonic() - self.started

    def _expected_before(self) -> float:
        """Completed part of the expected seconds."""
        names = list(self.phases)
        behind = sum(self.phases[name] for name in names[: names.index(self.phase)]) if self.phase in names else 0.0
        expected = self.phases.get(self.phase, 1.0)
        if self.share is not None:
            return behind + self.share * expected
        spent = time.monotonic() - self.phase_started
        # Approaches the end of the phase without reaching it, however wrong the expectation was.
        return behind + expected * (spent / expected if spent < 0.7 * expected else 1 - 0.3 * 0.7 * expected / spent)

    @property
    def why_skipped(self) -> str:
        """Why plans were not tried, with a note if they were only tried on a sample."""
        begun = [in_the_sample(self.sample)] if self.skipped and self.sample is not None else []
        return " ".join([*begun, *self.skipped])

    def end(self, state: str, message: str = "") -> None:
        """Record the outcome."""
        self.state, self.message = state, message
        self.seconds_taken = self.seconds
        self.worker.stop()

    def stop(self) -> None:
        """Stop the job."""
        if self.state == "running":
            self.end("cancelled", "")


async def run_plan(session: Session, job: BackgroundJob, number: int) -> None:
    """Run a draft, and add the run to the session."""
    folder = session.run_folder(number)
    shutil.rmtree(folder, ignore_errors=True)
    with _ensure_end(session, job):
        found = await job.worker.call("run", {**session.task_input(job.draft), "folder": str(folder)}, job.listen)
        if job.state == "running":
            session.add_run(
                {
                    "number": number,
                    "label": plan_label(job.draft["plan"]),
                    "draft": job.draft,
                    "seconds": job.seconds,
                    "files": True,
                    **found,
                }
            )
            job.end("done")
    if job.state != "done":
        shutil.rmtree(folder, ignore_errors=True)


async def try_plans(session: Session, job: BackgroundJob, asked: dict[str, Any]) -> None:
    """Try the plans of a grid, or find the best under a risk; what comes back are runs of the session without files."""
    task = "best plan" if job.kind == "best plan" else "sweep"
    with _ensure_end(session, job):
        found = await job.worker.call(task, {**session.task_input(job.draft), **asked}, job.listen)
        if job.state != "running":
            return
        for point in found["points"]:
            plan = session.take_plan(point["plan"])
            number = session.new_number()
            job.number = job.number or number
            session.add_run(
                {
                    "number": number,
                    "label": plan_label(plan),
                    "draft": {**job.draft, "plan": plan},
                    "files": False,
                    "tried": True,
                    "sample": found["sample"],
                    **{key: point[key] for key in ("worst", "utility", "losses")},
                }
            )
        job.skipped, job.why = found["skipped"], found.get("why", [])
        is_part = found["sample"] is not None and found["sample"] < job.draft["table"]["n_records"]
        job.sample = found["sample"] if is_part else None
        if found["points"]:
            job.end("done")
        else:
            job.end("failed", session.readable(job.why_skipped) or " ".join(job.why) or "No plan to try.")


@contextlib.contextmanager
def _ensure_end(session: Session, job: BackgroundJob) -> Iterator[None]:
    """Make sure that a job ends in one of its final states."""
    try:
        yield
    except StoppedWorkError:
        if job.state == "running":
            job.end("failed", "The process ended unexpectedly; it may have run out of memory.")
    except AnontoError as error:
        job.end("failed", session.readable(str(error)))
    except Exception as error:
        job.end("failed", our_mistake(error))
        raise
