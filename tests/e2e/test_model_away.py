"""Models that are away, hang, or have to be loaded."""

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

from clew.plugins.llm.ollama import check_reachable
from tests.e2e.conftest import Library, Run

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
