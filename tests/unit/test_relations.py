from __future__ import annotations

import pytest

from clew.ingest.extract import PatternExtractor
from clew.ingest.relation_phrases import read_attribute, read_phrase
from clew.ingest.relations import PRONOUN_FACTOR
from clew.types import Chunk, Document, ExtractedRelation

Fact = tuple[str, str, str]


def relations(text: str, title: str = "") -> list[ExtractedRelation]:
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    found = PatternExtractor().extract(Document(source="a", text=text, title=title), [chunk])
    return list(found.chunks[0].relations)


def facts(text: str, title: str = "") -> list[Fact]:
    return [(r.head, r.relation_type, r.tail) for r in relations(text, title)]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Here Zorblax causes Quuxitis.", ("Zorblax", "causes", "Quuxitis")),
        ("Here Quuxitis is caused by Zorblax.", ("Zorblax", "causes", "Quuxitis")),
        ("Here Zorblax often leads to Quuxitis.", ("Zorblax", "causes", "Quuxitis")),
        ("Here Zorblax is a part of Quux.", ("Zorblax", "part_of", "Quux")),
        ("Here Quux contains Zorblax.", ("Zorblax", "part_of", "Quux")),
        ("Here Zorblax implements Quux.", ("Zorblax", "implements", "Quux")),
        ("Here Zorblax extends Quux.", ("Zorblax", "extends", "Quux")),
        ("Here Zorblax uses Quux.", ("Zorblax", "uses", "Quux")),
        ("Here Quux is used by Zorblax.", ("Zorblax", "uses", "Quux")),
        ("Here Zorblax depends on Quux.", ("Zorblax", "depends_on", "Quux")),
        ("Here Zorblax is closely related to Quux.", ("Zorblax", "relates_to", "Quux")),
        ("Then Inception was directed by Nolan.", ("Inception", "directed_by", "Nolan")),
        ("Then Inception, directed by Nolan, won.", ("Inception", "directed_by", "Nolan")),
        ("Then Nolan directed Inception.", ("Nolan", "directed", "Inception")),
        ("Then Nolan married Emma Thomas.", ("Nolan", "married", "Emma Thomas")),
        ("Here Paris is the capital of France.", ("Paris", "capital_of", "France")),
        ("There Ann Lee was born in Kerman.", ("Ann Lee", "born_in", "Kerman")),
        ("Then Ann Lee died in 1990.", ("Ann Lee", "died_in", "1990")),
        ("There Ann Lee, daughter of Bob Lee, sang.", ("Ann Lee", "daughter_of", "Bob Lee")),
        (
            "Zorblax is a 1957 West German comedy film directed by Géza Cziffra.",
            ("Zorblax", "directed_by", "Géza Cziffra"),
        ),
        (
            "Then Inception was written by British author Ann Lee.",
            ("Inception", "written_by", "Ann Lee"),
        ),
        ("Then Ann Lee was born in the city of Kerman.", ("Ann Lee", "born_in", "Kerman")),
    ],
)
def test_what_a_sentence_states(text: str, fact: Fact) -> None:
    assert fact in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Here Zorblax does not cause Quuxitis.",
        "Here Zorblax was never used by Quux.",
        "Here Zorblax didn't marry Quux.",
        "Here Zorblax and Quux won.",
        "Here Zorblax is a friend. Quux is another.",
        "Here Zorblax went away; Quux came.",
        "Here Zorblax signed Quux's law.",
        "Here Zorblax said that after all of those long and hard years there was Quux.",
        "In 1990 there was Zorblax.",
    ],
)
def test_nothing_is_stated(text: str) -> None:
    assert facts(text) == []


def test_only_causes_are_causal() -> None:
    found = relations("Here Zorblax causes Quuxitis. Here Zorblax uses Foobaria.")
    assert [(r.relation_type, r.is_causal) for r in found] == [("causes", True), ("uses", False)]


def test_subject_of_the_document_stands_for_a_pronoun() -> None:
    text = "Ann Lee was a singer. She was born in Kerman."
    (found,) = relations(text, title="Ann Lee (singer)")
    assert (found.head, found.relation_type, found.tail) == ("Ann Lee", "born_in", "Kerman")
    assert found.sentence == 1
    sure = relations("Then Ann Lee was born in Kerman.")[0].confidence
    assert found.confidence == pytest.approx(sure * PRONOUN_FACTOR)


def test_subject_stands_for_its_kind() -> None:
    assert facts("The film was directed by Bob Ray.", title="Zorblax (film)") == [
        ("Zorblax", "directed_by", "Bob Ray")
    ]


def test_pronoun_without_a_subject_states_nothing() -> None:
    assert facts("She was born in Kerman.") == []


def test_same_fact_is_told_once_a_sentence() -> None:
    assert len(facts("Here Zorblax uses Quux, and here Zorblax uses Quux.")) == 1


def test_names_come_in_full() -> None:
    text = "Christopher Nolan was a director. There Nolan directed Inception."
    assert facts(text) == [("Christopher Nolan", "directed", "Inception")]


@pytest.mark.parametrize("gap", ["", " ", " and ", ", ", " in the ", " (", " 12 of "])
def test_gaps_without_a_verb_state_nothing(gap: str) -> None:
    assert read_phrase(gap) is None
    assert read_attribute(gap) is None


def test_types_are_snake_case_and_confidence_is_a_share() -> None:
    for gap in (" co-founded with ", " was the older brother of ", " moved to ", " is due to "):
        phrase = read_phrase(gap)
        assert phrase is not None
        assert phrase.relation_type.replace("_", "").isalpha()
        assert 0 < phrase.confidence <= 1
