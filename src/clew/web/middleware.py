"""What stands before the explorer's pages and API: headers that browsers heed, and the cookie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.web.sessions import Sessions

PREFIXES = ("/ui", "/api/")
FORM_TOKEN = "x-form-token"
"""The header by which a script of a page shows that it is of this session."""
SESSION = "clew.session"
"""Where the scope of a request names its session."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer, browsers send forms with the origin "null", which is refused.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def is_explorer(scope: Scope) -> bool:
    """Whether a request is one to the explorer or its API."""
    return scope["type"] == "http" and scope["path"].startswith(PREFIXES)


def cookie_name(scope: Scope) -> str:
    """Cookies know no ports: those of two servers on one machine have names of their own.

    Over HTTPS the prefix has browsers take it from this very host alone, not from a neighbour.
    """
    server = scope.get("server")
    prefix = "__Host-" if scope.get("scheme") == "https" else ""
    return f"{prefix}clew_{server[1] if server else 0}"


class SecurityHeaders:
    """Says to browsers what a page may do: nothing but what this server sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the answer."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, guarded if is_explorer(scope) else send)


class CookieLogin:
    """Puts the token in place of the cookie, so that all behind it knows tokens alone."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if is_explorer(scope) and "authorization" not in Headers(scope=scope):
            session = HTTPConnection(scope).cookies.get(cookie_name(scope), "")
            bearer = self._sessions.bearer(session)
            if bearer is not None:
                header = (b"authorization", f"Bearer {bearer}".encode("latin-1", "replace"))
                scope = {**scope, "headers": [*scope["headers"], header], SESSION: session}
        await self._app(scope, receive, send)
