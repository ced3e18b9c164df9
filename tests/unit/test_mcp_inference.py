"""Nothing can be inferred of another namespace: every answer is the same whether it is there.

One world has a namespace next door, full of things; the other has none. The same caller makes the
same calls in both, with the names and ids of what is next door, and is told the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from clew import Clew
from clew.mcp.engines import Engines
from clew.tools.toolbox import TOOLS
from clew.types import document_id
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, BELL, MILL, TOKENS, served

pytestmark = pytest.mark.anyio
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
        server = opened.enter_context(served(Engines(settings, TOOLS, mills)))
        async with server.client(ALICE[0]) as client:
            told = [one async for one in everything(client, names)]
        if (folder / "bells").exists():
            assert bells.store.statistics()["generation"] == before["generation"]
    return [_RANDOM.sub("X", one.replace(str(folder), "FOLDER")) for one in told], names


async def everything(client: Client, names: dict[str, tuple[str, ...]]) -> Any:  # noqa: ANN401
    """Every tool, resource, prompt and completion, with names of what is next door."""
    for tool in (await client.list_tools()).tools:
        for given in guesses(tool.input_schema, names):
            result = await client.call_tool(tool.name, given)
            yield f"{tool.name} {json.dumps(given)}: {result.model_dump_json()}"
    own = [resource.uri for resource in (await client.list_resources()).resources]
    for uri in (*own, *addresses(names)):
        yield f"{uri}: {await read(client, uri)}"
    for prompt in (await client.list_prompts()).prompts:
        got = await client.get_prompt(prompt.name, {a.name: "Edda" for a in prompt.arguments or []})
        yield got.model_dump_json()
    template = ResourceTemplateReference(uri="clew://documents/{document}{?offset}")
    explain = PromptReference(name="explain_path")
    for ref, name in (
        (template, "document"),
        (template, "collection"),
        (explain, "source"),
        (explain, "target"),
    ):
        for begun in ("", "e", "b", "Edda", "secret", "bel"):
            found = await client.complete(ref, {"name": name, "value": begun})
            yield f"{name} {begun}: {found.model_dump_json()}"


async def read(client: Client, uri: str) -> str:
    try:
        return (await client.read_resource(uri)).model_dump_json()
    except MCPError as error:
        return str(error)


def addresses(names: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for name in ("Edda%20Rowe", str(NEXT_DOOR_ALONE)):
        yield f"clew://entities/{name}"
    for name in names["document"]:
        yield f"clew://documents/{name}"
    yield from ("clew://collections/bells", "clew://collections/nowhere", "clew://bells/schema")


def guesses(schema: dict[str, Any], names: dict[str, tuple[str, ...]]) -> Iterator[dict[str, Any]]:
    """What is required, and that with each other parameter by itself, in every way."""
    properties, required = schema["properties"], schema.get("required", [])
    for name in required or [""]:
        for value in values(name, properties[name], names) if name else [None]:
            rest = {other: first(other, properties[other], names) for other in required}
            yield {**rest, name: value} if name else rest
    for name in sorted(set(properties) - set(required)):
        for value in values(name, properties[name], names):
            yield {**{r: first(r, properties[r], names) for r in required}, name: value}


def first(name: str, schema: dict[str, Any], names: dict[str, tuple[str, ...]]) -> Any:  # noqa: ANN401
    return next(iter(values(name, schema, names)))


def values(name: str, schema: dict[str, Any], names: dict[str, tuple[str, ...]]) -> list[Any]:
    """Values of a parameter that name something next door."""
    types = schema["type"]
    kind = types if isinstance(types, str) else types[0]
    if kind == "string":
        return [value for value in schema.get("enum", ()) if value] or list(names.get(name, NAMES))
    if kind == "integer":
        return [NEXT_DOOR_ALONE]
    if kind == "array":
        return [[item] for item in values(name, schema["items"], names)]
    if kind == "object":
        fields = schema.get("properties", {})
        return [{field: first(field, fields[field], names) for field in fields}]
    return [0.5 if kind == "number" else True]
