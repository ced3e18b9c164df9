"""Sessions, requests, connections and tokens over HTTP: bounded in number, size and age."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from clew.mcp.auth import RETRY_SECONDS, new_token
from clew.mcp.calls import Engines, RequestScope
from clew.mcp.server import generation_of
from clew.operations.spec import Arguments, Call, Result, Tool
from clew.operations.toolbox import OPERATIONS as REGISTRY
from clew.settings import load_settings
from tests.security import http_attacks as attacks
from tests.unit.mcp_tools import TOOLS, engine_in, tool
from tests.unit.test_mcp_access import ALICE, BOB, NEW, OLD, TOKENS, Served, served

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


@contextmanager
def serving(
    folder: Path,
    *,
    tools: tuple[Tool, ...] = TOOLS,
    quota: dict[str, object] | None = None,
    **serve: Any,  # noqa: ANN401
) -> Iterator[Served]:
    settings = load_settings(
        store=folder, serve={"tokens": TOKENS, **serve}, quota=quota or {"sessions": 3}
    )
    with engine_in(folder, "mills") as engine, served(Engines(settings, tools, engine)) as server:
        yield server


def session_id(opened: attacks.Ended) -> str:
    assert opened.status == 200, opened.text
    found = opened.header("mcp-session-id")
    assert found
    return found


def ask(server: Served, session: str, token: str = ALICE[0]) -> attacks.Ended:
    return attacks.post(server.url, LIST, token, f"Mcp-Session-Id: {session}")


def end(server: Served, session: str) -> None:
    told = (f"Authorization: Bearer {ALICE[0]}", f"Mcp-Session-Id: {session}", "Connection: close")
    first = attacks.opening(server.url, *told, method="DELETE") + b"\r\n"
    assert attacks.drip(server.url, first, b"", pause=0.01, most=0).status == 200


# --- how many


def test_sessions_of_a_namespace_are_bounded(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for _ in range(5):  # what begins no session counts for none
            assert attacks.post(server.url, LIST, ALICE[0]).status >= 400
            assert attacks.post(server.url, attacks.INITIALIZE, "wrong").status == 401
        opened = [session_id(attacks.open_session(server.url, ALICE[0])) for _ in range(3)]
        refused = attacks.open_session(server.url, ALICE[0])
        other = attacks.open_session(server.url, BOB[0])
        asked = [ask(server, session).status for session in opened]
        taken = ask(server, opened[0], BOB[0])
        end(server, opened[0])
        again = attacks.open_session(server.url, ALICE[0])

    assert refused.status == 429
    assert "3 sessions, as many as it may (the setting quota.sessions)" in refused.text
    assert refused.header("Retry-After")
    assert asked == [200, 200, 200]
    assert taken.status == 404, "a session is its owner's"
    assert (other.status, again.status) == (200, 200)


def test_sessions_that_begin_at_once_are_bounded(tmp_path: Path) -> None:
    with serving(tmp_path) as server, ThreadPoolExecutor(max_workers=20) as workers:
        opened = list(
            workers.map(lambda _: attacks.open_session(server.url, ALICE[0]).status, range(20))
        )

    assert sorted(opened) == [200] * 3 + [429] * 17


def test_sessions_in_all_are_bounded(tmp_path: Path) -> None:
    with serving(tmp_path, sessions=2) as server:
        statuses = [attacks.open_session(server.url, token[0]) for token in (ALICE, BOB, ALICE)]

    assert [opened.status for opened in statuses] == [200, 200, 503]
    assert statuses[-1].header("Retry-After") == str(RETRY_SECONDS)


def test_sessions_end_when_idle_and_for_all_their_use(tmp_path: Path) -> None:
    with serving(tmp_path / "idle", session_minutes=1 / 60) as server:
        opened = [session_id(attacks.open_session(server.url, ALICE[0])) for _ in range(3)]
        assert attacks.open_session(server.url, ALICE[0]).status == 429
        time.sleep(1.5)
        assert ask(server, opened[0]).status == 404
        assert attacks.open_session(server.url, ALICE[0]).status == 200
    with serving(tmp_path / "old", session_hours=1 / 3600) as server:
        session = session_id(attacks.open_session(server.url, ALICE[0]))
        assert ask(server, session).status == 200
        stream = stream_of(server, session)
        assert (stream.closed, stream.seconds < 5) == (True, True)
        assert ask(server, session).status == 404


def stream_of(server: Served, session: str, token: str = ALICE[0]) -> attacks.Ended:
    """The stream of a session, until the server ends it."""
    told = (
        f"Authorization: Bearer {token}",
        f"Mcp-Session-Id: {session}",
        "MCP-Protocol-Version: 2025-11-25",
        "Connection: close",
    )
    first = attacks.opening(server.url, *told, method="GET") + b"\r\n"
    return attacks.drip(server.url, first, b"", pause=0.05, most=0, patience=8)


def test_requests_of_a_caller_are_bounded(tmp_path: Path) -> None:
    """Even from many addresses: the token says who it is."""
    bounds: dict[str, Any] = {"connections_per_caller": 3, "trusted_proxies": ["127.0.0.1"]}
    with (
        serving(tmp_path, quota={"sessions": 10}, **bounds) as server,
        ThreadPoolExecutor(max_workers=3) as workers,
    ):
        sessions = [session_id(attacks.open_session(server.url, ALICE[0])) for _ in range(4)]
        streams = [workers.submit(stream_of, server, session) for session in sessions[:3]]
        time.sleep(1)
        refused = ask(server, sessions[3])
        other = attacks.open_session(server.url, BOB[0])
        for stream in streams:
            assert stream.result(20).status == 200

        assert refused.status == 429
        assert "serve.connections_per_caller" in refused.text
        assert refused.header("Retry-After")
        assert other.status == 200
        wait_for(lambda: ask(server, sessions[3]).status == 200)


def test_slow_calls_of_one_namespace_leave_threads_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.mcp.calls.AT_ONCE", 2)
    let_go, begun = threading.Event(), threading.Semaphore(0)

    def hold(_: Call, __: Arguments) -> Result:
        begun.release()
        let_go.wait(30)
        return {}

    async def run() -> float:
        async with (
            server.client(ALICE[0], NEW) as alice,
            server.client(BOB[0], NEW) as bob,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(50):
                tasks.start_soon(alice.call_tool, "hold", {})
            await anyio.to_thread.run_sync(begun.acquire)
            await anyio.sleep(0.5)
            started = time.monotonic()
            await bob.call_tool("greet", {"name": "Bob"})
            taken = time.monotonic() - started
            let_go.set()
        return taken

    with serving(tmp_path, tools=(*TOOLS, tool(hold))) as server:
        assert anyio.run(run) < 10


# --- revoked


def write_tokens(folder: Path, *tokens: tuple[str, str]) -> None:
    lines = [
        f'[[serve.tokens]]\nname = "{name}"\nsha256 = "{digest}"\nnamespaces = ["mills"]\n'
        for name, digest in tokens
    ]
    temporary = folder / "new.toml"
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(folder / "clew.toml")


@contextmanager
def serving_the_file(folder: Path) -> Iterator[Served]:
    settings = load_settings(store=folder / "store")
    with (
        engine_in(folder / "store", "mills") as engine,
        served(Engines(settings, TOOLS, engine), file=folder / "clew.toml") as server,
    ):
        yield server


def wait_for(condition: Any, seconds: float = 8.0) -> None:  # noqa: ANN401
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_revoked_token_lets_nobody_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ann, ben, ann_again = new_token(), new_token(), new_token()
    write_tokens(tmp_path, ("ann", ann[1]), ("ben", ben[1]))
    with serving_the_file(tmp_path) as server, ThreadPoolExecutor(max_workers=2) as workers:
        anns, bens = (session_id(attacks.open_session(server.url, t[0])) for t in (ann, ben))
        revoked = workers.submit(stream_of, server, anns, ann[0])
        goes_on = workers.submit(stream_of, server, bens, ben[0])
        (tmp_path / "clew.toml").write_text("[[serve.tokens", encoding="utf-8")
        time.sleep(1.5)  # a file that cannot be read changes nothing
        assert attacks.open_session(server.url, ann[0]).status == 200
        write_tokens(tmp_path, ("ann", ann_again[1]), ("ben", ben[1]))

        wait_for(lambda: attacks.open_session(server.url, ann[0]).status == 401)
        assert ask(server, anns, ann[0]).status == 401
        # The new token has the old one's name, and yet not its sessions.
        assert ask(server, anns, ann_again[0]).status == 404
        assert attacks.open_session(server.url, ann_again[0]).status == 200
        assert ask(server, bens, ben[0]).status == 200
        ended = revoked.result(20)
        assert (ended.status, ended.closed) == (200, True)
        assert not goes_on.done()


def test_a_subscription_ends_with_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is watched for a session that is over would be read for ever."""
    looked: list[object] = []

    def counted(scope: RequestScope) -> int:
        looked.append(scope)
        return generation_of(scope)

    async def subscribe() -> None:
        async with server.client(ALICE[0], OLD) as client:
            assert client.session is not None
            with pytest.warns(MCPDeprecationWarning):
                await client.session.subscribe_resource("clew://statistics")
            await anyio.sleep(1.5)

    monkeypatch.setattr("clew.mcp.server.generation_of", counted)
    with serving(tmp_path) as server:
        anyio.run(subscribe)
        assert looked
        time.sleep(1.5)
        looked.clear()
        time.sleep(1.5)

    assert looked == []


# --- what one connection, and all together, may cost the server


BEARER = f"Authorization: Bearer {ALICE[0]}"


@pytest.fixture(scope="module", name="server")
def starved_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(
        tmp_path_factory.mktemp("starved"),
        tools=REGISTRY,
        header_seconds=0.5,
        request_seconds=1.0,
        body_megabytes=0.1,
    ) as server:
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
    bounds: dict[str, Any] = {setting: 5}
    with serving(tmp_path, **bounds) as server:
        with attacks.many_connections(server.url, 5):
            refused = attacks.open_session(server.url, ALICE[0])
        served_again = attacks.open_session(server.url, ALICE[0])

    assert (refused.status, setting in refused.text) == (status, True)
    assert int(refused.header("Retry-After") or 0) > 0
    assert served_again.status == 200


def test_addresses_of_a_proxy_are_not_counted(tmp_path: Path) -> None:
    with (
        serving(tmp_path, connections_per_caller=5, trusted_proxies=["127.0.0.1"]) as server,
        attacks.many_connections(server.url, 10),
    ):
        assert attacks.open_session(server.url, ALICE[0]).status == 200


def test_beyond_reason_connections_are_dropped(tmp_path: Path) -> None:
    with (
        serving(tmp_path, connections=5, header_seconds=30) as server,
        attacks.many_connections(server.url, 60),
    ):
        assert attacks.silence(server.url, patience=5).closed
