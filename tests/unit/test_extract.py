"""Names in texts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.indexing.ner.cased_ner import technical_words
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
    return PatternExtractor().read(document, chunks)


def names(*texts: str, title: str = "", media_type: str = "text/plain") -> list[str]:
    found = extract(*texts, title=title, media_type=media_type)
    return [mention.name for chunk in found.chunks for mention in chunk.mentions]


def types(*texts: str, title: str = "") -> dict[str, str]:
    found = extract(*texts, title=title)
    return {m.name: m.entity_type for chunk in found.chunks for m in chunk.mentions}


FIELDS = ("License", "PEP", "Signed-off-by", "Change-ID", "OpenBSD-Commit-ID", "Makefile.am")


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
        ("He met Director Christopher Nolan.", ["Christopher Nolan"]),
        ("He met Mr. Darcy.", ["Darcy"]),
        ("He called King Charles.", ["King Charles"]),
        ("It was Nolan's Inception.", ["Nolan's Inception", "Nolan", "Inception"]),
        ("We saw the 1996 Summer Olympics.", ["1996 Summer Olympics", "1996", "Summer Olympics"]),
        ("He is in New York on Monday in May.", ["New York"]),
        ("It happened on Black Friday.", ["Black Friday"]),
        ("They met Mary Jones of", ["Mary Jones"]),
        # A word that opens a sentence is a name where the document shows it.
        ("Apple grew. He joined Apple in May.", ["Apple", "Apple"]),
        ("Zorblax grew fast.", ["Zorblax"]),
        ("Music grew. He heard music.", []),
        ("They fight AIDS there.", ["AIDS"]),
        ("This aids nobody. It AIDS them.", []),
        ("# Installing Kafka\n\nIt runs well with Kafka.", ["Kafka", "Kafka"]),
        ("# Data Classes\n\nThey wrote about Data Classes in it.", ["Data Classes"] * 2),
        # Surnames and first names stand for the full name of one person.
        ("Emily Bronte was a poet. Anne Bronte was a poet. We read Bronte.",
         ["Emily Bronte", "Anne Bronte", "Bronte"]),
        ("He met Ann Lee. Then Lee left. Then Ann left.",
         ["Ann Lee", "Lee", "Ann Lee", "Ann", "Ann Lee"]),
        ("The University of Chicago is in the north of Chicago.",
         ["University of Chicago", "Chicago"]),
        # What opens a sentence, a line or speech, and what stands beside a name.
        ("The Union Assembly of Zorblax met.", ["Union Assembly of Zorblax", "Zorblax"]),
        ('Then: "You hear General Quux!"', ["General Quux"]),
        ("Clarified MD5 and Zorblax.", ["MD5", "Zorblax"]),
        ("[#a] Phrase by Zorblax.", ["Zorblax"]),
        (
            "Then `fd9a85addc4` was in :ref:`split_changes` and :ref:`Zorblax <one_two>`.",
            ["Zorblax"],
        ),
        ("Dear Lucja, here it is.", ["Lucja"]),
        ("Sehr geehrte Frau Müller, hier ist es.", ["Müller"]),
        ("1. Call the Zorblax first.", ["Zorblax"]),
        ("`Come on!' said Zorblax.", ["Zorblax"]),
        ("I do NOT like it, do not ask. We THINK I may.", []),
        ("They met at ZorbCon June 2019 there.", ["ZorbCon", "June 2019", "2019"]),
        ("The Zorblax Research Network's (ZRN) rules.", ["Zorblax Research Network", "ZRN"]),
        ("See the styles of minimal.css_ first.", ["minimal.css"]),
        ("The subject has Quux#nnn added.", ["Quux"]),
        ("For more see `Zorblax Purpose and Guidelines`_.", ["Zorblax Purpose and Guidelines"]),
        ("- It was reported some time ago by the friends and users of Ann\n  Lee.", ["Ann Lee"]),
        ("It was Moore's Law again.", ["Moore's Law", "Moore"]),
        ("- Added CRC64 to it.", ["CRC64"]),
        ("It runs in Python 3.1.", ["Python 3.1", "Python"]),
        ("I am using Knoppix/LMDE today.", ["Knoppix", "LMDE"]),
        ("It goes by TCP/IP there.", ["TCP/IP"]),
        ("All under the Apache-2.0 license.", ["Apache-2.0"]),
        ("It was Ann Lee of the Zorblax Society.", ["Ann Lee", "Zorblax Society"]),
        ("It was the Zorblax Storm of January 2000.", ["Zorblax Storm", "January 2000", "2000"]),
        ("No English-speaking editor came.", ["English"]),
        ("Install Debian on it.", ["Debian"]),
        ("Using Kubernetes is easy.", ["Kubernetes"]),
        ("Use TRACE for it.", ["TRACE"]),
        ("In that year a letter to the Marine Management Organisation said so.",
         ["Marine Management Organisation"]),
        # Code in prose is known by its joints.
        ("It is read from /usr/Shared/Docs.", ["/usr/Shared/Docs"]),
        ("Set ORIG_HEAD first.", ["ORIG_HEAD"]),
        ("Write it to /opt/ferry/timetable.conf first.", ["/opt/ferry/timetable.conf"]),
        ("Mine is in ~/.ferryrc and main.rs.", ["~/.ferryrc", "main.rs"]),
        ("Call harbour.open_gate or closeGate.", ["harbour.open_gate", "closeGate"]),
        (
            "Set MAX_FERRIES, pass --dry-run, then call sail().",
            ["MAX_FERRIES", "--dry-run", "sail"],
        ),
        ("It is a module's __main__ and libtide.so.1.", ["__main__", "libtide.so.1"]),
        ("Ferries and/or boats, he/she, 1/2, e.g. this.", []),
        ("It ended.The next one, at tides.example.org, came.", []),
        ("Write to ann@tides.org or see https://tides.org/a_b.html.", []),
        ("open_gate: 3\ncloseGate: 4", []),
        ("A ref_ to _all of it_, 24/7 and v1.2.3.", []),
        ('Some (such as "components.Filter") stay.Others go to "example.com".',
         ["components.Filter"]),
        ("It was tested with Tidewater 3.1 again.", ["Tidewater 3.1", "Tidewater"]),
        ("It says so in Kapitel 7.8 of it.", []),
        ("They lost to Ostmark 3.5 million.", ["Ostmark"]),
        ("I use Tidewater/Ostmark/Lowwater now.", ["Tidewater", "Ostmark", "Lowwater"]),
        ("It runs on GNU/Linux now.", ["GNU/Linux"]),
        # Terms that the document makes known are found in small letters, in the plural.
        ("# Rate limiting\n\nEach key has rate limiting.\n\nSince rate-limiting is slow, it is"
         " off. Old rate limits stay.", ["Rate limiting"] * 3),
        ("# Rate limiting\n\nEach key has a quota.", []),
        ("A **bloom filter** is small. We keep two bloom filters.", ["bloom filter"] * 2),
        ("They praised Personalised PageRank. We run personalised pagerank.",
         ["Personalised PageRank"] * 2),
        ("We met Rose Hill. A rose hill is green.", ["Rose Hill"]),
        ("It is on PyPI. We took it from pypi then.", ["PyPI", "PyPI"]),
        ("We met Dickens. A dickens of a noise.", ["Dickens"]),
        ("Run `dhelper` first. Then dhelper ends; see /etc/dhelper.conf.",
         ["dhelper", "dhelper", "/etc/dhelper.conf"]),
    ],
)  # fmt: skip
def test_names_of_a_text(text: str, expected: list[str]) -> None:
    assert names(text) == expected


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
        "It went from 5.005-T1 to 5.005-T2.",
        "Improved the thing. (5) Enjoy your food. </shout> It is an Engine, an engine is one.",
        "",
        "   \n\n  ",
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
        # Speech, what is shouted or said of numbers, labels before a colon.
        'She said "I will not go there today" and left.',
        'He cried "WE WILL NOT GO HOME" then.',
        "Note: this is short.",
        "It came on the 11th September then.",
    ],
)
def test_ordinary_text_and_layout_name_nothing(text: str) -> None:
    assert names(text) == []


def test_the_document_tells_what_is_a_name() -> None:
    assert names("Zorblax is a drink.", "We drank zorblax.") == []
    assert names("He saw The House on the Dune.", title="The House on the Dune (1952 film)") == [
        "The House on the Dune"
    ]
    assert entity_key("The Beatles") in {entity_key(n) for n in names("The Beatles sang.")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We met Maria Keller of Acme Corp. John Smith left.",
            {"Maria Keller of Acme Corp.", "John Smith"},
        ),
        ("Joseph Szabo\nJoseph Szabo was born in Ohio in the United States.", {"Joseph Szabo"}),
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
    ("text", "name", "kind"),
    [
        ("Ann Zhivago was a Russian film actress.", "Ann Zhivago", "person"),
        ("We saw Dr. James Watson there.", "James Watson", "person"),
        ("We saw Clark County there.", "Clark County", "place"),
        ("We saw Lake Tahoe there.", "Lake Tahoe", "place"),
        ("He joined Acme Industries early.", "Acme Industries", "organisation"),
        ("He joined the University of Tartu.", "University of Tartu", "organisation"),
        ("It happened in 1990.", "1990", "date"),
        ("It is based in ES6 modules.", "ES6", "name"),
        ("The code is located in Git repositories.", "Git", "name"),
        ("They fought at the Battle of Hastings then.", "Battle of Hastings", "event"),
        ("She went to the Brussels Film Festival.", "Brussels Film Festival", "event"),
        ("Use the **Frobnicator** for it.", "Frobnicator", "name"),
        ("We met Jean-Pierre Garonne.", "Jean-Pierre Garonne", "person"),
        ("Then Cllr. Hans-Jürgen Oduya chaired.", "Hans-Jürgen Oduya", "person"),
        ("We saw Cold-Water Cottage.", "Cold-Water Cottage", "name"),
        ("Paul McCartney sang.", "Paul McCartney", "person"),
        ("We use Mike PostScript here.", "Mike PostScript", "name"),
        ("We use Tide.js here.", "Tide.js", "product"),
        ("It was tested with Tidewater 3.1 again.", "Tidewater 3.1", "product"),
        # Titles in marks, and what stands in monospaced type.
        ('He directed "The Wind in the Trees" then.', "The Wind in the Trees", "work"),
        ("He directed “Gone Away” then.", "Gone Away", "work"),
        ('He made several, including" Swarg"( 1990).', "Swarg", "work"),
        ("He wrote *The Trial* there.", "The Trial", "work"),
        ("He wrote ``The Smoke that Thunders'' there.", "The Smoke that Thunders", "work"),
        ("Il a écrit « Les Misérables ».", "Les Misérables", "work"),
        ("Call `clew.open()` first.", "clew.open", "code"),
        ("By :user:`tidewatcher` then.", "tidewatcher", "person"),
        ("See :rfc:`2822` for it.", "RFC 2822", "work"),
        ("See :meth:`~ferry.Gate.open()` for it.", "ferry.Gate.open", "code"),
        ("Call ``.close()`` then.", ".close", "code"),
        ("It is in `/etc/tides` now.", "/etc/tides", "code"),
        # Who speaks or writes in a conversation.
        ("Melanie: Hello there!\nCaroline: Hey Melanie!", "Melanie", "person"),
        ("<lowwa> so?\n<lowwa> yes\nThey ask for lowwa.", "lowwa", "person"),
    ],
)
def test_types(text: str, name: str, kind: str) -> None:
    assert types(text).get(name) == kind


@pytest.mark.parametrize(
    ("text", "unwanted"),
    [
        ("- **Get Help**: ask here.", "work"),
        ('case "$ADT_REBOOT_MARK" in', "work"),
        ("*All* of it.", "work"),
        *((f"{label}: 8 it is.\n{label}: the same again.", "person") for label in FIELDS),
        ("It was done with more than 2000 tests.", "date"),
        ("They will bill you USD 1999 for it.", "date"),
        ("Write to Box 1885 at once.", "date"),
        ("They had 1600 rules then.", "date"),
    ],
)
def test_what_is_none_of_a_kind(text: str, unwanted: str) -> None:
    assert unwanted not in types(text).values()


def test_who_speaks_is_a_person_in_every_turn() -> None:
    found = extract("Melanie: Hello there!", "Caroline: Hey Melanie! How are you?")
    second = {m.name: m.entity_type for m in found.chunks[1].mentions}
    assert second == {"Caroline": "person", "Melanie": "person"}


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
    ("text", "expected"),
    [
        ("We train a recurrent neural network (RNN) here.", ["recurrent neural network"]),
        ("The deoxyribonucleic acid (DNA) holds it.", ["deoxyribonucleic acid"]),
        ("The Future Farmers of America (FFA, founded 1928) met.", ["Future Farmers of America"]),
        ("The Bank of Foo lost. The British Film Institute (BFI) won.", ["British Film Institute"]),
        ("He left the city (USA) then.", []),
        ("It is red (see Figure 2).", []),
        ("Paris (France) is big.", []),
    ],
)
def test_long_forms(text: str, expected: list[str]) -> None:
    assert [a.name for a in extract(text).aliases] == expected


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("Lou Reed (born Lewis Allan Reed on 2 March 1942) sang.", "Lou Reed",
         [("Lewis Allan Reed", "Lou Reed")]),
        ("Antwan Patton, better known by his stage name Big Boi, raps.", "Big Boi",
         [("Antwan Patton", "Big Boi")]),
        ("Goes by Liz.", "Ann Lee", [("Liz", "Ann Lee")]),
        ("Ann Lee (born New York City 1966) sings.", "", []),
    ],
)  # fmt: skip
def test_stated_aliases(text: str, title: str, expected: list[tuple[str, str]]) -> None:
    assert [(a.alias, a.name) for a in extract(text, title=title).aliases] == expected


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
    (chunk,) = extract(text, title=text[:20]).chunks
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


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        # A noun with a capital is a name only where it stands bare.
        ("de", "Wir sehen die Jolle. Eine Jolle fährt. Mit Jolle und Boot.", set()),
        ("de", "Wir sehen Jolla. Dann fährt Jolla. Mit Jolla und dem Boot.", {"Jolla"}),
        ("de", "Wir hören von Paketen. Aus Paketen wird das Paket. Das Paket ist da.", set()),
        # An address or a command writes a name small.
        ("es", "Los paquetes de Zorblax están en la red. Se instala con zorblax desde"
         " https://www.zorblax.org/zorblax/ y los usuarios de Zorblax lo saben. El sistema"
         " Zorblax es libre y el proyecto Zorblax también lo es.", {"Zorblax"}),
    ],
)  # fmt: skip
def test_what_a_capital_shows(language: str, text: str, expected: set[str]) -> None:
    found = foreign_names(language, text)
    assert {name for name in found if "/" not in name and "." not in name} == expected


def test_english_texts_are_read_as_ever() -> None:
    text = "Holger Brandt of Acme Corp sails to Lisbon. The Installation failed in Regel."
    assert foreign_names("en", text) == foreign_names("", text)


@pytest.mark.parametrize("unit", ["Die Ä ", "Von Der ", "A-", "É'", "und ", "Xx-Xx ", "\u0301Ü "])
def test_hostile_texts_take_time_in_proportion(unit: str) -> None:
    took = []
    for size in (20_000, 80_000):
        started = time.perf_counter()
        foreign_names("de", unit * (size // len(unit)))
        took.append(time.perf_counter() - started)
    assert took[1] < 20 * max(took[0], 0.05)


# --- Terms that a document makes known are found wherever it uses them.


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


def test_a_word_of_paths_and_options_is_the_name_of_a_tool() -> None:
    text = (
        "First look at /etc/tidectl.conf and at the setting below it. Whoever needs that may run"
        " tidectl by hand, since tidectl-server is not there yet. The toolchain is old."
    )
    assert technical_words(text) == {"tidectl", "tidectl-server"}
    german = "Zuerst nehmen wir /usr/paket.conf. Jedes paket wird dann geholt, oder eben nicht."
    assert technical_words(german) == frozenset()


def test_plain_words_of_code_are_not_its_names_in_prose(engine: clew.Clew, tmp_path: Path) -> None:
    """What "HTML" and "State" mean in a text is not the class of some program."""
    (tmp_path / "web.py").write_text(
        "class Html:\n    class State:\n        pass\n\n\nclass Client:\n    pass\n\n\n"
        "def parse_page():\n    pass\n"
    )
    (tmp_path / "a.md").write_text(
        "# Notes\n\nWe print HTML in the State of Ohio. A Client calls `parse_page` of HTML.\n"
    )
    engine.index([tmp_path / "web.py", tmp_path / "a.md"])
    of_notes = engine.search("HTML State Ohio Client parse_page", where=["type=md"]).hits[0]
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
