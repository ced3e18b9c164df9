"""Running the server until a signal ends it: on standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
import anyio.from_thread
import anyio.to_thread
import h11
import uvicorn
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.shared.exceptions import MCPError
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.errors import (
    ClewError,
    InputError,
    LimitError,
    NotFoundError,
    SettingsError,
    StoreBusyError,
    StoreUnavailableError,
)
from clew.mcp.auth import SCOPES, Access, CallerLimits
from clew.mcp.calls import Engines
from clew.mcp.server import ClewServer
from clew.operations.spec import Progress, complete, load_json
from clew.operations.toolbox import OPERATIONS, Outcome, Toolbox, may_call
from clew.request_end import go_on
from clew.settings import SETTINGS_FILE, ServeSettings, Settings

Extend = Callable[[Starlette, ClewServer, ServeSettings], None]
"""Adds routes and middleware to the web application."""


# What routes beside the protocol share: bodies of JSON, failures as JSON, the same tokens.


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


MCP_PATH = "/mcp"
"""Where the protocol is served."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SWITCH_SECONDS = 0.0005
"""How long one thread computes before the next: a short search gets its turn after that times the
threads at work, each time that it has waited for a file or for another library."""
GOODBYE_SECONDS = 5
"""How long requests under way may take once the server was told to end."""


def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output until it goes away or a signal comes."""
    _log_to_stderr()
    engines = Engines(settings, OPERATIONS)
    try:
        anyio.run(_serve_stdio, ClewServer(engines), engines)
    finally:
        engines.close()


async def _serve_stdio(server: ClewServer, engines: Engines) -> None:
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            tasks.start_soon(_end_on_signal, engines)
        await server.run_stdio_async()
        tasks.cancel_scope.cancel()


async def _end_on_signal(engines: Engines) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            await anyio.to_thread.run_sync(engines.close)
            logging.shutdown()
            # Not by returning: the thread that waits for standard input cannot be interrupted.
            os._exit(0)


def serve_http(
    settings: Settings,
    *,
    insecure: bool = False,
    on_ready: Callable[[str], None],
    extend: Extend | None = None,
    file: Path | None = Path(SETTINGS_FILE),
) -> None:
    """Serve over HTTP until a signal comes.

    Args:
        settings: Where, for whom, within which limits.
        insecure: Ask nobody for a token; only at an address of this machine alone.
        on_ready: Called with the address once requests are taken.
        extend: Adds pages to the web application.
        file: Where the tokens come from, read again where it changes; None: they stay.

    Raises:
        SettingsError: Nobody could call, or everybody.
    """
    _log_to_stderr()
    sys.setswitchinterval(SWITCH_SECONDS)
    engines = Engines(served_settings(settings), OPERATIONS)
    server = http_server(engines, insecure=insecure, file=file)
    config = http_config(server, settings.serve, extend)
    host = settings.serve.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, settings.serve.port), family=family)
    url = f"http://{_named(host)}:{bound.getsockname()[1]}{MCP_PATH}"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_ready(f"Serving at {url}")

    # uvicorn ends at this signal by itself, and then raises it once more.
    signal.signal(signal.SIGTERM, _exit)
    try:
        Server(config).run(sockets=[bound])
    finally:
        engines.close()


def _exit(*_: object) -> None:
    raise SystemExit(0)


def served_settings(settings: Settings) -> Settings:
    """Those of callers over HTTP: of this machine's files they read `serve.roots` alone."""
    roots = tuple(Path(root) for root in settings.serve.roots)
    access = settings.access.model_copy(update={"roots": roots})
    return settings.model_copy(update={"access": access})


def http_server(
    engines: Engines, *, insecure: bool = False, file: Path | None = None
) -> ClewServer:
    """A server that asks for tokens, those of `file` as it is now.

    Raises `SettingsError` as `serve_http` says.
    """
    serve = engines.settings.serve
    if insecure and not is_loopback(serve.host):
        raise SettingsError(
            f"setting serve.host = {serve.host!r} with --insecure would let anybody in; serve at"
            " 127.0.0.1, or set tokens and leave --insecure out"
        )
    access = None if insecure else Access(serve, file)
    return ClewServer(engines, access=access, seconds=serve.request_seconds)


def http_app(server: ClewServer, serve: ServeSettings, extend: Extend | None = None) -> Starlette:
    """The web application, with its limits; `extend` adds to it, within the same limits."""
    from mcp.server.transport_security import TransportSecuritySettings

    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=int(serve.body_megabytes * 1024 * 1024),
        # The SDK compares beginnings of headers; `origin_check` parses them.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        session_idle_timeout=serve.session_minutes * 60,
        max_sessions=serve.sessions,
    )
    app.routes.append(ask_route(server, serve))
    auth = server.settings.auth
    if auth is not None and auth.resource_server_url is not None:
        # Before the SDK's own, which names the scopes that every caller needs alone.
        app.routes[:0] = create_protected_resource_routes(
            auth.resource_server_url, [auth.issuer_url], list(SCOPES)
        )
    app.user_middleware.insert(0, origin_check(serve))
    # The innermost: it has to know who calls.
    namespace = server.requests.namespace_of
    limits = Middleware(CallerLimits, callers=server.callers, namespace=namespace, path=MCP_PATH)
    app.user_middleware.append(limits)
    if extend is not None:
        extend(app, server, serve)
    return app


def http_config(
    server: ClewServer, serve: ServeSettings, extend: Extend | None = None
) -> uvicorn.Config:
    """How the web application is run: the limits of connections, and who is believed."""
    if server.access is None:
        # Nobody is asked for a token: whoever reaches the address could say that it is a proxy.
        serve = serve.model_copy(update={"trusted_proxies": ()})
    return uvicorn.Config(
        http_app(server, serve, extend),
        http=cast("type[asyncio.Protocol]", partial(LimitedProtocol, serve)),
        ws="none",
        h11_max_incomplete_event_size=HEADER_BYTES,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(serve.trusted_proxies),
        forwarded_allow_ips=[str(proxies) for proxies in serve.trusted_proxies],
        timeout_graceful_shutdown=GOODBYE_SECONDS,
    )


def origin_check(serve: ServeSettings) -> Middleware:
    """Which Host and Origin headers are answered; raises `SettingsError` for wrong ones."""
    own: tuple[str, ...] = LOOPBACK if is_loopback(serve.host) else (_named(serve.host),)
    if serve.host in {"0.0.0.0", "::"}:
        own = ()
        if not serve.allowed_hosts:
            raise SettingsError(
                f"setting serve.host = {serve.host!r} needs serve.allowed_hosts: the names that"
                " requests are addressed to, such as clew.example.org"
            )
    hosts, example = (*own, *serve.allowed_hosts), "clew.example.org"
    return Middleware(
        OriginCheck,
        # At any port unless they name one.
        hosts=allowed("allowed_hosts", hosts, example, scheme="http", port="*"),
        origins=allowed("allowed_origins", serve.allowed_origins, f"https://{example}"),
    )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _log_to_stderr() -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


# What one connection may cost: h11 as uvicorn runs it, with limits of number, size and time.
#
# uvicorn itself has none for a request that never ends: any byte that comes stops its only clock.


HEADER_BYTES = 32 * 1024
"""Size of a request's headers, at most."""
ON_THE_WAY = 64 * 1024
"""Bytes that a client has often sent before it can see an answer, whatever a body may have."""
SPARE = 50
"""Connections beyond the limit that are still told why; more are dropped at once."""
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nContent-Length: 27\r\n"
    b"Connection: close\r\n\r\nthe request came too slowly"
)


class LimitedProtocol(H11Protocol):
    """One connection: every request on it has come whole in time, and every answer been taken."""

    def __init__(self, serve: ServeSettings, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**given)
        self._serve = serve
        self._awaited: object = None
        self._coming: asyncio.TimerHandle | None = None
        self._going: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; one too many is told so when it asks."""
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) > self._serve.connections + SPARE:
            transport.abort()
        elif len(self.connections) > self._serve.connections:
            self.app = _refusal(503, "connections", self._serve.connections)
        elif self._neighbours() > self._serve.connections_per_caller:
            self.app = _refusal(429, "connections_per_caller", self._serve.connections_per_caller)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        _cancel(self._coming)
        _cancel(self._going)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes; what nobody reads any more has an end, too."""
        answered = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if answered and self._unread > max(ON_THE_WAY, self._serve.body_megabytes * 1024 * 1024):
            self.transport.close()
            return
        # With the end of one body, the next request may come.
        self._unread = self._unread + len(data) if answered else 0
        super().data_received(data)
        self._await_request()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take what it asked for."""
        super().pause_writing()
        self._going = self.loop.call_later(self._serve.request_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client took it."""
        _cancel(self._going)
        super().resume_writing()

    def _neighbours(self) -> int:
        """Connections of the same address; those of a proxy are of many callers."""
        address = _address(self)
        if any(ip_address(address) in proxies for proxies in self._serve.trusted_proxies):
            return 0
        return sum(_address(other) == address for other in self.connections)

    def _await_request(self) -> None:
        """Keep a clock while the headers or the body of a request are still to come."""
        awaited = self.conn.their_state
        if awaited is self._awaited:
            return
        self._awaited = awaited
        _cancel(self._coming)
        seconds = {h11.IDLE: self._serve.header_seconds, h11.SEND_BODY: self._serve.request_seconds}
        if awaited in seconds:
            self._coming = self.loop.call_later(seconds[awaited], self._give_up)

    def _give_up(self) -> None:
        """End a request that came too slowly; say so unless another answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            if self.cycle is not None:
                self.cycle.disconnected = True
            self.transport.write(_TOO_SLOW)
        self.transport.close()


def _address(protocol: Any) -> str:  # noqa: ANN401 - any of uvicorn's
    return protocol.client[0] if protocol.client else "::"


def _cancel(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()


def _refusal(status: int, setting: str, most: int) -> Any:  # noqa: ANN401 - an ASGI application
    return PlainTextResponse(
        f"this server takes {most} connections (the setting serve.{setting}); close some, or try"
        " again later",
        status_code=status,
        headers={"Retry-After": "1", "Connection": "close"},
    )
