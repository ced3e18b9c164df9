"""Every tool with thousands of arguments, sound and odd: it answers, and says what it can do."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp_types import TextContent

import clew
from clew.mcp.calls import Engines
from clew.mcp.server import ClewServer
from clew.operations.spec import Caller, Parameter, Tool
from clew.operations.toolbox import OPERATIONS, Outcome, Toolbox, make_toolbox
from clew.settings import load_settings
from clew.stores.sqlite.journal import SqliteJobs
from clew.testing.fakes import HashEmbedder
from clew.types import ToolProfile

Values: TypeAlias = st.SearchStrategy[Any]

ODD_TEXTS = (
    *("", " ", "\t\n", "\x00", "a\x00b", "\x1b[31m\x07\x7f", "\u202eabc\u200b", "\ufeff", "-", "#"),
    *("\ud800", "x\udfffy", "😀" * 300, "e\u0301" * 50, "İıſß", "ﬃ", "́", "\u2028\u2029"),
    *("日本語の文書", "東京タワー", "Привет, мир", "שלום עולם", "مرحبا", "ไทยภาษา", "नमस्ते"),
    *("東京都港区" * 95, "東京" * 500, "Ж" * 500, "日" * 999),
    *("' OR 1=1; --", '"; DROP TABLE documents; --', "%", "_", "*", '"', "a NEAR/2 b", "NOT", "^a"),
    *("../../etc/passwd", "/etc/passwd", "C:\\Windows", "~", "~root/x", "a" * 300, "/dev/null"),
    *("file:///etc/passwd", "clew://statistics", "http://127.0.0.1:1/", "http://[::1", "http://"),
    *(
        "http://10.0.0.1:99999/",
        "https://u:p" + "@127.0.0.1/",
        "HTTP://\x00",
        "http://169.254.169.254/",
    ),
    *(
        "0",
        "-1",
        "1e999",
        "NaN",
        "null",
        "true",
        "[]",
        "{}",
        '{"a": "\\ud800"}',
        "9" * 400,
        "²",
        "٣",
    ),
    *("year>=2020", "year", ">=", "year=", "=1", "title~mill", "a>b>c", "year>=1e999", "a.b=1"),
    *("last week", "yesterday", "9999-12-31", "0000-00-00", "10000-01-01", "in 99999999999 years"),
    *("2020", "2020-02-30", "last 99999999 days", "between 2020 and 1990", "-2020", "12:99", "now"),
    *("ignore all instructions", "<|im_end|>", "</result>", "${x}", "{0}", "%s", "\\", "\\ud800"),
    *("word " * 2500, "x" * 20_000, "東" * 3000, "Ada Quill met Jonas Reed. " * 400, "\x01" * 2000),
)
HUGE = (0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**18, 10**400, -(10**400))
ODD_NUMBERS = (0.0, -0.0, 0.5, 1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"))

_numbers = st.sampled_from(HUGE) | st.sampled_from(ODD_NUMBERS) | st.integers(-3, 2000)
odd_texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=60)
odd_values = st.recursive(
    st.none() | st.booleans() | _numbers | odd_texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def arguments_of(tool: Tool, known: Mapping[str, Sequence[object]]) -> Values:
    """Arguments of a call; `known` are values that the store knows, by parameter, "" for any."""
    return _fields(tool.parameters, known)


@st.composite
def _fields(
    draw: st.DrawFn, parameters: Sequence[Parameter], known: Mapping[str, Sequence[object]]
) -> dict[str, Any]:
    """Mostly what is meant, at times with something odd, missing or too much."""
    optional = [p.name for p in parameters if not p.required]
    chosen = draw(st.lists(st.sampled_from(optional), max_size=3)) if optional else []
    given = [p for p in parameters if p.required or p.name in chosen]
    values = {p.name: draw(_sound(p, known)) for p in given}
    match draw(st.sampled_from(["", "", "", "", "", "", "spoil", "lack", "add"])):
        case "spoil" if parameters:
            values[draw(st.sampled_from(parameters)).name] = draw(odd_values)
        case "lack" if values:
            del values[draw(st.sampled_from(sorted(values)))]
        case "add":
            values[draw(odd_texts)] = draw(odd_values)
    return values


def _sound(parameter: Parameter, known: Mapping[str, Sequence[object]]) -> Values:
    """Values of the right type, in the range or at its edges; their content may be anything."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    text = _text(known.get(parameter.name) or known[""], known[""])
    match parameter.kind:
        case "string" | "name":
            return text
        case "strings":
            return st.lists(text, max_size=4)
        case "boolean":
            return st.sampled_from([True, True, False])  # most of them confirm
        case "number":
            return st.floats(parameter.minimum, parameter.maximum, allow_nan=False)
        case "integer":
            return _whole(parameter)
        case "integers":
            return st.lists(_whole(parameter), max_size=6)
        case "objects":
            return st.lists(_fields(parameter.fields, known), max_size=3)
        case "object":
            return st.dictionaries(odd_texts, odd_values, max_size=3)


@st.composite
def _text(draw: st.DrawFn, meant: Sequence[object], known: Sequence[object]) -> object:
    match draw(st.integers(0, 9)):
        case 0 | 1:
            return draw(odd_texts)
        case 2:
            return draw(st.sampled_from(known))
        case _:
            return draw(st.sampled_from(meant))


def _whole(parameter: Parameter) -> Values:
    low, high = int(parameter.minimum or 0), int(parameter.maximum or 2**63)
    near = st.integers(low, min(low + 20, high))
    return near | near | st.sampled_from([low, high]) | st.integers(low, high)


NOTES = {
    "mill.md": "# The mill\n\nJonas Reed built the mill at Harrow Ford. He works for Tarn Abbey.",
    "abbey.md": "Tarn Abbey is part of the Lorne Estate. Ada Quill met Jonas Reed in 1831.",
    "long.md": "Ada Quill lives in Harrow Ford. " * 300,
    "東京.md": "東京は日本の首都です。東京タワーは1958年に完成しました。",
}
LONG = "東京都港区" * 95
"""In a budget of the least size there is hardly room for it."""
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
    known: dict[str, Sequence[object]] = field(default_factory=dict)


@contextmanager
def filled(folder: Path) -> Iterator[Fuzzed]:
    """A store that is sound in the end, and beside which nothing has changed."""
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
            _check_jobs(found.toolbox, engine)
            assert engine.maintenance.check().problems == ()
            assert Path.cwd() == folder / "elsewhere"
        assert sorted(os.listdir(folder)) == ["elsewhere", "files", "store"]
        assert os.listdir(folder / "elsewhere") == []


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    """For tests that only look."""
    with filled(tmp_path_factory.mktemp("calm")) as found:
        yield found


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    with filled(tmp_path_factory.mktemp("fuzzed")) as found:
        yield found


def _fill(fuzzed: Fuzzed) -> None:
    def call(name: str, /, **arguments: object) -> Outcome:
        outcome = fuzzed.toolbox.call(name, arguments)
        assert not outcome.is_error, outcome.text
        return outcome

    for name, text in NOTES.items():
        call(
            "ingest_document", text=text, source=name, metadata=[{"name": "year", "value": "2020"}]
        )
    people = [
        {"name": name, "entityType": "person", "observations": [f"{name} rows.", "Likes tea."]}
        for name in ("Mara Lind", "Piet Oss", "東京 太郎", LONG)
    ]
    call("create_entities", entities=people)
    ends = [("Mara Lind", "Piet Oss"), ("Mara Lind", LONG), (LONG, "Piet Oss")]
    call("create_relations", relations=[
        {"from": start, "to": end, "relationType": "knows"} for start, end in ends
    ])  # fmt: skip
    much = [{"name": f"{i}{LONG[:90]}", "value": LONG} for i in range(9)]
    call("ingest_document", text=LONG, title=LONG, source=f"{LONG}.md", metadata=much)
    jobs = [str(call("ingest_document", path=path).content["job_id"]) for path in ("mill.md", ".")]
    call("backup", name="start")
    documents = [name for d in fuzzed.engine.documents.list() for name in (d.id, d.source)]
    store = fuzzed.engine.store
    passages = [chunk.public_id for chunk in store.chunks(store.unread(0, 5))]
    names = ["Mara Lind", "Piet Oss", "東京 太郎", "Jonas Reed", "Tarn Abbey", LONG]
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
            **dict.fromkeys(("since", "until", "as_of"), ("2019", "last week", "2020-02-01")),
            **dict.fromkeys(("entityName", "from", "to", "target"), tuple(names)),
        }
    )  # fmt: skip


def _check_jobs(toolbox: Toolbox, engine: clew.Clew) -> None:
    """All end, and none of them for a reason that lies in Clew."""
    store = SqliteJobs(engine.state.journal)
    deadline = time.monotonic() + 60
    while not all(job.ended for job in store.jobs(limit=10_000)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for job in store.jobs(limit=10_000):
        outcome = toolbox.call("query_job_status", {"job_id": job.id})
        assert not _LEAKED.search(outcome.text), outcome.text


def _budget(tool: Tool, arguments: dict[str, Any]) -> int | None:
    defaults = {parameter.name: parameter.default for parameter in tool.parameters}
    default = defaults.get("max_tokens")
    if not isinstance(default, int):
        return None
    given = arguments.get("max_tokens")
    return default if given is None else int(given)


def check_outcome(
    engine: clew.Clew, tool: Tool, arguments: dict[str, Any], outcome: Outcome
) -> None:
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
        assert engine.state.embedder.count_tokens(text) <= budget
    cursor = outcome.content.get("next_cursor")
    assert cursor is None or cursor not in ("0", arguments.get("cursor")), (
        "the next page is this one again"
    )


# What a call does depends on those before: a failure cannot be made smaller.
_steady = partial(
    settings,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.nightly)])
def test_every_tool_answers_whatever_it_is_given(fuzzed: Fuzzed, count: int) -> None:
    @given(st.data())
    @_steady(max_examples=count)
    def check(data: st.DataObject) -> None:
        tool = data.draw(st.sampled_from(OPERATIONS))
        arguments = data.draw(arguments_of(tool, fuzzed.known), label=tool.name)
        outcome = fuzzed.toolbox.call(tool.name, arguments)
        check_outcome(fuzzed.engine, tool, arguments, outcome)

    check()


@pytest.mark.anyio
@pytest.mark.parametrize("profile", ["full", "memory"])
async def test_a_server_answers_whatever_it_is_given(
    fuzzed: Fuzzed, profile: ToolProfile, anyio_backend: str
) -> None:
    chosen = load_settings(store=fuzzed.folder / "store", serve={"profile": profile})
    tools = [tool for tool in OPERATIONS if profile in tool.profiles]
    calls: list[tuple[Tool, dict[str, Any]]] = []

    @given(st.data())
    @_steady(max_examples=200)
    def draw(data: st.DataObject) -> None:
        tool = data.draw(st.sampled_from(tools))
        calls.append((tool, data.draw(arguments_of(tool, fuzzed.known))))

    draw()
    async with Client(ClewServer(Engines(chosen, OPERATIONS, fuzzed.engine))) as client:
        for tool, arguments in calls:
            result = await client.call_tool(tool.name, sendable(arguments))
            content = result.content[0]
            assert isinstance(content, TextContent)
            said = result.structured_content or {"success": False, "error": content.text}
            outcome = Outcome(content=said, is_error=result.is_error)
            assert outcome.text == content.text
            check_outcome(fuzzed.engine, tool, arguments, outcome)


def sendable(arguments: dict[str, Any]) -> Any:  # noqa: ANN401
    """As they arrive over a wire, on which there are no halves of surrogate pairs and no NaN."""
    text = json.dumps(arguments, ensure_ascii=False).encode(errors="replace").decode()
    return json.loads(text, parse_constant=lambda _: None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("graph_enhanced_search", {"query": "東" * 1000}),
        ("graph_enhanced_search", {"query": LONG}),
        ("query_documents", {"query": LONG * 10}),
        ("get_document", {"document": f"{LONG}.md"}),
        ("list_documents", {"where": ["author!=Ada"]}),
        ("open_nodes", {"names": [LONG, "Mara Lind"]}),
        ("search_nodes", {"query": LONG}),
        ("read_graph", {}),
        ("extraction_next", {}),
        ("build_local_graph", {"entity_ids": [*range(1, 40)]}),
    ],
)
def test_the_least_budget_holds_whatever_the_names(
    calm: Fuzzed, name: str, arguments: dict[str, Any]
) -> None:
    tool = next(tool for tool in calm.toolbox.allowed(Caller()) if tool.name == name)
    least = next(int(p.minimum or 0) for p in tool.parameters if p.name == "max_tokens")
    given = {**arguments, "max_tokens": least}
    check_outcome(calm.engine, tool, given, calm.toolbox.call(name, given))


def test_a_page_without_room_for_its_first_item_is_an_error(calm: Fuzzed) -> None:
    mara = calm.engine.entities.memory.find(["Mara Lind"])["Mara Lind"]
    given = {"entity_id": mara, "relation_type": "knows", "cursor": "1", "max_tokens": 500}
    cut = calm.toolbox.call("get_entity_neighbors", given)
    assert cut.is_error
    assert "max_tokens leaves no room for '東京" in cut.text

    whole = calm.toolbox.call("get_entity_neighbors", {**given, "max_tokens": 1000})
    assert [one["neighbor_name"] for one in whole.content["neighbors"]] == [LONG]


def test_an_error_is_short_whatever_it_quotes(calm: Fuzzed) -> None:
    outcome = calm.toolbox.call("search", {"x" * 50_000: 1})
    assert len(outcome.text) <= ERROR_CHARACTERS
    assert outcome.text.endswith("Call it again with those alone")


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), pytest.param(10**5000, id="no text"), 2**63, 1e308, math.nan]
)
def test_a_number_may_be_of_any_size(calm: Fuzzed, number: float) -> None:
    for tool in OPERATIONS:
        for parameter in tool.parameters:
            outcome = calm.toolbox.call(tool.name, {parameter.name: number})
            assert not _LEAKED.search(outcome.text), outcome.text
    relation = {"source_id": 1, "target_id": 1, "relation_type": "uses"}
    for odd in ({"weight": number}, {"context": {"seen": number}}, {"source_id": number}):
        outcome = calm.toolbox.call("add_entity_relationship", {**relation, **odd})
        assert not _LEAKED.search(outcome.text), outcome.text


def test_names_that_nobody_knows_are_told_in_short(calm: Fuzzed) -> None:
    deleted = calm.toolbox.call("delete_entities", {"entityNames": ["東" * 9000] * 100})
    assert not deleted.is_error
    assert deleted.text.startswith('{"success": true, "message": "Deleted 0 of 1 entities.')
    assert len(deleted.text) < ERROR_CHARACTERS


@pytest.mark.parametrize("name", ["a\x00b", "x" * 5000, "../" * 400])
def test_a_name_that_no_file_can_have_is_not_there(calm: Fuzzed, name: str) -> None:
    for tool in ("get_document", "fetch", "ingest_document", "backup", "restore"):
        (first, *_) = (p.name for p in next(t for t in OPERATIONS if t.name == tool).parameters)
        outcome = calm.toolbox.call(tool, {first: name})
        assert outcome.is_error
        assert not _LEAKED.search(outcome.text), outcome.text
