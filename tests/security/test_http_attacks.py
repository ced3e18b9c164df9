"""What a page that was lured here, a clever client or a limited token tries over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from clew.errors import SettingsError
from clew.mcp.auth import COMPLETED, PROMPTED, TELLING
from clew.mcp.calls import Engines
from clew.mcp.http import http_app, http_server
from clew.mcp.server import FIXED, TEMPLATES, prompts
from clew.operations.toolbox import OPERATIONS as REGISTRY
from tests.e2e.conftest import run_clew
from tests.e2e.test_mcp_http import serving
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for, token_of
from tests.unit.test_mcp_access import ALICE, TOKENS, Served, both, served

pytestmark = pytest.mark.anyio
DIGITS = "7" * 5000
DEEP = "[" * 100_000


# --- pages that were lured here


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("site")
    settings = settings_for(
        folder,
        tokens=TOKENS,
        allowed_hosts=("clew.example.org", "inner.example.org:8080"),
        allowed_origins=("https://app.example.org", "https://any.example.org:*"),
    )
    with engine_in(folder, "mills") as mills, served(Engines(settings, REGISTRY, mills)) as server:
        yield server


ORIGINS_OF_OTHERS = (
    "http://localhost",
    "http://localhost:5173",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://[::1]:1",
    "http://localhost:1.evil.com",
    "http://localhost:1" + "@evil.com",
    "http://localhost:80:80",
    "http://localhost:",
    "http://localhost:8766/",
    "http://localhost.evil.com",
    "http://127.0.0.1.evil.com",
    "http://[::1].evil.com",
    "http://user@localhost",
    "https://localhost",
    "localhost",
    "null",
    "",
    "file://",
    "https://app.example.org.evil.com",
    "https://app.example.org:444",
    "http://app.example.org",
    "https://any.example.org:1.evil.com",
)
ORIGINS_OF_ITS_OWN = (
    "https://app.example.org",
    "https://app.example.org:443",
    "https://any.example.org:8443",
)
HOSTS_OF_OTHERS = (
    "evil.example.org",
    "localhost:1.evil.com",
    "localhost.evil.com:8766",
    "127.0.0.1:80:80",
    "127.0.0.1" + "@evil.com",
    "clew.example.org:1x",
    "inner.example.org:8081",
    "inner.example.org",
)
HOSTS_OF_ITS_OWN = (
    "localhost",
    "LOCALHOST:9",
    "[::1]:8766",
    "clew.example.org",
    "inner.example.org:8080",
)


async def test_hosts_and_origins_of_others_are_refused(site: Served) -> None:
    own = site.url.removesuffix("/mcp")
    answers = {
        "others": [await site.post(ALICE[0], Origin=origin) for origin in ORIGINS_OF_OTHERS],
        "elsewhere": [await site.post(ALICE[0], Host=host) for host in HOSTS_OF_OTHERS],
        "own": [
            *[await site.post(ALICE[0], Host=host) for host in HOSTS_OF_ITS_OWN],
            *[await site.post(ALICE[0], Origin=o) for o in (*ORIGINS_OF_ITS_OWN, own, own.upper())],
        ],
    }
    told = {name: [answer.status_code for answer in some] for name, some in answers.items()}

    assert told["others"] == [403] * len(ORIGINS_OF_OTHERS)
    assert told["elsewhere"] == [421] * len(HOSTS_OF_OTHERS)
    assert not {403, 421} & {*told["own"]}


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that asks nobody for a token, with its pages and its API."""
    folder = tmp_path_factory.mktemp("open")
    with serving(folder, "--insecure") as (url, _):
        yield url.removesuffix("/mcp")


@pytest.mark.parametrize("path", ["/mcp", "/ask", "/api/v1/documents", "/ui/documents"])
def test_without_tokens_only_pages_of_the_server_itself_may_call(open_site: str, path: str) -> None:
    own = open_site.partition("://")[2]
    others = ["http://localhost:5173", "http://127.0.0.1:1", "http://127.0.0.1", "null"]
    others += [f"https://{own}", f"http://localhost:{own.rpartition(':')[2]}"]
    with httpx2.Client(base_url=open_site, timeout=60) as http:
        for origin in others:
            assert http.post(path, json={}, headers={"Origin": origin}).status_code == 403, origin
        answer = http.post(path, json={}, headers={"Origin": open_site})
    assert answer.status_code != 403 or "form" in answer.text


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", None],
)
def test_without_tokens_only_json_is_taken(open_site: str, kind: str | None) -> None:
    sent = json.dumps({"text": "Jonas Reed built the mill.", "source": "x.md", "query": "x"})
    headers = {} if kind is None else {"Content-Type": kind}
    with httpx2.Client(base_url=open_site, timeout=60) as http:
        for path in ("/ask", "/api/v1/documents", "/api/v1/merges"):
            refused = http.post(path, content=sent.encode(), headers=headers)
            assert refused.status_code == 415
            assert "application/json" in refused.json()["detail"]
        assert http.get("/api/v1/documents").json()["documents"] == []


@pytest.mark.parametrize(
    "setting", [{"allowed_hosts": ("a/b",)}, {"allowed_origins": ("app.example.org",)}]
)
def test_a_setting_that_cannot_be_compared_is_refused(
    tmp_path: Path, setting: dict[str, tuple[str, ...]]
) -> None:
    settings = settings_for(tmp_path, tokens=TOKENS, **setting)
    engines = Engines(settings, TOOLS)

    with pytest.raises(SettingsError, match="cannot be read; expected one such as"):
        http_app(http_server(engines), settings.serve)


# --- a token that is limited to some tools


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Any]:
    """A function from the tools of a token to a server that takes it, with one document."""
    with engine_in(tmp_path, "mills") as mills:
        mills.add("Jonas Reed works for Tarn Abbey.", source="mill.md", title="The mill")

        def serve(*tools: str) -> Any:  # noqa: ANN401
            tokens = [token_of("eve", ALICE, "mills", tools=tools)]
            settings = settings_for(tmp_path, tokens=tokens, profile="full")
            return served(Engines(settings, REGISTRY, mills))

        yield serve


ARGUMENTS = {
    "research_question": {"question": "x"},
    "summarise_topic": {"topic": "x"},
    "review_relations": {"entity": "x"},
    "explain_path": {"source": "x", "target": "x"},
}


async def reachable(client: Client) -> dict[str, list[str]]:
    """What a client can list, read, be prompted with and complete."""
    uris = [resource.uri for resource in FIXED]
    uris += ["clew://documents/mill.md", "clew://entities/Tarn%20Abbey", "clew://collections/mills"]
    listed = await client.list_resources()
    templates = await client.list_resource_templates()
    template = ResourceTemplateReference(uri="clew://documents/{document}{?offset}")
    completed = []
    for argument in sorted(COMPLETED):
        given = {"name": argument, "value": "m" if argument in ("document", "collection") else "Ta"}
        if (await client.complete(template, given)).completion.values:
            completed.append(argument)
    return {
        "listed": [resource.name for resource in listed.resources],
        "templates": [template.name for template in templates.resource_templates],
        "read": [u.split("/")[2] for u in uris if await there(client.read_resource(u))],
        "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
        "prompted": [n for n in PROMPTED if await there(client.get_prompt(n, ARGUMENTS[n]))],
        "completed": completed,
    }


async def there(asked: Awaitable[object]) -> bool:
    """Whether there is what is asked for, or at least something that says otherwise."""
    try:
        await asked
    except MCPError as error:
        return not re.search("nothing at|Unknown prompt", str(error))
    return True


@both
async def test_a_token_reads_what_its_tools_tell(limited: Any, revision: str) -> None:  # noqa: ANN401
    nothing: dict[str, list[str]] = {
        "listed": [],
        "templates": [],
        "read": [],
        "prompts": [],
        "prompted": [],
        "completed": [],
    }
    prompts = ["summarise_topic", "explain_path"]
    told = {
        ("search", "query_documents"): nothing | {"prompts": prompts, "prompted": prompts},
        ("get_document", "list_documents", "get_entity_neighbors"): nothing
        | {
            "listed": ["mill.md"],
            "templates": ["document", "entity"],
            "read": ["documents", "entities"],
            "completed": ["document", "entity", "source", "target", "topic"],
        },
    }
    for tools, expected in told.items():
        with limited(*tools) as server:
            async with server.client(ALICE[0], revision) as client:
                assert await reachable(client) == expected


async def test_a_stream_tells_a_limited_token_nothing(limited: Any, tmp_path: Path) -> None:  # noqa: ANN401
    with limited("search", "ingest_document") as server:
        async with (
            server.client(ALICE[0]) as client,
            client.listen(
                resource_subscriptions=["clew://statistics"], resources_list_changed=True
            ) as events,
        ):
            await client.call_tool("ingest_document", {"text": "Edda Rowe cast a bell."})
            with anyio.move_on_after(1.5):
                raise AssertionError(f"told of {await anext(events)}")


def test_what_is_derived_speaks_of_all_there_is() -> None:
    named = {tool.name for tool in REGISTRY}
    uris = [str(one.uri) for one in FIXED] + [one.uri_template for one in TEMPLATES]
    kinds = {re.split("[/{]", uri.removeprefix("clew://"))[0] for uri in uris}
    needed = {
        prompt.name: {*re.findall("[a-z_]+", str(prompt.fn(**ARGUMENTS[prompt.name])))} & named
        for prompt in prompts()
    }

    assert set(TELLING) == kinds | {"sources"}
    assert set().union(*TELLING.values()) <= named
    assert needed == PROMPTED, "a prompt needs the tools that it names"


# --- what no program may answer with an error of its own


@pytest.mark.parametrize(
    "body",
    [
        DEEP.encode(),
        b'{"a":' * 100_000,
        f'{{"name": "a", "size": {DIGITS}}}'.encode(),
        b"\xff\xfe{",
    ],
)
async def test_a_body_that_cannot_be_read_is_the_senders_fault(site: Served, body: bytes) -> None:
    headers = {
        "Authorization": f"Bearer {ALICE[0]}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with httpx2.AsyncClient(headers=headers) as http:
        called = await http.post(site.url, content=body)

    assert "set_int_max_str_digits" not in called.text
    assert 400 <= called.status_code < 500


@pytest.mark.parametrize("given", ["[" * 100_000, f'{{"entity_id": {DIGITS}}}', '{"a":' * 20_000])
def test_the_command_line_has_one_line_for_it(tmp_path: Path, given: str) -> None:
    done = run_clew("call", "get_entity_neighbors", given, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "are no JSON (" in done.stderr
    assert "set_int_max_str_digits" not in done.stderr
