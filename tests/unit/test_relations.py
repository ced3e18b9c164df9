"""Relations that sentences state, and how much they are believed."""

from __future__ import annotations

import random
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.errors import NotFoundError
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.relations.patterns import PRONOUN_FACTOR
from clew.indexing.relations.phrases import read_phrase
from clew.languages import read_word_lists
from clew.stores.relations import (
    CONTRADICTED,
    RelationRow,
    belief_in,
    changed_weights,
    derived_ends,
    read_evidence,
)
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry, make_link
from clew.testing.fakes import HashEmbedder
from clew.types import Chunk, Document, ExtractedRelation, NewEntity, Relation
from tests.unit.called import refusal

# --- relations


Fact = tuple[str, str, str]


def relations(
    text: str, title: str = "", written: datetime | None = None
) -> list[ExtractedRelation]:
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    document = Document(source="a", text=text, title=title, created_at=written)
    return list(PatternExtractor().read(document, [chunk]).chunks[0].relations)


def candidates(text: str, title: str = "") -> list[Fact]:
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
        ("Then Ann Lee died in 1990 in Kerman.", ("Ann Lee", "died_in", "Kerman")),
        ("Then Ann Lee in May 1990 married Bob Ray.", ("Ann Lee", "married", "Bob Ray")),
        ("Then Zorblax was founded in 1990 by Ann Lee.", ("Zorblax", "founded_by", "Ann Lee")),
        ("It rose under the engineer Corwin Hale.", ("Corwin Hale", "is_a", "engineer")),
        ("There Ann Lee, CEO of Acme, sang.", ("Ann Lee", "ceo_of", "Acme")),
        ("There Ann Lee, the founder of Acme, sang.", ("Ann Lee", "founder_of", "Acme")),
        (
            "There Ann Lee is a professor at Quux University.",
            ("Ann Lee", "professor_at", "Quux University"),
        ),
        ("Zorblax is a small village in Quux.", ("Zorblax", "located_in", "Quux")),
        ("Zorblax is a free programming language.", ("Zorblax", "is_a", "programming language")),
        ("It was sold in Berlin, Germany.", ("Berlin", "located_in", "Germany")),
        ("There Ann Lee's brother Bob Lee sang.", ("Bob Lee", "brother_of", "Ann Lee")),
        ("It came from the Zorblax project then.", ("Zorblax", "is_a", "project")),
        ("Run the bin/zorblax.sh --purge command.", ("--purge", "option_of", "bin/zorblax.sh")),
        ("Remove the `zorb` target of `debian/rules`.", ("zorb", "part_of", "debian/rules")),
        ("Here `zorb` conflicts with `qux`.", ("zorb", "conflicts_with", "qux")),
        ('Then Ann Lee\'s novel "The Gone" won.', ("The Gone", "authored_by", "Ann Lee")),
        ("Zorblax (an unbranded version of Quux) won.", ("Zorblax", "version_of", "Quux")),
        (
            "There Mary Jones of Zorblax Inc. sang.",
            ("Mary Jones", "affiliated_with", "Zorblax Inc"),
        ),
        ("There Ann Lee, daughter of Bob Lee, sang.", ("Ann Lee", "daughter_of", "Bob Lee")),
        (
            "Then Inception was written by British author Ann Lee.",
            ("Inception", "written_by", "Ann Lee"),
        ),
        ("Then Ann Lee was born in the city of Kerman.", ("Ann Lee", "born_in", "Kerman")),
        ("Here Ada Lee lives in Paris.", ("Ada Lee", "lives_in", "Paris")),
        ("Here Ada Lee has lived in Paris.", ("Ada Lee", "lives_in", "Paris")),
        ("Here Ada Lee is living in Paris.", ("Ada Lee", "lives_in", "Paris")),
        ("Then Ada moved to Rome.", ("Ada", "lives_in", "Rome")),
        ("Then Ada just moved back to Rome.", ("Ada", "lives_in", "Rome")),
        ("Here Ada works at Acme.", ("Ada", "works_at", "Acme")),
        ("Here Ada works for Acme.", ("Ada", "works_for", "Acme")),
        ("Then Ada started working at Acme.", ("Ada", "works_at", "Acme")),
        ("Ada: I live in Paris.", ("Ada", "lives_in", "Paris")),
        ("Ada: Hi! I've lived in Paris for long.", ("Ada", "lives_in", "Paris")),
        ("Ada: I'm working for Acme.", ("Ada", "works_for", "Acme")),
        ("Ada: In 2019 I moved to Rome.", ("Ada", "lives_in", "Rome")),
        # What is past, or said of no person, keeps the verb that is there.
        ("Once Ada Lee lived in Paris.", ("Ada Lee", "lived_in", "Paris")),
        ("Then Acme Corporation moved to Berlin.", ("Acme Corporation", "moved_to", "Berlin")),
        ("Then the Rockets moved to Houston.", ("Rockets", "moved_to", "Houston")),
        (
            "Elli Mylonas, managing editor, Perseus Project, spoke.",
            ("Elli Mylonas", "editor_of", "Perseus Project"),
        ),
        ("The chair of the Quux Council is Ann Lee.", ("Ann Lee", "chair_of", "Quux Council")),
        ("Then Quux Group's founder is Ann Lee.", ("Ann Lee", "founder_of", "Quux Group")),
        ("Then Ann Lee is Quux Group's founder.", ("Ann Lee", "founder_of", "Quux Group")),
        ("The capital of Zorblax is Quux.", ("Quux", "capital_of", "Zorblax")),
        (
            "Ann Lee serves as chief executive of Quux Labs.",
            ("Ann Lee", "chief_executive_of", "Quux Labs"),
        ),
        (
            "The headquarters of Quux Labs are in Stennick.",
            ("Quux Labs", "headquartered_in", "Stennick"),
        ),
        ('Then Ann Lee wrote "The Long Ferry".', ("Ann Lee", "wrote", "The Long Ferry")),
        ("Then `foo_bar` uses `baz_qux` to run.", ("foo_bar", "uses", "baz_qux")),
        ("There is a company called Zorblax Seven.", ("Zorblax Seven", "is_a", "company")),
        ('Then the Dutch film "Zorblax Seven" was shown.', ("Zorblax Seven", "is_a", "film")),
        ("Zorblax is a river in Quux, Stennick, Norway.", ("Stennick", "located_in", "Norway")),
        ("It was seen in Quux Bay, Maine and shown there.", ("Quux Bay", "located_in", "Maine")),
        (
            "Ann Lee received her PhD from Quux University.",
            ("Ann Lee", "studied_at", "Quux University"),
        ),
        ('"Quux" is a song by Ann Lee.', ("Quux", "authored_by", "Ann Lee")),
        (
            '"Quux Hill" was written and directed by Ann Lee.',
            ("Quux Hill", "directed_by", "Ann Lee"),
        ),
    ],
)
def test_what_a_sentence_states(text: str, fact: Fact) -> None:
    assert fact in candidates(text)


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
        # Between a name and a date there is a time, and no relation.
        "Then Ann Lee died in 1990.",
        "Zorblax was released on 7 May 2020.",
        # No fact: a question, a condition, a possibility, hearsay, a wish.
        "When did Ann Lee found Acme?",
        "Then Ann Lee founded Acme?",
        "If Ann Lee founded Acme, all is well.",
        "All is well if Ann Lee founded Acme.",
        "Here Ann Lee would have founded Acme.",
        "Here Ann Lee might have founded Acme.",
        "Here Ann Lee may have married Bob Ray.",
        "Here Zorblax can be installed on Quux.",
        "There Ann Lee allegedly founded Acme.",
        "There Ann Lee denied that Bob Ray founded Acme.",
        "They said Bob Ray founded Acme.",
        "There Bob Ray founded Acme, according to Ann Lee.",
        "It is not true that Bob Ray founded Acme.",
        "There Ann Lee wanted to marry Bob Ray.",
        "There Ann Lee intended Zorblax to be free.",
        # The second name is a part of what is spoken of.
        "Then Zorblax sold its Linux division.",
        "There Zorblax uses the Quux routing code.",
        "Then Zorblax uses Quux-specific tricks.",
        "Good alternatives to Foobar/Zorblax include Quux.",
        "Then Ann Lee came Bob Ray.",
        # The first name is the object of what stands before it.
        "Those who hired Ann Lee directed Zorblax.",
        "Here Foobar(Zorblax) = Quux uses Acme.",
        "By way of Zorblax, for lack of Quux.",
        # "I" is who speaks.
        "Ada: I don't live in Paris.",
        "Ada: Bob and I live in Paris.",
        "Ada: Hi\nBob Lee: I live in Paris.",
        "I live in Paris.",
        "Note: I live in Paris.",
        # What is not said of the name beside it.
        "The mother of Ann Lee of Stennick was born in Quux.",
        "Stores in Quux, a company of Zorblax, may close.",
        "The Gryphon answered `Come Here!' and ran.",
        "Then the Perl variable and the CPAN module were there.",
        "They were seen in Quux, Paris, Rome and elsewhere, in London, Paris, Norway and Italy.",
        "Applications such as the Debian installer are translated.",
        "Debian est un grand pas.",
        "We like people such as Debian.",
    ],
)
def test_nothing_is_stated(text: str) -> None:
    assert candidates(text) == []


def test_what_else_a_relation_says() -> None:
    found = relations("Here Zorblax causes Quuxitis. Zorblax is a programming language.")
    assert [(r.tail, r.tail_type, r.is_causal, r.sentence) for r in found] == [
        ("Quuxitis", "name", True, 0),
        ("programming language", "concept", False, 1),
    ]
    assert len(candidates("Here Zorblax uses Quux, and here Zorblax uses Quux.")) == 1
    sure = relations("Then Ann Lee was born in Kerman.")[0].confidence
    _, by_pronoun = relations("Ann Lee was a singer. She was born in Kerman.", title="Ann Lee")
    assert by_pronoun.confidence == pytest.approx(sure * PRONOUN_FACTOR)


ANN_LEE = ("Ann Lee", "lives_in", "Rome")


@pytest.mark.parametrize("title", ["", "Minutes", "Chapter 4. A Detailed History"])
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Ann Lee sang. She was old. She moved to Rome.", ANN_LEE),
        ("The Larch Mill grew. It was founded by Ann Lee.",
         ("Larch Mill", "founded_by", "Ann Lee")),
        ("Christopher Nolan sang. Then Nolan directed Inception.",
         ("Christopher Nolan", "directed", "Inception")),
        ("Minutes were taken. She moved to Rome.", None),
        ("Ann Lee sang.\n\nShe moved to Rome.", None),
        ("Ann Lee met Eve Ray. She moved to Rome.", ("Ann Lee", "met", "Eve Ray")),
        ("- Ann Lee sang.\n- She moved to Rome.", None),
        ("Acme Corporation grew. She moved to Rome.", None),
        ("It rained on Ann Lee. She moved to Rome.", None),
        ("She moved to Rome.", None),
    ],
)  # fmt: skip
def test_what_a_pronoun_or_a_short_name_stands_for(
    text: str, fact: Fact | None, title: str
) -> None:
    assert candidates(text, title) == ([fact] if fact else [])


def test_a_kind_stands_for_the_subject_of_the_document() -> None:
    assert candidates("The film was directed by Bob Ray.", title="Zorblax (film)") == [
        ("Zorblax", "directed_by", "Bob Ray")
    ]


def test_each_speaker_speaks_for_himself() -> None:
    texts = ["Ada: I live in Paris.\nBob: I live in Rome.", "Bob: I work at Acme."]
    starts = [0, len(texts[0]) + 1]
    chunks = [
        Chunk(ordinal=n, section=0, start=start, end=start + len(text), text=text)
        for n, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]
    found = PatternExtractor().read(Document(source="a", text="\n".join(texts)), chunks)
    assert [(r.head, r.relation_type, r.tail) for c in found.chunks for r in c.relations] == [
        ("Ada", "lives_in", "Paris"),
        ("Bob", "lives_in", "Rome"),
        ("Bob", "works_at", "Acme"),
    ]


# --- when it held ------------------------------------------------------------------------

WRITTEN = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "valid_from", "valid_until"),
    [
        ("Here Ada lives in Paris.", None, None),
        ("Here Ada lives in Paris since 2019.", day(2019), None),
        ("Here Ada worked at Acme from 2017 to 2022.", day(2017), day(2023)),
        ("Here Ada worked at Acme from 2017–22.", day(2017), day(2023)),
        ("Here Ada worked at Acme between 2017 and 2022.", day(2017), day(2023)),
        ("Here Ada worked at Acme in 2017 and 2022.", day(2017), None),
        ("Here Ada worked at Acme (2017–2022).", day(2017), day(2023)),
        ("Then Ada moved to Rome in 2019.", day(2019), None),
        ("Then Ada moved to Rome on 7 May 2020.", day(2020, 5, 7), None),
        ("Then Ada moved to Rome in early 2019.", day(2019), None),
        ("Then Ada moved to Rome with her friends in May 2019.", day(2019, 5), None),
        ("In 2019, Ada moved to Rome.", day(2019), None),
        ("From 2017 to 2022, Ada lived in Paris.", day(2017), day(2023)),
        ("Ada was the director of Acme until 2020.", None, day(2021)),
        ("Before 2019 Ada lived in Oslo.", None, day(2019)),
        ("After 2019 Ada lived in Oslo.", day(2020), None),
        ("Here Ada lives in Paris since yesterday.", day(2023, 5, 7), None),
        ("Yesterday Ada moved to Rome.", day(2023, 5, 7), None),
        ("Then Ada moved to Rome last month.", day(2023, 4), None),
        ("There Ann Lee died in Kerman in 1990.", day(1990), None),
        ("Ada: In 2019 I moved to Rome.", day(2019), None),
        # The date belongs to what stands beside it.
        ("Then Ada moved to Rome, and 2019 was a warm year.", None, None),
        ("Then Ada moved to Rome and sang in 2019.", None, None),
        ("The fire of 2019 was long over when Ada moved to Rome.", None, None),
        ("Born in 1990, Ada moved to Rome.", None, None),
        # It stands among the words of the relation.
        ("Then Acme was founded in 1994 by Ann Lee.", day(1994), None),
        ("Then Acme was founded on 3 May 1994 by Ann Lee.", day(1994, 5, 3), None),
        ("Then Ada moved in 2019 to Rome.", day(2019), None),
        # Where a place lies has no time, and there is no such day.
        ("It was filmed in a barn in Berlin, Germany, in 2007.", None, None),
        ("Then Ada moved to Rome on 31 June 2019.", None, None),
    ],
)
def test_when_a_relation_held(
    text: str, valid_from: datetime | None, valid_until: datetime | None
) -> None:
    (found,) = relations(text, written=WRITTEN)
    assert (found.valid_from, found.valid_until) == (valid_from, valid_until)


def test_each_relation_has_its_own_time() -> None:
    text = "There Ada lived in Paris from 2017 to 2022 and Bob moved to Rome in 2023."
    assert [(r.tail, r.valid_from, r.valid_until) for r in relations(text)] == [
        ("Paris", day(2017), day(2023)),
        ("Rome", day(2023), None),
    ]
    (undated,) = relations("Then Ada moved to Rome yesterday.")
    assert undated.valid_from is None


# --- What a sentence states of names that the store knows is found however they are written.


PATTERNS = {
    "relates_to": "relates to",
    "causes": "causes",
    "part_of": "is part of",
    "implements": "implements",
    "extends": "extends",
    "uses": "uses",
    "depends_on": "depends on",
}

syllables = st.text("bdfgklmnprtvz", min_size=1, max_size=1).flatmap(
    lambda c: st.sampled_from("aeiou").map(lambda v: c + v)
)
words = st.lists(syllables, min_size=3, max_size=4).map("".join)
names = st.builds(
    lambda parts, form: form(" ".join(parts)),
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from((str, str.title)),
)


def known_relations(engine: clew.Clew) -> set[tuple[str, str, str]]:
    ids = sorted({alias.entity_id for alias in engine.store.aliases()})
    shown = engine.store.entity_names(ids)
    return {
        (shown[one.from_entity_id], one.relation_type, shown[one.to_entity_id])
        for one in engine.store.relations(ids, 10_000)
    }


@given(one=names, other=names, end=st.sampled_from(("", ".")))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_pattern_is_found_between_any_names_that_the_store_knows(
    tmp_path_factory: pytest.TempPathFactory, one: str, other: str, end: str
) -> None:
    if set(one.casefold().split()) & set(other.casefold().split()):
        return
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder(dimension=8)) as engine:
        known = [NewEntity(name=name, entity_type="product") for name in (one, other)]
        engine.entities.memory.create(known)
        for relation_type, wording in PATTERNS.items():
            engine.add(f"{one} {wording} {other}{end}", source=relation_type)
        assert known_relations(engine) == {(one, kind, other) for kind in PATTERNS}


def test_names_that_no_store_knows_need_their_capitals(engine: clew.Clew) -> None:
    engine.add("Grafana Agent uses Prometheus Remote Write", source="a")
    engine.add("the ledger uses an event queue", source="b")
    assert known_relations(engine) == {("Grafana Agent", "uses", "Prometheus Remote Write")}


# --- A sentence of an observation that has no subject speaks of what the observation was told
# of.


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
    (found,) = PatternExtractor().read(document, [chunk]).chunks
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


@pytest.mark.parametrize("text", ["Moved to Bilbao.", "Sold up and moved to Bilbao."])
def test_no_other_document_has_an_owner(text: str) -> None:
    assert not stated(text, "Amparo Sandoval", is_observation=False)


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
    assert [one[1:] for one in facts(text, "Amparo Sandoval")] == [
        ("lives_in", "Cádiz"),
        ("works_for", "Ostra Mills"),
        ("married", "Emma Ray"),
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


def test_what_the_store_knows_by_hand_is_found_behind_the_verb(engine: clew.Clew) -> None:
    memory = engine.entities.memory
    memory.create([NewEntity(name="billing service"), NewEntity(name="event queue")])
    memory.add_observations([("billing service", ["Depends on the event queue."])])
    (one,) = engine.graph.relations("billing service")
    assert (one.head, one.relation, one.tail) == (
        "billing service",
        "depends_on",
        "event queue",
    )


# --- What evidence makes of the weight of a relation, and what is taken back stays so.


FACT = "Zorblax Corporation uses Quuxer."


def stating(engine: clew.Clew) -> list[Relation]:
    """The relations of the fact, as the store has them."""
    found = engine.store.relations([e.id for e in engine.store.find_entities("Quuxer")])
    return [relation for relation in found if relation.relation_type == "uses"]


def weights(engine: clew.Clew) -> set[float]:
    return {relation.weight for relation in stating(engine)}


def add(engine: clew.Clew, **texts: str) -> None:
    for source, text in texts.items():
        engine.add(text, source=source)


# --- weights


def test_merged_names_join_their_evidence_and_what_is_retracted_is_none(
    engine: clew.Clew,
) -> None:
    add(engine, a=FACT, b="Zorby Industries uses Quuxer.")
    assert weights(engine) == {0.5}
    engine.entities.merge("Zorby Industries", "Zorblax Corporation")
    assert weights(engine) == {0.75}
    engine.entities.retract([stating(engine)[0].id])
    assert weights(engine) == {0.5}


def test_the_weight_that_was_given_by_hand_stays(engine: clew.Clew) -> None:
    add(engine, a=FACT)
    (first,) = stating(engine)
    ends = first.from_entity_id, first.to_entity_id
    made = engine.entities.add_relation(*ends, "uses", weight=0.1)
    add(engine, b=f"Today {FACT}")
    by_hand = {relation.id: relation.weight for relation in stating(engine)}
    assert by_hand.pop(made.id) == 0.1
    assert set(by_hand.values()) == {0.75}


def evidence(
    document: str, confidence: float, until: str | None = None, extractor: str = "pattern"
) -> RelationRow:
    stated = (1, 1, 2, 1, 2, "uses", 0.0, False, confidence, "{}", None, until, None, "2020")
    return RelationRow(*stated, None, 1, 0, extractor, document)


@pytest.mark.parametrize(
    ("rows", "belief"),
    [
        ([], 0),
        ([evidence("a", 0.9), evidence("a", 0.2)], 0.5),
        ([evidence("a", 0.4), evidence("b", 0.2)], 0.52),
        ([evidence("a", 0.9, extractor="assistant")], 0.9),
    ],
)
def test_belief_is_noisy_or_over_documents(rows: list[RelationRow], belief: float) -> None:
    assert belief_in(rows) == pytest.approx(belief)


def test_a_contradiction_takes_weight_away() -> None:
    ((_, weight),) = changed_weights([evidence("a", 0.8, until="2021")])
    assert weight == 0.5 * CONTRADICTED


def told(n: int, tail: int, since: int | None) -> RelationRow:
    """A home that was told in the second 100 + n, with a beginning or without."""
    start = None if since is None else f"1970-01-01T00:01:{since:02}.000000+00:00"
    return evidence(f"{n}", 0.5)._replace(id=n, to_entity_id=tail, valid_from=start, said=100 + n)


@given(
    homes=st.lists(
        st.tuples(st.integers(2, 4), st.none() | st.integers(0, 30)), min_size=1, max_size=6
    )
)
def test_what_was_told_last_holds_unless_another_beginning_is_later(
    homes: list[tuple[int, int | None]],
) -> None:
    """All beginnings are past when they are told, so that somebody lives somewhere throughout."""
    rows = [told(n, *home) for n, home in enumerate(homes)]
    until = derived_ends(rows)
    holding = {row.to_entity_id for row in rows if until[row.id] is None}
    (tail, since), beginnings = homes[-1], [start for _, start in homes[:-1] if start is not None]
    if since is None or max(beginnings, default=-1) < since:
        assert holding == {tail}
    assert holding
    # Who holds no more ended with the beginning of another, in whatever order they are read.
    assert set(until.values()) <= {None, *(row.start for row in rows)}
    assert derived_ends(rows[::-1]) == until


def test_weights_after_any_saves_are_those_of_all_evidence(tmp_path: Path) -> None:
    """However a save came by them: names may be new, known, or linked to another meanwhile."""
    chance = random.Random(5)
    names = ["Ann", "Bo", "Cy", "Dee"]
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        for step in range(120):
            head, tail, alias = chance.sample([*names, f"X{step // 2}"], 3)
            entry = make_entry(
                f"document {chance.randrange(6)}",
                f"{head} met {tail}, {alias}: {step}.",
                names=[head, tail, alias],
                relations=[(head, "met", tail), (tail, "met", alias)][: chance.randrange(3)],
                links=[make_link(alias, head)] if chance.random() < 0.5 else [],
            )
            store.save(entry)
            if step % 40 == 39:
                store.delete([store.documents()[0].id])
            found = store.relations(range(1, 400))
            facts = {(r.from_entity_id, r.relation_type, r.to_entity_id) for r in found}
            assert facts or step < 9
            assert not list(changed_weights(read_evidence(store.backend, facts))), step


# --- taken back by hand, and pruned


def test_prune_shows_first_and_never_takes_what_was_stated_by_hand(engine: clew.Clew) -> None:
    add(engine, a=FACT, b="Foobaria uses Barfood.", c="Today Foobaria uses Barfood.")
    (first,) = stating(engine)
    ends = first.to_entity_id, first.from_entity_id
    made = engine.entities.add_relation(*ends, "serves", weight=0.1)
    report = engine.graph.prune(below=0.6)
    (pruned,) = report.relations
    assert (report.applied, pruned.relation.tail) == (False, "Quuxer")
    assert "weight 0.50: 1 document" in pruned.reason
    assert len(stating(engine)) == 1
    assert engine.graph.prune(below=0.6, dry_run=False).applied
    add(engine, a=f"Now {FACT}")
    assert stating(engine) == []
    assert engine.store.relations_by_id([made.id]) != []
    assert engine.graph.prune(below=0.6).relations == ()


def test_a_prune_is_taken_back_but_not_what_was_deleted_by_hand(engine: clew.Clew) -> None:
    add(engine, a=FACT, b="Foobaria uses Barfood.", c="Fnord Union uses Gizmo.")
    (kept,) = stating(engine)
    ids = list(map(int, engine.store.relation_rows().ids))
    before, after = sorted({*ids} - {kept.id})
    engine.graph.delete_relation(before)
    engine.graph.prune(below=0.6, dry_run=False)
    assert engine.graph.delete_relation(after) == 1, "what was pruned can be deleted, too"
    assert engine.tools.call("restore_pruned", {}).content["restored"] == 1
    assert engine.store.relations_by_id(ids) == [kept]
    with pytest.raises(NotFoundError):
        engine.graph.delete_relation(after)


@pytest.mark.parametrize(
    ("tool", "given"),
    [("prune_graph", {"below": 0.6, "dry_run": False}), ("delete_relation", {"relation_id": 1})],
)
def test_the_tools_ask_first(engine: clew.Clew, tool: str, given: dict[str, object]) -> None:
    add(engine, a=FACT)
    assert "confirm=true" in refusal(engine.tools, tool, **given)
    assert len(stating(engine)) == 1
    assert not engine.tools.call(tool, {**given, "confirm": True}).is_error
    assert stating(engine) == []
