"""What headings, credits, citations of works, references and code marks of a prose text state."""

from __future__ import annotations

import pytest

from clew.indexing.structure.document import subject_of
from clew.indexing.structure.readers import structure_of
from clew.types import Document

RST = "text/x-rst"
Triple = tuple[str, str, str]


def stated(text: str, media_type: str = "text/markdown", title: str = "Guide") -> set[Triple]:
    document = Document(source="guide", title=title, text=text, media_type=media_type)
    return {(s.head, s.relation_type, s.tail) for s in structure_of(document).statements}


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("See the :mod:`asyncio` docs.", {("asyncio", "is_a", "module")}),
        (
            "Uses :py:func:`~os.path.join` now.",
            {
                ("os.path.join", "is_a", "function"),
                ("os.path.join", "part_of", "os.path"),
                ("os.path", "part_of", "os"),
            },
        ),
        ("Install the `quilt` package first.", {("quilt", "is_a", "package")}),
        ("Installez le paquet `quilt` d'abord.", {("quilt", "is_a", "paquet")}),
        ('The "table" directive makes one.', {("table", "is_a", "directive")}),
        (
            "The ``cgi`` and ``crypt`` modules are gone.",
            {("cgi", "is_a", "module"), ("crypt", "is_a", "module")},
        ),
        # Instances, values, files of a kind and other things that the name only qualifies:
        ("All the ``Node`` elements go.", set()),
        ("A ``str`` argument will do.", set()),
        ("The `foo` module and the `.pyc` file.", set()),
        ("Use the `quilt` package manager.", set()),
        ("Is `quilt` package the word?", set()),
    ],
)
def test_marks_and_nouns_say_what_code_is(text: str, triples: set[Triple]) -> None:
    assert stated(text) == triples


def test_what_a_thing_is_is_no_mention() -> None:
    from clew.indexing.structure.enter import add_structure
    from clew.types import Chunk, ChunkExtraction, Extraction

    text = "See :mod:`asyncio`."
    document = Document(source="a", title="A", text=text, media_type=RST)
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    found = add_structure(
        Extraction(chunks=(ChunkExtraction(),)), structure_of(document), [chunk]
    ).chunks[0]
    assert [mention.name for mention in found.mentions] == ["asyncio"]
    assert [relation.tail_type for relation in found.relations] == ["concept"]


@pytest.mark.parametrize(
    ("heading", "subject"),
    [
        ("3.1 Block Quotes", "Block Quotes"),
        ("PEP 572: Assignment Expressions", "PEP 572"),
        ("tab_width", "tab_width"),
        ("asyncio", "asyncio"),
        ("Overview", ""),
        ("Known Issues", ""),
        ("Installing Debian", ""),
        ("How do I start?", ""),
        ("What you need", ""),
        ("2019", ""),
    ],
)
def test_a_heading_names_a_subject_or_none(heading: str, subject: str) -> None:
    assert subject_of(heading) == subject


def test_what_a_heading_names_is_described_in_the_document() -> None:
    text = "# Guide\n\n## Block Quotes\n\nThey are set in.\n\n## Summary\n\nNothing.\n"
    assert stated(text) == {("Block Quotes", "described_in", "Guide")}


def test_terms_of_definition_lists() -> None:
    text = "Terms:\n\nlive medium\n    Whatever the system starts from.\n\nNote\n    Never mind.\n"
    assert ("live medium", "defined_in", "Guide") in stated(text, RST)
    assert not {head for head, _, _ in stated(text, RST)} & {"Note", "Terms"}
    code = "So:\n\n`allow`\n\nHosts that may ask.\n\n| Name | Use |\n| --- | --- |\n"
    code += "| `deny` | Hosts that may not |\n"
    options = "  -f, --force   Overwrites what is there.\n  --log=FILE  Writes to the file.\n"
    for name in ("allow", "deny", "--force", "--log"):
        assert (name, "defined_in", "Guide") in stated(code + options)
    bold = "[1](#o1)- **Host system**: The one that builds.\n"
    assert ("Host system", "defined_in", "Guide") in stated(bold)


def test_roles_cite_standards() -> None:
    assert stated("Since :pep:`572` it is allowed.", RST) == {("Guide", "cites", "PEP 572")}


def test_members_are_part_of_their_class() -> None:
    text = "Call `Tide.rises()` and ``Tide.height`` but not `Tide.txt`, as :data:`sea.LEVEL` says."
    assert {one for one in stated(text) if one[1] == "part_of"} == {
        ("Tide.rises", "part_of", "Tide"),
        ("Tide.height", "part_of", "Tide"),
        ("sea.LEVEL", "part_of", "sea"),
    }


def test_dotted_names_are_part_of_what_the_text_names_or_imports() -> None:
    text = "Use `sea` and `sea.tide`, ``import dock`` and `dock.pier.Crane`; `self.x`, `a.html`."
    assert {one for one in stated(text) if one[1] == "part_of"} == {
        ("sea.tide", "part_of", "sea"),
        ("dock.pier.Crane", "part_of", "dock.pier"),
        ("dock.pier", "part_of", "dock"),
    }


def test_directives_define_code() -> None:
    text = ".. py:function:: sea.rise(by)\n\n.. class:: compact\n\n.. confval:: sea/level\n"
    assert stated(text, RST) == {
        ("sea.rise", "is_a", "function"),
        ("sea.rise", "part_of", "sea"),
        ("sea/level", "is_a", "setting"),
    }
