"""Clients that misbehave over HTTP, each bounded in bytes and seconds; only for 127.0.0.1."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "attack", "version": "1"},
    },
}
ACCEPT = "application/json, text/event-stream"


@dataclass(frozen=True)
class Ended:
    """How an attack went."""

    status: int
    """Of the answer; 0 where the connection ended without one."""
    text: str
    """The answer, headers and all."""
    sent: int
    """Bytes that the server took."""
    seconds: float
    """Until the connection ended, or `patience`."""
    closed: bool
    """Whether the server ended the connection."""

    def header(self, name: str) -> str | None:
        """A header of the answer."""
        for line in self.text.partition("\r\n\r\n")[0].split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return None


@contextmanager
def connected(url: str, seconds: float = 10.0) -> Iterator[socket.socket]:
    """A plain connection to the server of an address."""
    parts = urlsplit(url)
    assert parts.hostname == "127.0.0.1", "attacks are for this machine alone"
    assert parts.port is not None
    with socket.create_connection((parts.hostname, parts.port), timeout=seconds) as connection:
        yield connection


def opening(url: str, *headers: str, method: str = "POST") -> bytes:
    """The first lines of a request, without the empty one that ends them."""
    parts = urlsplit(url)
    lines = [f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Accept: {ACCEPT}"]
    return "".join(f"{line}\r\n" for line in (*lines, *headers)).encode()


def drip(
    url: str,
    first: bytes,
    piece: bytes,
    *,
    pause: float = 0.0,
    most: int = 1 << 20,
    patience: float = 10.0,
) -> Ended:
    """Send some bytes, then a piece again and again, until the server ends the connection."""
    started, sent, answer, closed = time.monotonic(), 0, b"", False
    with connected(url) as connection:
        connection.settimeout(max(pause, 0.001))
        try:
            connection.sendall(first)
            while time.monotonic() - started < patience:
                if sent < most:
                    with suppress(TimeoutError):
                        sent += connection.send(piece[: most - sent])
                with suppress(TimeoutError):
                    received = connection.recv(65536)
                    answer += received
                    if not received:
                        closed = True
                        break
        except (ConnectionResetError, BrokenPipeError):
            closed = True
            with suppress(OSError):
                answer += connection.recv(65536)
    text = answer.decode("latin-1")
    status = int(text.split(" ", 2)[1]) if text.startswith("HTTP/") else 0
    return Ended(status, text, sent, time.monotonic() - started, closed)


def endless_headers(url: str, most: int = 8 << 20, patience: float = 30.0) -> Ended:
    """Headers without an end, as fast as the server takes them."""
    piece = b"".join(b"X-%05d: %s\r\n" % (n, b"a" * 1000) for n in range(64))
    return drip(url, opening(url), piece, most=most, patience=patience)


def one_long_header(url: str, most: int = 8 << 20, patience: float = 30.0) -> Ended:
    """One header without an end."""
    return drip(url, opening(url) + b"X: ", b"a" * 65536, most=most, patience=patience)


def slow_headers(url: str, pause: float = 0.1, patience: float = 10.0) -> Ended:
    """A header every now and then, and never the last (slowloris)."""
    return drip(url, opening(url), b"X: y\r\n", pause=pause, patience=patience)


def silence(url: str, patience: float = 10.0) -> Ended:
    """A connection on which nothing is ever said."""
    return drip(url, b"", b"", pause=0.1, most=0, patience=patience)


def slow_second_request(url: str, pause: float = 0.1, patience: float = 10.0) -> Ended:
    """A whole request, then the headers of another that never ends, on the same connection."""
    whole = opening(url, "Content-Length: 2") + b"\r\n{}"
    return drip(url, whole + opening(url), b"X: y\r\n", pause=pause, patience=patience)


def slow_body(url: str, *headers: str, pause: float = 0.1, patience: float = 10.0) -> Ended:
    """A body of which a byte comes every now and then (R.U.D.Y.)."""
    first = opening(url, "Content-Length: 100000", *headers) + b"\r\n"
    return drip(url, first, b" ", pause=pause, patience=patience)


def large_body(url: str, *headers: str, most: int = 64 << 20, patience: float = 30.0) -> Ended:
    """A body in pieces whose size nobody was told, as fast as the server takes it."""
    first = opening(url, "Transfer-Encoding: chunked", *headers) + b"\r\n"
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    return drip(url, first, piece, most=most, patience=patience)


@contextmanager
def many_connections(url: str, count: int) -> Iterator[list[socket.socket]]:
    """Connections that stay open and say nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(connected(url)) for _ in range(count)]


def open_session(url: str, token: str | None = None) -> Ended:
    """Begin a session and leave it."""
    return post(url, INITIALIZE, token)


def post(url: str, message: object, token: str | None = None, *headers: str) -> Ended:
    """One request, on a connection of its own."""
    body = json.dumps(message).encode()
    told = ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close"]
    if token is not None:
        told.append(f"Authorization: Bearer {token}")
    first = opening(url, *told, *headers) + b"\r\n" + body
    return drip(url, first, b"", pause=0.01, most=0)
