"""What somebody with a token tries with questions in words, over `/ask` and over the protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

import clew
from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS
from clew.ports import Reply, Request
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.unit.mcp_tools import settings_for
from tests.unit.test_ask import BUILT, QUESTION, said
from tests.unit.test_mcp_access import ALICE, BOB, TOKENS, Served, served

pytestmark = pytest.mark.anyio
REPLY = said(("built the great clock", "It was Ada Morn who built the great clock."))
SECRET = "Ilse Marrable keeps the bell of Orrin."
STREAM = {"Accept": "text/event-stream"}
QUERIES: list[object] = ["", " \n", "x" * 60_000, 5, None, True, ["x"], {"a": 1}]
NAMES: list[object] = [
    "bells",
    "../bells",
    "mills/../bells",
    "bells\x00",
    "",
    "*",
    "MILLS",
    5,
    None,
]
ODD: dict[str, list[object]] = {
    "namespaces": [*([name] for name in NAMES), "bells", {"a": 1}, ["mills"] * 9999],
    "mode": ["all", "", 1, ["global"], "one_shot\x00"],
    "steps": [-1, 0, 10**30, 1.5, "many", True, [2]],
    "top_k": [0, -1, 10**9, "ten", []],
    "max_tokens_spent": [-1, 10**12, "none"],
    "min_confidence": [-0.1, 1.1, "sure"],
    "where": ["x", ["year"], [{"a": 1}], ["("] * 9999],
    "since": ["9" * 500, "yester\x00day", 7, "0000-00-00"],
    **{name: ["x"] for name in ("model", "tell", "progress", "__class__")},
}
ARGUMENTS: list[dict[str, object]] = [
    {},
    *({"query": query} for query in QUERIES),
    *({"query": QUESTION, name: value} for name, values in ODD.items() for value in values),
]
BODIES = [
    b"{",
    b"[" * 100_000,
    b'{"query": ' * 50_000,
    b"\xff\xfe\x00{",
    b'{"query": NaN}',
    b'{"query": "x", "steps": ' + b"7" * 5000 + b"}",
    b'"query"',
    b"null",
    b'{"query": "\\ud800"}',
    b'{"query": "a", "query": 7}',
]


class Writing(ScriptedLanguageModel):
    """Answers every question alike; where it is held, only once it may go on."""

    def __init__(self, *, held: bool = False) -> None:
        super().__init__()
        self.go_on = threading.Event()
        if not held:
            self.go_on.set()

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.asked.append(request)
        return Reply(text=REPLY, finish="stop", model="m")

    def stream(self, request: Request) -> Iterator[str | Reply]:
        reply = self.reply(request)
        for place in range(0, len(REPLY), 8):
            yield REPLY[place : place + 8]
            if place > REPLY.index("clock."):  # its first words are shown by then
                self.go_on.wait(60)
        yield reply


@contextmanager
def site(folder: Path, model: Writing, **serve: object) -> Iterator[Served]:
    """`mills` speaks of a clock, `bells` has a secret."""
    settings = settings_for(folder, tokens=TOKENS, profile="full", rate_per_minute=10_000, **serve)
    with ExitStack() as stack:
        engines = {}
        for name, text in (("mills", BUILT), ("bells", SECRET)):
            given = settings.model_copy(update={"namespace": name})
            engine = clew.Clew(given, embedder=HashEmbedder(), language_model=model)
            engines[name] = stack.enter_context(engine)
            engine.add(text, title="Notes")
        yield stack.enter_context(served(Engines(settings, OPERATIONS, engines["mills"])))


@pytest.fixture(scope="module")
def model() -> Writing:
    return Writing()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: Writing) -> Iterator[Served]:
    with site(tmp_path_factory.mktemp("site"), model, body_megabytes=0.1) as server:
        yield server


def post(server: Served, body: object, token: str = ALICE[0], **more: Any) -> httpx2.Response:  # noqa: ANN401
    """To `/ask`."""
    sent = {"content": body} if isinstance(body, bytes) else {"json": body}
    headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
    url = server.url.removesuffix("/mcp") + "/ask" + more.pop("query", "")
    return httpx2.post(url, headers=headers, timeout=60, **sent, **more)


def check_refused(said: str) -> None:
    """A line that says why, and nothing of the inside or of others."""
    assert said.strip()
    inside = ("Traceback", 'File "', "Error(", "site-packages", "/tmp/", "set_int_max_str_digits")
    for inner in (*inside, "Ilse", "Orrin"):
        assert inner not in said


@pytest.mark.parametrize("headers", [{}, STREAM], ids=["json", "stream"])
def test_arguments_that_cannot_be(server: Served, model: Writing, headers: dict[str, str]) -> None:
    asked = len(model.asked)
    for arguments in ARGUMENTS:
        answer = post(server, arguments, headers=headers)
        streamed = answer.headers["content-type"].startswith("text/event-stream")
        assert answer.status_code in (400, 413) or (streamed and "event: error" in answer.text), (
            arguments,
            answer.text[:300],
        )
        check_refused(answer.text)
    assert len(model.asked) == asked


async def test_arguments_that_cannot_be_over_the_protocol(server: Served, model: Writing) -> None:
    asked = len(model.asked)
    async with server.client(ALICE[0]) as client:
        for arguments in ARGUMENTS:
            try:
                result = await client.call_tool("ask", dict(arguments))
            except MCPError as error:
                check_refused(str(error))
                continue
            assert result.is_error, arguments
            check_refused(str(result.content))
        good = await client.call_tool("ask", {"query": QUESTION})
    assert not good.is_error
    assert len(model.asked) == asked + 1


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:20].decode("latin-1"))
def test_bodies_that_are_no_question(server: Served, model: Writing, body: bytes) -> None:
    asked = len(model.asked)
    answer = post(server, body)

    assert answer.status_code in (400, 413)
    assert answer.json()["success"] is False
    check_refused(answer.json()["error"])
    assert len(model.asked) == asked


def test_of_another_tenant_nothing_is_told(server: Served) -> None:
    """Neither what it holds nor whether it is there."""
    question = "Who keeps the bell of Orrin?"
    for name in ("bells", "never"):
        for answer in (
            post(server, {"query": question}, query=f"?namespace={name}"),
            post(server, {"query": question, "namespaces": ["mills", name]}),
        ):
            assert answer.status_code == 400
            check_refused(answer.text)
    told = [
        post(server, {"query": question, "namespaces": [name]}).text.replace(name, "…")
        for name in ("bells", "never")
    ]
    assert told[0] == told[1]
    own = post(server, {"query": question}, BOB[0], query="?namespace=bells")
    other = post(server, {"query": question})
    assert "Ilse" in own.text
    assert other.status_code == 200
    assert "Ilse" not in other.text


def test_streams_that_nobody_reads_leave_the_server_free(tmp_path: Path) -> None:
    model = Writing(held=True)
    with site(tmp_path, model) as server:
        url = server.url.removesuffix("/mcp") + "/ask"
        headers = {"Authorization": f"Bearer {ALICE[0]}", **STREAM}

        def leave(number: int) -> None:
            body = {"query": f"{QUESTION} {number}"}
            with httpx2.stream("POST", url, json=body, headers=headers, timeout=60) as response:
                next(response.iter_lines())

        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(leave, range(4)):
                pass
        model.go_on.set()
        answer = post(server, {"query": QUESTION})
    assert answer.json()["answered"] is True


def test_many_at_once_are_answered_or_told_to_wait(tmp_path: Path) -> None:
    with site(tmp_path, Writing()) as server:
        with ThreadPoolExecutor(12) as pool:
            answers = list(
                pool.map(lambda n: post(server, {"query": f"{QUESTION} {n}"}), range(24))
            )
        last = post(server, {"query": QUESTION})

    assert {answer.status_code for answer in answers} <= {200, 429, 503}
    assert any(answer.status_code == 200 for answer in answers)
    for answer in answers:
        assert json.loads(answer.text)["success"] is (answer.status_code == 200)
    assert last.status_code == 200
