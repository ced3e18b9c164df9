"""A month of memory, as an assistant keeps it: told, corrected, ended, moved, merged, asked.

`month_of_memory.jsonl` has a line a step: the day, what is done, and with what. A question names
the facts that must stand in what comes first, and those that must not stand there as if they were
so now. What counts is what an assistant reads: the first statement that holds, and the first
passage. Nothing here pins how either is worded.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from mcp.client.client import Client

import clew
import clew.indexing.manual_graph
import clew.stores.backend
from clew.engine.state import EngineState
from clew.mcp.calls import Engines
from clew.mcp.server import ClewServer
from clew.operations.toolbox import OPERATIONS
from clew.settings import load_settings

pytestmark = pytest.mark.anyio
SCRIPT = Path(__file__).with_name("month_of_memory.jsonl")
RIGHT = 0.9
"""Share of the questions that must be right, as wholes."""
NOT_SO = ("ended", "planned", "earlier")
"""What a statement is marked by that does not hold now."""


class Clock:
    """The day that it is in the script, for all that asks what time it is."""

    moment = datetime(2026, 1, 1, tzinfo=UTC)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        clock = self

        class Told(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Told:
                # A moment later each time, as it is between two calls.
                clock.moment = clock.moment.replace(microsecond=clock.moment.microsecond + 1)
                return cast("Told", clock.moment.astimezone(tz))

        for module in (clew.stores.backend, clew.indexing.manual_graph):
            patch.setattr(module, "datetime", Told)
        patch.setattr(EngineState, "now", lambda _: Told.now(ZoneInfo("UTC")))

    def set(self, day: str, minute: int) -> None:
        self.moment = datetime.fromisoformat(f"{day}T09:00:00+00:00").replace(
            minute=minute % 60, hour=9 + minute // 60
        )


class Refused(Exception):
    """A tool said that it did not do something."""


@dataclass
class Ledger:
    """What was written and not taken back, and what the tools answered to each write."""

    told: dict[str, list[str]] = field(default_factory=dict)
    """Texts by entity, as named then."""
    related: list[tuple[str, str, str]] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


@dataclass
class Assistant:
    """Writes and asks through the tools, by name."""

    client: Client
    ledger: Ledger = field(default_factory=Ledger)

    async def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, dict(arguments))
        if result.is_error:
            raise Refused(result.content)
        assert isinstance(result.structured_content, Mapping)
        return dict(result.structured_content)

    async def do(self, kind: str, *given: Any) -> None:  # noqa: ANN401
        """One step of the script that writes; what is refused is not lost, it is said so."""
        try:
            await getattr(self, f"_{kind}")(*given)
        except Refused as error:
            self.ledger.refused.append(f"{kind} {given}: {error}")

    async def _entity(self, name: str, kind: str, texts: list[str]) -> None:
        one = {"name": name, "entityType": kind, "observations": texts}
        await self.call("create_entities", entities=[one])
        self.ledger.told.setdefault(name, []).extend(texts)

    async def _tell(self, name: str, text: str) -> None:
        told = [{"entityName": name, "contents": [text]}]
        await self.call("add_observations", observations=told)
        self.ledger.told.setdefault(name, []).append(text)

    async def _relate(self, head: str, kind: str, tail: str) -> None:
        one = {"from": head, "to": tail, "relationType": kind}
        await self.call("create_relations", relations=[one])
        self.ledger.related.append((head, kind, tail))

    async def _unrelate(self, head: str, kind: str, tail: str) -> None:
        one = {"from": head, "to": tail, "relationType": kind}
        await self.call("delete_relations", relations=[one])
        self.ledger.related.remove((head, kind, tail))

    async def _forget(self, name: str, text: str) -> None:
        await self.call(
            "delete_observations", deletions=[{"entityName": name, "observations": [text]}]
        )
        self.ledger.told[name].remove(text)

    async def _delete_entity(self, name: str) -> None:
        await self.call("delete_entities", entityNames=[name])
        del self.ledger.told[name]

    async def _document(self, source: str, text: str) -> None:
        job = await self.call("ingest_document", text=text, source=source)
        while job["status"] in ("queued", "running"):
            job = await self.call("query_job_status", job_id=job["job_id"])
        assert job["status"] == "completed", job
        self.ledger.documents[source] = text

    async def _delete_document(self, source: str) -> None:
        await self.call("delete_document", document=source, confirm=True)
        del self.ledger.documents[source]

    async def _merge(self, name: str, other: str) -> None:
        ids = [await self._id(one) for one in (name, other)]
        await self.call("merge_entities", source_id=ids[0], target_id=ids[1])

    async def _rename(self, name: str, new: str) -> None:
        await self.call("edit_entity", entity_id=await self._id(name), name=new)

    async def _id(self, name: str) -> int:
        return int((await self.call("get_entity_neighbors", entity_id=name))["entity_id"])

    async def opened(self, name: str) -> list[dict[str, Any]]:
        """All pages of `open_nodes` for a name."""
        pages, cursor = [], None
        while True:
            page = await self.call("open_nodes", names=[name], cursor=cursor)
            pages.append(page)
            cursor = page.get("next_cursor")
            if cursor is None:
                return pages


# --- questions ---------------------------------------------------------------------------


@dataclass
class Wrong:
    question: str
    why: str
    seen: list[str]


async def wrong(assistant: Assistant, question: str, expected: Mapping[str, Any]) -> Wrong | None:
    """What is wrong with the answer to a question; None where it is right."""
    answer = await assistant.call("query_documents", query=question, top_k=5)
    first = first_statements(answer)
    whole = json.dumps([answer["results"], answer["context"]["parts"]], ensure_ascii=False)
    reasons = [
        *(
            f"{fact!r} is not first"
            for fact in expected.get("first", ())
            if not any(holds(fact, said) for said, _ in first)
        ),
        *(
            f"{fact!r} is told as if it were so"
            for fact in expected.get("not", ())
            if any(holds(fact, said) and not marked for said, marked in first)
        ),
        *(f"{fact!r} was deleted" for fact in expected.get("never", ()) if fact in whole),
    ]
    return Wrong(question, "; ".join(reasons), [said for said, _ in first]) if reasons else None


def holds(fact: str, text: str) -> bool:
    return fact.casefold() in text.casefold()


def first_statements(answer: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """What stands first of the relations and of the passages; whether it says that it is not so."""
    lines = [
        line.lstrip("> -")
        for part in answer["context"]["parts"]
        if part["kind"] == "subgraph"
        for line in part["text"].splitlines()
        if line.lstrip("> ").startswith("- ")
    ]
    hits = [
        (f"{hit['metadata']['title']}: {hit['text']}", hit["metadata"].get("state", "current"))
        for hit in answer["results"]
    ]
    return [
        *((line, any(f"({state}, " in line for state in NOT_SO)) for line in lines[:1]),
        *((said, state in NOT_SO) for said, state in hits[:1]),
    ]


def steps(script: Path) -> Iterator[tuple[str, str, list[Any]]]:
    for line in script.read_text("utf-8").splitlines():
        day, kind, *given = json.loads(line)
        yield day, kind, given


@asynccontextmanager
async def assistant_at(store: Path) -> AsyncIterator[Assistant]:
    settings = load_settings(store=store, serve={"profile": "full"})
    with clew.Clew(settings) as engine:
        async with Client(ClewServer(Engines(settings, OPERATIONS, engine))) as client:
            yield Assistant(client)


async def lived(assistant: Assistant, clock: Clock, script: Path) -> tuple[int, int, list[Wrong]]:
    """Live through a script; the writes, the questions and what was wrong."""
    writes, asked, mistakes = 0, 0, list[Wrong]()
    for minute, (day, kind, given) in enumerate(steps(script)):
        clock.set(day, minute)
        if kind == "ask":
            asked += 1
            found = await wrong(assistant, given[0], given[1])
            mistakes += [found] if found else []
        else:
            writes += 1
            await assistant.do(kind, *given)
    return writes, asked, mistakes


async def lost(assistant: Assistant) -> list[str]:
    """What was written, is not found again as it was written, and was not refused either."""
    missing: list[str] = []
    for name, texts in assistant.ledger.told.items():
        pages = await assistant.opened(name)
        told = [text for page in pages for one in page["entities"] for text in one["observations"]]
        missing += [f"{name}: no entity"] * (not any(page["entities"] for page in pages))
        missing += [f"{name}: {text}" for text in texts if text not in told]
    for head, kind, tail in assistant.ledger.related:
        pages = await assistant.opened(head)
        ends = await names_of(assistant, [head, tail])
        held = [
            (one["from"], one["relationType"], one["to"])
            for page in pages
            for one in page["relations"]
        ]
        missing += [f"{head} {kind} {tail}"] * ((ends[0], kind, ends[1]) not in held)
    for source, text in assistant.ledger.documents.items():
        document = await assistant.call("get_document", document=source)
        missing += [source] * (document["text"] != text)
    return missing


async def names_of(assistant: Assistant, names: Sequence[str]) -> list[str]:
    """What entities are called now."""
    pages = [await assistant.opened(name) for name in names]
    return [page[0]["entities"][0]["name"] if page[0]["entities"] else "" for page in pages]


def shown(mistakes: Iterable[Wrong]) -> str:
    return "\n".join(f"{one.question}\n   {one.why}\n   {one.seen}" for one in mistakes)


async def test_a_month_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.install(monkeypatch)
    async with assistant_at(tmp_path) as assistant:
        writes, asked, mistakes = await lived(assistant, clock, SCRIPT)
        missing = await lost(assistant)
    assert writes >= 100
    assert asked >= 40
    assert not missing
    assert asked - len(mistakes) >= RIGHT * asked, shown(mistakes)
