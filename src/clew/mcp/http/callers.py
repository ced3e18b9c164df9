"""What callers have under way over HTTP: so many requests and sessions, for as long as they may."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.auth.provider import AccessToken
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.settings import QuotaSettings, ServeSettings


SESSION = "mcp-session-id"
RETRY_SECONDS = 5
"""After how long it is worth asking again where everything is taken."""


@dataclass(eq=False, kw_only=True, slots=True)
class Session:
    """What a client of revision 2025-11-25 began."""

    namespace: str
    token: AccessToken | None
    ends: float
    key: object = None
    """Its id, once it has one."""
    requests: int = 0
    idle_since: float = 0.0


class Callers:
    """The requests and sessions of all callers.

    The SDK closes a session that was idle for too long and says nothing of it, so that sessions
    are counted here by the same rule.
    """

    def __init__(self, serve: ServeSettings, quota: QuotaSettings) -> None:
        self.serve = serve
        self.quota = quota
        self.rate = Rate(serve.rate_per_minute)
        self.requests: Counter[object] = Counter()
        self.under_way: dict[anyio.CancelScope, AccessToken] = {}
        """What ends a request that is answered now, and the token that came with it."""
        self.sessions: dict[object, Session] = {}
        """By their keys."""

    def end(self, allowed: Callable[[AccessToken], bool]) -> None:
        """End what callers have under way whose token is good no more."""
        for ending, token in self.under_way.items():
            if not allowed(token):
                ending.cancel()
        for session in self.sessions.values():
            if session.token is not None and not allowed(session.token):
                session.ends = 0.0

    def lives(self, session_id: str) -> bool:
        """Whether a session goes on; always where one process serves one client."""
        session = self.sessions.get(session_id)
        return not session_id or (session is not None and self._lives(session))

    def open(self, namespace: str, token: AccessToken | None) -> Session | None:
        """A new session, None where the namespace has as many as it may."""
        for key in [key for key, session in self.sessions.items() if self._is_over(session)]:
            del self.sessions[key]
        held = sum(session.namespace == namespace for session in self.sessions.values())
        if held >= self.quota.sessions:
            return None
        ends = anyio.current_time() + self.serve.session_hours * 3600
        session = Session(namespace=namespace, token=token, ends=ends, key=object())
        self.sessions[session.key] = session
        return session

    def name(self, session: Session, session_id: str | None) -> None:
        """Say which id a new session has; None where it came to nothing."""
        self.sessions.pop(session.key, None)
        if session_id is not None:
            session.key = session_id
            self.sessions[session_id] = session

    def _lives(self, session: Session) -> bool:
        return anyio.current_time() < session.ends and not self._is_over(session)

    def _is_over(self, session: Session) -> bool:
        """Whether the SDK has closed it by now."""
        idle = anyio.current_time() - session.idle_since
        return not session.requests and idle > self.serve.session_minutes * 60


class Line:
    """What a client sends, and whether it hung up; Starlette itself does not look."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._heard = anyio.Event()
        self.gone = anyio.Event()
        if scope["method"] == "GET":  # has no body that anybody reads
            self._heard.set()

    async def receive(self) -> Message:
        """The next part of the body; behind its end, that the client is gone, once it is."""
        if self._heard.is_set():
            await self.gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if not message.get("more_body"):
            self._heard.set()
        return message

    async def watch(self, scope: anyio.CancelScope) -> None:
        """Cancel what is done for a client that hangs up after it has sent everything."""
        await self._heard.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone.set()
        scope.cancel()


class CallerLimits:
    """ASGI middleware in front of the protocol; it has to know who calls.

    `namespace` says which one a request is about.
    """

    def __init__(
        self, app: ASGIApp, callers: Callers, namespace: Callable[[Request], str | None], path: str
    ) -> None:
        self._app = app
        self._callers = callers
        self._namespace = namespace
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and keep count of it, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Whoever the verified token names; without one, the address.
        user, client, callers = scope.get("user"), scope.get("client"), self._callers
        token = user.access_token if isinstance(user, AuthenticatedUser) else None
        caller: object = client[0] if client else None
        if token is not None:
            caller = principal_components(token)
        if wait := callers.rate.early(caller):
            often = f"more than {callers.rate.per_minute} requests a minute"
            refused = _refused(f"{often}; wait {wait:.0f} seconds", wait)
            await refused(scope, receive, send)
            return
        most = callers.serve.connections_per_caller
        if callers.requests[caller] >= most:
            await _refused(
                f"you have {most} requests under way, as many as a caller may (the setting"
                " serve.connections_per_caller); wait for one to end"
            )(scope, receive, send)
            return
        callers.requests[caller] += 1
        try:
            await self._in_session(token, scope, receive, send)
        finally:
            callers.requests[caller] -= 1
            if not callers.requests[caller]:
                del callers.requests[caller]

    async def _in_session(
        self, token: AccessToken | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        callers, namespace, session = self._callers, self._namespace(Request(scope)), None
        if namespace is not None:
            session = callers.sessions.get(Headers(scope=scope).get(SESSION))
        if namespace is not None and self._opens(scope):
            session = callers.open(namespace, token)
            if session is None:
                await _refused(
                    f"namespace {namespace!r} has {callers.quota.sessions} sessions, as many as it"
                    " may (the setting quota.sessions); end one with DELETE, or wait: idle ones end"
                    f" after {callers.serve.session_minutes:g} minutes"
                )(scope, receive, send)
                return
        elif session is not None and anyio.current_time() >= session.ends:
            gone = PlainTextResponse("this session is over; initialize another", status_code=404)
            await gone(scope, receive, send)
            return
        ending = anyio.CancelScope()
        if token is not None:
            callers.under_way[ending] = token
        try:
            await self._run(ending, session, scope, receive, send)
        finally:
            callers.under_way.pop(ending, None)

    async def _run(
        self,
        ending: anyio.CancelScope,
        session: Session | None,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer the request, within the time that its session has, and while somebody waits."""
        started = ended = False

        async def watched(message: Message) -> None:
            nonlocal started, ended
            if message["type"] == "http.response.start":
                started = True
                self._note(session, scope, message)
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        if session is not None:
            session.requests += 1
            ending.deadline = session.ends
        # The SDK looks itself whether its clients wait: one may come back for its answer.
        line = Line(scope, receive)
        if is_own := scope["path"] != self._path:
            watching = asyncio.create_task(line.watch(ending))
        try:
            with ending:
                await self._app(scope, line.receive if is_own else receive, watched)
        finally:
            if is_own:
                watching.cancel()
            if session is not None:
                session.requests -= 1
                session.idle_since = anyio.current_time()
                if not started and self._opens(scope):
                    self._callers.name(session, None)
        if ending.cancelled_caught and not ended and not line.gone.is_set():
            if not started:
                await PlainTextResponse("your token was revoked", 401)(scope, receive, send)
            else:
                await send({"type": "http.response.body", "body": b""})

    def _opens(self, scope: Scope) -> bool:
        """Whether a request begins a session."""
        headers = Headers(scope=scope)
        version = headers.get("mcp-protocol-version")
        return (
            scope["path"] == self._path
            and scope["method"] == "POST"
            and SESSION not in headers
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        )

    def _note(self, session: Session | None, scope: Scope, start: Message) -> None:
        """See from an answer whether a session began or ended, and when it is worth to ask."""
        headers = MutableHeaders(scope=start)
        if start["status"] == 503 and "retry-after" not in headers:
            headers["Retry-After"] = str(RETRY_SECONDS)
        if session is None:
            return
        asked = Headers(scope=scope).get(SESSION)
        if asked is None:
            self._callers.name(session, headers.get(SESSION) if start["status"] < 400 else None)
        elif start["status"] == 404 or (scope["method"] == "DELETE" and start["status"] < 400):
            self._callers.name(session, None)


def _refused(reason: str, seconds: float = RETRY_SECONDS) -> PlainTextResponse:
    return PlainTextResponse(reason, status_code=429, headers={"Retry-After": f"{seconds:.0f}"})


# How often one caller may ask.


KNOWN = 10_000
"""Callers that are remembered at a time; those that have been quiet are forgotten first."""


class Rate:
    """How often a caller may ask (token bucket)."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        # When each caller's bucket will be full again, in the order of the last request.
        self._full_at: dict[object, float] = {}

    def early(self, caller: object) -> float:
        """Count one request; how many seconds it comes too early (0: not at all)."""
        now, share = self._clock(), 60.0 / self.per_minute
        full_at = max(self._full_at.pop(caller, now), now)
        early = full_at + share - now - 60.0
        self._full_at[caller] = full_at if early > 1e-9 else full_at + share
        if len(self._full_at) > KNOWN:
            self._full_at.pop(next(iter(self._full_at)))
        return max(early, 1.0) if early > 1e-9 else 0.0
