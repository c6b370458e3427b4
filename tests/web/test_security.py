"""Each attack on the list, tried on a running server."""

from __future__ import annotations

import base64
import http.client
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from web.conftest import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from web.conftest import Served, Visitor

    Visit = Callable[..., Visitor]


def ask(
    server: Served,
    path: str = "/",
    *,
    method: str = "GET",
    host: str | None = None,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host if host is not None else f"127.0.0.1:{server.port}")
    for name, value in (headers or {}).items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def body_of(response: http.client.HTTPResponse) -> str:
    return response.body.decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    """The cookie of a browser that opened the start address."""
    response = ask(served, f"/?token={served.token}")
    assert response.status == 303
    return response.headers["Set-Cookie"].partition(";")[0]


def let_in(cookie: str, server: Served) -> dict[str, str]:
    return {"Cookie": cookie, "Origin": server.root}


# ------------------------------------------------------------------------------------------------ token and cookie


def test_the_start_address_is_alone_on_its_line_with_the_loopback_address_and_a_long_token(served: Served) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", served.address)


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(served: Served) -> None:
    given = ask(served, f"/?token={served.token}").headers["Set-Cookie"]
    assert "HttpOnly" in given
    assert "SameSite=Strict" in given
    assert served.token not in given


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/columns",
        "/upload",
        "/take/1/masked.csv",
        "/take-foreign/report",
        "/assets/style.css",
        "/?token=",
        "/_nicegui/x",
        "/nothing",
    ],
)
def test_without_the_token_every_address_is_forbidden(served: Served, path: str) -> None:
    assert ask(served, path).status == 403


@pytest.mark.parametrize("wrong", ["x", "../", "%00", "a" * 5000])
def test_a_wrong_token_is_forbidden_even_to_a_browser_that_is_in(served: Served, cookie: str, wrong: str) -> None:
    assert ask(served, f"/?token={wrong}").status == 403
    assert ask(served, f"/?token={wrong}", headers={"Cookie": cookie}).status == 403


@pytest.mark.parametrize("wrong", ["anonto={}=x", "x=y", "anonto-{}=../../etc/passwd", "anonto-{}=" + "a" * 43])
def test_a_cookie_that_was_never_given_is_forbidden(served: Served, wrong: str) -> None:
    assert ask(served, headers={"Cookie": wrong.format(served.port)}).status == 403


def test_with_the_cookie_the_pages_are_there(served: Served, cookie: str) -> None:
    response = ask(served, headers={"Cookie": cookie})
    assert response.status == 200
    assert served.token not in body_of(response)


# ------------------------------------------------------------------------------------------------ host and origin


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil:{}"]
)
def test_a_foreign_name_for_this_machine_is_forbidden(served: Served, cookie: str, host: str) -> None:
    assert ask(served, host=host.format(served.port), headers={"Cookie": cookie}).status == 403


def test_localhost_is_this_machine_too(served: Served, cookie: str) -> None:
    assert ask(served, host=f"localhost:{served.port}", headers={"Cookie": cookie}).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://127.0.0.1:1", None])
def test_a_post_from_elsewhere_is_forbidden(served: Served, cookie: str, origin: str | None) -> None:
    headers = {"Cookie": cookie} | ({"Origin": origin.format(served.port)} if origin else {})
    assert ask(served, "/upload", method="POST", headers=headers, body=b"a,b\n").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_cannot_load_anything(served: Served, cookie: str, site: str) -> None:
    headers = {"Cookie": cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert ask(served, "/take/1/report", headers=headers).status == 403


def socket_headers(**more: str) -> dict[str, str]:
    key = base64.b64encode(os.urandom(16)).decode()
    needed = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
    return needed | more


SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def test_a_socket_needs_the_cookie_and_our_own_page(served: Served, cookie: str) -> None:
    assert ask(served, SOCKET, headers=socket_headers(Origin=served.root)).status == 403
    assert ask(served, SOCKET, headers=socket_headers(Cookie=cookie, Origin="http://evil.example")).status == 403
    assert ask(served, SOCKET, headers=socket_headers(Cookie=cookie)).status == 403
    assert ask(served, SOCKET.replace("websocket", "polling"), headers={}).status == 403


def test_a_socket_of_another_session_cannot_take_over_a_page(served: Served, cookie: str) -> None:
    page = body_of(ask(served, headers={"Cookie": cookie}))
    found = re.search(r"['\"]client_id['\"]: ['\"]([\w-]{36})['\"]", page)
    assert found is not None
    other = ask(served, f"/?token={served.token}").headers["Set-Cookie"].partition(";")[0]
    asked = f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={found[1]}"
    assert ask(served, asked, headers={"Cookie": other}).status == 403
    assert ask(served, asked, headers={"Cookie": cookie}).status == 200


# ------------------------------------------------------------------------------------------------ what pages may do


def test_pages_may_load_nothing_from_elsewhere_and_run_no_script_in_markup(served: Served, cookie: str) -> None:
    response = ask(served, headers={"Cookie": cookie})
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)
    scripts = policy.partition("script-src")[2].partition(";")[0]
    assert "'unsafe-inline'" not in scripts
    assert "frame-ancestors 'none'" in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    assert not re.search(r'(?:src|href)="(?:https?:)?//', body_of(response))


def test_the_policy_stops_a_script_that_got_into_a_page(served: Served, visit: Visit) -> None:
    visitor = visit(served, allowed=("Content Security Policy", "Content-Security-Policy"))
    visitor.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=\"window.hacked = 1\">')")
    visitor.page.evaluate(
        "() => document.body.append(Object.assign(document.createElement('script'), {src: 'http://127.0.0.1:9/x.js'}))"
    )
    visitor.page.wait_for_timeout(300)
    assert visitor.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in one for one in visitor.complaints)
    visitor.requests = [one for one in visitor.requests if ":9/" not in one and one != "x:"]


NASTY = "<script>window.hacked=1</script>"


def test_markup_in_names_labels_and_cells_is_shown_and_not_run(served: Served, visit: Visit, tmp_path: Path) -> None:
    image = "<img src=x onerror=window.hacked=1>"
    rows = [f'"{NASTY}",age,"{image}","{{{{7*7}}}}"']
    rows += [f'"{NASTY if n % 2 else image}",{n},"{image if n % 3 else "b"}","{{{{constructor}}}}"' for n in range(60)]
    table = tmp_path / f"{image.replace(' ', '_')}.csv"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    ontology = tmp_path / "hierarchy.csv"
    ontology.write_text(f'id,parent,label\nroot,,"{NASTY}"\n"{NASTY}",root,"{image}"\nb,root,b\n', encoding="utf-8")
    visitor = visit(served)
    page = visitor.page
    visitor.drop(table)
    visitor.see("The first 8 records")
    assert page.get_by_text(NASTY).count() > 0
    visitor.go("Columns")
    visitor.see(NASTY)
    visitor.drop(ontology, "Drop an ontology file, or choose one")
    visitor.see("It can now be chosen for any column")
    page.get_by_label(f"Ontology of {NASTY}").locator("option", has_text="hierarchy.csv").wait_for(state="attached")
    page.get_by_label(f"Role of {NASTY}", exact=True).select_option("quasi-identifier")
    page.get_by_label(f"Ontology of {NASTY}", exact=True).select_option(label="hierarchy.csv")
    page.get_by_role("link", name="Look closer").first.click()
    visitor.see("Match with the ontology")
    page.get_by_label("Find a concept by code or label").fill("script")
    page.get_by_label("Find a concept by code or label").press("Tab")
    visitor.see("concepts found")
    visitor.go("Risk before")
    visitor.see("Column by column")
    visitor.run()
    page.get_by_role("img", name="before and after masking").first.wait_for()
    page.locator(".chart").first.hover()
    visitor.go("Take away")
    visitor.see("In Python")
    assert page.evaluate("window.hacked") is None


# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    "path",
    [
        "/take/1/private",
        "/take/1/..%2f..%2fprivate.json",
        "/take-foreign/report",
        "/take-foreign/private",
        "/take-foreign/..%2fuploads",
        "/take/1/masked..%2fprivate.json",
        "/take/-1/report",
        "/take/x/report",
        "/assets/..%2fserver.py",
        "/assets/server.py",
        "/assets/%2e%2e/%2e%2e/pyproject.toml",
        "/_nicegui/../../../etc/passwd",
    ],
)
def test_only_files_of_the_sessions_own_runs_can_be_downloaded(served: Served, cookie: str, path: str) -> None:
    response = ask(served, path, headers={"Cookie": cookie})
    assert response.status in {404, 422}
    assert "root:" not in body_of(response)
    assert "[project]" not in body_of(response)


def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    from anonto.errors import FileError
    from anonto.web.app import WebApp

    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "outside.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "inside" / "link.csv").symlink_to(tmp_path / "outside.csv")
    app = WebApp(None, tmp_path / "inside", 10, demo=False)  # type: ignore[arg-type]
    assert app.file("a.csv").name == "a.csv"
    for wrong in (
        "../outside.csv",
        "link.csv",
        "/etc/passwd",
        str(tmp_path / "outside.csv"),
        "",
        ".",
        "a.csv\x00",
        "no.csv",
    ):
        with pytest.raises(FileError, match="is not in the folder that the server was started with"):
            app.file(wrong)


def test_a_forged_choice_of_a_file_is_refused_in_the_page(served: Served, visit: Visit) -> None:
    (served.folder / "one.csv").write_text("age,sex\n1,f\n2,m\n", encoding="utf-8")
    visitor = visit(served)
    choice = visitor.page.get_by_label("File (")
    choice.evaluate("(e) => { const o = new Option('x', '../../../../etc/passwd'); e.append(o); e.value = o.value; }")
    choice.dispatch_event("change")
    visitor.press("Open this file")
    visitor.see("is not in the folder that the server was started with")


def test_the_name_of_an_upload_is_never_a_path(served: Served, visit: Visit, tmp_path: Path) -> None:
    visitor = visit(served)
    visitor.page.get_by_label("Drop a table here").set_input_files(
        {"name": "../../../../evil.csv", "mimeType": "text/csv", "buffer": b"age,sex\n" + b"1,f\n2,m\n" * 20}
    )
    visitor.see("The first 8 records")
    assert not list(served.temporary.rglob("*evil*"))
    assert not (tmp_path / "evil.csv").exists()
    for path in served.temporary.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_file_beyond_the_limit_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    with serving(tmp_path, "--max-upload", "1KB") as server:
        cookie = ask(server, f"/?token={server.token}").headers["Set-Cookie"].partition(";")[0]
        refused = ask(server, "/upload", method="POST", headers=let_in(cookie, server), body=b"x" * 1001)
        assert refused.status == 413
        chunked = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        chunked.request("POST", "/upload", iter([b"x" * 600, b"x" * 600]), let_in(cookie, server), encode_chunked=True)
        assert chunked.getresponse().status == 413
        chunked.close()
        assert ask(server, "/upload", method="POST", headers=let_in(cookie, server), body=b"a,b\n1,2\n").status == 200
        kept = list(server.temporary.rglob("uploads/*"))
        assert [path.stat().st_size for path in kept] == [8]


# ------------------------------------------------------------------------------------------------ sessions and traces


def test_sessions_of_two_browsers_never_mix(served: Served, visit: Visit) -> None:
    (served.folder / "shared.csv").write_text("age,sex\n" + "30,f\n41,m\n" * 20, encoding="utf-8")
    one, other = visit(served), visit(served)
    one.page.get_by_label("File (").select_option("shared.csv")
    one.press("Open this file")
    one.page.get_by_role("heading", name="shared.csv").wait_for()
    other.page.reload()
    other.page.get_by_text("no table yet").wait_for()
    one.go("Columns")
    one.page.get_by_label("Role of age", exact=True).select_option("other")
    one.page.get_by_role("button", name="Undo: Role of age").wait_for()
    other.page.get_by_label("File (").select_option("shared.csv")
    other.press("Open this file")
    other.page.get_by_role("heading", name="shared.csv").wait_for()
    other.go("Columns")
    assert other.page.get_by_label("Role of age", exact=True).input_value() == "quasi-identifier"
    assert one.page.get_by_label("Role of age", exact=True).input_value() == "other"


def test_no_cell_is_in_what_the_server_prints(visit: Visit, tmp_path: Path) -> None:
    town = "Zweibruecken-4711"
    table = tmp_path / "table.csv"
    table.write_text("age,town\n" + f"30,{town}\n41,Ulm\n" * 20, encoding="utf-8")
    broken = tmp_path / "broken.csv"
    broken.write_text(f'age,town\n1,"{town}\n2,3,4,5\n', encoding="utf-8")
    with serving(tmp_path / "home") as server:
        visitor = visit(server)
        visitor.drop(table)
        visitor.page.get_by_role("heading", name="table.csv").wait_for()
        visitor.drop(broken)
        visitor.page.get_by_role("alert").wait_for()
        server.stop()
        printed = server.errors.read_text(encoding="utf-8")
        visitor.allowed = ("WebSocket", "ERR_CONNECTION_REFUSED", "Failed to load resource")
    assert town not in printed


def test_a_port_that_is_taken_is_refused_in_one_sentence(served: Served) -> None:
    command = [sys.executable, "-m", "anonto", "serve", "--no-browser", "--port", str(served.port)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"Error: The server cannot listen on port {served.port}")
    assert "Traceback" not in refused.stderr


def test_only_this_machine_can_connect(served: Served) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()]
    port = f"{served.port:04X}"
    addresses = {row[1].partition(":")[0] for row in listening[1:] if row[1].endswith(f":{port}") and row[3] == "0A"}
    assert addresses == {"0100007F"}
