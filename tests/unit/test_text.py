"""Sentences, links, near duplicates, words."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.cli.output import PlainPage
from clew.cli.render import print_passages
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.outline import links, masked
from clew.indexing.reading.text import markdown_document
from clew.indexing.split import as_prose, split
from clew.indexing.structure import markdown_links
from clew.languages import read_word_lists
from clew.settings import SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key, says_as_much, sentences, shingles
from clew.types import Chunk, Document
from tests.unit.asked import add

# --- Sentences end where structure does, and code and drawings are no prose.


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Autonomy\nEach decides. So be it.", ["# Autonomy", "Each decides.", "So be it."]),
        ("Text.\n## Next\nMore.", ["Text.", "## Next", "More."]),
        ("Title here\n=====\nEach decides.", ["Title here\n=====", "Each decides."]),
        ("| Ann | Acme |\n|---|---|\n| Bo | Corp |\nAfter.", None),
        ("- **Autonomy**. Each decides.\n- Two", ["- **Autonomy**. Each decides.", "- Two"]),
        ("- **Autonomy.** Each decides.", ["- **Autonomy.** Each decides."]),
        ("**Is it?** It is.", ["**Is it?** It is."]),
        ("Date: 2 March\nAuthor: Ann", ["Date: 2 March", "Author: Ann"]),
        ("**Date:** x\n**With:** Ann", ["**Date:** x", "**With:** Ann"]),
        ("1. One\n2. Two", ["1. One", "2. Two"]),
        ("A line that is\n*wrapped* goes on.", ["A line that is\n*wrapped* goes on."]),
        ("Wrapped after a\ncolon: goes on.", ["Wrapped after a\ncolon: goes on."]),
        ("One.\n\nTwo", ["One.", "Two"]),
        # A year at the beginning of a line is no number of a list.
        (
            "Lost in the great gale of\n1859. She came home.",
            ["Lost in the great gale of\n1859.", "She came home."],
        ),
        # A title with a full stop ends no sentence.
        ("It was carried, Cllr. Bligh voting against it.", None),
        # A short word that is none stands before a number; behind a number it is a unit.
        (
            "Licence no. LN/0417. Tel. 0161 555, ref. #4410.",
            ["Licence no. LN/0417.", "Tel. 0161 555, ref. #4410."],
        ),
        (
            "It was hot. 3 came. It weighs 43 kg. 12 of us, approx. 3 hours.",
            ["It was hot.", "3 came.", "It weighs 43 kg.", "12 of us, approx. 3 hours."],
        ),
        ("We asked the PTA. 12 came.", ["We asked the PTA.", "12 came."]),
        # Whole words end sentences before small letters, too; abbreviations do not.
        (
            "Ask Mr. Crowe. fence is down. see fig. four",
            ["Ask Mr. Crowe.", "fence is down. see fig. four"],
        ),
    ],
)
def test_sentences_end_where_structure_does(text: str, expected: list[str] | None) -> None:
    assert parts(text) == (text.split("\n") if expected is None else expected)


@given(st.text(alphabet="aB.:!*-#|=>1 \n\t_`", max_size=80))
def test_every_visible_character_lies_in_one_sentence(text: str) -> None:
    found = sentences(text)
    covered = [i for start, end in found for i in range(start, end)]
    assert covered == sorted(set(covered))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= set(covered)


@given(
    short=st.text("bdfghjkp", min_size=2, max_size=3),
    name=st.from_regex(r"[A-Z][a-z]{3,9}[aeiouy]", fullmatch=True),
    number=st.from_regex(r"(#|£|[A-Z]{1,2}[/-])?[0-9]{1,5}", fullmatch=True),
)
def test_a_short_word_goes_on_with_a_number_and_a_name_ends_its_sentence(
    short: str, name: str, number: str
) -> None:
    assert parts(f"Paid under {short}. {number} by {name}. fell {number} times.") == [
        f"Paid under {short}. {number} by {name}.",
        f"fell {number} times.",
    ]


_WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=12), min_size=1, max_size=60)


@given(words=_WORDS, width=st.integers(12, 80))
def test_lines_that_their_width_broke_are_no_sentences(words: list[str], width: int) -> None:
    assert parts(textwrap.fill(" ".join(words), width)) == [textwrap.fill(" ".join(words), width)]


@given(words=_WORDS, data=st.data())
def test_lines_that_their_writer_broke_are_sentences(words: list[str], data: st.DataObject) -> None:
    """The longest line is so long that the next word would have fitted behind any other."""
    cuts = data.draw(st.sets(st.integers(1, len(words))))
    lines = [" ".join(words[a:b]) for a, b in pairwise([0, *sorted({*cuts, len(words)})])]
    lines.append("k " + "k" * (13 + max(map(len, lines))))
    assert parts("\n".join(lines)) == lines


FENCED = "Ann met Bo.\n\n```\nMaria Keller visits Berlin.\n```\n\nThey left.\n"
DRAWN = """Ann met Bo.

+--------+    +-------+
| Client |--->| Berlin|
+--------+    +-------+

End.
"""
LITERAL = "Ann met Bo::\n\n    Maria Keller visits Berlin.\n    Twice.\n\nThey left.\n"
DIRECTIVE = "Ann.\n\n.. code-block:: text\n\n   Maria Keller visits Berlin.\n\nThey left.\n"
SESSION = "Ann.\n\n>>> visit(Berlin)\nMaria Keller\n\nThey left.\n"
LEADERS = "Contents\n\n1. Berlin ........ 3\n2. Maria Keller ........ 9\n\nThey left.\n"


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        (FENCED, "text/markdown"),
        (DRAWN, "text/plain"),
        (LITERAL, "text/x-rst"),
        (DIRECTIVE, "text/x-rst"),
        (SESSION, "text/markdown"),
        (LEADERS, "text/plain"),
    ],
)
def test_no_names_are_read_from_code_and_drawings(text: str, media_type: str) -> None:
    document = Document(source="a", text=text, media_type=media_type)
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    masked, (part,) = as_prose(document, [chunk])
    assert part.text == masked.text
    assert len(part.text) == len(text)
    assert "Berlin" not in part.text
    assert [i for i, c in enumerate(text) if c.isspace()] == [
        i for i, c in enumerate(part.text) if c.isspace()
    ]
    (found,) = PatternExtractor().extract(masked, [part]).chunks
    assert not {"Maria Keller", "Berlin"} & {mention.name for mention in found.mentions}


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ("| Name | City |\n|------|------|\n| Maria Keller | Berlin |\n", "text/markdown"),
        (
            "+------+--------+\n| Name | City   |\n+======+========+\n| Ann  | Rome |\n+------+\n",
            "text/markdown",
        ),
        ("Title\n=====\n\nMaria Keller -- she lives in Berlin -- left...\n", "text/markdown"),
        ("- item\n- other\n\n---\n\nText.\n", "text/markdown"),
        ("```\nx = 1\n```\n", "text/x-python"),  # left to its reader
    ],
)
def test_tables_headings_prose_and_source_code_are_left(text: str, media_type: str) -> None:
    document = Document(source="a.py", text=text, media_type=media_type)
    assert as_prose(document, [])[0].text == text


# --- Notes in Markdown: their links, tags and further names, and what of them is shown.


PIECES = st.sampled_from(
    [*"[]()!#|^%`\n> ", "[[", "]]", "![[", "](", "%%", "```\n", "[!note]", "note", "a.md", " #tag"]
)


def shown(text: str) -> str:
    return " ".join(masked(text).split())


@pytest.mark.parametrize(
    ("text", "targets", "words"),
    [
        ("See [[Note B]].", ["Note B"], "See Note B ."),
        ("See [[folder/Note B#Part 2|the note]] now.", ["Note B"], "See the note now."),
        ("![[Note-B]] and ![[picture.png]]", ["Note B"], "Note-B and picture.png"),
        ("[the other](../x/note-b.md#part)", ["note b"], "the other"),
        ('[b](<my note.md> "title") [c](my%20note_2.html)', ["my note", "my note 2"], "b c"),
        ("[web](https://example.org/a.md) [mail](mailto:a@b.c)", [], "web mail"),
        ("[[#Part]] [here](#part) [[^abc]]", [], "#Part here ^abc"),
        ("![alt](x.png) [guide](../guide/)", ["guide"], "alt guide"),
        ("[[Release 1.5]] [[2024-03-01]]", ["Release 1.5", "2024-03-01"], "Release 1.5 2024-03-01"),
        ("`[[no]]` and\n```\n[[no]](no.md)\n```\n", [], "`[[no]]` and ``` [[no]](no.md) ```"),
        ("> [!warning]- Mind\n> the reef ^a1-b\n", [], "Mind > the reef"),
        ("Seen %%a secret\nof mine%% here", [], "Seen here"),
        ("a[0](1) is no link, nor is [[1]]", [], "a0 is no link, nor is 1"),
    ],
)
def test_links_and_what_is_shown_of_them(text: str, targets: Sequence[str], words: str) -> None:
    found = list(links(text))
    assert [link.name for link in found] == targets
    assert shown(text).replace(" ", "") == words.replace(" ", "")


@given(st.lists(PIECES, max_size=30).map("".join))
def test_what_is_shown_stands_in_its_place(text: str) -> None:
    found = masked(text)
    assert len(found) == len(text)
    assert all(a == b or a == " " for a, b in zip(found, text, strict=True))
    assert found.count("\n") == text.count("\n")
    assert all(text[link.start] in "![" for link in links(text))


@given(st.text())
def test_a_text_without_marks_is_shown_whole(text: str) -> None:
    assert not set("[]%^#`").isdisjoint(text) or masked(text) == text


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#light #Port-Anselm/reef, (#no) a#no #12 #2024-plan https://x.y/#no\n`#no`\n# Heading",
         ["light", "Port-Anselm/reef", "2024-plan"]),
        ("---\ntags: [reef, light]\n---\nThe #light of #Vell.\n", ["reef", "light", "Vell"]),
        ("---\ntags: a b\n---\nx", ["a", "b"]),
        ('---\ntags: ["a", "#b", null, 3, "a"]\n---\nx', ["a", "b", "3"]),
        ("---\ntags: a, b c,\n---\nx", ["a", "b c"]),
        ("No tag.", None),
        # As many as a filter can read.
        (" ".join(f"#tag-{i}" for i in range(5_000)), [f"tag-{i}" for i in range(200)]),
    ],
    ids=range(7),
)  # fmt: skip
def test_tags_of_front_matter_and_text_are_one_list(text: str, tags: list[str] | None) -> None:
    assert markdown_document(text, "a.md").metadata.get("tags") == tags


NOTE = """---
aliases: [The Rock, SRL]
---
# Skerrow Rock Light

Built by [Corwin Hale](corwin-hale.md) and [[ilse-marrable|Ilse]], see [[Skerrow Rock Light]] and
[all](../index.md). #reef
"""


def test_what_a_note_states_and_what_of_it_is_searched() -> None:
    document = markdown_document(NOTE, "/vault/skerrow.md")
    found = markdown_links(document)
    title = "Skerrow Rock Light"
    assert [
        (s.relation_type, s.tail, document.text[s.start : s.end]) for s in found.statements
    ] == [
        ("links_to", "corwin hale", "[Corwin Hale](corwin-hale.md)"),
        ("links_to", "ilse marrable", "[[ilse-marrable|Ilse]]"),
        ("tagged", "reef", "#reef"),
    ]
    names = ("The Rock", "SRL", "skerrow")
    assert [(a.alias, a.name) for a in found.aliases] == [(name, title) for name in names]
    # The label is embedded, the address can be searched.
    (chunk,) = split(document, SplitSettings(), HashEmbedder()).chunks
    assert "corwin-hale.md" not in chunk.embedding_text
    assert "Corwin Hale" in chunk.embedding_text
    assert "corwin-hale.md" in chunk.keyword_text


@pytest.fixture
def vault(tmp_path: Path, engine: clew.Clew) -> clew.Clew:
    folder = tmp_path / "vault"
    (folder / "people").mkdir(parents=True)
    (folder / "skerrow.md").write_text(NOTE)
    (folder / "people" / "corwin-hale.md").write_text(
        "# Corwin Hale, engineer\n\nHe raised [[SRL]].\n"
    )
    (folder / "ilse-marrable.md").write_text("Set the prisms by hand. #reef #prisms\n")
    engine.index([folder])
    return engine


def neighbors(store: clew.Clew, name: str) -> set[tuple[str, str, str]]:
    known = store.state.store.resolve([entity_key(name)])
    found = store.tools.call("get_entity_neighbors", {"entity_id": next(iter(known.values()))})
    return {
        (n["relation_type"], n["neighbor_name"], n["direction"]) for n in found.content["neighbors"]
    }


def test_a_vault_is_a_graph_and_states_the_same_again(vault: clew.Clew, tmp_path: Path) -> None:
    for _ in range(2):
        light = neighbors(vault, "the rock")
        assert light == neighbors(vault, "skerrow") == neighbors(vault, "skerrow rock light")
        # The link by an alias ends at the note, whichever of the two was read first.
        assert light >= {
            ("links_to", "Corwin Hale, engineer", "outbound"),
            ("links_to", "ilse marrable", "outbound"),
            ("tagged", "reef", "outbound"),
            ("links_to", "Corwin Hale, engineer", "inbound"),
        }
        shutil.rmtree(tmp_path / "vault", ignore_errors=True)
        vault.maintenance.reindex()


@pytest.mark.parametrize(
    ("tag", "files"),
    [("reef", {"skerrow.md", "ilse-marrable.md"}), ("prisms", {"ilse-marrable.md"})],
)
def test_tags_are_filters(vault: clew.Clew, tag: str, files: set[str]) -> None:
    hits = vault.search("reef", where=[f"tags={tag}"], strategy="vector").hits
    assert {Path(hit.chunk.source).name for hit in hits} == files


# --- Passages that say the same come as one hit, with the others named.


LICENCE = """Permission is hereby granted, free of charge, to any person who obtains a copy of this
software and its documentation, to deal in the software without restriction, which includes the
rights to use, copy, modify, merge, publish, distribute, sublicense and sell copies, and to permit
persons to whom the software is furnished to do so, subject to the following conditions. The notice
above shall be included in all copies or substantial portions of the software."""
TRANSLATION = """Hiermit wird jeder Person, die eine Kopie dieser Software und ihrer Dokumentation
erhält, kostenlos die Erlaubnis erteilt, ohne Einschränkung mit der Software zu handeln, was die
Rechte einschließt, sie zu benutzen, zu kopieren, zu ändern, zusammenzuführen und zu verbreiten."""
HOLDERS = ["Ada Morn", "Piet Oss", "Corwin Hale", "Ilse Marrable"]

WORDS = st.lists(st.sampled_from([f"w{chr(97 + i)}" for i in range(26)] + ["7", "12"]), max_size=60)


def licence(holder: str, year: int) -> str:
    return f"Copyright (c) {year} {holder}. All rights reserved.\n\n{LICENCE}"


def says(shown: str, other: str) -> bool:
    return says_as_much(shingles(shown), shingles(other))


# --- texts


@given(WORDS)
def test_a_text_says_what_it_says(words: list[str]) -> None:
    text = " ".join(words)
    assert says(text, text) == (len(words) >= 20)
    assert says(f"Before. {text} After.", text) == (len(words) >= 20)


@given(WORDS, WORDS)
def test_whatever_is_left_out_is_said_by_what_is_shown(shown: list[str], other: list[str]) -> None:
    if says(" ".join(shown), " ".join(other)):
        held = set(zip(shown, shown[1:], shown[2:], strict=False))
        asked = set(zip(other, other[1:], other[2:], strict=False))
        missing = asked - held
        assert len(missing) <= 0.15 * len(asked)
        assert not any(word in ("7", "12") for shingle in missing for word in shingle)


NOTICE = f"{LICENCE} Notice is given 30 days before."
TOWER = "東京タワーは東京都港区芝公園にある総合電波塔で、観光名所としても知られている。"


@pytest.mark.parametrize(
    ("shown", "other", "same"),
    [
        (NOTICE, NOTICE.upper(), True),
        (NOTICE, NOTICE.replace("30", "60"), False),
        (LICENCE, TRANSLATION, False),
        (TRANSLATION, LICENCE[:150], False),
        (TRANSLATION, "Notice is given.", False),
        # Scripts without spaces are compared by characters.
        (f"{TOWER}高さは高い。", TOWER, True),
        (TOWER, TOWER[::-1], False),
        # Notices of copyright make no other text.
        (licence("Ada Morn", 1999), licence("Piet Oss", 2011), True),
    ],
)
def test_what_says_the_same(shown: str, other: str, *, same: bool) -> None:
    assert says(shown, other) is same


# --- results


def test_versions_of_one_licence_are_one_hit(engine: clew.Clew) -> None:
    texts = {name: licence(name, 2000 + i) for i, name in enumerate(HOLDERS)}
    add(engine, {**texts, "Lizenz": TRANSLATION, "Poem": "The moon rose over the sleeping reef."})
    result = engine.search("permission to copy the software", strategy="keyword")
    assert [hit.chunk.title for hit in result.hits if hit.also_in]
    (first,) = (hit for hit in result.hits if hit.chunk.title in HOLDERS)
    assert {first.chunk.title, *(c.title for c in first.also_in)} == set(HOLDERS)
    shown = result.to_dict()["results"][0]["also_in"]
    assert [(s["title"], s["source"]) for s in shown] == [
        (c.title, c.source) for c in first.also_in
    ]
    assert shown[0]["id"] == first.also_in[0].public_id
    assert result.context.text.count("hereby granted") == 1
    shown_page = StringIO()
    print_passages(PlainPage(shown_page), result)
    assert f"the same text is in {first.also_in[0].title}, " in shown_page.getvalue()


@pytest.mark.parametrize("copies", [8, 60], ids=["few", "more than are compared"])
def test_however_many_say_it_others_are_found(engine: clew.Clew, copies: int) -> None:
    add(engine, {f"Copy {i}": LICENCE for i in range(copies)})
    add(engine, {f"Note {i}": f"The software of harbour {'xyz'[i]} {'stu'[i]}." for i in range(3)})
    hits = engine.search("software permission licence", strategy="keyword", limit=4).hits
    assert [len(hit.also_in) for hit in hits if hit.chunk.text == LICENCE] == [copies - 1]
    assert len(hits) == 4


@pytest.mark.parametrize(
    "texts",
    [
        [f"{LICENCE} It ends in 2023.", f"{LICENCE} It ends in 2024."],
        ["The software is here, see you at the reef!"] * 5,
    ],
    ids=["other dates", "short passages"],
)
def test_what_stays_a_hit_of_its_own(engine: clew.Clew, texts: list[str]) -> None:
    add(engine, {f"Text {i}": text for i, text in enumerate(texts)})
    hits = engine.search("software", strategy="keyword").hits
    assert [hit.also_in for hit in hits] == [()] * len(texts)


# --- word lists


PACKAGE = Path(clew.__file__).parent
EXPRESSIONS = {"patterns.toml", "structure.toml", "around.toml", "questions.toml", "standing.toml"}
EXAMPLES = {"own_examples.toml", "records.toml", "relation_types.toml", "years.toml"}
OTHERS = {file for file in PACKAGE.rglob("*.toml") if file.name in EXPRESSIONS | EXAMPLES}
"""Examples of questions; names in records; units ("MW" and "mw" differ); regular expressions."""
FILES = sorted(set(PACKAGE.rglob("*.toml")) - OTHERS)
"""Lists of words that are looked up in small letters."""


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)


def read(file: Path) -> dict[str, object]:
    return read_word_lists("clew", *file.relative_to(PACKAGE).parts)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_words_have_no_capitals(file: Path) -> None:
    """A word with a capital would never be found: what is looked up is in lower case."""
    words = [word for text in strings(read(file)) for word in text.split()]

    assert words
    assert [word for word in words if word != word.lower()] == []
