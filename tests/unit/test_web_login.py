"""Who gets into the explorer, and what its forms must carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from clew import Clew
from clew.mcp.auth import new_token
from clew.mcp.engines import Engines
from clew.mcp.http.serve import http_app, http_server, served_settings
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS
from clew.web.app import mount, owner
from clew.web.sessions import KEY_SECONDS, POLICY, Sessions

HOST = "http://127.0.0.1:8766"
READER, OWNER = new_token(), new_token()


@contextmanager
def explorer(
    folder: Path, sessions: Sessions | None = None, rights: tuple[str, ...] = ("read", "write")
) -> Iterator[TestClient]:
    """The web application, without a network."""
    tokens = [
        {
            "name": "ann",
            "sha256": OWNER[1],
            "namespaces": ("mills", "bells"),
            "scopes": rights,
        },
        {"name": "ben", "sha256": READER[1], "namespaces": ("bells",), "scopes": ("read",)},
    ]
    settings = served_settings(
        load_settings(
            store=folder, namespace="mills", serve={"tokens": tokens}, limits={"isolation": "none"}
        )
    )
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill", title="The mill")
        engines = Engines(settings, TOOLS, engine)
        server = http_server(engines)
        app = http_app(server, settings.serve, partial(mount, sessions=sessions))
        with TestClient(app, base_url=HOST, follow_redirects=False) as client:
            yield client
        engines.close()


def log_in(client: TestClient, token: str) -> None:
    client.cookies.clear()
    answer = client.post("/ui/login", data={"token": token, "next": "/ui/documents"})
    assert answer.headers["location"] == "/ui/documents"


def test_a_page_asks_for_a_token_and_leads_back(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        asked = client.get("/ui/?q=mill")
        wrong = client.post("/ui/login", data={"token": "clew_wrong"})
        entered = client.post("/ui/login", data={"token": OWNER[0], "next": "/ui/?q=mill"})
        shown = client.get("/ui/?q=mill")

    assert asked.status_code == 303
    assert "/ui/login?next=%2Fui%2F%3Fq%3Dmill" in asked.headers["location"]
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    assert entered.headers["location"] == "/ui/?q=mill"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert OWNER[0] not in cookie
    assert "Harrow Ford" in shown.text


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/mcp", "\\\\evil"])
def test_a_login_leads_nowhere_else(tmp_path: Path, target: str) -> None:
    with explorer(tmp_path) as client:
        answer = client.post("/ui/login", data={"token": OWNER[0], "next": target})

    assert answer.headers["location"] == "/ui/"


def test_a_key_is_good_once_and_not_for_long(tmp_path: Path) -> None:
    now = [0.0]
    sessions = Sessions(1.0, clock=lambda: now[0])
    with explorer(tmp_path, sessions) as client:
        first = client.get(f"/ui/?key={(key := sessions.invite(OWNER[0]))}")
        shown = client.get("/ui/documents")
        client.cookies.clear()
        again = client.get(f"/ui/?key={key}")
        late = sessions.invite(OWNER[0])
        now[0] += KEY_SECONDS
        too_late = client.get(f"/ui/?key={late}")

    assert "key=" not in first.headers["location"]
    assert "The mill" in shown.text
    assert [answer.headers["location"] for answer in (again, too_late)] == [f"{HOST}/ui/login"] * 2
    assert "set-cookie" not in again.headers


def test_a_session_ends(tmp_path: Path) -> None:
    now = [0.0]
    sessions = Sessions(1.0, clock=lambda: now[0])
    session = sessions.open("clew_x")
    assert sessions.bearer(session) == "clew_x"
    now[0] += 3600
    assert sessions.bearer(session) is None

    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        page = client.get("/ui/").text
        token = page.partition('data-form-token="')[2].partition('"')[0]
        client.post("/ui/logout", data={"form_token": "another"})
        stays = client.get("/ui/")
        client.post("/ui/logout", data={"form_token": token})
        gone = client.get("/ui/")

    assert stays.status_code == 200
    assert gone.status_code == 303


def test_a_session_ends_where_nobody_uses_it() -> None:
    now = [0.0]
    sessions = Sessions(24.0, 30.0, clock=lambda: now[0])
    used, idle = sessions.open("clew_x"), sessions.open("clew_y")
    for _ in range(48):
        now[0] += 29 * 60
        assert sessions.bearer(used) == "clew_x"
    assert sessions.bearer(idle) is None
    now[0] = 24 * 3600
    assert sessions.bearer(used) is None


def test_a_token_sees_its_namespaces_alone(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, READER[0])
        own = client.get("/ui/documents")
        other = client.get("/ui/documents?namespace=mills")
        none = client.get("/ui/documents?namespace=none")

    assert own.status_code == 200
    assert "The mill" not in own.text
    assert other.status_code == none.status_code == 404
    assert other.text.replace("mills", "none") == none.text


def test_over_https_the_cookie_is_of_this_host_alone(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        name = next(iter(client.cookies))
        client.base_url = HOST.replace("http:", "https:")
        client.cookies.clear()
        origin = {"Origin": "http://127.0.0.1:8766"}
        entered = client.post("/ui/login", data={"token": OWNER[0]}, headers=origin)
        shown = client.get("/ui/documents")

    cookie = entered.headers["set-cookie"]
    assert not name.startswith("__")
    assert cookie.startswith(f"__Host-{name}=")
    assert {"secure", "path=/", "httponly"} <= {p.strip().lower() for p in cookie.split(";")}
    assert "domain=" not in cookie.lower()
    assert "The mill" in shown.text


def test_other_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        host = client.get("/ui/login", headers={"Host": "evil.example"})
        origin = client.post(
            "/ui/login", data={"token": OWNER[0]}, headers={"Origin": "https://evil.example"}
        )

    assert host.status_code == 421
    assert origin.status_code == 403


def test_every_answer_carries_the_policy(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        for path in ("/ui/login", "/ui/", "/ui/none", "/ui/static/clew.css"):
            answer = client.get(path)
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "unsafe" not in POLICY


def test_the_owner_of_the_machine_is_served_there_alone(tmp_path: Path) -> None:
    settings = load_settings(
        store=tmp_path,
        serve={"host": "0.0.0.0", "allowed_hosts": ("clew.example.org",), "namespaces": ("b",)},
    )

    bearer, own = owner(settings, 0)

    assert own.serve.host == "127.0.0.1"
    assert own.serve.allowed_hosts == ()
    assert [token.namespaces for token in own.serve.tokens] == [("default", "b")]
    assert bearer not in own.model_dump_json()


@pytest.mark.parametrize("path", ["/ui/login", "/ui/logout"])
def test_a_form_that_cannot_be_read_is_refused(tmp_path: Path, path: str) -> None:
    with explorer(tmp_path) as client:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        many = client.post(path, content="&".join("a=1" for _ in range(300)), headers=kind)
        large = client.post(path, content="token=" + "a" * (65 * 1024 * 1024), headers=kind)
        cut = client.post(path, content="--a", headers={"Content-Type": "multipart/form-data"})

    assert [many.status_code, large.status_code, cut.status_code] == [400, 413, 400]


@pytest.mark.parametrize(
    "path", ["entities/{}", "communities/{}", "?q=mill&limit={}", "documents?page=000000001{}"]
)
def test_numbers_of_any_length_are_refused(tmp_path: Path, path: str) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        answers = [client.get(f"/ui/{path.format('9' * digits)}") for digits in (25, 5000)]

    assert all(answer.status_code in (400, 404) for answer in answers)


def test_who_may_only_read_sees_no_form_that_writes(tmp_path: Path) -> None:
    with explorer(tmp_path, rights=("read",)) as client:
        log_in(client, OWNER[0])
        listed = client.get("/ui/entities").text
        paths = ["", "?q=mill", "documents", "documents/mill", "merges", "jobs", "graph"]
        paths += re.findall(r"/ui/(entities/\d+)", listed)
        pages = {path: client.get(f"/ui/{path}").text for path in paths}

    assert len(pages) > 7
    for path, page in pages.items():
        assert re.findall(r'<form method="post" action="([^"]*)"', page) == ["/ui/logout"], path
