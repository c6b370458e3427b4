"""Access control of the server: which requests are allowed, and what a page may load.

Every request, including websockets, must name this server as its host (which prevents DNS rebinding), must not come
from another site's page, and must carry the cookie set by the start address. The token of the start address is
exchanged for that cookie once and appears in no page.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from anonto.web.session import Sessions

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

KEY_OF_SCOPE = "anonto_session"
"""Key of the ASGI scope that holds the session key."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FOREIGN_SITES = ("cross-site", "same-site")
ASSETS = "/_nicegui/"

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not allowed – anonto</title></head>
<body style="font: 1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1.5rem">
<h1 style="font-size: 1.4rem">This address needs its token</h1>
<p>{reason}</p>
<p>Open the full address that <code>anonto serve</code> printed when it started, with everything after the question
mark.</p>
</body></html>
"""


_ONWARD = b"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>anonto</title></head>
<body><a href="/">Open anonto</a></body></html>
"""


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(
        self,
        app: App,
        *,
        token: str,
        sessions: Sessions,
        host: str,
        port: int,
        owner: Callable[[str], str | None] | None = None,
    ) -> None:
        """Wrap an app; ``owner`` returns the key of the session that a page of the framework belongs to."""
        self.app = app
        self._owner = owner
        self._token = token
        self._sessions = sessions
        self._is_open = host not in LOOPBACK
        self._host = host
        self._port = port
        self.cookie = f"anonto-{port}"
        """Cookies are shared by all ports of a machine, so each server has its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        reason = self._refusal(scope, headers)
        if reason:
            await _refuse(scope, send, reason)
            return
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        if scope["type"] == "http" and scope["path"] == "/" and "token" in query:
            await self._exchange(query["token"][-1], headers, scope, send)
            return
        key = self._key(headers)
        if key is None:
            await _refuse(scope, send, "This browser is not signed in, or its session has expired.")
            return
        if self._owner is not None and any(self._owner(page) not in {None, key} for page in query.get("client_id", [])):
            await _refuse(scope, send, "The page belongs to another browser.")
            return
        scope[KEY_OF_SCOPE] = key
        await self.app(scope, receive, _with_headers(scope, send))

    # ------------------------------------------------------------------------------------------ who may come in

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str:
        """The reason to refuse a request, regardless of its sender; empty if it is allowed."""
        if not self._is_own_host(headers.get("host", "")):
            return "The Host header does not name this server."
        origin = headers.get("origin")
        if origin is not None and not self._is_own_origin(origin):
            return "The request comes from a page of another site."
        must_say = scope["type"] == "websocket" or scope.get("method", "GET") not in SAFE_METHODS
        if origin is None and must_say:
            return "The request has no Origin header."
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site") in FOREIGN_SITES and not is_visit:
            return "The request comes from a page of another site."
        return ""

    def _is_own_host(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            return False
        if (port or 80) != self._port or "@" in host or "/" in host:
            return False
        return name in {*LOOPBACK, self._host.lower()} or (self._is_open and _is_address(name))

    def _is_own_origin(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme == "http" and self._is_own_host(host)

    def _key(self, headers: dict[str, str]) -> str | None:
        """The session key in the browser's cookie.

        Cookies are shared with other programs on this machine and may be malformed, so only our own is parsed.
        """
        for one in headers.get("cookie", "").split(";"):
            name, _, value = one.strip().partition("=")
            if name == self.cookie and self._sessions.knows(value):
                return value
        return None

    async def _exchange(self, token: str, headers: dict[str, str], scope: Scope, send: Send) -> None:
        """Exchange a valid token for a cookie; a browser that already has one keeps its session."""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            await _refuse(
                scope, send, "The token in the address is wrong, or belongs to an earlier start of the server."
            )
            return
        key = self._key(headers) or self._sessions.begin()
        cookie = (b"set-cookie", f"{self.cookie}={key}; Path=/; HttpOnly; SameSite=Strict".encode())
        if headers.get("sec-fetch-site") in FOREIGN_SITES:
            # After a redirect the browser would still treat the visit as cross-site and withhold a strict cookie.
            await _answer(send, 200, _ONWARD, [cookie, (b"content-type", b"text/html; charset=utf-8")])
        else:
            await _answer(send, 303, b"", [(b"location", b"/"), cookie])


def _is_address(name: str) -> bool:
    """Return whether a host is an IP address, which DNS rebinding cannot use."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _refuse(scope: Scope, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await _answer(send, 403, _PAGE.format(reason=reason).encode(), [(b"content-type", b"text/html; charset=utf-8")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    policy = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
    length = (b"content-length", str(len(body)).encode())
    all_headers = [*headers, policy, length, *_ALWAYS, (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


# ------------------------------------------------------------------------------------------------ what a page may do


_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]


def content_policy(nonce: str) -> str:
    """The content security policy: a page loads the server's own files, and runs scripts with the nonce.

    The pages' framework compiles its templates in the browser, which needs ``unsafe-eval``; scripts inside markup and
    handlers in attributes never run.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "font-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def _with_headers(scope: Scope, send: Send) -> Send:
    """Add the policy to responses, and the nonce to the server's own scripts in pages."""
    if scope["type"] != "http":
        return send
    nonce = secrets.token_urlsafe(16)
    page: dict[str, Any] = {}

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {b"cache-control"} if not scope["path"].startswith(ASSETS) else set()
            kept = [(name, value) for name, value in message["headers"] if name.lower() not in own]
            policy = [(b"content-security-policy", content_policy(nonce).encode()), *_ALWAYS]
            policy += [(name, b"no-store") for name in own]
            message["headers"] = [*kept, *policy]
            if (b"x-nicegui-content", b"page") in kept:
                page.update(start=message, body=b"")
                return
        elif page:
            page["body"] += message.get("body", b"")
            if message.get("more_body"):
                return
            body = page["body"].replace(b"<script", f'<script nonce="{nonce}"'.encode())
            start = page["start"]
            others = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            start["headers"] = [*others, (b"content-length", str(len(body)).encode())]
            await send(start)
            message = {"type": "http.response.body", "body": body}
        await send(message)

    return send_with_headers
