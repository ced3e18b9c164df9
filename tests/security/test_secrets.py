"""No key or password comes back to whoever reads a message, however a server quotes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

import clew
from clew import errors
from clew.errors import ClewError, ModelError, keep_secret, redacted, redacted_pieces
from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS as REGISTRY
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from tests.e2e.conftest import run_clew
from tests.unit.test_mcp_access import ALICE, TOKENS, served
from tests.unit.test_mcp_engines import STREAM

KEY = "sk-proj-Hq7ZtVw9LmXc2RbN4KyPdJ"
SHOWN = 8
MASKS = ("*", "****", "***************", "\u2022\u2022\u2022\u2022", "\u2026", "...", ".....")
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


@contextmanager
def kept(secret: str) -> Iterator[None]:
    """A process that uses this secret."""
    before = set(errors._secrets)
    keep_secret(secret)
    try:
        yield
    finally:
        errors._secrets.clear()
        errors._secrets.update(before)


def pieces(secret: str) -> set[str]:
    return {secret[i : i + SHOWN] for i in range(len(secret) - SHOWN + 1)}


@given(
    st.text(ALPHABET, min_size=12, max_size=60),
    st.integers(0, 40),
    st.integers(SHOWN, 60),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_no_piece_of_a_secret_is_quoted(
    secret: str, start: int, length: int, before: str, after: str
) -> None:
    quoted = secret[start : start + length]
    with kept(secret):
        told = str(ModelError(f"{before} {quoted} {after} {secret}{quoted}"))

    assert not any(piece in told for piece in pieces(secret))


@given(
    st.text(ALPHABET, min_size=12, max_size=60),
    st.integers(3, 7),
    st.sampled_from(MASKS[1:]),
    st.integers(0, 6),
)
def test_no_masked_secret_is_quoted(secret: str, head: int, mask: str, tail: int) -> None:
    masked = f"{secret[:head]}{mask}{secret[len(secret) - tail :]}"
    with kept(secret):
        told = str(ClewError(f"Incorrect API key: {masked}. You can find your key at https://x"))

    assert masked not in told
    assert secret[:head] + mask not in told
    assert "You can find your key at https://x" in told


@given(st.text(ALPHABET, min_size=1, max_size=20), st.text(ALPHABET, min_size=1, max_size=20))
def test_no_password_of_an_address_is_quoted(user: str, password: str) -> None:
    told = str(ClewError(f"no neo4j://{user}:{password}@db.example.org:7687/x, try again"))

    assert f":{password}@" not in told
    assert "@db.example.org:7687/x, try again" in told


@given(
    st.text(ALPHABET + " /", min_size=8, max_size=60),
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 40), st.integers(1, 60)),
            st.tuples(st.integers(3, 7), st.sampled_from(MASKS)),
            st.sampled_from([" ", "\n", ". ", "\u6a4b", "//ann:pass@db ", "word "]),
            st.text(max_size=12),
        ),
        max_size=12,
    ),
    st.lists(st.integers(1, 20), min_size=1, max_size=6),
)
def test_a_stream_is_redacted_as_the_whole_is(
    secret: str, parts: list[object], lengths: list[int]
) -> None:
    """However it is cut into pieces, and wherever the secret, or a part of it, begins and ends."""
    text = ""
    for part in parts:
        if isinstance(part, tuple):
            start, more = part
            whole = isinstance(more, int)
            text += secret[start : start + more] if whole else f"{secret[:start]}{more}"
        else:
            text += str(part)
    sent: list[str] = []
    at = 0
    while at < len(text):
        length = lengths[len(sent) % len(lengths)]
        sent.append(text[at : at + length])
        at += length
    with kept(secret):
        told = list(redacted_pieces(sent))
        assert "".join(told) == redacted(text)
        assert not any(piece in "".join(told) for piece in pieces(secret))


def test_a_stream_is_told_while_it_comes() -> None:
    """No more is held back than the longest secret is long, and the word that is being written."""
    sent = [f"word{number} " for number in range(400)]
    given = 0

    def coming() -> Iterator[str]:
        nonlocal given
        for piece in sent:
            given += len(piece)
            yield piece

    with kept(KEY):
        told = 0
        for piece in redacted_pieces(coming()):
            told += len(piece)
            assert piece == " ".join(piece.split()) + " "
            assert given - told <= max(map(len, errors._secrets)) + 2 * len("word399 ")
    assert told == given


def quoting(server: HTTPServer) -> None:
    """A provider that refuses, and quotes what it was sent, in several ways."""

    def refuse(asked: Asked) -> Response:
        key = asked.headers.get("Authorization", "").removeprefix("Bearer ")
        said = f"Incorrect API key provided: {key} ({key[:7]}*****{key[-4:]}), Bearer {key[:12]}"
        return Response(json.dumps({"error": {"message": said}}), 401, mimetype="application/json")

    for path in ("/v1/chat/completions", "/api/show", "/api/chat"):
        server.expect_request(path).respond_with_handler(refuse)


def traces() -> list[str]:
    return [*sorted(pieces(KEY)), f"{KEY[:7]}*"]


def told(folder: Path, text: str, provider: str, address: str, *commands: list[str]) -> str:
    """What commands say about one file; no trace of the key stands there, nor in any file."""
    given = {"PROVIDER": provider, "MODEL": "m", "BASE_URL": address.rstrip("/"), "RETRIES": "0"}
    environment = {f"CLEW_LLM__{name}": value for name, value in given.items()}
    (folder / "mill.md").write_text(text)
    said = ""
    for arguments in (["index", "mill.md"], *commands, ["backup", "copy.db"]):
        done = run_clew(*arguments, cwd=folder, CLEW_LLM_API_KEY=KEY, **environment)
        said += done.stdout + done.stderr
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 2
    for trace in traces():
        assert trace not in said
        assert not any(trace.encode() in data for data in files)
    return said


@pytest.mark.parametrize("provider", ["openai-compatible", "ollama"])
def test_a_key_that_a_provider_quotes_reaches_no_terminal_store_or_backup(
    tmp_path: Path, httpserver: HTTPServer, provider: str
) -> None:
    quoting(httpserver)
    question = "Who built the mill?"
    said = told(
        tmp_path,
        "Jonas Reed built the mill at Harrow Ford.\n",
        provider,
        httpserver.url_for("/v1" if provider != "ollama" else "/"),
        *(["check", "--llm"], ["ask", question], ["ask", question, "--json"], ["enrich", "--yes"]),
    )
    assert any(KEY in str(asked.headers) for asked, _ in httpserver.log)
    assert "Incorrect API key provided: [secret]" in said


def test_a_key_within_a_streamed_answer_reaches_no_terminal_store_or_backup(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    """Two characters at a time, within a statement that the passage bears out."""
    words = "Jonas Reed built the mill at Harrow Ford."

    quote = {"passage": 1, "words": words}
    # Other tasks, such as routing, get what they cannot use.
    text = json.dumps({"statements": [{"quotes": [quote], "statement": f"By {KEY} Reed, he."}]})
    events: list[dict[str, object]] = [
        {"message": {"role": "assistant", "content": text[at : at + 2]}}
        for at in range(0, len(text), 2)
    ]
    events.append({"message": {"content": ""}, "done": True, "done_reason": "stop"})
    lines = "".join(f"{json.dumps({'model': 'm', **one})}\n" for one in events)
    info = {"model_info": {"general.architecture": "x", "x.context_length": 8192}}
    httpserver.expect_request("/api/show").respond_with_json(info)
    httpserver.expect_request("/api/chat").respond_with_data(lines)
    ask = ["ask", "Who built the mill at Harrow Ford?"]
    address = httpserver.url_for("")
    said = told(tmp_path, f"{words}\n", "ollama", address, ask, [*ask, "--json"])
    assert "By [secret] Reed, he." in said


@pytest.mark.parametrize("provider", ["openai-compatible", "ollama"])
@pytest.mark.parametrize("headers", [{}, STREAM], ids=["json", "stream"])
def test_a_key_that_a_provider_quotes_never_reaches_who_asks_over_http(
    tmp_path: Path,
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    headers: dict[str, str],
) -> None:
    quoting(httpserver)
    monkeypatch.setenv("CLEW_LLM_API_KEY", KEY)
    base = httpserver.url_for("/v1" if provider != "ollama" else "").rstrip("/")
    llm = {"provider": provider, "model": "m", "base_url": base, "retries": 0}
    settings = load_settings(store=tmp_path, namespace="mills", llm=llm, serve={"tokens": TOKENS})
    with (
        clew.Clew(settings, embedder=HashEmbedder()) as engine,
        served(Engines(settings, REGISTRY, engine)) as server,
    ):
        engine.add("Jonas Reed built the mill at Harrow Ford.", title="The mill")
        answer = httpx2.post(
            server.url.replace("/mcp", "/ask"),
            json={"query": "Who built the mill at Harrow Ford?"},
            headers={"Authorization": f"Bearer {ALICE[0]}", **headers},
            timeout=30,
        )

    assert any(KEY in str(asked.headers) for asked, _ in httpserver.log)
    assert "Incorrect API key provided: [secret]" in answer.text
    said = answer.text + str(answer.headers)
    assert not any(trace in said for trace in traces())


def test_what_is_deleted_is_in_no_file_and_no_later_backup(tmp_path: Path) -> None:
    words = "zaffre ledger cobalt kiln vermilion barge"
    for number in range(20):
        (tmp_path / f"kept{number}.md").write_text(f"Jonas Reed built mill number {number}.\n")
    (tmp_path / "gone.md").write_text(f"The {words} of Marta Quillfeather lies in the cellar.\n")
    run_clew("index", *sorted(tmp_path.glob("*.md")), cwd=tmp_path)
    store = tmp_path / ".clew" / "default" / "clew.db"
    assert words.encode() in store.read_bytes()

    gone = run_clew("delete", "gone.md", "--yes", cwd=tmp_path)
    copied = run_clew("backup", "copy.db", cwd=tmp_path)
    assert (gone.returncode, copied.returncode) == (0, 0), gone.stderr + copied.stderr
    for file in (tmp_path / "copy.db", *store.parent.rglob("*")):
        data = file.read_bytes() if file.is_file() else b""
        assert not any(one in data for one in (words.encode(), b"lies in the cellar")), file

    checked = run_clew("check", "--vacuum", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    for file in store.parent.rglob("*"):
        data = file.read_bytes().lower() if file.is_file() else b""
        assert not any(word.encode() in data for word in [*words.split(), "quillfeather"]), file
    assert "Jonas Reed" in run_clew("search", "Who built mill number 7?", cwd=tmp_path).stdout
