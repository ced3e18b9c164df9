from __future__ import annotations

from datetime import UTC, datetime

import pytest

from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.relations.patterns import PRONOUN_FACTOR
from clew.indexing.relations.phrases import read_attribute, read_phrase
from clew.types import Chunk, Document, ExtractedRelation

Fact = tuple[str, str, str]


def relations(
    text: str, title: str = "", written: datetime | None = None
) -> list[ExtractedRelation]:
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    document = Document(source="a", text=text, title=title, created_at=written)
    return list(PatternExtractor().extract(document, [chunk]).chunks[0].relations)


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
        ("The `qux` module provides the `zorb` function.", ("qux", "provides", "zorb")),
        ("Remove the `zorb` target of `debian/rules`.", ("zorb", "part_of", "debian/rules")),
        ("Here `zorb` conflicts with `qux`.", ("zorb", "conflicts_with", "qux")),
        ('Then Ann Lee\'s novel "The Gone" won.', ("The Gone", "authored_by", "Ann Lee")),
        ("Zorblax (an unbranded version of Quux) won.", ("Zorblax", "version_of", "Quux")),
        (
            "There Mary Jones of Zorblax Inc. sang.",
            ("Mary Jones", "affiliated_with", "Zorblax Inc"),
        ),
        ("Then Zorblax was written by Ann Lee and Bob Ray.", ("Zorblax", "written_by", "Bob Ray")),
        ("Ann Lee and Bob Ray founded Zorblax.", ("Ann Lee", "founded", "Zorblax")),
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
    ],
)
def test_nothing_is_stated(text: str) -> None:
    assert candidates(text) == []


def test_only_causes_are_causal() -> None:
    found = relations("Here Zorblax causes Quuxitis. Here Zorblax uses Foobaria.")
    assert [(r.relation_type, r.is_causal) for r in found] == [("causes", True), ("uses", False)]


def test_subject_of_the_document_stands_for_a_pronoun() -> None:
    text = "Ann Lee was a singer. She was born in Kerman."
    _, found = relations(text, title="Ann Lee (singer)")
    assert (found.head, found.relation_type, found.tail) == ("Ann Lee", "born_in", "Kerman")
    assert found.sentence == 1
    sure = relations("Then Ann Lee was born in Kerman.")[0].confidence
    assert found.confidence == pytest.approx(sure * PRONOUN_FACTOR)


def test_subject_stands_for_its_kind() -> None:
    assert candidates("The film was directed by Bob Ray.", title="Zorblax (film)") == [
        ("Zorblax", "directed_by", "Bob Ray")
    ]


def test_pronoun_without_a_subject_states_nothing() -> None:
    assert candidates("She was born in Kerman.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Minutes were taken. She moved to Rome.",
        "Ann Lee sang.\n\nShe moved to Rome.",
        "Ann Lee met Eve Ray. She moved to Rome.",
        "- Ann Lee sang.\n- She moved to Rome.",
        "Acme Corporation grew. She moved to Rome.",
        "It rained on Ann Lee. She moved to Rome.",
    ],
)
@pytest.mark.parametrize("title", ["", "Minutes", "Chapter 4. A Detailed History"])
def test_a_pronoun_of_nobody_sure_states_nothing(text: str, title: str) -> None:
    assert not [fact for fact in candidates(text, title) if fact[2] == "Rome"]


def test_a_pronoun_stands_for_the_subject_of_the_sentence_before() -> None:
    text = "Ann Lee sang. She was born in Kerman. She moved to Rome."
    assert candidates(text, "Minutes") == [
        ("Ann Lee", "born_in", "Kerman"),
        ("Ann Lee", "lives_in", "Rome"),
    ]


def test_what_something_is_called_is_a_concept() -> None:
    (found,) = relations("Zorblax is a programming language.")
    assert (found.tail, found.tail_type) == ("programming language", "concept")


def test_same_fact_is_told_once_a_sentence() -> None:
    assert len(candidates("Here Zorblax uses Quux, and here Zorblax uses Quux.")) == 1


def test_names_come_in_full() -> None:
    text = "Christopher Nolan was a director. There Nolan directed Inception."
    assert candidates(text) == [
        ("Christopher Nolan", "is_a", "director"),
        ("Christopher Nolan", "directed", "Inception"),
    ]


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


# --- where somebody lives and works ------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fact"),
    [
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
    ],
)
def test_homes_and_jobs(text: str, fact: Fact) -> None:
    assert fact in candidates(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ada: I don't live in Paris.",
        "Ada: Bob and I live in Paris.",
        "Ada: Hi\nBob Lee: I live in Paris.",
        "I live in Paris.",
        "Note: I live in Paris.",
    ],
)
def test_nobody_is_said_to_live_there(text: str) -> None:
    assert "lives_in" not in {relation for _, relation, _ in candidates(text)}


def test_each_speaker_speaks_for_himself() -> None:
    texts = ["Ada: I live in Paris.\nBob: I live in Rome.", "Bob: I work at Acme."]
    starts = [0, len(texts[0]) + 1]
    chunks = [
        Chunk(ordinal=n, section=0, start=start, end=start + len(text), text=text)
        for n, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]
    found = PatternExtractor().extract(Document(source="a", text="\n".join(texts)), chunks)
    assert [(r.head, r.relation_type, r.tail) for c in found.chunks for r in c.relations] == [
        ("Ada", "lives_in", "Paris"),
        ("Bob", "lives_in", "Rome"),
        ("Bob", "works_at", "Acme"),
    ]


def test_title_with_a_colon_still_states_relations() -> None:
    title = "Zorblax: The Lost Empire"
    assert candidates(f"{title} is a 2001 film created by Ann Lee.", title) == [
        (title, "is_a", "film"),
        (title, "created_by", "Ann Lee"),
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


def test_undated_text_that_says_no_time() -> None:
    (found,) = relations("Then Ada moved to Rome yesterday.")
    assert (found.valid_from, found.valid_until) == (None, None)


def test_where_a_place_lies_has_no_time() -> None:
    (found,) = relations("It was filmed in a barn in Berlin, Germany, in 2007.")
    assert (found.relation_type, found.valid_from) == ("located_in", None)


def test_impossible_date_says_no_time() -> None:
    (found,) = relations("Then Ada moved to Rome on 31 June 2019.")
    assert found.valid_from is None


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        (
            "Elli Mylonas, managing editor, Perseus Project, spoke.",
            {("Elli Mylonas", "editor_of", "Perseus Project")},
        ),
    ],
)
def test_roles_beside_a_name(text: str, triples: set[tuple[str, str, str]]) -> None:
    assert triples <= {(r.head, r.relation_type, r.tail) for r in relations(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Applications such as the Debian installer are translated.",
        "Debian est un grand pas.",
        "We like people such as Debian.",
    ],
)
def test_what_only_looks_like_an_example_or_a_kind(text: str) -> None:
    assert not [r for r in relations(text) if r.relation_type == "is_a"]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "The Larch Mill in Stennick was founded by Ann Lee.",
            ("Larch Mill", "founded_by", "Ann Lee"),
        ),
        (
            "The Larch Mill in Stennick was founded by Ann Lee.",
            ("Larch Mill", "located_in", "Stennick"),
        ),
        ("Quux Labs, a maker of looms, bought Zorblax.", ("Quux Labs", "bought", "Zorblax")),
        ("Quux Labs, a maker of looms, bought Zorblax.", ("Quux Labs", "is_a", "maker")),
        ("Quux Labs (formerly Zorblax) was led by Ann Lee.", ("Quux Labs", "led_by", "Ann Lee")),
        ("Ann Lee, who married Bob Ray, founded Zorblax.", ("Ann Lee", "founded", "Zorblax")),
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
        ("Zorblax is a river in Quux, Stennick, Norway.", ("Quux", "located_in", "Stennick")),
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
def test_what_is_said_beside_a_name(text: str, fact: Fact) -> None:
    assert fact in candidates(text)


@pytest.mark.parametrize(
    "text",
    [
        "The mother of Ann Lee of Stennick was born in Quux.",
        "Its founder is Ann Lee.",
        "Bob Ray met Ann Lee. His brother is Jon Barrow.",
        "Stores in Quux, a company of Zorblax, may close.",
        "The Gryphon answered `Come Here!' and ran.",
        "Ann Lee and Bob Ray merged with Zorblax.",
        "Then the Perl variable and the CPAN module were there.",
        "They were seen in Quux, Paris, Rome and elsewhere, in London, Paris, Norway and Italy.",
    ],
)
def test_what_is_not_said_of_the_name_beside_it(text: str) -> None:
    assert not [
        fact
        for fact in candidates(text, title="A report")
        if fact[1] not in ("met", "merged_with") or fact[::2] == ("Ann Lee", "Bob Ray")
    ]


def test_the_subject_owns_what_the_next_sentence_calls_its() -> None:
    text = "The Larch Mill in Stennick was founded by Ann Lee. Its chief executive is Corwin Hale."
    assert ("Corwin Hale", "chief_executive_of", "Larch Mill") in candidates(text)


def test_a_heading_owns_what_the_sentence_below_it_calls_its() -> None:
    text = "# Quux Labs\n\nIts headquarters are in Stennick.\n\n# More\n\nIts founder is Bob Ray."
    assert candidates(text) == [("Quux Labs", "headquartered_in", "Stennick")]


def test_a_date_that_opens_a_sentence_tells_when() -> None:
    stated = relations("On 3 May 2020, the Larch Mill in Stennick was sold to Quux Labs.")
    assert {r.relation_type: r.valid_from for r in stated} == {
        "sold_to": datetime(2020, 5, 3, tzinfo=UTC),
        "located_in": None,
    }
