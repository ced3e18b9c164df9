"""Real Chroma servers (`chroma run`) on loopback for tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
        self._http = _QuietServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Gate:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.silent.clear()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, method: str, path: str, given: str, body: bytes) -> tuple[int, str, bytes]:
        """Status, content type and content."""
        if self.status:
            return self.status, "text/plain", b"as the test asked"
        if self.token and given != f"Bearer {self.token}":
            return 401, "text/plain", b"no"
        headers = {"Content-Type": "application/json"}
        done = httpx.request(method, self._target + path, content=body, headers=headers, timeout=60)
        return done.status_code, done.headers["content-type"], done.content

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                while gate.silent.is_set():
                    time.sleep(0.05)
                given = self.headers.get("Authorization") or ""
                status, kind, content = gate.answer(self.command, self.path, given, body)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = _serve

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A caller that went away is no matter."""


@pytest.fixture
def gate(chroma_server: ChromaServer) -> Iterator[Gate]:
    """A gate before the server that all tests share; it asks for the token "right"."""
    with Gate(chroma_server.url, "right") as gate:
        yield gate
