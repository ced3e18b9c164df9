"""The explorer's pages, routes and sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate  # type: ignore[import-untyped]
from starlette.testclient import TestClient

import clew
from clew import Clew
from clew.errors import InputError
from clew.jobs import make_runner
from clew.mcp.auth import new_token
from clew.mcp.http import served_settings
from clew.operations.spec import complete
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import RelationEvidence
from clew.web.app import owner
from clew.web.graph_view import View, picture
from clew.web.pages import shown_relations
from clew.web.passages import (
    Mark,
    compare_passages,
    difference,
    find_names,
    flowing,
    headings,
    plain,
    segments,
)
from clew.web.request import (
    API_PREFIX,
    KEY_SECONDS,
    PICTURE,
    POLICY,
    PageRequest,
    Sessions,
    environment,
)
from tests.unit.mcp_tools import PAGES, pages_of, token_of

# --- Who gets into the explorer, and what its forms must carry.


READER, OWNER = new_token(), new_token()


def settings_of(folder: Path, rights: tuple[str, ...] = ("read", "write")) -> Settings:
    tokens = [
        token_of("ann", OWNER, "mills", "bells", scopes=rights),
        token_of("ben", READER, "bells", scopes=("read",)),
    ]
    served = {"tokens": tokens}
    return served_settings(
        load_settings(store=folder, namespace="mills", serve=served, limits={"isolation": "none"})
    )


@contextmanager
def explorer(
    folder: Path, sessions: Sessions | None = None, rights: tuple[str, ...] = ("read", "write")
) -> Iterator[TestClient]:
    """The pages over one document."""
    settings = settings_of(folder, rights)
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill", title="The mill")
        with pages_of(settings, engine, sessions) as client:
            yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One for all that change nothing, with nobody logged in."""
    with explorer(tmp_path_factory.mktemp("shared")) as client:
        yield client


@pytest.fixture
def client(shared: TestClient) -> TestClient:
    """The shared one, without cookies of the tests before."""
    shared.cookies.clear()
    return shared


def log_in(client: TestClient, token: str) -> None:
    client.cookies.clear()
    answer = client.post("/ui/login", data={"token": token, "next": "/ui/documents"})
    assert answer.headers["location"] == "/ui/documents"


def form_token(client: TestClient) -> str:
    """Log the owner in; what the forms of the pages carry."""
    log_in(client, OWNER[0])
    return client.get("/ui/").text.partition('data-form-token="')[2].partition('"')[0]


def test_a_page_asks_for_a_token_and_leads_back(client: TestClient) -> None:
    asked = client.get("/ui/?q=mill")
    wrong = client.post("/ui/login", data={"token": "clew_wrong"})
    entered = client.post("/ui/login", data={"token": OWNER[0], "next": "/ui/?q=mill"})
    shown = client.get("/ui/?q=mill")

    assert asked.status_code == 303
    assert "/ui/login?next=%2Fui%2F%3Fq%3Dmill" in asked.headers["location"]
    assert (wrong.status_code, wrong.headers.get("set-cookie")) == (401, None)
    assert entered.headers["location"] == "/ui/?q=mill"
    cookie = entered.headers["set-cookie"]
    assert {"httponly", "samesite=lax"} <= {p.strip().lower() for p in cookie.split(";")}
    assert OWNER[0] not in cookie
    assert "Harrow Ford" in shown.text
    for target in ("https://evil.example", "//evil.example", "/mcp", "\\\\evil"):
        answer = client.post("/ui/login", data={"token": OWNER[0], "next": target})
        assert answer.headers["location"] == "/ui/", target


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
    assert [answer.headers["location"] for answer in (again, too_late)] == [f"{PAGES}/ui/login"] * 2
    assert "set-cookie" not in again.headers


def test_a_session_ends(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        token = form_token(client)
        statuses = []
        for given in ("another", token):
            client.post("/ui/logout", data={"form_token": given})
            statuses.append(client.get("/ui/").status_code)

    assert statuses == [200, 303]


def test_a_session_ends_where_nobody_uses_it() -> None:
    now = [0.0]
    sessions = Sessions(24.0, 30.0, clock=lambda: now[0])
    used, idle = sessions.open("clew_x"), sessions.open("clew_y")
    for _ in range(48):
        now[0] += 29 * 60
        assert sessions.bearer(used) == "clew_x"
    assert sessions.bearer(idle) is None
    now[0] = 24 * 3600
    assert sessions.bearer(used) is None, "for all its use"


def test_a_token_sees_its_namespaces_alone(client: TestClient) -> None:
    log_in(client, READER[0])
    own, other, none = (
        client.get(f"/ui/documents{query}") for query in ("", "?namespace=mills", "?namespace=none")
    )

    assert own.status_code == 200
    assert "The mill" not in own.text
    assert other.status_code == none.status_code == 404
    assert other.text.replace("mills", "none") == none.text


def test_over_https_the_cookie_is_of_this_host_alone(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        name = next(iter(client.cookies))
        client.base_url = PAGES.replace("http:", "https:")
        client.cookies.clear()
        entered = client.post("/ui/login", data={"token": OWNER[0]}, headers={"Origin": PAGES})
        shown = client.get("/ui/documents")

    cookie = entered.headers["set-cookie"]
    assert not name.startswith("__")
    assert cookie.startswith(f"__Host-{name}=")
    assert {"secure", "path=/", "httponly"} <= {p.strip().lower() for p in cookie.split(";")}
    assert "domain=" not in cookie.lower()
    assert "The mill" in shown.text


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    log_in(client, OWNER[0])
    for path in ("/ui/login", "/ui/", "/ui/none", "/ui/static/clew.css"):
        told = client.get(path).headers
        assert told["content-security-policy"] == POLICY
        assert told["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY


def test_the_owner_of_the_machine_is_served_there_alone(tmp_path: Path) -> None:
    settings = load_settings(
        store=tmp_path,
        serve={"host": "0.0.0.0", "allowed_hosts": ("clew.example.org",), "namespaces": ("b",)},
    )

    bearer, own = owner(settings, 0)

    assert (own.serve.host, own.serve.allowed_hosts) == ("127.0.0.1", ())
    assert [token.namespaces for token in own.serve.tokens] == [("default", "b")]
    assert bearer not in own.model_dump_json()


@pytest.mark.parametrize("path", ["/ui/login", "/ui/logout"])
def test_a_form_that_cannot_be_read_is_refused(client: TestClient, path: str) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    many = client.post(path, content="&".join("a=1" for _ in range(300)), headers=kind)
    large = client.post(path, content="token=" + "a" * (65 * 1024 * 1024), headers=kind)
    cut = client.post(path, content="--a", headers={"Content-Type": "multipart/form-data"})

    assert [many.status_code, large.status_code, cut.status_code] == [400, 413, 400]


@pytest.mark.parametrize(
    ("path", "field", "value", "said"),
    [
        ("", "since", "nxt weke", "since 'nxt weke' is no time"),
        ("", "until", "2019-99", "until '2019-99' is no time"),
        ("", "as_of", "soonish", "as_of 'soonish' is no time"),
        ("", "limit", "many", "limit cannot be 'many'"),
        ("", "max_tokens", "0", "max_tokens cannot be '0'"),
        ("", "where", "source = x and", "at character 15"),
        ("documents", "where", "source = x and", "15: expected the name of a field, such as year>"),
        ("graph", "entities", "Nobody", "the page Entities shows what there is"),
        ("graph", "as_of", "soonish", "as_of 'soonish' is no time"),
        ("graph", "limit", "many", "limit cannot be 'many'"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_the_others_are_kept(
    client: TestClient, path: str, field: str, value: str, said: str
) -> None:
    log_in(client, OWNER[0])
    answer = client.get(
        f"/ui/{path}",
        params=dict.fromkeys(("q", "name", "question"), "Who built it?") | {field: value},
    )
    found = re.findall(
        r'(?s)name="(\w+)"[^<>]*>(?:<datalist[^>]*></datalist>|<button>[^<]*</button>|\s)*'
        r'<span class="error" id="wrong" role="alert">(.*?)</span>',
        answer.text,
    )
    assert (answer.status_code, [name for name, _ in found]) == (400, [field])
    assert said in unescape(found[0][1])
    assert 'value="Who built it?"' in answer.text


@pytest.mark.parametrize("path", ["documents/nope", "entities/999999"])
def test_what_is_not_there_names_the_page_that_lists_it(client: TestClient, path: str) -> None:
    log_in(client, OWNER[0])
    answer = client.get(f"/ui/{path}")
    assert answer.status_code == 404
    assert f"; the page {path.partition('/')[0].title()} shows what there is<" in answer.text


@pytest.mark.parametrize(
    "path", ["entities/{}", "communities/{}", "?q=mill&limit={}", "documents?page=000000001{}"]
)
def test_numbers_of_any_length_are_refused(client: TestClient, path: str) -> None:
    log_in(client, OWNER[0])
    for digits in (25, 5000):
        assert client.get(f"/ui/{path.format('9' * digits)}").status_code in (400, 404)


def test_who_may_only_read_sees_no_form_that_writes(tmp_path: Path) -> None:
    with explorer(tmp_path, rights=("read",)) as client:
        log_in(client, OWNER[0])
        paths = [
            *("", "?q=mill", "documents", "documents/mill", "merges", "jobs", "graph"),
            *re.findall(r"/ui/(entities/\d+)", client.get("/ui/entities").text),
        ]
        pages = {path: client.get(f"/ui/{path}").text for path in paths}

    assert len(pages) > 7
    assert "before the last change" not in pages["graph"]  # of communities that were never found
    for path, page in pages.items():
        assert re.findall(r'<form method="post" action="([^"]*)"', page) == ["/ui/logout"], path


# --- What pages are made of: marked texts, parts of the graph, settings without secrets.


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70), st.integers(1, 3)), max_size=6),
    st.tuples(st.integers(-5, 70), st.integers(-5, 70)),
)
def test_pieces_make_up_the_text(
    text: str, marks: list[tuple[int, int, int]], answer: tuple[int, int]
) -> None:
    pieces = segments(text, [Mark(*mark) for mark in marks], answer)

    hidden = {place for begin, words, _ in headings(text) for place in range(begin, words)}
    shown = [(n, c) for n, c in enumerate(flowing(text)) if n not in hidden]
    assert "".join(piece.text for piece in pieces) == "".join(c for _, c in shown)
    marked = "".join(piece.text for piece in pieces if piece.answer)
    assert marked == "".join(c for n, c in shown if answer[0] <= n < answer[1])


def test_headings_show_as_such_and_comments_of_code_as_they_are() -> None:
    text = "# The bell\n\nEdda cast it.\n\n## Later\n\n# comment\nx = 1\n#tag\n### End"
    assert [piece.text for piece in segments(text, [Mark(6, 10, 7)]) if piece.heading] == [
        "The ",
        "bell",
        "Later",
        "End",
    ]
    assert plain(text) == "The bell\n\nEdda cast it.\n\nLater\n\n# comment\nx = 1\n#tag\nEnd"


def test_names_are_whole_words_and_the_longest_counts() -> None:
    text = "Reed met Jonas Reed; Reeds grow."
    found = find_names(text, {"Reed": 1, "Jonas Reed": 2, "": 3})

    assert [(text[m.start : m.end], m.entity) for m in sorted(found, key=lambda m: m.start)] == [
        ("Reed", 1),
        ("Jonas Reed", 2),
    ]


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    settings = load_settings(store=tmp_path_factory.mktemp("mills"), limits={"isolation": "none"})
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey.")
        engine.add(
            "Tarn Abbey is part of the Lorne Estate. Mara Lind met Jonas Reed in Tarn Abbey."
        )
        engine.add("Edda Rowe cast the bell of Port Anselm.")
        yield engine


def test_a_picture_holds_what_ties_its_entities_within_its_limits(mills: Clew) -> None:
    reed = mills.entities.get("Jonas Reed").id

    def shown(**wanted: object) -> View:
        return picture(mills, **complete("graph", PICTURE, {"entities": [reed], **wanted}))

    whole, few, sure = shown(), shown(hops=2, limit=2), shown(min_confidence=1.0)
    places = shown(types=["place"])
    nodes = {node["id"]: node["name"] for node in whole["nodes"]}
    facts = {(tie["source"], tie["relation"], tie["target"]): tie["id"] for tie in whole["edges"]}
    stated = {r.fact for r in mills.store.relations(sorted(nodes), 1000)}

    assert next(iter(nodes)) == reed
    assert {"Tarn Abbey", "Harrow Ford", "Mara Lind"} <= {*nodes.values()} - {"Edda Rowe"}
    assert all({source, target} <= nodes.keys() for source, _, target in facts)
    assert {fact for fact, number in facts.items() if number is not None} == {
        fact for fact in stated if {fact[0], fact[2]} <= nodes.keys()
    }
    assert few["nodes"][0]["id"] == reed
    assert (len(few["nodes"]), bool(few["notes"]), few["total"] > 2) == (2, True, True)
    assert all(tie["confidence"] >= 1.0 for tie in sure["edges"])
    assert {n["type"] for n in places["nodes"] if not n["seed"]} <= {"place"}
    assert set(places["types"]) == {n["type"] for n in whole["nodes"]}
    with pytest.raises(InputError, match="begins from"):
        picture(mills, **complete("graph", PICTURE, {}))


def test_a_picture_is_of_the_store_as_it_is_and_waits_for_no_communities(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, limits={"isolation": "none"})
    with Clew(settings, embedder=HashEmbedder()) as engine:

        def names() -> set[str]:
            return {node["name"] for node in picture(engine, **wanted)["nodes"]}

        engine.add("Jonas Reed built the mill at Harrow Ford.")
        begun = {"entities": [engine.entities.get("Jonas Reed").id]}
        wanted = complete("graph", PICTURE, begun)
        engine.state.update_communities()
        made, before = engine.state.communities_made, names()
        engine.add("Jonas Reed met Mara Lind in Tarn Abbey.")

        assert names() - before >= {"Mara Lind"}
        assert engine.state.communities_made == made
        assert engine.state.communities.generation() == engine.store.generation()
        found = {node["community"] for node in picture(engine, **wanted)["nodes"]} - {None}
        assert found <= {c.id for c in engine.state.communities.communities()}


def test_settings_are_shown_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "NEO4J__PASSWORD": "hunter2-neo4j",
        "QDRANT__API_KEY": "hunter2-qdrant",
        "QDRANT__URL": "http://" + "ann:hunter2-url" + "@localhost:6333",
        "SEARCH__LIMIT": "7",
    }.items():
        monkeypatch.setenv(f"CLEW_{name}", value)
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        refused = client.get("/ui/settings")
    with explorer(tmp_path, rights=("read", "admin")) as client:
        log_in(client, OWNER[0])
        shown = client.get("/ui/settings").text

    assert refused.status_code == 403
    assert "hunter2" not in shown
    assert OWNER[1] not in shown
    row = shown.partition("search.limit</code>")[2].partition("</tr>")[0]
    assert ">7<" in row
    assert ">environment<" in row


def test_pages_take_filters_and_say_what_is_wrong_with_one(client: TestClient) -> None:
    log_in(client, OWNER[0])
    for page in ("documents", ""):

        def shown(where: str, page: str = page) -> str:
            asked = {"where": where, "q": "Who built it?"}
            return unescape(client.get(f"/ui/{page}", params=asked).text)

        passage = "The mill" if page else "Jonas Reed built"
        assert passage in shown("source = bell or (title = The mill and not draft = true)")
        assert passage not in shown("not title contains MILL").partition("</form>")[2]
        unknown = shown("sourse = x")
        assert "no document has the field 'sourse'; did you mean 'source'?" in unknown


def test_scripts_have_their_licences() -> None:
    static = Path(clew.__file__).parent / "web" / "static"
    files = {file.name for file in static.rglob("*")}
    scripts = {name.removesuffix(".min.js") for name in files if name.endswith(".min.js")}

    assert {f"{name}.LICENSE" for name in scripts} <= files


@given(*[st.lists(st.sampled_from(["a b c", "a x c", "d", "e f", "a"]), max_size=12)] * 2)
def test_a_difference_holds_both_texts(before: list[str], after: list[str]) -> None:
    lines = list(difference("\n".join(before), "\n".join(after)))

    for kind, text in (("gone", before), ("new", after)):
        rest = "\n".join(text).splitlines()
        for line in lines:
            if line and line[0].kind == "left_out":
                del rest[: int(line[0].text)]
            elif any(piece.kind in ("same", kind) for piece in line):
                told = "".join(piece.text for piece in line if piece.kind in ("same", kind))
                assert rest.pop(0) == told
        assert rest == []


def test_of_a_difference_only_what_is_near_is_shown() -> None:
    lines = [f"line {n}" for n in range(40)]
    changed = [*lines[:20], "line twenty", *lines[21:]]

    found = list(difference("\n".join(lines), "\n".join(changed)))

    assert [[(p.kind, p.text) for p in line] for line in found] == [
        [("left_out", "18")],
        [("same", "line 18")],
        [("same", "line 19")],
        [("same", "line "), ("gone", "20"), ("new", "twenty")],
        [("same", "line 21")],
        [("same", "line 22")],
        [("left_out", "17")],
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_a_path_leads_from_its_start_to_its_end_whichever_way_ties_are_stated(
    forward: list[bool],
) -> None:
    names = [f"N{number}" for number in range(len(forward) + 1)]
    path = []
    for number, ahead in enumerate(forward):
        head, tail = names[number : number + 2] if ahead else names[number : number + 2][::-1]
        path.append(RelationEvidence(head=head, relation="knows", tail=tail, evidence=""))
    macros: Any = environment().get_template("macros.html").module
    shown = macros.path(None, path, "N0", {})

    assert re.findall("N[0-9]", shown) == names
    assert ["→" in arrow for arrow in re.findall("[←→]", shown)] == forward


def test_a_relation_that_is_confirmed_is_shown_once(tmp_path: Path) -> None:
    with Clew(load_settings(store=tmp_path), embedder=HashEmbedder()) as engine:
        engine.add("Osprey Works is part of Vantage Group.", source="a.md")
        works = engine.entities.get("Osprey Works")
        page = cast("PageRequest", SimpleNamespace(engine=engine))
        (before,) = shown_relations(page, works)
        ends = {"source_id": before["relation"].from_entity_id, "target_id": before["id"]}
        kind = before["relation"].relation_type
        engine.tools.call("add_entity_relationship", {**ends, "relation_type": kind})
        (after,) = shown_relations(page, works)

    assert before["relation"].extractor != "manual"
    assert after["relation"].extractor == "manual"
    assert (after["other"], after["relation"].relation_type) == (before["other"], kind)


def test_files_that_were_sent_outlive_the_server_and_leave_audit_rows(tmp_path: Path) -> None:
    """Byte for byte, read by whoever runs their jobs; one that is empty is named."""
    text = "Jörn built the quay.\r\n"
    contents = {"C:\\notes\\quay.txt": text.encode("utf-16"), "empty.md": b"", "b.md": b"Edda."}
    with explorer(tmp_path) as client:
        token = form_token(client)
        files = [("files", (name, data)) for name, data in contents.items()]
        answer = client.post("/ui/documents", files=files, data={"form_token": token})
        jobs = parse_qs(urlsplit(answer.headers["location"]).query)["sent"]
        shown = client.get(answer.headers["location"]).text
    with Clew(settings_of(tmp_path), embedder=HashEmbedder()) as engine:
        runner = make_runner(engine)
        runner.start()
        ended = [runner.wait(job, 30) for job in jobs]
        stored = engine.documents.text("upload/quay.txt")
        entries = engine.maintenance.audit()

    assert "empty.md is empty" in shown
    assert [(e.status, e.failed, e.arguments) for e in ended] == [("completed", 0, {})] * 2
    assert text.strip() in stored
    assert [(e.caller, e.tool, e.subjects) for e in entries] == [
        ("ann", "ingest_document", {"name": name, "source": f"upload/{name}"})
        for name in ("b.md", "quay.txt")
    ]


# --- The API: what it describes is what it does, failures are problems, rights hold.


OWN = {"Authorization": f"Bearer {OWNER[0]}"}


def test_all_that_is_described_is_there_and_as_described(client: TestClient) -> None:
    told = client.get(f"{API_PREFIX}/openapi.json").json()
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            address = API_PREFIX + path.replace("{", "").replace("}", "")
            answer = client.request(method, address, headers=OWN)
            assert "nothing here" not in answer.text, address
            assert re.fullmatch(r"application/(problem\+)?json", answer.headers["content-type"])
            names = [p["name"] for p in operation["parameters"]]
            assert len(names) == len(set(names))
            assert set(path.replace("{", "}").split("}")[1::2]) <= set(names)
    for path, query in (
        ("search", {"query": "mill", "top_k": "2", "where": "source=mill"}),
        ("documents", {"limit": "1"}),
        ("entities", {"query": "Jonas Reed"}),
        ("paths", {"source": "Jonas Reed", "target": "Harrow Ford"}),
        ("subgraph", {"query": "Jonas Reed"}),
        ("graph", {"entities": "1"}),
        *((name, {}) for name in ("communities", "statistics", "merges", "jobs")),
    ):
        schema = told["paths"][f"/{path}"]["get"]["responses"]["200"]
        answer = client.get(f"{API_PREFIX}/{path}", params=query, headers=OWN)
        assert answer.status_code == 200, answer.text
        validate(answer.json(), schema["content"]["application/json"]["schema"])
        assert "success" not in answer.json()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "search", 400),
        ("GET", "search?query=x&top_k=many", 400),
        ("GET", "search?query=x&unknown=1", 400),
        ("GET", "documents/none", 404),
        ("GET", "graph", 400),
        ("GET", "jobs/none", 404),
        ("GET", "none", 404),
        ("GET", "documents?namespace=secret", 404),
        ("DELETE", "relations/999", 404),
        ("POST", "documents", 400),
        ("POST", "ask", 400),
        ("PUT", "search", 404),
        ("PATCH", "documents/mill", 404),
        ("OPTIONS", "search", 404),
        ("GET", f"graph?entities={'9' * 25}", 400),
        ("GET", f"graph?entities={'9' * 5000}", 400),
        ("GET", "jobs?cursor=zzz", 404),
    ],
)
def test_failures_are_problems(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, f"{API_PREFIX}/{path}", headers=OWN)

    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status)
    assert problem["detail"]


def test_without_a_token_or_the_right_nothing_is_told(client: TestClient) -> None:
    nobody = client.get(f"{API_PREFIX}/documents")
    asking = client.post(f"{API_PREFIX}/ask", json={"query": "mill"})
    reads = {"Authorization": f"Bearer {READER[0]}"}
    reader = client.post(f"{API_PREFIX}/documents", json={"text": "Bells."}, headers=reads)

    assert [nobody.status_code, asking.status_code, reader.status_code] == [401, 401, 403]
    assert asking.headers["content-type"] == "application/problem+json"
    assert nobody.headers["www-authenticate"] == "Bearer"


def test_a_cookie_alone_writes_nothing(tmp_path: Path) -> None:
    sent = {"text": "Edda Rowe cast the bell.", "source": "bell"}
    forged = {b"X-Form-Token": "é".encode("latin-1")}
    with explorer(tmp_path) as client:
        good = {b"X-Form-Token": form_token(client).encode()}
        for headers in ({}, forged):
            assert (
                client.post(f"{API_PREFIX}/documents", json=sent, headers=headers).status_code
                == 403
            )
            assert client.post(f"{API_PREFIX}/ask", json={"query": "m"}, headers=headers).is_error
        assert client.post("/ui/demo", data={"form_token": "€"}).status_code == 403
        assert client.post(f"{API_PREFIX}/documents", json=sent, headers=good).status_code == 202
        listed = client.get(f"{API_PREFIX}/documents").json()

    assert {d["source"] for d in listed["documents"]} == {"mill", "bell"}


# --- Why a passage was not found: what the ranker saw of it, or why it looked at others
# alone.


def test_a_passage_is_compared_whether_it_was_a_candidate_or_not(engine: Clew) -> None:
    question = "Who cast the bell of Port Anselm?"
    engine.add_documents(
        clew.Document(source=f"{n}", text=f"Edda Rowe cast bell number {n} of Port Anselm.")
        for n in range(400)
    )
    engine.add("Sheep graze upon every quiet hill.", source="sheep")
    found = engine.search(question, strategy="graph", limit=2).hits
    first, second = (hit.chunk.id for hit in found)
    (sheep,) = (chunk.id for chunk in engine.documents.chunks("sheep"))
    near = compare_passages(engine, question, first, [second])
    assert compare_passages(engine, question, first, [10**9]) is None
    far = compare_passages(engine, question, first, [sheep])

    assert near is not None
    assert far is not None
    assert near["reasons"] == []
    assert all(None not in feature.values() for feature in near["features"])
    apart = [abs((f["first"] or 0) - (f["other"] or 0)) for f in far["features"]]
    assert apart == sorted(apart, reverse=True)
    words = {f["name"]: (f["first"], f["other"]) for f in far["features"]}
    assert "none of the question's words" in far["reasons"][0]
    of_first, of_sheep = words["share of the question's words in it"]
    assert ((of_first or 0) > 0.5, of_sheep) == (True, 0)
    assert words["how often walks along names come by"][1] is None
