"""What a language model writes: reports of communities, descriptions, summaries."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import clew
from clew.errors import ReplyError
from clew.library import Clew
from clew.plugins.llm import descriptions as subjects
from clew.plugins.llm.descriptions import UNSUPPORTED
from clew.ports import Described, LanguageModel, Request
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import Community, Description

# --- A model writes reports on communities: what rests on nothing is dropped, all is taken
# back.


CLOCKS = [
    "Ada Morn and Tobias Fenn built the clock of Vell. Brida Kall paid for it.",
    "Tobias Fenn taught Ada Morn. Brida Kall saw Tobias Fenn in Vell.",
    "Brida Kall and Ada Morn opened the Guild of Vell with Tobias Fenn.",
]
MILLS = [
    "Edda Rowe and Piet Oss bought the mill of Gouda. Cy Quist sold it.",
    "Piet Oss married Edda Rowe. Cy Quist met Piet Oss in Gouda.",
    "Cy Quist and Edda Rowe left Gouda with Piet Oss.",
]
_BLOCK = re.compile(r"<document[^>]*>\n(.*?)\n</document>", re.DOTALL)


def sentence(text: str) -> str:
    return text.partition(".")[0]


def faithful(texts: list[str]) -> object:
    """Says the first sentence of the first text; and, after it, things that stand nowhere."""
    said = sentence(texts[0])
    return {
        "title": "Who built it",
        "statements": [
            {"quote": said, "text": f"{said}."},
            {"quote": "Ada Morn flew to the moon.", "text": "Somebody flew away."},
            {"quote": said, "text": "It was all done by Napoleon."},
        ],
    }


def blocks(request: Request) -> list[str]:
    return _BLOCK.findall(request.messages[0].text)


def writing(write: Callable[[list[str]], object] = faithful) -> ScriptedLanguageModel:
    """Writes by what it is sent."""
    return ScriptedLanguageModel(lambda request: json.dumps(write(blocks(request))))


def opened(folder: Path, model: LanguageModel | None = None, **llm: object) -> Clew:
    split = {"chunk_tokens": 40, "section_tokens": 200}
    settings = load_settings(store=folder, split=split, llm=llm)
    return clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        texts = [*CLOCKS, *MILLS]
        store.add_documents([clew.Document(source=str(n), text=t) for n, t in enumerate(texts)])
        assert len(store.graph.communities()) >= 2
    return tmp_path


def reports(store: Clew) -> dict[int, Community]:
    return {one.id: one for one in store.state.communities.communities()}


def test_each_number_has_its_source_wherever_a_report_is_shown(folder: Path) -> None:
    with opened(folder, writing()) as store:
        store.enrich("reports")
        told = store.tools.call("list_communities", {}).content["communities"]
        context = store.search("the whole", strategy="global").context
        for one, shown in zip(store.graph.communities(), told, strict=True):
            cited = store.store.chunks(one.sources)
            assert shown["sources"] == [chunk.source for chunk in cited]
            statement = one.summary.splitlines()[0]
            assert sentence(statement) in cited[0].text
            assert (
                statement.replace("[1]", f"({cited[0].title or cited[0].source})") in context.text
            )
    numbers = {citation.number for citation in context.citations}
    assert {int(n) for n in re.findall(r"\[(\d+)\]", context.text)} <= numbers


def test_they_are_taken_back_and_only_what_changed_is_written_again(folder: Path) -> None:
    model = writing()
    with opened(folder, model) as store:
        before = reports(store)
        store.enrich("reports")
        asked = model.calls
        assert store.enrich("reports")[0].done == 0
        assert store.enriching.undo("reports") == len(before)
        assert reports(store) == before
        assert store.enrich("reports")[0].requests == 0

        store.add("Hal Dorn and Cy Quist burnt the mill of Gouda of Edda Rowe.", source="new")
        store.add("Piet Oss met Hal Dorn in Gouda. Edda Rowe saw Hal Dorn.", source="newer")
        store.enrich("reports")

    again = model.asked[asked:]
    assert 0 < len(again) < asked
    assert all("Gouda" in request.messages[0].text for request in again)


# --- A model summarises documents, describes entities and names topics: what rests on nothing
# is dropped, sentences of the texts stand where it fails, and all is taken back.


NAMES = ("Ada Morn", "Tobias Fenn", "Brida Kall")
NOTES = (
    "The stained glass in the chapel is old.",
    "She makes stained glass for a pipe organ.",
    "A pipe organ was sold.",
    "Everybody heard the pipe organ near the stained glass.",
    "The harbour wall broke.",
    "Nobody mends the harbour wall.",
)
KINDS: tuple[Described, ...] = ("documents", "entities", "topics", "reports")


def text_of(number: int, sentences: int = 12) -> str:
    """A document of several passages, in which three people do something about a clock."""
    deeds = ("wound", "oiled", "drew", "sold")
    lines = [
        f"{NAMES[n % 3]} {deeds[n % 4]} the brass clock tower with {NAMES[(n + 1) % 3]}"
        f" on round {number * 100 + n}."
        for n in range(sentences)
    ]
    return "\n\n".join(lines)


@pytest.fixture
def description_folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        for number in range(4):
            store.add(text_of(number), source=f"log {number}")
        for number, text in enumerate(NOTES):
            store.add(text, source=f"note {number}")
        store.state.update_communities()
    return tmp_path


def shown(store: Clew) -> dict[str, tuple[str, Description | None]]:
    """Name and description of all that can have one, by what it is."""
    found: dict[str, tuple[str, Description | None]] = {}
    for info in store.documents.list():
        found[f"document {info.source}"] = (info.title, info.summary)
    for name in NAMES:
        entity = store.entities.get(name)
        found[f"entity {name}"] = (entity.name, entity.description)
    for topic in store.state.communities.topics():
        found[f"topic {topic.phrase}"] = (topic.name, topic.description)
        found[f"theme of {topic.phrase}"] = (topic.theme, None)
    for one in store.state.communities.communities():
        found[f"community {one.id}"] = (one.title, Description(text=one.summary, sources=()))
    return found


def passage(store: Clew, public_id: str) -> str:
    document, _, ordinal = public_id.rpartition("#")
    return next(c.text for c in store.store.document_chunks(document) if c.ordinal == int(ordinal))


def told(store: Clew) -> list[tuple[str, Description]]:
    """What is said of documents, entities and topics, with what it is said of."""
    kinds = ("document log", "entity", "topic")
    found = [(name, said) for name, (_, said) in shown(store).items() if name.startswith(kinds)]
    return [(name, said) for name, said in found if said is not None]


def test_each_statement_ends_with_the_passage_that_says_it(description_folder: Path) -> None:
    with opened(description_folder, writing()) as store:
        before = shown(store)
        done = store.enrich(*KINDS)
        after = shown(store)

        assert [report.failed for report in done] == [()] * 4
        assert all(report.done for report in done)
        assert [r.dropped[UNSUPPORTED] for r in done] == [2 * r.done for r in done]
        assert len(told(store)) > 4 + len(NAMES)
        for _, said in told(store):
            assert said.text.endswith(" [1]")
            assert said.text.removesuffix(". [1]") in passage(store, said.sources[0])
        titles = {after[name][0] for name in after if name.startswith(("topic", "community"))}
        assert titles == {"Who built it"}
        assert store.maintenance.check().problems == ()
        assert all(store.enriching.undo(kind) > 0 for kind in KINDS)
        assert shown(store) == before
        assert [report.requests for report in store.enrich(*KINDS)] == [0] * 4


SHORT = {"context_tokens": 1024, "summarise": {"max_output_tokens": 256}}
"""Of a model that reads a few passages at a time."""


def test_a_long_document_is_summarised_by_its_parts(tmp_path: Path) -> None:
    model = writing()
    with opened(tmp_path, model, **SHORT) as store:
        store.add(text_of(1, 60), source="log")
        (report,) = store.enrich("documents")
        (info,) = store.documents.list()

        *parts, whole = [request.subject for request in model.asked]
        assert len(parts) > 2
        assert sorted(parts) == [f"{whole}, part {n}" for n in range(1, len(parts) + 1)]
        assert report.done == model.calls
        assert info.summary is not None
        # The number of the part's statement leads to the passage itself.
        assert sentence(info.summary.text) in passage(store, info.summary.sources[0])
        assert all(len(blocks(request)) > 1 for request in model.asked)


def test_parts_of_a_very_long_document_are_joined_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "MOST_PARTS", 2)
    model = writing()
    with opened(tmp_path, model, **SHORT) as store:
        store.add(text_of(1, 100), source="log")
        (report,) = store.enrich("documents")
        (info,) = store.documents.list()
    assert {len(blocks(request)) - 1 for request in model.asked[-3:]} == {2}
    assert report.done == model.calls
    assert info.summary is not None
    assert info.summary.sources[0].endswith("#0")


def test_what_is_said_of_a_document_goes_with_it(description_folder: Path) -> None:
    with opened(description_folder, writing()) as store:
        store.add("The secret lighthouse burnt. Zed Orlo saw it.\n\n" + text_of(7), source="secret")
        store.state.update_communities()
        store.enrich(*KINDS)
        store.documents.delete(["secret"])
        texts = [said.text for _, said in shown(store).values() if said is not None]
    (file,) = description_folder.rglob("clew.db")
    with closing(sqlite3.connect(file)) as connection:
        stored = [text for (text,) in connection.execute("SELECT text FROM descriptions")]
    assert stored
    assert not any("round 7" in text or "lighthouse" in text for text in texts + stored)


def test_sentences_of_the_texts_stand_where_the_model_fails(description_folder: Path) -> None:
    wrong = {"title": "T", "statements": [{"quote": "Nobody said so.", "text": "Nobody said so."}]}
    with opened(description_folder, writing(lambda _: wrong)) as store:
        before = shown(store)
        done = store.enrich(*KINDS)
        after = shown(store)

        assert [report.done for report in done] == [0] * 4
        failures = [len(store.enriching.failures(kind)) for kind in KINDS]
        assert failures == [len(report.failed) for report in done]
        assert {name: title for name, (title, _) in after.items()} == {
            name: title for name, (title, _) in before.items()
        }
        for name, said in told(store):
            assert len(said.sources) == (2 if "harbour" in name else 3)
            first = sentence(said.text)
            assert first in passage(store, said.sources[0])
            assert not name.startswith("entity") or name.removeprefix("entity ") in first
        assert [report.requests for report in store.enrich(*KINDS)] == [0] * 4
    with opened(description_folder, writing()) as store:
        assert all(report.done for report in store.enrich(*KINDS, retry=True))
        assert all(report.failed == () for report in store.enrich(*KINDS))


def hostile(texts: list[str]) -> object:
    """A sound statement among what no reader should see."""
    said = sentence(texts[0])
    return {
        "title": "\x1b[2J\u202etower " + "tower " * 2_000,
        "statements": [
            {"quote": said, "text": f"{said} [7]\x00\x1b[31m\u202e."},
            {"quote": said, "text": f"{said} " + "clock " * 4_000},
            {"quote": "clock " * 4_000, "text": said},
            *({"quote": said, "text": f"the tower {'so ' * (n % 50)}stood."} for n in range(300)),
        ],
    }


def test_what_steers_screens_and_what_is_too_long_is_not_shown(description_folder: Path) -> None:
    with opened(description_folder, writing(hostile)) as store:
        store.enrich(*KINDS)
        for title, said in shown(store).values():
            text = f"{title}{said.text if said else ''}"
            assert not re.search("[\x00\x1b\u202e]", text)
            assert len(text) < 5_000
            assert "[7]" not in text
        assert store.maintenance.check().problems == ()


def test_search_shows_names_and_descriptions_and_filters_hide_them(
    description_folder: Path,
) -> None:
    asked = "Who mends the harbour wall?"
    with opened(description_folder, writing()) as store:
        store.enrich("topics", "entities")
        assert "Who built it" in store.search(asked, strategy="topic").context.text
        filtered = store.search(asked, strategy="topic", where=["title~note*"])
        assert "Who built it" not in filtered.context.text
        (hit, *_), _ = store.entities.search("Ada Morn")
        assert hit.entity.description is not None
        assert hit.content == hit.entity.description.sourced
        dated = clew.Document(source="dated", text=text_of(5), created_at=datetime.now(UTC))
        store.add_documents([dated])
        (hit, *_), _ = store.entities.search("Ada Morn", since="2000-01-01")
        assert hit.content
        assert hit.content in text_of(5)
        # A description by hand is never replaced.
        store.store.update_entity(hit.entity.id, content="A clock maker.")
        store.entities.merge("Tobias Fenn", "Ada Morn")
        (hit, *_), _ = store.entities.search("Ada Morn")
        store.enriching.undo("entities")
        assert store.entities.get("Ada Morn").content == hit.content == "A clock maker."


def decided(verdict: str) -> Callable[[list[str]], object]:
    def write(texts: list[str]) -> object:
        said = sentence(texts[0])
        return {"title": verdict, "statements": [{"quote": said, "text": f"{said}."}]}

    return write


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        store.add("We heard that Ada Keller said no.", source="1")
        store.add("They met A. Keller there.", source="2")
        store.add("Piet Osterman met Ana Osterman. Osterman left.", source="3")
        assert len(store.entities.suggest()) > 1
    return tmp_path


def test_a_doubtful_link_is_put_to_the_model_with_both_contexts(pair: Path) -> None:
    """What is one comes first, what is not last."""
    keller = ["We heard that Ada Keller said no.", "They met A. Keller there."]
    model = writing(lambda texts: decided("no" if set(keller) <= set(texts) else "yes")(texts))
    with opened(pair, model) as store:
        before = store.entities.suggest()
        (report,) = store.enrich("links")
        after = store.entities.suggest()
        assert (report.done, report.failed) == (len(before), ())
        assert [one.verdict for one in after] == ["yes"] * (len(before) - 1) + ["no"]
        assert after[-1].target == "Ada Keller"
        for one in after:
            assert one.description is not None
            assert sentence(one.description.text) in passage(store, one.description.sources[0])
        assert store.enrich("links")[0].requests == 0
        assert store.enriching.undo("links") == len(before)
        assert store.entities.suggest() == before
        store.entities.merge("A. Keller", "Ada Keller")
        store.enrich("links")
        assert all(one.verdict == "yes" for one in store.entities.suggest())


def test_no_tenant_sees_what_another_one_asked(tmp_path: Path) -> None:
    """Of the same texts in one folder: neither cache nor figures nor failures tell."""

    def tenant(name: str, model: ScriptedLanguageModel) -> Clew:
        settings = load_settings(store=tmp_path, namespace=name, split={"chunk_tokens": 40})
        store = clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)
        for number in range(4):
            store.add(text_of(number), source=f"log {number}")
        return store

    wrong, right = writing(lambda _: []), writing()
    with tenant("one", right) as store, tenant("two", wrong) as other:
        store.enrich("documents", "entities")
        asked = right.calls
        assert other.maintenance.language_model()["requests"] == 0
        assert all(info.summary is None for info in other.documents.list())
        assert other.enriching.estimate("documents")["documents"].cached == 0
        other.enrich("documents", "entities")
        assert wrong.asked[0].messages[0].text in {r.messages[0].text for r in right.asked}
        assert store.enriching.all_failures() == []
        assert store.maintenance.language_model()["failures"] == 0
        assert len(other.enriching.all_failures()) == asked > 0
        other.enriching.undo("documents")
        assert all(info.summary for info in store.documents.list())


def mutated(chance: random.Random, texts: list[str]) -> str:
    """A sound reply with something cut out, put in, or repeated."""
    reply = json.dumps(faithful(texts))
    for _ in range(chance.randrange(1, 5)):
        start = chance.randrange(len(reply))
        end = min(len(reply), start + chance.randrange(12))
        junk = chance.choice(["", "", '"', "{", "[]", "\x00", "\\u202e", "null", "9" * 30, "é"])
        reply = reply[:start] + junk * chance.randrange(1, 4) + reply[end:]
    return reply


@pytest.mark.parametrize("replies", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_malformed_replies_cite_what_is_there(description_folder: Path, replies: int) -> None:
    chance = random.Random(5)
    model = ScriptedLanguageModel(lambda request: mutated(chance, blocks(request)))
    with opened(description_folder, model, cache=False) as store:
        before, client, failed = shown(store), store.state.language_model, 0
        assert client is not None
        ids = [info.id for info in store.documents.list()]
        tasks = [store.enriching._task(kind, client, None) for kind in KINDS]
        works = [(task, work) for task in tasks for work in task.works(ids, retry=False)]
        there = {c.public_id for c in store.store.chunks(store.store.chunk_ids().tolist())}
        while model.calls < replies:
            task, work = works[model.calls % len(works)]
            try:
                made = task.ask(work).made
            except ReplyError:
                failed += 1
                continue
            assert set(made.sources) <= there
            assert made.documents
            assert not re.search("[\x00\u202e]", f"{made.title}{made.text}")
        assert failed > 0.3 * replies
        assert shown(store) == before
