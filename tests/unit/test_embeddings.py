"""Embeddings from servers that are asked as Ollama and OpenAI are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import clew
from clew.errors import ModelError, ModelUnavailableError, SettingsError
from clew.plugins.llm.embeddings import AT_ONCE
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder

MODEL = HashEmbedder(32)
NOTES = [f"Note {number}: the harbour of Ostrand, berth {number}." for number in range(AT_ONCE + 6)]


class Server:
    """Embeds as the fake does; what was sent is kept, and the first requests may be refused."""

    def __init__(self, http: HTTPServer) -> None:
        self.sent: list[list[str]] = []
        self.refused: list[int] = []
        self.keys: set[str | None] = set()
        self.address = http.url_for("").rstrip("/")
        for path in ("/api/embed", "/embeddings"):
            http.expect_request(path, method="POST").respond_with_handler(self.answer)

    def answer(self, request: Request) -> Response:
        body: Mapping[str, Any] = json.loads(request.data)
        self.keys.add(request.headers.get("Authorization"))
        if self.refused:
            return Response("busy", self.refused.pop(), {"Retry-After": "0"})
        texts = body["input"]
        self.sent.append(texts)
        vectors = MODEL.embed_documents(texts).tolist()
        tokens = sum(map(MODEL.count_tokens, texts))
        if request.path == "/api/embed":
            made = {"embeddings": vectors, "prompt_eval_count": tokens}
        else:  # in any order
            data = [{"index": i, "embedding": one} for i, one in enumerate(vectors)][::-1]
            made = {"data": data, "usage": {"total_tokens": tokens}}
        return Response(json.dumps(made), content_type="application/json")


@pytest.fixture
def server(httpserver: HTTPServer) -> Server:
    return Server(httpserver)


def opened(folder: Path, server: Server, model: str = "ollama:small", **embed: object) -> clew.Clew:
    given = {"model": model, "base_url": server.address, "cache": folder / "cache", **embed}
    return clew.open(settings=load_settings(store=folder / "store", embed=given))


@pytest.mark.parametrize("model", ["ollama:small", "openai:small", "openai-compatible:small"])
def test_a_server_embeds_in_batches(tmp_path: Path, server: Server, model: str) -> None:
    with opened(tmp_path, server, model) as store:
        report = store.add_documents(
            clew.Document(source=f"{i}", text=text) for i, text in enumerate(NOTES)
        )
        found = store.search("berth 7", strategy="vector", limit=1).hits[0]
    assert max(map(len, server.sent)) == AT_ONCE
    passages = [text for texts in server.sent for text in texts if text in NOTES]
    assert sorted(passages) == sorted(NOTES)
    assert report.embedding_tokens >= sum(map(MODEL.count_tokens, NOTES))
    wanted = np.array([MODEL.embed_query(text) @ MODEL.embed_query("berth 7") for text in NOTES])
    assert found.chunk.text == NOTES[int(wanted.argmax())]
    assert found.scores["vector"] == pytest.approx(float(wanted.max()), abs=1e-5)


def test_the_same_text_is_sent_once_whatever_store_it_comes_to(
    tmp_path: Path, server: Server
) -> None:
    for name in ("one", "other"):
        with opened(tmp_path, server) as store, store.namespaces.open(name) as one:
            one.add(NOTES[0])
    assert [texts for texts in server.sent if NOTES[0] in texts] == [[NOTES[0]]]


def test_an_overloaded_server_is_asked_again(tmp_path: Path, server: Server) -> None:
    server.refused = [429, 503]
    with opened(tmp_path, server) as store:
        store.add(NOTES[0])
        assert len(store) == 1


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, '{"error": "model \\"small\\" not found"}', "get it with: ollama pull small"),
        (401, "no", "answered 401: no"),
        (200, "<html>", "something else than JSON"),
        (200, "[]", "something else than JSON"),
        (200, '{"embeddings": [[1, 2], [3, 4]]}', "without the 1 embeddings asked for"),
        (200, '{"data": [{"embedding": [1]}]}', "without the 1 embeddings asked for"),
        (200, '{"embeddings": [["a"]]}', "no vectors of numbers"),
        (200, '{"embeddings": [[0, 0]]}', "not all 0"),
    ],
)
def test_what_is_no_embedding_is_told(
    tmp_path: Path, httpserver: HTTPServer, status: int, body: str, told: str
) -> None:
    httpserver.expect_request("/api/embed").respond_with_data(body, status)
    embed = {"model": "ollama:small", "base_url": httpserver.url_for(""), "cache": tmp_path}
    with clew.open(settings=load_settings(store=tmp_path / "store", embed=embed)) as store:
        with pytest.raises(ModelError, match=told):
            store.add(NOTES[0])
        assert not len(store)


def test_without_its_server_a_question_is_answered_by_words(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as store:
        store.add("Ada Morn built the great clock of Vell.", source="clock")
    with opened(tmp_path, server, base_url="http://127.0.0.1:9") as store:
        found = store.search("Who built the clock of Vell?")
        with pytest.raises(ModelUnavailableError, match=r"cannot be reached at http://127\.0\.0"):
            store.add(NOTES[0])
        assert len(store) == 1
    assert [hit.chunk.source for hit in found] == ["clock"]
    assert "found by words and ties, not by meaning" in found.notes[0]


def test_a_key_goes_to_its_vendor_alone(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        clew.open(
            settings=load_settings(store=tmp_path / "s", embed={"model": "openai:small"})
        ) as store,
        pytest.raises(ModelError, match="set OPENAI_API_KEY"),
    ):
        store.add(NOTES[0])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor")
    with opened(tmp_path, server, "openai:small") as store:
        store.add(NOTES[0])
    assert server.keys == {None}


def test_prefixes_are_sent_and_belong_to_the_model(tmp_path: Path, server: Server) -> None:
    prefixes = {"query_prefix": "query: ", "document_prefix": "passage: "}
    with opened(tmp_path, server, **prefixes) as store:
        store.add(NOTES[0])
        store.search("berth 0")
        assert store.state.embedder.name == "ollama:small passage:"
    sent = [text for texts in server.sent for text in texts]
    assert f"passage: {NOTES[0]}" in sent
    assert "query: berth 0" in sent


def test_a_server_has_an_address(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, embed={"model": "openai-compatible:small"})
    with pytest.raises(SettingsError, match=r"expected provider:model, and the server's address"):
        clew.open(settings=settings)
