from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.ner.pattern_extractor import PatternExtractor, about_names
from clew.text import entity_key, sentences
from clew.types import Chunk, Document, Extraction


def extract(
    *texts: str, title: str = "", media_type: str = "text/plain", source: str = "a"
) -> Extraction:
    chunks, start = [], 0
    for ordinal, text in enumerate(texts):
        chunks.append(
            Chunk(ordinal=ordinal, section=0, start=start, end=start + len(text), text=text)
        )
        start += len(text) + 1
    document = Document(source=source, text="\n".join(texts), title=title, media_type=media_type)
    return PatternExtractor().extract(document, chunks)


def names(*texts: str, title: str = "", media_type: str = "text/plain") -> list[str]:
    found = extract(*texts, title=title, media_type=media_type)
    return [mention.name for chunk in found.chunks for mention in chunk.mentions]


def types(*texts: str, title: str = "") -> dict[str, str]:
    found = extract(*texts, title=title)
    return {m.name: m.entity_type for chunk in found.chunks for m in chunk.mentions}


def test_a_double_first_name_shows_a_person() -> None:
    said = "Then Jean-Pierre Cottage met Hans-Peter Wolf and Cold-Water Cottage."
    found = types(said)
    assert found["Jean-Pierre Cottage"] == found["Hans-Peter Wolf"] == "person"
    assert found["Cold-Water Cottage"] == "name"


def test_who_has_a_title_is_a_person() -> None:
    said = "Councillor Bligh saw Mr Oduya. Then Mrs. Vell and Cllr. Tamm left in a Vell 3."
    assert types(said) == dict.fromkeys(("Bligh", "Oduya", "Vell", "Tamm"), "person") | {
        "Vell 3": "name"
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In Paris we met.", ["Paris"]),
        ("She studied at the University of Chicago.", ["University of Chicago", "Chicago"]),
        ("It was carried, Cllr. Marchetti voting against.", ["Marchetti"]),
        (
            "Then Ludwig van Beethoven and Vasco da Gama left.",
            ["Ludwig van Beethoven", "Vasco da Gama"],
        ),
        ("It was written by J. R. R. Tolkien.", ["J. R. R. Tolkien"]),
        ("They met J.R.R. Tolkien there.", ["J.R.R. Tolkien"]),
        ("It was told at length in a book by Thomas F.\nRemington then.", ["Thomas F. Remington"]),
        ("Then Mary Jones of Zorblax Inc. left.", ["Mary Jones", "Zorblax Inc"]),
        ("It was made by the Zorblax De-\nvelopment Team.", ["Zorblax", "Team"]),
        ("We added Qux::Zorb::Lax to the core.", ["Qux::Zorb::Lax"]),
        ("He visited France, Spain and Italy.", ["France", "Spain", "Italy"]),
        ("He left on Apollo 11 for HD 39.", ["Apollo 11", "HD 39"]),
        ("We like World War II films.", ["World War II"]),
        ("His iPhone runs on AT&T.", ["iPhone", "AT&T"]),
        ("The American actor spoke French.", ["American", "French"]),
        ("The caliph Harun al-Rashid ruled.", ["Harun al-Rashid"]),
        ("He saw Hank Williams, Jr. there.", ["Hank Williams, Jr."]),
        (
            "The Women's National Basketball League is old.",
            ["Women's National Basketball League", "National Basketball League"],
        ),
        (
            "He ran the Department of Health and Human Services.",
            ["Department of Health and Human Services", "Health and Human Services"],
        ),
        ("The firm joined the Center for Advanced Study.", ["Center for Advanced Study"]),
        ("He met Director Christopher Nolan.", ["Christopher Nolan"]),
        ("He met Mr. Darcy.", ["Darcy"]),
        ("He called King Charles.", ["King Charles"]),
        ("It was Nolan's Inception.", ["Nolan's Inception", "Nolan", "Inception"]),
        ("We saw the 1996 Summer Olympics.", ["1996 Summer Olympics", "1996", "Summer Olympics"]),
        ("He is in New York on Monday in May.", ["New York"]),
        ("It happened on Black Friday.", ["Black Friday"]),
    ],
)
def test_capitalised_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_leading_article_gives_the_same_key() -> None:
    assert entity_key("The Beatles") in {entity_key(n) for n in names("The Beatles sang.")}


@pytest.mark.parametrize(
    "text",
    [
        "It was late. They left. Many people came.",
        "I'm sure that I've seen it. We're here.",
        "all of this text is in lower case, and it names nobody.",
        "THIS WHOLE HEADING IS IN CAPITALS",
        "Monday came. In March it rained.",
        "Hey! Wow, thanks! Congratulations! Practicing every day helps.",
        "For this see Adopting a package, and see also Uploading one.",
        "It went from 5.005-T1 to 5.005-T2. Take the object X. The length is known.",
        "Improved the thing. (5) Enjoy your food. </shout> It is an Engine, an engine is one.",
        "",
        "   \n\n  ",
    ],
)
def test_ordinary_text_names_nothing(text: str) -> None:
    assert names(text) == []


def test_name_that_ends_before_its_last_part_stops_nothing() -> None:
    assert names("They met Mary Jones of") == ["Mary Jones"]


def test_word_that_opens_a_sentence_is_a_name_where_the_document_shows_it() -> None:
    assert names("Apple grew. He joined Apple in May.") == ["Apple", "Apple"]
    assert names("Zorblax grew fast.") == ["Zorblax"]
    assert names("Music grew. He heard music.") == []


def test_word_that_the_document_also_writes_small_is_no_name() -> None:
    assert names("Zorblax is a drink.", "We drank zorblax.") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It began on 7 May 2023.", ["7 May 2023", "2023"]),
        ("It began on May 7, 2023.", ["May 7, 2023", "2023"]),
        ("It began in May 2023.", ["May 2023", "2023"]),
        ("It began on 2023-05-07.", ["2023-05-07", "2023"]),
        ("It began on the 3rd of March, 1999.", ["3rd of March, 1999", "1999"]),
        ("It lasted from 1939–1945.", ["1939", "1945"]),
        ("It was popular in the 1990s.", ["1990s"]),
        ("It cost $1990 or 1,990 or 1990% or 1990.5 of them.", []),
        ("It had 1500 inhabitants and 1200 km of roads.", []),
        ("The year 2999 is far, and 19990 is no year.", []),
    ],
)
def test_dates(text: str, expected: list[str]) -> None:
    found = [m.name for c in extract(text).chunks for m in c.mentions if m.entity_type == "date"]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('He directed "The Wind in the Trees" then.', "The Wind in the Trees"),
        ("He directed “Gone Away” then.", "Gone Away"),
        ('He made several, including" Swarg"( 1990).', "Swarg"),
        ("He wrote *The Trial* there.", "The Trial"),
        ("He wrote ``The Smoke that Thunders'' there.", "The Smoke that Thunders"),
        ("Il a écrit « Les Misérables ».", "Les Misérables"),
    ],
)
def test_titles_in_marks_are_one_work(text: str, title: str) -> None:
    assert types(text).get(title) == "work"
    assert not any(entity_key(n) in ("wind", "trees", "smoke") for n in types(text))


def test_speech_in_quotation_marks_is_no_title() -> None:
    assert names('She said "I will not go there today" and left.') == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Union Assembly of Zorblax met.", ["Union Assembly of Zorblax", "Zorblax"]),
        ("²See Zorblax Policy. It lasted.", ["Zorblax Policy"]),
        ('Then: "You hear General Quux!"', ["General Quux"]),
        ("Clarified MD5 and Zorblax.", ["MD5", "Zorblax"]),
        ("[#a] Phrase by Zorblax.", ["Zorblax"]),
        ("It has two: (1) A PTE of Zorblax.", ["PTE of Zorblax", "Zorblax"]),
        (
            "Then `fd9a85addc4` was in :ref:`split_changes` and :ref:`Zorblax <one_two>`.",
            ["Zorblax"],
        ),
    ],
)
def test_parts_and_openings_are_no_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_part_before_of_is_a_name_where_the_text_has_it_alone() -> None:
    text = "The Union Assembly of Zorblax met. Then the Union Assembly left."
    assert "Union Assembly" in names(text)


def test_speaker_is_a_person_in_every_turn_and_short_names_are_tied_to_it() -> None:
    found = extract("Melanie: Hello there!", "Caroline: Hey Mel! How are you?")
    second = {m.name: m.entity_type for m in found.chunks[1].mentions}
    assert second["Caroline"] == "person"
    assert second["Melanie"] == "person"
    assert [(a.alias, a.name) for a in found.aliases] == [("Mel", "Melanie")]


def test_note_before_a_colon_is_no_speaker() -> None:
    assert names("Note: this is short.") == []


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Ann Zhivago was a Russian film actress.", "Ann Zhivago", "person"),
        ("Orla Tamm (born 1970) sings.", "Orla Tamm", "person"),
        ("We saw Dr. James Watson there.", "James Watson", "person"),
        ("He lived in Zagorje for years.", "Zagorje", "place"),
        ("We saw Clark County there.", "Clark County", "place"),
        ("We saw Lake Tahoe there.", "Lake Tahoe", "place"),
        ("He joined Acme Industries early.", "Acme Industries", "organisation"),
        ("He joined the University of Tartu.", "University of Tartu", "organisation"),
        ("Zorblax is a software package.", "Zorblax", "product"),
        ("It happened in 1990.", "1990", "date"),
    ],
)
def test_types(text: str, name: str, kind: str) -> None:
    assert types(text)[name] == kind


def test_about_has_the_title_with_and_without_parenthesis() -> None:
    assert about_names("The House on the Dune (1952 film)") == (
        ("The House on the Dune (1952 film)", "work"),
        ("The House on the Dune", "work"),
    )
    assert [n for n, _ in about_names("Norman's Crossing, Texas")] == [
        "Norman's Crossing, Texas",
        "Norman's Crossing",
    ]
    minutes = "March 2, 2019 Meeting Notes"
    assert about_names(minutes) == ((minutes, about_names(minutes)[0][1]),)
    assert about_names("") == about_names("?!") == ()


def test_about_learns_its_type_from_the_text() -> None:
    assert extract("Zorblax is a village in Iran.", title="Zorblax").about == (
        ("Zorblax", "place"),
    )


def test_title_of_small_words_is_found_as_one_name() -> None:
    found = names("He saw The House on the Dune there.", title="The House on the Dune (1952 film)")
    assert found == ["The House on the Dune"]


def test_surname_and_first_name_stand_for_the_one_full_name() -> None:
    found = extract("Christopher Nolan was a director. Later Nolan made films. He met Christopher.")
    by_sentence = [(m.sentence, m.name) for m in found.chunks[0].mentions]
    assert (1, "Christopher Nolan") in by_sentence
    assert (2, "Christopher Nolan") in by_sentence


def test_surname_of_two_persons_stays_as_it_is() -> None:
    found = names("Emily Bronte was a poet. Anne Bronte was a poet. We read Bronte.")
    assert found[-1] == "Bronte"


def test_place_is_not_completed_to_a_name_that_ends_with_it() -> None:
    assert "Chicago" in names("The University of Chicago is in the north of Chicago.")


@pytest.mark.parametrize(
    "text",
    [
        "The World Health Organization (WHO) met.",
        "The WHO (World Health Organization) met.",
    ],
)
def test_acronym_is_tied_to_its_long_form(text: str) -> None:
    found = extract(text, "We asked WHO again.")
    (alias,) = found.aliases
    assert (alias.alias, alias.name, alias.method) == (
        "WHO",
        "World Health Organization",
        "acronym",
    )
    assert 0 < alias.score <= 1
    assert alias.evidence == text
    assert {m.name for m in found.chunks[0].mentions} >= {"WHO", "World Health Organization"}
    assert [m.name for m in found.chunks[1].mentions] == ["World Health Organization"]


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("We train a recurrent neural network (RNN) here.", "recurrent neural network"),
        ("The deoxyribonucleic acid (DNA) holds it.", "deoxyribonucleic acid"),
        ("The Future Farmers of America (FFA) met.", "Future Farmers of America"),
        ("The Bank of Foo lost. The British Film Institute (BFI) won.", "British Film Institute"),
    ],
)
def test_long_forms(text: str, long: str) -> None:
    assert [a.name for a in extract(text).aliases] == [long]


@pytest.mark.parametrize(
    "text", ["He left the city (USA) then.", "It is red (see Figure 2).", "Paris (France) is big."]
)
def test_other_parentheses_are_no_acronyms(text: str) -> None:
    assert extract(text).aliases == ()


def test_stated_aliases() -> None:
    found = extract("Lou Reed (born Lewis Allan Reed on 2 March 1942) sang.", title="Lou Reed")
    assert [(a.alias, a.name) for a in found.aliases] == [("Lewis Allan Reed", "Lou Reed")]
    found = extract("Antwan Patton, better known by his stage name Big Boi, raps.", title="Big Boi")
    assert [(a.alias, a.name) for a in found.aliases] == [("Antwan Patton", "Big Boi")]
    found = extract("Ann Lee (born New York City 1966) sings.")
    assert found.aliases == ()


def test_source_code_yields_its_definitions() -> None:
    code = "class IndexStore:\n    def save_all(self):\n        return os.path.join(self.rootDir)\n"
    found = extract(code, media_type="text/x-python")
    mentions = {m.name: m.entity_type for m in found.chunks[0].mentions}
    names = [
        "a.IndexStore",
        "IndexStore",
        "a.IndexStore.save_all",
        "IndexStore.save_all",
        "save_all",
    ]
    assert mentions == dict.fromkeys(names, "code")
    # What has no grammar is read by its lines.
    (chunk,) = extract("class Jar\n  def open_lid\n    lid\n", media_type="text/x-ruby").chunks
    assert [m.name for m in chunk.mentions] == ["Jar", "open_lid"]


def test_comments_name_people_and_no_identifiers() -> None:
    comment = "# Written by Jesse Wilson. Note: Returns The Default Value of rootDir, see RFC 7231."
    found = extract(f"{comment}\ndef f():\n    pass\n", media_type="text/x-python")
    names = [m.name for chunk in found.chunks for m in chunk.mentions]
    assert names == ["Jesse Wilson", "RFC 7231", "a.f"]


def test_markdown_back_ticks_yield_code() -> None:
    assert types("Call `clew.open()` or `PageRank` first.") == {
        "clew.open": "code",
        "PageRank": "code",
    }


def test_mentions_count_within_their_sentence() -> None:
    (chunk,) = extract("Rome met Rome. We left Rome.").chunks
    assert [(m.sentence, m.count) for m in chunk.mentions] == [(0, 2), (1, 1)]


def test_same_text_same_result_whatever_else_was_read() -> None:
    extractor = PatternExtractor()
    document = Document(source="a", text="Zorblax met Ann Lee in Rome.", title="Zorblax")
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(document.text), text=document.text)
    first = extractor.extract(document, [chunk])
    extractor.extract(Document(source="b", text="zorblax"), [])
    assert extractor.extract(document, [chunk]) == first


PIECES = (
    "The|Paris|of|Ann Lee|(WHO)|1990|\"|'s|.|\n|7 May|東京|のは|Ł|`x.y`|Mr.|and|J.|Москва|القاهرة"
    "|서울시는|«|»|*|born|Ann: "
)


@given(
    st.text(max_size=200) | st.lists(st.sampled_from(PIECES.split("|")), max_size=30).map(" ".join)
)
def test_every_mention_lies_in_its_sentence(text: str) -> None:
    found = extract(text, title=text[:20])
    (chunk,) = found.chunks
    assert list(chunk.sentences) == sentences(text)
    for mention in chunk.mentions:
        start, end = chunk.sentences[mention.sentence]
        assert start <= mention.start < mention.end <= end
        assert mention.count >= 1
        assert len(entity_key(mention.name)) > 1
    for relation in chunk.relations:
        assert 0 <= relation.confidence <= 1
        assert relation.sentence is not None
        assert relation.sentence < len(chunk.sentences)
