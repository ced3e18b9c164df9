"""What fields, tables, definition lists and citations of a document state."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clew.indexing.structure.readers import structure_of
from clew.types import Document

Fact = tuple[str, str, str]


def facts(
    text: str, *, title: str = "Guide", metadata: Mapping[str, object] | None = None
) -> set[Fact]:
    document = Document(
        source="a.md", text=text, title=title, media_type="text/markdown", metadata=metadata or {}
    )
    return {(s.head, s.relation_type, s.tail) for s in structure_of(document).statements}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"author": "Ann Lee"}, {("Guide", "authored_by", "Ann Lee")}),
        (
            {"Authors": "Ann Lee <ann@example.org>, Bob Ray"},
            {("Guide", "authored_by", "Ann Lee"), ("Guide", "authored_by", "Bob Ray")},
        ),
        ({"status": "Final"}, {("Guide", "has_status", "Final")}),
        ({"superseded-by": ["Handbook"]}, {("Guide", "replaced_by", "Handbook")}),
        # Bare numbers belong to the series that numbers the document itself.
        ({"pep": 257, "requires": "12, 287"},
         {("Guide", "depends_on", "PEP 12"), ("Guide", "depends_on", "PEP 287")}),
        ({"requires": "12"}, set()),
        ({"author": ""}, set()),
        ({"author": "https://example.org/ann"}, set()),
        ({"author": "Guide"}, set()),
        ({"created": "2-Mar-2019", "year": 1990}, set()),
    ],
)  # fmt: skip
def test_fields(metadata: dict[str, object], expected: set[Fact]) -> None:
    assert facts("Some text.", metadata=metadata) == expected


def test_a_table_says_what_its_cells_are_to_the_first_of_their_row() -> None:
    text = """Some text.

| Program | Author | License | Since | Notes |
| --- | :---: | --- | --- | --- |
| **Flask** | Ann Lee | BSD | 2010 | Good |
| lower | Bob Ray | yes | 2011 | Poor |
| Short row | X |

| A | B |
no separator, no table
"""
    assert facts(text) == {
        ("Flask", "authored_by", "Ann Lee"),
        ("Flask", "licensed_under", "BSD"),
    }


def test_the_address_of_a_labelled_name_is_no_part_of_it() -> None:
    text = "Author: Ann Lee <ann@example.org>\nDate:   Thu Feb 2 2023\n\n    crank versions\n"
    assert facts(text) == {("Guide", "authored_by", "Ann Lee")}


def test_a_bar_of_navigation_states_nothing() -> None:
    assert facts("| Chapter 2 | Next |\n| --- | --- |\n| Prev | Chapter 4 |\n") == set()


def test_a_table_of_fields_is_about_the_document() -> None:
    text = "| Field | Value |\n| --- | --- |\n| Editor | Ann Lee |\n| Size | 12 |\n"
    assert facts(text) == {("Guide", "edited_by", "Ann Lee")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zorb\n: A protocol for mail.\n",
         {("Zorb", "defined_in", "Guide"), ("Zorb", "is_a", "protocol")}),
        ("Zorb\n    The act of rolling.\n", {("Zorb", "defined_in", "Guide")}),
        ("- **Zorb**: A file format.\n",
         {("Zorb", "defined_in", "Guide"), ("Zorb", "is_a", "file format")}),
        ("This is a sentence.\n    A quotation of somebody.\n", set()),
        ("Zorb\nA new paragraph.\n", set()),
    ],
)  # fmt: skip
def test_definitions(text: str, expected: set[Fact]) -> None:
    assert facts(text) == expected


def test_citations() -> None:
    text = (
        "See RFC 2616, RFC2616 and PEP-8 (ISO 8601). The DRFC 1 and RFC are none; nor is PEP 257."
    )
    assert facts(text, title="PEP 257 Docstrings", metadata={"pep": 257}) == {
        ("PEP 257 Docstrings", "cites", name) for name in ("RFC 2616", "PEP 8", "ISO 8601")
    }


def test_places_are_those_of_the_text() -> None:
    document = Document(source="a", text="We follow RFC 2616.", title="Guide")
    (cited,) = structure_of(document).statements
    assert document.text[cited.start : cited.end] == "RFC 2616"
