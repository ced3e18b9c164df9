"""A page tells a token that is limited to one tool no more than that tool itself tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
from clew.tools.spec import Caller
from clew.tools.toolbox import OPERATIONS, Toolbox
from clew.web.app import mount
from clew.web.endpoints import EXPLORER_TOOLS, TOOL_NAMES
from clew.web.pages.table import PAGES
from clew.web.request import PREFIX

HOST = "http://127.0.0.1:8766"
READING = [tool.name for tool in EXPLORER_TOOLS if tool.read_only]
TEXTS = {
    "quay.md": "# The Quillfeather quay\n\nMarta Quillfeather founded Osprey Works in 1987."
    " Osprey Works is part of Vantage Group. The zaffre ledger lies in the cellar.",
    "mill.md": "# The Brackwater mill\n\nIn March 2004 Marta Quillfeather bought the Brackwater"
    " mill. Vantage Group owns Brackwater mill. A cobalt kiln stands beside it.",
}
EARLIER = "# The Quillfeather quay\n\nThe vermilion barge belonged to Marta Quillfeather."
MARKS = (
    *("zaffre ledger", "cobalt kiln", "vermilion barge", "founded Osprey", "bought the Brackwater"),
    *("Quillfeather quay", "Brackwater mill", "Marta Quillfeather", "Osprey Works"),
    *("Vantage Group", "quay.md", "mill.md", "part_of", "another-tenant", "changed-by-ann"),
)
"""What can be recognised of passages, titles, names, sources, relations, callers and changes."""


@contextmanager
def served(folder: Path) -> Iterator[tuple[TestClient, Engines, Mapping[str, str]]]:
    """The explorer with two documents, and a token for each tool that reads, by its name."""
    made = {name: new_token() for name in ("everything", *READING)}
    tokens = [
        {
            "name": "changed-by-ann" if name == "everything" else f"only-{name}",
            "sha256": digest,
            "namespaces": ("mills",),
            "scopes": ("read", "write", "admin"),
            "tools": None if name == "everything" else (name,),
        }
        for name, (_, digest) in made.items()
    ]
    tokens.append({"name": "another-tenant", "sha256": "0" * 64, "namespaces": ("bells",)})
    settings = served_settings(
        load_settings(
            store=folder, namespace="mills", serve={"tokens": tokens}, limits={"isolation": "none"}
        )
    )
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add(EARLIER, source="quay.md")
        for source, text in TEXTS.items():
            engine.add(text, source=source)
        engines = Engines(settings, OPERATIONS, engine)
        server = http_server(engines)
        app = http_app(server, settings.serve, partial(mount, sessions=None))
        with TestClient(app, base_url=HOST, follow_redirects=False) as client:
            yield client, engines, {name: bearer for name, (bearer, _) in made.items()}
        engines.close()


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[TestClient, Engines, Mapping[str, str]]]:
    with served(tmp_path_factory.mktemp("site")) as opened:
        yield opened


def get(client: TestClient, token: str, path: str) -> tuple[int, str]:
    answer = client.get(path, headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.text


def addresses(client: TestClient, token: str) -> list[str]:
    """Each page that reads, with all that it can be asked for; ids from the pages themselves."""
    listed = get(client, token, f"{PREFIX}/entities")[1]
    entities = sorted(set(re.findall(r"/ui/entities/(\d+)", listed)))
    documents = get(client, token, f"{PREFIX}/documents")[1]
    ids = sorted(set(re.findall(r"/ui/documents/([\w-]+)", documents)))
    communities = get(client, token, f"{PREFIX}/communities")[1]
    numbers = {
        "entity": entities,
        "document": ids,
        "community": sorted(set(re.findall(r"/ui/communities/(\d+)", communities))) or ["0"],
    }
    asked = {
        "/": ["", "?q=Who+founded+Osprey+Works"],
        "/suggest": ["?q=Marta", "?q=Vantage&whole=1"],
        "/compare": [f"?q=ledger&passage={name}" for name in ("quay.md", "mill.md", "none")],
        "/documents": ["", "?name=quay"],
        "/documents/{document}/versions": ["", "?from=1&to=2"],
        "/entities": ["", "?name=Marta"],
        "/entity": ["?name=Marta+Quillfeather"],
        "/graph": [
            "",
            f"?entities={entities[0]}",
            "?question=Osprey",
            f"?entities={entities[0]}&hops=3&from={entities[0]}&to={entities[-1]}",
        ],
        "/timeline": ["", "?name=Marta+Quillfeather", "?q=When+was+the+mill+bought"],
        "/jobs": ["", "?part=1"],
    }
    found = []
    for page in PAGES:
        if page.method != "GET":
            continue
        name = re.search(r"\{(\w+)\}", page.path)
        for value in numbers[name[1]] if name else [""]:
            path = page.path.replace(name[0], value) if name else page.path
            found += [f"{PREFIX}{path}{query}" for query in asked.get(page.path, [""])]
    return found


def told(engines: Engines, name: str) -> str:
    """All that a tool tells, asked in every way that the pages ask for."""
    with engines.acquire("mills") as opened:
        engine = opened.engine
        people = ("Marta Quillfeather", "Osprey Works", "Vantage Group")
        values: Mapping[str, tuple[object, ...]] = {
            "query": (*people, "ledger", "kiln", "Who founded Osprey Works"),
            "question": people,
            "entity": people,
            "entity_id": people,
            "source": people,
            "target": people,
            "name": people,
            "document": ("quay.md", "mill.md"),
            "id": tuple(info.id for info in engine.documents.list()),
            "version": (1, 2),
            "names": (list(people),),
            "entity_ids": ([engine.entities.get(one).id for one in people],),
        }
        tool = TOOL_NAMES[name]
        box = Toolbox(engine, [tool], profile=None, services={"jobs": opened.jobs})
        wanted = [p.name for p in tool.parameters if p.name in values]
        if name == "list_communities":
            wanted = []
        texts = []
        for number in range(8):
            arguments = {
                one: values[one][(number + at * (number // 4 + 1)) % len(values[one])]
                for at, one in enumerate(wanted)
            }
            texts.append(box.call(name, arguments, caller=Caller(name="ann")).text)
        for document in ("quay.md", "mill.md") if name == "get_document" else ():
            for version in (1, 2):
                given = {"document": document, "version": version}
                texts.append(box.call(name, given, caller=Caller()).text)
        return "\n".join(texts)


@pytest.mark.parametrize("tool", READING)
def test_a_page_tells_no_more_than_the_tool_that_its_caller_may_call(
    site: tuple[TestClient, Engines, Mapping[str, str]], tool: str
) -> None:
    client, engines, tokens = site
    pages = addresses(client, tokens["everything"])
    allowed = {mark for mark in MARKS if mark in told(engines, tool)}
    for path in pages:
        status, text = get(client, tokens[tool], path)
        # What was asked comes back in the page: it tells nothing.
        seen = re.sub(r'(?:value|content|href|hx-get|data-[\w-]+)=(?:"[^"]*"|\'[^\']*\')', "", text)
        said = re.sub(r"<h1.*?</h1>|<title.*?</title>", "", seen) if "?" in path else seen
        extra = {mark for mark in MARKS if mark in said} - allowed
        assert status in (200, 303, 400, 403, 404), (path, status)
        assert not extra, f"{path} tells a token of {tool} alone of {sorted(extra)}"


def test_the_owner_of_a_token_that_may_all_sees_all(
    site: tuple[TestClient, Engines, Mapping[str, str]],
) -> None:
    client, _, tokens = site
    texts = [
        get(client, tokens["everything"], path) for path in addresses(client, tokens["everything"])
    ]
    seen = "\n".join(text for status, text in texts if status == 200)

    assert {status for status, _ in texts} == {200, 303, 400}, "mill.md has one version alone"
    assert sum(status == 400 for status, _ in texts) == 1
    assert [mark for mark in MARKS if mark not in seen] == ["another-tenant", "changed-by-ann"]


def test_an_administrator_of_a_tenant_sees_nothing_of_the_server(
    site: tuple[TestClient, Engines, Mapping[str, str]],
) -> None:
    client, engines, tokens = site
    status, text = get(client, tokens["everything"], f"{PREFIX}/settings")

    assert status == 200
    assert "search.limit" in text
    assert str(engines.settings.store) not in text
    for token in engines.settings.serve.tokens:
        assert token.name not in text
    assert not re.search(r"<code>(?:store|serve|access|neo4j|qdrant|chroma|packs)[.<]", text)
