"""What one connection, and all together, may cost the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.mcp.engines import Engines
from clew.tools.toolbox import OPERATIONS as REGISTRY
from tests.security import http_attacks as attacks
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, TOKENS, Served, served

BEARER = f"Authorization: Bearer {ALICE[0]}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    limits = {"header_seconds": 0.5, "request_seconds": 1.0, "body_megabytes": 0.1}
    with (
        engine_in(tmp_path, "mills") as engine,
        served(
            Engines(settings_for(tmp_path, tokens=TOKENS, **limits), REGISTRY, engine)
        ) as server,
    ):
        yield server


@pytest.mark.parametrize("attack", [attacks.endless_headers, attacks.one_long_header])
def test_headers_are_bounded_in_size(server: Served, attack: object) -> None:
    assert callable(attack)
    ended = attack(server.url)

    assert ended.closed
    assert ended.status in (0, 400, 431)
    assert ended.sent < 4 << 20  # what the system's buffers take


def test_headers_are_bounded_in_time(server: Served) -> None:
    for attack in (attacks.slow_headers, attacks.slow_second_request):
        ended = attack(server.url)
        assert ended.closed
        assert ended.seconds < 5
        assert "408 Request Timeout" in ended.text


def test_a_connection_on_which_nothing_is_said_is_closed(server: Served) -> None:
    assert attacks.silence(server.url).closed


@pytest.mark.parametrize("headers", [(), (BEARER,)])
@pytest.mark.parametrize("path", ["/mcp", "/ask"])
def test_a_slow_body_is_ended(server: Served, path: str, headers: tuple[str, ...]) -> None:
    ended = attacks.slow_body(server.url.replace("/mcp", path), *headers)

    assert ended.closed
    assert ended.seconds < 5
    assert ended.status == (408 if headers else 401)


@pytest.mark.parametrize("headers", [(), (BEARER,)])
@pytest.mark.parametrize("path", ["/mcp", "/ask"])
def test_a_large_body_is_ended(server: Served, path: str, headers: tuple[str, ...]) -> None:
    ended = attacks.large_body(server.url.replace("/mcp", path), *headers)

    assert ended.closed
    assert ended.sent < 16 << 20
    assert ended.status == (413 if headers else 401)


def test_an_honest_client_is_served_on_one_connection(server: Served) -> None:
    """What is refused leaves the connection fit for the next request."""
    whole = attacks.opening(server.url, "Content-Length: 1000")
    asked = attacks.opening(server.url, BEARER, "Content-Length: 2", "Connection: close")
    with attacks.connected(server.url) as connection:
        connection.sendall(whole + b"\r\n" + b" " * 500)
        refused = connection.recv(65536)
        connection.sendall(b" " * 500 + asked + b"\r\n{}")
        answered = b""
        while received := connection.recv(65536):
            answered += received

    assert refused.startswith(b"HTTP/1.1 401")
    assert answered.startswith(b"HTTP/1.1 4")
    assert not answered.startswith(b"HTTP/1.1 401")


def test_a_request_that_comes_with_the_end_of_a_refused_one_is_served(server: Served) -> None:
    """The body is as large as it may be; what follows it is another request."""
    size = int(0.1 * 1024 * 1024)
    whole = attacks.opening(server.url, f"Content-Length: {size}")
    asked = attacks.opening(server.url, BEARER, "Content-Length: 2", "Connection: close")
    with attacks.connected(server.url) as connection:
        connection.sendall(whole + b"\r\n")
        refused = connection.recv(65536)
        connection.sendall(b" " * size + asked + b"\r\n{}")
        answered = b""
        while received := connection.recv(65536):
            answered += received

    assert refused.startswith(b"HTTP/1.1 401")
    assert answered.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    ("setting", "status"), [("connections", 503), ("connections_per_caller", 429)]
)
def test_connections_are_bounded(tmp_path: Path, setting: str, status: int) -> None:
    settings = settings_for(tmp_path, tokens=TOKENS, **{setting: 5})
    with engine_in(tmp_path, "mills") as engine, served(Engines(settings, TOOLS, engine)) as server:
        with attacks.many_connections(server.url, 5):
            refused = attacks.open_session(server.url, ALICE[0])
        served_again = attacks.open_session(server.url, ALICE[0])

    assert refused.status == status
    assert setting in refused.text
    assert int(refused.header("Retry-After") or 0) > 0
    assert served_again.status == 200


def test_addresses_of_a_proxy_are_not_counted(tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path, tokens=TOKENS, connections_per_caller=5, trusted_proxies=["127.0.0.1"]
    )
    with (
        engine_in(tmp_path, "mills") as engine,
        served(Engines(settings, TOOLS, engine)) as server,
        attacks.many_connections(server.url, 10),
    ):
        assert attacks.open_session(server.url, ALICE[0]).status == 200


def test_beyond_reason_connections_are_dropped(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, tokens=TOKENS, connections=5, header_seconds=30)
    with engine_in(tmp_path, "mills") as engine, served(Engines(settings, TOOLS, engine)) as server:
        with attacks.many_connections(server.url, 60) as connections:
            dropped = attacks.silence(server.url, patience=5)
        assert connections

    assert dropped.closed
