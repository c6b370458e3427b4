"""Tables that are opened and plans that are run while the session goes on: each lands in its place, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from anonto.errors import FileError, InputError, SessionChangedError
from anonto.web.charts import risk_utility
from anonto.web.folders import SessionStore
from anonto.web.pages.risk_map import points_of
from anonto.web.session import Session
from web.stand_ins import PLAN, Answers, asked_of, change, finish, in_time, soon

if TYPE_CHECKING:
    from anonto.web.app import WebApp
    from web.stand_ins import SlowWorker


# ------------------------------------------------------------------------------------------------ opening


def opening_answers(sha256: str = "y") -> Answers:
    return {
        "demo": lambda given: {"path": f"{given['folder']}/discharges.csv"},
        "open": {"sha256": sha256, "n_records": 3},
        "propose": {"plan": {"columns": {"sex": {"kind": "nominal", "role": "other"}}, "steps": []}, "reasons": {}},
    }


def test_an_ontology_brought_while_a_table_is_opened_is_kept(
    session: Session, app: WebApp, workers: type[SlowWorker], tmp_path: Path
) -> None:
    workers.answers.update(opening_answers())
    (tmp_path / "o.csv").write_text("id,parent,label\n", encoding="utf-8")

    async def work() -> None:
        opening = asyncio.create_task(app.open_demo(session))
        await soon()
        with session.change("ontology") as draft:
            draft["ontologies"] = {str(tmp_path / "o.csv"): "o.csv", "/nowhere/gone.csv": "gone.csv"}
        finish(session.desk)
        await opening
        assert session.draft["ontologies"] == {str(tmp_path / "o.csv"): "o.csv"}
        assert session.table is not None
        assert session.table["name"] == "discharges.csv"

    in_time(work())


def test_the_demo_is_opened_once_by_two_pages_and_not_at_all_when_everything_is_forgotten(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers.update(opening_answers())

    async def work() -> None:
        pages = [asyncio.create_task(app.open_demo(session)) for _ in range(2)]
        await soon()
        finish(session.desk)
        await asyncio.gather(*pages)
        assert asked_of(workers, "demo") == 1
        assert [one["what"] for one in session.history] == ["Open discharges.csv"]
        session.undo()
        session.desk = workers()  # type: ignore[assignment]
        late = asyncio.create_task(app.open_demo(session))
        await soon()
        before: Any = session.desk
        session.forget()
        finish(before)
        with pytest.raises(SessionChangedError):
            await late
        await soon()
        assert session.table is None
        assert session.history == []

    in_time(work())


def dropped(session: Session, content: bytes) -> str:
    path = session.new_file()
    path.write_bytes(content)
    return path.name


def test_a_file_dropped_again_after_a_restart_lies_where_every_plan_looks_for_it(
    tmp_path: Path, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers.update(opening_answers())
    workers.answers["card"] = {"concepts": 3}
    records = SessionStore(tmp_path / "state")

    async def use(session: Session) -> str:
        finish(session.desk)
        await app.open_upload(session, dropped(session, b"sex\nf\n"), "people.csv")
        path, _ = await app.read_dropped_ontology(session, dropped(session, b"id,parent,label\n"), "own.csv")
        return session.reference(path)

    async def work() -> None:
        first = Session("key", tmp_path / "first", records)
        own = await use(first)
        with first.change("ontology") as draft:
            draft["ontologies"][own] = "own.csv"
            draft["plan"]["columns"]["sex"] = {"kind": "nominal", "role": "quasi-identifier", "ontology": own}
        again = Session("key", tmp_path / "second", records)
        finish(again.desk)
        with pytest.raises(FileError, match="does not keep a copy of"):
            await app.ready(again)
        await app.open_upload(again, dropped(again, b"sex\nf\n"), "people.csv")
        await app.ready(again)
        with pytest.raises(FileError, match=r"does not keep a copy of .*own\.csv"):
            await app.ready(again, with_ontologies=True)
        assert await use(again) == own
        await app.ready(again, with_ontologies=True)
        assert again.undo() == "ontology"  # the table of an earlier draft is here too
        await app.ready(again)
        assert len(list((again.folder / "uploads").iterdir())) == 2

    in_time(work())


def test_persons_held_out_go_with_the_run_and_are_asked_for_again_after_a_restart(
    session: Session, app: WebApp, workers: type[SlowWorker], tmp_path: Path
) -> None:
    workers.answers.update(opening_answers())

    async def work() -> None:
        finish(session.desk)
        found = await app.look_at_upload(session, dropped(session, b"age\n2\n"), "others.csv", {"delimiter": ";"})
        assert (found["name"], found["n_records"]) == ("others.csv", 3)
        with session.change("Hold persons out") as draft:
            draft["held_out"] = found
        assert Path(session.task_input()["held_out"]).read_bytes() == b"age\n2\n"
        assert session.readable(f"{session.path(found['path'])} is odd") == "uploads/others.csv is odd"
        await app.start(session, "run", {"masking": 1.0}, version=session.version)
        assert session.job is not None
        assert session.job.draft["held_out"] == found
        session.job.stop()
        again = Session("key", tmp_path / "second", SessionStore(tmp_path / "state"))
        with pytest.raises(FileError, match=r"does not keep a copy of 'others\.csv'"):
            await app.start(again, "run", {"masking": 1.0}, version=again.version)
        await app.start(again, "sweep", {"trying": 1.0}, version=again.version, asked={"grid": []})
        again.job.stop()  # type: ignore[union-attr]
        finish(again.desk)
        await app.open_upload(again, dropped(again, b"sex\nf\n"), "people.csv")
        assert again.draft["held_out"] is None

    in_time(work())


def test_a_release_of_another_tool_is_attacked_and_forgotten_with_its_files(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers.update(opening_answers())
    workers.answers["foreign"] = {"report": {"verdict": {}}}

    async def work() -> None:
        finish(session.desk)
        for key in ("original", "release"):
            stored = dropped(session, key.encode())
            session.foreign = {**session.foreign, key: await app.look_at_upload(session, stored, f"{key}.csv", {})}
        attacking = asyncio.create_task(app.assess_foreign(session))
        await soon()
        finish(*workers.made)
        await attacking
        assert session.foreign["found"] == {"verdict": {}}
        late = asyncio.create_task(app.assess_foreign(session))
        await soon()
        session.foreign = {key: one for key, one in session.foreign.items() if key == "original"}
        finish(*workers.made)
        with pytest.raises(SessionChangedError):
            await late
        assert set(session.foreign) == {"original"}
        session.forget()
        assert session.foreign == {}

    in_time(work())


@pytest.mark.parametrize("error", [InputError("no"), ValueError("ours")])
@pytest.mark.parametrize("task", ["open", "propose", "card"])
def test_a_dropped_file_that_is_not_taken_is_wiped_for_whatever_reason(
    session: Session, app: WebApp, workers: type[SlowWorker], error: Exception, task: str
) -> None:
    workers.answers.update({**opening_answers(), task: error})

    async def work() -> None:
        finish(session.desk)
        stored = dropped(session, b"x")
        taking = app.read_dropped_ontology if task == "card" else app.open_upload
        with pytest.raises(type(error)):
            await taking(session, stored, "x.csv")
        assert list((session.folder / "uploads").iterdir()) == []

    in_time(work())


# ------------------------------------------------------------------------------------------------ jobs


def running(session: Session) -> Any:
    assert session.job is not None
    return session.job


def test_a_run_of_a_draft_that_the_user_has_not_seen_is_refused(session: Session, app: WebApp) -> None:
    async def work() -> None:
        seen = session.version
        change(session)
        with pytest.raises(SessionChangedError):
            await app.start(session, "run", {"masking": 1.0}, version=seen)
        assert session.job is None

    in_time(work())


def test_when_two_runs_start_at_once_one_is_stopped_and_each_has_its_folder(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers["run"] = {"worst": None, "utility": 1.0}

    async def work() -> None:
        starts = [app.start(session, "run", {"masking": 1.0}, version=session.version) for _ in range(2)]
        await asyncio.gather(*starts)
        await soon()
        asked = [one for worker in workers.made for task, one in worker.asked if task == "run"]
        assert len({one["folder"] for one in asked}) == 2
        finish(*workers.made)  # the answer of the stopped one arrives, too late
        await soon()
        assert running(session).state == "done"
        assert [run["number"] for run in session.runs] == [running(session).number]
        assert session.runs[0]["draft"]["table"]["name"] == "x.csv"

    in_time(work())


def test_a_stopped_sweep_leaves_no_plan_behind(session: Session, app: WebApp, workers: type[SlowWorker]) -> None:
    workers.answers["sweep"] = {"points": [{"plan": PLAN, "worst": None, "utility": 1.0, "losses": {}}], "sample": 9}

    async def work() -> None:
        await app.start(session, "sweep", {"trying": 1.0}, version=session.version, asked={"grid": []})
        await soon()
        job = running(session)
        finish(job.worker)
        job.stop()
        await soon()
        assert job.state == "cancelled"
        assert session.runs == []

    in_time(work())


def test_a_sweep_says_on_how_many_records_it_tried_and_what_it_skipped(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    point = {"plan": PLAN, "worst": {"rate": 0.5}, "utility": 0.9, "losses": {}}
    workers.answers["sweep"] = {"points": [point], "sample": 5, "skipped": ["k = 99: too large."]}

    async def work() -> None:
        await app.start(session, "sweep", {"trying": 1.0}, version=session.version, asked={"grid": []})
        finish(running(session).worker)
        await soon()
        assert running(session).skipped == ["k = 99: too large."]
        assert running(session).why_skipped == "In the sample of 5 records: k = 99: too large."
        whole = {**session.runs[0], "number": 7, "sample": 9}
        found = points_of([*session.runs, whole, {**whole, "number": 8, "worst": None}])
        assert [(one["number"], one["sample"]) for one in found] == [(1, 5), (7, None)]
        lines = [one for one in risk_utility(found, 1)["series"] if one["type"] == "line"]
        assert [one["lineStyle"]["type"] for one in lines] == ["dashed", "solid"]

    in_time(work())
