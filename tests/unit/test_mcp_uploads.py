"""Large files in parts over HTTP: a real server in a thread, callers of two namespaces."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clew import Clew
from clew.errors import NotFoundError
from clew.jobs.ingestion import Ingestion
from clew.jobs.uploads import Uploads
from clew.mcp.engines import Engines
from clew.tools.registry import TOOLS
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, BOB, CAROL, DAVE, TOKENS, served

PART = 1000
LIMITS = {"body_megabytes": PART / 1024 / 1024}
MILL = ("Jonas Reed built the mill at Harrow Ford in the year of the flood. " * 50).encode()


@dataclass(frozen=True)
class Sender:
    """Somebody who uploads."""

    http: httpx2.Client
    base: str

    def begin(self, data: bytes, **more: object) -> httpx2.Response:
        about = {
            "name": "mill.md",
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            **more,
        }
        return self.http.post(self.base, json=about)

    def put(self, upload: str, part: int | str, data: bytes, **more: str) -> httpx2.Response:
        address = f"{self.base}/{upload}"
        return self.http.put(address, params={"part": str(part), **more}, content=data)

    def state(self, upload: str) -> httpx2.Response:
        return self.http.get(f"{self.base}/{upload}")

    def finish(self, upload: str, **said: object) -> httpx2.Response:
        return self.http.post(f"{self.base}/{upload}", json=said)

    def sent(self, data: bytes, parts: Iterator[int] | None = None) -> str:
        """The id of an upload all of whose parts were sent, in some order."""
        begun = self.begin(data).json()
        for part in parts or range(1, begun["parts"] + 1):
            answer = self.put(begun["upload"], part, part_of(data, part))
            assert answer.status_code == 200, answer.text
        return str(begun["upload"])


def part_of(data: bytes, part: int) -> bytes:
    return data[(part - 1) * PART : part * PART]


@dataclass(frozen=True)
class Site:
    """A server with the namespaces `mills` and `bells`."""

    url: str
    mills: Clew

    @contextmanager
    def sender(self, token: str | None) -> Iterator[Sender]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with httpx2.Client(headers=headers, timeout=30) as http:
            yield Sender(http, self.url)

    def wait_for(self, source: str) -> str:
        """The text of a document once its job is done."""
        deadline = time.monotonic() + 30
        while not (found := [d for d in self.mills.documents.list() if d.source == source]):
            assert time.monotonic() < deadline, self.mills.documents.list()
            time.sleep(0.02)
        return self.mills.documents.text(found[0].id)


@contextmanager
def site(folder: Path, **serve: object) -> Iterator[Site]:
    settings = settings_for(folder, tokens=TOKENS, **{**LIMITS, **serve})
    with engine_in(folder, "mills") as mills, served(Engines(settings, TOOLS, mills)) as server:
        yield Site(server.url.removesuffix("/mcp") + "/upload", mills)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


@pytest.fixture
def alice(here: Site) -> Iterator[Sender]:
    with here.sender(ALICE[0]) as sender:
        yield sender


def error_of(answer: httpx2.Response, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


# --- the way it goes


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 2, 3, 1), (2, 1, 1, 4, 3, 3)])
def test_parts_arrive_in_any_order(here: Site, alice: Sender, order: tuple[int, ...]) -> None:
    upload = alice.sent(MILL, iter(order))
    finished = alice.finish(upload, title="The mill", metadata=[{"name": "year", "value": "1790"}])

    assert finished.status_code == 202
    source = finished.json()["source"]
    assert source == f"upload:{hashlib.sha256(MILL).hexdigest()[:12]}/mill.md"
    assert here.wait_for(source).strip() == MILL.decode().strip()
    document = here.mills.documents.get(source)
    assert document.title == "The mill"
    assert document.metadata["year"] == "1790"


def test_an_upload_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """The server ends in the middle; another one finishes what it began."""
    with site(tmp_path) as first, first.sender(ALICE[0]) as sender:
        upload = sender.begin(MILL).json()["upload"]
        sender.put(upload, 3, part_of(MILL, 3))
    with site(tmp_path) as second, second.sender(ALICE[0]) as sender:
        missing = sender.state(upload).json()["missing"]
        for part in missing:
            sender.put(upload, part, part_of(MILL, part))
        finished = sender.finish(upload, source="mill")
        text = second.wait_for("mill")

    assert missing == [1, 2, 4]
    assert finished.status_code == 202
    assert text.strip() == MILL.decode().strip()


def test_to_finish_twice_is_one_job(here: Site, alice: Sender) -> None:
    upload = alice.sent(MILL)
    first = alice.finish(upload, source="mill").json()["job_id"]
    here.wait_for("mill")
    again = alice.finish(upload, source="mill")
    otherwise = alice.finish(upload, source="another")
    with_key = alice.finish(upload, source="mill", idempotency_key="x")
    more = alice.put(upload, 1, part_of(MILL, 1))

    assert again.json()["job_id"] == first
    assert "another" not in {d.source for d in here.mills.documents.list()}
    assert "upload:" in error_of(otherwise)
    assert "without idempotency_key" in error_of(with_key)
    assert "begin another" in error_of(more)


def test_the_bytes_go_once_they_are_read(here: Site, alice: Sender) -> None:
    upload = alice.sent(MILL)
    folder = here.mills.store.folder / "uploads" / upload
    held = sorted(path.name for path in folder.iterdir())
    alice.finish(upload, source="mill")
    here.wait_for("mill")
    deadline = time.monotonic() + 10
    while list(folder.glob("*.part")) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert held == ["1.part", "2.part", "3.part", "4.part", "upload.json"]
    assert not list(folder.glob("*.part"))


def test_a_job_that_is_run_again_says_what_came_of_it(here: Site, alice: Sender) -> None:
    """As after a crash between the reading and the note of it."""
    outcomes = []
    for data, source in ((MILL, "mill"), (b"\x00\x01" * 500, "odd")):
        upload = alice.sent(data)
        uploads = Uploads(here.mills.store.folder, here.mills.settings)
        uploads.complete(uploads.upload(upload))
        given = {"upload": upload, "source": source}
        job = Ingestion(here.mills)
        outcomes += [job.run(given, [source], lambda done: None) for _ in range(2)]

    read, read_again, odd, odd_again = outcomes
    assert read == read_again == [None]
    assert odd == odd_again
    assert "binary" in str(odd[0])
    assert [document.source for document in here.mills.documents.list()] == ["mill"]


def test_removed_is_forgotten(alice: Sender) -> None:
    upload = alice.sent(MILL)

    assert alice.http.delete(f"{alice.base}/{upload}").status_code == 204
    assert "no upload" in error_of(alice.state(upload), 404)


# --- what is refused


def test_a_part_that_is_missing(here: Site, alice: Sender) -> None:
    upload = alice.sent(MILL, iter([1, 3]))

    assert "lacks 2 of 4 parts (2, 4)" in error_of(alice.finish(upload))
    assert not here.mills.documents.list()


def test_bytes_that_are_not_the_ones(here: Site, alice: Sender) -> None:
    upload = alice.sent(MILL)
    alice.put(upload, 2, b"x" * PART)
    refused = alice.finish(upload, source="mill")
    alice.put(upload, 2, part_of(MILL, 2))

    assert "SHA-256" in error_of(refused)
    assert not here.mills.documents.list()
    assert alice.finish(upload, source="mill").status_code == 202


@pytest.mark.parametrize(
    ("part", "data", "message"),
    [
        (1, b"short", "has 5 bytes; expected 1000"),
        (4, part_of(MILL, 1), f"expected {len(MILL) - 3 * PART}"),
        (0, b"x", "has no part 0; its parts are 1 to 4"),
        (5, b"x", "has no part 5"),
        ("", b"x", "add ?part=1"),
        ("-1", b"x", "is no number"),
        ("²", b"x", "is no number"),
    ],
)
def test_parts_that_cannot_be(alice: Sender, part: int | str, data: bytes, message: str) -> None:
    upload = alice.begin(MILL).json()["upload"]

    assert message in error_of(alice.put(upload, part, data))


def test_a_part_larger_than_a_request_may_be(alice: Sender) -> None:
    upload = alice.begin(MILL).json()["upload"]
    whole = alice.put(upload, 1, MILL)

    def pieces() -> Iterator[bytes]:  # says no length beforehand
        for _ in range(10):
            yield b"x" * 500

    streamed = alice.http.put(f"{alice.base}/{upload}?part=1", content=pieces())

    assert "send parts" in error_of(whole, 413)
    assert "send parts" in error_of(streamed, 413)
    assert alice.state(upload).json()["missing"] == [1, 2, 3, 4]


def test_what_was_on_its_way_costs_no_connection(here: Site, alice: Sender) -> None:
    """The answer may come before the rest of a body that is too large."""
    upload = alice.begin(MILL).json()["upload"]
    url = httpx2.URL(f"{here.url}/{upload}")
    headers = f"Host: {url.host}:{url.port}\r\nAuthorization: Bearer {ALICE[0]}\r\n"
    put = f"PUT {url.path}?part=1 HTTP/1.1\r\n{headers}Content-Length: {9 * PART}\r\n\r\n"
    get = f"GET {url.path} HTTP/1.1\r\n{headers}\r\n"
    with socket.create_connection((url.host, url.port or 80), timeout=30) as connection:
        connection.sendall(put.encode() + b"x" * 2 * PART)
        refused = connection.recv(65536)
        for _ in range(7):
            connection.sendall(b"x" * PART)
            time.sleep(0.02)  # each comes alone
        connection.sendall(get.encode())
        answered = connection.recv(65536)

    assert refused.startswith(b"HTTP/1.1 413 ")
    assert answered.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "../mill.md"}, "no name of a file"),
        ({"name": " "}, "no name of a file"),
        ({"name": "a\x00b"}, "no name of a file"),
        ({"sha256": "A" * 64}, "64 hex digits"),
        ({"size": 0}, "size cannot be 0"),
        ({"size": 51 * 1024 * 1024}, "read.max_megabytes"),
        ({"size": "many"}, "a whole number"),
        ({"color": "red"}, "no parameter 'color'"),
    ],
)
def test_files_that_cannot_be(alice: Sender, wrong: dict[str, Any], message: str) -> None:
    assert message in error_of(alice.begin(MILL, **wrong))


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_object(alice: Sender, body: bytes) -> None:
    assert "the body is no JSON" in error_of(alice.http.post(alice.base, content=body))


def test_arguments_that_the_tool_refuses(alice: Sender) -> None:
    upload = alice.sent(MILL)

    assert "no parameter 'colour'" in error_of(alice.finish(upload, colour="red"))
    # The upload says what is read, whatever the body says.
    assert alice.finish(upload, url="http://127.0.0.1/", source="mill").status_code == 202


def test_a_file_that_cannot_be_read_is_said_in_its_job(here: Site, alice: Sender) -> None:
    upload = alice.sent(b"\x00\x01\x02" * 100)
    job = alice.finish(upload).json()["job_id"]
    deadline = time.monotonic() + 30
    status: dict[str, Any] = {}
    while status.get("status") != "failed" and time.monotonic() < deadline:
        status = here.mills.tools.call("query_job_status", {"job_id": job}).content
        time.sleep(0.02)

    assert status["status"] == "failed"
    assert "binary" in status["error"]


def test_only_so_much_waits(tmp_path: Path) -> None:
    room = {"upload_megabytes": 2.5 * len(MILL) / 1024 / 1024}
    with site(tmp_path, **room) as here, here.sender(ALICE[0]) as alice:
        first, second = (alice.begin(MILL).json()["upload"] for _ in range(2))
        third = alice.begin(MILL)
        with here.sender(BOB[0]) as bob:
            elsewhere = bob.begin(MILL)
        alice.http.delete(f"{alice.base}/{first}")
        again = alice.begin(MILL)

        assert "serve.upload_megabytes" in error_of(third)
        assert elsewhere.status_code == again.status_code == 201
        assert alice.state(second).status_code == 200


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\x00",
        b"[" * 100_000,
        '{"name": "mill.md", "size": 5}',
        {"size": "5"},
        {"part_bytes": 0},
        {"size": True},
        {"id": "0" * 32},
        {"more": 1},
    ],
)
def test_a_damaged_upload_is_lost_alone(
    here: Site, alice: Sender, damage: bytes | str | dict[str, object]
) -> None:
    lost, other = alice.sent(MILL), alice.begin(MILL).json()["upload"]
    about = here.mills.store.folder / "uploads" / lost / "upload.json"
    if isinstance(damage, dict):
        damage = json.dumps({**json.loads(about.read_bytes()), **damage})
    about.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    for answer in (alice.state(lost), alice.put(lost, 1, part_of(MILL, 1)), alice.finish(lost)):
        assert answer.status_code == 404
        assert "is damaged; begin it again" in answer.text
    assert alice.begin(MILL).status_code == 201
    assert alice.put(other, 1, part_of(MILL, 1)).status_code == 200


def test_a_damaged_outcome_is_of_no_other_upload(here: Site, alice: Sender) -> None:
    lost = alice.sent(MILL)
    (here.mills.store.folder / "uploads" / lost / "outcome").write_bytes(b"{")
    uploads = Uploads(here.mills.store.folder, here.mills.settings)
    with pytest.raises(NotFoundError, match="is damaged; begin it again"):
        uploads.outcome(uploads.upload(lost))
    assert alice.begin(MILL).status_code == 201


def test_idle_uploads_are_forgotten(here: Site, alice: Sender) -> None:
    upload = alice.sent(MILL)
    folder = here.mills.store.folder / "uploads" / upload
    long_ago = time.time() - 25 * 3600
    os.utime(folder, (long_ago, long_ago))

    for answer in (alice.state(upload), alice.finish(upload), alice.put(upload, 1, MILL[:PART])):
        assert "forgotten after 24 hours" in error_of(answer, 404)
    assert folder.exists()
    alice.begin(MILL)
    assert not folder.exists()


# --- who may


def test_without_a_good_token_nothing_is_taken(here: Site) -> None:
    for token in (None, "wrong"):
        with here.sender(token) as sender:
            assert sender.begin(MILL).status_code == 401
            assert sender.state("0" * 32).status_code == 401


@pytest.mark.parametrize("token", [CAROL[0], DAVE[0]], ids=["reads", "other tools"])
def test_who_may_not_ingest_may_not_upload(here: Site, alice: Sender, token: str) -> None:
    upload = alice.sent(MILL)
    with here.sender(token) as sender:
        for answer in (
            sender.begin(MILL),
            sender.state(upload),
            sender.put(upload, 1, MILL[:PART]),
            sender.finish(upload),
            sender.http.delete(f"{sender.base}/{upload}"),
        ):
            assert "right to call ingest_document" in error_of(answer, 403)
    assert alice.state(upload).json()["missing"] == []


def test_an_upload_of_another_namespace_is_none(here: Site, alice: Sender) -> None:
    """In the same words as one that never was."""
    upload, never = alice.sent(MILL), "f" * 32

    def told(sender: Sender, name: str) -> list[tuple[int, str]]:
        answers = (
            sender.state(name),
            sender.put(name, 1, MILL[:PART]),
            sender.finish(name, source="taken"),
            sender.http.delete(f"{sender.base}/{name}"),
        )
        return [(answer.status_code, answer.text.replace(name, "ID")) for answer in answers]

    with here.sender(BOB[0]) as bob:
        assert told(bob, upload) == told(bob, never)
        assert {status for status, _ in told(bob, upload)} == {404}
        elsewhere = bob.http.get(f"{bob.base}/{upload}?namespace=mills")
        nowhere = bob.http.get(f"{bob.base}/{upload}?namespace=nowhere")
    assert elsewhere.text.replace("mills", "X") == nowhere.text.replace("nowhere", "X")
    assert alice.state(upload).json()["missing"] == []


@pytest.mark.parametrize("name", ["..", "%2e%2e", "x", "0" * 31, "0" * 33, "A" * 32, "%00"])
def test_ids_that_are_none(alice: Sender, name: str) -> None:
    answer = alice.http.delete(f"{alice.base}/{name}")

    assert answer.status_code in (404, 405)


def test_host_and_origin_are_checked(here: Site, alice: Sender) -> None:
    evil = {"Host": "evil.example.org"}, {"Origin": "https://evil.example.org"}
    answers = [alice.http.post(here.url, json={}, headers=headers) for headers in evil]

    assert [answer.status_code for answer in answers] == [421, 403]


def test_uploads_count_among_the_requests(tmp_path: Path) -> None:
    with site(tmp_path, rate_per_minute=3) as here, here.sender(ALICE[0]) as alice:
        statuses = [alice.state("0" * 32).status_code for _ in range(4)]

    assert statuses == [404, 404, 404, 429]


def test_every_upload_leaves_an_audit_row(here: Site, alice: Sender) -> None:
    from clew.wiring import make_audit

    upload = alice.sent(MILL)
    alice.finish(upload, title="The mill")
    rows = make_audit(here.mills.state.journal).entries(limit=10)

    assert [(row.caller, row.tool) for row in rows] == [("alice", "ingest_document")]
    assert rows[0].subjects["url"] == f"upload:{upload}"
