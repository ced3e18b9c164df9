"""What one connection, and all together, may cost the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS as REGISTRY
from tests.security import http_attacks as attacks
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, TOKENS, Served, served

BEARER = f"Authorization: Bearer {ALICE[0]}"


@contextmanager
def serving(folder: Path, **limits: object) -> Iterator[Served]:
    settings = settings_for(folder, tokens=TOKENS, **limits)
    with (
        engine_in(folder, "mills") as engine,
        served(Engines(settings, REGISTRY, engine)) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"header_seconds": 0.5, "request_seconds": 1.0, "body_megabytes": 0.1}
    with serving(tmp_path_factory.mktemp("starved"), **limits) as server:
        yield server


def test_headers_are_bounded_in_size(server: Served) -> None:
    for attack in (attacks.endless_headers, attacks.one_long_header):
        ended = attack(server.url)
        assert ended.closed
        assert ended.status in (0, 400, 431)
        assert ended.sent < 4 << 20  # what the system's buffers take


def test_headers_are_bounded_in_time(server: Served) -> None:
    assert attacks.silence(server.url).closed
    for attack in (attacks.slow_headers, attacks.slow_second_request):
        ended = attack(server.url)
        assert (ended.closed, ended.seconds < 5) == (True, True)
        assert "408 Request Timeout" in ended.text


@pytest.mark.parametrize("headers", [(), (BEARER,)])
@pytest.mark.parametrize("path", ["/mcp", "/ask"])
def test_a_slow_or_large_body_is_ended(server: Served, path: str, headers: tuple[str, ...]) -> None:
    url = server.url.replace("/mcp", path)
    slow = attacks.slow_body(url, *headers)
    large = attacks.large_body(url, *headers)

    assert (slow.closed, slow.seconds < 5) == (True, True)
    assert (large.closed, large.sent < 16 << 20) == (True, True)
    assert (slow.status, large.status) == ((408, 413) if headers else (401, 401))


@pytest.mark.parametrize("size", [1000, int(0.1 * 1024 * 1024)])
def test_what_follows_a_refused_request_is_served(server: Served, size: int) -> None:
    """On the same connection, also behind a body that is as large as it may be."""
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
    assert re.match(rb"HTTP/1.1 4(?!01)", answered)


@pytest.mark.parametrize(
    ("setting", "status"), [("connections", 503), ("connections_per_caller", 429)]
)
def test_connections_are_bounded(tmp_path: Path, setting: str, status: int) -> None:
    with serving(tmp_path, **{setting: 5}) as server:
        with attacks.many_connections(server.url, 5):
            refused = attacks.open_session(server.url, ALICE[0])
        served_again = attacks.open_session(server.url, ALICE[0])

    assert (refused.status, setting in refused.text) == (status, True)
    assert int(refused.header("Retry-After") or 0) > 0
    assert served_again.status == 200


def test_addresses_of_a_proxy_are_not_counted(tmp_path: Path) -> None:
    bounds = {"connections_per_caller": 5, "trusted_proxies": ["127.0.0.1"]}
    with serving(tmp_path, **bounds) as server, attacks.many_connections(server.url, 10):
        assert attacks.open_session(server.url, ALICE[0]).status == 200


def test_beyond_reason_connections_are_dropped(tmp_path: Path) -> None:
    bounds = {"connections": 5, "header_seconds": 30}
    with serving(tmp_path, **bounds) as server, attacks.many_connections(server.url, 60):
        assert attacks.silence(server.url, patience=5).closed
