"""What routes beside the protocol share: bodies of JSON, failures as JSON, the same tokens."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from clew.errors import ClewError, InputError, NotFoundError, SettingsError, StoreBusyError
from clew.request_end import go_on
from clew.tools.spec import Progress, complete, load_json
from clew.tools.toolbox import OPERATIONS, Toolbox, may_call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.streams.memory import MemoryObjectSendStream
    from starlette.types import ASGIApp, Receive, Scope, Send

    from clew.mcp.calls import RequestScope
    from clew.mcp.server import ClewServer
    from clew.settings import ServeSettings
    from clew.tools.toolbox import Outcome


class TooLargeError(InputError):
    """A request is larger than one may be."""


class MediaTypeError(InputError):
    """A request sends something else than JSON."""


async def read_object(request: Request, largest: int) -> dict[str, Any]:
    """The JSON object that a request sends; raises `InputError`.

    A request without a token has to say that it sends JSON: browsers ask before they let a page of
    another origin send that, and do not ask for text or a form.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != "application/json" and "authorization" not in request.headers:
        raise MediaTypeError(
            f"this sends {said[:100] or 'no media type'!r}; send Content-Type: application/json"
        )
    body = await read_body(request, largest)
    try:
        given = load_json(body or b"{}")
    except ValueError as error:
        raise InputError(f"the body is no JSON ({error}); send an object") from error
    if not isinstance(given, dict):
        raise InputError("the body is no JSON object; send one")
    return given


async def read_body(request: Request, largest: int) -> bytes:
    """The body, which nobody can make larger than it may be; raises `TooLargeError`."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > largest:
            raise TooLargeError(f"this request is larger than {largest} bytes; send less")
    return bytes(body)


async def answer_within(
    seconds: float, answer: Callable[[], Awaitable[Response | None]]
) -> Response | None:
    """The response, or the failure; None where nobody waits for it or it was sent already."""
    try:
        with anyio.fail_after(seconds):
            return await answer()
    except ClientDisconnect:
        return None
    except TimeoutError:
        return failure(
            408, f"this took longer than the {seconds:g} seconds that a request may take"
        )
    except MCPError as error:
        return failure(400, str(error))
    except ClewError as error:
        return failure(_status(error), str(error))


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


def behind_tokens(server: ClewServer, app: Any) -> Any:  # noqa: ANN401 - an ASGI application
    """The application, behind the same check of tokens as the protocol's."""
    auth = server.settings.auth
    if auth is None:
        return app
    resource = auth.resource_server_url
    metadata = None if resource is None else build_resource_metadata_url(resource)
    return RequireAuthMiddleware(app, auth.required_scopes or [], metadata)


def _status(error: ClewError) -> int:
    statuses = {
        TooLargeError: 413,
        MediaTypeError: 415,
        NotFoundError: 404,
        InputError: 400,
        StoreBusyError: 503,
    }
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), 500)


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

    def __init__(self, events: MemoryObjectSendStream[str]) -> None:
        self._events = events

    def tell(self, piece: str) -> None:
        """See `clew.tools.spec.Progress`; raises `RequestEndedError` where nobody waits."""
        go_on()
        anyio.from_thread.run_sync(self._events.send_nowait, event("piece", {"text": piece}))


class AskApp:
    """The route, as an ASGI application."""

    def __init__(self, server: ClewServer, serve: ServeSettings) -> None:
        self._server = server
        self._largest = int(serve.body_megabytes * 1024 * 1024)
        self._seconds = serve.request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a failure says what to do next."""
        answer = partial(self._answer, scope, receive, send)
        response = await answer_within(self._seconds, answer)
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        request = Request(scope, receive)
        asked = self._server.requests.scope_of(request)
        if not may_call(asked.caller, ASK):
            return failure(403, "asking needs the right to call ask; ask for it")
        given = await read_object(request, self._largest)
        complete(ASK.name, ASK.parameters, given)
        if EVENTS not in request.headers.get("accept", ""):
            outcome = await asked.in_thread(partial(_ask, asked, given, Progress()))
            if outcome.is_error:
                return failure(400, outcome.content["error"])
            return JSONResponse(outcome.content)
        await self._stream(asked, given, scope, receive, send)
        return None

    async def _stream(
        self,
        asked: RequestScope,
        given: dict[str, Any],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """The events; when time is up, an error is the last of them."""
        sending, events = anyio.create_memory_object_stream[str](math.inf)

        async def work() -> None:
            async with sending:
                with anyio.move_on_after(self._seconds * 0.95):
                    outcome = await asked.in_thread(partial(_ask, asked, given, Told(sending)))
                    kind = "error" if outcome.is_error else "answer"
                    sending.send_nowait(event(kind, outcome.content))
                    return
                late = f"this took longer than the {self._seconds:g} seconds that a request may"
                sending.send_nowait(event("error", {"success": False, "error": f"{late} take"}))

        response = StreamingResponse(
            events, media_type=EVENTS, headers={"Cache-Control": "no-store"}
        )
        # The work ends before its events have nowhere to go.
        async with events, anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            with suppress(ClientDisconnect):
                await response(scope, receive, send)
            tasks.cancel_scope.cancel()


def ask_routes(server: ClewServer, serve: ServeSettings) -> list[Route]:
    """The route, behind the same checks as the protocol's."""
    return [Route(PATH, behind_tokens(server, AskApp(server, serve)), methods=["POST"])]


def event(kind: str, value: object) -> str:
    """A server-sent event; JSON has no line end in it."""
    return f"event: {kind}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


def _ask(asked: RequestScope, given: dict[str, Any], told: Progress) -> Outcome:
    """Through the tool, which checks the arguments; it is served whatever the profile."""
    with asked.acquire() as opened:
        toolbox = Toolbox(opened.engine, [ASK], profile=None)
        return toolbox.call(ASK.name, given, caller=asked.caller, progress=told)


# Which Host and Origin headers are answered: others come from pages that were lured here.


_AUTHORITY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}|\*))?"
)
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and a port, as a URL names them; `*` is any port."""

    host: str
    port: str

    def allows(self, other: Authority) -> bool:
        """Whether the other is this one."""
        return self.host == other.host and self.port in ("*", other.port)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page comes from."""

    scheme: str
    authority: Authority

    def allows(self, other: Origin) -> bool:
        """Whether the other is this one."""
        return self.scheme == other.scheme and self.authority.allows(other.authority)


def parse_authority(text: str, port: str = "") -> Authority | None:
    """`host` or `host:port`, `port` where it names none; None for anything else."""
    match = _AUTHORITY.fullmatch(text)
    return Authority(match["host"].lower(), match["port"] or port) if match else None


def parse_origin(text: str) -> Origin | None:
    """`scheme://host` or `scheme://host:port`; None for anything else, `null` among it."""
    scheme, _, rest = text.partition("://")
    authority = parse_authority(rest, _PORTS.get(scheme.lower(), ""))
    return Origin(scheme.lower(), authority) if authority else None


def allowed_host(text: str) -> Authority:
    """A host of the settings, at any port unless it names one; raises `SettingsError`."""
    authority = parse_authority(text, "*")
    if authority is None:
        raise SettingsError(
            f"setting serve.allowed_hosts: {text!r} cannot be read; expected one such as"
            " clew.example.org"
        )
    return authority


def allowed_origin(text: str) -> Origin:
    """An origin of the settings; raises `SettingsError`."""
    origin = parse_origin(text)
    if origin is None:
        raise SettingsError(
            f"setting serve.allowed_origins: {text!r} cannot be read; expected one such as"
            " https://example.org"
        )
    return origin


class OriginCheck:
    """Answers 421 to requests for other hosts, and 403 to pages of other origins.

    A page that this server sent at the very address that is asked is none of another origin.
    """

    def __init__(self, app: ASGIApp, hosts: list[Authority], origins: list[Origin]) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refused = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        host = parse_authority(headers.get("host", ""), _PORTS["http"])
        if host is None or not any(allowed.allows(host) for allowed in self._hosts):
            return PlainTextResponse("Host is not one of serve.allowed_hosts", 421)
        # Absent where no page sent the request.
        given = headers.get("origin")
        if given is None:
            return None
        origin = parse_origin(given)
        own = Origin("http", host)
        if origin is None or not any(one.allows(origin) for one in (own, *self._origins)):
            return PlainTextResponse("Origin is not one of serve.allowed_origins", 403)
        return None
