"""What routes beside the protocol share: bodies of JSON, failures as JSON, the same tokens."""

from __future__ import annotations

import json
import logging
import math
import re
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.from_thread
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.exceptions import MCPError
from sse_starlette.sse import EventSourceResponse
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from clew.errors import (
    ClewError,
    InputError,
    LimitError,
    NotFoundError,
    SettingsError,
    StoreBusyError,
    StoreUnavailableError,
)
from clew.operations.spec import Progress, complete, load_json
from clew.operations.toolbox import OPERATIONS, Toolbox, may_call
from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from anyio.streams.memory import MemoryObjectSendStream
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.mcp.server import ClewServer
    from clew.operations.toolbox import Outcome
    from clew.settings import ServeSettings


logger = logging.getLogger("clew")
MEGABYTE = 1024 * 1024


class TooLargeError(InputError):
    """A request is larger than one may be."""


class MediaTypeError(InputError):
    """A request sends something else than JSON."""


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


async def read_object(request: Request, megabytes: float) -> dict[str, Any]:
    """The JSON object that a request sends; raises `InputError`.

    A request without a token has to say that it sends JSON: browsers ask before they let a page of
    another origin send that, and do not ask for text or a form.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != "application/json" and "authorization" not in request.headers:
        raise MediaTypeError(
            f"this sends {said[:100] or 'no media type'!r}; send Content-Type: application/json"
        )
    body = await bounded(request, megabytes).body()
    try:
        given = load_json(body or b"{}")
    except ValueError as error:
        raise InputError(f"the body is no JSON ({error}); send an object") from error
    if not isinstance(given, dict):
        raise InputError("the body is no JSON object; send one")
    return given


def bounded(request: Request, megabytes: float) -> Request:
    """The same request; whoever reads a body that is larger than it may be gets `TooLargeError`."""
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


def failure(status: int, message: str) -> Response:
    """What a client gets in place of what it asked for: a problem as RFC 9457 writes one.

    `success` and `error` say the same as they do in results of tools.
    """
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": message,
        "success": False,
        "error": message,
    }
    return JSONResponse(content, status, media_type="application/problem+json")


async def answered(
    request: Request,
    seconds: float,
    answer: Awaitable[Response],
    failed: Callable[[int, str], Response] = failure,
    unknown: int = 404,
) -> Response:
    """The answer within so many seconds, else what `failed` makes of a status and its reason.

    `unknown` is the status for a namespace that is not the caller's.
    """
    try:
        with anyio.fail_after(seconds):
            return await answer
    except ClientDisconnect:
        return Response(status_code=400)
    except TimeoutError:
        return failed(408, too_slow(seconds))
    except MCPError as error:
        return failed(unknown, str(error))
    except ClewError as error:
        status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)
        return failed(status, error.line)
    except Exception:
        logger.exception("%s failed", request.url.path)
        return failed(500, "this failed inside Clew; the server's log says why. Try another way")


def too_slow(seconds: float | None) -> str:
    """What it means that a request's time was over."""
    return f"this took longer than the {seconds:g} seconds that a request may take"


# Answers in words over HTTP, as they are written.
#
#     POST /ask   the arguments of the tool `ask`, as JSON
#
# Where the client accepts `text/event-stream`, it gets events: `piece` with `{"text": …}` for
# each
# piece of the answer, at last `answer` with the whole result, or `error`. Else the result as
# JSON.
# Token, namespace, rate, time and size of a request are limited as they are for the protocol, and
# whoever may not call `ask` may not ask here.


PATH = "/ask"
EVENTS = "text/event-stream"
ASK = next(tool for tool in OPERATIONS if tool.name == "ask")


class Told(Progress):
    """Sends the pieces of an answer from its worker thread."""

    def __init__(self, events: MemoryObjectSendStream[Event]) -> None:
        self._events = events

    def tell(self, piece: str) -> None:
        """See `clew.operations.spec.Progress`; raises `RequestEndedError` where nobody waits."""
        go_on()
        anyio.from_thread.run_sync(self._events.send_nowait, event("piece", {"text": piece}))


async def ask(server: ClewServer, serve: ServeSettings, request: Request) -> Response:
    """Answer a request; a failure says what to do next."""
    answer = _answer(server, serve, request)
    return await answered(request, serve.request_seconds, answer, unknown=400)


async def _answer(server: ClewServer, serve: ServeSettings, request: Request) -> Response:
    scope = server.requests.scope_of(request)
    if not may_call(scope.caller, ASK):
        raise ForbiddenError("asking needs the right to call ask; ask for it")
    given = await read_object(request, serve.body_megabytes)
    complete(ASK.name, ASK.parameters, given)

    def run(told: Progress) -> Outcome:
        """Through the tool, which checks the arguments; it is served whatever the profile."""
        with scope.acquire() as opened:
            toolbox = Toolbox(opened.engine, [ASK], profile=None)
            return toolbox.call(ASK.name, given, caller=scope.caller, progress=told)

    if EVENTS not in request.headers.get("accept", ""):
        outcome = await scope.in_thread(partial(run, Progress()))
        return failure(400, outcome.text) if outcome.is_error else JSONResponse(outcome.content)
    sending, events = anyio.create_memory_object_stream[Event](math.inf)

    async def work() -> None:
        """Send the events; when time is up, an error is the last of them."""
        async with sending:
            with anyio.move_on_after(serve.request_seconds * 0.95):
                outcome = await scope.in_thread(partial(run, Told(sending)))
                kind = "error" if outcome.is_error else "answer"
                sending.send_nowait(event(kind, outcome.content))
                return
            late = {"success": False, "error": too_slow(serve.request_seconds)}
            sending.send_nowait(event("error", late))

    async def written() -> AsyncIterator[Event]:
        async with events:
            async for one in events:
                yield one

    return EventSourceResponse(written(), data_sender_callable=work, sep="\n", ping=0)


def ask_route(server: ClewServer, serve: ServeSettings) -> Route:
    """The route, behind the same check of tokens as the protocol's."""
    auth, checks = server.settings.auth, []
    if auth is not None:
        resource = auth.resource_server_url
        metadata = None if resource is None else build_resource_metadata_url(resource)
        scopes = auth.required_scopes or []
        checks.append(Middleware(RequireAuthMiddleware, scopes, metadata))
    return Route(PATH, partial(ask, server, serve), methods=["POST"], middleware=checks)


Event = dict[str, str]
"""A server-sent event."""


def event(kind: str, value: object) -> Event:
    """JSON has no line end in it."""
    return {"event": kind, "data": json.dumps(value, ensure_ascii=False)}


# Which Host and Origin headers are answered: others come from pages that were lured here.


_PLACE = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}|\*))?"
)
_PORTS = {"http": "80", "https": "443"}


class Place(NamedTuple):
    """Where a page comes from, or a request goes to; the port `*` is any."""

    scheme: str
    host: str
    port: str

    def allows(self, other: Place) -> bool:
        """Whether the other is this one."""
        return self[:2] == other[:2] and self.port in ("*", other.port)


def read_place(text: str, scheme: str = "", port: str = "") -> Place | None:
    """`host`, `host:port` and, where no `scheme` is given, `scheme://` before it.

    `port` where it names none, else that of the scheme; None for anything else, `null` among it.
    """
    match = _PLACE.fullmatch(text)
    if match is None or bool(match["scheme"]) is bool(scheme):
        return None
    named = scheme or match["scheme"].lower()
    return Place(named, match["host"].lower(), match["port"] or port or _PORTS.get(named, ""))


def allowed(name: str, texts: Sequence[str], example: str, **given: str) -> list[Place]:
    """The places that a setting names; raises `SettingsError`."""
    found = []
    for text in texts:
        place = read_place(text, **given)
        if place is None:
            raise SettingsError(
                f"setting serve.{name}: {text!r} cannot be read; expected one such as {example}"
            )
        found.append(place)
    return found


class OriginCheck:
    """Answers 421 to requests for other hosts, and 403 to pages of other origins.

    A page that this server sent at the very address that is asked is none of another origin.
    """

    def __init__(self, app: ASGIApp, hosts: list[Place], origins: list[Place]) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refused = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        host = read_place(headers.get("host", ""), "http")
        if host is None or not any(one.allows(host) for one in self._hosts):
            return PlainTextResponse("Host is not one of serve.allowed_hosts", 421)
        # Absent where no page sent the request.
        given = headers.get("origin")
        origin = None if given is None else read_place(given)
        if given is None or (origin and any(o.allows(origin) for o in (host, *self._origins))):
            return None
        return PlainTextResponse("Origin is not one of serve.allowed_origins", 403)
