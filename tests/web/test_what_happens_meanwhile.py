"""Pages and questions about a draft that changes meanwhile: nothing old is shown, nothing is written into another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import pytest

from anonto.errors import InputError, SessionChangedError
from anonto.web import frame as frame_module
from anonto.web.frame import Frame
from anonto.web.session import Session
from web.stand_ins import asked_of, change, finish, in_time, soon

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.web.app import WebApp
    from web.stand_ins import SlowWorker


# ------------------------------------------------------------------------------------------------ versions


def test_every_change_of_the_draft_is_another_version(session: Session) -> None:
    seen = [session.version]
    for what in (lambda: change(session), session.undo, session.redo, session.forget):
        what()
        seen.append(session.version)
    assert seen == sorted(set(seen))
    before = session.version
    with session.change("nothing"):
        pass
    assert session.undo() is None
    assert session.version == before


@pytest.fixture
def framed(session: Session, app: WebApp, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Frame]:
    monkeypatch.setattr(Frame, "update", lambda _: None)
    return lambda: Frame(app, session, "/columns")


def test_a_page_changes_only_the_draft_that_it_shows(session: Session, framed: Callable[[], Frame]) -> None:
    one, other = framed(), framed()
    for role in ("other", "confidential"):  # its own changes do not make it old
        with one.change("role") as draft:
            draft["plan"]["columns"]["age"]["role"] = role
    with pytest.raises(SessionChangedError), other.change("role") as draft:
        draft["plan"]["columns"]["age"]["role"] = "identifier"
    assert session.plan["columns"]["age"]["role"] == "confidential"
    assert len(session.history) == 2
    assert other.is_outdated
    assert not one.is_outdated


def test_what_was_asked_before_a_change_of_the_same_page_is_not_written_over_it(framed: Callable[[], Frame]) -> None:
    page = framed()
    since = page.version
    with page.change("k") as draft:
        draft["plan"]["steps"][0]["k"] = 9
    with pytest.raises(SessionChangedError), page.change("propose", since) as draft:
        draft["plan"] = {}
    assert page.session.plan["steps"][0]["k"] == 9


def test_an_ontology_can_be_added_to_whatever_draft(session: Session, framed: Callable[[], Frame]) -> None:
    page = framed()
    change(session)
    with page.add("ontology") as draft:
        draft["ontologies"]["/a/b.csv"] = "b.csv"
    assert session.draft["ontologies"] == {"/a/b.csv": "b.csv"}
    assert page.is_outdated  # what it shows is still the draft before


class Place:
    """A place of a page that notes what was put there."""

    id = 1
    is_deleted = False

    def __init__(self) -> None:
        self.shown: list[str] = []

    def clear(self) -> None:
        self.shown = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place()
    monkeypatch.setattr(frame_module, "show", lambda _: made.shown.append("busy"))
    monkeypatch.setattr(frame_module, "message", lambda sentence, kind: made.shown.append(f"{kind}: {sentence}"))
    monkeypatch.setattr(Frame, "ask_to_reload", lambda _: made.shown.append("reload"))
    monkeypatch.setattr(Frame, "say", lambda _, sentence, kind: made.shown.append(f"{kind}: {sentence}"))
    return made


def test_an_internal_error_is_shown_instead_of_an_endless_spinner(framed: Callable[[], Frame], place: Place) -> None:
    async def failing() -> None:
        raise ZeroDivisionError

    page = framed()
    page._main = place
    with pytest.raises(ZeroDivisionError):
        asyncio.run(page.fill(place, "Counting", failing))
    assert place.shown == ["error: An internal error occurred (ZeroDivisionError)."]
    place.clear()
    with pytest.raises(KeyError), page.show_errors():
        raise KeyError
    assert place.shown == ["error: An internal error occurred (KeyError)."]


def test_a_place_is_filled_again_after_a_change_of_the_page_itself_and_not_after_one_elsewhere(
    framed: Callable[[], Frame], place: Place
) -> None:
    tries: list[int] = []

    async def content() -> None:
        since = page.version
        tries.append(since)
        if len(tries) == 1:
            with page.change("k") as draft:
                draft["plan"]["steps"][0]["k"] = 9
        elif is_changed_elsewhere:
            change(page.session)
        page.check(since)
        place.shown.append("content")

    page, is_changed_elsewhere = framed(), False
    asyncio.run(page.fill(place, "Counting", content))
    assert place.shown == ["busy", "content"]
    is_changed_elsewhere = True
    asyncio.run(page.fill(place, "Counting", content))
    assert place.shown == ["reload"]


def test_what_a_place_was_being_filled_with_does_not_come_after_something_newer(
    framed: Callable[[], Frame], place: Place
) -> None:
    async def old() -> None:
        await asyncio.sleep(0)
        raise SessionChangedError  # the question was given up

    async def new() -> None:
        await soon()
        place.shown.append("new")

    async def work() -> None:
        page = framed()
        await asyncio.gather(page.fill(place, "Old", old), page.fill(place, "New", new))
        assert place.shown == ["busy", "new"]

    in_time(work())


# ------------------------------------------------------------------------------------------------ questions


def test_a_question_is_asked_once_for_all_pages_and_goes_on_when_one_is_left(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers["risk"] = {"found": 1}

    async def work() -> None:
        pages = [asyncio.create_task(app.ask(session, "risk")) for _ in range(3)]
        await soon()
        pages[0].cancel()
        await soon()
        assert asked_of(workers, "risk") == 1
        worker = workers.made[-1]
        assert not worker.is_stopped
        finish(worker)
        assert [await page for page in pages[1:]] == [{"found": 1}] * 2
        assert worker.is_stopped  # a process of its own, that ended with its question
        assert await app.ask(session, "risk") == {"found": 1}
        assert asked_of(workers, "risk") == 1

    in_time(work())


@pytest.mark.parametrize("ending", [change, Session.undo, Session.forget, Session.close])
def test_a_question_about_a_draft_that_is_gone_is_given_up_with_its_process(
    session: Session, app: WebApp, workers: type[SlowWorker], ending: Callable[[Session], object]
) -> None:
    async def work() -> None:
        change(session, 6)
        asked = asyncio.create_task(app.ask(session, "risk"))
        await soon()
        worker = workers.made[-1]
        ending(session)
        with pytest.raises(SessionChangedError):
            await asked
        await soon()
        assert worker.is_stopped
        assert "risk" not in session.questions

    in_time(work())


def test_an_outdated_estimate_is_ended_and_the_next_does_not_wait_for_it(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers["estimate"] = lambda given: {"k": given["plan"]["steps"][0]["k"]}

    async def work() -> None:
        asked = asyncio.create_task(app.ask(session, "estimate"))
        await soon()
        first: Any = session.estimator
        change(session)
        with pytest.raises(SessionChangedError):
            await asked
        assert first.is_stopped
        assert session.known == {}
        finish(session.estimator)
        assert await app.ask(session, "estimate") == {"k": 7}
        assert session.known["estimate"] == {"k": 7}
        kept: Any = session.estimator
        change(session, 8)  # nothing is being estimated: the process stays
        assert session.estimator is kept
        assert not kept.is_stopped

    in_time(work())


def test_the_answer_to_a_page_is_refused_when_the_draft_changed_before_it_came(
    session: Session, framed: Callable[[], Frame], workers: type[SlowWorker]
) -> None:
    workers.answers["values"] = {"values": ["1"]}

    async def work() -> None:
        asked = asyncio.create_task(framed().call("values", {}))
        await soon()
        change(session)
        finish(session.desk)
        with pytest.raises(SessionChangedError):
            await asked

    in_time(work())


def test_an_error_reaches_every_waiter_and_is_not_cached(
    session: Session, app: WebApp, workers: type[SlowWorker]
) -> None:
    workers.answers["coverage"] = InputError("no")

    async def work() -> None:
        asked = [asyncio.create_task(app.ask(session, "coverage")) for _ in range(2)]
        await soon()
        finish(session.desk)
        for one in asked:
            with pytest.raises(InputError):
                await one
        workers.answers["coverage"] = {"coverage": {}}
        assert await app.ask(session, "coverage") == {"coverage": {}}

    in_time(work())
