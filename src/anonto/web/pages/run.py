"""Run: progress of the job in its separate process, and a button to stop it. It continues if the page is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.drafts import are_about_the_same, plan_label
from anonto.web.frame import onward
from anonto.web.further_table import choose_table
from anonto.web.parts import box, button, enable, heading, link, message, show, tag, text
from anonto.web.units import person_of
from anonto.web.words import PHASES, duration

if TYPE_CHECKING:
    from anonto.web.frame import Frame
    from anonto.web.jobs import BackgroundJob

AT_LEAST = {"reading": 0.5, "masking": 2.0, "writing": 0.5, "attacking": 4.0}
OUTCOMES = {"done": "was finished", "cancelled": "was stopped", "failed": "failed"}


def run_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of the run."""
    del asked
    session = frame.session
    with frame.page("Run", "Mask the whole table as planned, and attack the result to see what it protects."):
        with box("card"):
            heading("What will be done")
            place = box("stack")
            frame.soon(place, "Reading the plan", lambda: _plan(frame, place))
        with box("card"):
            _held_out(frame)
        panel = box("card")
        _Progress(frame, panel).show()
        onward(("Method", "/method"), ("Result", "/result") if session.runs else None)


@dataclass(frozen=True, slots=True)
class Ending:
    """Outcome of the last job, in terms of the current draft."""

    heading: str
    sentence: str = ""
    kind: str = ""
    """Kind of the message; if empty, the sentence is shown as plain text."""
    is_of_draft: bool = False


def ending_of(job: BackgroundJob | None, draft: dict[str, Any]) -> Ending:
    """Message about a finished job: in full for its own draft, in brief for another table."""
    if job is None:
        return Ending("Ready")
    outcome, is_run = OUTCOMES[job.state], job.kind == "run"
    if not are_about_the_same(job.draft["table"], draft["table"]):
        name, now = (job.draft["table"] or {}).get("name", "no table"), (draft["table"] or {}).get("name")
        of = f"another {name}" if name == now else name
        return Ending("Ready", f"{f'Run {job.number} of' if is_run else 'Trying several plans for'} {of} {outcome}.")
    label = plan_label(job.draft["plan"])
    what = f"Run {job.number} ({label})" if is_run else f"Trying several plans around {label}"
    if any(job.draft.get(key) != draft.get(key) for key in ("plan", "repairs", "held_out")):
        why = f": {job.message}" if job.state == "failed" else "."
        return Ending("Ready", f"The plan has changed since. {what} {outcome}{why}", "info")
    if job.state == "done":
        return Ending("Done", f"{what} {outcome} in {job.seconds_taken:.0f} seconds.", "good", is_of_draft=True)
    if job.state == "cancelled":
        return Ending("Stopped", f"{what} {outcome}; nothing of it was kept.", "warning", is_of_draft=True)
    return Ending("Failed", f"{what} {outcome}: {job.message}", "error", is_of_draft=True)


async def _plan(frame: Frame, place: Any) -> None:
    known = await frame.methods()
    plan = frame.session.plan
    columns = plan["columns"]
    texts = [name for name, one in columns.items() if one["role"] == "free-text" and not one.get("keep")]
    dropped = [*texts, *(name for name, one in columns.items() if one["role"] == "identifier")]
    person, numbered = person_of(plan), [name for name, one in columns.items() if one["role"] == "pseudonym"]
    masked = [name for step in plan["steps"] for name in step["columns"]]
    as_is = [name for name in columns if name not in {*dropped, *masked, *numbered}]
    rows = [("Whose rows these are", person)] if person is not None else []
    rows += [
        (
            f"Step {number}: {known[step['method']]['title'] if step['method'] in known else step['method']}",
            ", ".join(step["columns"]) + (f"; within {', '.join(step['within'])}" if step.get("within") else ""),
        )
        for number, step in enumerate(plan["steps"], start=1)
    ]
    rows += [
        ("Dropped, because they identify someone", ", ".join(dropped) or "nothing"),
        *([("Released as random numbers", ", ".join(numbered))] if numbered else []),
        ("Released unchanged", ", ".join(as_is) or "nothing"),
    ]
    place.clear()
    with place:
        for name, words in rows:
            show(tag("div", tag("h3", name), tag("p", words)))
    if not plan["steps"]:
        message("The plan has no step: nothing would be masked.", "warning")


def _held_out(frame: Frame) -> None:
    """The persons who are held out, or a place to bring them."""
    held_out, reading = frame.session.draft.get("held_out"), frame.session.plan.get("table", {})
    heading("Persons held out")
    text(
        "Persons like those of the table who were not masked, in a table with the same columns. With them the attacks "
        "tell whether a release shows who is in the table, and learn more of how columns go together."
    )

    def change(chosen: dict[str, Any] | None) -> None:
        with frame.change("Hold persons out" if chosen else "Hold nobody out") as draft:
            draft["held_out"] = chosen
        ui.navigate.to("/run")

    if held_out is None:
        choose_table(frame, "Drop the persons held out here, or choose a file", change, reading)
        return
    with box("row middle"):
        show(tag("p", tag("strong", held_out["name"]), f" · {held_out['n_records']:,} rows"))
        button("Leave them out", lambda: change(None), classes="slim")


class _Progress:
    """The panel that shows the progress of the session's job."""

    def __init__(self, frame: Frame, panel: Any) -> None:
        self.frame, self.panel = frame, panel
        self.shown: BackgroundJob | None = None
        self.timer: Any = None

    def show(self) -> None:
        """Show the running job, or the button to start one."""
        if self.timer is not None:
            self.timer.cancel()
        self.shown = self.frame.session.job
        self.panel.clear()
        with self.panel:
            if self.shown is not None and self.shown.state == "running":
                self._show_running(self.shown)
            else:
                self._show_idle(self.shown)

    def _show_idle(self, job: BackgroundJob | None) -> None:
        ended = ending_of(job, self.frame.session.draft)
        is_done = job is not None and job.state == "done"
        heading(ended.heading)
        if ended.kind:
            message(ended.sentence, ended.kind)
        elif ended.sentence:
            text(ended.sentence, "p", "small")
        again = job is not None and job.kind == "run" and is_done and ended.is_of_draft
        with box("row middle"):
            if job is not None and is_done and ended.is_of_draft:
                link("See the result →", self._result_of(job), classes="button primary")
            self.starting = button("Run again" if again else "Start", self._start, classes="" if again else "primary")
            if job is not None and is_done and not ended.is_of_draft:
                link("See that result →", self._result_of(job))

    async def _start(self) -> None:
        frame, session = self.frame, self.frame.session
        job = session.job
        if job is not None and job is not self.shown and job.state == "running":  # started in another tab
            self.show()
            return
        estimated = session.known.get("estimate", {}).get("expected", {})
        expected = {phase: max(estimated.get(phase, seconds), seconds) for phase, seconds in AT_LEAST.items()}
        enable(self.starting, is_enabled=False)
        try:
            await frame.app.start(session, "run", {**expected, "reporting": 1.0}, version=frame.version)
        except Exception:
            enable(self.starting, is_enabled=True)
            raise
        self.show()

    def _show_running(self, job: BackgroundJob) -> None:
        heading("Running" if job.kind == "run" else "Trying several plans")
        text(f"{job.name[0].upper()}{job.name[1:]}.", "p")
        self.bar = box(
            "meter progress", role="progressbar", aria_label="Progress", aria_valuemin="0", aria_valuemax="100"
        )
        with self.bar:
            self.fill = box("", "i")
        self.words = text("", "p")
        self.announced = text("", "p", "unseen")
        self.announced.props["role"] = "status"
        button("Stop", self._stop, classes="danger")
        text("You can close this page and come back: the work continues.", "p", "small")
        self._update()
        self.timer = ui.timer(0.5, self._update)

    def _update(self) -> None:
        job = self.frame.session.job
        if job is None or job is not self.shown or job.state != "running":
            if self.timer is not None:
                self.timer.cancel()
            self._finish(job)
            return
        share = round(100 * job.done)
        self.bar.props["aria-valuenow"] = str(share)
        self.bar.update()
        self.fill.style(f"width: {share}%")
        phase = PHASES.get(job.phase, job.phase)
        now = f": {job.now}" if job.now else ""
        self.words.text = f"{phase}{now} … {share} % done, about {duration(job.seconds_left)} left."
        self.announced.text = f"{phase}: {share // 10 * 10} %"  # screen readers announce it only when it changes

    def _finish(self, job: BackgroundJob | None) -> None:
        if job is not None and job is self.shown and job.state == "done":
            ui.navigate.to(self._result_of(job))
        else:
            self.show()

    def _result_of(self, job: BackgroundJob) -> str:
        if job.kind == "run":
            return f"/result?run={job.number}"
        is_open = are_about_the_same(job.draft["table"], self.frame.session.table)
        return "/result#map" if is_open else f"/result?run={job.number}#map"

    def _stop(self) -> None:
        if self.shown is not None:
            self.shown.stop()
        self.show()
