"""Every tool with thousands of arguments, sound and odd: it answers, and says what it can do."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp_types import TextContent

import clew
from clew.mcp.server import create_server
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.catalogue import TOOLS, make_toolbox
from clew.tools.spec import Tool
from clew.tools.toolbox import Outcome, Toolbox
from tests.unit.odd_arguments import arguments_of

NOTES = {
    "mill.md": "# The mill\n\nJonas Reed built the mill at Harrow Ford in 1820. Jonas Reed works for"
    " Tarn Abbey.",
    "abbey.md": "Tarn Abbey is part of the Lorne Estate. Ada Quill met Jonas Reed in 1831.",
    "long.md": "Ada Quill lives in Harrow Ford. " * 300,
    "東京.md": "東京は日本の首都です。東京タワーは1958年に完成しました。",
}
MOST_CHARACTERS = 1_000_000
ERROR_CHARACTERS = 2_000
_LEAKED = re.compile(r"Traceback|\b[A-Za-z_.]*[a-z](?:Error|Exception)\b|failed inside Clew|sqlite")


class CountsCharacters(HashEmbedder):
    """Counts as a model does to which a text is foreign: each sign and foreign letter a token."""

    def count_tokens(self, text: str) -> int:
        return len(re.findall(r"[A-Za-z0-9]+|\S", text))


@dataclass(frozen=True)
class Fuzzed:
    """A store with documents, memory and relations, and what it knows by name."""

    folder: Path
    engine: clew.Clew
    toolbox: Toolbox
    known: dict[str, list[object]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("fuzzed")
    for name in ("files", "elsewhere", "store"):
        (folder / name).mkdir()
    for name, text in NOTES.items():
        (folder / "files" / name).write_text(text, encoding="utf-8")
    chosen = load_settings(store=folder / "store", access={"roots": [folder / "files"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "elsewhere")
        with clew.Clew(chosen, embedder=CountsCharacters()) as engine:
            found = Fuzzed(folder, engine, make_toolbox(engine))
            _fill(found)
            yield found
            # The next call takes the copy as a path: what was deleted comes back now and then.
            assert found.toolbox.call("backup", {"path": "last.db"}).is_error is False
            assert engine.check().problems == ()
            assert Path.cwd() == folder / "elsewhere"
        assert sorted(os.listdir(folder)) == ["elsewhere", "files", "store"]
        assert os.listdir(folder / "elsewhere") == []


def _fill(fuzzed: Fuzzed) -> None:
    def call(name: str, **arguments: object) -> Outcome:
        outcome = fuzzed.toolbox.call(name, arguments)
        assert not outcome.is_error, outcome.text
        return outcome

    for name, text in NOTES.items():
        call("ingest_document", text=text, source=name, metadata=[{"name": "year", "value": "2020"}])
    people = [
        {"name": name, "entityType": "person", "observations": [f"{name} rows.", "Likes tea."]}
        for name in ("Mara Lind", "Piet Oss", "東京 太郎")
    ]
    call("create_entities", entities=people)
    knows = {"from": "Mara Lind", "to": "Piet Oss", "relationType": "knows"}
    call("create_relations", relations=[knows])
    jobs = [str(call("ingest_document", path=path).content["job_id"]) for path in ("mill.md", ".")]
    call("backup", path="start.db")
    documents = [name for d in fuzzed.engine.documents() for name in (d.id, d.source)]
    passages = [chunk.public_id for chunk in fuzzed.engine.readings.unread(after=0, limit=5)]
    names = ["Mara Lind", "Piet Oss", "東京 太郎", "Jonas Reed", "Tarn Abbey", "Ada Quill"]
    asked = ["Who built the mill?", "What is the Lorne Estate?", "東京", "met in 1831", *names]
    strategies = ["hybrid", "global", "temporal", "keyword", "topic", "hierarchical", "drift"]
    fuzzed.known.update(
        {
            "": [*names, *NOTES.values(), "knows", "works_at", "Likes tea.", "mill.md", "2020"],
            "document": documents, "id": [*documents, *passages], "source": [*NOTES],
            "passage_ids": passages, "query": asked, "strategy": strategies, "job_id": jobs,
            "path": ["mill.md", ".", "start.db", "start.db", "new.db", "other.db"],
            "cursor": ["0", "1", "2", "1.0", "2.1", "100"], "relation_type": ["knows", "uses"],
            "where": ["year>=2019", "year=2020", "author=Ada"],
            **dict.fromkeys(("since", "until", "as_of"), ["2019", "last week", "2020-02-01"]),
            **dict.fromkeys(("entityName", "from", "to", "source_name", "target"), names),
        }
    )  # fmt: skip


def _budget(tool: Tool, arguments: dict[str, Any]) -> int | None:
    for parameter in tool.parameters:
        if parameter.name == "max_tokens":
            given = arguments.get("max_tokens")
            return int(parameter.default if given is None else given)  # type: ignore[call-overload,no-any-return]
    return None


def check_outcome(engine: clew.Clew, tool: Tool, arguments: dict[str, Any], outcome: Outcome) -> None:
    text = outcome.text
    text.encode()  # no halves of surrogate pairs
    if outcome.is_error:
        assert outcome.content["success"] is False
        assert 10 < len(text) <= ERROR_CHARACTERS, f"{len(text)} characters: {text[:300]}"
        assert not _LEAKED.search(text), text
        return
    assert json.loads(text) == outcome.content
    assert len(text) <= MOST_CHARACTERS
    jsonschema.validate(outcome.content, tool.result)
    budget = _budget(tool, arguments)
    if budget is not None:
        assert engine.embedder.count_tokens(text) <= budget
    cursor = outcome.content.get("next_cursor")
    assert cursor is None or cursor != arguments.get("cursor"), "the next page is this one again"


@given(st.data())
@settings(
    max_examples=2000,
    derandomize=True,
    database=None,
    # What a call does depends on those before: a failure cannot be made smaller.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_tool_answers_whatever_it_is_given(fuzzed: Fuzzed, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(TOOLS))
    arguments = data.draw(arguments_of(tool, fuzzed.known), label=tool.name)
    outcome = fuzzed.toolbox.call(tool.name, arguments)
    check_outcome(fuzzed.engine, tool, arguments, outcome)
