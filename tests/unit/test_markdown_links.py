"""Notes in Markdown: their links, tags and further names, and what of them is shown."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.indexing.markdown import inline_tags, links, listed, masked
from clew.indexing.reading.formats.markup import markdown_document
from clew.indexing.splitting.split import split
from clew.indexing.structure.document import markdown_links
from clew.settings import SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key

if TYPE_CHECKING:
    pass

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
    assert [link.target for link in found] == targets
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


def test_tags() -> None:
    text = "#light #Port-Anselm/reef, (#no) a#no #12 #2024-plan https://x.y/#no\n`#no`\n# Heading"
    assert [tag.name for tag in inline_tags(text)] == ["light", "Port-Anselm/reef", "2024-plan"]
    assert all(text[tag.start : tag.end] == f"#{tag.name}" for tag in inline_tags(text))


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (["a", "#b", None, 3, "a"], ["a", "b", "3"]),
        ("a, b c,", ["a", "b c"]),
        (None, []),
        ({"odd": 1}, ["{'odd': 1}"]),
    ],
)
def test_lists_of_front_matter(value: object, names: Sequence[str]) -> None:
    assert listed(value) == names


def test_as_many_tags_as_a_filter_can_read() -> None:
    document = markdown_document(" ".join(f"#tag-{i}" for i in range(5_000)), "a.md")
    assert len(document.metadata["tags"]) == 200
    many = markdown_document("# A\n" + " ".join(f"[[note {i}]]" for i in range(5_000)), "a.md")
    assert len(markdown_links(many).statements) == 2_000


def test_tags_of_front_matter_and_text_are_one_list() -> None:
    document = markdown_document("---\ntags: [reef, light]\n---\nThe #light of #Vell.\n", "a.md")
    assert document.metadata["tags"] == ["reef", "light", "Vell"]
    assert markdown_document("---\ntags: a b\n---\nx", "a.md").metadata["tags"] == ["a", "b"]
    assert markdown_document("No tag.", "a.md").metadata == {}


COUNTED = ("entities", "relations")
NOTE = """---
aliases: [The Rock, SRL]
---
# Skerrow Rock Light

Built by [Corwin Hale](corwin-hale.md) and [[ilse-marrable|Ilse]], see [[Skerrow Rock Light]] and
[all](../index.md). #reef
"""


def test_what_a_note_states() -> None:
    document = markdown_document(NOTE, "/vault/skerrow.md")
    found = markdown_links(document)
    stated = [
        (s.head, s.relation_type, s.tail, document.text[s.start : s.end]) for s in found.statements
    ]
    title = "Skerrow Rock Light"
    assert stated == [
        (title, "links_to", "corwin hale", "[Corwin Hale](corwin-hale.md)"),
        (title, "links_to", "ilse marrable", "[[ilse-marrable|Ilse]]"),
        (title, "tagged", "reef", "#reef"),
    ]
    assert [(a.alias, a.name) for a in found.aliases] == [
        ("The Rock", title),
        ("SRL", title),
        ("skerrow", title),
    ]


def test_the_label_is_embedded_and_the_address_can_be_searched() -> None:
    document = markdown_document(NOTE, "/vault/skerrow.md")
    (chunk,) = split(document, SplitSettings(), HashEmbedder()).chunks
    assert chunk.text == document.text[chunk.start : chunk.end]
    assert "corwin-hale.md" not in chunk.embedding_text
    assert "Corwin Hale" in chunk.embedding_text
    assert "corwin-hale.md" in chunk.keyword_text


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[clew.Clew]:
    folder = tmp_path / "vault"
    (folder / "people").mkdir(parents=True)
    (folder / "skerrow.md").write_text(NOTE)
    (folder / "people" / "corwin-hale.md").write_text(
        "# Corwin Hale, engineer\n\nHe raised [[SRL]].\n"
    )
    (folder / "ilse-marrable.md").write_text("Set the prisms by hand. #reef #prisms\n")
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([folder])
        yield store


def neighbors(store: clew.Clew, name: str) -> set[tuple[str, str, str]]:
    known = store.state.store.resolve([entity_key(name)])
    found = store.tools.call("get_entity_neighbors", {"entity_id": next(iter(known.values()))})
    return {
        (n["relation_type"], n["neighbor_name"], n["direction"]) for n in found.content["neighbors"]
    }


def test_a_vault_is_a_graph(vault: clew.Clew) -> None:
    light = neighbors(vault, "the rock")
    assert light == neighbors(vault, "skerrow") == neighbors(vault, "skerrow rock light")
    assert {(kind, name) for kind, name, _ in light} >= {
        ("links_to", "Corwin Hale, engineer"),
        ("links_to", "ilse marrable"),
        ("tagged", "reef"),
    }
    # The link by an alias ends at the note, whichever of the two was read first.
    assert ("links_to", "Corwin Hale, engineer", "inbound") in light


def test_tags_are_filters(vault: clew.Clew) -> None:
    def sources(tag: str) -> set[str]:
        hits = vault.search("reef", where=[f"tags={tag}"], strategy="vector").hits
        return {Path(hit.chunk.source).name for hit in hits}

    assert sources("reef") == {"skerrow.md", "ilse-marrable.md"}
    assert sources("prisms") == {"ilse-marrable.md"}


def test_what_was_stored_states_the_same_again(vault: clew.Clew, tmp_path: Path) -> None:
    before = vault.maintenance.stats()
    shutil.rmtree(tmp_path / "vault")
    vault.maintenance.reindex()
    after = vault.maintenance.stats()
    assert [before[n] for n in COUNTED] == [after[n] for n in COUNTED]
