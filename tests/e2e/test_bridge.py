"""A local model at the end of a bridge: `ollmcp` between `clew serve` and a stand-in for Ollama.

The model is mechanical: it begins with a tool that does not exist, and knows from then on only what
it is told. That it comes to an answer shows that each failure says how to go on.

The bridge needs another version of the SDK than Clew does, hence an environment of its own.
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

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.e2e.conftest import Library
from tests.e2e.test_mcp_http import let_in, serving

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
    assert len(ollama.offered) <= 14
    assert "there is no tool 'find_text'; use one of search" in unknown
    assert broken.startswith("search has no parameter 'text'; its parameters are query")
    assert json.loads(found)["results"][0]["title"] == "The Mill at Harrow Ford"
    assert f"{ANSWER} The Mill at Harrow Ford" in screen
