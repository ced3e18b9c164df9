"""A request to the explorer: who asks for what, of which namespace, with which rights."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from clew.errors import (
    ClewError,
    InputError,
    LimitError,
    NotFoundError,
    StoreBusyError,
    StoreUnavailableError,
)
from clew.mcp.http.requests import MediaTypeError, TooLargeError
from clew.text import whole_number
from clew.tools.toolbox import make_toolbox, may_call
from clew.web.endpoints import EXPLORER_TOOLS, TOOL_NAMES
from clew.web.passages import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from starlette.datastructures import QueryParams
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.engine import Engine
    from clew.mcp.calls import RequestScope
    from clew.mcp.engines import Opened
    from clew.tools.spec import Result, Tool


PREFIX = "/ui"


class ForbiddenError(ClewError):
    """The caller's token does not allow it."""


STATUSES: Mapping[type[Exception], int] = {
    ForbiddenError: 403,
    TooLargeError: 413,
    MediaTypeError: 415,
    NotFoundError: 404,
    LimitError: 413,
    InputError: 400,
    StoreBusyError: 503,
    StoreUnavailableError: 503,
}


def status_of(error: Exception) -> int:
    """The HTTP status of a failure."""
    return next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageRequest:
    """What a page is made from."""

    scope: RequestScope
    opened: Opened | None
    """Its store; None for the frame of a page, which needs none."""
    query: QueryParams
    params: Mapping[str, Any] = field(default_factory=dict)
    """Of the path."""
    form: FormData | None = None
    form_token: str = ""
    signed_in: bool = False
    """By a cookie, so that there is something to log out of."""

    @property
    def engine(self) -> Engine:
        """Of the namespace."""
        assert self.opened is not None
        return self.opened.engine

    def text(self, name: str) -> str:
        """A value of the address, stripped; empty where there is none."""
        return self.query.get(name, "").strip()

    def sent(self, name: str) -> str:
        """A value of the form, stripped; empty where there is none."""
        value = "" if self.form is None else self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def number(self, name: str, default: int, most: int) -> int:
        """A value of the address from 1 to `most`; raises `InputError` for any other."""
        given = self.text(name) or str(default)
        number = whole_number(given)
        if number is None or not 1 <= number <= most:
            raise InputError(f"{name} cannot be {given[:40]!r}; expected a number from 1 to {most}")
        return number

    def id(self, name: str) -> int:
        """An id of the path; raises `NotFoundError` for what can be none."""
        given = str(self.params[name])
        found = whole_number(given)
        if found is None:
            raise NotFoundError(f"no {name} {given[:40]!r}; ids are whole numbers: search by name")
        return found

    def may(self, tool: str) -> bool:
        """Whether the caller may do what a tool does."""
        return may_call(self.scope.caller, TOOL_NAMES[tool])

    def need(self, tool: str) -> None:
        """Raise `ForbiddenError` where the caller may not do what a tool does."""
        if not self.may(tool):
            raise ForbiddenError(
                f"this needs the right to call {tool}, which your token does not have; ask whoever"
                " runs this server for it"
            )

    def call(
        self, tool: str, tools: Sequence[Tool] = EXPLORER_TOOLS, /, **arguments: object
    ) -> Result:
        """What a tool answers, with its rights, checks and audit row; raises `ClewError`."""
        self.need(tool)
        assert self.opened is not None
        toolbox = make_toolbox(self.engine, tools, self.opened.jobs, packs=False)
        outcome = toolbox.call(tool, arguments, caller=self.scope.caller)
        if outcome.error is None:
            return outcome.content
        if isinstance(outcome.error, ClewError):
            raise outcome.error
        raise ClewError(outcome.text) from outcome.error

    def url(self, path: str, /, **query: object) -> str:
        """An address of the explorer, about the same namespace; values that are None are left out.

        A list repeats its name.
        """
        given = {name: value for name, value in query.items() if value not in (None, "", [])}
        if self.scope.namespace != self.scope.caller.namespaces[0]:
            given["namespace"] = self.scope.namespace
        return f"{path if path.startswith('/') else f'{PREFIX}/{path}'}" + (
            f"?{urlencode(given, doseq=True)}" if given else ""
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page or a part of one."""

    path: str
    """Below the prefix, as Starlette writes it."""
    run: Callable[[PageRequest], Response]
    """Called in a worker thread; raises `ClewError`."""
    right: str
    """The tool that tells as much, or does the same: whoever may call it may have the page."""
    method: str = "GET"


# Sessions of browsers: a cookie stands for a bearer token, which never leaves the server again.


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
        self._keys[_digest(key)] = _Session(bearer, self._clock() + KEY_SECONDS)
        return key

    def redeem(self, key: str) -> str | None:
        """The id of a session for a key, which is good no more; None for any other."""
        invited = self._keys.pop(_digest(key), None)
        if invited is None or self._clock() >= invited.ends:
            return None
        return self.open(invited.bearer)

    def open(self, bearer: str) -> str:
        """The id of a new session of the token's owner."""
        session_id = secrets.token_urlsafe(32)
        now = self._clock()
        self._sessions[_digest(session_id)] = _Session(
            bearer, now + self._seconds, now + self._idle_seconds
        )
        if len(self._sessions) > KNOWN:
            del self._sessions[next(iter(self._sessions))]
        return session_id

    def bearer(self, session_id: str) -> str | None:
        """The token that a session stands for, used by this; None where it is over or was never."""
        session, now = self._sessions.get(_digest(session_id)), self._clock()
        if session is None:
            return None
        if now >= min(session.ends, session.idle_ends):
            self.end(session_id)
            return None
        self._sessions[_digest(session_id)] = replace(session, idle_ends=now + self._idle_seconds)
        return session.bearer

    def end(self, session_id: str) -> None:
        """Log out."""
        self._sessions.pop(_digest(session_id), None)

    def form_token(self, session_id: str) -> str:
        """What a form of this session must carry, so that no other site can send it."""
        return hmac.new(self._secret, session_id.encode(), "sha256").hexdigest()

    def is_form_token(self, session_id: str, given: str) -> bool:
        """Whether a form came from a page of this session."""
        sent = given.encode("utf-8", "replace")
        return hmac.compare_digest(self.form_token(session_id).encode(), sent)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Forms, which nobody can make larger than they may be.


MEGABYTE = 1024 * 1024
MOST_FILES = 100
"""Of one form."""


async def read_form(request: Request, megabytes: float) -> FormData:
    """A form with its files; raises `InputError` for one that is too large or is none."""
    try:
        form = await bounded(request, megabytes).form(max_files=MOST_FILES, max_fields=100)
    except HTTPException as error:
        raise InputError(f"this form cannot be read: {error.detail}") from error
    return form


def bounded(request: Request, megabytes: float) -> Request:
    """The same request, which fails once more than so much of its body has come."""
    seen, most = 0, int(megabytes * MEGABYTE)

    async def receive() -> Message:
        nonlocal seen
        message = await request.receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError(
                f"this is larger than the {megabytes:g} MB that a request may have (the setting"
                " serve.body_megabytes); send less at a time, or use `clew index`"
            )
        return message

    return Request(request.scope, receive)


# Pages that take long: the frame of the page at once, the rest of it when it is made.


PATIENCE = 0.4
"""Seconds until the frame is sent alone."""
BEGIN, END = b'<main id="main" tabindex="-1">', b"</main>"


async def in_parts(
    page: Coroutine[None, None, Response],
    frame: Callable[[], Response],
    patience: float = PATIENCE,
) -> Response:
    """The page; where it takes longer than `patience` seconds, first `frame`, then what it holds.

    The status is 200 then, whatever the page turns out to be; its text says what failed.
    """
    made = asyncio.create_task(page)
    try:
        await asyncio.wait({made}, timeout=patience)
    except asyncio.CancelledError:
        made.cancel()
        raise
    if made.done():
        return made.result()
    return StreamingResponse(_parts(made, frame()), media_type="text/html")


async def _parts(made: asyncio.Task[Response], frame: Response) -> AsyncIterator[bytes]:
    try:
        yield bytes(frame.body).partition(END)[0]
        yield _content(await made)
    finally:
        made.cancel()


def _content(page: Response) -> bytes:
    """What follows the begin of a page's content, or where it leads to."""
    target = page.headers.get("location")
    if target is not None:
        return f'<meta http-equiv="refresh" content="0;url={escape(target)}">'.encode()
    return bytes(page.body).partition(BEGIN)[2]


# From templates to answers; all that comes from documents is escaped there.


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
MENU = (
    ("", "Ask"),
    ("graph", "Graph"),
    ("documents", "Documents"),
    ("entities", "Entities"),
    ("communities", "Communities"),
    ("timeline", "Timeline"),
    ("statistics", "Statistics"),
    ("settings", "Settings"),
)
"""Paths and names of the pages that every page leads to."""


@cache
def environment() -> Environment:
    """The templates; made when the first page is."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(static=static, menu=MENU)
    made.filters.update(percent=percent, count=count, day=day, plain=plain)
    return made


def render(template: str, /, **values: object) -> HTMLResponse:
    """A page that knows nothing of who asks."""
    return HTMLResponse(environment().get_template(template).render({"page": None, **values}))


def render_page(asked: PageRequest, template: str, /, **values: object) -> HTMLResponse:
    """A page for whoever asked for it."""
    return render(template, page=asked, url=asked.url, may=asked.may, **values)


@cache
def static(name: str) -> str:
    """The address of a file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/ui/static/{name}?v={digest}"


def percent(share: float | None) -> str:
    """0.5 as 50 %; a dash where there is none."""
    return "–" if share is None else f"{share:.0%}"


def count(number: int) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


def day(moment: datetime | None) -> str:
    """A date without its time; empty where there is none."""
    return "" if moment is None else moment.date().isoformat()


# What stands before the explorer's pages and API: headers that browsers heed, and the cookie.


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
