"""Fetching, from a real server on this machine, and refusing to."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import Mock

import pytest

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.fetch import MAX_REDIRECTS, check_url, fetch
from clew.settings import AccessSettings

LOCAL = AccessSettings(allow_private_addresses=True, max_url_megabytes=0.1, url_seconds=10)
PUBLIC = AccessSettings()


class Pages(BaseHTTPRequestHandler):
    """What the server answers, by path."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/count":
            query = f"/count?{int(query) - 1}" if int(query) else "/page"
        bodies = {
            "/to": b"",
            "/count": b"",
            "/large": b"x" * 200_000,
            "/missing": b"no",
            "/host": str(self.headers["host"]).encode(),
        }
        endless = {
            "/slow": b"HTTP/1.1 200 OK\r\n\r\n",
            "/slow-headers": b"HTTP/1.1 200 OK\r\nx-long: ",
            "/endless-redirect": b"HTTP/1.1 302 Found\r\nlocation: /page\r\n\r\n",
        }
        if path in endless:
            self.wfile.write(endless[path])
            with_patience(self.wfile.write)
            return
        body = bodies.get(path, b"<p>Hello</p>")
        self.send_response({"/to": 302, "/count": 302, "/missing": 404}.get(path, 200))
        self.send_header("location", query)
        self.send_header("content-type", query or "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def with_patience(write: Callable[[bytes], object]) -> None:
    """A byte at a time, until the other side has had enough."""
    with suppress(OSError):
        for _ in range(200):
            write(b"x")
            time.sleep(0.05)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Names:
    """The system's lookup of names, answered by the test; one answer a lookup."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: list[list[str]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(
        self, host: str | bytes, port: object, *args: object, **kwargs: object
    ) -> list[Any]:
        host = host.decode() if isinstance(host, bytes) else host
        try:
            addresses = [str(ipaddress.ip_address(host))]
        except ValueError:
            self.asked.append(host)
            addresses = self.answers[host.partition(".")[0]].pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port or 0)) for a in addresses]


def port_of(server: str) -> str:
    return server.rpartition(":")[2]


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("/notes/mill.php", "text/html; charset=utf-8", "mill.html"),
        ("/mill.html", "text/html", "mill.html"),
        ("/", "text/html", "index.html"),
        ("/report", "application/pdf", "report.pdf"),
        ("/notes.md", "text/plain", "notes.md"),
        ("/notes.md", "application/octet-stream", "notes.md"),
        ("/a%20b.txt", "text/x-unheard-of", "a b.txt"),
        ("/rows", "text/csv", "rows.csv"),
    ],
)
def test_names_follow_the_type_that_was_sent(server: str, path: str, kind: str, name: str) -> None:
    url = f"{server}{path}?{kind}".replace(" ", "%20")
    found = fetch(url, LOCAL)
    assert (found.name, found.data, found.url) == (name, b"<p>Hello</p>", url)


@pytest.mark.parametrize("path", [f"/count?{MAX_REDIRECTS - 1}", "/endless-redirect"])
def test_redirects_are_followed_and_what_comes_with_them_is_not_read(
    server: str, path: str
) -> None:
    found = fetch(f"{server}{path}", LOCAL)
    assert (found.name, found.data) == ("page.html", b"<p>Hello</p>")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/missing", "the server answered 404"),
        ("/large", r"larger than 0\.1 MB"),
        (f"/count?{MAX_REDIRECTS + 1}", f"more than {MAX_REDIRECTS} redirects"),
        ("/slow", r"no whole answer within 0\.3 s"),
        ("/slow-headers", r"no whole answer within 0\.3 s"),
    ],
)
def test_a_server_that_fails_or_never_ends_is_a_reason(server: str, path: str, reason: str) -> None:
    hasty = LOCAL.model_copy(update={"url_seconds": 0.3 if "slow" in path else 10})
    with pytest.raises(UnreadableError, match=reason):
        fetch(f"{server}{path}", hasty)


def test_a_server_that_is_not_there_is_a_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(UnreadableError, match="refused"):
            fetch(f"http://127.0.0.1:{unused.getsockname()[1]}/", LOCAL)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.org/a", "expected one such as https"),
        ("file:///etc/passwd", "expected one such as https"),
        ("javascript:alert(1)", "expected one such as https"),
        ("/relative", "expected one such as https"),
        ("https://", "expected one such as https"),
        ("https://example.org:99999/", "expected one such as https"),
        ("https://example.org/\x00", "cannot be read"),
        ("https://ann" + ":secret@example.org/", "holds a user name or password"),
        ("http://127.0.0.1/", r"leads to '127\.0\.0\.1', which is no public address"),
        ("http://[::1]/", "no public address"),
        ("http://169.254.169.254/latest/meta-data", "no public address"),
    ],
)
def test_addresses_that_are_refused_before_anything_is_sent(url: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as refused:
        check_url(url, PUBLIC)
    assert "secret" not in str(refused.value)


def test_urls_can_be_switched_off(server: str) -> None:
    with pytest.raises(InputError, match=r"access\.allow_urls is off"):
        fetch(server, AccessSettings(allow_urls=False, allow_private_addresses=True))


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"]]
)
def test_every_address_of_a_name_must_be_public(
    monkeypatch: pytest.MonkeyPatch, server: str, addresses: list[str]
) -> None:
    Names(monkeypatch, inner=[addresses])
    with pytest.raises(InputError, match=r"'http://inner\.example:.*no public address"):
        fetch(f"http://inner.example:{port_of(server)}/page", PUBLIC)


def test_a_name_without_an_address_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=socket.gaierror("no such name")))
    with pytest.raises(UnreadableError, match=r"no address of 'gone\.example' is known"):
        fetch("http://gone.example/", PUBLIC)


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    # The name is looked up once: what it would lead to at a second look does not matter.
    names = Names(monkeypatch, page=[["127.0.0.1"], ["10.0.0.1"]])
    url = f"http://page.example:{port_of(server)}/host"
    assert fetch(url, LOCAL).data == f"page.example:{port_of(server)}".encode()
    assert names.asked == ["page.example"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://inner.example/", "no public address"),
        ("http://127.0.0.9/", "no public address"),
        ("//127.0.0.9/", "no public address"),
        ("file:///etc/passwd", "expected one such as https"),
    ],
)
def test_where_a_redirect_leads_is_checked_like_the_first(
    monkeypatch: pytest.MonkeyPatch, server: str, target: str, reason: str
) -> None:
    # The first name passes for a public one; the test's server answers for it.
    monkeypatch.setattr(
        "clew.indexing.reading.fetch.is_public", lambda address: str(address) != "127.0.0.9"
    )
    Names(monkeypatch, page=[["127.0.0.1"]], inner=[["127.0.0.9"]])
    with pytest.raises(InputError, match=reason):
        fetch(f"http://page.example:{port_of(server)}/to?{target}", PUBLIC)
