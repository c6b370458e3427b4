"""Work in a process of its own: a run of the draft, or a sweep of plans around it."""

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


class Job:
    """Work in a process of its own: how far it is, and how it ended."""

    def __init__(self, kind: str, phases: dict[str, float], draft: dict[str, Any], number: int | None = None) -> None:
        self.kind = kind
        self.draft = draft
        """What it is about; the session may go on to another."""
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
        self.number = number
        """Of the run that comes out."""
        self.skipped: list[str] = []
        """What was not tried, and why."""
        self.sample: int | None = None
        """On how many records plans were tried, where these were not all."""

    @property
    def name(self) -> str:
        """Plan and table in a few words."""
        return f"{plan_label(self.draft['plan'])} on {(self.draft['table'] or {}).get('name', 'no table')}"

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
        """How long it will still take, by what was expected of the phases.

        A phase that takes longer than expected is expected to take half as long again as it has taken.
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

    @property
    def why_skipped(self) -> str:
        """Why plans were not tried; of a sample, that it is true of one."""
        begun = [in_the_sample(self.sample)] if self.skipped and self.sample is not None else []
        return " ".join([*begun, *self.skipped])

    def end(self, state: str, message: str = "") -> None:
        """Say how it ended."""
        self.state, self.message = state, message
        self.seconds_taken = self.seconds
        self.worker.stop()

    def stop(self) -> None:
        """Stop it for good."""
        if self.state == "running":
            self.end("cancelled", "")


async def carry_out(session: Session, job: Job, number: int) -> None:
    """Run a draft; what comes out is a run of the session."""
    folder = session.run_folder(number)
    shutil.rmtree(folder, ignore_errors=True)
    with _ending(session, job):
        found = await job.worker.call("run", {**session.given(job.draft), "folder": str(folder)}, job.listen)
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


async def try_plans(session: Session, job: Job, grid: Any) -> None:
    """Try the plans of a grid; each is a run of the session that has no files."""
    with _ending(session, job):
        found = await job.worker.call("sweep", {**session.given(job.draft), "grid": grid}, job.listen)
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
        job.skipped = found["skipped"]
        is_part = found["sample"] is not None and found["sample"] < job.draft["table"]["n_records"]
        job.sample = found["sample"] if is_part else None
        if found["points"]:
            job.end("done")
        else:
            job.end("failed", session.readable(job.why_skipped) or "There was nothing to try.")


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
        job.end("failed", our_mistake(error))
        raise
