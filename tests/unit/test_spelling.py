"""Words that the store does not have are read as the nearest that it has, and the notes say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.graph.vocabulary import CHANGES, current_vocabulary, sound
from clew.search.analysis.spelling import MOST_READ, _is_known, _likelihood, read_as_spelt
from clew.search.strategies import STRATEGIES
from clew.testing.fakes import HashEmbedder
from clew.text import fold
from clew.tools.toolbox import TOOLS, Toolbox
from tests.unit.asked import add, new_session

TEXTS = {
    "Telegraph": "Oda Marlind invented the telegraph of Tarnholm. It clicked for forty years.",
    "Weaving": "Ivo Swisher wove at Tarnholm. The loom was a gift of the Enthought guild.",
    "Safety": "Sicher ist der Steg. Der Steg ist sicher, sicher, sicher.",
    "Code": "class ReadTimeout: raised where the peer sends nothing. See read_timeout.",
    "Chemistry": "A phosphate is a salt.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS)
        yield engine


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("who inventd the telegaf", "who invented the telegraph"),
        ("Who is Oda Marlidn?", "Who is Oda Marlind?"),
        ("TARNHOML", "TARNHOLM"),
        ("ReadTimout exception", "Readtimeout exception"),
        ("what is a fosphate", "what is a phosphate"),
        # Of two words as near, the one that stands beside the question's others.
        ("Ivo Swicher of Tarnholm", "Ivo Swisher of Tarnholm"),
        ("der Steg, swicher", "der Steg, sicher"),
    ],
)
def test_a_slip_is_read_as_what_is_meant(engine: clew.Clew, question: str, meant: str) -> None:
    session = read_as_spelt(new_session(engine, question))

    assert session.question == meant
    assert all(note.startswith("read '") for note in session.notes)
    assert session.notes


@pytest.mark.parametrize(
    "question",
    [
        "Who invented the telegraph?",  # all is there
        "Who invents telegraphs?",  # in another form
        "Who invented the tele?",  # too short to be sure
        "Who mended the bloom?",  # English, though near "loom"
        "the exact words “inventd the telegaf”",  # quoted
        "inventd.txt and src/telegaf and a_telegaf and telegaf()",  # files, paths, code
        "mail to telegaf@example.org",
        "telegaf5 of 2telegaf",
        "Albrecht Zweinstein",  # near nothing
        "",
        "テレグラフ 時計台",
    ],
)
def test_what_is_no_slip_stays(engine: clew.Clew, question: str) -> None:
    session = new_session(engine, question)

    assert read_as_spelt(session) is session
    assert not session.notes


def test_every_strategy_understands_and_says_so(engine: clew.Clew) -> None:
    for strategy in ("auto", *STRATEGIES):
        found = engine.search("Who inventd the telegaf of Tarnholm?", strategy=strategy)
        assert found.query == "Who inventd the telegaf of Tarnholm?"
        assert "read 'telegaf' as 'telegraph'" in found.notes, strategy
        if strategy not in ("global", "topic", "vector", "parent_child", "hierarchical"):
            assert found.hits[0].chunk.title == "Telegraph", strategy


def test_a_name_that_no_text_has_is_no_slip(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, TEXTS)
        assert read_as_spelt(new_session(engine, "Where is the Marlynd?")).notes
        ship = {"name": "Marlynd", "entityType": "ship", "observations": []}
        made = Toolbox(engine, TOOLS, profile="memory").call(
            "create_entities", {"entities": [ship]}
        )
        assert not made.is_error
        session = new_session(engine, "Where is the Marlynd?")
        assert read_as_spelt(session) is session


def test_words_come_and_go_with_the_texts(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("The first loom.", source="a")
        corrected = "read 'quagstone' as 'quaggstone'"
        assert corrected not in engine.search("quagstone").notes
        engine.add("The quaggstone of Vell.", source="b")
        assert engine.search("quagstone").notes == (corrected,)
        engine.delete(["b"])
        assert corrected not in engine.search("quagstone").notes


def test_words_are_kept_beside_the_store_and_only_new_texts_are_read(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("The quaggstone of Vell.", source="a")
        [file] = tmp_path.rglob("words-*.arrays")
        engine.add("A second text: brinkwood.", source="b")
        assert list(tmp_path.rglob("words-*.arrays")) == [file], "few changes cost no file"
        kept = current_vocabulary(engine.store, engine.store.folder)
        assert {"quaggstone", "brinkwood"} <= kept.all_words
        for number in range(CHANGES):
            engine.add(f"Text {number}.", source=str(number))
        [later] = tmp_path.rglob("words-*.arrays")
        assert later != file
        later.write_bytes(b"damaged")
        again = current_vocabulary(engine.store, engine.store.folder)
        assert again.all_words == current_vocabulary(engine.store, tmp_path).all_words


def test_words_of_texts_long_gone_are_forgotten(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("The first loom.", source="kept")
        known = current_vocabulary(engine.store, engine.store.folder)
        for word in ("quaggstone", "brinkwood", "marrowfell", "oakendale"):
            engine.add(f"The {word} of Vell.", source="changing")
            known = current_vocabulary(engine.store, engine.store.folder, known)
        assert "quaggstone" not in known.all_words
        assert {"loom", "first", "oakendale"} <= known.all_words


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200) | st.text("abcdefgt ", max_size=200))
def test_any_question_is_read(engine: clew.Clew, question: str) -> None:
    session = read_as_spelt(new_session(engine, question))
    assert bool(session.notes) == (session.question != question)


@pytest.mark.parametrize("question", ["telegaf" * 1500, "x" * 10_000, "“" * 10_000])
def test_endless_words_are_none(engine: clew.Clew, question: str) -> None:
    session = new_session(engine, question)
    assert read_as_spelt(session) is session


def test_a_few_words_of_a_question_are_read(engine: clew.Clew) -> None:
    once = [f"inv{letter}ented" for letter in "abcdfghjklmnop"]
    session = read_as_spelt(new_session(engine, " ".join([*once, *once])))
    assert session.question.count("invented") == 2 * MOST_READ
    assert len(session.notes) == MOST_READ


# --- what is known elsewhere -------------------------------------------------------------

ENGLISH = {
    "Oven": "The oven stays warm for a day. A quiet fan cools it. The cover was never washed.",
    "Tool": "The Quintet is a pump of the firm Marrow. The Quintet costs 900 kroner.",
    "Roof": "Ada Holm repaired the roof of the granary in the spring. The warden was glad.",
    "Coming": "Comedy nights are on Friday. The pound is strong. The dock at Wanne is old.",
}
ASKED_WITH = {
    "de": ["Warum", "Wann wurde", "Welche Leute haben", "Wieviel kostet", "Woher kommt"],
    "fr": ["Pourquoi", "Combien coûte", "Quelle est", "Quand est-ce que", "Comment répare-t-on"],
    "es": ["Quién", "Cuándo fue", "Por qué está", "Cuánto cuesta", "Dónde está", "Cómo se llama"],
    "it": ["Perché", "Quando è stato", "Quanto costa", "Dove si trova", "Chi ha riparato"],
    "nl": ["Waarom", "Wanneer werd", "Hoeveel kost", "Wie heeft", "Welke is"],
    "sv": ["Varför", "När blev", "Vem har", "Vilken är", "Hur mycket kostar"],
}
NOUNS = {
    "de": ["der Ofen", "die Kovers", "das Dach", "Wärme", "der Quintett"],
    "fr": ["le couvert", "la pompe", "le toit du grenier", "la comédie", "un quintette"],
    "es": ["la bomba", "el tejado", "quieto el horno", "la comedia", "el quinteto"],
    "it": ["la pompa", "il tetto", "la commedia", "il quintetto", "la coperta"],
    "nl": ["de pomp", "het dak", "warmte", "de komedie", "het kwintet"],
    "sv": ["pumpen och taket", "den varma ugnen", "komedin som", "kvintetten på"],
}


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("english"), embedder=HashEmbedder()) as engine:
        add(engine, ENGLISH)
        yield engine


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(ASKED_WITH)), st.booleans())
def test_in_another_language_no_function_word_is_read_otherwise_and_no_worse_is_found(
    english: clew.Clew, data: st.DataObject, language: str, capitals: bool
) -> None:
    asked = data.draw(st.sampled_from(ASKED_WITH[language]))
    question = f"{asked} {data.draw(st.sampled_from(NOUNS[language]))}?"
    session = new_session(english, question.upper() if capitals else question)
    read = read_as_spelt(session)
    before, after = (re.findall(r"\w+", text) for text in (session.question, read.question))
    assert len(before) == len(after)
    for was, now in zip(before, after, strict=True):
        assert was == now or not _is_known(fold(was))
    if read is not session:
        better = _likelihood(session, read.question)
        assert better > _likelihood(session, session.question)
        assert session.notes


@pytest.mark.parametrize("question", ["Warum?", "Quién", "¿Quien?", "WARUM", "Pourquoi", "wann"])
def test_a_function_word_of_any_language_is_no_slip(english: clew.Clew, question: str) -> None:
    session = new_session(english, question)
    assert read_as_spelt(session) is session


@pytest.mark.parametrize(
    "question", ["When did Quinten repair the roof?", "Was Quintek glad in the spring?"]
)
def test_a_name_that_is_told_of_elsewhere_is_not_read_into_a_question(
    english: clew.Clew, question: str
) -> None:
    session = new_session(english, question)
    assert read_as_spelt(session) is session


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What does the Quintat cost?", "What does the Quintet cost?"),
        ("Who repared the roof of the granery?", "Who repared the roof of the granary?"),
    ],
)
def test_a_slip_beside_words_that_are_told_with_it_is_one(
    english: clew.Clew, question: str, meant: str
) -> None:
    read = read_as_spelt(new_session(english, question)).question
    assert read.replace("repaired", "repared") == meant


MISSPELT = ["granary", "repaired", "quintet", "washed", "comedy", "kroner"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MISSPELT), st.integers(1, 6), st.sampled_from(["swap", "drop", "double"]))
def test_generated_slips_are_still_found(
    english: clew.Clew, word: str, place: int, slip: str
) -> None:
    at = min(place, len(word) - 2)
    pair = {"swap": word[at + 1] + word[at], "drop": word[at + 1], "double": word[at] * 2}
    misspelt = word[:at] + pair[slip] + word[at + (1 if slip == "double" else 2) :]
    session = new_session(english, f"Tell me of the {misspelt}")
    held = {w.strip(".").lower() for text in ENGLISH.values() for w in text.split()}
    if len(misspelt) < 5 or misspelt in held or _is_known(misspelt):
        return
    assert word in read_as_spelt(session).question or sound(word)[:1] != sound(misspelt)[:1]
