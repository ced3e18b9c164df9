"""Names in texts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.indexing.ner.cased_ner import is_compound
from clew.indexing.ner.code_names import (
    find_code_names,
    find_standards,
    find_ticked,
    technical_words,
)
from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.ner.known_terms import KnownTerms
from clew.indexing.ner.pattern_extractor import PatternExtractor, about_names
from clew.indexing.processes import Steps
from clew.settings import Settings
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key, question_terms, sentences, term_words, terms
from clew.types import Chunk, Document, Extraction
from clew.wiring import make_extractor

# --- extract


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


# --- Where names end, and what capitals of the layout are no names.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We met Maria Keller of Acme Corp. John Smith left.",
            {"Maria Keller of Acme Corp.", "John Smith"},
        ),
        ("Joseph Szabo\nJoseph Szabo was born in Ohio in the United States.", {"Joseph Szabo"}),
        ("It shows Joseph Szabo Joseph Szabo at home.", {"Joseph Szabo"}),
        ("Action Items\nRita Moreno calls the bank.", {"Rita Moreno"}),
        (
            "The letter was sent on the same evening by Ludwig van\nBeethoven to his brother.",
            {"Ludwig van Beethoven"},
        ),
    ],
)
def test_no_name_runs_over_the_end_of_a_line_or_a_company(text: str, expected: set[str]) -> None:
    found = set(names(text))

    assert {n for n in expected if " of " not in n} <= found
    assert not any("\n" in n or "Corp. John" in n or "Szabo Joseph" in n for n in found)
    assert "Items Rita" not in " ".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "## Key Findings\n\nAll of it went well.",
        "Key Findings\n============\n\nAll of it went well.",
        "Next Steps\n\nAll of it went well.",
        "- Investigate why it fails.\n- Compile and test it.\n- Reintegrate.",
        "1. Investigate why it fails.\n2. Compile it.",
        "Conflicts: none\nDepends: nothing",
        "See Appendix A, Figure 3 and Section 7.1 for more.",
        "It is read from https://wiki.example.org/AutomaticDebugPackages first.",
        "It was signed on Fri 02 Dec, at 10:03 AM PST.",
        "Try this:\n\n```cypher\nMATCH all RETURN\n```\n\nand that.",
        "He spoke to me on November 19 and on Thursday, November 20th.",
        "Published 4 June by them. Updated 5 May. Signed July 7, here.",
    ],
)
def test_layout_makes_no_names(text: str) -> None:
    assert names(text) == []


def test_the_words_of_paths_and_constants_are_no_names_of_their_own() -> None:
    assert names("It is read from /usr/Shared/Docs.") == ["/usr/Shared/Docs"]
    assert names("Set ORIG_HEAD first.") == ["ORIG_HEAD"]


def test_a_word_of_a_heading_is_a_name_where_the_text_shows_it() -> None:
    assert "Kafka" in names("# Installing Kafka\n\nIt runs well with Kafka.")
    assert "Data Classes" in names("# Data Classes\n\nThey wrote about Data Classes in it.")


def test_the_first_part_of_an_adjective_is_the_name() -> None:
    assert names("No English-speaking editor came.") == ["English"]


def test_instructions_do_not_begin_names() -> None:
    assert names("Install Debian on it.") == ["Debian"]
    assert names("Using Kubernetes is easy.") == ["Kubernetes"]


@pytest.mark.parametrize(
    ("text", "name", "entity_type"),
    [
        ("It came from Wietse Venema <wietse@example.org> today.", "Wietse Venema", "person"),
        ("It was maintained by Benoit Guillonnet then.", "Benoit Guillonnet", "person"),
        ("We heard that Jarkko Moilanen said no.", "Jarkko Moilanen", "person"),
        ("It is based in ES6 modules.", "ES6", "name"),
        ("The code is located in Git repositories.", "Git", "name"),
        ("They fought at the Battle of Hastings then.", "Battle of Hastings", "event"),
        ("She went to the Brussels Film Festival.", "Brussels Film Festival", "event"),
        ("Use the **Frobnicator** for it.", "Frobnicator", "name"),
    ],
)
def test_types_follow_what_is_said_of_a_name(text: str, name: str, entity_type: str) -> None:
    assert types(text)[name] == entity_type


@pytest.mark.parametrize(
    "label", ["License", "PEP", "Signed-off-by", "Change-ID", "OpenBSD-Commit-ID", "Makefile.am"]
)
def test_a_field_does_not_speak(label: str) -> None:
    found = types(f"{label}: 8 it is.", f"{label}: the same again.")

    assert found.get(label) != "person"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("ST NetHack", False),
        ("Mike PostScript", False),
        ("Paul McCartney", True),
        ("Danny DeVito", True),
        ("Anna MacDonald-Li", True),
    ],
)
def test_a_surname_is_not_spelt_as_products_are(name: str, is_one: bool) -> None:
    assert is_person_shaped(name) is is_one


@pytest.mark.parametrize(
    "text", ["- **Get Help**: ask here.", 'case "$ADT_REBOOT_MARK" in', "*All* of it."]
)
def test_what_is_stressed_or_code_is_no_title(text: str) -> None:
    assert "work" not in types(text).values()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dear Lucja, here it is.", ["Lucja"]),
        ("Sehr geehrte Frau Müller, hier ist es.", ["Müller"]),
        ("She is CEO of Quux Labs.", ["Quux Labs"]),
        ("25 Did the Zorblax revolution fail?", ["Zorblax"]),
        ("1. Call the Zorblax first.", ["Zorblax"]),
        ("`Come on!' said Zorblax.", ["Zorblax"]),
        ("I do NOT like it, do not ask. We THINK I may.", []),
        ("They met at ZorbCon June 2019 there.", ["ZorbCon", "June 2019", "2019"]),
        ("The Zorblax Research Network's (ZRN) rules.", ["Zorblax Research Network", "ZRN"]),
        ("See the styles of minimal.css_ first.", ["minimal.css"]),
        ("The subject has Quux#nnn added.", ["Quux"]),
        ("For more see `Zorblax Purpose and Guidelines`_.", ["Zorblax Purpose and Guidelines"]),
        ("- It was reported some time ago by the friends and users of Ann\n  Lee.", ["Ann Lee"]),
        ("maintainers of Zorblax's Qtk, and more.", ["Zorblax", "Qtk"]),
        ("It was Moore's Law again.", ["Moore's Law", "Moore"]),
        ("B. Use Zorblax.", ["Zorblax"]),
        ("- Added CRC64 to it.", ["CRC64"]),
        ("It runs in Python 3.1.", ["Python 3.1", "Python"]),
        ("I am using Knoppix/LMDE today.", ["Knoppix", "LMDE"]),
        ("It goes by TCP/IP there.", ["TCP/IP"]),
        ("All under the Apache-2.0 license.", ["Apache-2.0"]),
        ("It was Ann Lee of the Zorblax Society.", ["Ann Lee", "Zorblax Society"]),
        ("It was the Zorblax Storm of January 2000.", ["Zorblax Storm", "January 2000", "2000"]),
    ],
)
def test_what_stands_beside_a_name_is_no_part_of_it(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_lines_of_an_address_are_no_single_name() -> None:
    text = "Ann Lee\n    Quux Systems Engineering\n    National Library of Zorblax\n    600 Pike"
    assert not any("Engineering National" in name for name in names(text))


def test_a_shouted_word_is_an_acronym_only_where_the_text_has_no_such_word() -> None:
    assert names("They fight AIDS there.") == ["AIDS"]
    assert names("This aids nobody. It AIDS them.") == []


def test_a_name_may_be_cut_off_behind_of() -> None:
    found = names("The 1998 Eastern Tornado Outbreak of June 2, 1998, was a significant one.")

    assert any("Eastern Tornado Outbreak" in name for name in found)


def test_first_names_with_a_hyphen_and_titles_of_councillors_tell_persons() -> None:
    found = types(
        "We met Jean-Pierre Garonne. Cllr. Hans-Jürgen Oduya chaired. Then Hans-Jürgen left,"
        " Councillor Oduya's motion was carried, and Cllr. Bligh was against it."
    )

    assert found["Jean-Pierre Garonne"] == "person"
    assert found["Hans-Jürgen Oduya"] == "person"
    assert found["Hans-Jürgen"] == "person", "who it stands for is known in the document"
    assert "Bligh" in found
    assert not {"Cllr", "Councillor", "Councillor Oduya", "Cllr. Bligh"} & found.keys()


def test_a_title_with_a_full_stop_ends_no_sentence() -> None:
    text = "The motion was carried, Cllr. Bligh voting against it."

    assert [text[start:end] for start, end in sentences(text)] == [text]


@pytest.mark.parametrize("name", ["Marine Management Organisation", "Tidal Civilisation"])
def test_british_spelling_is_no_run_of_words(name: str) -> None:
    assert name in names(f"In that year a letter to the {name} said so.")


# --- Names in languages other than English: what a capital shows there.


GERMAN = """Die Werft in Travemünde baut seit dem Jahr 1921 Schiffe aus Stahl.
Der Ingenieur Holger Brandt leitet die Werft; Frau Ostermann führt die Bücher.
Führen Sie den Hebel nach oben. Wenn ja, rufen Sie Herrn Kessler an.
Der Rest des Systems läuft unter Xenia. Für Xenia gibt es ein Handbuch, und mit Xenia fährt es gut.
Das Programm FairLog schreibt ein Protokoll. Weitere Hinweise stehen im Handbuch der Firma.
Bei Problemen mit dem Antrieb hilft die Abteilung. Mit Hilfe der Pumpe wird das Schiff gehoben.
Auf den Schiffen gilt das Gesetz der See. Laut Plan ist Otto von Bismarck dort gewesen.
Installation und Wartung sind Sache der Besatzung. In der Regel kostet die Fahrt Geld.
"""
FRENCH = """Le chantier de Travemünde construit des bateaux depuis longtemps.
Ensuite, Claire Delmas a repris la maison avec Marc. Installez la pompe avant le départ.
Lorsque Marc est parti, Claire a vendu le bateau. Pour cela elle a écrit à la mairie.
L'écrivain Jules Morand habite là. Vous installez la pompe. Les bateaux partent de Nantes.
"""
SPANISH = """El barco sale de Cartagena cada mañana. Después, Elena Rojas abre la puerta.
Cuando llega el viento, los marineros esperan. Para entrar en el puerto se necesita un permiso.
Sin embargo, Rojas no tiene prisa. Instale la bomba. Se instale o no, funciona.
"""
ITALIAN = """Il traghetto parte da Livorno ogni mattina. Quando arriva Paolo Ferri, è aperto.
Inoltre la nave è vecchia e il porto è piccolo. Questo non è un problema per Ferri.
Per entrare serve un permesso, e nella casa di Ferri non c'è nessuno. Così finisce la storia.
"""
PEOPLE = {"Holger Brandt", "Ostermann", "Kessler", "Otto von Bismarck"}


def foreign_names(language: str, text: str) -> set[str]:
    settings = Settings()
    steps = Steps(
        tokens=HashEmbedder(),
        extractor=make_extractor(),
        split_settings=settings.split,
        limits=settings.limits,
    )
    prepared = steps.prepare(Document(source="a.txt", text=text, language=language))
    found = (mention for chunk in prepared.extraction.chunks for mention in chunk.mentions)
    return {mention.name for mention in found if mention.entity_type != "date"}


@pytest.mark.parametrize(
    ("language", "text", "there"),
    [
        ("de", GERMAN, {*PEOPLE, "Xenia", "FairLog"}),
        ("fr", FRENCH, {"Claire Delmas", "Marc", "Nantes", "Travemünde", "Jules Morand"}),
        ("es", SPANISH, {"Elena Rojas", "Cartagena"}),
        ("it", ITALIAN, {"Paolo Ferri", "Livorno"}),
    ],
)  # fmt: skip
def test_names_are_found_and_little_else(language: str, text: str, there: set[str]) -> None:
    found = foreign_names(language, text)
    assert there <= found
    parts = {part for name in there for part in name.split()}
    assert found - there <= parts  # a surname alone, at most


def test_english_texts_are_read_as_ever() -> None:
    text = "Holger Brandt of Acme Corp sails to Lisbon. The Installation failed in Regel."
    assert foreign_names("en", text) == foreign_names("", text)


def test_a_noun_with_a_capital_is_a_name_only_where_it_stands_bare() -> None:
    assert "Jolle" not in foreign_names(
        "de", "Wir sehen die Jolle. Eine Jolle fährt. Mit Jolle und Boot."
    )
    assert "Jolla" in foreign_names(
        "de", "Wir sehen Jolla. Dann fährt Jolla. Mit Jolla und dem Boot."
    )
    assert (
        foreign_names("de", "Wir hören von Paketen. Aus Paketen wird das Paket. Das Paket ist da.")
        == set()
    )


def test_a_company_keeps_its_name_behind_an_article() -> None:
    text = "Die Pumpe ist von der Krones AG. Sie kommt aus der Halle der Bosch GmbH in Passau."
    assert foreign_names("de", text) == {"Krones AG", "Bosch GmbH"}


@pytest.mark.parametrize("unit", ["Die Ä ", "Von Der ", "A-", "É'", "und ", "Xx-Xx ", "\u0301Ü "])
def test_hostile_texts_take_time_in_proportion(unit: str) -> None:
    took = []
    for size in (20_000, 80_000):
        started = time.perf_counter()
        foreign_names("de", unit * (size // len(unit)))
        took.append(time.perf_counter() - started)
    assert took[1] < 20 * max(took[0], 0.05)


def test_a_name_stays_one_where_an_address_or_a_command_writes_it_small() -> None:
    text = (
        "Los paquetes de Zorblax están en la red. Se instala con zorblax desde"
        " https://www.zorblax.org/zorblax/ o desde la red, y los usuarios de Zorblax lo saben. El"
        " sistema Zorblax es libre y el proyecto Zorblax también lo es para todos los usuarios."
    )
    assert "Zorblax" in foreign_names("es", text)


# --- Terms that a document makes known are found wherever it uses them.


def test_a_heading_that_the_text_uses_is_a_concept() -> None:
    text = (
        "# Rate limiting\n\nEach key has rate limiting.\n\n"
        "Since rate-limiting is slow, it is off. Old rate limits stay."
    )

    found = [m for chunk in extract(text).chunks for m in chunk.mentions]

    assert [m.name for m in found] == ["Rate limiting"] * 3
    assert {m.entity_type for m in found} == {"concept"}


def test_a_heading_that_the_text_does_not_use_is_none() -> None:
    assert names("# Rate limiting\n\nEach key has a quota.") == []


def test_bold_terms_and_names_are_found_in_small_letters_and_in_the_plural() -> None:
    assert names("A **bloom filter** is small. We keep two bloom filters.") == ["bloom filter"] * 2
    assert (
        names("They praised Personalised PageRank. We run personalised pagerank.")
        == ["Personalised PageRank"] * 2
    )


def test_persons_are_not_found_in_small_letters() -> None:
    found = types("We met Rose Hill. A rose hill is green.")

    assert found == {"Rose Hill": "person"}


@given(
    st.lists(st.text("abs -", min_size=1, max_size=12), max_size=6),
    st.text("abs -\n", max_size=60),
)
def test_terms_found_are_the_terms_given(terms: list[str], text: str) -> None:
    known = KnownTerms.of(terms)

    last = 0
    for start, end, name in known.find(text, 0, len(text)):
        assert last <= start < end
        assert term_words(text[start:end]) == term_words(name)
        assert name in terms
        last = end


def test_words_that_no_dictionary_knows_are_found_in_small_letters() -> None:
    assert names("It is on PyPI. We took it from pypi then.") == ["PyPI", "PyPI"]
    assert names("Run `dhelper` first. Then dhelper ends; see /etc/dhelper.conf.")[:2] == [
        "dhelper",
        "dhelper",
    ]
    assert names("We met Dickens. A dickens of a noise.") == ["Dickens"]


# --- Names that their own joints show: code in prose, standards, versions, nicknames.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write it to /opt/ferry/timetable.conf first.", ["/opt/ferry/timetable.conf"]),
        ("Mine is in ~/.ferryrc and main.rs.", ["~/.ferryrc", "main.rs"]),
        ("Call harbour.open_gate or closeGate.", ["harbour.open_gate", "closeGate"]),
        (
            "Set MAX_FERRIES, pass --dry-run, then call sail().",
            ["MAX_FERRIES", "--dry-run", "sail"],
        ),
        ("It is a module's __main__ and libtide.so.1.", ["__main__", "libtide.so.1"]),
        ("Ferries and/or boats, he/she, 1/2, 3/4/2019, e.g. this.", []),
        ("It ended.The next one, at tides.example.org, came.", []),
        ("Write to ann@tides.org or see https://tides.org/a_b.html.", []),
        ("See ../docs/tides.html and wiki/Tides#In_Harbour, of_rivers,_and_lakes#Top.", []),
        ("open_gate: 3\ncloseGate: 4", []),
        ("A ref_ to _all of it_, 24/7 and v1.2.3.", []),
    ],
)
def test_code_in_prose_is_known_by_its_joints(text: str, expected: list[str]) -> None:
    assert [span.name for span in find_code_names(text, 0, len(text))] == expected


def test_a_dotted_name_in_quotation_marks_is_code() -> None:
    text = 'Some (such as "components.Filter") stay.Others go to "example.com".'
    assert [span.name for span in find_code_names(text, 0, len(text))] == ["components.Filter"]


def test_a_framework_is_no_file() -> None:
    (found,) = find_code_names("We use Tide.js here.", 0, 20)

    assert (found.name, found.entity_type) == ("Tide.js", "product")


def test_roles_tell_what_is_between_ticks() -> None:
    text = (
        "By :user:`tidewatcher`, see :rfc:`2822`, :meth:`~ferry.Gate.open()`,"
        " :ref:`Statically made <made>`, ``.close()`` and `/etc/tides`."
    )

    assert [(s.name, s.entity_type) for s in find_ticked(text, 0, len(text))] == [
        ("tidewatcher", "person"),
        ("RFC 2822", "work"),
        ("ferry.Gate.open", "code"),
        (".close", "code"),
        ("/etc/tides", "code"),
    ]


def test_standards_are_works_by_their_number() -> None:
    text = "See RFC 9110, ISO/IEC 14882:2020, CVE-2031-00017 and PEP621, not DC 20057."

    assert [span.name for span in find_standards(text, 0, len(text))] == [
        "RFC 9110",
        "ISO/IEC 14882:2020",
        "CVE-2031-00017",
        "PEP 621",
    ]


def test_a_version_belongs_to_its_product() -> None:
    assert types("It was tested with Tidewater 3.1 again.") == {
        "Tidewater 3.1": "product",
        "Tidewater": "product",
    }
    assert "Section 3.1" not in names("It says so in Section 3.1 of it.")
    assert not any("3.5" in name for name in names("They lost to Ostmark 3.5 million."))


def test_a_compound_is_made_of_two_words() -> None:
    assert is_compound("toolchain")
    assert not is_compound("debhelper")


def test_a_word_of_paths_and_options_is_the_name_of_a_tool() -> None:
    text = (
        "First look at /etc/tidectl.conf and at the setting below it. Whoever needs that may run"
        " tidectl by hand, since tidectl-server is not there yet. The toolchain is old."
    )

    assert technical_words(text) == {"tidectl", "tidectl-server"}
    assert types(text)["tidectl"] == "product"


def test_texts_in_other_languages_have_no_such_words() -> None:
    text = "Zuerst nehmen wir /usr/paket.conf. Jedes paket wird dann geholt, oder eben nicht."

    assert technical_words(text) == frozenset()


def test_who_writes_in_a_chat_is_a_person_wherever_it_names_them() -> None:
    text = (
        "<tide_watcher> shall we start?\n<lowwater> yes\n<tide_watcher> good\n"
        "We ask whether lowwater will come. Then tide_watcher left."
    )

    assert types(text) == {"tide_watcher": "person", "lowwater": "person"}


@pytest.mark.parametrize(
    "text",
    [
        "It was done with more than 2000 tests.",
        "They will bill you USD 1999 for it.",
        "Write to Box 1885 at once.",
        "They had 1600 rules then.",
    ],
)
def test_a_number_is_no_year(text: str) -> None:
    assert "date" not in types(text).values()


def test_products_between_slashes_are_names() -> None:
    assert set(names("I use Tidewater/Ostmark/Lowwater now.")) == {
        "Tidewater",
        "Ostmark",
        "Lowwater",
    }
    assert names("It runs on GNU/Linux now.") == ["GNU/Linux"]


def test_what_is_shouted_is_no_title() -> None:
    assert names('He cried "WE WILL NOT GO HOME" then.') == []


def test_a_day_is_no_name() -> None:
    assert names("It came on the 11th September then.") == []


def test_instructions_about_constants_do_not_begin_names() -> None:
    assert names("Use TRACE for it.") == ["TRACE"]


@pytest.mark.parametrize("word", ["Section", "Sezione", "Kapitel", "Capítulo"])
def test_a_numbered_part_of_a_text_has_no_version(word: str) -> None:
    assert names(f"It says so in {word} 7.8 of it.") == []


def test_plain_words_of_code_are_not_its_names_in_prose(tmp_path: Path) -> None:
    """What "HTML" and "State" mean in a text is not the class of some program."""
    (tmp_path / "web.py").write_text(
        "class Html:\n    class State:\n        pass\n\n\nclass Client:\n    pass\n\n\n"
        "def parse_page():\n    pass\n"
    )
    (tmp_path / "a.md").write_text(
        "# Notes\n\nWe print HTML in the State of Ohio. A Client calls `parse_page` of HTML.\n"
    )
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([tmp_path / "web.py", tmp_path / "a.md"])
        of_notes = store.search("HTML State Ohio Client parse_page", where=["type=md"]).hits[0]
    named = {name.partition("web.")[2] or name for name in of_notes.entities}
    assert {"Client", "parse_page", "HTML"} <= named
    assert not named & {"Html", "Html.State"}


# --- Identifiers are found whole and by their parts.


@pytest.mark.parametrize(
    "asked", ["parse http date", "http date", "ParseHTTPDate", "parse_http_date"]
)
@pytest.mark.parametrize(
    "code", ["def parse_http_date(x):", "class ParseHTTPDate:", "Date parseHttpDate(String s)"]
)
def test_identifiers_are_found_by_their_parts(asked: str, code: str) -> None:
    assert set(terms("http date")) <= set(question_terms(asked)) & set(terms(code))


def test_names_of_prose_stay_whole() -> None:
    assert terms("JavaScript is older than YouTube (2005).") == terms(
        "javascript is older than youtube 2005"
    )
