"""A page tells a token that is limited to one tool no more than that tool itself tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pytest
from starlette.testclient import TestClient

from clew import Clew
from clew.mcp.auth import new_token
from clew.mcp.http import served_settings
from clew.operations.spec import Caller
from clew.operations.toolbox import make_toolbox
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.web.app import PAGES
from clew.web.request import EXPLORER_TOOLS, PREFIX, TOOL_NAMES
from tests.unit.mcp_tools import pages_of, token_of

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


Site = tuple[TestClient, Clew, Mapping[str, str]]
"""The explorer with two documents, and a token for each tool that reads, by its name."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = {name: new_token() for name in ("changed-by-ann", *READING)}
    rights = ("read", "write", "admin")
    tokens = [token_of("changed-by-ann", made["changed-by-ann"], "mills", scopes=rights)]
    tokens += [
        token_of(f"only-{name}", made[name], "mills", scopes=rights, tools=(name,))
        for name in READING
    ]
    tokens.append(token_of("another-tenant", ("", "0" * 64), "bells"))
    settings = served_settings(
        load_settings(
            store=tmp_path_factory.mktemp("site"),
            namespace="mills",
            serve={"tokens": tokens},
            limits={"isolation": "none"},
        )
    )
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add(EARLIER, source="quay.md")
        for source, text in TEXTS.items():
            engine.add(text, source=source)
        with pages_of(settings, engine) as client:
            yield client, engine, {name: bearer for name, (bearer, _) in made.items()}


def get(client: TestClient, token: str, path: str) -> tuple[int, str]:
    answer = client.get(path, headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.text


def addresses(client: TestClient, token: str) -> list[str]:
    """Each page that reads, with all that it can be asked for; ids from the pages themselves."""

    def listed(kind: str) -> list[str]:
        page = get(client, token, f"{PREFIX}/{kind}")[1]
        return sorted(set(re.findall(rf"/ui/{kind}/([\w-]+)", page)))

    entities = listed("entities")
    numbers = {
        "entity": entities,
        "document": listed("documents"),
        "community": listed("communities") or ["0"],
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


PEOPLE = ("Marta Quillfeather", "Osprey Works", "Vantage Group")


def told(engine: Clew, name: str) -> str:
    """All that a tool tells, asked in every way that the pages ask for."""
    values: Mapping[str, Sequence[object]] = {
        "query": (*PEOPLE, "ledger", "kiln", "Who founded Osprey Works"),
        **dict.fromkeys(("question", "entity", "entity_id", "source", "target", "name"), PEOPLE),
        "document": ("quay.md", "mill.md"),
        "id": [info.id for info in engine.documents.list()],
        "version": (1, 2),
        "names": (list(PEOPLE),),
        "entity_ids": ([engine.entities.get(one).id for one in PEOPLE],),
    }
    tool = TOOL_NAMES[name]
    box = make_toolbox(engine, [tool], further=None)
    wanted = [p.name for p in tool.parameters if p.name in values and name != "list_communities"]
    ways = product(*(values[one] for one in wanted))
    asked = [dict(zip(wanted, way, strict=True)) for way in ways]
    return "\n".join(box.call(name, given, caller=Caller(name="ann")).text for given in asked)


@pytest.mark.parametrize("tool", READING)
def test_a_page_tells_no_more_than_the_tool_that_its_caller_may_call(site: Site, tool: str) -> None:
    client, engine, tokens = site
    texts = told(engine, tool)
    allowed = {mark for mark in MARKS if mark in texts}
    for path in addresses(client, tokens["changed-by-ann"]):
        status, text = get(client, tokens[tool], path)
        # What was asked comes back in the page: it tells nothing.
        seen = re.sub(r'(?:value|content|href|hx-get|data-[\w-]+)=(?:"[^"]*"|\'[^\']*\')', "", text)
        said = re.sub(r"<h1.*?</h1>|<title.*?</title>", "", seen) if "?" in path else seen
        extra = {mark for mark in MARKS if mark in said} - allowed
        assert status in (200, 303, 400, 403, 404), (path, status)
        assert not extra, f"{path} tells a token of {tool} alone of {sorted(extra)}"


def test_the_owner_of_a_token_that_may_all_sees_all(site: Site) -> None:
    client, _, tokens = site
    token = tokens["changed-by-ann"]
    texts = [get(client, token, path) for path in addresses(client, token)]
    seen = "\n".join(text for status, text in texts if status == 200)

    assert {status for status, _ in texts} == {200, 303, 400}, "mill.md has one version alone"
    assert sum(status == 400 for status, _ in texts) == 1
    assert [mark for mark in MARKS if mark not in seen] == ["another-tenant", "changed-by-ann"]


def test_an_administrator_of_a_tenant_sees_nothing_of_the_server(site: Site) -> None:
    client, engine, tokens = site
    status, text = get(client, tokens["changed-by-ann"], f"{PREFIX}/settings")

    assert status == 200
    assert "search.limit" in text
    for hidden in (str(engine.settings.store), "changed-by-ann", "only-", "another-tenant"):
        assert hidden not in text
    assert not re.search(r"<code>(?:store|serve|access|neo4j|qdrant|chroma|packs)[.<]", text)
