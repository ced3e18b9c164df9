"""What a language model adds to a store: facts, contexts, and the jobs that add them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import clew
from benchmarks.recorded import RecordedExtraction, RecordedLanguageModel
from clew.errors import InputError, ReplyError, SettingsError
from clew.indexing.validation import NO_TYPE, TOO_VAGUE, UNNAMED, UNQUOTED
from clew.library import Clew
from clew.plugins.llm.contexts import stretch_of
from clew.plugins.llm.extraction import MOST_STATED, TOO_MANY
from clew.ports import LanguageModel, Reply, Request
from clew.settings import load_settings
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.testing.conformance import chunk_ids_of
from clew.testing.entries import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import ChunkExtraction, ExtractedRelation, Mention

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


def opened(
    folder: Path, model: LanguageModel | None = None, chunk_tokens: int = 24, **llm: object
) -> Clew:
    split = {"chunk_tokens": chunk_tokens, "section_tokens": 200, "overlap": 0}
    settings = load_settings(store=folder, llm=llm, split=split)
    return clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)


def facts(store: Clew) -> set[tuple[str, str, str]]:
    """What a model stated."""
    rows = store.store.relations_by_id([int(i) for i in store.store.relation_rows().ids])
    made = [row for row in rows if row.extractor == "model"]
    names = store.store.entity_names([e for r in made for e in (r.from_entity_id, r.to_entity_id)])
    return {(names[r.from_entity_id], r.relation_type, names[r.to_entity_id]) for r in made}


def content(store: Clew) -> list[object]:
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
        assert store.maintenance.check().problems == ()


def test_it_is_taken_back_whole_and_made_again_for_nothing(folder: Path) -> None:
    with opened(folder, recorded()) as store:
        before = content(store)
        (first,) = store.enrich("extract")
        made = content(store)
        assert made != before
        assert store.enriching.undo("extract") == 3

        assert content(store) == before
        assert store.maintenance.check().problems == ()
        (again,) = store.enrich("extract")
        assert (again.requests, again.cached) == (0, first.requests)
        assert facts(store) == {(head, relation, tail) for head, relation, tail, _ in TRUE}
        # A name that somebody pruned stays out.
        store.store.prune_entities([store.entities.get("Edda Rowe").id])
        store.enriching.undo("extract")
        store.enrich("extract")
        assert store.store.resolve(["edda rowe"]) == {}
        assert {head for head, _, _ in facts(store)} == {"Ada Morn"}
        assert store.maintenance.check().problems == ()


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
        (failed,) = report.failed
        assert failed.source.endswith("#2")
        assert "has no record" in failed.reason
        assert store.enriching.failures("extract") == [failed]
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
        store.enrich("wisdom")  # type: ignore[arg-type]


def malformed(seed: int) -> str:
    """A sound reply that was broken in one of many ways."""
    chance = random.Random(seed)
    text = json.dumps(
        {
            "entities": [{"name": "Ada Morn", "type": "person"}],
            "facts": [dict(zip(("head", "relation", "tail", "quote"), TRUE[0], strict=True))],
        }
    )
    place, end = sorted(chance.choices(range(len(text)), k=2))
    noise = "".join(chance.choices('{}[]",:\\\x00\u202e nulltrue0é<|im_start|>', k=end - place))
    return chance.choice(
        [
            text[:place],
            text[place:],
            text[:place] + noise + text[end:],
            text.replace('"facts"', f'"{noise}"').replace('"name"', '"n"'),
            "[" * (place * 50),
            f"Sure! Here it is:\n{noise}",
            text.replace('"person"', str(place)).replace('"built"', "null"),
        ]
    )


@pytest.mark.parametrize("replies", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_malformed_replies_lose_nothing_and_change_nothing(folder: Path, replies: int) -> None:
    model = ScriptedLanguageModel(
        lambda _: Reply(text=malformed(model.calls), finish="stop", model="m")
    )
    with opened(folder, model, cache=False) as store:
        before, client = content(store), store.state.language_model
        assert client is not None
        task = store.enriching._task("extract", client, None)
        works = list(task.works([d.id for d in store.documents.list()], retry=False))
        failed = 0
        while model.calls < replies:
            work = works[model.calls % len(works)]
            try:
                outcome = task.ask(work)
            except ReplyError:
                failed += 1
                continue
            # What was broken where it does not matter may still state what stands there.
            for reading in outcome.readings.values():
                stated = {(r.head, r.relation_type, r.tail) for r in reading.relations}
                assert stated <= {TRUE[0][:3]}
        task.record([task.failed(work, "malformed") for work in works])
        assert failed > 0.3 * replies
        assert content(store) == before
        assert len(store.enriching.failures("extract")) == 3


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
        assert store.maintenance.check().problems == ()


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


def rows(store: Clew) -> list[object]:
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
        assert store.maintenance.check().problems == ()


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
        assert store.maintenance.check().problems == ()


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
    made = SqliteStore(tmp_path, embedder=EMBEDDER)
    fill(made)
    yield made
    made.close()


def fill(store: Store) -> None:
    stated = [("Anna", "met", "smith")]
    store.save(make_entry("a", "Anna met the smith.", names=["Anna"], relations=stated))
    store.save(make_entry("b", "Anna met the smith again.", names=["Anna"], relations=stated))


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
