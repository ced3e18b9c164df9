"""What one connection may cost: h11 as uvicorn runs it, with limits of number, size and time.

uvicorn itself has none for a request that never ends: any byte that comes stops its only clock.
"""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import h11
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from clew.settings import ServeSettings

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
