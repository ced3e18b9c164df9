"""Topics: what several documents are on, the passages tied to them, and the themes they form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clew.graph.topics import PER_PASSAGE, make_topics, mean_direction
from clew.ports import TopicSet
from clew.testing.entries import make_entry
from tests.unit.community_stores import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library.open(tmp_path)
    yield library
    library.store.close()


def topics(library: Library) -> TopicSet:
    return make_topics(library.store, library.vectors, library.snapshot())


def save(library: Library, source: str, *texts: str, names: tuple[str, ...] = ()) -> None:
    library.store.save(make_entry(source, *texts, names=names))


def passages(library: Library, found: TopicSet, name: str) -> list[str]:
    """Texts of the passages that are on a topic."""
    place = found.names.index(name)
    ids = found.chunks[found.chunks[:, 0] == place, 1].tolist()
    return [chunk.text for chunk in library.store.chunks(ids)]


def test_names_and_phrases_of_two_documents_are_topics(library: Library) -> None:
    texts = [
        "The stained glass in Chartres is old.",
        "Chartres is a town.",
        "She makes stained glass.",
    ]
    for number, text in enumerate(texts):
        save(library, f"{number}", text, names=("Chartres",) if "Chartres" in text else ())
    save(library, "other", "Nothing of the kind.")
    found = topics(library)
    assert sorted(found.names) == ["Chartres", "stained glass"]
    assert passages(library, found, "Chartres") == texts[:2]
    assert passages(library, found, "stained glass") == [texts[0], texts[2]]
    assert found.documents.tolist() == [2, 2]


def test_a_long_document_has_topics_of_its_own(library: Library) -> None:
    """Three of its passages, for neighbouring ones may overlap."""
    save(
        library, "a", "Gas turbines run.", "A gas turbine.", "Every gas turbine.", "A steam engine."
    )
    save(library, "b", "The pipe organ.", "A pipe organ.", "Nothing.")
    found = topics(library)
    assert (found.names, found.documents.tolist()) == (("gas turbine",), [1])


def test_a_name_is_a_topic_once_and_a_date_or_a_bare_title_is_none(library: Library) -> None:
    for number in range(3):
        library.store.save(
            make_entry(
                f"{number}",
                f"New York City in 1923, for the {number}th time.",
                names={"New York City": "place", "1923": "date"},
                about=[("Minutes", "work")],
            )
        )
    found = topics(library)
    assert (found.names, found.keys) == (("New York City",), ("name: new york city",))


def test_a_passage_is_on_few_topics_the_rarest_first(library: Library) -> None:
    pairs = ["harp maker", "lyre player", "tuba lesson", "oboe reed", "flute pad", "drum skin"]
    text = ". ".join(pairs)
    for number in range(2):
        save(library, f"all {number}", text)
    for number in range(8):
        save(library, f"some {number}", "A harp maker.")
    found = topics(library)
    counts = Counter(found.chunks[:, 1].tolist())
    assert max(counts.values()) == PER_PASSAGE == 5
    assert passages(library, found, "harp maker") == ["A harp maker."] * 8
    assert passages(library, found, "drum skin") == [text] * 2


def test_what_every_passage_names_is_no_topic_of_a_large_store(library: Library) -> None:
    for number in range(30):
        name = "Ottilie" if number < 12 else "Kunigunde"
        save(library, f"{number}", f"{name} number {number}.", names=("Ottilie", "Kunigunde"))
    assert topics(library).names == ()


def test_topics_that_go_together_are_themes(library: Library) -> None:
    music, craft = ("harp maker", "lyre player"), ("oil paint", "pine frame")
    for number in range(4):
        save(library, f"music {number}", f"A {music[0]}, a {music[1]}.")
        save(library, f"craft {number}", f"An {craft[0]}, a {craft[1]}.")
    found = topics(library)
    theme = dict(zip(found.names, found.themes.tolist(), strict=True))
    assert theme["harp maker"] == theme["lyre player"] != theme["oil paint"] == theme["pine frame"]
    assert sorted(found.theme_titles) == ["harp maker and lyre player", "oil paint and pine frame"]


def test_vectors_are_the_direction_of_what_is_on_the_topic(library: Library) -> None:
    for number in range(4):
        save(library, f"{number}", f"A harp maker and a lyre player, {number}.")
    found = topics(library)
    for place in range(len(found.names)):
        ids = found.chunks[found.chunks[:, 0] == place, 1]
        assert np.array_equal(found.vectors[place], mean_direction(library.vectors.vectors(ids)))
    assert len(found.theme_vectors) == 1
    assert np.array_equal(found.theme_vectors[0], mean_direction(found.vectors))


def test_topics_survive_being_kept(library: Library) -> None:
    for number in range(4):
        save(library, f"{number}", "A harp maker.", "A lyre player.")
    library.update()
    before = {topic.name: topic.id for topic in library.communities.topics()}
    assert sorted(before) == ["harp maker", "lyre player"]
    for number in range(3):
        save(library, f"new {number}", "A tuba lesson.")
    library.update()
    after = {topic.name: topic.id for topic in library.communities.topics()}
    assert set(after) - set(before) == {"tuba lesson"}
    assert before.items() <= after.items()


def test_a_store_without_topics_has_none(library: Library) -> None:
    for found in (topics(library), _with_one(library)):
        assert (found.names, found.theme_titles) == ((), ())
        assert found.chunks.shape == (0, 2)
        assert len(found.vectors) == len(found.theme_vectors) == 0


def _with_one(library: Library) -> TopicSet:
    save(library, "a", "A harp maker.")
    return topics(library)


def test_no_single_ordinary_word_no_file_and_no_shouted_or_repeated_word_is_a_topic(
    library: Library,
) -> None:
    texts = [
        "See Number in notes.rst of ZORB QUUX.",
        "Number and notes.rst, ZORB QUUX.",
        "Zorb zorb.",
    ]
    for number, text in enumerate(texts):
        save(library, f"{number}", text, names=("Number", "notes.rst") if number < 2 else ())
    save(library, "more", "Zorb zorb again, in Chartres.", names=("Chartres",))
    save(library, "last", "In Chartres.", names=("Chartres",))
    assert topics(library).names == ("Chartres",)
