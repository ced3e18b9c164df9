"""What a language model adds to a store: facts, contexts, reports, descriptions, summaries."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from benchmarks.recorded import RecordedExtraction, RecordedLanguageModel
from clew.errors import InputError, ReplyError, SettingsError
from clew.indexing.validation import NO_TYPE, TOO_VAGUE, UNNAMED, UNQUOTED
from clew.plugins.llm import descriptions as subjects
from clew.plugins.llm.contexts import stretch_of
from clew.plugins.llm.descriptions import UNSUPPORTED
from clew.plugins.llm.extraction import MOST_STATED, TOO_MANY
from clew.ports import Described, Enrichment, LanguageModel, Reply, Request
from clew.settings import load_settings
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, chunk_ids_of, make_entry
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import ChunkExtraction, Description, ExtractedRelation, Mention

# --- A language model adds facts to a store that was indexed without one, and nothing that it
# cannot quote.


CLOCK = "Ada Morn built the great clock of Vell. She had learnt it from Tobias Fenn in Dunmere."
MILL = "The mill of Gouda was sold to Edda Rowe. Edda Rowe rebuilt the mill after the great fire."
QUIET = "nothing of note happened here, and nobody wrote anything down."

TRUE = [
    ("Ada Morn", "built", "great clock", "Ada Morn built the great clock of Vell."),
    ("Ada Morn", "learnt_from", "Tobias Fenn", "she had learnt it from TOBIAS FENN"),
    ("mill of Gouda", "sold_to", "Edda Rowe", "mill of Gouda was sold to Edda Rowe"),
]
FALSE = [
    (("Ada Morn", "married", "Tobias Fenn", "Ada Morn married Tobias Fenn."), UNQUOTED),
    (("Ada Morn", "died_in", "Paris", "in Dunmere"), UNNAMED),
    (("Ada Morn", "related_to", "Dunmere", "Ada Morn built the great clock"), TOO_VAGUE),
    (("Ada Morn", "built", "great clock", ""), UNQUOTED),
    (("Ada Morn", "7th_of", "Dunmere", "Ada Morn built the great clock"), NO_TYPE),
]


def recorded() -> RecordedLanguageModel:
    facts = [*TRUE, *(fact for fact, _ in FALSE)]
    return RecordedLanguageModel(
        {
            CLOCK: RecordedExtraction(
                entities=[("Ada Morn", "person"), ("Vell", "place"), ("Atlantis", "place")],
                facts=[fact for fact in facts if fact[0] == "Ada Morn"],
            ),
            MILL: RecordedExtraction(
                entities=[("Edda Rowe", "person")],
                facts=[fact for fact in facts if fact[0] != "Ada Morn"],
            ),
            QUIET: RecordedExtraction(),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        for title, text in (("clock", CLOCK), ("mill", MILL), ("quiet", QUIET)):
            store.add(text, source=title)
    return tmp_path


@contextmanager
def opened(
    folder: Path, model: LanguageModel | None = None, chunk_tokens: int = 24, **llm: object
) -> Iterator[clew.Clew]:
    """A store that is sound in the end, whatever was added and taken back."""
    split = {"chunk_tokens": chunk_tokens, "section_tokens": 200, "overlap": 0}
    settings = load_settings(store=folder, llm=llm, split=split)
    with clew.open(settings=settings, embedder=HashEmbedder(), language_model=model) as store:
        yield store
        assert store.maintenance.check().problems == ()


def facts(store: clew.Clew) -> set[tuple[str, str, str]]:
    """What a model stated."""
    rows = store.store.relations_by_id([int(i) for i in store.store.relation_rows().ids])
    made = [row for row in rows if row.extractor == "model"]
    names = store.store.entity_names([e for r in made for e in (r.from_entity_id, r.to_entity_id)])
    return {(names[r.from_entity_id], r.relation_type, names[r.to_entity_id]) for r in made}


def content(store: clew.Clew) -> list[object]:
    """All that the store says of names and relations, and how it ranks."""
    rows = store.store.relations_by_id([int(i) for i in store.store.relation_rows().ids])
    hits = [
        (hit.chunk.public_id, hit.score)
        for question in ("Who built the clock of Vell?", "What was sold to Edda Rowe?")
        for hit in store.search(question, strategy="graph").hits
    ]
    return [store.store.mention_rows().tolist(), store.store.aliases(), rows, hits]


def test_facts_are_kept_whose_words_stand_there_and_no_others(folder: Path) -> None:
    with opened(folder, recorded()) as store:
        (report,) = store.enrich("extract")

        assert facts(store) == {(head, relation, tail) for head, relation, tail, _ in TRUE}
        dropped = Counter(reason for _, reason in FALSE)
        assert {reason: report.dropped[reason] for reason in dropped} == dropped
        assert (report.facts, report.done, report.failed, report.stopped) == (3, 3, (), "")
        assert store.entities.get("Edda Rowe").entity_type == "person"
        assert store.store.resolve(["atlantis"]) == {}


def test_it_is_taken_back_whole_and_made_again_for_nothing(folder: Path) -> None:
    with opened(folder, recorded()) as store:
        before = content(store)
        (first,) = store.enrich("extract")
        assert content(store) != before
        assert store.enriching.undo("extract") == 3

        assert content(store) == before
        (again,) = store.enrich("extract")
        assert (again.requests, again.cached) == (0, first.requests)
        assert facts(store) == {(head, relation, tail) for head, relation, tail, _ in TRUE}
        # A name that somebody pruned stays out.
        store.store.prune_entities([store.entities.get("Edda Rowe").id])
        store.enriching.undo("extract")
        store.enrich("extract")
        assert store.store.resolve(["edda rowe"]) == {}
        assert {head for head, _, _ in facts(store)} == {"Ada Morn"}


def test_one_bad_passage_costs_no_other(tmp_path: Path) -> None:
    """A request of several passages fails as a whole; then each is asked for alone."""
    parts = [CLOCK, MILL, "Bad Bo Pell met Cy Quist in Vell."]
    with opened(tmp_path) as store:
        text = "\n\n".join(f"# {n}\n\n{part}" for n, part in enumerate(parts))
        store.add(text, source="a.md", media_type="text/markdown")
        texts = [chunk.text for chunk in store.documents.chunks("a.md")]
    known = recorded()._found
    found = {t: known[p] for t, p in zip(texts, parts, strict=True) if p in known}
    model = ScriptedLanguageModel(lambda request: RecordedLanguageModel(found).reply(request))
    with opened(tmp_path, model) as store:
        (report,) = store.enrich("extract")
        assert len(facts(store)) == len(TRUE)
        (failed,) = store.enriching.failures("extract")
        assert report.failed == (failed,)
        assert failed.source.endswith("#2")
        assert "has no record" in failed.reason
        sent = [request.messages[0].text.count("<document") for request in model.asked]
        assert sent == [3, 1, 1, 1]
        assert store.enrich("extract")[0].requests == 0

        found[texts[2]] = RecordedExtraction(entities=[("Bo Pell", "person")])
        (again,) = store.enrich("extract", retry=True)
        assert (again.done, again.failed, store.enriching.failures("extract")) == (1, (), [])


def test_no_names_among_capitals_is_a_suspicion(tmp_path: Path) -> None:
    nothing = '{"entities": [], "facts": []}'
    with opened(tmp_path, ScriptedLanguageModel([nothing, nothing])) as store:
        store.add(CLOCK, source="clock")
        store.add(QUIET, source="quiet")
        (report,) = store.enrich("extract")

        # What was kept of it is of no use: it is asked for again.
        assert store.enriching.estimate("extract", retry=True)["extract"].cached == 0
        assert store.enriching.undo("extract") == 1
    (failed,) = report.failed
    assert "suspicious: no names were found, though 5 words" in failed.reason
    assert report.done == 1


def test_without_a_model_it_says_what_to_set(folder: Path) -> None:
    with opened(folder) as store, pytest.raises(SettingsError, match=r"set llm\.provider"):
        store.enrich("extract")
    with opened(folder, recorded()) as store, pytest.raises(InputError, match="'wisdom' cannot"):
        store.enrich("wisdom")


def broken(chance: random.Random, sound: object) -> Reply:
    """A sound reply that was broken in one of many ways."""
    text = json.dumps(sound)
    place, end = sorted(chance.choices(range(len(text)), k=2))
    noise = "".join(chance.choices('{}[]",:\\\x00\u202e nulltrue0é<|im_start|>', k=end - place))
    key = chance.choice(re.findall(r'"\w+"(?=:)', text))
    ways = [
        text[:place],
        text[place:],
        text[:place] + noise + text[end:],
        text.replace(key, f'"{noise}"'),
        "[" * (place * 50),
        f"Sure! Here it is:\n{noise}",
        *(re.sub('"[^"]*"(?=[,}])', value, text) for value in (str(place), "null")),
    ]
    return Reply(text=chance.choice(ways), finish="stop", model="m")


def outcomes(
    store: clew.Clew,
    model: ScriptedLanguageModel,
    kinds: Sequence[Enrichment],
    replies: int,
    seen: Callable[[clew.Clew], object],
) -> Iterator[Any]:
    """What is made of that many replies, of which many are of no use; nothing of it is kept."""
    before, client, failed = seen(store), store.state.language_model, 0
    assert client is not None
    ids = [info.id for info in store.documents.list()]
    tasks = [store.enriching._task(kind, client, None) for kind in kinds]
    works = [(task, work) for task in tasks for work in task.works(ids, retry=False)]
    while model.calls < replies:
        task, work = works[model.calls % len(works)]
        try:
            yield task.ask(work)
        except ReplyError:
            failed += 1
    assert failed > 0.3 * replies
    assert seen(store) == before


MANY = pytest.mark.parametrize("replies", [300, pytest.param(10_000, marks=pytest.mark.nightly)])


@MANY
def test_malformed_replies_state_nothing_else(folder: Path, replies: int) -> None:
    fact = dict(zip(("head", "relation", "tail", "quote"), TRUE[0], strict=True))
    sound = {"entities": [{"name": "Ada Morn", "type": "person"}], "facts": [fact]}
    chance = random.Random(5)
    model = ScriptedLanguageModel(lambda _: broken(chance, sound))
    with opened(folder, model, cache=False) as store:
        for outcome in outcomes(store, model, ["extract"], replies, content):
            # What was broken where it does not matter may still state what stands there.
            for reading in outcome.readings.values():
                stated = {(r.head, r.relation_type, r.tail) for r in reading.relations}
                assert stated <= {TRUE[0][:3]}


def gleaning(second: str = "") -> ScriptedLanguageModel:
    """Finds every other fact of a passage at first, and what it is told is missing then."""

    def answer(request: Request) -> str:
        text = request.messages[0].text
        found = [fact for fact in TRUE if fact[3].lower() in text.lower().split("missed")[0]]
        is_second = "found before" in text
        wanted = [f for f in found if f"-{f[1]}->" not in text] if is_second else found[:1]
        facts = [{"head": h, "relation": r, "tail": t, "quote": q} for h, r, t, q in wanted]
        return (second if is_second else "") or json.dumps({"entities": [], "facts": facts})

    return ScriptedLanguageModel(answer)


def test_a_second_round_finds_what_the_first_one_missed(folder: Path) -> None:
    with opened(folder, gleaning()) as store:
        assert store.enrich("extract")[0].facts == 2
    with opened(folder, gleaning(), gleaning=True) as store:
        store.enriching.undo("extract")
        (report,) = store.enrich("extract")
        assert facts(store) == {(head, relation, tail) for head, relation, tail, _ in TRUE}
        assert report.facts == len(TRUE)
        # The first round was kept.
        assert (report.requests, report.cached) == (3, 3)
        store.enriching.undo("extract")
        said = store.enriching.estimate("extract")["extract"]
        assert (said.calls, said.cached) == (0, 6)


@pytest.mark.parametrize("second", ["[]", "nonsense", '{"facts": 7}', "{" * 1000])
def test_a_second_round_that_fails_costs_nothing_of_the_first(folder: Path, second: str) -> None:
    with opened(folder, gleaning(second), gleaning=True) as store:
        (report,) = store.enrich("extract")
        assert (report.facts, len(facts(store)), report.failed) == (2, 2, ())


def test_a_reply_of_many_facts_does_not_flood_the_graph(tmp_path: Path) -> None:
    """A model that repeats itself, without an end or a measure."""
    quote = "Ada Morn built the great clock of Vell."
    said = {
        "entities": [{"name": f"Ada {'x' * (n % 300)}{n}", "type": "person"} for n in range(1_000)],
        "facts": [
            {"head": "Ada Morn", "relation": f"built_{n}", "tail": "great clock", "quote": quote}
            for n in range(1_000)
        ],
    }
    with opened(tmp_path, ScriptedLanguageModel([json.dumps(said)])) as store:
        store.add(CLOCK, source="clock")
        (report,) = store.enrich("extract")
        assert report.facts == len(facts(store)) == MOST_STATED
        assert report.dropped[TOO_MANY] == 2 * (1_000 - MOST_STATED)


# --- A model situates passages in their documents: what it says is searched with them, apart
# from the text, and can be taken back.


TEXT = """# Diary of the mill

The mill of Gouda was sold in 1820. [Edda Rowe](http://a.example/rowe) bought it from the town.

It burnt down two years later and nobody was hurt.
"""
SITUATED = "A diary of the mill of Gouda: the mill burnt down two years after the sale of 1820."


contexts_opened = partial(opened, chunk_tokens=30, concurrency=1)


def situating(said: str = SITUATED) -> ScriptedLanguageModel:
    """Says the same of every passage."""
    return ScriptedLanguageModel(lambda _: said)


@pytest.fixture
def contexts_folder(tmp_path: Path) -> Path:
    with contexts_opened(tmp_path) as store:
        store.add(TEXT, source="diary.md", title="Diary", media_type="text/markdown")
        store.add("The weather was fine.", source="other")
        assert len(store.documents.chunks("diary.md")) == 2
    return tmp_path


def rows(store: clew.Clew) -> list[object]:
    """All that hangs on passages, but for their ids."""
    chunks = store.documents.chunks("diary.md")
    ids = [chunk.id for chunk in chunks]
    place = {id_: n for n, id_ in enumerate(ids)}
    relations = store.store.chunk_relations(ids)
    return [
        [(c.context, c.text, c.start, c.end, c.page, c.section_id) for c in chunks],
        [(place[r.chunk_id or 0], r.relation_type, r.weight, r.extractor) for r in relations],
        len(store.store.mention_rows()),
        store.store.count_unread(),
        np.round(store.state.vectors.vectors(ids), 6).tolist(),
    ]


def test_a_context_is_searched_and_shown_apart(contexts_folder: Path) -> None:
    with contexts_opened(contexts_folder, situating()) as store:
        last = store.documents.chunks("diary.md")[-1]
        assert "Gouda" not in last.text + last.context
        (report,) = store.enrich("context", documents=[last.document_id])

        situated = store.documents.chunks("diary.md")[-1]
        assert (report.done, report.failed) == (2, ())
        assert replace(situated, id=last.id, context=last.context) == last
        assert situated.context == f"{last.context}\n{SITUATED}"
        hits = store.search("What burnt down in Gouda?", strategy="keyword").hits
        assert situated.public_id in [hit.chunk.public_id for hit in hits]
        vector = HashEmbedder().embed_query(f"{situated.context}\n{situated.text}")
        ids, scores = store.state.vectors.search_vector(vector, 1)
        assert (ids.tolist(), scores[0]) == ([situated.id], pytest.approx(1, abs=1e-5))


def test_it_is_taken_back_and_all_that_hangs_on_passages_stays(contexts_folder: Path) -> None:
    with contexts_opened(contexts_folder, situating()) as store:
        chunk = store.documents.chunks("diary.md")[0]
        found = reading(("Edda Rowe", "bought_from", "the smith"))
        store.store.record_readings({chunk.id: found})
        Enrichments(store.store.backend).record_extraction({chunk.id: found})
        before = rows(store)

        store.enrich("context")
        made = rows(store)
        assert made[1:4] == before[1:4]
        assert made[0] != before[0]
        assert made[4] != before[4]
        assert store.enriching.undo("context") == 2  # one had failed

        assert rows(store) == before
        assert store.enriching.left("context", "extract") == ["diary.md", "other"]
        store.add(TEXT.replace("Gouda", "Delft"), source="diary.md", media_type="text/markdown")


def test_a_name_that_the_document_lacks_is_no_context(contexts_folder: Path) -> None:
    wrong = situating("The mill of Gouda was built by Napoleon in 1799.")
    with contexts_opened(contexts_folder, wrong) as store:
        before = rows(store)
        (report,) = store.enrich("context")
        assert rows(store) == before
        assert "Napoleon, 1799" in report.failed[0].reason
        assert (report.done, len(store.enriching.failures("context"))) == (0, 3)


@pytest.mark.parametrize("size", [90, 1_000, 5_003])
def test_a_stretch_holds_the_passage_and_neighbours_share_it(size: int) -> None:
    text = "".join(chr(33 + n % 90) for n in range(size))
    places = [(start, start + 50) for start in range(0, size - 50, 25)]
    stretches = [stretch_of(text, *place, 400) for place in places]
    for (start, end), stretch in zip(places, stretches, strict=True):
        assert text[start:end] in stretch
        assert len(stretch) == min(size, 400)
    assert len(set(stretches)) <= size / 200 + 1


# --- What a model found in passages is added beside the rest, and can be taken back whole.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        for source, text in (("a", "Anna met the smith."), ("b", "Anna met the smith again.")):
            relations = [("Anna", "met", "smith")]
            store.save(make_entry(source, text, names=["Anna"], relations=relations))
        yield store


def reading(*facts: tuple[str, str, str]) -> ChunkExtraction:
    return ChunkExtraction(
        mentions=(Mention(name="the smith", entity_type="person", sentence=0, start=9, end=18),),
        relations=tuple(
            ExtractedRelation(head=h, relation_type=t, tail=o, sentence=0, confidence=0.7)
            for h, t, o in facts
        ),
    )


def test_a_fact_that_both_state_is_as_sure_as_both_together(store: SqliteStore) -> None:
    (chunk,) = chunk_ids_of(store, "a")
    log, fact = Enrichments(store.backend), reading(("Anna", "met", "smith"))

    assert log.record_extraction({chunk: fact}) == 0, "no new relation"

    (relation,) = store.chunk_relations([chunk])
    assert (relation.extractor, relation.confidence) == ("model", 1 - 0.5 * 0.3)
    # and the other passage states it, too
    assert relation.weight == pytest.approx(1 - 0.5 * 0.3 * 0.5)
    assert store.check().problems == ()
    # What an assistant said since stays.
    store.record_readings({chunk: fact})
    log.undo_extraction([chunk])
    (relation,) = store.chunk_relations([chunk])
    assert (relation.extractor, relation.confidence) == ("assistant", 0.7)


def test_failures_are_remembered_with_their_passages(store: SqliteStore) -> None:
    (first,), (second,) = chunk_ids_of(store, "a"), chunk_ids_of(store, "b")
    log = Enrichments(store.backend)

    log.fail("extract", {first: "malformed", second: "refused"})
    log.record_extraction({second: reading()})

    assert log.done("extract") == {first: "malformed", second: ""}
    store.delete([document.id for document in store.documents() if document.source == "a"])
    assert log.done("extract") == {second: ""}


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


written_to = partial(opened, chunk_tokens=40)


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    with written_to(tmp_path) as store:
        texts = [*CLOCKS, *MILLS]
        store.add_documents([clew.Document(source=str(n), text=t) for n, t in enumerate(texts)])
        assert len(store.graph.communities()) >= 2
    return tmp_path


def test_each_number_has_its_source_wherever_a_report_is_shown(reported: Path) -> None:
    with written_to(reported, writing()) as store:
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


def test_only_reports_of_what_changed_are_written_again(reported: Path) -> None:
    model = writing()
    with written_to(reported, model) as store:
        store.enrich("reports")
        asked = model.calls
        assert store.enrich("reports")[0].done == 0

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
    with written_to(tmp_path) as store:
        for number in range(4):
            store.add(text_of(number), source=f"log {number}")
        for number, text in enumerate(NOTES):
            store.add(text, source=f"note {number}")
        store.state.update_communities()
    return tmp_path


def shown(store: clew.Clew) -> dict[str, tuple[str, Description | None]]:
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


def passage(store: clew.Clew, public_id: str) -> str:
    document, _, ordinal = public_id.rpartition("#")
    return next(c.text for c in store.store.document_chunks(document) if c.ordinal == int(ordinal))


def told(store: clew.Clew) -> list[tuple[str, Description]]:
    """What is said of documents, entities and topics, with what it is said of."""
    kinds = ("document log", "entity", "topic")
    found = [(name, said) for name, (_, said) in shown(store).items() if name.startswith(kinds)]
    return [(name, said) for name, said in found if said is not None]


def test_each_statement_ends_with_the_passage_that_says_it(description_folder: Path) -> None:
    with written_to(description_folder, writing()) as store:
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
        titles = {title for name, (title, _) in after.items() if re.match("topic|community", name)}
        assert titles == {"Who built it"}
        assert all(store.enriching.undo(kind) > 0 for kind in KINDS)
        assert shown(store) == before
        assert [report.requests for report in store.enrich(*KINDS)] == [0] * 4


SHORT: dict[str, Any] = {"context_tokens": 1024, "summarise": {"max_output_tokens": 256}}
"""Of a model that reads a few passages at a time."""


@pytest.mark.parametrize(
    ("most", "sentences"), [(subjects.MOST_PARTS, 60), (2, 100)], ids=["at once", "step by step"]
)
def test_a_long_document_is_summarised_by_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, sentences: int
) -> None:
    monkeypatch.setattr(subjects, "MOST_PARTS", most)
    model = writing()
    with written_to(tmp_path, model, **SHORT) as store:
        store.add(text_of(1, sentences), source="log")
        (report,) = store.enrich("documents")
        (info,) = store.documents.list()
        assert info.summary is not None
        # The number of the part's statement leads to the passage itself.
        assert sentence(info.summary.text) in passage(store, info.summary.sources[0])
    *parts, whole = [request.subject for request in model.asked]
    assert len(parts) > 2
    assert set(parts) == {f"{whole}, part {n}" for n in range(1, len(parts) + 1)}
    assert report.done == model.calls
    assert all(len(blocks(request)) > 1 for request in model.asked)
    assert len(blocks(model.asked[-1])) - 1 <= most


def test_what_is_said_of_a_document_goes_with_it(description_folder: Path) -> None:
    with written_to(description_folder, writing()) as store:
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
    with written_to(description_folder, writing(lambda _: wrong)) as store:
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
    with written_to(description_folder, writing()) as store:
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
    with written_to(description_folder, writing(hostile)) as store:
        store.enrich(*KINDS)
        for title, said in shown(store).values():
            text = f"{title}{said.text if said else ''}"
            assert not re.search("[\x00\x1b\u202e]", text)
            assert len(text) < 5_000
            assert "[7]" not in text


def test_search_shows_names_and_descriptions_and_filters_hide_them(
    description_folder: Path,
) -> None:
    asked = "Who mends the harbour wall?"
    with written_to(description_folder, writing()) as store:
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


def test_a_doubtful_link_is_put_to_the_model_with_both_contexts(tmp_path: Path) -> None:
    """What is one comes first, what is not last."""
    keller = ["We heard that Ada Keller said no.", "They met A. Keller there."]

    def decide(texts: list[str]) -> object:
        said = sentence(texts[0])
        verdict = "no" if set(keller) <= set(texts) else "yes"
        return {"title": verdict, "statements": [{"quote": said, "text": f"{said}."}]}

    with written_to(tmp_path, writing(decide)) as store:
        for text in (*keller, "Piet Osterman met Ana Osterman. Osterman left."):
            store.add(text)
        before = store.entities.suggest()
        assert len(before) > 1
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

    def tenant(name: str, model: ScriptedLanguageModel) -> clew.Clew:
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


@MANY
def test_malformed_replies_cite_what_is_there(description_folder: Path, replies: int) -> None:
    chance = random.Random(5)
    model = ScriptedLanguageModel(lambda request: broken(chance, faithful(blocks(request))))
    with written_to(description_folder, model, cache=False) as store:
        there = {c.public_id for c in store.store.chunks(store.store.chunk_ids().tolist())}
        for outcome in outcomes(store, model, KINDS, replies, shown):
            made = outcome.made
            assert set(made.sources) <= there
            assert made.documents
            assert not re.search("[\x00\u202e]", f"{made.title}{made.text}")
