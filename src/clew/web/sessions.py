"""Who is logged in with a browser: sessions, their cookie, and what browsers are told to heed."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection

from clew.text import text_digest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.mcp.server import ClewServer


KNOWN = 10_000
"""Sessions at a time; the oldest end first."""
KEY_SECONDS = 120.0
"""How long the key in an address is good, unless it is used before."""


@dataclass(frozen=True, slots=True)
class _Session:
    bearer: str
    ends: float
    idle_ends: float = math.inf
    """When it is over unless it is used before."""


class Sessions:
    """Who is logged in; kept in memory, so that all are over when the server ends.

    To be used in one event loop, `invite` aside.
    """

    def __init__(
        self,
        hours: float,
        idle_minutes: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """They end after so many hours, and where they were not used for so many minutes."""
        self._seconds, self._idle_seconds = hours * 3600, idle_minutes * 60
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: dict[str, _Session] = {}
        self._keys: dict[str, _Session] = {}

    def invite(self, bearer: str) -> str:
        """A key for an address, good for one login with a token."""
        key = secrets.token_urlsafe(32)
        self._keys[text_digest(key)] = _Session(bearer, self._clock() + KEY_SECONDS)
        return key

    def redeem(self, key: str) -> str | None:
        """The id of a session for a key, which is good no more; None for any other."""
        invited = self._keys.pop(text_digest(key), None)
        if invited is None or self._clock() >= invited.ends:
            return None
        return self.open(invited.bearer)

    def open(self, bearer: str) -> str:
        """The id of a new session of the token's owner."""
        session_id = secrets.token_urlsafe(32)
        now = self._clock()
        self._sessions[text_digest(session_id)] = _Session(
            bearer, now + self._seconds, now + self._idle_seconds
        )
        if len(self._sessions) > KNOWN:
            del self._sessions[next(iter(self._sessions))]
        return session_id

    def bearer(self, session_id: str) -> str | None:
        """The token that a session stands for, used by this; None where it is over or was never."""
        session, now = self._sessions.get(text_digest(session_id)), self._clock()
        if session is None:
            return None
        if now >= min(session.ends, session.idle_ends):
            self.end(session_id)
            return None
        self._sessions[text_digest(session_id)] = replace(
            session, idle_ends=now + self._idle_seconds
        )
        return session.bearer

    def end(self, session_id: str) -> None:
        """Log out."""
        self._sessions.pop(text_digest(session_id), None)

    def form_token(self, session_id: str) -> str:
        """What a form of this session must carry, so that no other site can send it."""
        return hmac.new(self._secret, session_id.encode(), "sha256").hexdigest()

    def is_form_token(self, session_id: str, given: str) -> bool:
        """Whether a form came from a page of this session."""
        sent = given.encode("utf-8", "replace")
        return hmac.compare_digest(self.form_token(session_id).encode(), sent)


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


def is_nobody(server: ClewServer) -> bool:
    """Whether a token is asked for, and none that is known came."""
    return server.access is not None and get_access_token() is None


def cookie_name(scope: Scope) -> str:
    """Cookies know no ports: those of two servers on one machine have names of their own.

    Over HTTPS the prefix has browsers take it from this very host alone, not from a neighbour.
    """
    server = scope.get("server")
    prefix = "__Host-" if scope.get("scheme") == "https" else ""
    return f"{prefix}clew_{server[1] if server else 0}"


class Browsers:
    """Before the explorer: what a page may do, and the token in place of the cookie.

    So all behind it knows tokens alone, and a page does nothing but what this server sends.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIXES):
            await self._app(scope, receive, send)
            return
        if "authorization" not in Headers(scope=scope):
            session = HTTPConnection(scope).cookies.get(cookie_name(scope), "")
            bearer = self._sessions.bearer(session)
            if bearer is not None:
                header = (b"authorization", f"Bearer {bearer}".encode("latin-1", "replace"))
                scope = {**scope, "headers": [*scope["headers"], header], SESSION: session}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, guarded)
