"""What a page that was lured here, a clever client or a limited token tries over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from clew.errors import SettingsError
from clew.mcp.auth import COMPLETED, PROMPTED, TELLING
from clew.mcp.engines import Engines
from clew.mcp.http.serve import http_app, http_server
from clew.mcp.resources import FIXED, TEMPLATES, prompts
from clew.mcp.server import create_server
from clew.tools.toolbox import OPERATIONS as REGISTRY
from tests.e2e.conftest import run_clew
from tests.e2e.test_mcp_http import serving
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for
from tests.unit.test_mcp_access import (
    ALICE,
    TOKENS,
    Served,
    oauth_settings,
    served,
    signed,
    token_of,
)
from tests.unit.test_mcp_access import jwks_url as jwks_url
from tests.unit.test_mcp_access import key as key
from tests.unit.test_mcp_server import User, said

pytestmark = pytest.mark.anyio
OLD, NEW = "legacy", "2026-07-28"
both = pytest.mark.parametrize("revision", [OLD, NEW])
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


@pytest.mark.parametrize(
    "origin",
    [
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
    ],
)
async def test_origins_of_others_are_refused(site: Served, origin: str) -> None:
    assert (await site.post(ALICE[0], Origin=origin)).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example.org",
        "https://app.example.org:443",
        "https://any.example.org:8443",
    ],
)
async def test_origins_that_may_call_are_answered(site: Served, origin: str) -> None:
    assert (await site.post(ALICE[0], Origin=origin)).status_code not in {403, 421}


@pytest.mark.parametrize("spelled", [str, str.upper])
async def test_the_pages_of_the_server_itself_are_answered(
    site: Served, spelled: Callable[[str], str]
) -> None:
    own = site.url.removesuffix("/mcp")
    assert (await site.post(ALICE[0], Origin=spelled(own))).status_code not in {403, 421}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.org",
        "localhost:1.evil.com",
        "localhost.evil.com:8766",
        "127.0.0.1:80:80",
        "127.0.0.1" + "@evil.com",
        "clew.example.org:1x",
        "inner.example.org:8081",
        "inner.example.org",
    ],
)
async def test_hosts_of_others_are_refused(site: Served, host: str) -> None:
    assert (await site.post(ALICE[0], Host=host)).status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "[::1]:8766", "clew.example.org", "inner.example.org:8080"]
)
async def test_hosts_that_are_its_own_are_answered(site: Served, host: str) -> None:
    assert (await site.post(ALICE[0], Host=host)).status_code not in {403, 421}


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
    with httpx2.Client() as http:
        for origin in [*others, f"https://{own}", f"http://localhost:{own.rpartition(':')[2]}"]:
            answer = http.post(f"{open_site}{path}", json={}, headers={"Origin": origin})
            assert answer.status_code == 403, origin
        answer = http.post(f"{open_site}{path}", json={}, headers={"Origin": open_site})
        assert answer.status_code != 403 or "form" in answer.text


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", None],
)
@pytest.mark.parametrize("path", ["/ask", "/api/v1/documents", "/api/v1/merges"])
def test_without_tokens_only_json_is_taken(open_site: str, path: str, kind: str | None) -> None:
    sent = json.dumps({"text": "Jonas Reed built the mill.", "source": "x.md", "query": "x"})
    headers = {} if kind is None else {"Content-Type": kind}
    with httpx2.Client() as http:
        refused = http.post(f"{open_site}{path}", content=sent.encode(), headers=headers)
        listed = http.get(f"{open_site}/api/v1/documents")

    assert refused.status_code == 415
    assert "application/json" in refused.json()["detail"]
    assert listed.json()["documents"] == []


async def test_routes_beside_the_protocol_check_origins_too(site: Served) -> None:
    headers = {"Authorization": f"Bearer {ALICE[0]}", "Origin": "http://localhost:1.evil.com"}
    async with httpx2.AsyncClient(headers=headers) as http:
        answer = await http.post(site.url.replace("/mcp", "/ask"), json={})

    assert answer.status_code == 403


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


# --- the rate of whoever shows no token


def test_a_header_resets_no_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SERVE__RATE_PER_MINUTE", "5")
    with serving(tmp_path, "--insecure") as (url, _), httpx2.Client() as http:
        statuses = [
            http.post(url, json={}, headers={"X-Forwarded-For": f"10.0.0.{i}"}).status_code
            for i in range(8)
        ]

    assert 429 not in statuses[:5]
    assert statuses[5:] == [429, 429, 429]


def test_without_tokens_no_proxy_is_believed(tmp_path: Path) -> None:
    """Whoever reaches the address may claim to be a proxy; nothing else tells callers apart."""
    settings = settings_for(tmp_path, rate_per_minute=5, trusted_proxies=["127.0.0.1"])
    with (
        engine_in(tmp_path) as engine,
        served(Engines(settings, TOOLS, engine), insecure=True) as server,
        httpx2.Client() as http,
    ):
        statuses = [
            http.post(server.url, json={}, headers={"X-Forwarded-For": f"10.0.0.{i}"}).status_code
            for i in range(8)
        ]

    assert 429 not in statuses[:5]
    assert statuses[5:] == [429, 429, 429]


# --- an assistant that agrees in the user's name


@both
@pytest.mark.parametrize("answer", ["decline", "cancel"])
async def test_the_user_is_asked_whatever_the_assistant_says(
    tmp_path: Path, revision: str, answer: str
) -> None:
    user = User(answer)
    with engine_in(tmp_path) as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
        server = create_server(engine, settings_for(tmp_path), tools=TOOLS)
        async with Client(server, mode=revision, elicitation_callback=user) as client:
            told = await said(client, "drop", name="mill.md", confirm=True)
        left = len(engine.documents.list())

    assert "the user declined drop" in told
    assert (left, len(user.asked)) == (1, 1)


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


async def reachable(client: Client) -> dict[str, list[str]]:
    """What a client can list, read, be prompted with and complete."""
    uris = [resource.uri for resource in FIXED]
    uris += ["clew://documents/mill.md", "clew://entities/Tarn%20Abbey", "clew://collections/mills"]
    listed = await client.list_resources()
    templates = await client.list_resource_templates()
    completed = []
    template = ResourceTemplateReference(uri="clew://documents/{document}{?offset}")
    for argument in sorted(COMPLETED):
        found = await client.complete(template, {"name": argument, "value": "m"})
        found = (
            found
            if found.completion.values
            else await client.complete(
                PromptReference(name="explain_path"), {"name": argument, "value": "Tarn"}
            )
        )
        completed += [argument] if found.completion.values else []
    return {
        "listed": [resource.name for resource in listed.resources],
        "templates": [template.name for template in templates.resource_templates],
        "read": [uri.split("/")[2] for uri in uris if await can_read(client, uri)],
        "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
        "prompted": [name for name in PROMPTED if await can_prompt(client, name)],
        "completed": completed,
    }


async def can_read(client: Client, uri: str) -> bool:
    try:
        await client.read_resource(uri)
    except MCPError as error:
        return "nothing at" not in str(error)
    return True


async def can_prompt(client: Client, name: str) -> bool:
    arguments = {"research_question": ("question",), "summarise_topic": ("topic",)}
    names = {**arguments, "review_relations": ("entity",), "explain_path": ("source", "target")}
    try:
        await client.get_prompt(name, dict.fromkeys(names[name], "x"))
    except MCPError as error:
        return "Unknown prompt" not in str(error)
    return True


@both
async def test_a_token_for_search_alone_reads_nothing_else(limited: Any, revision: str) -> None:  # noqa: ANN401
    with limited("search", "query_documents") as server:
        async with server.client(ALICE[0], revision) as client:
            found = await reachable(client)

    prompts = ["summarise_topic", "explain_path"]
    assert found == {
        "listed": [],
        "templates": [],
        "read": [],
        "prompts": prompts,
        "prompted": prompts,
        "completed": [],
    }


async def test_a_token_reads_what_its_tools_tell(limited: Any) -> None:  # noqa: ANN401
    with limited("get_document", "list_documents", "get_entity_neighbors") as server:
        async with server.client(ALICE[0]) as client:
            found = await reachable(client)

    assert found == {
        "listed": ["mill.md"],
        "templates": ["document", "entity"],
        "read": ["documents", "entities"],
        "prompts": [],
        "prompted": [],
        "completed": ["document", "entity", "source", "target", "topic"],
    }


async def test_a_stream_tells_a_limited_token_nothing(limited: Any, tmp_path: Path) -> None:  # noqa: ANN401
    import anyio

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
    kinds = {re.split("[/{]", str(r.uri).removeprefix("clew://"))[0] for r in FIXED}
    kinds |= {re.split("[/{]", t.uri_template.removeprefix("clew://"))[0] for t in TEMPLATES}

    assert set(TELLING) == kinds | {"sources"}
    assert set().union(*TELLING.values(), *PROMPTED.values()) <= named
    assert [prompt.name for prompt in prompts()] == list(PROMPTED)


def test_a_prompt_needs_the_tools_that_it_names() -> None:
    named = {tool.name for tool in REGISTRY}
    for prompt in prompts():
        arguments = {a.name: "x" for a in prompt.arguments or []}
        text = str(prompt.fn(**arguments))
        assert set(re.findall(r"[a-z_]+", text)) & named == PROMPTED[prompt.name]


# --- what no program may answer with an error of its own


@both
@pytest.mark.parametrize(
    "uri",
    [
        "clew://[::1",
        "clew://documents/[::1",
        f"clew://entities/{DIGITS}",
        f"clew://documents/{DIGITS}",
        f"clew://documents/mill.md?offset={DIGITS}",
        f"clew://entities/{'9' * 19}",
        "clew://entities/%ff%fe",
        "clew://entities/²",
    ],
)
async def test_an_address_that_cannot_be_is_nothing(
    tmp_path: Path, revision: str, uri: str
) -> None:
    with engine_in(tmp_path) as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
        server = create_server(engine, settings_for(tmp_path), tools=TOOLS)
        async with Client(server, mode=revision) as client:
            with pytest.raises(MCPError, match=r"nothing at|has 5,000 characters") as error:
                await client.read_resource(uri)

    assert error.value.error.code == -32602


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
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {ALICE[0]}"}) as http:
        asked = await http.post(site.url.replace("/mcp", "/ask"), content=body)
        headers = {"Accept": "application/json, text/event-stream"}
        called = await http.post(
            site.url, content=body, headers={**headers, "Content-Type": "application/json"}
        )

    assert asked.status_code == 400
    assert "the body is no JSON (" in asked.json()["error"]
    assert "set_int_max_str_digits" not in asked.text + called.text
    assert 400 <= called.status_code < 500


async def test_numbers_of_tools_have_a_size(tmp_path: Path) -> None:
    with engine_in(tmp_path) as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
        server = create_server(engine, settings_for(tmp_path, profile="full"), tools=REGISTRY)
        async with Client(server) as client:
            for given in (10**30, -(10**30)):
                told = await said(client, "get_entity_neighbors", entity_id=given)
                assert "failed inside" not in told
            told = await said(client, "fetch", id=f"{'0' * 16}#{'7' * 900}")

    assert "failed inside" not in told


@pytest.mark.parametrize("scope", [5, None, True, {"a": 1}, [5], 1.5])
async def test_scopes_of_another_type_are_none(
    tmp_path: Path, key: RSAPrivateKey, jwks_url: str, scope: object
) -> None:
    with served(Engines(oauth_settings(tmp_path, jwks_url), TOOLS)) as server:
        answer = await server.post(signed(key, scope=scope))

    assert answer.status_code == 403


@pytest.mark.parametrize("claims", [{"exp": float("inf")}, {"exp": 10**400}, {"sub": 5}])
async def test_claims_of_another_type_are_refused(
    tmp_path: Path, key: RSAPrivateKey, jwks_url: str, claims: dict[str, object]
) -> None:
    with served(Engines(oauth_settings(tmp_path, jwks_url), TOOLS)) as server:
        answer = await server.post(signed(key, **claims))

    assert 400 <= answer.status_code < 500
    assert json.dumps(claims) not in answer.text


@pytest.mark.parametrize("given", ["[" * 100_000, f'{{"entity_id": {DIGITS}}}', '{"a":' * 20_000])
def test_the_command_line_has_one_line_for_it(tmp_path: Path, given: str) -> None:
    done = run_clew("call", "get_entity_neighbors", given, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "are no JSON (" in done.stderr
    assert "set_int_max_str_digits" not in done.stderr
