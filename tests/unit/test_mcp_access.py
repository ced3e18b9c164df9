"""Who may call what over MCP, and what the server asks its client."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from pytest_httpserver import HTTPServer

from clew import Clew
from clew.errors import SettingsError
from clew.mcp.auth import Rate, new_token
from clew.mcp.calls import Engines
from clew.mcp.http import http_server, origin_check
from clew.operations.toolbox import OPERATIONS as INFERENCE_TOOLS
from clew.settings import ServeSettings, Settings
from clew.types import document_id
from tests.unit.mcp_tools import TOOLS, address_of, engine_in, settings_for, token_of

# --- Who may do what over HTTP: a real server in a thread, callers with tokens of two
# namespaces.


pytestmark = pytest.mark.anyio
OLD, NEW = "legacy", "2026-07-28"
both = pytest.mark.parametrize("revision", [OLD, NEW])
MILL = "Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey."
BELL = "Edda Rowe cast the bell of Port Anselm. Edda Rowe works for Skerrow Light."
ISSUER, AUDIENCE = "https://login.example.org", "https://clew.example.org/mcp"
ALICE, BOB, CAROL, DAVE = new_token(), new_token(), new_token(), new_token()
TOKENS = [
    token_of("alice", ALICE, "mills", scopes=("read", "write", "admin")),
    token_of("bob", BOB, "bells", "shared", scopes=("read", "write", "admin")),
    token_of("carol", CAROL, "mills", scopes=("read",), tools=("greet", "search")),
    token_of("dave", DAVE, "mills", tools=("greet", "backup")),
]


@dataclass(frozen=True)
class Served:
    """Where a server listens."""

    url: str

    @asynccontextmanager
    async def client(
        self, token: str | None, revision: str = NEW, namespace: str | None = None
    ) -> AsyncIterator[Client]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = self.url if namespace is None else f"{self.url}?namespace={namespace}"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=revision) as client,
        ):
            yield client

    async def post(self, token: str | None = None, **headers: str) -> httpx2.Response:
        """Ask for the list of tools, by hand."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        sent = {"Accept": "application/json, text/event-stream", **headers}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        async with httpx2.AsyncClient() as http:
            return await http.post(self.url, json=message, headers=sent)


@contextmanager
def served(engines: Engines, **how: Any) -> Iterator[Served]:  # noqa: ANN401
    """A server in a thread."""
    with address_of(engines, **how) as address:
        yield Served(f"{address}/mcp")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`mills` and `bells`."""
    folder = tmp_path_factory.mktemp("served")
    settings = settings_for(folder, tokens=TOKENS, profile="full")
    with engine_in(folder, "mills") as mills, engine_in(folder, "bells") as bells:
        mills.add(MILL, source="notes.md", title="The mill")
        bells.add(BELL, source="notes.md", title="The bell")
        with served(Engines(settings, TOOLS, mills)) as server:
            yield server


# --- letting in


async def test_without_a_good_token_nothing_is_told(server: Served) -> None:
    for token in (None, "wrong", ALICE[1], ALICE[0][:-1]):
        answer = await server.post(token)
        assert answer.status_code == 401
        assert "Bearer" in answer.headers["www-authenticate"]
        assert "greet" not in answer.text


@both
async def test_a_caller_sees_and_calls_the_tools_allowed(server: Served, revision: str) -> None:
    async with server.client(CAROL[0], revision) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        kept = await client.call_tool("keep", {"name": "x"})
        dropped = await client.call_tool("drop", {"name": "notes.md", "confirm": True})
        greeted = await client.call_tool("greet", {"name": "Carol"})

    assert tools == ["greet"]
    assert (kept.is_error, dropped.is_error) == (True, True)
    assert greeted.structured_content == {
        "success": True,
        "greeting": "Hello Carol",
        "namespace": "mills",
    }


async def where(client: Client) -> str:
    """The namespace that is served."""
    told = (await client.call_tool("greet", {"name": "Bob"})).structured_content
    assert told is not None
    return str(told["namespace"])


@both
async def test_a_caller_chooses_among_their_namespaces_alone(server: Served, revision: str) -> None:
    for name, expected in ((None, "bells"), ("bells", "bells"), ("shared", "shared")):
        async with server.client(BOB[0], revision, name) as client:
            assert await where(client) == expected
    told = set()
    for name in ("mills", "nowhere"):
        with pytest.raises(BaseExceptionGroup) as error:
            async with server.client(BOB[0], revision, name) as client:
                await where(client)
        told.add(innermost(error.value).replace(name, "X"))
    assert told == {"no namespace 'X' of yours; yours are bells, shared"}


def innermost(error: BaseException) -> str:
    """What the client was told, out of the groups that it comes in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


async def test_secrets_stay_out_of_logs(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await server.post("clew_wrong")
        async with server.client(ALICE[0]) as client:
            await client.call_tool("greet", {"name": "Alice"})

    for secret in (*ALICE, "clew_wrong"):
        assert secret not in caplog.text


# --- two namespaces


async def test_a_stream_tells_of_its_own_namespace_alone(server: Served) -> None:
    uri = "clew://statistics"
    async with (
        server.client(ALICE[0]) as alice,
        server.client(BOB[0]) as bob,
        alice.listen(resource_subscriptions=[uri]) as events,
    ):
        await bob.call_tool("keep", {"name": "bob"})
        with anyio.move_on_after(1.5):
            raise AssertionError(f"told of a change elsewhere: {await anext(events)}")
        await alice.call_tool("keep", {"name": "alice"})
        with anyio.fail_after(10):
            await anext(events)


# --- limits


async def test_a_caller_who_asks_too_often_waits(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, tokens=TOKENS, rate_per_minute=3)
    with served(Engines(settings, TOOLS)) as server:
        statuses = [(await server.post(ALICE[0])).status_code for _ in range(4)]
        other = await server.post(BOB[0])
        last = await server.post(ALICE[0])

    assert [status == 429 for status in (*statuses, other.status_code)] == [
        *[False] * 3,
        True,
        False,
    ]
    assert int(last.headers["retry-after"]) > 0


@pytest.mark.parametrize("proxies", [(), ("127.0.0.1",)])
async def test_a_header_resets_no_rate(tmp_path: Path, proxies: tuple[str, ...]) -> None:
    """Where nobody shows a token, whoever reaches the address may claim to be a proxy."""
    settings = settings_for(tmp_path, rate_per_minute=5, trusted_proxies=proxies)
    with (
        engine_in(tmp_path) as engine,
        served(Engines(settings, TOOLS, engine), insecure=True) as server,
    ):
        sent = [{"X-Forwarded-For": f"10.0.0.{number}"} for number in range(8)]
        statuses = [(await server.post(**headers)).status_code for headers in sent]

    assert [status == 429 for status in statuses] == [False] * 5 + [True] * 3


def test_the_rate_evens_out_over_time() -> None:
    times = iter([step / 4 for step in range(1200)])
    rate = Rate(60, clock=lambda: next(times))
    passed = [step / 4 for step in range(1200) if not rate.early("caller")]

    assert len(passed) == pytest.approx(60 + 1200 / 4, abs=2)
    assert len([t for t in passed if t > 240]) == pytest.approx(60, abs=2)


# --- settings


def test_nobody_is_let_in_by_accident(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nobody could call"):
        http_server(Engines(settings_for(tmp_path), TOOLS))
    with pytest.raises(SettingsError, match="would let anybody in"):
        http_server(Engines(settings_for(tmp_path, host="0.0.0.0"), TOOLS), insecure=True)
    with pytest.raises(SettingsError, match=r"needs serve\.allowed_hosts"):
        origin_check(ServeSettings(host="0.0.0.0"))


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        *(
            ({"tokens": tokens}, reason)
            for tokens, reason in (
                ([token_of("a", ALICE, "x"), token_of("a", BOB, "x")], "differ in name"),
                ([token_of("a", ALICE, "x"), token_of("b", ALICE, "x")], "differ in sha256"),
                ([token_of("a", ALICE, "x", scopes=("write",))], "expected read"),
                ([token_of("a", (ALICE[0], ALICE[0]), "x")], r"serve\.tokens\.0\.sha256"),
                ([token_of("a", ALICE, "../x")], "should match pattern"),
            )
        ),
        ({"oauth": {"issuer": ISSUER}}, "together, or none"),
    ],
)
def test_settings_of_callers_that_cannot_be(
    tmp_path: Path, serve: dict[str, object], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason) as error:
        settings_for(tmp_path, **serve)

    assert ALICE[0] not in str(error.value)
    assert ALICE[1] not in str(error.value)


# --- OAuth


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def jwks_url(key: RSAPrivateKey, make_httpserver: HTTPServer) -> str:
    """Where the issuer's public key is."""
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    told = {"keys": [{**public, "kid": "one", "use": "sig"}]}
    make_httpserver.expect_request("/keys").respond_with_json(told)
    return make_httpserver.url_for("/keys")


def signed(key: RSAPrivateKey, **claims: object) -> str:
    good = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "dora",
        "exp": time.time() + 60,
        "scope": "clew:read clew:write openid",
    }
    return jwt.encode({**good, **claims}, key, algorithm="RS256", headers={"kid": "one"})


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory, jwks_url: str) -> Iterator[Served]:
    """A server that takes tokens of the issuer."""
    folder = tmp_path_factory.mktemp("issued")
    settings = oauth_settings(folder, jwks_url)
    with engine_in(folder, "mills") as engine, served(Engines(settings, TOOLS, engine)) as server:
        yield server


def oauth_settings(folder: Path, jwks_url: str, **more: str) -> Settings:
    oauth = {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": jwks_url, **more}
    return settings_for(folder, oauth=oauth, tokens=TOKENS)


async def test_a_token_of_the_issuer_lets_in_to_a_namespace_of_its_own(
    issued: Served, key: RSAPrivateKey
) -> None:
    seen = {}
    # A client of the same name as the owner of a static token is somebody else.
    for subject, client_id in (("dora", "alice"), ("emil", "alice"), ("\U0001f600", "\U0001f600")):
        async with issued.client(signed(key, sub=subject, client_id=client_id)) as client:
            seen[subject] = await where(client)
            tools = [tool.name for tool in (await client.list_tools()).tools]

    assert len(set(seen.values())) == 3
    assert all(namespace.startswith("user-") for namespace in seen.values())
    assert ("keep" in tools, "drop" in tools) == (True, False)


HALF = "\ud800"
"""Of a pair: no text."""


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"aud": "https://elsewhere.example.org"}, 401),
        ({"iss": "https://elsewhere.example.org"}, 401),
        ({"exp": time.time() - 3600}, 401),
        ({"exp": float("inf")}, 401),
        ({"exp": 10**400}, 400),  # good for ever, and then asked without a session
        ({"sub": None}, 401),
        ({"sub": 5}, 401),
        ({"sub": HALF}, 401),
        ({"client_id": HALF}, 401),
        ({"teams": HALF}, 401),
        ({"scope": "openid"}, 403),
        ({"scope": "clew:write"}, 403),
        *(({"scope": scope}, 403) for scope in (5, None, True, {"a": 1}, [5], 1.5)),
    ],
)
async def test_other_tokens_are_refused(
    issued: Served, key: RSAPrivateKey, claims: dict[str, object], status: int
) -> None:
    answer = await issued.post(signed(key, **claims))

    assert answer.status_code == status
    assert json.dumps(claims) not in answer.text


async def test_forged_tokens_are_refused(issued: Served, key: RSAPrivateKey) -> None:
    claims = jwt.decode(signed(key), options={"verify_signature": False})
    forged = [
        signed(generate_private_key(public_exponent=65537, key_size=2048)),
        jwt.encode(claims, "", algorithm="none", headers={"kid": "one"}),
        jwt.encode(claims, "a" * 32, algorithm="HS256", headers={"kid": "one"}),
    ]

    assert [(await issued.post(token)).status_code for token in forged] == [401, 401, 401]


async def test_a_claim_names_the_namespaces(
    tmp_path: Path, key: RSAPrivateKey, jwks_url: str
) -> None:
    settings = oauth_settings(tmp_path, jwks_url, namespace_claim="teams")
    with engine_in(tmp_path, "mills") as engine, served(Engines(settings, TOOLS, engine)) as server:
        token = signed(key, teams=["mills", "../etc", "bells"])
        async with server.client(token, namespace="bells") as client:
            assert await where(client) == "bells"
        assert (await server.post(signed(key, teams=["../etc"]))).status_code == 401


async def test_metadata_names_the_issuer(issued: Served) -> None:
    place = "/.well-known/oauth-protected-resource/mcp"
    refused = await issued.post()
    async with httpx2.AsyncClient() as http:
        found = (await http.get(issued.url.removesuffix("/mcp") + place)).json()

    rights = ["clew:read", "clew:write", "clew:admin"]
    named = {"resource": AUDIENCE, "authorization_servers": [ISSUER], "scopes_supported": rights}
    assert found.items() >= named.items()
    assert place in refused.headers["www-authenticate"]


# --- Nothing can be inferred of another namespace: every answer is the same whether it is
# there.


NEXT_DOOR_ALONE = 9
"""An id of an entity, a passage and a relation that the caller's own namespace has not."""
NAMES = ("Edda Rowe", "secret.md")
SECRETS = "The Lantern Guild depends on Skerrow Light. Ilse Marrable works for the Lantern Guild."
_RANDOM = re.compile(
    r'\\?"job_id\\?": ?\\?"[0-9a-f]+|'
    r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.+Z-]+"
    r'|\\?"timings_ms\\?": ?\{[^}]*\}|\\?"(?:bytes|progress|completed|total)\\?": ?[\d.null]+'
    r'|\\?"status\\?": ?\\?"(?:queued|running|completed)\\?"'
)
"""What differs from run to run."""


class NextDoor:
    """What is in the other namespace, and how it is called."""

    def __init__(self, engine: Clew) -> None:
        engine.add(BELL, source="notes.md", title="The bell")
        engine.add("Ilse Marrable keeps the light.", source="secret.md", title="The light")
        for number in range(NEXT_DOOR_ALONE):
            engine.add(f"Anselm Keeper {number}. {SECRETS}", source=f"secret-{number}.md")
        added = engine.tools.call("ingest_document", {"text": SECRETS})
        self.names = {
            "job_id": (added.content["job_id"],),
            "url": ("clew://documents/secret.md",),
            "document": ("secret.md", document_id("secret.md")),
            "id": (document_id("secret.md"),),
            "path": ("../bells/clew.db", "../bells", "../nowhere/clew.db"),
            "cursor": ("9", "secret.md"),
        }
        assert engine.store.entities([NEXT_DOOR_ALONE])
        assert engine.store.chunks([NEXT_DOOR_ALONE])


@pytest.mark.parametrize("profile", ["full", "memory"])
async def test_all_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    with_it, names = await told_in(tmp_path / "with", monkeypatch, profile, None)
    without_it, _ = await told_in(tmp_path / "none", monkeypatch, profile, names)

    assert len(with_it) > 60
    assert "Jonas Reed" in str(with_it)
    for one, other in zip(with_it, without_it, strict=True):
        assert one == other


async def told_in(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    names: dict[str, tuple[str, ...]] | None,
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """All that the caller is told; without names of what is next door, there is something."""
    here = folder / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    settings = settings_for(folder, tokens=TOKENS, profile=profile)
    with ExitStack() as opened:
        mills = opened.enter_context(engine_in(folder, "mills"))
        mills.add(MILL, source="notes.md", title="The mill")
        assert not mills.store.entities([NEXT_DOOR_ALONE])
        if names is None:
            bells = opened.enter_context(engine_in(folder, "bells"))
            names, before = NextDoor(bells).names, bells.store.statistics()
        server = opened.enter_context(served(Engines(settings, INFERENCE_TOOLS, mills)))
        async with server.client(ALICE[0]) as client:
            told = [one async for one in inference_everything(client, names)]
        if (folder / "bells").exists():
            assert bells.store.statistics()["generation"] == before["generation"]
    return [_RANDOM.sub("X", one.replace(str(folder), "FOLDER")) for one in told], names


async def inference_everything(client: Client, names: dict[str, tuple[str, ...]]) -> Any:  # noqa: ANN401
    """Every tool, resource, prompt and completion, with names of what is next door."""
    for tool in (await client.list_tools()).tools:
        for given in inference_guesses(tool.input_schema, names):
            result = await client.call_tool(tool.name, given)
            yield f"{tool.name} {json.dumps(given)}: {result.model_dump_json()}"
    own = [resource.uri for resource in (await client.list_resources()).resources]
    others = [f"documents/{name}" for name in names["document"]]
    others += ["entities/Edda%20Rowe", f"entities/{NEXT_DOOR_ALONE}"]
    others += ["collections/bells", "collections/nowhere", "bells/schema"]
    for uri in (*own, *(f"clew://{place}" for place in others)):
        yield f"{uri}: {await read(client, uri)}"
    for prompt in (await client.list_prompts()).prompts:
        got = await client.get_prompt(prompt.name, {a.name: "Edda" for a in prompt.arguments or []})
        yield got.model_dump_json()
    template = ResourceTemplateReference(uri="clew://documents/{document}{?offset}")
    explain = PromptReference(name="explain_path")
    completed: dict[str, PromptReference | ResourceTemplateReference] = {
        "document": template,
        "collection": template,
        "source": explain,
        "target": explain,
    }
    for name, ref in completed.items():
        for begun in ("", "e", "b", "Edda", "secret", "bel"):
            found = await client.complete(ref, {"name": name, "value": begun})
            yield f"{name} {begun}: {found.model_dump_json()}"


async def read(client: Client, uri: str) -> str:
    try:
        return (await client.read_resource(uri)).model_dump_json()
    except MCPError as error:
        return str(error)


def inference_guesses(
    schema: dict[str, Any], names: dict[str, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """What is required, and that with each value of each parameter."""
    ways = {name: values(name, kind, names) for name, kind in schema["properties"].items()}
    usual = {name: ways[name][0] for name in schema.get("required", [])}
    yield usual
    for name, found in sorted(ways.items()):
        for value in found:
            yield {**usual, name: value}


def values(name: str, schema: dict[str, Any], names: dict[str, tuple[str, ...]]) -> list[Any]:
    """Values of a parameter that name something next door."""
    kind = schema["type"]
    if not isinstance(kind, str):
        kind = kind[0]
    if kind == "string":
        return [value for value in schema.get("enum", ()) if value] or list(names.get(name, NAMES))
    if kind == "array":
        return [[item] for item in values(name, schema["items"], names)]
    if kind == "object":
        fields = schema.get("properties", {})
        return [{field: values(field, fields[field], names)[0] for field in fields}]
    return [{"integer": NEXT_DOOR_ALONE, "number": 0.5, "boolean": True}[kind]]
