"""Sentences end where structure does, and code and drawings are no prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.splitting.code import code_ranges, without_code
from clew.text import sentences
from clew.types import Chunk, Document


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
    ],
)
def test_sentences_end_where_structure_does(text: str, expected: list[str] | None) -> None:
    assert parts(text) == (text.split("\n") if expected is None else expected)


@given(st.text(alphabet="aB.:!*-#|=>1 \n\t_`", max_size=80))
def test_every_visible_character_lies_in_one_sentence(text: str) -> None:
    found = sentences(text)
    covered = [i for start, end in found for i in range(start, end)]
    assert len(covered) == len(set(covered))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= set(covered)
    assert found == sorted(found)


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
    masked, (part,) = without_code(document, [chunk])
    assert part.text == masked.text
    assert len(part.text) == len(text)
    assert "Berlin" not in part.text
    assert [i for i, c in enumerate(text) if c.isspace()] == [
        i for i, c in enumerate(part.text) if c.isspace()
    ]
    (found,) = PatternExtractor().extract(masked, [part]).chunks
    assert not {"Maria Keller", "Berlin"} & {mention.name for mention in found.mentions}


@pytest.mark.parametrize(
    "text",
    [
        "| Name | City |\n|------|------|\n| Maria Keller | Berlin |\n",
        "+------+--------+\n| Name | City   |\n+======+========+\n| Ann  | Berlin |\n+------+\n",
        "Title\n=====\n\nMaria Keller -- she lives in Berlin -- left...\n",
        "- item\n- other\n\n---\n\nText.\n",
    ],
)
def test_tables_headings_and_prose_are_left(text: str) -> None:
    assert code_ranges(text, "text/markdown") == []


def test_source_code_is_left_to_its_reader() -> None:
    text = "```\nx = 1\n```\n"
    document = Document(source="a.py", text=text, media_type="text/x-python")
    assert without_code(document, [])[0] is document


def test_ranges_of_hostile_texts_are_found_in_good_time() -> None:
    for text in (
        "::\n" * 20_000,
        "\n    a" * 20_000,
        "-" * 100_000,
        "|-" * 50_000,
        ">>> \n" * 20_000,
    ):
        for media_type in ("text/markdown", "text/x-rst"):
            assert code_ranges(text, media_type) is not None


def test_a_year_at_the_beginning_of_a_line_is_no_number_of_a_list() -> None:
    text = "The ship was lost in\n1859. She came home.\n1. An item.\n12. Another."
    found = [text[start:end] for start, end in sentences(text)]
    assert found[0] == "The ship was lost in\n1859."
    assert found[-1].endswith("Another.")
    assert len(found) >= 4
