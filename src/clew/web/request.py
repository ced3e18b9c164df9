"""A request to the explorer: who asks for what, of which namespace, with which rights."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.datastructures import FormData, Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.engine import Engine, documents, graph
from clew.errors import ClewError, InputError, NotFoundError
from clew.mcp.calls import Opened, RequestScope
from clew.mcp.http import ForbiddenError, bounded
from clew.mcp.server import ClewServer
from clew.operations.documents import jobs_of, status_of
from clew.operations.spec import Call, Limits, Parameter, Result, Tool, between, operation, shape
from clew.operations.toolbox import OPERATIONS, further_tools, make_toolbox, may_call
from clew.text import text_digest, whole_number
from clew.web.graph_view import MOST, SHOWN, picture
from clew.web.passages import plain

# What the API offers: each address is a tool, with its parameters, rights and audit row.


# A part of the graph as JSON; and the jobs.


_MEANT = Limits(max_items=200)


@operation(
    "A picture of the graph",
    shape(nodes="array", edges="array", total="integer", notes="array"),
    http="GET /graph",
)
def view_graph(
    call: Call,
    question: Annotated[
        str | None, "Begin from what a question is about.", Limits(max_length=10_000)
    ] = None,
    entities: Annotated[Sequence[int], "Begin from entities (ids), with their neighbours."] = (),
    alone: Annotated[Sequence[int], "Entities (ids) to show without their neighbours."] = (),
    community: Annotated[int | None, "Begin from a community (id)", between(0, 2**53)] = None,
    hops: Annotated[int, "Steps around the entities", between(1, 3)] = 1,
    limit: Annotated[int, "Entities", between(1, MOST)] = SHOWN,
    types: Annotated[Sequence[str], "Types of entities to keep. Default all.", _MEANT] = (),
    relations: Annotated[Sequence[str], "Types of relations to keep. Default all.", _MEANT] = (),
    communities: Annotated[Sequence[int], "Communities (ids) to keep. Default all.", _MEANT] = (),
    min_confidence: Annotated[float, "Of relations", between(0, 1)] = 0.0,
    as_of: Annotated[str | None, "What held then: a date."] = None,
) -> Result:
    """Entities and relations from a question, an entity or a community."""
    seen = picture(
        call.engine,
        question=question,
        entities=entities,
        alone=alone,
        community=community,
        hops=hops,
        limit=limit,
        types=types,
        relations=relations,
        communities=communities,
        min_confidence=min_confidence,
        as_of=as_of,
    )
    return {name: seen[name] for name in ("nodes", "edges", "total", "notes")}


PICTURE = view_graph.parameters


@operation("Jobs", shape(jobs="array"), http="GET /jobs")
def list_jobs(
    call: Call,
    limit: Annotated[int, "Jobs", between(1, 200)] = 20,
    cursor: Annotated[str | None, "next_cursor of the page before.", Limits(max_length=64)] = None,
) -> Result:
    """Jobs, the newest first."""
    runner = jobs_of(call)
    if cursor:
        runner.job(cursor)  # raises for what is none
    found = runner.jobs(before=cursor, limit=limit + 1)
    return {
        "jobs": [status_of(runner, job) for job in found[:limit]],
        "next_cursor": found[limit - 1].id if len(found) > limit else None,
    }


API_PREFIX = "/api/v1"
EXPLORER_TOOLS: tuple[Tool, ...] = (*OPERATIONS, *further_tools(), view_graph, list_jobs)
"""Those of the core and of plugins, and those that pages need beside."""
TOOL_NAMES: Mapping[str, Tool] = {tool.name: tool for tool in EXPLORER_TOOLS}


class Endpoint:
    """An address of the API, below the prefix with parameters in braces, and what answers there."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.method, self.path, *status = tool.http.split()
        self.status = int(status[0]) if status else 200
        self.fixed: Mapping[str, object] = {"confirm": True} if tool.confirm else {}
        """Arguments that the address itself says: whoever sends DELETE means it."""


ENDPOINTS = tuple(Endpoint(tool) for tool in EXPLORER_TOOLS if tool.http)


# Who is logged in with a browser: sessions, their cookie, and what browsers are told to heed.


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


PREFIX = "/ui"


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

    def texts(self, name: str) -> list[str]:
        """All values of the address by that name, stripped, but empty ones."""
        return [value.strip() for value in self.query.getlist(name) if value.strip()]

    def sent(self, name: str) -> str:
        """A value of the form, stripped; empty where there is none."""
        value = "" if self.form is None else self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def arguments(
        self, given: FormData | QueryParams | None, parameters: Sequence[Parameter]
    ) -> dict[str, Any]:
        """Those of the path, and those of the form or the address that are not empty."""
        found = dict(self.params)
        for parameter in parameters:
            values = [] if given is None else given.getlist(parameter.name)
            texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
            if texts and parameter.name not in self.params:
                many = parameter.kind in ("strings", "integers")
                found[parameter.name] = texts if many else texts[-1]
        return found

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
        toolbox = make_toolbox(self.engine, tools, self.opened.jobs, further=None)
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


# Forms, which nobody can make larger than they may be.


MOST_FILES = 100
"""Of one form."""


async def read_form(request: Request, megabytes: float) -> FormData:
    """A form with its files; raises `InputError` for one that is too large or is none."""
    try:
        return await bounded(request, megabytes).form(max_files=MOST_FILES, max_fields=100)
    except HTTPException as error:
        raise InputError(f"this form cannot be read: {error.detail}") from error


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
    """The frame up to the end of its content, then the content of the page, or where it leads."""
    try:
        yield bytes(frame.body).partition(END)[0]
        page = await made
        target = page.headers.get("location")
        if target is None:
            yield bytes(page.body).partition(BEGIN)[2]
        else:
            yield f'<meta http-equiv="refresh" content="0;url={escape(target)}">'.encode()
    finally:
        made.cancel()


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
    made.globals.update(
        static=static,
        menu=MENU,
        # What shows all of a kind, as messages call it elsewhere and here.
        listings={documents.LISTING: "the page Documents", graph.LISTING: "the page Entities"},
    )
    made.filters.update(
        percent=lambda share: "–" if share is None else f"{share:.0%}",
        count="{:,}".format,
        day=lambda moment: str(moment or "")[:10],
        known=lambda name, ids: ids.get(name),
        plain=plain,
    )
    return made


def render(template: str, /, *, status_code: int = 200, **values: object) -> HTMLResponse:
    """A page that knows nothing of who asks."""
    made = environment().get_template(template).render({"page": None, **values})
    return HTMLResponse(made, status_code)


def render_page(asked: PageRequest, template: str, /, **values: Any) -> HTMLResponse:  # noqa: ANN401
    """A page for whoever asked for it."""
    return render(template, page=asked, url=asked.url, may=asked.may, **values)


@cache
def static(name: str) -> str:
    """The address of a file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/ui/static/{name}?v={digest}"
