"""Terms and names: what the learned classifier may change, and what follows for the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.indexing.ner.classifier import UNCLASSIFIED, classified
from clew.models.tagger import OnnxTagger
from clew.ports import KINDS, RELATIONS
from clew.stores.aliases import stronger_type
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from clew.types import (
    TERM,
    UNKNOWN_TYPE,
    WEAK_TYPES,
    Chunk,
    ChunkExtraction,
    ExtractedRelation,
    Extraction,
    Mention,
    NewEntity,
)

TYPES = (UNKNOWN_TYPE, *sorted(UNCLASSIFIED), *KINDS[1:])
NAMES = ("Annis Orme", "Bills", "Rota", "RENT", "Halifax", "Oma", "鲁迅", "Sold 40", "Ünal", "X")


@pytest.fixture(scope="module")
def tagger() -> OnnxTagger:
    return OnnxTagger()


@st.composite
def extractions(draw: st.DrawFn) -> tuple[list[Chunk], Extraction]:
    """A document of a few sentences, each with a name at its place, and relations between them."""
    said = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TYPES)), min_size=1))
    words = draw(st.lists(st.sampled_from(("we saw", "#", "|", "the", "")), min_size=1, max_size=4))
    text, sentences, mentions = "", list[tuple[int, int]](), list[Mention]()
    for number, (name, kind) in enumerate(said):
        first, start = len(text), len(text) + len(words[number % len(words)]) + 1
        text += f"{words[number % len(words)]} {name} today.\n"
        sentences.append((first, len(text)))
        mentions.append(
            Mention(
                name=name, entity_type=kind, sentence=number, start=start, end=start + len(name)
            )
        )
    ends = draw(st.lists(st.tuples(st.sampled_from(said), st.sampled_from(said)), max_size=2))
    relations = [
        ExtractedRelation(head=a, relation_type="knows", tail=b, sentence=0, confidence=0.5)
        for (a, _), (b, _) in ends
    ]
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    found = ChunkExtraction(
        sentences=tuple(sentences), mentions=tuple(mentions), relations=tuple(relations)
    )
    return [chunk], Extraction(chunks=(found,), about=(said[0],), aliases=())


@given(given_=extractions())
@settings(max_examples=60, deadline=None)
def test_a_name_gets_a_type_or_is_a_term_and_relations_join_names(
    tagger: OnnxTagger, given_: tuple[list[Chunk], Extraction]
) -> None:
    chunks, found = given_
    [before], [after] = found.chunks, classified(chunks, NAMES[0], found, tagger).chunks

    shown: dict[str, set[str]] = {}
    for mention in before.mentions:
        shown.setdefault(entity_key(mention.name), set()).add(mention.entity_type)
    ends = {entity_key(name) for one in before.relations for name in (one.head, one.tail)}
    # A person's first name and surname are known beside the name in full.
    parts = [one for one in after.mentions if one.name in ("Annis", "Orme")]
    assert all(one.entity_type == "person" for one in parts)
    whole = [one for one in after.mentions if one not in parts]
    for old, new in zip(before.mentions, whole, strict=True):
        key = entity_key(old.name)
        if shown[key] & UNCLASSIFIED or old.name.lower() == old.name.upper():
            assert new == old
            continue
        place = (new.name, new.sentence, new.start, new.end, new.count)
        assert place == (old.name, old.sentence, old.start, old.end, old.count)
        assert new.entity_type != TERM or key not in ends
        # A type that a pattern shows stays; a name without one may get any.
        typed = shown[key] - {UNKNOWN_TYPE}
        assert new.entity_type in (typed or {UNKNOWN_TYPE, *KINDS[1:]}) | {TERM}
    # What patterns found stays; what comes beside it joins two names of its sentence.
    assert after.relations[: len(before.relations)] == before.relations
    types = {
        (sentence, one.name): one.entity_type
        for one in after.mentions
        for sentence in (one.sentence, None)
    }
    for one in after.relations[len(before.relations) :]:
        assert one.relation_type in RELATIONS
        assert one.head != one.tail
        assert TERM not in {types[one.sentence, one.head], types[one.sentence, one.tail]}


NOTES = {
    "Shopping": "# Shopping\n\nRENT 40\nBread\nSold the old table to Margaret Thorne for 30.",
    "Chapel": "On Sunday we sang with Margaret Thorne in Ravensworth. Bread was served.",
    "Trip": "Ewan Lister drove Margaret Thorne from Ravensworth to Kirkby Stephen.",
}


def test_terms_are_no_knowledge_and_are_found_all_the_same(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        for title, text in NOTES.items():
            engine.add(text, title=title)
        known = {one.entity.name for one in engine.graph.importance(limit=99)}
        terms = engine.store.entity_names(engine.store.entities_of_type(TERM).tolist())
        found = engine.search("RENT", strategy="keyword").hits

        assert {"Margaret Thorne", "Ravensworth", "Ewan Lister"} <= known
        assert {"RENT 40", "Shopping"} <= set(terms.values())
        assert not known & set(terms.values())
        assert found[0].chunk.title == "Shopping"
        # What somebody states is known, whatever it was taken for.
        engine.entities.memory.add_entities([NewEntity(name="Shopping")], [["Is for Fridays."]])
        rent, town = (engine.entities.get(name).id for name in ("RENT 40", "Ravensworth"))
        engine.entities.add_relation(rent, town, "is_due_in")
        stated = {one.entity.name for one in engine.graph.importance(limit=99)}
        assert stated >= {"Shopping", "RENT 40"}


@given(told=st.lists(st.sampled_from((*WEAK_TYPES, *KINDS[1:])), min_size=1))
def test_the_first_type_that_says_something_stays(told: list[str]) -> None:
    held = WEAK_TYPES[0]
    for one in told:
        held = stronger_type(held, one)
    telling = [one for one in told if one not in WEAK_TYPES]
    assert held == (telling[0] if telling else max(told, key=WEAK_TYPES.index))


CHAT = "12/05/2025, 08:00 - Ewan Lister: I saw Margaret Thorne in Ravensworth\n"


def test_no_field_makes_a_title_a_name(tmp_path: Path) -> None:
    """Who speaks in a chat, and the name of the file, state something of documents."""
    (tmp_path / "WhatsApp chat with the walkers.txt").write_text(CHAT * 3, encoding="utf-8")
    (tmp_path / "7-minutes-of-may.md").write_text("# Minutes, 4 May\n\nEwan Lister spoke.")
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.index([tmp_path])
        known = {one.entity.name for one in engine.graph.importance(limit=99)}

    assert {"Ewan Lister", "Margaret Thorne", "Ravensworth"} <= known
    assert not [name for name in known if "chat" in name.lower() or "minutes" in name.lower()]


def test_a_name_that_is_merged_into_a_term_stays_a_name(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        for title, text in NOTES.items():
            engine.add(text, title=title)
        before = engine.entities.get("Margaret Thorne").entity_type
        engine.entities.merge("Margaret Thorne", "RENT 40")
        assert engine.entities.get("RENT 40").entity_type == before != TERM
