"""Real Chroma servers (`chroma run`) on loopback for tests."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.neo4j_server import free_port

_RUN = "from chromadb.cli.cli import app; app()"
_START_SECONDS = 60.0


class ChromaServer:
    """A server over a folder, which a test may kill and start again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        where = ["--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _RUN, "run", *where],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, "the Chroma server ended"
            assert time.monotonic() < deadline, "the Chroma server does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as a crash would; nothing where it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/v2/heartbeat", timeout=1).is_success
        except httpx.TransportError:
            return False


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """A server that all tests share, each with a namespace of its own."""
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def own_chroma_server(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server of one test alone, which may kill it."""
    server = ChromaServer(tmp_path / "server")
    server.start()
    yield server
    server.kill()


class Gate:
    """Stands before a Chroma server: lets callers with a token through, or does as a test asks."""

    def __init__(self, url: str, token: str = "") -> None:
        self.token = token
        self.status = 0
        """What every request is answered with, in plain text; 0: what the server answers."""
        self.silent = threading.Event()
        """While it is set, nothing is answered."""
        self._target = url
        self._http = HTTPServer(host="127.0.0.1", threaded=True)
        self._http.expect_request(re.compile(".*")).respond_with_handler(self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.port}"

    def __enter__(self) -> Gate:
        self._http.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.silent.clear()
        self._http.stop()

    def _serve(self, request: Request) -> Response:
        while self.silent.is_set():
            time.sleep(0.05)
        if self.status:
            return Response("as the test asked", self.status, content_type="text/plain")
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return Response("no", 401, content_type="text/plain")
        address = self._target + request.full_path.rstrip("?")
        headers = {"Content-Type": "application/json"}
        done = httpx.request(
            request.method, address, content=request.get_data(), headers=headers, timeout=60
        )
        return Response(done.content, done.status_code, content_type=done.headers["content-type"])


@pytest.fixture
def gate(chroma_server: ChromaServer) -> Iterator[Gate]:
    """A gate before the server that all tests share; it asks for the token "right"."""
    with Gate(chroma_server.url, "right") as gate:
        yield gate
