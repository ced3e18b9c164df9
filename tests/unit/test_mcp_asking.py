"""`POST /ask`: answers as they are written, over a real server in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import clew
from clew.mcp.engines import Engines
from clew.ports.models import Reply, Request
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.tools.toolbox import TOOLS
from tests.unit.mcp_tools import settings_for
from tests.unit.test_ask import BUILT, QUESTION, said
from tests.unit.test_mcp_access import ALICE, BOB, CAROL, TOKENS, served

STREAM = {"Accept": "text/event-stream"}
REPLY = said(("built the great clock", "It was Ada Morn who built the great clock."))


class Slow(ScriptedLanguageModel):
    """Writes on only when it is told to."""

    def __init__(self) -> None:
        super().__init__([REPLY])
        self.go_on = threading.Semaphore(0)
        self.written = 0

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`."""
        for piece in super().stream(request):
            assert self.go_on.acquire(timeout=20)
            self.written += 1
            yield piece


@contextmanager
def site(folder: Path, model: ScriptedLanguageModel, **serve: object) -> Iterator[str]:
    """The address of `/ask`, where `mills` speaks of a clock."""
    settings = settings_for(folder, tokens=TOKENS, **serve)
    mills = settings.model_copy(update={"namespace": "mills"})
    engine = clew.Clew(mills, embedder=HashEmbedder(), language_model=model)
    with engine, served(Engines(settings, TOOLS, engine)) as server:
        engine.add(BUILT, title="Vell")
        yield server.url.removesuffix("/mcp") + "/ask"


def post(
    url: str, token: str | None, body: object, headers: dict[str, str] | None = None
) -> httpx2.Response:
    auth = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.post(url, json=body, headers={**auth, **(headers or {})}, timeout=30)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and value of each event."""
    parts = [part.split("\n") for part in text.removesuffix("\n\n").split("\n\n")]
    assert all(len(lines) == 2 for lines in parts)
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in parts
    ]


def test_pieces_then_the_whole_answer(tmp_path: Path) -> None:
    with site(tmp_path, ScriptedLanguageModel([REPLY])) as url:
        answer = post(url, ALICE[0], {"query": QUESTION}, STREAM)
        plain = post(url, CAROL[0], {"query": QUESTION})
        whole = post(url, ALICE[0], {"query": QUESTION})

    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, found) = events(answer.text)
    assert last == "answer"
    assert {kind for kind, _ in pieces} == {"piece"}
    assert len(pieces) > 2
    assert "".join(piece["text"] for _, piece in pieces).strip() == found["answer"]
    assert found["sources"][0]["title"] == "Vell"
    assert found["usage"]["output_tokens"] > 0
    assert plain.status_code == 403, "carol may call two other tools"
    assert whole.json()["answer"] == found["answer"]
    assert whole.json()["cached_calls"] == 1


def test_words_come_before_the_end(tmp_path: Path) -> None:
    model = Slow()
    headers = {"Authorization": f"Bearer {ALICE[0]}", **STREAM}
    body = {"query": QUESTION}
    with (
        site(tmp_path, model) as url,
        httpx2.stream("POST", url, json=body, headers=headers, timeout=20) as response,
    ):
        lines = response.iter_lines()
        model.go_on.release(REPLY.index("clock.") // 8)
        first = next(line for line in lines if line.startswith("data:"))
        assert first.startswith('data: {"text": "It')
        model.go_on.release(100)
        assert any(line == "event: answer" for line in lines)


def test_where_nobody_listens_the_model_is_not_read_on(tmp_path: Path) -> None:
    model = Slow()
    headers = {"Authorization": f"Bearer {ALICE[0]}", **STREAM}
    with site(tmp_path, model) as url:
        body = {"query": QUESTION}
        with httpx2.stream("POST", url, json=body, headers=headers, timeout=20) as response:
            model.go_on.release(REPLY.index("Morn") // 8)
            next(response.iter_lines())
        time.sleep(0.3)
        model.go_on.release(100)
        time.sleep(0.3)
        assert model.written < len(REPLY) // 8


def test_what_takes_too_long_ends_with_an_error(tmp_path: Path) -> None:
    model = Slow()
    with site(tmp_path, model, request_seconds=0.6) as url:
        answer = post(url, ALICE[0], {"query": QUESTION}, STREAM)
        model.go_on.release(100)

    (last,) = events(answer.text)
    assert last[0] == "error"
    assert "0.6 seconds" in last[1]["error"]


@pytest.mark.parametrize(
    ("token", "query", "body", "status", "says"),
    [
        (None, "", {"query": QUESTION}, 401, ""),
        (BOB[0], "?namespace=mills", {"query": QUESTION}, 400, "mills"),
        (ALICE[0], "", {"query": QUESTION, "namespaces": ["bells"]}, 400, "bells"),
        (ALICE[0], "", {"query": ""}, 400, "query"),
        (ALICE[0], "", {"query": QUESTION, "model": "other"}, 400, "model"),
        (ALICE[0], "", [1], 400, "object"),
        (ALICE[0], "", {"query": "x" * 60_000}, 413, "larger"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, token: str | None, query: str, body: object, status: int, says: str
) -> None:
    with site(tmp_path, ScriptedLanguageModel([REPLY]), body_megabytes=0.05) as url:
        answer = post(url + query, token, body)

    assert answer.status_code == status, answer.text
    if says:
        assert says in answer.json()["error"]
