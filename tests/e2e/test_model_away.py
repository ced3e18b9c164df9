"""Models that are away, hang, or have to be loaded, and `clew enrich` killed in its midst."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import clew
from clew.plugins.llm.ollama import check_reachable
from clew.ports import Enrichment
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from tests.e2e.conftest import Library, Run

DOCUMENTS = 40
SECONDS = 0.05
"""That a reply takes."""
ENDED = {"done": True, "done_reason": "stop", "prompt_eval_count": 900, "eval_count": 30}
ENRICH = """
import sys, clew
from clew.testing.fakes import HashEmbedder
with clew.open(sys.argv[1], embedder=HashEmbedder()) as store:
    (report,) = store.enrich(sys.argv[2])
    print(report.done, report.facts, report.requests, report.cached, flush=True)
"""


class Model(HTTPServer):
    """A server as Ollama's that finds one fact in each passage, and takes its time."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1", threaded=True)
        self.asked: list[str] = []
        self.expect_request("/api/show").respond_with_json({"model_info": {}})
        self.expect_request("/api/chat").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        messages = request.get_json()["messages"]
        match = re.search(r"(Ada Morn) (wrote) (letter \d+)", messages[-1]["content"])
        content = "nonsense"
        if match is not None:
            head, relation, tail = match.groups()
            fact = {"quote": match.group(), "head": head, "relation": relation, "tail": tail}
            said = {"quote": match.group(), "text": f"{match.group()}."}
            is_summary = "statements" in messages[0]["content"]
            found = {"title": "letter", "statements": [said]} if is_summary else {"facts": [fact]}
            content = json.dumps(found)
            time.sleep(SECONDS)
            self.asked.append(tail)
        return Response(
            f"{json.dumps({'model': 'small', 'message': {'content': content}, **ENDED})}\n"
        )


@pytest.fixture
def letters_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A model that the settings name, also those of other processes."""
    with Model() as model:
        _use(monkeypatch, "ollama", model.port, CONCURRENCY="2")
        yield model


def _start(folder: Path, kind: Enrichment) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ENRICH, str(folder), kind]
    return subprocess.Popen(command, stdout=PIPE, text=True)


def test_who_sees_failures_is_told_what_to_do(
    tmp_path: Path, in_process: Run, letters_model: Model
) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    for name, text in (("good", "Ada Morn wrote letter 7."), ("bad", "Nobody wrote to Vell.")):
        (letters / f"{name}.txt").write_text(text, "utf-8")
    at = ("--store", str(tmp_path / "store"))
    assert in_process("index", str(letters), *at).returncode == 0
    told = in_process("enrich", "--extract", *at)
    again = in_process("enrich", "--extract", "--retry", "--json", *at)
    same = in_process("enrich", "--extract", "--retry", "--json", *at)
    failures = in_process("stats", "--llm", "--failures", *at)
    done = in_process("enrich", "--extract", "--json", *at)

    (report,) = json.loads(again.stdout)["reports"]
    (rest,) = json.loads(done.stdout)["reports"]
    assert (told.returncode, again.returncode, done.returncode) == (1, 1, 0)
    (other,) = json.loads(same.stdout)["reports"]
    for name in ("failed", "requests", "cached"):
        assert other[name] == report[name]
    assert report["requests"] > 0
    for said in (told.stderr, report["next_step"]):
        assert "clew enrich --extract --retry" in said
        assert "clew stats --llm --failures" in said
    assert report["failed"][0]["reason"].startswith("malformed")
    assert "malformed" in failures.stdout
    assert (rest["next_step"], rest["failed"]) == ("", [])


def opened(folder: Path) -> clew.Clew:
    settings = load_settings(store=folder, split={"chunk_tokens": 24, "section_tokens": 48})
    return clew.open(settings=settings, embedder=HashEmbedder())


def added(store: clew.Clew) -> int:
    """What the model added: facts, and summaries."""
    rows = store.store.relations_by_id([int(i) for i in store.store.relation_rows().ids])
    summaries = [info.summary for info in store.documents.list() if info.summary]
    return sum(row.extractor == "model" for row in rows) + len(summaries)


@pytest.mark.parametrize("kind", ["extract", "documents"])
def test_killed_taken_back_then_completed(
    tmp_path: Path, kind: Enrichment, letters_model: Model
) -> None:
    with opened(tmp_path) as store:
        for number in range(DOCUMENTS):
            first = f"Ada Morn wrote letter {number} to Tobias Fenn in the mill of Vell one night."
            rest = "Nobody knows why she did so, and it rained on all the days that came after it."
            store.add(f"{first}\n\n{rest if kind == 'documents' else ''}", source=f"{number}")
    process = _start(tmp_path, kind)
    with opened(tmp_path) as store:
        while not added(store):
            assert process.poll() is None
            time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    time.sleep(3 * SECONDS)
    with opened(tmp_path) as store:
        kept = store.maintenance.language_model()["requests"]
        assert added(store) == store.enriching.undo(kind) > 0
        assert added(store) == 0
        assert store.maintenance.check().problems == ()
    asked = len(letters_model.asked)
    said, _ = _start(tmp_path, kind).communicate(timeout=60)
    assert int(said.split()[0]) == DOCUMENTS
    assert len(letters_model.asked) - asked == DOCUMENTS - kept
    with opened(tmp_path) as store:
        assert added(store) == DOCUMENTS
        assert store.enriching.undo(kind) == DOCUMENTS
        assert added(store) == 0
        assert store.maintenance.check().problems == ()


# --- A language model that is away costs a command one attempt, of less than a second.


WHERE = "Where does Mara Lind live?"
ASKING = {
    "search": ["search", WHERE, "--model-filter"],
    "ask": ["ask", WHERE],
    "ask in steps": ["ask", WHERE, "--mode", "stepwise", "--steps", "3"],
    "ask globally": ["ask", WHERE, "--mode", "global"],
    "chat": ["chat", "--remember", WHERE],
    "enrich": ["enrich", "--extract", "--context", "--documents", "--reports"],
    "check": ["check", "--llm"],
}
"""Commands that ask a model, several times where it answers."""
OTHERS = [
    *(["stats"], ["stats", "--graph"], ["documents"], ["stats", "--llm"], ["communities"]),
    *(
        ["check"],
        ["topics"],
        ["audit"],
        ["show", "The Sole Trust"],
        ["entity", "show", "Mara Lind"],
    ),
    *(["call", "suggest_merges"], ["path", "Mara Lind", "Agnes Holm"], ["timeline", "Mara Lind"]),
    *(["subgraph", WHERE], ["call", "search", json.dumps({"query": WHERE})], ["tools"]),
    *(["pack"], ["entity", "--help"], ["schema"], ["call", "prune_graph"]),
    *(["index", "."], ["export", "out"], ["backup", "copy"], ["reindex"], ["delete", "diary.md"]),
]
"""Commands that ask none: each does what it does without a model."""


@pytest.fixture
def refuses() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that neither takes nor refuses a connection: its queue is full."""
    with socket.socket() as listening, ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How long each attempt to connect may take, in seconds; None: for ever."""
    found: list[float | None] = []
    connect: Callable[..., None] = socket.socket.connect

    def noted(one: socket.socket, place: Any) -> None:  # noqa: ANN401 - as it is passed on
        if one.family in (socket.AF_INET, socket.AF_INET6):
            found.append(one.gettimeout())
        connect(one, place)

    monkeypatch.setattr(socket.socket, "connect", noted)
    return found


@pytest.fixture
def copied(workshop: Library, tmp_path: Path) -> Path:
    return Path(shutil.copytree(workshop.store, tmp_path / "copied"))


def _use(monkeypatch: pytest.MonkeyPatch, provider: str, port: int, **given: str) -> None:
    base = f"http://127.0.0.1:{port}" + ("" if provider == "ollama" else "/v1")
    chosen = {"PROVIDER": provider, "BASE_URL": base, "MODEL": "small"}
    for name, value in {**chosen, "ROUTING": "true", "ENTITIES": "true", **given}.items():
        monkeypatch.setenv(f"CLEW_LLM__{name}", value)


@pytest.mark.parametrize("provider", ["ollama", "openai-compatible"])
@pytest.mark.parametrize("away", ["refuses", "silent"])
def test_one_attempt_of_less_than_a_second_then_it_is_told(
    provider: str,
    away: str,
    request: pytest.FixtureRequest,
    copied: Path,
    in_process: Run,
    attempts: list[float | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _use(monkeypatch, provider, request.getfixturevalue(away))
    for name, command in ASKING.items():
        attempts.clear()
        done = in_process(*command, "--store", copied)
        (seconds,) = attempts
        assert seconds is not None, name
        assert seconds < 1
        assert "cannot be reached" in done.stdout + done.stderr, name
        assert "Traceback" not in done.stderr
        if name in ("search", "ask", "ask in steps", "ask globally", "chat"):
            assert done.returncode == 0, done.stderr
            assert "Mara Lind lives" in done.stdout, name


def test_what_asks_no_model_is_as_it_is_without_one(
    copied: Path,
    tmp_path: Path,
    in_process: Run,
    refuses: int,
    attempts: list[float | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, command in ((" ".join(command), command) for command in OTHERS):
        done = []
        for provider in ("", "ollama"):
            here = tmp_path / f"here-{provider}"
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(copied, here / "store")
            monkeypatch.chdir(here)
            if provider:
                _use(monkeypatch, provider, refuses, ROUTING="false", ENTITIES="false")
            else:
                monkeypatch.delenv("CLEW_LLM__PROVIDER", raising=False)
            done.append(in_process(*command, "--store", "store"))
        without, away = done
        assert away.returncode == without.returncode, name
        if command[0] not in ("reindex", "index", "backup"):  # which say how long it took
            assert away.stdout == without.stdout, name
        assert "Traceback" not in away.stderr
    assert attempts == []


def test_a_name_that_nobody_can_look_up_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system's own look-up takes as long as it likes, whatever a socket's time limit is."""
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait(120) and [])
    try:
        with pytest.raises(OSError, match=r"within 0\.1 s"):
            check_reachable("http://models.example:11434", 0.1)
        assert not ended.is_set()
    finally:
        ended.set()


STATEMENT = {"quotes": [{"passage": 1, "words": "Mara Lind"}], "statement": "Mara Lind lives."}


class Fake(HTTPServer):
    """A server of Ollama's interface, and what it was asked."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1", threaded=True)
        self.hangs = False
        """Whether it takes requests and says nothing."""
        self.load_status = 200
        """What a request to load alone is answered."""
        self.asked: list[dict[str, Any]] = []
        self.loads: list[tuple[str, int]] = []
        """Models with the length of their context, each time that one was loaded."""
        self.ended, self._lock = threading.Event(), threading.Lock()
        self.expect_request(re.compile("")).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        if request.path == "/api/show" and not self.hangs:
            return Response('{"model_info": {"x.context_length": 131072}}')
        body = request.get_json()
        self.asked.append(body)
        if self.hangs:
            self.ended.wait(60)
            return Response(status=500)
        if not body["messages"] and self.load_status != 200:
            return Response('{"error": "out of memory"}', self.load_status)
        loaded = body["model"], body["options"]["num_ctx"]
        with self._lock:
            self.loads += [loaded] if self.loads[-1:] != [loaded] else []
        # Counted generously: what was sent is never more.
        counts = {"prompt_eval_count": loaded[1] - 1, "eval_count": 5}
        said = {"model": "small", "message": {"content": _said(body)}, "done": True, **counts}
        return Response(f"{json.dumps({**said, 'done_reason': 'stop'})}\n")


def _said(body: dict[str, Any]) -> str:
    """What the model says: to a schema something of it."""
    wanted = body.get("format", {}).get("properties", {})
    if not body["messages"] or not wanted:
        return "In Tarnholm." if body["messages"] else ""
    known = {"questions": [], "facts": [], "enough": True, "question": ""}
    found = {name: known.get(name) for name in wanted}
    return json.dumps({"statements": [STATEMENT]} if "statements" in wanted else found)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """A server that the settings name."""
    with Fake() as fake:
        _use(monkeypatch, "ollama", fake.port, ROUTING="false", ENTITIES="false")
        yield fake
        fake.ended.set()


@pytest.mark.parametrize("provider", ["ollama", "openai-compatible"])
@pytest.mark.parametrize("name", ["search", "ask", "chat"])
def test_one_that_hangs_is_waited_for_as_long_as_its_tasks_say(
    provider: str,
    name: str,
    ollama: Fake,
    copied: Path,
    in_process: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ollama.hangs = True
    seconds = {f"{task}__SECONDS": "0.2" for task in ("ROUTE", "ANSWER", "JUDGE", "EXTRACT")}
    _use(monkeypatch, provider, ollama.port, **seconds)

    done = in_process(*ASKING[name], "--store", copied)

    assert done.returncode == 0, done.stderr
    assert "Mara Lind lives" in done.stdout
    assert "did not answer within 0.2 s" in done.stderr + done.stdout
    # Nothing is tried again: each task has waited as long as it may, and loading beside them.
    loading = provider == "ollama" and name != "search"
    assert 1 <= len(ollama.asked) <= 4 + loading


@pytest.mark.parametrize(
    ("name", "provider"),
    [("enrich", "ollama"), ("enrich", "openai-compatible"), ("ask globally", "ollama")],
)
def test_whoever_interrupts_does_not_wait_for_one_that_hangs(
    name: str,
    provider: str,
    ollama: Fake,
    copied: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ollama.hangs = True
    _use(monkeypatch, provider, ollama.port, ROUTE__SECONDS="0.2")
    command = [sys.executable, "-m", "clew", *ASKING[name], "--store", str(copied)]
    # By default a request may take a minute or two.
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, cwd=copied) as process:
        while len(ollama.asked) < 2 and process.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, told = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Interrupted; the store is consistent" in told
    assert "Traceback" not in told
    assert time.monotonic() - began < 10


# --- Ollama loads a model again for each other length of its context: once is enough, and
# early.


@pytest.mark.parametrize("context", ["8192", "3000"])
@pytest.mark.parametrize(
    "command",
    [
        ["ask", WHERE],
        ["ask", WHERE, "--mode", "stepwise"],
        ["ask", WHERE, "--mode", "global"],
        ["chat", WHERE],
        ["chat", "--remember", WHERE],
    ],
)
def test_it_is_loaded_once(
    command: list[str],
    context: str,
    ollama: Fake,
    copied: Path,
    in_process: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_LLM__CONTEXT_TOKENS", context)

    done = in_process(*command, "--store", copied)

    assert done.returncode == 0, done.stderr
    loading = [not body["messages"] for body in ollama.asked]
    # A conversation asks at once: its first request may be what loads the model.
    assert sum(loading) == 1 or (command[0] == "chat" and not any(loading))
    assert len(loading) >= 2
    assert loading[0] or command[0] == "chat"
    (_, length), *more = ollama.loads
    assert more == []
    assert length <= int(context)


@pytest.mark.parametrize("status", [404, 500, 503])
def test_where_loading_fails_the_request_itself_says_so(
    status: int, ollama: Fake, copied: Path, in_process: Run
) -> None:
    ollama.load_status = status

    done = in_process("ask", WHERE, "--store", copied)

    assert (done.returncode, "out of memory" in done.stderr + done.stdout) == (0, False)
    assert "Mara Lind lives. [1]" in done.stdout
    assert sum(not body["messages"] for body in ollama.asked) == 1, "loading is not tried again"


def test_nothing_is_loaded_that_is_not_going_to_be_asked(
    ollama: Fake, copied: Path, in_process: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_process("ask", WHERE, "--dry-run", "--store", copied)
    said = in_process("chat", WHERE, "--dry-run", "--store", copied)
    assert "2 calls" in said.stdout
    assert "Nothing was asked" in said.stderr
    refused = in_process("chat", "--dry-run", "--store", copied)
    assert (refused.returncode, "needs a message" in refused.stderr) == (2, True)
    in_process("chat", "--list", "--store", copied)
    in_process("search", WHERE, "--store", copied)
    assert ollama.asked == []

    # Loaded in turn, the model of another task would be in the way of the one that is asked first.
    monkeypatch.setenv("CLEW_LLM__ROUTE__MODEL", "tiny")
    in_process("ask", WHERE, "--mode", "stepwise", "--store", copied)
    assert [bool(body["messages"]) for body in ollama.asked] == [True] * 3
