"""The door of the server and the line to its workers, without a browser."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from anonto.errors import StoppedWorkError
from anonto.web.app import WebApp
from anonto.web.folders import SessionStore
from anonto.web.guard import Guard
from anonto.web.processes import Worker
from anonto.web.session import Session, Sessions
from anonto.web.tasks import TASKS

if TYPE_CHECKING:
    from pathlib import Path

PORT = 8642
TOKEN = "the token"  # noqa: S105 - of a test


class Keys:
    def begin(self) -> str:
        return "new"

    def knows(self, key: str) -> bool:
        return key == "known"


def asked(path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """The status, the headers and the body that the guard's side gives."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["anonto_session"].encode()})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    guard = Guard(app, token=TOKEN, sessions=Keys(), host="127.0.0.1", port=PORT)
    given = {"host": f"127.0.0.1:{PORT}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    place, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "path": place,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(guard(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, sent[1]["body"].decode()


# ------------------------------------------------------------------------------------------------ the door


@pytest.mark.parametrize(
    "others",
    ["", "flag; ", 'a="x; y"; ', "path=1; ", 'json={"a": "b c"}; ', "a b=c d; ", "ä=ö; ", "=; ;; ", "anonto-8642=; "],
)
def test_cookies_of_other_programs_do_not_lock_anybody_out(others: str) -> None:
    status, _, body = asked("/", cookie=f"{others}anonto-{PORT}=known")
    assert (status, body) == (200, "known")


@pytest.mark.parametrize("cookie", ["", "anonto-1=known", f"anonto-{PORT}=other", f"xanonto-{PORT}=known", "known"])
def test_no_cookie_but_the_right_one_opens(cookie: str) -> None:
    assert asked("/", cookie=cookie)[0] == 403


def test_the_start_address_works_from_a_link_on_another_site() -> None:
    visit = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    status, headers, _ = asked(f"/?token={TOKEN}", sec_fetch_site="none", **visit)
    assert (status, headers["location"]) == (303, "/")
    status, headers, body = asked(f"/?token={TOKEN}", sec_fetch_site="cross-site", **visit)
    assert status == 200
    assert 'content="0; url=/"' in body
    assert TOKEN not in body
    assert "SameSite=Strict" in headers["set-cookie"]
    assert asked("/?token=wrong", sec_fetch_site="cross-site", **visit)[0] == 403


# ------------------------------------------------------------------------------------------------ workers


def test_a_worker_that_is_stopped_while_it_starts_does_nothing() -> None:
    async def work() -> None:
        worker = Worker()
        asking = asyncio.create_task(worker.call("methods", {}))
        waiting = asyncio.create_task(worker.call("methods", {}))
        await asyncio.sleep(0)
        worker.stop()
        for one in (asking, waiting):
            with pytest.raises(StoppedWorkError):
                await one
        assert worker.pid is None
        assert "methods" in await worker.call("methods", {})
        worker.stop()
        await worker.wait_until_ended()

    asyncio.run(work())


@pytest.mark.parametrize("stops", [True, False])
def test_no_process_outlives_the_loop_that_began_it(stops: bool) -> None:
    async def work() -> int | None:
        worker = Worker()
        await worker.call("methods", {})
        pid = worker.pid
        if stops:
            worker.stop()
            await asyncio.sleep(0)
        return pid

    pid = asyncio.run(work())
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_waiters_are_notified_when_a_process_dies_even_if_another_has_started() -> None:
    async def work() -> None:
        worker = Worker()
        await worker.warm_up()
        first = worker.pid
        assert first is not None
        asking = asyncio.create_task(worker.call("methods", {}))
        await asyncio.sleep(0.01)
        os.kill(first, 9)
        with pytest.raises(StoppedWorkError):
            await asyncio.wait_for(asking, 20)
        assert "methods" in await worker.call("methods", {})
        assert worker.pid != first
        worker.stop()
        await worker.wait_until_ended()

    asyncio.run(work())


def test_an_unreadable_answer_ends_the_process_without_a_hang() -> None:
    async def work() -> None:
        worker = Worker()

        def failing(progress: dict[str, Any]) -> None:
            raise ValueError(progress)

        asking = asyncio.create_task(worker.call("sweep", {}, failing))
        with pytest.raises((StoppedWorkError, ValueError)):
            await asyncio.wait_for(asking, 60)
        worker.stop()
        await worker.wait_until_ended()

    asyncio.run(work())


# ------------------------------------------------------------------------------------------------ other formats


@pytest.mark.parametrize(("delimiter", "encoding"), [("|", "cp1250"), (";", "cp1252"), (",", "utf-8")])
def test_a_masked_table_in_another_format_is_read_as_it_was_written(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    words = ["Łódź", "Kraków, Stare Miasto", "Gdańsk"] if encoding != "cp1252" else ["Köln", "Besançon, Centre", "Å"]
    lines = [delimiter.join(["place", "age"]), *(delimiter.join([f'"{words[n % 3]}"', str(n)]) for n in range(30))]
    table = tmp_path / "table.csv"
    table.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    plan = {
        "columns": {
            "place": {"kind": "nominal", "role": "quasi-identifier"},
            "age": {"kind": "numeric", "role": "other"},
        },
        "steps": [{"method": "random-swap", "columns": ["place"]}],
        "table": {"delimiter": delimiter, "encoding": encoding},
    }
    given = {"table": {"path": str(table), "repairs": {}}, "plan": plan, "folder": str(tmp_path / "run")}
    done = TASKS["run"](given, lambda _: None)
    target = tmp_path / "out.parquet"
    masked = {"masked": str(tmp_path / "run" / f"masked{done['ending']}"), "target": str(target)}
    TASKS["export"]({**masked, "dialect": done["dialect"]}, lambda _: None)
    out = pl.read_parquet(target)
    assert out.columns == ["place", "age"]
    assert set(out["place"]) == set(words)


# ------------------------------------------------------------------------------------------------ files of the machine


def test_an_ontology_that_a_link_leads_to_from_outside_is_not_opened(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside):
        folder.mkdir()
    edges = "child,parent\n" + "".join(f"c{n},g{n % 3}\n" for n in range(12)) + "g0,top\ng1,top\ng2,top\n"
    (outside / "secret.csv").write_text(edges, encoding="utf-8")
    (inside / "linked.csv").symlink_to(outside / "secret.csv")
    (inside / "table.csv").write_text("code\n" + "".join(f"c{n % 12}\n" for n in range(60)), encoding="utf-8")

    def proposed(root: Path) -> Any:
        async def work() -> Any:
            records = SessionStore(tmp_path / "records")
            session = Session(f"key of {root.name}", tmp_path / f"session of {root.name}", records)
            app = WebApp(Sessions(tmp_path / "sessions", records), root, 1, demo=False)
            await app.open_picked(session, (inside / "table.csv").relative_to(root).as_posix())
            session.close()
            return session.plan["columns"]["code"].get("ontology")

        return asyncio.run(work())

    assert proposed(inside) is None
    assert str(proposed(tmp_path)).endswith("linked.csv")
