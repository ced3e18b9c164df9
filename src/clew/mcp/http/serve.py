"""Running the server until a signal ends it: on standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import sys
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
import h11
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.errors import SettingsError
from clew.mcp.engines import Engines
from clew.mcp.server import ClewServer
from clew.operations.toolbox import OPERATIONS
from clew.settings import SETTINGS_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    from clew.settings import ServeSettings, Settings

    Extend = Callable[[Starlette, ClewServer, ServeSettings], None]
    """Adds routes and middleware to the web application."""


PATH = "/mcp"
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
    import uvicorn

    _log_to_stderr()
    sys.setswitchinterval(SWITCH_SECONDS)
    engines = Engines(served_settings(settings), OPERATIONS)
    server = http_server(engines, insecure=insecure, file=file)
    config = http_config(server, settings.serve, extend)
    host = settings.serve.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, settings.serve.port), family=family)
    url = f"http://{_named(host)}:{bound.getsockname()[1]}{PATH}"

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
    from clew.mcp.auth import Access

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
    from mcp.server.auth.routes import create_protected_resource_routes
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.middleware import Middleware

    from clew.mcp.auth import SCOPES
    from clew.mcp.http.callers import CallerLimits
    from clew.mcp.http.requests import ask_route

    app = server.streamable_http_app(
        streamable_http_path=PATH,
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
    limits = Middleware(CallerLimits, callers=server.callers, namespace=namespace, path=PATH)
    app.user_middleware.append(limits)
    if extend is not None:
        extend(app, server, serve)
    return app


def http_config(
    server: ClewServer, serve: ServeSettings, extend: Extend | None = None
) -> uvicorn.Config:
    """How the web application is run: the limits of connections, and who is believed."""
    import uvicorn

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
    from starlette.middleware import Middleware

    from clew.mcp.http.requests import OriginCheck, allowed

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
