"""Fetching, from a real server on this machine, and refusing to."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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
        if path == "/to":
            self.answer(302, b"", location=query)
        elif path == "/count":
            number = int(query)
            self.answer(302, b"", location=f"/count?{number - 1}" if number else "/page")
        elif path == "/large":
            self.answer(200, b"x" * 200_000)
        elif path == "/slow":
            self.send_response(200)
            self.end_headers()
            with_patience(self.wfile.write)
        elif path == "/slow-headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nx-long: ")
            with_patience(self.wfile.write)
        elif path == "/endless-redirect":
            self.send_response(302)
            self.send_header("location", "/page")
            self.end_headers()
            with_patience(self.wfile.write)
        elif path == "/missing":
            self.answer(404, b"no")
        elif path == "/host":
            self.answer(200, str(self.headers["host"]).encode())
        else:
            self.answer(200, b"<p>Hello</p>", content_type=query or "text/html; charset=utf-8")

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def with_patience(write: Callable[[bytes], object]) -> None:
    """A byte at a time, until the other side has had enough."""
    try:
        for _ in range(200):
            write(b"x")
            time.sleep(0.05)
    except OSError:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


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


def test_a_page_comes_with_a_name_that_says_what_it_is(server: str) -> None:
    found = fetch(f"{server}/notes/mill.php?x=1", LOCAL)
    assert (found.data, found.url) == (b"<p>Hello</p>", f"{server}/notes/mill.php?x=1")


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("/mill.php", "text/html; charset=utf-8", "mill.html"),
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
    assert fetch(f"{server}{path}?{kind}", LOCAL).name == name


def test_redirects_are_followed_so_far(server: str) -> None:
    found = fetch(f"{server}/count?{MAX_REDIRECTS - 1}", LOCAL)
    assert (found.name, found.data) == ("page.html", b"<p>Hello</p>")
    with pytest.raises(UnreadableError, match=f"more than {MAX_REDIRECTS} redirects"):
        fetch(f"{server}/count?{MAX_REDIRECTS + 1}", LOCAL)


def test_a_server_that_fails_is_a_reason(server: str) -> None:
    with pytest.raises(UnreadableError, match="the server answered 404"):
        fetch(f"{server}/missing", LOCAL)
    with pytest.raises(UnreadableError, match=r"larger than 0\.1 MB"):
        fetch(f"{server}/large", LOCAL)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(UnreadableError, match="refused"):
            fetch(f"http://127.0.0.1:{unused.getsockname()[1]}/", LOCAL)


@pytest.mark.parametrize("path", ["/slow", "/slow-headers"])
def test_a_server_that_never_ends_is_left(server: str, path: str) -> None:
    hasty = LOCAL.model_copy(update={"url_seconds": 0.3})
    with pytest.raises(UnreadableError, match=r"no whole answer within 0\.3 s"):
        fetch(f"{server}{path}", hasty)


def test_what_comes_with_a_redirect_is_not_read(server: str) -> None:
    assert fetch(f"{server}/endless-redirect", LOCAL).data == b"<p>Hello</p>"


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
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
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


def test_where_a_redirect_leads_is_checked_like_the_first(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    # The first name passes for a public one; the test's server answers for it.
    monkeypatch.setattr(
        "clew.indexing.reading.fetch.is_public", lambda address: str(address) != "127.0.0.9"
    )
    first = f"http://page.example:{port_of(server)}/to"
    for target in ("http://inner.example/", "http://127.0.0.9/", "//127.0.0.9/"):
        Names(monkeypatch, page=[["127.0.0.1"]], inner=[["127.0.0.9"]])
        with pytest.raises(InputError, match="no public address"):
            fetch(f"{first}?{target}", PUBLIC)
    Names(monkeypatch, page=[["127.0.0.1"]])
    with pytest.raises(InputError, match="expected one such as https"):
        fetch(f"{first}?file:///etc/passwd", PUBLIC)
