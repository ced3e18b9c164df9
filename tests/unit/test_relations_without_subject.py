"""A sentence of an observation that has no subject speaks of what the observation was told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.relations.phrases import read_phrase
from clew.settings import EmbedSettings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Toolbox
from clew.types import Chunk, Document, NewEntity
from clew.word_lists import read_word_lists

Fact = tuple[str, str, str]

LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")
PHRASES = (
    "lives in|lived in|resides in|settled in|moved to|relocated to|has moved back to|works for"
    "|works at|is working at|started working for|is married to|was born in|is part of|belongs to"
    "|depends on|needs|relies on|uses|causes|extends|implements|is related to|is the founder of"
    "|is a member of|became the director of|now lives in|also works for|was founded by"
    "|is used by|is the capital of|does not live in|will move to|might work for"
).split("|")
VERBS = [*LISTS["past"].split(), *LISTS["present"].split()]
VERBS += [f"{verb} {at}" for verb in LISTS["participles"].split() for at in ("by", "in")]
OWNERS = ("Amparo Sandoval", "Jory Penhale", "Ostra Mills Ltd", "Zorblax", "billing service", "C++")
OBJECTS = ("Bilbao", "Cádiz", "Mistral GmbH", "Iker Olano", "Quuxitis", "Quux University", "Emma")
TIMES = ("", " in June", " since 2019", " from 2010 to 2014")


def stated(text: str, owner: str, *, is_observation: bool) -> list[tuple[object, ...]]:
    told = f"memory:{owner.casefold()}" if is_observation else ""
    document = Document(source=f"{told}#1" if told else "a", origin=told, text=text, title=owner)
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    (found,) = PatternExtractor().extract(document, [chunk]).chunks
    return [
        (one.head, one.relation_type, one.tail, one.valid_from, one.valid_until, one.confidence)
        for one in found.relations
        if owner in (one.head, one.tail)
    ]


def facts(text: str, owner: str) -> list[Fact]:
    return [one[:3] for one in stated(text, owner, is_observation=True)]  # type: ignore[misc]


@given(
    owner=st.sampled_from(OWNERS),
    said=st.sampled_from([*PHRASES, *VERBS]),
    other=st.sampled_from(OBJECTS),
    time=st.sampled_from(TIMES),
    end=st.sampled_from((".", "")),
)
def test_a_sentence_without_a_subject_states_what_it_does_with_its_owner(
    owner: str, said: str, other: str, time: str, end: str
) -> None:
    rest = f"{said} {other}{time}{end}"
    with_owner = stated(f"{owner} {rest}", owner, is_observation=True)
    capital = rest[0].upper() + rest[1:]
    for opening in (rest, capital, f"- {rest}", f"- {capital}", f"Is tall. {capital}"):
        assert stated(opening, owner, is_observation=True) == with_owner


@pytest.mark.parametrize("said", PHRASES)
def test_a_phrase_states_its_type_and_what_is_not_so_states_nothing(said: str) -> None:
    known = read_phrase(f" {said} ")
    expected = [("Zorblax", known.relation_type, "Bilbao")] if known else []
    if known and known.inverse:
        expected = [("Bilbao", known.relation_type, "Zorblax")]
    assert facts(f"{said.capitalize()} Bilbao.", "Zorblax") == expected


@given(owner=st.sampled_from(OWNERS), said=st.sampled_from(PHRASES))
def test_no_other_document_has_an_owner(owner: str, said: str) -> None:
    assert not stated(f"{said.capitalize()} Bilbao.", owner, is_observation=False)


@pytest.mark.parametrize(
    "text",
    [
        "Iker Olano moved to Bilbao.",
        "Ahmed moved to Bilbao.",
        "And Iker Olano founded Acme.",
        "United Airlines flies to Bilbao.",
        "United Airlines pilot",
        "Associated Press reporter since 2019",
        "Said Aziz works for Ostra Ltd",
        "Her brother moved to Bilbao.",
        "Mother lives in Bilbao.",
        "Iker's wife works for Ostra Ltd.",
        "The founder of Acme is Iker Olano.",
        "iker moved to Bilbao.",
        "They moved to Bilbao.",
        "Moved to Bilbao?",
        "Colleagues: Iker Olano, Emma Ray",
    ],
)
def test_another_subject_keeps_what_is_said_of_it(text: str) -> None:
    assert facts(text, "Amparo Sandoval") == []


FIRST: tuple[str, ...] = (
    "Changed jobs",
    "Left Acme Ltd",
    "Sold the van",
    "Works for Acme Ltd",
    "Finally quit",
)
FIRST += ("Was born in Turku in 1980", "Is tall", "Now depends on Acme Ltd", "Packed up")
SECOND = [said for said in PHRASES if said.split()[0] not in ("does", "will", "might", "also")]


@given(
    owner=st.sampled_from(OWNERS),
    first=st.sampled_from(FIRST),
    joined=st.sampled_from((" and ", ", and ", ", then ", " and then ", " but ")),
    second=st.sampled_from([*SECOND, "joined", "wrote", "married"]),
    other=st.sampled_from(OBJECTS),
    time=st.sampled_from(TIMES),
    opening=st.sampled_from(("", "- ", "OWNER ")),
)
def test_a_further_verb_states_what_it_does_by_itself(
    owner: str, first: str, joined: str, second: str, other: str, time: str, opening: str
) -> None:
    said = f"{first}{joined}{second} {other}{time}."
    if opening == "OWNER ":
        said = said[0].lower() + said[1:]
    both = stated(opening.replace("OWNER", owner) + said, owner, is_observation=True)
    for alone in (first, f"{second.capitalize()} {other}{time}."):
        assert set(stated(alone, owner, is_observation=True)) <= set(both)


@pytest.mark.parametrize(
    "text",
    [
        "Will quit and live in Bilbao.",
        "Will leave Acme and move to Bilbao.",
        "Has not sold the van and moved to Bilbao.",
        "Decided to quit and work for Bilbao.",
        "Hopes that it ends and moved to Bilbao.",
        "Met a man who left Acme and moved to Bilbao.",
        "Told us that they left and moved to Bilbao.",
        "Mother left Acme and moved to Bilbao.",
        "Her brother left Acme and moved to Bilbao.",
        "Iker Olano left Acme and moved to Bilbao.",
        "Left Acme and her brother moved to Bilbao.",
        "Left Acme and Emma Ray moved to Bilbao.",
    ],
)
def test_a_verb_of_another_subject_or_of_a_plan_states_nothing(text: str) -> None:
    assert [one for one in facts(text, "Amparo Sandoval") if "Bilbao" in one] == []


def test_each_sentence_may_do_without() -> None:
    text = "Lives in Cádiz. Works for Ostra Mills. Iker Olano moved to Bilbao. Married Emma Ray."
    assert facts(text, "Amparo Sandoval") == [
        ("Amparo Sandoval", "lives_in", "Cádiz"),
        ("Amparo Sandoval", "works_for", "Ostra Mills"),
        ("Amparo Sandoval", "married", "Emma Ray"),
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("She moved to Bilbao.", ["Bilbao"]),
        ("She lives in Turku. She moved to Bilbao.", ["Turku", "Bilbao"]),
        ("Knows Iker Olano. He moved to Bilbao.", []),
        ("It moved to Bilbao.", []),
    ],
)
def test_a_pronoun_that_opens_an_observation_means_its_owner(text: str, places: list[str]) -> None:
    found = [tail for _, kind, tail in facts(text, "Amparo Sandoval") if kind == "lives_in"]
    assert found == places


def test_what_the_store_knows_by_hand_is_found_behind_the_verb(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder(dimension=8)) as engine:
        memory = engine.entities.memory
        memory.create([NewEntity(name="billing service"), NewEntity(name="event queue")])
        memory.add_observations([("billing service", ["Depends on the event queue."])])
        (one,) = engine.graph.relations("billing service")
        assert (one.head, one.relation, one.tail) == (
            "billing service",
            "depends_on",
            "event queue",
        )


@pytest.mark.parametrize(
    ("first", "second", "question"),
    [
        ("Lives in Cádiz.", "Moved to Bilbao.", "Where does NAME live?"),
        ("Resides in Turku.", "Relocated to Vaasa.", "Where does NAME live now?"),
        ("Works for Ostra Ltd.", "Works for Mistral GmbH.", "Who does NAME work for?"),
        ("Is married to Iker Olano.", "Is married to Emil Brask.", "Who is NAME married to?"),
    ],
)
@pytest.mark.parametrize("name", ["Amparo Sandoval", "Jory Penhale"])
def test_the_newer_of_two_goes_first_and_the_older_is_marked(
    tmp_path: Path, name: str, first: str, second: str, question: str
) -> None:
    from clew.models.onnx import OnnxEmbedder

    with clew.open(tmp_path, embedder=OnnxEmbedder(EmbedSettings(cache=tmp_path))) as engine:
        tools = Toolbox(engine, TOOLS, profile="full")

        def call(tool: str, **arguments: object) -> dict[str, Any]:
            outcome = tools.call(tool, arguments)
            assert not outcome.is_error, outcome.text
            return outcome.content

        call(
            "create_entities", entities=[{"name": name, "entityType": "person", "observations": []}]
        )
        for text in (first, second):
            call("add_observations", observations=[{"entityName": name, "contents": [text]}])
        results = call("query_documents", query=question.replace("NAME", name))["results"]
    told = [one for one in results if one["text"] in (first, second)]
    assert [one["text"] for one in told] == [second, first]
    newer, older = (one["metadata"]["state"] for one in told)
    assert newer == "current"
    assert older in ("earlier", "ended")
